//! A database that is kept in a file: every call that returned is there after a crash, wholly.
//!
//! Invariant: the file holds, in order, every definition and every change since it was last written anew, so
//! that doing them again gives the database. A change is written, and on disk, after nothing else can fail and
//! before it is there for readers; if writing fails it is undone. Cost: a change costs its rows as Arrow
//! IPC and one commit of the file; opening costs the rows that are there and the changes since the last
//! snapshot, views filled once, from all rows.
//!
//! | file | holds |
//! |---|---|
//! | `applied` | the identities of changes that were applied |
//! | `record` | a definition or a change as bytes, and back |
//! | `file/` | the file: records in their order, checked |
//! | `disk/` | the file under the embedded database: its lock, its newest whole commit, its replacement |
//! | `definition` | what views were created as |
//! | `database`, `tables` | a database and its file; its tables |
//! | `journal` | where operations are written: a file, or the list of a draft |
//! | `carry` | changes of a transaction, behind the definitions that follow them |
//! | `draft` | a transaction with definitions: the database as it sees it, and its commit |
//! | `group` | transactions of several threads, written together |
//! | `standing` | position of a named follower |
//! | `followers` | followers with names, which resume at their positions |
//! | `cursors`, `checksum` | their positions, in the file; bytes with checksums |
//! | `snapshot` | the file written anew from what is there |
//! | `replay` | the database of a file |
//! | `unread` | why a file is not opened, read or written |

mod applied;
mod carry;
mod checksum;
mod cursors;
mod database;
mod definition;
mod disk;
mod draft;
mod file;
mod followers;
mod group;
mod journal;
mod record;
mod replay;
mod snapshot;
mod standing;
mod tables;
mod unread;

#[cfg(test)]
mod losses;

pub use applied::BatchId;
pub use database::{DurableDatabase, Opening};
pub use definition::{Bind, SampleOf, ViewDefinition};
pub use file::FileStatus;
pub use followers::NamedFollower;
pub use group::{Group, Prepared, Waiting};
pub use journal::Durability;
pub use record::TableDefinition;
