//! Rows of keys and payloads as Arrow: group columns from the keys, all others from the payload fields.
//!
//! Invariant: rows that HAVING leaves out are in no column. An aggregate without GROUP BY has one row,
//! even over nothing; a sum over no value is NULL. Cost: O(rows) a column, or a node of an expression.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field as ArrowField, Schema as ArrowSchema};
use ringview_core::{Dictionary, Error, Result};
use ringview_expr::Projection;
use ringview_query::{Bound, OutputKind, PlanOutput, Results, VarId, Variable};

use super::cells::Cells;
use super::key::Cell;
use super::payload_layout::PayloadLayout;
use super::rows::ResultRows;
use crate::fields::{Aspect, Fields};

/// Outputs of a query.
#[derive(Clone, Copy, Debug)]
pub struct Outputs<'a> {
    /// Its variables.
    pub variables: &'a [Variable],
    /// The columns of the result.
    pub columns: &'a [PlanOutput],
    /// Inputs of `results`.
    pub measures: &'a [PlanOutput],
    /// Computed columns, and which groups are rows of the result; all where absent.
    pub results: Option<&'a Results>,
}

impl Outputs<'_> {
    /// Whether HAVING leaves groups out.
    #[must_use]
    pub fn has_having(&self) -> bool {
        let mut results = self.results.iter();
        results.any(|results| results.projection().has_filter())
    }
}

impl<'a> From<&'a Bound> for Outputs<'a> {
    fn from(query: &'a Bound) -> Self {
        Self {
            variables: &query.variables,
            columns: &query.outputs,
            measures: &query.measures,
            results: query.results.as_ref(),
        }
    }
}

/// Conversion of rows to Arrow.
#[derive(Clone, Debug)]
pub struct Assembler<'a> {
    /// The outputs.
    pub outputs: Outputs<'a>,
    /// The fields of the query's variables.
    pub fields: &'a Fields,
    /// The variables that the columns of rows hold.
    pub keys: Cow<'a, [VarId]>,
    /// The layout of the payloads of rows.
    pub payload_layout: &'a PayloadLayout,
    /// Holds the strings of the rows.
    pub dictionary: &'a Dictionary,
}

impl Assembler<'_> {
    /// The Arrow schema of a view's result.
    #[must_use]
    pub fn schema(&self) -> ArrowSchema {
        let Outputs {
            variables, columns, ..
        } = self.outputs;
        let field = |output: &PlanOutput| match output.kind {
            OutputKind::Group { variable } => {
                let nullable = variables[variable].nullable;
                ArrowField::new(&output.name, output.ty.to_arrow(), nullable)
            }
            _ => self.payload_layout.field(output, columns),
        };
        ArrowSchema::new(columns.iter().map(field).collect::<Vec<_>>())
    }

    /// The rows as a record batch, without those that HAVING leaves out.
    ///
    /// # Errors
    /// As `check`.
    pub fn batch(&self, rows: ResultRows) -> Result<RecordBatch> {
        Ok(self.batch_and_mask(rows)?.0)
    }

    /// The same, and which rows they are, if there is a HAVING.
    ///
    /// # Errors
    /// As `check`.
    pub fn batch_and_mask(&self, mut rows: ResultRows) -> Result<(RecordBatch, Option<Vec<bool>>)> {
        let mask = self.passing(&rows)?;
        if let Some(mask) = &mask {
            rows.retain(mask);
        }
        let batch = self.arrow(rows.rows, &self.shown(&rows)?)?;
        Ok((batch, mask))
    }

    /// The cells of one row, if its payload alone determines all of them. O(columns), and nothing else is allocated.
    ///
    /// # Errors
    /// As `check`.
    pub fn row(&self, payload: &[u64]) -> Option<Result<Vec<Cell>>> {
        if self.outputs.has_having() {
            return None;
        }
        let mut row = Vec::with_capacity(self.outputs.columns.len());
        for output in self.outputs.columns {
            match self.payload_layout.cell(payload, output)? {
                Ok(cell) => row.push(cell),
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok(row))
    }

    /// The columns of rows; `None` if HAVING leaves none.
    ///
    /// # Errors
    /// As `check`.
    pub fn cells(&self, mut rows: ResultRows) -> Result<Option<Vec<Cells>>> {
        if let Some(mask) = self.passing(&rows)? {
            rows.retain(&mask);
        }
        (rows.rows > 0).then(|| self.shown(&rows)).transpose()
    }

    /// Whether these outputs of the rows that HAVING keeps can be shown.
    ///
    /// # Errors
    /// `Overflow` where a sum of several terms, or what is computed from aggregates, does not fit.
    pub fn check(&self, mut rows: ResultRows, outputs: &[usize]) -> Result<()> {
        if let Some(mask) = self.passing(&rows)? {
            rows.retain(&mask);
        }
        let outputs = outputs.iter().map(|&at| &self.outputs.columns[at]);
        self.columns(&rows, outputs).map(drop)
    }

    /// Number of rows that HAVING keeps.
    ///
    /// # Errors
    /// As `check`.
    pub fn count(&self, rows: &ResultRows) -> Result<usize> {
        let mask = self.passing(rows)?;
        Ok(mask.map_or(rows.rows, |mask| mask.iter().filter(|mask| **mask).count()))
    }

    fn arrow(&self, rows: usize, outputs: &[Cells]) -> Result<RecordBatch> {
        let cells = outputs.iter().zip(self.outputs.columns);
        let arrays = cells
            .map(|(cells, output)| cells.array(&output.ty, self.dictionary))
            .collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::new(self.schema());
        RecordBatch::try_new_with_options(schema, arrays, &options).map_err(|problem| {
            Error::Value {
                place: "the result of the view".to_owned(),
                problem: problem.to_string(),
            }
        })
    }

    /// By row, whether HAVING keeps it; `None` if there is no HAVING.
    ///
    /// # Errors
    /// As `check`.
    pub fn passing(&self, rows: &ResultRows) -> Result<Option<Vec<bool>>> {
        let results = self.outputs.results.map(Results::projection);
        let Some(results) = results.filter(|results| results.has_filter()) else {
            return Ok(None);
        };
        let found = results.passes(&self.measures(rows, results)?)?;
        Ok(found.map(|found| found.values().iter().collect()))
    }

    /// The measures of rows that some expressions read.
    fn measures(&self, rows: &ResultRows, results: &Projection) -> Result<RecordBatch> {
        let array = |&at: &usize| {
            let output = &self.outputs.measures[at];
            self.column(rows, output)?
                .array(&output.ty, self.dictionary)
        };
        let arrays = results.inputs().iter().map(array).collect::<Result<_>>()?;
        results.batch(arrays, rows.rows)
    }

    fn shown(&self, rows: &ResultRows) -> Result<Vec<Cells>> {
        self.columns(rows, self.outputs.columns.iter())
    }

    /// Some columns of rows.
    ///
    /// # Errors
    /// As `check`.
    pub fn columns<'o>(
        &self,
        rows: &ResultRows,
        outputs: impl Iterator<Item = &'o PlanOutput>,
    ) -> Result<Vec<Cells>> {
        let mut measures = None;
        let column = |output: &PlanOutput| {
            let (OutputKind::Computed { column }, Some(results)) =
                (&output.kind, self.outputs.results)
            else {
                return self.column(rows, output);
            };
            let results = results.projection();
            let measures = match &mut measures {
                Some(measures) => measures,
                none => none.insert(self.measures(rows, results)?),
            };
            results.column(*column, measures).map(Cells::Array)
        };
        outputs.map(column).collect()
    }

    /// A column that is not computed from others.
    fn column(&self, rows: &ResultRows, output: &PlanOutput) -> Result<Cells> {
        match &output.kind {
            OutputKind::Group { variable } => Ok(self.group(rows, *variable)),
            _ => self.payload_layout.column(rows, output, self.dictionary),
        }
    }

    fn group(&self, rows: &ResultRows, variable: usize) -> Cells {
        let (mut words, mut high, mut valid) = (Vec::new(), Vec::new(), None);
        for (column, id) in rows.columns.iter().zip(self.fields.of_all(&self.keys)) {
            let field = self.fields.field(id);
            if field.variable != variable {
                continue;
            }
            match field.aspect {
                Aspect::Word => words.clone_from(column),
                Aspect::High => high.clone_from(column),
                Aspect::Null => {
                    valid = Some(column.iter().map(|&null| null == 0).collect::<Vec<_>>())
                }
            }
        }
        Cells::Words { words, high, valid }
    }
}
