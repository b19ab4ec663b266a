//! COFACTOR(x, CATEGORICAL(c), ..) and COFACTOR(*): the features of one degree-m payload.
//!
//! Invariant: a feature is a column, each once: numbers as they are, texts and what CATEGORICAL names as categories. `*`
//! means every column of numbers or texts of FROM, one that NATURAL JOIN or USING merged once; texts of GROUP BY, one
//! category a group, are left out. Cost: O(columns * joins).

use std::collections::HashSet;

use arrow_schema::DataType;
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::utils::expand_wildcard;
use datafusion_expr::{Aggregate, Expr};
use ringview_core::{Error, Result};
use ringview_query::{ColumnRef, Nulls, Output};

use super::engine_calls::{Call, Calls, grouped};
use super::lowered::Wanted;
use super::pending::{Pending, column_ref};
use super::state::{Lowering, free};
use crate::context::{CATEGORICAL, COFACTOR};
use crate::error::{refusal, unsupported};

/// The columns of a payload, over the atoms of some rows.
pub(super) struct Features {
    numbers: Vec<ColumnRef>,
    categories: Vec<ColumnRef>,
}

impl Features {
    /// The output that they are.
    pub(super) fn output(self, name: String) -> Output {
        Output::Cofactor {
            name,
            columns: self.numbers,
            categorical: self.categories,
            nulls: Nulls::default(),
        }
    }

    /// The columns as expressions, which a join must show.
    pub(super) fn read(&self) -> impl Iterator<Item = Expr> + '_ {
        let all = self.numbers.iter().chain(&self.categories);
        all.map(|column| super::pending::of_atom(column.atom, &column.column))
    }
}

/// The arguments of a COFACTOR, if an aggregate is one.
pub(super) fn arguments(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Alias(alias) => arguments(&alias.expr),
        Expr::AggregateFunction(of) if of.func.name() == COFACTOR => Some(&of.params.args),
        _ => None,
    }
}

impl Lowering<'_> {
    /// Groups with a COFACTOR, which a view shows beside other aggregates.
    pub(super) fn with_cofactor(
        &mut self,
        rows: Pending,
        aggregate: &Aggregate,
    ) -> Result<Pending> {
        let schema = aggregate.input.schema();
        let meant = |expr: &Expr| rows.meant(expr, schema);
        let groups = aggregate.group_expr.iter().map(meant);
        let groups = groups.collect::<Result<Vec<Expr>>>()?;
        let mut features = Vec::new();
        let mut others = Vec::new();
        for (at, expr) in aggregate.aggr_expr.iter().enumerate() {
            match arguments(expr) {
                Some(named) => {
                    features.push((at, self.features(&rows, named, &groups, aggregate)?));
                }
                None => others.push(meant(expr)?),
            }
        }
        let Calls::Engine(calls) = Calls::new(&others)? else {
            return Err(unsupported(
                "COFACTOR beside aggregates that need all rows of a group is not kept; make a view of each",
            ));
        };
        let mut wanted = Wanted::columns(&groups);
        wanted.extend(calls.iter().flat_map(Call::wanted));
        let read = features.iter().flat_map(|(_, features)| features.read());
        wanted.extend(Wanted::columns(&read.collect::<Vec<Expr>>()));
        let lowered = self.lower(rows, wanted)?;
        let (mut query, mut names) = grouped(&lowered, groups.len(), &calls)?;
        for (at, features) in features {
            let name = free("cofactor", &|name| names.iter().any(|other| other == name));
            names.insert(groups.len() + at, name.clone());
            query
                .outputs
                .insert(groups.len() + at, features.output(name));
        }
        let name = self.emit("groups", query)?;
        Ok(Pending::over(&name, &names))
    }

    /// The features that the arguments of a COFACTOR name.
    pub(super) fn features(
        &self,
        rows: &Pending,
        arguments: &[Expr],
        groups: &[Expr],
        of: &Aggregate,
    ) -> Result<Features> {
        let schema = of.input.schema();
        let mut found: Vec<(Expr, bool)> = Vec::new();
        let mut add = |column: Expr, is_category: bool| match found
            .iter_mut()
            .find(|(known, _)| *known == column)
        {
            Some((_, known)) => *known |= is_category,
            None => found.push((column, is_category)),
        };
        for argument in arguments {
            #[expect(deprecated)]
            let is_star = matches!(argument, Expr::Wildcard { .. });
            if is_star {
                let all = expand_wildcard(schema, &of.input, None);
                let grouped = equal_to(groups, &rows.equal);
                let mut seen: Vec<Expr> = Vec::new();
                for column in all.map_err(|problem| refusal(&problem))? {
                    let column = rows.meant(&column, schema)?;
                    // A column that a join by name has merged is an output once.
                    let equal = equal_to(std::slice::from_ref(&column), &rows.equal);
                    let name = |one: &Expr| column_ref(one).map(|(_, name)| name.to_owned());
                    let is_same = |one: &Expr| equal.contains(one) && name(one) == name(&column);
                    if seen.iter().any(is_same) {
                        continue;
                    }
                    seen.push(column.clone());
                    // A COFACTOR below is no value.
                    let Ok(ty) = self.feature_type(rows, &column) else {
                        continue;
                    };
                    let is_text = ty == DataType::Utf8;
                    if ty.is_numeric() || (is_text && !grouped.contains(&column)) {
                        add(column, is_text);
                    }
                }
                continue;
            }
            let (column, is_named) = match argument {
                Expr::ScalarFunction(ScalarFunction { func, args })
                    if func.name() == CATEGORICAL =>
                {
                    match &args[..] {
                        [column] => (column, true),
                        _ => return Err(unsupported("CATEGORICAL takes one column; name one")),
                    }
                }
                other => (other, false),
            };
            let column = rows.meant(column, schema)?;
            let ty = self.feature_type(rows, &column)?;
            let is_text = ty == DataType::Utf8;
            if !is_named && !is_text && !ty.is_numeric() {
                let (_, name) = column_ref(&column).unwrap_or_default();
                return Err(Error::Type {
                    place: format!("COFACTOR({name})"),
                    expected: format!("numbers or categories (write CATEGORICAL({name}))"),
                    found: ty.to_string(),
                });
            }
            add(column, is_named || is_text);
        }
        if found.is_empty() {
            return Err(crate::error::bare(
                ringview_core::SqlProblem::Query,
                None,
                "COFACTOR needs a feature: name columns of numbers or texts, or write *".to_owned(),
            ));
        }
        let reference = |(column, _): &(Expr, bool)| {
            let (atom, name) = column_ref(column).unwrap_or_default();
            ColumnRef {
                atom,
                column: name.to_owned(),
            }
        };
        let (categories, numbers): (Vec<_>, Vec<_>) = found.iter().partition(|(_, is)| *is);
        Ok(Features {
            numbers: numbers.into_iter().map(reference).collect(),
            categories: categories.into_iter().map(reference).collect(),
        })
    }

    fn feature_type(&self, rows: &Pending, column: &Expr) -> Result<DataType> {
        let Some((atom, name)) = column_ref(column) else {
            return Err(unsupported(
                "a feature of COFACTOR is a column; compute the expression into a column before the rows are inserted",
            ));
        };
        Ok(match self.column(&rows.atoms[atom], name)?.0.to_arrow() {
            DataType::Dictionary(_, value) => *value,
            ty => ty,
        })
    }
}

/// Columns, and all that joins make equal to one of them.
fn equal_to(columns: &[Expr], joins: &[(Expr, Expr)]) -> HashSet<Expr> {
    let mut found: HashSet<Expr> = columns.iter().cloned().collect();
    loop {
        let before = found.len();
        for (one, other) in joins {
            if found.contains(one) || found.contains(other) {
                found.extend([one.clone(), other.clone()]);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}
