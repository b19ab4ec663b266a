//! The change of a view's result by one transaction: a Z-set of rows.
//!
//! Invariant: applied to the result before the transaction it gives the result behind it. Rows of deleted groups have
//! multiplicity -1, those of inserted ones 1, and the old row of a key precedes its new one; a row of a join has the
//! change of its multiplicity. A column that was not requested is absent. Cost: O(rows) for each requested column.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field as ArrowField, Schema as ArrowSchema};
use ringview_core::{
    Batch, Budget, Column, Dictionary, Encoder, Error, Field, Result, Schema, Type,
};
use ringview_query::{OutputKind, PlanOutput};

use crate::answer::Cells;

/// Context of a transaction, passed to a view with each call.
#[derive(Clone, Copy, Debug)]
pub struct Context<'c, 'm> {
    /// Holds all strings of the rows.
    pub dictionary: &'c Dictionary,
    /// Cancellation, and the budget of memory and work.
    pub budget: &'c Budget<'m>,
    /// By output of the query, whether its column is wanted in the delta; `None` where no delta is. The same for all
    /// calls of a transaction.
    pub wanted: Option<&'c [bool]>,
}

/// Rows with multiplicities, column by column.
#[derive(Clone, Debug, Default)]
pub struct Delta {
    /// By output of the query; `None` where nobody wants it.
    pub columns: Vec<Option<Cells>>,
    /// By row.
    pub multiplicity: Vec<i64>,
}

impl Delta {
    /// Rows of an answer, each once, in the columns that are wanted.
    #[must_use]
    pub fn each_once(rows: &RecordBatch, wanted: &[bool]) -> Self {
        let columns = rows.columns().iter().zip(wanted);
        let column =
            |(array, &wanted): (&ArrayRef, &bool)| wanted.then(|| Cells::Array(Arc::clone(array)));
        Self {
            columns: columns.map(column).collect(),
            multiplicity: vec![1; rows.num_rows()],
        }
    }

    /// The number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.multiplicity.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.multiplicity.is_empty()
    }

    /// The same as rows of a table, for views that read this one: in the columns that a table could have, those
    /// that are `needed`. Strings that are computed become ids of the dictionary.
    ///
    /// # Errors
    /// `Overflow` for more strings than the dictionary can hold.
    pub fn encode(
        &self,
        outputs: &[PlanOutput],
        needed: &[bool],
        dictionary: &mut Dictionary,
    ) -> Result<Batch> {
        let all = self.columns.iter().zip(outputs).zip(needed);
        let mut columns = Vec::with_capacity(outputs.len());
        for ((cells, output), needed) in all.filter(|((_, output), _)| is_readable(output)) {
            let cells = cells.as_ref().filter(|_| *needed);
            let column = cells.map(|cells| encoded(cells, output, dictionary));
            columns.push(column.transpose()?);
        }
        Ok(Batch {
            rows: self.rows(),
            columns,
            multiplicity: Some(self.multiplicity.clone()),
        })
    }

    /// The columns as Arrow; all of them must be there.
    ///
    /// # Errors
    /// What Arrow cannot hold.
    pub fn arrays(&self, outputs: &[PlanOutput], dictionary: &Dictionary) -> Result<Vec<ArrayRef>> {
        let cells = self.columns.iter().flatten().zip(outputs);
        cells
            .map(|(cells, output)| cells.array(&output.ty, dictionary))
            .collect()
    }
}

/// Whether the column of an output can be a column of a table.
#[must_use]
pub fn is_readable(output: &PlanOutput) -> bool {
    output.kind != OutputKind::Cofactor
}

/// A column of a result as a column of a table: NULLs are 0, floats canonical, strings known.
fn encoded(cells: &Cells, output: &PlanOutput, dictionary: &mut Dictionary) -> Result<Column> {
    let (mut words, mut high, valid) = match cells {
        Cells::Words { words, high, valid } => (words.clone(), high.clone(), valid.clone()),
        Cells::Texts(texts) => {
            let word = |text: &Option<String>| match text {
                Some(text) => dictionary.intern(text).map(u64::from),
                None => Ok(0),
            };
            let words = texts.iter().map(word).collect::<Result<Vec<u64>>>()?;
            (
                words,
                Vec::new(),
                Some(texts.iter().map(Option::is_some).collect()),
            )
        }
        Cells::Array(array) => return encoded_array(array, output, dictionary),
    };
    if output.ty.is_float() {
        for word in &mut words {
            let value = f64::from_bits(*word);
            // Adding 0.0 turns -0.0 into 0.0 and changes nothing else.
            let value = if value.is_nan() {
                f64::NAN
            } else {
                value + 0.0
            };
            *word = value.to_bits();
        }
    }
    let valid = valid.filter(|valid| valid.contains(&false));
    let nulls = valid
        .iter()
        .flatten()
        .enumerate()
        .filter(|(_, valid)| !**valid);
    for (row, _) in nulls {
        words[row] = 0;
        if let Some(high) = high.get_mut(row) {
            *high = 0;
        }
    }
    Ok(Column { words, high, valid })
}

fn encoded_array(
    array: &ArrayRef,
    output: &PlanOutput,
    dictionary: &mut Dictionary,
) -> Result<Column> {
    let (place, name) = ("the rows of a view", "column");
    let ty = Type::from_arrow(array.data_type())?;
    let field = ArrowField::new(name, array.data_type().clone(), true);
    let rows = RecordBatch::try_new(
        Arc::new(ArrowSchema::new(vec![field])),
        vec![Arc::clone(array)],
    );
    let rows = rows.map_err(|problem| Error::Value {
        place: format!("column {:?} of {place}", output.name),
        problem: problem.to_string(),
    })?;
    let schema = Schema::new(vec![Field::new(name, ty, true)])?;
    let mut batch = Batch::new();
    Encoder::new(place, &schema).encode(&rows, 0, &[true], dictionary, None, &mut batch)?;
    Ok(batch.columns.pop().flatten().unwrap_or_default())
}
