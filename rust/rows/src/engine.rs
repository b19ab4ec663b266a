//! The planner: queries that compute row by row, and nothing else.
//!
//! Invariant: every such query has a plan, since `bind` has typed it. Cost: that of binding its expressions.

use ringview_core::{Error, Result};
use ringview_explain::Explanation;
use ringview_query::{Bound, Rows};
use ringview_view::{Candidate, Cost, Engine, Refusal, View};

use crate::asof::AsOf;
use crate::block::{Block, BlockView};
use crate::explained::described;
use crate::framed::Framed;
use crate::map::RowMap;
use crate::ordered::Ordered;
use crate::parted::Parted;
use crate::recursive::Recursive;
use crate::running::Running;
use crate::running::plan::is_running;
use crate::timed::Timed;

/// The engine `rows`.
#[derive(Debug, Default)]
pub struct RowBlocks;

struct Plan(Bound);

impl Engine for RowBlocks {
    fn name(&self) -> &str {
        "rows"
    }

    fn plan(&self, query: &Bound) -> std::result::Result<Box<dyn Candidate>, Refusal> {
        if query.rows.is_some() {
            return Ok(Box::new(Plan(query.clone())));
        }
        Err(Refusal::from(Error::Unsupported {
            what: "a join or an aggregate by the engine \"rows\"".to_owned(),
            why: "it computes row by row".to_owned(),
            instead: "leave the engine out".to_owned(),
        })
        .silent())
    }
}

impl Candidate for Plan {
    fn change(&self) -> Cost {
        match self.0.rows.as_ref().map(Rows::stored) {
            Some(Rows::Ordered(_) | Rows::Timed(_) | Rows::Latest(_)) => Cost::Logarithmic,
            Some(Rows::Parted(parted))
                if parted.frame_bounds().is_some() || is_running(&self.0) =>
            {
                Cost::Logarithmic
            }
            Some(Rows::Parted(_) | Rows::Recursive(_)) => Cost::Power(1.0),
            _ => Cost::Constant,
        }
    }

    fn space(&self) -> f64 {
        match self.0.rows {
            Some(Rows::Map { .. }) | None => 0.0,
            _ => 1.0,
        }
    }

    fn explanation(&self) -> Explanation {
        described(&self.0)
    }

    fn make(self: Box<Self>) -> Result<Box<dyn View>> {
        let Plan(query) = *self;
        Ok(match query.rows.as_ref().map(Rows::stored) {
            Some(Rows::Ordered(_)) => viewed(&query, Ordered::new)?,
            Some(Rows::Parted(parted)) => match parted.frame_bounds() {
                Some(_) => viewed(&query, Framed::new)?,
                None if is_running(&query) => viewed(&query, Running::new)?,
                None => viewed(&query, Parted::new)?,
            },
            Some(Rows::Latest(_)) => viewed(&query, AsOf::new)?,
            Some(Rows::Timed(_)) => viewed(&query, Timed::new)?,
            Some(Rows::Recursive(_)) => viewed(&query, Recursive::new)?,
            _ => Box::new(RowMap::new(&query)?),
        })
    }
}

/// A block as a view.
fn viewed<B: Block>(
    query: &Bound,
    make: impl FnOnce(&Bound) -> Result<B>,
) -> Result<Box<dyn View>> {
    Ok(Box::new(BlockView::new(query, make)?))
}
