//! Which of a file's two commits counts: the newest that is whole.
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
//! Invariant: a commit that was told to be done counts, or the file is refused, whichever one bit of it is changed.
//! Cost: a read of the header; where the newer commit is not the one that counts, two readings of the whole file.

use std::collections::BTreeMap;
use std::io;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use redb::{BackendError, StorageBackend};

use super::Disk;
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

/// Lets the newest whole commit count.
///
/// # Errors
/// Where the commit that counts is not whole.
pub(crate) fn settle(disk: &Disk) -> Result<(), Unread> {
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
    let overlay = Overlay::new(disk.clone(), flags)?;
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

/// A disk on which nothing is written but here.
#[derive(Debug)]
struct Overlay {
    disk: Disk,
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    len: u64,
    blocks: BTreeMap<u64, [u8; BLOCK as usize]>,
}

const BLOCK: u64 = 4096;

impl Overlay {
    fn new(disk: Disk, flags: u8) -> io::Result<Self> {
        let blocks = BTreeMap::new();
        let len = disk.len()?;
        let overlay = Self {
            disk,
            written: Mutex::new(Written { len, blocks }),
        };
        overlay.write(FLAGS as u64, &[flags])?;
        Ok(overlay)
    }

    fn lock(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A block as the disk has it; zeros behind its end.
    fn block(&self, number: u64) -> io::Result<[u8; BLOCK as usize]> {
        let mut block = [0; BLOCK as usize];
        let start = number * BLOCK;
        let there = self.disk.len()?.saturating_sub(start).min(BLOCK) as usize;
        self.disk.read(start, &mut block[..there])?;
        Ok(block)
    }
}

/// The blocks that bytes lie in, each with where they begin in it, and how many of them there are.
fn blocks(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done as u64;
        let within = (at % BLOCK) as usize;
        let part = (BLOCK as usize - within).min(len - done);
        done += part;
        (part > 0).then_some((at / BLOCK, within, part))
    })
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.lock().len)
    }

    fn read(&self, offset: u64, mut out: &mut [u8]) -> io::Result<()> {
        let written = self.lock();
        if offset + out.len() as u64 > written.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for (number, start, len) in blocks(offset, out.len()) {
            let (part, rest) = out.split_at_mut(len);
            let block = match written.blocks.get(&number) {
                Some(block) => *block,
                None => self.block(number)?,
            };
            part.copy_from_slice(&block[start..start + len]);
            out = rest;
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.lock().len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, mut data: &[u8]) -> io::Result<()> {
        let mut written = self.lock();
        for (number, start, len) in blocks(offset, data.len()) {
            let mut block = match written.blocks.get(&number) {
                Some(block) => *block,
                None => self.block(number)?,
            };
            block[start..start + len].copy_from_slice(&data[..len]);
            written.blocks.insert(number, block);
            data = &data[len..];
        }
        Ok(())
    }

    fn try_lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Ok(true)
    }

    fn unlock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }
}
