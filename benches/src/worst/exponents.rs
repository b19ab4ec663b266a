//! The exponents of time and space over epsilon, from counted steps and keys (figures 1 and 7 of the paper).
//!
//! For each epsilon data are made against it, at several sizes N of the threshold base; from their slope follows
//! the exponent. With T = N^epsilon:
//!
//! - *heavy*: N / T vertices c that have some more than T edges, all with the hubs a = 0 and b = 0. The edge (a, b)
//!   walks the heavy values between: N^(1 - epsilon), where there are any.
//! - *light*: c and b with some less than T edges to the same vertices a. The edge (b, c) walks them: N^epsilon.
//! - *views*: light vertices c with edges to some less than T of N / T heavy vertices a and b each: every pair that c
//!   connects is a key of a view, of N^(1 + epsilon) pairs at the most, nor more than the N^(2 - 2 epsilon) of all
//!   heavy vertices.
//!
//! Steps and keys depend on no clock and no machine, so two runs print the same.

use std::collections::BTreeSet;

use ringview_core::Budget;
use ringview_epsilon::{Algebra, Epsilon, Machine, Query};
use ringview_relation::{Delta, KeyField};
use ringview_ring::{NumberKind, SumProduct};
use serde::Serialize;

use super::print;
use crate::common::data::Random;

const BASES: [u64; 4] = [1 << 10, 1 << 12, 1 << 14, 1 << 16];
const BATCH: usize = 256;
const TOGGLED: u64 = 8;

#[derive(Serialize)]
struct Line {
    workload: &'static str,
    /// Name of the data.
    data: &'static str,
    /// The threshold base N.
    size: u64,
    /// Tuples.
    tuples: u64,
    epsilon: f64,
    system: &'static str,
    /// Of an edge that is inserted or deleted.
    steps: u64,
    /// Of auxiliary views.
    keys: usize,
}

/// An edge of a relation.
type Edge = (usize, [u64; 2]);

/// Edges that are there, and those that are inserted and deleted.
struct Data {
    there: Vec<Edge>,
    toggled: Vec<Edge>,
}

pub(crate) fn run(share: usize) -> Result<(), String> {
    let bases = BASES.iter().filter(|&&base| share == 1 || base <= 1 << 12);
    let bases: Vec<u64> = bases.copied().collect();
    for tenths in 0..=10 {
        let epsilon = f64::from(tenths) / 10.0;
        for (kind, make) in [
            ("heavy", heavy as fn(u64, f64) -> Data),
            ("light", light),
            ("views", views),
        ] {
            // Below, a light value has an edge or two at these sizes; beyond, views have a handful of keys.
            if kind == "views" && !(2..=7).contains(&tenths) {
                continue;
            }
            for &base in &bases {
                measure(kind, (base, epsilon), &make(base, epsilon))?;
            }
        }
    }
    Ok(())
}

fn measure(kind: &'static str, (base, epsilon): (u64, f64), data: &Data) -> Result<(), String> {
    let vertex = KeyField {
        bits: 64,
        signed: true,
    };
    let query = Query {
        fields: vec![vec![0, 1], vec![1, 2], vec![2, 0]],
        packing: vec![vertex; 3],
        groups: Vec::new(),
        read_from: None,
    };
    let exponent = Epsilon::new(epsilon).map_err(|refused| refused.why)?;
    let count = Algebra::pointwise(&[NumberKind::Integer]);
    let mut machine = Machine::new(&query, &[exponent; 3], count).map_err(|refused| refused.why)?;
    for relation in 0..3 {
        let own = data.there.iter().filter(|(of, _)| *of == relation);
        let own: Vec<[u64; 2]> = own.map(|(_, edge)| *edge).collect();
        for batch in own.chunks(BATCH) {
            apply(&mut machine, relation, batch, 1)?;
        }
    }
    let before = machine.steps();
    for times in [1, -1] {
        for (relation, edge) in &data.toggled {
            apply(&mut machine, *relation, &[*edge], times)?;
        }
    }
    let (found, tuples) = machine.size();
    if found != base {
        return Err(format!("{tuples} tuples have N = {found}, not {base}"));
    }
    print(&Line {
        workload: "exponents",
        data: kind,
        size: base,
        tuples,
        epsilon,
        system: "ringview-epsilon",
        steps: (machine.steps() - before) / (2 * data.toggled.len() as u64),
        keys: machine.view_keys(),
    })
}

fn apply(
    machine: &mut Machine<SumProduct>,
    relation: usize,
    edges: &[[u64; 2]],
    times: i64,
) -> Result<(), String> {
    let delta = Delta {
        rows: edges.len(),
        columns: [0, 1]
            .map(|end| edges.iter().map(|edge| edge[end]).collect())
            .into(),
        payload: vec![times as u64; edges.len()],
        width: 1,
        wide: false,
    };
    let budget = Budget::free();
    let done = machine
        .apply(relation, &delta, &budget)
        .and_then(|()| machine.prepare(&budget));
    done.map_err(|error| error.to_string())?;
    machine.commit();
    Ok(())
}

/// Edges so far from each other that all their ends are light, so that there are three quarters of N.
fn filled(mut there: Vec<Edge>, toggled: Vec<Edge>, base: u64) -> Data {
    let missing = (3 * base / 4).saturating_sub(there.len() as u64);
    let far = 1 << 40;
    there.extend((0..missing).map(|at| (0, [far + at, 2 * far + at])));
    Data { there, toggled }
}

fn threshold(base: u64, epsilon: f64) -> f64 {
    (base as f64).powf(epsilon)
}

fn heavy(base: u64, epsilon: f64) -> Data {
    let edges = (2.0 * threshold(base, epsilon)).ceil() as u64;
    let mut there = Vec::new();
    for c in 0..3 * base / 4 / edges.max(2) {
        there.push((2, [c, 0]));
        there.extend((0..edges.max(2) - 1).map(|b| (1, [b, c])));
    }
    filled(there, vec![(0, [0, 0])], base)
}

fn light(base: u64, epsilon: f64) -> Data {
    let edges = (0.35 * threshold(base, epsilon)).floor() as u64;
    let ends = 1..=edges;
    let there: Vec<Edge> = ends.flat_map(|a| [(2, [0, a]), (0, [a, 0])]).collect();
    filled(there, vec![(1, [0, 0])], base)
}

fn views(base: u64, epsilon: f64) -> Data {
    let threshold = threshold(base, epsilon);
    let ends = ((base as f64 / (8.0 * threshold)) as u64).max(1);
    let degree = ((0.4 * threshold).round() as u64).clamp(1, ends);
    // Edges that make the ends heavy, and are in no triangle.
    let spokes = (1.75 * threshold).ceil() as u64;
    let far = |end: u64, at: u64| (1 << 50) + end * spokes + at;
    let spoke = |(end, at)| [(0, [end, far(end, at)]), (0, [far(end, at), end])];
    let all = (0..ends).flat_map(|end| (0..spokes).map(move |at| (end, at)));
    let mut there: Vec<Edge> = all.flat_map(spoke).collect();
    let room = (3 * base / 4).saturating_sub(there.len() as u64);
    let mut random = Random::new(0xed6e);
    for c in 0..room / (2 * degree) {
        for relation in [1, 2] {
            let mut chosen = BTreeSet::new();
            while (chosen.len() as u64) < degree {
                chosen.insert(random.below(ends));
            }
            let edge = |end: u64| match relation {
                1 => (1, [end, c]),
                _ => (2, [c, end]),
            };
            there.extend(chosen.into_iter().map(edge));
        }
    }
    let toggled = (0..TOGGLED).map(|at| (0, [at % ends, 7 * at % ends]));
    filled(there, toggled.collect(), base)
}
