//! The views of the tests.

use ringview_query::Query;

const A: &str = r#"{"op": "column", "atom": 0, "column": "a"}"#;
const X: &str = r#"{"op": "column", "atom": 0, "column": "x"}"#;
const T: &str = r#"{"op": "column", "atom": 1, "column": "t"}"#;
const C: &str = r#"{"op": "column", "atom": 1, "column": "c"}"#;

fn aggregate(name: &str, function: &str, argument: &str) -> String {
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
    format!(r#"{{"op": "multiply", "left": {left}, "right": {right}}}"#)
}

fn query(atoms: &[&str], joins: &str, group_by: &str, outputs: &[String]) -> Query {
    let atoms: Vec<String> = atoms
        .iter()
        .enumerate()
        .map(|(id, atom)| match atom.split_once(' ') {
            None => format!(r#"{{"table": "{atom}", "alias": "{atom}{id}"}}"#),
            Some((table, filter)) => {
                format!(r#"{{"table": "{table}", "alias": "{table}{id}", "filter": {filter}}}"#)
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
    query.having = Some(serde_json::from_str(condition).unwrap());
    query
}

/// Queries over r(a, b, x), s(b, c, t) and the static u(c, d), one of each shape.
pub fn all() -> Vec<Query> {
    let count = aggregate("n", "count", "null");
    let on_b = r#"[{"atom": 0, "column": "b"}, {"atom": 1, "column": "b"}]"#;
    let on_c = r#"[{"atom": 1, "column": "c"}, {"atom": 2, "column": "c"}]"#;
    let positive = format!(
        r#"{{"op": "compare", "comparison": "gt", "left": {A},
            "right": {{"op": "literal", "value": {{"type": "int", "value": 0}}}}}}"#
    );
    let own_c = r#"{"op": "column", "atom": 1, "column": "a"}"#;
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
                    r#"{"kind": "expression", "name": "less", "value": {"op": "subtract",
                        "left": {"op": "aggregate", "function": "sum", "arguments": [{"op": "column", "atom": 0, "column": "a"}]},
                        "right": {"op": "aggregate", "function": "count", "arguments": []}}}"#
                        .to_owned(),
                ],
            ),
            r#"{"op": "compare", "comparison": "gt",
                "left": {"op": "aggregate", "function": "max", "arguments": [{"op": "column", "atom": 0, "column": "b"}]},
                "right": {"op": "literal", "value": {"type": "int", "value": 1}}}"#,
        ),
    ]
}
