//! Names, types and constants: what is bound to what, and what is refused with which words.

use crate::plan::common::{
    Tables, aggregate, atom, col, columns, filtered, grouped, order, sum, times,
};
use ringview_core::Error;
use ringview_query::{Constant, Function, Kind, Op, OutputKind, Predicate, Query};
use ringview_viewtree::plan::Source;

fn tables() -> Tables {
    Tables::new(
        "T(i: int32, u: uint64, f: float64?, m: decimal<10; 2>, n: int64?, s: string, z: string?, \
           b: bool, d: date32, t: timestamp[ms], w: timestamp[us; tz=UTC]) \
         S(i: int64, m: decimal<6; 3>, r: float32, j: int64?, u: uint64)",
    )
}

fn filter(left: &str, comparison: &str, value: &str) -> Option<Predicate> {
    bound(&format!("{left} {comparison} {value}"))
}

fn one(filter: &str) -> Query {
    Query {
        blocks: Vec::new(),
        condition: None,
        subqueries: Vec::new(),
        atoms: vec![filtered("T", filter)],
        joins: Vec::new(),
        group_by: Vec::new(),
        outputs: vec![aggregate("n", Function::Count, None)],
        rows: None,
        bag: None,
        having: None,
        order: None,
        epsilon: None,
        is_chosen: false,
    }
}

fn bound(text: &str) -> Option<Predicate> {
    let plan = tables().plan(&one(text));
    plan.atoms[0].filter.clone()
}

fn constant(predicate: Option<Predicate>) -> (Kind, Constant) {
    match predicate {
        Some(Predicate::Compare { right, .. }) => match right.op {
            Op::Literal { value } => (right.kind, value),
            other => panic!("{other:?} is no constant"),
        },
        other => panic!("{other:?} is no comparison"),
    }
}

#[test]
fn constants_take_the_type_of_their_column() {
    let cases = [
        ("d <= '1970-01-11'", Kind::Int, Constant::Int(10)),
        ("t < '1970-01-01 00:00:02'", Kind::Int, Constant::Int(2_000)),
        (
            "w = DATE '1970-01-02'",
            Kind::Int,
            Constant::Int(86_400_000_000),
        ),
        ("m > 7", Kind::Decimal { scale: 2 }, Constant::Decimal(700)),
        (
            "m > 0.125",
            Kind::Decimal { scale: 3 },
            Constant::Decimal(125),
        ),
        (
            "u > '18446744073709551615'",
            Kind::Decimal { scale: 0 },
            Constant::Decimal(u64::MAX.into()),
        ),
        ("f <> 0.1", Kind::Real, Constant::Real(0.1)),
        ("b = 'true'", Kind::Int, Constant::Int(1)),
        // A millisecond column cannot hold a nanosecond: the column is scaled, nothing rounded.
        (
            "t < '1970-01-01 00:00:00.000001'",
            Kind::Decimal { scale: 0 },
            Constant::Decimal(1),
        ),
    ];
    for (text, kind, value) in cases {
        assert_eq!(constant(bound(text)), (kind, value), "{text}");
    }
}

#[test]
fn three_valued_constants_fold() {
    assert_eq!(bound("TRUE"), None);
    assert_eq!(
        filter("i", "=", "NULL"),
        Some(Predicate::Constant { value: None })
    );
    let null = |column: &str| bound(&format!("{column} IS NULL"));
    assert_eq!(null("i"), Some(Predicate::Constant { value: Some(false) }));
    assert_eq!(null("n"), Some(Predicate::IsNull { columns: vec![4] }));
    let mixed = bound("i IN (3, 1.5)");
    assert!(matches!(mixed, Some(Predicate::Or { operands }) if operands.len() == 2));
    let list = bound("NOT i IN (3, NULL, 1)");
    let Some(Predicate::Not { operand }) = list else {
        panic!("{list:?}")
    };
    assert!(matches!(*operand, Predicate::In { null: true, .. }));
}

#[test]
fn whole_conditions_are_asked_for_their_verdict() {
    for (text, wanted, opposite) in [
        ("(n > 1 OR i = 2) IS TRUE", Some(true), false),
        ("(n > 1) IS NOT TRUE", Some(true), true),
        ("(n > 1) IS FALSE", Some(false), false),
        ("(n > i) IS NOT FALSE", Some(false), true),
        ("(n > 1) IS UNKNOWN", None, false),
        ("(n > 1 AND i < 7) IS NULL", None, false),
        ("(NOT n IN (1, NULL)) IS NOT UNKNOWN", None, true),
        ("n IN (1, NULL) IS NOT NULL", None, true),
    ] {
        let found = match bound(text) {
            Some(Predicate::Not { operand }) if opposite => Some(*operand),
            found => found,
        };
        let is_it = matches!(&found, Some(Predicate::Is { value, .. }) if *value == wanted);
        assert!(is_it, "{text}: {found:?}");
    }
    // A condition that is never unknown folds to a constant.
    let never = Some(Predicate::Constant { value: Some(false) });
    assert_eq!(bound("(n IS NULL) IS UNKNOWN"), never);
    assert_eq!(bound("(n IS NULL) IS TRUE"), bound("n IS NULL"));
    assert_eq!(bound("(NULL > 1) IS UNKNOWN"), None);
}

#[test]
fn conditions_on_one_string_column_stay_expressions() {
    for text in [
        "s NOT IN ('x', NULL, 'a')",
        "s LIKE 'a%' OR s IS NULL",
        "CASE WHEN s = 'x' THEN TRUE ELSE s < 'b' END",
    ] {
        let found = bound(text);
        assert!(
            matches!(found, Some(Predicate::Text { column: 5, .. })),
            "{found:?}"
        );
    }
    // Words of equal strings are equal, and in no order.
    assert!(matches!(bound("s = z"), Some(Predicate::Compare { .. })));
    for refused in ["s < z", "CAST(s AS INT) > 3", "abs(i) > 3"] {
        let error = tables().refuse(&one(refused));
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    }
}

#[test]
fn comparisons_of_two_types_are_refused() {
    for (column, value) in [
        ("s", "1"),
        ("b", "1"),
        ("d", "1.5e0"),
        ("i", "DATE '1970-01-01'"),
        ("d", "'yesterday'"),
        ("i", "'one'"),
    ] {
        let error = tables().refuse(&one(&format!("{column} = {value}")));
        assert!(
            matches!(error, Error::Type { .. } | Error::Value { .. }),
            "{column}: {error}"
        );
    }
}

#[test]
fn products_over_atoms_are_expanded_only_across_them() {
    let tables = Tables::new("R(a, b, c?) S(a, d)");
    let mut query = tables.natural(&["R", "S"]);
    let add = |left: String, right: String| format!("{left} + {right}");
    // (b + c) * (d + b): within R all is one factor, so two terms.
    query.outputs = vec![sum(times(
        add(col("0.b"), col("0.c")),
        add(col("1.d"), col("0.b")),
    ))];
    let plan = tables.plan(&query);
    let OutputKind::Sum { terms, nonnull } = &plan.outputs[0].kind else {
        panic!("a sum");
    };
    assert_eq!((terms.len(), *nonnull), (2, 1));
    let leaf = plan
        .tree
        .nodes
        .iter()
        .position(|n| n.atom == Some(0))
        .unwrap();
    for component in &plan.payload.nodes[leaf][1..] {
        let Source::Leaf(factor) = &component.source else {
            panic!("a leaf")
        };
        assert_eq!(factor.not_null, [2], "NULL + x is NULL in every term");
    }
}

#[test]
fn a_join_variable_is_lifted_in_one_relation() {
    let tables = Tables::new("I(k, units) J(k, p)");
    let mut query = tables.natural(&["I", "J"]);
    query.outputs = vec![
        aggregate("x", Function::Sum, Some(times(col("0.k"), col("0.units")))),
        aggregate("y", Function::Sum, Some(col("0.units"))),
    ];
    let plan = tables.plan(&query);
    let components = |atom| {
        let mut nodes = plan.tree.nodes.iter();
        let leaf = nodes.position(|n| n.atom == Some(atom)).unwrap();
        plan.payload.nodes[leaf].len()
    };
    assert_eq!(components(0), 3, "count, units, k * units");
    assert_eq!(components(1), 1, "count");
    assert_eq!(plan.payload.nodes[plan.tree.root].len(), 3);
}

#[test]
fn kinds_follow_sql() {
    let tables = tables();
    let base = || {
        let mut query = tables.natural(&["T", "S"]);
        query.joins = vec![columns("0.i 1.i")];
        query
    };
    for (argument, ty) in [
        (col("0.i"), "decimal128(38, 0)"),
        (col("0.m"), "decimal128(38, 2)"),
        (times(col("0.m"), col("1.m")), "decimal128(38, 5)"),
        (times(col("0.m"), col("0.i")), "decimal128(38, 2)"),
        (times(col("0.m"), col("1.r")), "float64"),
        (col("0.f"), "float64"),
    ] {
        let mut query = base();
        query.outputs = vec![sum(argument)];
        let plan = tables.plan(&query);
        assert_eq!(plan.outputs[0].ty, ty.parse().unwrap());
    }
    let mut mixed = base();
    mixed.outputs = vec![sum(format!(
        "{} - {}",
        col("0.m"),
        times(col("1.j"), col("0.i"))
    ))];
    // Both terms at scale 2, the second with -1 folded into a factor.
    let plan = tables.plan(&mixed);
    assert_eq!(plan.outputs[0].ty, "decimal128(38, 2)".parse().unwrap());
    let mut dates = base();
    dates.outputs = vec![sum(col("0.d"))];
    assert!(matches!(tables.refuse(&dates), Error::Type { .. }));
    let mut texts = base();
    texts.outputs = vec![aggregate("n", Function::Count, Some(col("0.z")))];
    assert!(matches!(
        tables.plan(&texts).outputs[0].kind,
        OutputKind::Count { term: 1 }
    ));
}

#[test]
fn join_types() {
    let tables = tables();
    let join = |text: &str| {
        let mut query = tables.natural(&["T", "S"]);
        query.joins = vec![columns(text)];
        query
    };
    let plan = tables.plan(&join("0.i 1.i"));
    assert_eq!(plan.variables[0].ty, "int64".parse().unwrap());
    let plan = tables.plan(&join("0.n 1.j"));
    assert_eq!(plan.atoms[0].join_columns_not_null, [4]);
    assert_eq!(plan.atoms[1].join_columns_not_null, [3]);
    assert!(!plan.variables[0].nullable);
    for refused in ["0.i 1.u", "0.m 1.m", "0.f 1.r", "0.s 1.i"] {
        let error = tables.refuse(&join(refused));
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    }
    // Within one atom an equality is a filter, and no variable.
    let plan = tables.plan(&join("0.i 0.n"));
    assert!(plan.variables.is_empty() && plan.atoms[0].filter.is_some());
    let plan = tables.plan(&grouped(join("0.s 0.z"), "0.z"));
    assert_eq!(plan.variables[0].columns, [(0, 5)]);
    assert_eq!(plan.atoms[0].join_columns_not_null, [6]);
}

#[test]
fn names_are_checked() {
    let tables = tables();
    let base = tables.natural(&["T"]);
    let with = |change: &dyn Fn(&mut Query)| {
        let mut query = base.clone();
        change(&mut query);
        tables.refuse(&query).to_string()
    };
    assert!(with(&|q| q.atoms[0].table = "X".into()).contains("known tables: S, T"));
    assert!(with(&|q| q.group_by = columns("0.x")).contains("no column \"x\" in table \"T\""));
    assert!(with(&|q| q.group_by = columns("3.i")).contains("there are 1 atoms"));
    assert!(
        with(&|q| q.outputs.push(crate::plan::common::group("0.i"))).contains("neither grouped by")
    );
    assert!(with(&|q| q.outputs.clear()).contains("no outputs"));
    assert!(with(&|q| q.atoms.clear()).contains("no table"));
    assert!(with(&|q| q.atoms.push(atom("T"))).contains("alias"));
    assert!(with(&|q| q.outputs.push(q.outputs[0].clone())).contains("exists already"));
    assert!(with(&|q| q.outputs = vec![sum("NULL".to_owned())]).contains("NULL for every row"));
    assert!(with(&|q| q.outputs = vec![sum(col("7.i"))]).contains("atom 7"));
    assert!(Query::from_json("{}").is_err());
    let beyond = filtered("T", r#""1"."i" IS NULL"#);
    assert!(with(&|q| q.atoms = vec![beyond.clone()]).contains("reads another table"));
}

#[test]
fn given_orders_are_checked() {
    let tables = Tables::new("R(A, B) S(A, C, E) T(C, D)");
    let query = tables.natural(&["R", "S", "T"]);
    let with = |text: &str| {
        let mut query = query.clone();
        query.order = Some(order(&tables, &query, text));
        query
    };
    tables.plan(&with("C(A)"));
    tables.plan(&with("C(D A(E B))"));
    for (text, why) in [
        ("A C", "\"S\" has both \"A\" and \"C\""),
        ("A", "does not place \"C\""),
        ("A(C(A))", "places \"A\" twice"),
    ] {
        let error = tables.refuse(&with(text)).to_string();
        assert!(error.contains(why), "{error}");
    }
}
