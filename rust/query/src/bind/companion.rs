//! The views beside a view: MIN, MAX and COUNT(DISTINCT) are read from them, and categories.
//!
//! MIN and MAX have no inverse, so no ring payload keeps them under deletes. A companion is the same
//! join grouped by the groups and by the argument too, with a count: a value is in a group as long as
//! its key is in the companion. The one-hot block of a categorical feature is that too, with the sums
//! of the numeric features behind the count; that of two of them is grouped by both (paper, section
//! 7.2). Invariant: a companion's atoms are the view's, in the same order, so a change of an atom is
//! applied to both. Cost: what a view grouped by those columns more costs.

use ringview_core::{Result, Type};
use serde::{Deserialize, Serialize};

use crate::bind::scalar::Scope;
use crate::bind::variables::{Place, Variables, resolve};
use crate::bind::{Planning, bind_knowing};
use crate::logical::{ColumnRef, Condition, Function, Literal, Output, Query, Scalar};
use crate::plan::{Catalog, OutputKind, Plan, VarId};

/// A view that holds the values of one column, or of some together, by group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Companion {
    /// The columns, for people.
    pub name: String,
    /// How it is kept. Its outputs are the groups, the values, then sums, if there are any.
    pub plan: Plan,
    /// The free variables of the view, each with its variable in `plan`.
    pub groups: Vec<(VarId, VarId)>,
    /// Whether its values are read in their order; for COUNT(DISTINCT) alone they need none.
    pub ordered: bool,
    /// The values, never NULL.
    pub values: Vec<CompanionValue>,
}

/// A column whose values a companion holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompanionValue {
    /// Its type.
    pub ty: Type,
    /// The variable in the companion's plan that holds them. It may be one of the groups.
    pub variable: VarId,
}

/// What a companion is to hold.
pub(crate) struct Wanted<'a> {
    pub(crate) name: String,
    pub(crate) places: &'a [Place],
    pub(crate) ordered: bool,
    /// Numeric columns to sum, as doubles; the view lets no row pass with NULL in one.
    pub(crate) sums: &'a [Place],
}

/// Plans a companion.
pub(crate) fn plan(
    query: &Query,
    wanted: &Wanted<'_>,
    scopes: &[Scope<'_>],
    variables: &Variables,
    (catalog, planning): (&dyn Catalog, Planning),
) -> Result<Companion> {
    let column = |place: &Place| ColumnRef {
        atom: place.0,
        column: scopes[place.0].schema.fields()[place.1].name.clone(),
    };
    let values: Vec<ColumnRef> = wanted.places.iter().map(column).collect();
    let sums: Vec<ColumnRef> = wanted.sums.iter().map(column).collect();
    let plan = bind_knowing(
        &beside(query, &values, &sums),
        catalog,
        planning,
        wanted.sums,
    )?;
    let kept: Vec<VarId> = plan
        .outputs
        .iter()
        .filter_map(|output| match output.kind {
            OutputKind::Group { variable } => Some(variable),
            _ => None,
        })
        .collect();
    let mut groups: Vec<(VarId, VarId)> = Vec::new();
    for (column, &inner) in query.group_by.iter().zip(&kept) {
        let outer = variables.of[&resolve(scopes, column)?];
        if !groups.contains(&(outer, inner)) {
            groups.push((outer, inner));
        }
    }
    let inner = &kept[query.group_by.len()..];
    let values = wanted.places.iter().zip(inner);
    let value = |(place, &variable): (&Place, &VarId)| CompanionValue {
        ty: scopes[place.0].ty(place.1).clone(),
        variable,
    };
    Ok(Companion {
        name: wanted.name.clone(),
        values: values.map(value).collect(),
        plan,
        groups,
        ordered: wanted.ordered,
    })
}

/// The query of a companion: no NULLs among the values, one output for each group, then the values,
/// then the sums.
fn beside(query: &Query, values: &[ColumnRef], sums: &[ColumnRef]) -> Query {
    let mut atoms = query.atoms.clone();
    for column in values {
        atoms[column.atom].filter = Some(known(column, atoms[column.atom].filter.take()));
    }
    let mut group_by = query.group_by.clone();
    group_by.extend_from_slice(values);
    let named = |(at, column): (usize, &ColumnRef)| Output::Group {
        name: at.to_string(),
        column: column.clone(),
    };
    let summed = |(at, column): (usize, &ColumnRef)| Output::Aggregate {
        name: format!("sum {at}"),
        function: Function::Sum,
        argument: Some(Scalar::Multiply {
            left: Box::new(Scalar::Literal {
                value: Literal::Float(1.0),
            }),
            right: Box::new(scalar(column)),
        }),
    };
    let groups = group_by.iter().enumerate().map(named);
    Query {
        atoms,
        joins: query.joins.clone(),
        outputs: groups.chain(sums.iter().enumerate().map(summed)).collect(),
        group_by,
        bag: None,
        having: None,
        order: None,
    }
}

/// `filter AND column IS NOT NULL`
pub(crate) fn known(column: &ColumnRef, filter: Option<Condition>) -> Condition {
    let known = Condition::Not {
        operand: Box::new(Condition::IsNull {
            operand: scalar(column),
        }),
    };
    Condition::And {
        operands: filter.into_iter().chain([known]).collect(),
    }
}

fn scalar(column: &ColumnRef) -> Scalar {
    Scalar::Column {
        atom: column.atom,
        column: column.column.clone(),
    }
}
