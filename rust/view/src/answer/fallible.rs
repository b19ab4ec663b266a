//! What a transaction made of a result can be shown, or the transaction is refused.
//!
//! Invariant: a view that has settled can be read. Of each group that the running transaction moved,
//! every column that might not fit its type has been computed once. What fits as it is kept, counts and sums of
//! one integer component, is not looked at: a view of those alone settles in O(1), any other in
//! O(groups moved).

use ringview_core::{Dictionary, Result, Type};
use ringview_query::{Computed, ComputedOp, Having, OutputKind, PlanOutput};
use ringview_relation::SlotChange;
use ringview_ring::NumberKind;

use super::assembler::{Assembler, Outputs};
use super::members::Members;
use super::rows::ResultRows;
use crate::part::PartRows;

/// What of a result may not fit.
#[derive(Debug)]
pub struct Fallible {
    /// The outputs, by position.
    outputs: Vec<usize>,
    /// Whether more than the payload in the part is needed to tell: keys, and what stands beside it.
    whole: bool,
}

impl Fallible {
    /// What may not fit of the groups of a query; `None` if all will.
    #[must_use]
    pub fn of(query: Outputs<'_>, members: &Members) -> Option<Self> {
        let measures = query.measures.iter();
        let measures: Vec<bool> = measures.map(|one| may_fail(members, one)).collect();
        let computed = |value: &Computed| arithmetic(value) || measures.contains(&true);
        let fails = |output: &&PlanOutput| match &output.kind {
            OutputKind::Computed { value } => computed(value),
            _ => may_fail(members, output),
        };
        let all = query.columns.iter().enumerate();
        let found = all.filter(|(_, output)| fails(output));
        let outputs: Vec<usize> = found.map(|(at, _)| at).collect();
        let having = query.having;
        let decides = having.is_some_and(|having| measures.contains(&true) || condition(having));
        let is_computed = |output: &PlanOutput| matches!(output.kind, OutputKind::Computed { .. });
        let whole = having.is_some() || outputs.iter().any(|&at| is_computed(&query.columns[at]));
        (decides || !outputs.is_empty()).then_some(Self { outputs, whole })
    }

    /// Whether the groups that the running transaction touched are fit to be shown.
    ///
    /// # Errors
    /// `Overflow`; the transaction must then be undone.
    pub(crate) fn check(&self, groups: &PartRows<'_>, dictionary: &Dictionary) -> Result<()> {
        let (part, assembler) = (groups.part, groups.assembler(dictionary));
        // What has no rows any more goes, and shows nothing that could overflow.
        let there = |slot: &u32| part.is_live(*slot) && part.payload(*slot)[0] != 0;
        if !self.whole {
            let touched = part.changes().map(|change| match change {
                SlotChange::New(slot) | SlotChange::Was(slot, _) => slot,
            });
            let mut touched = touched.filter(there);
            return touched.try_for_each(|slot| self.check_row(part.payload(slot), &assembler));
        }
        let touched = groups.touched().into_iter().map(|(slot, _)| slot);
        let slots: Vec<u32> = touched.filter(there).collect();
        if slots.is_empty() {
            return Ok(());
        }
        let rows = ResultRows::settling(part, &slots, groups.further, dictionary);
        assembler.check(rows, &self.outputs)
    }

    /// The same of one row, whose payload tells all of them.
    fn check_row(&self, payload: &[u64], assembler: &Assembler<'_>) -> Result<()> {
        let outputs = self
            .outputs
            .iter()
            .map(|&at| &assembler.outputs.columns[at]);
        let mut cells = outputs.filter_map(|output| assembler.members.cell(payload, output));
        cells.try_for_each(|cell| cell.map(drop))
    }
}

/// Whether a column that is read from payloads may not fit its type.
fn may_fail(members: &Members, output: &PlanOutput) -> bool {
    let OutputKind::Sum { terms, .. } = &output.kind else {
        return false;
    };
    // 64 bits always fit the 38 digits that are shown.
    let wide = |&term: &usize| members.element(term).kind == NumberKind::Decimal;
    terms.len() > 1 || terms.iter().any(wide)
}

/// Whether an expression computes what may not fit its type.
fn arithmetic(value: &Computed) -> bool {
    let exact = matches!(value.ty, Type::Int64 | Type::Decimal { .. });
    match &value.op {
        ComputedOp::Null
        | ComputedOp::Number { .. }
        | ComputedOp::Text { .. }
        | ComputedOp::Measure { .. } => false,
        ComputedOp::Add { left, right }
        | ComputedOp::Subtract { left, right }
        | ComputedOp::Multiply { left, right }
        | ComputedOp::Divide { left, right } => exact || arithmetic(left) || arithmetic(right),
        ComputedOp::Negate { operand } | ComputedOp::Scale { operand, .. } => {
            exact || arithmetic(operand)
        }
        ComputedOp::Real { operand, .. } => arithmetic(operand),
        ComputedOp::Coalesce { operands } => operands.iter().any(arithmetic),
        ComputedOp::NullIf {
            operand,
            left,
            right,
        } => [operand, left, right]
            .into_iter()
            .any(|side| arithmetic(side)),
    }
}

fn condition(having: &Having) -> bool {
    match having {
        Having::Constant { .. } => false,
        Having::Compare { left, right, .. } => arithmetic(left) || arithmetic(right),
        Having::Like { operand, .. } | Having::IsNull { operand } => arithmetic(operand),
        Having::And { operands } | Having::Or { operands } => operands.iter().any(condition),
        Having::Not { operand } => condition(operand),
    }
}
