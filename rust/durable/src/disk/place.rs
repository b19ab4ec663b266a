//! Files that take a place whole: written beside it under another name, then renamed, the folder synced.
//!
//! Invariant: at a path there is what was there, or all of the new file; a draft that does not take its place goes.
//! Nobody else has the file whose place is taken, then or until then.
//! Cost: a rename, and two syncs of the folder's disk.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use redb::StorageBackend;

use super::Disk;
use crate::unread::Unread;

/// The file of a path, locked until another has taken its place; where there was none, an empty one, which goes again
/// if no other comes.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    path: &'a Path,
    is_ours: bool,
    disk: Disk,
}

impl<'a> Place<'a> {
    pub(crate) fn take(path: &'a Path) -> Result<Self, Unread> {
        let was_there = path.exists();
        let disk = Disk::open(path, true)?;
        Ok(Self {
            path,
            is_ours: !was_there && disk.len()? == 0,
            disk,
        })
    }

    /// Another is there.
    pub(crate) fn yielded(mut self) {
        self.is_ours = false;
    }

    /// The file itself, which stays.
    pub(crate) fn keep(mut self) -> Disk {
        self.is_ours = false;
        self.disk.clone()
    }

    pub(crate) fn is_empty(&self) -> io::Result<bool> {
        Ok(self.disk.len()? == 0)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.is_ours {
            // It is empty, and nobody else has it.
            let _ = std::fs::remove_file(self.path);
        }
    }
}

/// A file on its way to a path.
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

    /// Takes the place.
    pub(crate) fn take_place(mut self) -> io::Result<()> {
        std::fs::rename(&self.at, &self.to)?;
        self.is_done = true;
        sync_folder(&self.to)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_done {
            // Nothing is lost with it, and what keeps it from going was told already.
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
