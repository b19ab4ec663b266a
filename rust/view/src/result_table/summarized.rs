//! Groups with auxiliary state: whatever maintains groups, and the values of the columns that MIN, MAX and
//! COUNT(DISTINCT) read, each maintained by another of its kind.
//!
//! Invariant: all of them have taken the same rows. Cost: that of each.

use ringview_core::{Budget, Dictionary, FreedIds, HoldsStrings, LiveIds, Result};
use ringview_explain::Explanation;
use ringview_query::Companion;
use ringview_relation::Relocated;

use super::{Auxiliaries, Auxiliary, Grouped, Maintainer, ResultTable};
use crate::answer::values::When;
use crate::answer::{AuxiliaryPayload, PayloadField, PayloadLayout};
use crate::rows::RowDelta;

/// Groups, and their auxiliary state.
#[derive(Debug)]
pub struct Summarized<M> {
    groups: M,
    values: Auxiliaries<M>,
    payload_layout: PayloadLayout,
}

impl<M: Maintainer> Summarized<M> {
    /// Groups with the companions of their query, each maintained as `make` says; all without rows.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn new<P>(
        groups: M,
        companions: &[Companion<P>],
        make: impl Fn(&P) -> Result<M>,
    ) -> Result<Self> {
        let of = groups.grouped();
        let mut payload_layout = of.auxiliary.payload_layout().clone();
        let mut values = Vec::with_capacity(companions.len());
        for (number, companion) in companions.iter().enumerate() {
            payload_layout.push(PayloadField::Summary);
            values.push((
                number,
                Auxiliary::new(companion, of, make(&companion.plan)?),
            ));
        }
        Ok(Self {
            values: Auxiliaries::new(values, Vec::new()),
            payload_layout,
            groups,
        })
    }
}

impl<M: Maintainer> Grouped for Summarized<M> {
    fn grouped(&self) -> ResultTable<'_> {
        ResultTable {
            auxiliary: self,
            ..self.groups.grouped()
        }
    }
}

impl<M: Maintainer> AuxiliaryPayload for Summarized<M> {
    fn payload_layout(&self) -> &PayloadLayout {
        &self.payload_layout
    }

    fn fill(&self, keys: &[Vec<u64>], rows: &mut [u64], when: When<'_>) {
        self.values.fill(&self.payload_layout, keys, rows, when);
    }

    fn touched(&self) -> Vec<(Vec<Vec<u64>>, usize)> {
        self.values.touched()
    }
}

impl<M: Maintainer> HoldsStrings for Summarized<M> {
    fn mark_strings(&self, held: &mut LiveIds) {
        self.groups.mark_strings(held);
        self.values.mark_strings(held);
    }

    fn string_words(&self) -> usize {
        self.groups.string_words() + self.values.string_words()
    }

    fn forget_strings(&mut self, gone: &FreedIds) {
        self.groups.forget_strings(gone);
        self.values.forget_strings(gone);
    }
}

impl<M: Maintainer> Maintainer for Summarized<M> {
    fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        self.groups.apply(rows, budget)?;
        self.values.apply(rows, budget)
    }

    fn freeze(&mut self) {
        self.groups.freeze();
        self.values.freeze();
    }

    fn prepare(&mut self, dictionary: &Dictionary, budget: &Budget<'_>) -> Result<()> {
        self.groups.prepare(dictionary, budget)?;
        self.values.prepare(dictionary, budget)
    }

    fn commit(&mut self, dictionary: &Dictionary) -> Option<Relocated> {
        self.values.commit(dictionary);
        self.groups.commit(dictionary)
    }

    fn rollback(&mut self) {
        self.groups.rollback();
        self.values.rollback();
    }

    fn values(&self) -> Vec<ResultTable<'_>> {
        self.values.rows()
    }

    fn explanation(&self) -> Explanation {
        self.groups.explanation()
    }

    fn memory_usage(&self) -> usize {
        self.groups.memory_usage() + self.values.memory_usage(false).sum::<usize>()
    }

    fn bytes(&self) -> usize {
        self.groups.bytes() + self.values.memory_usage(true).sum::<usize>()
    }

    fn steps(&self) -> u64 {
        self.groups.steps() + self.values.steps()
    }

    fn check(&self) {
        self.groups.check();
        self.values.check();
    }
}
