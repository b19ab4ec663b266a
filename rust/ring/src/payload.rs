//! What a view tree asks of its payloads.
//!
//! The payloads of a view lie in one flat array of words with a fixed stride, and the tree works
//! on batches of them: the ring is asked once a batch, not once a row. The computation over keys
//! is the tree's and the same for every ring; this trait is all that differs (paper, section 2).

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
    /// How many rows.
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
}

/// A ring over payloads in flat words. The first word of a payload is its exact count.
pub trait PayloadRing: Send + Sync + 'static {
    /// What the payloads of one view hold.
    type Shape: Clone + std::fmt::Debug + Send + Sync;
    /// How the payloads of two views multiply to those of a third.
    type Product: Clone + std::fmt::Debug + Send + Sync;

    /// Words of a payload.
    fn stride(shape: &Self::Shape) -> usize;

    /// Adds row i of `delta` to the payload at `slots[i]` of `target`, in order, and appends to
    /// `emptied` the slots whose count became 0.
    ///
    /// # Errors
    /// `Overflow`; then `target` holds nothing of use at `slots`, and the caller restores it.
    fn add(
        shape: &Self::Shape,
        target: &mut [u64],
        slots: &[u32],
        delta: &[u64],
        emptied: &mut Vec<u32>,
    ) -> Result<(), Overflow>;

    /// Sums consecutive rows of `delta`: run i begins at row `starts[i]` and ends where the next
    /// one begins. `out` is overwritten with a payload a run.
    ///
    /// # Errors
    /// `Overflow`.
    fn fold(
        shape: &Self::Shape,
        delta: &[u64],
        starts: &[u32],
        out: &mut Vec<u64>,
    ) -> Result<(), Overflow>;

    /// Row i of `out` becomes row `left_rows[i]` of `left` times the payload at `slots[i]` of
    /// `right`. `out` is overwritten.
    ///
    /// # Errors
    /// `Overflow`.
    fn multiply(
        product: &Self::Product,
        left: &[u64],
        left_rows: Rows<'_>,
        right: &[u64],
        slots: &[u32],
        out: &mut Vec<u64>,
    ) -> Result<(), Overflow>;

    /// Whether a payload is zero: every exact component is.
    fn is_zero(shape: &Self::Shape, payload: &[u64]) -> bool;
}
