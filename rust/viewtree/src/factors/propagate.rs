//! The way of a factorised delta from its leaf to the root.

use ringview_core::{Budget, Result};
use ringview_relation::join::{Access, Level, Matches, Path, Step};
use ringview_relation::{ABSENT, Delta, GatherScratch, KeyScratch, KeyedTable, Keys};
use ringview_ring::{PayloadRing, Rows, SumProduct};

use super::factor::{DeltaFactor, Layouts};
use crate::tree::Tree;
use crate::tree::payloads::SumProductPayloads;

/// Rows of a product that are multiplied out at a time.
const BLOCK: usize = 1 << 16;

type SumTree = Tree<SumProductPayloads>;

/// Takes the factors of a delta from the leaf to the root, or along all branches.
pub(super) fn propagate(
    tree: &mut SumTree,
    path: &Path<SumProduct>,
    mut factors: Vec<DeltaFactor>,
    budget: &Budget<'_>,
) -> Result<()> {
    let mut from = path.from;
    for level in &path.levels {
        let picks = tree.payloads.picks(&tree.plan, level.into, from);
        for factor in &mut factors {
            let picked = factor.pick_as_is(&picks);
            picked.map_err(|fault| tree.refuse(level.into, fault))?;
        }
        for step in &level.steps {
            if factors.iter().any(|factor| factor.delta.rows == 0) {
                return Ok(());
            }
            join(tree, path, (level, step), &mut factors, budget)?;
        }
        keep(tree, path, level.into, &level.keys, &mut factors)?;
        store(tree, level.into, &level.keys, &mut factors, budget)?;
        from = level.into;
    }
    for branch in &path.branches {
        let end = path.end_keys();
        let own = factors.iter().map(|factor| factor.on_branch((end, branch)));
        propagate(tree, branch, own.collect(), budget)?;
    }
    Ok(())
}

fn layouts<'a>(tree: &'a SumTree, path: &'a Path<SumProduct>) -> Layouts<'a> {
    Layouts {
        fields: &tree.fields,
        of: &path.fields,
    }
}

/// Sums away what is not named, in each factor alone. A factor without keys is a number: it is
/// multiplied into another.
fn keep(
    tree: &SumTree,
    path: &Path<SumProduct>,
    node: usize,
    registers: &[usize],
    factors: &mut Vec<DeltaFactor>,
) -> Result<()> {
    let refuse = |fault| tree.refuse(node, fault);
    for factor in factors.iter_mut() {
        factor
            .keep(registers, layouts(tree, path))
            .map_err(refuse)?;
    }
    while factors.len() > 1 {
        let Some(at) = factors
            .iter()
            .position(|factor| factor.registers.is_empty())
        else {
            break;
        };
        let number = factors.remove(at);
        if let Some(other) = factors.iter_mut().min_by_key(|factor| factor.delta.rows) {
            *other = other.whole_product(&number).map_err(refuse)?;
        }
    }
    Ok(())
}

/// One step of a level: what shares variables with the sibling becomes one factor and meets it.
fn join(
    tree: &mut SumTree,
    path: &Path<SumProduct>,
    (level, step): (&Level<SumProduct>, &Step<SumProduct>),
    factors: &mut Vec<DeltaFactor>,
    budget: &Budget<'_>,
) -> Result<()> {
    let shared: &[usize] = match &step.access {
        Access::Probe(keys) => keys,
        Access::Walk { bound, .. } => bound,
        Access::Scan { .. } => &[],
    };
    let (mut met, apart): (Vec<DeltaFactor>, Vec<DeltaFactor>) =
        factors.drain(..).partition(|factor| factor.has_any(shared));
    *factors = apart;
    if met.is_empty() {
        // A sibling without common variables: the smallest factor takes it in.
        let smallest = (0..factors.len()).min_by_key(|&at| factors[at].delta.rows);
        met.extend(smallest.map(|at| factors.swap_remove(at)));
    }
    met.sort_by_key(|factor| factor.delta.rows);
    let mut met = met.into_iter();
    let Some(mut one) = met.next() else {
        return Ok(());
    };
    for other in met {
        reserve(tree, level.into, &[&one, &other], budget)?;
        one = one
            .whole_product(&other)
            .map_err(|fault| tree.refuse(level.into, fault))?;
    }
    tree.work.steps += one.delta.rows as u64;
    tree.met(level.into, one.delta.rows, budget)?;
    match &step.access {
        Access::Probe(keys) => probe(tree, level, step.relation, keys, &mut one)?,
        _ => walk(tree, path, (level, step), &mut one, budget)?,
    }
    let kept = one.keep(&step.live, layouts(tree, path));
    kept.map_err(|fault| tree.refuse(level.into, fault))?;
    factors.push(one);
    Ok(())
}

/// u := u * S where each row has at most one match.
fn probe(
    tree: &mut SumTree,
    level: &Level<SumProduct>,
    sibling: usize,
    keys: &[usize],
    factor: &mut DeltaFactor,
) -> Result<()> {
    let Some(table) = tree.views[sibling].filled() else {
        factor.delta.rows = 0;
        return Ok(());
    };
    let mut slots = Vec::new();
    let wanted = Keys {
        columns: &factor.delta.columns,
        fields: keys,
        rows: factor.delta.rows,
    };
    table.find(wanted, &mut KeyScratch::default(), &mut slots);
    let rows: Vec<u32> = (0u32..)
        .zip(&slots)
        .filter(|(_, slot)| **slot != ABSENT)
        .map(|(row, _)| row)
        .collect();
    slots.retain(|&slot| slot != ABSENT);
    let registers = factor.registers.clone();
    factor
        .delta
        .gather(&registers, &rows, &mut GatherScratch::default());
    let picks = tree.payloads.picks(&tree.plan, level.into, sibling);
    let right = (table.payloads(), &slots[..], tree.views[sibling].shape());
    let multiplied = factor.multiplied(Rows::Picked(&rows), right, &picks);
    (factor.delta.payload, factor.shape) =
        multiplied.map_err(|fault| tree.refuse(level.into, fault))?;
    Ok(())
}

/// u := u * S where a row may have many matches: a block of pairs at a time, each summed down to
/// what is needed afterwards.
fn walk(
    tree: &mut SumTree,
    path: &Path<SumProduct>,
    (level, step): (&Level<SumProduct>, &Step<SumProduct>),
    factor: &mut DeltaFactor,
    budget: &Budget<'_>,
) -> Result<()> {
    let sibling = step.relation;
    let words = SumProduct::stride(tree.views[level.into].shape());
    let found = tree.views[sibling].table_mut();
    let Some(table) = found.filter(|table| !table.is_empty()) else {
        factor.delta.rows = 0;
        return Ok(());
    };
    let mut matches = Matches::default();
    let scratch = &mut KeyScratch::default();
    matches.find(table, &step.access, &factor.delta, words, scratch);
    let mut sum: Option<DeltaFactor> = None;
    let mut folded = 0;
    loop {
        let Some(table) = tree.views[sibling].table() else {
            return Ok(());
        };
        let last = matches.next_block(table, factor.delta.rows);
        let pairs = matches.slots.len();
        let mut block = paired(factor, &step.live, path.registers, &matches, table);
        let picks = tree.payloads.picks(&tree.plan, level.into, sibling);
        let right = (
            table.payloads(),
            &matches.slots[..],
            tree.views[sibling].shape(),
        );
        let multiplied = factor.multiplied(Rows::Picked(&matches.rows), right, &picks);
        (block.delta.payload, block.shape) =
            multiplied.map_err(|fault| tree.refuse(level.into, fault))?;
        block.delta.rows = pairs;
        tree.work.steps += pairs as u64;
        tree.met(level.into, pairs, budget)?;
        let folding = match &mut sum {
            None => {
                sum = Some(block);
                true
            }
            Some(sum) => {
                sum.append(block);
                sum.delta.rows >= 2 * folded + BLOCK
            }
        };
        if let Some(sum) = sum.as_mut().filter(|_| folding || last) {
            let folding = sum.fold(layouts(tree, path));
            folding.map_err(|fault| tree.refuse(level.into, fault))?;
            folded = sum.delta.rows;
        }
        if last {
            break;
        }
    }
    if let Some(sum) = sum {
        *factor = sum;
    }
    Ok(())
}

/// A block of pairs: the registers that are needed afterwards, from the rows or from their matches.
fn paired(
    factor: &DeltaFactor,
    live: &[usize],
    registers: usize,
    matches: &Matches,
    table: &KeyedTable,
) -> DeltaFactor {
    let mut block = DeltaFactor {
        registers: Vec::new(),
        shape: factor.shape.clone(),
        delta: Delta::with_registers(registers),
    };
    for &register in live {
        if !matches.fills(register) && !factor.registers.contains(&register) {
            continue;
        }
        let column = &mut block.delta.columns[register];
        matches.fill(register, table, &factor.delta, column);
        block.registers.push(register);
    }
    block
}

/// V := V + the product of the factors, if the view is kept: multiplied out a block at a time.
pub(super) fn store(
    tree: &mut SumTree,
    node: usize,
    keys: &[usize],
    factors: &mut [DeltaFactor],
    budget: &Budget<'_>,
) -> Result<()> {
    let rows = factors.iter().map(|factor| factor.delta.rows);
    tree.views[node].reached_by(rows.sum());
    if tree.views[node].table().is_none() {
        return Ok(());
    }
    // The largest last: the product of the others is held whole.
    factors.sort_by_key(|factor| factor.delta.rows);
    let Some((last, others)) = factors.split_last() else {
        return Ok(());
    };
    let shape = tree.views[node].shape().clone();
    let Some((first, more)) = others.split_first() else {
        let mut whole = last.clone();
        if whole.shape != shape {
            let own: Vec<usize> = (0..shape.elements().len()).collect();
            let picked = whole.pick(&own, shape);
            picked.map_err(|fault| tree.refuse(node, fault))?;
        }
        return add(tree, node, keys, whole.delta);
    };
    let mut rest = first.clone();
    for factor in more {
        reserve(tree, node, &[&rest, factor], budget)?;
        rest = rest
            .whole_product(factor)
            .map_err(|fault| tree.refuse(node, fault))?;
    }
    let rows = rest.delta.rows.saturating_mul(last.delta.rows);
    let mut start = 0;
    while start < rows {
        let block = BLOCK.min(rows - start);
        let product = rest.product(last, (start, block), Some(&shape));
        let product = product.map_err(|fault| tree.refuse(node, fault))?;
        add(tree, node, keys, product.delta)?;
        tree.met(node, block, budget)?;
        start += block;
    }
    Ok(())
}

/// Whether there is room for the product of factors, which is held whole.
fn reserve(
    tree: &SumTree,
    node: usize,
    factors: &[&DeltaFactor],
    budget: &Budget<'_>,
) -> Result<()> {
    let each = factors.iter().map(|factor| factor.delta.rows as u64);
    let rows = each.fold(1u64, u64::saturating_mul);
    let registers = factors.iter().map(|factor| factor.registers.len());
    let words = registers.sum::<usize>() + SumProduct::stride(tree.views[node].shape());
    budget.reserve(
        rows.saturating_mul(8 * words as u64),
        || format!("the product of factors, of {rows} rows"),
        "apply it as rows, or in smaller factors",
    )
}

fn add(tree: &mut SumTree, node: usize, keys: &[usize], mut delta: Delta) -> Result<()> {
    tree.work.steps += delta.rows as u64;
    let (mut scratch, mut spare) = (KeyScratch::default(), GatherScratch::default());
    let added = tree.views[node].add(&mut delta, keys, &mut scratch, &mut spare);
    added.map_err(|fault| tree.refuse(node, fault))
}
