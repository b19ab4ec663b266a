//! A delta of one row at a relation in which it has at most one match.
//!
//! Invariant: the result equals that of the propagation of many rows, to the last bit, and the same steps are counted.
//! Cost: a look-up and a product; no list of slots, of rows that are left or of groups is made.

use ringview_core::Result;
use ringview_ring::{Groups, PayloadRing, Rows};

use super::path::{Level, Step};
use super::propagation::Propagation;
use super::work::Work;
use crate::ABSENT;
use crate::delta::Delta;
use crate::directory::Keys;

impl<R: PayloadRing> Propagation<'_, '_, R> {
    /// dV := dV * S for one row.
    #[inline]
    pub(super) fn probe_one(
        &mut self,
        level: &Level<R>,
        step: &Step<R>,
        keys: &[usize],
        delta: &mut Delta,
    ) -> Result<()> {
        let relation = &self.relations[step.relation];
        let key = Keys {
            columns: &delta.columns,
            fields: keys,
            rows: 1,
        };
        let Work {
            keys: packed,
            product,
            scratch,
            ..
        } = &mut *self.work;
        let slot = match relation.filled() {
            Some(table) => table.find_first(key, packed),
            None => ABSENT,
        };
        if slot == ABSENT {
            delta.rows = 0;
            return Ok(());
        }
        if !delta.wide && relation.fits() {
            let left = (delta.slab(), Rows::All(1));
            let right = (relation.payloads(), &[slot][..]);
            let groups = Groups::Each(1);
            if let Ok(width) = R::multiply(&step.product, left, right, groups, scratch, product) {
                delta.width = width;
                std::mem::swap(&mut delta.payload, product);
                return Ok(());
            }
        }
        self.multiply(level, step, delta, (Rows::All(1), &[slot]))
    }
}
