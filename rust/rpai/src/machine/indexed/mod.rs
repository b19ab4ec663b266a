//! The aggregate-index optimisation (paper, section 4.3): relations filtered by indexes, and sums of
//! products over them.
//!
//! | file | holds |
//! |---|---|
//! | `selector`, `memo` | a block: sums of products of its relations, each read when it changed |
//! | `relation` | a relation of a block, filtered |
//! | `sweep`, `rows`, `correlation`, `threshold` | rows filtered by inequalities with blocks |
//! | `equal` | rows filtered by equalities with closed values |
//! | `grouped` | rows filtered by blocks that equalities correlate |
//! | `reader`, `digits` | how rows are read: keys, and summands |
//! | `index` | sums by key, in an RPAI tree where there are many |

pub(crate) mod correlation;
pub(crate) mod digits;
pub(crate) mod equal;
pub(crate) mod grouped;
pub(crate) mod index;
pub(crate) mod memo;
pub(crate) mod reader;
pub(crate) mod relation;
pub(crate) mod rows;
pub(crate) mod selector;
pub(crate) mod shape;
pub(crate) mod sweep;
pub(crate) mod threshold;
