//! The result of a view as Arrow: group columns from the keys, aggregates from the payloads.
//!
//! An aggregate without GROUP BY has one row, even over nothing. A sum over no value is NULL.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field as ArrowField, Schema as ArrowSchema, SchemaRef};
use ringview_core::{Dictionary, Error, Result, Type, decode};
use ringview_query::{Kind, OutputKind, Plan, PlanOutput};
use ringview_relation::Part;
use ringview_ring::{Element, Number, NumberKind, PayloadRing, SumProduct, SumProductShape};

use crate::fields::{Aspect, Fields};
use crate::overflow;
use crate::payloads::Aggregates;

/// Rows of a result: fields of the keys column by column, payloads row by row.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResultRows {
    pub(crate) rows: usize,
    pub(crate) columns: Vec<Vec<u64>>,
    pub(crate) payloads: Vec<u64>,
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
    pub(crate) fn all(part: &Part) -> Self {
        let mut all = Self::new(part.layout().fields());
        for slot in part.iter() {
            all.push(part, slot, part.payload(slot));
        }
        if part.layout().fields() == 0 && all.rows == 0 {
            all.payloads.resize(part.stride(), 0);
            all.rows = 1;
        }
        all
    }
}

/// How results of a plan are made into Arrow.
pub(crate) struct Assembler<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) fields: &'a Fields,
    pub(crate) aggregates: &'a dyn Aggregates,
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
            _ => self.aggregates.field(output),
        };
        ArrowSchema::new(self.plan.outputs.iter().map(field).collect::<Vec<_>>())
    }

    /// The rows as a record batch, with further columns behind.
    pub(crate) fn batch(
        &self,
        rows: &ResultRows,
        more: Vec<(ArrowField, ArrayRef)>,
    ) -> Result<RecordBatch> {
        let column = |output: &PlanOutput| match output.kind {
            OutputKind::Group { variable } => self.group(rows, variable, &output.ty),
            _ => self
                .aggregates
                .column(self.plan, rows, output, self.dictionary),
        };
        let mut arrays: Vec<ArrayRef> = self
            .plan
            .outputs
            .iter()
            .map(column)
            .collect::<Result<_>>()?;
        let mut fields: Vec<_> = self.schema().fields().iter().cloned().collect();
        for (field, array) in more {
            fields.push(Arc::new(field));
            arrays.push(array);
        }
        let schema: SchemaRef = Arc::new(ArrowSchema::new(fields));
        let options = RecordBatchOptions::new().with_row_count(Some(rows.rows));
        RecordBatch::try_new_with_options(schema, arrays, &options).map_err(|problem| {
            Error::Value {
                place: "the result of the view".to_owned(),
                problem: problem.to_string(),
            }
        })
    }

    fn group(&self, rows: &ResultRows, variable: usize, ty: &Type) -> Result<ArrayRef> {
        let root = &self.plan.tree.nodes[self.plan.tree.root];
        let (mut words, mut high, mut valid) = (&[][..], &[][..], None);
        for (column, id) in rows.columns.iter().zip(self.fields.of_all(&root.keys)) {
            let field = self.fields.field(id);
            if field.variable != variable {
                continue;
            }
            match field.aspect {
                Aspect::Word => words = column,
                Aspect::High => high = column,
                Aspect::Null => {
                    valid = Some(column.iter().map(|&null| null == 0).collect::<Vec<_>>());
                }
            }
        }
        decode(ty, words, high, valid.as_deref(), self.dictionary)
    }
}

/// How counts and sums are made into Arrow.
pub(crate) struct Numbers<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) shape: &'a SumProductShape,
    pub(crate) dictionary: &'a Dictionary,
}

impl Numbers<'_> {
    /// The column of a count, sum or average.
    pub(crate) fn column(&self, rows: &ResultRows, output: &PlanOutput) -> Result<ArrayRef> {
        match &output.kind {
            OutputKind::Count { component } => {
                let counts: Vec<u64> = self.integers(rows, *component).map(|n| n as u64).collect();
                decode(&output.ty, &counts, &[], None, self.dictionary)
            }
            OutputKind::Sum { terms, nonnull } => self.sum(rows, terms, *nonnull, output),
            OutputKind::Avg { terms, nonnull } => {
                let counts: Vec<i64> = self.integers(rows, *nonnull).collect();
                let valid: Vec<bool> = counts.iter().map(|&count| count != 0).collect();
                let mean = |(sum, count): (f64, &i64)| {
                    if *count == 0 {
                        0
                    } else {
                        (sum / *count as f64).to_bits()
                    }
                };
                let totals = self.totals(rows, terms, output)?;
                let means: Vec<u64> = totals.into_iter().zip(&counts).map(mean).collect();
                decode(&output.ty, &means, &[], Some(&valid), self.dictionary)
            }
            OutputKind::Group { .. } | OutputKind::Cofactor => {
                unreachable!("neither is made of sums of products")
            }
        }
    }

    fn element(&self, component: usize) -> Element {
        self.shape.elements()[component]
    }

    fn numbers<'r, N: Number>(
        &self,
        rows: &'r ResultRows,
        component: usize,
    ) -> impl Iterator<Item = N> + use<'r, N> {
        let (stride, word) = (SumProduct::stride(self.shape), self.element(component).word);
        rows.payloads
            .chunks_exact(stride)
            .map(move |payload| N::load(payload, word))
    }

    fn integers<'r>(
        &self,
        rows: &'r ResultRows,
        component: usize,
    ) -> impl Iterator<Item = i64> + use<'r> {
        self.numbers(rows, component)
    }

    /// The exact sum of the terms a row; or an overflow.
    fn exact<N: Number>(
        &self,
        rows: &ResultRows,
        terms: &[usize],
        output: &PlanOutput,
    ) -> Result<Vec<N>> {
        let mut sums = vec![N::ZERO; rows.rows];
        for &term in terms {
            for (sum, value) in sums.iter_mut().zip(self.numbers::<N>(rows, term)) {
                let Some(next) = sum.plus(value) else {
                    return Err(overflow(format!(
                        "the column {:?} of the result",
                        output.name
                    )));
                };
                *sum = next;
            }
        }
        Ok(sums)
    }

    fn sum(
        &self,
        rows: &ResultRows,
        terms: &[usize],
        nonnull: usize,
        output: &PlanOutput,
    ) -> Result<ArrayRef> {
        let valid: Vec<bool> = self
            .integers(rows, nonnull)
            .map(|count| count != 0)
            .collect();
        let (mut words, mut high) = (Vec::with_capacity(rows.rows), Vec::new());
        match self.kind(terms) {
            NumberKind::Integer => {
                words.extend(
                    self.exact::<i64>(rows, terms, output)?
                        .iter()
                        .map(|&n| n as u64),
                );
            }
            NumberKind::Real => {
                words.extend(
                    self.exact::<f64>(rows, terms, output)?
                        .iter()
                        .map(|n| n.to_bits()),
                );
            }
            NumberKind::Decimal => {
                const LIMIT: i128 = 10i128.pow(38);
                for sum in self.exact::<i128>(rows, terms, output)? {
                    if !(-LIMIT < sum && sum < LIMIT) {
                        return Err(overflow(format!(
                            "the column {:?} of the result",
                            output.name
                        )));
                    }
                    words.push(sum as u64);
                    high.push((sum >> 64) as u64);
                }
            }
        }
        decode(&output.ty, &words, &high, Some(&valid), self.dictionary)
    }

    /// The sums of the terms as doubles.
    fn totals(&self, rows: &ResultRows, terms: &[usize], output: &PlanOutput) -> Result<Vec<f64>> {
        Ok(match self.kind(terms) {
            NumberKind::Integer => self
                .exact::<i64>(rows, terms, output)?
                .iter()
                .map(|&n| n as f64)
                .collect(),
            NumberKind::Real => self.exact::<f64>(rows, terms, output)?,
            NumberKind::Decimal => {
                let root = self.plan.tree.root;
                let scale = match terms
                    .first()
                    .map(|&t| self.plan.payload.nodes[root][t].kind)
                {
                    Some(Kind::Decimal { scale }) => i32::from(scale),
                    _ => 0,
                };
                let unit = 10f64.powi(scale);
                self.exact::<i128>(rows, terms, output)?
                    .iter()
                    .map(|&n| n as f64 / unit)
                    .collect()
            }
        })
    }

    fn kind(&self, terms: &[usize]) -> NumberKind {
        terms
            .first()
            .map_or(NumberKind::Integer, |&term| self.element(term).kind)
    }
}
