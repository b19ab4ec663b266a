//! A definition means the same query wherever it is bound, also once it was written down and read again.

use std::collections::BTreeMap;
use std::sync::Arc;

use ringview_core::{Error, Field, Result, Schema, Type};
use ringview_query::{Catalog, Exponents, Nulls, Query, Representation, TableInfo};
use ringview_sql::{Definition, Dialect, Named, Options, Parameter, Parameters};

use crate::catalog::definition;

fn again(definition: &Definition) -> Query {
    let environment = definition.environment().unwrap();
    let read = Definition::read(definition.text(), &environment).unwrap();
    assert_eq!(read.environment().unwrap(), environment);
    assert_eq!(
        Definition::query(definition.text(), &environment),
        read.bind()
    );
    read.bind().unwrap()
}

#[test]
fn what_was_written_down_is_what_was_bound() {
    let order = Named {
        name: "b".to_owned(),
        below: vec![Named {
            name: "r.a".to_owned(),
            below: Vec::new(),
        }],
    };
    let some = BTreeMap::from([("r".to_owned(), 0.1 + 0.2)]);
    let cases = [
        ("SELECT a FROM r", Options::default()),
        (
            "SELECT a, b FROM R ORDER BY a LIMIT 3",
            Options {
                dialect: Dialect::Postgres,
                ..Options::default()
            },
        ),
        (
            "SELECT r.a, c FROM r JOIN s USING (b)",
            Options {
                representation: Some(Representation::Listing),
                ..Options::default()
            },
        ),
        (
            "SELECT r.a, SUM(x) AS x FROM r JOIN s USING (b) GROUP BY r.a",
            Options {
                order: Some(vec![order]),
                epsilon: Some(Exponents::Of(some)),
                only_joins: true,
                ..Options::default()
            },
        ),
        (
            "SELECT COFACTOR(a, x) FROM r",
            Options {
                nulls: Some(Nulls::Skip),
                ..Options::default()
            },
        ),
        (
            "SELECT a FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.b > r.b)",
            Options {
                in_blocks: true,
                ..Options::default()
            },
        ),
        ("SELECT a FROM r UNION ALL VALUES (1)", Options::default()),
        ("VALUES (1), (2)", Options::default()),
    ];
    for (text, options) in cases {
        let definition = definition(text, options).unwrap();
        assert_eq!(again(&definition), definition.bind().unwrap(), "{text}");
    }
}

#[test]
fn parameters_are_kept_to_the_last_bit() {
    let text = "SELECT a FROM r WHERE x > $1 AND x < $2 AND a > $3 AND x <> $4 AND d > $5";
    let positional = vec![
        Parameter::Float(0.1 + 0.2),
        Parameter::Float(f64::INFINITY),
        Parameter::Int(i128::from(u64::MAX) - 5),
        Parameter::Decimal("-0.10".to_owned()),
        Parameter::Date("2024-02-29".to_owned()),
    ];
    let parameters = Parameters {
        positional,
        named: BTreeMap::new(),
    };
    let options = Options {
        parameters,
        ..Options::default()
    };
    let definition = definition(text, options).unwrap();
    assert!(
        definition
            .environment()
            .unwrap()
            .contains("0.30000000000000004")
    );
    assert_eq!(again(&definition), definition.bind().unwrap());
    let named = Parameters {
        positional: Vec::new(),
        named: BTreeMap::from([
            ("n".to_owned(), Parameter::Null),
            ("t".to_owned(), Parameter::Text("o'clock".to_owned())),
            ("b".to_owned(), Parameter::Bool(true)),
        ]),
    };
    let options = Options {
        parameters: named,
        ..Options::default()
    };
    let text = "SELECT b FROM s WHERE c = $t AND ok = $b OR c = $n";
    let definition = self::definition(text, options).unwrap();
    assert_eq!(again(&definition), definition.bind().unwrap());
}

/// Tables with one column, which is called as the table is, and a value.
struct Plain;

impl Catalog for Plain {
    fn table(&self, name: &str) -> Result<TableInfo> {
        let fields = [name, "Total"].map(|name| Field::new(name, Type::Int64, true));
        Ok(TableInfo {
            schema: Arc::new(Schema::new(fields.to_vec())?),
            is_static: false,
            cancels: false,
            rows: None,
            unique: None,
            cofactors: Vec::new(),
        })
    }
}

#[test]
fn other_tables_change_nothing() {
    let text = "SELECT COUNT(*) AS TOTAL, SUM(q.q) AS Z FROM Q";
    let bound = |known: &[&str]| {
        let known: Vec<String> = known.iter().map(|&name| name.to_owned()).collect();
        Definition::new(text, Options::default(), &known, &Plain)
            .unwrap()
            .bind()
            .unwrap()
    };
    let alone = bound(&["q"]);
    assert_eq!(alone.atoms[0].table, "q");
    let names: Vec<&str> = alone.outputs.iter().map(|output| output.name()).collect();
    assert_eq!(names, ["Total", "Z"]);
    assert_eq!(bound(&["a", "z", "q", "total"]), alone);
    // One of that very name is another table.
    assert_eq!(bound(&["q", "Q"]).atoms[0].table, "Q");
}

#[test]
fn all_tables_are_told_where_one_is_missing() {
    let known = ["q".to_owned(), "orders".to_owned()];
    let definition = Definition::new("SELECT 1 FROM order_s", Options::default(), &known, &Plain);
    let problem = definition.unwrap().bind().unwrap_err().to_string();
    assert!(
        problem.contains("known: orders, q; did you mean \"orders\"?"),
        "{problem}"
    );
}

#[test]
fn what_has_no_place_in_a_query_is_refused() {
    let factorised = Options {
        representation: Some(Representation::Factorised),
        ..Options::default()
    };
    let skipped = Options {
        nulls: Some(Nulls::Skip),
        ..Options::default()
    };
    for (options, words) in [(factorised, "rows of a join"), (skipped, "COFACTOR")] {
        let definition = definition("SELECT SUM(a) AS a FROM r", options).unwrap();
        let problem = definition.bind().unwrap_err().to_string();
        assert!(problem.contains(words), "{problem}");
    }
}

#[test]
fn the_form_in_blocks_comes_second() {
    let text = "SELECT COUNT(*) AS n FROM r WHERE a > (SELECT SUM(s.b) FROM s WHERE s.b = r.b)";
    let standing = definition(text, Options::default()).unwrap();
    let query = standing.bind().unwrap();
    assert!(query.condition.is_some());
    let unsupported = || Error::Unsupported {
        what: "it".to_owned(),
        why: "so".to_owned(),
        instead: "that".to_owned(),
    };
    let mut asked = Vec::new();
    let blocks = standing.clone().first_accepted(|definition, query| {
        asked.push(query.clone());
        match query.condition {
            Some(_) => Err(unsupported()),
            None => Ok(definition.clone()),
        }
    });
    assert_eq!(asked.len(), 2);
    assert_eq!(again(&blocks.unwrap()), asked[1]);
    // If neither is kept, the first refusal is returned; other errors are returned at once.
    let mut calls = 0;
    let refused = standing.clone().first_accepted(|_, query| {
        calls += 1;
        match query.condition {
            Some(_) => Err::<(), _>(unsupported()),
            None => Err(Error::Interrupted),
        }
    });
    assert_eq!((refused, calls), (Err(Error::Interrupted), 2));
    let failed = standing.first_accepted(|_, _| {
        calls += 1;
        Err::<(), _>(Error::Interrupted)
    });
    assert_eq!((failed, calls), (Err(Error::Interrupted), 3));
}

#[test]
fn what_was_not_written_down_is_not_read() {
    let definition = definition("SELECT a FROM r", Options::default()).unwrap();
    let environment = definition.environment().unwrap();
    let more = environment.replacen('{', r#"{"more": 1, "#, 1);
    for wrong in ["", "{}", "[]", &environment[1..], &more] {
        let read = Definition::read(definition.text(), wrong);
        assert!(matches!(read, Err(Error::Value { .. })), "{wrong}");
    }
}

#[test]
fn an_order_of_any_depth_is_read_again() {
    let named = |name: &str, below: Vec<Named>| Named {
        name: name.to_owned(),
        below,
    };
    let chain = (0..500).fold(Vec::new(), |below, at| {
        vec![named(&format!("c{at}"), below)]
    });
    let tree = vec![
        named(
            "a",
            vec![named("b", vec![named("c", vec![])]), named("d", chain)],
        ),
        named("e", vec![]),
    ];
    let written = serde_json::to_string(&tree).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Named>>(&written).unwrap(), tree);
}

/// Computes nothing.
#[derive(Debug)]
struct Nothing;

impl ringview_expr::Compute for Nothing {
    fn compute(
        &self,
        _arguments: &[arrow_array::ArrayRef],
    ) -> std::result::Result<arrow_array::ArrayRef, ringview_expr::Failure> {
        Err(ringview_expr::Failure::Interrupted)
    }
}

fn functions() -> Vec<Arc<ringview_expr::UserFunction>> {
    let function = |name: &str, kind| {
        let signature = ringview_expr::Signature {
            name: name.to_owned(),
            kind,
            takes: vec![Type::Int64],
            returns: Type::Int64,
            nulls: ringview_expr::Nulls::default(),
        };
        ringview_expr::UserFunction::new(signature, Arc::new(Nothing))
    };
    vec![
        function("Twice", ringview_expr::Kind::Scalar),
        function("spread", ringview_expr::Kind::Aggregate),
        function("unused", ringview_expr::Kind::Scalar),
    ]
}

#[test]
fn functions_of_the_user_are_written_down_by_what_they_take() {
    let given = functions();
    let options = || Options {
        functions: given.clone(),
        ..Options::default()
    };
    for text in [
        "SELECT twice(a) AS a FROM r WHERE TWICE(b) > 3",
        "SELECT twice(a) AS a, spread(b) AS s, COUNT(*) AS n FROM r GROUP BY twice(a)",
        "SELECT spread(b + 1) AS s FROM r GROUP BY ALL",
        "SELECT twice(a) AS a, spread(b) AS s FROM r GROUP BY ALL",
        "SELECT r.a FROM r JOIN s ON twice(r.b) = s.b",
        "SELECT a, SUM(twice(b)) AS s FROM r GROUP BY a HAVING twice(SUM(b)) > 2",
        "SELECT a, spread(b) OVER (PARTITION BY a) AS s FROM r",
        "SELECT spread(DISTINCT b ORDER BY a) FILTER (WHERE x > 1) AS s FROM r",
        "SELECT CASE WHEN twice(a) > 1 THEN -twice(-a) ELSE twice(twice(a)) END AS a FROM r",
    ] {
        let made = definition(text, options()).unwrap();
        let names: Vec<&str> = made.functions().iter().map(|one| &*one.name).collect();
        assert_eq!(
            names.contains(&"Twice"),
            text.to_lowercase().contains("twice("),
            "{text}"
        );
        assert_eq!(
            names.contains(&"spread"),
            text.contains("spread("),
            "{text}"
        );
        let environment = made.environment().unwrap();
        let find = |of: &[Arc<ringview_expr::UserFunction>], signature: &_| {
            let mut all = of.iter();
            Arc::clone(all.find(|one| one.signature() == signature).unwrap())
        };
        let read = || Definition::read(text, &environment).unwrap();
        let again = read().with_functions(|one| Ok(find(&given, one))).unwrap();
        let bound = made
            .bind()
            .unwrap_or_else(|problem| panic!("{text}: {problem}"));
        assert_eq!(again.bind().unwrap(), bound, "{text}");
        // Others of the same names are others.
        let others = functions();
        let other = read().with_functions(|one| Ok(find(&others, one))).unwrap();
        assert_ne!(other.bind().unwrap(), bound, "{text}");
        // Without them the text is not taken.
        let problem = Definition::query(text, &environment)
            .unwrap_err()
            .to_string();
        assert!(problem.contains("no function"), "{problem}");
    }
}

#[test]
fn functions_of_the_user_take_what_they_are_declared_to() {
    let options = || Options {
        functions: functions(),
        ..Options::default()
    };
    let refused = |text: &str| {
        let bound = definition(text, options()).and_then(|made| made.bind());
        bound.unwrap_err().to_string()
    };
    let message = refused("SELECT twice(c) AS c FROM s");
    assert!(
        message.contains("argument 1 of \"twice\": expected int64, found string"),
        "{message}"
    );
    assert!(message.contains("line 1, column 8"), "{message}");
    let message = refused("SELECT twice(a, b) AS c FROM r");
    assert!(
        message.contains("the arguments of \"twice\": expected int64, found int64, int64"),
        "{message}"
    );
    let message = refused("SELECT spread(x) AS c FROM r");
    assert!(
        message.contains("argument 1 of \"spread\": expected int64, found float64"),
        "{message}"
    );
    // The name in texts of blocks is nobody's to write.
    let message = refused("SELECT twice$1(a) AS c FROM r");
    assert!(message.contains("no function"), "{message}");
}

#[test]
fn names_of_sql_are_not_declared() {
    for name in [
        "upper",
        "SUM",
        "lag",
        "now",
        "cofactor",
        "grouping",
        "list",
        "round_even",
    ] {
        let problem = ringview_sql::check_function_name(name).unwrap_err();
        assert!(matches!(problem, Error::Exists { .. }), "{name}: {problem}");
    }
    for name in ["distinct", "exists", "not"] {
        let problem = ringview_sql::check_function_name(name).unwrap_err();
        assert!(matches!(problem, Error::Value { .. }), "{name}: {problem}");
    }
    assert_eq!(ringview_sql::check_function_name("slug"), Ok(()));
}
