//! Plans of TPC-H-like queries: filters, unique keys, exact arithmetic.

use crate::plan::common::{
    Tables, aggregate, atom, col, column, filtered, group, grouped, shown, times, views,
};
use ringview_core::Type;
use ringview_query::{Function, Kind, OutputKind, Query};
use ringview_viewtree::plan::{Plan, Source};

fn tables() -> Tables {
    let money = "decimal<12; 2>";
    let tables = Tables::new(&format!(
        "region(regionkey, name: string) nation(nationkey, regionkey, name: string) \
         customer(custkey, nationkey, name: string, mktsegment: string, acctbal: {money}) \
         supplier(suppkey, nationkey) \
         orders(orderkey, custkey, orderdate: date32, shippriority: int32) \
         lineitem(orderkey, suppkey, quantity: {money}, extendedprice: {money}, \
           discount: {money}, tax: {money}, returnflag: string, linestatus: string, \
           shipdate: date32)"
    ));
    ["region", "nation", "customer", "supplier", "orders"]
        .iter()
        .fold(tables, |tables, name| {
            tables.with(name, |table| table.unique = Some(vec![0]))
        })
}

fn one_minus(text: &str) -> String {
    format!("1 - {}", col(text))
}

fn revenue(atom: usize) -> String {
    times(
        col(&format!("{atom}.extendedprice")),
        one_minus(&format!("{atom}.discount")),
    )
}

fn query(
    atoms: Vec<ringview_query::Atom>,
    joins: &[&str],
    outputs: Vec<ringview_query::Output>,
) -> Query {
    Query {
        blocks: Vec::new(),
        condition: None,
        subqueries: Vec::new(),
        atoms,
        joins: joins
            .iter()
            .map(|join| crate::plan::common::columns(join))
            .collect(),
        group_by: Vec::new(),
        outputs,
        rows: None,
        bag: None,
        having: None,
        order: None,
        epsilon: None,
        is_chosen: false,
    }
}

fn costs(plan: &Plan) -> Vec<String> {
    (0..plan.atoms.len())
        .map(|atom| plan.update_cost(atom))
        .collect()
}

#[test]
fn q1_is_one_leaf() {
    let shipped = "shipdate <= '1998-09-02'";
    let outputs = vec![
        aggregate("sum_qty", Function::Sum, Some(col("0.quantity"))),
        aggregate("sum_disc_price", Function::Sum, Some(revenue(0))),
        aggregate("avg_qty", Function::Avg, Some(col("0.quantity"))),
        aggregate("count_order", Function::Count, None),
    ];
    let query = query(vec![filtered("lineitem", shipped)], &[], outputs);
    let plan = tables().plan(&grouped(query, "0.returnflag 0.linestatus"));
    assert_eq!(views(&plan, |_| true), ["lineitem[returnflag, linestatus]"]);
    assert_eq!(costs(&plan), ["O(1)"]);
    assert!(plan.class.q_hierarchical);
    // count, quantity, price * (1 - discount): AVG shares the sum.
    let kinds: Vec<Kind> = plan.payload.nodes[0].iter().map(|c| c.kind).collect();
    assert_eq!(
        kinds,
        [
            Kind::Int,
            Kind::Decimal { scale: 2 },
            Kind::Decimal { scale: 4 }
        ]
    );
    assert_eq!(plan.atoms[0].columns, [2, 3, 4, 6, 7, 8]);
    let types: Vec<String> = plan.outputs.iter().map(|o| o.ty.to_string()).collect();
    assert_eq!(
        types,
        [
            "string",
            "string",
            "decimal128(38, 2)",
            "decimal128(38, 4)",
            "double",
            "int64"
        ]
        .map(|ty| ty.parse::<Type>().unwrap().to_string())
    );
    assert_eq!(
        plan.outputs[4].kind,
        OutputKind::Avg {
            terms: vec![1],
            nonnull: 0
        }
    );
    assert_eq!(plan.payload.terms[..2], [0, 1]);
}

#[test]
fn q3_changes_one_order_in_constant_time() {
    let building = "mktsegment = 'BUILDING'";
    let outputs = vec![aggregate("revenue", Function::Sum, Some(revenue(2)))];
    let query = query(
        vec![
            filtered("customer", building),
            atom("orders"),
            atom("lineitem"),
        ],
        &["0.custkey 1.custkey", "1.orderkey 2.orderkey"],
        outputs,
    );
    let plan = tables().plan(&grouped(query, "2.orderkey 1.orderdate 1.shippriority"));
    assert_eq!(plan.tree.nodes.len(), 5);
    let costs = costs(&plan);
    // An order has one customer: its key is unique.
    assert_eq!(costs[1], "O(1)");
    assert_eq!(costs[2], "O(1)");
    assert!(costs[0].contains("group of (custkey)"), "{costs:?}");
    assert_eq!(plan.class.width, 1.0);
    assert!(plan.class.free_connex);
    // SQL requires the type of the named column.
    assert_eq!(plan.outputs[2].ty, Type::Int32);
}

#[test]
fn q5_joins_two_keys_at_once() {
    let outputs = vec![aggregate("revenue", Function::Sum, Some(revenue(2)))];
    let mut query = query(
        [
            "customer", "orders", "lineitem", "supplier", "nation", "region",
        ]
        .map(atom)
        .into(),
        &[
            "0.custkey 1.custkey",
            "2.orderkey 1.orderkey",
            "2.suppkey 3.suppkey",
            "0.nationkey 3.nationkey",
            "3.nationkey 4.nationkey",
            "4.regionkey 5.regionkey",
        ],
        outputs,
    );
    query = grouped(query, "4.name");
    let tables = tables().with("lineitem", |t| t.rows = Some(6_000_000));
    let tables = tables.fixed(&["region", "nation"]);
    let plan = tables.plan(&query);
    assert!(!plan.class.acyclic);
    let costs = costs(&plan);
    assert_eq!(costs[2], "O(1)", "{}", plan.explain());
    assert_eq!(costs[4], "static: never changes");
    let leaf = plan
        .tree
        .nodes
        .iter()
        .position(|n| n.atom == Some(2))
        .unwrap();
    assert_eq!(plan.payload.nodes[leaf].len(), 2);
}

#[test]
fn q10_groups_by_what_determines_itself() {
    let returned = "returnflag IN ('R')";
    let outputs = vec![aggregate("revenue", Function::Sum, Some(revenue(2)))];
    let query = query(
        vec![
            atom("customer"),
            atom("orders"),
            filtered("lineitem", returned),
            atom("nation"),
        ],
        &[
            "0.custkey 1.custkey",
            "2.orderkey 1.orderkey",
            "0.nationkey 3.nationkey",
        ],
        outputs,
    );
    let plan = tables().plan(&grouped(query, "0.custkey 0.name 0.acctbal 3.name"));
    assert_eq!(
        shown(&plan),
        "custkey(nationkey(customer.name(acctbal) nation.name) orderkey)"
    );
    let costs = costs(&plan);
    assert_eq!(&costs[..3], ["O(1)", "O(1)", "O(1)"]);
    assert!(costs[3].starts_with("O(group of (nationkey)"), "{costs:?}");
    assert_eq!(plan.tree.nodes[plan.tree.root].keys.len(), 4);
}

#[test]
fn self_joins_have_a_leaf_each() {
    let tables = Tables::new("edges(src, dst)");
    let named = |alias: &str| ringview_query::Atom {
        alias: alias.to_owned(),
        ..atom("edges")
    };
    let count = vec![aggregate("n", Function::Count, None)];
    let mut query = query(
        vec![named("a"), named("b"), named("c")],
        &["0.dst 1.src", "1.dst 2.src", "2.dst 0.src"],
        count,
    );
    let plan = tables.plan(&query);
    assert_eq!(plan.class.width, 1.5);
    let names: Vec<&str> = plan.variables.iter().map(|v| v.name.as_str()).collect();
    assert_eq!(names, ["src", "a.dst", "b.dst"]);
    query.joins.truncate(1);
    let plan = tables.plan(&grouped(query, "0.src"));
    assert_eq!(plan.tree.nodes[plan.tree.root].keys.len(), 1);
    // The third occurrence joins nothing: a product under a root without variables.
    let root = &plan.tree.nodes[plan.tree.root];
    assert!(root.variables.is_empty() && root.children.len() == 2);
}

#[test]
fn group_outputs_name_any_column_of_the_class() {
    let tables = tables();
    let count = vec![aggregate("n", Function::Count, None)];
    let mut query = query(
        vec![atom("customer"), atom("orders")],
        &["0.custkey 1.custkey"],
        count,
    );
    query.group_by = vec![column("0.custkey")];
    query.outputs.push(group("1.custkey"));
    let plan = tables.plan(&query);
    assert_eq!(plan.variables.len(), 1);
    let Source::Product { children, .. } = &plan.payload.nodes[plan.tree.root][0].source else {
        panic!("the root joins");
    };
    assert_eq!(children, &[0, 0]);
}
