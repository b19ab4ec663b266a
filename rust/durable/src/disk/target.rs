//! Files that replace others as a whole: written as a draft beside the target, then renamed, and the folder synced.
//!
//! Invariant: a path names what it named before, or all of the new file; a draft that is not published is removed. The
//! target is locked until the draft has its name, so that no process has the file that is replaced.
//! Cost: one rename, and one sync of the folder.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use redb::StorageBackend;

use super::Disk;
use crate::unread::Unread;

/// The file that a path names, locked until it is replaced. An empty one is made where there is none, and removed if
/// nothing replaces it.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    path: &'a Path,
    is_ours: bool,
    disk: Disk,
}

impl<'a> Target<'a> {
    pub(crate) fn take(path: &'a Path) -> Result<Self, Unread> {
        let was_there = path.exists();
        let disk = Disk::open(path)?;
        Ok(Self {
            path,
            is_ours: !was_there && disk.len()? == 0,
            disk,
        })
    }

    /// Another file has its name.
    pub(crate) fn replaced(mut self) {
        self.is_ours = false;
    }

    /// The file itself, which is not to be replaced.
    pub(crate) fn keep(mut self) -> Disk {
        self.is_ours = false;
        self.disk.clone()
    }

    pub(crate) fn is_empty(&self) -> io::Result<bool> {
        Ok(self.disk.len()? == 0)
    }
}

impl Drop for Target<'_> {
    fn drop(&mut self) {
        if self.is_ours {
            // It is empty, and no other process has it.
            let _ = std::fs::remove_file(self.path);
        }
    }
}

/// A file that is to have the name of another.
#[derive(Debug)]
pub(crate) struct Draft {
    at: PathBuf,
    to: PathBuf,
    is_done: bool,
}

impl Draft {
    /// An empty file that nobody else writes, beside the one that a path names, through links too.
    pub(crate) fn of(path: &Path) -> io::Result<(Self, std::fs::File)> {
        let to = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut number = 0_u32;
        loop {
            let mut name = to.file_name().unwrap_or_default().to_owned();
            name.push(format!(".{}-{number}.part", std::process::id()));
            let at = to.with_file_name(name);
            let made = OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .open(&at);
            match made {
                Ok(file) => {
                    let is_done = false;
                    return Ok((Self { at, to, is_done }, file));
                }
                Err(problem) if problem.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(problem) => return Err(problem),
            }
        }
    }

    /// Gives it the name of the target.
    pub(crate) fn publish(mut self) -> io::Result<()> {
        std::fs::rename(&self.at, &self.to)?;
        self.is_done = true;
        sync_folder(&self.to)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_done {
            // Nothing is lost with it, and the error that stopped it is returned already.
            let _ = std::fs::remove_file(&self.at);
        }
    }
}

/// Names in a folder are on disk once the folder is synced.
#[cfg(unix)]
fn sync_folder(of: &Path) -> io::Result<()> {
    let folder = of.parent().filter(|folder| *folder != Path::new(""));
    std::fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Folders cannot be opened as files here; the system writes their names in order.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
