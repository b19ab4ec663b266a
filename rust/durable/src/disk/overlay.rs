//! Writes to a file that must not change, kept in memory.
//!
//! The embedded database writes even when it is only read: a flag while it is open, and repairs. Invariant: the file
//! below is never written; a read returns the latest write of each block, else the file's. Cost: a block of memory for
//! each that is written.

use std::collections::BTreeMap;
use std::io;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use redb::{BackendError, StorageBackend};

/// A disk on which nothing is written but here.
#[derive(Debug)]
pub(super) struct Overlay<D> {
    disk: D,
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    len: u64,
    blocks: BTreeMap<u64, [u8; BLOCK as usize]>,
}

const BLOCK: u64 = 4096;

impl<D: StorageBackend> Overlay<D> {
    pub(super) fn over(disk: D) -> io::Result<Self> {
        let blocks = BTreeMap::new();
        let len = disk.len()?;
        Ok(Self {
            disk,
            written: Mutex::new(Written { len, blocks }),
        })
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

impl<D: StorageBackend> StorageBackend for Overlay<D> {
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
