//! Queries within, bound: one value each, for every row of the queries around.
//!
//! Invariant: a query within shows one aggregate or one expression over aggregates, over columns of
//! its own. Its atoms get the numbers that [`Query::all_atoms`] says, whatever becomes of the
//! condition around it. Cost: linear in the query.
//!
//! | file | holds |
//! |---|---|
//! | `condition` | conditions: predicates on one row separated, NOT pushed down, both sides in one domain |
//! | `side`, `value` | what is compared: columns, constants, arithmetic |

mod condition;
mod scope;
mod side;
mod value;

use datafusion_expr::expr::BinaryExpr;
use datafusion_expr::{Expr, Operator};
use ringview_core::{Error, Result};
use ringview_expr::Scalar;

use crate::bind::atoms::{bind_atoms, check_shape, restrict, scopes, tables};
use crate::bind::bound::{Catalog, PlanAtom, TableInfo};
use crate::bind::domain::Domain;
use crate::bind::literal::literal;
use crate::bind::measures::called;
use crate::bind::names::constant;
use crate::bind::nested::{Aggregate, Block, Column, Condition, Value};
use crate::bind::polynomial::{Kind, Polynomial};
use crate::bind::reading::read;
use crate::bind::scalar::Scope;
use crate::bind::variables::{Variables, variables};
use crate::logical::{Function, Output, Query};
use condition::{ALWAYS, NEVER, all, equal};
use scope::OuterScope;
pub(crate) use scope::Subqueries;
use side::{Side, TypedValue};
use value::{arithmetic, both, divide, side_of};

impl<'c> Subqueries<'c> {
    pub(crate) fn new(catalog: &'c dyn Catalog, outer: usize) -> Self {
        let atoms = Vec::new();
        Self {
            catalog,
            outer,
            atoms,
        }
    }

    /// Binds the condition of the outermost query, and moves predicates on the rows of single atoms
    /// to the filters of these; none if nothing else remains.
    pub(crate) fn outermost(
        &mut self,
        query: &Query,
        scopes: &[Scope<'_>],
        atoms: &mut [PlanAtom],
    ) -> Result<Option<Condition>> {
        let Some(bound) = self.conditions(query, scopes, None)? else {
            return Ok(None);
        };
        let left = filtered(bound, atoms);
        Ok((left != ALWAYS).then_some(left))
    }

    /// Binds the condition of a query, after its subqueries.
    fn conditions(
        &mut self,
        query: &Query,
        scopes: &[Scope<'_>],
        outer: Option<&OuterScope<'_>>,
    ) -> Result<Option<Condition>> {
        let mut here = OuterScope {
            scopes,
            values: &[],
            outer,
        };
        let values = query.subqueries.iter().map(|one| self.query(one, &here));
        let values = values.collect::<Result<Vec<Side>>>()?;
        here.values = &values;
        let condition = query.condition.as_ref();
        let bind = |one: &Scalar| here.bind(&here.read(one)?, false);
        condition.map(bind).transpose()
    }

    /// Binds a subquery.
    fn query(&mut self, query: &Query, outer: &OuterScope<'_>) -> Result<Side> {
        check_value(query)?;
        check_shape(query)?;
        let tables: Vec<TableInfo> = tables(query, self.catalog)?;
        let scopes = scopes(query, &tables);
        let variables = variables(&query.joins, &[], &scopes)?;
        let own = bind_atoms(query, &tables, &scopes, &variables)?;
        let first = self.atoms.len();
        let atoms = self.outer + first..self.outer + first + own.len();
        self.atoms.extend(own);
        let mut conditions = joined(&variables);
        conditions.extend(self.conditions(query, &scopes, Some(outer))?);
        let own = first..first + query.atoms.len();
        let condition = filtered(all(conditions), &mut self.atoms[own]);
        let here = OuterScope {
            scopes: &scopes,
            values: &[],
            outer: None,
        };
        let mut shown = Shown {
            here: &here,
            aggregates: Vec::new(),
        };
        let output = shown.output(&query.outputs[0])?;
        let aggregates = shown.aggregates;
        if aggregates.is_empty() {
            return Err(many_rows());
        }
        let Side::TypedValue(output) = output else {
            // NULL, whatever its rows are.
            return Ok(output);
        };
        if condition == NEVER && is_count(&output.value, &aggregates) {
            let none = TypedValue::literal(&Polynomial::int(0), Domain::Number);
            return Ok(none.map_or(Side::Null, Side::TypedValue));
        }
        let block = Block {
            outputs: vec![output.value],
            ..Block::new(atoms.collect(), condition, aggregates)
        };
        Ok(Side::TypedValue(TypedValue {
            value: Value::Block(Box::new(block)),
            constant: None,
            ..output
        }))
    }
}

/// Moves the conjuncts on the rows of single atoms to the filters of these, and returns the rest.
fn filtered(condition: Condition, atoms: &mut [PlanAtom]) -> Condition {
    let mut left = Vec::new();
    let operands = match condition {
        Condition::And(operands) => operands,
        one => vec![one],
    };
    for operand in operands {
        match operand {
            Condition::Row(atom, predicate) => restrict(&mut atoms[atom], predicate),
            operand => left.push(operand),
        }
    }
    all(left)
}

/// The equalities that join the atoms of a query within.
fn joined(variables: &Variables) -> Vec<Condition> {
    let value = |&(relation, column): &(usize, usize)| {
        Value::Column(Column {
            depth: 0,
            relation,
            column,
        })
    };
    let classes = variables.all.iter();
    classes
        .flat_map(|class| class.columns.windows(2))
        .map(|pair| equal(value(&pair[0]), value(&pair[1])))
        .collect()
}

/// Refuses what is more than one value.
fn check_value(query: &Query) -> Result<()> {
    let refused = |what: &str, instead: &str| {
        Err(Error::Unsupported {
            what: format!("{what} in a subquery that is compared"),
            why: "it is to be one value".to_owned(),
            instead: instead.to_owned(),
        })
    };
    const IN_FROM: &str = "read a subquery that has it in the FROM of this one";
    if !query.group_by.is_empty() {
        return refused("GROUP BY", IN_FROM);
    }
    if query.having.is_some() {
        return refused("HAVING", IN_FROM);
    }
    if query.bag.is_some() {
        return Err(many_rows());
    }
    if !query.blocks.is_empty() {
        return refused("a block", "put the blocks into the outermost query");
    }
    if query.outputs.len() > 1 {
        return refused("a second output", "write a subquery for each");
    }
    Ok(())
}

/// Whether a value is a count, as it is.
fn is_count(value: &Value, aggregates: &[Aggregate]) -> bool {
    match value {
        Value::Aggregate(at) => matches!(aggregates[*at], Aggregate::Count | Aggregate::Counted(_)),
        _ => false,
    }
}

fn many_rows() -> Error {
    Error::Unsupported {
        what: "comparing with a subquery that shows a column, or a constant".to_owned(),
        why: "it may have several rows, of which none is the value".to_owned(),
        instead: "aggregate it: MIN or MAX of the column".to_owned(),
    }
}

/// Outputs of a subquery, while it is bound.
struct Shown<'a> {
    here: &'a OuterScope<'a>,
    aggregates: Vec<Aggregate>,
}

impl Shown<'_> {
    fn output(&mut self, output: &Output) -> Result<Side> {
        match output {
            Output::Aggregate {
                function, argument, ..
            } => {
                let argument = argument.as_ref().map(|one| read(one, self.here.scopes));
                self.aggregate(*function, argument.transpose()?.as_slice())
            }
            Output::Expression { value, .. } => self.measure(&read(value, self.here.scopes)?),
            Output::Group { .. } => Err(many_rows()),
            Output::Cofactor { .. } => Err(unknown("COFACTOR")),
        }
    }

    fn measure(&mut self, measure: &Expr) -> Result<Side> {
        if let Some(value) = constant(measure)? {
            return side_of(literal(&value)?);
        }
        match measure {
            Expr::AggregateFunction(call) => {
                let (function, arguments) = called(call)?;
                self.aggregate(function, arguments)
            }
            Expr::Column(_) => Err(many_rows()),
            // NULL by zero, as where a value is compared.
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if *op == Operator::Divide => {
                let (left, right) = (self.measure(left)?, self.measure(right)?);
                both(left, right, divide)
            }
            Expr::ScalarFunction(call) => Err(unknown(&call.func.name().to_uppercase())),
            other => arithmetic(other, &mut |operand| self.measure(operand)),
        }
    }

    fn aggregate(&mut self, function: Function, arguments: &[Expr]) -> Result<Side> {
        let number = |known: TypedValue| known.into_number("an aggregate in a subquery");
        let argument = match arguments {
            [] => None,
            [argument] => Some(self.argument(argument)?),
            _ => return Err(unknown("an aggregate of two arguments")),
        };
        let (kind, single) = argument
            .as_ref()
            .map_or((Kind::Int, false), |known| (known.kind, known.single));
        let of_number = |aggregate, kind| Ok((aggregate, Some(Domain::Number), kind, false));
        let found: Result<(Aggregate, Option<Domain>, Kind, bool)> = match (function, argument) {
            (Function::Count, argument) => {
                let counted = argument.map(|known| Aggregate::Counted(known.value));
                of_number(counted.unwrap_or(Aggregate::Count), Kind::Int)
            }
            (Function::Sum, Some(known)) => of_number(Aggregate::Sum(number(known)?.value), kind),
            (Function::Avg, Some(known)) => {
                of_number(Aggregate::Average(number(known)?.value), Kind::Real)
            }
            (Function::Min | Function::Max, Some(known)) => {
                let domain = known.domain;
                if domain.is_none() {
                    return Err(unknown("MIN or MAX of strings"));
                }
                let aggregate = match function {
                    Function::Min => Aggregate::Min(known.value),
                    _ => Aggregate::Max(known.value),
                };
                Ok((aggregate, domain, kind, single))
            }
            (other, _) => Err(unknown(&format!("{other:?}"))),
        };
        let (aggregate, domain, kind, single) = found?;
        let same = self.aggregates.iter().position(|one| *one == aggregate);
        let aggregate = same.unwrap_or_else(|| {
            self.aggregates.push(aggregate);
            self.aggregates.len() - 1
        });
        Ok(Side::TypedValue(TypedValue {
            nullable: !is_count(&Value::Aggregate(aggregate), &self.aggregates),
            value: Value::Aggregate(aggregate),
            domain,
            kind,
            constant: None,
            single,
        }))
    }

    fn argument(&self, argument: &Expr) -> Result<TypedValue> {
        match self.here.side(argument)? {
            Side::TypedValue(known) => Ok(known),
            Side::Null => Err(Error::Unsupported {
                what: "an aggregate of NULL in a subquery".to_owned(),
                why: "its argument is NULL for every row".to_owned(),
                instead: "drop it".to_owned(),
            }),
            Side::Quoted(text) => Err(Error::Type {
                place: "an aggregate in a subquery".to_owned(),
                expected: "a column".to_owned(),
                found: format!("the string '{text}'"),
            }),
        }
    }
}

fn unknown(what: &str) -> Error {
    Error::Unsupported {
        what: format!("{what} in a subquery that is compared"),
        why:
            "such subqueries know SUM, COUNT, AVG, MIN and MAX of numbers, and arithmetic over them"
                .to_owned(),
        instead:
            "keep the subquery as a view, and read that in a subquery that shows MIN or MAX of \
                  its column"
                .to_owned(),
    }
}
