//! A component of the payloads of a join: which product of which columns it sums.
//!
//! Invariant: all relations share one shape, so a component never changes its ring. Cost: none.

use ringview_query::{Factor, Kind};
use ringview_ring::NumberKind;
use ringview_view::answer::number_kind;

/// A component of the payloads: a product of what each atom contributes, 1 where absent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Component {
    pub(crate) kind: Kind,
    pub(crate) factors: Vec<Option<Factor>>,
}

impl Component {
    /// Representation of its number: a sum of integers has 128 bits, for all relations share one shape, which never
    /// changes.
    pub(crate) fn number(&self) -> NumberKind {
        let sums = |factor: &Factor| factor.value.is_some();
        match self.kind {
            Kind::Int if self.factors.iter().flatten().any(sums) => NumberKind::Decimal,
            kind => number_kind(kind),
        }
    }
}
