//! A position between entries: a bound of a range, or the begin of a shift.

use std::cmp::Ordering;

/// Parts the entries of an index, ordered by (key, tie), into those below and those above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut<K, T = ()> {
    key: K,
    side: Side<T>,
}

/// The entries with the cut's own key that are below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side<T> {
    None,
    Smaller(T),
    UpTo(T),
    All,
}

impl<K: Copy + Ord, T: Copy + Ord> Cut<K, T> {
    /// Below are the keys less than `key`.
    pub fn before(key: K) -> Self {
        let side = Side::None;
        Self { key, side }
    }

    /// Below are the keys less than `key`, and `key`.
    pub fn after(key: K) -> Self {
        let side = Side::All;
        Self { key, side }
    }

    /// Below are the entries before the entry (key, tie).
    pub fn before_entry(key: K, tie: T) -> Self {
        let side = Side::Smaller(tie);
        Self { key, side }
    }

    /// Below are the entries before the entry (key, tie), and that entry.
    pub fn after_entry(key: K, tie: T) -> Self {
        let side = Side::UpTo(tie);
        Self { key, side }
    }

    /// The cut's key.
    pub fn key(&self) -> K {
        self.key
    }

    /// Whether an entry with the cut's own key is below.
    #[inline(always)]
    pub(crate) fn covers(&self, tie: &T) -> bool {
        match &self.side {
            Side::None => false,
            Side::Smaller(bound) => tie < bound,
            Side::UpTo(bound) => tie <= bound,
            Side::All => true,
        }
    }

    /// Whether an entry is below.
    #[inline(always)]
    pub fn is_above(&self, key: &K, tie: &T) -> bool {
        match key.cmp(&self.key) {
            Ordering::Less => true,
            Ordering::Equal => self.covers(tie),
            Ordering::Greater => false,
        }
    }
}
