//! Texts that are taken, which were refused once.

use crate::catalog::query;

#[rustfmt::skip]
const TAKEN: &[&str] = &[
    "SELECT SUM(a * (SELECT MAX(b) FROM s)) AS x FROM r",
    "SELECT b, SUM((SELECT COUNT(*) FROM s WHERE s.b = r.b)) AS x FROM r GROUP BY b",
    "SELECT COUNT(*) FILTER (WHERE b IN (SELECT b FROM s)) AS x FROM r",
    "SELECT (SELECT MAX(b) FROM s) AS k, COUNT(*) AS n FROM r GROUP BY 1",
    "SELECT a, (a, b) IN (SELECT a, b FROM r) AS x FROM r",
    "SELECT a FROM r WHERE NOT ((a, b) IN (SELECT a, b FROM r))",
    "WITH q AS (SELECT a FROM r), p AS (WITH q AS (SELECT b AS a FROM s) SELECT a FROM q) SELECT q.a FROM q, p WHERE q.a = p.a",
    "SELECT r.a, q.c FROM r LEFT JOIN LATERAL (SELECT c FROM s WHERE s.b = r.b) q ON q.c > 'x'",
    "SELECT r.a, q.n FROM r LEFT JOIN LATERAL (SELECT COUNT(*) AS n FROM s WHERE s.b = r.b HAVING COUNT(*) > 1) q ON q.n > 2",
    "SELECT b, a, c FROM (SELECT * FROM r) p FULL JOIN (SELECT * FROM s) q USING (b)",
    "WITH p AS (SELECT r.* FROM r), q AS (SELECT b, ok FROM s) SELECT b, a, ok FROM p FULL JOIN q USING (b) FULL JOIN (VALUES (1)) v(b) USING (b)",
    "SELECT a, SUM(b) OVER (w ORDER BY x) AS t FROM r WINDOW w AS (PARTITION BY a)",
    "SELECT SUM(b) OVER (ORDER BY d RANGE BETWEEN INTERVAL 14 DAYS PRECEDING AND INTERVAL (2) HOURS FOLLOWING) AS t FROM r",
    "SELECT LAG(a, 1, b + 1) OVER (ORDER BY x) AS l FROM r",
    "SELECT r.a, q.k FROM r CROSS JOIN LATERAL (SELECT RANK() OVER (ORDER BY c) AS k FROM s WHERE s.b < r.b) q",
    "WITH RECURSIVE q(n) AS (SELECT a FROM r UNION SELECT b FROM q JOIN r ON q.n = r.a) SELECT n FROM q",
    "WITH RECURSIVE q AS (SELECT a FROM r UNION SELECT b FROM s ORDER BY 1 LIMIT 2) SELECT a FROM q",
    "SELECT CAST('1e0' AS INTEGER) + a AS x, x ** 1.5 AS y FROM r",
];

#[test]
fn what_was_refused_is_taken() {
    let refused = TAKEN.iter().filter_map(|text| {
        let problem = query(text).err()?;
        Some(format!("{text}: {problem}"))
    });
    let refused: Vec<String> = refused.collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn a_window_that_extends_another_has_its_partition() {
    let text = "SELECT SUM(b) OVER (v ROWS 2 PRECEDING) AS t FROM r \
                WINDOW w AS (PARTITION BY a, b), v AS (w ORDER BY x DESC)";
    let spelt =
        "SELECT SUM(b) OVER (PARTITION BY a, b ORDER BY x DESC ROWS 2 PRECEDING) AS t FROM r";
    assert_eq!(query(text).unwrap(), query(spelt).unwrap());
}

#[test]
fn a_number_before_a_day_is_days() {
    let of = |distance: &str| {
        query(&format!(
            "SELECT SUM(b) OVER (ORDER BY d RANGE {distance} PRECEDING) AS t FROM r"
        ))
    };
    assert_eq!(of("30").unwrap(), of("INTERVAL '30 days'").unwrap());
    assert_ne!(of("30").unwrap(), of("INTERVAL 30 HOURS").unwrap());
    assert!(of("1.5").is_err());
}

#[test]
fn an_inner_name_of_with_hides_the_outer_one() {
    let text = "WITH q AS (SELECT a FROM r), p AS (WITH q AS (SELECT b AS a FROM s) SELECT a FROM q) \
                SELECT p.a FROM p";
    let found = query(text).expect("it is taken");
    let read: Vec<&str> = found.atoms.iter().map(|atom| atom.table.as_str()).collect();
    assert_eq!(read, ["s"]);
}
