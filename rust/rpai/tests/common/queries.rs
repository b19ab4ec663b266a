//! The queries of the paper as plans, over `bids` (table 0) and `asks` (table 1) of (volume, price).

use ringview_core::Type;
use ringview_rpai::machine::{
    Aggregate, Block, Column, ColumnType, Comparison, Condition, Plan, Quantity, Value,
};

use Comparison::{Eq, Ge, Gt, Le, Lt};

pub const VOLUME: usize = 0;
pub const PRICE: usize = 1;

pub fn ints(columns: usize) -> Vec<ColumnType> {
    let column = ColumnType {
        ty: Type::Int64,
        nullable: false,
    };
    vec![column; columns]
}

/// A column of a relation, so many blocks further out.
pub fn column(depth: usize, relation: usize, column: usize) -> Value {
    Value::Column(Column {
        depth,
        relation,
        column,
    })
}

/// Units of ten thousandths.
pub fn decimal(units: i128) -> Value {
    Value::Constant(Quantity::Exact { units, scale: 4 })
}

pub fn times(a: Value, b: Value) -> Value {
    Value::Times(Box::new(a), Box::new(b))
}

pub fn minus(a: Value, b: Value) -> Value {
    Value::Minus(Box::new(a), Box::new(b))
}

pub fn compare(left: Value, how: Comparison, right: Value) -> Condition {
    Condition::Compare(left, how, right)
}

pub fn sum_where(table: usize, value: Value, all: Vec<Condition>) -> Value {
    let aggregates = vec![Aggregate::Sum(value)];
    Value::Block(Box::new(Block::new(
        vec![table],
        Condition::And(all),
        aggregates,
    )))
}

fn volumes(table: usize, all: Vec<Condition>) -> Value {
    sum_where(table, column(0, 0, VOLUME), all)
}

fn revenue(relation: usize) -> Value {
    times(column(0, relation, PRICE), column(0, relation, VOLUME))
}

/// The price of a block's own row against that of the row around it.
fn prices(how: Comparison) -> Condition {
    compare(column(0, 0, PRICE), how, column(1, 0, PRICE))
}

fn one(table: usize, value: Value, condition: Condition) -> Block {
    Block::new(
        vec![table],
        Condition::And(vec![condition]),
        vec![Aggregate::Sum(value)],
    )
}

/// Example 2.1.
pub fn equality() -> Block {
    let half = times(decimal(5_000), volumes(0, vec![]));
    one(
        0,
        revenue(0),
        compare(half, Eq, volumes(0, vec![prices(Eq)])),
    )
}

/// Example 2.2.
pub fn vwap() -> Block {
    let share = times(decimal(7_500), volumes(0, vec![]));
    one(
        0,
        revenue(0),
        compare(share, Lt, volumes(0, vec![prices(Le)])),
    )
}

/// VWAP with the left side correlated too.
pub fn sq1() -> Block {
    let share = times(decimal(7_500), volumes(0, vec![prices(Ge)]));
    one(
        0,
        revenue(0),
        compare(share, Lt, volumes(0, vec![prices(Le)])),
    )
}

/// VWAP with unlike computations on the sides of the inner inequality.
pub fn sq2() -> Block {
    let share = times(decimal(7_500), volumes(0, vec![]));
    let twice = times(decimal(20_000), column(0, 0, PRICE));
    let other = minus(times(decimal(30_000), column(1, 0, PRICE)), decimal(50_000));
    let inner = volumes(0, vec![compare(twice, Le, other)]);
    one(0, revenue(0), compare(share, Lt, inner))
}

/// Condition of NQ1 and NQ2 in VWAP's inner block: a share of the volume, against that up to the
/// block's own row.
fn nested(outermost: Vec<Condition>) -> Condition {
    let share = times(decimal(2_500), volumes(0, outermost));
    compare(share, Lt, volumes(0, vec![prices(Le)]))
}

pub fn nq1() -> Block {
    let share = times(decimal(7_500), volumes(0, vec![]));
    let inner = volumes(0, vec![prices(Le), nested(vec![])]);
    one(0, revenue(0), compare(share, Lt, inner))
}

/// NQ1 with the lowest block correlated with the outermost.
pub fn nq2() -> Block {
    let share = times(decimal(7_500), volumes(0, vec![]));
    let lowest = compare(column(0, 0, PRICE), Le, column(2, 0, PRICE));
    let inner = volumes(0, vec![prices(Le), nested(vec![lowest])]);
    one(0, revenue(0), compare(share, Lt, inner))
}

/// Missed trades: both books, each beyond its quarter.
pub fn mst() -> Block {
    let side = |relation: usize, table: usize, how| {
        let share = times(decimal(2_500), volumes(table, vec![]));
        let own = compare(column(0, 0, PRICE), how, column(1, relation, PRICE));
        compare(share, Gt, volumes(table, vec![own]))
    };
    let condition = Condition::And(vec![side(0, 0, Gt), side(1, 1, Gt)]);
    let value = minus(revenue(1), revenue(0));
    Block::new(vec![0, 1], condition, vec![Aggregate::Sum(value)])
}

/// The spread over orders of some size.
pub fn psp() -> Block {
    let side = |relation: usize, table: usize| {
        let share = times(decimal(1), volumes(table, vec![]));
        compare(column(0, relation, VOLUME), Gt, share)
    };
    let value = minus(column(0, 1, PRICE), column(0, 0, PRICE));
    let condition = Condition::And(vec![side(0, 0), side(1, 1)]);
    Block::new(vec![0, 1], condition, vec![Aggregate::Sum(value)])
}

/// All over the book, with whether the optimisation keeps them.
pub fn all() -> Vec<(&'static str, Block, bool)> {
    vec![
        ("EQ", equality(), true),
        ("VWAP", vwap(), true),
        ("MST", mst(), true),
        ("PSP", psp(), true),
        ("SQ1", sq1(), false),
        ("SQ2", sq2(), true),
        ("NQ1", nq1(), true),
        ("NQ2", nq2(), false),
    ]
}

pub fn book(block: Block) -> Plan {
    Plan::new(vec![ints(2), ints(2)], block)
}

/// Q17 over lineitem (partkey, quantity, price) and part (partkey, brand).
pub fn q17() -> Block {
    let mean = Block::new(
        vec![0],
        compare(column(0, 0, 0), Eq, column(1, 1, 0)),
        vec![Aggregate::Average(column(0, 0, 1))],
    );
    let limit = times(decimal(2_000), Value::Block(Box::new(mean)));
    let condition = Condition::And(vec![
        compare(column(0, 0, 0), Eq, column(0, 1, 0)),
        compare(column(0, 1, 1), Eq, decimal(30_000)),
        compare(column(0, 0, 1), Lt, limit),
    ]);
    let mut block = Block::new(vec![0, 1], condition, vec![Aggregate::Sum(column(0, 0, 2))]);
    block.outputs = vec![Value::Over(
        Box::new(Value::Aggregate(0)),
        Box::new(decimal(70_000)),
    )];
    block
}

/// Q18 over customer (custkey), orders (orderkey, custkey) and lineitem (orderkey, quantity).
pub fn q18() -> Block {
    let order = compare(column(0, 0, 0), Eq, column(1, 1, 0));
    let quantity = sum_where(2, column(0, 0, 1), vec![order]);
    let condition = Condition::And(vec![
        compare(column(0, 0, 0), Eq, column(0, 1, 1)),
        compare(column(0, 1, 0), Eq, column(0, 2, 0)),
        compare(decimal(80_000), Lt, quantity),
    ]);
    let mut block = Block::new(
        vec![0, 1, 2],
        condition,
        vec![Aggregate::Sum(column(0, 2, 1))],
    );
    let group = |relation, column| Column {
        depth: 0,
        relation,
        column,
    };
    block.group = vec![group(0, 0), group(1, 0)];
    block
}
