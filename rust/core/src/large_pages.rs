//! A hint to the memory system: a long list that is looked into here and there is better off in
//! pages of 2 MB, of which the machine remembers where they are, than in thousands of 4 KB.
//!
//! Invariant: a hint only. The contents of a list, and the memory that it takes once it is filled,
//! do not depend on it: only pages that the list already has are marked.

/// Bytes that are worth it: room for a large page wherever the list begins.
const LONG: usize = 1 << 22;

/// Requests large pages for the memory of a list, if it is long; before it is filled.
///
/// ```
/// let mut list = Vec::with_capacity(1 << 20);
/// ringview_core::in_large_pages(&list);
/// list.resize(1 << 20, 7u64);
/// assert_eq!(list.iter().sum::<u64>(), 7 << 20);
/// ```
#[inline]
pub fn in_large_pages<T>(list: &Vec<T>) {
    ask_for(list.as_ptr().addr(), list.capacity() * size_of::<T>());
}

/// The same of some bytes.
#[inline]
pub(crate) fn ask_for(start: usize, bytes: usize) {
    if bytes >= LONG {
        ask(start, bytes);
    }
}

/// Requests them for all pages that hold some bytes: a mapping that is marked as a whole is not
/// split.
#[cfg(target_os = "linux")]
#[cold]
fn ask(start: usize, bytes: usize) {
    const PAGE: usize = 1 << 12;
    let first = start & !(PAGE - 1);
    let pages = (start + bytes - first).next_multiple_of(PAGE);
    // SAFETY: this advice changes no byte and unmaps nothing, whatever the addresses; what the
    // system cannot do, or where its pages are larger, it refuses, and nothing is lost.
    // Test: rust/core/src/large_pages.rs::a_list_stays_what_it_is
    let _ = unsafe {
        libc::madvise(
            std::ptr::without_provenance_mut(first),
            pages,
            libc::MADV_HUGEPAGE,
        )
    };
}

#[cfg(not(target_os = "linux"))]
fn ask(_: usize, _: usize) {}

#[cfg(test)]
mod tests {
    /// A list in large pages grows, moves and shrinks like any other.
    #[test]
    fn a_list_stays_what_it_is() {
        let mut list: Vec<u64> = Vec::new();
        for round in 1..6u64 {
            list.reserve_exact(1 << 19);
            super::in_large_pages(&list);
            list.extend(std::iter::repeat_n(round, 1 << 19));
        }
        list.truncate(3 << 19);
        list.shrink_to_fit();
        super::in_large_pages(&list);
        assert_eq!(list.iter().sum::<u64>(), (1 + 2 + 3) * (1 << 19));
        super::in_large_pages(&Vec::<u8>::new());
    }
}
