//! The sum of partials, behind the trait of all views.
//!
//! Groups are sums of products, those of a COFACTOR too: as sums of features and of their products, counted from
//! zero in numbers that have the digits for it, so that no order of parts is told from another. Values of
//! companions are a part by themselves, as an engine keeps them. Invariant: between transactions it is the
//! sum of all that was merged; rows of tables do not come to it. A part that has what another took away, a
//! negative count, is taken where deletes are trusted alone. Groups of a query with queries within are no
//! sums: they are taken whole. Cost: O(1) a group that is merged, O(log n) comparisons a value.

use std::any::Any;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use ringview_core::{
    Batch, Column, Dictionary, Encoder, Error, Gone, Held, HoldsStrings, Meter, Result, Schema,
    Type,
};
use ringview_explain::{Choice, Explanation};
use ringview_query::{
    Bound, Companion, Expr, Kind, OutputKind, PlanAtom, PlanOutput, Representation, Term, VarId,
    Variable,
};
use ringview_relation::{ABSENT, Delta, KeyScratch, Keys, Part, Spare};
use ringview_ring::{Expansion, Number, NumberKind, Overflow, PayloadRing, SumProduct};

use super::super::{GroupView, Grouped, Keeper, ListedView, PartRows, SumGroups};
use super::bytes::{In, refused};
use super::form::{Form, companions};
use super::write::{write_groups, write_listed};
use crate::answer::values::{GroupValues, Tallies, Tally, ValueSource, When, by_row, no_tallies};
use crate::answer::weighed::row_columns;
use crate::answer::{Further, Member, Members};
use crate::fields::Aspect;
use crate::rows::RowDelta;
use crate::view::View;

/// See the module.
#[derive(Debug)]
pub struct Merged {
    groups: SumGroups,
    /// Of rows of a join there is none.
    form: Option<Form>,
    values: Vec<Values>,
    /// How many of them are not those of categories.
    summarized: usize,
    members: Members,
    /// How far the origins of features had moved in any part, and before the running transaction.
    reach: Vec<f64>,
    reach_before: Vec<f64>,
    /// Of the columns of groups, or of rows with the name of their multiplicities.
    encoder: Encoder,
    multiplicity: Option<String>,
    scratch: KeyScratch,
    steps: u64,
}

/// The values of a companion by group.
#[derive(Debug)]
struct Values {
    sums: SumGroups,
    values: GroupValues,
    /// By field of the key: where it comes from.
    fields: Vec<From>,
}

/// Where a field of a key of values comes from.
#[derive(Clone, Copy, Debug)]
enum From {
    /// A field of the key of the group.
    Group(usize),
    /// A value.
    Value(usize, Aspect),
}

/// A change of some relations, on its way in.
#[derive(Debug)]
struct Change {
    groups: Delta,
    values: Vec<Delta>,
}

/// The view of a query that takes partials of it, with nothing merged so far; `shown` are its columns.
///
/// # Errors
/// `Type` for columns that no table could have.
pub fn merged_view(query: &Bound, shown: &SchemaRef) -> Result<Box<dyn View>> {
    Ok(match query.bag {
        None => Box::new(GroupView::new(Merged::groups(query)?)),
        Some(_) => {
            let rows = Merged::rows(query, shown)?;
            match query.distinct {
                true => Box::new(GroupView::new(rows)),
                false => Box::new(ListedView::new(rows)),
            }
        }
    })
}

/// What a view merges partials into, if it is one of these.
pub fn merged_in(view: &mut dyn View) -> Option<&mut Merged> {
    let view: &mut dyn Any = view;
    if view.is::<GroupView<Merged>>() {
        return view.downcast_mut().map(GroupView::<Merged>::keeper_mut);
    }
    view.downcast_mut().map(ListedView::<Merged>::keeper_mut)
}

impl Merged {
    fn groups(query: &Bound) -> Result<Self> {
        let form = Form::of(query)?;
        let groups = SumGroups::new(query.clone());
        let values: Vec<Values> = companions(query)
            .map(|one| Values::new(one, &groups))
            .collect();
        let mut members = groups.grouped().further.members().clone();
        for companion in &query.companions {
            let texts = companion.ordered && companion.values.iter().any(|v| v.ty == Type::Utf8);
            members.push(Member::Summary { texts });
        }
        if form.features > 0 {
            let features = form.features;
            members.push(Member::Origins { features });
        }
        Ok(Self {
            encoder: Encoder::new("a partial", &form.columns),
            multiplicity: None,
            reach: vec![0.0; form.features],
            reach_before: vec![0.0; form.features],
            summarized: query.companions.len(),
            groups,
            form: Some(form),
            values,
            members,
            scratch: KeyScratch::default(),
            steps: 0,
        })
    }

    /// Rows of a join: groups of all their columns, each with its count.
    fn rows(query: &Bound, shown: &SchemaRef) -> Result<Self> {
        let (columns, multiplicity) = row_columns(shown)?;
        let groups = SumGroups::new(of_rows(query, &columns)?);
        Ok(Self {
            members: groups.grouped().further.members().clone(),
            groups,
            form: None,
            values: Vec::new(),
            summarized: 0,
            reach: Vec::new(),
            reach_before: Vec::new(),
            encoder: Encoder::new("a partial", &columns),
            multiplicity: Some(multiplicity),
            scratch: KeyScratch::default(),
            steps: 0,
        })
    }

    /// Adds rows of a partial, the first of which is row `first` of it. `trusting` takes counts below 0.
    ///
    /// # Errors
    /// What the encoder refuses in names, types and values; `Value` for payloads that are none of this query, or
    /// not as they were written, and for counts below 0; `Unsupported` for a second part of a group that is
    /// taken whole; `Overflow`. The view must then be rolled back.
    pub fn merge(
        &mut self,
        rows: &RecordBatch,
        (first, trusting): (usize, bool),
        dictionary: &mut Dictionary,
    ) -> Result<()> {
        self.steps += rows.num_rows() as u64;
        let mut change = match &self.form {
            Some(_) => self.read_groups(rows, first, dictionary)?,
            None => self.read_rows(rows, first, dictionary)?,
        };
        if !trusting {
            let stride = SumProduct::stride(self.groups.groups.shape());
            check_counts(&change.groups, stride, first)?;
            for (values, delta) in self.values.iter().zip(&change.values) {
                let stride = SumProduct::stride(values.sums.groups.shape());
                check_counts(delta, stride, first)?;
            }
        }
        if self.groups.query.is_nested() {
            self.check_whole(&change.groups)?;
        }
        add(&mut self.groups, &mut change.groups, &mut self.scratch)?;
        for (values, delta) in self.values.iter_mut().zip(&mut change.values) {
            add(&mut values.sums, delta, &mut self.scratch)?;
        }
        Ok(())
    }

    /// Rows of a join with their multiplicities.
    fn read_rows(
        &mut self,
        rows: &RecordBatch,
        first: usize,
        dictionary: &mut Dictionary,
    ) -> Result<Change> {
        let mut batch = Batch::new();
        let needed = vec![true; self.groups.query.variables.len()];
        let multiplicity = self.multiplicity.as_deref();
        self.encoder
            .encode(rows, first, &needed, dictionary, multiplicity, &mut batch)?;
        let mut groups = self.keys_of(&batch, first)?;
        groups.width = SumProduct::stride(self.groups.groups.shape());
        let counts = (0..batch.rows).map(|row| batch.multiplicity(row) as u64);
        groups.payload = counts.collect();
        Ok(Change {
            groups,
            values: Vec::new(),
        })
    }

    fn read_groups(
        &mut self,
        rows: &RecordBatch,
        first: usize,
        dictionary: &mut Dictionary,
    ) -> Result<Change> {
        let Some(form) = self.form.take() else {
            unreachable!("groups have a form")
        };
        let read = self.read_form(&form, rows, first, dictionary);
        self.form = Some(form);
        read
    }

    fn read_form(
        &mut self,
        form: &Form,
        rows: &RecordBatch,
        first: usize,
        dictionary: &mut Dictionary,
    ) -> Result<Change> {
        let (columns, payloads) = apart(form, rows)?;
        let mut batch = Batch::new();
        let needed = vec![true; form.columns.len()];
        self.encoder
            .encode(&columns, first, &needed, dictionary, None, &mut batch)?;
        batch.rows = rows.num_rows();
        let mut change = Change {
            groups: self.keys_of(&batch, first)?,
            values: self.values.iter().map(Values::nothing).collect(),
        };
        change.groups.width = SumProduct::stride(self.groups.groups.shape());
        let (mut reach, mut values) = (Vec::new(), Vec::new());
        for row in 0..rows.num_rows() {
            let bytes = match payloads.is_null(row) {
                false => payloads.as_binary::<i32>().value(row),
                true => return Err(refused(first + row, "is NULL; every group has one")),
            };
            let mut from = In::new(bytes, form.mark, first + row)?;
            numbers(&form.numbers, &mut from, &mut change.groups.payload)?;
            reach.clear();
            from.words(form.features, &mut reach)?;
            for (most, &word) in self.reach.iter_mut().zip(&reach) {
                // No number is greater than none.
                *most = most.max(f64::from_bits(word).abs());
            }
            let each = self
                .values
                .iter()
                .zip(&form.companions)
                .zip(&mut change.values);
            for ((own, form), delta) in each {
                for _ in 0..from.count()? {
                    values.clear();
                    for ty in &form.values {
                        values.push(value(ty, &mut from, dictionary)?);
                    }
                    own.push(&change.groups, row, &values, delta);
                    numbers(&form.numbers, &mut from, &mut delta.payload)?;
                }
            }
            from.end()?;
        }
        Ok(change)
    }

    /// The keys of some groups, without payloads.
    fn keys_of(&self, batch: &Batch, first: usize) -> Result<Delta> {
        let query = &self.groups.query;
        let ids = self.groups.key_fields();
        let mut delta = Delta::with_registers(ids.len());
        let free = query.variables.iter().enumerate();
        let free: Vec<VarId> = free.filter(|(_, v)| v.free).map(|(id, _)| id).collect();
        for (column, id) in delta.columns.iter_mut().zip(ids) {
            let field = self.groups.fields.field(id);
            let at = free.iter().position(|&id| id == field.variable);
            let from = batch.column(at.unwrap_or_default());
            if query.variables[field.variable].ty.is_float() {
                no_nan(
                    from,
                    (batch.rows, first),
                    &query.variables[field.variable].name,
                )?;
            }
            column.extend((0..batch.rows).map(|row| match field.aspect {
                Aspect::Word => from.words[row],
                Aspect::High => from.high(row),
                Aspect::Null => u64::from(from.is_null(row)),
            }));
        }
        delta.rows = batch.rows;
        Ok(delta)
    }

    /// Whether no group that comes is there already, or comes twice.
    fn check_whole(&mut self, delta: &Delta) -> Result<()> {
        let part = self.groups.grouped().part;
        let stride = delta.width;
        let fields: Vec<usize> = (0..delta.columns.len()).collect();
        let mut slots = Vec::new();
        match fields.is_empty() {
            true => {
                let there = part.iter().next().unwrap_or(ABSENT);
                slots.resize(delta.rows, there);
            }
            false => {
                let keys = Keys {
                    columns: &delta.columns,
                    fields: &fields,
                    rows: delta.rows,
                };
                part.find(keys, &mut self.scratch, &mut slots);
            }
        }
        let mut come: HashSet<Vec<u64>> = HashSet::new();
        for (row, &slot) in slots.iter().enumerate() {
            if delta.payload[row * stride] == 0 {
                continue;
            }
            let key = delta.columns.iter().map(|column| column[row]).collect();
            let there = slot != ABSENT && part.payload(slot)[0] != 0;
            if there || !come.insert(key) {
                return Err(second_part(fields.is_empty()));
            }
        }
        Ok(())
    }
}

/// Refuses NaN in a column of groups.
fn no_nan(column: &Column, (rows, first): (usize, usize), name: &str) -> Result<()> {
    let nan = |&row: &usize| !column.is_null(row) && f64::from_bits(column.words[row]).is_nan();
    match (0..rows).find(nan) {
        None => Ok(()),
        Some(row) => Err(Error::NotANumber {
            table: "a partial".to_owned(),
            column: name.to_owned(),
            row: (first + row) as u64,
        }),
    }
}

fn second_part(single: bool) -> Error {
    let (what, instead) = match single {
        true => (
            "a second part of the only group of this view",
            "bring all rows to one part, or group by what tells the subqueries apart",
        ),
        false => (
            "a second part of a group of this view",
            "bring all rows of a group to one part",
        ),
    };
    Error::Unsupported {
        what: format!("merging {what}"),
        why: "its condition compares with subqueries, so the group is no sum of what its parts make of \
              it; nothing was merged"
            .to_owned(),
        instead: instead.to_owned(),
    }
}

/// Refuses counts below 0.
fn check_counts(delta: &Delta, stride: usize, first: usize) -> Result<()> {
    let mut counts = delta.payload.chunks_exact(stride);
    match counts.any(|payload| (payload[0] as i64) < 0) {
        false => Ok(()),
        true => Err(Error::Value {
            place: format!("a partial, from row {first} on"),
            problem: "has a count below 0: its part lost rows that it did not have; delete rows where they \
                      were inserted, or merge into Database(trust_deletes=True); nothing was merged"
                .to_owned(),
        }),
    }
}

/// Adds a change to a relation.
fn add(to: &mut SumGroups, delta: &mut Delta, scratch: &mut KeyScratch) -> Result<()> {
    let keys: Vec<usize> = (0..delta.columns.len()).collect();
    let added = to.groups.add(delta, &keys, scratch, &mut Spare::default());
    added.map_err(|fault| to.groups.refusal(fault))
}

/// The columns of groups, and payloads, whatever Arrow type of bytes they have.
fn apart(form: &Form, rows: &RecordBatch) -> Result<(RecordBatch, arrow_array::ArrayRef)> {
    let schema = rows.schema_ref();
    let at = schema.index_of(&form.payload).map_err(|_| Error::Value {
        place: format!("the column {:?} of a partial", form.payload),
        problem: "is missing; hand on partials with all their columns".to_owned(),
    })?;
    let column = rows.column(at);
    let payloads = match column.data_type() {
        DataType::Binary => Arc::clone(column),
        DataType::LargeBinary => Arc::new(binary(column.as_binary::<i64>().iter())),
        DataType::BinaryView => Arc::new(binary(column.as_binary_view().iter())),
        found => {
            return Err(Error::Type {
                place: format!("the column {:?} of a partial", form.payload),
                expected: "binary".to_owned(),
                found: found.to_string(),
            });
        }
    };
    let others: Vec<usize> = (0..schema.fields().len())
        .filter(|&other| other != at)
        .collect();
    let columns = rows.project(&others).map_err(|problem| Error::Value {
        place: "a partial".to_owned(),
        problem: problem.to_string(),
    })?;
    Ok((columns, payloads))
}

fn binary<'a>(values: impl Iterator<Item = Option<&'a [u8]>>) -> arrow_array::BinaryArray {
    values.collect()
}

/// Appends numbers of some kinds.
fn numbers(kinds: &[NumberKind], from: &mut In<'_>, out: &mut Vec<u64>) -> Result<()> {
    for kind in kinds {
        let at = out.len();
        from.words(kind.words(), out)?;
        if *kind == NumberKind::Real {
            let number = Expansion::load(out, at);
            let parts = out[at..].iter().map(|&word| f64::from_bits(word));
            if parts.clone().any(|part| !part.is_finite()) {
                return Err(from.refused("has a sum that is no number"));
            }
            // Whoever wrote it, its parts do not overlap.
            let whole = parts.fold(Expansion::default(), |sum, part| {
                sum.sum(Expansion::from(part))
            });
            debug_assert_eq!(whole.value(), number.value());
            whole.store(out, at);
        }
    }
    Ok(())
}

/// A value of a type, as its word and for decimals the upper half.
fn value(ty: &Type, from: &mut In<'_>, dictionary: &mut Dictionary) -> Result<(u64, u64)> {
    if *ty == Type::Utf8 {
        let text = from.text()?;
        return Ok((u64::from(dictionary.intern(text)?), 0));
    }
    let mut words = Vec::with_capacity(2);
    from.words(ty.bits().div_ceil(64) as usize, &mut words)?;
    let word = words[0];
    let fits = match ty {
        Type::Bool => word < 2,
        Type::Float32 | Type::Float64 => !f64::from_bits(word).is_nan(),
        Type::Date32 => i32::try_from(word as i64).is_ok(),
        _ => ty.integer_range().is_none_or(|(least, greatest)| {
            let value = if ty.is_signed() {
                i128::from(word as i64)
            } else {
                i128::from(word)
            };
            least <= value && value <= greatest
        }),
    };
    match fits {
        true => Ok((word, words.get(1).copied().unwrap_or_default())),
        false => Err(from.refused(&format!("has a value that is no {ty}"))),
    }
}

impl Values {
    fn new(companion: &Companion<Bound>, groups: &SumGroups) -> Self {
        let sums = SumGroups::new(companion.plan.clone());
        let (outer, own) = (groups.grouped(), sums.grouped());
        let source = ValueSource::new(
            companion,
            (outer.fields, outer.keys),
            (own.fields, own.keys),
            (
                |term| own.further.members().words(term),
                own.outputs.columns,
            ),
        );
        let ids = sums.key_fields();
        let from = |&id: &usize| {
            let field = sums.fields.field(id);
            let value = companion
                .values
                .iter()
                .position(|v| v.variable == field.variable);
            if let Some(value) = value {
                return From::Value(value, field.aspect);
            }
            let pair = companion
                .groups
                .iter()
                .find(|(_, inner)| *inner == field.variable);
            let at = pair.and_then(|(variable, _)| {
                let mut at = outer.fields.positions(outer.keys, *variable).into_iter();
                let all = outer.fields.of_all(outer.keys);
                at.find(|&at| outer.fields.field(all[at]).aspect == field.aspect)
            });
            From::Group(at.unwrap_or_default())
        };
        let values = GroupValues::new(source, own.part.layout());
        let fields = ids.iter().map(from).collect();
        Self {
            sums,
            values,
            fields,
        }
    }

    fn nothing(&self) -> Delta {
        let mut delta = Delta::with_registers(self.fields.len());
        delta.width = SumProduct::stride(self.sums.groups.shape());
        delta
    }

    /// Appends the key of a value of the group in a row.
    fn push(&self, groups: &Delta, row: usize, values: &[(u64, u64)], delta: &mut Delta) {
        for (from, column) in self.fields.iter().zip(&mut delta.columns) {
            column.push(match *from {
                From::Group(field) => groups.columns[field][row],
                From::Value(value, Aspect::Word) => values[value].0,
                From::Value(value, Aspect::High) => values[value].1,
                // A NULL is no value.
                From::Value(_, Aspect::Null) => 0,
            });
        }
        delta.rows += 1;
    }

    fn part(&self) -> &Part {
        self.sums.grouped().part
    }

    fn commit(&mut self, dictionary: &Dictionary) {
        let Some(root) = self.sums.groups.part() else {
            return;
        };
        self.values.absorb(root, dictionary);
        let moved = self.sums.groups.commit();
        self.values.follow(moved.as_ref());
    }
}

impl Grouped for Merged {
    fn grouped(&self) -> PartRows<'_> {
        PartRows {
            further: self,
            ..self.groups.grouped()
        }
    }
}

impl Further for Merged {
    fn members(&self) -> &Members {
        &self.members
    }

    fn fill(&self, keys: &[Vec<u64>], rows: &mut [u64], when: When<'_>) {
        let width = self.members.width();
        let count = rows.len() / width;
        let summarized = self.values[..self.summarized].iter();
        for (own, words) in summarized.zip(self.members.summaries()) {
            let summaries = own.values.summaries(own.part(), keys, count, when);
            for (row, summary) in rows.chunks_exact_mut(width).zip(summaries) {
                row[words.clone()].copy_from_slice(&summary);
            }
        }
        let origins = self.members.origins();
        if !origins.is_empty() {
            let zeros = std::iter::repeat_n(0, self.reach.len());
            let words = zeros.chain(self.reach.iter().map(|reach| reach.to_bits()));
            let words: Vec<u64> = words.collect();
            let rows = rows.chunks_exact_mut(width);
            rows.for_each(|row| row[origins.clone()].copy_from_slice(&words));
        }
    }

    fn tallies(&self, keys: &[Vec<u64>], rows: usize, when: When<'_>) -> Vec<Tallies> {
        let tallied = self.values[self.summarized..].iter();
        let tally =
            |own: &Values| -> Vec<Tally> { own.values.tallies(own.part(), keys, rows, when) };
        by_row(tallied.map(tally).collect(), rows)
    }

    fn no_tallies(&self) -> Option<Tallies> {
        no_tallies(self.values.len() - self.summarized)
    }
}

impl HoldsStrings for Merged {
    fn mark_strings(&self, held: &mut Held) {
        self.groups.grouped().mark_strings(held);
        let values = self.values.iter();
        values.for_each(|own| own.sums.grouped().mark_strings(held));
    }

    fn string_words(&self) -> usize {
        let values = self
            .values
            .iter()
            .map(|own| own.sums.grouped().string_words());
        self.groups.grouped().string_words() + values.sum::<usize>()
    }

    fn forget_strings(&mut self, _gone: &Gone) {}
}

impl Keeper for Merged {
    fn apply(&mut self, rows: RowDelta<'_>, _meter: &Meter<'_>) -> Result<()> {
        if rows.batch.rows == 0 {
            return Ok(());
        }
        Err(Error::Unsupported {
            what: "changing what a view reads into which partials were merged".to_owned(),
            why: "it holds sums of parts, and none of their rows, so nothing tells what the rows would join \
                  with"
                .to_owned(),
            instead: "change a database that has the rows, and merge its partial".to_owned(),
        })
    }

    fn partial(
        &self,
        query: &Bound,
        reading: (&Dictionary, &Meter<'_>),
    ) -> Result<Vec<RecordBatch>> {
        if self.form.is_none() {
            return write_listed(self.grouped(), reading);
        }
        let values = self.values.iter().map(|own| own.sums.grouped());
        write_groups(query, self.grouped(), values.collect(), reading)
    }

    fn settle(&mut self, _dictionary: &Dictionary, _meter: &Meter<'_>) -> Result<()> {
        let fault = Overflow { component: 0 };
        let sums = self.values.iter().map(|own| &own.sums.groups);
        let mut all = std::iter::once(&self.groups.groups).chain(sums);
        match all.find(|relation| !relation.fits()) {
            None => Ok(()),
            Some(relation) => Err(relation.refusal(fault)),
        }
    }

    fn commit(&mut self, dictionary: &Dictionary) {
        self.values
            .iter_mut()
            .for_each(|own| own.commit(dictionary));
        self.groups.groups.commit();
        self.reach_before.clone_from(&self.reach);
    }

    fn rollback(&mut self) {
        self.groups.groups.rollback();
        self.values
            .iter_mut()
            .for_each(|own| own.sums.groups.rollback());
        self.reach.clone_from(&self.reach_before);
    }

    fn explanation(&self) -> Explanation {
        Explanation {
            engine: Choice {
                name: "partials".to_owned(),
                because: "partials were merged into the view: it is their sum".to_owned(),
            },
            ..Explanation::default()
        }
    }

    fn memory_usage(&self) -> usize {
        let sums =
            |sums: &SumGroups| sums.groups.memory_usage() + sums.grouped().part.memory_usage();
        let values = self.values.iter();
        let values = values.map(|own| sums(&own.sums) + own.values.memory_usage());
        sums(&self.groups) + values.sum::<usize>()
    }

    fn steps(&self) -> u64 {
        self.steps
    }

    fn check(&self) {
        for own in &self.values {
            own.part().check();
            own.values.check(Some(own.part()));
        }
    }
}

/// The query whose groups are the rows that a query shows, each with its count.
fn of_rows(query: &Bound, columns: &Schema) -> Result<Bound> {
    let fields = columns.fields();
    let variable = |(at, field): (usize, &ringview_core::Field)| Variable {
        name: field.name.clone(),
        columns: vec![(0, at)],
        others: Vec::new(),
        ty: field.ty.clone(),
        nullable: field.nullable,
        free: true,
    };
    let output =
        |(variable, (field, shown)): (usize, (&ringview_core::Field, &PlanOutput))| PlanOutput {
            name: shown.name.clone(),
            ty: field.ty.clone(),
            kind: OutputKind::Group { variable },
        };
    let atom = PlanAtom {
        table: "a partial".to_owned(),
        alias: "a partial".to_owned(),
        filter: None,
        columns: (0..fields.len()).collect(),
        join_columns_not_null: Vec::new(),
        is_static: false,
        unique: None,
        schema: Arc::new(columns.clone()),
        rows: None,
    };
    let count = Term {
        kind: Kind::Int,
        coefficient: Expr::int(1),
        factors: BTreeMap::new(),
        not_null: BTreeMap::new(),
    };
    Ok(Bound {
        atoms: vec![atom],
        inner: Vec::new(),
        condition: None,
        variables: fields.iter().enumerate().map(variable).collect(),
        terms: vec![count],
        outputs: fields
            .iter()
            .zip(&query.outputs)
            .enumerate()
            .map(output)
            .collect(),
        measures: Vec::new(),
        having: None,
        bag: (!query.distinct).then_some(Representation::Listing),
        distinct: false,
        features: None,
        companions: Vec::new(),
        order: None,
        epsilons: Vec::new(),
    })
}
