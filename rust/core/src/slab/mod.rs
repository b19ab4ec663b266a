//! A list of words that grows without moving what it holds, once it is long.
//!
//! A full `Vec` copies everything into larger memory, and the caller that adds that one value
//! waits. A slab takes memory a piece at a time at the end of a range of addresses of its own
//! (`memory`). Invariant: it holds `len` values one after the other, as a slice. Cost: O(1)
//! amortised a value; no value of a slab of more than [`LONG`] bytes pays for more than a piece of
//! its memory, an eighth of its size at the most, which is requested and not yet touched.

mod memory;

use std::fmt;
use std::ops::{Deref, DerefMut};

pub use memory::LONG;
use memory::Memory;

/// Types that a slab may hold: plain words, of which any bytes are a value.
pub trait Word: Copy + fmt::Debug + private::Sealed {}

mod private {
    /// Closes [`super::Word`]: a slab reads values without running code of theirs.
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

impl Word for u8 {}
impl Word for u32 {}
impl Word for u64 {}

/// A list of words. See the module.
///
/// ```
/// use ringview_core::Slab;
///
/// let mut slab = Slab::new();
/// slab.extend_from_slice(&[7_u64, 8]);
/// slab.push(9);
/// slab.resize(5, 0);
/// assert_eq!(*slab, [7, 8, 9, 0, 0]);
/// ```
pub struct Slab<T> {
    memory: Memory,
    /// Values there is room for.
    room: usize,
    len: usize,
    /// Behind it no value was ever dropped.
    dropped: usize,
    values: std::marker::PhantomData<T>,
}

impl<T: Word> Slab<T> {
    const SIZE: usize = size_of::<T>();

    /// An empty slab; it allocates with its first value.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            memory: Memory::none(),
            room: 0,
            len: 0,
            dropped: 0,
            values: std::marker::PhantomData,
        }
    }

    /// Values that it has room for.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.room
    }

    /// Bytes allocated.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        self.room * Self::SIZE
    }

    /// Makes room for so many more values.
    #[inline(always)]
    pub fn reserve(&mut self, more: usize) {
        if self.room - self.len < more {
            self.grow(more);
        }
    }

    #[cold]
    fn grow(&mut self, more: usize) {
        let needed = self
            .len
            .checked_add(more)
            .map(|all| all.saturating_mul(Self::SIZE));
        let needed = needed.unwrap_or(usize::MAX);
        self.set_capacity(memory::capacity_for(needed, self.len * Self::SIZE));
    }

    /// Makes room for so many more values and for no others.
    pub fn reserve_exact(&mut self, more: usize) {
        if self.room - self.len < more {
            let bytes = self
                .len
                .checked_add(more)
                .map(|all| all.saturating_mul(Self::SIZE));
            self.set_capacity(bytes.unwrap_or(usize::MAX));
        }
    }

    /// Requests large pages for its memory, if it is long: before it is filled, and all at once.
    pub fn in_large_pages(&self) {
        crate::large_pages::ask_for(self.memory.start::<u8>().addr(), self.memory_usage());
    }

    fn set_capacity(&mut self, bytes: usize) {
        self.memory.resize(self.len * Self::SIZE, bytes);
        self.room = self.memory.bytes() / Self::SIZE;
    }

    /// Adds a value.
    #[inline(always)]
    pub fn push(&mut self, value: T) {
        self.reserve(1);
        // SAFETY: there is room for a value behind the last one.
        // Test: rust/core/src/slab/mod.rs::it_is_a_list
        unsafe { self.memory.start::<T>().add(self.len).write(value) };
        self.len += 1;
    }

    /// Adds values.
    #[inline(always)]
    pub fn extend_from_slice(&mut self, values: &[T]) {
        self.reserve(values.len());
        // SAFETY: there is room for them behind the last value, and nobody else has access to it.
        // Test: rust/core/src/slab/mod.rs::it_is_a_list
        unsafe {
            let end = self.memory.start::<T>().add(self.len);
            end.copy_from_nonoverlapping(values.as_ptr(), values.len());
        }
        self.len += values.len();
    }

    /// Adds a value so often, or drops the last ones, until there are `len`.
    #[inline(always)]
    pub fn resize(&mut self, len: usize, value: T) {
        let Some(more) = len.checked_sub(self.len) else {
            return self.truncate(len);
        };
        self.reserve(more);
        for at in self.len..len {
            // SAFETY: there is room for `len` values.
            // Test: rust/core/src/slab/mod.rs::it_is_a_list
            unsafe { self.memory.start::<T>().add(at).write(value) };
        }
        self.len = len;
    }

    /// Adds zeros until there are `len` values. O(1) for a long slab: memory that it never used is
    /// zero, and is touched where it is used.
    pub fn extend_zeroed(&mut self, len: usize) {
        self.reserve(len.saturating_sub(self.len));
        let used = match self.memory.is_range() {
            true => self.dropped.min(len),
            false => len,
        };
        for at in self.len..used {
            // SAFETY: there is room for `len` values.
            // Test: rust/core/src/slab/mod.rs::it_is_a_list
            unsafe { self.memory.start::<T>().add(at).write_bytes(0, 1) };
        }
        self.len = self.len.max(len);
    }

    /// Drops all values behind the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.dropped = self.dropped.max(self.len);
        self.len = self.len.min(len);
    }

    /// Drops all values and keeps the room.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Keeps the values for which `keep` is true; it is called in order.
    pub fn retain(&mut self, mut keep: impl FnMut(T) -> bool) {
        let mut kept = 0;
        for at in 0..self.len {
            let value = self[at];
            if keep(value) {
                self[kept] = value;
                kept += 1;
            }
        }
        self.truncate(kept);
    }

    /// Gives back the room behind the last value.
    pub fn shrink_to_fit(&mut self) {
        self.set_capacity(self.len * Self::SIZE);
    }
}

impl<T: Word> Deref for Slab<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the first `len` values are written, and borrowed with the slab.
        // Test: rust/core/src/slab/mod.rs::it_is_a_list
        unsafe { std::slice::from_raw_parts(self.memory.start(), self.len) }
    }
}

impl<T: Word> DerefMut for Slab<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: the same; the slab is borrowed for one.
        // Test: rust/core/src/slab/mod.rs::it_is_a_list
        unsafe { std::slice::from_raw_parts_mut(self.memory.start(), self.len) }
    }
}

impl<T: Word> Default for Slab<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Word> Clone for Slab<T> {
    fn clone(&self) -> Self {
        let mut copy = Self::new();
        copy.extend_from_slice(self);
        copy
    }
}

impl<T: Word> fmt::Debug for Slab<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{LONG, Slab};

    #[derive(Clone, Debug)]
    enum Step {
        Zeroed(usize),
        Push(u32),
        Extend(usize),
        Resize(usize),
        Truncate(usize),
        Keep(u32),
        Fit,
    }

    fn step() -> impl Strategy<Value = Step> {
        const MOST: usize = LONG;
        prop_oneof![
            any::<u32>().prop_map(Step::Push),
            (0..MOST).prop_map(Step::Extend),
            (0..MOST).prop_map(Step::Zeroed),
            (0..MOST).prop_map(Step::Resize),
            (0..MOST).prop_map(Step::Truncate),
            (1..4_u32).prop_map(Step::Keep),
            Just(Step::Fit),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        /// Across the bound from which a slab has addresses of its own, and back.
        #[test]
        fn it_is_a_list(steps in prop::collection::vec(step(), 0..24)) {
            let (mut slab, mut list) = (Slab::new(), Vec::new());
            for step in steps {
                match step {
                    Step::Push(value) => {
                        slab.push(value);
                        list.push(value);
                    }
                    Step::Extend(values) => {
                        let values: Vec<u32> = (0..values as u32).collect();
                        slab.extend_from_slice(&values);
                        list.extend_from_slice(&values);
                    }
                    Step::Zeroed(len) => {
                        slab.extend_zeroed(len);
                        list.resize(len.max(list.len()), 0);
                    }
                    Step::Resize(len) => {
                        slab.resize(len, 7);
                        list.resize(len, 7);
                    }
                    Step::Truncate(len) => {
                        slab.truncate(len);
                        list.truncate(len);
                    }
                    Step::Keep(apart) => {
                        slab.retain(|value| value % apart == 0);
                        list.retain(|value| value % apart == 0);
                    }
                    Step::Fit => {
                        slab.shrink_to_fit();
                        prop_assert!(slab.capacity() < list.len() + (1 << 14));
                    }
                }
                prop_assert_eq!(&*slab, &list[..]);
                prop_assert!(slab.capacity() >= slab.len());
            }
            prop_assert_eq!(&*slab.clone(), &list[..]);
        }
    }

    /// A long slab stays where it is as it grows.
    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn a_long_slab_does_not_move_until_its_addresses_end() {
        let (mut slab, mut moves) = (Slab::new(), 0);
        slab.resize(LONG / 8 + 1, 0_u64);
        let (first, mut last) = (slab.len(), slab.as_ptr());
        while slab.len() < 20 * first {
            slab.resize(slab.len() + 1_000, 1);
            moves += usize::from(slab.as_ptr() != last);
            last = slab.as_ptr();
            assert!(slab.capacity() <= slab.len() + slab.len() / 8 + (1 << 16));
        }
        assert!(moves <= 1, "{moves} moves");
    }
}
