//! Names in a text, read without tables.

use ringview_core::{Error, SqlProblem};
use ringview_sql::{Dialect, product_columns, sql_tokens, tables_named};

#[test]
fn tables_are_named_wherever_they_are_read() {
    let named = |text| tables_named(text, Dialect::DuckDb).unwrap();
    assert_eq!(named("SELECT 1"), [""; 0]);
    assert_eq!(
        named("WITH q AS (SELECT a FROM r) SELECT * FROM q, \"My s\" WHERE a IN (SELECT b FROM t)"),
        ["My s", "q", "r", "t"]
    );
    assert_eq!(
        named("SELECT a FROM r UNION SELECT a FROM main.s"),
        ["r", "s"]
    );
    for text in ["", "SELEC a", "SELECT 'a"] {
        let refused = tables_named(text, Dialect::DuckDb).unwrap_err();
        assert!(
            matches!(
                refused,
                Error::Sql {
                    problem: SqlProblem::Query,
                    ..
                }
            ),
            "{refused:?}"
        );
    }
}

#[test]
fn equal_texts_have_equal_tokens() {
    let tokens = |text| sql_tokens(text).unwrap();
    let one = tokens("SELECT a, SUM(x) AS n FROM r WHERE c = 'One' GROUP BY a");
    let other = tokens("select a,SUM(x) as n -- what\n from r /* it */ where c='One'\tgroup by a");
    assert_eq!(one, other);
    assert_ne!(
        one,
        tokens("SELECT a, SUM(x) AS n FROM r WHERE c = 'one' GROUP BY a")
    );
    assert_ne!(
        one,
        tokens("SELECT A, SUM(x) AS n FROM r WHERE c = 'One' GROUP BY a")
    );
    assert_ne!(tokens("\"a\""), tokens("a"));
    assert!(sql_tokens("SELECT 'open").is_err());
}

#[test]
fn a_product_has_columns() {
    let columns = |text| product_columns(text).unwrap();
    assert_eq!(columns("a"), ["a"]);
    assert_eq!(columns("a * (b * c) * \"D e\""), ["a", "b", "c", "D e"]);
    for text in ["a + b", "2 * a", "r.a", "a, b", "a * (SELECT 1)", "a AS b"] {
        let refused = product_columns(text).unwrap_err();
        assert!(matches!(refused, Error::Unsupported { .. }), "{refused:?}");
    }
    assert!(matches!(product_columns("a *"), Err(Error::Sql { .. })));
}
