//! The origins that numeric features are counted from.
//!
//! Sums of squares of numbers far from zero have no digits left for how the numbers differ. So a
//! feature has an origin: the payloads are those of x - origin, and what is shown adds it again.
//! Invariant: a feature has an origin exactly while a kept view that covers it has a key; between transactions all
//! payloads of a tree are counted from `shown`. The first rows fix an origin. It moves when their mean is far from it,
//! measured by the deviation: all payloads then move at a commit. The origin of whole numbers is whole, so their sums
//! stay exact below 2^53, and deletes cancel to nothing.
//! Cost: a subtraction a value; O(m) at a commit over one group, over more O(m) a group once several times
//! as many rows have been handled; a move what its payloads hold, once as many rows have been handled as
//! they are. A commit that fixes and moves no origin allocates nothing.

use ringview_query::Kind;
use ringview_ring::Expansion;
use ringview_view::read::Values;

/// Largest distance between a mean and its origin, in deviations: a variance loses twice as many bits as this has.
const FAR: f64 = 8.0;

/// Rows handled for each group beyond the first between two looks at all of them.
const ROWS_A_GROUP: u64 = 8;

/// The origin is zero for values with a magnitude above this: sums of squares would leave the range of doubles, which
/// is refused when the rows are read.
const LARGEST: f64 = 1e140;

/// Whole numbers below it are doubles.
const EXACT: f64 = (1u64 << 53) as f64;

/// Whole origins have less magnitude than this.
const WHOLE: f64 = (1u64 << 62) as f64;

/// Number of leading values that are sampled.
const SAMPLE: usize = 15;

/// The origins of the features of a COFACTOR, by feature.
#[derive(Clone, Debug)]
pub(crate) struct Origins {
    origins: Vec<Option<f64>>,
    /// The farthest that an origin has moved at a time while sums were rounded: that is in them still.
    reach: Vec<f64>,
    /// The features whose origins the running transaction fixed.
    fresh: Vec<usize>,
    /// The origins, reaches and `moved` before the running transaction moved any.
    before: Option<(Vec<Option<f64>>, Vec<f64>, u64)>,
    /// The origins that are about to move.
    coming: Vec<Move>,
    /// The origins, 0 for none, then the reaches, as bits: as of the last commit.
    shown: Vec<u64>,
    /// Rows handled when the means were last looked at, and when an origin last moved.
    looked: u64,
    moved: u64,
    /// `looked` and `moved` before the running transaction looked at the means.
    before_look: Option<(u64, u64)>,
    totals: Totals,
}

/// An origin that moves.
#[derive(Clone, Copy, Debug)]
struct Move {
    feature: usize,
    new: f64,
    /// Distance of the move, if sums were rounded before.
    reach: f64,
}

/// Totals of each feature over the groups of a view, in the order of the payload.
#[derive(Clone, Debug, Default)]
struct Totals {
    count: f64,
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl Origins {
    pub(crate) fn new(features: usize) -> Self {
        Self {
            origins: vec![None; features],
            reach: vec![0.0; features],
            fresh: Vec::new(),
            before: None,
            coming: Vec::new(),
            shown: vec![0; 2 * features],
            looked: 0,
            moved: 0,
            before_look: None,
            totals: Totals::default(),
        }
    }

    /// The origins, then the reaches, as words; as of the last commit.
    pub(crate) fn shown(&self) -> &[u64] {
        &self.shown
    }

    /// The origin of a feature, which the values at hand fix if there is none.
    pub(crate) fn of(&mut self, feature: usize, kind: Kind, values: Values<'_>) -> f64 {
        if let Some(origin) = self.origins[feature] {
            return origin;
        }
        let origin = Sample::of(kind, values).map_or(0.0, |sample| sample.origin());
        self.origins[feature] = Some(origin);
        self.fresh.push(feature);
        origin
    }

    /// Looks whether rows that are many more than those `earlier` want another origin of a feature.
    pub(crate) fn foresee(
        &mut self,
        (feature, kind): (usize, Kind),
        values: Values<'_>,
        (earlier, coming): (u64, u64),
    ) {
        let (Some(origin), Some(sample)) = (self.origins[feature], Sample::of(kind, values)) else {
            return;
        };
        let new = sample.origin();
        if !sample.is_far(origin) || new == origin {
            return;
        }
        let share = (earlier as f64 / coming as f64).sqrt();
        self.coming.push(Move {
            feature,
            new,
            reach: if is_whole(kind) {
                0.0
            } else {
                (new - origin).abs() * share
            },
        });
    }

    /// Within a transaction: moves the origins that `foresee` found, which takes handling as many payloads
    /// as `payloads` says. By how much rows grow, by feature, if any do.
    pub(crate) fn move_now(
        &mut self,
        rows: u64,
        payloads: impl Fn(&[usize]) -> usize,
    ) -> Option<Vec<Expansion>> {
        let before = (self.origins.clone(), self.reach.clone(), self.moved);
        if !self.may_move(rows, payloads) {
            self.coming.clear();
            return None;
        }
        self.before.get_or_insert(before);
        self.take_coming()
    }

    /// Whether so many rows have been handled since the last move as this one costs.
    fn may_move(&mut self, rows: u64, payloads: impl Fn(&[usize]) -> usize) -> bool {
        let features: Vec<usize> = self.coming.iter().map(|to| to.feature).collect();
        let may = !features.is_empty() && rows - self.moved >= payloads(&features) as u64;
        if may {
            self.moved = rows;
        }
        may
    }

    /// Whether the means are to be looked at, of so many groups: after so many rows handled.
    pub(crate) fn is_due(&mut self, rows: u64, groups: usize) -> bool {
        let further = (groups as u64).saturating_sub(1);
        let due = rows - self.looked >= ROWS_A_GROUP * further;
        if due {
            self.before_look = Some((self.looked, self.moved));
            self.looked = rows;
        }
        due
    }

    /// Looks for means that are far from their origins, in the payloads of all groups; `order` are the
    /// features of these, `kinds` says which are whole numbers. Origins will move at the next commit once as
    /// many rows have been handled as there are payloads that cover the features that move.
    pub(crate) fn look<'a>(
        &mut self,
        rows: u64,
        (groups, order): (impl Iterator<Item = &'a [u64]>, &[usize]),
        kinds: &[Kind],
        payloads: impl Fn(&[usize]) -> usize,
    ) {
        self.totals.sum(order.len(), groups);
        for (at, &feature) in order.iter().enumerate() {
            if self.totals.is_near(at) {
                continue;
            }
            let Some(origin) = self.origins[feature] else {
                continue;
            };
            let whole = is_whole(kinds[feature]);
            let new = self.totals.nearer(at, origin, whole);
            if new != origin {
                let exact = whole && self.totals.squares[at] < EXACT;
                self.coming.push(Move {
                    feature,
                    new,
                    reach: if exact { 0.0 } else { (new - origin).abs() },
                });
            }
        }
        if !self.may_move(rows, payloads) {
            self.coming.clear();
        }
    }

    /// Whether the running transaction fixed an origin, or has moved or is about to move one.
    pub(crate) fn are_changing(&self) -> bool {
        !self.fresh.is_empty() || self.before.is_some() || !self.coming.is_empty()
    }

    /// The running transaction stays. If origins move, by how much rows grow, by feature.
    pub(crate) fn commit(&mut self) -> Option<Vec<Expansion>> {
        self.fresh.clear();
        self.before = None;
        self.before_look = None;
        self.take_coming()
    }

    fn take_coming(&mut self) -> Option<Vec<Expansion>> {
        let by = self.coming_shift();
        for to in self.coming.drain(..) {
            self.origins[to.feature] = Some(to.new);
            self.reach[to.feature] = self.reach[to.feature].max(to.reach);
        }
        by
    }

    /// By how much rows grow, by feature, when the origins move that are about to; `None` if none is.
    pub(crate) fn coming_shift(&self) -> Option<Vec<Expansion>> {
        if self.coming.is_empty() {
            return None;
        }
        let mut by = vec![Expansion::default(); self.origins.len()];
        for to in &self.coming {
            let old = self.origins[to.feature].unwrap_or(to.new);
            by[to.feature] = Expansion::sum_of(old, -to.new);
        }
        Some(by)
    }

    /// The origins, then the reaches, as words: as the commit of the running transaction will show them, if views
    /// then hold these features.
    pub(crate) fn coming(&self, holds: impl Fn(usize) -> bool) -> Vec<u64> {
        let (mut origins, mut reach) = (self.origins.clone(), self.reach.clone());
        for to in &self.coming {
            origins[to.feature] = Some(to.new);
            reach[to.feature] = reach[to.feature].max(to.reach);
        }
        for feature in 0..origins.len() {
            if origins[feature].is_some() && !holds(feature) {
                (origins[feature], reach[feature]) = (None, 0.0);
            }
        }
        let origins = origins.iter().map(|origin| origin.unwrap_or(0.0).to_bits());
        origins
            .chain(reach.iter().map(|reach| reach.to_bits()))
            .collect()
    }

    /// The running transaction is undone.
    pub(crate) fn rollback(&mut self) {
        self.coming.clear();
        if let Some((looked, moved)) = self.before_look.take() {
            (self.looked, self.moved) = (looked, moved);
        }
        if let Some((origins, reach, moved)) = self.before.take() {
            (self.origins, self.reach, self.moved) = (origins, reach, moved);
        }
        for feature in self.fresh.drain(..) {
            self.origins[feature] = None;
        }
    }

    /// Forgets the origins of features that no view holds anything of; shows the others.
    pub(crate) fn keep(&mut self, holds: impl Fn(usize) -> bool) {
        let features = self.origins.len();
        for feature in 0..features {
            if self.origins[feature].is_some() && !holds(feature) {
                self.origins[feature] = None;
                self.reach[feature] = 0.0;
            }
            self.shown[feature] = self.origins[feature].unwrap_or(0.0).to_bits();
            self.shown[features + feature] = self.reach[feature].to_bits();
        }
    }
}

impl Totals {
    /// Makes it that of some payloads of m variables.
    fn sum<'a>(&mut self, m: usize, payloads: impl Iterator<Item = &'a [u64]>) {
        self.count = 0.0;
        for totals in [&mut self.sums, &mut self.squares] {
            totals.clear();
            totals.resize(m, 0.0);
        }
        for payload in payloads {
            self.count += payload[0] as i64 as f64;
            let mut diagonal = 1 + m;
            let totals = self.sums.iter_mut().zip(&mut self.squares);
            for (i, (sum, square)) in totals.enumerate() {
                *sum += f64::from_bits(payload[1 + i]);
                *square += f64::from_bits(payload[diagonal]);
                diagonal += m - i;
            }
        }
    }

    /// Whether a mean is surely not far from its origin: without a division, and with a margin.
    #[inline]
    fn is_near(&self, at: usize) -> bool {
        let (sum, square) = (self.sums[at], self.squares[at]);
        // mean^2 <= FAR^2 variance, times count^2.
        sum == 0.0 || (1.0 + FAR * FAR) * sum * sum < (FAR * FAR - 1.0) * square * self.count
    }

    /// An origin near the mean, if it is far from this one.
    fn nearer(&self, at: usize, origin: f64, whole: bool) -> f64 {
        let mean = self.sums[at] / self.count;
        let variance = (self.squares[at] / self.count - mean * mean).max(0.0);
        let far = self.count > 0.0 && mean * mean > FAR * FAR * variance;
        if !far {
            return origin;
        }
        // Few digits, so that differences from it need few.
        let deviation = variance.sqrt();
        let mut grid = f64::from_bits(deviation.to_bits() & (0x7ff << 52));
        if whole {
            grid = grid.max(1.0);
        }
        let new = origin + mean;
        let new = match grid {
            0.0 => new,
            grid => (new / grid).round() * grid,
        };
        let largest = if whole { WHOLE } else { LARGEST };
        if new.abs() < largest { new } else { origin }
    }
}

/// Whether all values of a kind are whole numbers.
fn is_whole(kind: Kind) -> bool {
    match kind {
        Kind::Int => true,
        Kind::Decimal { scale } => scale <= 0,
        Kind::Real => false,
    }
}

/// A few of the values of a feature, as an origin is chosen by.
struct Sample {
    median: f64,
    range: f64,
    kind: Kind,
}

impl Sample {
    fn of(kind: Kind, values: Values<'_>) -> Option<Self> {
        let Values::Words(words) = values else {
            return None;
        };
        let (rows, value): (usize, &dyn Fn(usize) -> f64) = match kind {
            Kind::Real => (words.len(), &|row| f64::from_bits(words[row])),
            Kind::Int => (words.len(), &|row| words[row] as i64 as f64),
            Kind::Decimal { scale } => (words.len() / 2, &move |row| {
                scaled(digits(words, row), scale)
            }),
        };
        let taken = rows.min(SAMPLE);
        let mut sample: Vec<f64> = (0..taken)
            .map(|at| value(at * (rows - 1) / (taken - 1).max(1)))
            .collect();
        sample.sort_unstable_by(f64::total_cmp);
        Some(Self {
            median: *sample.get(taken / 2)?,
            range: sample.last()? - sample.first()?,
            kind,
        })
    }

    /// The origin for it: the median, unless zero is about as near.
    fn origin(&self) -> f64 {
        let largest = if is_whole(self.kind) { WHOLE } else { LARGEST };
        if self.median.abs() <= 2.0 * self.range || self.median.abs() >= largest {
            return 0.0;
        }
        self.median
    }

    /// Whether all of it is far from an origin.
    fn is_far(&self, origin: f64) -> bool {
        (self.median - origin).abs() > FAR * self.range
    }
}

/// The digits of a decimal.
fn digits(words: &[u64], row: usize) -> i128 {
    (u128::from(words[2 * row]) | u128::from(words[2 * row + 1]) << 64) as i128
}

/// `digits * 10^-scale`
fn scaled(digits: i128, scale: i8) -> f64 {
    Expansion::decimal_value(digits, scale)
}

/// The values of a feature less its origin, one in each `step` of `out`. Whole parts are subtracted
/// before anything is rounded.
pub(crate) fn subtract(kind: Kind, values: Values<'_>, origin: f64, out: &mut [f64], step: usize) {
    let Values::Words(words) = values else {
        unreachable!("a feature is a column")
    };
    let out = out.iter_mut().step_by(step);
    match kind {
        Kind::Real => out
            .zip(words)
            .for_each(|(out, &word)| *out = f64::from_bits(word) - origin),
        Kind::Int => {
            let whole = origin as i64;
            out.zip(words).for_each(|(out, &word)| {
                *out = match (word as i64).overflowing_sub(whole) {
                    (value, false) => value as f64,
                    (_, true) => word as i64 as f64 - origin,
                }
            });
        }
        Kind::Decimal { scale } => {
            let (whole, rest) = (origin.trunc(), origin - origin.trunc());
            let power = 10i128.checked_pow(u32::try_from(scale).unwrap_or(u32::MAX));
            let whole_digits = power.and_then(|power| (whole as i128).checked_mul(power));
            for (row, out) in out.enumerate() {
                let digits = digits(words, row);
                *out = match whole_digits.and_then(|whole| digits.checked_sub(whole)) {
                    Some(left) => scaled(left, scale) - rest,
                    None => scaled(digits, scale) - origin,
                };
            }
        }
    }
}
