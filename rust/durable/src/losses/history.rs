//! History of a file, and the part of it that must be there after a power failure.

use ringview_engine::Direction;

use super::steps::{change, contents, define, migrate, open};
use crate::disk::simulated::{Dice, Simulated};

/// A disk, and how many calls it had when each state was there.
pub(super) struct History {
    pub(super) disk: Simulated,
    states: Vec<(usize, String)>,
}

impl History {
    /// A random history of a file: changes of all sizes, snapshots, closing and opening.
    pub(super) fn of(seed: u64, steps: i64) -> Self {
        let (disk, mut dice) = (Simulated::default(), Dice::new(seed));
        let mut db = open(&disk).unwrap();
        let mut states = vec![(disk.calls(), contents(&db))];
        define(&mut db);
        states.push((disk.calls(), contents(&db)));
        let mut there = Vec::new();
        for number in 0..steps {
            match dice.below(12) {
                0 => db.snapshot().unwrap(),
                1 => {
                    db.close().unwrap();
                    db = open(&disk).unwrap();
                }
                2 => {
                    // As when the process was killed.
                    let killed = Simulated::with(disk.bytes());
                    assert_eq!(contents(&open(&killed).unwrap()), contents(&db));
                }
                3 | 4 if !there.is_empty() => {
                    let (number, rows) = there.swap_remove(dice.below(there.len()));
                    change(&mut db, number, rows, Direction::Delete).unwrap();
                }
                6 => migrate(&mut db, number).unwrap(),
                how => {
                    let rows = if how == 5 {
                        20_000
                    } else {
                        1 + dice.below(50) as i64
                    };
                    change(&mut db, number, rows, Direction::Insert).unwrap();
                    there.push((number, rows));
                }
            }
            states.push((disk.calls(), contents(&db)));
        }
        // Dropped without being closed.
        Self { disk, states }
    }

    /// Power fails at a call: what returned is there, and of the call under way all or nothing.
    pub(super) fn check(&self, calls: usize, dice: &mut Dice) {
        let disk = Simulated::with(self.disk.after(calls, dice));
        let last = self.states.partition_point(|(at, _)| *at <= calls);
        // `define` is two calls.
        let (last, next) = (last.saturating_sub(1), (last + 1).min(self.states.len()));
        if calls < self.states[0].0 {
            return;
        }
        let found = match open(&disk) {
            Ok(db) => contents(&db),
            Err(problem) => panic!("behind {calls} calls: {problem}"),
        };
        let may_be = self.states[last..next]
            .iter()
            .any(|(_, state)| *state == found);
        let is_made = last == 0 && found.ends_with("[]");
        assert!(may_be || is_made, "behind {calls} calls: {found}");
    }
}
