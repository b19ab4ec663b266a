//! Commits of a file, and the file written anew.
//!
//! Invariant: a commit is there wholly or not at all, and on disk when it returns. Cost: two `fsync`s and the bytes
//! written; to write anew, all of them, and as much again to move them to the file's start and give the rest back.

use redb::WriteTransaction;
use ringview_core::{Error, Result};
use serde::Serialize;

use super::{File, HEAD, Head, Health, PARTS, RECORDS, SMALL, Sizes, VERSION, Written, now};
use crate::checksum::with_checksum;
use crate::cursors::{self, FollowerCursor, Move};
use crate::record::{Entry, Record};
use crate::unread::{cannot, failed_text, guarded};

/// Hands records to what is given, which writes them.
pub(crate) type Write<'a> = &'a mut dyn FnMut(&Record) -> Result<()>;

impl File {
    /// Adds records, all or none, and returns when they are on disk.
    pub(crate) fn append<'a>(
        &mut self,
        records: impl IntoIterator<Item = &'a Record>,
    ) -> Result<()> {
        self.go_on()?;
        self.commit(false, &[], |write| records.into_iter().try_for_each(write))
    }

    /// Moves the place of a follower, and returns when that is on disk.
    pub(crate) fn move_cursor(&mut self, cursor: Move) -> Result<()> {
        self.go_on()?;
        self.commit(false, &[cursor], |_| Ok(()))
    }

    /// Puts records in the place of all that are there, and followers behind them; `make` is given what writes one.
    pub(crate) fn rewrite(
        &mut self,
        cursors: Vec<FollowerCursor>,
        make: impl FnOnce(Write<'_>) -> Result<()>,
    ) -> Result<()> {
        self.revive()?;
        let cursors: Vec<_> = cursors.into_iter().map(Move::Put).collect();
        self.commit(true, &cursors, make)?;
        self.health = Health::Well;
        self.patience = SMALL;
        self.problem = None;
        // It is whole without, but longer than it need be.
        let shrunk = match &mut *self.database {
            Some(database) => guarded(|| database.compact()).map(drop),
            None => Ok(()),
        };
        if let Err(problem) = shrunk {
            self.health = Health::Unknown;
            self.problem = Some(problem.of(&self.path, "shrink").to_string());
        }
        Ok(())
    }

    fn go_on(&mut self) -> Result<()> {
        self.revive()?;
        self.check_level()
    }

    /// After a failure the contents of the disk are unknown, unless a record could not be encoded.
    fn commit(
        &mut self,
        anew: bool,
        cursors: &[Move],
        make: impl FnOnce(Write<'_>) -> Result<()>,
    ) -> Result<()> {
        let committed = self.try_commit(anew, cursors, make);
        if let Err(Error::Storage { .. } | Error::Snapshot { .. }) = committed {
            self.health = Health::Unknown;
        }
        committed
    }

    fn try_commit(
        &mut self,
        anew: bool,
        cursors: &[Move],
        make: impl FnOnce(Write<'_>) -> Result<()>,
    ) -> Result<()> {
        let path = &self.path;
        let failed = |problem: redb::Error| cannot(path, "write", problem);
        let began = self.database().map_err(failed)?.begin_write();
        let mut transaction = began.map_err(|problem| failed(problem.into()))?;
        transaction.set_two_phase_commit(true);
        let mut head = Head {
            version: VERSION,
            ..self.head.clone()
        };
        let mut sizes = self.sizes;
        if anew {
            clear(&transaction).map_err(failed)?;
            (head.records, sizes) = (0, Sizes::default());
        }
        make(&mut |record| {
            let number = head.records;
            let text = Written::text(record).map_err(|problem| failed_text(path, &problem))?;
            sizes.log += put(&transaction, number, &text, record).map_err(failed)?;
            head.records += 1;
            Ok(())
        })?;
        if anew {
            (head.snapshot, head.snapshot_at) = (head.records, now());
            sizes = Sizes {
                snapshot: sizes.log,
                log: 0,
            };
        }
        let text = serde_json::to_vec(&head).map_err(|problem| failed_text(path, &problem))?;
        let ended = || -> std::result::Result<(), redb::Error> {
            for cursor in cursors {
                match cursor {
                    Move::Put(cursor) if anew => {
                        let at = cursor.at.map(|_| head.records);
                        let cursor = cursor.clone();
                        Move::Put(FollowerCursor { at, ..cursor }).make(&transaction)?;
                    }
                    cursor => cursor.make(&transaction)?,
                }
            }
            transaction.open_table(HEAD)?.insert("head", &text[..])?;
            Ok(transaction.commit()?)
        };
        ended().map_err(failed)?;
        self.head = head;
        self.commits += 1;
        self.sizes = sizes;
        Ok(())
    }
}

/// Removes all records and places.
fn clear(transaction: &WriteTransaction) -> std::result::Result<(), redb::Error> {
    transaction.delete_table(RECORDS)?;
    transaction.delete_table(PARTS)?;
    cursors::clear(transaction)
}

/// Writes a record, and returns its bytes.
fn put(
    transaction: &WriteTransaction,
    number: u64,
    text: &[u8],
    record: &Record,
) -> std::result::Result<u64, redb::Error> {
    let sealed = with_checksum((number, u32::MAX), text);
    let mut bytes = sealed.len() as u64;
    transaction
        .open_table(RECORDS)?
        .insert(number, &sealed[..])?;
    let mut parts = transaction.open_table(PARTS)?;
    for (at, part) in (0..).zip(&record.parts) {
        let sealed = with_checksum((number, at), part);
        bytes += sealed.len() as u64;
        parts.insert((number, at), &sealed[..])?;
    }
    drop(parts);
    match &record.entry {
        Entry::DropView(view) => cursors::remove_view(transaction, view)?,
        // Followers of the view that it replaces are removed.
        Entry::View(view) => cursors::remove_view(transaction, &view.name)?,
        _ => {}
    }
    Ok(bytes)
}

impl Written {
    /// As text, without copying the entry.
    fn text(record: &Record) -> serde_json::Result<Vec<u8>> {
        #[derive(Serialize)]
        struct Borrowed<'a> {
            entry: &'a Entry,
            parts: usize,
        }
        serde_json::to_vec(&Borrowed {
            entry: &record.entry,
            parts: record.parts.len(),
        })
    }
}
