//! The file that the embedded database writes, locked from before it is read until it is released.
//!
//! Invariant: a [`Disk`] holds the lock of the file that its path names, even while the embedded database over it is
//! closed and opened again. A file that was replaced between opening and locking is opened again.
//! Cost: a few calls of the system to open; none above the system's to read and write.
//!
//! | file | holds |
//! |---|---|
//! | `commit` | which of a file's two commits counts |
//! | `target` | files that replace others as a whole: drafts, renames, synced folders |
//! | `simulated` | a disk that loses power or has no room, for tests |

pub(crate) mod commit;
#[cfg(test)]
pub(crate) mod simulated;
pub(crate) mod target;

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use redb::backends::FileBackend;
use redb::{BackendError, StorageBackend};
use same_file::Handle;

use crate::unread::Unread;

/// A locked file, or its stand-in for tests.
#[derive(Clone, Debug)]
pub(crate) struct Disk(Arc<Locked>);

#[derive(Debug)]
struct Locked {
    backend: Box<dyn StorageBackend>,
    /// Which file it is; none of what is no file.
    file: Option<Handle>,
}

impl Drop for Locked {
    fn drop(&mut self) {
        // The lock goes with the last handle of the file in any case.
        let _ = self.backend.close();
    }
}

impl Disk {
    /// Opens the file of a path, makes an empty one if there is none and `make` says so, and locks it.
    pub(crate) fn open(path: &Path, make: bool) -> Result<Self, Unread> {
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(make).truncate(false);
            let disk = Self::locked(options.open(path)?)?;
            match disk.is_at(path) {
                true => return Ok(disk),
                // It was replaced before it was locked.
                false => continue,
            }
        }
    }

    /// Locks a file.
    pub(crate) fn locked(file: File) -> Result<Self, Unread> {
        let same = Handle::from_file(file.try_clone()?)?;
        let backend = FileBackend::new(file)?;
        let locked = backend.try_lock_range(Bound::Unbounded, Bound::Unbounded);
        match locked {
            Ok(true) | Err(BackendError::Unsupported) => Ok(Self(Arc::new(Locked {
                backend: Box::new(backend),
                file: Some(same),
            }))),
            Ok(false) => Err(Unread::Failed(redb::Error::DatabaseAlreadyOpen)),
            Err(BackendError::Io(problem)) => Err(problem.into()),
            Err(problem) => Err(io::Error::other(problem.to_string()).into()),
        }
    }

    /// Stand-in for a file.
    #[cfg(test)]
    pub(crate) fn on(backend: impl StorageBackend) -> Self {
        Self(Arc::new(Locked {
            backend: Box::new(backend),
            file: None,
        }))
    }

    /// Whether a path names this file, through links too.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        let named = Handle::from_path(path).ok();
        named.is_some() && named == self.0.file
    }
}

/// The lock is there already, and stays when the embedded database is closed.
impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        self.0.backend.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.backend.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.backend.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.backend.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.backend.write(offset, data)
    }

    fn try_lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Ok(true)
    }

    fn unlock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }
}
