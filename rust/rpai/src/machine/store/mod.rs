//! Rows as they are stored: packed, beside the slots of a relation's keys.
//!
//! | file | holds |
//! |---|---|
//! | `packed` | rows as bytes, and bags of few of them |
//! | `slotted` | values beside the slots of a relation's keys |
//! | `sums` | sums by key |
//! | `bag` | the rows of a table, by the values of some of its columns |

pub(crate) mod bag;
pub(crate) mod packed;
pub(crate) mod slotted;
pub(crate) mod sums;
