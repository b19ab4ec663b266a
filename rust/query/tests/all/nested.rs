//! Conditions that compare across atoms and with queries within: what they are bound to, what is
//! refused.

use std::sync::Arc;

use ringview_core::{Error, Field, Result, Schema, TimeUnit, Type};
use ringview_oracle::write::{
    all, any, binary, column, compare, is_null, joined, not, query as query_of, subquery, text,
};
use ringview_query::nested::{Aggregate, Block, Column, Condition, Quantity, Value};
use ringview_query::{Bound, Catalog, Comparison, Query, TableInfo, bind};
use serde_json::{Value as Json, json};

/// Every table has the same columns.
struct TestCatalog;

impl Catalog for TestCatalog {
    fn table(&self, _name: &str) -> Result<TableInfo> {
        let unit = TimeUnit::Microsecond;
        let fields = vec![
            Field::new("price", Type::Int64, false),
            Field::new("volume", Type::Int64, true),
            Field::new("name", Type::Utf8, true),
            Field::new("day", Type::Date32, false),
            Field::new(
                "at",
                Type::Timestamp {
                    unit,
                    timezone: None,
                },
                false,
            ),
            Field::new("f", Type::Float32, false),
            Field::new(
                "d",
                Type::Decimal {
                    precision: 10,
                    scale: 2,
                },
                false,
            ),
        ];
        Ok(TableInfo {
            schema: Arc::new(Schema::new(fields)?),
            is_static: false,
            cancels: false,
            rows: None,
            unique: None,
            cofactors: Vec::new(),
        })
    }
}

const PRICE: usize = 0;
const VOLUME: usize = 1;

fn sum(name: &str) -> Json {
    json!({"kind": "aggregate", "name": "s", "function": "sum",
        "argument": column(0, 0, name)})
}

/// A query over one atom or some, as JSON.
fn select(atoms: &[&str], output: &Json, condition: Option<&Json>) -> Json {
    let atom = |table: &&str| json!({"table": table, "alias": table});
    let atoms: Vec<Json> = atoms.iter().map(atom).collect();
    let mut query = json!({"atoms": atoms, "outputs": [output]});
    if let Some(condition) = condition {
        query["condition"] = condition.clone();
    }
    query
}

fn bound(query: &Json) -> Result<Bound> {
    let query = query_of(query);
    assert_eq!(Query::from_json(&query.to_json()?)?, query);
    bind(&query, &TestCatalog)
}

/// The bound form of a condition on bids.
fn condition(condition: &Json) -> Option<Condition> {
    let bound = bound(&select(&["bids"], &sum("price"), Some(condition))).unwrap();
    bound.condition
}

fn refused(of: &Json) -> String {
    match bound(&select(&["bids"], &sum("price"), Some(of))) {
        Err(error) => error.to_string(),
        Ok(bound) => panic!("{:?}", bound.condition),
    }
}

fn own(depth: usize, column: usize) -> Column {
    Column {
        depth,
        relation: 0,
        column,
    }
}

fn int(depth: usize, column: usize) -> Value {
    Value::Column(own(depth, column))
}

fn number(value: i128) -> Value {
    Value::Constant(Quantity::int(value))
}

/// `SELECT SUM(volume) FROM bids WHERE price <= price of the query around`
fn below() -> Json {
    let correlated = compare(&column(0, 0, "price"), "le", &column(1, 0, "price"));
    subquery(&select(&["bids"], &sum("volume"), Some(&correlated)))
}

#[test]
fn vwap_is_bound_to_the_grammar_of_the_paper() {
    let total = subquery(&select(&["bids"], &sum("volume"), None));
    let part = binary(&text("0.75"), "*", &total);
    let outer = select(
        &["bids"],
        &sum("price"),
        Some(&compare(&part, "lt", &below())),
    );
    let bound = bound(&outer).unwrap();
    let one = |atom, condition| {
        let sum = Aggregate::Sum(int(0, VOLUME));
        Box::new(Block::new(vec![atom], condition, vec![sum]))
    };
    let correlated = Condition::Compare(int(0, PRICE), Comparison::Le, int(1, PRICE));
    let (units, scale) = (75, 2);
    let part = Value::Constant(Quantity::Exact { units, scale });
    let whole = Value::Block(one(1, Condition::And(Vec::new())));
    let expected = Condition::Compare(
        Value::Times(Box::new(part), Box::new(whole)),
        Comparison::Lt,
        Value::Block(one(2, correlated)),
    );
    assert_eq!(bound.condition, Some(expected));
    let columns: Vec<&[usize]> = bound.all_atoms().map(|atom| &atom.columns[..]).collect();
    assert_eq!(columns, [&[PRICE][..], &[VOLUME], &[PRICE, VOLUME]]);
    let query = query_of(&outer);
    assert_eq!(query.all_atoms().len(), 3);
}

#[test]
fn queries_within_are_numbered_in_order_and_see_all_around_them() {
    // The innermost compares with the outermost, two queries further out.
    let deepest = compare(&column(0, 0, "price"), "gt", &column(2, 0, "volume"));
    let deepest = subquery(&select(&["c", "d"], &sum("price"), Some(&deepest)));
    let middle = compare(&deepest, "eq", &column(0, 0, "price"));
    let middle = subquery(&select(&["b"], &sum("price"), Some(&middle)));
    let last = subquery(&select(&["e"], &sum("d"), None));
    let outer = all(&[
        compare(&middle, "lt", &text("3")),
        compare(&last, "gt", &column(0, 0, "price")),
    ]);
    let outer = select(&["a"], &sum("price"), Some(&outer));
    let bound = bound(&outer).unwrap();
    let tables: Vec<&str> = bound.all_atoms().map(|atom| atom.table.as_str()).collect();
    assert_eq!(tables, ["a", "b", "c", "d", "e"]);
    let query = query_of(&outer);
    let named: Vec<&str> = query
        .all_atoms()
        .iter()
        .map(|atom| atom.table.as_str())
        .collect();
    assert_eq!(named, tables);
    let columns: Vec<&[usize]> = bound.all_atoms().map(|atom| &atom.columns[..]).collect();
    assert_eq!(
        columns,
        [&[PRICE, VOLUME][..], &[PRICE], &[PRICE], &[], &[6]]
    );
    let mut free = Vec::new();
    let condition = bound.condition.unwrap();
    condition.blocks(&mut |query| {
        let mut own = Vec::new();
        query.free(&mut |column| own.push(column));
        free.push((query.relations.clone(), own));
    });
    assert_eq!(free, [(vec![1], vec![own(0, VOLUME)]), (vec![4], vec![])]);
}

#[test]
fn not_is_pushed_down_and_unknown_is_not_true() {
    let one = text("1");
    let price = compare(&below(), "lt", &one);
    let unknown = compare(&below(), "eq", &text("NULL"));
    let both = |op: &str, operands: &[&Json]| {
        let operands: Vec<Json> = operands.iter().map(|&one| one.clone()).collect();
        if op == "and" {
            all(&operands)
        } else {
            any(&operands)
        }
    };
    let Some(Condition::Compare(_, comparison, _)) = condition(&not(&price)) else {
        panic!()
    };
    assert_eq!(comparison, Comparison::Ge);
    assert_eq!(condition(&not(&not(&price))), condition(&price));
    let never = Some(Condition::Or(vec![]));
    assert_eq!(condition(&unknown), never);
    assert_eq!(condition(&not(&unknown)), never);
    // FALSE AND unknown is FALSE, so its opposite is TRUE where the comparison is not.
    assert_eq!(condition(&both("and", &[&price, &unknown])), never);
    assert_eq!(
        condition(&not(&both("and", &[&price, &unknown]))),
        condition(&not(&price))
    );
    assert_eq!(
        condition(&both("or", &[&price, &unknown])),
        condition(&price)
    );
    assert_eq!(condition(&not(&both("or", &[&price, &unknown]))), never);
    let yes = text("TRUE");
    assert_eq!(condition(&both("or", &[&yes, &price])), None);
    assert_eq!(condition(&not(&yes)), never);
    // x NOT IN (1, NULL) is never TRUE; x IN (1, NULL) is x = 1.
    let with_null = joined(&[&below()], |of| format!("({}) IN (1, NULL)", of[0]));
    assert_eq!(condition(&not(&with_null)), never);
    assert_eq!(
        condition(&with_null),
        condition(&compare(&below(), "eq", &one))
    );
    let is_null = is_null(&below());
    for (of, null) in [(is_null.clone(), true), (not(&is_null), false)] {
        let Some(Condition::IsNull(_, bound)) = condition(&of) else {
            panic!()
        };
        assert_eq!(bound, null);
    }
}

#[test]
fn what_is_never_null_is_not_asked() {
    let null = |name: &str| {
        any(&[
            is_null(&column(1, 0, name)),
            is_null(&column(0, 0, "price")),
        ])
    };
    let counted = |name: &str| {
        let count = json!({"kind": "aggregate", "name": "n", "function": "count"});
        let count = subquery(&select(&["b"], &count, Some(&null(name))));
        condition(&compare(&count, "gt", &text("0")))
    };
    assert_eq!(counted("price"), Some(Condition::Or(vec![])));
    assert!(matches!(counted("volume"), Some(Condition::Compare(..))));
}

#[test]
fn what_one_row_tells_is_a_filter_or_stays_beside_an_or() {
    let cheap = compare(&column(0, 0, "price"), "lt", &text("5"));
    let like = joined(&[&column(0, 0, "name")], |of| {
        format!("{} LIKE 'a%'", of[0])
    });
    let nested = compare(&below(), "lt", &text("1"));
    let and = all(&[cheap.clone(), nested.clone(), like.clone()]);
    let bound = bound(&select(&["bids"], &sum("price"), Some(&and))).unwrap();
    assert!(bound.atoms[0].filter.is_some());
    assert!(matches!(bound.condition, Some(Condition::Compare(..))));
    let or = any(&[like, nested]);
    let Some(Condition::Or(operands)) = condition(&or) else {
        panic!()
    };
    assert!(matches!(operands[0], Condition::Row(0, _)));
    assert_eq!(condition(&cheap), None);
    let inner = subquery(&select(&["s"], &sum("price"), Some(&cheap)));
    assert!(filters_within(&compare(&inner, "lt", &text("1"))));
}

/// Whether the first atom within has a filter of its own, and nothing else is left of the condition
/// there.
fn filters_within(of: &Json) -> bool {
    let bound = bound(&select(&["bids"], &sum("price"), Some(of))).unwrap();
    let mut left = false;
    bound.condition.unwrap().blocks(&mut |query| {
        left |= query.condition != Condition::And(vec![]);
    });
    bound.inner[0].filter.is_some() && !left
}

#[test]
fn both_sides_get_one_meaning() {
    let of = |left: &str, comparison: &str, right: &str| {
        let both = compare(&column(0, 0, left), comparison, &column(1, 0, right));
        let inner = subquery(&select(&["bids"], &sum("price"), Some(&both)));
        compare(&inner, "lt", &text("1"))
    };
    assert!(condition(&of("name", "eq", "name")).is_some());
    assert!(condition(&of("price", "lt", "d")).is_some());
    assert!(refused(&of("name", "lt", "name")).contains("order of their letters"));
    assert!(refused(&of("name", "eq", "price")).contains("two values of one type"));
    assert!(refused(&of("day", "eq", "price")).contains("two values of one type"));
    // Days beside microseconds are microseconds.
    let mut scaled = None;
    condition(&of("day", "lt", "at"))
        .unwrap()
        .blocks(&mut |query| {
            if let Condition::Compare(left, ..) = &query.condition {
                scaled = Some(left.clone());
            }
        });
    let ticks = Value::Times(Box::new(int(0, 3)), Box::new(number(86_400_000_000)));
    assert_eq!(scaled, Some(ticks));
    // A constant beside a float32 is one; text becomes what it is compared with.
    let least = json!({"kind": "aggregate", "name": "m", "function": "min",
        "argument": column(0, 0, "f")});
    let least = subquery(&select(&["bids"], &least, None));
    let right = |of: &Json| match condition(of) {
        Some(Condition::Compare(_, _, right)) => right,
        other => panic!("{other:?}"),
    };
    let single = Value::Constant(Quantity::Real(f64::from(0.1f32)));
    let tenth = text("0.1");
    assert_eq!(right(&compare(&least, "eq", &tenth)), single);
    let day = json!({"kind": "aggregate", "name": "m", "function": "max",
        "argument": column(0, 0, "day")});
    let day = subquery(&select(&["bids"], &day, None));
    let quoted = text("'1970-01-03'");
    assert_eq!(right(&compare(&day, "eq", &quoted)), number(2));
    assert!(refused(&compare(&day, "eq", &text("2"))).contains("a date"));
}

#[test]
fn a_constant_of_another_form_makes_another_aggregate() {
    let sums = "SUM(\"0\".\"price\" * 1) + SUM(\"0\".\"price\" * 1e0) + SUM(\"0\".\"price\" * 1)";
    let output = json!({"kind": "expression", "name": "e", "value": sums});
    let query = subquery(&select(&["b"], &output, None));
    let bound = condition(&compare(&query, "gt", &text("0"))).unwrap();
    let mut aggregates = Vec::new();
    bound.blocks(&mut |block| aggregates.push(block.aggregates.len()));
    assert_eq!(aggregates, [2]);
}

#[test]
fn what_is_no_single_value_is_refused() {
    let with = |query: &Json| refused(&compare(&subquery(query), "eq", &text("1")));
    let group = json!({"kind": "group", "name": "p", "column": {"atom": 0, "column": "price"}});
    let mut rows = select(&["b"], &group, None);
    rows["group_by"] = json!([{"atom": 0, "column": "price"}]);
    assert!(with(&rows).contains("GROUP BY in a subquery"));
    rows["group_by"] = json!([]);
    rows["bag"] = json!({});
    assert!(with(&rows).contains("it may have several rows"));
    let constant = json!({"kind": "expression", "name": "c", "value": "1"});
    assert!(with(&select(&["b"], &constant, None)).contains("it may have several rows"));
    let mut two = select(&["b"], &sum("price"), None);
    let mut second = sum("volume");
    second["name"] = json!("t");
    two["outputs"].as_array_mut().unwrap().push(second);
    assert!(with(&two).contains("a subquery for each"));
    let mut having = select(&["b"], &sum("price"), None);
    having["having"] = json!("TRUE");
    assert!(with(&having).contains("HAVING in a subquery"));
    let function = |name: &str, column: &str| {
        let mut output = sum(column);
        output["function"] = json!(name);
        with(&select(&["b"], &output, None))
    };
    assert!(function("var_pop", "price").contains("know SUM, COUNT, AVG, MIN and MAX"));
    assert!(function("min", "name").contains("MIN or MAX of strings"));
    assert!(function("sum", "name").contains("a number"));
    assert!(refused(&compare(&column(1, 0, "price"), "eq", &below())).contains("so far out"));
    assert!(refused(&compare(&column(0, 4, "price"), "eq", &below())).contains("of atom 4"));
    let far = compare(&column(1, 0, "name"), "eq", &text("'x'"));
    assert!(with(&select(&["b"], &sum("price"), Some(&far))).contains("whose column it is"));
}

#[test]
fn values_beside_and_rows_are_chosen_by_the_condition_too() {
    let nested = compare(&below(), "lt", &text("1"));
    let mut least = sum("volume");
    least["function"] = json!("min");
    let view = bound(&select(&["bids"], &least, Some(&nested))).unwrap();
    let beside = &view.companions[0].plan;
    assert_eq!(beside.condition, view.condition);
    assert_eq!(beside.inner, view.inner);
    assert!(!view.as_table(None).unwrap().is_static);

    let group = json!({"kind": "group", "name": "p", "column": {"atom": 0, "column": "price"}});
    let mut rows = select(&["bids", "asks"], &group, Some(&nested));
    rows["group_by"] = json!([{"atom": 0, "column": "price"}]);
    rows["bag"] = json!({});
    let listing = bound(&rows).unwrap();
    assert_eq!(listing.bag, Some(ringview_query::Representation::Listing));
    rows["bag"] = json!({"representation": "factorised"});
    match bound(&rows) {
        Err(Error::Unsupported { why, .. }) => assert!(why.contains("factorise")),
        other => panic!("{other:?}"),
    }
}
