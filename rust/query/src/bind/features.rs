//! COFACTOR(x, y, ..): which columns are features, and the companions of the categorical ones.
//!
//! Categorical features are one-hot vectors, so what they add is counts and sums by category:
//! sparse, and kept by companions, one for each of them and one for each two.

use ringview_core::{Error, Result, Type};
use ringview_expr::Scalar;

use crate::bind::bound::{CategoryPair, Features, PlanAtom};
use crate::bind::companion::{Deriver, Wanted};
use crate::bind::polynomial::Polynomial;
use crate::bind::scalar::{Scope, number_kind};
use crate::bind::variables::{ColumnPosition, Variables, resolve};
use crate::logical::{ColumnRef, Nulls, Output, Query};

/// The features that a COFACTOR names.
pub(crate) struct Named<'q> {
    columns: &'q [ColumnRef],
    categorical: &'q [ColumnRef],
}

/// The features of the one COFACTOR of a query.
pub(crate) fn named(query: &Query) -> Result<Option<Named<'_>>> {
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
        found = Some(Named {
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
                let column = Scalar::column(&column.column).expr().clone();
                let known = Scalar::from(column.is_not_null());
                atom.filter = Scalar::all_of(atom.filter.take().into_iter().chain([known]));
            }
        }
    }
    query
}

impl Named<'_> {
    /// The columns, of which no row that counts has NULL: such rows are refused, or left out.
    pub(crate) fn columns(&self, scopes: &[Scope<'_>]) -> Result<Vec<ColumnPosition>> {
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

    /// Checks the features, and derives the companions of the categorical ones.
    pub(crate) fn bind(&self, scopes: &[Scope<'_>], deriver: &Deriver<'_>) -> Result<Features> {
        let mut names = self.names(scopes)?;
        let mut numeric = self.columns(scopes)?;
        distinct(&names, &numeric, deriver.variables)?;
        let categorical = numeric.split_off(self.columns.len());
        for &place in &numeric {
            number(
                scopes[place.0].name(place.1),
                scopes[place.0].ty(place.1),
                place.1,
            )?;
        }
        let labels = names.split_off(numeric.len());
        let beside = |name: String, places: &[ColumnPosition], sums: &[ColumnPosition]| {
            let ordered = true;
            deriver.derive(&Wanted {
                name,
                places,
                ordered,
                sums,
            })
        };
        let mut categories = Vec::new();
        for (label, place) in labels.iter().zip(&categorical) {
            categories.push(beside(label.clone(), &[*place], &numeric)?);
        }
        let mut pairs = Vec::new();
        for right in 1..categorical.len() {
            for left in 0..right {
                let name = format!("{}, {}", labels[left], labels[right]);
                let counts = beside(name, &[categorical[left], categorical[right]], &[])?;
                pairs.push(CategoryPair {
                    left,
                    right,
                    counts,
                });
            }
        }
        Ok(Features {
            names,
            numeric,
            categorical,
            categories,
            pairs,
        })
    }
}

/// Refuses a column that is named twice, by itself or by one that equals it.
fn distinct(names: &[String], places: &[ColumnPosition], variables: &Variables) -> Result<()> {
    let mut seen = Vec::new();
    for (name, place) in names.iter().zip(places) {
        let same = variables
            .of
            .get(place)
            .map_or(*place, |variable| (usize::MAX, *variable));
        if seen.contains(&same) {
            let (kind, name) = ("feature", name.clone());
            return Err(Error::Exists { kind, name });
        }
        seen.push(same);
    }
    Ok(())
}

impl Features {
    /// A numeric feature as it is, read from a column of an atom: it becomes a real where its
    /// origin is subtracted.
    ///
    /// # Errors
    /// `Type` for a column of no numbers.
    pub fn value(atom: &PlanAtom, column: usize) -> Result<Polynomial> {
        let field = &atom.schema.fields()[column];
        number(format!("{}.{}", atom.alias, field.name), &field.ty, column)
    }
}

fn number(place: String, ty: &Type, column: usize) -> Result<Polynomial> {
    let kind = number_kind(ty).ok_or_else(|| Error::Type {
        place,
        expected: "a number".to_owned(),
        found: ty.to_string(),
    })?;
    Ok(Polynomial::column(column, ty.clone(), kind))
}
