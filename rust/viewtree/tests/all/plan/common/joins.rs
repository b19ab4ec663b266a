//! Natural joins of few columns, and the classes that they are of by definition: slow, from first principles.

use std::collections::BTreeSet;

use proptest::prelude::*;
use ringview_explain::Explanation;
use ringview_query::Query;

use super::{Tables, column, group};

const COLUMNS: [&str; 5] = ["a", "b", "c", "d", "e"];

/// A natural join: each relation its columns, and the free ones.
#[derive(Clone, Debug)]
pub struct Join {
    pub relations: Vec<BTreeSet<&'static str>>,
    pub free: BTreeSet<&'static str>,
}

impl Join {
    /// `"ab bc : c"`
    pub fn new(text: &str) -> Join {
        let (relations, free) = text.split_once(':').unwrap();
        let columns = |text: &str| {
            let has = |c: &&str| text.contains(*c);
            COLUMNS.into_iter().filter(has).collect()
        };
        Join {
            relations: relations.split_whitespace().map(columns).collect(),
            free: columns(free),
        }
    }

    /// Relations `r0`, `r1`, ..
    pub fn tables(&self) -> (Tables, Query) {
        let table = |(at, columns): (usize, &BTreeSet<&str>)| {
            let columns: Vec<&str> = columns.iter().copied().collect();
            format!("r{at}({})", columns.join(", "))
        };
        let text: Vec<String> = self.relations.iter().enumerate().map(table).collect();
        let tables = Tables::new(&text.join(" "));
        let names: Vec<String> = (0..self.relations.len())
            .map(|at| format!("r{at}"))
            .collect();
        let mut query = tables.natural(&names.iter().map(String::as_str).collect::<Vec<_>>());
        for free in &self.free {
            let atom = self
                .relations
                .iter()
                .position(|relation| relation.contains(free));
            let place = format!("{}.{free}", atom.unwrap());
            query.group_by.push(column(&place));
            query.outputs.insert(0, group(&place));
        }
        (tables, query)
    }

    pub fn explain(&self) -> Explanation {
        let (tables, query) = self.tables();
        tables.plan(&query).explanation()
    }

    pub fn of(&self, column: &str) -> BTreeSet<usize> {
        let has = |at: &usize| self.relations[*at].contains(column);
        (0..self.relations.len()).filter(has).collect()
    }

    fn columns(&self) -> BTreeSet<&'static str> {
        self.relations.iter().flatten().copied().collect()
    }

    /// For every two variables: nested or disjoint.
    pub fn hierarchical(&self) -> bool {
        let all = self.columns();
        all.iter().all(|x| {
            all.iter().all(|y| {
                let (x, y) = (self.of(x), self.of(y));
                x.is_subset(&y) || y.is_subset(&x) || x.is_disjoint(&y)
            })
        })
    }

    /// And: if at(x) is strictly within at(y) and x is free, so is y.
    pub fn q_hierarchical(&self) -> bool {
        let all = self.columns();
        let well = |x: &str, y: &str| {
            let (of_x, of_y) = (self.of(x), self.of(y));
            let strictly = of_x.is_subset(&of_y) && of_x != of_y;
            !(strictly && self.free.contains(x)) || self.free.contains(y)
        };
        self.hierarchical() && all.iter().all(|x| all.iter().all(|y| well(x, y)))
    }

    pub fn free_connex(&self) -> bool {
        let mut with_head = self.relations.clone();
        with_head.push(self.free.clone());
        has_join_tree(&self.relations) && has_join_tree(&with_head)
    }
}

/// Whether some tree over the edges has each variable's edges connected: every tree is tried.
pub fn has_join_tree(edges: &[BTreeSet<&str>]) -> bool {
    let count = edges.len();
    if count < 3 {
        return true;
    }
    // Trees over `count` nodes by their Pruefer sequences.
    (0..count.pow(count as u32 - 2)).any(|code| {
        let sequence: Vec<usize> = (0..count as u32 - 2)
            .map(|at| code / count.pow(at) % count)
            .collect();
        connects(edges, &tree(&sequence, count))
    })
}

fn tree(sequence: &[usize], count: usize) -> Vec<(usize, usize)> {
    let mut degree = vec![1; count];
    sequence.iter().for_each(|node| degree[*node] += 1);
    let mut found = Vec::new();
    for &node in sequence {
        let leaf = (0..count).find(|leaf| degree[*leaf] == 1).unwrap();
        found.push((leaf, node));
        degree[leaf] -= 1;
        degree[node] -= 1;
    }
    let last: Vec<usize> = (0..count).filter(|node| degree[*node] == 1).collect();
    found.push((last[0], last[1]));
    found
}

fn connects(edges: &[BTreeSet<&str>], tree: &[(usize, usize)]) -> bool {
    let all: BTreeSet<&str> = edges.iter().flatten().copied().collect();
    all.iter().all(|variable| {
        let nodes = edges.iter().filter(|edge| edge.contains(variable)).count();
        let has = |at: usize| edges[at].contains(variable);
        let links = tree.iter().filter(|(x, y)| has(*x) && has(*y)).count();
        // A forest of one tree has one link less than nodes.
        links + 1 == nodes
    })
}

/// Up to five relations over five columns.
pub fn joins() -> impl Strategy<Value = Join> {
    let columns = |mask: u8| {
        let has = |(at, c)| (mask >> at & 1 == 1).then_some(c);
        COLUMNS
            .into_iter()
            .enumerate()
            .filter_map(has)
            .collect::<BTreeSet<_>>()
    };
    (
        prop::collection::vec(1u8..32, 1..=5),
        any::<u8>(),
        any::<u8>(),
    )
        .prop_map(move |(masks, free, thin)| {
            let relations: Vec<_> = masks.into_iter().map(columns).collect();
            let all: BTreeSet<_> = relations.iter().flatten().copied().collect();
            let free = columns(free & thin & 31)
                .intersection(&all)
                .copied()
                .collect();
            Join { relations, free }
        })
}
