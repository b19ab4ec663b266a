//! Binding of queries that compute row by row: expressions get types, columns of a union a common one.
//!
//! Invariant: an atom's `columns` are those that its expressions read; an output of such a query is of kind `Row`. Cost:
//! linear in the expressions.

use std::sync::Arc;

use ringview_core::{Error, Field, Result, Schema, Type};
use ringview_expr::{Calls, Projection, RowTypes, Scalar, common_type};

use super::atoms::scopes;
use super::scalar::Scope;
use super::shown::{Shown, shape};
use crate::bind::bound::{Bound, Catalog, OutputKind, PlanAtom, PlanOutput, TableInfo};
use crate::bind::polynomial::Predicate;
use crate::logical::{Branch, Ordering, Parted, Query, Representation, Rows, Timed};

/// Binds a query that computes rows.
///
/// # Errors
/// Those of the expressions; `Value` for a shape that fits no atoms; `Type` for a union of types that have nothing in
/// common; `UnknownColumn`.
pub(crate) fn bind_rows(query: &Query, rows: &Rows, catalog: &dyn Catalog) -> Result<Bound> {
    let tables = super::atoms::tables(query, catalog)?;
    let (read, outputs) = outputs_of(rows, &tables)?;
    let filters = filters(rows, &scopes(query, &tables));
    let mut filters = filters.into_iter();
    let atom =
        |((atom, table), columns): ((&crate::logical::Atom, TableInfo), Vec<usize>)| PlanAtom {
            table: atom.table.clone(),
            alias: atom.alias.clone(),
            filter: filters.next().flatten(),
            columns,
            join_columns_not_null: Vec::new(),
            is_static: table.is_static,
            cancels: table.cancels,
            unique: table.unique,
            schema: table.schema,
            rows: table.rows,
        };
    Ok(Bound {
        atoms: query.atoms.iter().zip(tables).zip(read).map(atom).collect(),
        inner: Vec::new(),
        condition: None,
        variables: Vec::new(),
        terms: Vec::new(),
        outputs,
        measures: Vec::new(),
        results: None,
        rows: Some(rows.clone()),
        bag: Some(Representation::Listing),
        distinct: false,
        features: None,
        companions: Vec::new(),
        order: None,
        epsilons: Vec::new(),
    })
}

/// By atom, the filter of its branch, where it is one that an atom can have: rows that it leaves out need not be read.
fn filters(rows: &Rows, scopes: &[Scope<'_>]) -> Vec<Option<Predicate>> {
    let Rows::Map { branches, .. } = rows else {
        return Vec::new();
    };
    let filter = |(branch, scope): (&Branch, &Scope<'_>)| {
        let read = scope.read(branch.filter.as_ref()?).ok()?;
        scope.predicate(&read).ok()
    };
    branches.iter().zip(scopes).map(filter).collect()
}

/// Columns read of each atom, and the outputs.
fn outputs_of(rows: &Rows, tables: &[TableInfo]) -> Result<Shown> {
    match rows {
        Rows::Map { names, branches } => map(names, branches, tables),
        Rows::Ordered(ordering) => ordered(ordering, tables),
        Rows::Parted(parted) => by_part(parted, tables),
        Rows::Timed(timed) => by_time(timed, tables),
        Rows::Latest(latest) => super::latest::bound(latest, tables),
        Rows::Recursive(recursion) => super::recursive::bound(recursion, tables),
        Rows::Computed { of, names, branch } => {
            let (read, outputs) = outputs_of(of, tables)?;
            let field = |output: PlanOutput| {
                let may = matches!(output.kind, OutputKind::Row { nullable: true });
                Field::new(&output.name, output.ty, may)
            };
            let within = TableInfo {
                schema: Arc::new(Schema::new(outputs.into_iter().map(field).collect())?),
                is_static: false,
                cancels: false,
                rows: None,
                unique: None,
                cofactors: Vec::new(),
            };
            let branches = std::slice::from_ref(branch);
            let (_, outputs) = map(names, branches, std::slice::from_ref(&within))?;
            Ok((read, outputs))
        }
    }
}

impl Bound {
    /// The query of the rows that are kept, where it computes others of them.
    ///
    /// # Errors
    /// As of binding that.
    pub fn computed_of(&self) -> Result<Option<Self>> {
        let Some(Rows::Computed { of, .. }) = &self.rows else {
            return Ok(None);
        };
        let table = |atom: &PlanAtom| TableInfo {
            schema: Arc::clone(&atom.schema),
            is_static: atom.is_static,
            cancels: atom.cancels,
            rows: atom.rows,
            unique: atom.unique.clone(),
            cofactors: Vec::new(),
        };
        let tables: Vec<TableInfo> = self.atoms.iter().map(table).collect();
        Ok(Some(Self {
            outputs: outputs_of(of, &tables)?.1,
            rows: Some((**of).clone()),
            ..self.clone()
        }))
    }
}

fn map(names: &[String], branches: &[Branch], tables: &[TableInfo]) -> Result<Shown> {
    if branches.len() != tables.len() || branches.iter().any(|one| one.columns.len() != names.len())
    {
        return Err(shape(
            "each atom needs a branch, and each branch a column for each name",
        ));
    }
    let mut read = Vec::with_capacity(tables.len());
    let mut columns: Vec<(Option<Type>, bool)> = vec![(None, false); names.len()];
    for (branch, table) in branches.iter().zip(tables) {
        let made = row_types(branch, &table.schema)?;
        let own = branch.computed().zip(made.types()).zip(made.nullable());
        for (((at, _), ty), &may) in own {
            let (known, nullable) = &mut columns[at];
            let is_unnested = branch.unnested.contains(&names[at]);
            let ty = if is_unnested { value_of(ty)? } else { ty };
            let both = match known.as_ref() {
                Some(known) => common_type(known, ty).ok_or_else(|| Error::Type {
                    place: format!("column {:?} of a union", names[at]),
                    expected: known.to_string(),
                    found: ty.to_string(),
                })?,
                None => ty.clone(),
            };
            (*known, *nullable) = (Some(both), *nullable | may | is_unnested);
        }
        for (column, (_, nullable)) in branch.columns.iter().zip(&mut columns) {
            *nullable |= column.is_none();
        }
        read.push(made.inputs().to_vec());
    }
    let output = |(name, (ty, nullable)): (&String, (Option<Type>, bool))| PlanOutput {
        name: name.clone(),
        ty: ty.unwrap_or(Type::Int32),
        kind: OutputKind::Row { nullable },
    };
    Ok((read, names.iter().zip(columns).map(output).collect()))
}

/// The type of the values of a list.
fn value_of(ty: &Type) -> Result<&Type> {
    match ty {
        Type::List(of) => Ok(of),
        other => Err(Error::Type {
            place: "UNNEST".to_owned(),
            expected: "a list".to_owned(),
            found: other.to_string(),
        }),
    }
}

fn ordered(ordering: &Ordering, tables: &[TableInfo]) -> Result<Shown> {
    let [table] = tables else {
        return Err(shape("an order is of the rows of one atom"));
    };
    let schema: &Arc<Schema> = &table.schema;
    let keys = ordering.order.iter().map(|key| &key.column);
    let mut read = Vec::new();
    for name in ordering.names.iter().chain(&ordering.partition).chain(keys) {
        read.push(schema.index_of(name)?);
    }
    let output = |(name, &at): (&String, &usize)| PlanOutput {
        name: name.clone(),
        ty: schema.fields()[at].ty.clone(),
        kind: OutputKind::Row {
            nullable: schema.fields()[at].nullable,
        },
    };
    let outputs = ordering.names.iter().zip(&read).map(output).collect();
    read.sort_unstable();
    read.dedup();
    Ok((vec![read], outputs))
}

impl Parted {
    /// The columns that are read, as a schema of their own.
    ///
    /// # Errors
    /// `UnknownColumn`.
    pub fn schema(&self, of: &Schema) -> Result<Schema> {
        let field = |name: &String| Ok(of.fields()[of.index_of(name)?].clone());
        let fields = self.columns().into_iter().map(field);
        Schema::new(fields.collect::<Result<Vec<Field>>>()?)
    }
}

fn by_part(parted: &Parted, tables: &[TableInfo]) -> Result<Shown> {
    let [table] = tables else {
        return Err(shape("partitions are of the rows of one atom"));
    };
    if parted.grouped
        && !parted
            .names
            .iter()
            .all(|name| parted.partition.contains(name))
    {
        return Err(shape("a partition that is one row shows what it is by"));
    }
    if !parted.grouped && parted.calls.iter().any(|call| call.frame.is_none()) {
        return Err(shape("a function of each row is over a frame"));
    }
    let schema = parted.schema(&table.schema)?;
    let mut read = parted
        .columns()
        .iter()
        .map(|name| table.schema.index_of(name))
        .collect::<Result<Vec<usize>>>()?;
    let shown = parted.names.iter().zip(schema.fields());
    let output = |name: &String, ty: &Type, nullable: bool| PlanOutput {
        name: name.clone(),
        ty: ty.clone(),
        kind: OutputKind::Row { nullable },
    };
    let mut outputs: Vec<PlanOutput> = shown
        .map(|(name, field)| output(name, &field.ty, field.nullable))
        .collect();
    let calls = Calls::bind(&parted.calls, &parted.order, &schema)?;
    let made = parted.calls.iter().zip(calls.columns());
    outputs.extend(made.map(|(call, (ty, nullable))| output(&call.name, ty, nullable)));
    read.sort_unstable();
    Ok((vec![read], outputs))
}

impl Timed {
    /// Its filter, and the values that its conditions compare, over the rows of a table.
    ///
    /// # Errors
    /// Those of its expressions; `Type` for a value that is no date and no timestamp.
    pub fn projection(&self, schema: &Schema) -> Result<Projection> {
        let values: Vec<&Scalar> = self.conditions.iter().map(|one| &one.value).collect();
        let found = Projection::bind(self.filter.as_ref(), &values, schema)?;
        let wrong = found.types().iter().zip(&self.conditions);
        let mut wrong =
            wrong.filter(|(ty, _)| !matches!(ty, Type::Date32 | Type::Timestamp { .. }));
        match wrong.next() {
            None => Ok(found),
            Some((ty, condition)) => Err(Error::Type {
                place: format!(
                    "{}, which is compared with {}",
                    condition.value, condition.clock.text
                ),
                expected: "a date or a timestamp".to_owned(),
                found: ty.to_string(),
            }),
        }
    }
}

fn by_time(timed: &Timed, tables: &[TableInfo]) -> Result<Shown> {
    let [table] = tables else {
        return Err(shape("conditions on time are of the rows of one atom"));
    };
    let schema = &table.schema;
    let mut read = timed.projection(schema)?.inputs().to_vec();
    let mut outputs = Vec::with_capacity(timed.names.len());
    for name in &timed.names {
        let at = schema.index_of(name)?;
        let field = &schema.fields()[at];
        read.push(at);
        outputs.push(PlanOutput {
            name: name.clone(),
            ty: field.ty.clone(),
            kind: OutputKind::Row {
                nullable: field.nullable,
            },
        });
    }
    read.sort_unstable();
    read.dedup();
    Ok((vec![read], outputs))
}

/// Columns that a branch reads, and the types of those it computes.
fn row_types(branch: &Branch, schema: &Schema) -> Result<RowTypes> {
    let columns: Vec<&Scalar> = branch.computed().map(|(_, one)| one).collect();
    RowTypes::bind(branch.filter.as_ref(), &columns, schema)
}
