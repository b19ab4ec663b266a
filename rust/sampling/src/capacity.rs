//! Capacity of long arrays of which there is one a relation.
//!
//! Invariant: an array that grows has an eighth to spare at most, once it is long. Cost: eight moves a value instead of two,
//! which the system does by pages where arrays are long.

/// From here on capacity grows by an eighth.
const LONG: usize = 1 << 12;

/// Reserves capacity for so many values more.
#[inline]
pub(crate) fn reserve<T>(list: &mut Vec<T>, values: usize) {
    if list.capacity() - list.len() < values {
        grow(list, values);
    }
}

#[cold]
fn grow<T>(list: &mut Vec<T>, values: usize) {
    let more = match list.len() < LONG {
        true => list.len(),
        false => list.len() / 8,
    };
    list.reserve_exact(more.max(values));
}
