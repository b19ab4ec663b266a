//! Which queries the aggregate-index optimisation keeps (paper, section 4.3), and why others are not.
//!
//! Invariant: what is recognised is exact for every stream: columns are not NULL, sums exact. A block is a product
//! of relations, each chosen by conditions of its own: filters, and at most one comparison of something closed
//! with a column or with a chain of blocks, each correlated with the next by one inequality of keys that the
//! whole chain shares. Cost: linear in the query.

use super::grouped;
use super::indexed::Indexed;
use super::number::{Kind, Quantity};
use super::plan::{Aggregate, Block, Column, Comparison, Condition, Plan, Value, kind};
use super::products::terms;
use super::running::{self, Part, Role, Stage};
use super::threshold;

/// Why a query is kept by the general algorithm.
pub(super) type Why = &'static str;

/// One relation's chain, from the innermost block to the relation.
struct Chain {
    roles: Vec<Role>,
    stages: Vec<Stage>,
    /// Of each block, whether the next role's equal keys are admitted.
    admit: Vec<bool>,
    /// Whether keys grow downwards.
    mirrored: bool,
}

/// The optimised form of a query.
pub(super) fn recognise(plan: &Plan) -> Result<Indexed, Why> {
    let block = &plan.block;
    if !block.group.is_empty() {
        return Err("it has groups");
    }
    if block.relations.is_empty() {
        return Err("it has no relation");
    }
    let mut parts: Vec<Vec<&Condition>> = vec![Vec::new(); block.relations.len()];
    let mut gates = Vec::new();
    for one in block.condition.conjuncts() {
        let mut of = Vec::new();
        one.columns(&mut |column| of.push(column.relation));
        of.sort_unstable();
        of.dedup();
        match of[..] {
            [] => gates.push(one.clone()),
            [relation] => parts[relation].push(one),
            _ => return Err("a condition compares columns of two relations"),
        }
    }
    let mut sums = vec![Vec::new(); parts.len()];
    let terms = (block.aggregates.iter())
        .map(|aggregate| terms(plan, aggregate, &mut sums))
        .collect::<Result<Vec<_>, Why>>()?;
    let built = (parts.iter().zip(sums).enumerate())
        .map(|(relation, (conditions, sums))| part(plan, relation, conditions, sums))
        .collect::<Result<Vec<Box<dyn Part>>, Why>>()?;
    Ok(Indexed::new(plan, built, gates, terms))
}

/// The kind of a value over one table.
fn kind_in(plan: &Plan, table: usize, value: &Value) -> Kind {
    kind(value, &|column: Column| {
        Kind::of(&plan.tables[table][column.column].ty)
    })
}

/// A value over one table, exact and never NULL: its scale.
pub(super) fn exact(plan: &Plan, table: usize, value: &Value) -> Result<u8, Why> {
    let mut nullable = false;
    value.columns(&mut |column| nullable |= plan.tables[table][column.column].nullable);
    match kind_in(plan, table, value) {
        _ if nullable => Err("a column that may be NULL is aggregated"),
        Kind::Real => Err("doubles, or quotients, are aggregated"),
        Kind::Exact(scale) => Ok(scale),
    }
}

/// How one relation's rows are chosen.
fn part(
    plan: &Plan,
    relation: usize,
    conditions: &[&Condition],
    sums: Vec<(Value, u8)>,
) -> Result<Box<dyn Part>, Why> {
    let table = plan.block.relations[relation];
    let mut role = Role {
        table,
        filter: Vec::new(),
        key: None,
        tie: 0,
        sums,
    };
    let mut chosen = None;
    for &one in conditions {
        if !one.is_nested() {
            role.filter.push(flat(one));
            continue;
        }
        let comparison = closed_left(one)?;
        if chosen.replace(comparison).is_some() {
            return Err("a relation has two conditions with blocks");
        }
    }
    const WIDE: Why = "too many sums stand side by side";
    let Some((closed, how, other)) = chosen else {
        return running::part(vec![role], Vec::new(), (Kind::Exact(0), false)).ok_or(WIDE);
    };
    if !other.is_nested() {
        let other = flat_value(other);
        let Kind::Exact(scale) = kind_in(plan, table, &other) else {
            return Err("doubles are compared with a block");
        };
        role.key = Some(other);
        let closed = closed.clone();
        let stage = Stage {
            closed,
            how,
            growing: None,
            scale,
            counts: false,
        };
        return threshold::part(role, stage, scale).ok_or(WIDE);
    }
    if let Some(part) = grouped(plan, &role, (closed, how, other))? {
        return Ok(part);
    }
    let (mut chain, key) = chain(plan, (closed, how, other))?;
    role.key = Some(key);
    chain.roles.push(role);
    let mut common = Kind::Exact(0);
    for role in &chain.roles {
        let Some(key) = &role.key else { continue };
        if is_nullable(plan, role.table, key) {
            return Err("a column that may be NULL correlates blocks");
        }
        common = common.common(kind_in(plan, role.table, key));
    }
    set_ties(&mut chain);
    running::part(chain.roles, chain.stages, (common, chain.mirrored)).ok_or(WIDE)
}

/// A relation chosen by a block that is correlated by equalities alone, if it is one.
fn grouped(
    plan: &Plan,
    role: &Role,
    (closed, how, other): (&Value, Comparison, &Value),
) -> Result<Option<Box<dyn Part>>, Why> {
    let block = growing(other).ok_or("a value does not grow with the block in it")?;
    let (mut own, mut theirs, mut filter) = (Vec::new(), Vec::new(), Vec::new());
    for one in block.condition.conjuncts() {
        let mut is_own = true;
        one.columns(&mut |column| is_own &= column.depth == 0);
        match correlation(one) {
            Ok((left, Comparison::Equal, right)) => {
                own.push(left);
                theirs.push(right);
            }
            _ if is_own && !one.is_nested() => filter.push(flat(one)),
            _ => return Ok(None),
        }
    }
    let [table] = block.relations[..] else {
        return Ok(None);
    };
    if own.is_empty() {
        return Ok(None);
    }
    let (sums, scale, counts) = aggregated(plan, block, table)?;
    let mut kinds = Vec::new();
    for (mine, other) in own.iter().zip(&theirs) {
        if is_nullable(plan, table, mine) || is_nullable(plan, role.table, other) {
            return Err("a column that may be NULL correlates blocks");
        }
        kinds.push(kind_in(plan, table, mine).common(kind_in(plan, role.table, other)));
    }
    let inner = Role {
        table,
        filter,
        key: None,
        tie: 0,
        sums,
    };
    let grows = (!matches!(other, Value::Block(_))).then(|| other.clone());
    let stage = Stage {
        closed: closed.clone(),
        how,
        growing: grows,
        scale,
        counts,
    };
    Ok(grouped::part(
        [(inner, own), (role.clone(), theirs)],
        kinds,
        stage,
    ))
}

/// Sums with their scales, the scale of the aggregate, and whether it is a count.
type Summed = (Vec<(Value, u8)>, u8, bool);

/// What a correlated block sums, the scale of its units, and whether it counts.
fn aggregated(plan: &Plan, block: &Block, table: usize) -> Result<Summed, Why> {
    match block.sole_aggregate() {
        Some(Aggregate::Sum(value)) => {
            let scale = exact(plan, table, value)?;
            Ok((vec![(flat_value(value), scale)], scale, false))
        }
        Some(Aggregate::Count) => Ok((vec![(Value::Constant(Quantity::int(1)), 0)], 0, true)),
        _ => Err("a correlated block is neither a SUM nor a COUNT"),
    }
}

fn is_nullable(plan: &Plan, table: usize, value: &Value) -> bool {
    let mut nullable = false;
    value.columns(&mut |column| nullable |= plan.tables[table][column.column].nullable);
    nullable
}

/// Entries with equal keys: a block before the next where equals are admitted, else behind; no two roles share a
/// tie.
fn set_ties(chain: &mut Chain) {
    let (mut least, mut greatest) = (0, 0);
    for (role, &admits) in chain.roles.iter_mut().skip(1).zip(&chain.admit) {
        let end = if admits { &mut greatest } else { &mut least };
        *end += if admits { 1 } else { -1 };
        role.tie = *end;
    }
}

/// A comparison with a block in it: what is closed, left of the comparison, and what is not.
fn closed_left(one: &Condition) -> Result<(&Value, Comparison, &Value), Why> {
    match one {
        Condition::Compare(left, how, right) if left.is_closed() => Ok((left, *how, right)),
        Condition::Compare(left, how, right) if right.is_closed() => {
            Ok((right, how.reversed(), left))
        }
        Condition::Compare(..) => Err("both sides of a comparison vary with the row"),
        _ => Err("conditions with blocks are joined by OR"),
    }
}

/// The block in a value that grows with it.
fn growing(value: &Value) -> Option<&Block> {
    let is_constant = |value: &Value| matches!(value, Value::Constant(_));
    let is_positive = |value: &Value| matches!(value, Value::Constant(number) if number.compare(Quantity::int(0)).is_gt());
    match value {
        Value::Block(block) => Some(block),
        Value::Plus(a, b) | Value::Minus(a, b) if is_constant(b) => growing(a),
        Value::Plus(a, b) if is_constant(a) => growing(b),
        Value::Times(a, b) | Value::Over(a, b) if is_positive(b) => growing(a),
        Value::Times(a, b) if is_positive(a) => growing(b),
        _ => None,
    }
}

/// The chain of blocks in a comparison, and the key of the relation that it is correlated with.
fn chain(
    plan: &Plan,
    (closed, how, other): (&Value, Comparison, &Value),
) -> Result<(Chain, Value), Why> {
    if how == Comparison::NotEqual {
        return Err("a block is compared by <>");
    }
    let block = growing(other).ok_or("a value does not grow with the block in it")?;
    let [table] = block.relations[..] else {
        return Err("a correlated block has several relations");
    };
    let (sums, scale, counts) = aggregated(plan, block, table)?;
    let mut role = Role {
        table,
        filter: Vec::new(),
        key: None,
        tie: 0,
        sums,
    };
    let (mut correlated, mut within) = (None, None);
    for one in block.condition.conjuncts() {
        let mut depths = Vec::new();
        one.columns(&mut |column| depths.push(column.depth));
        let twice = if one.is_nested() {
            within.replace(chain(plan, closed_left(one)?)?).is_some()
        } else if depths.iter().all(|&depth| depth == 0) {
            role.filter.push(flat(one));
            false
        } else {
            let found = correlation(one)?;
            if matches!(found.1, Comparison::Equal | Comparison::NotEqual) {
                return Err(
                    "a block is correlated by equalities beside other conditions, or by <>",
                );
            }
            correlated.replace(found).is_some()
        };
        if twice {
            return Err("a block has two conditions of a kind");
        }
    }
    let (own, how_own, theirs) = correlated.ok_or("a block is not correlated by an inequality")?;
    let mirrored = matches!(how_own, Comparison::Greater | Comparison::GreaterOrEqual);
    let admits = matches!(
        how_own,
        Comparison::LessOrEqual | Comparison::GreaterOrEqual
    );
    let none = Chain {
        roles: Vec::new(),
        stages: Vec::new(),
        admit: Vec::new(),
        mirrored,
    };
    let (mut chain, key) = within.unwrap_or((none, own.clone()));
    if key != own || chain.mirrored != mirrored {
        return Err("blocks within blocks are correlated by other keys");
    }
    role.key = Some(own);
    chain.roles.push(role);
    chain.admit.push(admits);
    let growing = (!matches!(other, Value::Block(_))).then(|| other.clone());
    let closed = closed.clone();
    chain.stages.push(Stage {
        closed,
        how,
        growing,
        scale,
        counts,
    });
    Ok((chain, theirs))
}

/// A comparison between a value of the block's own and one of the block around: both, its own left.
fn correlation(one: &Condition) -> Result<(Value, Comparison, Value), Why> {
    const OTHER: Why = "a block is correlated by something else than a comparison of two values";
    let depth = |value: &Value| {
        let (mut least, mut most) = (usize::MAX, 0);
        value.columns(&mut |column| {
            (least, most) = (least.min(column.depth), most.max(column.depth));
        });
        (least == most).then_some(least)
    };
    let Condition::Compare(left, how, right) = one else {
        return Err(OTHER);
    };
    let how = *how;
    match (depth(left), depth(right)) {
        (Some(0), Some(1)) => Ok((flat_value(left), how, flat_value(right))),
        (Some(1), Some(0)) => Ok((flat_value(right), how.reversed(), flat_value(left))),
        _ => Err(OTHER),
    }
}

/// A value over one relation, as of the only one of its block.
pub(super) fn flat_value(value: &Value) -> Value {
    let both = |a: &Value, b: &Value| (Box::new(flat_value(a)), Box::new(flat_value(b)));
    let pair = |make: fn(Box<Value>, Box<Value>) -> Value, a: &Value, b: &Value| {
        let (a, b) = both(a, b);
        make(a, b)
    };
    match value {
        Value::Column(column) => Value::Column(Column {
            depth: 0,
            relation: 0,
            ..*column
        }),
        Value::Plus(a, b) => pair(Value::Plus, a, b),
        Value::Minus(a, b) => pair(Value::Minus, a, b),
        Value::Times(a, b) => pair(Value::Times, a, b),
        Value::Over(a, b) => pair(Value::Over, a, b),
        other => other.clone(),
    }
}

fn flat(condition: &Condition) -> Condition {
    match condition {
        Condition::And(all) => Condition::And(all.iter().map(flat).collect()),
        Condition::Or(all) => Condition::Or(all.iter().map(flat).collect()),
        Condition::Compare(left, how, right) => {
            Condition::Compare(flat_value(left), *how, flat_value(right))
        }
    }
}
