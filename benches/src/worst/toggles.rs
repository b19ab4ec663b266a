//! Inserts and deletes of an edge of R(a, b) between hubs of S(b, c) and T(c, a), or within a
//! clique.
//!
//! Hub: b = 0 has `size / 2` edges in S, a = 0 as many in T, to the same vertices. An edge of R between the two closes
//! all of them, so a system that walks a neighbourhood takes time that is linear in the size. Clique: all pairs of
//! sqrt(size / 3) vertices in all three relations; every neighbourhood is a square root. All systems must have the same
//! count after the insert of the edge.

use std::time::{Duration, Instant};

use serde::Serialize;

use super::print;
use crate::common::clock::on_core;
use crate::common::data::{Dataset, Order, Relation};
use crate::harness::SystemName;
use crate::workloads::{Asked, RELATIONS, Triangles, Workload};

const SYSTEMS: [SystemName; 3] = [
    SystemName::RingviewEpsilon,
    SystemName::RingviewTrusted,
    SystemName::FirstOrder,
];
const SIZES: [i32; 4] = [1_000, 10_000, 100_000, 1_000_000];
const LONG_ENOUGH: Duration = Duration::from_millis(200);
const MOST: u32 = 2_000;

#[derive(Serialize)]
struct Line {
    workload: &'static str,
    /// Name of the data.
    data: &'static str,
    /// Edges.
    size: i32,
    system: &'static str,
    /// Of an edge that is inserted or deleted.
    seconds: f64,
    cpu_seconds: f64,
    changes: u32,
    count: i64,
}

pub(crate) fn run(share: usize) -> Result<(), String> {
    let shown = SIZES.iter().filter(|&&size| share == 1 || size <= 10_000);
    for &size in shown {
        for (kind, edges) in [("hub", hub(size)), ("clique", clique(size))] {
            toggle(kind, size, edges)?;
        }
    }
    Ok(())
}

type Edges = [Vec<[i32; 2]>; 3];

fn hub(size: i32) -> Edges {
    let spokes = 1..=size / 2;
    let (s, t) = spokes.map(|c| ([0, c], [c, 0])).unzip();
    [Vec::new(), s, t]
}

fn clique(size: i32) -> Edges {
    let side = f64::from(size / 3).sqrt() as i32;
    let all = (0..side).flat_map(|a| (0..side).map(move |b| [a, b]));
    // The toggled edge is inserted later.
    let rest = all.clone().filter(|edge| *edge != [0, 0]);
    [rest.collect(), all.clone().collect(), all.collect()]
}

fn dataset(edges: &Edges) -> Dataset {
    let relation = |((name, names), edges): ((&'static str, [&str; 2]), &Vec<[i32; 2]>)| Relation {
        name,
        names: names.map(str::to_owned).into(),
        columns: [0, 1]
            .map(|end| edges.iter().map(|edge| edge[end]).collect())
            .into(),
    };
    Dataset::new(
        RELATIONS.into_iter().zip(edges).map(relation).collect(),
        Order::Sorted,
    )
}

fn toggle(kind: &'static str, size: i32, edges: Edges) -> Result<(), String> {
    let (data, edge) = (dataset(&edges), dataset(&[vec![[0, 0]], vec![], vec![]]));
    let workload = Workload {
        stream: &Triangles,
        asked: Asked::Sum,
    };
    let mut agreed: Option<i64> = None;
    for name in SYSTEMS {
        let Some(mut system) = name.build(workload, &data) else {
            continue;
        };
        for relation in 0..3 {
            system.apply(relation, data.batch(relation), 1);
        }
        let edge = edge.batch(0);
        system.apply(0, edge, 1);
        let count = system.totals().count;
        system.apply(0, edge, -1);
        if *agreed.get_or_insert(count) != count {
            return Err(format!(
                "{} counts {count}, another {agreed:?}",
                name.name()
            ));
        }
        let (start, core, mut changes) = (Instant::now(), on_core(), 0);
        while changes < MOST && start.elapsed() < LONG_ENOUGH {
            system.apply(0, edge, 1);
            system.apply(0, edge, -1);
            changes += 2;
        }
        print(&Line {
            workload: "toggles",
            data: kind,
            size,
            system: name.name(),
            seconds: start.elapsed().as_secs_f64() / f64::from(changes),
            cpu_seconds: (on_core() - core).as_secs_f64() / f64::from(changes),
            changes,
            count,
        })?;
    }
    Ok(())
}
