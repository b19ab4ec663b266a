//! Values over one row of a table, compiled: integers in units of a scale that is fixed before any
//! row is inserted.
//!
//! Invariant: the result is the value, or NULL where a column of it is, or an overflow;
//! nothing wraps. Cost: a few steps a node, nothing is allocated.

use ringview_core::{Result, Type};
use ringview_query::nested::{Quantity, Value, product};

use crate::machine::query::kind::Kind;
use crate::machine::query::plan::ColumnType;
use crate::machine::query::row::RowAt;
use crate::machine::query::scope::value_for;
use crate::tree::overflow;

/// How the words of a column are read.
#[derive(Clone, Copy, Debug)]
enum Load {
    Signed,
    Unsigned,
    Decimal,
    /// Of a scale below 0.
    Whole(i128),
    Verdict,
}

#[derive(Clone, Debug)]
enum Code {
    Constant(i128),
    Column(usize, Load),
    Plus(Box<Code>, Box<Code>),
    Minus(Box<Code>, Box<Code>),
    Times(Box<Code>, Box<Code>),
    /// 1, or NULL where one of these columns is.
    Present(Vec<usize>),
}

/// A value in units of its scale.
#[derive(Clone, Debug)]
pub(crate) struct Exact {
    code: Code,
    pub(crate) scale: u8,
}

impl Exact {
    /// An exact value; `None` for doubles, quotients, and values of more than one row.
    pub(crate) fn new(value: &Value, types: &[ColumnType]) -> Option<Self> {
        match value {
            Value::Constant(Quantity::Exact { units, scale }) => Some(Self {
                code: Code::Constant(*units),
                scale: *scale,
            }),
            Value::Present(columns) => Some(Self {
                code: Code::Present(columns.iter().map(|column| column.column).collect()),
                scale: 0,
            }),
            Value::Column(column) => Self::column(column.column, &types[column.column].ty),
            Value::Plus(a, b) => Self::alike(a, b, types, Code::Plus),
            Value::Minus(a, b) => Self::alike(a, b, types, Code::Minus),
            Value::Times(a, b) => {
                let (a, b) = (Self::new(a, types)?, Self::new(b, types)?);
                let scale = a.scale.checked_add(b.scale)?;
                let code = Code::Times(Box::new(a.code), Box::new(b.code));
                Some(Self { code, scale })
            }
            _ => None,
        }
    }

    fn column(column: usize, ty: &Type) -> Option<Self> {
        let (load, scale) = match ty {
            Type::Float32 | Type::Float64 => return None,
            Type::Decimal { scale, .. } if *scale < 0 => {
                let power = 10i128.checked_pow(u32::from(scale.unsigned_abs()))?;
                (Load::Whole(power), 0)
            }
            Type::Decimal { scale, .. } => (Load::Decimal, *scale as u8),
            Type::UInt64 => (Load::Unsigned, 0),
            Type::Bool => (Load::Verdict, 0),
            _ => (Load::Signed, 0),
        };
        let code = Code::Column(column, load);
        Some(Self { code, scale })
    }

    fn alike(
        a: &Value,
        b: &Value,
        types: &[ColumnType],
        make: fn(Box<Code>, Box<Code>) -> Code,
    ) -> Option<Self> {
        let (a, b) = (Self::new(a, types)?, Self::new(b, types)?);
        let scale = a.scale.max(b.scale);
        let (a, b) = (a.at_scale(scale)?, b.at_scale(scale)?);
        let code = make(Box::new(a.code), Box::new(b.code));
        Some(Self { code, scale })
    }

    /// The same in units of a finer scale.
    pub(crate) fn at_scale(self, scale: u8) -> Option<Self> {
        let power = 10i128.checked_pow(u32::from(scale.checked_sub(self.scale)?))?;
        let code = match (self.code, power) {
            (code, 1) => code,
            (Code::Constant(units), power) => Code::Constant(units.checked_mul(power)?),
            (code, power) => Code::Times(Box::new(code), Box::new(Code::Constant(power))),
        };
        Some(Self { code, scale })
    }

    /// Its units in a row.
    #[inline]
    pub(crate) fn units(&self, row: &RowAt<'_>) -> Result<Option<i128>> {
        self.code.run(row)
    }
}

impl Code {
    #[inline]
    fn run(&self, row: &RowAt<'_>) -> Result<Option<i128>> {
        let (a, b, compute): (_, _, fn(i128, i128) -> Option<i128>) = match self {
            Code::Constant(units) => return Ok(Some(*units)),
            Code::Column(column, load) => return Ok(load.read(*column, row)),
            Code::Present(columns) => {
                let all = columns.iter().all(|&column| !row.is_null(column));
                return Ok(all.then_some(1));
            }
            Code::Plus(a, b) => (a, b, i128::checked_add),
            Code::Minus(a, b) => (a, b, i128::checked_sub),
            Code::Times(a, b) => (a, b, product),
        };
        match (a.run(row)?, b.run(row)?) {
            (Some(a), Some(b)) => match compute(a, b) {
                Some(units) => Ok(Some(units)),
                None => Err(overflow("a value of a row")),
            },
            _ => Ok(None),
        }
    }
}

impl Load {
    #[inline]
    fn read(self, column: usize, row: &RowAt<'_>) -> Option<i128> {
        if matches!(self, Load::Verdict) {
            return row.bit(column).map(i128::from);
        }
        let cells = row.batch.column(column);
        if cells.is_null(row.at) {
            return None;
        }
        Some(match self {
            Load::Signed => i128::from(cells.words[row.at] as i64),
            Load::Unsigned => i128::from(cells.words[row.at]),
            Load::Decimal => cells.decimal(row.at),
            Load::Whole(power) => cells.decimal(row.at).saturating_mul(power),
            Load::Verdict => return None,
        })
    }
}

/// A value by which rows are ordered, as an integer in the order of numbers of a kind.
#[derive(Clone, Debug)]
pub(crate) enum Ordinal {
    Exact(Exact),
    Real(Value),
}

impl Ordinal {
    /// A value over one table, in the order of a kind that its own is part of.
    pub(crate) fn new(value: &Value, types: &[ColumnType], kind: Kind) -> Option<Self> {
        match kind {
            Kind::Exact(scale) => Exact::new(value, types)?
                .at_scale(scale)
                .map(Ordinal::Exact),
            Kind::Real => Some(Ordinal::Real(value.clone())),
        }
    }

    /// Of a row; `None` for NULL, which compares with nothing.
    #[inline]
    pub(crate) fn of(&self, row: &RowAt<'_>) -> Result<Option<i128>> {
        match self {
            Ordinal::Exact(exact) => exact.units(row),
            Ordinal::Real(value) => match value_for(value, row)?.0 {
                Some(number) => Kind::Real.key(number).map(Some),
                None => Ok(None),
            },
        }
    }
}
