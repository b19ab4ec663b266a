//! The rows of partitions whose numbers or sums may have changed.
//!
//! A change moves the rows behind it, as long as the numbers and sums before them differ: up to where changes cancel each
//! other, or to the end of the partition; all rows, where a function reads the whole partition and that has changed.
//! Invariant: before the first row of a region all sums are as they were; a region has all rows of each value of the order
//! that it has. Cost: O(log n + rows of the regions).

use std::collections::btree_map::Range as Changes;
use std::iter::Peekable;
use std::ops::Bound::{Included, Unbounded};
use std::ops::Range;

use ringview_core::Result;
use ringview_query::FrameEnd as End;

use super::plan::{Kind, Plan, What, overflow};
use crate::codec::Row;
use crate::partitions::{Net, Partition};
use crate::tree::{Forward, Sums};

/// From which sum of sizes on a sum may not fit: less than 2^126, as sizes are in units of 2^40.
const LARGE: i128 = 1 << 85;

/// A row, and how often it was there and is there.
#[derive(Debug)]
pub(super) struct Entry<'r> {
    pub(super) row: &'r Row,
    pub(super) copies: [i64; 2],
    /// Whether it is the first row of its value in the order.
    pub(super) leads: bool,
}

/// Some adjacent rows.
#[derive(Debug)]
pub(super) struct Region<'r> {
    pub(super) rows: Range<usize>,
    /// The sums before its first row.
    pub(super) before: Sums,
    /// The sums of its partition, before the transaction and behind it.
    pub(super) totals: [Sums; 2],
    /// By function: the row before it that the function shows, if it is there.
    pub(super) shown: Vec<Option<&'r Row>>,
}

/// Regions, and their rows one behind the other.
#[derive(Debug, Default)]
pub(super) struct Regions<'r> {
    pub(super) all: Vec<Region<'r>>,
    pub(super) rows: Vec<Entry<'r>>,
    /// By row, those of one copy of it.
    pub(super) weights: Vec<i128>,
}

impl Plan {
    /// Whether sums of a partition may not fit.
    pub(super) fn is_large(&self, total: &Sums) -> bool {
        let mut weights = self.weights.iter().zip(&total.weights);
        weights.any(|(weight, sum)| weight.kind == Kind::Size && *sum >= LARGE)
    }

    /// Whether a change of the sums by so much changes what all rows show.
    fn moves_all(&self, by: &Sums) -> bool {
        let moves = |at: &Option<usize>| match at {
            Some(at) => by.weights[*at] != 0,
            None => by.copies != 0,
        };
        let mut whole = self.functions.iter().filter(|one| one.end == End::All);
        whole.any(|one| match &one.what {
            What::Count(count) => moves(count),
            What::Sum { at, count, .. } | What::Average { at, count, .. } => {
                by.weights[*at] != 0 || moves(count)
            }
            _ => false,
        })
    }

    /// Whether numbers and sums are as they were, given by how much they differ.
    fn is_even(&self, by: &Sums, leads: i64) -> bool {
        (!self.counts || by.copies == 0)
            && (!self.leads || leads == 0)
            && by.weights[..self.weights.len()].iter().all(|sum| *sum == 0)
    }

    /// The greatest number of a row that some function shows.
    fn furthest(&self, end: Option<End>) -> i64 {
        let all = self
            .functions
            .iter()
            .filter(|one| end.is_none_or(|end| one.end == end));
        let numbers = all.filter_map(|one| match one.what {
            What::Nth { number, .. } => Some(number + 1),
            _ => None,
        });
        numbers.max().unwrap_or(0)
    }
}

impl<'r> Regions<'r> {
    /// All rows of a partition, as if none had been there before.
    pub(super) fn whole(&mut self, plan: &Plan, partition: &'r Partition) -> Result<()> {
        let none = Net::new();
        let mut walk = Walk {
            there: Some(partition.forward(Unbounded)),
            head: None,
            changes: none.range::<Row, _>(..).peekable(),
            was_there: false,
        };
        walk.step();
        let total = partition.total();
        let from = self.rows.len();
        while walk.peers(plan, self)?.is_some() {}
        self.all.push(Region {
            rows: from..self.rows.len(),
            before: Sums::none(total.weights.len()),
            totals: [total.clone(), total],
            shown: vec![None; plan.functions.len()],
        });
        Ok(())
    }

    /// Those of a partition, by how much its rows have changed; there is none where all its rows have left.
    pub(super) fn changed(
        &mut self,
        plan: &Plan,
        partition: Option<&'r Partition>,
        changed: &Net<'r>,
    ) -> Result<()> {
        let width = plan.weights.len() + usize::from(plan.leads);
        let mut by = Sums::none(width);
        for sums in changed.values() {
            by.add(sums.copies, &sums.weights);
        }
        let new = partition.map_or_else(|| Sums::none(width), Partition::total);
        let mut old = new.clone();
        old.take(&by);
        let mut is_whole =
            plan.walks || plan.moves_all(&by) || plan.is_large(&old) || plan.is_large(&new);
        let (nearest, furthest) = (plan.furthest(Some(End::All)), plan.furthest(None));
        let mut next = changed.keys().next().copied();
        while let Some(first) = next {
            let start = Row {
                order: first.order.clone(),
                shown: Box::default(),
            };
            let before = partition.map(|all| all.before(&start));
            let mut before = before.unwrap_or_else(|| Sums::none(width));
            is_whole |= before.copies < nearest;
            if is_whole {
                before = Sums::none(width);
            }
            let start = if is_whole {
                Unbounded
            } else {
                Included(&start)
            };
            let mut walk = Walk {
                there: partition.map(|all| all.forward(start)),
                head: None,
                changes: changed.range::<Row, _>((start, Unbounded)).peekable(),
                was_there: true,
            };
            walk.step();
            let is_open = is_whole || before.copies < furthest;
            let (from, mut by, mut leads) = (self.rows.len(), Sums::none(width), 0);
            while let Some((own, led)) = walk.peers(plan, self)? {
                by.add(own.copies, &own.weights);
                leads += led;
                if !is_open && plan.is_even(&by, leads) {
                    break;
                }
            }
            next = walk.changes.peek().map(|(row, _)| **row);
            let shown = plan.functions.iter().map(|one| match one.what {
                What::Nth { number, .. } if number < before.copies => partition?.select(number),
                _ => None,
            });
            self.all.push(Region {
                shown: shown.collect(),
                rows: from..self.rows.len(),
                before,
                totals: [old.clone(), new.clone()],
            });
        }
        Ok(())
    }

    fn push(
        &mut self,
        plan: &Plan,
        (row, copies, leads): (&'r Row, [i64; 2], bool),
        (of, weights): (i64, &[i128]),
    ) -> Result<()> {
        for (weight, sum) in plan.weights.iter().zip(weights) {
            let sum = if of == 1 { *sum } else { sum / i128::from(of) };
            // The sum of its copies has not wrapped around.
            if weight.kind == Kind::Size && sum.saturating_mul(i128::from(of)) >= LARGE << 2 {
                return Err(overflow(&plan.name_of(weight)));
            }
            self.weights.push(sum);
        }
        self.rows.push(Entry {
            row,
            copies: copies.map(|copies| copies.max(0)),
            leads,
        });
        Ok(())
    }
}

/// The rows of a partition beside those that changed, both in order.
struct Walk<'w, 'r> {
    there: Option<Forward<'r, Row>>,
    head: Option<(&'r Row, i64, &'r [i128])>,
    changes: Peekable<Changes<'w, &'r Row, Sums>>,
    /// Whether a row that did not change was there before.
    was_there: bool,
}

impl<'r> Walk<'_, 'r> {
    fn step(&mut self) {
        self.head = self.there.as_mut().and_then(Forward::next_weighed);
    }

    /// Advances over the rows of one value of the order: returns the change of their sums, and of the number of such
    /// values.
    fn peers(&mut self, plan: &Plan, to: &mut Regions<'r>) -> Result<Option<(Sums, i64)>> {
        let mut by = Sums::none(plan.weights.len());
        let mut there = [false; 2];
        let mut order: Option<&'r [u8]> = None;
        loop {
            let changed = self.changes.peek().map(|(row, _)| **row);
            let head = self.head.map(|(row, ..)| row);
            let row = match (head, changed) {
                (Some(head), Some(changed)) => head.min(changed),
                (Some(row), None) | (None, Some(row)) => row,
                (None, None) => break,
            };
            if order.is_some_and(|order| *order != *row.order) {
                break;
            }
            let leads = order.is_none();
            order = Some(&row.order);
            let sums = match changed.filter(|changed| *changed == row) {
                Some(_) => self.changes.next().map(|(_, sums)| sums),
                None => None,
            };
            let change = sums.map_or(0, |sums| sums.copies);
            if let Some(sums) = sums {
                by.add(sums.copies, &sums.weights);
            }
            let (copies, of) = match self.head.filter(|(head, ..)| *head == row) {
                Some((_, new, weights)) => {
                    self.step();
                    let old = if self.was_there { new - change } else { 0 };
                    ([old, new], (new, weights))
                }
                None => (
                    [-change, 0],
                    (change, sums.map_or(&[][..], |sums| &sums.weights)),
                ),
            };
            there[0] |= copies[0] > 0;
            there[1] |= copies[1] > 0;
            to.push(plan, (row, copies, leads), of)?;
        }
        Ok(order.map(|_| (by, i64::from(there[1]) - i64::from(there[0]))))
    }
}
