//! Undo: the inverse of each change, in reverse order.
//!
//! Invariant: every change of a tree is a list of two kinds of steps, each with an exact inverse.
//! *A payload is replaced*: the old one is noted, and put back. *The entries above a cut slide,
//! keeping their order*: their first entry afterwards is noted; exactly the entries from that one
//! on had moved, and they slide back onto free places, for entries inserted there later are undone
//! first. A shift that merges entries is made of both (the entries taken out are noted one by one),
//! so even a merge is undone, which no shift could do. Keys and payloads are then what they were:
//! integers to the bit; reals where their sums are exact, and payloads always to the bit, for they
//! are noted. The node of an entry may differ, and with it the order in which subtree sums of reals
//! are added, which changes nothing that a double holds. Cost: that of the changes, and one note
//! each.

/// Inverse of one step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Undo<K, P, T> {
    /// The payload of an entry was replaced.
    Payload { key: K, tie: T, old: P },
    /// The entries from `first` on slid there by a distance.
    Slide { first: (K, T), by: K },
}
