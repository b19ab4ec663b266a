//! The file: records in their order, each checked, in an embedded database that commits atomically.
//!
//! Invariant: records are numbered from 0 without gaps; the head says how many there are, and each carries a
//! checksum over its number and its bytes, so that what is missing, cut or changed is told and nothing is
//! invented. One process at a time has a file. Cost: a commit is one or two `fsync`s; reading is one scan.

use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use arrow_buffer::Buffer;
use redb::{ReadableDatabase, ReadableTableMetadata, TableDefinition, TableError};
use ringview_core::Result;
use serde::{Deserialize, Serialize};

use crate::places::{self, Move, Place};
use crate::record::{Entry, Record};
use crate::seal::{seal, unseal};
use crate::unread::{Unread, cannot, failed_text, guarded, of_the_parent};

/// What every file of ours begins its head with.
const MAGIC: &str = "ringview database";
/// Which layout of records this writes; older ones are read.
/// Version 2 has the states of samples, version 3 the places of followers.
const VERSION: u32 = 3;

const HEAD: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("ringview.head");
const RECORDS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("ringview.records");
const PARTS: TableDefinition<'_, (u64, u32), &[u8]> = TableDefinition::new("ringview.parts");

/// What stands before all records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Head {
    magic: String,
    version: u32,
    /// Whether the tables keep no base rows.
    pub(crate) trust_deletes: bool,
    /// How many records there are.
    pub(crate) records: u64,
}

/// A record without its parts, which are read when it is its turn.
#[derive(Debug, Serialize, Deserialize)]
struct Written {
    entry: Entry,
    parts: u32,
}

/// An open file.
#[derive(Debug)]
pub(crate) struct File {
    /// Not dropped in a fork of the process that opened it: the file is the parent's.
    database: ManuallyDrop<redb::Database>,
    process: u32,
    pub(crate) path: PathBuf,
    pub(crate) head: Head,
    /// How often it was written since it was opened.
    pub(crate) commits: u64,
    /// Bytes of records since it was written anew, and those that it had then.
    pub(crate) grown: u64,
    pub(crate) base: u64,
}

impl File {
    /// Opens a file, or makes one.
    pub(crate) fn open(path: &Path, trust_deletes: bool) -> Result<Self> {
        match std::fs::metadata(path).map_or(0, |file| file.len()) {
            0 => Self::make(path, trust_deletes),
            _ => Self::existing(path),
        }
    }

    /// Makes a file, or fills an empty one.
    pub(crate) fn make(path: &Path, trust_deletes: bool) -> Result<Self> {
        let database =
            guarded(|| redb::Database::create(path)).map_err(|problem| problem.of(path, "make"))?;
        let mut file = Self {
            database: ManuallyDrop::new(database),
            process: std::process::id(),
            path: path.to_owned(),
            head: Head {
                magic: MAGIC.to_owned(),
                version: VERSION,
                trust_deletes,
                records: 0,
            },
            commits: 0,
            grown: 0,
            base: 0,
        };
        file.append([])?;
        Ok(file)
    }

    /// Opens a file that is there.
    pub(crate) fn existing(path: &Path) -> Result<Self> {
        let mut builder = redb::Builder::new();
        let opened = guarded(|| builder.set_check_integrity_on_open(true).open(path));
        let database = opened.map_err(|problem| problem.of(path, "open"))?;
        let head = guarded(|| read_head(&database)).map_err(|problem| problem.of(path, "read"))?;
        Ok(Self {
            database: ManuallyDrop::new(database),
            process: std::process::id(),
            path: path.to_owned(),
            head,
            commits: 0,
            grown: 0,
            base: 0,
        })
    }

    /// Adds records, all or none, and returns when they are on disk.
    pub(crate) fn append<'a>(
        &mut self,
        records: impl IntoIterator<Item = &'a Record>,
    ) -> Result<()> {
        self.write(false, &[], |write| records.into_iter().try_for_each(write))
    }

    /// Moves the place of a follower, and returns when that is on disk.
    pub(crate) fn move_place(&mut self, place: Move) -> Result<()> {
        self.write(false, &[place], |_| Ok(()))
    }

    /// Puts records in the place of all that are there, and followers behind them; `make` is given what writes one.
    pub(crate) fn rewrite(
        &mut self,
        places: Vec<Place>,
        make: impl FnOnce(&mut dyn FnMut(&Record) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let places: Vec<_> = places.into_iter().map(Move::Put).collect();
        self.write(true, &places, make)?;
        (self.base, self.grown) = (self.grown, 0);
        let shrunk = guarded(|| self.database.compact());
        shrunk
            .map(drop)
            .map_err(|problem| problem.of(&self.path, "shrink"))
    }

    fn write(
        &mut self,
        anew: bool,
        places: &[Move],
        make: impl FnOnce(&mut dyn FnMut(&Record) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let path = &self.path;
        if self.process != std::process::id() {
            return Err(of_the_parent(path));
        }
        let failed = |problem: redb::Error| cannot(path, "write", problem);
        let mut head = Head {
            version: VERSION,
            ..self.head.clone()
        };
        let mut bytes = 0;
        let transaction = self.database.begin_write().map_err(|p| failed(p.into()))?;
        if anew {
            head.records = 0;
            transaction
                .delete_table(RECORDS)
                .map_err(|p| failed(p.into()))?;
            transaction
                .delete_table(PARTS)
                .map_err(|p| failed(p.into()))?;
            places::clear(&transaction).map_err(failed)?;
        }
        {
            let mut records = transaction
                .open_table(RECORDS)
                .map_err(|p| failed(p.into()))?;
            let mut parts = transaction
                .open_table(PARTS)
                .map_err(|p| failed(p.into()))?;
            make(&mut |record| {
                let number = head.records;
                let written =
                    Written::text(record).map_err(|problem| failed_text(path, &problem))?;
                let sealed = seal((number, u32::MAX), &written);
                bytes += sealed.len() as u64;
                records
                    .insert(number, &sealed[..])
                    .map_err(|p| failed(p.into()))?;
                for (place, part) in (0..).zip(&record.parts) {
                    let sealed = seal((number, place), part);
                    bytes += sealed.len() as u64;
                    parts
                        .insert((number, place), &sealed[..])
                        .map_err(|p| failed(p.into()))?;
                }
                if let Entry::DropView(view) = &record.entry {
                    places::remove_view(&transaction, view).map_err(failed)?;
                }
                if let Entry::View(view) = &record.entry {
                    // Whoever followed the one that it replaces does so no more.
                    places::remove_view(&transaction, &view.name).map_err(failed)?;
                }
                head.records += 1;
                Ok(())
            })?;
            for place in places {
                let behind = |place: &Place| Place {
                    at: place.at.map(|_| head.records),
                    ..place.clone()
                };
                let moved = match place {
                    Move::Put(place) if anew => Move::Put(behind(place)).make(&transaction),
                    place => place.make(&transaction),
                };
                moved.map_err(failed)?;
            }
            let mut heads = transaction.open_table(HEAD).map_err(|p| failed(p.into()))?;
            let text = serde_json::to_vec(&head).map_err(|problem| failed_text(path, &problem))?;
            heads
                .insert("head", &text[..])
                .map_err(|p| failed(p.into()))?;
        }
        transaction.commit().map_err(|p| failed(p.into()))?;
        self.head = head;
        self.commits += 1;
        self.grown = if anew { bytes } else { self.grown + bytes };
        Ok(())
    }

    /// Whether opening it costs much more than after a snapshot.
    pub(crate) fn has_grown(&self) -> bool {
        self.grown > self.base.max(1 << 20)
    }

    /// Where followers stand.
    pub(crate) fn places(&self) -> Result<Vec<Place>> {
        let read = || places::read(&self.database.begin_read()?);
        guarded(read).map_err(|problem| problem.of(&self.path, "read"))
    }

    /// Hands all records over in their order, each with its number and whether it is the last, but for states of
    /// samples.
    pub(crate) fn read(&self, mut each: impl FnMut(Record, u64, bool) -> Result<()>) -> Result<()> {
        let mut last = self.head.records;
        while last > 0 && matches!(self.checked(last - 1)?.entry, Entry::Sample(_)) {
            last -= 1;
        }
        for number in 0..self.head.records {
            each(self.checked(number)?, number, number + 1 == last)?;
        }
        Ok(())
    }

    fn checked(&self, number: u64) -> Result<Record> {
        guarded(|| self.record(number)).map_err(|problem| problem.of(&self.path, "read"))
    }

    fn record(&self, number: u64) -> std::result::Result<Record, Unread> {
        let reading = self.database.begin_read()?;
        let records = reading.open_table(RECORDS)?;
        let missing = || Unread::Damaged(format!("record {number} is missing"));
        let sealed = records.get(number)?.ok_or_else(missing)?;
        let unfit = || {
            let told = format!("the checksum of record {number} does not fit its bytes");
            Unread::Damaged(told)
        };
        let text = unseal((number, u32::MAX), sealed.value()).ok_or_else(unfit)?;
        let Written {
            entry,
            parts: count,
        } = serde_json::from_slice(text)
            .map_err(|problem| Unread::Damaged(format!("record {number}: {problem}")))?;
        let parts = reading.open_table(PARTS)?;
        let part = |place| {
            let sealed = parts.get((number, place))?.ok_or_else(missing)?;
            let part = unseal((number, place), sealed.value()).ok_or_else(unfit)?;
            Ok(Buffer::from(part))
        };
        let parts = (0..count)
            .map(part)
            .collect::<std::result::Result<_, Unread>>()?;
        Ok(Record { entry, parts })
    }
}

impl Drop for File {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            // SAFETY: dropped once, here, and not used after.
            unsafe { ManuallyDrop::drop(&mut self.database) }
        }
    }
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

fn read_head(database: &redb::Database) -> std::result::Result<Head, Unread> {
    let reading = database.begin_read()?;
    let heads = match reading.open_table(HEAD) {
        Err(TableError::TableDoesNotExist(_)) => return Err(Unread::Foreign),
        heads => heads?,
    };
    let text = heads.get("head")?.ok_or(Unread::Foreign)?;
    /// What any version has.
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
