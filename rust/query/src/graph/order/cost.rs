//! Cost of an order, compared field by field.
//!
//! Width first: it bounds the size of views. Then how often a change has to walk a group of a
//! sibling on its way up, weighted by how much each relation changes; then free variables below
//! bound ones; then how many probes a change makes with how wide a delta (marginalising first, and
//! probing less often, is better); then the number of views. A subtree's cost depends on its
//! variables alone, so costs of subtrees add up.

/// The cost of (a part of) an order; smaller is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cost {
    /// Fractional edge cover of the widest view before marginalisation, in millionths.
    pub(crate) width: u64,
    /// Groups walked, each weighted by the rows of the relation that changes.
    pub(crate) propagation: u128,
    /// Free variables below bound ones.
    pub(crate) buried: u64,
    /// Siblings probed, each weighted as above and by the variables of the delta that probes.
    pub(crate) probes: u128,
    /// Views.
    pub(crate) views: u64,
}

impl Cost {
    /// Whether another is as good, but for what each change costs by a constant factor.
    pub(crate) fn is_tied_with(&self, other: &Cost) -> bool {
        (self.width, self.propagation, self.buried)
            == (other.width, other.propagation, other.buried)
    }

    /// The cost of two parts side by side, or one above the other.
    pub(crate) fn with(self, other: Cost) -> Cost {
        Cost {
            width: self.width.max(other.width),
            propagation: self.propagation.saturating_add(other.propagation),
            buried: self.buried + other.buried,
            probes: self.probes.saturating_add(other.probes),
            views: self.views + other.views,
        }
    }
}
