//! Several sums of products that share one tree: the product of number rings.
//!
//! A payload is a row of numbers, each an element of its own ring: integers, decimals or reals.
//! Sums go component by component. In a product each component of the result is one component of
//! the left payload times one of the right: sub-aggregates that several aggregates need are kept
//! once in a view and used by all. Component 0 is the count.
//!
//! Cost: one multiplication a component and row (`factors`), one addition (`add`), in one tight loop a
//! component and batch.

mod add;
mod factors;
mod lift;
mod widening;

use arrow_buffer::i256;

use crate::algebra::CommutativeMonoid;
use crate::expansion::Expansion;
use crate::number::Number;
use crate::payload::{Groups, Overflow, PayloadRing, Rows, Slab, Widened};
use add::{add_elements, add_integers};
use factors::Factors;
pub use lift::LiftedReals;
pub use widening::{Common, Wide};

/// The ring of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberKind {
    /// `i64`; overflow is an error.
    Integer,
    /// `i128`, in units of a scale that the plan knows; overflow is an error.
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
    elements: Vec<Element>,
    stride: usize,
    all_integer: bool,
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

/// How two payloads multiply: one term for each component of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermProduct {
    terms: Vec<Term>,
    left: usize,
    right: usize,
    out: usize,
    /// Whether its factors and it have integers alone.
    all_integer: bool,
    /// What it was made of: of left, right and result.
    shapes: Box<[SumProductShape; 3]>,
    pairs: Vec<(usize, usize)>,
}

impl TermProduct {
    /// For each component of `out`, which component of `left` and which of `right`.
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
            left: left.stride,
            right: right.stride,
            out: out.stride,
            all_integer: [left, right, out].iter().all(|shape| shape.all_integer),
            shapes: Box::new([left.clone(), right.clone(), out.clone()]),
            pairs: pairs.to_vec(),
        }
    }
}

/// The ring of sums of products. A type only: shapes and products carry the data.
#[derive(Clone, Copy, Debug)]
pub struct SumProduct;

impl PayloadRing for SumProduct {
    type Shape = SumProductShape;
    type Product = TermProduct;
    type Scratch = ();

    const LEAST_GROUP: usize = 1;

    fn stride(shape: &SumProductShape) -> usize {
        shape.stride
    }

    fn left_stride(product: &TermProduct) -> usize {
        product.left
    }

    fn is_wide(_: &SumProductShape) -> bool {
        false
    }

    fn add(
        shape: &SumProductShape,
        target: &mut [u64],
        slots: &[u32],
        delta: Slab<'_>,
        emptied: &mut Vec<u32>,
    ) -> Result<(), Overflow> {
        let delta = delta.words();
        match shape {
            SumProductShape {
                all_integer: true,
                stride: 1,
                ..
            } => add_integers::<1>(target, slots, delta, emptied),
            SumProductShape {
                all_integer: true,
                stride: 2,
                ..
            } => add_integers::<2>(target, slots, delta, emptied),
            SumProductShape {
                all_integer: true,
                stride: 3,
                ..
            } => add_integers::<3>(target, slots, delta, emptied),
            _ => add_elements(shape, target, slots, delta, emptied),
        }
    }

    fn multiply(
        product: &TermProduct,
        (left, left_rows): (Slab<'_>, Rows<'_>),
        (right, slots): (Slab<'_>, &[u32]),
        groups: Groups<'_>,
        (): &mut (),
        out: &mut Vec<u64>,
    ) -> Result<usize, Overflow> {
        out.clear();
        if let ([slot], true) = (slots, product.all_integer) {
            let row = left_rows.row(0) * product.left;
            let slot = *slot as usize * product.right;
            multiply_row(product, &left.words()[row..], &right.words()[slot..], out)?;
            return Ok(product.out);
        }
        out.resize(groups.len() * product.out, 0);
        for (component, term) in product.terms.iter().enumerate() {
            let factors = Factors {
                product,
                term,
                left: left.words(),
                left_rows,
                right: right.words(),
                slots,
                groups,
            };
            let kinds = [term.left.kind, term.right.kind, term.out.kind];
            let overflow = if kinds == [NumberKind::Integer; 3] {
                factors.multiply::<i64, i64, i64>(out)
            } else {
                factors.multiply_kinds(out)
            };
            refuse(overflow, component)?;
        }
        Ok(product.out)
    }

    fn is_zero(shape: &SumProductShape, payload: &[u64]) -> bool {
        shape.elements.iter().all(|element| match element.kind {
            NumberKind::Integer => i64::load(payload, element.word).is_zero(),
            NumberKind::Decimal => i128::load(payload, element.word).is_zero(),
            NumberKind::Real => true,
            NumberKind::Wide => i256::load(payload, element.word).is_zero(),
        })
    }

    fn widened(shape: &SumProductShape) -> Option<SumProductShape> {
        shape.widened()
    }

    fn grown(shape: &SumProductShape) -> Option<SumProductShape> {
        shape.grown()
    }

    fn widen(shape: &SumProductShape, wide: &SumProductShape, payloads: &[u64]) -> Vec<u64> {
        shape.widen(wide, payloads)
    }

    fn narrow(
        shape: &SumProductShape,
        wide: &SumProductShape,
        payloads: &[u64],
        out: &mut Vec<u64>,
    ) -> bool {
        shape.narrow(wide, payloads, out)
    }

    fn widened_product(product: &TermProduct) -> Option<Widened<SumProductShape, TermProduct>> {
        let [left, right, out] = &*product.shapes;
        // Only a result of counts alone has nothing to widen.
        let wide_out = out.widened()?;
        let wide = |shape: &SumProductShape| shape.widened().unwrap_or_else(|| shape.clone());
        Some(Widened {
            product: TermProduct::new(&wide(left), &wide(right), &wide_out, &product.pairs),
            left: left.clone(),
            right: right.clone(),
            out: out.clone(),
        })
    }
}

/// One row of integers times another: what the loops over many rows take to begin costs more.
fn multiply_row(
    product: &TermProduct,
    left: &[u64],
    right: &[u64],
    out: &mut Vec<u64>,
) -> Result<(), Overflow> {
    for (component, term) in product.terms.iter().enumerate() {
        let (l, r) = (left[term.left.word] as i64, right[term.right.word] as i64);
        let (number, overflow) = l.overflowing_mul(r);
        refuse(overflow, component)?;
        out.push(number as u64);
    }
    Ok(())
}

fn refuse(overflow: bool, component: usize) -> Result<(), Overflow> {
    if overflow {
        Err(Overflow { component })
    } else {
        Ok(())
    }
}
