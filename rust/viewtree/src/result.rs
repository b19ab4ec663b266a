//! The result of a view as Arrow: group columns from the keys, aggregates from the payloads.
//!
//! An aggregate without GROUP BY has one row, even over nothing. A sum over no value is NULL.

use std::borrow::Cow;
use std::sync::Arc;

use crate::plan::Plan;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field as ArrowField, Schema as ArrowSchema, SchemaRef};
use ringview_core::{Dictionary, Error, Result, Type};
use ringview_query::{OutputKind, PlanOutput, VarId};
use ringview_relation::Part;

use crate::beside::{Beside, Further};
use crate::categories::{self, Tallies};
use crate::cells::{Cells, retain};
use crate::cofactor::CofactorPayloads;
use crate::columns::Aggregates;
use crate::companion::SUMMARY;
use crate::computed::Measures;
use crate::tree::Tree;
use ringview_view::fields::{Aspect, Fields};

/// Rows of a result: fields of the keys column by column, payloads row by row, each with what stands
/// beside the tree behind it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResultRows {
    pub(crate) rows: usize,
    pub(crate) columns: Vec<Vec<u64>>,
    pub(crate) payloads: Vec<u64>,
    /// Words of a payload.
    pub(crate) width: usize,
    /// What the group has of each category, row by row; empty where no feature is categorical.
    pub(crate) tallies: Vec<Tallies>,
}

impl ResultRows {
    pub(crate) fn new(fields: usize, width: usize) -> Self {
        Self {
            columns: vec![Vec::new(); fields],
            width,
            ..Self::default()
        }
    }

    /// Appends a row with the key at `slot` of a part, a payload and tallies, if there are any.
    pub(crate) fn push(
        &mut self,
        part: &Part,
        slot: u32,
        payload: &[u64],
        tallies: Option<Tallies>,
    ) {
        self.tallies.extend(tallies);
        for (field, column) in self.columns.iter_mut().enumerate() {
            column.push(part.field(slot, field));
        }
        self.payloads.extend_from_slice(payload);
        self.rows += 1;
    }

    /// The rows at some slots of a part, with the fields of their keys as far as they are asked for.
    pub(crate) fn of_slots(part: &Part, slots: &[u32], fields: usize) -> Self {
        let mut rows = Self::new(fields, part.stride());
        for &slot in slots {
            rows.push(part, slot, part.payload(slot), None);
        }
        rows
    }

    /// The keys at some slots of a part alone.
    pub(crate) fn keys_at(part: &Part, slots: &[u32]) -> Self {
        let mut rows = Self::new(part.layout().fields(), 0);
        slots
            .iter()
            .for_each(|&slot| rows.push(part, slot, &[], None));
        rows
    }

    /// The same, whole, as they will be once the running transaction is kept; without tallies.
    pub(crate) fn settling(
        part: &Part,
        slots: &[u32],
        beside: &Beside,
        dictionary: &Dictionary,
    ) -> Self {
        let mut rows = Self::of_slots(part, slots, part.layout().fields());
        if beside.width() > 0 {
            let further = beside.settling(&rows.columns, rows.rows, dictionary);
            rows.append(part.stride(), &further);
        }
        rows
    }

    /// Puts what stands beside the tree behind each payload, of `stride` words.
    pub(crate) fn append(&mut self, stride: usize, further: &Further) {
        let sums = std::mem::take(&mut self.payloads);
        for (row, sums) in sums.chunks_exact(stride).enumerate() {
            self.payloads.extend_from_slice(sums);
            self.payloads.extend_from_slice(further.row(row));
        }
        self.width = stride + further.width();
    }

    /// All rows of a part; of one without key fields its one row, zero if it has none.
    pub(crate) fn all(part: &Part, beside: &Beside) -> Self {
        let slots: Vec<u32> = part.iter().collect();
        let mut all = Self::keyed(part, &slots, beside);
        if part.layout().fields() == 0 && all.rows == 0 {
            all.payloads.resize(all.width, 0);
            all.rows = 1;
            all.tallies = categories::tallies(&beside.tallied, &all.columns, all.rows);
            return all;
        }
        all.beside(part, beside)
    }

    /// The rows at some slots of a part.
    pub(crate) fn of(part: &Part, slots: &[u32], beside: &Beside) -> Self {
        Self::keyed(part, slots, beside).beside(part, beside)
    }

    fn keyed(part: &Part, slots: &[u32], beside: &Beside) -> Self {
        let mut rows = Self::new(part.layout().fields(), part.stride() + beside.width());
        for &slot in slots {
            rows.push(part, slot, part.payload(slot), None);
        }
        rows
    }

    /// The same with what stands beside the tree.
    fn beside(mut self, part: &Part, beside: &Beside) -> Self {
        self.tallies = categories::tallies(&beside.tallied, &self.columns, self.rows);
        if beside.width() > 0 {
            let further = beside.now(&self.columns, self.rows);
            self.append(part.stride(), &further);
        }
        self
    }

    /// Its rows so many times.
    pub(crate) fn repeated(&self, times: usize) -> Self {
        let mut all = self.clone();
        for (column, own) in all.columns.iter_mut().zip(&self.columns) {
            *column = own.repeat(times);
        }
        all.payloads = self.payloads.repeat(times);
        let tallies = std::iter::repeat_n(&self.tallies, times);
        all.tallies = tallies.flatten().cloned().collect();
        all.rows *= times;
        all
    }

    /// Keeps some rows.
    pub(crate) fn retain(&mut self, kept: &[bool]) {
        for column in &mut self.columns {
            retain(column, kept);
        }
        let payloads = std::mem::take(&mut self.payloads);
        for (payload, _) in payloads
            .chunks_exact(self.width.max(1))
            .zip(kept)
            .filter(|(_, kept)| **kept)
        {
            self.payloads.extend_from_slice(payload);
        }
        if !self.tallies.is_empty() {
            retain(&mut self.tallies, kept);
        }
        self.rows = kept.iter().filter(|kept| **kept).count();
    }
}

/// How results of a plan are made into Arrow.
pub(crate) struct Assembler<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) fields: &'a Fields,
    /// The variables that the columns of rows hold.
    pub(crate) keys: Cow<'a, [VarId]>,
    pub(crate) aggregates: &'a dyn Aggregates,
    /// Where the degree-m payloads are kept beside sums.
    pub(crate) matrix: Option<&'a Tree<CofactorPayloads>>,
    /// How many words of origins a row ends with.
    pub(crate) origins: usize,
    pub(crate) dictionary: &'a Dictionary,
}

impl Assembler<'_> {
    /// The Arrow schema of a view's result.
    pub(crate) fn schema(&self) -> ArrowSchema {
        let field = |output: &PlanOutput| match output.kind {
            OutputKind::Group { variable } => {
                let nullable = self.plan.variables[variable].nullable;
                ArrowField::new(&output.name, output.ty.to_arrow(), nullable)
            }
            OutputKind::Cofactor => match self.matrix {
                Some(matrix) => matrix.payloads.field(self.plan, output),
                None => self.aggregates.field(self.plan, output),
            },
            _ => self.aggregates.field(self.plan, output),
        };
        ArrowSchema::new(self.plan.outputs.iter().map(field).collect::<Vec<_>>())
    }

    /// The rows as a record batch, without those that HAVING leaves out.
    pub(crate) fn batch(&self, rows: ResultRows) -> Result<RecordBatch> {
        Ok(self.batch_and_kept(rows)?.0)
    }

    /// The same, and which rows they are, if there is a HAVING.
    pub(crate) fn batch_and_kept(
        &self,
        mut rows: ResultRows,
    ) -> Result<(RecordBatch, Option<Vec<bool>>)> {
        let kept = self.kept(&rows)?;
        if let Some(kept) = &kept {
            rows.retain(kept);
        }
        let batch = self.arrow(rows.rows, &self.outputs(&rows)?, None)?;
        Ok((batch, kept))
    }

    /// The columns of rows; `None` if HAVING leaves none.
    pub(crate) fn cells(&self, mut rows: ResultRows) -> Result<Option<Vec<Cells>>> {
        if let Some(kept) = self.kept(&rows)? {
            rows.retain(&kept);
        }
        (rows.rows > 0).then(|| self.outputs(&rows)).transpose()
    }

    /// Whether these outputs of the rows that HAVING keeps can be shown.
    pub(crate) fn check(&self, mut rows: ResultRows, outputs: &[usize]) -> Result<()> {
        if let Some(kept) = self.kept(&rows)? {
            rows.retain(&kept);
        }
        let mut measures = None;
        for output in outputs.iter().map(|&at| &self.plan.outputs[at]) {
            let OutputKind::Computed { value } = &output.kind else {
                self.column(&rows, output)?;
                continue;
            };
            let measures = match &mut measures {
                Some(measures) => measures,
                none => none.insert(self.measures(&rows)?),
            };
            for row in 0..rows.rows {
                measures.evaluate(&output.name, value, row)?;
            }
        }
        Ok(())
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
            rows.retain(&kept);
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
            rows.retain(&kept);
            retain(&mut multiplicities, &kept);
            outputs = self.outputs(&rows)?;
        }
        let column = Int64Array::from(multiplicities);
        self.arrow(column.len(), &outputs, Some(column))
    }

    /// Rows that are made, each with multiplicity 1.
    pub(crate) fn with_ones(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let ones = Int64Array::from(vec![1; rows.num_rows()]);
        self.arrays(rows.num_rows(), rows.columns().to_vec(), Some(ones))
    }

    fn arrow(
        &self,
        rows: usize,
        outputs: &[Cells],
        multiplicity: Option<Int64Array>,
    ) -> Result<RecordBatch> {
        let cells = outputs.iter().zip(&self.plan.outputs);
        let arrays = cells
            .map(|(cells, output)| cells.array(&output.ty, self.dictionary))
            .collect::<Result<_>>()?;
        self.arrays(rows, arrays, multiplicity)
    }

    fn arrays(
        &self,
        rows: usize,
        mut arrays: Vec<ArrayRef>,
        multiplicity: Option<Int64Array>,
    ) -> Result<RecordBatch> {
        let mut fields: Vec<_> = self.schema().fields().iter().cloned().collect();
        if let Some(column) = multiplicity {
            // Two columns of one name could not be told apart.
            let mut name = "multiplicity".to_owned();
            while fields.iter().any(|field| *field.name() == name) {
                name.push('_');
            }
            let field = ArrowField::new(name, column.data_type().clone(), false);
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
    pub(crate) fn kept(&self, rows: &ResultRows) -> Result<Option<Vec<bool>>> {
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
        self.columns(rows, self.plan.outputs.iter())
    }

    /// Some columns of rows.
    pub(crate) fn columns<'o>(
        &self,
        rows: &ResultRows,
        mut outputs: impl Iterator<Item = &'o PlanOutput> + Clone,
    ) -> Result<Vec<Cells>> {
        let computed = |output: &PlanOutput| matches!(output.kind, OutputKind::Computed { .. });
        if !outputs.clone().any(computed) {
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
        outputs.by_ref().map(column).collect()
    }

    /// A column that is not computed from others.
    fn column(&self, rows: &ResultRows, output: &PlanOutput) -> Result<Cells> {
        match &output.kind {
            OutputKind::Group { variable } => Ok(self.group(rows, *variable)),
            OutputKind::Extreme {
                companion,
                greatest,
            } => Ok(self.extreme(rows, *companion, *greatest, &output.ty)),
            OutputKind::Distinct { companion } => {
                let counts = self.summaries(rows, *companion).map(|summary| summary[0]);
                Ok(Cells::of_words(counts.collect()))
            }
            OutputKind::Computed { .. } => unreachable!("measures are not computed from others"),
            OutputKind::Cofactor => {
                let column = match self.matrix {
                    Some(matrix) => {
                        let rows = self.of_matrix(rows, matrix);
                        matrix.payloads.column(&matrix.plan, &rows, output)?
                    }
                    None => self.aggregates.column(self.plan, rows, output)?,
                };
                match (self.plan.features(), &column) {
                    (Some(plan), Cells::Array(numbers)) if !plan.categories.is_empty() => {
                        categories::column(plan, rows, numbers, self.dictionary).map(Cells::Array)
                    }
                    _ => Ok(column),
                }
            }
            _ => self.aggregates.column(self.plan, rows, output),
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

    /// Rows of the degree-m payloads alone.
    fn of_matrix(&self, rows: &ResultRows, matrix: &Tree<CofactorPayloads>) -> ResultRows {
        let width = matrix.result().map_or(0, Part::stride);
        let origins = self.origins;
        let ends = rows.width - origins;
        let start = ends - SUMMARY * self.plan.companions.len() - width;
        let payloads = rows.payloads.chunks_exact(rows.width);
        ResultRows {
            rows: rows.rows,
            payloads: payloads
                .flat_map(|payload| payload[start..][..width].iter().chain(&payload[ends..]))
                .copied()
                .collect(),
            width: width + origins,
            ..ResultRows::default()
        }
    }

    /// What a companion says of each row.
    fn summaries<'r>(
        &self,
        rows: &'r ResultRows,
        companion: usize,
    ) -> impl Iterator<Item = &'r [u64]> + use<'r> {
        let ends = rows.width - self.origins;
        let at = ends - SUMMARY * (self.plan.companions.len() - companion);
        let payloads = rows.payloads.chunks_exact(rows.width);
        payloads.map(move |payload| &payload[at..][..SUMMARY])
    }

    fn extreme(&self, rows: &ResultRows, companion: usize, greatest: bool, ty: &Type) -> Cells {
        let at = if greatest { 3 } else { 1 };
        let word = |at: usize| {
            let summaries = self.summaries(rows, companion);
            summaries.map(move |summary| summary[at]).collect()
        };
        let valid = self
            .summaries(rows, companion)
            .map(|summary| summary[0] != 0);
        Cells::Words {
            words: word(at),
            high: match ty {
                Type::Decimal { .. } => word(at + 1),
                _ => Vec::new(),
            },
            valid: Some(valid.collect()),
        }
    }
}
