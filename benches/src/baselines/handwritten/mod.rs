//! The honest ceiling: for each query the program that a code generator, or a careful engineer, would write for it.
//!
//! Nothing is generic over queries or rings, types are those of the columns, and no base rows are kept. The engine's
//! promises are kept: exact checked integers, a count beside each sum, groups that leave with their last row, the
//! result ready after each batch. `Arrays` or `Tables` choose how single keys are mapped.

pub(crate) mod fact;
pub(crate) mod housing;
pub(crate) mod retailer;

/// Ranges of consecutive rows that agree on a key.
pub(crate) fn runs<'a, K: PartialEq + 'a>(
    rows: std::ops::Range<usize>,
    key: impl Fn(usize) -> K + 'a,
) -> impl Iterator<Item = std::ops::Range<usize>> + 'a {
    let mut start = rows.start;
    std::iter::from_fn(move || {
        let first = start;
        if first == rows.end {
            return None;
        }
        let same = key(first);
        start += 1;
        while start < rows.end && key(start) == same {
            start += 1;
        }
        Some(first..start)
    })
}
