//! Documented invariants of a plan, checked from first principles.

use std::collections::{BTreeMap, BTreeSet};

use ringview_query::{Kind, OrderNode, OutputKind, VarId};
use ringview_viewtree::plan::{Plan, Source};

/// Panics unless every promise holds.
pub fn check(plan: &Plan) {
    order(plan);
    tree(plan);
    stored(plan);
    components(plan);
    outputs(plan);
    assert!(plan.explain().contains(&plan.view(plan.tree.root)));
}

fn of_atom(plan: &Plan, atom: usize) -> BTreeSet<VarId> {
    let has = |id: &VarId| plan.variables[*id].columns.iter().any(|(a, _)| *a == atom);
    (0..plan.variables.len()).filter(has).collect()
}

/// Each variable occurs once; each atom's variables lie on one path.
fn order(plan: &Plan) {
    fn walk(nodes: &[OrderNode], above: &[VarId], paths: &mut BTreeMap<VarId, Vec<VarId>>) {
        for node in nodes {
            let path: Vec<VarId> = above.iter().copied().chain([node.variable]).collect();
            walk(&node.children, &path, paths);
            assert!(paths.insert(node.variable, path).is_none(), "placed twice");
        }
    }
    let mut paths = BTreeMap::new();
    walk(&plan.order, &[], &mut paths);
    assert_eq!(paths.len(), plan.variables.len());
    for atom in 0..plan.atoms.len() {
        let own = of_atom(plan, atom);
        let on_one_path = |path: &Vec<VarId>| own.iter().all(|variable| path.contains(variable));
        assert!(own.is_empty() || paths.values().any(on_one_path));
    }
}

/// Keys follow from the children; each bound variable is marginalised at one node, with all its
/// atoms below.
fn tree(plan: &Plan) {
    let nodes = &plan.tree.nodes;
    assert_eq!(plan.tree.root, nodes.len() - 1);
    let mut below: Vec<BTreeSet<usize>> = Vec::new();
    let mut gone: BTreeSet<VarId> = BTreeSet::new();
    for (id, node) in nodes.iter().enumerate() {
        let mut atoms: BTreeSet<usize> = node.atom.into_iter().collect();
        let keys: BTreeSet<VarId> = node.keys.iter().copied().collect();
        assert_eq!(keys.len(), node.keys.len());
        for child in &node.children {
            assert!(*child < id, "children come first");
            assert_eq!(nodes[*child].parent(), Some(id));
            if nodes[*child].indicator.is_some() {
                continue;
            }
            let overlap = below[*child].iter().any(|atom| !atoms.insert(*atom));
            assert!(!overlap, "an atom occurs once");
        }
        match (node.atom, node.indicator) {
            (Some(atom), None) => {
                assert!(node.children.is_empty() && node.variables.is_empty());
                assert_eq!(keys, of_atom(plan, atom));
            }
            (_, Some(_)) => assert!(node.children.is_empty() && node.variables.is_empty()),
            (None, None) => {
                let joins = node
                    .children
                    .iter()
                    .filter(|c| nodes[**c].indicator.is_none());
                assert!(joins.count() > 1, "a view joins");
                let joined: BTreeSet<VarId> = node
                    .children
                    .iter()
                    .flat_map(|c| nodes[*c].keys.clone())
                    .collect();
                let bound = |id: &&VarId| !plan.variables[**id].free;
                for variable in node.variables.iter().filter(bound) {
                    assert!(joined.contains(variable));
                    assert!(gone.insert(*variable), "marginalised twice");
                    for (atom, _) in &plan.variables[*variable].columns {
                        assert!(atoms.contains(atom), "an atom left out");
                    }
                }
                let left: BTreeSet<VarId> = joined.difference(&gone).copied().collect();
                assert_eq!(keys, left);
                for child in &node.children {
                    let Some(atom) = nodes[*child].indicator else {
                        continue;
                    };
                    assert!(!atoms.contains(&atom), "from outside the subtree");
                    let shared: BTreeSet<VarId> =
                        of_atom(plan, atom).intersection(&joined).copied().collect();
                    assert_eq!(shared, nodes[*child].keys.iter().copied().collect());
                    assert!(shared.len() > 1 && shared.is_subset(&keys));
                }
            }
        }
        below.push(atoms);
    }
    let all: BTreeSet<usize> = (0..plan.atoms.len()).collect();
    assert_eq!(below[plan.tree.root], all);
    let bound = (0..plan.variables.len()).filter(|id| !plan.variables[*id].free);
    assert_eq!(gone, bound.collect());
    let free = (0..plan.variables.len()).filter(|id| plan.variables[*id].free);
    let root: BTreeSet<VarId> = nodes[plan.tree.root].keys.iter().copied().collect();
    assert_eq!(root, free.collect());
}

/// Figure 5, by brute force: what some atom's delta looks up, and the root.
fn stored(plan: &Plan) {
    let nodes = &plan.tree.nodes;
    let mut needed: BTreeSet<usize> = [plan.tree.root].into();
    for (leaf, node) in nodes.iter().enumerate() {
        let atom = node.atom.or(node.indicator);
        if atom.is_none_or(|atom| plan.atoms[atom].is_static) {
            continue;
        }
        if node.indicator.is_some() {
            needed.extend((0..nodes.len()).filter(|id| nodes[*id].atom == atom));
        }
        let mut at = leaf;
        while let Some(parent) = nodes[at].parent() {
            needed.extend(nodes[parent].children.iter().filter(|child| **child != at));
            at = parent;
        }
    }
    let stored = (0..nodes.len()).filter(|id| nodes[*id].stored);
    assert_eq!(needed, stored.collect());
}

fn components(plan: &Plan) {
    for (id, node) in plan.tree.nodes.iter().enumerate() {
        let own = &plan.payload.nodes[id];
        for (at, component) in own.iter().enumerate() {
            assert!(!own[..at].contains(component), "shared, not repeated");
            match &component.source {
                Source::Count => assert_eq!((at, node.is_inner()), (0, false)),
                Source::Leaf(factor) => {
                    assert!(node.atom.is_some() && at > 0);
                    let kind = factor.value.as_ref().map_or(Kind::Int, |value| value.kind);
                    assert_eq!(component.kind, kind);
                }
                Source::Product { children } => {
                    assert_eq!(children.len(), node.children.len());
                    let below = node.children.iter().zip(children);
                    let kinds: Vec<Kind> = below
                        .map(|(child, which)| plan.payload.nodes[*child][*which].kind)
                        .collect();
                    let count = children.iter().all(|which| *which == 0);
                    assert_eq!(at == 0, count);
                    assert_eq!(component.kind, product(&kinds));
                }
            }
        }
    }
}

fn product(kinds: &[Kind]) -> Kind {
    let decimal = |kind: &Kind| matches!(kind, Kind::Decimal { .. });
    if kinds.contains(&Kind::Real) {
        assert!(!kinds.iter().any(decimal), "real terms hold no decimals");
        return Kind::Real;
    }
    let scale = kinds.iter().map(|kind| match kind {
        Kind::Decimal { scale } => *scale,
        Kind::Int | Kind::Real => 0,
    });
    if kinds.iter().any(decimal) {
        Kind::Decimal { scale: scale.sum() }
    } else {
        Kind::Int
    }
}

fn outputs(plan: &Plan) {
    let root = &plan.payload.nodes[plan.tree.root];
    let kind = |term: &usize| root[plan.payload.terms[*term]].kind;
    for output in plan.outputs.iter().chain(&plan.measures) {
        match &output.kind {
            OutputKind::Group { variable } => assert!(plan.variables[*variable].free),
            OutputKind::Cofactor => assert!(plan.features().is_some()),
            OutputKind::Count { term } => assert_eq!(kind(term), Kind::Int),
            OutputKind::Sum { terms, nonnull }
            | OutputKind::SumRest { terms, nonnull }
            | OutputKind::Avg { terms, nonnull } => {
                assert_eq!(kind(nonnull), Kind::Int);
                let kinds: BTreeSet<String> = terms
                    .iter()
                    .map(|term| format!("{:?}", kind(term)))
                    .collect();
                assert_eq!(kinds.len(), 1);
            }
            OutputKind::Statistic { moments, .. } => {
                assert_eq!(kind(&moments.count), Kind::Int);
                let sums = [
                    &moments.x,
                    &moments.y,
                    &moments.xx,
                    &moments.xy,
                    &moments.yy,
                ];
                let places = &plan.payload.terms;
                assert!(
                    sums.into_iter()
                        .flatten()
                        .all(|term| places[*term] < root.len())
                );
            }
            OutputKind::Extreme { companion, .. } | OutputKind::Distinct { companion } => {
                let beside = &plan.companions[*companion];
                check(&beside.plan);
                let names = |plan: &Plan| plan.atoms.iter().map(|a| a.alias.clone()).collect();
                let (ours, theirs): (Vec<_>, Vec<_>) = (names(plan), names(&beside.plan));
                assert_eq!(ours, theirs, "a change of an atom is applied to both");
                assert!(
                    beside
                        .values
                        .iter()
                        .all(|value| beside.plan.variables[value.variable].free)
                );
                for (outer, inner) in &beside.groups {
                    let (outer, inner) = (&plan.variables[*outer], &beside.plan.variables[*inner]);
                    assert_eq!((&outer.columns, outer.free), (&inner.columns, inner.free));
                }
                for (atom, other) in plan.atoms.iter().zip(&beside.plan.atoms) {
                    assert!(other.columns.iter().all(|c| atom.columns.contains(c)));
                }
            }
            OutputKind::Computed { .. } => {}
            OutputKind::Row { .. } => panic!("a block that works row by row has no tree"),
        }
    }
}
