//! From a query and a catalog to a bound query: names, types, variables, terms.
//!
//! Invariant: what no engine could make sense of is refused here, before anything is planned. Cost:
//! small, but for products of sums, see `terms`.
//!
//! | file | holds |
//! |---|---|
//! | `bound`, `reads` | the types: what a bound query is; what it reads of its tables |
//! | `names`, `reading`, `literal`, `domain` | what expressions name, their columns, their constants, and what values mean |
//! | `atoms`, `variables`, `order`, `exponents` | tables, columns, join classes, what is known of them, orders and thresholds given |
//! | `scalar`, `filter`, `predicate`, `arithmetic`, `expr` | what is recognised over the rows of one atom: sums of products, comparisons |
//! | `aggregate`, `terms`, `measures`, `computed` | outputs: sums of products, expressions over them, HAVING |
//! | `nested/`, `subquery/` | conditions that compare across atoms and with queries within: what they are, with their numbers and their evaluation; how they are bound |
//! | `rows` | queries that compute row by row |
//! | `seen` | what a bound query is to those that read its result |
//! | `union` | queries over one join with the same groups, side by side |
//! | `companion`, `features` | values and categories held outside the payloads, as queries of their own |

mod aggregate;
mod arithmetic;
mod atoms;
pub(crate) mod bound;
pub(crate) mod companion;
pub(crate) mod computed;
mod domain;
mod exponents;
pub(crate) mod features;
mod filter;
mod latest;
mod literal;
mod measures;
mod names;
pub mod nested;
mod order;
pub(crate) mod polynomial;
pub(crate) mod predicate;
mod reading;
pub(crate) mod reads;
mod recursive;
mod rows;
mod scalar;
mod seen;
mod shown;
mod subquery;
mod terms;
mod union;
pub(crate) mod variables;

use ringview_core::{Error, Result};

pub use bound::{
    Bound, Catalog, CategoryPair, Companion, CompanionValue, Factor, Features, Moments, OutputKind,
    PlanAtom, PlanOutput, TableInfo, Term, VarId, Variable,
};
pub use computed::Results;
pub use polynomial::{Comparison, Constant, Kind, Op, Polynomial, Predicate};

use aggregate::Aggregates;
use atoms::{bind_atoms, check_shape, scopes, tables};
use companion::{Deriver, Wanted};
use reads::hypergraph;
use scalar::Scope;
use subquery::Subqueries;
use variables::{ColumnPosition, Variables, resolve, variables};

use crate::graph::order::OrderNode;
use crate::logical::{ColumnRef, Output, Query, Representation};

/// Checks a query against the tables, and the views and blocks, which the catalog contains too:
/// each block of the query itself is bound on its own.
///
/// # Errors
/// The names that are unknown, of the wrong type, or of no meaning: each error contains its name.
pub fn bind(query: &Query, catalog: &dyn Catalog) -> Result<Bound> {
    if let Some(rows) = &query.rows {
        return rows::bind_rows(query, rows, catalog);
    }
    check_shape(query)?;
    let tables = tables(query, catalog)?;
    let query = &features::without_nulls(query);
    let scopes = scopes(query, &tables);
    let groups = query.group_by.iter();
    let groups = groups.map(|column| resolve(&scopes, column));
    let groups: Vec<ColumnPosition> = groups.collect::<Result<_>>()?;
    let variables = variables(&query.joins, &groups, &scopes)?;
    let mut atoms = bind_atoms(query, &tables, &scopes, &variables)?;
    let mut within = Subqueries::new(catalog, atoms.len());
    let condition = within.outermost(query, &scopes, &mut atoms)?;
    let bag = representation(query, &variables)?;
    let factorised = bag == Some(Representation::Factorised);
    let order = given_order(query, &scopes, &atoms, &variables, factorised)?;
    let deriver = Deriver {
        joins: &query.joins,
        groups: &groups,
        scopes: &scopes,
        atoms: &atoms,
        inner: &within.atoms,
        condition: condition.as_ref(),
        variables: &variables,
    };
    let shown = bind_outputs(query, &scopes, &deriver)?;
    let mut bound = Bound {
        atoms,
        // Without a condition nothing reads the subqueries.
        inner: match condition {
            Some(_) => within.atoms,
            None => Vec::new(),
        },
        condition,
        variables: variables.all,
        terms: shown.terms,
        outputs: shown.outputs,
        measures: shown.measures,
        results: shown.results,
        rows: None,
        bag,
        distinct: factorised && query.bag.is_some_and(|bag| bag.distinct),
        features: shown.features,
        companions: shown.companions,
        order,
        epsilons: exponents::exponents(query)?,
    };
    bound.note_columns();
    Ok(bound)
}

/// Outputs of a query, and the terms and measures that they read.
struct Shown {
    terms: Vec<Term>,
    outputs: Vec<PlanOutput>,
    measures: Vec<PlanOutput>,
    results: Option<Results>,
    features: Option<Features>,
    companions: Vec<Companion<Bound>>,
}

fn bind_outputs(query: &Query, scopes: &[Scope<'_>], deriver: &Deriver<'_>) -> Result<Shown> {
    let (mut known, mut found) = (Vec::new(), None);
    if let Some(named) = features::named(query)? {
        found = Some(named.bind(scopes, deriver)?);
        known = named.columns(scopes)?;
    }
    let mut aggregates = Aggregates::new(scopes, deriver.variables, &known);
    let outputs = query.outputs.iter();
    let outputs = outputs.map(|output| aggregates.output(output));
    let mut outputs: Vec<PlanOutput> = outputs.collect::<Result<_>>()?;
    let results = aggregates.results(&mut outputs, query.having.as_ref())?;
    let beside = |&(place, ordered): &(ColumnPosition, bool)| {
        deriver.derive(&Wanted {
            name: scopes[place.0].name(place.1),
            places: &[place],
            ordered,
            sums: &[],
        })
    };
    let companions = aggregates.companions.iter().map(beside);
    Ok(Shown {
        companions: companions.collect::<Result<_>>()?,
        terms: aggregates.terms,
        outputs,
        measures: aggregates.measures,
        results,
        features: found,
    })
}

/// The order that the query gives, checked and made whole.
fn given_order(
    query: &Query,
    scopes: &[Scope<'_>],
    atoms: &[PlanAtom],
    variables: &Variables,
    factorised: bool,
) -> Result<Option<Vec<OrderNode>>> {
    let Some(given) = &query.order else {
        return Ok(None);
    };
    let graph = hypergraph(atoms, &variables.all);
    let graph = if factorised {
        graph.joins_only()
    } else {
        graph
    };
    let find = |column: &ColumnRef| {
        let place = resolve(scopes, column)?;
        Ok(variables.of.get(&place).copied())
    };
    order::check(given, &graph, atoms, &variables.all, &find).map(Some)
}

/// Representation of the rows of a join: factorised where possible. Rows without multiplicities
/// (DISTINCT) can be factorised only if all join columns are outputs; else they are groups.
fn representation(query: &Query, variables: &Variables) -> Result<Option<Representation>> {
    let Some(bag) = query.bag else {
        return Ok(None);
    };
    let columns = |output: &Output| matches!(output, Output::Group { .. });
    if !query.outputs.iter().all(columns) || query.having.is_some() {
        return Err(Error::Value {
            place: "the query".to_owned(),
            problem: "the rows of a join have columns only, no aggregates and no HAVING".to_owned(),
        });
    }
    if query.condition.is_some() {
        if bag.representation == Some(Representation::Factorised) {
            return Err(Error::Unsupported {
                what: "the rows of a join kept factorised under a condition that compares across tables, or with a \
                       subquery"
                    .to_owned(),
                why: "which rows are there does not factorise".to_owned(),
                instead: "keep them as a listing: leave representation= out".to_owned(),
            });
        }
        return Ok((!bag.distinct).then_some(Representation::Listing));
    }
    let hidden = variables.all.iter().find(|variable| !variable.free);
    let hidden = hidden.filter(|_| bag.distinct);
    if let (Some(hidden), Some(Representation::Factorised)) = (hidden, bag.representation) {
        return Err(Error::Unsupported {
            what: format!(
                "DISTINCT kept factorised without the column {:?}",
                hidden.name
            ),
            why: "it joins, and a row would come again for each of its values".to_owned(),
            instead: "select it too, or keep the rows as a listing".to_owned(),
        });
    }
    let chosen = bag.representation.unwrap_or(match query.atoms.len() {
        1 => Representation::Listing,
        _ if hidden.is_some() => Representation::Listing,
        _ => Representation::Factorised,
    });
    Ok((!bag.distinct || chosen == Representation::Factorised).then_some(chosen))
}
