//! An expression part by part: each node over columns that represent its operands.
//!
//! Invariant: the type of an operand is computed once and then that of a column, where the library computes it again at
//! each node above, at some nodes twice: planning would double with each level. Literals, columns and tests of them for
//! NULL stay where they are, for rules look at these. Cost: O(1) a node, but for the work on it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_schema::FieldRef;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{Column, DFSchema, Result, TableReference};
use datafusion_expr::{Expr, ExprSchemable};

/// The beginning of the name of a part, before its number; no text spells it.
const PART: &str = "\u{1}part ";

/// Makes a part: given a node and the columns that it reads, the node that takes its place, and what is kept of it.
type Make<'m, 's, T> = dyn FnMut(&mut Parts<'s, T>, Expr, &DFSchema) -> Result<(Expr, T)> + 'm;

/// The parts of an expression, operands first.
pub(crate) struct Parts<'s, T> {
    schema: &'s DFSchema,
    made: Vec<(FieldRef, T)>,
}

impl<'s, T> Parts<'s, T> {
    pub(crate) fn over(schema: &'s DFSchema) -> Self {
        let made = Vec::new();
        Self { schema, made }
    }

    /// Makes the parts of an expression. Returns the last one, over the parts.
    pub(crate) fn make(&mut self, expr: Expr, make: &mut Make<'_, 's, T>) -> Result<Expr> {
        let done = expr.transform_up(|node| {
            if is_leaf(&node) {
                return Ok(Transformed::no(node));
            }
            let frame = self.frame(&node)?;
            let (node, kept) = make(self, node, &frame)?;
            if is_leaf(&node) {
                return Ok(Transformed::yes(node));
            }
            let field = node.to_field(&frame)?.1;
            let name = format!("{PART}{}", self.made.len());
            let field = Arc::new(field.as_ref().clone().with_name(&name));
            self.made.push((field, kept));
            Ok(Transformed::yes(Expr::Column(Column::from_name(name))))
        })?;
        Ok(done.data)
    }

    /// The value kept for the part that a column represents, if it represents one.
    pub(crate) fn of(&mut self, column: &str) -> Option<&mut T> {
        self.made.get_mut(number(column)?).map(|(_, kept)| kept)
    }

    /// A message with what `text` says of parts in the place of their names.
    pub(crate) fn said(&self, message: &str, text: impl Fn(&T) -> String) -> String {
        let parts = self.made.iter().enumerate().rev();
        parts.fold(message.to_owned(), |said, (at, (_, kept))| {
            let name = format!("{PART}{at}");
            match said.contains(&name) {
                true => said.replace(&name, &text(kept)),
                false => said,
            }
        })
    }

    /// The columns that a node reads.
    pub(crate) fn frame(&self, node: &Expr) -> Result<DFSchema> {
        // A column may be read by several names.
        let mut fields: BTreeMap<usize, (Option<TableReference>, FieldRef)> = BTreeMap::new();
        for column in node.column_refs() {
            let part = number(&column.name).and_then(|at| Some((at, self.made.get(at)?)));
            let (at, of, field) = match part {
                Some((at, (field, _))) => (self.schema.fields().len() + at, None, field),
                None => {
                    let at = self.schema.index_of_column(column)?;
                    let (of, field) = self.schema.qualified_field(at);
                    (at, of.cloned(), field)
                }
            };
            fields.insert(at, (of, Arc::clone(field)));
        }
        DFSchema::new_with_metadata(fields.into_values().collect(), HashMap::new())
    }
}

/// The number of the part that a column represents, if it represents one.
fn number(column: &str) -> Option<usize> {
    column.strip_prefix(PART)?.parse().ok()
}

/// Whether a column represents a part.
pub(crate) fn is_part(column: &Column) -> bool {
    column.name.starts_with(PART)
}

/// Whether a node stays among the operands of the one above.
fn is_leaf(node: &Expr) -> bool {
    match node {
        Expr::Literal(..) | Expr::Column(_) | Expr::OuterReferenceColumn(..) => true,
        Expr::IsNull(of) | Expr::IsNotNull(of) => {
            matches!(&**of, Expr::Column(column) if !is_part(column))
        }
        _ => false,
    }
}

/// The type of an expression and whether it may be NULL; shows each node over its operands. O(nodes).
pub(crate) fn field_of(
    expr: &Expr,
    schema: &DFSchema,
    see: &mut dyn FnMut(&Expr, &DFSchema),
) -> Result<FieldRef> {
    let mut parts = Parts::over(schema);
    let last = parts.make(expr.clone(), &mut |_, node, frame| {
        see(&node, frame);
        Ok((node, ()))
    })?;
    Ok(last.to_field(&parts.frame(&last)?)?.1)
}
