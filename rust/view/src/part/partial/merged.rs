//! The sum of partials, behind the trait of all views.
//!
//! Groups are sums of products, those of a COFACTOR too: as sums of features and of their products, counted from
//! zero in numbers that have the digits for it, so that no order of parts is told from another. Values of
//! companions are a part by themselves, as an engine keeps them. Invariant: between transactions it is the
//! sum of all that was merged; rows of tables do not come to it. A part that has what another took away, a
//! negative count, is taken where deletes are trusted alone. Groups of a query with queries within are no
//! sums: they are taken whole. Cost: O(1) a group that is merged, O(log n) comparisons a value.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ringview_core::{
    Budget, Dictionary, Encoder, Error, FreedIds, HoldsStrings, LiveIds, Result, Schema, Type,
};
use ringview_explain::{Choice, Explanation};
use ringview_query::{
    Bound, Expr, Kind, OutputKind, PlanAtom, PlanOutput, Representation, Term, Variable,
};
use ringview_relation::KeyScratch;
use ringview_ring::Overflow;

use super::super::{GroupView, Grouped, Keeper, ListedView, PartRows, SumGroups};
use super::form::{Form, companions};
use super::values::Values;
use super::write::{write_groups, write_listed};
use crate::answer::values::{Tallies, Tally, When, by_row, no_tallies};
use crate::answer::weighed::row_columns;
use crate::answer::{Further, Member, Members};
use crate::rows::RowDelta;
use crate::view::View;

/// See the module.
#[derive(Debug)]
pub struct Merged {
    pub(super) groups: SumGroups,
    /// Of rows of a join there is none.
    pub(super) form: Option<Form>,
    pub(super) values: Vec<Values>,
    /// How many of them are not those of categories.
    summarized: usize,
    members: Members,
    /// How far the origins of features had moved in any part, and before the running transaction.
    pub(super) reach: Vec<f64>,
    reach_before: Vec<f64>,
    /// Of the columns of groups, or of rows with the name of their multiplicities.
    pub(super) encoder: Encoder,
    pub(super) multiplicity: Option<String>,
    pub(super) scratch: KeyScratch,
    pub(super) steps: u64,
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
    fn mark_strings(&self, held: &mut LiveIds) {
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

    fn forget_strings(&mut self, _gone: &FreedIds) {}
}

impl Keeper for Merged {
    fn apply(&mut self, rows: RowDelta<'_>, _meter: &Budget<'_>) -> Result<()> {
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
        reading: (&Dictionary, &Budget<'_>),
    ) -> Result<Vec<RecordBatch>> {
        if self.form.is_none() {
            return write_listed(self.grouped(), reading);
        }
        let values = self.values.iter().map(|own| own.sums.grouped());
        write_groups(query, self.grouped(), values.collect(), reading)
    }

    fn settle(&mut self, _dictionary: &Dictionary, _meter: &Budget<'_>) -> Result<()> {
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
