//! COFACTOR(x, y, ..): which view covers which features, and where each is lifted.
//!
//! A payload covers only the features below its view and is assembled upward (paper, section 7.2).
//! A feature that inner views join on is lifted at its variable's node, so that it is lifted once
//! and what lies below stays narrow; every other one is lifted where its rows are read.
//! Invariant: the features of an inner view are those of its children and those lifted there, each
//! child's together, the fewest first: the rows of a product's matrix that mix two factors are
//! those of the features that come first. The root covers all.

use ringview_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::expr::{Expr, Kind};
use crate::payload::Payload;
use crate::plan::{Component, Factor, Lift, Source, ViewTree};
use crate::query::{ColumnRef, Scalar};
use crate::scalar::{Purpose, Scope};
use crate::variables::{Variables, resolve};

/// The payloads of a degree-m matrix ring over a tree.
///
/// The components of a leaf are its count, then the features that are lifted there, as reals; the
/// components of an inner node are its count alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CofactorPlan {
    /// The names of the features, in the order in which they were asked for.
    pub names: Vec<String>,
    /// By node: the features that its payload covers, in the order of the payload.
    pub nodes: Vec<Vec<usize>>,
    /// By node: the features lifted there, each with its lifting function.
    pub lifts: Vec<Vec<(usize, Lift)>>,
    /// By atom: nullable columns that are features; a row with NULL in one is refused.
    pub not_null: Vec<Vec<usize>>,
}

/// Where a feature is lifted.
enum Site {
    Leaf(usize, Expr),
    Node(usize, Lift),
}

/// Plans the payloads of `columns`, adding the leaves' components to `payload`.
pub(crate) fn plan(
    columns: &[ColumnRef],
    scopes: &[Scope<'_>],
    variables: &Variables,
    tree: &ViewTree,
    payload: &mut Payload<'_>,
) -> Result<CofactorPlan> {
    let mut found = CofactorPlan {
        names: names(columns, scopes)?,
        nodes: vec![Vec::new(); tree.nodes.len()],
        lifts: vec![Vec::new(); tree.nodes.len()],
        not_null: vec![Vec::new(); scopes.len()],
    };
    let mut seen = Vec::new();
    for (feature, column) in columns.iter().enumerate() {
        let place = resolve(scopes, column)?;
        let same = variables
            .of
            .get(&place)
            .map_or(place, |variable| (usize::MAX, *variable));
        if seen.contains(&same) {
            return Err(Error::Exists {
                kind: "feature",
                name: found.names[feature].clone(),
            });
        }
        seen.push(same);
        match site(place, scopes, variables, tree, payload)? {
            Site::Leaf(node, value) => {
                let scope = &scopes[place.0];
                if scope.nullable(place.1) && !variables.not_null[place.0].contains(&place.1) {
                    found.not_null[place.0].push(place.1);
                }
                let factor = Factor {
                    not_null: Vec::new(),
                    value: Some(value),
                };
                let source = Source::Leaf(factor);
                payload.append(
                    node,
                    Component {
                        kind: Kind::Real,
                        source,
                    },
                );
                found.nodes[node].push(feature);
            }
            Site::Node(node, lift) => found.lifts[node].push((feature, lift)),
        }
    }
    // Children come first.
    for (id, node) in tree.nodes.iter().enumerate() {
        if node.is_inner() {
            let below = node
                .children
                .iter()
                .map(|child| found.nodes[*child].clone());
            let lifted = found.lifts[id].iter().map(|(feature, _)| vec![*feature]);
            let mut parts: Vec<Vec<usize>> = below.chain(lifted).collect();
            parts.sort_by_key(Vec::len);
            found.nodes[id] = parts.concat();
        }
    }
    Ok(found)
}

/// A name a feature: the column's, with the alias where two would share one.
fn names(columns: &[ColumnRef], scopes: &[Scope<'_>]) -> Result<Vec<String>> {
    if columns.is_empty() {
        return Err(Error::Value {
            place: "COFACTOR".to_owned(),
            problem: "it has no feature; name at least one numeric column".to_owned(),
        });
    }
    let shared = |name: &str| columns.iter().filter(|c| c.column == name).count() > 1;
    columns
        .iter()
        .map(|column| {
            let (atom, position) = resolve(scopes, column)?;
            let name = if shared(&column.column) {
                scopes[atom].name(position)
            } else {
                column.column.clone()
            };
            Ok(name)
        })
        .collect()
}

fn site(
    (atom, column): (usize, usize),
    scopes: &[Scope<'_>],
    variables: &Variables,
    tree: &ViewTree,
    payload: &Payload<'_>,
) -> Result<Site> {
    let scope = &scopes[atom];
    let name = scope.schema.fields()[column].name.clone();
    let scalar = Scalar::Column { atom, column: name };
    let Some(value) = scope.number(&scalar, Purpose::Sum)? else {
        unreachable!("a column is no NULL literal")
    };
    let mut value = value.convert(Kind::Real)?;
    let variable = payload.variable(atom, &value);
    let joined = |v: &usize| {
        tree.nodes
            .iter()
            .position(|node| node.variables.contains(v))
    };
    if let Some((variable, node)) = variable.and_then(|v| Some((v, joined(&v)?))) {
        value.lift(variable, &variables.all[variable].ty);
        return Ok(Site::Node(node, Lift { variable, value }));
    }
    let leaf = tree.nodes.iter().position(|node| node.atom == Some(atom));
    Ok(Site::Leaf(leaf.unwrap_or(tree.root), value))
}
