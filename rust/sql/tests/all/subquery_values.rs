//! Conditions on values of subqueries: which of them keep the rows that look a value up in vain.

use ringview_core::Result;
use ringview_query::{Query, Rows};
use ringview_sql::Options;

use crate::catalog::definition;

fn in_blocks(text: &str) -> Result<Query> {
    let in_blocks = true;
    let options = Options {
        in_blocks,
        ..Options::default()
    };
    definition(text, options)?.bind()
}

/// Whether a block adds the rows without a partner to those that have one.
fn keeps_rows_without_value(query: &Query) -> bool {
    query.blocks.iter().any(|block| match &block.query.rows {
        Some(Rows::Map { branches, .. }) => branches.iter().any(|branch| branch.minus),
        _ => false,
    })
}

fn chosen_by(condition: &str) -> String {
    format!("SELECT a, x FROM r WHERE {condition}")
}

#[test]
fn rows_are_joined_with_values_that_may_not_be_null() {
    for condition in [
        "b < (SELECT SUM(s.b) FROM s WHERE s.b = r.a)",
        "NOT (x >= 2 * (SELECT MAX(s.b) + 1 FROM s WHERE s.b = r.a))",
        "(SELECT MIN(s.b) FROM s WHERE s.b = r.a) IS NOT NULL",
    ] {
        let query = in_blocks(&chosen_by(condition)).unwrap();
        assert!(!keeps_rows_without_value(&query), "{condition}: {query:?}");
    }
}

#[test]
fn rows_without_value_are_kept_where_they_may_be_chosen() {
    for condition in [
        "b < COALESCE((SELECT SUM(s.b) FROM s WHERE s.b = r.a), 1)",
        "b <= (SELECT COUNT(*) FROM s WHERE s.b = r.a)",
        "(SELECT MIN(s.b) FROM s WHERE s.b = r.a) IS NULL",
        "(b IS NULL OR b > (SELECT MIN(s.b) FROM s WHERE s.b = r.a))",
    ] {
        let query = in_blocks(&chosen_by(condition)).unwrap();
        assert!(keeps_rows_without_value(&query), "{condition}: {query:?}");
    }
}
