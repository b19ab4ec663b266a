//! How fast samples of joins of a graph with itself are kept: the paper's line and star queries, each over
//! a copy of the edges for each relation, in one shuffled stream.
//!
//! `cargo run --release -p ringview-sampling --example graph_joins -- EDGES [K] [BATCH] [QUERY ..]`, where EDGES holds
//! sources, then targets, as raw little-endian int32 (benches/edges.py writes such a file), and BATCH says how many
//! tuples of the stream come in one transaction. Prints tuples a second, and the bytes that the sample takes.

use std::time::Instant;

use ringview_core::Meter;
use ringview_sampling::{All, Atom, JoinSample, Random};

/// The relations of a query, and which end of an edge each column is: 0 the source, 1 the target.
fn query(name: &str) -> Option<(Vec<Atom>, Vec<[usize; 2]>)> {
    let (kind, relations) = name.split_once('-')?;
    let n: usize = relations.parse().ok().filter(|&n| n > 1)?;
    match kind {
        "line" => {
            let middle = (1..n - 1).map(|at| Atom::new(vec![at - 1, at], 2));
            let mut atoms = vec![Atom::new(vec![0], 2)];
            atoms.extend(middle);
            atoms.push(Atom::new(vec![n - 2], 2));
            // The first edge joins by its target.
            let mut ends = vec![[0, 1]; n];
            ends[0] = [1, 0];
            Some((atoms, ends))
        }
        "star" => Some((vec![Atom::new(vec![0], 2); n], vec![[0, 1]; n])),
        _ => None,
    }
}

fn edges(path: &str) -> std::io::Result<Vec<[u64; 2]>> {
    let bytes = std::fs::read(path)?;
    let word = |at: usize| i32::from_le_bytes(std::array::from_fn(|byte| bytes[4 * at + byte]));
    let rows = bytes.len() / 8;
    let pair = |at| [word(at) as u64, word(rows + at) as u64];
    Ok((0..rows).map(pair).collect())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let edges = edges(&arguments.next().ok_or("the file of the edges is missing")?)?;
    let k = arguments.next().map_or(Ok(100_000), |k| k.parse())?;
    let together = arguments.next().map_or(Ok(10_000), |batch| batch.parse())?;
    let mut queries: Vec<String> = arguments.collect();
    if queries.is_empty() {
        queries = ["line-3", "line-4", "line-5", "star-4", "star-6"]
            .map(String::from)
            .to_vec();
    }
    for name in queries {
        let (atoms, ends) = query(&name).ok_or(format!("{name} is not line-N or star-N"))?;
        let copy = |atom| edges.iter().map(move |&edge| (atom, edge));
        let mut stream: Vec<(usize, [u64; 2])> = (0..atoms.len()).flat_map(copy).collect();
        let mut random = Random::new(1);
        for at in (1..stream.len()).rev() {
            stream.swap(at, random.below(at as u128 + 1) as usize);
        }
        for (atom, edge) in &mut stream {
            *edge = ends[*atom].map(|end| edge[end]);
        }
        let mut sample = JoinSample::new(&atoms, k, 7, All)?;
        let started = Instant::now();
        let mut rows = vec![Vec::new(); atoms.len()];
        for batch in stream.chunks(together) {
            batch.iter().for_each(|(atom, row)| rows[*atom].extend(row));
            for (atom, rows) in rows.iter_mut().enumerate() {
                sample.insert_all(atom, rows, rows.len() / 2)?;
                rows.clear();
            }
            sample.settle(&Meter::free())?;
            sample.commit();
        }
        let seconds = started.elapsed().as_secs_f64();
        let bytes = sample.memory_usage();
        println!(
            "{name}: {} tuples in {seconds:.2} s, {:.0} a second; {:.1} MB; {:?}, {} held, {} steps",
            stream.len(),
            stream.len() as f64 / seconds,
            bytes as f64 / 1e6,
            sample.met(),
            sample.len(),
            sample.index().steps(),
        );
    }
    Ok(())
}
