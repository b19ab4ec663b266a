//! Files that replace others as a whole: written as a draft beside the target, then renamed, and the folder synced.
//!
//! Invariant: a path names what it named before, or all of the new file; a draft that is not published is removed. The
//! target is locked until the draft has its name, so that no process has the file that is replaced. The draft has the mode
//! of the file that it replaces.
//! Cost: one rename, and one sync of the folder.

use std::fs::{File, OpenOptions};
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
    pub(crate) fn of(path: &Path) -> io::Result<(Self, File)> {
        let to = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut number = 0_u32;
        loop {
            let mut name = to.file_name().unwrap_or_default().to_owned();
            name.push(format!(".{}-{number}.part", std::process::id()));
            let at = to.with_file_name(name);
            match created(&at) {
                Ok(file) => {
                    let is_done = false;
                    let draft = Self { at, to, is_done };
                    if let Ok(replaced) = std::fs::metadata(&draft.to) {
                        file.set_permissions(replaced.permissions())?;
                    }
                    return Ok((draft, file));
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

/// A new file that other users do not read until it has the mode of the file that it replaces.
fn created(at: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(at)
}

/// Names in a folder are on disk once the folder is synced.
#[cfg(unix)]
fn sync_folder(of: &Path) -> io::Result<()> {
    let folder = of.parent().filter(|folder| *folder != Path::new(""));
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Folders cannot be opened as files here; the system writes their names in order.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};

    use super::*;

    #[test]
    fn a_draft_has_the_mode_of_the_file_that_it_replaces() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        for mode in [0o600, 0o640, 0o666] {
            File::create(&path).unwrap();
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, permissions).unwrap();
            let (draft, file) = Draft::of(&path).unwrap();
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, mode);
            draft.publish().unwrap();
            let found = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(found & 0o777, mode);
        }
        let (_draft, file) = Draft::of(&folder.path().join("new")).unwrap();
        let found = file.metadata().unwrap().permissions().mode();
        assert_eq!(found & 0o777, 0o600, "whose target is not there yet");
    }

    #[test]
    fn what_is_no_file_is_no_target() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        for path in [folder.path(), &link, Path::new("/dev/null")] {
            assert!(Target::take(path).is_err(), "{path:?}");
            assert!(Disk::reading(path).is_err(), "{path:?}");
        }
        let device = std::fs::metadata("/dev/null").unwrap().file_type();
        assert!(device.is_char_device());
    }
}
