//! Unions of intervals of moments.
//!
//! Invariant: the intervals are not empty, ascend and do not touch; each has its first moment and not its end. Cost:
//! linear in the intervals, of which there are a few.

/// The first of all moments: an interval that begins there has always been.
pub const ALWAYS: i64 = i64::MIN;

/// Behind all moments: an interval that ends there never ends.
pub const FOREVER: i64 = i64::MAX;

/// An interval: its first moment, and the first one behind it.
pub type Span = (i64, i64);

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spans(Vec<Span>);

impl Spans {
    /// From a moment on.
    #[must_use]
    pub fn since(moment: i64) -> Self {
        Self::of([(moment, FOREVER)])
    }

    /// All moments.
    #[must_use]
    pub fn all() -> Self {
        Self::since(ALWAYS)
    }

    /// Intervals that ascend; those that touch become one.
    pub(super) fn of(spans: impl IntoIterator<Item = Span>) -> Self {
        let mut found: Vec<Span> = Vec::new();
        for (from, until) in spans {
            if from >= until {
                continue;
            }
            match found.last_mut() {
                Some((_, end)) if *end >= from => *end = until.max(*end),
                _ => found.push((from, until)),
            }
        }
        Self(found)
    }

    /// The intervals.
    pub fn iter(&self) -> impl Iterator<Item = Span> + '_ {
        self.0.iter().copied()
    }

    /// Whether a moment is in one of them.
    #[must_use]
    pub fn contains(&self, moment: i64) -> bool {
        self.iter()
            .any(|(from, until)| from <= moment && moment < until)
    }

    /// All other moments.
    #[must_use]
    pub fn complement(&self) -> Self {
        let mut begin = ALWAYS;
        let mut gaps = Vec::with_capacity(self.0.len() + 1);
        for (from, until) in self.iter() {
            gaps.push((begin, from));
            begin = until;
        }
        gaps.push((begin, FOREVER));
        Self::of(gaps)
    }

    /// The moments in both.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        let pairs = self.iter().flat_map(|(from, until)| {
            let others = other.iter();
            others.map(move |(start, end)| (from.max(start), until.min(end)))
        });
        Self::of(pairs)
    }

    /// The moments in either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.complement()
            .intersect(&other.complement())
            .complement()
    }

    /// The same with other ends, by a function that does not descend.
    pub(super) fn mapped(&self, by: impl Fn(i64) -> i64) -> Self {
        let end = |end: i64| match end {
            ALWAYS | FOREVER => end,
            _ => by(end),
        };
        Self::of(self.iter().map(|(from, until)| (end(from), end(until))))
    }
}
