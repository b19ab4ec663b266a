//! COFACTOR as sums: a component for the sum of each feature and one for the sum of products of each two.
//!
//! The degree-m ring is a product of rings once each of its numbers is a sum of products over the whole join:
//! in the component of x * y a relation with both contributes their product, one with x alone x, and the
//! rest 1. So payloads multiply component by component in any order, over any relations, and all that
//! the machine does for a count it does for them.
//!
//! Invariant: all are expansions of three doubles, so a value that is inserted and deleted leaves no error within 148
//! binary digits, however far from zero. Values that move between heavy and light parts are taken out of views and put
//! back, so what doubles leave behind would grow with every flip, and the degree-m ring of view trees is in doubles.
//! Cost: 1 + m + m(m + 1)/2 numbers a tuple, of three words each but for the count: 28 words for three
//! features where the degree-m ring has 10; as many steps as a count takes (`tests/all/costs.rs`).

use ringview_core::Result;
use ringview_query::{Bound, Factor, Features, Kind, Polynomial};
use ringview_view::answer::FeatureColumns;

use crate::plan::component::Component;

/// The features of a COFACTOR.
#[derive(Clone, Debug)]
pub(crate) struct FeatureMoments {
    names: Vec<String>,
    /// The components of the sum of each, then of the sums of products, an upper triangle row by row.
    pub(crate) components: Vec<usize>,
    /// By atom: the columns that must not be NULL.
    pub(crate) not_null: Vec<Vec<usize>>,
}

impl FeatureMoments {
    /// Appends the components.
    pub(super) fn new(
        query: &Bound,
        features: &Features,
        components: &mut Vec<Component>,
    ) -> Result<Self> {
        let atoms = query.atoms.len();
        if components.is_empty() {
            components.push(Component {
                kind: Kind::Int,
                factors: vec![None; atoms],
            });
        }
        let mut not_null = vec![Vec::new(); atoms];
        for &(atom, column) in &features.numeric {
            let of = &query.atoms[atom];
            let nullable = of.schema.fields()[column].nullable;
            if nullable && !of.join_columns_not_null.contains(&column) {
                not_null[atom].push(column);
            }
        }
        let value = |&(atom, column): &(usize, usize)| -> Result<(usize, Polynomial)> {
            let value = Features::value(&query.atoms[atom], column)?;
            Ok((atom, value.convert(Kind::Real)?))
        };
        let values: Vec<(usize, Polynomial)> =
            features.numeric.iter().map(value).collect::<Result<_>>()?;
        let mut own = Vec::new();
        let mut push = |factors: &[(usize, Polynomial)]| {
            let mut component = Component {
                kind: Kind::Real,
                factors: vec![None; atoms],
            };
            for (atom, value) in factors {
                component.factors[*atom] = Some(Factor {
                    not_null: Vec::new(),
                    value: Some(value.clone()),
                });
            }
            own.push(components.len());
            components.push(component);
        };
        for one in &values {
            push(std::slice::from_ref(one));
        }
        for (i, (atom, value)) in values.iter().enumerate() {
            for (other, factor) in &values[i..] {
                match atom == other {
                    true => push(&[(*atom, value.clone().multiply(factor.clone())?)]),
                    false => push(&[(*atom, value.clone()), (*other, factor.clone())]),
                }
            }
        }
        Ok(Self {
            names: features.names.clone(),
            components: own,
            not_null,
        })
    }

    /// As they are shown.
    pub(super) fn columns(&self) -> FeatureColumns {
        FeatureColumns {
            names: self.names.clone(),
            order: (0..self.names.len()).collect(),
            categories: Vec::new(),
            pairs: Vec::new(),
        }
    }
}
