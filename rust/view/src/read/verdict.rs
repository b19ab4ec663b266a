//! Verdicts of conditions, in SQL's logic of three values.
//!
//! Invariant: ordered, so that AND is the least and OR the greatest. Cost: none.

pub(crate) const FALSE: u8 = 0;
pub(crate) const UNKNOWN: u8 = 1;
pub(crate) const TRUE: u8 = 2;

/// The verdict of a constant.
pub(crate) fn constant(value: Option<bool>) -> u8 {
    match value {
        None => UNKNOWN,
        Some(value) => 2 * u8::from(value),
    }
}

/// NOT.
pub(crate) fn opposite(verdict: u8) -> u8 {
    TRUE - verdict
}
