//! Conditions on the value of one query within as joins: views over views in the place of an
//! aggregate index.
//!
//! `300 < (SELECT SUM(l.units) FROM l WHERE l.k = o.k)` holds for all rows of a key or for none. So
//! it is the join of o with a block, `SELECT k FROM l GROUP BY k HAVING 300 < SUM(units)`, on k;
//! without a correlation the block has one row, or none. Invariant: what is given back means the
//! same: a row has one partner in the block at the most, and none where the condition is not true.
//! A key that no row within has finds no group, so nothing may hold over no rows: NULL compares
//! with nothing, and of a count it is known. Cost: O(query).

use super::{
    Atom, Block, ColumnRef, Compared, Comparison, Condition, Function, Literal, Measure, Output,
    Query, free_name,
};

/// Why a condition stays as it is.
type Why = &'static str;

/// The value of a query within, as its block says it.
struct Value<'a> {
    within: Option<&'a Query>,
}

impl Query {
    /// The same, with each condition on the value of one query within as a join with a block: those
    /// blocks, which stand before it, and what is left. `is_taken` tells which names mean something
    /// else.
    ///
    /// # Errors
    /// Why none of its conditions is one.
    pub fn apart(&self, is_taken: &dyn Fn(&str) -> bool) -> Result<(Vec<Block>, Query), Why> {
        if self.order.is_some() || self.epsilon.is_some() {
            return Err(
                "its order of variables, or its thresholds, were given for it as it stands",
            );
        }
        let (mut blocks, mut rest, mut why) = (Vec::new(), Vec::new(), None);
        let mut query = self.clone();
        let conjuncts = self.condition.iter().flat_map(conjuncts);
        for conjunct in conjuncts {
            match block(conjunct) {
                Ok((block, outer)) => {
                    let name = free_name("groups", blocks.len(), is_taken);
                    query.join(&name, outer);
                    blocks.push(Block { name, query: block });
                }
                Err(reason) => {
                    why = why.or(reason);
                    rest.push(conjunct.clone());
                }
            }
        }
        if blocks.is_empty() {
            return Err(why.unwrap_or("its condition compares with no query within"));
        }
        query.condition = match rest.len() {
            0 | 1 => rest.pop(),
            _ => Some(Condition::And { operands: rest }),
        };
        Ok((blocks, query))
    }

    /// Joins with a block whose columns equal these.
    fn join(&mut self, name: &str, outer: Vec<ColumnRef>) {
        let atom = self.atoms.len();
        self.atoms.push(Atom {
            table: name.to_owned(),
            alias: name.to_owned(),
            filter: None,
        });
        for (at, column) in outer.into_iter().enumerate() {
            let own = ColumnRef {
                atom,
                column: key(at),
            };
            self.joins.push(vec![column, own]);
        }
    }
}

fn key(at: usize) -> String {
    format!("key {at}")
}

/// What must all hold.
fn conjuncts<S>(condition: &Condition<S>) -> Vec<&Condition<S>> {
    match condition {
        Condition::And { operands } => operands.iter().flat_map(conjuncts).collect(),
        one => vec![one],
    }
}

/// A condition as a block, and the columns around that its first columns equal; no reason where no
/// query stands in it.
fn block(condition: &Condition<Compared>) -> Result<(Query, Vec<ColumnRef>), Option<Why>> {
    let mut queries = 0;
    condition.each_operand(&mut |one| one.each_query(&mut |_| queries += 1));
    if queries == 0 {
        return Err(None);
    }
    let Condition::Compare {
        comparison,
        left,
        right,
    } = condition
    else {
        return Err(Some(
            "a query within stands in a condition that is no comparison which must hold",
        ));
    };
    let mut value = Value { within: None };
    let (left, right) = (value.measure(left)?, value.measure(right)?);
    let Some(within) = value.within else {
        return Err(None);
    };
    let (rest, inner, outer) = correlated(within)?;
    if !outer.is_empty() && holds_over_nothing(*comparison, &left, &right) {
        return Err(Some(
            "its condition may hold where the query within has no rows",
        ));
    }
    let group = |(at, column): (usize, &ColumnRef)| Output::Group {
        name: key(at),
        column: column.clone(),
    };
    let mut outputs: Vec<Output> = inner.iter().enumerate().map(group).collect();
    if outputs.is_empty() {
        outputs.push(Output::Aggregate {
            name: "rows".to_owned(),
            function: Function::Count,
            argument: None,
        });
    }
    let mut group_by = inner;
    group_by.sort_by(|one, other| (one.atom, &one.column).cmp(&(other.atom, &other.column)));
    group_by.dedup();
    let block = Query {
        condition: rest,
        group_by,
        outputs,
        having: Some(Condition::Compare {
            comparison: *comparison,
            left,
            right,
        }),
        ..within.clone()
    };
    Ok((block, outer))
}

impl<'a> Value<'a> {
    /// What is compared, of constants and of the value of one query within.
    fn measure(&mut self, value: &'a Compared) -> Result<Measure, Option<Why>> {
        let mut both = |left, right| -> Result<_, Option<Why>> {
            Ok((
                Box::new(self.measure(left)?),
                Box::new(self.measure(right)?),
            ))
        };
        Ok(match value {
            Compared::Column { .. } => {
                let why = "what a query within is compared with differs from row to row";
                return Err(Some(why));
            }
            Compared::Literal { value } => Measure::Literal {
                value: value.clone(),
            },
            Compared::Add { left, right } => {
                let (left, right) = both(left, right)?;
                Measure::Add { left, right }
            }
            Compared::Subtract { left, right } => {
                let (left, right) = both(left, right)?;
                Measure::Subtract { left, right }
            }
            Compared::Multiply { left, right } => {
                let (left, right) = both(left, right)?;
                Measure::Multiply { left, right }
            }
            Compared::Divide { left, right } => {
                let (left, right) = both(left, right)?;
                Measure::Divide { left, right }
            }
            Compared::Negate { operand } => Measure::Negate {
                operand: Box::new(self.measure(operand)?),
            },
            Compared::Query { query } => {
                if self.within.replace(query).is_some() {
                    return Err(Some("two queries within are compared with each other"));
                }
                match &query.outputs[..] {
                    [
                        Output::Aggregate {
                            function, argument, ..
                        },
                    ] => Measure::Aggregate {
                        function: *function,
                        arguments: argument.iter().cloned().collect(),
                    },
                    [Output::Expression { value, .. }] => value.clone(),
                    _ => return Err(Some("a query within shows more than one value")),
                }
            }
        })
    }
}

/// The condition of a query within without its correlations, and the columns that these make equal:
/// its own, and those around.
type Correlated = (Option<Condition<Compared>>, Vec<ColumnRef>, Vec<ColumnRef>);

fn correlated(within: &Query) -> Result<Correlated, Option<Why>> {
    let (mut rest, mut inner, mut outer) = (Vec::new(), Vec::new(), Vec::new());
    for conjunct in within.condition.iter().flat_map(conjuncts) {
        if let Some((own, around)) = pair(conjunct) {
            inner.push(own);
            outer.push(around);
        } else if reaches(conjunct, 1) {
            let why = "a query within is correlated by more than equal columns";
            return Err(Some(why));
        } else {
            rest.push(conjunct.clone());
        }
    }
    let rest = match rest.len() {
        0 | 1 => rest.pop(),
        _ => Some(Condition::And { operands: rest }),
    };
    Ok((rest, inner, outer))
}

/// A column of the query and one of the query around it that must equal it.
fn pair(condition: &Condition<Compared>) -> Option<(ColumnRef, ColumnRef)> {
    let Condition::Compare {
        comparison: Comparison::Eq,
        left:
            Compared::Column {
                depth: one,
                atom: left,
                column: first,
            },
        right:
            Compared::Column {
                depth: other,
                atom: right,
                column: second,
            },
    } = condition
    else {
        return None;
    };
    let of = |atom: &usize, column: &String| ColumnRef {
        atom: *atom,
        column: column.clone(),
    };
    match (one, other) {
        (0, 1) => Some((of(left, first), of(right, second))),
        (1, 0) => Some((of(right, second), of(left, first))),
        _ => None,
    }
}

/// Whether a condition names columns of queries around, so many further out at the least.
fn reaches(condition: &Condition<Compared>, depth: usize) -> bool {
    let mut found = false;
    condition.each_operand(&mut |value| found |= value_reaches(value, depth));
    found
}

fn value_reaches(value: &Compared, least: usize) -> bool {
    match value {
        Compared::Column { depth, .. } => *depth >= least,
        Compared::Literal { .. } => false,
        Compared::Add { left, right }
        | Compared::Subtract { left, right }
        | Compared::Multiply { left, right }
        | Compared::Divide { left, right } => {
            value_reaches(left, least) || value_reaches(right, least)
        }
        Compared::Negate { operand } => value_reaches(operand, least),
        Compared::Query { query } => {
            let condition = query.condition.as_ref();
            condition.is_some_and(|condition| reaches(condition, least + 1))
        }
    }
}

/// Whether a comparison may hold over no rows at all.
fn holds_over_nothing(comparison: Comparison, left: &Measure, right: &Measure) -> bool {
    if is_null(left) || is_null(right) {
        return false;
    }
    match (number(left), number(right)) {
        (Some(left), Some(right)) => comparison.holds(left.cmp(&right)),
        _ => true,
    }
}

/// Whether a value over no rows is known to be NULL.
fn is_null(value: &Measure) -> bool {
    match value {
        Measure::Aggregate { function, .. } => !is_count(*function),
        Measure::Literal { value } => *value == Literal::Null,
        Measure::Add { left, right }
        | Measure::Subtract { left, right }
        | Measure::Multiply { left, right }
        | Measure::Divide { left, right } => is_null(left) || is_null(right),
        Measure::Negate { operand } => is_null(operand),
        Measure::Coalesce { operands } => operands.iter().all(is_null),
        Measure::Group { .. } | Measure::NullIf { .. } => false,
    }
}

/// The whole number that a value over no rows is known to be.
fn number(value: &Measure) -> Option<i64> {
    match value {
        Measure::Aggregate { function, .. } if is_count(*function) => Some(0),
        Measure::Literal {
            value: Literal::Int(value),
        } => Some(*value),
        _ => None,
    }
}

fn is_count(function: Function) -> bool {
    matches!(
        function,
        Function::Count | Function::CountDistinct | Function::RegrCount
    )
}
