//! The memory of a slab: on the heap while it is short, then a range of addresses of its own.
//!
//! The range is larger than what is in use, so that it can be put to use a piece at a time. When it ends, the pages
//! move to one of `AHEAD` times their size: the system changes its tables and copies no byte. Invariant: `bytes` bytes
//! from `start` on can be read and written; behind them the range is unused and takes no memory. Without such ranges
//! all is on the heap.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error, realloc};
use std::ptr::NonNull;

/// Bytes beyond which a slab has a range of its own.
pub const LONG: usize = 1 << 19;
/// Ratio of the size of a new range to the bytes in use.
const AHEAD: usize = 8;
/// Unit of growth, in bytes.
const PIECE: usize = 1 << 14;
/// Alignment of every kind of word.
const ALIGN: usize = 16;

/// See the module.
pub(super) struct Memory {
    start: NonNull<u8>,
    bytes: usize,
    /// Length of the range; 0 on the heap.
    range: usize,
}

// SAFETY: it is a piece of memory that nobody else refers to.
// Test: rust/core/src/slab/mod.rs::it_is_a_list
unsafe impl Send for Memory {}
// SAFETY: a shared reference only reads.
// Test: rust/core/src/slab/mod.rs::it_is_a_list
unsafe impl Sync for Memory {}

/// Capacity in bytes for `needed` bytes where `used` are in use: twice as many while a slab is
/// short, then a quarter more, and an eighth in whole pieces once it is long.
pub(super) fn capacity_for(needed: usize, used: usize) -> usize {
    const SHORT: usize = 1 << 14;
    if needed <= LONG / 2 {
        let more = if used < SHORT { used } else { used / 4 };
        return needed.max(used + more).max(64);
    }
    let room = needed.max(used.saturating_add(used / 8));
    room.checked_next_multiple_of(PIECE).unwrap_or(room)
}

impl Memory {
    pub(super) const fn none() -> Self {
        Self {
            start: NonNull::<u128>::dangling().cast(),
            bytes: 0,
            range: 0,
        }
    }

    #[inline(always)]
    pub(super) fn start<T>(&self) -> *mut T {
        self.start.as_ptr().cast()
    }

    /// Bytes that may be used.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether what was never used is zero.
    pub(super) fn is_range(&self) -> bool {
        self.range > 0
    }

    /// Makes it `bytes` long, or a little more; the first `used` stay.
    pub(super) fn resize(&mut self, used: usize, bytes: usize) {
        match self.range {
            0 if bytes <= LONG => self.reallocate(bytes),
            range if range > 0 && bytes > LONG / 2 => {
                let whole = bytes.next_multiple_of(system::PAGE);
                if whole > range && !self.relocate(used, whole) {
                    self.replace(used, bytes);
                } else {
                    self.adjust(whole);
                }
            }
            _ => self.replace(used, bytes),
        }
    }

    /// The same on the heap.
    fn reallocate(&mut self, bytes: usize) {
        if bytes == self.bytes {
            return;
        }
        let layout = layout(bytes);
        // SAFETY: what is allocated is of the layout of `self.bytes`, and no layout here is of size 0.
        // Test: rust/core/src/slab/mod.rs::it_is_a_list
        let start = unsafe {
            match (self.bytes, bytes) {
                (0, _) => alloc(layout),
                (_, 0) => {
                    // The former is dropped.
                    *self = Self::none();
                    return;
                }
                (before, _) => realloc(self.start.as_ptr(), self::layout(before), bytes),
            }
        };
        self.start = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout));
        self.bytes = bytes;
    }

    /// Copies what is used to memory of the other kind, or to the heap where there is no range.
    fn replace(&mut self, used: usize, bytes: usize) {
        let mut other = Self::none();
        if bytes <= LONG || !other.map(bytes.next_multiple_of(system::PAGE)) {
            if self.range == 0 {
                return self.reallocate(bytes);
            }
            other.reallocate(bytes);
        }
        let kept = used.min(bytes);
        // SAFETY: both hold so many bytes, and they are two.
        // Test: rust/core/src/slab/mod.rs::it_is_a_list
        unsafe { other.start.copy_from_nonoverlapping(self.start, kept) };
        *self = other;
    }

    /// Takes a range of its own, of which `bytes` are in use.
    fn map(&mut self, bytes: usize) -> bool {
        let Some(range) = bytes.checked_mul(AHEAD) else {
            return false;
        };
        let Some(start) = system::take(range) else {
            return false;
        };
        *self = Self {
            start,
            bytes: 0,
            range,
        };
        self.adjust(bytes);
        self.bytes == bytes
    }

    /// Moves to a longer range.
    fn relocate(&mut self, used: usize, bytes: usize) -> bool {
        let mut other = Self::none();
        let (Some(range), used) = (
            bytes.checked_mul(AHEAD),
            used.next_multiple_of(system::PAGE),
        ) else {
            return false;
        };
        let Some(start) = system::take(range) else {
            return false;
        };
        (other.start, other.range) = (start, range);
        // SAFETY: `used` bytes can be used here, and their destination is empty.
        // Test: rust/core/src/slab/mod.rs::a_long_slab_does_not_move_until_its_addresses_end
        if !unsafe { system::move_pages(self.start, used, other.start) } {
            return false;
        }
        other.bytes = used;
        // SAFETY: the rest of the range is not used.
        // Test: rust/core/src/slab/mod.rs::a_long_slab_does_not_move_until_its_addresses_end
        unsafe { system::give_back(self.start.add(used), self.range - used) };
        (self.range, self.bytes) = (0, 0);
        *self = other;
        true
    }

    /// Lets so many bytes of the range be used.
    fn adjust(&mut self, bytes: usize) {
        let done = match bytes.checked_sub(self.bytes) {
            // SAFETY: they lie in the range and are not used yet.
            // Test: rust/core/src/slab/mod.rs::a_long_slab_does_not_move_until_its_addresses_end
            Some(more) => unsafe { system::open(self.start.add(self.bytes), more) },
            // SAFETY: they lie in the range and are not used any more.
            // Test: rust/core/src/slab/mod.rs::a_long_slab_does_not_move_until_its_addresses_end
            None => unsafe { system::close(self.start.add(bytes), self.bytes - bytes) },
        };
        if !done {
            handle_alloc_error(layout(bytes));
        }
        self.bytes = bytes;
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        match (self.range, self.bytes) {
            (0, 0) => {}
            // SAFETY: it was allocated with this layout.
            // Test: rust/core/src/slab/mod.rs::it_is_a_list
            (0, bytes) => unsafe { dealloc(self.start.as_ptr(), layout(bytes)) },
            // SAFETY: the range is of this slab alone, which is no more.
            // Test: rust/core/src/slab/mod.rs::a_long_slab_does_not_move_until_its_addresses_end
            (range, _) => unsafe { system::give_back(self.start, range) },
        }
    }
}

fn layout(bytes: usize) -> Layout {
    match Layout::from_size_align(bytes, ALIGN) {
        Ok(layout) => layout,
        Err(_) => panic!("a slab of {bytes} bytes is longer than any memory"),
    }
}

/// Ranges of addresses, from Linux.
#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    use std::ptr::{NonNull, null_mut};

    /// A multiple of the pages that a machine may have.
    pub(super) const PAGE: usize = if cfg!(target_arch = "x86_64") {
        1 << 14
    } else {
        1 << 16
    };

    /// A range that can be neither read nor written.
    pub(super) fn take(bytes: usize) -> Option<NonNull<u8>> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping touches no other.
        // Test: rust/core/src/slab/mod.rs::a_long_slab_does_not_move_until_its_addresses_end
        let start = unsafe { libc::mmap(null_mut(), bytes, libc::PROT_NONE, flags, -1, 0) };
        (start != libc::MAP_FAILED).then(|| NonNull::new(start.cast()))?
    }

    /// # Safety
    /// The bytes lie in one range.
    // Test: rust/core/src/slab/mod.rs::a_long_slab_does_not_move_until_its_addresses_end
    pub(super) unsafe fn open(start: NonNull<u8>, bytes: usize) -> bool {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: as above.
        // Test: rust/core/src/slab/mod.rs::a_long_slab_does_not_move_until_its_addresses_end
        unsafe { libc::mprotect(start.as_ptr().cast(), bytes, rights) == 0 }
    }

    /// # Safety
    /// The bytes lie in one range, and nobody refers to them.
    // Test: rust/core/src/slab/mod.rs::a_long_slab_does_not_move_until_its_addresses_end
    pub(super) unsafe fn close(start: NonNull<u8>, bytes: usize) -> bool {
        let start = start.as_ptr().cast();
        // SAFETY: as above.
        // Test: rust/core/src/slab/mod.rs::a_long_slab_does_not_move_until_its_addresses_end
        unsafe {
            libc::madvise(start, bytes, libc::MADV_DONTNEED) == 0
                && libc::mprotect(start, bytes, libc::PROT_NONE) == 0
        }
    }

    /// # Safety
    /// The bytes can be used; those at `to` lie in a range and are not used.
    // Test: rust/core/src/slab/mod.rs::a_long_slab_does_not_move_until_its_addresses_end
    pub(super) unsafe fn move_pages(from: NonNull<u8>, bytes: usize, to: NonNull<u8>) -> bool {
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        let target: *mut libc::c_void = to.as_ptr().cast();
        // SAFETY: as above.
        // Test: rust/core/src/slab/mod.rs::a_long_slab_does_not_move_until_its_addresses_end
        let moved = unsafe { libc::mremap(from.as_ptr().cast(), bytes, bytes, flags, target) };
        moved == target
    }

    /// # Safety
    /// The bytes lie in one range, and nobody refers to them.
    // Test: rust/core/src/slab/mod.rs::a_long_slab_does_not_move_until_its_addresses_end
    pub(super) unsafe fn give_back(start: NonNull<u8>, bytes: usize) {
        // SAFETY: as above.
        // Test: rust/core/src/slab/mod.rs::a_long_slab_does_not_move_until_its_addresses_end
        let _ = unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
    }
}

/// There are none: all is on the heap.
#[cfg(any(not(target_os = "linux"), miri))]
mod system {
    use std::ptr::NonNull;

    pub(super) const PAGE: usize = 1;

    pub(super) fn take(_: usize) -> Option<NonNull<u8>> {
        None
    }

    // Test: rust/core/src/slab/mod.rs::a_long_slab_does_not_move_until_its_addresses_end
    pub(super) unsafe fn open(_: NonNull<u8>, _: usize) -> bool {
        false
    }

    // Test: rust/core/src/slab/mod.rs::a_long_slab_does_not_move_until_its_addresses_end
    pub(super) unsafe fn close(_: NonNull<u8>, _: usize) -> bool {
        false
    }

    // Test: rust/core/src/slab/mod.rs::a_long_slab_does_not_move_until_its_addresses_end
    pub(super) unsafe fn move_pages(_: NonNull<u8>, _: usize, _: NonNull<u8>) -> bool {
        false
    }

    // Test: rust/core/src/slab/mod.rs::a_long_slab_does_not_move_until_its_addresses_end
    pub(super) unsafe fn give_back(_: NonNull<u8>, _: usize) {}
}
