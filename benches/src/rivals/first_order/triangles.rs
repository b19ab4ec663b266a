//! Triangles: for an edge of one relation, the common neighbours in the two others.
//!
//! Each relation is kept as sorted adjacency, both ways; the shorter list is searched in the longer one.

use std::collections::HashMap;

use arrow_array::RecordBatch;

use crate::common::data::values;
use crate::common::system::{System, Totals};

/// `COUNT(*)` of R(a, b), S(b, c), T(c, a).
#[derive(Default)]
pub(crate) struct Triangles {
    /// By relation: the edges that leave and the edges that enter a node, each sorted.
    out: [HashMap<i32, Vec<i32>>; 3],
    into: [HashMap<i32, Vec<i32>>; 3],
    count: i64,
}

impl System for Triangles {
    fn apply(&mut self, relation: usize, batch: &RecordBatch, sign: i64) {
        // An edge x -> y of one relation closes with y -> z of the next and z -> x of the one after.
        let (next, after) = ((relation + 1) % 3, (relation + 2) % 3);
        for (&x, &y) in values(batch, 0).iter().zip(values(batch, 1)) {
            let none = Vec::new();
            let leaving = self.out[next].get(&y).unwrap_or(&none);
            let entering = self.into[after].get(&x).unwrap_or(&none);
            let (short, long) = if leaving.len() < entering.len() {
                (leaving, entering)
            } else {
                (entering, leaving)
            };
            let common = short.iter().filter(|z| long.binary_search(z).is_ok());
            self.count += sign * common.count() as i64;
            change(self.out[relation].entry(x).or_default(), y, sign);
            change(self.into[relation].entry(y).or_default(), x, sign);
        }
    }

    fn totals(&self) -> Totals {
        Totals {
            count: self.count,
            sum: 0,
        }
    }

    fn memory(&self) -> usize {
        let maps = self.out.iter().chain(&self.into);
        let bytes = |map: &HashMap<i32, Vec<i32>>| {
            let lists = map.values().map(|list| list.capacity() * size_of::<i32>());
            lists.sum::<usize>() + map.capacity() * size_of::<(i32, Vec<i32>)>()
        };
        maps.map(bytes).sum()
    }
}

fn change(list: &mut Vec<i32>, node: i32, sign: i64) {
    match list.binary_search(&node) {
        Ok(at) if sign < 0 => {
            list.remove(at);
        }
        Err(at) if sign > 0 => list.insert(at, node),
        _ => {}
    }
}
