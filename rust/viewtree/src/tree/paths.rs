//! The paths of a tree, and the sources of its leaves' keys.
//!
//! Invariant: they are those of the plan and the shapes of the payloads alone. Cost: once a plan, and again where shapes
//! change.

use std::ops::Range;
use std::sync::Arc;

use ringview_relation::join::Path;
use ringview_relation::{Delta, Relation};
use ringview_ring::PayloadRing;
use ringview_view::fields::Fields;

use super::indicator::{Indicator, Watch};
use super::state::{KeyColumn, Leaf};
use crate::plan::Plan;
use crate::program::{ProductPlan, Program};

/// The compiled paths of a tree.
pub(super) struct Paths<R: PayloadRing> {
    pub(super) leaves: Vec<Leaf<R>>,
    /// By atom.
    pub(super) leaves_of: Vec<Range<usize>>,
    /// Those of the indicator projections, in the order of the nodes.
    pub(super) projections: Vec<Arc<Path<R>>>,
}

impl<R: PayloadRing> Paths<R> {
    pub(super) fn compile(
        plan: &Plan,
        fields: &Fields,
        payloads: &dyn ProductPlan<R>,
        views: &mut [Relation<R>],
    ) -> Self {
        let nodes = &plan.tree.nodes;
        let met = plan.all_siblings_met();
        let packing = fields.packing();
        let mut compile = |node: usize| {
            let program = Program {
                plan,
                fields,
                ring: payloads,
                met: &met,
            };
            Arc::new(program.path(node, &packing, views))
        };
        let (mut leaves, mut leaves_of) = (Vec::new(), Vec::new());
        for own in plan.leaves() {
            let first = leaves.len();
            for leaf in own {
                let path = compile(leaf);
                leaves.push(Leaf {
                    delta: Delta::with_registers(path.registers),
                    key_columns: key_columns(plan, fields, leaf),
                    path,
                });
            }
            leaves_of.push(first..leaves.len());
        }
        let projections = (0..nodes.len()).filter(|&node| nodes[node].indicator.is_some());
        let projections = projections.map(&mut compile).collect();
        Self {
            leaves,
            leaves_of,
            projections,
        }
    }
}

/// Leaves in which no change looks up a key take keys that are in order as they are.
pub(super) fn keep_order<R: PayloadRing>(
    leaves: &[Leaf<R>],
    projections: &[Arc<Path<R>>],
    views: &mut [Relation<R>],
) {
    let paths = || leaves.iter().map(|leaf| &leaf.path).chain(projections);
    for leaf in leaves.iter().map(|leaf| leaf.path.from) {
        let table = views[leaf].table_mut();
        if let Some(table) = table.filter(|_| !paths().any(|path| path.looks_up(leaf))) {
            table.keep_order();
        }
    }
}

/// The columns of an atom's table that the key of its leaf is made of.
fn key_columns(plan: &Plan, fields: &Fields, leaf: usize) -> Vec<KeyColumn> {
    let node = &plan.tree.nodes[leaf];
    let of = |id: usize| {
        let field = fields.field(id);
        let mut columns = plan.variables[field.variable].columns.iter();
        let column = columns.find(|(atom, _)| Some(*atom) == node.atom);
        let Some(&(_, column)) = column else {
            unreachable!("the key of a leaf is made of columns of its table")
        };
        KeyColumn {
            aspect: field.aspect,
            column,
        }
    };
    fields.of_all(&node.keys).into_iter().map(of).collect()
}

/// The indicator projections, given by their paths, by atom.
pub(super) fn watches<R: PayloadRing>(
    plan: &Plan,
    fields: &Fields,
    views: &[Relation<R>],
    projections: Vec<Arc<Path<R>>>,
) -> Vec<Option<Watch<R>>> {
    let mut of: Vec<Vec<Indicator<R>>> = plan.atoms.iter().map(|_| Vec::new()).collect();
    let nodes = &plan.tree.nodes;
    for path in projections {
        let projection = &nodes[path.from];
        let leaf = nodes
            .iter()
            .position(|n| n.atom.is_some() && n.atom == projection.indicator);
        let Some((leaf, table)) = leaf.and_then(|leaf| Some((&nodes[leaf], views[leaf].table()?)))
        else {
            continue;
        };
        let variables = projection.keys.iter();
        let positions = variables.flat_map(|&v| fields.positions(&leaf.keys, v));
        let positions = positions.collect();
        of[leaf.atom.unwrap_or_default()].push(Indicator::new(path, table, positions));
    }
    of.into_iter()
        .map(|indicators| (!indicators.is_empty()).then(|| Watch::new(indicators)))
        .collect()
}
