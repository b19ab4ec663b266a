//! Positions of the values, the count and the sums of a categorical feature in an entry of a tally.
//!
//! Invariant: values first, then the count, then sums. Cost: O(values).

use ringview_core::Type;

use super::values::SUM;

/// The values of a categorical feature, or of two together, as tallies have them.
#[derive(Clone, Debug)]
pub struct Categories {
    /// The columns, for people.
    pub name: String,
    /// The types of the values.
    pub types: Vec<Type>,
    /// Number of sums behind the count.
    pub sums: usize,
}

impl Categories {
    /// Words of a value.
    pub(super) fn words(ty: &Type) -> usize {
        1 + usize::from(matches!(ty, Type::Decimal { .. }))
    }

    /// Position and type of each value in an entry of a tally.
    pub(super) fn values(&self) -> impl Iterator<Item = (usize, &Type)> {
        self.types.iter().scan(0, |at, ty| {
            let start = *at;
            *at += Self::words(ty);
            Some((start, ty))
        })
    }

    /// Position of the count.
    pub(super) fn count_at(&self) -> usize {
        self.types.iter().map(Self::words).sum()
    }

    /// Words of an entry.
    pub(super) fn width(&self) -> usize {
        self.count_at() + 1 + SUM * self.sums
    }
}
