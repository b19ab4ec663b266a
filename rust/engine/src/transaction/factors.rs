//! A change that is a product of factors: rows over some columns of a table each.
//!
//! Invariant: every column of the table is in exactly one factor. Each factor is encoded as the rows
//! of a table with its columns alone, so names, types and NULLs are checked as they are there.
//! Cost: that of encoding the rows of the factors; base rows, where they are kept, take all rows of the product,
//! and views what they make of the factors.

use ringview_core::{Batch, Budget, Column, Dictionary, Encoder, Error, Field, Result, Schema};
use ringview_view::{FactorRows, ProductDelta};

use super::deliver::{ALONE, deliver};
use crate::CHUNK;
use crate::op::{Direction, Product, ProductFactor};
use crate::state::State;
use crate::storage::keys::columns_of;
use crate::storage::table::Table;
use crate::undo::Undo;

impl State {
    /// A product: multiplied out for the base rows alone, a chunk at a time; the views take the
    /// factors.
    pub(crate) fn run_product(
        &mut self,
        (index, product): (usize, &Product<'_>),
        undo: &mut Undo,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let table = &self.storage.tables[index];
        let factors = encode(table, product.factors, &mut self.storage.dictionary)?;
        let own = factors.iter().map(|factor| factor.batch.rows).sum();
        self.note(product.direction == Direction::Insert, 0, undo, budget);
        self.done(own, budget)?;
        if factors.iter().any(|factor| factor.batch.rows == 0) {
            return Ok(());
        }
        let sign = product.direction.sign();
        let table = &mut self.storage.tables[index];
        undo.words_left += table.texts * factors.iter().map(|f| f.batch.rows).sum::<usize>();
        match &mut table.rows {
            Some(rows) => {
                let all = FactorRows::product_rows(&factors)?;
                for start in (0..all).step_by(CHUNK) {
                    let rows_now = CHUNK.min(all - start);
                    let batch = FactorRows::multiplied_out(&factors, start, rows_now)?;
                    match product.direction {
                        Direction::Insert => rows.insert(&batch, &self.storage.dictionary)?,
                        Direction::Delete => rows.delete(&batch, &self.storage.dictionary)?,
                    }
                    if let Some(aged) = &mut table.retention {
                        aged.apply(&batch, sign);
                    }
                    budget.done(0)?;
                }
            }
            None => {
                undo.totals.push((index, table.total));
                let counts = factors.iter().map(|factor| Table::count(&factor.batch));
                let change = counts.fold(sign, i64::saturating_mul);
                table.total = table.total.saturating_add(change);
            }
        }
        let dictionary = &self.storage.dictionary;
        let views = (&mut self.graph.nodes[..], &table.readers[..]);
        deliver(
            views,
            (&self.workers, own),
            undo,
            budget,
            ALONE,
            |view, atom, budget| {
                let product = ProductDelta {
                    atom,
                    factors: &factors,
                    sign,
                    dictionary,
                };
                view.apply_product(product, budget)?;
                budget.done(0)
            },
        )?;
        self.done(0, budget)
    }
}

/// Encodes factors, which must share the columns of the table out among them.
pub(crate) fn encode(
    table: &Table,
    factors: &[ProductFactor<'_>],
    dictionary: &mut Dictionary,
) -> Result<Vec<FactorRows>> {
    let wrong = |column: &str, problem: &str| Error::Value {
        place: format!("column {column:?} of table {:?}", table.name),
        problem: problem.to_owned(),
    };
    let mut owned = vec![false; table.schema.len()];
    let mut columns = Vec::with_capacity(factors.len());
    for factor in factors {
        let own = match factor.rows.first() {
            Some(batch) => columns_of(
                (&table.name, &table.schema),
                &batch.schema(),
                factor.multiplicity,
            )?,
            None => Vec::new(),
        };
        if own.is_empty() && factor.rows.iter().any(|batch| batch.num_rows() > 0) {
            return Err(Error::Value {
                place: format!("a factor of a change of table {:?}", table.name),
                problem: "it has no column of the table; each factor holds one or more".to_owned(),
            });
        }
        for &column in &own {
            if std::mem::replace(&mut owned[column], true) {
                let name = &table.schema.fields()[column].name;
                return Err(wrong(name, "is in two factors; each column belongs to one"));
            }
        }
        columns.push(own);
    }
    // Without columns and rows, a factor says nothing of what it might hold.
    let silent = columns.iter().any(Vec::is_empty);
    if let Some(missing) = owned.iter().position(|owned| !owned && !silent) {
        let name = &table.schema.fields()[missing].name;
        let problem = "is in no factor; the factors must hold every column of the table";
        return Err(wrong(name, problem));
    }
    let pairs = factors.iter().zip(columns);
    pairs
        .map(|(factor, columns)| encode_one(table, factor, columns, dictionary))
        .collect()
}

fn encode_one(
    table: &Table,
    factor: &ProductFactor<'_>,
    columns: Vec<usize>,
    dictionary: &mut Dictionary,
) -> Result<FactorRows> {
    if columns.is_empty() {
        let batch = Batch {
            columns: vec![None; table.schema.len()],
            ..Batch::new()
        };
        return Ok(FactorRows { columns, batch });
    }
    let fields: Vec<Field> = columns
        .iter()
        .map(|&column| table.schema.fields()[column].clone())
        .collect();
    let mut encoder = Encoder::new(&table.name, &Schema::new(fields)?);
    let needed: Vec<bool> = columns.iter().map(|&column| table.needed[column]).collect();
    let (mut all, mut batch) = (Batch::new(), Batch::new());
    all.reset(&needed);
    for rows in factor.rows {
        let before = all.rows;
        encoder.encode(
            rows,
            before,
            &needed,
            dictionary,
            factor.multiplicity,
            &mut batch,
        )?;
        all.append(&batch);
    }
    let mut placed: Vec<Option<Column>> = vec![None; table.schema.len()];
    for (&column, values) in columns.iter().zip(all.columns) {
        placed[column] = values;
    }
    Ok(FactorRows {
        columns,
        batch: Batch {
            rows: all.rows,
            columns: placed,
            multiplicity: all.multiplicity,
        },
    })
}
