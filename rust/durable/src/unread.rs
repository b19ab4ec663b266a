//! Errors of opening, reading and writing a file.
//!
//! Invariant: the contents of the file cause a `Snapshot` error; the disk and other users of the file cause a `Storage`
//! error; a panic over damaged pages is an error too. Cost: none where all is well.

use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use ringview_core::Error;

/// Why a file is not read.
#[derive(Debug)]
pub(crate) enum Unread {
    Foreign,
    /// Its layout, and the latest that is read.
    Newer(u32, u32),
    /// Its layout, and the first that is read.
    Older(u32, u32),
    Damaged(String),
    Failed(redb::Error),
}

impl<E: Into<redb::Error>> From<E> for Unread {
    fn from(problem: E) -> Self {
        Self::Failed(problem.into())
    }
}

impl Unread {
    pub(crate) fn of(self, path: &Path, action: &'static str) -> Error {
        let problem = match self {
            Self::Foreign => "it is no database of ringview".to_owned(),
            Self::Newer(version, known) => format!(
                "it was written by a later version (layout {version}, this one reads up to {known}); \
                 install that, or `save` it there"
            ),
            Self::Older(version, known) => format!(
                "it was written by an earlier version (layout {version}, this one reads from {known} on): its views are \
                 defined in another form; write its tables out with the version that made it, and insert them \
                 into a new database"
            ),
            Self::Damaged(problem) => problem,
            Self::Failed(problem) => return cannot(path, action, problem),
        };
        unread(path, &problem)
    }
}

fn unread(path: &Path, problem: &str) -> Error {
    Error::Snapshot {
        problem: format!("{}: {problem}", path.display()),
    }
}

/// Of a file whose records do not make sense.
pub(crate) fn damaged(problem: &str) -> Error {
    Error::Snapshot {
        problem: format!("it is damaged: {problem}"),
    }
}

/// Of a view whose text is not taken any more.
pub(crate) fn unbound(view: &str, problem: &Error) -> Error {
    Error::Snapshot {
        problem: format!(
            "view {view:?} is defined by a text that is not taken: {problem}; open the file with the version that wrote \
             it, and drop the view there"
        ),
    }
}

/// The error for a file that cannot be opened, read or written.
pub(crate) fn cannot(path: &Path, action: &'static str, problem: impl Into<redb::Error>) -> Error {
    let problem = match problem.into() {
        redb::Error::Corrupted(problem) => {
            return unread(path, &format!("it is damaged: {problem}"));
        }
        redb::Error::Io(problem) if problem.kind() == ErrorKind::InvalidData => {
            return unread(path, "it is no database of ringview");
        }
        redb::Error::DatabaseAlreadyOpen => {
            "it is open elsewhere, and one process at a time may have it; close it there first"
                .to_owned()
        }
        redb::Error::PreviousIo => {
            "writing failed before, and the file cannot be read to find out what it \
            holds; see to the disk and try again, or close the database and open it again"
                .to_owned()
        }
        problem => problem.to_string(),
    };
    Error::Storage {
        action,
        path: path.display().to_string(),
        problem,
    }
}

pub(crate) fn of_the_parent(path: &Path) -> Error {
    Error::Storage {
        action: "write",
        path: path.display().to_string(),
        problem: "this process is a fork of the one that opened it, which has it still; open \
            another file here, or open this one after the fork"
            .to_owned(),
    }
}

pub(crate) fn failed_text(path: &Path, problem: &serde_json::Error) -> Error {
    Error::Storage {
        action: "write",
        path: path.display().to_string(),
        problem: problem.to_string(),
    }
}

/// Turns a panic of the library over a damaged file into an error.
pub(crate) fn guarded<T, E: Into<Unread>>(
    work: impl FnOnce() -> std::result::Result<T, E>,
) -> std::result::Result<T, Unread> {
    let done = catch_unwind(AssertUnwindSafe(work));
    let contradictory = || Unread::Damaged("its pages contradict each other".to_owned());
    done.map_or_else(|_| Err(contradictory()), |done| done.map_err(Into::into))
}
