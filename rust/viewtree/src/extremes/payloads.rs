//! Source of the payloads of values: the ends of each group of a batch.
//!
//! Invariant: NULL is no value; a row that leaves is refused. Cost: two comparisons a row and value.

use ringview_core::{Batch, Column, Dictionary, Error, FreedIds, Result};
use ringview_ring::{Extremes, ExtremesProduct, ExtremesShape, Groups, Origin, raise_both};
use ringview_view::read::{AtomProgram, Selection};

use super::order::Order;
use crate::factors::Factored;
use crate::plan::{ExtremeValue, ExtremesPlan, Plan};
use crate::program::ProductPlan;
use crate::tree::payloads::at_leaf;
use crate::tree::{Payloads, Recentred};

/// Source of the payloads of values.
#[derive(Clone, Debug)]
pub(crate) struct ExtremePayloads {
    /// By node, its values.
    nodes: Vec<Vec<usize>>,
    shapes: Vec<ExtremesShape>,
    /// By node.
    leaves: Vec<Option<Leaf>>,
}

#[derive(Clone, Debug)]
struct Leaf {
    program: AtomProgram,
    table: String,
    /// The columns of its values, in the order of its payload.
    columns: Vec<(usize, Order)>,
}

impl ExtremePayloads {
    pub(super) fn compile(plan: &Plan, extremes: &ExtremesPlan) -> Result<Self> {
        let values = |node: &Vec<usize>| -> Vec<&ExtremeValue> {
            node.iter().map(|&value| &extremes.values[value]).collect()
        };
        let shape = |node: &Vec<usize>| {
            let words = values(node).into_iter();
            ExtremesShape::new(words.map(|value| Order::of(&value.ty).words()).collect())
        };
        let leaf = |(node, of): (usize, &Vec<usize>)| {
            let Some(atom) = plan.tree.nodes[node].atom else {
                return Ok(None);
            };
            let columns = values(of).into_iter();
            let columns: Vec<(usize, Order)> = columns
                .map(|value| (value.column, Order::of(&value.ty)))
                .collect();
            // A value that is no number is refused, as it is where it is a key.
            let mut keys = plan.join_columns(node);
            keys.extend(columns.iter().map(|&(column, _)| column));
            Ok(Some(Leaf {
                program: AtomProgram::compile(&plan.atoms[atom], &keys, &[])?,
                table: plan.atoms[atom].table.clone(),
                columns,
            }))
        };
        let leaves = extremes.nodes.iter().enumerate().map(leaf);
        Ok(Self {
            leaves: leaves.collect::<Result<_>>()?,
            shapes: extremes.nodes.iter().map(shape).collect(),
            nodes: extremes.nodes.clone(),
        })
    }
}

impl ProductPlan<Extremes> for ExtremePayloads {
    fn shape(&self, node: usize) -> ExtremesShape {
        self.shapes[node].clone()
    }

    fn products(
        &self,
        _: &Plan,
        node: usize,
        from: usize,
        siblings: &[usize],
    ) -> Vec<ExtremesProduct> {
        let all = &self.shapes[node];
        let words = |value: &usize| {
            let at = self.nodes[node].iter().position(|other| other == value);
            all.words(at.unwrap_or_default())
        };
        let shape = |values: &[usize]| ExtremesShape::new(values.iter().map(words).collect());
        let mut left = self.nodes[from].clone();
        let product = |&sibling: &usize| {
            let right = &self.nodes[sibling];
            let mut both: Vec<usize> = left.iter().chain(right).copied().collect();
            both.sort_unstable();
            let find = |values: &[usize], value: usize| values.iter().position(|&own| own == value);
            let origin = |&value: &usize| match find(&left, value) {
                Some(own) => Origin::Left(own),
                None => Origin::Right(find(right, value).unwrap_or_default()),
            };
            let origins: Vec<_> = both.iter().map(origin).collect();
            let (own, other) = (shape(&left), &self.shapes[sibling]);
            let product = ExtremesProduct::new(&own, other, &shape(&both), &origins);
            left = both;
            product
        };
        siblings.iter().map(product).collect()
    }
}

/// Values are counted from nothing.
impl Recentred for ExtremePayloads {}

impl Factored for ExtremePayloads {}

impl Payloads for ExtremePayloads {
    type Ring = Extremes;

    const CAN_WAIT: bool = true;

    fn select(
        &mut self,
        leaf: usize,
        batch: &Batch,
        dictionary: &Dictionary,
        into: &mut Selection,
    ) -> Result<()> {
        at_leaf(&mut self.leaves, leaf)
            .program
            .select(batch, dictionary, into)
    }

    fn read(
        &mut self,
        leaf: usize,
        batch: &Batch,
        selection: &Selection,
        sign: i64,
        groups: Groups<'_>,
        out: &mut Vec<u64>,
    ) -> Result<()> {
        let shape = &self.shapes[leaf];
        let leaf = at_leaf(&mut self.leaves, leaf);
        let leaves = batch.multiplicity.iter().flatten().any(|&times| times < 0);
        if sign < 0 || leaves {
            return Err(Error::Value {
                place: format!("the rows of table {:?}", leaf.table),
                problem: "a row leaves a table that never changes".to_owned(),
            });
        }
        let stride = shape.stride();
        out.clear();
        out.resize(groups.len() * stride, 0);
        out.iter_mut()
            .step_by(stride)
            .for_each(|is_there| *is_there = 1);
        for (value, &(column, order)) in leaf.columns.iter().enumerate() {
            let column = batch.column(column);
            let rows = (selection, groups);
            let to = (shape.at(value), stride, &mut out[..]);
            match order {
                Order::Decimal => raise_rows(column, rows, to, |row| {
                    [column.words[row], order.number(column.high(row))]
                }),
                Order::Unsigned => raise_rows(column, rows, to, |row| [column.words[row]]),
                Order::Signed => {
                    raise_rows(column, rows, to, |row| {
                        [Order::Signed.number(column.words[row])]
                    });
                }
                Order::Real => {
                    raise_rows(column, rows, to, |row| {
                        [Order::Real.number(column.words[row])]
                    });
                }
            }
        }
        Ok(())
    }

    fn forget_strings(&mut self, gone: &FreedIds) {
        let leaves = self.leaves.iter_mut().flatten();
        leaves.for_each(|leaf| leaf.program.forget_strings(gone));
    }

    fn memory_usage(&self) -> usize {
        let leaves = self.leaves.iter().flatten();
        leaves.map(|leaf| leaf.program.memory_usage()).sum()
    }
}

/// Adds the values of the selected rows to the numbers of their groups, which are stored at `at`.
#[inline(always)]
fn raise_rows<const WORDS: usize>(
    column: &Column,
    (selection, groups): (&Selection, Groups<'_>),
    (at, stride, out): (usize, usize, &mut [u64]),
    number: impl Fn(usize) -> [u64; WORDS],
) {
    let (rows, mut group) = (selection.rows(), groups.cursor());
    for position in 0..selection.len() {
        let row = rows.map_or(position, |rows| rows[position] as usize);
        let to = group.at(position) * stride + at;
        if !column.is_null(row) {
            raise_both(&mut out[to..], number(row));
        }
    }
}
