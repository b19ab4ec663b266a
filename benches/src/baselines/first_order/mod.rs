//! The first-order strategy for sums, a program by hand for each stream: base relations with every index a delta join wants, and no views.
//!
//! dQ = dR * S * T: a batch is joined with the base relations as they are. Sums are pushed below the join (no
//! program multiplies out what it only counts), yet each change walks its whole group in the others, where a view
//! has the group's sum ready.

mod housing;
mod retailer;
mod triangles;

pub(crate) use housing::Housing;
pub(crate) use retailer::Retailer;
pub(crate) use triangles::{OwnTriangles, Triangles};
