//! How fast samples of cyclic joins of a graph with itself are kept: the dumbbell of the paper, triangles, 4-cycles and bow-ties,
//! each over a copy of the edges for each relation, in one shuffled stream.
//!
//! `cargo run --release -p ringview-sampling --example graph_cycles -- EDGES [K] [QUERY ..]`, where EDGES holds
//! sources, then targets, as raw little-endian int32 (benches/edges.py writes such a file). Prints tuples a
//! second, and the bytes that the sample takes.

use std::time::Instant;

use ringview_core::Meter;
use ringview_sampling::{All, QuerySample, Random, Relation};

/// The variables of the edges of a query: source and target.
fn query(name: &str) -> Option<Vec<[usize; 2]>> {
    Some(match name {
        "triangle" => vec![[0, 1], [1, 2], [2, 0]],
        "4-cycle" => vec![[0, 1], [1, 2], [2, 3], [3, 0]],
        "bow-tie" => vec![[0, 1], [1, 2], [2, 0], [0, 3], [3, 4], [4, 0]],
        "dumbbell" => vec![[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3], [0, 3]],
        _ => return None,
    })
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
    let mut queries: Vec<String> = arguments.collect();
    if queries.is_empty() {
        queries = ["triangle", "dumbbell"].map(String::from).to_vec();
    }
    for name in queries {
        let ends = query(&name).ok_or(format!("{name} is no query"))?;
        let relations = ends.iter().map(|ends| Relation::distinct(ends.to_vec(), 2));
        let relations: Vec<Relation> = relations.collect();
        let copy = |relation| edges.iter().map(move |&edge| (relation, edge));
        let mut stream: Vec<(usize, [u64; 2])> = (0..relations.len()).flat_map(copy).collect();
        let mut random = Random::new(1);
        for at in (1..stream.len()).rev() {
            stream.swap(at, random.below(at as u128 + 1) as usize);
        }
        let mut sample = QuerySample::new(&relations, k, 7, All)?;
        let meter = Meter::free();
        let started = Instant::now();
        for batch in stream.chunks(10_000) {
            for (relation, edge) in batch {
                sample.insert(*relation, edge, &meter)?;
            }
            sample.settle(&meter)?;
            sample.commit();
        }
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "{name}: {} tuples in {seconds:.2} s, {:.0} a second; {:.1} MB; {:?}, {} held, {} results, {} steps",
            stream.len(),
            stream.len() as f64 / seconds,
            sample.memory_usage() as f64 / 1e6,
            sample.sample().met(),
            sample.sample().len(),
            sample.sample().index().results(),
            sample.steps(),
        );
    }
    Ok(())
}
