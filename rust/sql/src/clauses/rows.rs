//! INSERT, UPDATE and DELETE.
//!
//! Invariant and cost: those of the folder. Fields bound to `_` are read, or refused with advice, by `statement/rows`.

use datafusion_sql::sqlparser::ast::{
    Assignment, Delete, DoUpdate, FromTable, Insert, OnConflict, OnConflictAction, OnInsert,
    TableAliasWithoutColumns, TableWithJoins, Update,
};

use super::from;
use super::unread::{Checked, LEAVE_OUT, READ, none_of, unread};

pub(super) fn of_insert(insert: &Insert) -> Checked {
    let Insert {
        insert_token,
        optimizer_hints: _,
        or: _,
        ignore: _,
        into: _,
        table: _,
        table_alias,
        columns: _,
        overwrite: _,
        source: _,
        assignments: _,
        partitioned: _,
        after_columns: _,
        has_table_keyword: _,
        on,
        returning: _,
        output: _,
        replace_into: _,
        priority,
        insert_alias,
        settings,
        format_clause,
        multi_table_insert_type,
        multi_table_into_clauses,
        multi_table_when_clauses,
        multi_table_else_clause,
    } = insert;
    let span = insert_token.0.span;
    if let Some(TableAliasWithoutColumns {
        explicit: _,
        alias: _,
    }) = table_alias
    {}
    if let Some(priority) = priority {
        return unread(priority.to_string(), LEAVE_OUT, span);
    }
    let several = "write a statement for each table";
    let clauses = [
        (
            insert_alias.is_some(),
            "AS",
            "the row that comes is called excluded",
        ),
        (settings.is_some(), "SETTINGS", LEAVE_OUT),
        (format_clause.is_some(), "FORMAT", "write VALUES"),
        (multi_table_insert_type.is_some(), "INSERT ALL", several),
        (!multi_table_into_clauses.is_empty(), "INTO", several),
        (!multi_table_when_clauses.is_empty(), "WHEN", several),
        (multi_table_else_clause.is_some(), "ELSE", several),
    ];
    none_of(&clauses, || span)?;
    match on {
        None | Some(OnInsert::DuplicateKeyUpdate(_)) => {}
        Some(OnInsert::OnConflict(OnConflict {
            conflict_target: _,
            action,
        })) => match action {
            OnConflictAction::DoNothing => {}
            OnConflictAction::DoUpdate(DoUpdate {
                assignments,
                selection: _,
            }) => of_assignments(assignments),
        },
        Some(_) => {}
    }
    READ
}

fn of_assignments(assignments: &[Assignment]) {
    for Assignment {
        target: _,
        value: _,
    } in assignments
    {}
}

pub(super) fn of_update(update: &Update) -> Checked {
    let Update {
        update_token: _,
        optimizer_hints: _,
        table,
        assignments,
        from: _,
        selection: _,
        returning: _,
        output: _,
        or: _,
        order_by: _,
        limit: _,
    } = update;
    of_assignments(assignments);
    of_changed(table)
}

pub(super) fn of_delete(delete: &Delete) -> Checked {
    let Delete {
        delete_token: _,
        optimizer_hints: _,
        tables: _,
        from,
        using: _,
        selection: _,
        returning: _,
        output: _,
        order_by: _,
        limit: _,
    } = delete;
    match from {
        FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables) => {
            tables.iter().try_for_each(of_changed)
        }
    }
}

/// The table whose rows change.
fn of_changed(table: &TableWithJoins) -> Checked {
    from::of_joins(table)
}
