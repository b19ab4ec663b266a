//! Retention of a table: its interval, and the rows by their age.
//!
//! Invariant: between transactions `rows` are the rows of the table whose moment is not NULL, in the order of that
//! moment, and none is older than the retention; `rollback` puts back what the transaction changed. Cost: O(log n) a
//! row inserted or deleted, O(1) where none is due; about as much memory again as the words of the rows.

use std::collections::BTreeMap;

use ringview_core::{Batch, Column, Error, Result, Schema, TimeUnit, Type};
use ringview_query::Interval;
use serde::{Deserialize, Serialize};

/// Rows of a table leave when a column is so much earlier than the clock of the database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeepFor {
    /// The column: a date or a timestamp. A row that has NULL there stays.
    pub column: String,
    /// Time for which a row stays.
    pub interval: Interval,
}

/// A row as words: by column its word, the upper half of a decimal, and whether it is not NULL.
type RowWords = Box<[u64]>;

/// When a row is of, in ticks of its column, and the row.
type Aged = (i64, RowWords);

/// See the module.
#[derive(Debug)]
pub(crate) struct Retention {
    pub(crate) keep_for: KeepFor,
    column: usize,
    /// Microseconds of a tick, or ticks of a microsecond where negative.
    tick: i64,
    /// By column, whether it is a decimal.
    wide: Vec<bool>,
    rows: BTreeMap<Aged, i64>,
    journal: Vec<(Aged, i64)>,
    /// Number of rows deleted for their age, and that number at the last commit.
    expired: u64,
    committed: u64,
}

impl Retention {
    /// # Errors
    /// `UnknownColumn`; `Type` for a column that is no date and no timestamp; `Value` for an interval that is not
    /// positive.
    pub(crate) fn new(table: &str, schema: &Schema, keep_for: KeepFor) -> Result<Self> {
        let column = schema
            .index_of(&keep_for.column)
            .map_err(|error| match error {
                Error::UnknownColumn { column, known, .. } => Error::UnknownColumn {
                    table: table.to_owned(),
                    column,
                    known,
                },
                other => other,
            })?;
        let place = format!("keep_for of table {table:?}");
        let tick = match &schema.fields()[column].ty {
            Type::Date32 => 86_400_000_000,
            Type::Timestamp { unit, .. } => match unit {
                TimeUnit::Second => 1_000_000,
                TimeUnit::Millisecond => 1_000,
                TimeUnit::Microsecond => 1,
                TimeUnit::Nanosecond => -1_000,
            },
            other => {
                return Err(Error::Type {
                    place: format!("column {:?} in {place}", keep_for.column),
                    expected: "a date or a timestamp".to_owned(),
                    found: other.to_string(),
                });
            }
        };
        if !keep_for.interval.is_positive() {
            return Err(Error::Value {
                place,
                problem: format!(
                    "keeps rows for {}; give a length of time above 0, such as '7 days'",
                    keep_for.interval
                ),
            });
        }
        let wide = schema.fields().iter();
        Ok(Self {
            keep_for,
            column,
            tick,
            wide: wide
                .map(|field| matches!(field.ty, Type::Decimal { .. }))
                .collect(),
            rows: BTreeMap::new(),
            journal: Vec::new(),
            expired: 0,
            committed: 0,
        })
    }

    /// Takes rows with all columns that were inserted (1) or deleted (-1).
    pub(crate) fn apply(&mut self, batch: &Batch, sign: i64) {
        let moments = batch.column(self.column);
        for row in 0..batch.rows {
            let change = sign * batch.multiplicity(row);
            if change == 0 || moments.is_null(row) {
                continue;
            }
            let aged = (moments.words[row].cast_signed(), self.row_words(batch, row));
            self.put(&aged, change);
            self.journal.push((aged, change));
        }
    }

    fn put(&mut self, aged: &Aged, change: i64) {
        let Some(known) = self.rows.get_mut(aged) else {
            self.rows.insert(aged.clone(), change);
            return;
        };
        *known += change;
        if *known == 0 {
            self.rows.remove(aged);
        }
    }

    /// The first tick that stays at a moment.
    fn oldest_tick(&self, now: i64) -> i64 {
        let cut = self.keep_for.interval.before(now);
        match self.tick {
            tick if tick < 0 => cut.saturating_mul(-tick),
            // Ticks whose moment is before the cut are deleted.
            tick => cut.div_euclid(tick) + i64::from(cut.rem_euclid(tick) != 0),
        }
    }

    /// Some rows that are too old at a moment, each with how often it is there; none if all stay. O(rows that are given).
    pub(crate) fn due(&self, now: i64, most: usize) -> Option<Batch> {
        let first = self.oldest_tick(now);
        let due = self
            .rows
            .iter()
            .take_while(|((moment, _), _)| *moment < first);
        let due: Vec<(&Aged, &i64)> = due.take(most).collect();
        (!due.is_empty()).then(|| {
            let rows = due.iter().map(|((_, words), _)| &**words).collect();
            Batch {
                multiplicity: Some(due.iter().map(|(_, count)| **count).collect()),
                ..self.batch(rows)
            }
        })
    }

    /// When the oldest row is of, in microseconds.
    pub(crate) fn oldest(&self) -> Option<i64> {
        let ((ticks, _), _) = self.rows.first_key_value()?;
        Some(match self.tick {
            tick if tick < 0 => ticks.div_euclid(-tick),
            tick => ticks.saturating_mul(tick),
        })
    }

    fn row_words(&self, batch: &Batch, row: usize) -> RowWords {
        let mut words = Vec::with_capacity(self.wide.len() + 1);
        let mut valid = vec![0; self.wide.len().div_ceil(64)];
        for (at, wide) in self.wide.iter().enumerate() {
            let column = batch.column(at);
            words.push(column.words[row]);
            if *wide {
                words.push(column.high(row));
            }
            if !column.is_null(row) {
                valid[at / 64] |= 1 << (at % 64);
            }
        }
        words.extend(valid);
        words.into()
    }

    fn batch(&self, rows: Vec<&[u64]>) -> Batch {
        let mut at = 0;
        let bits = self.wide.len() + self.wide.iter().filter(|wide| **wide).count();
        let mut columns = Vec::with_capacity(self.wide.len());
        for (number, wide) in self.wide.iter().enumerate() {
            let words = rows.iter().map(|row| row[at]).collect();
            let high = match wide {
                true => rows.iter().map(|row| row[at + 1]).collect(),
                false => Vec::new(),
            };
            let valid = rows
                .iter()
                .map(|row| row[bits + number / 64] >> (number % 64) & 1 == 1);
            let valid: Vec<bool> = valid.collect();
            columns.push(Some(Column {
                words,
                high,
                valid: valid.contains(&false).then_some(valid),
            }));
            at += 1 + usize::from(*wide);
        }
        Batch {
            rows: rows.len(),
            columns,
            multiplicity: None,
        }
    }

    /// Counts rows that left for their age.
    pub(crate) fn count_expired(&mut self, rows: u64) {
        self.expired += rows;
    }

    /// Number of rows deleted for their age, with multiplicities, since the table was created, altered or read from a
    /// file.
    pub(crate) fn expired(&self) -> u64 {
        self.expired
    }

    pub(crate) fn commit(&mut self) {
        self.committed = self.expired;
        self.journal.clear();
        self.journal.shrink_to(1 << 10);
    }

    pub(crate) fn rollback(&mut self) {
        self.expired = self.committed;
        for (aged, change) in std::mem::take(&mut self.journal).into_iter().rev() {
            self.put(&aged, -change);
        }
    }

    /// Bytes that it takes: a node of the search tree is two thirds full.
    pub(crate) fn bytes(&self) -> usize {
        let words = self.wide.len() + self.wide.iter().filter(|wide| **wide).count() + 1;
        let row = size_of::<(Aged, i64)>() + words * size_of::<u64>();
        (self.rows.len() + self.rows.len() / 2) * row
            + self.journal.capacity() * size_of::<(Aged, i64)>()
    }
}

#[cfg(test)]
mod tests {
    //! Against a list of rows.

    use proptest::prelude::*;
    use ringview_core::{Batch, Column, Field, Schema, TimeUnit, Type};
    use ringview_query::Interval;

    use super::{KeepFor, Retention};

    fn retention(ty: Type, micros: i64) -> Retention {
        let price = Type::Decimal {
            precision: 20,
            scale: 2,
        };
        let fields = vec![Field::new("p", price, true), Field::new("ts", ty, true)];
        let keep_for = KeepFor {
            column: "ts".to_owned(),
            interval: Interval { months: 0, micros },
        };
        Retention::new("t", &Schema::new(fields).unwrap(), keep_for).unwrap()
    }

    fn batch(rows: &[(Option<i64>, Option<i128>, i64)]) -> Batch {
        let prices = rows.iter().map(|(_, price, _)| price.unwrap_or(0));
        let moments = rows.iter().map(|(ticks, _, _)| ticks.unwrap_or(0));
        Batch {
            rows: rows.len(),
            columns: vec![
                Some(Column {
                    words: prices.clone().map(|price| price as u64).collect(),
                    high: prices.map(|price| (price >> 64) as u64).collect(),
                    valid: Some(rows.iter().map(|(_, price, _)| price.is_some()).collect()),
                }),
                Some(Column {
                    words: moments.map(i64::cast_unsigned).collect(),
                    high: Vec::new(),
                    valid: Some(rows.iter().map(|(ticks, _, _)| ticks.is_some()).collect()),
                }),
            ],
            multiplicity: Some(rows.iter().map(|(_, _, count)| *count).collect()),
        }
    }

    proptest! {
        #[test]
        fn rows_that_are_too_old_are_due(
            rows in prop::collection::vec(
                (prop::option::of(-50_i64..50), prop::option::of(any::<i128>()), 1_i64..3), 0..20),
            unit in prop_oneof![Just(TimeUnit::Second), Just(TimeUnit::Microsecond), Just(TimeUnit::Nanosecond)],
            now in -60_000_000_i64..60_000_000,
        ) {
            let ty = Type::Timestamp { unit, timezone: None };
            let mut kept = retention(ty, 10);
            kept.apply(&batch(&rows), 1);
            let is_due = |ticks: i64| match unit {
                TimeUnit::Second => ticks * 1_000_000 < now - 10,
                TimeUnit::Microsecond => ticks < now - 10,
                _ => ticks < (now - 10) * 1_000,
            };
            let expected = rows.iter().filter(|(ticks, _, _)| ticks.is_some_and(is_due));
            let expected: i64 = expected.map(|(_, _, count)| count).sum();
            let due = kept.due(now, 100);
            let found = due.as_ref().and_then(|due| due.multiplicity.clone()).unwrap_or_default();
            prop_assert_eq!(found.iter().sum::<i64>(), expected);
            if let Some(due) = due {
                kept.commit();
                kept.apply(&due, -1);
                prop_assert!(kept.due(now, 100).is_none());
                kept.rollback();
                prop_assert_eq!(kept.due(now, 100), Some(due));
            }
        }
    }
}
