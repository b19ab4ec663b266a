//! Rows of tables in, groups out: machines behind the trait of all views.
//!
//! Invariant: between transactions the part has the groups of the query, and beside it stand the
//! values of columns by group whose least and greatest are shown, or how many there are. Cost: that
//! of the machines.
//!
//! | file | holds |
//! |---|---|
//! | `groups` | the groups of a machine as a relation |
//! | `beside` | MIN, MAX and COUNT(DISTINCT): the values of a column by group |
//! | `payload` | numbers of a machine as words |
//! | `texts` | which strings a machine may hold |

mod beside;
mod groups;
mod payload;
mod texts;

use arrow_array::RecordBatch;
use ringview_core::{Dictionary, Gone, Held, HoldsStrings, Meter, Result};
use ringview_explain::Explanation;
use ringview_query::Bound;
use ringview_view::RowDelta;
use ringview_view::part::partial::write_groups;
use ringview_view::part::{Grouped, Keeper, PartRows};

use crate::plan::Plan;
use beside::Beside;
use groups::Groups;

/// Groups, and what stands beside them.
#[derive(Debug)]
pub(crate) struct Correlated {
    groups: Groups,
    beside: Beside,
}

impl Correlated {
    pub(crate) fn new(plan: Plan) -> Result<Self> {
        let companions = plan.companions.clone();
        let groups = Groups::new(plan)?;
        let beside = Beside::new(companions, groups.rows())?;
        Ok(Self { groups, beside })
    }
}

impl Grouped for Correlated {
    fn grouped(&self) -> PartRows<'_> {
        PartRows {
            further: &self.beside,
            ..self.groups.rows()
        }
    }
}

impl HoldsStrings for Correlated {
    fn mark_strings(&self, held: &mut Held) {
        self.groups.mark_strings(held);
        self.beside.mark_strings(held);
    }

    fn string_words(&self) -> usize {
        self.groups.string_words() + self.beside.string_words()
    }

    fn forget_strings(&mut self, gone: &Gone) {
        self.groups.forget_strings(gone);
        self.beside.forget_strings(gone);
    }
}

impl Keeper for Correlated {
    fn apply(&mut self, rows: RowDelta<'_>, meter: &Meter<'_>) -> Result<()> {
        self.groups.apply(rows, meter)?;
        self.beside.apply(rows, meter)
    }

    fn seal(&mut self) {
        self.groups.seal();
        self.beside.seal();
    }

    fn settle(&mut self, _dictionary: &Dictionary, meter: &Meter<'_>) -> Result<()> {
        self.groups.settle(meter)?;
        self.beside.settle(&mut self.groups, meter)
    }

    fn commit(&mut self, dictionary: &Dictionary) {
        self.groups.commit();
        self.beside.commit(dictionary);
    }

    fn rollback(&mut self) {
        self.groups.rollback();
        self.beside.rollback();
    }

    fn partial(
        &self,
        query: &Bound,
        reading: (&Dictionary, &Meter<'_>),
    ) -> Result<Vec<RecordBatch>> {
        let values = self.beside.rows().collect();
        write_groups(query, self.grouped(), values, reading)
    }

    fn explanation(&self) -> Explanation {
        let plan = self.groups.plan();
        plan.explanation(&self.groups.machine().description())
    }

    fn memory_usage(&self) -> usize {
        self.groups.memory_usage() + self.beside.memory_usage()
    }

    fn steps(&self) -> u64 {
        self.groups.machine().steps() + self.beside.steps()
    }

    fn check(&self) {
        self.groups.check();
        self.beside.check();
    }
}
