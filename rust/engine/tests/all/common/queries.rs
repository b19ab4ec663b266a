//! The views of the tests.

use ringview_query::Query;

const A: &str = r#"\"0\".\"a\""#;
const X: &str = r#"\"0\".\"x\""#;
const T: &str = r#"\"1\".\"t\""#;
const C: &str = r#"\"1\".\"c\""#;

fn aggregate(name: &str, function: &str, argument: &str) -> String {
    let argument = match argument {
        "null" => "null".to_owned(),
        text => format!("\"{text}\""),
    };
    format!(
        r#"{{"kind": "aggregate", "name": "{name}", "function": "{function}", "argument": {argument}}}"#
    )
}

fn group(atom: usize, column: &str) -> String {
    format!(
        r#"{{"kind": "group", "name": "{column}", "column": {{"atom": {atom}, "column": "{column}"}}}}"#
    )
}

fn times(left: &str, right: &str) -> String {
    format!("{left} * {right}")
}

fn query(atoms: &[&str], joins: &str, group_by: &str, outputs: &[String]) -> Query {
    let atoms: Vec<String> = atoms
        .iter()
        .enumerate()
        .map(|(id, atom)| match atom.split_once(' ') {
            None => format!(r#"{{"table": "{atom}", "alias": "{atom}{id}"}}"#),
            Some((table, filter)) => {
                format!(r#"{{"table": "{table}", "alias": "{table}{id}", "filter": "{filter}"}}"#)
            }
        })
        .collect();
    let text = format!(
        r#"{{"atoms": [{}], "joins": [{joins}], "group_by": [{group_by}], "outputs": [{}]}}"#,
        atoms.join(", "),
        outputs.join(", ")
    );
    Query::from_json(&text).unwrap()
}

fn having(mut query: Query, condition: &str) -> Query {
    query.having = Some(condition.parse().unwrap());
    query
}

/// Queries over r(a, b, x), s(b, c, t) and the static u(c, d), one of each shape.
pub fn all() -> Vec<Query> {
    let count = aggregate("n", "count", "null");
    let on_b = r#"[{"atom": 0, "column": "b"}, {"atom": 1, "column": "b"}]"#;
    let on_c = r#"[{"atom": 1, "column": "c"}, {"atom": 2, "column": "c"}]"#;
    let positive = "a > 0";
    let own_c = r#"\"1\".\"a\""#;
    vec![
        query(
            &["r", "s"],
            on_b,
            "",
            &[aggregate("total", "sum", &times(A, C)), count.clone()],
        ),
        query(
            &["r", "s"],
            on_b,
            r#"{"atom": 1, "column": "t"}"#,
            &[
                group(1, "t"),
                count.clone(),
                aggregate("x", "sum", X),
                aggregate("mean", "avg", A),
                aggregate("c", "count", C),
            ],
        ),
        query(
            &["r", "r"],
            on_b,
            "",
            &[count.clone(), aggregate("aa", "sum", &times(A, own_c))],
        ),
        query(
            &["r", "r", "s"],
            r#"[{"atom": 0, "column": "b"}, {"atom": 1, "column": "b"}, {"atom": 2, "column": "b"}]"#,
            r#"{"atom": 2, "column": "t"}"#,
            &[group(2, "t"), count.clone(), aggregate("a", "sum", A)],
        ),
        query(
            &[&format!("r {positive}")],
            "",
            r#"{"atom": 0, "column": "b"}"#,
            &[aggregate("a", "sum", A), group(0, "b"), count.clone()],
        ),
        query(
            &["r", "s", "u"],
            &format!("{on_b}, {on_c}"),
            r#"{"atom": 0, "column": "a"}, {"atom": 2, "column": "d"}"#,
            &[
                group(0, "a"),
                group(2, "d"),
                count.clone(),
                aggregate("xc", "sum", &times(X, C)),
            ],
        ),
        query(
            &["r", "u"],
            "",
            r#"{"atom": 1, "column": "d"}"#,
            &[group(1, "d"), aggregate("x", "sum", X), count.clone()],
        ),
        query(
            &["r", "s"],
            on_b,
            r#"{"atom": 0, "column": "a"}"#,
            &[
                group(0, "a"),
                aggregate("least", "min", X),
                aggregate("last", "max", T),
                aggregate("texts", "count_distinct", T),
                aggregate("own", "max", A),
                count.clone(),
            ],
        ),
        query(
            &["r", "s", "u"],
            &format!("{on_b}, {on_c}"),
            "",
            &[aggregate("first", "min", T), aggregate("c", "max", C), aggregate("d", "count_distinct", C)],
        ),
        having(
            query(
                &["r", "u"],
                "",
                r#"{"atom": 1, "column": "d"}"#,
                &[
                    group(1, "d"),
                    r#"{"kind": "expression", "name": "less", "value": "sum(\"0\".\"a\") - count(*)"}"#
                        .to_owned(),
                ],
            ),
            r#"max("0"."b") > 1"#,
        ),
    ]
}
