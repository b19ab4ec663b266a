//! The clock of a database, and who hangs on it.
//!
//! Invariant: none but a transaction moves it (`transaction/time`). Cost: O(1), and O(tables) to find one.

use super::Database;

impl Database {
    /// Current time of the database, in microseconds since 1970 in UTC; none before it is first set.
    #[must_use]
    pub fn now(&self) -> Option<i64> {
        self.state.now
    }

    /// Whether there is a table of this name whose rows leave with time.
    #[must_use]
    pub fn keeps_for_a_time(&self, table: &str) -> bool {
        let mut tables = self.state.storage.tables.iter();
        tables.any(|one| one.name == table && one.retention.is_some())
    }
}
