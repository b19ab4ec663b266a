//! ALTER TABLE: one change of a table's columns or its name.
//!
//! Invariant: what is said and not done is refused. Cost: linear in the text.

use datafusion_sql::sqlparser::ast::{
    self, AlterColumnOperation, AlterTableOperation, DropBehavior, RenameTableNameKind,
};
use ringview_core::{Field, Result, SqlProblem, Type};

use super::name::Name;
use super::select::Select;
use super::table::{Key, Reading, field};
use super::types::column_type;

/// ALTER TABLE.
#[derive(Clone, Debug)]
pub struct Alter {
    /// The table.
    pub table: Name,
    /// Whether a table that is not there is passed over.
    pub if_exists: bool,
    /// The change.
    pub change: AlterColumns,
}

/// Change of ALTER TABLE.
#[derive(Clone, Debug)]
pub enum AlterColumns {
    /// Adds a column.
    Add {
        /// Its name, in its place.
        name: Name,
        /// The column.
        field: Field,
        /// Value of the column in existing rows, and its default.
        value: Option<Select>,
        /// Whether nothing is done if there is a column of its name.
        if_not_exists: bool,
    },
    /// Drops a column.
    Drop {
        /// The column.
        column: Name,
        /// Whether nothing is done if there is none.
        if_exists: bool,
    },
    /// A column gets another name.
    Rename {
        /// The column.
        column: Name,
        /// Its name from then on.
        to: Name,
    },
    /// The table gets another name.
    RenameTable(Name),
    /// A column gets a wider type.
    Widen {
        /// The column.
        column: Name,
        /// Its type from then on.
        to: Type,
    },
    /// A column gets a default, or has none.
    Default {
        /// The column.
        column: Name,
        /// Value for a row that gives none.
        value: Option<Select>,
    },
}

/// The one change of a table.
pub(crate) fn alter_table(of: ast::AlterTable, reading: &Reading<'_>) -> Result<Alter> {
    let table = Name::of_object(&of.name, reading.script)?;
    let refused = |what: &str| Err(table.refused(SqlProblem::Unsupported, what));
    let [change] = &of.operations[..] else {
        return refused("ALTER TABLE changes one thing; write a statement for each");
    };
    let change = match change {
        AlterTableOperation::AddColumn {
            column_def,
            if_not_exists,
            column_position: None,
            ..
        } => {
            let mut key = Key::default();
            let (added, value) = field(column_def, &mut key, reading)?;
            let name = Name::of(&column_def.name, reading.script);
            if !key.is_empty() {
                let what = "a key is given when the table is created; copy the rows to a new table that has it";
                return Err(name.refused(SqlProblem::Unsupported, what));
            }
            AlterColumns::Add {
                name,
                field: added,
                value,
                if_not_exists: *if_not_exists,
            }
        }
        AlterTableOperation::AddColumn { .. } => {
            return refused("a column comes behind all others; leave out FIRST or AFTER");
        }
        AlterTableOperation::DropColumn {
            column_names,
            if_exists,
            drop_behavior,
            ..
        } => {
            let [column] = &column_names[..] else {
                return refused("ALTER TABLE drops one column; write a statement for each");
            };
            let column = Name::of(column, reading.script);
            if matches!(drop_behavior, Some(DropBehavior::Cascade)) {
                let what = "views that read a column are not dropped with it; drop those views first, without CASCADE";
                return Err(column.refused(SqlProblem::Unsupported, what));
            }
            AlterColumns::Drop {
                column,
                if_exists: *if_exists,
            }
        }
        AlterTableOperation::RenameColumn {
            old_column_name,
            new_column_name,
        } => AlterColumns::Rename {
            column: Name::of(old_column_name, reading.script),
            to: Name::of(new_column_name, reading.script),
        },
        AlterTableOperation::RenameTable {
            table_name: RenameTableNameKind::To(to) | RenameTableNameKind::As(to),
        } => AlterColumns::RenameTable(Name::of_object(to, reading.script)?),
        AlterTableOperation::AlterColumn {
            column_name,
            op: AlterColumnOperation::SetDefault { value },
        } => AlterColumns::Default {
            column: Name::of(column_name, reading.script),
            value: Some(reading.default(value)?),
        },
        AlterTableOperation::AlterColumn {
            column_name,
            op: AlterColumnOperation::DropDefault,
        } => AlterColumns::Default {
            column: Name::of(column_name, reading.script),
            value: None,
        },
        AlterTableOperation::AlterColumn {
            column_name,
            op:
                AlterColumnOperation::SetDataType {
                    data_type,
                    using: None,
                    ..
                },
        } => match column_type(data_type, reading.dialect) {
            Ok(to) => AlterColumns::Widen {
                column: Name::of(column_name, reading.script),
                to,
            },
            Err(what) => return reading.unsupported(Some(column_name), &what),
        },
        _ => {
            return refused(
                "ALTER TABLE takes ADD COLUMN, DROP COLUMN, RENAME COLUMN .. TO, RENAME TO, ALTER COLUMN .. SET DEFAULT, \
                 DROP DEFAULT, and ALTER COLUMN .. TYPE to a wider type",
            );
        }
    };
    Ok(Alter {
        table,
        if_exists: of.if_exists,
        change,
    })
}
