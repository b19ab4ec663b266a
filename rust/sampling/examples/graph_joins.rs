//! Throughput of samples of joins of a graph with itself: the paper's line and star queries and its dumbbell, and
//! triangles, 4-cycles and bow-ties, each over a copy of the edges for each relation, in one shuffled stream.
//!
//! `cargo run --release -p ringview-sampling --example graph_joins -- EDGES [--k K] [--batch N] [--seconds S] [QUERY ..]`,
//! where EDGES holds sources, then targets, as raw little-endian int32 (benches/edges.py writes such a file), and N tuples
//! of the stream are inserted in one transaction. Prints a line of JSON a query: tuples a second, bytes, the same after
//! each tenth of the stream, and the duration of transactions. A stream is cut after S seconds.

use std::error::Error;
use std::time::Instant;

use ringview_core::Budget;
use ringview_sampling::{All, QuerySample, Random, Relation};

/// The relations of a query, and which end of an edge each column is: 0 the source, 1 the target.
fn query(name: &str) -> Option<(Vec<Relation>, Vec<[usize; 2]>)> {
    let edges = |variables: &[[usize; 2]]| {
        let relation = |ends: &[usize; 2]| Relation::distinct(ends.to_vec(), 2);
        (
            variables.iter().map(relation).collect(),
            vec![[0, 1]; variables.len()],
        )
    };
    Some(match name {
        "triangle" => edges(&[[0, 1], [1, 2], [2, 0]]),
        "4-cycle" => edges(&[[0, 1], [1, 2], [2, 3], [3, 0]]),
        "bow-tie" => edges(&[[0, 1], [1, 2], [2, 0], [0, 3], [3, 4], [4, 0]]),
        "dumbbell" => edges(&[[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3], [0, 3]]),
        _ => return acyclic(name),
    })
}

/// Lines and stars of so many relations.
fn acyclic(name: &str) -> Option<(Vec<Relation>, Vec<[usize; 2]>)> {
    let (kind, relations) = name.split_once('-')?;
    let n: usize = relations.parse().ok().filter(|&n| n > 1)?;
    let relation = |variables: &[usize]| Relation::distinct(variables.to_vec(), 2);
    match kind {
        "line" => {
            let mut all = vec![relation(&[0])];
            all.extend((1..n - 1).map(|at| relation(&[at - 1, at])));
            all.push(relation(&[n - 2]));
            // The first edge joins by its target.
            let mut ends = vec![[0, 1]; n];
            ends[0] = [1, 0];
            Some((all, ends))
        }
        "star" => Some((vec![relation(&[0]); n], vec![[0, 1]; n])),
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

/// Options of the command line.
struct Options {
    k: u64,
    batch: usize,
    seconds: f64,
    queries: Vec<String>,
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options, Box<dyn Error>> {
    let mut options = Options {
        k: 100_000,
        batch: 10_000,
        seconds: f64::INFINITY,
        queries: Vec::new(),
    };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--k" => options.k = value()?.parse()?,
            "--batch" => options.batch = value()?.parse()?,
            "--seconds" => options.seconds = value()?.parse()?,
            _ => options.queries.push(argument),
        }
    }
    if options.queries.is_empty() {
        let all = ["line-3", "line-4", "line-5", "star-4", "star-6", "dumbbell"];
        options.queries = all.map(String::from).to_vec();
    }
    Ok(options)
}

/// Time on a core, if the system reports it, which the other programs of a busy machine do not increase.
fn on_core() -> Option<f64> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = told.split(' ').next()?.parse().ok()?;
    Some(nanoseconds / 1e9)
}

fn between(before: Option<f64>, after: Option<f64>) -> f64 {
    after
        .zip(before)
        .map_or(0.0, |(after, before)| after - before)
}

/// Progress of a stream: tuples so far, seconds, bytes, results of the join.
type Moment = (usize, f64, usize, u128);

fn measure(name: &str, edges: &[[u64; 2]], options: &Options) -> Result<(), Box<dyn Error>> {
    let (relations, ends) = query(name).ok_or(format!("{name} is no query"))?;
    let copy = |relation| edges.iter().map(move |&edge| (relation, edge));
    let mut stream: Vec<(usize, [u64; 2])> = (0..relations.len()).flat_map(copy).collect();
    let mut random = Random::new(1);
    for at in (1..stream.len()).rev() {
        stream.swap(at, random.below(at as u128 + 1) as usize);
    }
    for (relation, edge) in &mut stream {
        *edge = ends[*relation].map(|end| edge[end]);
    }
    let mut sample = QuerySample::new(&relations, options.k, 7, All)?;
    let budget = Budget::free();
    let mut rows = vec![Vec::new(); relations.len()];
    let mut taken = Vec::new();
    let mut moments: Vec<Moment> = Vec::new();
    let (mut done, mut seconds, mut counting) = (0, 0.0, 0.0);
    // Once for all: a call to the system takes as long as a row.
    let core = on_core();
    for batch in stream.chunks(options.batch) {
        let started = Instant::now();
        batch.iter().for_each(|(of, row)| rows[*of].extend(row));
        for (relation, rows) in rows.iter_mut().enumerate() {
            if !rows.is_empty() {
                sample.insert_all(relation, rows, rows.len() / 2, &budget)?;
                rows.clear();
            }
        }
        sample.prepare(&budget)?;
        sample.commit();
        let took = started.elapsed().as_secs_f64();
        seconds += took;
        taken.push(took);
        done += batch.len();
        if done * 10 / stream.len() > moments.len() {
            let before = on_core();
            moments.push((
                done,
                seconds,
                sample.memory_usage(),
                sample.sample().index().results(),
            ));
            counting += between(before, on_core());
        }
        if seconds > options.seconds {
            break;
        }
    }
    let cpu = match core {
        None => seconds,
        core => between(core, on_core()) - counting,
    };
    taken.sort_unstable_by(f64::total_cmp);
    let tuples = taken.len();
    let quantile = |share: f64| taken[((tuples - 1) as f64 * share) as usize] * 1e6;
    let moments: Vec<String> = moments
        .iter()
        .map(|(tuples, seconds, bytes, results)| {
            format!("[{tuples}, {seconds:.4}, {bytes}, {results}]")
        })
        .collect();
    let met = sample.sample().counters();
    println!(
        "{{\"workload\": \"{name}\", \"system\": \"rust\", \"k\": {}, \"batch\": {}, \"edges\": {}, \
         \"tuples\": {done}, \"complete\": {}, \"seconds\": {seconds:.4}, \"cpu_seconds\": {cpu:.4}, \
         \"tuples_per_second\": {:.0}, \"bytes\": {}, \"results\": {}, \"held\": {}, \"came\": {}, \
         \"dummies\": {}, \"steps\": {}, \"microseconds\": [{:.2}, {:.2}, {:.2}, {:.2}, {:.2}], \"moments\": [{}]}}",
        options.k,
        options.batch,
        edges.len(),
        done == stream.len(),
        done as f64 / seconds,
        sample.memory_usage(),
        sample.sample().index().results(),
        sample.sample().len(),
        met.admitted,
        met.dummies,
        sample.steps(),
        quantile(0.5),
        quantile(0.9),
        quantile(0.99),
        quantile(0.999),
        quantile(1.0),
        moments.join(", "),
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let edges = edges(&arguments.next().ok_or("the file of the edges is missing")?)?;
    let options = options(arguments)?;
    for name in &options.queries {
        measure(name, &edges, &options)?;
    }
    Ok(())
}
