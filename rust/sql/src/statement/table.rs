//! CREATE TABLE: columns, their key, and what WITH says.
//!
//! Invariant: nothing that is said is left out: what a table does not keep, such as CHECK, is refused. Cost: O(columns).

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion_sql::sqlparser::ast::{
    self, ColumnDef, ColumnOption, CreateTableOptions, Expr, Ident, IndexColumn, SqlOption,
    TableConstraint, Value,
};
use ringview_core::{Field, Result, Schema, SqlProblem, Type};

use super::name::Name;
use super::select::{self, Select};
use super::types::column_type;
use crate::dialect::Dialect;
use crate::source_text::{Text, position};

/// CREATE TABLE.
#[derive(Clone, Debug)]
pub struct CreateTable {
    /// Its name.
    pub name: Name,
    /// Its columns; those of `rows` where absent.
    pub schema: Option<Schema>,
    /// The columns that no two rows share together.
    pub unique: Option<Vec<String>>,
    /// Whether it stays as it is once a view reads it.
    pub is_static: bool,
    /// A column, and how long rows stay.
    pub keep_for: Option<(String, String)>,
    /// The defaults of its columns.
    pub defaults: Vec<(Name, Select)>,
    /// The rows that it begins with: CREATE TABLE .. AS SELECT.
    pub rows: Option<Select>,
    /// Whether a table of this name is dropped first.
    pub or_replace: bool,
    /// Whether a table of this name stays.
    pub if_not_exists: bool,
}

/// Context in which a definition is read.
pub(crate) struct Reading<'s> {
    pub(crate) script: &'s Arc<str>,
    pub(crate) dialect: Dialect,
}

impl Reading<'_> {
    pub(crate) fn unsupported<T>(&self, at: Option<&Ident>, what: &str) -> Result<T> {
        let at = at.and_then(|ident| position(ident.span.start));
        Err(Text(self.script).refused(SqlProblem::Unsupported, at, what))
    }

    /// The query of a default.
    pub(crate) fn default(&self, value: &Expr) -> Result<Select> {
        let query = select::constant(value.clone(), "value")?;
        Ok(Select::of(query, self.script, self.dialect))
    }

    fn wrong<T>(&self, at: &Ident, what: &str) -> Result<T> {
        let at = position(at.span.start);
        Err(Text(self.script).refused(SqlProblem::Query, at, what))
    }
}

/// The definition of a table.
pub(crate) fn create_table(of: ast::CreateTable, reading: &Reading<'_>) -> Result<CreateTable> {
    let name = Name::of_object(&of.name, reading.script)?;
    let first = of.name.0.last().and_then(|part| part.as_ident());
    let is_other =
        of.external || of.temporary || of.transient || of.like.is_some() || of.clone.is_some();
    if is_other || of.inherits.is_some() || of.partition_by.is_some() || of.on_commit.is_some() {
        let what =
            "a table is kept until it is dropped, and by itself; write CREATE TABLE name (columns)";
        return reading.unsupported(first, what);
    }
    let (mut fields, mut defaults) = (Vec::new(), Vec::new());
    let mut key = Key::default();
    for column in &of.columns {
        let (field, default) = field(column, &mut key, reading)?;
        fields.push(field);
        let name = Name::of(&column.name, reading.script);
        defaults.extend(default.map(|default| (name, default)));
    }
    for constraint in &of.constraints {
        key.constrain(constraint, first, reading)?;
    }
    let rows = of
        .query
        .map(|query| Select::of(*query, reading.script, reading.dialect));
    if rows.is_some() && !fields.is_empty() {
        let what =
            "the columns of CREATE TABLE .. AS are those of the SELECT; name and cast them there";
        return reading.unsupported(of.columns.first().map(|column| &column.name), what);
    }
    let unique = key.columns(&mut fields, reading)?;
    let (is_static, keep_for) = options(&of.table_options, &fields, first, reading)?;
    Ok(CreateTable {
        name,
        schema: match rows {
            Some(_) => None,
            None => Some(Schema::new(fields)?),
        },
        unique,
        is_static,
        keep_for,
        defaults,
        rows,
        or_replace: of.or_replace,
        if_not_exists: of.if_not_exists,
    })
}

/// A column and its default, and what its definition says of the key.
pub(crate) fn field(
    column: &ColumnDef,
    key: &mut Key,
    reading: &Reading<'_>,
) -> Result<(Field, Option<Select>)> {
    let name = &column.name;
    let ty = match column_type(&column.data_type, reading.dialect) {
        Ok(ty) => ty,
        Err(what) => {
            return reading.unsupported(Some(name), &format!("column \"{}\": {what}", name.value));
        }
    };
    let (mut nullable, mut default) = (true, None);
    for option in &column.options {
        let refused = |what: &str| {
            reading.unsupported(Some(name), &format!("column \"{}\": {what}", name.value))
        };
        match &option.option {
            ColumnOption::Null | ColumnOption::Comment(_) => {}
            ColumnOption::NotNull => nullable = false,
            ColumnOption::PrimaryKey(_) => key.add(&[name], true, reading)?,
            ColumnOption::Unique(_) => key.add(&[name], false, reading)?,
            ColumnOption::Default(value) if is_null(value) => {}
            ColumnOption::Default(value) => default = Some(reading.default(value)?),
            ColumnOption::ForeignKey(_) => {
                return refused("REFERENCES is not checked; leave it out");
            }
            ColumnOption::Check(_) => {
                return refused(
                    "CHECK is not checked; leave it out, and filter rows before they come",
                );
            }
            ColumnOption::Generated { .. }
            | ColumnOption::Identity(_)
            | ColumnOption::Materialized(_) => {
                return refused("a column is not computed; compute it in a view over the table");
            }
            other => return refused(&format!("{other} has no meaning here; leave it out")),
        }
    }
    Ok((Field::new(name.value.clone(), ty, nullable), default))
}

/// The columns that no two rows share together.
#[derive(Default)]
pub(crate) struct Key {
    columns: Option<Vec<Ident>>,
    is_primary: bool,
}

impl Key {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.columns.is_none()
    }

    fn add(&mut self, columns: &[&Ident], is_primary: bool, reading: &Reading<'_>) -> Result<()> {
        if self.columns.is_some() {
            let what = "a table has one key, PRIMARY KEY or UNIQUE, of one column or several together; leave the second out";
            return reading.unsupported(columns.first().copied(), what);
        }
        self.columns = Some(columns.iter().map(|&ident| ident.clone()).collect());
        self.is_primary = is_primary;
        Ok(())
    }

    fn constrain(
        &mut self,
        constraint: &TableConstraint,
        first: Option<&Ident>,
        reading: &Reading<'_>,
    ) -> Result<()> {
        let (columns, is_primary) = match constraint {
            TableConstraint::PrimaryKey(key) => (&key.columns, true),
            TableConstraint::Unique(key) => (&key.columns, false),
            other => {
                let what = format!("{other} is not checked; leave it out");
                return reading.unsupported(first, &what);
            }
        };
        let name = |column: &IndexColumn| match &column.column.expr {
            Expr::Identifier(ident) => Some(ident.clone()),
            _ => None,
        };
        let Some(columns) = columns.iter().map(name).collect::<Option<Vec<_>>>() else {
            return reading.unsupported(
                first,
                "a key is of columns, not of expressions; compute it into a column",
            );
        };
        self.add(&columns.iter().collect::<Vec<_>>(), is_primary, reading)
    }

    /// Their names as the columns have them; those of a primary key are not NULL.
    fn columns(self, fields: &mut [Field], reading: &Reading<'_>) -> Result<Option<Vec<String>>> {
        let Some(columns) = self.columns else {
            return Ok(None);
        };
        let mut found = Vec::new();
        for ident in &columns {
            let names: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let at = Name::of(ident, reading.script).column("of the key", &names)?;
            fields[at].nullable &= !self.is_primary;
            found.push(fields[at].name.clone());
        }
        Ok(Some(found))
    }
}

/// Options of WITH: whether the table is static, and the time for which rows stay.
fn options(
    of: &CreateTableOptions,
    fields: &[Field],
    first: Option<&Ident>,
    reading: &Reading<'_>,
) -> Result<(bool, Option<(String, String)>)> {
    let all = match of {
        CreateTableOptions::None => &[][..],
        CreateTableOptions::With(all) | CreateTableOptions::Options(all) => all,
        CreateTableOptions::Plain(_) | CreateTableOptions::TableProperties(_) => {
            let what = "what a table is told beside its columns stands in WITH (..): static, keep_for, time_column";
            return reading.unsupported(first, what);
        }
    };
    let (mut is_static, mut keep_for, mut column) = (false, None, None);
    let mut seen = BTreeSet::new();
    for option in all {
        let (key, value) = match option {
            SqlOption::Ident(key) => (key, None),
            SqlOption::KeyValue { key, value } => (key, Some(value)),
            _ => return reading.unsupported(first, "WITH takes static, keep_for and time_column"),
        };
        let name = key.value.to_lowercase();
        if !seen.insert(name.clone()) {
            return reading.wrong(key, &format!("WITH says \"{name}\" twice; leave one out"));
        }
        match (name.as_str(), value.map(constant)) {
            ("static", None | Some(Some(Value::Boolean(true)))) => is_static = true,
            ("static", Some(Some(Value::Boolean(false)))) => {}
            ("keep_for", Some(Some(Value::SingleQuotedString(length)))) => {
                keep_for = Some((length, key))
            }
            ("time_column", Some(Some(Value::SingleQuotedString(text)))) => {
                let ident = Ident {
                    value: text,
                    ..key.clone()
                };
                column = Some(ident);
            }
            ("static", _) => {
                return reading.wrong(key, "static is true or false: WITH (static = true)");
            }
            ("keep_for", _) => {
                return reading.wrong(
                    key,
                    "keep_for is a length of time in quotes: WITH (keep_for = '7 days')",
                );
            }
            ("time_column", _) => {
                return reading.wrong(
                    key,
                    "time_column is a name in single quotes: WITH (time_column = 'ts')",
                );
            }
            _ => {
                let what = format!(
                    "WITH takes static, keep_for and time_column, not \"{}\"",
                    key.value
                );
                return reading.unsupported(Some(key), &what);
            }
        }
    }
    let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    let column = match &column {
        Some(ident) => Some(names[Name::of(ident, reading.script).column("of WITH", &names)?]),
        None => None,
    };
    let Some((length, key)) = keep_for else {
        return match (column, all.first()) {
            (Some(_), _) => {
                reading.unsupported(first, "time_column goes with keep_for: how long rows stay")
            }
            _ => Ok((is_static, None)),
        };
    };
    let is_moment = |field: &&Field| matches!(field.ty, Type::Date32 | Type::Timestamp { .. });
    let moments: Vec<&Field> = fields.iter().filter(is_moment).collect();
    match (column, &moments[..]) {
        (Some(column), _) => Ok((is_static, Some((column.to_owned(), length)))),
        (None, [one]) => Ok((is_static, Some((one.name.clone(), length)))),
        (None, _) => reading.wrong(
            key,
            "keep_for asks for the column of dates or timestamps that tells the age of a row; add time_column = 'name'",
        ),
    }
}

fn constant(of: &Expr) -> Option<Value> {
    match of {
        Expr::Value(value) => Some(value.value.clone()),
        Expr::Interval(interval) => constant(&interval.value),
        Expr::Identifier(ident) if ident.quote_style == Some('"') => {
            Some(Value::SingleQuotedString(ident.value.clone()))
        }
        _ => None,
    }
}

fn is_null(of: &Expr) -> bool {
    constant(of) == Some(Value::Null)
}
