//! Expressions and conditions, evaluated slowly: one row at a time, NULL by NULL.

use ringview_query::{Comparison, Constant, Factor, Kind, Op, Polynomial, Predicate};

use super::super::verdict::{FALSE, TRUE, UNKNOWN};
use super::random::{CONDITIONS, Row, TEXTS};

/// An overflow.
#[derive(Debug)]
pub(super) struct Over;

pub(super) fn columns_of(expr: &Polynomial, into: &mut Vec<usize>) {
    match &expr.op {
        Op::Column { column, .. } => into.push(*column),
        Op::Literal { .. } => {}
        Op::Add { left, right } | Op::Subtract { left, right } | Op::Multiply { left, right } => {
            columns_of(left, into);
            columns_of(right, into);
        }
        Op::Negate { operand } | Op::Convert { operand } => columns_of(operand, into),
    }
}

pub(super) fn is_null(row: &Row, column: usize) -> bool {
    [
        row.0.is_none(),
        row.1.is_none(),
        row.2.is_none(),
        row.3.is_none(),
        row.4.is_none(),
        row.5.is_none(),
        row.6.is_none(),
        row.7.is_none(),
    ][column]
}

pub(super) fn value(expr: &Polynomial, row: &Row) -> Result<Option<Constant>, Over> {
    let mut columns = Vec::new();
    columns_of(expr, &mut columns);
    if columns.iter().any(|&c| is_null(row, c)) {
        return Ok(None);
    }
    number(expr, row).map(Some)
}

pub(super) fn number(expr: &Polynomial, row: &Row) -> Result<Constant, Over> {
    use Constant::{Decimal, Int, Real};
    let int = |v: Option<i64>| v.map(Int).ok_or(Over);
    let decimal = |v: Option<i128>| v.map(Decimal).ok_or(Over);
    let two = |l: &Polynomial, r: &Polynomial| Ok::<_, Over>((number(l, row)?, number(r, row)?));
    match &expr.op {
        Op::Literal { value } => Ok(*value),
        Op::Column { column: 0, .. } => int(row.0),
        Op::Column { column: 1, .. } => int(row.1),
        Op::Column { column: 2, .. } if expr.kind == Kind::Int => {
            int(row.2.and_then(|v| i64::try_from(v).ok()))
        }
        Op::Column { column: 2, .. } => decimal(row.2.map(i128::from)),
        Op::Column { column: 3, .. } => decimal(row.3),
        Op::Column { column: 7, .. } => decimal(row.7.map(i128::from)),
        Op::Column { .. } => row.4.map(|v| Real(v + 0.0)).ok_or(Over),
        Op::Add { left, right } => match two(left, right)? {
            (Int(l), Int(r)) => int(l.checked_add(r)),
            (Decimal(l), Decimal(r)) => decimal(l.checked_add(r)),
            (Real(l), Real(r)) => Ok(Real(l + r)),
            _ => Err(Over),
        },
        Op::Subtract { left, right } => match two(left, right)? {
            (Int(l), Int(r)) => int(l.checked_sub(r)),
            (Decimal(l), Decimal(r)) => decimal(l.checked_sub(r)),
            (Real(l), Real(r)) => Ok(Real(l - r)),
            _ => Err(Over),
        },
        Op::Multiply { left, right } => match two(left, right)? {
            (Int(l), Int(r)) => int(l.checked_mul(r)),
            (Decimal(l), Decimal(r)) => decimal(l.checked_mul(r)),
            (Real(l), Real(r)) => Ok(Real(l * r)),
            _ => Err(Over),
        },
        Op::Negate { operand } => match number(operand, row)? {
            Int(v) => int(v.checked_neg()),
            Decimal(v) => decimal(v.checked_neg()),
            Real(v) => Ok(Real(-v)),
        },
        Op::Convert { operand } => match (number(operand, row)?, operand.kind, expr.kind) {
            (Int(v), _, Kind::Decimal { .. }) => decimal(i128::from(v).checked_mul(100)),
            (Decimal(v), Kind::Decimal { scale: 0 }, Kind::Decimal { .. }) => {
                decimal(v.checked_mul(100))
            }
            (Int(v), _, _) => Ok(Real(v as f64)),
            (Decimal(v), _, _) => Ok(Real(v as f64 / 100.0)),
            (Real(v), ..) => Ok(Real(v)),
        },
    }
}

pub(super) fn ordered(left: Constant, right: Constant) -> std::cmp::Ordering {
    match (left, right) {
        (Constant::Int(l), Constant::Int(r)) => l.cmp(&r),
        (Constant::Decimal(l), Constant::Decimal(r)) => l.cmp(&r),
        (Constant::Real(l), Constant::Real(r)) => l.partial_cmp(&r).unwrap(),
        _ => unreachable!("the generator mixes no kinds"),
    }
}

pub(super) fn verdict(comparison: Comparison, order: std::cmp::Ordering) -> u8 {
    let holds = match comparison {
        Comparison::Eq => order.is_eq(),
        Comparison::Ne => order.is_ne(),
        Comparison::Lt => order.is_lt(),
        Comparison::Le => order.is_le(),
        Comparison::Gt => order.is_gt(),
        Comparison::Ge => order.is_ge(),
    };
    if holds { TRUE } else { FALSE }
}

pub(super) fn decide(predicate: &Predicate, row: &Row) -> Result<u8, Over> {
    let text = |column: usize| if column == 5 { row.5 } else { row.6 }.map(|id| TEXTS[id]);
    let found = |found: bool, null: bool| match (found, null) {
        (true, _) => TRUE,
        (false, true) => UNKNOWN,
        (false, false) => FALSE,
    };
    Ok(match predicate {
        Predicate::Constant { value } => value.map_or(UNKNOWN, |v| if v { TRUE } else { FALSE }),
        Predicate::Compare {
            comparison,
            left,
            right,
        } => match (value(left, row)?, value(right, row)?) {
            (Some(left), Some(right)) => verdict(*comparison, ordered(left, right)),
            _ => UNKNOWN,
        },
        Predicate::In {
            operand,
            list,
            null,
        } => match value(operand, row)? {
            Some(value) => found(list.iter().any(|&l| ordered(l, value).is_eq()), *null),
            None => UNKNOWN,
        },
        Predicate::Text { column, condition } => {
            let known = CONDITIONS.iter().find(|(said, _)| {
                let name = if *column == 5 { "s" } else { "t" };
                *condition == said.replace('?', name).parse().unwrap()
            });
            let (_, verdict) = known.unwrap();
            verdict(text(*column)).map_or(UNKNOWN, |v| if v { TRUE } else { FALSE })
        }
        Predicate::IsNull { columns } => {
            if columns.iter().any(|&c| is_null(row, c)) {
                TRUE
            } else {
                FALSE
            }
        }
        Predicate::And { operands } => {
            let all: Vec<u8> = operands
                .iter()
                .map(|o| decide(o, row))
                .collect::<Result<_, _>>()?;
            all.into_iter().min().unwrap_or(TRUE)
        }
        Predicate::Or { operands } => {
            let all: Vec<u8> = operands
                .iter()
                .map(|o| decide(o, row))
                .collect::<Result<_, _>>()?;
            all.into_iter().max().unwrap_or(FALSE)
        }
        Predicate::Not { operand } => TRUE - decide(operand, row)?,
        Predicate::Is { operand, value } => {
            let wanted = value.map_or(UNKNOWN, |v| if v { TRUE } else { FALSE });
            match decide(operand, row)? == wanted {
                true => TRUE,
                false => FALSE,
            }
        }
    })
}

/// The words of a factor, from one row at a time.
pub(super) fn naive_factor(factor: &Factor, rows: &[Row]) -> Result<Vec<u64>, Over> {
    let mut words = Vec::new();
    for row in rows {
        let null = factor.not_null.iter().any(|&c| is_null(row, c));
        let value = match &factor.value {
            None => Some(Constant::Int(1)),
            Some(expr) => value(expr, row)?,
        };
        match value.filter(|_| !null) {
            Some(Constant::Int(v)) => words.push(v as u64),
            Some(Constant::Real(v)) => words.push(v.to_bits()),
            Some(Constant::Decimal(v)) => words.extend([v as u64, (v >> 64) as u64]),
            None => {
                let kind = factor.value.as_ref().map_or(Kind::Int, |v| v.kind);
                let width = if matches!(kind, Kind::Decimal { .. }) {
                    2
                } else {
                    1
                };
                words.extend(std::iter::repeat_n(0, width));
            }
        }
    }
    Ok(words)
}
