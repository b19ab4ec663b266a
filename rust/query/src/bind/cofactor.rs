//! COFACTOR(x, y, ..): which view covers which features, and where each is lifted.
//!
//! A payload covers only the features below its view and is assembled upward (paper, section 7.2).
//! Every feature is lifted at a leaf, where its rows are read. One that relations join on could be
//! lifted at any of theirs, and is at the one with the fewest variables, then features: that is
//! mostly a dimension, whose payload is computed seldom and read often.
//! Invariant: the features of an inner view are those of its children, each child's together, the
//! fewest first: the rows of a product's matrix that mix two factors are those of the features that
//! come first. The root covers all.
//! Categorical features are one-hot vectors, so what they add is counts and sums by category: sparse,
//! and kept by companions, one for each of them and one for each two.

use ringview_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::bind::Planning;
use crate::bind::companion::{self, Companion, Wanted, known};
use crate::bind::expr::{Expr, Kind};
use crate::bind::scalar::{Purpose, Scope};
use crate::bind::variables::{Place, Variables, resolve};
use crate::logical::{ColumnRef, Nulls, Output, Query, Scalar};
use crate::plan::payload::Payload;
use crate::plan::{Catalog, Component, Factor, Source, Variable, ViewTree};

/// The payloads of a degree-m matrix ring over a tree.
///
/// The components of a leaf are its count, then the features that are lifted there, as reals; the
/// components of an inner node are its count alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CofactorPlan {
    /// The names of the numeric features, in the order in which they were asked for.
    pub names: Vec<String>,
    /// By node: the features that its payload covers, in the order of the payload.
    pub nodes: Vec<Vec<usize>>,
    /// By atom: nullable columns that are features; a row with NULL in one is refused.
    pub not_null: Vec<Vec<usize>>,
    /// The categorical features: counts and sums of the numeric ones, by category.
    pub categories: Vec<Companion>,
    /// Counts by pair of categories of two of them, by their positions.
    pub pairs: Vec<CategoryPair>,
}

/// Two categorical features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CategoryPair {
    /// The first, by its position among the categorical features.
    pub left: usize,
    /// The second.
    pub right: usize,
    /// Its counts.
    pub counts: Companion,
}

/// The features of a COFACTOR.
pub(crate) struct Features<'q> {
    columns: &'q [ColumnRef],
    categorical: &'q [ColumnRef],
}

/// The features of the one COFACTOR of a query.
pub(crate) fn features(query: &Query) -> Result<Option<Features<'_>>> {
    let mut found = None;
    for output in &query.outputs {
        let Output::Cofactor {
            columns,
            categorical,
            ..
        } = output
        else {
            continue;
        };
        if found.is_some() {
            return Err(Error::Unsupported {
                what: "a second COFACTOR in one view".to_owned(),
                why: "a row has one degree-m payload".to_owned(),
                instead: "name all features in one, and take subset() of it".to_owned(),
            });
        }
        found = Some(Features {
            columns,
            categorical,
        });
    }
    Ok(found)
}

/// The query with the rows left out that have NULL in a feature, where it says so.
pub(crate) fn without_nulls(query: &Query) -> Query {
    let mut query = query.clone();
    for output in &query.outputs {
        let Output::Cofactor {
            columns,
            categorical,
            nulls: Nulls::Skip,
            ..
        } = output
        else {
            continue;
        };
        for column in columns.iter().chain(categorical) {
            // An atom that is not there is refused where its name is resolved.
            if let Some(atom) = query.atoms.get_mut(column.atom) {
                atom.filter = Some(known(column, atom.filter.take()));
            }
        }
    }
    query
}

/// Plans the payloads of `columns`, adding the leaves' components to `payload`.
pub(crate) fn plan(
    features: &Features<'_>,
    scopes: &[Scope<'_>],
    variables: &Variables,
    tree: &ViewTree,
    payload: &mut Payload<'_>,
) -> Result<CofactorPlan> {
    let mut found = CofactorPlan {
        names: features.names(scopes)?,
        nodes: vec![Vec::new(); tree.nodes.len()],
        not_null: vec![Vec::new(); scopes.len()],
        categories: Vec::new(),
        pairs: Vec::new(),
    };
    let mut seen = Vec::new();
    let places = features.places(scopes)?;
    let numeric = features.columns.len();
    let mut local = vec![0; scopes.len()];
    for &(atom, _) in places[..numeric]
        .iter()
        .filter(|place| !variables.of.contains_key(place))
    {
        local[atom] += 1;
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
        if feature >= numeric {
            found.refuse_null(place, scopes, variables);
            continue;
        }
        let place = lifted_at(place, variables, &local);
        found.refuse_null(place, scopes, variables);
        let (atom, _) = place;
        let leaf = tree.nodes.iter().position(|node| node.atom == Some(atom));
        let leaf = leaf.unwrap_or(tree.root);
        let component = Component {
            kind: Kind::Real,
            source: Source::Leaf(Factor {
                not_null: Vec::new(),
                value: Some(value(&scopes[atom], place)?),
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

impl Features<'_> {
    /// The columns, of which no row that counts has NULL: such rows are refused, or left out.
    pub(crate) fn places(&self, scopes: &[Scope<'_>]) -> Result<Vec<Place>> {
        self.all().map(|column| resolve(scopes, column)).collect()
    }

    /// The numeric ones, then the categorical ones.
    fn all(&self) -> impl Iterator<Item = &ColumnRef> + Clone {
        self.columns.iter().chain(self.categorical)
    }

    /// A name a feature: the column's, with the alias where two would share one.
    fn names(&self, scopes: &[Scope<'_>]) -> Result<Vec<String>> {
        if self.all().next().is_none() {
            return Err(Error::Value {
                place: "COFACTOR".to_owned(),
                problem: "it has no feature; name at least one column".to_owned(),
            });
        }
        let shared = |name: &str| self.all().filter(|c| c.column == name).count() > 1;
        let name = |column: &ColumnRef| {
            let (atom, position) = resolve(scopes, column)?;
            Ok(if shared(&column.column) {
                scopes[atom].name(position)
            } else {
                column.column.clone()
            })
        };
        self.all().map(name).collect()
    }
}

impl CofactorPlan {
    /// Every companion: a categorical feature each, then a pair each.
    pub fn companions(&self) -> impl Iterator<Item = &Companion> {
        let pairs = self.pairs.iter().map(|pair| &pair.counts);
        self.categories.iter().chain(pairs)
    }

    /// A row with NULL in a column is refused, unless it joins on it and so is no row of the join.
    fn refuse_null(&mut self, place: Place, scopes: &[Scope<'_>], variables: &Variables) {
        let (atom, column) = place;
        if scopes[atom].nullable(column) && !variables.not_null[atom].contains(&column) {
            self.not_null[atom].push(column);
        }
    }

    /// Plans the companions of the categorical features, whose names stand behind the numeric ones'.
    pub(crate) fn categorize(
        &mut self,
        query: &Query,
        features: &Features<'_>,
        scopes: &[Scope<'_>],
        variables: &Variables,
        catalog: (&dyn Catalog, Planning),
    ) -> Result<()> {
        let places = |columns: &[ColumnRef]| -> Result<Vec<Place>> {
            columns.iter().map(|c| resolve(scopes, c)).collect()
        };
        let sums = places(features.columns)?;
        let categorical = places(features.categorical)?;
        let names = self.names.split_off(sums.len());
        let beside = |name: String, places: &[Place], sums: &[Place]| {
            let wanted = Wanted {
                name,
                places,
                ordered: true,
                sums,
            };
            companion::plan(query, &wanted, scopes, variables, catalog)
        };
        for (name, place) in names.iter().zip(&categorical) {
            let companion = beside(name.clone(), &[*place], &sums)?;
            self.categories.push(companion);
        }
        for right in 1..categorical.len() {
            for left in 0..right {
                let name = format!("{}, {}", names[left], names[right]);
                let counts = beside(name, &[categorical[left], categorical[right]], &[])?;
                self.pairs.push(CategoryPair {
                    left,
                    right,
                    counts,
                });
            }
        }
        Ok(())
    }
}

/// The column at which a feature is lifted: its own, or one that equals it.
fn lifted_at(place: Place, variables: &Variables, features: &[usize]) -> Place {
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
fn value(scope: &Scope<'_>, (atom, column): Place) -> Result<Expr> {
    let name = scope.schema.fields()[column].name.clone();
    let scalar = Scalar::Column { atom, column: name };
    let Some(value) = scope.number(&scalar, Purpose::Sum)? else {
        unreachable!("a column is no NULL literal")
    };
    value.convert(Kind::Real)
}
