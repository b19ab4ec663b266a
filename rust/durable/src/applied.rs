//! Identities of applied changes: they detect a change that its source sends twice.
//!
//! Invariant: ranges neither touch nor overlap. Cost: O(log ranges) for numbers, and no memory for each while they have
//! no gaps; a name keeps its bytes for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

/// Identity of a change among those of its source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum BatchId {
    /// A number, as a stream counts its batches.
    Number(i64),
    /// A name.
    Name(String),
}

impl fmt::Display for BatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => write!(f, "{name:?}"),
        }
    }
}

/// A set of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Applied {
    /// From the first of a range to its last.
    #[serde(with = "ranges")]
    numbers: BTreeMap<i64, i64>,
    names: BTreeSet<String>,
}

impl Applied {
    pub(crate) fn holds(&self, id: &BatchId) -> bool {
        match id {
            BatchId::Number(number) => {
                let below = self.numbers.range(..=number).next_back();
                below.is_some_and(|(_, last)| number <= last)
            }
            BatchId::Name(name) => self.names.contains(name),
        }
    }

    pub(crate) fn add(&mut self, id: BatchId) {
        match id {
            BatchId::Number(number) => self.add_number(number),
            BatchId::Name(name) => {
                self.names.insert(name);
            }
        }
    }

    pub(crate) fn extend(&mut self, ids: impl IntoIterator<Item = BatchId>) {
        ids.into_iter().for_each(|id| self.add(id));
    }

    fn add_number(&mut self, number: i64) {
        let below = self.numbers.range(..=number).next_back();
        let (mut first, mut last) = (number, number);
        if let Some((&start, &end)) = below {
            if number <= end {
                return;
            }
            if end.checked_add(1) == Some(number) {
                first = start;
            }
        }
        let next = number.checked_add(1);
        if let Some(end) = next.and_then(|next| self.numbers.remove(&next)) {
            last = end;
        }
        self.numbers.insert(first, last);
    }
}

/// JSON has texts alone as keys, so ranges are pairs.
mod ranges {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        ranges: &BTreeMap<i64, i64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(ranges)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<i64, i64>, D::Error> {
        let pairs: Vec<(i64, i64)> = Vec::deserialize(deserializer)?;
        Ok(pairs.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::{Applied, BatchId};

    proptest! {
        #[test]
        fn numbers_are_those_that_came(numbers in prop::collection::vec(-9_i64..10, 0..30)) {
            let mut applied = Applied::default();
            let mut model = BTreeSet::new();
            for number in numbers {
                applied.add(BatchId::Number(number));
                model.insert(number);
                for asked in -11..12 {
                    prop_assert_eq!(applied.holds(&BatchId::Number(asked)), model.contains(&asked));
                }
                let gaps = model.iter().filter(|number| !model.contains(&(**number + 1))).count();
                prop_assert_eq!(applied.numbers.len(), gaps);
            }
        }
    }

    #[test]
    fn the_ends_of_all_numbers_are_numbers() {
        let mut applied = Applied::default();
        for number in [i64::MAX, i64::MIN, i64::MAX - 1] {
            applied.add(BatchId::Number(number));
            assert!(applied.holds(&BatchId::Number(number)));
        }
        assert_eq!(applied.numbers.len(), 2);
        assert!(!applied.holds(&BatchId::Number(0)));
    }

    #[test]
    fn they_are_read_as_they_were_written() {
        let mut applied = Applied::default();
        [1, 2, 3, 7]
            .into_iter()
            .for_each(|number| applied.add(BatchId::Number(number)));
        applied.add(BatchId::Name("first".to_owned()));
        let text = serde_json::to_string(&applied).unwrap();
        assert_eq!(text, r#"{"numbers":[[1,3],[7,7]],"names":["first"]}"#);
        assert_eq!(serde_json::from_str::<Applied>(&text).unwrap(), applied);
    }
}
