//! Aggregates whose conditions hold correlated aggregates, over an order book: the queries of the paper's table 1.
//!
//! Invariant: the clock is the thread's own and runs only while an event is taken and the result read; each figure is the
//! least of several runs, all with the same result at the end.
//!
//! | file | holds |
//! |---|---|
//! | `book` | events one at a time: the machine alone, and the whole engine with rows checked |
//! | `cost` | an event against the number of orders that are there |
//! | `logical` | queries as the database takes them |
//! | `queries` | queries as the machine takes them, which its tests have too |

mod book;
mod cost;
mod logical;
#[allow(dead_code, reason = "tests run more of them")]
#[path = "../../../rust/rpai/tests/common/queries.rs"]
mod queries;

use std::path::Path;

use ringview_core::{Batch, Column};
use serde::Serialize;

/// The measurements of this folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Correlated {
    Book,
    Cost,
}

impl Correlated {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "book" => Ok(Self::Book),
            "cost" => Ok(Self::Cost),
            _ => Err(format!("unknown measurement {text}")),
        }
    }

    /// Prints its lines; a share leaves events and large sizes out.
    pub(crate) fn run(self, events: Option<&Path>, share: usize) -> Result<(), String> {
        match self {
            Self::Book => book::run(events, share),
            Self::Cost => cost::run(share),
        }
    }
}

/// Rows of volumes and prices, each so many times.
fn batch(rows: &[(i64, i64)], times: i64) -> Batch {
    let column = |value: &dyn Fn(&(i64, i64)) -> i64| {
        let words = rows.iter().map(|row| value(row) as u64).collect();
        let (high, valid) = (Vec::new(), None);
        Some(Column { words, high, valid })
    };
    let mut batch = Batch::new();
    batch.rows = rows.len();
    batch.multiplicity = Some(vec![times; rows.len()]);
    batch.columns = vec![column(&|row| row.0), column(&|row| row.1)];
    batch
}

fn print(line: &impl Serialize) -> Result<(), String> {
    let line = serde_json::to_string(line).map_err(|error| error.to_string())?;
    println!("{line}");
    Ok(())
}
