//! A sampler that looks at every position and has every number in the open: slow, and easy to break on purpose.

use ringview_sampling::{Atom, Index, Random};

use super::sampled::{Change, Rows};

/// The deliberate error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    Nothing,
    /// A stop at a dummy takes the first result of the delta instead.
    KeepsDummies,
    /// A new result leaves w as it was.
    KeepsW,
    /// So do results that replace deleted ones.
    KeepsWInWalks,
}

/// Two results of a join, by Algorithm 1 over all positions, one by one.
pub struct Naive {
    index: Index,
    random: Random,
    flaw: Flaw,
    held: Vec<Vec<u32>>,
    w: f64,
    full: bool,
}

const K: usize = 2;

impl Naive {
    pub fn new(atoms: &[Atom], seed: u64, flaw: Flaw) -> Naive {
        Naive {
            index: Index::new(atoms).unwrap(),
            random: Random::new(seed),
            flaw,
            held: Vec::new(),
            w: 1.0,
            full: false,
        }
    }

    pub fn apply(&mut self, (atom, row, delete): &Change) {
        if *delete {
            self.leave(*atom, row);
        } else {
            self.come(*atom, row);
        }
    }

    pub fn rows(&self) -> Vec<Rows> {
        let row = |(atom, &tuple): (usize, &u32)| self.index.row(atom, tuple).to_vec();
        let rows = |result: &Vec<u32>| result.iter().enumerate().map(row).collect();
        self.held.iter().map(rows).collect()
    }

    fn come(&mut self, atom: usize, row: &[u64]) {
        let tuple = self.index.insert(atom, row).unwrap();
        let length = self.index.delta_len(atom, tuple).unwrap();
        let mut found = vec![0; self.index.atoms()];
        let get = |index: &Index, position, found: &mut Vec<u32>| {
            index.delta_get(atom, tuple, position, found)
        };
        let first = (0..length).find(|&position| get(&self.index, position, &mut found));
        for position in 0..length {
            if self.full && self.random.unit() > self.w {
                continue;
            }
            let mut real = get(&self.index, position, &mut found);
            if let (false, Flaw::KeepsDummies, Some(first)) = (real, self.flaw, first) {
                real = get(&self.index, first, &mut found);
                real &= !self.held.contains(&found);
            }
            if !real {
                continue;
            }
            if self.held.len() < K {
                self.held.push(found.clone());
            } else {
                let place = self.random.below(K as u128) as usize;
                self.held[place].clone_from(&found);
            }
            if self.held.len() == K && !(self.full && self.flaw == Flaw::KeepsW) {
                self.w = self.random.largest(K as u64, self.w);
                self.full = true;
            }
        }
    }

    fn leave(&mut self, atom: usize, row: &[u64]) {
        let tuple = self.index.find(atom, row).unwrap();
        self.index.unlink(atom, &[tuple]);
        self.index.forget(atom, tuple);
        self.held.retain(|result| result[atom] != tuple);
        if !self.full || self.held.len() == K {
            return;
        }
        let mut outside: Vec<u128> = (0..self.index.len_upper().unwrap()).collect();
        while self.held.len() < K && !outside.is_empty() {
            if self.flaw != Flaw::KeepsWInWalks {
                self.w = self.random.smallest(outside.len() as u128, self.w);
            }
            let at = self.random.below(outside.len() as u128) as usize;
            let mut found = vec![0; self.index.atoms()];
            if self.index.get(outside.swap_remove(at), &mut found) && !self.held.contains(&found) {
                self.held.push(found);
            }
        }
        if self.held.len() < K {
            (self.w, self.full) = (1.0, false);
        }
    }
}
