//! The factors of a leaf: the rows that take part, what the leaf computes of them, local columns
//! summed away.
//!
//! Factors that a condition or an expression ties together are multiplied out first, row by row.

use crate::plan::{LeafFactor, Plan, split_leaf};
use ringview_core::{Batch, Budget, Dictionary, Result};
use ringview_query::PlanAtom;
use ringview_relation::join::Path;
use ringview_relation::{Delta, GatherScratch, Grouper};
use ringview_ring::{PayloadRing, SumProduct, SumProductShape};
use ringview_view::FactorRows;
use ringview_view::answer::number_kind;
use ringview_view::read::{AtomProgram, LiftedRows, Selection, key_column};

use super::factor::{DeltaFactor, Layouts};
use crate::tree::Tree;
use crate::tree::payloads::SumProductPayloads;

/// The factors of the delta of a leaf.
pub(super) fn read(
    tree: &mut Tree<SumProductPayloads>,
    path: &Path<SumProduct>,
    (rows, sign): (&[FactorRows], i64),
    dictionary: &Dictionary,
    budget: &Budget<'_>,
) -> Result<Vec<DeltaFactor>> {
    let atom = tree.plan.tree.nodes[path.from].atom.unwrap_or_default();
    let columns = rows.iter().map(|factor| factor.columns.len()).sum();
    let mut owners = vec![0; columns];
    for (at, factor) in rows.iter().enumerate() {
        for &column in &factor.columns {
            owners[column] = at;
        }
    }
    let parts = split_leaf(&tree.plan, path.from, &owners, rows.len())?;
    let mut factors = Vec::with_capacity(parts.len());
    for (at, part) in parts.iter().enumerate() {
        let product;
        let batch = match part.factors[..] {
            [only] => &rows[only].batch,
            ref several => {
                let tied: Vec<&FactorRows> = several.iter().map(|&one| &rows[one]).collect();
                let all = FactorRows::product_rows(&tied)?;
                let words = owners.len() as u64 + 1;
                budget.reserve(
                    (all as u64).saturating_mul(8 * words),
                    || format!("the product of factors that an expression ties, of {all} rows"),
                    "apply it as rows, or in smaller factors",
                )?;
                product = FactorRows::multiplied_out(&tied, 0, all)?;
                &product
            }
        };
        let owned = |column: usize| part.factors.contains(&owners[column]);
        // The sign counts once.
        let sign = if at == 0 { sign } else { 1 };
        factors.push(one(
            tree,
            path,
            (atom, part),
            (batch, sign),
            owned,
            dictionary,
        )?);
    }
    Ok(factors)
}

/// The factor that a part of the leaf makes of its rows.
fn one(
    tree: &mut Tree<SumProductPayloads>,
    path: &Path<SumProduct>,
    (atom, part): (usize, &LeafFactor),
    (batch, sign): (&Batch, i64),
    owned: impl Fn(usize) -> bool,
    dictionary: &Dictionary,
) -> Result<DeltaFactor> {
    let mut program = compile(&tree.plan, (path.from, part), &owned)?;
    let kinds: Vec<_> = program.kinds().map(number_kind).collect();
    let shape = SumProductShape::new(&kinds);
    let mut selection = Selection::default();
    program.select(batch, dictionary, &mut selection)?;
    tree.work.steps += batch.rows as u64;
    let mut delta = Delta::with_registers(path.registers);
    delta.rows = selection.len();
    let mut registers = Vec::new();
    for &register in &path.keys {
        let field = tree.fields.field(path.fields[register]);
        let columns = &tree.plan.variables[field.variable].columns;
        let Some(&(_, column)) = columns.iter().find(|(of, _)| *of == atom) else {
            continue;
        };
        if owned(column) {
            registers.push(register);
            let out = &mut delta.columns[register];
            key_column(field.aspect, batch.column(column), &selection, out);
        }
    }
    let layouts = Layouts {
        fields: &tree.fields,
        of: &path.fields,
    };
    let layout = layouts.layout(&registers);
    let mut grouper = Grouper::default();
    grouper.group(&delta.columns, &registers, delta.rows, &layout, true);
    let leaf = LiftedRows {
        batch,
        selection: &selection,
        sign,
        groups: grouper.groups(),
        stride: SumProduct::stride(&shape),
    };
    leaf.read(&mut program, &shape, &mut delta.payload)?;
    if let Some(rows) = grouper.representatives() {
        delta.gather(&registers, rows, &mut GatherScratch::default());
    }
    Ok(DeltaFactor {
        registers,
        shape,
        delta,
    })
}

/// Program of a part of a leaf for sums, over the columns that are `owned`.
fn compile(
    plan: &Plan,
    (leaf, part): (usize, &LeafFactor),
    owned: impl Fn(usize) -> bool,
) -> Result<AtomProgram> {
    let own = |columns: &[usize]| -> Vec<usize> {
        let columns = columns.iter().copied();
        columns.filter(|&column| owned(column)).collect()
    };
    let whole = &plan.atoms[plan.tree.nodes[leaf].atom.unwrap_or_default()];
    let own_atom = PlanAtom {
        filter: part.filter.clone(),
        join_columns_not_null: own(&whole.join_columns_not_null),
        ..whole.clone()
    };
    let keys = own(&plan.join_columns(leaf));
    AtomProgram::compile_long(&own_atom, &keys, &part.components)
}
