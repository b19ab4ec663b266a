//! Clauses of FROM: tables, joins and aliases.
//!
//! Invariant and cost: those of the folder.

use datafusion_sql::sqlparser::ast::{
    Expr, Join, JoinConstraint, JoinOperator, Spanned, TableAlias, TableAliasColumnDef,
    TableFactor, TableFunctionArgs, TableSample, TableSampleKind, TableSampleModifier,
    TableVersion, TableWithJoins,
};
use datafusion_sql::sqlparser::tokenizer::Span;

use super::unread::{Checked, LEAVE_OUT, READ, none_of, unread};

const CHANCE: &str =
    "a sample is drawn by chance, so no view of it can be exact; create a sample: db.create_sample";
const SERIES: &str = "number the rows: row_number() OVER (ORDER BY ..)";
const PAST: &str = "a table has the rows that are there now; leave it out";

/// The tables of a FROM.
pub(super) fn of_tables(tables: &[TableWithJoins]) -> Checked {
    tables.iter().try_for_each(of_joins)
}

/// A table with its joins.
pub(super) fn of_joins(table: &TableWithJoins) -> Checked {
    let TableWithJoins { relation: _, joins } = table;
    joins.iter().try_for_each(of_join)
}

fn of_join(join: &Join) -> Checked {
    let Join {
        relation: _,
        global,
        join_operator,
    } = join;
    none_of(&[(*global, "GLOBAL", LEAVE_OUT)], || join.span())?;
    match join_operator {
        JoinOperator::Join(by)
        | JoinOperator::Inner(by)
        | JoinOperator::Left(by)
        | JoinOperator::LeftOuter(by)
        | JoinOperator::Right(by)
        | JoinOperator::RightOuter(by)
        | JoinOperator::FullOuter(by)
        | JoinOperator::Semi(by)
        | JoinOperator::LeftSemi(by)
        | JoinOperator::RightSemi(by)
        | JoinOperator::Anti(by)
        | JoinOperator::LeftAnti(by)
        | JoinOperator::RightAnti(by)
        | JoinOperator::AsOf {
            match_condition: _,
            constraint: by,
        } => of_constraint(by),
        JoinOperator::CrossJoin(by) => match by {
            JoinConstraint::None => READ,
            JoinConstraint::On(_) | JoinConstraint::Using(_) | JoinConstraint::Natural => unread(
                "CROSS JOIN",
                "write JOIN where it says by what",
                join.span(),
            ),
        },
        JoinOperator::CrossApply => unread("APPLY", "write CROSS JOIN LATERAL", join.span()),
        JoinOperator::OuterApply => unread("APPLY", "write LEFT JOIN LATERAL", join.span()),
        JoinOperator::StraightJoin(_) => unread("STRAIGHT_JOIN", "write JOIN", join.span()),
        JoinOperator::ArrayJoin | JoinOperator::LeftArrayJoin | JoinOperator::InnerArrayJoin => {
            unread("ARRAY JOIN", "write UNNEST in FROM", join.span())
        }
    }
}

fn of_constraint(by: &JoinConstraint) -> Checked {
    match by {
        JoinConstraint::On(_)
        | JoinConstraint::Using(_)
        | JoinConstraint::Natural
        | JoinConstraint::None => READ,
    }
}

/// A name given to a table.
pub(super) fn of_alias(alias: &TableAlias) -> Checked {
    let TableAlias {
        explicit: _,
        name,
        columns,
        at,
    } = alias;
    none_of(&[(at.is_some(), "AT", SERIES)], || name.span)?;
    for TableAliasColumnDef { name, data_type } in columns {
        if data_type.is_some() {
            let clause = format!("a type for the column {}", name.value);
            return unread(clause, "cast it where it is read", name.span);
        }
    }
    READ
}

pub(super) fn check(factor: &TableFactor) -> Checked {
    match factor {
        TableFactor::Table {
            name,
            alias,
            args,
            with_hints,
            version,
            with_ordinality,
            partitions,
            json_path,
            sample,
            index_hints,
        } => {
            if let Some(version) = version {
                return of_version(version, name.span());
            }
            let clauses = [
                (sample.is_some(), sample_word(sample), CHANCE),
                (*with_ordinality, "WITH ORDINALITY", SERIES),
                (!with_hints.is_empty(), "WITH", LEAVE_OUT),
                (
                    !partitions.is_empty(),
                    "PARTITION",
                    "write a condition in WHERE",
                ),
                (json_path.is_some(), ".", "compute it into columns"),
                (!index_hints.is_empty(), "INDEX", LEAVE_OUT),
            ];
            none_of(&clauses, || name.span())?;
            if let Some(TableFunctionArgs { args: _, settings }) = args {
                none_of(&[(settings.is_some(), "SETTINGS", LEAVE_OUT)], || {
                    name.span()
                })?;
            }
            of_optional(alias.as_ref())
        }
        TableFactor::Derived {
            lateral: _,
            subquery: _,
            alias,
            sample,
        } => {
            let sampled = (sample.is_some(), sample_word(sample), CHANCE);
            none_of(&[sampled], || factor.span())?;
            of_optional(alias.as_ref())
        }
        TableFactor::Function {
            lateral: _,
            name,
            args: _,
            with_ordinality,
            alias,
        } => {
            let numbered = (*with_ordinality, "WITH ORDINALITY", SERIES);
            none_of(&[numbered], || name.span())?;
            of_optional(alias.as_ref())
        }
        TableFactor::UNNEST {
            alias,
            array_exprs: _,
            with_offset,
            with_offset_alias,
            with_ordinality,
        } => {
            let clauses = [
                (*with_ordinality, "WITH ORDINALITY", SERIES),
                (*with_offset, "WITH OFFSET", SERIES),
                (with_offset_alias.is_some(), "WITH OFFSET", SERIES),
            ];
            none_of(&clauses, || factor.span())?;
            of_optional(alias.as_ref())
        }
        TableFactor::NestedJoin {
            table_with_joins,
            alias,
        } => {
            of_joins(table_with_joins)?;
            of_optional(alias.as_ref())
        }
        TableFactor::TableFunction { expr, alias: _ } => {
            unread("TABLE", "write UNNEST in FROM", expr.span())
        }
        TableFactor::JsonTable {
            json_expr,
            json_path: _,
            columns: _,
            alias: _,
        } => unread(
            "JSON_TABLE",
            "compute it into rows of a table",
            json_expr.span(),
        ),
        TableFactor::OpenJsonTable {
            json_expr,
            json_path: _,
            columns: _,
            alias: _,
        } => unread(
            "OPENJSON",
            "compute it into rows of a table",
            json_expr.span(),
        ),
        TableFactor::Pivot {
            table,
            aggregate_functions: _,
            value_column: _,
            value_source: _,
            default_on_null: _,
            alias: _,
        } => unread(
            "PIVOT",
            "write an aggregate with FILTER for each column",
            table.span(),
        ),
        TableFactor::Unpivot {
            table,
            value: _,
            name: _,
            columns: _,
            null_inclusion: _,
            alias: _,
        } => unread("UNPIVOT", "write UNION ALL of its columns", table.span()),
        TableFactor::MatchRecognize {
            table,
            partition_by: _,
            order_by: _,
            measures: _,
            rows_per_match: _,
            after_match_skip: _,
            pattern: _,
            symbols: _,
            alias: _,
        } => unread("MATCH_RECOGNIZE", "write windows with LAG", table.span()),
        TableFactor::XmlTable {
            namespaces: _,
            row_expression,
            passing: _,
            columns: _,
            alias: _,
        } => unread(
            "XMLTABLE",
            "compute it into rows of a table",
            row_expression.span(),
        ),
        TableFactor::SemanticView {
            name,
            dimensions: _,
            metrics: _,
            facts: _,
            where_clause: _,
            alias: _,
        } => unread("SEMANTIC_VIEW", "write SELECT .. GROUP BY", name.span()),
    }
}

fn of_optional(alias: Option<&TableAlias>) -> Checked {
    alias.map_or(READ, of_alias)
}

/// The keyword of a text that requests a sample.
fn sample_word(sample: &Option<TableSampleKind>) -> &'static str {
    let Some(TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample)) =
        sample
    else {
        return "SAMPLE";
    };
    let TableSample {
        modifier,
        name: _,
        quantity: _,
        seed: _,
        bucket: _,
        offset: _,
    } = &**sample;
    match modifier {
        TableSampleModifier::Sample => "SAMPLE",
        TableSampleModifier::TableSample => "TABLESAMPLE",
    }
}

fn of_version(version: &TableVersion, near: Span) -> Checked {
    match version {
        TableVersion::ForSystemTimeAsOf(_) => unread("FOR SYSTEM_TIME AS OF", PAST, near),
        TableVersion::TimestampAsOf(_) => unread("TIMESTAMP AS OF", PAST, near),
        TableVersion::VersionAsOf(_) => unread("VERSION AS OF", PAST, near),
        TableVersion::Function(of) => unread(first_word(of), PAST, near),
        TableVersion::Changes {
            changes: _,
            at: _,
            end: _,
        } => unread(
            "CHANGES",
            "follow the changes of a view: view.follow()",
            near,
        ),
    }
}

/// The name of a call: AT, BEFORE.
fn first_word(of: &Expr) -> String {
    let text = of.to_string();
    let end = text.find('(').unwrap_or(text.len());
    text[..end].trim().to_owned()
}
