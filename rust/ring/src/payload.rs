//! Interface of payloads to relations.
//!
//! The payloads of a relation lie in one flat array of words with a fixed stride, and joins work on batches of them:
//! the ring is called once a batch, not once a row. The computation over keys is the relations' and the same for every
//! ring; this trait is all that differs (paper, section 2).

/// An operation whose result cannot be represented, and in which component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// The component of the payload.
    pub component: usize,
}

/// Payload rows to read: all of them in order, or those named.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    /// Rows 0 to n - 1.
    All(usize),
    /// These rows; a row may be named more than once.
    Picked(&'a [u32]),
}

impl Rows<'_> {
    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Rows::All(rows) => *rows,
            Rows::Picked(rows) => rows.len(),
        }
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row at a position.
    ///
    /// # Panics
    /// Beyond the rows that are named.
    #[must_use]
    pub fn row(&self, at: usize) -> usize {
        match self {
            Rows::All(_) => at,
            Rows::Picked(rows) => rows[at] as usize,
        }
    }
}

/// Payloads row by row.
#[derive(Clone, Copy, Debug)]
pub struct Slab<'a> {
    words: &'a [u64],
    width: usize,
    bags: bool,
}

impl<'a> Slab<'a> {
    /// The rows of a delta, of `width` words each: the ring's stride, or less where it keeps rows
    /// shorter that are single.
    #[must_use]
    pub fn delta(words: &'a [u64], width: usize) -> Self {
        let bags = false;
        Self { words, width, bags }
    }

    /// The payloads of a view over bags, of the ring's stride each.
    #[must_use]
    pub fn view(words: &'a [u64], width: usize) -> Self {
        let bags = true;
        Self { words, width, bags }
    }

    /// Words of each.
    #[must_use]
    #[inline(always)]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Whether no row has a negative multiplicity, so that a count of 1 is one row.
    #[must_use]
    #[inline(always)]
    pub fn bags(&self) -> bool {
        self.bags
    }

    /// All of them.
    #[must_use]
    #[inline(always)]
    pub fn words(&self) -> &'a [u64] {
        self.words
    }

    /// One payload.
    #[must_use]
    #[inline(always)]
    pub fn row(&self, row: usize) -> &'a [u64] {
        &self.words[row * self.width..][..self.width]
    }
}

/// Views that the rows of a delta meet at once, at the most.
pub const MOST_JOINED: usize = 15;

/// The payloads of a view that the rows of a delta meet, one match a row.
#[derive(Clone, Copy, Debug)]
pub struct JoinedPayloads<'a> {
    /// The payloads of the view.
    pub payloads: Slab<'a>,
    /// By row, the slot of its match.
    pub slots: &'a [u32],
}

/// Rows that are summed into one: rows that are grouped before a wide product pay for it once.
#[derive(Clone, Copy, Debug)]
pub enum Groups<'a> {
    /// Each of n rows by itself.
    Each(usize),
    /// Consecutive rows: a group begins at each of `starts` and ends where the next one begins.
    Runs {
        /// First rows, ascending from 0.
        starts: &'a [u32],
        /// The number of rows.
        rows: usize,
    },
    /// Row i belongs to group `of[i]`; groups are numbered in the order of their first row.
    Named {
        /// A group a row.
        of: &'a [u32],
        /// The number of groups.
        groups: usize,
    },
}

impl Groups<'_> {
    /// Number of groups.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Groups::Each(rows) => *rows,
            Groups::Runs { starts, .. } => starts.len(),
            Groups::Named { groups, .. } => *groups,
        }
    }

    /// Whether there is no group.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The group of a row, and the row behind the last that follows it in that group; `before` groups end
    /// before it where they are runs.
    #[must_use]
    #[inline(always)]
    pub(crate) fn run(&self, row: usize, before: usize) -> (usize, usize) {
        match self {
            Groups::Each(_) => (row, row + 1),
            Groups::Runs { starts, rows } => {
                let end = starts.get(before + 1);
                (before, end.map_or(*rows, |&end| end as usize))
            }
            Groups::Named { of, .. } => {
                let group = of[row];
                let same = of[row..].iter().take_while(|&&other| other == group);
                (group as usize, row + same.count())
            }
        }
    }

    /// A cursor that names the group of each row, rows ascending. A loop over it is compiled as
    /// one with what it is called from, where a closure would not be.
    #[must_use]
    #[inline(always)]
    pub fn cursor(&self) -> GroupCursor<'_> {
        GroupCursor {
            groups: *self,
            group: 0,
        }
    }
}

/// See [`Groups::cursor`].
#[derive(Clone, Copy, Debug)]
pub struct GroupCursor<'a> {
    groups: Groups<'a>,
    group: usize,
}

impl GroupCursor<'_> {
    /// The group of the next row; rows are read in order from 0, each once.
    #[must_use]
    #[inline(always)]
    pub fn at(&mut self, row: usize) -> usize {
        match self.groups {
            Groups::Each(_) => row,
            Groups::Named { of, .. } => of[row] as usize,
            Groups::Runs { starts, .. } => {
                if starts
                    .get(self.group + 1)
                    .is_some_and(|&next| next as usize == row)
                {
                    self.group += 1;
                }
                self.group
            }
        }
    }
}

/// The sum a group of one value a row, kept in a register along a run; whether any sum overflowed.
#[inline(always)]
pub fn sum_groups<N: crate::Number>(
    groups: Groups<'_>,
    mut value: impl FnMut(usize) -> (N, bool),
    out: &mut [u64],
    stride: usize,
    word: usize,
) -> bool {
    let mut overflow = false;
    match groups {
        Groups::Each(_) => {
            for (row, target) in out.chunks_exact_mut(stride).enumerate() {
                let (number, wrapped) = value(row);
                number.store(target, word);
                overflow |= wrapped;
            }
        }
        Groups::Runs { starts, rows } => {
            for (group, target) in out.chunks_exact_mut(stride).enumerate() {
                let end = starts.get(group + 1).map_or(rows, |&end| end as usize);
                let mut sum = N::ZERO;
                for row in starts[group] as usize..end {
                    let (number, wrapped) = value(row);
                    let (next, carried) = sum.add(number);
                    sum = next;
                    overflow |= wrapped | carried;
                }
                sum.store(target, word);
            }
        }
        Groups::Named { of, .. } => {
            for (row, &group) in of.iter().enumerate() {
                let at = group as usize * stride + word;
                let (number, wrapped) = value(row);
                let (next, carried) = N::load(out, at).add(number);
                next.store(out, at);
                overflow |= wrapped | carried;
            }
        }
    }
    overflow
}

/// A product of payloads in their widened forms, and the shapes that they have otherwise.
#[derive(Clone, Debug)]
pub struct Widened<Shape, Product> {
    /// The product.
    pub product: Product,
    /// The shape of the left payloads.
    pub left: Shape,
    /// The shape of the right payloads.
    pub right: Shape,
    /// The shape of the result.
    pub out: Shape,
}

/// A ring over payloads in flat words. The first word of a payload is its exact count.
pub trait PayloadRing: Send + Sync + 'static {
    /// Shape of the payloads of one view.
    type Shape: Clone + std::fmt::Debug + Send + Sync;
    /// Product of the payloads of two views to those of a third.
    type Product: Clone + std::fmt::Debug + Send + Sync;
    /// Room that products want, kept between batches.
    type Scratch: Default + std::fmt::Debug + Send + Sync;

    /// A delta of rows that are kept shorter while they are single is summed by key where groups
    /// have this many rows.
    const LEAST_GROUP: usize;

    /// Words of a payload.
    fn stride(shape: &Self::Shape) -> usize;

    /// Words of a payload of a product's left side.
    fn left_stride(product: &Self::Product) -> usize;

    /// Whether a product is so wide that rows of one key are best summed before it, at any
    /// positions in the batch.
    fn is_wide(shape: &Self::Shape) -> bool;

    /// Adds row i of `delta` to the payload at `slots[i]` of `target`, in order, and appends to
    /// `emptied` the slots whose count became 0.
    ///
    /// # Errors
    /// `Overflow`; if an exact sum did not fit, `target` is as it was. Else it holds nothing of use
    /// at `slots`, and the caller restores it.
    fn add(
        shape: &Self::Shape,
        target: &mut [u64],
        slots: &[u32],
        delta: Slab<'_>,
        emptied: &mut Vec<u32>,
    ) -> Result<(), Overflow>;

    /// Row i is the i-th row named of `left` times the payload at the i-th slot of `right`; `out`
    /// becomes the sum of the rows of each group, of the width that is returned.
    ///
    /// # Errors
    /// `Overflow`.
    fn multiply(
        product: &Self::Product,
        left: (Slab<'_>, Rows<'_>),
        right: (Slab<'_>, &[u32]),
        groups: Groups<'_>,
        scratch: &mut Self::Scratch,
        out: &mut Vec<u64>,
    ) -> Result<usize, Overflow>;

    /// One product for two: what `first` gives times one payload more. `None` where a row is best
    /// multiplied with one match after the other, as where the ring has widened shapes, and beyond
    /// `MOST_JOINED`.
    fn then(_first: &Self::Product, _next: &Self::Product) -> Option<Self::Product> {
        None
    }

    /// As `multiply`, by all matches of a row at once: as many as the product was made of with `then`,
    /// and one.
    ///
    /// # Errors
    /// `Overflow`.
    fn multiply_all(
        product: &Self::Product,
        left: (Slab<'_>, Rows<'_>),
        right: &[JoinedPayloads<'_>],
        groups: Groups<'_>,
        scratch: &mut Self::Scratch,
        out: &mut Vec<u64>,
    ) -> Result<usize, Overflow> {
        let [JoinedPayloads { payloads, slots }] = *right else {
            unreachable!("a product that was made of one step has one partner")
        };
        Self::multiply(product, left, (payloads, slots), groups, scratch, out)
    }

    /// Whether a payload that is stored is zero: every exact component is, as what reals then hold
    /// is residue. Not for changes: one whose count is 0 may move a sum of reals.
    fn is_zero(shape: &Self::Shape, payload: &[u64]) -> bool;

    /// A shape for the same payloads with room for exact sums that do not fit in passing; `None`
    /// where there is none.
    fn widened(_shape: &Self::Shape) -> Option<Self::Shape> {
        None
    }

    /// Payloads of a shape, as those of its widened or grown one. Only where there is one.
    fn widen(_shape: &Self::Shape, _wide: &Self::Shape, payloads: &[u64]) -> Vec<u64> {
        payloads.to_vec()
    }

    /// Payloads of the widened shape as those of the shape, what does not fit wrapped around;
    /// whether all fit. Only where there is one.
    fn narrow(
        _shape: &Self::Shape,
        _wide: &Self::Shape,
        payloads: &[u64],
        out: &mut Vec<u64>,
    ) -> bool {
        payloads.clone_into(out);
        true
    }

    /// A shape for the same payloads that keeps larger exact sums for good; `None` where there is
    /// none.
    fn grown(_shape: &Self::Shape) -> Option<Self::Shape> {
        None
    }

    /// A product with all its payloads widened, where there is one.
    fn widened_product(_product: &Self::Product) -> Option<Widened<Self::Shape, Self::Product>> {
        None
    }
}
