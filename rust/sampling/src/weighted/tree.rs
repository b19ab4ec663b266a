//! The join tree of an acyclic join, with the weight of every row together with all that joins it below.
//!
//! Invariant: rows of one key follow each other, with running sums; rows without weight, or that join none with weight, are left
//! out. Cost: O(N) once, O(log N) a draw and relation.

use std::collections::HashMap;

use ringview_core::{Budget, Error, Result};

use crate::random::Random;
use crate::shape::join_tree;
use crate::{Atom, Index};

/// A join tree with weights.
#[derive(Debug)]
pub(crate) struct Weighted {
    /// By relation.
    nodes: Vec<Node>,
    root: usize,
}

#[derive(Debug, Default)]
struct Node {
    /// The tuples with weight, those of a group together.
    tuples: Vec<u32>,
    /// The running sums within a group.
    sums: Vec<f64>,
    /// The weight of each group, its place, and its number of results.
    groups: Vec<Group>,
    /// The relations below; by tuple in the order of `tuples`, the group of each.
    below: Vec<usize>,
    group_below: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Group {
    weight: f64,
    start: usize,
    end: usize,
    results: u128,
}

impl Weighted {
    /// Weighs all rows: `weight` returns the weight of a tuple of a relation.
    ///
    /// # Errors
    /// Those of `weight` and the budget; `Overflow` where the weights of all results add up to no double.
    pub(crate) fn new(
        (atoms, index): (&[Atom], &Index),
        weight: &mut dyn FnMut(usize, u32) -> Result<f64>,
        budget: &Budget<'_>,
    ) -> Result<Weighted> {
        let edges = join_tree(atoms)?;
        let root = edges.first().map_or(0, |edge| edge.0);
        let mut nodes: Vec<Node> = atoms.iter().map(|_| Node::default()).collect();
        let mut keys: Vec<Groups> = vec![Groups::new(); atoms.len()];
        // Children before their parents.
        let order = edges.iter().rev().map(|edge| edge.1).chain([root]);
        for node in order {
            let below: Vec<Below> = edges
                .iter()
                .filter(|edge| edge.0 == node)
                .map(|(_, child, key)| (*child, atoms[node].columns_of(key)))
                .collect();
            let above = edges.iter().find(|edge| edge.1 == node && node != root);
            let above = above.map_or_else(Vec::new, |edge| atoms[node].columns_of(&edge.2));
            let mut rows: Vec<Weighed> = Vec::new();
            for tuple in index.tuples(node) {
                budget.work(1)?;
                let row = index.row(node, tuple);
                let found = Weighed::new((&below, &nodes, &keys), row, tuple, &mut || {
                    weight(node, tuple)
                })?;
                if let Some(mut weighed) = found {
                    let key: Vec<u64> = above.iter().map(|&column| row[column]).collect();
                    let groups = keys[node].len() as u32;
                    weighed.group = *keys[node].entry(key).or_insert(groups);
                    rows.push(weighed);
                }
            }
            nodes[node] = Node::of(rows, below.into_iter().map(|(child, _)| child).collect())?;
        }
        Ok(Weighted { nodes, root })
    }

    /// Number of relations.
    pub(super) fn relations(&self) -> usize {
        self.nodes.len()
    }

    /// The number of results with weight, at most.
    pub(super) fn results(&self) -> u128 {
        self.nodes[self.root]
            .groups
            .first()
            .map_or(0, |group| group.results)
    }

    /// A result.
    pub(super) fn draw(&self, random: &mut Random, out: &mut [u32]) {
        self.descend((self.root, 0), random, out);
    }

    fn descend(&self, (node, group): (usize, u32), random: &mut Random, out: &mut [u32]) {
        let of = &self.nodes[node];
        let Group {
            weight, start, end, ..
        } = of.groups[group as usize];
        // Above 0, so that what weighs nothing is behind no sum.
        let wanted = random.unit() * weight;
        let within = of.sums[start..end].partition_point(|&sum| sum < wanted);
        let at = (start + within).min(end - 1);
        out[node] = of.tuples[at];
        for (place, &child) in of.below.iter().enumerate() {
            let group = of.group_below[at * of.below.len() + place];
            self.descend((child, group), random, out);
        }
    }

    /// Calls `see` with every result that has weight.
    pub(super) fn each(&self, see: &mut dyn FnMut(&[u32]) -> Result<()>) -> Result<()> {
        let mut out = vec![0; self.nodes.len()];
        if self.results() == 0 {
            return Ok(());
        }
        self.all(&mut vec![(self.root, 0)], &mut out, see)
    }

    /// Enumerates the products of the open groups.
    fn all(
        &self,
        open: &mut Vec<(usize, u32)>,
        out: &mut [u32],
        see: &mut dyn FnMut(&[u32]) -> Result<()>,
    ) -> Result<()> {
        let Some((node, group)) = open.pop() else {
            return see(out);
        };
        let of = &self.nodes[node];
        let Group { start, end, .. } = of.groups[group as usize];
        for at in start..end {
            out[node] = of.tuples[at];
            let before = open.len();
            for (place, &child) in of.below.iter().enumerate() {
                open.push((child, of.group_below[at * of.below.len() + place]));
            }
            let mut next = open.clone();
            self.all(&mut next, out, see)?;
            open.truncate(before);
        }
        open.push((node, group));
        Ok(())
    }
}

/// A relation below another, and the columns there of the key that they share.
type Below = (usize, Vec<usize>);

/// The groups of a relation by their keys.
type Groups = HashMap<Vec<u64>, u32>;

/// A tuple with its weight.
struct Weighed {
    tuple: u32,
    group: u32,
    weight: f64,
    results: u128,
    below: Vec<u32>,
}

impl Weighed {
    /// None where it has no weight, or joins none that has.
    fn new(
        (below, nodes, keys): (&[Below], &[Node], &[Groups]),
        row: &[u64],
        tuple: u32,
        own: &mut dyn FnMut() -> Result<f64>,
    ) -> Result<Option<Weighed>> {
        let mut found = Weighed {
            tuple,
            group: 0,
            weight: own()?,
            results: 1,
            below: Vec::with_capacity(below.len()),
        };
        for (child, columns) in below {
            let key: Vec<u64> = columns.iter().map(|&column| row[column]).collect();
            let Some(&group) = keys[*child].get(&key) else {
                return Ok(None);
            };
            let of = &nodes[*child].groups[group as usize];
            found.weight *= of.weight;
            found.results = found.results.saturating_mul(of.results);
            found.below.push(group);
        }
        Ok((found.weight > 0.0).then_some(found))
    }
}

impl Node {
    fn of(mut rows: Vec<Weighed>, below: Vec<usize>) -> Result<Node> {
        rows.sort_by_key(|row| row.group);
        let mut node = Node {
            below,
            ..Node::default()
        };
        for row in rows {
            if row.group as usize == node.groups.len() {
                let start = node.tuples.len();
                node.groups.push(Group {
                    start,
                    ..Group::default()
                });
            }
            node.tuples.push(row.tuple);
            node.group_below.extend(&row.below);
            if let Some(group) = node.groups.last_mut() {
                group.weight += row.weight;
                group.results = group.results.saturating_add(row.results);
                group.end = node.tuples.len();
                node.sums.push(group.weight);
                if !group.weight.is_finite() {
                    return Err(Error::Overflow {
                        place: "the weight of all results of a join".to_owned(),
                    });
                }
            }
        }
        Ok(node)
    }
}
