//! Blocks: queries within a query, which its atoms read by name (WITH, subqueries in FROM).
//!
//! Invariant, once checked: blocks have names, and hold no blocks of their own. An atom's name
//! means the last earlier block of that name, else a table or a view of the database: so no query
//! reads itself, and `WITH t AS (SELECT .. FROM t)` reads the table.

use ringview_core::{Error, Result, SqlProblem};

use super::Query;

impl Query {
    /// Checks the blocks by themselves.
    ///
    /// # Errors
    /// `Value` for one without a name or with blocks of its own.
    pub fn check_blocks(&self) -> Result<()> {
        for block in &self.blocks {
            if block.name.is_empty() {
                return Err(Error::Value {
                    place: "a block of the query".to_owned(),
                    problem: "has no name, so no atom could speak of it; give it one".to_owned(),
                });
            }
            if !block.query.blocks.is_empty() {
                return Err(Error::Value {
                    place: format!("the block {:?} of the query", block.name),
                    problem: "has blocks of its own; put them before it, into the query's"
                        .to_owned(),
                });
            }
        }
        Ok(())
    }

    /// Refuses a part that is computed row by row, or in an order, for `what` takes only joins.
    ///
    /// # Errors
    /// `Unsupported`, with what to do about it.
    pub fn check_joins(&self, what: &str) -> Result<()> {
        let blocks = self.blocks.iter().map(|block| &block.query);
        let Some(rows) = blocks.chain([self]).find_map(|one| one.rows.as_ref()) else {
            return Ok(());
        };
        let problem = SqlProblem::Unsupported;
        let message = format!(
            "{what} takes joins of tables, with filters and groups, and no {}; compute that part into a column before the \
             rows are inserted, or from what you read",
            rows.description()
        );
        Err(Error::Sql {
            problem,
            message,
            position: None,
        })
    }
}
