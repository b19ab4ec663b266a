//! Relations: what one is, how it is put in order, how it is cut into batches.
//!
//! Invariant: the same seed gives the same rows in the same order on every machine. All columns are int32 and not
//! nullable; all features are uniform integers from 0 to 100. Everything is in memory before a clock starts.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Int32Array, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use serde::Serialize;

/// In which order the rows of each relation arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// By the keys, as the generators make them.
    Sorted,
    /// Each relation permuted.
    Shuffled,
}

/// Consecutive rows of one relation.
pub(crate) struct Slice {
    pub(crate) relation: usize,
    start: usize,
    rows: usize,
}

/// A table of integers, column by column.
pub(crate) struct Relation {
    pub(crate) name: &'static str,
    pub(crate) names: Vec<String>,
    pub(crate) columns: Vec<Vec<i32>>,
}

/// Output of a generator: the relations in the order in which the stream visits them.
pub(crate) struct Dataset {
    pub(crate) relations: Vec<Relation>,
    batches: Vec<RecordBatch>,
}

impl Dataset {
    pub(crate) fn new(mut relations: Vec<Relation>, order: Order) -> Self {
        if order == Order::Shuffled {
            let mut random = Random::new(0x5eed);
            relations
                .iter_mut()
                .for_each(|relation| relation.shuffle(&mut random));
        }
        let batches = relations.iter().map(Relation::to_arrow).collect();
        Self { relations, batches }
    }

    /// The whole relation as one batch.
    pub(crate) fn batch(&self, relation: usize) -> &RecordBatch {
        &self.batches[relation]
    }

    /// The batches of `size` rows, round robin over the `streamed` relations until all are exhausted.
    pub(crate) fn stream(&self, streamed: &[usize], size: usize) -> Vec<Slice> {
        let rows = |relation: usize| self.batches[relation].num_rows();
        let longest = streamed.iter().map(|&relation| rows(relation)).max();
        let rounds = (0..longest.unwrap_or(0)).step_by(size);
        let slices =
            rounds.flat_map(|start| streamed.iter().map(move |&relation| (relation, start)));
        slices
            .filter(|&(relation, start)| start < rows(relation))
            .map(|(relation, start)| Slice {
                relation,
                start,
                rows: size.min(rows(relation) - start),
            })
            .collect()
    }

    /// The rows of a slice; nothing is copied.
    pub(crate) fn cut(&self, slice: &Slice) -> RecordBatch {
        self.batches[slice.relation].slice(slice.start, slice.rows)
    }

    /// Writes every relation as raw little-endian int32, column after column, and `dataset.json` beside them, so that
    /// the Python side streams the very same rows.
    pub(crate) fn export(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let mut catalog = Vec::new();
        for relation in &self.relations {
            let mut file = io::BufWriter::new(fs::File::create(
                folder.join(format!("{}.i32", relation.name)),
            )?);
            for value in relation.columns.iter().flatten() {
                file.write_all(&value.to_le_bytes())?;
            }
            file.flush()?;
            let rows = relation.columns[0].len();
            catalog.push(Exported {
                name: relation.name,
                columns: &relation.names,
                rows,
            });
        }
        fs::write(
            folder.join("dataset.json"),
            serde_json::to_vec_pretty(&catalog)?,
        )
    }
}

#[derive(Serialize)]
struct Exported<'a> {
    name: &'a str,
    columns: &'a [String],
    rows: usize,
}

impl Relation {
    /// A relation with the given keys and `features` more columns of uniform integers, `prefix0`, `prefix1` and so on.
    pub(crate) fn new(
        name: &'static str,
        keys: &[&str],
        key_columns: Vec<Vec<i32>>,
        prefix: &str,
        features: usize,
        random: &mut Random,
    ) -> Self {
        let rows = key_columns[0].len();
        let mut names: Vec<String> = keys.iter().map(|&key| key.to_owned()).collect();
        names.extend((0..features).map(|i| format!("{prefix}{i}")));
        let mut columns = key_columns;
        columns.extend((0..features).map(|_| random.features(rows)));
        Self {
            name,
            names,
            columns,
        }
    }

    fn shuffle(&mut self, random: &mut Random) {
        let mut order: Vec<u32> = (0..self.columns[0].len() as u32).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, random.below(i as u64 + 1) as usize);
        }
        for column in &mut self.columns {
            *column = order.iter().map(|&row| column[row as usize]).collect();
        }
    }

    fn to_arrow(&self) -> RecordBatch {
        let fields: Vec<Field> = self
            .names
            .iter()
            .map(|name| Field::new(name, DataType::Int32, false))
            .collect();
        let columns = self
            .columns
            .iter()
            .map(|c| Arc::new(Int32Array::from(c.clone())) as ArrayRef)
            .collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).expect("columns of one length")
    }
}

/// The values of an int32 column of a batch made here.
pub(crate) fn values(batch: &RecordBatch, column: usize) -> &[i32] {
    let array: &PrimitiveArray<Int32Type> = batch
        .column(column)
        .as_any()
        .downcast_ref()
        .expect("an int32 column");
    array.values()
}

/// SplitMix64: small, fast, and the same everywhere.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform below `bound`, by the high half of a product.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    pub(crate) fn features(&mut self, rows: usize) -> Vec<i32> {
        (0..rows).map(|_| self.below(101) as i32).collect()
    }
}
