//! Frame bounds of window functions: how many rows before and after a row they read.
//!
//! Invariant: the value of a row follows from the rows so far before it and behind it, in the order of the partition,
//! and from no others. Cost: O(functions).

use super::{Call, Edge, Frame, FrameUnit, Parted};

/// Rows on both sides that are still few: farther ones cost as much as whole partitions.
const MOST: usize = 1 << 10;

/// The rows before and after a row that a window function reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameBounds {
    /// Before it.
    pub before: usize,
    /// Behind it.
    pub behind: usize,
}

impl FrameBounds {
    /// On both sides.
    #[must_use]
    pub fn rows(self) -> usize {
        self.before + self.behind
    }

    fn between(from: i64, to: i64) -> Option<Self> {
        Some(Self {
            before: usize::try_from((-from).max(0)).ok()?,
            behind: usize::try_from(to.max(0)).ok()?,
        })
    }
}

impl Parted {
    /// The union of the frames of its functions; none where one of them reads all rows, or too many.
    #[must_use]
    pub fn frame_bounds(&self) -> Option<FrameBounds> {
        if self.grouped {
            return None;
        }
        let mut all = FrameBounds::default();
        for call in &self.calls {
            let one = bounds_of(call)?;
            all.before = all.before.max(one.before);
            all.behind = all.behind.max(one.behind);
        }
        (all.rows() <= MOST).then_some(all)
    }
}

/// End of a frame that begins with its partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameEnd {
    /// With the row itself.
    Row,
    /// With the last row that is equal to it in the order.
    Peers,
    /// With the partition.
    All,
}

impl FrameEnd {
    /// That of a frame; none of one that begins elsewhere, or ends so many rows or values from the row.
    #[must_use]
    pub fn of(frame: &Frame, is_unordered: bool) -> Option<Self> {
        if is_unordered && frame.unit != FrameUnit::Rows {
            return Some(Self::All);
        }
        match (&frame.start, &frame.end, frame.unit) {
            (Edge::Preceding(None), Edge::CurrentRow, FrameUnit::Rows) => Some(Self::Row),
            (Edge::Preceding(None), Edge::CurrentRow, _) => Some(Self::Peers),
            (Edge::Preceding(None), Edge::Following(None), _) => Some(Self::All),
            _ => None,
        }
    }
}

impl Parted {
    /// Whether its functions are numbers of the rows before each row, or values of the first ones, whatever their types:
    /// a change computes the rows that it moves, and no others.
    #[must_use]
    pub fn is_numbered(&self) -> bool {
        let is_numbered = |call: &Call| match call.function.as_str() {
            "row_number" | "rank" | "dense_rank" => true,
            "count" | "first_value" | "nth_value" => {
                let frame = call.frame.as_ref();
                let end = frame.and_then(|frame| FrameEnd::of(frame, self.order.is_empty()));
                end.is_some() && !call.distinct && !call.ignore_nulls && call.order.is_empty()
            }
            _ => false,
        };
        !self.grouped && self.calls.iter().all(is_numbered)
    }
}

fn bounds_of(call: &Call) -> Option<FrameBounds> {
    let offset = || match call.constants.first() {
        None => Some(1),
        Some(text) => number(text),
    };
    match call.function.as_str() {
        "lag" | "lead" if call.ignore_nulls => None,
        "lag" => {
            let by = offset()?;
            FrameBounds::between(by.checked_neg()?, by.checked_neg()?)
        }
        "lead" => {
            let by = offset()?;
            FrameBounds::between(by, by)
        }
        "row_number" | "rank" | "dense_rank" | "percent_rank" | "cume_dist" | "ntile" => None,
        _ => {
            let Frame { unit, start, end } = call.frame.as_ref()?;
            let is_of_rows = *unit == FrameUnit::Rows;
            FrameBounds::between(edge(start)?, edge(end)?).filter(|_| is_of_rows)
        }
    }
}

/// Offset of an end of a frame from the row.
fn edge(of: &Edge) -> Option<i64> {
    match of {
        Edge::CurrentRow => Some(0),
        Edge::Preceding(by) => number(by.as_deref()?)?.checked_neg(),
        Edge::Following(by) => number(by.as_deref()?),
    }
}

/// A whole number as a constant of SQL; few, so that sums of them are numbers.
fn number(text: &str) -> Option<i64> {
    let found = text.trim_matches('\'').parse::<i64>().ok()?;
    (found.unsigned_abs() <= MOST as u64).then_some(found)
}
