//! Numbers that a payload consists of, and the products that make them.
//!
//! Invariant: the elements lie one after the other, the count first. Cost: none.

use arrow_buffer::i256;

use crate::expansion::Expansion;
use crate::number::Number;
use crate::payload::{MOST_JOINED, Overflow};

/// The ring of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberKind {
    /// `i64`; overflow is an error.
    Integer,
    /// `i128`, in units of a scale that the plan holds; overflow is an error.
    Decimal,
    /// An [`Expansion`] of three doubles.
    Real,
    /// 256 bits: what an integer or decimal is where its sum may not fit, in passing.
    Wide,
}

impl NumberKind {
    /// Words that a number of it takes.
    #[must_use]
    pub fn words(self) -> usize {
        match self {
            NumberKind::Integer => i64::WORDS,
            NumberKind::Decimal => i128::WORDS,
            NumberKind::Real => Expansion::WORDS,
            NumberKind::Wide => i256::WORDS,
        }
    }
}

/// A component and where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// Its ring.
    pub kind: NumberKind,
    /// The word it starts at.
    pub word: usize,
}

/// The components of the payloads of one view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SumProductShape {
    pub(super) elements: Vec<Element>,
    pub(super) stride: usize,
    pub(super) all_integer: bool,
}

impl SumProductShape {
    /// A shape of these components; the first must be an integer, the count.
    #[must_use]
    pub fn new(kinds: &[NumberKind]) -> Self {
        let mut stride = 0;
        let elements = kinds
            .iter()
            .map(|&kind| {
                let element = Element { kind, word: stride };
                stride += kind.words();
                element
            })
            .collect();
        let all_integer = kinds.iter().all(|&kind| kind == NumberKind::Integer);
        debug_assert_eq!(kinds.first(), Some(&NumberKind::Integer), "no count");
        Self {
            elements,
            stride,
            all_integer,
        }
    }

    /// The components.
    #[must_use]
    pub fn elements(&self) -> &[Element] {
        &self.elements
    }

    /// The ring's one: 1 in every component.
    #[must_use]
    pub fn one(&self) -> Vec<u64> {
        let mut one = vec![0; self.stride];
        for element in &self.elements {
            match element.kind {
                NumberKind::Integer => 1i64.store(&mut one, element.word),
                NumberKind::Decimal => 1i128.store(&mut one, element.word),
                NumberKind::Real => Expansion::from(1i64).store(&mut one, element.word),
                NumberKind::Wide => i256::ONE.store(&mut one, element.word),
            }
        }
        one
    }

    pub(crate) fn stride(&self) -> usize {
        self.stride
    }
}

/// One component of a product: left times right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// The component of the left payload.
    pub left: Element,
    /// The component of the right payload.
    pub right: Element,
    /// The component of the result. Its kind holds both of theirs.
    pub out: Element,
}

impl Term {
    /// Whether its numbers are integers and decimals.
    pub(super) fn is_exact(&self) -> bool {
        let mut all = [self.left, self.right, self.out].into_iter();
        all.all(|element| matches!(element.kind, NumberKind::Integer | NumberKind::Decimal))
    }
}

/// Product of two or more payloads: one term for each component of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermProduct {
    pub(super) terms: Vec<Term>,
    /// By component, that of each match beyond the first; empty where there is one.
    pub(super) further: Vec<Vec<Element>>,
    pub(super) left: usize,
    pub(super) right: usize,
    pub(super) out: usize,
    /// Whether its factors and it have integers alone.
    pub(super) all_integer: bool,
    /// The shapes of left, right and result.
    pub(super) shapes: Box<[SumProductShape; 3]>,
    pub(super) pairs: Vec<(usize, usize)>,
}

impl TermProduct {
    /// `pairs` has, for each component of `out`, a component of `left` and one of `right`.
    #[must_use]
    pub fn new(
        left: &SumProductShape,
        right: &SumProductShape,
        out: &SumProductShape,
        pairs: &[(usize, usize)],
    ) -> Self {
        let term = |(&(l, r), &out): (&(usize, usize), &Element)| Term {
            left: left.elements[l],
            right: right.elements[r],
            out,
        };
        let terms = pairs.iter().zip(&out.elements).map(term).collect();
        Self {
            terms,
            further: Vec::new(),
            left: left.stride,
            right: right.stride,
            out: out.stride,
            all_integer: [left, right, out].iter().all(|shape| shape.all_integer),
            shapes: Box::new([left.clone(), right.clone(), out.clone()]),
            pairs: pairs.to_vec(),
        }
    }

    /// This product and the next as one; `None` where numbers are not exact, or matches are too many.
    pub(super) fn then(&self, next: &Self) -> Option<Self> {
        let is_exact = |product: &Self| product.terms.iter().all(Term::is_exact);
        let matches = 1 + self.further.first().map_or(0, Vec::len);
        if !is_exact(self) || !is_exact(next) || matches == MOST_JOINED {
            return None;
        }
        let from = || next.pairs.iter().map(|&(component, _)| component);
        let term = |(component, last): (usize, &Term)| Term {
            out: last.out,
            ..self.terms[component]
        };
        let further = |(component, last): (usize, &Term)| {
            let before = self.further.get(component).into_iter().flatten();
            before.copied().chain([last.right]).collect()
        };
        let [left, right, _] = &*self.shapes;
        let [_, _, out] = &*next.shapes;
        Some(Self {
            terms: from().zip(&next.terms).map(term).collect(),
            further: from().zip(&next.terms).map(further).collect(),
            left: self.left,
            right: self.right,
            out: next.out,
            all_integer: self.all_integer && next.all_integer,
            shapes: Box::new([left.clone(), right.clone(), out.clone()]),
            pairs: from().map(|component| self.pairs[component]).collect(),
        })
    }
}

pub(super) fn refuse(overflow: bool, component: usize) -> Result<(), Overflow> {
    if overflow {
        Err(Overflow { component })
    } else {
        Ok(())
    }
}
