//! INSERT, UPDATE, DELETE: the rows that a table loses and gains, as a query over the existing tables.
//!
//! Invariant: the query of an UPDATE or a DELETE has each row of the table that meets the condition with its
//! multiplicity: first its current columns, then those that are set. Cost: linear in the text.

use std::sync::Arc;

use datafusion_sql::sqlparser::ast::{
    self, Assignment, AssignmentTarget, ConflictTarget, Expr, FromTable, Ident, OnConflictAction,
    OnInsert, SqliteOnConflict, TableFactor, TableObject, TableWithJoins,
};
use ringview_core::{Result, Schema, SqlProblem};

use super::given::{name_duplicates, null_defaults};
use super::name::Name;
use super::returning::Returning;
use super::select::{Select, selected};
use super::table::Reading;
use crate::dialect::Dialect;

/// Handling of a row whose key exists.
#[derive(Clone, Debug)]
pub enum Conflict {
    /// It is refused.
    Refuse,
    /// It takes the place of the one that is there.
    Replace,
    /// The one that is there stays.
    Keep,
    /// These columns of the one that is there become those of the row.
    Set(Vec<Name>),
    /// The same of the columns that are given; of rows with one key the last counts.
    SetGiven,
}

/// INSERT.
#[derive(Clone, Debug)]
pub struct Insert {
    /// The table.
    pub table: Name,
    /// The columns that are given, in their order; all where absent.
    pub columns: Option<Vec<Name>>,
    /// The rows.
    pub rows: Select,
    /// Places of DEFAULT in VALUES, which is NULL in the rows: row and column.
    pub defaulted: Vec<(usize, usize)>,
    /// Handling of a row whose key exists.
    pub conflict: Conflict,
    /// The key that ON CONFLICT names.
    pub key: Option<Vec<Name>>,
    /// Outputs over the rows after the change.
    pub returning: Option<Returning>,
}

/// UPDATE.
#[derive(Clone, Debug)]
pub struct Update {
    /// The table.
    pub table: Name,
    /// Outputs over the rows after the change.
    pub returning: Option<Returning>,
    /// The columns that are set, with what to.
    set: Vec<(Name, Expr)>,
    from: TableWithJoins,
    condition: Option<Expr>,
    script: Arc<str>,
    dialect: Dialect,
}

/// DELETE, or TRUNCATE.
#[derive(Clone, Debug)]
pub struct Delete {
    /// The table.
    pub table: Name,
    /// Outputs over the deleted rows.
    pub returning: Option<Returning>,
    from: Option<TableWithJoins>,
    condition: Option<Expr>,
    script: Arc<str>,
    dialect: Dialect,
}

impl Update {
    /// The columns that it sets.
    pub fn columns(&self) -> impl Iterator<Item = &Name> {
        self.set.iter().map(|(name, _)| name)
    }

    /// The rows that meet the condition: all columns of the table, then those that are set; and which those are.
    ///
    /// # Errors
    /// `Sql` for a column that is not there, or is set twice.
    pub fn select(&self, table: &str, schema: &Schema) -> Result<(Select, Vec<usize>)> {
        let names: Vec<&str> = schema
            .fields()
            .iter()
            .map(|field| field.name.as_str())
            .collect();
        let mut items = columns(&self.from, &names);
        let mut set = Vec::new();
        for (name, expr) in &self.set {
            let at = name.column(table, &names)?;
            if set.contains(&at) {
                let what = format!("\"{}\" is set twice; leave one out", name.as_str());
                return Err(name.refused(SqlProblem::Query, &what));
            }
            items.push((expr.clone(), format!("set {}", set.len())));
            set.push(at);
        }
        let query = selected(items, self.from.clone(), self.condition.clone())?;
        Ok((Select::of(query, &self.script, self.dialect), set))
    }
}

impl Delete {
    /// All rows of a table.
    pub(crate) fn all(table: Name, script: &Arc<str>, dialect: Dialect) -> Self {
        Self {
            table,
            returning: None,
            from: None,
            condition: None,
            script: Arc::clone(script),
            dialect,
        }
    }

    /// The rows that meet the condition; none where all rows are deleted, and there are no outputs
    /// over them.
    ///
    /// # Errors
    /// None in practice.
    pub fn select(&self, schema: &Schema) -> Result<Option<Select>> {
        let asked = self.condition.is_some() || self.returning.is_some();
        let Some(from) = self.from.as_ref().filter(|_| asked) else {
            return Ok(None);
        };
        let names: Vec<&str> = schema
            .fields()
            .iter()
            .map(|field| field.name.as_str())
            .collect();
        let query = selected(columns(from, &names), from.clone(), self.condition.clone())?;
        Ok(Some(Select::of(query, &self.script, self.dialect)))
    }
}

/// The columns of a table, each by itself, under names that no column has.
fn columns(from: &TableWithJoins, names: &[&str]) -> Vec<(Expr, String)> {
    let table = match &from.relation {
        TableFactor::Table {
            alias: Some(alias), ..
        } => Some(alias.name.value.clone()),
        TableFactor::Table { name, .. } => name
            .0
            .last()
            .and_then(|part| part.as_ident())
            .map(|name| name.value.clone()),
        _ => None,
    };
    let column = |(at, name): (usize, &&str)| {
        let parts = table.iter().map(String::as_str).chain([*name]);
        let parts = parts.map(|part| Ident::with_quote('"', part));
        (
            Expr::CompoundIdentifier(parts.collect()),
            format!("row {at}"),
        )
    };
    names.iter().enumerate().map(column).collect()
}

impl Reading<'_> {
    /// The one table that a statement changes.
    fn changed(&self, from: &TableWithJoins, what: &str) -> Result<Name> {
        let instead = format!("{what} names one table; read others in subqueries of SET and WHERE");
        match &from.relation {
            TableFactor::Table {
                name, args: None, ..
            } if from.joins.is_empty() => Name::of_object(name, self.script),
            _ => self.unsupported(None, &instead),
        }
    }

    pub(crate) fn update(&self, of: ast::Update) -> Result<Update> {
        let table = self.changed(&of.table, "UPDATE")?;
        if of.from.is_some() || of.limit.is_some() || !of.order_by.is_empty() || of.or.is_some() {
            let what =
                "UPDATE takes SET and WHERE; read other tables in subqueries: SET x = (SELECT ..)";
            return Err(table.refused(SqlProblem::Unsupported, what));
        }
        no_output(&table, of.output.is_some())?;
        let returning = self.returning(of.returning, &table, alias(&of.table))?;
        let mut set = Vec::new();
        for Assignment { target, value } in of.assignments {
            set.push((self.target(&target, &table)?, value));
        }
        Ok(Update {
            table,
            returning,
            set,
            from: of.table,
            condition: of.selection,
            script: Arc::clone(self.script),
            dialect: self.dialect,
        })
    }

    /// The column that is set.
    fn target(&self, target: &AssignmentTarget, table: &Name) -> Result<Name> {
        let ident = match target {
            AssignmentTarget::ColumnName(name) => name.0.last().and_then(|part| part.as_ident()),
            AssignmentTarget::Tuple(_) => None,
        };
        match ident {
            Some(ident) => Ok(Name::of(ident, self.script)),
            None => Err(table.refused(
                SqlProblem::Unsupported,
                "SET gives columns one by one; write SET a = .., b = ..",
            )),
        }
    }

    pub(crate) fn delete(&self, of: ast::Delete) -> Result<Delete> {
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = of.from;
        let [from] = &from[..] else {
            return self.unsupported(None, "DELETE names one table; write a statement for each");
        };
        let table = self.changed(from, "DELETE")?;
        if of.using.is_some()
            || of.limit.is_some()
            || !of.order_by.is_empty()
            || !of.tables.is_empty()
        {
            let what =
                "DELETE takes WHERE; read other tables in subqueries: WHERE x IN (SELECT ..)";
            return Err(table.refused(SqlProblem::Unsupported, what));
        }
        no_output(&table, of.output.is_some())?;
        Ok(Delete {
            returning: self.returning(of.returning, &table, alias(from))?,
            table,
            from: Some(from.clone()),
            condition: of.selection,
            script: Arc::clone(self.script),
            dialect: self.dialect,
        })
    }

    pub(crate) fn insert(&self, of: ast::Insert) -> Result<Insert> {
        let TableObject::TableName(name) = &of.table else {
            return self.unsupported(
                None,
                "INSERT names a table; write INSERT INTO table VALUES ..",
            );
        };
        let table = Name::of_object(name, self.script)?;
        let refused = |what: &str| Err(table.refused(SqlProblem::Unsupported, what));
        if of.overwrite || of.partitioned.is_some() || !of.after_columns.is_empty() {
            return refused("rows are added, and replace no others; write INSERT INTO");
        }
        no_output(&table, of.output.is_some())?;
        let alias = of.table_alias.as_ref().map(|of| &of.alias);
        let returning = self.returning(of.returning, &table, alias)?;
        let Some(mut rows) = of.source.filter(|_| of.assignments.is_empty()) else {
            return refused("INSERT gives rows by VALUES or SELECT");
        };
        let defaulted = null_defaults(&mut rows);
        name_duplicates(&mut rows.body);
        let mut columns = Vec::new();
        for name in &of.columns {
            columns.push(Name::of_object(name, self.script)?);
        }
        let mut key = None;
        let conflict = match (of.on, of.or) {
            (None, None) if of.replace_into => Conflict::Replace,
            (None, None) if of.ignore => Conflict::Keep,
            (None, None) => Conflict::Refuse,
            // DuckDB leaves the other columns as they are.
            (None, Some(SqliteOnConflict::Replace))
                if self.dialect == Dialect::DuckDb && !columns.is_empty() =>
            {
                Conflict::SetGiven
            }
            (None, Some(SqliteOnConflict::Replace)) => Conflict::Replace,
            (None, Some(SqliteOnConflict::Ignore)) => Conflict::Keep,
            (Some(OnInsert::OnConflict(on)), None) => {
                key = self.conflict_key(on.conflict_target, &table)?;
                match on.action {
                    OnConflictAction::DoNothing => Conflict::Keep,
                    OnConflictAction::DoUpdate(update) if update.selection.is_none() => {
                        Conflict::Set(self.excluded(&update.assignments, &table)?)
                    }
                    OnConflictAction::DoUpdate(_) => {
                        return refused(
                            "DO UPDATE takes no WHERE; choose the rows in the SELECT of the INSERT",
                        );
                    }
                }
            }
            _ => {
                return refused(
                    "write ON CONFLICT DO NOTHING, or ON CONFLICT DO UPDATE SET x = excluded.x",
                );
            }
        };
        Ok(Insert {
            table,
            columns: (!columns.is_empty()).then_some(columns),
            rows: Select::of(*rows, self.script, self.dialect),
            defaulted,
            conflict,
            key,
            returning,
        })
    }

    fn conflict_key(
        &self,
        target: Option<ConflictTarget>,
        table: &Name,
    ) -> Result<Option<Vec<Name>>> {
        match target {
            None => Ok(None),
            Some(ConflictTarget::Columns(columns)) => Ok(Some(
                columns
                    .iter()
                    .map(|ident| Name::of(ident, self.script))
                    .collect(),
            )),
            Some(ConflictTarget::OnConstraint(_)) => Err(table.refused(
                SqlProblem::Unsupported,
                "a key has no name; write ON CONFLICT (columns)",
            )),
        }
    }

    /// The columns that are set to those of the inserted row.
    fn excluded(&self, assignments: &[Assignment], table: &Name) -> Result<Vec<Name>> {
        let mut columns = Vec::new();
        for Assignment { target, value } in assignments {
            let column = self.target(target, table)?;
            let of_row = match value {
                Expr::CompoundIdentifier(parts) => match &parts[..] {
                    [row, name] if row.value.eq_ignore_ascii_case("excluded") => Some(name),
                    _ => None,
                },
                _ => None,
            };
            if !of_row.is_some_and(|name| name.value.eq_ignore_ascii_case(column.as_str())) {
                let what = format!(
                    "DO UPDATE gives columns the values of the row that comes; write SET {0} = excluded.{0}, or UPDATE \
                     by itself",
                    column.as_str()
                );
                return Err(column.refused(SqlProblem::Unsupported, &what));
            }
            columns.push(column);
        }
        Ok(columns)
    }
}

/// The other name of a table.
fn alias(of: &TableWithJoins) -> Option<&Ident> {
    match &of.relation {
        TableFactor::Table { alias, .. } => alias.as_ref().map(|alias| &alias.name),
        _ => None,
    }
}

fn no_output(table: &Name, is_there: bool) -> Result<()> {
    match is_there {
        true => Err(table.refused(
            SqlProblem::Unsupported,
            "OUTPUT is not answered; write RETURNING",
        )),
        false => Ok(()),
    }
}
