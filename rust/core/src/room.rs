//! Lists that are filled and emptied again and again: they keep the room that they need, not the
//! room that they once needed.
//!
//! Cost: O(1) amortised a value. Room is given back where a list held less than a quarter of it,
//! and whoever needs it again pays for it by filling it.

/// Values that a list may always have room for.
const FEW: usize = 1 << 10;

/// Empties a list, and gives back most of its room if it held far less.
///
/// ```
/// let mut list: Vec<u64> = (0..100_000).collect();
/// ringview_core::empty(&mut list);
/// assert!(list.capacity() >= 100_000);
/// list.extend(0..10);
/// ringview_core::empty(&mut list);
/// assert!(list.capacity() < 10_000);
/// ```
pub fn empty<T>(list: &mut Vec<T>) {
    let needed = list.len().max(FEW);
    list.clear();
    if list.capacity() / 4 > needed {
        list.shrink_to(2 * needed);
    }
}
