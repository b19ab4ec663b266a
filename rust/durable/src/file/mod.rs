//! The file: records in their order, each checked, in an embedded database that commits atomically.
//!
//! Invariant: records are numbered from 0 without gaps; the head says how many there are, and each carries a checksum
//! over its number and its bytes, so that missing, cut or changed records are detected. One process at a time has a
//! file. A failed write leaves it with its contents before, or with all that was written; the next write reopens the
//! embedded database, and checks which. Cost: a commit is two `fsync`s; reading is one scan.
//!
//! | file | holds |
//! |---|---|
//! | `read` | the head and the records, checked |
//! | `write` | commits, and the file written anew |

mod head;
mod read;
mod write;

pub(crate) use write::Write;

use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use redb::{StorageBackend, TableDefinition};
use ringview_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::disk::target::{Draft, Target};
use crate::disk::{Disk, commit};
use crate::record::Entry;
use crate::unread::{Unread, cannot, guarded, of_the_parent};
pub(crate) use head::Head;
use head::{HEAD, MAGIC, RECORDS, VERSION};

const PARTS: TableDefinition<'_, (u64, u32), &[u8]> = TableDefinition::new("ringview.parts");

/// Bytes of pages that are kept in memory, and are of no use to what is appended.
const CACHE: u64 = 16 << 20;
/// Bytes of records below which a file is not worth writing anew.
const SMALL: u64 = 1 << 20;

/// A record without its parts, which are read when it is its turn.
#[derive(Debug, Serialize, Deserialize)]
struct Written {
    entry: Entry,
    parts: u32,
}

/// Bytes of records: those of when the file was last written anew, and those since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) snapshot: u64,
    pub(crate) log: u64,
}

/// Status of the file of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStatus {
    /// Bytes of the file.
    pub bytes: u64,
    /// Bytes of the records in it that were written when it was last written anew.
    pub snapshot_bytes: u64,
    /// Bytes of those that were written since: the log, which opening reads behind the snapshot.
    pub log_bytes: u64,
    /// When it was last written anew, in seconds since 1970.
    pub snapshot_at: Option<u64>,
    /// Number of writes since it was opened.
    pub commits: u64,
    /// Bytes of its pages that may be held in memory; they count against the limit of memory.
    pub cache_bytes: u64,
    /// Reason why a due rewrite, or the write of a change, failed; none once it succeeded.
    pub problem: Option<String>,
}

/// Outcome of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    Well,
    /// Writing failed: what the disk holds is not known.
    Unknown,
    /// The disk holds a write that was reported as failed.
    Ahead,
}

/// An open file.
#[derive(Debug)]
pub(crate) struct File {
    /// Not dropped in a fork of the process that opened it: the file is the parent's. None while it cannot be opened
    /// anew.
    database: ManuallyDrop<Option<redb::Database>>,
    disk: ManuallyDrop<Disk>,
    process: u32,
    pub(crate) path: PathBuf,
    pub(crate) head: Head,
    cache: u64,
    health: Health,
    /// Number of writes since it was opened.
    pub(crate) commits: u64,
    pub(crate) sizes: Sizes,
    /// Bytes of the log below which it is not written anew unasked.
    patience: u64,
    pub(crate) problem: Option<String>,
}

impl File {
    /// Opens a file, or makes one.
    pub(crate) fn open(path: &Path, trust_deletes: bool, memory: Option<u64>) -> Result<Self> {
        let target = Target::take(path).and_then(|target| Ok((target.is_empty()?, target)));
        let (is_empty, target) = target.map_err(|problem| problem.of(path, "open"))?;
        if !is_empty {
            return Self::on(target.keep(), path, trust_deletes, memory);
        }
        let (file, draft) = Self::draft(path, trust_deletes, memory)?;
        let file = file.publish(draft)?;
        target.replaced();
        Ok(file)
    }

    /// Reads a file that is there, and stays as it is.
    pub(crate) fn reading(path: &Path, memory: Option<u64>) -> Result<Self> {
        let disk = Disk::reading(path).map_err(|problem| problem.of(path, "open"))?;
        let len = disk.len().map_err(|p| cannot(path, "open", p))?;
        if len == 0 {
            return Err(Unread::Foreign.of(path, "open"));
        }
        Self::on(disk, path, false, memory)
    }

    /// Makes a file that is to replace what a path names.
    pub(crate) fn draft(
        path: &Path,
        trust_deletes: bool,
        memory: Option<u64>,
    ) -> Result<(Self, Draft)> {
        let made = Draft::of(path).map_err(Unread::from);
        let made = made.and_then(|(draft, file)| Ok((draft, Disk::locked(file)?)));
        let (draft, disk) = made.map_err(|problem| problem.of(path, "make"))?;
        Ok((Self::on(disk, path, trust_deletes, memory)?, draft))
    }

    /// Gives it the name that it was made for.
    pub(crate) fn publish(self, draft: Draft) -> Result<Self> {
        let published = draft.publish();
        published.map_err(|p| cannot(&self.path, "write", p))?;
        Ok(self)
    }

    /// Closes the embedded database, so that the file is as one that was closed; the lock stays.
    pub(crate) fn shut(&mut self) -> Result<()> {
        let shut = self.database.take().map_or(Ok(()), redb::Database::close);
        shut.map_err(|p| cannot(&self.path, "write", p))
    }

    /// The file of a disk; made where the disk is empty.
    pub(crate) fn on(
        disk: Disk,
        path: &Path,
        trust_deletes: bool,
        memory: Option<u64>,
    ) -> Result<Self> {
        let mut file = Self {
            database: ManuallyDrop::new(None),
            disk: ManuallyDrop::new(disk),
            process: std::process::id(),
            path: path.to_owned(),
            head: Head {
                magic: MAGIC.to_owned(),
                version: VERSION,
                trust_deletes,
                records: 0,
                snapshot: 0,
                snapshot_at: None,
            },
            cache: memory.map_or(CACHE, |memory| CACHE.min(memory / 8)),
            health: Health::Well,
            commits: 0,
            sizes: Sizes::default(),
            patience: SMALL,
            problem: None,
        };
        let is_empty = file.disk.len().map(|len| len == 0);
        match is_empty.map_err(|p| cannot(path, "open", p))? {
            true => {
                let opened = guarded(|| commit::open(Disk::clone(&file.disk), file.cache()));
                *file.database = Some(opened.map_err(|problem| problem.of(path, "make"))?);
                file.append([])?;
            }
            false => file.head = file.reopen()?,
        }
        Ok(file)
    }

    /// Opens the embedded database, anew where it is open, and reads the head.
    fn reopen(&mut self) -> Result<Head> {
        let (path, disk) = (&self.path, Disk::clone(&self.disk));
        *self.database = None;
        let opened = commit::recover(&disk).and_then(|()| {
            let cache = self.cache();
            guarded(|| commit::open(disk, cache))
        });
        let database = opened.map_err(|problem| problem.of(path, "open"))?;
        let head = guarded(|| head::head(&database)).map_err(|problem| problem.of(path, "read"))?;
        *self.database = Some(database);
        Ok(head)
    }

    /// After a failed write, reads what the disk holds, so that writing may continue.
    pub(crate) fn revive(&mut self) -> Result<()> {
        self.check_process()?;
        if self.health == Health::Unknown {
            let head = self.reopen()?;
            self.health = match head.records == self.head.records {
                true => Health::Well,
                false => Health::Ahead,
            };
        }
        Ok(())
    }

    /// Returns an error if the file holds a write that was reported as failed: only a rewrite of the whole file repairs
    /// that.
    pub(crate) fn check_level(&self) -> Result<()> {
        match self.health {
            Health::Ahead => Err(Error::Storage {
                action: "write",
                path: self.path.display().to_string(),
                problem: "a change that failed as it was written is there all the same; take a snapshot() to have \
                    the file as the database is, or close the database and open it again to have that change"
                    .to_owned(),
            }),
            _ => Ok(()),
        }
    }

    fn check_process(&self) -> Result<()> {
        match self.process == std::process::id() {
            true => Ok(()),
            false => Err(of_the_parent(&self.path)),
        }
    }

    fn database(&self) -> std::result::Result<&redb::Database, redb::Error> {
        self.database.as_ref().ok_or(redb::Error::PreviousIo)
    }

    /// Whether a path names this file, through links too.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        self.disk.is_at(path)
    }

    /// Bytes of its pages that may be held in memory.
    pub(crate) fn cache_bytes(&self) -> u64 {
        self.cache
    }

    fn cache(&self) -> usize {
        usize::try_from(self.cache).unwrap_or(usize::MAX)
    }

    /// Its status.
    pub(crate) fn status(&self) -> Result<FileStatus> {
        let bytes = self.disk.len();
        Ok(FileStatus {
            bytes: bytes.map_err(|p| cannot(&self.path, "read", p))?,
            snapshot_bytes: self.sizes.snapshot,
            log_bytes: self.sizes.log,
            snapshot_at: self.head.snapshot_at,
            commits: self.commits,
            cache_bytes: self.cache,
            problem: self.problem.clone(),
        })
    }

    /// Whether the log is so many times what a snapshot takes, so that the file is worth writing anew.
    pub(crate) fn outgrows(&self, ratio: f64) -> bool {
        self.sizes.log >= self.patience
            && self.sizes.log as f64 > self.sizes.snapshot as f64 * ratio
    }

    /// Writing anew is not worth another attempt until the log has doubled.
    pub(crate) fn be_patient(&mut self) {
        self.patience = self.sizes.log.saturating_mul(2).max(SMALL);
    }
}

impl Drop for File {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            // SAFETY: both are dropped once, here, and not used after.
            // Test: tests/python/test_forks.py::test_a_database_that_nobody_used_is_a_copy
            unsafe {
                ManuallyDrop::drop(&mut self.database);
                ManuallyDrop::drop(&mut self.disk);
            }
        }
    }
}

/// Seconds since 1970.
fn now() -> Option<u64> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.ok().map(|since| since.as_secs())
}
