//! One factor of a delta: keys and payloads over the registers that are its own.
//!
//! Invariant: each component of the delta is the product of the factors' components, so a component can
//! be picked, and a bound variable summed away, in each factor alone.

use ringview_relation::join::Path;
use ringview_relation::{Delta, GatherScratch, Grouper, KeyLayout};
use ringview_ring::{
    Element, Groups, NumberKind, Overflow, PayloadRing, Rows, Slab, SumProduct, SumProductShape,
    TermProduct,
};

use crate::tree::payloads::widest;
use ringview_view::fields::Fields;

/// A factor.
#[derive(Clone, Debug)]
pub(crate) struct DeltaFactor {
    /// The registers that hold its keys.
    pub(crate) registers: Vec<usize>,
    pub(crate) shape: SumProductShape,
    pub(crate) delta: Delta,
}

/// Packing of keys of some registers.
#[derive(Clone, Copy)]
pub(crate) struct Layouts<'a> {
    pub(crate) fields: &'a Fields,
    /// The field of each register.
    pub(crate) of: &'a [usize],
}

impl Layouts<'_> {
    pub(crate) fn layout(&self, registers: &[usize]) -> KeyLayout {
        let fields: Vec<usize> = registers
            .iter()
            .map(|&register| self.of[register])
            .collect();
        self.fields.layout(&fields)
    }
}

/// The kinds of the product of two payloads, component by component.
fn kinds(left: &[Element], right: &[Element]) -> Vec<NumberKind> {
    left.iter()
        .zip(right)
        .map(|(&l, &r)| widest(l, r))
        .collect()
}

/// Numbers are never stored shorter than their stride, which products and shapes hold.
fn whole(words: &[u64]) -> Slab<'_> {
    Slab::delta(words, words.len())
}

fn multiply(
    product: &TermProduct,
    (left, rows): (&[u64], Rows<'_>),
    (right, slots): (&[u64], &[u32]),
) -> Result<Vec<u64>, Overflow> {
    let mut out = Vec::new();
    let each = Groups::Each(slots.len());
    let (left, right) = ((whole(left), rows), (whole(right), slots));
    SumProduct::multiply(product, left, right, each, &mut (), &mut out)?;
    Ok(out)
}

impl DeltaFactor {
    /// Whether it holds any of the registers.
    pub(crate) fn has_any(&self, registers: &[usize]) -> bool {
        registers
            .iter()
            .any(|register| self.registers.contains(register))
    }

    /// Puts the rows of another factor over the same registers behind its own.
    pub(crate) fn append(&mut self, mut other: DeltaFactor) {
        for &register in &other.registers {
            let values = &mut other.delta.columns[register];
            self.delta.columns[register].append(values);
        }
        self.delta.payload.append(&mut other.delta.payload);
        self.delta.rows += other.delta.rows;
    }

    /// The same on a branch of a path that ends with a key in these registers.
    pub(crate) fn on_branch(&self, (end, branch): (&[usize], &Path<SumProduct>)) -> DeltaFactor {
        let mut delta = Delta::with_registers(branch.registers);
        let mut registers = Vec::with_capacity(self.registers.len());
        for (&from, &to) in end.iter().zip(&branch.keys) {
            if self.registers.contains(&from) {
                delta.columns[to].clone_from(&self.delta.columns[from]);
                registers.push(to);
            }
        }
        delta.payload.clone_from(&self.delta.payload);
        (delta.rows, delta.width, delta.wide) =
            (self.delta.rows, self.delta.width, self.delta.wide);
        DeltaFactor {
            registers,
            shape: self.shape.clone(),
            delta,
        }
    }

    /// Sums away the registers that are not named, and equal keys.
    pub(crate) fn keep(
        &mut self,
        registers: &[usize],
        layouts: Layouts<'_>,
    ) -> Result<(), Overflow> {
        let before = self.registers.len();
        self.registers
            .retain(|register| registers.contains(register));
        if self.registers.len() < before {
            self.fold(layouts)?;
        }
        Ok(())
    }

    /// Sums rows with equal keys.
    pub(crate) fn fold(&mut self, layouts: Layouts<'_>) -> Result<(), Overflow> {
        let mut grouper = Grouper::default();
        let layout = layouts.layout(&self.registers);
        let delta = &mut self.delta;
        grouper.group(&delta.columns, &self.registers, delta.rows, &layout, true);
        let Some(first) = grouper.representatives() else {
            return Ok(());
        };
        let groups = grouper.groups();
        let mut cursor = groups.cursor();
        let of: Vec<u32> = (0..delta.rows).map(|row| cursor.at(row) as u32).collect();
        let mut sums = vec![0; first.len() * SumProduct::stride(&self.shape)];
        let payload = whole(&delta.payload);
        SumProduct::add(&self.shape, &mut sums, &of, payload, &mut Vec::new())?;
        delta.payload = sums;
        delta.gather(&self.registers, first, &mut GatherScratch::default());
        Ok(())
    }

    /// Its payload in another shape: for each component of `to`, which of its own.
    pub(crate) fn pick(&mut self, picks: &[usize], to: SumProductShape) -> Result<(), Overflow> {
        let one = SumProductShape::new(&[NumberKind::Integer]);
        let pairs: Vec<(usize, usize)> = picks.iter().map(|&pick| (pick, 0)).collect();
        let product = TermProduct::new(&self.shape, &one, &to, &pairs);
        let (all, slots) = (Rows::All(self.delta.rows), vec![0; self.delta.rows]);
        self.delta.payload = multiply(&product, (&self.delta.payload, all), (&[1], &slots))?;
        self.shape = to;
        Ok(())
    }

    /// The components picked, each of the kind that it has.
    pub(crate) fn pick_as_is(&mut self, picks: &[usize]) -> Result<(), Overflow> {
        let all = self.shape.elements();
        if picks.iter().copied().eq(0..all.len()) {
            return Ok(());
        }
        let kinds: Vec<NumberKind> = picks.iter().map(|&pick| all[pick].kind).collect();
        self.pick(picks, SumProductShape::new(&kinds))
    }

    /// The payloads of its rows times those of other relations, a match a row, and their shape:
    /// `picks` names the component of the match for each of its own.
    pub(crate) fn multiplied(
        &self,
        rows: Rows<'_>,
        (right, slots, shape): (&[u64], &[u32], &SumProductShape),
        picks: &[usize],
    ) -> Result<(Vec<u64>, SumProductShape), Overflow> {
        let elements = shape.elements();
        let picked: Vec<Element> = picks.iter().map(|&pick| elements[pick]).collect();
        let out = SumProductShape::new(&kinds(self.shape.elements(), &picked));
        let pairs: Vec<(usize, usize)> = picks.iter().copied().enumerate().collect();
        let product = TermProduct::new(&self.shape, shape, &out, &pairs);
        let payload = multiply(&product, (&self.delta.payload, rows), (right, slots))?;
        Ok((payload, out))
    }

    /// The rows from `start` on, `rows` of them, of its Cartesian product with another factor, with
    /// payloads of the shape `to` where it is given.
    pub(crate) fn product(
        &self,
        other: &DeltaFactor,
        (start, rows): (usize, usize),
        to: Option<&SumProductShape>,
    ) -> Result<DeltaFactor, Overflow> {
        let width = other.delta.rows;
        let of = |at: usize| ((start + at) / width, (start + at) % width);
        let left: Vec<u32> = (0..rows).map(|at| of(at).0 as u32).collect();
        let right: Vec<u32> = (0..rows).map(|at| of(at).1 as u32).collect();
        let mut delta = Delta::with_registers(self.delta.columns.len());
        for (factor, rows) in [(self, &left), (other, &right)] {
            for &register in &factor.registers {
                let from = &factor.delta.columns[register];
                let values = rows.iter().map(|&row| from[row as usize]);
                delta.columns[register] = values.collect();
            }
        }
        delta.rows = rows;
        let (own, others) = (self.shape.elements(), other.shape.elements());
        let shape = match to {
            Some(shape) => shape.clone(),
            None => SumProductShape::new(&kinds(own, others)),
        };
        let pairs: Vec<(usize, usize)> = (0..own.len()).map(|at| (at, at)).collect();
        let product = TermProduct::new(&self.shape, &other.shape, &shape, &pairs);
        let own = (&self.delta.payload[..], Rows::Picked(&left));
        delta.payload = multiply(&product, own, (&other.delta.payload, &right))?;
        let mut registers = self.registers.clone();
        registers.extend(&other.registers);
        Ok(DeltaFactor {
            registers,
            shape,
            delta,
        })
    }

    /// All of its Cartesian product with another factor.
    pub(crate) fn whole_product(&self, other: &DeltaFactor) -> Result<DeltaFactor, Overflow> {
        // More rows than this do not fit the memory, nor their numbers a slot.
        let rows = self.delta.rows.checked_mul(other.delta.rows);
        let rows = rows.filter(|&rows| rows <= u32::MAX as usize);
        let rows = rows.ok_or(Overflow { component: 0 })?;
        self.product(other, (0, rows), None)
    }
}
