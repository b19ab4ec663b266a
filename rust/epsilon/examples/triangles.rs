//! Throughput of counting the triangles of a graph while its edges are inserted: over three copies of the edges, in one
//! shuffled stream of batches, or over one relation that closes its own triangles; and as one load.
//!
//! `cargo run --release -p ringview-epsilon --example triangles -- EDGES [three|own|load] [EPSILON] [ROWS]`, where
//! EDGES holds sources, then targets, as raw little-endian int32 (benches/edges.py writes such a file), and
//! ROWS are those of a batch. Prints changes a second, and the bytes that a tuple takes. With `hub N` in
//! place of all that: the cost of an edge that closes N/2 triangles, at epsilon 1/2 and without heavy values.

use std::time::Instant;

use ringview_core::Budget;
use ringview_epsilon::{Algebra, Epsilon, GraphKind, Machine, Query, count_triangles};
use ringview_relation::{Delta, KeyField};
use ringview_ring::{NumberKind, SumProduct};

const VERTEX: KeyField = KeyField {
    bits: 32,
    signed: true,
};

fn edges(path: &str) -> std::io::Result<Vec<[u64; 2]>> {
    let bytes = std::fs::read(path)?;
    let word = |at: usize| i32::from_le_bytes(std::array::from_fn(|byte| bytes[4 * at + byte]));
    let rows = bytes.len() / 8;
    let pair = |at| [word(at) as u64, word(rows + at) as u64];
    Ok((0..rows).map(pair).collect())
}

/// Another order of the same edges for each seed.
fn shuffled(mut edges: Vec<[u64; 2]>, mut seed: u64) -> Vec<[u64; 2]> {
    for at in (1..edges.len()).rev() {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        edges.swap(at, (seed >> 33) as usize % (at + 1));
    }
    edges
}

fn batch(edges: &[[u64; 2]]) -> Delta {
    let column = |end: usize| edges.iter().map(|edge| edge[end]).collect();
    Delta {
        rows: edges.len(),
        columns: vec![column(0), column(1)],
        payload: vec![1; edges.len()],
        width: 1,
        wide: false,
    }
}

fn machine(own: bool, epsilon: Epsilon) -> Result<Machine<SumProduct>, String> {
    let count = Algebra::pointwise(&[NumberKind::Integer]);
    if own {
        return Ok(Machine::cycle(VERTEX, epsilon, count));
    }
    let query = Query {
        fields: vec![vec![0, 1], vec![1, 2], vec![2, 0]],
        packing: vec![VERTEX; 3],
        groups: Vec::new(),
        read_from: None,
    };
    Machine::new(&query, &[epsilon; 3], count).map_err(|refused| refused.why)
}

/// One hub joined to N/2 vertices on each side; the edge that closes all of it is inserted and deleted.
fn hub(tuples: u64) -> Result<(), Box<dyn std::error::Error>> {
    for (epsilon, times) in [(0.5, 10_000), (1.0, 20)] {
        let mut machine = machine(false, Epsilon::new(epsilon).map_err(|refused| refused.why)?)?;
        let budget = Budget::free();
        let vertices = || 1..=tuples / 2;
        let spokes: Vec<[u64; 2]> = vertices().map(|vertex| [0, vertex]).collect();
        let back: Vec<[u64; 2]> = vertices().map(|vertex| [vertex, 0]).collect();
        machine.load(&[(1, &batch(&spokes)), (2, &batch(&back))], &budget)?;
        machine.prepare(&budget)?;
        machine.commit();
        let mut edge = batch(&[[0, 0]]);
        let start = Instant::now();
        for _ in 0..times {
            machine.apply(0, &edge, &budget)?;
            machine.prepare(&budget)?;
            machine.commit();
            edge.payload[0] = edge.payload[0].wrapping_neg();
        }
        let each = start.elapsed().as_secs_f64() / f64::from(times);
        println!("epsilon {epsilon}: {:.2} us a change", each * 1e6);
    }
    Ok(())
}

/// All edges at once: counted, and joined as a machine does it that keeps nothing else.
fn load(edges: &[[u64; 2]], epsilon: Epsilon) -> Result<(), Box<dyn std::error::Error>> {
    let ends = [0, 1].map(|end| {
        edges
            .iter()
            .map(|edge| edge[end] as i64)
            .collect::<Vec<i64>>()
    });
    let start = Instant::now();
    let kind = GraphKind {
        directed: true,
        multigraph: false,
    };
    let found = count_triangles(&[[&ends[0], &ends[1]]], kind, &Budget::free())?;
    println!("{found:?}: {:.3} s", start.elapsed().as_secs_f64());
    let (machine, delta) = (machine(true, epsilon)?, batch(edges));
    let start = Instant::now();
    let sum = machine.sum_of(&[(0, &delta)], &Budget::free())?;
    println!("{sum:?}: {:.3} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("the file of the edges is missing")?;
    let which = arguments.next().unwrap_or_default();
    if file == "hub" {
        return hub(which.parse()?);
    }
    let (edges, own) = (edges(&file)?, which == "own");
    let epsilon = arguments.next().map_or(Ok(0.5), |number| number.parse())?;
    let rows: usize = arguments.next().map_or(Ok(1_000), |rows| rows.parse())?;
    let epsilon = Epsilon::new(epsilon).map_err(|refused| refused.why)?;
    if which == "load" {
        return load(&edges, epsilon);
    }
    let mut machine = machine(own, epsilon)?;
    let relations = if own { 1 } else { 3 };
    let streams: Vec<Vec<[u64; 2]>> = (0..relations)
        .map(|seed| shuffled(edges.clone(), seed))
        .collect();
    let batches = edges.len().div_ceil(rows);
    let budget = Budget::free();
    let (mut seconds, mut worst) = (0.0, 0.0f64);
    for at in 0..batches {
        for (relation, stream) in streams.iter().enumerate() {
            let delta = batch(&stream[at * rows..edges.len().min((at + 1) * rows)]);
            let start = Instant::now();
            machine.apply(relation, &delta, &budget)?;
            machine.prepare(&budget)?;
            machine.commit();
            let taken = start.elapsed().as_secs_f64();
            (seconds, worst) = (seconds + taken, worst.max(taken));
        }
    }
    let changes = edges.len() * relations as usize;
    let tuples = machine.size().1 as usize;
    println!(
        "{:?}: {:.0} k changes/s, {:.1} ms at worst, {:.1} bytes a tuple, {:.1} steps a change, {:?}",
        machine.result().map(|payload| payload[0]),
        changes as f64 / seconds / 1e3,
        worst * 1e3,
        machine.memory_usage() as f64 / tuples as f64,
        machine.steps() as f64 / changes as f64,
        machine.rebalancings(),
    );
    Ok(())
}
