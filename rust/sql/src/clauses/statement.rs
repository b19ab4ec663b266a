//! Statements that are no queries.
//!
//! Invariant: that of the folder, for the statements that `statement/` takes; it refuses all others by their names. Cost:
//! that of the folder.

use datafusion_sql::sqlparser::ast::{
    AlterTable, BeginTransactionKind, CascadeOption, CreateTableOptions, CreateView, Spanned,
    Statement, TransactionAccessMode, TransactionIsolationLevel, TransactionMode, Truncate,
    TruncateIdentityOption, TruncateTableTarget, ViewColumnDef,
};
use datafusion_sql::sqlparser::tokenizer::Span;

use super::unread::{Checked, LEAVE_OUT, READ, none_of, unread};
use super::{rows, table};

pub(super) fn check(statement: &Statement) -> Checked {
    if let Statement::Insert(insert) = statement {
        return rows::of_insert(insert);
    }
    if let Statement::Update(update) = statement {
        return rows::of_update(update);
    }
    if let Statement::Delete(delete) = statement {
        return rows::of_delete(delete);
    }
    if let Statement::CreateTable(create) = statement {
        return table::of_create(create);
    }
    if let Statement::CreateView(create) = statement {
        return of_create_view(create);
    }
    if let Statement::AlterTable(alter) = statement {
        return of_alter(alter);
    }
    if let Statement::Truncate(truncate) = statement {
        return of_truncate(truncate);
    }
    if let Statement::Drop {
        object_type: _,
        if_exists: _,
        names: _,
        cascade: _,
        restrict: _,
        purge,
        temporary,
        table,
    } = statement
    {
        let clauses = [
            (*purge, "PURGE", LEAVE_OUT),
            (*temporary, "TEMPORARY", LEAVE_OUT),
            (table.is_some(), "ON", LEAVE_OUT),
        ];
        return none_of(&clauses, Span::empty);
    }
    of_transaction(statement)
}

fn of_transaction(statement: &Statement) -> Checked {
    if let Statement::StartTransaction {
        modes,
        begin: _,
        transaction,
        modifier,
        statements: _,
        exception,
        has_end_keyword: _,
    } = statement
    {
        for mode in modes {
            of_mode(mode)?;
        }
        match transaction {
            None
            | Some(
                BeginTransactionKind::Transaction
                | BeginTransactionKind::Work
                | BeginTransactionKind::Tran,
            ) => {}
        }
        if let Some(modifier) = modifier {
            return unread(modifier.to_string(), LEAVE_OUT, Span::empty());
        }
        let clauses = [(exception.is_some(), "EXCEPTION", LEAVE_OUT)];
        return none_of(&clauses, Span::empty);
    }
    if let Statement::Commit {
        chain: _,
        end: _,
        modifier: Some(modifier),
    } = statement
    {
        return unread(modifier.to_string(), LEAVE_OUT, Span::empty());
    }
    READ
}

/// A transaction is alone while it runs, which is more than any isolation level promises.
fn of_mode(mode: &TransactionMode) -> Checked {
    match mode {
        TransactionMode::AccessMode(TransactionAccessMode::ReadWrite) => READ,
        TransactionMode::AccessMode(TransactionAccessMode::ReadOnly) => {
            unread("READ ONLY", LEAVE_OUT, Span::empty())
        }
        TransactionMode::IsolationLevel(
            TransactionIsolationLevel::ReadUncommitted
            | TransactionIsolationLevel::ReadCommitted
            | TransactionIsolationLevel::RepeatableRead
            | TransactionIsolationLevel::Serializable
            | TransactionIsolationLevel::Snapshot,
        ) => READ,
    }
}

fn of_create_view(create: &CreateView) -> Checked {
    let CreateView {
        or_alter: _,
        or_replace: _,
        // Every view is kept.
        materialized: _,
        secure,
        name,
        name_before_not_exists: _,
        columns,
        query: _,
        options,
        cluster_by,
        comment,
        with_no_schema_binding,
        if_not_exists: _,
        temporary,
        copy_grants,
        to,
        params,
    } = create;
    let clauses = [
        (*temporary, "TEMPORARY", LEAVE_OUT),
        (*secure, "SECURE", LEAVE_OUT),
        (!cluster_by.is_empty(), "CLUSTER BY", LEAVE_OUT),
        (comment.is_some(), "COMMENT", LEAVE_OUT),
        (*with_no_schema_binding, "WITH NO SCHEMA BINDING", LEAVE_OUT),
        (*copy_grants, "COPY GRANTS", LEAVE_OUT),
        (to.is_some(), "TO", LEAVE_OUT),
        (params.is_some(), "a parameter of a view", LEAVE_OUT),
    ];
    none_of(&clauses, Span::empty)?;
    match options {
        CreateTableOptions::None => {}
        CreateTableOptions::With(_)
        | CreateTableOptions::Options(_)
        | CreateTableOptions::Plain(_)
        | CreateTableOptions::TableProperties(_) => {
            return unread("an option of a view", LEAVE_OUT, name.span());
        }
    }
    for ViewColumnDef {
        name,
        data_type,
        options,
    } in columns
    {
        let clauses = [
            (
                data_type.is_some(),
                "a type of a view's column",
                "cast it in the SELECT",
            ),
            (options.is_some(), "an option of a view's column", LEAVE_OUT),
        ];
        none_of(&clauses, || name.span)?;
    }
    READ
}

fn of_alter(alter: &AlterTable) -> Checked {
    let AlterTable {
        name,
        if_exists: _,
        only,
        operations: _,
        location,
        on_cluster,
        table_type,
        end_token: _,
    } = alter;
    let clauses = [
        (*only, "ONLY", LEAVE_OUT),
        (location.is_some(), "LOCATION", LEAVE_OUT),
        (on_cluster.is_some(), "ON CLUSTER", LEAVE_OUT),
        (table_type.is_some(), "a kind of table", "write ALTER TABLE"),
    ];
    none_of(&clauses, || if *only { Span::empty() } else { name.span() })
}

fn of_truncate(truncate: &Truncate) -> Checked {
    let Truncate {
        table_names,
        partitions,
        table: _,
        if_exists: _,
        identity,
        cascade,
        on_cluster,
    } = truncate;
    for TruncateTableTarget {
        name: _,
        only,
        has_asterisk,
    } in table_names
    {
        let clauses = [(*only, "ONLY", LEAVE_OUT), (*has_asterisk, "*", LEAVE_OUT)];
        none_of(&clauses, Span::empty)?;
    }
    match identity {
        None | Some(TruncateIdentityOption::Continue) => {}
        Some(TruncateIdentityOption::Restart) => {
            return unread("RESTART IDENTITY", LEAVE_OUT, Span::empty());
        }
    }
    match cascade {
        None | Some(CascadeOption::Restrict) => {}
        Some(CascadeOption::Cascade) => return unread("CASCADE", LEAVE_OUT, Span::empty()),
    }
    let clauses = [
        (
            partitions.is_some(),
            "PARTITION",
            "write DELETE with a condition",
        ),
        (on_cluster.is_some(), "ON CLUSTER", LEAVE_OUT),
    ];
    none_of(&clauses, Span::empty)
}
