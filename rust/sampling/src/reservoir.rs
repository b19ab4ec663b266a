//! k items of a stream of batches, each set of k with equal chances, without replacement.
//!
//! Invariant: after every batch the reservoir holds k of the real items so far, or all if they are
//! fewer; the samples after two batches are those after the two as one. Cost: see `state`; items passed over are never
//! looked at, so a batch needs only a length and access by position (Algorithms 4 and 5).

use ringview_core::Result;

use crate::ReservoirState;

/// A batch of items, some of which may be dummies.
pub trait Items {
    /// A real item.
    type Item;

    /// Number of items left, dummies included.
    fn remain(&self) -> u128;

    /// Passes over so many items, fewer than remain, and takes the one behind them: None for a dummy.
    ///
    /// # Errors
    /// Any error of reading the item.
    fn skip(&mut self, items: u128) -> Result<Option<Self::Item>>;

    /// The next item, of which there must be one: None for a dummy.
    ///
    /// # Errors
    /// As `skip`.
    fn next(&mut self) -> Result<Option<Self::Item>> {
        self.skip(0)
    }
}

/// Up to k items of a stream.
///
/// ```
/// use ringview_core::Result;
/// use ringview_sampling::{Items, Reservoir};
///
/// /// The even ones among the numbers up to an end.
/// struct Even(std::ops::Range<u64>);
///
/// impl Items for Even {
///     type Item = u64;
///     fn remain(&self) -> u128 {
///         u128::from(self.0.end - self.0.start)
///     }
///     fn skip(&mut self, items: u128) -> Result<Option<u64>> {
///         Ok(self.0.nth(items as usize).filter(|number| number % 2 == 0))
///     }
/// }
///
/// let mut reservoir = Reservoir::new(3, 7)?;
/// reservoir.offer(&mut Even(0..5))?;
/// assert_eq!(reservoir.items(), [0, 2, 4]); // no more than fit: all of them
/// reservoir.offer(&mut Even(5..1000))?;
/// assert!(reservoir.items().iter().all(|number| number % 2 == 0));
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Reservoir<T> {
    state: ReservoirState,
    items: Vec<T>,
}

impl<T> Reservoir<T> {
    /// An empty reservoir.
    ///
    /// # Errors
    /// `Value` if k is 0 or more than 2^53.
    pub fn new(k: u64, seed: u64) -> Result<Reservoir<T>> {
        Ok(Reservoir {
            state: ReservoirState::new(k, seed)?,
            items: Vec::new(),
        })
    }

    /// The items held, in no order.
    #[must_use]
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// The state without the items.
    #[must_use]
    pub fn state(&self) -> &ReservoirState {
        &self.state
    }

    /// Takes a batch that follows those before.
    ///
    /// # Errors
    /// Those of the batch; the reservoir is then as before.
    pub fn offer(&mut self, batch: &mut impl Items<Item = T>) -> Result<()> {
        let mut state = self.state.clone();
        let mut came = Vec::new();
        while let Some(passed) = state.advance(batch.remain()) {
            let item = batch.skip(passed)?;
            if let (Some(place), Some(item)) = (state.stop(item.is_some()), item) {
                came.push((place as usize, item));
            }
        }
        self.state = state;
        for (place, item) in came {
            match self.items.get_mut(place) {
                Some(held) => *held = item,
                None => self.items.push(item),
            }
        }
        Ok(())
    }
}
