//! Groups of sums as a relation: a component for each term of the query, then, of a COFACTOR, one for the sum of
//! each feature and of products of each two.
//!
//! Invariant: a sum of integers has 128 bits, for these are made of what other relations hold. Cost: that of the
//! relation.

use ringview_core::{Budget, Dictionary, Error, FreedIds, HoldsStrings, LiveIds, Result};
use ringview_explain::Explanation;
use ringview_query::{Bound, Companion, Features, Kind, VarId};
use ringview_relation::{KeyedTable, Relation, Relocated};
use ringview_ring::{NumberKind, Overflow, PayloadRing, SumProduct};

use super::{Grouped, Maintainer, ResultTable};
use crate::answer::{
    Categories, FeatureColumns, Outputs, PayloadField, PayloadLayout, TermSums, wide_kind,
};
use crate::fields::Fields;
use crate::rows::RowDelta;

/// The groups of a query.
#[derive(Debug)]
pub struct SumGroups {
    /// The query.
    pub query: Bound,
    /// The fields of its variables.
    pub fields: Fields,
    /// The groups.
    pub groups: Relation<SumProduct>,
    keys: Vec<VarId>,
    payload_layout: PayloadLayout,
}

impl SumGroups {
    /// Those of a query over no rows.
    #[must_use]
    pub fn new(query: Bound) -> Self {
        let fields = Fields::new(&query.variables);
        let ids = 0..query.variables.len();
        let keys: Vec<VarId> = ids.filter(|&id| query.variables[id].free).collect();
        let sums = match &query.features {
            Some(features) => with_moments(&query, features),
            None => of_terms(&query, 0),
        };
        let shape = sums.shape().clone();
        let layout = fields.layout(&fields.of_all(&keys));
        let table = KeyedTable::new(layout, SumProduct::stride(&shape));
        let mut payload_layout = PayloadLayout::default();
        payload_layout.push(PayloadField::Sums(sums));
        Self {
            groups: Relation::new("the result".to_owned(), shape, Some(table)),
            query,
            fields,
            keys,
            payload_layout,
        }
    }

    /// The fields of the keys, in their order.
    #[must_use]
    pub fn key_fields(&self) -> Vec<usize> {
        self.fields.of_all(&self.keys)
    }
}

/// The terms of a query, and the moments of its features behind them.
fn with_moments(query: &Bound, features: &Features) -> TermSums {
    let (terms, m) = (query.terms.len(), features.numeric.len());
    let moments = m + m * (m + 1) / 2;
    let categories = |companion: &Companion<Bound>, sums| Categories {
        name: companion.name.clone(),
        types: companion
            .values
            .iter()
            .map(|value| value.ty.clone())
            .collect(),
        sums,
    };
    let columns = FeatureColumns {
        names: features.names.clone(),
        order: (0..m).collect(),
        categories: features
            .categories
            .iter()
            .map(|one| categories(one, m))
            .collect(),
        pairs: features
            .pairs
            .iter()
            .map(|pair| categories(&pair.counts, 0))
            .collect(),
    };
    let sums = of_terms(query, moments);
    sums.with_moments(columns, (terms..terms + moments).collect())
}

/// A component for each term, in their order, then so many reals.
fn of_terms(query: &Bound, reals: usize) -> TermSums {
    let kinds = query.terms.iter().map(|term| term.kind);
    let numbers = query.terms.iter().map(wide_kind);
    let numbers: Vec<NumberKind> = numbers
        .chain(std::iter::repeat_n(NumberKind::Real, reals))
        .collect();
    let kinds = kinds.chain(std::iter::repeat_n(Kind::Real, reals));
    TermSums::with_numbers(kinds.collect(), &numbers, (0..query.terms.len()).collect())
}

impl Grouped for SumGroups {
    fn grouped(&self) -> ResultTable<'_> {
        let Some(table) = self.groups.table() else {
            unreachable!("groups are kept")
        };
        ResultTable {
            outputs: Outputs::from(&self.query),
            fields: &self.fields,
            keys: &self.keys,
            table,
            auxiliary: &self.payload_layout,
        }
    }
}

impl HoldsStrings for SumGroups {
    fn mark_strings(&self, held: &mut LiveIds) {
        self.grouped().mark_strings(held);
    }

    fn string_words(&self) -> usize {
        self.grouped().string_words()
    }

    fn forget_strings(&mut self, _gone: &FreedIds) {}
}

/// Sums that are made of partials.
impl Maintainer for SumGroups {
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

    fn prepare(&mut self, _dictionary: &Dictionary, _meter: &Budget<'_>) -> Result<()> {
        if self.groups.fits() {
            return Ok(());
        }
        Err(self.groups.refusal(Overflow { component: 0 }))
    }

    fn commit(&mut self, _dictionary: &Dictionary) -> Option<Relocated> {
        self.groups.commit()
    }

    fn rollback(&mut self) {
        self.groups.rollback();
    }

    fn explanation(&self) -> Explanation {
        Explanation::default()
    }

    fn memory_usage(&self) -> usize {
        self.groups.memory_usage() + self.grouped().table.memory_usage()
    }

    fn steps(&self) -> u64 {
        0
    }
}
