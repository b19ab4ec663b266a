//! A leaf split by its columns: what each factor of a factorised delta contributes.
//!
//! A delta dR = u * v over disjoint columns stays a product above the leaf if what the leaf computes of
//! a row is one: a condition on u and one on v, and for each component a number of u times
//! one of v (paper, section 5). A conjunct or a factor of a product that reads columns of both ties
//! them together; factors that are tied are one.
//!
//! Cost: the size of the leaf's expressions.

use ringview_core::Result;

use crate::plan::{Component, Plan, Source};
use ringview_query::{Factor, Op, Polynomial, Predicate, all};

/// Program of one of the independent parts of a leaf.
#[derive(Clone, Debug, PartialEq)]
pub struct LeafFactor {
    /// The factors that it is made of.
    pub factors: Vec<usize>,
    /// Condition on rows to take part; all do where absent.
    pub filter: Option<Predicate>,
    /// Its factor of each component of the leaf; 1 where absent.
    pub components: Vec<Option<Factor>>,
}

/// Splits the leaf at `node`. `owners` names the factor of each column of its table, `factors` says
/// how many there are.
///
/// # Errors
/// `Overflow` if constants multiply to one that does not fit.
pub fn split_leaf(
    plan: &Plan,
    node: usize,
    owners: &[usize],
    factors: usize,
) -> Result<Vec<LeafFactor>> {
    let atom = plan.tree.nodes[node].atom.unwrap_or_default();
    let conjuncts: Vec<&Predicate> = match &plan.atoms[atom].filter {
        None => Vec::new(),
        Some(Predicate::And { operands }) => operands.iter().collect(),
        Some(filter) => vec![filter],
    };
    let components = &plan.payload.nodes[node];
    let mut ties = Ties::new(factors);
    for conjunct in &conjuncts {
        ties.tie(owners, |see| conjunct.each_column(see));
    }
    for expr in components.iter().filter_map(value) {
        for multiplicand in multiplicands(expr) {
            ties.tie(owners, |see| multiplicand.each_column(see));
        }
    }
    let mut parts: Vec<LeafFactor> = ties
        .groups()
        .into_iter()
        .map(|factors| LeafFactor {
            factors,
            filter: None,
            components: vec![None; components.len()],
        })
        .collect();
    let mut filters: Vec<Vec<Predicate>> = vec![Vec::new(); parts.len()];
    for conjunct in conjuncts {
        let column = first(|see| conjunct.each_column(see));
        filters[factor_of(&parts, owners, column)].push(conjunct.clone());
    }
    for (part, conjuncts) in parts.iter_mut().zip(filters) {
        part.filter = (!conjuncts.is_empty()).then(|| all(conjuncts));
    }
    for (at, component) in components.iter().enumerate() {
        if let Source::Leaf(factor) = &component.source {
            hand_out(&mut parts, owners, at, factor)?;
        }
    }
    Ok(parts)
}

/// The part that owns a column; what reads no column belongs to the first one.
fn factor_of(parts: &[LeafFactor], owners: &[usize], column: Option<usize>) -> usize {
    let owner = column.map(|column| owners[column]);
    let has = |part: &LeafFactor| owner.is_some_and(|owner| part.factors.contains(&owner));
    parts.iter().position(has).unwrap_or(0)
}

/// Gives each part what it owns of the factor of a component.
fn hand_out(parts: &mut [LeafFactor], owners: &[usize], at: usize, factor: &Factor) -> Result<()> {
    for &column in &factor.not_null {
        let part = factor_of(parts, owners, Some(column));
        own(&mut parts[part], at).not_null.push(column);
    }
    for multiplicand in factor.value.iter().flat_map(multiplicands) {
        let column = first(|see| multiplicand.each_column(see));
        let part = factor_of(parts, owners, column);
        let own = own(&mut parts[part], at);
        own.value = Some(match own.value.take() {
            Some(value) => value.multiply(multiplicand.clone())?,
            None => multiplicand.clone(),
        });
    }
    Ok(())
}

fn value(component: &Component) -> Option<&Polynomial> {
    match &component.source {
        Source::Leaf(factor) => factor.value.as_ref(),
        Source::Count | Source::Product { .. } => None,
    }
}

/// A part's factor of a component.
fn own(part: &mut LeafFactor, component: usize) -> &mut Factor {
    part.components[component].get_or_insert_with(|| Factor {
        not_null: Vec::new(),
        value: None,
    })
}

fn first(columns: impl FnOnce(&mut dyn FnMut(usize))) -> Option<usize> {
    let mut found = None;
    columns(&mut |column| found = found.or(Some(column)));
    found
}

/// The factors of a product, left to right.
fn multiplicands(expr: &Polynomial) -> Vec<&Polynomial> {
    match &expr.op {
        Op::Multiply { left, right } => {
            let mut all = multiplicands(left);
            all.extend(multiplicands(right));
            all
        }
        _ => vec![expr],
    }
}

/// Factors that are tied together: a forest, each points to a lower one or itself.
struct Ties {
    to: Vec<usize>,
}

impl Ties {
    fn new(factors: usize) -> Self {
        Self {
            to: (0..factors).collect(),
        }
    }

    fn root(&self, mut factor: usize) -> usize {
        while self.to[factor] != factor {
            factor = self.to[factor];
        }
        factor
    }

    /// Ties the owners of some columns.
    fn tie(&mut self, owners: &[usize], columns: impl FnOnce(&mut dyn FnMut(usize))) {
        let mut before = None;
        columns(&mut |column| {
            let root = self.root(owners[column]);
            let with = before.unwrap_or(root);
            let (low, high) = (root.min(with), root.max(with));
            self.to[high] = low;
            before = Some(low);
        });
    }

    fn groups(&self) -> Vec<Vec<usize>> {
        let of = |root: usize| {
            let all = 0..self.to.len();
            all.filter(|&factor| self.root(factor) == root).collect()
        };
        let roots = (0..self.to.len()).filter(|&factor| self.to[factor] == factor);
        roots.map(of).collect()
    }
}
