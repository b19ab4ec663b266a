//! From an expression to its steps: registers, kinds, and where reals become expansions.
//!
//! Invariant: an operand's register is free again once the step that reads it has been added.
//! Cost: O(nodes) of the expression, squared for where reals became long.

use ringview_core::{Error, Result, Type};
use ringview_query::{Constant as Literal, Kind, Op, Polynomial};

use super::program::{Operand, Scalar, Step, Work};
use crate::read::input::Load;
use crate::read::number::{Decimal, Int, Real, Words};
use crate::read::text;

pub(super) struct Compiler<'n> {
    names: &'n dyn Fn(usize) -> String,
    place: &'n str,
    long: bool,
    steps: Vec<Step>,
    columns: Vec<usize>,
    registers: usize,
    free: Vec<usize>,
}

impl<'n> Compiler<'n> {
    pub(super) fn run(
        expr: &Polynomial,
        place: &'n str,
        names: &'n dyn Fn(usize) -> String,
        long: bool,
    ) -> Result<Scalar> {
        let mut compiler = Compiler {
            names,
            place,
            long,
            steps: Vec::new(),
            columns: Vec::new(),
            registers: 0,
            free: Vec::new(),
        };
        let result = compiler.operand(expr)?;
        let long = compiler.is_long(result);
        compiler.columns.sort_unstable();
        compiler.columns.dedup();
        Ok(Scalar {
            steps: compiler.steps,
            result,
            kind: expr.kind,
            long,
            columns: compiler.columns,
            registers: vec![Vec::new(); compiler.registers],
            text: format!("{} of {place}", text::of(expr, names)),
        })
    }

    fn operand(&mut self, expr: &Polynomial) -> Result<Operand> {
        let work = match &expr.op {
            Op::Literal { value } => return Ok(Operand::Constant(literal_words(*value))),
            Op::Column { column, ty } => return Ok(self.column(*column, ty, expr.kind)),
            Op::Add { left, right } => Work::Add(self.operand(left)?, self.operand(right)?),
            Op::Subtract { left, right } => {
                Work::Subtract(self.operand(left)?, self.operand(right)?)
            }
            Op::Multiply { left, right } => {
                Work::Multiply(self.operand(left)?, self.operand(right)?)
            }
            Op::Negate { operand } => Work::Negate(self.operand(operand)?),
            Op::Convert { operand } => {
                let power = self.power(operand.kind, expr.kind, expr)?;
                Work::Convert(operand.kind, self.operand(operand)?, power)
            }
        };
        let long = (self.long && expr.kind == Kind::Real).then(|| match work {
            Work::Add(left, right) | Work::Subtract(left, right) | Work::Multiply(left, right) => {
                (self.is_long(left), self.is_long(right))
            }
            Work::Negate(operand) => (self.is_long(operand), false),
            Work::Load(..) | Work::Convert(..) => (false, false),
        });
        // Nothing is lost of a double by its sign, nor of a short integer in one.
        let long = long.filter(|long| match &expr.op {
            Op::Negate { .. } => long.0,
            Op::Convert { operand } => !is_short(operand),
            _ => true,
        });
        let into = self.push(work, expr.kind, long);
        match work {
            Work::Add(left, right) | Work::Subtract(left, right) | Work::Multiply(left, right) => {
                self.release(left);
                self.release(right);
            }
            Work::Negate(operand) | Work::Convert(_, operand, _) => self.release(operand),
            Work::Load(..) => {}
        }
        Ok(Operand::Register(into))
    }

    fn column(&mut self, column: usize, ty: &Type, kind: Kind) -> Operand {
        self.columns.push(column);
        let load = match (ty, kind) {
            (Type::UInt64, Kind::Decimal { .. }) => Load::WideUnsigned,
            (Type::UInt64, _) => Load::Unsigned,
            (Type::Decimal { .. }, _) => Load::Wide,
            _ => Load::Word,
        };
        let into = self.push(Work::Load(column, load), kind, None);
        match load {
            Load::Word => Operand::Column(column, into),
            _ => Operand::Register(into),
        }
    }

    /// Whether an operand is of expansions: the last step that writes its register says so.
    fn is_long(&self, operand: Operand) -> bool {
        let Operand::Register(register) = operand else {
            return false;
        };
        let mut steps = self.steps.iter().rev();
        let writer = steps.find(|step| step.into == register);
        writer.is_some_and(|step| step.long.is_some())
    }

    fn push(&mut self, work: Work, kind: Kind, long: Option<(bool, bool)>) -> usize {
        let into = self.free.pop().unwrap_or_else(|| {
            self.registers += 1;
            self.registers - 1
        });
        self.steps.push(Step {
            work,
            kind,
            into,
            long,
        });
        into
    }

    fn release(&mut self, operand: Operand) {
        match operand {
            Operand::Register(register) | Operand::Column(_, register) => self.free.push(register),
            Operand::Constant(_) => {}
        }
    }

    /// The power of ten of a conversion.
    fn power(&self, from: Kind, to: Kind, expr: &Polynomial) -> Result<i128> {
        let scale = |kind| match kind {
            Kind::Decimal { scale } => i32::from(scale),
            Kind::Int | Kind::Real => 0,
        };
        let digits = match to {
            Kind::Real => scale(from).unsigned_abs(),
            _ => u32::try_from(scale(to) - scale(from)).unwrap_or(u32::MAX),
        };
        10i128.checked_pow(digits).ok_or_else(|| Error::Overflow {
            place: format!("{} of {}", text::of(expr, self.names), self.place),
        })
    }
}

/// Whether an expression is a column of integers that are doubles.
fn is_short(expr: &Polynomial) -> bool {
    let Op::Column { ty, .. } = &expr.op else {
        return false;
    };
    expr.kind == Kind::Int && ty.bits() <= f64::MANTISSA_DIGITS
}

/// A constant as words; kinds of one word use the first.
pub(crate) fn literal_words(value: Literal) -> [u64; 2] {
    let mut words = [0; 2];
    match value {
        Literal::Int(value) => Int::write(value, &mut words),
        Literal::Decimal(value) => Decimal::write(value, &mut words),
        Literal::Real(value) => Real::write(value, &mut words),
    }
    words
}
