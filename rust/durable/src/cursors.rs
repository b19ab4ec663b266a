//! The positions of named followers, in the file.
//!
//! Invariant: a cursor is written in the commit of the transaction that moves it, and is removed in the one that drops
//! its view. Cost: that of a commit, and of the rows that the follower still has to get and the file does not hold.

use arrow_buffer::Buffer;
use redb::{ReadableTable, TableDefinition, TableError, WriteTransaction};
use serde::{Deserialize, Serialize};

use crate::checksum::{verified, with_checksum};
use crate::unread::Unread;

const CURSORS: TableDefinition<'_, (&str, &str), &[u8]> = TableDefinition::new("ringview.places");
const ROWS: TableDefinition<'_, (&str, &str, u32), &[u8]> =
    TableDefinition::new("ringview.place-rows");

/// Number in the checksums of cursors, which belong to no record.
const NUMBER: u64 = u64::MAX;

/// Position of a follower.
#[derive(Clone, Debug)]
pub(crate) struct FollowerCursor {
    pub(crate) view: String,
    pub(crate) name: String,
    /// Number of records whose changes it has received; `None` if it is to receive the whole view
    /// first.
    pub(crate) at: Option<u64>,
    /// Changes that it is to receive before those of later records, each part an Arrow stream of one batch.
    pub(crate) parts: Vec<Buffer>,
}

/// A change of a cursor.
#[derive(Clone, Debug)]
pub(crate) enum Move {
    Put(FollowerCursor),
    /// Of a view and a name.
    Remove(String, String),
}

/// A place as text, without its rows.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    at: Option<u64>,
    parts: u32,
}

impl Move {
    pub(crate) fn make(&self, writing: &WriteTransaction) -> Result<(), redb::Error> {
        match self {
            Self::Put(cursor) => {
                remove(writing, &cursor.view, &cursor.name)?;
                cursor.put(writing)
            }
            Self::Remove(view, name) => remove(writing, view, name),
        }
    }
}

impl FollowerCursor {
    fn put(&self, writing: &WriteTransaction) -> Result<(), redb::Error> {
        let (view, name) = (&*self.view, &*self.name);
        let mut rows = writing.open_table(ROWS)?;
        let mut parts = 0;
        for part in &self.parts {
            rows.insert(
                (view, name, parts),
                &with_checksum((NUMBER, parts), part)[..],
            )?;
            parts += 1;
        }
        let written = Written { at: self.at, parts };
        let text =
            serde_json::to_vec(&written).map_err(|problem| redb::Error::Io(problem.into()))?;
        let mut cursors = writing.open_table(CURSORS)?;
        cursors.insert((view, name), &with_checksum((NUMBER, u32::MAX), &text)[..])?;
        Ok(())
    }
}

fn remove(writing: &WriteTransaction, view: &str, name: &str) -> Result<(), redb::Error> {
    if writing.open_table(CURSORS)?.remove((view, name))?.is_some() {
        let mut rows = writing.open_table(ROWS)?;
        rows.retain_in((view, name, 0)..=(view, name, u32::MAX), |_, _| false)?;
    }
    Ok(())
}

/// Removes the cursors in a view.
pub(crate) fn remove_view(writing: &WriteTransaction, view: &str) -> Result<(), redb::Error> {
    let mut names = Vec::new();
    for cursor in writing.open_table(CURSORS)?.range((view, "")..)? {
        let (key, _) = cursor?;
        let (of, name) = key.value();
        if of != view {
            break;
        }
        names.push(name.to_owned());
    }
    names
        .iter()
        .try_for_each(|name| remove(writing, view, name))
}

/// Removes all.
pub(crate) fn clear(writing: &WriteTransaction) -> Result<(), redb::Error> {
    writing.delete_table(CURSORS)?;
    writing.delete_table(ROWS)?;
    Ok(())
}

/// All that there are.
pub(crate) fn read(reading: &redb::ReadTransaction) -> Result<Vec<FollowerCursor>, Unread> {
    let cursors = match reading.open_table(CURSORS) {
        Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
        cursors => cursors?,
    };
    let mut found = Vec::new();
    for cursor in cursors.iter()? {
        let (key, sealed) = cursor?;
        let (view, name) = key.value();
        let damaged = |what: &str| {
            Unread::Damaged(format!(
                "the place of follower {name:?} of view {view:?}: {what}"
            ))
        };
        let unfit = || damaged("its checksum does not fit its bytes");
        let text = verified((NUMBER, u32::MAX), sealed.value()).ok_or_else(unfit)?;
        let written: Written =
            serde_json::from_slice(text).map_err(|problem| damaged(&problem.to_string()))?;
        let mut parts = Vec::new();
        if written.parts > 0 {
            let rows = reading.open_table(ROWS)?;
            for part in 0..written.parts {
                let sealed = rows.get((view, name, part))?;
                let sealed = sealed.ok_or_else(|| damaged("rows are missing"))?;
                let part = verified((NUMBER, part), sealed.value()).ok_or_else(unfit)?;
                parts.push(Buffer::from(part));
            }
        }
        found.push(FollowerCursor {
            view: view.to_owned(),
            name: name.to_owned(),
            at: written.at,
            parts,
        });
    }
    Ok(found)
}
