//! Chains of blocks, each correlated with the next by one inequality of keys that the whole chain
//! shares.
//!
//! Invariant: a chain's aggregates grow along its keys wherever no sum of it is negative. Cost:
//! linear in the query.

use crate::machine::indexed::correlation::Correlation;
use crate::machine::indexed::digits::SumKind;
use crate::machine::indexed::reader::Role;
use crate::machine::query::{Aggregate, Block, Comparison, Condition, Kind, Quantity, Value};
use crate::machine::recognise::kinds::{Tables, Why, sum_kind};

/// A comparison with a block or a column in it: what is closed left.
pub(crate) type Sides<'a> = (&'a Value, Comparison, &'a Value);

/// One relation's chain, from the innermost block to the relation.
pub(crate) struct Chain {
    pub(crate) roles: Vec<Role>,
    pub(crate) correlations: Vec<Correlation>,
    /// Whether keys grow downwards.
    pub(crate) mirrored: bool,
}

/// Summand of a correlated block.
pub(crate) struct Summed {
    value: Value,
    sum: SumKind,
    pub(crate) counts: bool,
    /// Columns of a row that must not be NULL.
    counted: Option<Value>,
}

impl Summed {
    /// A count of rows, or of those where something is not NULL: a whole number, whatever is
    /// counted.
    fn rows(counted: Option<Value>) -> Self {
        Self {
            value: Value::Constant(Quantity::int(1)),
            sum: SumKind::Scale(0),
            counts: true,
            counted,
        }
    }

    /// Its rows, without a key.
    pub(crate) fn role(&self, table: usize) -> Role {
        Role {
            table,
            filter: Vec::new(),
            equal: Vec::new(),
            key: None,
            sums: vec![(self.value.clone(), self.sum)],
            counted: self.counted.clone(),
        }
    }

    /// Its comparison with a closed value.
    pub(crate) fn correlation(
        &self,
        (closed, how): (&Value, Comparison),
        growing: Option<Value>,
    ) -> Correlation {
        Correlation {
            closed: closed.clone(),
            how,
            growing,
            kind: match self.sum {
                SumKind::Scale(scale) => Kind::Exact(scale),
                SumKind::Real => Kind::Real,
            },
            counts: self.counts,
            admits: true,
        }
    }
}

/// Summand of a correlated block, and whether it is a count.
pub(crate) fn aggregated(tables: &Tables, block: &Block, table: usize) -> Result<Summed, Why> {
    match block.sole_aggregate() {
        Some(Aggregate::Sum(of) | Aggregate::Counted(of)) => {
            let value = of.clone().flat();
            let mut columns = Vec::new();
            value.columns(&mut |column| {
                if tables[table][column.column].nullable {
                    columns.push(column);
                }
            });
            let counted = (!columns.is_empty()).then_some(Value::Present(columns));
            if matches!(block.sole_aggregate(), Some(Aggregate::Counted(_))) {
                sum_kind(tables, table, &value)?;
                return Ok(Summed::rows(counted));
            }
            Ok(Summed {
                sum: sum_kind(tables, table, &value)?,
                counts: false,
                counted,
                value,
            })
        }
        Some(Aggregate::Count) => Ok(Summed::rows(None)),
        _ => Err("a correlated block is neither a SUM nor a COUNT"),
    }
}

/// A comparison with a block in it: what is closed, left of the comparison, and what is not.
pub(crate) fn closed_left(one: &Condition) -> Result<Sides<'_>, Why> {
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
pub(crate) fn growing(value: &Value) -> Option<&Block> {
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
pub(crate) fn chain(
    tables: &Tables,
    (closed, how, other): Sides<'_>,
) -> Result<(Chain, Value), Why> {
    if how == Comparison::Ne {
        return Err("a block is compared by <>");
    }
    let block = growing(other).ok_or("a value does not grow with the block in it")?;
    let [table] = block.relations[..] else {
        return Err("a correlated block has several relations");
    };
    let summed = aggregated(tables, block, table)?;
    let mut role = summed.role(table);
    let (mut correlated, mut nested) = (None, None);
    for one in block.condition.conjuncts() {
        let mut depths = Vec::new();
        one.columns(&mut |column| depths.push(column.depth));
        let twice = if one.is_nested() {
            let sides = closed_left(one)?;
            if !sides.0.is_constant() {
                return Err("a block nested a block is compared by what varies");
            }
            nested.replace(chain(tables, sides)?).is_some()
        } else if depths.iter().all(|&depth| depth == 0) {
            role.filter.push(one.clone().flat());
            false
        } else {
            let found = correlated_sides(one)?;
            if matches!(found.1, Comparison::Eq | Comparison::Ne) {
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
    let mirrored = matches!(how_own, Comparison::Gt | Comparison::Ge);
    let admits = matches!(how_own, Comparison::Le | Comparison::Ge);
    let none = Chain {
        roles: Vec::new(),
        correlations: Vec::new(),
        mirrored,
    };
    let (mut chain, key) = nested.unwrap_or((none, own.clone()));
    if key != own || chain.mirrored != mirrored {
        return Err("blocks nested blocks are correlated by other keys");
    }
    role.key = Some(own);
    chain.roles.push(role);
    let grows = (!matches!(other, Value::Block(_))).then(|| other.clone());
    chain.correlations.push(Correlation {
        admits,
        ..summed.correlation((closed, how), grows)
    });
    Ok((chain, theirs))
}

/// A comparison between a value of the block's own and one of the outer block: both, its own left.
/// A subquery, which may read the outer row alone, is neither.
pub(crate) fn correlated_sides(one: &Condition) -> Result<(Value, Comparison, Value), Why> {
    const OTHER: Why = "a block is correlated by something else than a comparison of two values";
    if one.is_nested() {
        return Err(OTHER);
    }
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
        (Some(0), Some(1)) => Ok((left.clone().flat(), how, right.clone().flat())),
        (Some(1), Some(0)) => Ok((right.clone().flat(), how.reversed(), left.clone().flat())),
        _ => Err(OTHER),
    }
}
