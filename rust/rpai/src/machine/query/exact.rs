//! Values over one row of a table, compiled: integers in units of a scale that is fixed before any
//! row is inserted.
//!
//! Invariant: the result is the value, or NULL where a column of it is, or an overflow;
//! nothing wraps. Cost: a few machine steps for each of its own; nothing is allocated where few operands wait.

use ringview_core::{Result, Type};
use ringview_query::nested::{Quantity, Value, power_of_ten, product};

use crate::machine::query::kind::Kind;
use crate::machine::query::plan::ColumnType;
use crate::machine::query::row::RowAt;
use crate::machine::query::scope::value_for;
use crate::tree::overflow;

/// Reading of the words of a column.
#[derive(Clone, Copy, Debug)]
enum Load {
    Signed,
    Unsigned,
    Decimal,
    /// Of a scale below 0.
    Whole(i128),
    Verdict,
}

/// A step of a value, over those before it.
#[derive(Clone, Debug)]
enum Step {
    Constant(i128),
    Column(usize, Load),
    /// 1, or NULL where one of these columns is.
    Present(Vec<usize>),
    Plus,
    Minus,
    Times,
}

/// A value in units of its scale, as steps: operands before what joins them.
#[derive(Clone, Debug)]
pub(crate) struct Exact {
    steps: Vec<Step>,
    /// Largest number of operands that wait.
    depth: usize,
    pub(crate) scale: u8,
}

/// Operands that wait without memory of their own.
const FEW: usize = 4;

impl Exact {
    /// An exact value; `None` for doubles, quotients, and values of more than one row.
    pub(crate) fn new(value: &Value, types: &[ColumnType]) -> Option<Self> {
        let of = |value: &Value| Self::new(value, types);
        match value {
            Value::Constant(Quantity::Exact { units, scale }) => {
                Some(Self::one(Step::Constant(*units), *scale))
            }
            Value::Present(columns) => {
                let columns = columns.iter().map(|column| column.column).collect();
                Some(Self::one(Step::Present(columns), 0))
            }
            Value::Column(column) => Self::column(column.column, &types[column.column].ty),
            Value::Plus(a, b) => Self::alike(of(a)?, of(b)?, Step::Plus),
            Value::Minus(a, b) => Self::alike(of(a)?, of(b)?, Step::Minus),
            Value::Times(a, b) => {
                let (a, b) = (of(a)?, of(b)?);
                let scale = a.scale.checked_add(b.scale)?;
                Some(a.joined(b, Step::Times, scale))
            }
            _ => None,
        }
    }

    fn one(step: Step, scale: u8) -> Self {
        Self {
            steps: vec![step],
            depth: 1,
            scale,
        }
    }

    fn joined(mut self, other: Self, by: Step, scale: u8) -> Self {
        self.steps.extend(other.steps);
        self.steps.push(by);
        Self {
            depth: self.depth.max(1 + other.depth),
            scale,
            ..self
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
        Some(Self::one(Step::Column(column, load), scale))
    }

    fn alike(a: Self, b: Self, by: Step) -> Option<Self> {
        let scale = a.scale.max(b.scale);
        let (a, b) = (a.at_scale(scale)?, b.at_scale(scale)?);
        Some(a.joined(b, by, scale))
    }

    /// The same in units of a finer scale.
    pub(crate) fn at_scale(mut self, scale: u8) -> Option<Self> {
        let power = power_of_ten(scale.checked_sub(self.scale)?)?;
        self.scale = scale;
        match (&mut self.steps[..], power) {
            (_, 1) => Some(self),
            ([Step::Constant(units)], power) => {
                *units = units.checked_mul(power)?;
                Some(self)
            }
            (_, power) => {
                let power = Self::one(Step::Constant(power), 0);
                Some(self.joined(power, Step::Times, scale))
            }
        }
    }

    /// Its units in a row.
    #[inline]
    pub(crate) fn scaled(&self, row: &RowAt<'_>) -> Result<Option<i128>> {
        match &self.steps[..] {
            [one] => Ok(one.operand(row)),
            [one, other, by] => match (one.operand(row), other.operand(row)) {
                (Some(one), Some(other)) => by.joined(one, other).map(Some),
                _ => Ok(None),
            },
            _ if self.depth <= FEW => self.run(row, &mut [0; FEW]),
            _ => self.run(row, &mut vec![0; self.depth]),
        }
    }

    fn run(&self, row: &RowAt<'_>, waiting: &mut [i128]) -> Result<Option<i128>> {
        let mut len = 0;
        for step in &self.steps {
            if step.joins() {
                len -= 1;
                waiting[len - 1] = step.joined(waiting[len - 1], waiting[len])?;
                continue;
            }
            let Some(units) = step.operand(row) else {
                return Ok(None);
            };
            waiting[len] = units;
            len += 1;
        }
        Ok(Some(waiting[0]))
    }
}

impl Step {
    /// Whether it joins two operands.
    fn joins(&self) -> bool {
        matches!(self, Step::Plus | Step::Minus | Step::Times)
    }

    /// Result of the operation on two operands.
    #[inline]
    fn joined(&self, one: i128, other: i128) -> Result<i128> {
        let units = match self {
            Step::Plus => one.checked_add(other),
            Step::Minus => one.checked_sub(other),
            _ => product(one, other),
        };
        units.ok_or_else(|| overflow("a value of a row"))
    }

    /// Value of a step without operands; `None` for NULL.
    #[inline]
    fn operand(&self, row: &RowAt<'_>) -> Option<i128> {
        match self {
            Step::Constant(units) => Some(*units),
            Step::Column(column, load) => load.read(*column, row),
            Step::Present(columns) => {
                let present = columns.iter().all(|&column| !row.is_null(column));
                present.then_some(1)
            }
            Step::Plus | Step::Minus | Step::Times => None,
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
            Ordinal::Exact(exact) => exact.scaled(row),
            Ordinal::Real(value) => match value_for(value, row)?.0 {
                Some(number) => Kind::Real.key(number).map(Some),
                None => Ok(None),
            },
        }
    }
}
