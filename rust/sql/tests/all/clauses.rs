//! Clauses that nothing reads: each is refused by its name at its place; the folder that does so leaves no part of the
//! parser's tree out.

use ringview_core::{Error, Position};
use ringview_sql::{Dialect, Options, Parameters, script};

use crate::catalog::definition;

/// A dialect, a text, the column of the clause, words of the message.
type Row = (Dialect, &'static str, u64, &'static str);

#[rustfmt::skip]
const QUERIES: &[Row] = &[
    (Dialect::DuckDb, "SELECT a FROM r TABLESAMPLE (10 PERCENT)", 17, "TABLESAMPLE is not supported"),
    (Dialect::DuckDb, "SELECT a FROM (SELECT a FROM r) q TABLESAMPLE (3 ROWS)", 35, "TABLESAMPLE is not supported"),
    (Dialect::Snowflake, "SELECT a FROM r SAMPLE (10)", 17, "SAMPLE is not supported"),
    (Dialect::Snowflake, "SELECT a FROM r AT (TIMESTAMP => '2024-01-01'::TIMESTAMP)", 17, "AT is not supported"),
    (Dialect::Snowflake, "SELECT a FROM r BEFORE (TIMESTAMP => '2024-01-01'::TIMESTAMP)", 17, "BEFORE is not supported"),
    (Dialect::BigQuery, "SELECT a FROM r FOR SYSTEM_TIME AS OF '2024-01-01'", 17, "FOR SYSTEM_TIME AS OF is not"),
    (Dialect::BigQuery, "SELECT AS STRUCT a FROM r", 8, "AS is not supported"),
    (Dialect::BigQuery, "SELECT a FROM UNNEST([1, 2]) AS a WITH OFFSET", 35, "WITH OFFSET is not supported"),
    (Dialect::BigQuery, "SELECT a FROM r |> WHERE a > 1", 17, "|> is not supported"),
    (Dialect::Snowflake, "SELECT a FROM r START WITH a = 1 CONNECT BY PRIOR a = b", 34, "write WITH RECURSIVE"),
    (Dialect::Snowflake, "SELECT * ILIKE '%a%' FROM r", 10, "ILIKE is not supported"),
    (Dialect::Postgres, "SELECT n FROM unnest(ARRAY[1, 2]) WITH ORDINALITY AS t(a, n)", 35, "WITH ORDINALITY is not"),
    (Dialect::Postgres, "SELECT a FROM r FOR UPDATE", 17, "rows are not locked"),
    (Dialect::MySql, "SELECT SQL_CALC_FOUND_ROWS a FROM r", 8, "SQL_CALC_FOUND_ROWS is not supported"),
    (Dialect::MySql, "SELECT a FROM r USE INDEX (i)", 21, "INDEX is not supported"),
    (Dialect::DuckDb, "SELECT a INTO q FROM r", 10, "INTO is not supported"),
    (Dialect::DuckDb, "SELECT a FROM r FETCH FIRST 2 ROWS ONLY", 17, "write LIMIT"),
    (Dialect::DuckDb, "SELECT q.a FROM r q(a INT)", 21, "a type for the column a"),
    (Dialect::DuckDb, "SELECT a FROM (SELECT * FROM r PIVOT (sum(x) FOR a IN (1, 2)))", 32, "PIVOT is not supported"),
    (Dialect::DuckDb, "SELECT c COLLATE nocase FROM s", 10, "COLLATE is not supported"),
    (Dialect::DuckDb, "SELECT r.a FROM r NATURAL JOIN s\nORDER BY r.a COLLATE nocase", 14, "COLLATE is not supported"),
    (Dialect::DuckDb, "SELECT ARRAY(SELECT a FROM r)", 8, "ARRAY of a subquery"),
    (Dialect::DuckDb, "SELECT (SELECT * FROM r UNION ALL SELECT * FROM r ORDER BY ALL LIMIT 1)", 51, "ORDER BY ALL is not supported"),
];

#[rustfmt::skip]
const STATEMENTS: &[Row] = &[
    (Dialect::Snowflake, "CREATE DYNAMIC TABLE q TARGET_LAG = '1 minute' WAREHOUSE = w AS SELECT a FROM r", 8, "write CREATE VIEW"),
    (Dialect::DuckDb, "BEGIN TRANSACTION READ ONLY", 19, "READ ONLY is not supported"),
    (Dialect::Snowflake, "CREATE SECURE VIEW q AS SELECT a FROM r", 8, "SECURE is not supported"),
    (Dialect::DuckDb, "DROP TEMPORARY TABLE q", 6, "TEMPORARY is not supported"),
    (Dialect::Postgres, "TRUNCATE TABLE r RESTART IDENTITY", 18, "RESTART IDENTITY is not supported"),
    (Dialect::MySql, "INSERT LOW_PRIORITY INTO r VALUES (1)", 8, "LOW_PRIORITY is not supported"),
    (Dialect::Postgres, "CREATE TABLE q (a INT, UNIQUE NULLS NOT DISTINCT (a))", 31, "NULLS NOT DISTINCT is not"),
    (Dialect::DuckDb, "SELECT 1; SELECT a FROM r TABLESAMPLE (1 PERCENT)", 27, "TABLESAMPLE is not supported"),
];

/// Difference of a refusal from the expected one.
fn wrong(&(_, text, column, words): &Row, found: Option<Error>) -> Option<String> {
    let Some(Error::Sql {
        message, position, ..
    }) = found
    else {
        return Some(format!("{text}: {found:?}"));
    };
    let line = text.lines().count() as u64;
    let is_right = position == Some(Position { line, column }) && message.contains(words);
    (!is_right).then(|| format!("{text}: {position:?}: {message}"))
}

#[test]
fn a_clause_that_nothing_reads_is_refused_at_its_place() {
    let of_query = |row: &Row| {
        let options = Options {
            dialect: row.0,
            ..Options::default()
        };
        wrong(row, definition(row.1, options).err())
    };
    let of_statement = |row: &Row| {
        let parameters = Parameters::default();
        wrong(row, script(row.1, row.0, &parameters).err())
    };
    let queries = QUERIES.iter().filter_map(of_query);
    let all: Vec<String> = queries
        .chain(STATEMENTS.iter().filter_map(of_statement))
        .collect();
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// Clippy refuses wildcards of enums there, by an attribute of the folder; it has no lint for the rest of a struct.
#[test]
fn no_part_of_a_struct_is_left_out() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/clauses");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.lines().map(str::trim_start);
        let rest = code.filter(|line| !line.starts_with("//")).find(|line| {
            let quoted = line.split('"').step_by(2);
            let is_rest = |part: &str| {
                let within = ["{ ..", ", ..", "(.."].iter().any(|of| part.contains(of));
                within || part.trim() == ".."
            };
            quoted.into_iter().any(is_rest)
        });
        assert_eq!(rest, None, "{}", path.display());
    }
    let all = std::fs::read_to_string(format!("{folder}/mod.rs")).unwrap();
    assert!(all.contains("#![deny(clippy::wildcard_enum_match_arm)]"));
}
