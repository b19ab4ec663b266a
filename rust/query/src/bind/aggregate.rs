//! Binding of outputs: aggregates to the terms, moments and companions that they are read from.
//!
//! Invariant: whatever an output reads is among the terms, the measures or the companions when its
//! binding returns; equal needs share one. Cost: linear in the outputs, times the terms.

use std::collections::BTreeMap;

use datafusion_common::ScalarValue;
use datafusion_expr::{Expr, Operator, binary_expr, lit};
use ringview_core::{Error, Result, Type};

use crate::bind::bound::{Moments, OutputKind, PlanOutput, Term};
use crate::bind::names::{each_column, named};
use crate::bind::polynomial::{Kind, Polynomial};
use crate::bind::reading::read;
use crate::bind::scalar::Scope;
use crate::bind::terms::{Product, expand};
use crate::bind::variables::{ColumnPosition, Variables, resolve};
use crate::logical::{ColumnRef, Function, Named, Output};

/// The digits of a decimal sum: all that there can be.
pub(crate) const SUM_PRECISION: u8 = 38;

/// Columns that must not be NULL, by atom.
type NotNull = BTreeMap<usize, Vec<usize>>;

/// Terms, measures and companions of the outputs bound so far.
pub(crate) struct Aggregates<'a> {
    pub(crate) scopes: &'a [Scope<'a>],
    pub(crate) variables: &'a Variables,
    /// The count, and what else is summed.
    pub(crate) terms: Vec<Term>,
    /// Measures that computed columns read.
    pub(crate) measures: Vec<PlanOutput>,
    /// Expressions over measures, each with the name of its column.
    pub(crate) computed: Vec<(Expr, String)>,
    /// The columns whose values companions hold, and whether in order.
    pub(crate) companions: Vec<(ColumnPosition, bool)>,
    /// Columns that are known to hold no NULL, whatever their schema says.
    known: &'a [ColumnPosition],
}

impl<'a> Aggregates<'a> {
    pub(crate) fn new(
        scopes: &'a [Scope<'a>],
        variables: &'a Variables,
        known: &'a [ColumnPosition],
    ) -> Self {
        Self {
            known,
            scopes,
            variables,
            terms: vec![Term::count(NotNull::new())],
            measures: Vec::new(),
            computed: Vec::new(),
            companions: Vec::new(),
        }
    }

    /// A column of the result.
    pub(crate) fn output(&mut self, output: &Output) -> Result<PlanOutput> {
        let (ty, kind) = match output {
            Output::Group { name, column } => self.group(name, column)?,
            Output::Aggregate {
                name,
                function,
                argument,
            } => {
                let argument = argument.as_ref().map(|one| read(one, self.scopes));
                self.aggregate(name, *function, argument.transpose()?.as_slice())?
            }
            Output::Cofactor { .. } => (Type::Float64, OutputKind::Cofactor),
            Output::Expression { name, value } => self.expression(name, value)?,
        };
        let name = output.name().to_owned();
        Ok(PlanOutput { name, ty, kind })
    }

    /// The value by which rows are grouped; `name` is for messages.
    pub(crate) fn group(&self, name: &str, column: &ColumnRef) -> Result<(Type, OutputKind)> {
        let place = resolve(self.scopes, column)?;
        let scope = &self.scopes[place.0];
        let variable = self.free(place).ok_or_else(|| Error::Unsupported {
            what: format!("the output {name:?}"),
            why: format!(
                "{} is neither grouped by nor aggregated",
                scope.name(place.1)
            ),
            instead: "add it to GROUP BY, or aggregate it".to_owned(),
        })?;
        let ty = self.variables.key_type(place, self.scopes);
        Ok((ty, OutputKind::Group { variable }))
    }

    /// The free variable of a column.
    fn free(&self, place: ColumnPosition) -> Option<usize> {
        let variable = self.variables.of.get(&place).copied();
        variable.filter(|variable| self.variables.all[*variable].free)
    }

    /// An aggregate; `name` is for messages.
    pub(crate) fn aggregate(
        &mut self,
        name: &str,
        function: Function,
        arguments: &[Expr],
    ) -> Result<(Type, OutputKind)> {
        use Function::{Avg, Count, CountDistinct, Max, Min, Sum, SumRest};
        let term = 0;
        match (function, arguments) {
            (Count, []) => Ok((Type::Int64, OutputKind::Count { term })),
            (Count, [argument]) => self.count(argument),
            (Sum | SumRest | Avg, [argument]) => self.sum(name, function, argument),
            (Min | Max | CountDistinct, [argument]) => self.ordered(name, function, argument),
            (Sum | SumRest | Avg | Count | Min | Max | CountDistinct, _) => {
                Err(wrong_arguments(name))
            }
            (function, arguments) => self.statistic(name, function, arguments),
        }
    }

    fn count(&mut self, argument: &Expr) -> Result<(Type, OutputKind)> {
        let not_null = self.not_null(argument)?;
        // Any column can be counted, not only numbers.
        if named(argument).is_none() && expand(argument, self.scopes)?.is_none() {
            return Err(always_null("COUNT"));
        }
        let term = self.counted(&not_null);
        Ok((Type::Int64, OutputKind::Count { term }))
    }

    fn sum(
        &mut self,
        name: &str,
        function: Function,
        argument: &Expr,
    ) -> Result<(Type, OutputKind)> {
        let not_null = self.not_null(argument)?;
        let nonnull = self.counted(&not_null);
        let terms = self.summed(name, argument, &not_null)?;
        if function == Function::Avg {
            return Ok((Type::Float64, OutputKind::Avg { terms, nonnull }));
        }
        if function == Function::SumRest {
            return Ok((Type::Float64, OutputKind::SumRest { terms, nonnull }));
        }
        let ty = sum_type(self.terms[terms[0]].kind);
        Ok((ty, OutputKind::Sum { terms, nonnull }))
    }

    /// The terms that add up to the sum of an expression.
    fn summed(&mut self, name: &str, sum: &Expr, not_null: &NotNull) -> Result<Vec<usize>> {
        let products = expand(sum, self.scopes)?.ok_or_else(|| always_null(name))?;
        let term = |product: Product| {
            Ok(self.term(Term {
                kind: product.kind()?,
                coefficient: product.coefficient,
                factors: product.factors,
                not_null: not_null.clone(),
            }))
        };
        products.into_iter().map(term).collect()
    }

    /// The term that counts the rows in which the columns are not NULL.
    fn counted(&mut self, not_null: &NotNull) -> usize {
        self.term(Term::count(not_null.clone()))
    }

    /// The number of a term, shared with an equal one.
    fn term(&mut self, term: Term) -> usize {
        let known = self.terms.iter().position(|known| *known == term);
        known.unwrap_or_else(|| {
            self.terms.push(term);
            self.terms.len() - 1
        })
    }

    /// MIN, MAX and COUNT(DISTINCT).
    fn ordered(
        &mut self,
        name: &str,
        function: Function,
        argument: &Expr,
    ) -> Result<(Type, OutputKind)> {
        let Some(Named::Column { atom, column, .. }) = named(argument) else {
            return Err(Error::Unsupported {
                what: format!("MIN, MAX or COUNT(DISTINCT) of an expression in {name:?}"),
                why: "they are read from the values of a column".to_owned(),
                instead: "compute it into a column before the rows are inserted".to_owned(),
            });
        };
        let column = ColumnRef { atom, column };
        let place = resolve(self.scopes, &column)?;
        let counts = function == Function::CountDistinct;
        if let (Some(_), false) = (self.free(place), counts) {
            // All rows of a group agree in it.
            return self.group(name, &column);
        }
        let known = self.companions.iter().position(|known| known.0 == place);
        let companion = known.unwrap_or_else(|| {
            self.companions.push((place, false));
            self.companions.len() - 1
        });
        self.companions[companion].1 |= !counts;
        if counts {
            return Ok((Type::Int64, OutputKind::Distinct { companion }));
        }
        let ty = self.variables.key_type(place, self.scopes);
        let greatest = function == Function::Max;
        let kind = OutputKind::Extreme {
            companion,
            greatest,
        };
        Ok((ty, kind))
    }

    fn statistic(
        &mut self,
        name: &str,
        function: Function,
        arguments: &[Expr],
    ) -> Result<(Type, OutputKind)> {
        use Function::{Corr, CovarPop, CovarSamp, RegrR2, StddevPop, StddevSamp, VarPop, VarSamp};
        let single = matches!(function, VarPop | VarSamp | StddevPop | StddevSamp);
        let (x, y) = match arguments {
            [x] if single => (x, None),
            [y, x] if !single => (x, Some(y)),
            _ => return Err(wrong_arguments(name)),
        };
        let mut not_null = self.not_null(x)?;
        if let Some(y) = y {
            merge(&mut not_null, self.not_null(y)?);
        }
        // Types are checked even where only pairs are counted.
        for argument in arguments {
            expand(argument, self.scopes)?.ok_or_else(|| always_null(name))?;
        }
        let mut moments = Moments {
            count: self.counted(&not_null),
            ..Moments::default()
        };
        if function == Function::RegrCount {
            let term = moments.count;
            return Ok((Type::Int64, OutputKind::Count { term }));
        }
        moments.x = self.summed(name, x, &not_null)?;
        if !matches!(function, CovarPop | CovarSamp) {
            moments.xx = self.summed(name, &product(x, x), &not_null)?;
        }
        if let Some(y) = y {
            moments.y = self.summed(name, y, &not_null)?;
            moments.xy = self.summed(name, &product(x, y), &not_null)?;
            if matches!(function, Corr | RegrR2) {
                moments.yy = self.summed(name, &product(y, y), &not_null)?;
            }
        }
        Ok((Type::Float64, OutputKind::Statistic { function, moments }))
    }

    /// The nullable columns of an argument; those that join are never NULL in a row that counts.
    fn not_null(&self, argument: &Expr) -> Result<NotNull> {
        let mut columns = Vec::new();
        each_column(argument, &mut |atom, column| {
            let column = column.to_owned();
            columns.push(ColumnRef { atom, column });
        });
        let mut not_null = NotNull::new();
        for column in &columns {
            let (atom, column) = resolve(self.scopes, column)?;
            let known = self.variables.not_null[atom].contains(&column)
                || self.known.contains(&(atom, column));
            if self.scopes[atom].nullable(column) && !known {
                not_null.entry(atom).or_default().push(column);
            }
        }
        merge(&mut not_null, NotNull::new());
        Ok(not_null)
    }
}

impl Term {
    /// Whether it counts rows, and so is never larger than their number.
    #[must_use]
    pub fn is_count(&self) -> bool {
        self.factors.is_empty() && self.kind == Kind::Int && self.coefficient.is_one()
    }

    /// A term that counts the rows without NULL in some columns.
    fn count(not_null: NotNull) -> Term {
        Term {
            kind: Kind::Int,
            coefficient: Polynomial::int(1),
            factors: BTreeMap::new(),
            not_null,
        }
    }
}

/// The type of a sum of numbers of a kind: integers add up to a decimal without digits after the
/// point.
fn sum_type(kind: Kind) -> Type {
    let scale = match kind {
        Kind::Int => 0,
        kind => kind.scale(),
    };
    match kind {
        Kind::Real => Type::Float64,
        Kind::Int | Kind::Decimal { .. } => kind_type(Kind::Decimal { scale }),
    }
}

/// The type of numbers of a kind.
pub(crate) fn kind_type(kind: Kind) -> Type {
    match kind {
        Kind::Int => Type::Int64,
        Kind::Real => Type::Float64,
        Kind::Decimal { scale } => Type::Decimal {
            precision: SUM_PRECISION,
            scale,
        },
    }
}

/// `left * right` in 128 bits where both are integers: squares outgrow 64 long before sums do.
fn product(left: &Expr, right: &Expr) -> Expr {
    let one = lit(ScalarValue::Decimal128(Some(1), 1, 0));
    let multiply = |left, right| binary_expr(left, Operator::Multiply, right);
    multiply(multiply(one, left.clone()), right.clone())
}

/// Adds columns to those that must not be NULL; all are in order then, and once.
fn merge(into: &mut NotNull, more: NotNull) {
    for (atom, columns) in more {
        into.entry(atom).or_default().extend(columns);
    }
    for columns in into.values_mut() {
        columns.sort_unstable();
        columns.dedup();
    }
}

fn wrong_arguments(name: &str) -> Error {
    Error::Value {
        place: format!("the output {name:?}"),
        problem: "only COUNT(*) goes without an argument; COVAR, CORR and REGR take two, y and x, \
                  all others one"
            .to_owned(),
    }
}

fn always_null(name: &str) -> Error {
    Error::Unsupported {
        what: format!("the aggregate {name:?}"),
        why: "its argument is NULL for every row".to_owned(),
        instead: "drop it".to_owned(),
    }
}
