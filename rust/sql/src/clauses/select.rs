//! Clauses of a SELECT: its outputs, groups and windows.
//!
//! Invariant and cost: those of the folder.

use datafusion_sql::sqlparser::ast::{
    Distinct, Expr, GroupByExpr, GroupByWithModifier, IlikeSelectItem, NamedWindowDefinition,
    NamedWindowExpr, Select, SelectFlavor, SelectItem, SelectItemQualifiedWildcardKind,
    SelectModifiers, Spanned, WildcardAdditionalOptions,
};

use super::unread::{Checked, LEAVE_OUT, READ, none_of, unread};
use super::{from, window};

pub(super) fn check(select: &Select) -> Checked {
    let Select {
        select_token,
        // Comments: advice for another planner.
        optimizer_hints: _,
        distinct,
        select_modifiers,
        top,
        top_before_distinct: _,
        projection,
        exclude,
        into,
        from: tables,
        lateral_views,
        prewhere,
        selection: _,
        connect_by,
        group_by,
        cluster_by,
        distribute_by,
        sort_by,
        having: _,
        named_window,
        qualify: _,
        window_before_qualify: _,
        value_table_mode,
        flavor,
    } = select;
    let clauses = [
        (top.is_some(), "TOP", "write LIMIT"),
        (exclude.is_some(), "EXCLUDE", "write it behind the star"),
        (into.is_some(), "INTO", "write CREATE TABLE .. AS SELECT"),
        (
            !lateral_views.is_empty(),
            "LATERAL VIEW",
            "write UNNEST in FROM",
        ),
        (prewhere.is_some(), "PREWHERE", "write WHERE"),
        (!connect_by.is_empty(), "CONNECT BY", "write WITH RECURSIVE"),
        (!cluster_by.is_empty(), "CLUSTER BY", "write ORDER BY"),
        (!distribute_by.is_empty(), "DISTRIBUTE BY", LEAVE_OUT),
        (!sort_by.is_empty(), "SORT BY", "write ORDER BY"),
        (value_table_mode.is_some(), "AS", "name the columns"),
    ];
    none_of(&clauses, || select_token.0.span)?;
    match distinct {
        None | Some(Distinct::All | Distinct::Distinct | Distinct::On(_)) => {}
    }
    match flavor {
        SelectFlavor::Standard | SelectFlavor::FromFirst | SelectFlavor::FromFirstNoSelect => {}
    }
    if let Some(modifiers) = select_modifiers {
        of_modifiers(modifiers, select)?;
    }
    for item in projection {
        of_item(item)?;
    }
    from::of_tables(tables)?;
    of_groups(group_by, select)?;
    for NamedWindowDefinition(_, window) in named_window {
        match window {
            NamedWindowExpr::NamedWindow(_) => {}
            NamedWindowExpr::WindowSpec(spec) => window::of_window(spec)?,
        }
    }
    READ
}

fn of_modifiers(modifiers: &SelectModifiers, select: &Select) -> Checked {
    let SelectModifiers {
        high_priority,
        straight_join,
        sql_small_result,
        sql_big_result,
        sql_buffer_result,
        sql_no_cache,
        sql_calc_found_rows,
    } = modifiers;
    let clauses = [
        (*high_priority, "HIGH_PRIORITY", LEAVE_OUT),
        (*straight_join, "STRAIGHT_JOIN", LEAVE_OUT),
        (*sql_small_result, "SQL_SMALL_RESULT", LEAVE_OUT),
        (*sql_big_result, "SQL_BIG_RESULT", LEAVE_OUT),
        (*sql_buffer_result, "SQL_BUFFER_RESULT", LEAVE_OUT),
        (*sql_no_cache, "SQL_NO_CACHE", LEAVE_OUT),
        (
            *sql_calc_found_rows,
            "SQL_CALC_FOUND_ROWS",
            "count the rows by a query of its own",
        ),
    ];
    none_of(&clauses, || select.select_token.0.span)
}

fn of_item(item: &SelectItem) -> Checked {
    match item {
        // DuckDB's word behind a call gives what it adds up, and not its value.
        SelectItem::ExprWithAlias {
            expr: Expr::Function(_),
            alias,
        } if alias.quote_style.is_none() && alias.value.eq_ignore_ascii_case("export_state") => {
            unread("EXPORT_STATE", "leave it out, or write AS", alias.span)
        }
        SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { expr: _, alias: _ } => READ,
        SelectItem::ExprWithAliases { expr, aliases: _ } => {
            unread("AS", "give an output one name", expr.span())
        }
        SelectItem::Wildcard(options) => of_star(options),
        SelectItem::QualifiedWildcard(of, options) => {
            match of {
                SelectItemQualifiedWildcardKind::ObjectName(_) => {}
                SelectItemQualifiedWildcardKind::Expr(expr) => {
                    return unread("*", "name the fields", expr.span());
                }
            }
            of_star(options)
        }
    }
}

/// Columns that a star leaves out, renames or computes.
pub(super) fn of_star(options: &WildcardAdditionalOptions) -> Checked {
    let WildcardAdditionalOptions {
        wildcard_token,
        opt_ilike,
        opt_exclude: _,
        opt_except: _,
        opt_replace: _,
        opt_rename,
        opt_alias,
    } = options;
    let span = wildcard_token.0.span;
    if let Some(IlikeSelectItem { pattern: _ }) = opt_ilike {
        return unread("ILIKE", "name the columns", span);
    }
    let clauses = [
        (opt_rename.is_some(), "RENAME", "name the columns with AS"),
        (opt_alias.is_some(), "AS", "name the columns"),
    ];
    none_of(&clauses, || span)
}

fn of_groups(group_by: &GroupByExpr, select: &Select) -> Checked {
    let modifiers = match group_by {
        GroupByExpr::All(modifiers) => {
            none_of(
                &[(
                    !modifiers.is_empty(),
                    "WITH",
                    "name the columns in GROUP BY",
                )],
                || select.select_token.0.span,
            )?;
            return READ;
        }
        GroupByExpr::Expressions(_, modifiers) => modifiers,
    };
    let near = || match group_by {
        GroupByExpr::Expressions(keys, _) => keys.first().map_or(group_by.span(), Spanned::span),
        GroupByExpr::All(_) => select.select_token.0.span,
    };
    let several = (modifiers.len() > 1, "WITH", "write GROUPING SETS");
    none_of(&[several], near)?;
    match modifiers.first() {
        None | Some(GroupByWithModifier::Rollup | GroupByWithModifier::Cube) => READ,
        Some(GroupByWithModifier::Totals) => unread("WITH TOTALS", "write ROLLUP (..)", near()),
        Some(GroupByWithModifier::GroupingSets(_)) => unread(
            "GROUPING SETS",
            "write GROUP BY GROUPING SETS (..) alone",
            near(),
        ),
    }
}
