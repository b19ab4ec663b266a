//! Shape of a factorised result: unions of products, and the columns that each union holds.
//!
//! Invariant: unions are numbered in preorder, so the subtree of a union is a range. A column is
//! held by the topmost union whose view has its variable: below it the variable is bound.

use std::ops::Range;

use crate::plan::Plan;
use ringview_core::Type;
use ringview_query::{OutputKind, VarId};

use crate::maintained::Maintained;
use ringview_view::fields::{Aspect, Fields};

/// The variables that a result shows, each once.
pub(crate) fn columns(plan: &Plan) -> Vec<VarId> {
    let mut shown = Vec::new();
    for output in &plan.outputs {
        if let OutputKind::Group { variable } = output.kind
            && !shown.contains(&variable)
        {
            shown.push(variable);
        }
    }
    shown
}

/// The rows of a view that agree on some fields: one entry a key, each the product of its branches.
#[derive(Clone, Debug)]
pub(crate) struct Union {
    /// The view whose groups they are.
    pub(crate) node: usize,
    /// Its index on the fields that are bound from above.
    pub(crate) index: usize,
    /// Branches below each entry; none below the rows of a relation, which repeat as often as their
    /// payload says.
    pub(crate) branches: Vec<Branch>,
    pub(crate) is_relation: bool,
    /// Whether it holds columns of the result itself.
    pub(crate) has_columns: bool,
    /// Itself and the unions below it.
    pub(crate) subtree: Range<usize>,
}

/// One factor of a product.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    /// The view whose payloads count its rows.
    pub(crate) count: usize,
    /// The fields of the entry's key that make the key of the count and of the union's group.
    pub(crate) key: Vec<usize>,
    /// Its rows; none where a relation has nothing but what is bound already.
    pub(crate) union: Option<usize>,
}

/// A column of the result.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) union: usize,
    /// Fields of the key in the union's view.
    pub(crate) word: usize,
    pub(crate) high: Option<usize>,
    pub(crate) null: Option<usize>,
    pub(crate) ty: Type,
}

/// The whole.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) unions: Vec<Union>,
    pub(crate) root: Branch,
    pub(crate) columns: Vec<Column>,
}

impl Shape {
    /// Reads the shape off the plan's tree, and adds the indexes that it is walked by.
    pub(crate) fn compile(plan: &Plan, tree: &mut dyn Maintained) -> Shape {
        let fields = tree.fields().clone();
        let mut compiler = Compiler {
            plan,
            fields: &fields,
            tree,
            unions: Vec::new(),
        };
        let root = compiler.branch(plan.tree.root, &[]);
        let mut unions = compiler.unions;
        let mut columns = Vec::with_capacity(plan.outputs.len());
        for output in &plan.outputs {
            let OutputKind::Group { variable } = output.kind else {
                continue;
            };
            let holds = |u: &Union| plan.tree.nodes[u.node].keys.contains(&variable);
            let Some(union) = unions.iter().position(holds) else {
                continue;
            };
            unions[union].has_columns = true;
            let keys = fields.of_all(&plan.tree.nodes[unions[union].node].keys);
            let field = |aspect: Aspect| {
                keys.iter().position(|&id| {
                    let field = fields.field(id);
                    field.variable == variable && field.aspect == aspect
                })
            };
            columns.push(Column {
                union,
                word: field(Aspect::Word).unwrap_or(0),
                high: field(Aspect::High),
                null: field(Aspect::Null),
                ty: output.ty.clone(),
            });
        }
        Shape {
            unions,
            root,
            columns,
        }
    }

    /// Whether a union or one below it holds columns.
    pub(crate) fn is_visible(&self, union: usize) -> bool {
        let subtree = self.unions[union].subtree.clone();
        self.unions[subtree].iter().any(|u| u.has_columns)
    }
}

struct Compiler<'a> {
    plan: &'a Plan,
    fields: &'a Fields,
    tree: &'a mut dyn Maintained,
    unions: Vec<Union>,
}

impl Compiler<'_> {
    /// The branch at a view, under entries whose key has the fields `above`.
    fn branch(&mut self, node: usize, above: &[usize]) -> Branch {
        let view = &self.plan.tree.nodes[node];
        let bound = self.fields.of_all(&view.keys);
        let key = positions(&bound, above);
        let union = match view.children[..] {
            // A relation with nothing of its own, right under a product.
            [] => None,
            [only] => Some(self.union(only, &bound)),
            _ => Some(self.union(node, &bound)),
        };
        Branch {
            count: node,
            key,
            union,
        }
    }

    fn union(&mut self, node: usize, bound: &[usize]) -> usize {
        let view = &self.plan.tree.nodes[node];
        let fields = self.fields.of_all(&view.keys);
        let indexed = positions(bound, &fields);
        let index = self
            .tree
            .table_mut(node)
            .map(|table| table.add_index(&indexed));
        let id = self.unions.len();
        self.unions.push(Union {
            node,
            index: index.unwrap_or(0),
            branches: Vec::new(),
            is_relation: view.atom.is_some(),
            has_columns: false,
            subtree: id..id,
        });
        // The keys have met the indicator projections already.
        let nodes = &self.plan.tree.nodes;
        let children = view.children.iter().copied();
        let children = children.filter(|&child| nodes[child].indicator.is_none());
        let branches = children.map(|child| self.branch(child, &fields)).collect();
        let end = self.unions.len();
        self.unions[id].branches = branches;
        self.unions[id].subtree = id..end;
        id
    }
}

/// Positions of `fields` in `all`.
fn positions(fields: &[usize], all: &[usize]) -> Vec<usize> {
    let place = |field: &usize| all.iter().position(|other| other == field);
    fields.iter().filter_map(place).collect()
}
