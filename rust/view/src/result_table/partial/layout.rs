//! Layout of a query's partials.
//!
//! Invariant: it follows from the query alone. Columns of groups are in the order of the variables, under the names
//! that the view gives them; the numbers of a payload are those of the terms, then, of a COFACTOR, the sum of each
//! feature and those of products of each two, counted from zero; companions are in the order of the query, those of
//! categories and of pairs behind. Cost: O(columns and terms).

use std::sync::Arc;

use arrow_schema::{DataType, Field as ArrowField, Schema as ArrowSchema, SchemaRef};
use ringview_core::{Field, Result, Schema, Type};
use ringview_query::{Bound, Companion, Features, OutputKind, VarId};
use ringview_ring::NumberKind;

use crate::answer::weighed::{fresh, row_schema};
use crate::answer::wide_kind;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct PartialLayout {
    /// The variables of the group key.
    pub(super) keys: Vec<VarId>,
    /// Their columns.
    pub(super) columns: Schema,
    /// The name of the column of payloads.
    pub(super) payload: String,
    /// Kinds of the numbers of a group.
    pub(super) numbers: Vec<NumberKind>,
    /// Number of terms among them.
    pub(super) terms: usize,
    /// Number of features of a COFACTOR.
    pub(super) features: usize,
    /// By companion.
    pub(super) companions: Vec<CompanionLayout>,
    /// Distinguishes it from the layouts of other queries.
    pub(super) mark: u32,
}

/// Layout of each value of a companion.
#[derive(Clone, Debug)]
pub(super) struct CompanionLayout {
    /// The types of what it is made of.
    pub(super) values: Vec<Type>,
    /// Its numbers: how often it is there, then sums.
    pub(super) numbers: Vec<NumberKind>,
}

/// The companions of a query, those of categories and then of pairs behind the others.
pub(super) fn companions(query: &Bound) -> impl Iterator<Item = &Companion<Bound>> {
    let categories = query.features.iter().flat_map(Features::companions);
    query.companions.iter().chain(categories)
}

fn numbers(query: &Bound) -> impl Iterator<Item = NumberKind> {
    query.terms.iter().map(wide_kind)
}

impl PartialLayout {
    pub(super) fn of(query: &Bound) -> Result<Self> {
        let free = query.variables.iter().enumerate();
        let keys: Vec<VarId> = free.filter(|(_, v)| v.free).map(|(id, _)| id).collect();
        let mut fields: Vec<Field> = Vec::with_capacity(keys.len());
        for &id in &keys {
            let variable = &query.variables[id];
            let shown = query.outputs.iter().find(
                |output| matches!(output.kind, OutputKind::Group { variable } if variable == id),
            );
            let name = shown.map_or(&variable.name, |output| &output.name);
            let name = fresh(name, &fields);
            fields.push(Field::new(name, variable.ty.clone(), variable.nullable));
        }
        let features = query.features.as_ref().map_or(0, |all| all.numeric.len());
        let moments = features + features * (features + 1) / 2;
        let companion = |one: &Companion<Bound>| CompanionLayout {
            values: one.values.iter().map(|value| value.ty.clone()).collect(),
            numbers: numbers(&one.plan).collect(),
        };
        let all = numbers(query).chain(std::iter::repeat_n(NumberKind::Real, moments));
        let mut layout = Self {
            payload: fresh("payload", &fields),
            columns: Schema::new(fields)?,
            numbers: all.collect(),
            terms: query.terms.len(),
            companions: companions(query).map(companion).collect(),
            features,
            keys,
            mark: 0,
        };
        layout.mark = layout.marked(query);
        Ok(layout)
    }

    /// Mark by which partials of another query are refused: other groups, other columns of the result, other numbers or
    /// values. It does not cover their tables and filters.
    fn marked(&self, query: &Bound) -> u32 {
        let mut hash = crc32fast::Hasher::new();
        let mut see = |text: &str| {
            hash.update(text.as_bytes());
            hash.update(&[0]);
        };
        for field in self.columns.fields() {
            see(&field.name);
            see(&field.ty.to_string());
        }
        for output in &query.outputs {
            see(&output.name);
            see(&output.ty.to_string());
        }
        let terms = query.terms.iter().map(|term| term.kind);
        terms.for_each(|kind| see(&format!("{kind:?}")));
        if let Some(features) = &query.features {
            features.names.iter().for_each(|name| see(name));
        }
        for (companion, layout) in companions(query).zip(&self.companions) {
            see(&companion.name);
            layout.values.iter().for_each(|ty| see(&ty.to_string()));
            see(&layout.numbers.len().to_string());
        }
        hash.finalize()
    }

    /// The columns of its partials.
    pub(super) fn schema(&self) -> SchemaRef {
        let columns = self.columns.to_arrow();
        let mut fields: Vec<_> = columns.fields().iter().cloned().collect();
        let payload = ArrowField::new(&self.payload, DataType::Binary, false);
        fields.push(Arc::new(payload));
        Arc::new(ArrowSchema::new(fields))
    }
}

/// The columns of partials of a query: of groups with payloads, or of rows, of which the query shows these.
///
/// # Errors
/// `Unsupported` for columns that no table could have.
pub fn partial_schema(query: &Bound, shown: &SchemaRef) -> Result<SchemaRef> {
    match query.bag {
        None => Ok(PartialLayout::of(query)?.schema()),
        Some(_) => row_schema(shown),
    }
}
