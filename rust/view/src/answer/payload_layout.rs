//! The layout of the payload of a group: its fields, and the position of each in a row.
//!
//! An engine keeps the first field in the table whose keys are the groups; auxiliary fields follow (see `auxiliary`).
//! Invariant: the fields of a row lie one after the other, in the order of the list, which alone defines their
//! positions. The first word of the first is the count of the group.
//! Cost: a look through the list, which is short.

use std::ops::Range;

use ringview_query::{Kind, Term};
use ringview_ring::{
    CofactorShape, Element, Number, NumberKind, PayloadRing, SumProduct, SumProductShape,
};

use super::category::Categories;
use super::values::SUMMARY;

/// A field of a payload.
#[derive(Clone, Debug)]
pub enum PayloadField {
    /// Counts and sums of products.
    Sums(TermSums),
    /// A degree-m payload.
    Cofactor(FeatureColumns),
    /// The number of values of a group, the least and the greatest: the payload fields of this kind are numbered as the
    /// query numbers its companions.
    Summary,
    /// Origins of the features of a degree-m payload: for each its origin, then for each its reach.
    Origins {
        /// Number of features.
        features: usize,
    },
}

/// Counts and sums of products, and the positions of the query's terms among them.
#[derive(Clone, Debug)]
pub struct TermSums {
    kinds: Vec<Kind>,
    shape: SumProductShape,
    places: Vec<usize>,
    /// The features whose moments are among the components, and which: the sum of each, then the sum of
    /// products of each two.
    moments: Option<(FeatureColumns, Vec<usize>)>,
}

/// The features of a degree-m payload.
#[derive(Clone, Debug)]
pub struct FeatureColumns {
    /// Their names, in the order of the query.
    pub names: Vec<String>,
    /// The features in the order of the payload.
    pub order: Vec<usize>,
    /// The categorical ones, which are read from tallies.
    pub categories: Vec<Categories>,
    /// Two of those each.
    pub pairs: Vec<Categories>,
}

/// The layout of a payload: its fields in order.
#[derive(Clone, Debug, Default)]
pub struct PayloadLayout {
    list: Vec<(Range<usize>, PayloadField)>,
}

/// Representation of the number of a term if sums of integers always have 128 bits.
#[must_use]
pub fn wide_kind(term: &Term) -> NumberKind {
    match term.kind {
        Kind::Int if !term.is_count() => NumberKind::Decimal,
        kind => number_kind(kind),
    }
}

/// Representation of summed numbers of a kind.
#[must_use]
pub fn number_kind(kind: Kind) -> NumberKind {
    match kind {
        Kind::Int => NumberKind::Integer,
        Kind::Decimal { .. } => NumberKind::Decimal,
        Kind::Real => NumberKind::Real,
    }
}

impl TermSums {
    /// Components of these kinds, the first of which is the count; `places` says by term of the query
    /// which of them it is.
    #[must_use]
    pub fn new(kinds: Vec<Kind>, places: Vec<usize>) -> Self {
        let numbers: Vec<NumberKind> = kinds.iter().copied().map(number_kind).collect();
        Self::with_numbers(kinds, &numbers, places)
    }

    /// The same of components that are kept as these numbers.
    #[must_use]
    pub fn with_numbers(kinds: Vec<Kind>, numbers: &[NumberKind], places: Vec<usize>) -> Self {
        Self {
            shape: SumProductShape::new(numbers),
            kinds,
            places,
            moments: None,
        }
    }

    /// With the degree-m payload of some features given by components: reals that hold the sum of each, then the sums
    /// of products, an upper triangle row by row.
    #[must_use]
    pub fn with_moments(mut self, features: FeatureColumns, components: Vec<usize>) -> Self {
        self.moments = Some((features, components));
        self
    }

    /// The shape of the payloads.
    #[must_use]
    pub fn shape(&self) -> &SumProductShape {
        &self.shape
    }
}

impl FeatureColumns {
    /// Positions of the features in the payload, in the order of the query.
    pub(crate) fn positions(&self) -> Vec<usize> {
        let at = |feature| self.order.iter().position(|&other| other == feature);
        (0..self.order.len()).filter_map(at).collect()
    }

    /// The shape of the payload.
    pub(crate) fn shape(&self) -> CofactorShape {
        CofactorShape {
            variables: self.order.len(),
        }
    }
}

impl PayloadField {
    fn width(&self) -> usize {
        match self {
            PayloadField::Sums(sums) => SumProduct::stride(&sums.shape),
            PayloadField::Cofactor(features) => features.shape().words(),
            PayloadField::Summary => SUMMARY,
            PayloadField::Origins { features } => 2 * features,
        }
    }
}

impl PayloadLayout {
    /// Puts one behind the others.
    pub fn push(&mut self, field: PayloadField) {
        let start = self.width();
        self.list.push((start..start + field.width(), field));
    }

    /// Words of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.list.last().map_or(0, |(words, _)| words.end)
    }

    /// Words of the first field, which is in the table of the groups.
    #[must_use]
    pub fn first(&self) -> usize {
        self.list.first().map_or(0, |(words, _)| words.end)
    }

    /// Sums of integers are kept in 128 bits from now on.
    pub fn grow(&mut self) {
        for (_, field) in std::mem::take(&mut self.list) {
            self.push(match field {
                PayloadField::Sums(mut sums) => {
                    if let Some(grown) = SumProduct::grown(&sums.shape) {
                        sums.shape = grown;
                    }
                    PayloadField::Sums(sums)
                }
                other => other,
            });
        }
    }

    /// The features of the degree-m payload and its position, if there is one.
    #[must_use]
    pub fn features(&self) -> Option<(Range<usize>, &FeatureColumns)> {
        self.list.iter().find_map(|(words, field)| match field {
            PayloadField::Cofactor(features) => Some((words.clone(), features)),
            PayloadField::Sums(sums) => {
                let (features, _) = sums.moments.as_ref()?;
                Some((words.clone(), features))
            }
            _ => None,
        })
    }

    /// Positions of the sums and sums of products of features, if they are sums among others.
    pub(crate) fn moments(&self) -> Option<Vec<usize>> {
        let (start, sums) = self.sums()?;
        let (_, components) = sums.moments.as_ref()?;
        let word = |&component: &usize| start + sums.shape.elements()[component].word;
        Some(components.iter().map(word).collect())
    }

    /// Positions of the summaries, in the order of the query's companions.
    pub fn summaries(&self) -> impl Iterator<Item = Range<usize>> {
        let summary = |(words, field): &(Range<usize>, PayloadField)| {
            matches!(field, PayloadField::Summary).then(|| words.clone())
        };
        self.list.iter().filter_map(summary)
    }

    /// Positions of the origins: empty, unless there are features.
    #[must_use]
    pub fn origins(&self) -> Range<usize> {
        let origins = |(words, field): &(Range<usize>, PayloadField)| {
            matches!(field, PayloadField::Origins { .. }).then(|| words.clone())
        };
        self.list.iter().find_map(origins).unwrap_or(0..0)
    }

    fn sums(&self) -> Option<(usize, &TermSums)> {
        self.list.iter().find_map(|(words, field)| match field {
            PayloadField::Sums(sums) => Some((words.start, sums)),
            _ => None,
        })
    }

    /// Position and kind of the number of a term of the query. Without sums, the only term is the count, and every
    /// payload begins with it.
    pub(crate) fn element(&self, term: usize) -> Element {
        let Some((start, sums)) = self.sums() else {
            return Element {
                kind: NumberKind::Integer,
                word: 0,
            };
        };
        let element = sums.shape.elements()[sums.places[term]];
        Element {
            word: start + element.word,
            ..element
        }
    }

    /// The words of the number of a term.
    #[must_use]
    pub fn words(&self, term: usize) -> Range<usize> {
        let element = self.element(term);
        element.word..element.word + element.kind.words()
    }

    /// Kind of the number of a term of the query.
    pub(crate) fn kind(&self, term: usize) -> Kind {
        self.sums()
            .map_or(Kind::Int, |(_, sums)| sums.kinds[sums.places[term]])
    }

    /// Appends the number of a term as one of a kind that holds it: counts fit 64 bits, however they are kept.
    pub(crate) fn append_number(
        &self,
        (term, kind): (usize, NumberKind),
        payload: &[u64],
        out: &mut Vec<u64>,
    ) {
        let element = self.element(term);
        match (element.kind, kind) {
            (NumberKind::Integer, NumberKind::Decimal) => {
                let number = i128::from(i64::load(payload, element.word));
                out.extend([number as u64, (number >> 64) as u64]);
            }
            (NumberKind::Decimal, NumberKind::Integer) => out.push(payload[element.word]),
            _ => out.extend_from_slice(&payload[self.words(term)]),
        }
    }
}
