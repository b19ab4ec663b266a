//! The head of a file: whose it is, its layout, how many records it has.
//!
//! Invariant: a head that is read is of a layout that is known, and counts the records that are there. Cost: O(1).

use redb::{ReadableDatabase, ReadableTableMetadata, TableDefinition, TableError};
use serde::{Deserialize, Serialize};

use crate::unread::Unread;

/// First bytes of the head of every file of ours.
pub(super) const MAGIC: &str = "ringview database";
/// Version of the layout of records that this code writes. Version 2 has the states of samples, version 3 the places of
/// followers, version 4 expressions as text, version 5 definitions as text, version 6 changes of tables' columns and
/// defaults.
pub(super) const VERSION: u32 = 6;
/// The oldest that it reads.
const OLDEST: u32 = 4;

pub(super) const HEAD: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("ringview.head");
pub(super) const RECORDS: TableDefinition<'_, u64, &[u8]> =
    TableDefinition::new("ringview.records");

/// Head of the file, before all records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(super) magic: String,
    pub(super) version: u32,
    /// Whether the tables keep no base rows.
    pub(crate) trust_deletes: bool,
    /// Number of records.
    pub(crate) records: u64,
    /// Number of records when it was last rewritten.
    #[serde(default)]
    pub(super) snapshot: u64,
    /// When that was: seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) snapshot_at: Option<u64>,
}

pub(super) fn head(database: &redb::Database) -> std::result::Result<Head, Unread> {
    let reading = database.begin_read()?;
    let heads = match reading.open_table(HEAD) {
        Err(TableError::TableDoesNotExist(_)) => return Err(Unread::Foreign),
        heads => heads?,
    };
    let text = heads.get("head")?.ok_or(Unread::Foreign)?;
    /// Fields of every version.
    #[derive(Deserialize)]
    struct Versioned {
        magic: String,
        version: u32,
    }
    let unreadable = |problem| Unread::Damaged(format!("its head: {problem}"));
    let any: Versioned = serde_json::from_slice(text.value()).map_err(unreadable)?;
    if any.magic != MAGIC {
        return Err(Unread::Foreign);
    }
    if any.version > VERSION {
        return Err(Unread::Newer(any.version, VERSION));
    }
    if any.version < OLDEST {
        return Err(Unread::Older(any.version, OLDEST));
    }
    let head: Head = serde_json::from_slice(text.value()).map_err(unreadable)?;
    let there = match reading.open_table(RECORDS) {
        Err(TableError::TableDoesNotExist(_)) => 0,
        records => records?.len()?,
    };
    if there != head.records {
        let told = format!("it has {there} records of {}", head.records);
        return Err(Unread::Damaged(told));
    }
    Ok(head)
}
