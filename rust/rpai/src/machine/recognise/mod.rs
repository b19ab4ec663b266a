//! The queries that the aggregate-index optimisation maintains (paper, section 4.3), and why others
//! are not.
//!
//! Invariant: a recognised query is exact for every stream: sums are exact, and NULL is NULL. A
//! block is a product of relations, each filtered by conditions of its own: filters, equalities and
//! comparisons of a closed value with one value of the row, its key, and at most one with a chain
//! of blocks, each correlated with the next by one inequality of keys that the whole chain shares.
//! An expression is closed if it depends only on the outer row. Cost: linear in
//! the query.

mod chain;
mod kinds;
mod products;

use crate::machine::indexed::digits::SumKind;
use crate::machine::indexed::grouped;
use crate::machine::indexed::reader::{Kinds, Role, readers};
use crate::machine::indexed::relation::FilteredRelation;
use crate::machine::indexed::selector::Selector;
use crate::machine::indexed::shape::{BlockLanes, Shape};
use crate::machine::indexed::sweep;
use crate::machine::query::{Block, Comparison, Condition, Kind, Value};
use crate::machine::recognise::chain::{
    Chain, Sides, aggregated, chain, closed_left, correlated_sides, growing,
};
use crate::machine::recognise::kinds::{Tables, Why, is_nullable, kind_in};
use crate::machine::recognise::products::products;

/// NULL keys are not indexed, yet COUNT over no matches is 0, so such a row may satisfy the predicate.
const NULL_COUNTS: Why = "a column that may be NULL correlates a count";

const WIDE: Why = "too many sums stand side by side";

/// The optimised form of a block, given the outer rows.
pub(crate) fn recognise(tables: &Tables, block: &Block) -> Result<Selector, Why> {
    if !block.group.is_empty() {
        return Err("it has groups");
    }
    if block.relations.is_empty() {
        return Err("it has no relation");
    }
    let mut relations: Vec<Vec<&Condition>> = vec![Vec::new(); block.relations.len()];
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
            [relation] => relations[relation].push(one),
            _ => return Err("a condition compares columns of two relations"),
        }
    }
    let mut sums = vec![Vec::new(); relations.len()];
    let aggregates = (block.aggregates.iter())
        .map(|aggregate| products(tables, block, aggregate, &mut sums))
        .collect::<Result<Vec<_>, Why>>()?;
    let built = (relations.iter().zip(sums).enumerate())
        .map(|(relation, (conditions, sums))| {
            filtered_relation(tables, block.relations[relation], conditions, sums)
        })
        .collect::<Result<Vec<Box<dyn FilteredRelation>>, Why>>()?;
    Ok(Selector::new(built, gates, aggregates))
}

/// Number of lanes of sums, their count among them.
fn lanes(sums: &[(Value, SumKind)]) -> usize {
    1 + sums
        .iter()
        .map(|(_, sum_kind)| sum_kind.lanes())
        .sum::<usize>()
}

/// Filters of a relation's rows.
#[derive(Default)]
struct Filters<'a> {
    filter: Vec<Condition>,
    /// Own values that must equal closed ones.
    equal: Vec<(Value, Value)>,
    /// A closed value against the key.
    bounds: Vec<(Value, Comparison)>,
    key: Option<Value>,
    /// A closed value against a block that varies with the row.
    nested: Option<Sides<'a>>,
}

impl<'a> Filters<'a> {
    fn new(conditions: &[&'a Condition]) -> Result<Self, Why> {
        let mut filters = Self::default();
        for &one in conditions {
            let mut is_own = !one.is_nested();
            one.columns(&mut |column| is_own &= column.depth == 0);
            if is_own {
                filters.filter.push(one.clone().flat());
                continue;
            }
            let (closed, how, other) = closed_left(one)?;
            if other.is_nested() {
                if filters.nested.replace((closed, how, other)).is_some() {
                    return Err("a relation has two conditions with blocks");
                }
                continue;
            }
            let mut is_own = true;
            other.columns(&mut |column| is_own &= column.depth == 0);
            if !is_own {
                return Err("a value reads both its own row and the outer row");
            }
            let own = other.clone().flat();
            if how == Comparison::Eq && !closed.is_constant() {
                filters.equal.push((own, closed.clone()));
                continue;
            }
            filters.agree_on(own)?;
            filters.bounds.push((closed.clone(), how));
        }
        Ok(filters)
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

/// One relation with the filters of its rows.
fn filtered_relation(
    tables: &Tables,
    table: usize,
    conditions: &[&Condition],
    sums: Vec<(Value, SumKind)>,
) -> Result<Box<dyn FilteredRelation>, Why> {
    let mut filters = Filters::new(conditions)?;
    let mut role = Role {
        table,
        filter: std::mem::take(&mut filters.filter),
        equal: filters.equal.iter().map(|(own, _)| own.clone()).collect(),
        key: None,
        sums,
        counted: None,
    };
    let mut chain_of = Chain {
        roles: Vec::new(),
        correlations: Vec::new(),
        mirrored: false,
    };
    if let Some(sides) = filters.nested {
        let alone = filters.equal.is_empty() && filters.bounds.is_empty();
        if alone && let Some(relation) = grouped(tables, &role, sides)? {
            return Ok(relation);
        }
        if !filters.equal.is_empty() {
            return Err("a relation with a chain of blocks must equal something known");
        }
        let (found, key) = chain(tables, sides)?;
        if found
            .correlations
            .last()
            .is_some_and(|correlation| correlation.counts)
            && is_nullable(tables, table, &key)
        {
            return Err(NULL_COUNTS);
        }
        chain_of = found;
        filters.agree_on(key)?;
    }
    role.key = filters.key.clone();
    let width = lanes(&role.sums);
    let equal = (filters.equal.iter()).map(|(own, _)| kind_in(tables, table, own));
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
    let mut behind = 0;
    let with_lanes = roles.into_iter().map(|role| {
        let first = behind;
        behind += self::lanes(&role.sums);
        (role, first)
    });
    let roles: Vec<(Role, usize)> = with_lanes.collect();
    let readers = readers(&roles, tables, &kinds).ok_or("a key is not exact")?;
    let blocks = roles[..roles.len() - 1].iter();
    let blocks = blocks.map(|&(_, count)| BlockLanes {
        count,
        real: readers.real_at(count + 1),
    });
    let correlations = chain_of
        .correlations
        .iter()
        .map(|correlation| correlation.closed.clone());
    let closed = correlations.chain(filters.bounds.iter().map(|(closed, _)| closed.clone()));
    let closed = closed.chain(filters.equal.iter().map(|(_, closed)| closed.clone()));
    sweep::relation(Shape {
        blocks: blocks.collect(),
        first: roles.last().map_or(0, |(_, first)| *first),
        readers,
        kinds,
        mirrored: chain_of.mirrored,
        closed: closed.collect(),
        correlations: chain_of.correlations,
        bounds: filters.bounds.iter().map(|(_, how)| *how).collect(),
        width,
    })
    .ok_or(WIDE)
}

/// A relation filtered by a block that is correlated by equalities alone, if it is one.
fn grouped(
    tables: &Tables,
    role: &Role,
    (closed, how, other): Sides<'_>,
) -> Result<Option<Box<dyn FilteredRelation>>, Why> {
    let block = growing(other).ok_or("a value does not grow with the block in it")?;
    let (mut own, mut theirs, mut filter) = (Vec::new(), Vec::new(), Vec::new());
    for one in block.condition.conjuncts() {
        let mut is_own = !one.is_nested();
        one.columns(&mut |column| is_own &= column.depth == 0);
        match correlated_sides(one) {
            _ if is_own => filter.push(one.clone().flat()),
            Ok((left, Comparison::Eq, right)) => {
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
    let correlation = summed.correlation((closed, how), grows);
    let inner = Role {
        filter,
        equal: own,
        ..summed.role(table)
    };
    let outer = Role {
        equal: theirs,
        ..role.clone()
    };
    let (width, first) = (lanes(&outer.sums), lanes(&inner.sums));
    let readers = readers(&[(inner, 0), (outer, first)], tables, &kinds);
    let readers = readers.ok_or("a key is not exact")?;
    let closed = [closed.clone()];
    let shape = grouped::Shape {
        real: readers.real_at(1),
        first,
        readers,
        correlation,
        closed,
        width,
    };
    Ok(grouped::relation(shape))
}
