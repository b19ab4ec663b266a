//! Nesting depth of texts: an answer or an error, never an overflow of the stack.

use std::time::{Duration, Instant};

use ringview_core::{Error, Result, SqlProblem};
use ringview_query::Query;

use crate::catalog::query;

/// Far above what a text takes, so that a busy machine fails nothing.
const LONG: Duration = Duration::from_secs(30);

fn timed(text: &str) -> Result<Query> {
    let begin = Instant::now();
    // A thread of Python has as much.
    let answer = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(8 << 20);
        let answer = thread.spawn_scoped(scope, || query(text)).unwrap();
        answer.join().unwrap()
    });
    assert!(begin.elapsed() < LONG, "{:?}", begin.elapsed());
    answer
}

#[track_caller]
fn refused(text: &str) {
    match timed(text) {
        Err(Error::Sql {
            problem: SqlProblem::Unsupported,
            message,
            ..
        }) => assert!(message.len() < 800, "{message}"),
        other => panic!("{other:?}"),
    }
}

fn condition(part: &str, terms: usize, word: &str) -> String {
    let parts: Vec<String> = (0..terms)
        .map(|at| part.replace('#', &at.to_string()))
        .collect();
    format!("SELECT COUNT(*) FROM r WHERE {}", parts.join(word))
}

#[test]
fn chains_of_conditions_are_taken() {
    timed(&condition("a <> #", 3000, " OR ")).unwrap();
    timed(&condition("NOT a = #", 100, " OR ")).unwrap();
    timed(&condition("a = # AND b = #", 500, " OR ")).unwrap();
}

#[test]
fn chains_of_and_are_taken() {
    timed(&condition("a <> #", 390, " AND ")).unwrap();
}

#[test]
fn longer_chains_are_refused() {
    refused(&condition("a = #", 10_000, " OR "));
    refused(&condition("a = #", 100_000, " AND "));
    for sign in [" + ", " || ", " * ", "::"] {
        refused(&format!(
            "SELECT SUM(a{}) FROM r",
            format!("{sign}a").repeat(10_000)
        ));
    }
}

#[test]
fn chains_of_operators_are_taken_to_the_limit() {
    timed(&format!("SELECT SUM(a{}) FROM r", " + a".repeat(190))).unwrap();
}

#[test]
fn brackets_are_refused() {
    for depth in [200, 10_000] {
        let (open, close) = ("(".repeat(depth), ")".repeat(depth));
        refused(&format!("SELECT SUM({open}x{close}) FROM r"));
        refused(&format!("SELECT COUNT(*) FROM {open}r{close}"));
        refused(&format!(
            "SELECT COUNT(*) FROM r WHERE {}a = 1",
            "NOT ".repeat(depth * 10)
        ));
        refused(&format!("SELECT SUM({}x) FROM r", "- ".repeat(depth * 10)));
        // Behind its limit the parser takes CASE for a name.
        let cases = "CASE WHEN a = 1 THEN ".repeat(depth);
        let text = format!("SELECT SUM({cases}1{}) FROM r", " END".repeat(depth));
        assert!(timed(&text).is_err());
    }
}

#[test]
fn subqueries_nest_to_a_depth() {
    let nested = |depth| {
        (0..depth).fold("SELECT a, b FROM r".to_owned(), |within, at| {
            format!("SELECT a, b FROM ({within}) AS q{at} WHERE a < {at}")
        })
    };
    timed(&nested(20)).unwrap();
    refused(&nested(400));
}

#[test]
fn long_lists_are_no_depth() {
    let values: Vec<String> = (0..30_000).map(|value| value.to_string()).collect();
    let values = values.join(", ");
    timed(&format!("SELECT COUNT(*) FROM r WHERE a IN ({values})")).unwrap();
}

#[test]
fn many_relations_are_refused() {
    refused(&format!(
        "SELECT a FROM r{}",
        " UNION ALL SELECT a FROM r".repeat(10_000)
    ));
    let mut with = "WITH q0 AS (SELECT a FROM r)".to_owned();
    for at in 1..5000 {
        with += &format!(", q{at} AS (SELECT a FROM q{})", at - 1);
    }
    refused(&format!("{with} SELECT a FROM q4999"));
}

#[test]
fn outputs_that_read_outputs_are_bounded() {
    let chain = |one: fn(usize) -> String, count: usize| {
        let outputs: Vec<String> = (1..count).map(one).collect();
        format!("SELECT a AS o0, {} FROM r", outputs.join(", "))
    };
    let one_more = |at: usize| format!("o{} + 1 AS o{at}", at - 1);
    let twice = |at: usize| format!("o{0} + o{0} AS o{at}", at - 1);
    timed(&chain(one_more, 40)).unwrap();
    timed(&chain(twice, 6)).unwrap();
    for text in [chain(one_more, 1_000), chain(twice, 60)] {
        let message = timed(&text).unwrap_err().to_string();
        assert!(message.contains("too large"), "{message}");
    }
}
