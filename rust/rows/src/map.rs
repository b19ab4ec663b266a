//! Projections and filters of the rows of each atom, and the union of what they compute.
//!
//! A map of rows is linear over Z-sets: the delta of the result is the map of the delta. So a block of this kind keeps
//! no rows. Invariant: between transactions nothing is pending. Cost: one pass of vector kernels a node of the
//! expressions over the rows that change.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat;
use ringview_core::{
    Budget, Dictionary, Error, FreedIds, HoldsStrings, LiveIds, Result, Schema, Type,
};
use ringview_explain::Explanation;
use ringview_expr::{Projection, Scalar};
use ringview_query::{Bound, Branch, PlanOutput, Predicate, Rows};
use ringview_view::answer::Cells;
use ringview_view::{Answer, Context, Delta, Key, RowDelta, View};

use crate::codec::{array, schema_of};
use crate::explained::described;
use crate::unnest;

/// A block that computes rows from rows and keeps none.
#[derive(Debug)]
pub struct RowMap {
    branches: Vec<Mapped>,
    schema: SchemaRef,
    explanation: Explanation,
    pending: Vec<Delta>,
    steps: u64,
}

/// Projection of the rows of one atom.
#[derive(Debug)]
struct Mapped {
    projection: Projection,
    /// By column of the result: the column of the projection; NULL where absent.
    columns: Vec<Option<usize>>,
    /// Columns of the projection that are lists, each of whose values makes a row.
    unnested: Vec<usize>,
    sign: i64,
    schema: Arc<Schema>,
}

impl RowMap {
    /// The map of a bound query.
    ///
    /// # Errors
    /// Those of its expressions; `Value` for a query of another kind.
    pub fn new(query: &Bound) -> Result<Self> {
        let Some(Rows::Map { branches, .. }) = &query.rows else {
            return Err(no_map());
        };
        let branches = branches.iter().zip(&query.atoms);
        Ok(Self {
            branches: branches
                .map(|(branch, atom)| Mapped::new(branch, &atom.schema, &query.outputs))
                .collect::<Result<_>>()?,
            schema: schema_of(query),
            explanation: described(query),
            pending: Vec::new(),
            steps: 0,
        })
    }

    /// Projection of a query over the rows of its inner block.
    pub(crate) fn above(query: &Bound, within: &Bound) -> Result<Self> {
        let Some(Rows::Computed { branch, .. }) = &query.rows else {
            return Err(no_map());
        };
        let schema = within.as_table(None)?.schema;
        Ok(Self {
            branches: vec![Mapped::new(branch, &schema, &query.outputs)?],
            schema: schema_of(query),
            explanation: Explanation::default(),
            pending: Vec::new(),
            steps: 0,
        })
    }

    /// Whether it leaves rows out.
    pub(crate) fn has_filter(&self) -> bool {
        let mut all = self.branches.iter();
        all.any(|one| one.projection.has_filter())
    }

    /// Whether there may be a row that it cannot compute.
    pub(crate) fn may_fail(&self) -> bool {
        let mut all = self.branches.iter().map(|one| &one.projection);
        all.any(|one| one.has_fallible_filter() || one.fallible().contains(&true))
    }

    /// Projection of rows of an atom, in the columns that are wanted. O(rows).
    ///
    /// # Errors
    /// Those of a row that cannot be computed.
    pub fn delta(&self, rows: RowDelta<'_>, wanted: &[bool]) -> Result<Delta> {
        let mapped = &self.branches[rows.atom];
        let batch = rows.batch;
        let inputs = mapped.projection.inputs().iter();
        let inputs = inputs.map(|&at| array(&rows, &mapped.schema, at));
        let inputs = inputs.collect::<Result<Vec<ArrayRef>>>()?;
        let multiplicity = |row| rows.sign * batch.multiplicity(row);
        let made = self.made(rows.atom, inputs, batch.rows, &multiplicity, wanted)?;
        let columns = made.columns.into_iter();
        Ok(Delta {
            columns: columns.map(|column| column.map(Cells::Array)).collect(),
            multiplicity: made.multiplicity,
        })
    }

    /// The columns that an atom's expressions read, by their places in its table, ascending.
    #[must_use]
    pub fn inputs(&self, atom: usize) -> &[usize] {
        self.branches[atom].projection.inputs()
    }

    /// Whether [`passed`](Self::passed) can take rows of an atom that were selected by this filter, that of the atom in its
    /// bound query.
    #[must_use]
    pub fn is_filtered_by(&self, atom: usize, filter: Option<&Predicate>) -> bool {
        let mapped = &self.branches[atom];
        mapped.unnested.is_empty() && (filter.is_some() || !mapped.projection.has_filter())
    }

    /// The columns of an atom's table that `passed` reads of rows, for the columns of the result that are wanted.
    #[must_use]
    pub fn read_of_passed(&self, atom: usize, wanted: &[bool]) -> Vec<bool> {
        let mapped = &self.branches[atom];
        let mut read = vec![false; mapped.schema.len()];
        let plain = (0..wanted.len()).filter(|&output| wanted[output]);
        let plain = plain.filter_map(|output| self.source_of(atom, output));
        plain.for_each(|column| read[column] = true);
        let projection = &mapped.projection;
        let marks = projection.read_by(&self.computed(atom, wanted));
        let inputs = projection.inputs().iter().zip(marks);
        inputs
            .filter(|(_, is_read)| *is_read)
            .for_each(|(&input, _)| read[input] = true);
        read
    }

    /// By column of an atom's projection, whether it is wanted and more than a column of the table.
    fn computed(&self, atom: usize, wanted: &[bool]) -> Vec<bool> {
        let mapped = &self.branches[atom];
        let mut computed = vec![false; mapped.projection.types().len()];
        for (output, place) in mapped.columns.iter().enumerate() {
            if let Some(place) = place.filter(|_| wanted[output]) {
                computed[place] |= self.source_of(atom, output).is_none();
            }
        }
        computed
    }

    /// The result of rows that have passed the atom's filter, as `delta` has it; columns of the table are not converted.
    ///
    /// # Errors
    /// As `delta`.
    pub fn passed(&self, rows: RowDelta<'_>, wanted: &[bool]) -> Result<Delta> {
        let (mapped, batch) = (&self.branches[rows.atom], rows.batch);
        let projection = &mapped.projection;
        let computed = self.computed(rows.atom, wanted);
        let mut found = Vec::new();
        if computed.contains(&true) {
            let inputs = projection
                .inputs()
                .iter()
                .zip(projection.read_by(&computed));
            let inputs = inputs.map(|(&at, is_read)| match is_read {
                true => array(&rows, &mapped.schema, at),
                false => {
                    let ty = mapped.schema.fields()[at].ty.to_arrow();
                    Ok(new_null_array(&ty, batch.rows))
                }
            });
            let inputs = inputs.collect::<Result<Vec<ArrayRef>>>()?;
            found = projection.compute(inputs, batch.rows, &computed)?;
        }
        let fields = self.schema.fields().iter().enumerate();
        let columns = fields.map(|(output, field)| {
            let cells = || match self.source_of(rows.atom, output) {
                Some(column) => {
                    let column = batch.column(column).clone();
                    Cells::Words {
                        words: column.words,
                        high: column.high,
                        valid: column.valid,
                    }
                }
                None => {
                    let found = mapped.columns[output].and_then(|place| found[place].clone());
                    let none = || new_null_array(field.data_type(), batch.rows);
                    Cells::Array(found.unwrap_or_else(none))
                }
            };
            wanted[output].then(cells)
        });
        let multiplicity = |row| mapped.sign * rows.sign * batch.multiplicity(row);
        Ok(Delta {
            columns: columns.collect(),
            multiplicity: (0..batch.rows).map(multiplicity).collect(),
        })
    }

    /// The column of the atom's table that a column of the result is, where each row shows its own value.
    #[must_use]
    pub fn source_of(&self, atom: usize, output: usize) -> Option<usize> {
        let mapped = &self.branches[atom];
        let place = mapped.columns[output].filter(|place| !mapped.unnested.contains(place))?;
        mapped.projection.input_of(place)
    }

    /// Projection of Arrow rows of an atom: the columns of the result, and the multiplicity of each row.
    ///
    /// `inputs` are the columns that are read; `multiplicity` gives the multiplicity of each row. O(rows).
    ///
    /// `inputs` are the columns that are read; `multiplicity` says how often each of the rows is there. O(rows).
    ///
    /// # Errors
    /// Those of a row that cannot be computed.
    pub fn of_arrays(
        &self,
        atom: usize,
        inputs: Vec<ArrayRef>,
        rows: usize,
        multiplicity: &dyn Fn(usize) -> i64,
    ) -> Result<(RecordBatch, Vec<i64>)> {
        let all = vec![true; self.schema.fields().len()];
        let made = self.made(atom, inputs, rows, multiplicity, &all)?;
        let options = RecordBatchOptions::new().with_row_count(Some(made.multiplicity.len()));
        let columns = made.columns.into_iter().flatten().collect();
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options);
        let batch = batch.map_err(|problem| Error::Value {
            place: "the rows of a block".to_owned(),
            problem: problem.to_string(),
        })?;
        Ok((batch, made.multiplicity))
    }

    /// The columns that are wanted, given those that an atom's expressions read.
    fn made(
        &self,
        atom: usize,
        inputs: Vec<ArrayRef>,
        rows: usize,
        multiplicity: &dyn Fn(usize) -> i64,
        wanted: &[bool],
    ) -> Result<Made> {
        let mapped = &self.branches[atom];
        let found = mapped.projection.evaluate(inputs, rows)?;
        let passes = |row: &usize| found.passes.as_ref().is_none_or(|mask| mask.value(*row));
        let passing = (0..rows).filter(passes);
        let multiplicity: Vec<i64> = passing.map(|row| mapped.sign * multiplicity(row)).collect();
        let mut made = found.columns;
        let multiplicity = unnest::unnested(&mut made, &mapped.unnested, multiplicity)?;
        let fields = self.schema.fields().iter().zip(&mapped.columns);
        let columns = fields.zip(wanted).map(|((field, place), &wanted)| {
            wanted.then(|| match place {
                Some(at) => Arc::clone(&made[*at]),
                None => new_null_array(field.data_type(), multiplicity.len()),
            })
        });
        Ok(Made {
            columns: columns.collect(),
            multiplicity,
        })
    }
}

fn no_map() -> Error {
    Error::Value {
        place: "a map of rows".to_owned(),
        problem: "the query is none".to_owned(),
    }
}

/// Rows that were computed.
struct Made {
    /// Absent where the column is not wanted.
    columns: Vec<Option<ArrayRef>>,
    multiplicity: Vec<i64>,
}

impl Mapped {
    fn new(branch: &Branch, schema: &Arc<Schema>, outputs: &[PlanOutput]) -> Result<Self> {
        let computed: Vec<&Scalar> = branch.computed().map(|(_, one)| one).collect();
        let projection = Projection::bind(branch.filter.as_ref(), &computed, schema)?;
        let is_unnested = |at: usize| branch.unnested.contains(&outputs[at].name);
        let types = branch.computed().map(|(at, _)| match &outputs[at].ty {
            of if is_unnested(at) => Type::List(Arc::new(of.clone())),
            of => of.clone(),
        });
        let lists = branch.computed().enumerate();
        let lists = lists
            .filter(|(_, (at, _))| is_unnested(*at))
            .map(|(place, _)| place);
        let unnested = lists.collect();
        let mut computed = 0..;
        let place = |column: &Option<Scalar>| column.as_ref().and_then(|_| computed.next());
        Ok(Self {
            projection: projection.widened(types.collect()),
            columns: branch.columns.iter().map(place).collect(),
            unnested,
            sign: if branch.minus { -1 } else { 1 },
            schema: Arc::clone(schema),
        })
    }
}

impl View for RowMap {
    fn apply(&mut self, rows: RowDelta<'_>, cx: &Context<'_, '_>) -> Result<()> {
        self.steps += rows.batch.rows as u64;
        let all = vec![true; self.schema.fields().len()];
        let delta = self.delta(rows, cx.wanted.unwrap_or(&all))?;
        if !delta.is_empty() {
            self.pending.push(delta);
        }
        Ok(())
    }

    fn prepare(&mut self, _cx: &Context<'_, '_>) -> Result<Delta> {
        concatenated(std::mem::take(&mut self.pending))
    }

    fn commit(&mut self, _dictionary: &Dictionary) {
        self.pending.clear();
    }

    fn rollback(&mut self) {
        self.pending.clear();
    }

    fn answer(&self) -> &dyn Answer {
        self
    }

    fn explanation(&self) -> Explanation {
        self.explanation.clone()
    }

    fn memory_usage(&self) -> usize {
        size_of::<Self>()
    }

    fn steps(&self) -> u64 {
        self.steps
    }

    fn check(&self) {
        assert!(self.pending.is_empty(), "a transaction left rows behind");
    }
}

/// Several deltas as one.
fn concatenated(mut deltas: Vec<Delta>) -> Result<Delta> {
    if deltas.len() <= 1 {
        return Ok(deltas.pop().unwrap_or_default());
    }
    let column = |at: usize| {
        let arrays = deltas.iter().map(|delta| match &delta.columns[at] {
            Some(Cells::Array(array)) => Some(&**array),
            _ => None,
        });
        let Some(arrays) = arrays.collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let whole = concat(&arrays).map_err(|problem| Error::Value {
            place: "the rows of a block".to_owned(),
            problem: problem.to_string(),
        })?;
        Ok(Some(Cells::Array(whole)))
    };
    Ok(Delta {
        columns: (0..deltas[0].columns.len())
            .map(column)
            .collect::<Result<_>>()?,
        multiplicity: deltas
            .iter()
            .flat_map(|delta| delta.multiplicity.iter().copied())
            .collect(),
    })
}

/// It keeps no strings.
impl HoldsStrings for RowMap {
    fn mark_strings(&self, _held: &mut LiveIds) {}

    fn string_words(&self) -> usize {
        0
    }

    fn forget_strings(&mut self, _gone: &FreedIds) {}
}

/// A reader of such a block reads its inputs, and maps them: see [`RowMap::delta`].
impl Answer for RowMap {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn len(&self, _dictionary: &Dictionary) -> Result<u64> {
        Err(not_stored())
    }

    fn rows(&self, _dictionary: &Dictionary, _budget: &Budget<'_>) -> Result<RecordBatch> {
        Err(not_stored())
    }

    fn rows_where(&self, _key: &Key<'_>, _dictionary: &Dictionary) -> Result<RecordBatch> {
        Err(not_stored())
    }
}

fn not_stored() -> Error {
    Error::Unsupported {
        what: "reading a block of computed rows".to_owned(),
        why: "its rows are kept nowhere".to_owned(),
        instead: "read the view that it belongs to".to_owned(),
    }
}
