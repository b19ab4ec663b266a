//! Rings: what a view keeps beside each key, and how it adds and multiplies.
//!
//! | file | holds |
//! |---|---|
//! | `algebra` | the ladder: commutative monoid, group (for deletes), ring (for joins) |
//! | `number` | the numbers that payloads are made of: integers, decimals, reals |
//! | `expansion/` | reals as sums of three doubles, and sums of many of them |
//! | `payload` | the interface of payloads to relations, as batches over flat arrays |
//! | `cofactor` | the degree-m matrix ring: counts, sums and sums of products as one payload |
//! | `extremes` | the least and the greatest of values: a semiring, where no row leaves |
//! | `sum_product/` | several sums of products that share one tree: the product of number rings; 256 bits for sums that do not fit while a transaction runs |
//!
//! The first word of every payload is an exact count. A key is in a relation unless its payload is zero, and zero means
//! every exact component, not the count alone: deleting x = 10 and inserting x = 7 has count 0 and sum -3. The rest in
//! floats once the exact components are zero is residue of rounding, and is removed with the key.

pub mod algebra;
mod cofactor;
mod expansion;
mod extremes;
mod number;
mod payload;
mod reals;
mod sum_product;

pub use algebra::{CommutativeMonoid, Group, Ring};
pub use cofactor::{Cofactor, CofactorProduct, CofactorScratch, CofactorShape, Lift};
pub use expansion::Expansion;
pub use extremes::{Extremes, ExtremesProduct, ExtremesShape, Origin, raise_both};
pub use number::{Number, Widen};
pub use payload::{
    GroupCursor, Groups, JoinedPayloads, MOST_JOINED, Overflow, PayloadRing, Rows, Slab, Widened,
    sum_groups,
};
pub use sum_product::{
    Common, Element, LiftedReals, NumberKind, SumProduct, SumProductShape, Term, TermProduct, Wide,
};
