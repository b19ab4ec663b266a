//! Rows by partition, in order, and how a transaction changes them.
//!
//! Invariant: a row is there while its multiplicity is not 0, and a partition while it has rows; `rollback` puts back what
//! the transaction changed. Rows may have weights, whose sums are found as numbers of rows are. Cost: O(log n) a row that
//! changes.

use std::collections::BTreeMap;
use std::ops::Bound::{self, Excluded, Unbounded};

use crate::codec::{PartitionKey, Row};
use crate::tree::{Change, Forward, Sums, Tree};

/// About how many rows are read at once.
pub(crate) const CHUNK: usize = 1 << 16;

/// Rows with multiplicities, in order.
#[derive(Debug)]
pub(crate) struct Partition {
    rows: Tree<Row>,
}

impl Partition {
    /// Whether there are no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Number of distinct rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The rows, with how many of each, in order.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&Row, i64)> {
        let rows = self.rows.forward(Unbounded);
        rows.filter(|(_, multiplicity)| *multiplicity > 0)
    }

    /// The rows from a bound on, with how many of each, in order.
    pub(crate) fn forward(&self, from: Bound<&Row>) -> Forward<'_, Row> {
        self.rows.forward(from)
    }

    /// The rows before a bound, with how many of each, the last one first.
    pub(crate) fn backward(&self, to: Bound<&Row>) -> impl Iterator<Item = (&Row, i64)> {
        self.rows.backward(to)
    }

    /// Multiplicity of a row.
    pub(crate) fn multiplicity(&self, row: &Row) -> i64 {
        self.rows.get(row)
    }

    /// The sums of the rows before one.
    pub(crate) fn before(&self, row: &Row) -> Sums {
        self.rows.before(row)
    }

    /// The sums of all rows.
    pub(crate) fn total(&self) -> Sums {
        self.rows.total()
    }

    /// The row of a number, counted from 0, each as often as it is there.
    pub(crate) fn select(&self, number: i64) -> Option<&Row> {
        self.rows.select(number)
    }

    /// Adds to the multiplicity of a row and to its weights; by how many bytes the partition grows.
    ///
    /// The last weight is 1 for the first row of each value in the order, if `leads`.
    fn add(&mut self, row: &Row, change: i64, weights: &[i128], leads: bool) -> isize {
        let known = if leads { self.rows.get(row) } else { 0 };
        let changed = match (known, known + change) {
            _ if !leads => self.rows.add(row, change, weights),
            (0, 0) => Change::Stayed,
            (0, _) => self.led(row, change, weights, 1),
            (_, 0) => self.led(row, change, weights, -1),
            _ => self.rows.add(row, change, weights),
        };
        let bytes = (row.bytes() + size_of_val(weights)) as isize;
        match changed {
            Change::Entered => bytes,
            Change::Stayed => 0,
            Change::Left => -bytes,
        }
    }

    /// The same of a row that enters (1) or leaves (-1): it may be the first of its value in the order in place of another.
    fn led(&mut self, row: &Row, change: i64, weights: &[i128], sign: i128) -> Change {
        let is_peer =
            |other: Option<(&Row, i64)>| other.is_some_and(|(other, _)| other.order == row.order);
        let leads = !is_peer(self.rows.backward(Excluded(row)).next());
        let next = self.rows.forward(Excluded(row)).next();
        let next = next
            .filter(|_| leads && is_peer(next))
            .map(|(next, _)| next.clone());
        let mut own = weights.to_vec();
        if let (Some(last), true) = (own.last_mut(), leads) {
            *last += sign;
        }
        let changed = self.rows.add(row, change, &own);
        if let Some(next) = next {
            own.fill(0);
            if let Some(last) = own.last_mut() {
                *last = -sign;
            }
            self.rows.add(&next, 0, &own);
        }
        changed
    }
}

/// Rows that change, all that leave before those that take their place, and by how much each does.
pub(crate) fn leaving_first<R>(changes: impl Iterator<Item = (R, i64)>) -> (Vec<R>, Vec<i64>) {
    let changes = changes.filter(|(_, change)| *change != 0);
    let (mut all, enter): (Vec<_>, Vec<_>) = changes.partition(|(_, change)| *change < 0);
    all.extend(enter);
    all.into_iter().unzip()
}

/// By how much rows of a partition have changed.
pub(crate) type Net<'k> = BTreeMap<&'k Row, Sums>;

/// A change of a row.
#[derive(Debug)]
pub(crate) struct Changed {
    pub(crate) key: PartitionKey,
    pub(crate) row: Row,
    pub(crate) change: i64,
    /// As often as the row changes.
    pub(crate) weights: Box<[i128]>,
}

/// Rows by partition, and the changes of the current transaction.
#[derive(Debug, Default)]
pub(crate) struct PartitionedRows {
    partitions: BTreeMap<PartitionKey, Partition>,
    journal: Vec<Changed>,
    /// Number of weights of a row.
    width: usize,
    /// Whether the last of them counts the different values in the order.
    leads: bool,
    /// Number of rows, each counted with its multiplicity.
    copies: i64,
    /// Number of distinct rows.
    rows: usize,
    bytes: usize,
    steps: u64,
}

impl PartitionedRows {
    /// Without rows, each of which will have so many weights, behind them one that counts the different values in the
    /// order, if `leads`.
    pub(crate) fn weighed(width: usize, leads: bool) -> Self {
        Self {
            width: width + usize::from(leads),
            leads,
            ..Self::default()
        }
    }

    /// Number of weights of a row.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The rows of a partition, if there are any.
    pub(crate) fn partition(&self, key: &[u8]) -> Option<&Partition> {
        self.partitions.get(key)
    }

    /// All partitions, in the order of their keys.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = &Partition> {
        self.partitions.values()
    }

    /// The same with their keys.
    pub(crate) fn keyed(&self) -> impl Iterator<Item = (&PartitionKey, &Partition)> {
        self.partitions.iter()
    }

    /// Some partitions from a place on, and the place behind them, if there are more.
    pub(crate) fn some(&self, place: u64) -> (Vec<&Partition>, Option<u64>) {
        let mut rows = 0;
        let from = usize::try_from(place).unwrap_or(usize::MAX);
        let some = self.partitions.values().skip(from).take_while(|partition| {
            let is_taken = rows < CHUNK;
            rows += partition.len();
            is_taken
        });
        let some: Vec<&Partition> = some.collect();
        let next = place + some.len() as u64;
        (some, (next < self.partitions.len() as u64).then_some(next))
    }

    /// Changes of the transaction so far.
    pub(crate) fn changes(&self) -> &[Changed] {
        &self.journal
    }

    /// By how much each row and its weights have changed so far, by partition.
    pub(crate) fn net(&self) -> BTreeMap<&PartitionKey, Net<'_>> {
        let mut net: BTreeMap<&PartitionKey, Net<'_>> = BTreeMap::new();
        for one in &self.journal {
            let rows = net.entry(&one.key).or_default();
            let sums = rows.entry(&one.row);
            let sums = sums.or_insert_with(|| Sums::none(self.width));
            sums.add(one.change, &one.weights);
        }
        for rows in net.values_mut() {
            rows.retain(|_, sums| sums.copies != 0);
        }
        net.retain(|_, rows| !rows.is_empty());
        net
    }

    /// Adds to the multiplicity of a row.
    pub(crate) fn change(&mut self, key: PartitionKey, row: Row, change: i64) {
        let weights = vec![0; self.width].into_boxed_slice();
        self.change_weighed(Changed {
            key,
            row,
            change,
            weights,
        });
    }

    /// The same with weights, that of the order left 0.
    pub(crate) fn change_weighed(&mut self, one: Changed) {
        self.add(&one, 1);
        self.journal.push(one);
    }

    fn add(&mut self, one: &Changed, sign: i64) {
        if one.change == 0 {
            return;
        }
        let partition = match self.partitions.get_mut(&one.key) {
            Some(partition) => partition,
            None => self.partitions.entry(one.key.clone()).or_insert(Partition {
                rows: Tree::new(self.width),
            }),
        };
        let (rows, steps) = (partition.len(), partition.rows.steps());
        let grown = match sign {
            1 => partition.add(&one.row, one.change, &one.weights, self.leads),
            _ => {
                let weights: Vec<i128> = one.weights.iter().map(|one| one.wrapping_neg()).collect();
                partition.add(&one.row, -one.change, &weights, self.leads)
            }
        };
        self.copies += sign * one.change;
        self.rows = self.rows + partition.len() - rows;
        self.steps += partition.rows.steps() - steps;
        self.bytes = self.bytes.saturating_add_signed(grown);
        if partition.is_empty() {
            self.partitions.remove(&one.key);
        }
    }

    /// Ends the transaction.
    pub(crate) fn commit(&mut self) {
        self.journal.clear();
    }

    /// Undoes it.
    pub(crate) fn rollback(&mut self) {
        for one in std::mem::take(&mut self.journal).into_iter().rev() {
            self.add(&one, -1);
        }
    }

    /// Number of rows, each counted with its multiplicity.
    pub(crate) fn copies(&self) -> u64 {
        u64::try_from(self.copies).unwrap_or(0)
    }

    /// Number of distinct rows.
    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// Nodes of search trees that changes have visited so far, and what their searches compared.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// Bytes that they take: a node of the search tree is two thirds full.
    pub(crate) fn memory_usage(&self) -> usize {
        self.bytes + self.bytes / 2
    }

    /// Checks the invariant between transactions.
    pub(crate) fn check(&self) {
        assert!(self.journal.is_empty(), "a transaction left changes behind");
        let all = || self.partitions.values();
        assert!(all().all(|one| !one.is_empty()), "an empty partition stays");
        let rows: usize = all().map(Partition::len).sum();
        assert_eq!(rows, self.rows, "different rows are miscounted");
        let rows = all().flat_map(|one| one.rows.forward(Unbounded));
        let weights = self.width * size_of::<i128>();
        let bytes: usize = rows.map(|(row, _)| row.bytes() + weights).sum();
        assert_eq!(bytes, self.bytes, "bytes are miscounted");
        let copies: i64 = all().map(|one| one.total().copies).sum();
        assert_eq!(copies, self.copies, "rows are miscounted");
        for one in all() {
            one.rows.check();
            if self.leads {
                let mut orders: Vec<&[u8]> = one
                    .rows
                    .forward(Unbounded)
                    .map(|(row, _)| &*row.order)
                    .collect();
                orders.dedup();
                let counted = one.total().weights.last().copied();
                assert_eq!(
                    counted,
                    Some(orders.len() as i128),
                    "values of the order are miscounted"
                );
            }
        }
    }
}
