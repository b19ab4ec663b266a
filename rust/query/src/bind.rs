//! From a query and a catalog to a plan: names, types, variables, order, tree, payload.
//!
//! Invariant: what cannot be maintained is refused here, before any view exists. Cost: small, but
//! for the choice of the order, see `order/choose.rs`.

use std::collections::BTreeSet;

use ringview_core::{Error, Result, Type};

use crate::classes::classify;
use crate::cofactor;
use crate::expr::Kind;
use crate::hypergraph::Hypergraph;
use crate::order;
use crate::payload::{NotNull, Payload};
use crate::plan::{
    Catalog, Factor, OutputKind, Plan, PlanAtom, PlanOutput, Source, SumProduct, TableInfo,
    ViewTree,
};
use crate::predicate::all;
use crate::query::{ColumnRef, Function, Output, Query, Scalar};
use crate::scalar::{Scope, each_column};
use crate::set::Set;
use crate::terms::expand;
use crate::tree;
use crate::variables::{Variables, resolve, variables};

/// The digits of a decimal sum: all that there can be.
const SUM_PRECISION: u8 = 38;

/// Checks a query against the tables and plans its view.
///
/// Errors name what is unknown, of the wrong type, or out of reach of this engine.
pub fn bind(query: &Query, catalog: &dyn Catalog) -> Result<Plan> {
    check_shape(query)?;
    let tables: Vec<TableInfo> = query
        .atoms
        .iter()
        .map(|atom| catalog.table(&atom.table))
        .collect::<Result<_>>()?;
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
    let order = match &query.order {
        Some(given) => {
            let find = |column: &ColumnRef| {
                let place = resolve(&scopes, column)?;
                Ok(variables.of.get(&place).copied())
            };
            order::check(given, &graph, &atoms, &variables.all, &find)?
        }
        None => {
            let rows: Vec<Option<u64>> = tables.iter().map(|table| table.rows).collect();
            order::choose(&graph, &rows)
        }
    };
    let tree = tree::build(&order, &graph, &atoms, &variables.all);

    let mut payload = Payload::new(&tree, &variables)?;
    let cofactor = match cofactor_columns(query)? {
        Some(columns) => Some(cofactor::plan(
            columns,
            &scopes,
            &variables,
            &tree,
            &mut payload,
        )?),
        None => None,
    };
    let outputs: Vec<PlanOutput> = query
        .outputs
        .iter()
        .map(|output| bind_output(output, &scopes, &variables, &mut payload))
        .collect::<Result<_>>()?;
    let payload = payload.finish();

    let class = classify(&graph, &tree);
    for (id, atom) in atoms.iter_mut().enumerate() {
        atom.columns = read_columns(id, atom, &variables, &tree, &payload);
    }
    Ok(Plan {
        atoms,
        variables: variables.all,
        order,
        tree,
        payload,
        cofactor,
        outputs,
        class,
    })
}

/// The features of the one COFACTOR of a query.
fn cofactor_columns(query: &Query) -> Result<Option<&[ColumnRef]>> {
    let mut found = None;
    let mut others = false;
    for output in &query.outputs {
        match output {
            Output::Cofactor { .. } if found.is_some() => others = true,
            Output::Cofactor { columns, .. } => found = Some(columns.as_slice()),
            Output::Aggregate { .. } => others = true,
            Output::Group { .. } => {}
        }
    }
    if found.is_some() && others {
        return Err(Error::Unsupported {
            what: "COFACTOR beside other aggregates".to_owned(),
            why: "its payload takes the place of theirs".to_owned(),
            instead: "create a second view for them; COFACTOR has the count and sums itself"
                .to_owned(),
        });
    }
    Ok(found)
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
        let (Output::Group { name, .. }
        | Output::Aggregate { name, .. }
        | Output::Cofactor { name, .. }) = output;
        if !names.insert(name) {
            let name = name.clone();
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

fn bind_output(
    output: &Output,
    scopes: &[Scope<'_>],
    variables: &Variables,
    payload: &mut Payload<'_>,
) -> Result<PlanOutput> {
    match output {
        Output::Group { name, column } => group(name, column, scopes, variables),
        Output::Cofactor { name, .. } => Ok(PlanOutput {
            name: name.clone(),
            ty: Type::Float64,
            kind: OutputKind::Cofactor,
        }),
        Output::Aggregate {
            name,
            function,
            argument,
        } => {
            let (ty, kind) = aggregate(name, *function, argument, scopes, variables, payload)?;
            let name = name.clone();
            Ok(PlanOutput { name, ty, kind })
        }
    }
}

fn group(
    name: &str,
    column: &ColumnRef,
    scopes: &[Scope<'_>],
    variables: &Variables,
) -> Result<PlanOutput> {
    let place = resolve(scopes, column)?;
    let variable = variables.of.get(&place).copied();
    let free = variable.filter(|variable| variables.all[*variable].free);
    let variable = free.ok_or_else(|| Error::Unsupported {
        what: format!("the output {name:?}"),
        why: format!(
            "{} is neither grouped by nor aggregated",
            scopes[place.0].name(place.1)
        ),
        instead: "add it to GROUP BY, or aggregate it".to_owned(),
    })?;
    Ok(PlanOutput {
        name: name.to_owned(),
        // The narrowest of the class may be asked for: what joins fits in all of its types.
        ty: scopes[place.0].ty(place.1).clone(),
        kind: OutputKind::Group { variable },
    })
}

fn aggregate(
    name: &str,
    function: Function,
    argument: &Option<Scalar>,
    scopes: &[Scope<'_>],
    variables: &Variables,
    payload: &mut Payload<'_>,
) -> Result<(Type, OutputKind)> {
    let Some(argument) = argument else {
        if function == Function::Count {
            return Ok((Type::Int64, OutputKind::Count { component: 0 }));
        }
        return Err(Error::Value {
            place: format!("the output {name:?}"),
            problem: "only COUNT(*) goes without an argument".to_owned(),
        });
    };
    let not_null = not_null(argument, scopes, variables)?;
    if function == Function::Count && matches!(argument, Scalar::Column { .. }) {
        // Any column can be counted, not only numbers.
        let component = payload.count(&not_null)?;
        return Ok((Type::Int64, OutputKind::Count { component }));
    }
    let terms = expand(argument, scopes)?.ok_or_else(|| Error::Unsupported {
        what: format!("the aggregate {name:?}"),
        why: "its argument is NULL for every row".to_owned(),
        instead: "drop it".to_owned(),
    })?;
    let nonnull = payload.count(&not_null)?;
    if function == Function::Count {
        let component = nonnull;
        return Ok((Type::Int64, OutputKind::Count { component }));
    }
    let mut components = Vec::with_capacity(terms.len());
    for term in &terms {
        components.push(payload.term(term, &not_null)?);
    }
    let terms = components;
    if function == Function::Avg {
        return Ok((Type::Float64, OutputKind::Avg { terms, nonnull }));
    }
    let ty = match payload.kind(&terms) {
        Kind::Int => Type::Int64,
        Kind::Real => Type::Float64,
        Kind::Decimal { scale } => Type::Decimal {
            precision: SUM_PRECISION,
            scale,
        },
    };
    Ok((ty, OutputKind::Sum { terms, nonnull }))
}

/// The nullable columns of an argument; those that join are never NULL in a row that counts.
fn not_null(argument: &Scalar, scopes: &[Scope<'_>], variables: &Variables) -> Result<NotNull> {
    let mut columns = Vec::new();
    each_column(argument, &mut |atom, column| {
        let column = column.to_owned();
        columns.push(ColumnRef { atom, column });
    });
    let mut not_null = NotNull::new();
    for column in &columns {
        let (atom, column) = resolve(scopes, column)?;
        let joins = variables.not_null[atom].contains(&column);
        if scopes[atom].nullable(column) && !joins {
            not_null.entry(atom).or_default().push(column);
        }
    }
    for columns in not_null.values_mut() {
        columns.sort_unstable();
        columns.dedup();
    }
    Ok(not_null)
}

/// Every column of an atom that its leaf reads.
fn read_columns(
    id: usize,
    atom: &PlanAtom,
    variables: &Variables,
    tree: &ViewTree,
    payload: &SumProduct,
) -> Vec<usize> {
    let mut columns: BTreeSet<usize> = atom.join_columns_not_null.iter().copied().collect();
    let own = variables.all.iter().flat_map(|v| &v.columns);
    columns.extend(own.filter(|(of, _)| *of == id).map(|(_, column)| *column));
    if let Some(filter) = &atom.filter {
        filter.each_column(&mut |column| {
            columns.insert(column);
        });
    }
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
    columns.into_iter().collect()
}
