//! The payloads of COFACTOR: which view covers which features, and where each is lifted.
//!
//! A payload covers only the features below its view and is assembled upward (paper, section 7.2).
//! Every feature is lifted at a leaf, where its rows are read. One that relations join on could be
//! lifted at any of theirs, and is at the one with the fewest variables, then features: that is
//! mostly a dimension, whose payload is computed seldom and read often.
//! Invariant: the features of an inner view are those of its children, each child's together, the
//! fewest first: the rows of a product's matrix that mix two factors are those of the first
//! features. The root covers all.

use ringview_core::Result;

use crate::plan::build::planned;
use crate::plan::payload::Payload;
use crate::plan::{
    CategoryPair, CofactorPlan, Companion, Component, Plan, Planning, Source, ViewTree,
};
use ringview_query::{Factor, Features, PlanAtom, Variable};

impl CofactorPlan {
    /// Plans the payloads of some features, adding the leaves' components to `payload`.
    pub(crate) fn new(
        features: Features,
        atoms: &[PlanAtom],
        variables: &[Variable],
        tree: &ViewTree,
        payload: &mut Payload<'_>,
        planning: Planning,
    ) -> Result<CofactorPlan> {
        let mut found = CofactorPlan {
            names: features.names,
            nodes: vec![Vec::new(); tree.nodes.len()],
            not_null: vec![Vec::new(); atoms.len()],
            categories: planned(features.categories, planning)?,
            pairs: Vec::new(),
        };
        for pair in features.pairs {
            found.pairs.push(CategoryPair {
                left: pair.left,
                right: pair.right,
                counts: pair.counts.map(|bound| Plan::new(bound, planning))?,
            });
        }
        let own = |place: &&(usize, usize)| variable(**place, variables).is_none();
        let mut local = vec![0; atoms.len()];
        for &(atom, _) in features.numeric.iter().filter(own) {
            local[atom] += 1;
        }
        for (feature, &place) in features.numeric.iter().enumerate() {
            let (atom, column) = lifted_at(place, variables, &local);
            found.refuse_null((atom, column), atoms);
            let leaf = tree.nodes.iter().position(|node| node.atom == Some(atom));
            let leaf = leaf.unwrap_or(tree.root);
            let value = Features::value(&atoms[atom], column)?;
            let kind = value.kind;
            let source = Source::Leaf(Factor {
                not_null: Vec::new(),
                value: Some(value),
            });
            payload.append(leaf, Component { kind, source });
            found.nodes[leaf].push(feature);
        }
        for &place in &features.categorical {
            found.refuse_null(place, atoms);
        }
        // Children precede their parents.
        for (id, node) in tree.nodes.iter().enumerate() {
            if node.is_inner() {
                let below = node.children.iter().map(|child| &found.nodes[*child]);
                let mut parts: Vec<Vec<usize>> = below.cloned().collect();
                parts.sort_by_key(Vec::len);
                found.nodes[id] = parts.concat();
            }
        }
        Ok(found)
    }

    /// Every companion: a categorical feature each, then a pair each.
    pub fn companions(&self) -> impl Iterator<Item = &Companion> {
        let pairs = self.pairs.iter().map(|pair| &pair.counts);
        self.categories.iter().chain(pairs)
    }

    /// A row with NULL in a column is refused, unless it joins on it and so is no row of the join.
    fn refuse_null(&mut self, (atom, column): (usize, usize), atoms: &[PlanAtom]) {
        let nullable = atoms[atom].schema.fields()[column].nullable;
        if nullable && !atoms[atom].join_columns_not_null.contains(&column) {
            self.not_null[atom].push(column);
        }
    }
}

/// The variable of a column.
fn variable(place: (usize, usize), variables: &[Variable]) -> Option<&Variable> {
    variables.iter().find(|variable| variable.holds(place))
}

/// The column at which a feature is lifted: its own, or one that equals it.
fn lifted_at(place: (usize, usize), variables: &[Variable], features: &[usize]) -> (usize, usize) {
    let Some(variable) = variable(place, variables) else {
        return place;
    };
    let arity = |atom: usize| {
        let has = |variable: &&Variable| variable.columns.iter().any(|(of, _)| *of == atom);
        variables.iter().filter(has).count()
    };
    let columns = variable.columns.iter().copied();
    let best = columns.min_by_key(|&(atom, _)| (arity(atom), features[atom], atom));
    best.unwrap_or(place)
}
