//! Reversals of definitions, for rollbacks.
//!
//! Invariant: none beyond its shape; `database/definitions` records and applies reversals. Cost: the tables that they hold.

use crate::graph::declared::Declared;
use crate::graph::logs::Logs;
use crate::storage::table::{Defaults, Table};

/// Reversal of a definition.
#[derive(Debug)]
pub(crate) enum Reversal {
    /// Drops the table of a number.
    DropTable(u64),
    /// Puts a dropped table back at its position.
    RestoreTable(usize, Table),
    /// Puts a table as it was in the place of what it was altered to.
    ReplaceTable(usize, Table),
    /// Gives the table at a position its former defaults.
    RestoreDefaults(usize, Defaults),
    /// Drops the view of a number.
    DropView(u64),
    RestoreView(Box<DroppedView>),
}

/// A dropped view.
#[derive(Debug)]
pub(crate) struct DroppedView {
    pub(crate) view: Declared,
    pub(crate) maintainer: Maintainer,
    /// Its logs, if no other view had the same.
    pub(crate) logs: Logs,
}

/// The engine that maintained a view.
#[derive(Debug)]
pub(crate) enum Maintainer {
    /// By its name.
    Engine(String),
    /// A sample, with its size and its state.
    Sample(u64, Vec<u8>),
}

impl Reversal {
    /// The bytes of the table that it holds.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::RestoreTable(_, table) | Self::ReplaceTable(_, table) => table.bytes(),
            _ => 0,
        }
    }
}
