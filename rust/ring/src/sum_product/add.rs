//! Sums of payloads at their slots.
//!
//! Invariant: a sum of exact numbers that does not fit leaves all as it was: sums that wrapped
//! around are subtracted again. Reals are last, since their sums cannot be undone. Cost: an
//! addition a row and component; of reals 6, or 39 where either side has a second part.

use arrow_buffer::i256;

use super::shape::{Element, NumberKind, SumProductShape, refuse};
use crate::expansion::Expansion;
use crate::number::Number;
use crate::payload::Overflow;

/// Payloads of S integers: the row is added as a whole.
pub(super) fn add_integers<const S: usize>(
    target: &mut [u64],
    slots: &[u32],
    delta: &[u64],
    emptied: &mut Vec<u32>,
) -> Result<(), Overflow> {
    let mut overflow = [false; S];
    let (targets, _) = target.as_chunks_mut::<S>();
    for (&slot, row) in slots.iter().zip(delta.as_chunks::<S>().0) {
        let target = &mut targets[slot as usize];
        for component in 0..S {
            let (sum, wrapped) = Number::add(target[component] as i64, row[component] as i64);
            target[component] = sum as u64;
            overflow[component] |= wrapped;
        }
        if target[0] == 0 {
            emptied.push(slot);
        }
    }
    match overflow.iter().position(|&wrapped| wrapped) {
        Some(component) => {
            take_back::<S>(target, slots, delta);
            Err(Overflow { component })
        }
        None => Ok(()),
    }
}

/// Undoes what `add_integers` did: sums that wrapped around wrap back.
#[cold]
fn take_back<const S: usize>(target: &mut [u64], slots: &[u32], delta: &[u64]) {
    let (targets, _) = target.as_chunks_mut::<S>();
    for (&slot, row) in slots.iter().zip(delta.as_chunks::<S>().0) {
        let target = &mut targets[slot as usize];
        for component in 0..S {
            target[component] = target[component].wrapping_sub(row[component]);
        }
    }
}

pub(super) fn add_elements(
    shape: &SumProductShape,
    target: &mut [u64],
    slots: &[u32],
    delta: &[u64],
    emptied: &mut Vec<u32>,
) -> Result<(), Overflow> {
    // Reals last: there is no way back from their sums.
    let is_real = |(_, element): &(usize, &Element)| element.kind == NumberKind::Real;
    let all = || shape.elements.iter().enumerate();
    let in_order = all()
        .filter(|one| !is_real(one))
        .chain(all().filter(is_real));
    for (component, &element) in in_order {
        let overflow = match element.kind {
            NumberKind::Integer => add_element::<i64>(shape, element, target, slots, delta),
            NumberKind::Decimal => add_element::<i128>(shape, element, target, slots, delta),
            NumberKind::Real => add_reals(shape, element, target, slots, delta),
            NumberKind::Wide => add_element::<i256>(shape, element, target, slots, delta),
        };
        if overflow && matches!(element.kind, NumberKind::Integer | NumberKind::Decimal) {
            subtract_exact(shape, component, target, slots, delta);
        }
        refuse(overflow, component)?;
    }
    emptied.extend(
        slots
            .iter()
            .filter(|&&slot| target[slot as usize * shape.stride] == 0),
    );
    Ok(())
}

/// Undoes what `add_elements` did up to the component: sums that wrapped around wrap back.
#[cold]
fn subtract_exact(
    shape: &SumProductShape,
    component: usize,
    target: &mut [u64],
    slots: &[u32],
    delta: &[u64],
) {
    for element in &shape.elements[..=component] {
        for (&slot, row) in slots.iter().zip(delta.chunks_exact(shape.stride)) {
            let at = slot as usize * shape.stride + element.word;
            if element.kind == NumberKind::Integer {
                target[at] = target[at].wrapping_sub(row[element.word]);
            } else if element.kind == NumberKind::Decimal {
                let sum = i128::load(target, at).wrapping_sub(i128::load(row, element.word));
                sum.store(target, at);
            }
        }
    }
}

fn add_element<N: Number>(
    shape: &SumProductShape,
    element: Element,
    target: &mut [u64],
    slots: &[u32],
    delta: &[u64],
) -> bool {
    let mut overflow = false;
    for (&slot, row) in slots.iter().zip(delta.chunks_exact(shape.stride)) {
        let at = slot as usize * shape.stride + element.word;
        let (sum, wrapped) = N::load(target, at).add(N::load(row, element.word));
        sum.store(target, at);
        overflow |= wrapped;
    }
    overflow
}

fn add_reals(
    shape: &SumProductShape,
    element: Element,
    target: &mut [u64],
    slots: &[u32],
    delta: &[u64],
) -> bool {
    let mut overflow = false;
    for (&slot, row) in slots.iter().zip(delta.chunks_exact(shape.stride)) {
        let sum = &mut target[slot as usize * shape.stride + element.word..][..Expansion::WORDS];
        let added = &row[element.word..][..Expansion::WORDS];
        overflow |= Expansion::add_words(sum, added);
    }
    overflow
}
