//! A disk in memory that loses power: synced data is there, and any part of later writes may be.
//!
//! Invariant: it keeps every call, so that it can compute the possible contents after a power failure at any of them. A
//! sector has its contents at the last sync or those of any later write, in any order: writes are dropped, reordered,
//! and torn between sectors. Cost: the memory of all that was ever written.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

/// Bytes of a sector, which is written wholly or not at all.
const SECTOR: u64 = 512;

#[derive(Clone, Debug)]
enum Call {
    Write(u64, Vec<u8>),
    Resize(u64),
    Sync,
}

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    calls: Vec<Call>,
    /// Bytes that it has room for.
    capacity: Option<u64>,
}

/// The disk; clones are the same one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Simulated(Arc<Mutex<State>>);

/// Numbers from a seed.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2).wrapping_add(1))
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        // The upper bits of a multiplicative congruence.
        self.0 = self.0.wrapping_mul(0xD134_2543_DE82_EF95);
        self.0 = self.0.wrapping_add(0x2545_F491_4F6C_DD1D);
        ((self.0 >> 33) as usize) % end.max(1)
    }
}

impl Simulated {
    /// A disk that has these bytes.
    pub(crate) fn with(bytes: Vec<u8>) -> Self {
        let state = State {
            bytes,
            ..State::default()
        };
        Self(Arc::new(Mutex::new(state)))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of calls.
    pub(crate) fn calls(&self) -> usize {
        self.lock().calls.len()
    }

    /// Its contents.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.lock().bytes.clone()
    }

    /// Limits its capacity; with `None` there is no limit.
    pub(crate) fn set_capacity(&self, capacity: Option<u64>) {
        self.lock().capacity = capacity;
    }

    /// Possible contents if power failed behind this many calls.
    pub(crate) fn after(&self, calls: usize, dice: &mut Dice) -> Vec<u8> {
        let state = self.lock();
        let calls = &state.calls[..calls];
        let synced = calls.iter().rposition(|call| matches!(call, Call::Sync));
        let (done, pending) = calls.split_at(synced.map_or(0, |last| last + 1));
        let mut bytes = Vec::new();
        for call in done {
            call.apply(&mut bytes);
        }
        // In half of all cases all of it got there but for a little.
        let odds = [2, 12][dice.below(2)];
        let mut parts: Vec<Call> = pending.iter().flat_map(Call::pieces).collect();
        parts.retain(|_| dice.below(odds) > 0);
        if dice.below(2) == 0 {
            for last in (1..parts.len()).rev() {
                parts.swap(last, dice.below(last + 1));
            }
        }
        for part in parts {
            part.apply(&mut bytes);
        }
        bytes
    }
}

impl Call {
    /// A call as those of its sectors.
    fn pieces(&self) -> Vec<Call> {
        let Call::Write(offset, data) = self else {
            return vec![self.clone()];
        };
        let (mut parts, mut at) = (Vec::new(), 0);
        while at < data.len() {
            let start = offset + at as u64;
            let len = (SECTOR - start % SECTOR) as usize;
            let end = data.len().min(at + len);
            parts.push(Call::Write(start, data[at..end].to_vec()));
            at = end;
        }
        parts
    }

    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Call::Write(offset, data) => {
                // Data behind the end of a file that did not grow is lost.
                let start = (*offset as usize).min(bytes.len());
                let end = (start + data.len()).min(bytes.len());
                bytes[start..end].copy_from_slice(&data[..end - start]);
            }
            Call::Resize(len) => bytes.resize(*len as usize, 0),
            Call::Sync => {}
        }
    }
}

impl State {
    fn call(&mut self, call: Call) -> io::Result<()> {
        let end = match &call {
            Call::Write(offset, data) => offset + data.len() as u64,
            _ => 0,
        };
        if self.capacity.is_some_and(|capacity| end > capacity) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        call.apply(&mut self.bytes);
        self.calls.push(call);
        Ok(())
    }
}

impl StorageBackend for Simulated {
    fn len(&self) -> io::Result<u64> {
        Ok(self.lock().bytes.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.lock();
        let there = state
            .bytes
            .get(offset as usize..offset as usize + out.len());
        out.copy_from_slice(there.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.lock().call(Call::Resize(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.lock().call(Call::Sync)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.lock().call(Call::Write(offset, data.to_vec()))
    }
}
