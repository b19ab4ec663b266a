//! MIN and MAX over relations that never change: which values payloads of their own hold.
//!
//! Invariant: a value is lifted at one leaf, and a view has those of the leaves below it, ascending.
//! Values that need more than their ends stay with companions: those that are counted too, and strings, whose
//! order only the dictionary has. Cost: values times nodes.

use ringview_query::{Bound, OutputKind};

use crate::plan::{Companion, ExtremeValue, ExtremesPlan, ViewTree};

impl ExtremesPlan {
    /// That of a query over its tree; `None` if a row of a relation may leave, or no value is left to it.
    pub(crate) fn new(query: &Bound, companions: &[Companion], tree: &ViewTree) -> Option<Self> {
        if query
            .atoms
            .iter()
            .any(|atom| !atom.is_static || atom.cancels)
        {
            return None;
        }
        let outputs = || query.outputs.iter().chain(&query.measures);
        let is_counted = |number: usize| {
            outputs().any(|output| output.kind == OutputKind::Distinct { companion: number })
        };
        let value = |(number, companion): (usize, &Companion)| {
            let [value] = &companion.values[..] else {
                return None;
            };
            let columns = &companion.plan.variables[value.variable].columns;
            let &(atom, column) = columns.first()?;
            let is_read = companion.ordered && !value.ty.is_interned() && !is_counted(number);
            is_read.then(|| ExtremeValue {
                companion: number,
                atom,
                column,
                ty: value.ty.clone(),
            })
        };
        let values: Vec<ExtremeValue> = companions.iter().enumerate().filter_map(value).collect();
        if values.is_empty() {
            return None;
        }
        let mut nodes: Vec<Vec<usize>> = Vec::with_capacity(tree.nodes.len());
        for node in &tree.nodes {
            let of_atom = |&value: &usize| node.atom == Some(values[value].atom);
            let mut own: Vec<usize> = (0..values.len()).filter(of_atom).collect();
            for &child in &node.children {
                own.extend_from_slice(&nodes[child]);
            }
            own.sort_unstable();
            nodes.push(own);
        }
        Some(Self { values, nodes })
    }
}
