//! Texts that are refused: by which kind of problem, at which place, with which words.

use ringview_core::SqlProblem::{
    self, Query, Type, UnknownColumn, UnknownTable, Unsupported, Value,
};
use ringview_core::{Error, Position};

use crate::catalog::query;

/// A text, the kind of its problem, line, column, words of the message.
type Row = (&'static str, SqlProblem, u64, u64, &'static str);

#[rustfmt::skip]
const REFUSED: &[Row] = &[
    ("SELECT COUNT(*) FROM mixd", UnknownTable, 1, 22, "did you mean \"Mixed\"?"),
    ("SELECT zona FROM mixed", UnknownColumn, 1, 8, "did you mean \"Zone\"?"),
    ("SELECT SUM(total.a) FROM r totals", Query, 1, 12, "did you mean \"totals\"?"),
    ("SELECT COUNT(*) FROM zz", UnknownTable, 1, 22, "no table or view \"zz\""),
    ("SELECT SUM(q) FROM r", UnknownColumn, 1, 12, "no column \"q\""),
    ("SELECT SUM(r.q) FROM r", UnknownColumn, 1, 14, "no column \"q\" in table \"r\""),
    ("SELECT SUM(z.a) FROM r", Query, 1, 12, "no table or alias \"z\"; in scope: r"),
    ("SELECT SUM(r.a) FROM r AS p", Query, 1, 12, "no table or alias \"r\"; in scope: p"),
    ("SELECT SUM(KEY) FROM mixed", UnknownColumn, 1, 12, "no column \"KEY\""),
    ("SELECT COUNT(b) FROM r, s", Query, 1, 14, "\"b\" is ambiguous; write one of r.b, s.b"),
    ("SELECT COUNT(*)\nFROM r, s\nWHERE b = 1", Query, 3, 7, "\"b\" is ambiguous; write one of r.b, s.b"),
    ("SELECT COUNT(*) FROM r p CROSS JOIN r q JOIN s USING (b)", Query, 1, 55, "\"b\" is ambiguous; write one of p.b, q.b"),
    ("SELECT COUNT(*) FROM r, s JOIN t ON r.a = t.a", Query, 1, 37, "no table or alias \"r\"; in scope: s, t"),
    ("SELECT COUNT(*) FROM r, r", Query, 1, 25, "\"r\" is read twice, and both have \"a\"; give one of them an al"),
    ("SELECT COUNT(*) FROM r JOIN s USING (a)", UnknownColumn, 1, 38, "no column \"a\""),
    ("SELECT COUNT(*) FROM r, s WHERE r.b = s.c", Type, 1, 35, "\"b\" = \"c\": expected int64, found string"),
    ("SELECT COUNT(*) FROM r; SELECT COUNT(*) FROM s", Unsupported, 1, 25, "a view is one statement, this is a second; make a view of ea"),
    ("WITH RECURSIVE q(n) AS (SELECT a FROM r UNION SELECT n FROM q LIMIT 2) SELECT n FROM q", Unsupported, 1, 16, "whose rows come in rounds; write them into the SELECT that reads \"q\""),
    ("WITH RECURSIVE q(n) AS (SELECT n FROM q) SELECT n FROM q", Unsupported, 1, 16, "\"q\" reads itself, and that is a recursion; write it as a start and a step"),
    ("WITH RECURSIVE p AS (SELECT a FROM r), q(n) AS (SELECT n FROM q UNION SELECT n FROM q) SELECT n FROM q", Unsupported, 1, 40, "\"q\" is read by the SELECT before UNION"),
    ("WITH RECURSIVE q(n) AS (WITH p AS (SELECT a FROM r) SELECT a FROM p UNION SELECT n FROM q) SELECT n FROM q", Unsupported, 1, 16, "WITH stands within the recursion \"q\""),
    ("DELETE FROM r", Unsupported, 1, 1, "a view is a SELECT; change rows with db.insert and db.delete"),
    ("SELECT COUNT(*) FROM r GROUP BY 2", Query, 1, 33, "there is no output number 2"),
    ("SELECT a, COUNT(*) FROM r", Query, 1, 8, "\"a\" is neither in GROUP BY nor in an aggregate; add it to GR"),
    ("SELECT SUM(SUM(x)) FROM r", Query, 1, 16, "an aggregate is among the arguments of another; compute the "),
    ("SELECT SUM(c) FROM s", Type, 1, 8, "a sum needs numbers, this is a text"),
    ("SELECT AVG(d) FROM r", Type, 1, 8, "this is a date"),
    ("SELECT SUM(NULL) FROM r", Type, 1, 8, "this is null"),
    ("SELECT SUM(foo(x)) FROM r", Unsupported, 1, 12, "did you mean \"floor\"?"),
    ("SELECT SUM(x + d) FROM r", Type, 1, 12, "Cannot coerce arithmetic expression Float64 + Date32 to vali"),
    ("SELECT SUM(a || b) FROM r", Type, 1, 8, "a sum needs numbers"),
    ("SELECT COUNT(*) FROM r WHERE d", Type, 1, 30, "r.d is no condition: it is of type Date32, and not a Boolean"),
    ("SELECT COUNT(*) FROM r WHERE a = 'abc'", Query, 1, 34, r#"the expression ("a" = 'abc'): 'abc' is not a number"#),
    ("SELECT COUNT(*) FROM r WHERE d = '1995-02-30'", Query, 1, 34, r#"the expression ("d" = '1995-02-30'): '1995-02-30' is not a d"#),
    ("SELECT COUNT(*) FROM r WHERE d = 5", Type, 1, 30, r#"the expression ("d" = 5): a number is not compared with a da"#),
    ("SELECT COUNT(*) FROM s WHERE c LIKE b", Type, 1, 30, r#"the expression "c" LIKE "b": There isn't a common type to co"#),
    ("SELECT COUNT(*) FROM r WHERE a LIKE 'x'", Type, 1, 37, r#"the expression "a" LIKE 'x': There isn't a common type to co"#),
    ("SELECT COUNT(*) FROM r WHERE a > (SELECT SUM(b) FROM s WHERE z.a = 1)", Query, 1, 62, "no table or alias \"z\"; in scope: s"),
    ("SELECT COUNT(*) FROM r WHERE a IN (SELECT b, ok FROM s)", Query, 1, 43, "a subquery that is compared has one column, this has more"),
    ("SELECT COUNT(*) FROM r WHERE a IN (SELECT c FROM s)", Type, 1, 30, "\"a\" = \"c\": expected int64, found string"),
    ("SELECT COUNT(*) FROM r WHERE SUM(x) > 1", Query, 1, 30, "an aggregate is not known in WHERE, which chooses rows befor"),
    ("SELECT COUNT(*) FROM mixed WHERE zone < '1995-01-01 00:00'", Query, 1, 41, r#"the expression ("Zone" < '1995-01-01 00:00'): '1995-01-01 00"#),
    ("SELEC COUNT(*) FROM r", Query, 1, 1, "did you mean SELECT?"),
    ("SELECT COUNT(*) FORM r", Query, 1, 17, "did you mean FROM?"),
    ("SELECT a FROM r GROUPE BY a", Query, 1, 17, "did you mean GROUP?"),
    ("SELECT `a` FROM r", Query, 1, 8, r#"a backtick is not SQL; quote names like this: "name""#),
    ("SELECT SUM(x FROM r", Query, 1, 14, "not SQL at \"FROM\"; expected )"),
    ("SELECT COUNT(*) FROM r WHERE", Query, 1, 24, "not SQL: the text ends too early; expected an expression"),
    ("SELECT random() FROM r", Unsupported, 1, 8, "\"random\" gives another value at each call, so no view of it "),
    ("SELECT uuid() FROM r", Unsupported, 1, 8, "\"uuid\" gives another value at each call, so no view of it ca"),
    ("SELECT cuont(*) FROM r", Unsupported, 1, 8, "did you mean \"count\"?"),
    ("SELECT a FROM r WHERE absx(a) = 1", Unsupported, 1, 23, "did you mean \"abs\"?"),
    ("INSERT INTO r VALUES (1)", Unsupported, 1, 1, "a view is a SELECT; change rows with db.insert and db.delete"),
    ("UPDATE r SET a = 1", Unsupported, 1, 1, "a view is a SELECT; change rows with db.insert and db.delete"),
    ("CREATE TABLE x (a INT)", Unsupported, 1, 1, "a view is a SELECT; write SELECT .. FROM .."),
    ("SELECT a FROM r ORDER BY zz", UnknownColumn, 1, 26, "no column \"zz\""),
    ("SELECT a FROM r HAVING a > 1", Query, 1, 17, "a column of HAVING is neither in GROUP BY nor in an aggregat"),
    ("SELECT a FROM r WHERE 'x", Query, 1, 23, "not SQL: a quote is left open; end it with '"),
    ("SELECT a /* FROM r", Query, 1, 10, "not SQL: a comment is left open; end it with */"),
    (r#"SELECT "a FROM r"#, Query, 1, 8, r#"not SQL: a quoted name is left open; end it with ""#),
    ("SELECT a FROM (SELECT a FROM r) q WHERE q.z = 1", UnknownColumn, 1, 43, "no column \"z\" in table \"q\""),
    ("SELECT SUM(x) FROM r WHERE a IN (SELECT q FROM s)", UnknownColumn, 1, 41, "no column \"q\""),
    ("SELECT a FROM r NATURAL JOIN nope", UnknownTable, 1, 30, "no table or view \"nope\""),
    ("SELECT a FROM r UNION SELECT a, b FROM r", Query, 1, 17, "the sides of UNION have different numbers of columns"),
    ("SELECT r.* , zz.* FROM r", Query, 1, 14, "no table or alias \"zz\""),
    ("SELECT NOT d FROM r", Type, 1, 12, "r.d is no condition: it is of type Date32, and not a Boolean"),
    ("SELECT -c FROM s", Type, 1, 9, "Unary operator '-' only supports signed numeric, interval an"),
    ("SELECT SUM(a) OVER w FROM r", Query, 1, 20, "no window \"w\""),
    ("SELECT a FROM r LIMIT a", UnknownColumn, 1, 23, "\"a\" names a column where none can be read"),
    ("SELECT round(c) FROM s", Type, 1, 8, "Function 'round' does not take these arguments"),
    ("SELECT upper(c, 1) FROM s", Type, 1, 8, "Function 'upper' expects 1 arguments but received 2"),
    ("SELECT a FROM r WHERE c = 1 AND b + 'abc' = 2", UnknownColumn, 1, 23, "no column \"c\""),
    ("SELECT CAST(a AS FOO) FROM r", Unsupported, 1, 18, "Unsupported SQL type FOO; compute that part from what you re"),
    ("SELECT a FROM r ORDER BY 3", Query, 1, 26, "there is no output number 3"),
    ("SELECT a FROM r GROUP BY 3", Query, 1, 26, "there is no output number 3"),
    ("WITH q AS (SELECT a FROM r) SELECT z FROM q", UnknownColumn, 1, 36, "no column \"z\""),
    ("WITH q AS (SELECT a FROM r), q AS (SELECT b FROM r) SELECT a FROM q", Query, 1, 30, "two queries of WITH are called \"q\"; give one another name"),
    ("SELECT a FROM r WHERE a IN (SELECT a, b FROM r)", Query, 1, 36, "a subquery that is compared has one column, this has more"),
    ("SELECT x.b FROM r x JOIN s USING (zz)", UnknownColumn, 1, 35, "no column \"zz\""),
    ("SELECT sum(DISTINCT) FROM r", Query, 1, 20, "not SQL at \")\"; expected an expression"),
    ("SELECT lead(a) FROM r", Unsupported, 1, 8, "\"lead\" is computed over a window; write lead(..) OVER (..)"),
    ("SELECT a, ntile(4) FROM r", Unsupported, 1, 11, "\"ntile\" is computed over a window; write ntile(..) OVER (..)"),
    ("SELECT a FROM r WHERE c LIKE 5", UnknownColumn, 1, 23, "no column \"c\""),
    ("SELECT r.a FROM r NATURAL JOIN mixed", Query, 1, 19, "NATURAL JOIN: there is no column on both sides; write ON"),
    ("SELECT COUNT(*) FROM r AS p(k, l, m, n, o)", Query, 1, 29, "an alias gives 5 names to 4 columns"),
    ("SELECT COUNT(*) FROM r AS p(k, k)", Query, 1, 32, "two outputs are called \"k\""),
    ("WITH q(a, b) AS (SELECT a FROM r) SELECT a FROM q", Query, 1, 8, "2 names"),
    ("SELECT a FROM t AS r WHERE EXISTS (SELECT 1 FROM r AS p JOIN t AS q ON p.d = q.at WHERE a = 1)", Query, 1, 89, "\"a\" is ambiguous; write one of p.a, q.a"),
    ("SELECT count(z) AS z, b FROM r WHERE z = 3 GROUP BY b", UnknownColumn, 1, 14, "no column \"z\""),
    ("SELECT x AS p, (SELECT max(b) FROM t AS r JOIN s USING (c) WHERE p > 1) FROM r", Unsupported, 1, 66, "the name \"p\" of a query around"),
    ("SELECT SUM(a.b.c) FROM r", Query, 1, 12, "is not Struct"),
    ("SELECT a FROM r, glob('x') AS q", Unsupported, 1, 18, "Table Functions"),
    ("SELECT *, COUNT(*) FROM r", Query, 1, 8, "\"a\" is neither in GROUP BY"),
    ("SELECT COUNT(*), r.* FROM r", Query, 1, 18, "\"a\" is neither in GROUP BY"),
    ("SELECT SUM(a + $1) FROM r", Value, 1, 16, "$1 has no value"),
    ("SELECT a FROM r\nWHERE x = :most", Value, 2, 11, ":most has no value"),
    ("SELECT a FROM r WHERE a > (SELECT MAX(b), 1 FROM s)", Query, 1, 28, "one column, this has more"),
    ("SELECT SUM(x) + 1 AS n FROM r GROUP BY n", Query, 1, 31, "GROUP BY holds no aggregate, for groups come before it"),
];

#[test]
fn a_refusal_has_its_place() {
    let wrong: Vec<String> = REFUSED.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Difference of a refusal from the expected one.
fn wrong(&(text, kind, line, column, words): &Row) -> Option<String> {
    let Err(Error::Sql {
        problem,
        message,
        position,
    }) = query(text)
    else {
        return Some(format!("{text}: is taken"));
    };
    let shown = text.lines().nth(usize::try_from(line).unwrap() - 1);
    let parts: Vec<&str> = message.lines().collect();
    let is_marked = matches!(&parts[..], [_, excerpt, mark] if Some(excerpt.trim()) == shown.map(str::trim)
        && mark.len() == usize::try_from(column).unwrap() + 4);
    let is_right = problem == kind
        && position == Some(Position { line, column })
        && message.contains(words)
        && message.starts_with(&format!("line {line}, column {column}: "))
        && is_marked;
    (!is_right).then(|| format!("{text}: {problem:?} at {position:?}: {message}"))
}

#[test]
fn an_empty_text_is_told_so() {
    for text in ["", "  ", "-- only a comment", ";"] {
        let message = query(text).unwrap_err().to_string();
        assert!(
            message.contains("the text of the view is empty"),
            "{message}"
        );
    }
}

#[test]
fn what_may_be_of_two_places_is_given_none() {
    let text = "SELECT r.*, Mixed.*, COUNT(*) FROM r, Mixed";
    let Err(Error::Sql { position, .. }) = query(text) else {
        panic!("{text} is taken");
    };
    assert_eq!(position, None, "{text}");
}

#[test]
fn clocks_and_chance_are_refused_with_the_reason() {
    for (text, why) in [
        ("SELECT random() FROM r", "another value at each call"),
        ("SELECT uuid() FROM r", "another value at each call"),
    ] {
        let message = query(text).unwrap_err().to_string();
        assert!(message.contains(why), "{message}");
    }
}

#[test]
fn a_parameter_has_a_value() {
    for text in ["SELECT SUM($1) FROM r", "SELECT ? FROM r"] {
        assert!(query(text).is_err(), "{text} is taken");
    }
}
