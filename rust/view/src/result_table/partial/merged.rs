//! The sum of partials, behind the trait of all views.
//!
//! Groups are sums of products, those of a COFACTOR too: as sums of features and of their products, counted from zero
//! in numbers that have the digits for it, so that the order of parts makes no difference. Values of companions are a
//! part by themselves, as an engine keeps them. Invariant: between transactions it is the sum of all that was merged;
//! it takes no rows of tables. A part that has what another took away, a negative count, is taken where deletes are
//! trusted alone. Groups of a query with queries within are no sums: they are taken whole. Cost: O(1) a group that is
//! merged, O(log n) comparisons a value.

use std::any::Any;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use ringview_core::{Budget, Dictionary, Encoder, FreedIds, HoldsStrings, LiveIds, Result, Schema};
use ringview_explain::{Choice, Explanation};
use ringview_query::{Bound, OutputKind, PlanAtom, PlanOutput, Representation, Term, Variable};
use ringview_relation::{KeyScratch, Relocated};

use super::super::{
    Auxiliaries, Auxiliary, Grouped, Maintainer, MaintainerView, ResultTable, SumGroups,
};
use super::layout::{PartialLayout, companions};
use super::values::ValueKeys;
use crate::answer::values::{Tallies, When};
use crate::answer::weighed::row_columns;
use crate::answer::{AuxiliaryPayload, PayloadField, PayloadLayout};
use crate::rows::RowDelta;
use crate::view::View;

/// See the module.
#[derive(Debug)]
pub struct Merged {
    pub(super) groups: SumGroups,
    /// Of rows of a join there is none.
    pub(super) layout: Option<PartialLayout>,
    pub(super) values: Auxiliaries<SumGroups>,
    /// By companion: how its keys are made.
    pub(super) keys: Vec<ValueKeys>,
    payload_layout: PayloadLayout,
    /// Distance that the origins of features had moved in any part, and before the running transaction.
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
    let merged = match query.bag {
        None => Merged::groups(query)?,
        Some(_) => Merged::rows(query, shown)?,
    };
    Ok(Box::new(MaintainerView::of(query, merged)))
}

/// The view's target for merging partials, if it is one of these.
pub fn merged_in(view: &mut dyn View) -> Option<&mut Merged> {
    let view: &mut dyn Any = view;
    view.downcast_mut()
        .map(MaintainerView::<Merged>::maintainer_mut)
}

impl Merged {
    fn groups(query: &Bound) -> Result<Self> {
        let layout = PartialLayout::of(query)?;
        let groups = SumGroups::new(query.clone());
        let of = groups.grouped();
        let sums = companions(query).map(|one| (one, SumGroups::new(one.plan.clone())));
        let (mut keys, mut all) = (Vec::new(), Vec::new());
        for (companion, sums) in sums {
            keys.push(ValueKeys::new(companion, of, &sums));
            all.push(Auxiliary::new(companion, of, sums));
        }
        let tallied = all.split_off(query.companions.len());
        let mut payload_layout = of.auxiliary.payload_layout().clone();
        query
            .companions
            .iter()
            .for_each(|_| payload_layout.push(PayloadField::Summary));
        if layout.features > 0 {
            let features = layout.features;
            payload_layout.push(PayloadField::Origins { features });
        }
        Ok(Self {
            encoder: Encoder::new("a partial", &layout.columns),
            multiplicity: None,
            reach: vec![0.0; layout.features],
            reach_before: vec![0.0; layout.features],
            groups,
            layout: Some(layout),
            values: Auxiliaries::new(all.into_iter().enumerate().collect(), tallied),
            keys,
            payload_layout,
            scratch: KeyScratch::default(),
            steps: 0,
        })
    }

    /// Rows of a join: groups of all their columns, each with its count.
    fn rows(query: &Bound, shown: &SchemaRef) -> Result<Self> {
        let (columns, multiplicity) = row_columns(shown)?;
        let groups = SumGroups::new(of_rows(query, &columns)?);
        Ok(Self {
            payload_layout: groups.grouped().auxiliary.payload_layout().clone(),
            groups,
            layout: None,
            values: Auxiliaries::default(),
            keys: Vec::new(),
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
    fn grouped(&self) -> ResultTable<'_> {
        ResultTable {
            auxiliary: self,
            ..self.groups.grouped()
        }
    }
}

impl AuxiliaryPayload for Merged {
    fn payload_layout(&self) -> &PayloadLayout {
        &self.payload_layout
    }

    fn fill(&self, keys: &[Vec<u64>], rows: &mut [u64], when: When<'_>) {
        let width = self.payload_layout.width();
        self.values.fill(&self.payload_layout, keys, rows, when);
        let origins = self.payload_layout.origins();
        if !origins.is_empty() {
            let zeros = std::iter::repeat_n(0, self.reach.len());
            let words = zeros.chain(self.reach.iter().map(|reach| reach.to_bits()));
            let words: Vec<u64> = words.collect();
            let rows = rows.chunks_exact_mut(width);
            rows.for_each(|row| row[origins.clone()].copy_from_slice(&words));
        }
    }

    fn tallies(&self, keys: &[Vec<u64>], rows: usize, when: When<'_>) -> Vec<Tallies> {
        self.values.tallies(keys, rows, when)
    }

    fn touched(&self) -> Vec<(Vec<Vec<u64>>, usize)> {
        self.values.touched()
    }
}

impl HoldsStrings for Merged {
    fn mark_strings(&self, held: &mut LiveIds) {
        self.groups.mark_strings(held);
        self.values.mark_strings(held);
    }

    fn string_words(&self) -> usize {
        self.groups.string_words() + self.values.string_words()
    }

    fn forget_strings(&mut self, _gone: &FreedIds) {}
}

impl Maintainer for Merged {
    fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        self.groups.apply(rows, budget)
    }

    fn values(&self) -> Vec<ResultTable<'_>> {
        self.values.rows()
    }

    fn prepare(&mut self, dictionary: &Dictionary, budget: &Budget<'_>) -> Result<()> {
        self.groups.prepare(dictionary, budget)?;
        self.values.prepare(dictionary, budget)
    }

    fn commit(&mut self, dictionary: &Dictionary) -> Option<Relocated> {
        self.values.commit(dictionary);
        self.reach_before.clone_from(&self.reach);
        self.groups.commit(dictionary)
    }

    fn rollback(&mut self) {
        self.groups.rollback();
        self.values.rollback();
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
        self.groups.memory_usage() + self.values.memory_usage(false).sum::<usize>()
    }

    fn steps(&self) -> u64 {
        self.steps
    }

    fn check(&self) {
        self.values.check();
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
        cancels: false,
        unique: None,
        schema: Arc::new(columns.clone()),
        rows: None,
    };
    Ok(Bound {
        atoms: vec![atom],
        inner: Vec::new(),
        condition: None,
        variables: fields.iter().enumerate().map(variable).collect(),
        terms: vec![Term::rows()],
        outputs: fields
            .iter()
            .zip(&query.outputs)
            .enumerate()
            .map(output)
            .collect(),
        measures: Vec::new(),
        rows: None,
        results: None,
        bag: (!query.distinct).then_some(Representation::Listing),
        distinct: false,
        features: None,
        companions: Vec::new(),
        order: None,
        epsilons: Vec::new(),
    })
}
