//! COFACTOR(x, y, ..): which view covers which features, and where each is lifted.
//!
//! A payload covers only the features below its view and is assembled upward (paper, section 7.2).
//! Every feature is lifted at a leaf, where its rows are read. One that relations join on could be
//! lifted at any of theirs, and is at the one with the fewest variables, then features: that is
//! mostly a dimension, whose payload is computed seldom and read often.
//! Invariant: the features of an inner view are those of its children, each child's together, the
//! fewest first: the rows of a product's matrix that mix two factors are those of the features that
//! come first. The root covers all.

use ringview_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::expr::{Expr, Kind};
use crate::payload::Payload;
use crate::plan::{Component, Factor, Source, Variable, ViewTree};
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
    /// By atom: nullable columns that are features; a row with NULL in one is refused.
    pub not_null: Vec<Vec<usize>>,
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
        not_null: vec![Vec::new(); scopes.len()],
    };
    let mut seen = Vec::new();
    let places: Vec<_> = columns
        .iter()
        .map(|column| resolve(scopes, column))
        .collect::<Result<_>>()?;
    let mut features = vec![0; scopes.len()];
    for &(atom, _) in places
        .iter()
        .filter(|place| !variables.of.contains_key(place))
    {
        features[atom] += 1;
    }
    for (feature, &place) in places.iter().enumerate() {
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
        let place = lifted_at(place, variables, &features);
        let (atom, column) = place;
        let scope = &scopes[atom];
        if scope.nullable(column) && !variables.not_null[atom].contains(&column) {
            found.not_null[atom].push(column);
        }
        let leaf = tree.nodes.iter().position(|node| node.atom == Some(atom));
        let leaf = leaf.unwrap_or(tree.root);
        let component = Component {
            kind: Kind::Real,
            source: Source::Leaf(Factor {
                not_null: Vec::new(),
                value: Some(value(scope, place)?),
            }),
        };
        payload.append(leaf, component);
        found.nodes[leaf].push(feature);
    }
    // Children come first.
    for (id, node) in tree.nodes.iter().enumerate() {
        if node.is_inner() {
            let below = node.children.iter().map(|child| &found.nodes[*child]);
            let mut parts: Vec<Vec<usize>> = below.cloned().collect();
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

/// The column at which a feature is lifted: its own, or one that equals it.
fn lifted_at(place: (usize, usize), variables: &Variables, features: &[usize]) -> (usize, usize) {
    let Some(&variable) = variables.of.get(&place) else {
        return place;
    };
    let arity = |atom: usize| {
        let has = |variable: &&Variable| variable.columns.iter().any(|(of, _)| *of == atom);
        variables.all.iter().filter(has).count()
    };
    let columns = variables.all[variable].columns.iter().copied();
    let best = columns.min_by_key(|&(atom, _)| (arity(atom), features[atom], atom));
    best.unwrap_or(place)
}

/// A feature as a real.
fn value(scope: &Scope<'_>, (atom, column): (usize, usize)) -> Result<Expr> {
    let name = scope.schema.fields()[column].name.clone();
    let scalar = Scalar::Column { atom, column: name };
    let Some(value) = scope.number(&scalar, Purpose::Sum)? else {
        unreachable!("a column is no NULL literal")
    };
    value.convert(Kind::Real)
}
