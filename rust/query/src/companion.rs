//! The views beside a view that MIN, MAX and COUNT(DISTINCT) are read from.
//!
//! MIN and MAX have no inverse, so no ring payload keeps them under deletes. A companion is the same
//! join grouped by the groups and by the argument too, with a count: a value is in a group as long as
//! its key is in the companion. Invariant: a companion's atoms are the view's, in the same order, so a
//! change of an atom is applied to both. Cost: what a view grouped by one more column costs.

use ringview_core::{Result, Type};
use serde::{Deserialize, Serialize};

use crate::bind::{Planning, bind_with};
use crate::plan::{Catalog, OutputKind, Plan, VarId};
use crate::query::{ColumnRef, Condition, Output, Query, Scalar};
use crate::scalar::Scope;
use crate::variables::{Place, Variables, resolve};

/// A view that holds the values of one column, by group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Companion {
    /// The column, for people.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// How it is kept.
    pub plan: Plan,
    /// The free variables of the view, each with its variable in `plan`.
    pub groups: Vec<(VarId, VarId)>,
    /// Whether MIN or MAX is asked of them; for COUNT(DISTINCT) alone they need no order.
    pub ordered: bool,
    /// The variable in `plan` that holds the values. It may be one of the groups.
    pub value: VarId,
}

/// Plans the companion for the values of one column.
pub(crate) fn plan(
    query: &Query,
    (place, ordered): (Place, bool),
    scopes: &[Scope<'_>],
    variables: &Variables,
    (catalog, planning): (&dyn Catalog, Planning),
) -> Result<Companion> {
    let scope = &scopes[place.0];
    let column = ColumnRef {
        atom: place.0,
        column: scope.schema.fields()[place.1].name.clone(),
    };
    let plan = bind_with(&beside(query, &column), catalog, planning)?;
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
    let value = kept[query.group_by.len()];
    Ok(Companion {
        name: scope.name(place.1),
        ty: scope.ty(place.1).clone(),
        plan,
        groups,
        ordered,
        value,
    })
}

/// The query of a companion: no NULLs of the column, one output for each group, then the column.
fn beside(query: &Query, column: &ColumnRef) -> Query {
    let mut atoms = query.atoms.clone();
    let atom = &mut atoms[column.atom];
    let known = Condition::Not {
        operand: Box::new(Condition::IsNull {
            operand: Scalar::Column {
                atom: column.atom,
                column: column.column.clone(),
            },
        }),
    };
    let operands = atom.filter.take().into_iter().chain([known]).collect();
    atom.filter = Some(Condition::And { operands });
    let mut group_by = query.group_by.clone();
    group_by.push(column.clone());
    let outputs = group_by
        .iter()
        .enumerate()
        .map(|(at, column)| Output::Group {
            name: at.to_string(),
            column: column.clone(),
        });
    Query {
        atoms,
        joins: query.joins.clone(),
        outputs: outputs.collect(),
        group_by,
        bag: None,
        having: None,
        order: None,
    }
}
