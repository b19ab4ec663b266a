//! Choice of the valid one of a file's two commits: the newest that is whole.
//!
//! The embedded database keeps its last two commits, and one bit says which of them counts. Commits are written in two
//! phases: the commit and its pages, synced, and then the bit, synced. So there are three kinds of files:
//!
//! - The bit names the newer commit: it was whole on disk before the bit named it. If it is not whole now, the file
//!   was damaged, and the embedded database says so.
//! - The bit names the older one, and the newer one is whole: the process died between the phases, and the call did not
//!   return; or it returned, and the bit is damaged. So the newer one counts.
//! - The bit names the older one, and the newer one is not whole: the process died in the first phase. The older counts.
//!
//! Invariant: a commit whose call returned counts, or the file is refused, for every change of a single bit. Cost: a
//! read of the header; where the newer commit is not the one that counts, two readings of the whole file.

use redb::StorageBackend;

use super::Disk;
use super::overlay::Overlay;
use crate::unread::{Unread, guarded};

/// The header, as the third version of the format has it: `docs/design.md` of redb.
const HEADER: usize = 320;
const MAGIC: &[u8] = b"redb\x1A\x0A\xA9\x0D\x0A";
const FLAGS: usize = 9;
const PRIMARY: u8 = 1;
const TWO_PHASES: u8 = 4;
const SLOTS: [usize; 2] = [64, 192];
const VERSION: u8 = 3;
const NUMBER: usize = 104;

/// Memory for pages while a commit is tried.
const CACHE: usize = 1 << 20;

/// Recovers the newest complete commit.
///
/// # Errors
/// Where the commit that counts is not whole.
pub(crate) fn recover(disk: &Disk) -> Result<(), Unread> {
    let mut header = [0; HEADER];
    if disk.len()? < HEADER as u64 {
        return Ok(());
    }
    disk.read(0, &mut header)?;
    let flags = header[FLAGS];
    let known = header.starts_with(MAGIC) && SLOTS.iter().all(|&slot| header[slot] == VERSION);
    if !known || flags & TWO_PHASES == 0 {
        return Ok(());
    }
    let number = |slot: usize| {
        let bytes = header[SLOTS[slot] + NUMBER..].first_chunk();
        bytes.map(|bytes| u64::from_le_bytes(*bytes))
    };
    let primary = usize::from(flags & PRIMARY);
    if number(1 - primary) <= number(primary) {
        return Ok(());
    }
    attempt(disk, flags)?;
    let newer = flags ^ PRIMARY;
    match attempt(disk, newer) {
        Ok(()) => {
            disk.write(FLAGS as u64, &[newer])?;
            disk.sync_data()?;
            Ok(())
        }
        // The number may be what is damaged.
        Err(Unread::Damaged(_) | Unread::Failed(redb::Error::Corrupted(_))) => Ok(()),
        Err(problem) => Err(problem),
    }
}

/// Opens the file with other flags, and leaves it as it is.
fn attempt(disk: &Disk, flags: u8) -> Result<(), Unread> {
    let overlay = Overlay::over(disk.clone())?;
    overlay.write(FLAGS as u64, &[flags])?;
    guarded(|| open(overlay, CACHE).map(drop))
}

/// Opens the database of a disk, or makes one on an empty disk, and checks all of it.
pub(crate) fn open(
    disk: impl StorageBackend,
    cache: usize,
) -> Result<redb::Database, redb::DatabaseError> {
    let mut builder = redb::Builder::new();
    builder.set_check_integrity_on_open(true);
    builder.set_cache_size(cache);
    builder.create_with_backend(disk)
}
