//! Aggregates beyond sums, expressions over them and HAVING: types, what is shared, what is refused.

use crate::plan::common::{Tables, aggregate, col, column, grouped};
use ringview_core::{Error, Type};
use ringview_query::{Function, Kind, Nulls, Output, OutputKind, Query};
use ringview_viewtree::plan::Plan;

fn tables() -> Tables {
    Tables::new(
        "R(a: int32, x: int64?, p: decimal<10; 2>?, f: float64?, s: string?, d: date32?, \
           t: timestamp[ms]?) S(a: int64, y: int64?, u: uint64?)",
    )
}

fn query(groups: &str, outputs: Vec<Output>) -> Query {
    let mut query = grouped(tables().natural(&["R", "S"]), groups);
    query.outputs = outputs;
    query
}

fn of(function: &str, column: &str) -> String {
    format!("{function}({})", col(column))
}

fn both(op: &str, left: &str, right: &str) -> String {
    format!("({left}) {op} ({right})")
}

fn expression(text: &str) -> Query {
    let value = text.parse().unwrap();
    let name = "v".to_owned();
    query("0.a", vec![Output::Expression { name, value }])
}

fn plan(query: &Query) -> Plan {
    tables().plan(query)
}

fn decimal(scale: i8) -> Type {
    let precision = 38;
    Type::Decimal { precision, scale }
}

#[test]
fn expressions_have_the_types_of_sql() {
    let (x, p, f) = (of("sum", "0.x"), of("sum", "0.p"), of("sum", "0.f"));
    let group = &col("1.a");
    let distinct = |column: &str| format!("count(DISTINCT {})", col(column));
    let cases = [
        (both("/", &x, &x), Type::Float64),
        (both("+", &x, group), decimal(0)),
        (both("+", &distinct("0.t"), group), Type::Int64),
        (both("-", &x, &p), decimal(2)),
        (both("*", &p, &p), decimal(4)),
        (both("*", &x, "0.5"), decimal(1)),
        (both("+", &p, &f), Type::Float64),
        (
            format!("nullif({}, {})", of("min", "0.s"), of("max", "0.s")),
            Type::Utf8,
        ),
        (distinct("0.t"), Type::Int64),
        (of("max", "0.d"), Type::Date32),
        (format!("coalesce({x}, 0.5)"), decimal(1)),
        (both("+", &of("min", "1.u"), &x), decimal(0)),
        (
            format!("CASE WHEN {x} > 0 THEN 'more' ELSE 'less' END"),
            Type::Utf8,
        ),
    ];
    for (text, ty) in cases {
        assert_eq!(plan(&expression(&text)).outputs[0].ty, ty, "{text}");
    }
}

#[test]
fn equal_needs_are_kept_once() {
    let x = of("sum", "0.x");
    let twice = plan(&expression(&both("/", &x, &both("+", &x, &x))));
    assert_eq!(twice.measures.len(), 1);
    let extremes = [Function::Min, Function::Max, Function::CountDistinct]
        .map(|function| aggregate(&format!("{function:?}"), function, Some(col("0.x"))));
    let shared = plan(&query("0.a", extremes.to_vec()));
    assert_eq!(shared.companions.len(), 1);
    assert!(shared.companions[0].ordered);
    let counted = aggregate("n", Function::CountDistinct, Some(col("0.x")));
    assert!(!plan(&query("0.a", vec![counted])).companions[0].ordered);
}

#[test]
fn a_cofactor_stands_beside_sums_and_instead_of_counts() {
    let cofactor = Output::Cofactor {
        name: "c".to_owned(),
        columns: vec![column("0.x"), column("0.f")],
        categorical: Vec::new(),
        nulls: Nulls::Refuse,
    };
    let of = |others: Vec<Output>| plan(&query("0.a", [others, vec![cofactor.clone()]].concat()));
    let count = || aggregate("n", Function::Count, None);
    let alone = of(vec![
        count(),
        aggregate("k", Function::Count, Some(col("0.x"))),
    ]);
    // No row that counts has NULL in a feature.
    assert!(alone.cofactor.is_some() && alone.matrix.is_none());
    let company = of(vec![
        count(),
        aggregate("s", Function::Sum, Some(col("0.x"))),
    ]);
    let matrix = company.matrix.as_deref().unwrap();
    assert!(company.cofactor.is_none() && matrix.cofactor.is_some());
    assert_eq!(
        (&company.tree, &company.order),
        (&matrix.tree, &matrix.order)
    );
    assert_eq!(company.features(), matrix.cofactor.as_ref());
    assert_eq!(company.payload.nodes[company.tree.root].len(), 2);
    let mut second = cofactor.clone();
    if let Output::Cofactor { name, .. } = &mut second {
        *name = "d".to_owned();
    }
    let refused = tables().refuse(&query("0.a", vec![cofactor, second]));
    assert!(matches!(refused, Error::Unsupported { .. }), "{refused}");
}

#[test]
fn the_extremes_of_a_group_column_are_itself() {
    let least = aggregate("least", Function::Min, Some(col("1.a")));
    let plan = plan(&query("0.a", vec![least]));
    assert!(plan.companions.is_empty());
    assert_eq!(plan.outputs[0].ty, Type::Int64);
    assert!(matches!(plan.outputs[0].kind, OutputKind::Group { .. }));
}

#[test]
fn moments_of_integers_have_room_for_squares() {
    let variance = aggregate("v", Function::VarPop, Some(col("0.x")));
    let plan = plan(&query("0.a", vec![variance]));
    let OutputKind::Statistic { moments, .. } = &plan.outputs[0].kind else {
        panic!("{:?}", plan.outputs[0].kind)
    };
    let root = &plan.payload.nodes[plan.tree.root];
    let kind = |term: usize| root[plan.payload.terms[term]].kind;
    assert_eq!(kind(moments.x[0]), Kind::Int);
    assert_eq!(kind(moments.xx[0]), Kind::Decimal { scale: 0 });
    assert!(moments.y.is_empty() && moments.xy.is_empty() && moments.yy.is_empty());
}

#[test]
fn having_brings_both_sides_to_one_type() {
    let mut dated = query("0.a", vec![aggregate("n", Function::Count, None)]);
    dated.having = Some(
        both("<", &of("max", "0.d"), &of("min", "0.t"))
            .parse()
            .unwrap(),
    );
    let text = dated.to_json().unwrap();
    assert_eq!(Query::from_json(&text).unwrap(), dated);
    assert!(plan(&dated).results.unwrap().projection().has_filter());
    dated.having = Some(
        both("<", &of("max", "0.d"), &of("min", "0.s"))
            .parse()
            .unwrap(),
    );
    assert!(matches!(tables().refuse(&dated), Error::Value { .. }));
}

#[test]
fn what_does_not_fit_is_refused() {
    let refuse = |text: &str| tables().refuse(&expression(text));
    let mixed = both("+", &of("sum", "0.x"), &of("min", "0.s"));
    assert!(matches!(refuse(&mixed), Error::Value { .. }));
    let alone = col("0.x");
    assert!(matches!(refuse(&alone), Error::Unsupported { .. }));
    let one = of("corr", "0.x");
    assert!(matches!(refuse(&one), Error::Value { .. }));
}
