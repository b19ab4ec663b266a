//! From a query and a catalog to a plan: names, types, variables, order, tree, payload.
//!
//! Invariant: what cannot be maintained is refused here, before any view exists. Cost: small, but
//! for the choice of the order, see `order/choose.rs`.

mod aggregate;
mod arithmetic;
pub(crate) mod cofactor;
pub(crate) mod companion;
pub(crate) mod computed;
pub(crate) mod expr;
mod filter;
mod literal;
mod measures;
pub(crate) mod predicate;
mod scalar;
pub(crate) mod terms;
pub(crate) mod variables;

use std::collections::BTreeSet;

use ringview_core::{Error, Result};

use crate::bind::aggregate::Aggregates;
use crate::bind::companion::Wanted;
use crate::bind::predicate::all;
use crate::bind::scalar::Scope;
use crate::bind::variables::{Place, Variables, resolve, variables};
use crate::graph::hypergraph::Hypergraph;
use crate::graph::order;
use crate::graph::set::Set;
use crate::logical::{ColumnRef, Output, Query, Representation};
use crate::plan::classes::classify;
use crate::plan::factorised;
use crate::plan::payload::Payload;
use crate::plan::tree;
use crate::plan::{
    Catalog, CofactorPlan, Companion, Factor, OutputKind, Plan, PlanAtom, PlanOutput, Source,
    SumProduct, TableInfo, ViewTree,
};

/// What planning may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planning {
    /// Indicator projections in views over parts of cycles: views stay small, and the relations
    /// that close the cycles cost more to change (paper, section 6).
    pub indicators: bool,
}

impl Default for Planning {
    fn default() -> Self {
        Self { indicators: true }
    }
}

/// Checks a query against the tables and plans its view.
///
/// Errors name what is unknown, of the wrong type, or out of reach of this engine.
pub fn bind(query: &Query, catalog: &dyn Catalog) -> Result<Plan> {
    bind_with(query, catalog, Planning::default())
}

/// As [`bind`], with a say in how.
pub fn bind_with(query: &Query, catalog: &dyn Catalog, planning: Planning) -> Result<Plan> {
    bind_knowing(query, catalog, planning, &[])
}

/// As [`bind_with`], for rows without NULL in some nullable columns.
pub(crate) fn bind_knowing(
    query: &Query,
    catalog: &dyn Catalog,
    planning: Planning,
    known: &[Place],
) -> Result<Plan> {
    check_shape(query)?;
    let tables: Vec<TableInfo> = query
        .atoms
        .iter()
        .map(|atom| catalog.table(&atom.table))
        .collect::<Result<_>>()?;
    let query = &cofactor::without_nulls(query);
    let scopes: Vec<Scope<'_>> = query
        .atoms
        .iter()
        .zip(&tables)
        .enumerate()
        .map(|(id, (atom, table))| Scope {
            atom: id,
            table: &atom.table,
            alias: &atom.alias,
            schema: &table.schema,
        })
        .collect();
    let variables = variables(query, &scopes)?;
    let mut atoms = plan_atoms(query, &tables, &scopes, &variables)?;

    let graph = Hypergraph::new(&atoms, &variables.all);
    let bag = representation(query, &variables)?;
    let factorised = bag == Some(Representation::Factorised);
    let ordered = if factorised {
        graph.joins_only()
    } else {
        graph.clone()
    };
    let order = match &query.order {
        Some(given) => {
            let find = |column: &ColumnRef| {
                let place = resolve(&scopes, column)?;
                Ok(variables.of.get(&place).copied())
            };
            order::check(given, &ordered, &atoms, &variables.all, &find)?
        }
        None => {
            let rows: Vec<Option<u64>> = tables.iter().map(|table| table.rows).collect();
            order::choose(&ordered, &rows, planning.indicators)
        }
    };
    let (order, tree) = if factorised {
        factorised::build(order, &graph, &atoms, &variables.all, planning.indicators)
    } else {
        let tree = tree::build(&order, &graph, &atoms, &variables.all, planning.indicators);
        (order, tree)
    };

    let payload = Payload::new(&tree, &variables)?;
    let mut known = known.to_vec();
    let mut cofactor = None;
    if let Some(features) = cofactor::features(query)? {
        let mut lifted = Payload::new(&tree, &variables)?;
        let mut plan = cofactor::plan(&features, &scopes, &variables, &tree, &mut lifted)?;
        plan.categorize(query, &features, &scopes, &variables, (catalog, planning))?;
        known.extend(features.places(&scopes)?);
        cofactor = Some((plan, lifted.finish()));
    }
    let mut aggregates = Aggregates::new(&scopes, &variables, payload, &known);
    let outputs: Vec<PlanOutput> = query
        .outputs
        .iter()
        .map(|output| aggregates.output(output))
        .collect::<Result<_>>()?;
    let having = match &query.having {
        Some(condition) => Some(aggregates.having(condition)?),
        None => None,
    };
    let Aggregates {
        payload,
        measures,
        companions,
        ..
    } = aggregates;
    let payload = payload.finish();
    let beside = |&(place, ordered): &(Place, bool)| {
        let wanted = Wanted {
            name: scopes[place.0].name(place.1),
            places: &[place],
            ordered,
            sums: &[],
        };
        companion::plan(query, &wanted, &scopes, &variables, (catalog, planning))
    };
    let companions: Vec<Companion> = companions.iter().map(beside).collect::<Result<_>>()?;

    let class = classify(&graph, &tree);
    for (id, atom) in atoms.iter_mut().enumerate() {
        let mut columns = read_columns(id, atom, &variables, &tree, &payload);
        if let Some((plan, lifted)) = &cofactor {
            columns.extend(leaf_columns(id, &tree, lifted));
            columns.extend(plan.companions().flat_map(|c| &c.plan.atoms[id].columns));
        }
        for companion in &companions {
            columns.extend(&companion.plan.atoms[id].columns);
        }
        atom.columns = columns.into_iter().collect();
    }
    let mut plan = Plan {
        atoms,
        variables: variables.all,
        order,
        tree,
        payload,
        cofactor: None,
        matrix: None,
        outputs,
        bag,
        distinct: factorised && query.bag.is_some_and(|bag| bag.distinct),
        measures,
        having,
        companions,
        class,
    };
    if let Some((cofactor, lifted)) = cofactor {
        plan.add_matrix(cofactor, lifted);
    }
    Ok(plan)
}

impl Plan {
    /// Adds degree-m payloads: in the place of the sums if these are only the count, which degree-m
    /// payloads have too, else beside them.
    fn add_matrix(&mut self, cofactor: CofactorPlan, lifted: SumProduct) {
        let counts = self.payload.nodes[self.tree.root].len() == 1;
        if counts {
            (self.payload, self.cofactor) = (lifted, Some(cofactor));
            return;
        }
        let is_cofactor = |output: &&PlanOutput| matches!(output.kind, OutputKind::Cofactor);
        self.matrix = Some(Box::new(Plan {
            payload: lifted,
            cofactor: Some(cofactor),
            outputs: self.outputs.iter().filter(is_cofactor).cloned().collect(),
            measures: Vec::new(),
            having: None,
            companions: Vec::new(),
            ..self.clone()
        }));
    }
}

/// How the rows of a join are to be kept: factorised where there is something to factorise. Rows that
/// are there once have no other multiplicities to tell apart only where all that joins is shown, and
/// are groups else.
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

fn check_shape(query: &Query) -> Result<()> {
    let wrong = |problem: &str| Error::Value {
        place: "the query".to_owned(),
        problem: problem.to_owned(),
    };
    if query.atoms.is_empty() {
        return Err(wrong("it reads no table; name at least one"));
    }
    if query.outputs.is_empty() {
        return Err(wrong("it has no outputs; select at least one"));
    }
    if query.atoms.len() > Set::CAPACITY {
        return Err(wrong(&format!(
            "it joins more than {} tables",
            Set::CAPACITY
        )));
    }
    let mut aliases = BTreeSet::new();
    for atom in &query.atoms {
        if !aliases.insert(&atom.alias) {
            let name = atom.alias.clone();
            return Err(Error::Exists {
                kind: "alias",
                name,
            });
        }
    }
    let mut names = BTreeSet::new();
    for output in &query.outputs {
        if !names.insert(output.name()) {
            let name = output.name().to_owned();
            return Err(Error::Exists {
                kind: "output column",
                name,
            });
        }
    }
    Ok(())
}

fn plan_atoms(
    query: &Query,
    tables: &[TableInfo],
    scopes: &[Scope<'_>],
    variables: &Variables,
) -> Result<Vec<PlanAtom>> {
    let mut atoms = Vec::with_capacity(query.atoms.len());
    for (id, ((atom, table), scope)) in query.atoms.iter().zip(tables).zip(scopes).enumerate() {
        let mut conditions = Vec::new();
        for (of, left, right) in &variables.equal {
            if *of == id {
                conditions.push(scope.equal(*left, *right)?);
            }
        }
        if let Some(filter) = &atom.filter {
            conditions.push(scope.predicate(filter)?);
        }
        let filter = all(conditions);
        let mut not_null = variables.not_null[id].clone();
        not_null.sort_unstable();
        atoms.push(PlanAtom {
            table: atom.table.clone(),
            alias: atom.alias.clone(),
            filter: (!filter.is_true()).then_some(filter),
            columns: Vec::new(),
            join_columns_not_null: not_null,
            is_static: table.is_static,
            unique: table.unique.clone(),
        });
    }
    Ok(atoms)
}

/// Every column of an atom that its leaf reads.
fn read_columns(
    id: usize,
    atom: &PlanAtom,
    variables: &Variables,
    tree: &ViewTree,
    payload: &SumProduct,
) -> BTreeSet<usize> {
    let mut columns: BTreeSet<usize> = atom.join_columns_not_null.iter().copied().collect();
    let own = variables.all.iter().flat_map(|v| &v.columns);
    columns.extend(own.filter(|(of, _)| *of == id).map(|(_, column)| *column));
    if let Some(filter) = &atom.filter {
        filter.each_column(&mut |column| {
            columns.insert(column);
        });
    }
    columns.extend(leaf_columns(id, tree, payload));
    columns
}

/// The columns that the payloads of a leaf are read from.
fn leaf_columns(id: usize, tree: &ViewTree, payload: &SumProduct) -> BTreeSet<usize> {
    let mut columns = BTreeSet::new();
    let leaf = tree.nodes.iter().position(|node| node.atom == Some(id));
    for component in leaf.iter().flat_map(|leaf| &payload.nodes[*leaf]) {
        if let Source::Leaf(Factor { not_null, value }) = &component.source {
            columns.extend(not_null);
            if let Some(value) = value {
                value.each_column(&mut |column| {
                    columns.insert(column);
                });
            }
        }
    }
    columns
}
