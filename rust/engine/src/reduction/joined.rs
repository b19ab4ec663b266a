//! The join columns of the atoms, by classes of equal columns.
//!
//! Invariant: a row of the join has one value in all columns of a class; a subquery's row is compared only with rows of the
//! join that have its values. Columns of floats and decimals are left out: NaN, and values of two words. Cost: linear in
//! the query.

use ringview_core::Type;
use ringview_query::nested::{Block, Condition, Value};
use ringview_query::{Bound, Comparison, VarId};

/// A column of an atom that must have a value of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JoinColumn {
    pub(crate) column: usize,
    pub(crate) class: usize,
}

/// The join columns of a query.
#[derive(Debug, Default)]
pub(crate) struct JoinColumns {
    /// By atom.
    pub(crate) atoms: Vec<Vec<JoinColumn>>,
    /// Number of classes.
    pub(crate) classes: usize,
    /// Number of atoms of the join: those behind them belong to subqueries.
    pub(crate) joined: usize,
    /// The classes of single variables.
    pub(crate) variables: Vec<(VarId, usize)>,
}

impl JoinColumns {
    /// Those of a query, and those of some variables more that join nothing.
    pub(crate) fn of(query: &Bound, more: &[VarId]) -> Self {
        let mut all = Self {
            atoms: vec![Vec::new(); query.atoms.len() + query.inner.len()],
            classes: 0,
            joined: query.atoms.len(),
            variables: Vec::new(),
        };
        for (id, variable) in query.variables.iter().enumerate() {
            let joins = variable.columns.len() > 1 || more.contains(&id);
            if joins && is_word(&variable.ty) {
                let class = all.classes;
                for &(atom, column) in &variable.columns {
                    all.atoms[atom].push(JoinColumn { column, class });
                }
                all.variables.push((id, class));
                all.classes += 1;
            }
        }
        if let Some(condition) = &query.condition {
            let outermost: Vec<usize> = (0..query.atoms.len()).collect();
            condition.blocks(&mut |block| all.add_subquery(query, block, &[&outermost]));
        }
        all
    }

    /// Adds the columns by which a subquery is correlated by equality; `around` are the relations of its outer blocks, the
    /// outermost first.
    fn add_subquery(&mut self, query: &Bound, block: &Block, around: &[&[usize]]) {
        let mut blocks = around.to_vec();
        blocks.push(&block.relations);
        let schemas: Vec<_> = query.all_atoms().map(|atom| &atom.schema).collect();
        for condition in block.condition.conjuncts() {
            let Condition::Compare(Value::Column(left), Comparison::Eq, Value::Column(right)) =
                condition
            else {
                continue;
            };
            let (own, outer) = match (left.depth, right.depth) {
                (0, 1..) => (left, right),
                (1.., 0) => (right, left),
                _ => continue,
            };
            let atom_of =
                |depth: usize, relation: usize| blocks[blocks.len() - 1 - depth][relation];
            let (inner, outer_atom) = (
                atom_of(0, own.relation),
                atom_of(outer.depth, outer.relation),
            );
            let fields = |atom: usize| schemas[atom].fields();
            let field = fields(inner).get(own.column);
            let other = fields(outer_atom).get(outer.column);
            let (Some(field), Some(other)) = (field, other) else {
                continue;
            };
            if outer_atom < self.joined && field.ty == other.ty && is_word(&field.ty) {
                let class = self.class_of(outer_atom, outer.column);
                let column = own.column;
                self.atoms[inner].push(JoinColumn { column, class });
            }
        }
        (block.condition).blocks(&mut |inner| self.add_subquery(query, inner, &blocks));
    }

    /// The class of a column of an atom that joins; a new one where it has none.
    fn class_of(&mut self, atom: usize, column: usize) -> usize {
        let mut known = self.atoms[atom].iter();
        if let Some(known) = known.find(|one| one.column == column) {
            return known.class;
        }
        let class = self.classes;
        self.classes += 1;
        self.atoms[atom].push(JoinColumn { column, class });
        class
    }
}

/// Whether equal values of a type are equal words, and no other values are.
fn is_word(ty: &Type) -> bool {
    !ty.is_float() && !matches!(ty, Type::Decimal { .. })
}
