//! The file that the embedded database writes, locked from before it is read until it is released.
//!
//! Invariant: a [`Disk`] holds the lock of the file that its path names, even while the embedded database over it is
//! closed and opened again. A file that was replaced between opening and locking is opened again. Anything but a
//! regular file is neither opened nor replaced. Cost: a few calls of the system to open; none above the system's to
//! read and write.
//!
//! | file | holds |
//! |---|---|
//! | `commit` | which of a file's two commits counts |
//! | `overlay` | writes to a file that must not change, in memory |
//! | `target` | files that replace others as a whole: drafts, renames, synced folders |
//! | `simulated` | a disk that loses power or has no room, for tests |

pub(crate) mod commit;
mod overlay;
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

use self::overlay::Overlay;
use crate::unread::Unread;

/// A locked file, or a simulated one for tests.
#[derive(Clone, Debug)]
pub(crate) struct Disk(Arc<Locked>);

#[derive(Debug)]
struct Locked {
    backend: Box<dyn StorageBackend>,
    /// Identity of the file; none for a simulated one.
    file: Option<Handle>,
}

impl Drop for Locked {
    fn drop(&mut self) {
        // The system releases the lock with the last handle of the file in any case.
        let _ = self.backend.close();
    }
}

impl Disk {
    /// Opens the file of a path, makes an empty one if there is none, and locks it.
    pub(crate) fn open(path: &Path) -> Result<Self, Unread> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        Self::named(path, || Self::locked(opened(&options, path)?))
    }

    /// Opens the file of a path to read it, beside others that do; it stays as it is, whatever is written here.
    pub(crate) fn reading(path: &Path) -> Result<Self, Unread> {
        Self::named(path, || {
            let (file, backend) = of(opened(OpenOptions::new().read(true), path)?)?;
            checked(backend.try_lock_shared_range(Bound::Unbounded, Bound::Unbounded))?;
            Ok(Self::of(Overlay::over(backend)?, Some(file)))
        })
    }

    /// Opens and locks again where the file was replaced before it was locked.
    fn named(path: &Path, open: impl Fn() -> Result<Self, Unread>) -> Result<Self, Unread> {
        loop {
            let disk = open()?;
            if disk.is_at(path) {
                return Ok(disk);
            }
        }
    }

    /// Locks a file.
    pub(crate) fn locked(file: File) -> Result<Self, Unread> {
        let (file, backend) = of(file)?;
        checked(backend.try_lock_range(Bound::Unbounded, Bound::Unbounded))?;
        Ok(Self::of(backend, Some(file)))
    }

    fn of(backend: impl StorageBackend, file: Option<Handle>) -> Self {
        Self(Arc::new(Locked {
            backend: Box::new(backend),
            file,
        }))
    }

    /// A simulated file.
    #[cfg(test)]
    pub(crate) fn on(backend: impl StorageBackend) -> Self {
        Self::of(backend, None)
    }

    /// Whether a path names this file, through links too.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        let named = Handle::from_path(path).ok();
        named.is_some() && named == self.0.file
    }
}

/// Opens the file of a path. The path is looked at first, for opening a pipe waits and opening a device may do something;
/// the file behind it again, for the path may name another by then.
fn opened(options: &OpenOptions, path: &Path) -> io::Result<File> {
    let regular = |is_file: bool| match is_file {
        true => Ok(()),
        false => Err(io::Error::other(
            "it is a folder, a device, a pipe or a socket, and no file",
        )),
    };
    // Opening says why there is none.
    if let Ok(found) = std::fs::metadata(path) {
        regular(found.is_file())?;
    }
    let file = options.open(path)?;
    regular(file.metadata()?.is_file())?;
    Ok(file)
}

/// Identity of a file, and the backend that reads and writes it.
fn of(file: File) -> Result<(Handle, FileBackend), Unread> {
    Ok((
        Handle::from_file(file.try_clone()?)?,
        FileBackend::new(file)?,
    ))
}

/// Refuses a file that another process has locked.
fn checked(locked: Result<bool, BackendError>) -> Result<(), Unread> {
    match locked {
        Ok(true) | Err(BackendError::Unsupported) => Ok(()),
        Ok(false) => Err(Unread::Failed(redb::Error::DatabaseAlreadyOpen)),
        Err(BackendError::Io(problem)) => Err(problem.into()),
        Err(problem) => Err(io::Error::other(problem.to_string()).into()),
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
