//! From terms to components: which number each view carries for which term.
//!
//! A term runs down the tree: at a leaf it is a factor over the row, at an inner node the product of
//! the children's components (paper, section 2, aggregation by marginalisation). Terms that agree
//! below a node share its component. Values are lifted at leaves, where rows are read; a factor over
//! one joined variable could be lifted in any relation that has it, and is in the one nearest to the
//! root, so that the fewest views carry more than the count. Cost: terms times nodes.

use std::collections::BTreeMap;

use ringview_core::{Result, Type};

use crate::plan::{Component, Source, SumProduct, ViewTree};
use ringview_query::{Factor, Kind, Op, Polynomial, Term, Variable};

/// One product over the whole tree: what each atom contributes, 1 where absent.
type Monomial = BTreeMap<usize, Factor>;

/// Collects the components of a tree.
pub(crate) struct Payload<'a> {
    tree: &'a ViewTree,
    variables: &'a [Variable],
    nodes: Vec<Vec<Component>>,
    terms: Vec<usize>,
}

impl<'a> Payload<'a> {
    /// A payload with the counts alone.
    pub(crate) fn new(tree: &'a ViewTree, variables: &'a [Variable]) -> Result<Payload<'a>> {
        let nodes = vec![Vec::new(); tree.nodes.len()];
        let mut payload = Payload {
            tree,
            variables,
            nodes,
            terms: Vec::new(),
        };
        // Children precede their parents, so every count finds its children's counts in place.
        for node in 0..tree.nodes.len() {
            payload.component(node, &Monomial::default())?;
        }
        Ok(payload)
    }

    /// Adds a component to a leaf, whether or not an equal one is there.
    pub(crate) fn append(&mut self, leaf: usize, component: Component) {
        self.nodes[leaf].push(component);
    }

    pub(crate) fn finish(self) -> SumProduct {
        SumProduct {
            nodes: self.nodes,
            terms: self.terms,
        }
    }

    /// Adds the next term of the query.
    pub(crate) fn term(&mut self, term: &Term) -> Result<()> {
        let mut monomial = required(&term.not_null);
        for (atom, factor) in &term.factors {
            let mut factors = Vec::new();
            split(factor.clone(), &mut factors);
            for factor in factors {
                self.assign(*atom, factor, &mut monomial)?;
            }
        }
        self.scale(&term.coefficient, &mut monomial)?;
        let place = self.component(self.tree.root, &monomial)?;
        self.terms.push(place);
        Ok(())
    }

    /// Puts a factor of an atom where it is cheapest.
    fn assign(&self, mut atom: usize, mut factor: Polynomial, to: &mut Monomial) -> Result<()> {
        if let Some(variable) = self.variable(atom, &factor) {
            // Its columns are encoded alike, and rows with NULL in one of them join with nothing.
            let columns = variable.columns.iter();
            if let Some(&(other, column)) = columns.min_by_key(|(atom, _)| self.depth(*atom)) {
                factor.read_from(column, &variable.ty);
                atom = other;
            }
        }
        let leaf = to.entry(atom).or_insert_with(one);
        leaf.value = Some(match leaf.value.take() {
            Some(own) => own.multiply(factor)?,
            None => factor,
        });
        Ok(())
    }

    /// The variable that an expression is over, if it is just one and never NULL.
    fn variable(&self, atom: usize, expr: &Polynomial) -> Option<&Variable> {
        let mut columns = Vec::new();
        expr.each_column(&mut |column| columns.push(column));
        let first = (atom, *columns.first()?);
        let found = self.variables.iter().find(|v| v.holds(first))?;
        let alone = columns.iter().all(|column| found.holds((atom, *column)));
        // A decimal that joins with integers has words of its own.
        let alike = matches!(found.ty, Type::Decimal { .. }) || !expr.reads_decimals();
        (alone && alike && !found.nullable).then_some(found)
    }

    /// Multiplies one factor by the coefficient; without factors, one leaf near the root.
    fn scale(&self, coefficient: &Polynomial, to: &mut Monomial) -> Result<()> {
        if coefficient.kind == Kind::Int && coefficient.is_one() {
            return Ok(());
        }
        let with_value = to.values_mut().find(|leaf| leaf.value.is_some());
        if let Some(leaf) = with_value {
            let value = leaf.value.take().unwrap_or_else(|| Polynomial::int(1));
            leaf.value = Some(coefficient.clone().multiply(value)?);
        } else {
            let atoms = self.tree.nodes.iter().filter_map(|node| node.atom);
            let highest = atoms.min_by_key(|atom| self.depth(*atom)).unwrap_or(0);
            let leaf = to.entry(highest).or_insert_with(one);
            leaf.value = Some(coefficient.clone());
        }
        Ok(())
    }

    /// Number of views above its leaf that must carry what is lifted in an atom.
    fn depth(&self, atom: usize) -> usize {
        let nodes = &self.tree.nodes;
        let leaf = nodes.iter().position(|node| node.atom == Some(atom));
        let above = |node: &usize| nodes[*node].parent();
        std::iter::successors(leaf, above).count()
    }

    /// A node's component for a monomial, shared with an equal one.
    fn component(&mut self, node: usize, monomial: &Monomial) -> Result<usize> {
        let view = &self.tree.nodes[node];
        let (kind, source) = match view.atom {
            Some(atom) => leaf(monomial.get(&atom)),
            // An indicator is 1 for every monomial.
            None if view.indicator.is_some() => leaf(None),
            None => {
                let mut kind = Kind::Int;
                let mut children = Vec::with_capacity(view.children.len());
                for child in &view.children {
                    let component = self.component(*child, monomial)?;
                    kind = kind.product(self.nodes[*child][component].kind)?;
                    children.push(component);
                }
                (kind, Source::Product { children })
            }
        };
        let component = Component { kind, source };
        let components = &mut self.nodes[node];
        if let Some(known) = components.iter().position(|c| *c == component) {
            return Ok(known);
        }
        components.push(component);
        Ok(components.len() - 1)
    }
}

fn leaf(factor: Option<&Factor>) -> (Kind, Source) {
    match factor {
        None => (Kind::Int, Source::Count),
        Some(factor) => {
            let kind = factor.value.as_ref().map_or(Kind::Int, |value| value.kind);
            (kind, Source::Leaf(factor.clone()))
        }
    }
}

fn one() -> Factor {
    Factor {
        not_null: Vec::new(),
        value: None,
    }
}

fn required(not_null: &BTreeMap<usize, Vec<usize>>) -> Monomial {
    let factor = |columns: &Vec<usize>| Factor {
        not_null: columns.clone(),
        value: None,
    };
    not_null
        .iter()
        .map(|(atom, columns)| (*atom, factor(columns)))
        .collect()
}

/// The factors of a product.
fn split(expr: Polynomial, into: &mut Vec<Polynomial>) {
    match expr.op {
        Op::Multiply { left, right } => {
            split(*left, into);
            split(*right, into);
        }
        _ => into.push(expr),
    }
}
