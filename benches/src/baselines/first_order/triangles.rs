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
            self.count += sign * common(self.out[next].get(&y), self.into[after].get(&x));
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
        self.out.iter().chain(&self.into).map(bytes).sum()
    }
}

/// The same of one relation E(a, b), E(b, c), E(c, a) without loops: an edge has one of three places.
#[derive(Default)]
pub(crate) struct OwnTriangles {
    out: HashMap<i32, Vec<i32>>,
    into: HashMap<i32, Vec<i32>>,
    count: i64,
}

impl System for OwnTriangles {
    fn apply(&mut self, _relation: usize, batch: &RecordBatch, sign: i64) {
        for (&x, &y) in values(batch, 0).iter().zip(values(batch, 1)) {
            self.count += 3 * sign * common(self.out.get(&y), self.into.get(&x));
            change(self.out.entry(x).or_default(), y, sign);
            change(self.into.entry(y).or_default(), x, sign);
        }
    }

    fn totals(&self) -> Totals {
        Totals {
            count: self.count,
            sum: 0,
        }
    }

    fn memory(&self) -> usize {
        bytes(&self.out) + bytes(&self.into)
    }
}

/// Number of nodes that two sorted lists share.
fn common(leaving: Option<&Vec<i32>>, entering: Option<&Vec<i32>>) -> i64 {
    let (Some(leaving), Some(entering)) = (leaving, entering) else {
        return 0;
    };
    let (short, long) = match leaving.len() < entering.len() {
        true => (leaving, entering),
        false => (entering, leaving),
    };
    let shared = short.iter().filter(|z| long.binary_search(z).is_ok());
    shared.count() as i64
}

fn bytes(map: &HashMap<i32, Vec<i32>>) -> usize {
    let lists = map.values().map(|list| list.capacity() * size_of::<i32>());
    lists.sum::<usize>() + map.capacity() * size_of::<(i32, Vec<i32>)>()
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
