//! Scalar expressions, evaluated a column at a time.
//!
//! Invariant: a program runs its steps in order, each writes one register, and a register is reused
//! once its last reader is done. A value in a row where any column of the expression is NULL has no
//! meaning, and cannot cause an overflow error. A lone column of one word is never copied.
//!
//! Summands are compiled `long`: a number computed from reals keeps the digits of an expansion; a column or a constant
//! stays a double.

mod compile;
mod program;

use ringview_core::{Error, Result, Schema};
use ringview_query::{Kind, Polynomial};
use ringview_ring::Expansion;

use super::input::{Input, convert, load_column};
use super::number::{Arithmetic, Decimal, Int, Long, Real, Source, Words, combine, map};
use compile::Compiler;
pub(crate) use compile::literal_words;
pub(crate) use program::Scalar;
use program::{Operand, Step, Work};

impl Scalar {
    /// Compiles an expression over the columns of a table.
    pub(crate) fn compile(expr: &Polynomial, place: &str, schema: &Schema) -> Result<Scalar> {
        let names = |column: usize| schema.fields()[column].name.clone();
        Compiler::run(expr, place, &names, false)
    }

    /// The same, to be summed: without a rounding between.
    pub(crate) fn compile_long(expr: &Polynomial, place: &str, schema: &Schema) -> Result<Scalar> {
        let names = |column: usize| schema.fields()[column].name.clone();
        Compiler::run(expr, place, &names, true)
    }

    /// Whether its reals are expansions.
    pub(crate) fn is_long(&self) -> bool {
        self.long
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Text of the expression in messages.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The columns that it reads, ascending.
    pub(crate) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Whether it is a plain column, whose NULLs therefore are zeros.
    pub(crate) fn is_column(&self) -> bool {
        self.steps.len() == 1 && self.columns.len() == 1
    }

    /// Evaluates it; `Error::Overflow` names it. O(rows) a step.
    pub(crate) fn evaluate<'a>(&'a mut self, input: &Input<'a>) -> Result<Source<'a>> {
        for at in 0..self.steps.len() {
            let step = self.steps[at];
            let mut into = std::mem::take(&mut self.registers[step.into]);
            let left_range = self.run(step, input, &mut into);
            self.registers[step.into] = into;
            if left_range && self.overflows(step, input) {
                return Err(Error::Overflow {
                    place: self.text.clone(),
                });
            }
        }
        Ok(self.result(input))
    }

    /// The result of the last evaluation, of the same input.
    pub(crate) fn result<'a>(&'a self, input: &Input<'a>) -> Source<'a> {
        self.source(self.result, input)
    }

    fn source<'a>(&'a self, operand: Operand, input: &Input<'a>) -> Source<'a> {
        match operand {
            Operand::Register(register) => Source::Words(&self.registers[register]),
            Operand::Constant(words) => Source::Constant(words),
            Operand::Column(column, register) => Source::Words(match input.chosen {
                None => input.words(column).0,
                Some(_) => &self.registers[register],
            }),
        }
    }

    fn run(&self, step: Step, input: &Input<'_>, into: &mut Vec<u64>) -> bool {
        match (step.work, step.kind) {
            (Work::Load(column, load), _) => load_column(load, input, column, into),
            (Work::Convert(from, operand, power), to) => {
                let source = self.source(operand, input);
                match step.long {
                    Some(_) => expand(from, source, input.rows(), into),
                    None => convert(from, to, power, source, input.rows(), into),
                }
            }
            (work, Kind::Real) if step.long.is_some() => {
                self.compute_long(work, step.long.unwrap_or_default(), input, into)
            }
            (_, Kind::Int) => self.compute::<Int>(step.work, input, into),
            (_, Kind::Decimal { .. }) => self.compute::<Decimal>(step.work, input, into),
            (_, Kind::Real) => self.compute::<Real>(step.work, input, into),
        }
    }

    fn compute<N: Arithmetic>(&self, work: Work, input: &Input<'_>, into: &mut Vec<u64>) -> bool {
        let rows = input.rows();
        let source = |operand| self.source(operand, input);
        match work {
            Work::Add(l, r) => combine::<N, N, N>(source(l), source(r), rows, into, N::add),
            Work::Subtract(l, r) => {
                combine::<N, N, N>(source(l), source(r), rows, into, N::subtract)
            }
            Work::Multiply(l, r) => {
                combine::<N, N, N>(source(l), source(r), rows, into, N::multiply)
            }
            Work::Negate(operand) => map::<N, N>(source(operand), rows, into, N::negate),
            Work::Load(..) | Work::Convert(..) => false,
        }
    }

    /// A step over reals of which some are expansions; infinities are found in the result.
    fn compute_long(
        &self,
        work: Work,
        long: (bool, bool),
        input: &Input<'_>,
        into: &mut Vec<u64>,
    ) -> bool {
        let rows = input.rows();
        let (left, right) = match work {
            Work::Add(left, right) | Work::Subtract(left, right) | Work::Multiply(left, right) => {
                (self.source(left, input), self.source(right, input))
            }
            Work::Negate(operand) => {
                let source = self.source(operand, input);
                return map::<Long, Long>(source, rows, into, |value| (value.negated(), false));
            }
            Work::Load(..) | Work::Convert(..) => return false,
        };
        if matches!(work, Work::Multiply(..)) {
            match long {
                (false, false) => exact_products::<Real, Real>(left, right, rows, into),
                (true, false) => exact_products::<Long, Real>(left, right, rows, into),
                (false, true) => exact_products::<Real, Long>(left, right, rows, into),
                (true, true) => exact_products::<Long, Long>(left, right, rows, into),
            }
            return false;
        }
        let long_by_long = |a: Expansion, b: Expansion| match work {
            Work::Add(..) => (a.sum(b), false),
            _ => (a.difference(b), false),
        };
        match long {
            (false, false) => match work {
                Work::Add(..) => {
                    let sum = |a, b| (Expansion::sum_of(a, b), false);
                    combine::<Real, Real, Long>(left, right, rows, into, sum)
                }
                _ => {
                    let difference = |a, b: f64| (Expansion::sum_of(a, -b), false);
                    combine::<Real, Real, Long>(left, right, rows, into, difference)
                }
            },
            (true, false) => {
                let of = |a, b| long_by_long(a, Expansion::from(b));
                combine::<Long, Real, Long>(left, right, rows, into, of)
            }
            (false, true) => {
                let of = |a, b| long_by_long(Expansion::from(a), b);
                combine::<Real, Long, Long>(left, right, rows, into, of)
            }
            (true, true) => combine::<Long, Long, Long>(left, right, rows, into, long_by_long),
        }
    }

    /// Whether a step left its range in a row that is not NULL. The slow path: only after some row did.
    #[cold]
    fn overflows(&self, step: Step, input: &Input<'_>) -> bool {
        if !input.has_nulls(&self.columns) {
            return true;
        }
        let positions = (0..input.rows()).filter(|&row| !input.is_null(&self.columns, row));
        match (step.work, step.kind) {
            (Work::Load(..), _) => {
                let loaded = Source::Words(&self.registers[step.into]);
                positions
                    .into_iter()
                    .any(|row| loaded.get::<Int>(row).is_negative())
            }
            (Work::Convert(from, operand, power), to) => {
                let source = self.source(operand, input);
                positions.into_iter().any(|row| {
                    let words = match from {
                        Kind::Decimal { .. } => {
                            let mut words = [0; 2];
                            Decimal::write(source.get::<Decimal>(row), &mut words);
                            words
                        }
                        Kind::Int | Kind::Real => [source.get::<Int>(row) as u64, 0],
                    };
                    convert(from, to, power, Source::Constant(words), 1, &mut Vec::new())
                })
            }
            (work, Kind::Int) => self.any_over::<Int>(work, input, positions),
            (work, Kind::Decimal { .. }) => self.any_over::<Decimal>(work, input, positions),
            (_, Kind::Real) => false,
        }
    }

    fn any_over<N: Arithmetic>(
        &self,
        work: Work,
        input: &Input<'_>,
        mut positions: impl Iterator<Item = usize>,
    ) -> bool {
        let get = |operand, row| self.source(operand, input).get::<N>(row);
        positions.any(|row| match work {
            Work::Add(l, r) => N::add(get(l, row), get(r, row)).1,
            Work::Subtract(l, r) => N::subtract(get(l, row), get(r, row)).1,
            Work::Multiply(l, r) => N::multiply(get(l, row), get(r, row)).1,
            Work::Negate(operand) => N::negate(get(operand, row)).1,
            Work::Load(..) | Work::Convert(..) => false,
        })
    }
}

/// The products of reals as expansions.
fn exact_products<L, R>(left: Source<'_>, right: Source<'_>, rows: usize, into: &mut Vec<u64>)
where
    L: Words<Value: Into<Expansion>>,
    R: Words<Value: Into<Expansion>>,
{
    fn all<N: Words>(words: &[u64]) -> impl ExactSizeIterator<Item = N::Value> {
        words.chunks_exact(N::WORDS).map(N::read)
    }
    match (left, right) {
        (Source::Words(left), Source::Words(right)) => {
            Expansion::products_of(all::<L>(left).zip(all::<R>(right)), into);
        }
        (Source::Words(left), Source::Constant(right)) => {
            let right = R::read(&right);
            Expansion::products_of(all::<L>(left).map(|left| (left, right)), into);
        }
        (Source::Constant(left), Source::Words(right)) => {
            let left = L::read(&left);
            Expansion::products_of(all::<R>(right).map(|right| (left, right)), into);
        }
        (Source::Constant(left), Source::Constant(right)) => {
            let pair = (L::read(&left), R::read(&right));
            Expansion::products_of((0..rows).map(|_| pair), into);
        }
    }
}

/// Integers and decimals as expansions: all digits of the former, those that there is room for of a
/// decimal's fraction.
fn expand(from: Kind, source: Source<'_>, rows: usize, into: &mut Vec<u64>) -> bool {
    match from {
        Kind::Int => map::<Int, Long>(source, rows, into, |value| (value.into(), false)),
        Kind::Decimal { scale } => map::<Decimal, Long>(source, rows, into, |value| {
            (Expansion::of_decimal(value, scale), false)
        }),
        Kind::Real => map::<Real, Long>(source, rows, into, |value| (value.into(), false)),
    }
}
