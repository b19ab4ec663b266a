//! Texts that are refused: by which kind of problem, at which place, with which words.

use ringview_core::SqlProblem::{self, Query, Type, UnknownColumn, UnknownTable, Unsupported};
use ringview_core::{Error, Position};

use crate::catalog::query;

/// A text, the kind of its problem, line, column, words of the message.
type Row = (&'static str, SqlProblem, u64, u64, &'static str);

const REFUSED: &[Row] = &[
    (
        r#"SELECT COUNT(*) FROM mixd"#,
        UnknownTable,
        1,
        22,
        r#"did you mean 'Mixed'?"#,
    ),
    (
        r#"SELECT zona FROM mixed"#,
        UnknownColumn,
        1,
        8,
        r#"did you mean 'Zone'?"#,
    ),
    (
        r#"SELECT SUM(total.a) FROM r totals"#,
        Query,
        1,
        12,
        r#"did you mean 'totals'?"#,
    ),
    (
        r#"SELECT COUNT(*) FROM zz"#,
        UnknownTable,
        1,
        22,
        r#"no table or view 'zz'"#,
    ),
    (
        r#"SELECT SUM(q) FROM r"#,
        UnknownColumn,
        1,
        12,
        r#"no column 'q'"#,
    ),
    (
        r#"SELECT SUM(r.q) FROM r"#,
        UnknownColumn,
        1,
        14,
        r#"no column 'q' in table 'r'"#,
    ),
    (
        r#"SELECT SUM(z.a) FROM r"#,
        Query,
        1,
        12,
        r#"no table or alias 'z'; in scope: r"#,
    ),
    (
        r#"SELECT SUM(r.a) FROM r AS p"#,
        Query,
        1,
        12,
        r#"no table or alias 'r'; in scope: p"#,
    ),
    (
        r#"SELECT SUM("A") FROM r"#,
        UnknownColumn,
        1,
        12,
        r#"did you mean 'a'?"#,
    ),
    (
        r#"SELECT SUM(KEY) FROM mixed"#,
        UnknownColumn,
        1,
        12,
        r#"no column 'KEY'"#,
    ),
    (
        r#"SELECT COUNT(b) FROM r, s"#,
        Query,
        1,
        14,
        r#"'b' is ambiguous; write one of r.b, s.b"#,
    ),
    (
        r#"SELECT COUNT(*)
FROM r, s
WHERE b = 1"#,
        Query,
        3,
        7,
        r#"'b' is ambiguous; write one of r.b, s.b"#,
    ),
    (
        r#"SELECT COUNT(*) FROM r p, r q JOIN s USING (b), t WHERE b = 1"#,
        Query,
        1,
        57,
        r#"'b' is ambiguous; write one of p.b, q.b, s.b"#,
    ),
    (
        r#"SELECT COUNT(*) FROM r p CROSS JOIN r q JOIN s USING (b)"#,
        Query,
        1,
        55,
        r#"'b' is ambiguous; write one of p.b, q.b"#,
    ),
    (
        r#"SELECT COUNT(*) FROM r, s JOIN t ON r.a = t.a"#,
        Query,
        1,
        37,
        r#"no table or alias 'r'; in scope: s, t"#,
    ),
    (
        r#"SELECT COUNT(*) FROM r, r"#,
        Query,
        1,
        25,
        r#"'r' is read twice, and both have 'a'; give one of them an al"#,
    ),
    (
        r#"SELECT a, a AS a FROM r GROUP BY a"#,
        Query,
        1,
        16,
        r#"two outputs are called 'a'; name one of them with AS"#,
    ),
    (
        r#"SELECT COUNT(*) FROM r JOIN s USING (a)"#,
        UnknownColumn,
        1,
        38,
        r#"no column 'a'"#,
    ),
    (
        r#"SELECT COUNT(*) FROM r, s WHERE r.b = s.c"#,
        Type,
        1,
        35,
        r#"joining r.b (int64) with s 1.c (string) is not supported: th"#,
    ),
    (
        r#"SELECT COUNT(*) FROM r; SELECT COUNT(*) FROM s"#,
        Unsupported,
        1,
        25,
        r#"a view is one statement, this is a second; make a view of ea"#,
    ),
    (
        r#"DELETE FROM r"#,
        Unsupported,
        1,
        1,
        r#"a view is a SELECT; change rows with db.insert and db.delete"#,
    ),
    (
        r#"SELECT COUNT(*) FROM r GROUP BY 2"#,
        Query,
        1,
        33,
        r#"there is no output number 2"#,
    ),
    (
        r#"SELECT a, COUNT(*) FROM r"#,
        Query,
        1,
        8,
        r#"'a' is neither in GROUP BY nor in an aggregate; add it to GR"#,
    ),
    (
        r#"SELECT SUM(SUM(x)) FROM r"#,
        Query,
        1,
        16,
        r#"an aggregate is among the arguments of another; compute the "#,
    ),
    (
        r#"SELECT SUM(c) FROM s"#,
        Type,
        1,
        8,
        r#"a sum of Utf8 is none"#,
    ),
    (
        r#"SELECT AVG(d) FROM r"#,
        Type,
        1,
        8,
        r#"a sum of Date32 is none"#,
    ),
    (
        r#"SELECT SUM(NULL) FROM r"#,
        Type,
        1,
        8,
        r#"a sum of Null is none"#,
    ),
    (
        r#"SELECT SUM(foo(x)) FROM r"#,
        Unsupported,
        1,
        12,
        r#"did you mean 'floor'?"#,
    ),
    (
        r#"SELECT SUM(x + d) FROM r"#,
        Type,
        1,
        12,
        r#"Cannot coerce arithmetic expression Float64 + Date32 to vali"#,
    ),
    (
        r#"SELECT SUM(a || b) FROM r"#,
        Type,
        1,
        12,
        r#"Cannot infer common string type for string concat operation "#,
    ),
    (
        r#"SELECT SUM($1) FROM r"#,
        Unsupported,
        1,
        12,
        r#"a view has no parameters; write the value"#,
    ),
    (
        r#"SELECT COUNT(*) FROM r WHERE x"#,
        Type,
        1,
        30,
        r#"Cannot create filter with non-boolean predicate 'r.x' return"#,
    ),
    (
        r#"SELECT COUNT(*) FROM r WHERE a = 'abc'"#,
        Query,
        1,
        34,
        r#"the expression ("a" = 'abc'): 'abc' is not a number"#,
    ),
    (
        r#"SELECT COUNT(*) FROM r WHERE d = '1995-02-30'"#,
        Query,
        1,
        34,
        r#"the expression ("d" = '1995-02-30'): '1995-02-30' is not a d"#,
    ),
    (
        r#"SELECT COUNT(*) FROM r WHERE d = 5"#,
        Type,
        1,
        30,
        r#"the expression ("d" = 5): a number is not compared with a da"#,
    ),
    (
        r#"SELECT COUNT(*) FROM s WHERE c LIKE b"#,
        Type,
        1,
        30,
        r#"the expression "c" LIKE "b": There isn't a common type to co"#,
    ),
    (
        r#"SELECT COUNT(*) FROM r WHERE a LIKE 'x'"#,
        Type,
        1,
        37,
        r#"the expression "a" LIKE 'x': There isn't a common type to co"#,
    ),
    (
        r#"SELECT COUNT(*) FROM r WHERE a > (SELECT SUM(b) FROM s WHERE z.a = 1)"#,
        Query,
        1,
        62,
        r#"no table or alias 'z'; in scope: s"#,
    ),
    (
        r#"SELECT COUNT(*) FROM r WHERE a IN (SELECT b, ok FROM s)"#,
        Query,
        1,
        43,
        r#"a subquery that is compared has one column, this has more"#,
    ),
    (
        r#"SELECT COUNT(*) FROM r WHERE a IN (SELECT c FROM s)"#,
        Type,
        1,
        30,
        r#"joining r.a (int64) with distinct 1.c (string) is not suppor"#,
    ),
    (
        r#"SELECT COUNT(*) FROM r WHERE SUM(x) > 1"#,
        Query,
        1,
        30,
        r#"an aggregate is not known in WHERE, which chooses rows befor"#,
    ),
    (
        r#"SELECT COUNT(*) FROM mixed WHERE zone < '1995-01-01 00:00'"#,
        Query,
        1,
        41,
        r#"the expression ("Zone" < '1995-01-01 00:00'): '1995-01-01 00"#,
    ),
    (
        r#"SELEC COUNT(*) FROM r"#,
        Query,
        1,
        1,
        r#"did you mean SELECT?"#,
    ),
    (
        r#"SELECT COUNT(*) FORM r"#,
        Query,
        1,
        17,
        r#"did you mean FROM?"#,
    ),
    (
        r#"SELECT a FROM r GROUPE BY a"#,
        Query,
        1,
        17,
        r#"did you mean GROUP?"#,
    ),
    (
        r#"SELECT `a` FROM r"#,
        Query,
        1,
        8,
        r#"a backtick is not SQL; quote names like this: "name""#,
    ),
    (
        r#"SELECT SUM(x FROM r"#,
        Query,
        1,
        14,
        r#"not SQL at 'FROM'; expected )"#,
    ),
    (
        r#"SELECT COUNT(*) FROM r WHERE"#,
        Query,
        1,
        24,
        r#"not SQL: the text ends too early; expected an expression"#,
    ),
    (
        r#"SELECT random() FROM r"#,
        Unsupported,
        1,
        8,
        r#"'random' gives another value at each call, so no view of it "#,
    ),
    (
        r#"SELECT uuid() FROM r"#,
        Unsupported,
        1,
        8,
        r#"'uuid' gives another value at each call, so no view of it ca"#,
    ),
    (
        r#"SELECT cuont(*) FROM r"#,
        Unsupported,
        1,
        8,
        r#"did you mean 'count'?"#,
    ),
    (
        r#"SELECT a FROM r WHERE absx(a) = 1"#,
        Unsupported,
        1,
        23,
        r#"did you mean 'abs'?"#,
    ),
    (
        r#"INSERT INTO r VALUES (1)"#,
        Unsupported,
        1,
        1,
        r#"a view is a SELECT; change rows with db.insert and db.delete"#,
    ),
    (
        r#"UPDATE r SET a = 1"#,
        Unsupported,
        1,
        1,
        r#"a view is a SELECT; change rows with db.insert and db.delete"#,
    ),
    (
        r#"CREATE TABLE x (a INT)"#,
        Unsupported,
        1,
        1,
        r#"a view is a SELECT; write SELECT .. FROM .."#,
    ),
    (
        r#"SELECT a FROM r ORDER BY zz"#,
        UnknownColumn,
        1,
        26,
        r#"no column 'zz'"#,
    ),
    (
        r#"SELECT a FROM r HAVING a > 1"#,
        Query,
        1,
        17,
        r#"a column of HAVING is neither in GROUP BY nor in an aggregat"#,
    ),
    (
        r#"SELECT a FROM r WHERE 'x"#,
        Query,
        1,
        23,
        r#"not SQL: a quote is left open; end it with '"#,
    ),
    (
        r#"SELECT a /* FROM r"#,
        Query,
        1,
        10,
        r#"not SQL: a comment is left open; end it with */"#,
    ),
    (
        r#"SELECT "a FROM r"#,
        Query,
        1,
        8,
        r#"not SQL: a quoted name is left open; end it with ""#,
    ),
    (
        r#"SELECT a FROM (SELECT a FROM r) q WHERE q.z = 1"#,
        UnknownColumn,
        1,
        43,
        r#"no column 'z' in table 'q'"#,
    ),
    (
        r#"SELECT SUM(x) FROM r WHERE a IN (SELECT q FROM s)"#,
        UnknownColumn,
        1,
        41,
        r#"no column 'q'"#,
    ),
    (
        r#"SELECT a FROM r NATURAL JOIN nope"#,
        UnknownTable,
        1,
        30,
        r#"no table or view 'nope'"#,
    ),
    (
        r#"SELECT array_agg(a) FROM r"#,
        Unsupported,
        1,
        8,
        r#"array_agg makes lists, and no column of a view holds them; S"#,
    ),
    (
        r#"SELECT a FROM r UNION SELECT a, b FROM r"#,
        Query,
        1,
        17,
        r#"the sides of UNION have different numbers of columns"#,
    ),
    (
        r#"SELECT r.* , zz.* FROM r"#,
        Query,
        1,
        14,
        r#"no table or alias 'zz'"#,
    ),
    (
        r#"SELECT NOT a FROM r"#,
        Type,
        1,
        12,
        r#"Unary operator 'NOT' requires a boolean expression, got Int6"#,
    ),
    (
        r#"SELECT -c FROM s"#,
        Type,
        1,
        9,
        r#"Unary operator '-' only supports signed numeric, interval an"#,
    ),
    (
        r#"SELECT SUM(a) OVER w FROM r"#,
        Query,
        1,
        20,
        r#"no window 'w'"#,
    ),
    (
        r#"SELECT a FROM r LIMIT a"#,
        UnknownColumn,
        1,
        23,
        r#"'a' names a column where none can be read"#,
    ),
    (
        r#"SELECT round(c) FROM s"#,
        Type,
        1,
        8,
        r#"Function 'round' does not take these arguments"#,
    ),
    (
        r#"SELECT upper(c, 1) FROM s"#,
        Type,
        1,
        8,
        r#"Function 'upper' expects 1 arguments but received 2"#,
    ),
    (
        r#"SELECT a FROM r WHERE c = 1 AND b + 'abc' = 2"#,
        UnknownColumn,
        1,
        23,
        r#"no column 'c'"#,
    ),
    (
        r#"SELECT CAST(a AS FOO) FROM r"#,
        Unsupported,
        1,
        18,
        r#"Unsupported SQL type FOO; compute that part from what you re"#,
    ),
    (
        r#"SELECT a FROM r ORDER BY 3"#,
        Query,
        1,
        26,
        r#"there is no output number 3"#,
    ),
    (
        r#"SELECT a FROM r GROUP BY 3"#,
        Query,
        1,
        26,
        r#"there is no output number 3"#,
    ),
    (
        r#"WITH q AS (SELECT a FROM r) SELECT z FROM q"#,
        UnknownColumn,
        1,
        36,
        r#"no column 'z'"#,
    ),
    (
        r#"WITH q AS (SELECT a FROM r), q AS (SELECT b FROM r) SELECT a FROM q"#,
        Query,
        1,
        30,
        r#"two queries of WITH are called 'q'; give one another name"#,
    ),
    (
        r#"SELECT a FROM r WHERE a IN (SELECT a, b FROM r)"#,
        Query,
        1,
        36,
        r#"a subquery that is compared has one column, this has more"#,
    ),
    (
        r#"SELECT x.b FROM r x JOIN s USING (zz)"#,
        UnknownColumn,
        1,
        35,
        r#"no column 'zz'"#,
    ),
    (
        r#"SELECT ? FROM r"#,
        Unsupported,
        1,
        8,
        r#"a view has no parameters; write the value"#,
    ),
    (
        r#"SELECT sum(DISTINCT) FROM r"#,
        Query,
        1,
        20,
        r#"not SQL at ')'; expected an expression"#,
    ),
    (
        r#"SELECT lead(a) FROM r"#,
        Unsupported,
        1,
        8,
        r#"'lead' is computed over a window; write lead(..) OVER (..)"#,
    ),
    (
        r#"SELECT a, ntile(4) FROM r"#,
        Unsupported,
        1,
        11,
        r#"'ntile' is computed over a window; write ntile(..) OVER (..)"#,
    ),
    (
        r#"SELECT a FROM r WHERE c LIKE 5"#,
        UnknownColumn,
        1,
        23,
        r#"no column 'c'"#,
    ),
];

#[test]
fn a_refusal_has_its_place() {
    for &(text, kind, line, column, words) in REFUSED {
        let Err(Error::Sql {
            problem,
            message,
            position,
        }) = query(text)
        else {
            panic!("{text} is taken");
        };
        assert_eq!(problem, kind, "{text}: {message}");
        assert_eq!(
            position,
            Some(Position { line, column }),
            "{text}: {message}"
        );
        assert!(message.contains(words), "{text}: {message}");
        assert!(message.starts_with(&format!("line {line}, column {column}: ")));
        let [_, excerpt, mark] = message.lines().collect::<Vec<_>>()[..] else {
            panic!("{message}");
        };
        let shown = text.lines().nth(usize::try_from(line).unwrap() - 1);
        assert_eq!(Some(excerpt.trim()), shown.map(str::trim));
        assert_eq!(
            mark.len(),
            usize::try_from(column).unwrap() + 4,
            "{message}"
        );
    }
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
fn what_has_no_place_is_given_none() {
    let Err(Error::Sql {
        message, position, ..
    }) = query("SELECT *, COUNT(*) FROM r")
    else {
        panic!("it is taken");
    };
    assert_eq!(position, None);
    assert!(
        message.starts_with("'a' is neither in GROUP BY"),
        "{message}"
    );
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
