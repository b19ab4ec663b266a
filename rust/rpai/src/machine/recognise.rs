//! Which queries the aggregate-index optimisation keeps (paper, section 4.3), and why others are not.
//!
//! Invariant: what is recognised is exact for every stream: sums are exact, and NULL is told. A block is a product
//! of relations, each chosen by conditions of its own: filters, equalities and comparisons of something closed with
//! one value of the row, its key, and at most one with a chain of blocks, each correlated with the next by one
//! inequality of keys that the whole chain shares. Closed is what is the same for all rows of the block, given the row around
//! it. Cost: linear in the query.

use super::feed::{Kinds, Role, feeds};
use super::grouped;
use super::number::{Kind, Quantity};
use super::part::Part;
use super::plan::{Aggregate, Block, Column, ColumnType, Comparison, Condition, Value, kind};
use super::products::products;
use super::selector::Selector;
use super::stage::Stage;
use super::sweep;
use super::unit::Unit;

/// Why a query is kept by the general algorithm.
pub(super) type Why = &'static str;

/// A row with NULL there is in no index, but what it is compared with is 0, and may pass.
const NULL_COUNTS: Why = "a column that may be NULL correlates a count";

const WIDE: Why = "too many sums stand side by side";

type Tables = [Vec<ColumnType>];

/// A comparison with a block or a column in it: what is closed left.
type Sides<'a> = (&'a Value, Comparison, &'a Value);

/// One relation's chain, from the innermost block to the relation.
struct Chain {
    roles: Vec<Role>,
    stages: Vec<Stage>,
    /// Whether keys grow downwards.
    mirrored: bool,
}

/// The optimised form of a block, given the rows around it.
pub(super) fn recognise(tables: &Tables, block: &Block) -> Result<Selector, Why> {
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
        one.columns(&mut |column| {
            if column.depth == 0 {
                of.push(column.relation);
            }
        });
        of.sort_unstable();
        of.dedup();
        match of[..] {
            [] => gates.push(one.clone()),
            [relation] => parts[relation].push(one),
            _ => return Err("a condition compares columns of two relations"),
        }
    }
    let mut sums = vec![Vec::new(); parts.len()];
    let aggregates = (block.aggregates.iter())
        .map(|aggregate| products(tables, block, aggregate, &mut sums))
        .collect::<Result<Vec<_>, Why>>()?;
    let built = (parts.iter().zip(sums).enumerate())
        .map(|(relation, (conditions, sums))| {
            part(tables, block.relations[relation], conditions, sums)
        })
        .collect::<Result<Vec<Box<dyn Part>>, Why>>()?;
    Ok(Selector::new(built, gates, aggregates))
}

/// The kind of a value over one table.
fn kind_in(tables: &Tables, table: usize, value: &Value) -> Kind {
    kind(value, &|column: Column| {
        Kind::of(&tables[table][column.column].ty)
    })
}

/// In what sums of a value over one table are kept.
pub(super) fn unit(tables: &Tables, table: usize, value: &Value) -> Result<Unit, Why> {
    match kind_in(tables, table, value) {
        Kind::Exact(scale) => Ok(Unit::Scale(scale)),
        // Such a value may be NULL where its columns are not.
        Kind::Real if value.divides() => Err("quotients are aggregated"),
        Kind::Real => Ok(Unit::Real),
    }
}

/// The scale of an exact value over one table.
fn exact(tables: &Tables, table: usize, value: &Value) -> Result<u8, Why> {
    match unit(tables, table, value)? {
        Unit::Scale(scale) => Ok(scale),
        Unit::Real => Err("a row is compared with a sum of doubles"),
    }
}

/// Whether a value over one table may be NULL.
fn is_nullable(tables: &Tables, table: usize, value: &Value) -> bool {
    let mut nullable = value.divides();
    value.columns(&mut |column| nullable |= tables[table][column.column].nullable);
    nullable
}

/// How many lanes sums take, their count among them.
fn lanes(sums: &[(Value, Unit)]) -> usize {
    1 + sums.iter().map(|(_, unit)| unit.lanes()).sum::<usize>()
}

/// What chooses a relation's rows.
#[derive(Default)]
struct Chosen<'a> {
    filter: Vec<Condition>,
    /// Own values that must equal closed ones.
    equal: Vec<(Value, Value)>,
    /// A closed value against the key.
    bounds: Vec<(Value, Comparison)>,
    key: Option<Value>,
    /// A closed value against a block that varies with the row.
    nested: Option<Sides<'a>>,
}

impl<'a> Chosen<'a> {
    fn new(conditions: &[&'a Condition]) -> Result<Self, Why> {
        let mut chosen = Self::default();
        for &one in conditions {
            let mut is_own = !one.is_nested();
            one.columns(&mut |column| is_own &= column.depth == 0);
            if is_own {
                chosen.filter.push(flat(one));
                continue;
            }
            let (closed, how, other) = closed_left(one)?;
            if other.is_nested() {
                if chosen.nested.replace((closed, how, other)).is_some() {
                    return Err("a relation has two conditions with blocks");
                }
                continue;
            }
            let mut is_own = true;
            other.columns(&mut |column| is_own &= column.depth == 0);
            if !is_own {
                return Err("a value is of the row and of the row around it");
            }
            let own = flat_value(other);
            if how == Comparison::Equal && !closed.is_constant() {
                chosen.equal.push((own, closed.clone()));
                continue;
            }
            chosen.agree_on(own)?;
            chosen.bounds.push((closed.clone(), how));
        }
        Ok(chosen)
    }

    /// The one value by which entries are ordered.
    fn agree_on(&mut self, key: Value) -> Result<(), Why> {
        match &self.key {
            Some(other) if *other != key => Err("a relation is compared by two values"),
            _ => {
                self.key = Some(key);
                Ok(())
            }
        }
    }
}

/// How one relation's rows are chosen.
fn part(
    tables: &Tables,
    table: usize,
    conditions: &[&Condition],
    sums: Vec<(Value, Unit)>,
) -> Result<Box<dyn Part>, Why> {
    let mut chosen = Chosen::new(conditions)?;
    let mut role = Role {
        table,
        filter: std::mem::take(&mut chosen.filter),
        equal: chosen.equal.iter().map(|(own, _)| own.clone()).collect(),
        key: None,
        sums,
        counted: None,
    };
    let mut chain_of = Chain {
        roles: Vec::new(),
        stages: Vec::new(),
        mirrored: false,
    };
    if let Some(sides) = chosen.nested {
        let alone = chosen.equal.is_empty() && chosen.bounds.is_empty();
        if alone && let Some(part) = grouped(tables, &role, sides)? {
            return Ok(part);
        }
        if !chosen.equal.is_empty() {
            return Err("a relation with a chain of blocks must equal something known");
        }
        let (found, key) = chain(tables, sides)?;
        if found.stages.last().is_some_and(|stage| stage.counts) && is_nullable(tables, table, &key)
        {
            return Err(NULL_COUNTS);
        }
        chain_of = found;
        chosen.agree_on(key)?;
    }
    role.key = chosen.key.clone();
    let width = lanes(&role.sums);
    let equal = (chosen.equal.iter()).map(|(own, _)| kind_in(tables, table, own));
    let mut kinds = Kinds {
        equal: equal.collect(),
        key: Kind::Exact(0),
    };
    let mut roles = chain_of.roles;
    roles.push(role);
    for role in &roles {
        if let Some(key) = &role.key {
            kinds.key = kinds.key.common(kind_in(tables, role.table, key));
        }
    }
    let lanes = roles.into_iter().enumerate();
    let lanes: Vec<(Role, usize)> = lanes.map(|(at, role)| (role, 2 * at)).collect();
    let feeds = feeds(&lanes, tables, &kinds).ok_or("a key is not exact")?;
    let stages = chain_of.stages.iter().map(|stage| stage.closed.clone());
    let closed = stages.chain(chosen.bounds.iter().map(|(closed, _)| closed.clone()));
    let closed = closed.chain(chosen.equal.iter().map(|(_, closed)| closed.clone()));
    sweep::part(sweep::Shape {
        feeds,
        kinds,
        mirrored: chain_of.mirrored,
        closed: closed.collect(),
        stages: chain_of.stages,
        bounds: chosen.bounds.iter().map(|(_, how)| *how).collect(),
        width,
    })
    .ok_or(WIDE)
}

/// A relation chosen by a block that is correlated by equalities alone, if it is one.
fn grouped(
    tables: &Tables,
    role: &Role,
    (closed, how, other): Sides<'_>,
) -> Result<Option<Box<dyn Part>>, Why> {
    let block = growing(other).ok_or("a value does not grow with the block in it")?;
    let (mut own, mut theirs, mut filter) = (Vec::new(), Vec::new(), Vec::new());
    for one in block.condition.conjuncts() {
        let mut is_own = !one.is_nested();
        one.columns(&mut |column| is_own &= column.depth == 0);
        match correlation(one) {
            _ if is_own => filter.push(flat(one)),
            Ok((left, Comparison::Equal, right)) => {
                own.push(left);
                theirs.push(right);
            }
            _ => return Ok(None),
        }
    }
    let [table] = block.relations[..] else {
        return Ok(None);
    };
    if own.is_empty() {
        return Ok(None);
    }
    let summed = aggregated(tables, block, table)?;
    let nullable = |other: &Value| is_nullable(tables, role.table, other);
    if summed.counts && theirs.iter().any(nullable) {
        return Err(NULL_COUNTS);
    }
    let kind = |(mine, other): (&Value, &Value)| {
        kind_in(tables, table, mine).common(kind_in(tables, role.table, other))
    };
    let kinds = Kinds {
        equal: own.iter().zip(&theirs).map(kind).collect(),
        key: Kind::Exact(0),
    };
    let grows = (!matches!(other, Value::Block(_))).then(|| other.clone());
    let stage = summed.stage((closed, how), grows);
    let inner = Role {
        filter,
        equal: own,
        ..summed.role(table)
    };
    let outer = Role {
        equal: theirs,
        ..role.clone()
    };
    let width = lanes(&outer.sums);
    let feeds = feeds(&[(inner, 0), (outer, 2)], tables, &kinds).ok_or("a key is not exact")?;
    let closed = [closed.clone()];
    let shape = grouped::Shape {
        feeds,
        stage,
        closed,
        width,
    };
    Ok(grouped::part(shape))
}

/// What a correlated block sums.
struct Summed {
    value: Value,
    scale: u8,
    counts: bool,
    /// What of a row must not be NULL.
    counted: Option<Value>,
}

impl Summed {
    fn role(&self, table: usize) -> Role {
        Role {
            table,
            filter: Vec::new(),
            equal: Vec::new(),
            key: None,
            sums: vec![(self.value.clone(), Unit::Scale(self.scale))],
            counted: self.counted.clone(),
        }
    }

    fn stage(&self, (closed, how): (&Value, Comparison), growing: Option<Value>) -> Stage {
        Stage {
            closed: closed.clone(),
            how,
            growing,
            scale: self.scale,
            counts: self.counts,
            admits: true,
        }
    }
}

/// What a correlated block sums, and whether it counts.
fn aggregated(tables: &Tables, block: &Block, table: usize) -> Result<Summed, Why> {
    match block.sole_aggregate() {
        Some(Aggregate::Sum(of) | Aggregate::Counted(of)) => {
            let value = flat_value(of);
            let mut columns = Vec::new();
            value.columns(&mut |column| {
                if tables[table][column.column].nullable {
                    columns.push(column);
                }
            });
            Ok(Summed {
                scale: exact(tables, table, &value)?,
                counts: matches!(block.sole_aggregate(), Some(Aggregate::Counted(_))),
                counted: (!columns.is_empty()).then_some(Value::Present(columns)),
                value,
            })
        }
        Some(Aggregate::Count) => Ok(Summed {
            value: Value::Constant(Quantity::int(1)),
            scale: 0,
            counts: true,
            counted: None,
        }),
        _ => Err("a correlated block is neither a SUM nor a COUNT"),
    }
}

/// A comparison with a block in it: what is closed, left of the comparison, and what is not.
fn closed_left(one: &Condition) -> Result<Sides<'_>, Why> {
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
fn chain(tables: &Tables, (closed, how, other): Sides<'_>) -> Result<(Chain, Value), Why> {
    if how == Comparison::NotEqual {
        return Err("a block is compared by <>");
    }
    let block = growing(other).ok_or("a value does not grow with the block in it")?;
    let [table] = block.relations[..] else {
        return Err("a correlated block has several relations");
    };
    let summed = aggregated(tables, block, table)?;
    let mut role = summed.role(table);
    let (mut correlated, mut within) = (None, None);
    for one in block.condition.conjuncts() {
        let mut depths = Vec::new();
        one.columns(&mut |column| depths.push(column.depth));
        let twice = if one.is_nested() {
            let sides = closed_left(one)?;
            if !sides.0.is_constant() {
                return Err("a block within a block is compared by what varies");
            }
            within.replace(chain(tables, sides)?).is_some()
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
        mirrored,
    };
    let (mut chain, key) = within.unwrap_or((none, own.clone()));
    if key != own || chain.mirrored != mirrored {
        return Err("blocks within blocks are correlated by other keys");
    }
    role.key = Some(own);
    chain.roles.push(role);
    let grows = (!matches!(other, Value::Block(_))).then(|| other.clone());
    chain.stages.push(Stage {
        admits,
        ..summed.stage((closed, how), grows)
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
        Value::Present(columns) => {
            let flat = |column: &Column| Column {
                depth: 0,
                relation: 0,
                ..*column
            };
            Value::Present(columns.iter().map(flat).collect())
        }
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
        Condition::IsNull(value, null) => Condition::IsNull(flat_value(value), *null),
    }
}
