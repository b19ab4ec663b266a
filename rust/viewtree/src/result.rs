//! The result of a view as Arrow: group columns from the keys, aggregates from the payloads.
//!
//! An aggregate without GROUP BY has one row, even over nothing. A sum over no value is NULL.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field as ArrowField, Schema as ArrowSchema, SchemaRef};
use ringview_core::{Dictionary, Error, Result};
use ringview_query::{OutputKind, Plan, PlanOutput};
use ringview_relation::Part;
use ringview_ring::SumProductShape;

use crate::cells::{Cells, retain};
use crate::companion::{Companion, SUMMARY, Summaries};
use crate::computed::Measures;
use crate::fields::Fields;

/// Rows of a result: fields of the keys column by column, payloads row by row, each with what the
/// companions say of its group behind it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResultRows {
    pub(crate) rows: usize,
    pub(crate) columns: Vec<Vec<u64>>,
    pub(crate) payloads: Vec<u64>,
}

/// Words of a payload of [`ResultRows`].
pub(crate) fn width(part: &Part, companions: &[Companion]) -> usize {
    part.stride() + SUMMARY * companions.len()
}

impl ResultRows {
    pub(crate) fn new(fields: usize) -> Self {
        Self {
            columns: vec![Vec::new(); fields],
            ..Self::default()
        }
    }

    /// Appends a row with the key at `slot` of a part, and a payload.
    pub(crate) fn push(&mut self, part: &Part, slot: u32, payload: &[u64]) {
        for (field, column) in self.columns.iter_mut().enumerate() {
            column.push(part.field(slot, field));
        }
        self.payloads.extend_from_slice(payload);
        self.rows += 1;
    }

    /// All rows of a part; of one without key fields its one row, zero if it has none.
    pub(crate) fn all(part: &Part, companions: &[Companion]) -> Self {
        let mut all = Self::new(part.layout().fields());
        for slot in part.iter() {
            all.push(part, slot, part.payload(slot));
        }
        if part.layout().fields() == 0 && all.rows == 0 {
            all.payloads.resize(part.stride(), 0);
            all.rows = 1;
        }
        if !companions.is_empty() {
            let summaries = Summaries::of(companions, &all.columns, all.rows);
            let sums = std::mem::take(&mut all.payloads);
            for (row, sums) in sums.chunks_exact(part.stride()).enumerate() {
                all.payloads.extend_from_slice(sums);
                all.payloads.extend_from_slice(summaries.row(row));
            }
        }
        all
    }

    /// Keeps some rows; a payload has `width` words.
    fn retain(&mut self, kept: &[bool], width: usize) {
        for column in &mut self.columns {
            retain(column, kept);
        }
        let payloads = std::mem::take(&mut self.payloads);
        for (payload, _) in payloads
            .chunks_exact(width)
            .zip(kept)
            .filter(|(_, kept)| **kept)
        {
            self.payloads.extend_from_slice(payload);
        }
        self.rows = kept.iter().filter(|kept| **kept).count();
    }
}

/// How results of a plan are made into Arrow.
pub(crate) struct Assembler<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) fields: &'a Fields,
    pub(crate) shape: &'a SumProductShape,
    /// Words of a payload.
    pub(crate) width: usize,
    pub(crate) dictionary: &'a Dictionary,
}

/// The Arrow schema of a view's result.
pub(crate) fn schema(plan: &Plan) -> ArrowSchema {
    let field = |output: &PlanOutput| {
        let nullable = match output.kind {
            OutputKind::Group { variable } => plan.variables[variable].nullable,
            OutputKind::Count { .. } | OutputKind::Distinct { .. } => false,
            OutputKind::Sum { .. }
            | OutputKind::Avg { .. }
            | OutputKind::Statistic { .. }
            | OutputKind::Extreme { .. }
            | OutputKind::Computed { .. } => true,
        };
        ArrowField::new(&output.name, output.ty.to_arrow(), nullable)
    };
    ArrowSchema::new(plan.outputs.iter().map(field).collect::<Vec<_>>())
}

impl Assembler<'_> {
    /// The rows as a record batch, without those that HAVING leaves out.
    pub(crate) fn batch(&self, mut rows: ResultRows) -> Result<RecordBatch> {
        if let Some(kept) = self.kept(&rows)? {
            rows.retain(&kept, self.width);
        }
        self.arrow(rows.rows, &self.outputs(&rows)?, None)
    }

    /// How many rows HAVING leaves.
    pub(crate) fn count(&self, rows: &ResultRows) -> Result<usize> {
        let kept = self.kept(rows)?;
        Ok(kept.map_or(rows.rows, |kept| kept.iter().filter(|kept| **kept).count()))
    }

    /// As `batch`, with a column of multiplicities behind. A row that leaves and comes right back, for
    /// what moved in its group cannot be seen, has not moved.
    pub(crate) fn changes(
        &self,
        mut rows: ResultRows,
        mut multiplicities: Vec<i64>,
    ) -> Result<RecordBatch> {
        if let Some(kept) = self.kept(&rows)? {
            rows.retain(&kept, self.width);
            retain(&mut multiplicities, &kept);
        }
        let mut outputs = self.outputs(&rows)?;
        let mut kept = vec![true; rows.rows];
        for row in 1..rows.rows {
            let pair = multiplicities[row - 1] == -1 && multiplicities[row] == 1;
            if pair && outputs.iter().all(|cells| cells.same(row - 1, row)) {
                (kept[row - 1], kept[row]) = (false, false);
            }
        }
        if kept.contains(&false) {
            outputs.iter_mut().for_each(|cells| cells.retain(&kept));
            retain(&mut multiplicities, &kept);
        }
        let column = Int64Array::from(multiplicities);
        self.arrow(column.len(), &outputs, Some(column))
    }

    fn arrow(
        &self,
        rows: usize,
        outputs: &[Cells],
        multiplicity: Option<Int64Array>,
    ) -> Result<RecordBatch> {
        let mut fields: Vec<_> = schema(self.plan).fields().iter().cloned().collect();
        let cells = outputs.iter().zip(&self.plan.outputs);
        let mut arrays: Vec<ArrayRef> = cells
            .map(|(cells, output)| cells.array(&output.ty, self.dictionary))
            .collect::<Result<_>>()?;
        if let Some(column) = multiplicity {
            let field = ArrowField::new("multiplicity", column.data_type().clone(), false);
            fields.push(Arc::new(field));
            arrays.push(Arc::new(column));
        }
        let schema: SchemaRef = Arc::new(ArrowSchema::new(fields));
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(schema, arrays, &options).map_err(|problem| {
            Error::Value {
                place: "the result of the view".to_owned(),
                problem: problem.to_string(),
            }
        })
    }

    /// Which rows HAVING keeps; `None` if there is none.
    fn kept(&self, rows: &ResultRows) -> Result<Option<Vec<bool>>> {
        let Some(having) = &self.plan.having else {
            return Ok(None);
        };
        let measures = self.measures(rows)?;
        let kept = (0..rows.rows).map(|row| Ok(measures.holds(having, row)? == Some(true)));
        kept.collect::<Result<_>>().map(Some)
    }

    fn measures(&self, rows: &ResultRows) -> Result<Measures<'_>> {
        let outputs = &self.plan.measures;
        let cells = outputs.iter().map(|output| self.column(rows, output));
        Ok(Measures {
            cells: cells.collect::<Result<_>>()?,
            outputs,
            dictionary: self.dictionary,
        })
    }

    fn outputs(&self, rows: &ResultRows) -> Result<Vec<Cells>> {
        let computed = |output: &PlanOutput| matches!(output.kind, OutputKind::Computed { .. });
        if !self.plan.outputs.iter().any(computed) {
            let outputs = self.plan.outputs.iter();
            return outputs.map(|output| self.column(rows, output)).collect();
        }
        let measures = self.measures(rows)?;
        let column = |output: &PlanOutput| match &output.kind {
            OutputKind::Computed { value } => {
                let values = (0..rows.rows).map(|row| measures.evaluate(&output.name, value, row));
                Ok(Cells::of_values(
                    &values.collect::<Result<Vec<_>>>()?,
                    &output.ty,
                ))
            }
            _ => self.column(rows, output),
        };
        self.plan.outputs.iter().map(column).collect()
    }
}
