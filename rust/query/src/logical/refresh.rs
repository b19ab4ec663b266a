//! Recomputation that a change causes in a query, and the allowed amount.
//!
//! Invariant: a query is of the most expensive class of its blocks; the classes are ordered by the cost of a change.
//! Cost: O(blocks).

use std::str::FromStr;

use ringview_core::{Error, Result};

use super::{Parted, Query, Rows, Strategy};

/// Rows that a change may recompute besides those that it moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refresh {
    /// None.
    Incremental,
    /// Those of the partitions, or groups, that it touches.
    Part,
    /// All rows of a block.
    #[default]
    Full,
}

impl Refresh {
    fn name(self) -> &'static str {
        match self {
            Self::Incremental => "incremental",
            Self::Part => "part",
            Self::Full => "full",
        }
    }
}

impl FromStr for Refresh {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let mut all = [Self::Incremental, Self::Part, Self::Full].into_iter();
        all.find(|one| one.name() == name)
            .ok_or_else(|| Error::Value {
                place: format!("refresh={name:?}"),
                problem: "write \"incremental\", \"part\" or \"full\"".to_owned(),
            })
    }
}

impl Parted {
    /// Recomputation that a change causes in it.
    #[must_use]
    pub fn refresh(&self) -> Refresh {
        if self.is_numbered() {
            return Refresh::Incremental;
        }
        match (self.frame_bounds(), self.partition.is_empty()) {
            (Some(_), _) => Refresh::Incremental,
            (None, true) => Refresh::Full,
            (None, false) => Refresh::Part,
        }
    }
}

impl Query {
    /// Refuses a recursion whose change computes more anew than this, in its step or because of it.
    fn check_step(&self, most: Refresh) -> Result<()> {
        let Some(Rows::Recursive(recursion)) = &self.rows else {
            return Ok(());
        };
        if most < Refresh::Full && matches!(recursion.strategy, Strategy::Anew { .. }) {
            return Err(Error::Unsupported {
                what: format!("WITH RECURSIVE with refresh={:?}", most.name()),
                why: "a change computes all rows anew, as what follows SELECT .. UNION is more than joins and \
                      conditions that read the recursive name once"
                    .to_owned(),
                instead: "aggregate, order and compare with all rows in the SELECT that reads it, or allow it: \
                          refresh=\"full\""
                    .to_owned(),
            });
        }
        recursion.query()?.check_refresh(most)
    }

    /// Refuses a query of which a change may compute more anew than this.
    ///
    /// # Errors
    /// `Unsupported`, which names the functions and what they need.
    pub fn check_refresh(&self, most: Refresh) -> Result<()> {
        let queries = || self.blocks.iter().map(|block| &block.query).chain([self]);
        for query in queries() {
            query.check_step(most)?;
        }
        let queries = queries();
        let parted = queries.filter_map(|query| match query.rows.as_ref().map(Rows::stored) {
            Some(Rows::Parted(parted)) if parted.refresh() > most => Some(parted),
            _ => None,
        });
        let Some(parted) = parted.max_by_key(|parted| parted.refresh()) else {
            return Ok(());
        };
        let mut functions: Vec<String> = Vec::new();
        for call in &parted.calls {
            let name = call.function.to_uppercase();
            if !functions.contains(&name) {
                functions.push(name);
            }
        }
        let (rows, instead) = match (parted.refresh(), parted.grouped) {
            (Refresh::Full, false) => (
                "all rows anew, as there is no PARTITION BY",
                "partition by a column, or allow it: ",
            ),
            (Refresh::Full, true) => (
                "all rows anew, as there is no GROUP BY",
                "group by a column, or allow it: ",
            ),
            (_, false) => ("the rows of each partition that changes anew", "allow it: "),
            (_, true) => ("the rows of each group that changes anew", "allow it: "),
        };
        Err(Error::Unsupported {
            what: format!("{} with refresh={:?}", functions.join(", "), most.name()),
            why: format!("a change computes {rows}"),
            instead: format!("{instead}refresh={:?}", parted.refresh().name()),
        })
    }
}
