//! What a transaction made of a result can be shown, or the transaction is refused.
//!
//! Invariant: a view that has settled can be read. Of each group that the running transaction moved,
//! every column that might not fit its type has been computed once. What fits as it is kept, counts and sums of
//! one integer component, is not looked at: a view of those alone settles in O(1), any other in
//! O(groups moved).

use ringview_core::Type;
use ringview_query::{Computed, ComputedOp, Having, Kind, OutputKind, PlanOutput};

use crate::plan::Plan;

/// What of a result may not fit.
#[derive(Debug)]
pub(crate) struct Fallible {
    /// The outputs, by position.
    pub(crate) outputs: Vec<usize>,
    /// Whether more than the tree's payload is needed to tell: keys, and what stands beside it.
    pub(crate) whole: bool,
}

impl Fallible {
    /// What may not fit of a plan's result; `None` if all will.
    pub(crate) fn of(plan: &Plan) -> Option<Self> {
        if plan.bag.is_some() {
            return None;
        }
        let measures: Vec<bool> = plan
            .measures
            .iter()
            .map(|one| may_fail(plan, one))
            .collect();
        let computed = |value: &Computed| arithmetic(value) || measures.contains(&true);
        let fails = |output: &&PlanOutput| match &output.kind {
            OutputKind::Computed { value } => computed(value),
            _ => may_fail(plan, output),
        };
        let all = plan.outputs.iter().enumerate();
        let found = all.filter(|(_, output)| fails(output));
        let outputs: Vec<usize> = found.map(|(at, _)| at).collect();
        let having = plan.having.as_ref();
        let decides = having.is_some_and(|having| measures.contains(&true) || condition(having));
        let is_computed = |output: &PlanOutput| matches!(output.kind, OutputKind::Computed { .. });
        let whole = having.is_some() || outputs.iter().any(|&at| is_computed(&plan.outputs[at]));
        (decides || !outputs.is_empty()).then_some(Self { outputs, whole })
    }
}

/// Whether a column that is read from payloads may not fit its type.
fn may_fail(plan: &Plan, output: &PlanOutput) -> bool {
    let OutputKind::Sum { terms, .. } = &output.kind else {
        return false;
    };
    let root = &plan.payload.nodes[plan.tree.root];
    let decimal = |&term: &usize| matches!(root[term].kind, Kind::Decimal { .. });
    terms.len() > 1 || terms.iter().any(decimal)
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
