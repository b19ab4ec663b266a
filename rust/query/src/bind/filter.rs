//! Filters, recognised in conditions: both sides of a comparison are brought to one domain, constants folded; what is on
//! one column of strings stays an expression.
//!
//! Invariant: three-valued logic throughout; nothing is rounded on the way, so that a filter keeps
//! exactly the rows that SQL keeps. Cost: linear in the filter.

use datafusion_common::Column;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_expr::expr::BinaryExpr;
use datafusion_expr::{Expr, Operator};
use ringview_core::{Error, Field, Result, Schema, Type};
use ringview_expr::{RowTypes, Scalar};

use crate::bind::domain::{Domain, coerce, domain_of, in_one_domain, narrowed, times};
use crate::bind::literal::{Literal, literal};
use crate::bind::names::{constant, fields, schema, split};
use crate::bind::polynomial::{Comparison, Kind, Polynomial, Predicate};
use crate::bind::predicate::{FALSE, TRUE, UNKNOWN, all, any, as_list, is, negated, order, truth};
use crate::bind::scalar::Scope;
use crate::logical::Named;

/// One side of a comparison.
enum Operand {
    Null,
    /// A string column.
    Text(usize),
    /// A constant in quotes, which becomes what it is compared with.
    Quoted(String),
    Value(Polynomial, Domain),
}

impl Scope<'_> {
    /// A condition over the plain names of this atom's columns.
    pub(crate) fn read(&self, of: &Scalar) -> Result<Expr> {
        for column in of.columns() {
            match (&column.relation, Named::meant(column)) {
                (None, _) => self.position(&column.name)?,
                (_, Some(Named::Column { atom, column, .. })) => self.own(atom, &column)?,
                _ => self.own(usize::MAX, &column.name)?,
            };
        }
        match of.decided() {
            Some(expr) => Ok(expr.clone()),
            None => of.over(&schema(fields(None, self.schema).collect())?),
        }
    }

    /// Recognises a condition on this atom's rows.
    ///
    /// # Errors
    /// `Unsupported` for one that is no comparison of sums of products, and not on one string column; `Type`, `Value`.
    pub(crate) fn predicate(&self, condition: &Expr) -> Result<Predicate> {
        if let Some(found) = self.of_one_text(condition)? {
            return Ok(found);
        }
        Ok(match condition {
            Expr::Alias(alias) => self.predicate(&alias.expr)?,
            Expr::BinaryExpr(BinaryExpr { op, .. })
                if matches!(op, Operator::And | Operator::Or) =>
            {
                let mut operands = Vec::new();
                split(condition, *op, &mut operands);
                let operands = operands.into_iter().map(|one| self.predicate(one));
                let operands = operands.collect::<Result<_>>()?;
                match op {
                    Operator::And => all(operands),
                    _ => any(operands),
                }
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let comparison = Comparison::of(*op).ok_or_else(|| no_predicate(condition))?;
                self.compare(comparison, self.operand(left)?, self.operand(right)?)?
            }
            Expr::Not(of) => negated(self.predicate(of)?),
            Expr::IsNull(of) => self.is_null(of)?,
            Expr::IsNotNull(of) => negated(self.is_null(of)?),
            Expr::IsUnknown(of) => is(self.predicate(of)?, None),
            Expr::IsNotUnknown(of) => negated(is(self.predicate(of)?, None)),
            Expr::IsTrue(of) => is(self.predicate(of)?, Some(true)),
            Expr::IsNotTrue(of) => negated(is(self.predicate(of)?, Some(true))),
            Expr::IsFalse(of) => is(self.predicate(of)?, Some(false)),
            Expr::IsNotFalse(of) => negated(is(self.predicate(of)?, Some(false))),
            Expr::Between(between) => {
                let bound = |comparison, side: &Expr| {
                    self.compare(
                        comparison,
                        self.operand(&between.expr)?,
                        self.operand(side)?,
                    )
                };
                let found = all(vec![
                    bound(Comparison::Ge, &between.low)?,
                    bound(Comparison::Le, &between.high)?,
                ]);
                match between.negated {
                    true => negated(found),
                    false => found,
                }
            }
            Expr::InList(within) => {
                let found = self.among(&within.expr, &within.list)?;
                match within.negated {
                    true => negated(found),
                    false => found,
                }
            }
            // A Boolean by itself; NULL = TRUE is unknown, as NULL itself is.
            other => match self.operand(other)? {
                Operand::Null => UNKNOWN,
                operand @ Operand::Value(_, Domain::Bool) => {
                    let truth = Operand::Value(Polynomial::int(1), Domain::Bool);
                    self.compare(Comparison::Eq, operand, truth)?
                }
                _ => return Err(no_predicate(other)),
            },
        })
    }

    /// A condition that reads one string column and nothing else, however it is put.
    fn of_one_text(&self, condition: &Expr) -> Result<Option<Predicate>> {
        let mut found = None;
        for column in condition.column_refs() {
            let column = self.column_of(&Expr::Column(column.clone()))?;
            match (column, found) {
                (Some(column), None) => found = Some(column),
                (column, known) if column == known => {}
                _ => return Ok(None),
            }
        }
        let is_null = |of: &Expr| matches!(of, Expr::IsNull(_) | Expr::IsNotNull(_));
        let Some(column) = found.filter(|&column| *self.ty(column) == Type::Utf8) else {
            return Ok(None);
        };
        let is_plain = |of: &Expr| matches!(of, Expr::Not(of) if is_null(of));
        if is_null(condition) || is_plain(condition) {
            return Ok(None);
        }
        let name = &self.schema.fields()[column].name;
        let plain = |node| match node {
            Expr::Column(_) => Transformed::yes(Expr::Column(Column::new_unqualified(name))),
            other => Transformed::no(other),
        };
        let condition = condition.clone().transform_up(|node| Ok(plain(node)));
        let condition = condition.map_err(|problem| Error::Value {
            place: format!("the filter on {:?}", self.alias),
            problem: problem.strip_backtrace(),
        })?;
        let condition = Scalar::from(condition.data);
        let field = Field::new(name, Type::Utf8, true);
        let of = Schema::new(vec![field])?;
        let typed = RowTypes::bind(None, &[&condition], &of)?;
        match (typed.types(), typed.fallible()) {
            ([Type::Bool], [false]) => Ok(Some(Predicate::Text { column, condition })),
            // A row that other conditions leave out must not fail.
            ([Type::Bool], _) => Err(Error::Unsupported {
                what: format!("the condition {condition} as the filter of an engine"),
                why: "it may fail, and so is asked of rows that meet all others alone".to_owned(),
                instead: "compute it in a subquery in FROM".to_owned(),
            }),
            (types, _) => Err(Error::Type {
                place: format!("the condition {condition} on {:?}", self.alias),
                expected: "a Boolean".to_owned(),
                found: types.first().map_or_else(String::new, Type::to_string),
            }),
        }
    }

    /// That a column is not NULL.
    pub(crate) fn not_null(&self, column: usize) -> Predicate {
        match self.nullable(column) {
            true => negated(Predicate::IsNull {
                columns: vec![column],
            }),
            false => TRUE,
        }
    }

    /// `left = right` for two columns of this atom that belong to one variable.
    pub(crate) fn equal(&self, left: usize, right: usize) -> Result<Predicate> {
        self.compare(
            Comparison::Eq,
            self.column_operand(left),
            self.column_operand(right),
        )
    }

    /// That a decimal of this atom is a value of a type of integers, whose bits are all that a key
    /// holds of it.
    pub(crate) fn fits(&self, column: usize, ty: &Type) -> Result<Predicate> {
        let Some((least, most)) = ty.integer_range() else {
            return Ok(TRUE);
        };
        let bound = |comparison, value| {
            let value = Operand::Value(Polynomial::decimal(value, 0), Domain::Number);
            self.compare(comparison, self.column_operand(column), value)
        };
        Ok(all(vec![
            bound(Comparison::Ge, least)?,
            bound(Comparison::Le, most)?,
        ]))
    }

    fn operand(&self, expr: &Expr) -> Result<Operand> {
        if let Some(column) = self.column_of(expr)? {
            return Ok(self.column_operand(column));
        }
        if let Some(value) = constant(expr)? {
            return Ok(match literal(&value)? {
                Literal::Null => Operand::Null,
                Literal::Text(text) => Operand::Quoted(text),
                Literal::Number(number) => Operand::Value(number, Domain::Number),
                Literal::Bool(value) => {
                    Operand::Value(Polynomial::int(i64::from(value)), Domain::Bool)
                }
                Literal::Date(days) => Operand::Value(Polynomial::int(days), Domain::Date),
                Literal::Timestamp(ticks, unit) => {
                    let domain = Domain::Timestamp { unit, zoned: None };
                    Operand::Value(Polynomial::int(ticks), domain)
                }
            });
        }
        let number = self.number(expr)?;
        Ok(number.map_or(Operand::Null, |expr| Operand::Value(expr, Domain::Number)))
    }

    fn column_operand(&self, column: usize) -> Operand {
        let ty = self.ty(column);
        match domain_of(ty) {
            None => Operand::Text(column),
            Some((kind, domain)) => {
                Operand::Value(Polynomial::column(column, ty.clone(), kind), domain)
            }
        }
    }

    fn compare(&self, comparison: Comparison, left: Operand, right: Operand) -> Result<Predicate> {
        use Operand::{Null, Quoted, Text, Value};
        let word = |column| Polynomial::column(column, Type::Utf8, Kind::Int);
        Ok(match (left, right) {
            (Null, _) | (_, Null) => UNKNOWN,
            // Equal strings have one word.
            (Text(left), Text(right)) if matches!(comparison, Comparison::Eq | Comparison::Ne) => {
                let (left, right) = (word(left), word(right));
                Predicate::Compare {
                    comparison,
                    left,
                    right,
                }
            }
            (Text(left), Text(right)) => return Err(self.unordered(left, right)),
            (Text(column), Quoted(_)) | (Quoted(_), Text(column)) => {
                return Err(self.mismatch(&self.name(column), "an expression"));
            }
            (Quoted(left), Quoted(right)) => truth(comparison, left.cmp(&right)),
            (Value(left, domain), Quoted(right)) => {
                let (right, to) = coerce(&right, domain, left.kind)?;
                let right = narrowed(&left, right, true);
                self.values(comparison, (left, domain), (right, to))?
            }
            (Quoted(left), Value(right, domain)) => {
                let (left, to) = coerce(&left, domain, right.kind)?;
                let left = narrowed(&right, left, true);
                self.values(comparison, (left, to), (right, domain))?
            }
            (Value(left, l), Value(right, r)) => {
                let right = narrowed(&left, right, false);
                let left = narrowed(&right, left, false);
                self.values(comparison, (left, l), (right, r))?
            }
            (Text(text), Value(_, domain)) | (Value(_, domain), Text(text)) => {
                return Err(self.mismatch(&self.name(text), &domain.describe()));
            }
        })
    }

    fn values(
        &self,
        comparison: Comparison,
        (left, from): (Polynomial, Domain),
        (right, to): (Polynomial, Domain),
    ) -> Result<Predicate> {
        let Some((one, other)) = in_one_domain(from, to) else {
            return Err(self.mismatch(&from.describe(), &to.describe()));
        };
        let (left, right) = (times(left, one)?, times(right, other)?);
        let (left, right) = Polynomial::unify(left, right)?;
        if let (Some(a), Some(b)) = (left.value(), right.value())
            && let Some(order) = order(a, b)
        {
            return Ok(truth(comparison, order));
        }
        Ok(Predicate::Compare {
            comparison,
            left,
            right,
        })
    }

    /// `x IN (a, b)` is `x = a OR x = b`; a list of constants of one kind stays a list.
    fn among(&self, operand: &Expr, list: &[Expr]) -> Result<Predicate> {
        let mut equalities = Vec::with_capacity(list.len());
        for one in list {
            let (left, right) = (self.operand(operand)?, self.operand(one)?);
            equalities.push(self.compare(Comparison::Eq, left, right)?);
        }
        let null = equalities.contains(&UNKNOWN);
        equalities.retain(|equality| *equality != UNKNOWN);
        Ok(as_list(&equalities, null).unwrap_or_else(|| {
            if null {
                equalities.push(UNKNOWN);
            }
            any(equalities)
        }))
    }

    fn is_null(&self, of: &Expr) -> Result<Predicate> {
        if is_condition(of) {
            return Ok(is(self.predicate(of)?, None));
        }
        if matches!(self.operand(of)?, Operand::Null) {
            return Ok(TRUE);
        }
        let mut columns = Vec::new();
        for column in of.column_refs() {
            let column = self.column_of(&Expr::Column(column.clone()))?;
            columns.extend(column.filter(|&column| self.nullable(column)));
        }
        if columns.is_empty() {
            return Ok(FALSE);
        }
        columns.sort_unstable();
        columns.dedup();
        Ok(Predicate::IsNull { columns })
    }

    fn unordered(&self, left: usize, right: usize) -> Error {
        Error::Unsupported {
            what: format!(
                "comparing the strings {} and {} in the order of their letters",
                self.name(left),
                self.name(right)
            ),
            why: "strings are kept by numbers that have another order".to_owned(),
            instead: "compare them in a subquery in FROM".to_owned(),
        }
    }

    fn mismatch(&self, left: &str, right: &str) -> Error {
        Error::Type {
            place: format!("a comparison in the filter on {:?}", self.alias),
            expected: format!("two values of one type (beside {left})"),
            found: right.to_owned(),
        }
    }
}

/// Whether it is TRUE, FALSE or unknown, and no number.
fn is_condition(of: &Expr) -> bool {
    match of {
        Expr::Alias(alias) => is_condition(&alias.expr),
        Expr::BinaryExpr(BinaryExpr { op, .. }) => {
            matches!(op, Operator::And | Operator::Or) || Comparison::of(*op).is_some()
        }
        Expr::Not(_)
        | Expr::Between(_)
        | Expr::InList(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_) => true,
        Expr::IsTrue(_) | Expr::IsFalse(_) | Expr::IsUnknown(_) => true,
        Expr::IsNotTrue(_) | Expr::IsNotFalse(_) | Expr::IsNotUnknown(_) => true,
        _ => false,
    }
}

fn no_predicate(of: &Expr) -> Error {
    Error::Unsupported {
        what: format!("the condition {of} as the filter of an engine"),
        why: "it is no comparison of sums of products, and not on one column of strings".to_owned(),
        instead: "compute it in a subquery in FROM".to_owned(),
    }
}
