//! Random DAGs of small queries over random transactions, of which some fail in the middle, against the
//! oracle after every one; and again with all but the last as blocks of the last.
use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use ringview_core::Error;
use ringview_engine::{Database, Direction, Op, Options, ViewFollower};
use ringview_oracle::{Table, Tables, evaluate};
use ringview_query::{Function, Query, Representation};

use crate::common::{
    Change, Model, Row, TABLES, Value, apply, from_arrow, unpolled, ways, with_recompute,
};
use crate::dag::write::{Q, aggregate, column, count_at_least, scalar};

/// Kind of a column, and so its possible uses.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Int,
    /// A multiple of a half, so that sums are exact.
    Real,
    /// A quotient, which no sum of the oracle has to the last bit.
    Quotient,
    Text,
}

/// A table or view that can be read.
#[derive(Clone, Debug)]
struct Node {
    name: String,
    columns: Vec<(String, Kind)>,
    /// Whether it holds rows of a join, which are many.
    is_bag: bool,
}

/// Numbers that decide what a query is.
pub(super) struct Seed<'s>(pub(super) &'s [u8], pub(super) usize);

impl Seed<'_> {
    pub(super) fn pick(&mut self, choices: usize) -> usize {
        self.1 += 1;
        usize::from(self.0[(self.1 - 1) % self.0.len()]) % choices
    }
}

fn base() -> Vec<Node> {
    let kinds = [
        &[("a", Kind::Int), ("b", Kind::Int), ("x", Kind::Real)][..],
        &[("b", Kind::Int), ("c", Kind::Int), ("t", Kind::Text)],
        &[("c", Kind::Int), ("d", Kind::Int)],
    ];
    let node = |(table, columns): (usize, &&[(&str, Kind)])| Node {
        name: TABLES[table].0.to_owned(),
        columns: columns.iter().map(|(n, k)| ((*n).to_owned(), *k)).collect(),
        is_bag: false,
    };
    kinds.iter().enumerate().map(node).collect()
}

/// A query over some of the nodes, and what it shows.
fn build(name: &str, nodes: &[Node], seed: &mut Seed<'_>) -> (Q, Node) {
    let mut atoms = vec![source(nodes, seed)];
    if seed.pick(2) == 1 {
        atoms.push(source(nodes, seed));
    }
    let ints = |node: &Node| -> Vec<String> {
        let ints = node.columns.iter().filter(|(_, kind)| *kind == Kind::Int);
        ints.map(|(name, _)| name.clone()).collect()
    };
    if atoms.iter().any(|atom| ints(atom).is_empty()) {
        atoms.truncate(1);
    }
    let names: Vec<&str> = atoms.iter().map(|atom| atom.name.as_str()).collect();
    let mut query = Q::over(&names);
    if let [left, right] = &atoms[..] {
        let (left, right) = (ints(left), ints(right));
        let left = format!("0.{}", left[seed.pick(left.len())]);
        let right = format!("1.{}", right[seed.pick(right.len())]);
        query = query.join(&left, &right);
    }
    if let Some(first) = ints(atoms[0]).first()
        && seed.pick(3) == 0
    {
        query = query.at_least(&format!("0.{first}"), 1);
    }
    let of_atom = |(at, atom): (usize, &&Node)| -> Vec<(String, Kind)> {
        let columns = atom.columns.iter();
        columns
            .map(|(name, kind)| (format!("{at}.{name}"), *kind))
            .collect()
    };
    let columns: Vec<(String, Kind)> = atoms.iter().enumerate().flat_map(of_atom).collect();
    let is_bag = seed.pick(4) == 0 && !atoms.iter().any(|atom| atom.is_bag);
    let (query, columns) = if is_bag {
        rows(query, &columns, seed)
    } else {
        groups(query, &columns, seed)
    };
    let node = Node {
        name: name.to_owned(),
        columns,
        is_bag,
    };
    (query, node)
}

/// Views more often than tables, and the last ones more often than the first.
fn source<'n>(nodes: &'n [Node], seed: &mut Seed<'_>) -> &'n Node {
    let first = match seed.pick(3) {
        0 => 0,
        _ => nodes.len().saturating_sub(2),
    };
    &nodes[first + seed.pick(nodes.len() - first)]
}

type Built = (Q, Vec<(String, Kind)>);

fn rows(mut query: Q, columns: &[(String, Kind)], seed: &mut Seed<'_>) -> Built {
    let mut shown: Vec<(String, Kind)> = Vec::new();
    for _ in 0..1 + seed.pick(3) {
        let (place, kind) = &columns[seed.pick(columns.len())];
        if *kind != Kind::Quotient && !query.0.group_by.contains(&column(place)) {
            let name = format!("c{}", shown.len());
            query = query.by(place, &name);
            shown.push((name, *kind));
        }
    }
    if shown.is_empty() {
        return (query.count("c0"), vec![("c0".to_owned(), Kind::Int)]);
    }
    let kept = match seed.pick(3) {
        0 => None,
        1 => Some(Representation::Listing),
        _ => Some(Representation::Factorised),
    };
    let distinct = seed.pick(4) == 0;
    // Factorised, DISTINCT must show what joins.
    let kept = kept.filter(|_| !distinct);
    (query.rows(kept, distinct), shown)
}

fn groups(mut query: Q, columns: &[(String, Kind)], seed: &mut Seed<'_>) -> Built {
    let mut shown: Vec<(String, Kind)> = Vec::new();
    for _ in 0..seed.pick(3) {
        let (place, kind) = &columns[seed.pick(columns.len())];
        if *kind == Kind::Quotient || query.0.group_by.contains(&column(place)) {
            continue;
        }
        let name = format!("c{}", shown.len());
        match seed.pick(8) {
            0 => query = query.hidden(place),
            1 if *kind == Kind::Text => {
                let group = scalar(place);
                query = query.hidden(place);
                query = query.or_else(&name, &group, "'none'");
                shown.push((name, *kind));
            }
            _ => {
                query = query.by(place, &name);
                shown.push((name, *kind));
            }
        }
    }
    for _ in 0..1 + seed.pick(3) {
        let (place, kind) = &columns[seed.pick(columns.len())];
        let name = format!("c{}", shown.len());
        let number = matches!(kind, Kind::Int | Kind::Real);
        let (function, kind) = match seed.pick(7) {
            0 if number => (Function::Avg, Kind::Quotient),
            1 => (Function::Min, *kind),
            2 => (Function::Max, *kind),
            3 => (Function::CountDistinct, Kind::Int),
            4 => (Function::Count, Kind::Int),
            5 if *kind == Kind::Int => {
                let sum = aggregate(Function::Sum, Some(place));
                query = query.or_else(&name, &sum, "0");
                shown.push((name, Kind::Int));
                continue;
            }
            _ if number => (Function::Sum, *kind),
            _ => {
                query = query.count(&name);
                shown.push((name, Kind::Int));
                continue;
            }
        };
        query = query.agg(&name, function, Some(place));
        shown.push((name, kind));
    }
    if seed.pick(4) == 0 {
        query = query.having(count_at_least(2));
    }
    (query, shown)
}

/// A change, rows to be deleted chosen from those that are there by their place, if there is one.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    table: usize,
    direction: Direction,
    rows: Vec<(Row, Option<usize>)>,
}

/// A transaction, and at which question it is interrupted, if at any.
pub(super) type Step = (Vec<Draft>, Option<u8>);

fn small() -> impl Strategy<Value = Value> {
    prop_oneof![9 => (0i64..2).prop_map(Value::Int), 1 => Just(Value::Null)]
}

pub(super) fn row(table: usize) -> BoxedStrategy<Row> {
    let real = (-2i8..3).prop_map(|v| Value::Real(f64::from(v) / 2.0 + 0.0));
    let text = prop::sample::select(vec!["p", "q"]).prop_map(|t| Value::Text(t.to_owned()));
    let text = prop_oneof![4 => text, 1 => Just(Value::Null)];
    match table {
        0 => (small(), small(), real)
            .prop_map(|(a, b, x)| vec![a, b, x])
            .boxed(),
        1 => (small(), small(), text)
            .prop_map(|(b, c, t)| vec![b, c, t])
            .boxed(),
        _ => (small(), small()).prop_map(|(c, d)| vec![c, d]).boxed(),
    }
}

pub(super) fn draft() -> impl Strategy<Value = Draft> {
    let direction = prop_oneof![3 => Just(Direction::Insert), 2 => Just(Direction::Delete)];
    (0usize..2, direction).prop_flat_map(|(table, direction)| {
        let there = prop_oneof![8 => (0usize..64).prop_map(Some), 1 => Just(None)];
        vec((row(table), there), 1..5).prop_map(move |rows| Draft {
            table,
            direction,
            rows,
        })
    })
}

fn step() -> impl Strategy<Value = Step> {
    let interrupted = prop_oneof![3 => Just(None), 1 => (0u8..6).prop_map(Some)];
    (vec(draft(), 1..3), interrupted)
}

impl Draft {
    pub(super) fn change(&self, model: &Model) -> Change {
        let there = &model.tables.get(TABLES[self.table].0).rows;
        let chosen = |(row, at): &(Row, Option<usize>)| match (self.direction, at) {
            (Direction::Delete, Some(at)) if !there.is_empty() => {
                let found = there.keys().nth(at % there.len());
                found.cloned().unwrap_or_else(|| row.clone())
            }
            _ => row.clone(),
        };
        let rows = self.rows.iter().map(|row| (chosen(row), 1)).collect();
        Change {
            table: self.table,
            direction: self.direction,
            rows,
            counted: false,
        }
    }
}

/// Applies changes, interrupted at a question.
pub(super) fn apply_until(
    db: &mut Database,
    changes: &[Change],
    last: Option<u8>,
) -> Result<(), Error> {
    let Some(last) = last else {
        return apply(db, changes);
    };
    let batches: Vec<_> = changes.iter().map(Change::batch).collect();
    let op = |(change, batch): (&Change, _)| Op {
        table: TABLES[change.table].0,
        direction: change.direction,
        rows: std::slice::from_ref(batch),
        multiplicity: None,
    };
    let ops: Vec<Op<'_>> = changes.iter().zip(&batches).map(op).collect();
    let mut asked = 0;
    db.apply(&ops, &mut |_| {
        asked += 1;
        if asked > last {
            Err(Error::Interrupted)
        } else {
            Ok(())
        }
    })
}

/// The views of a history, their queries, and the rows that the changes of each add up to.
pub(super) struct Views {
    pub(super) all: Vec<(String, Query, ViewFollower, BTreeMap<Row, i64>)>,
}

impl Views {
    /// Every other one is kept by a toy engine, if that can.
    fn create(db: &mut Database, queries: &[(String, Query)]) -> Views {
        let mut all = Vec::new();
        for (at, (name, query)) in queries.iter().enumerate() {
            let toy = (at % 2 == 1).then_some("recompute");
            let made = match db.create_view_with(name, query, toy, &mut unpolled) {
                Err(Error::Unsupported { .. }) => db.create_view(name, query, &mut unpolled),
                made => made,
            };
            made.unwrap_or_else(|problem| panic!("{problem}: {query:?}"));
            let follower = db.follow(name, false).unwrap();
            all.push((name.clone(), query.clone(), follower, BTreeMap::new()));
        }
        Views { all }
    }

    /// Each shows what the oracle says, and so do its changes put together.
    pub(super) fn check(&mut self, db: &mut Database, model: &Model) {
        let mut tables = model.tables.clone();
        db.check();
        for (name, query, follower, description) in &mut self.all {
            let expected = evaluate(query, &tables);
            let found = from_arrow(&db.view_result(name).unwrap());
            assert_eq!(found, expected, "{name}: {query:?}");
            let changes = db.changes(follower).unwrap();
            db.advance(follower).unwrap();
            for mut row in from_arrow(&changes) {
                let Some(Value::Int(times)) = row.pop() else {
                    panic!("no multiplicity in {row:?}");
                };
                *description.entry(row).or_default() += times;
            }
            description.retain(|_, times| *times != 0);
            tables = with(tables, name, query, &expected);
            assert_eq!(*description, tables.get(name).rows, "{name}: {query:?}");
        }
    }
}

/// The tables, and rows of a view among them.
fn with(tables: Tables, name: &str, query: &Query, rows: &[Row]) -> Tables {
    let column =
        |output: &ringview_query::Output| (output.name().to_owned(), ringview_core::Type::Int64);
    let mut table = Table {
        columns: query.outputs.iter().map(column).collect(),
        ..Table::default()
    };
    for row in rows {
        *table.rows.entry(row.clone()).or_default() += 1;
    }
    tables.with(name, table)
}

fn history(way: Options, seeds: &[Vec<u8>], fixed: Vec<Row>, before: &[Step], behind: &[Step]) {
    let (mut nodes, mut queries) = (base(), Vec::new());
    let mut whole: Option<Q> = None;
    let mut blocks: Vec<(String, Q)> = Vec::new();
    for (at, seed) in seeds.iter().enumerate() {
        let name = format!("v{at}");
        let (query, node) = build(&name, &nodes, &mut Seed(seed, 0));
        queries.push((name.clone(), query.0.clone()));
        let with = |query: Q, (name, block): &(String, Q)| query.with(name, block);
        whole = Some(blocks.iter().fold(query.clone(), with));
        blocks.push((name, query));
        nodes.push(node);
    }
    let (mut db, mut model) = (with_recompute(way), Model::default());
    let load = [Change::insert(2, fixed)];
    assert!(model.apply(&load));
    apply(&mut db, &load).unwrap();
    for (drafts, _) in before {
        let changes: Vec<Change> = drafts.iter().map(|draft| draft.change(&model)).collect();
        assert_eq!(apply(&mut db, &changes).is_ok(), model.apply(&changes));
    }
    queries.extend(whole.map(|query| ("whole".to_owned(), query.0)));
    let mut views = Views::create(&mut db, &queries);
    views.check(&mut db, &model);
    for (drafts, last) in behind {
        let changes: Vec<Change> = drafts.iter().map(|draft| draft.change(&model)).collect();
        match apply_until(&mut db, &changes, *last) {
            Ok(()) => assert!(model.apply(&changes)),
            Err(Error::Interrupted) => assert!(last.is_some()),
            Err(problem) => assert!(!model.apply(&changes), "{problem}"),
        }
        // A rollback left all as it was.
        views.check(&mut db, &model);
    }
    empty(&mut db, &mut model);
    views.check(&mut db, &model);
    for (name, ..) in views.all.iter().rev() {
        db.drop_view(name).unwrap();
    }
    assert!(db.views().is_empty());
}

pub(super) fn empty(db: &mut Database, model: &mut Model) {
    for table in [0, 1] {
        let rows = &model.tables.get(TABLES[table].0).rows;
        let all = rows
            .iter()
            .flat_map(|(row, &n)| std::iter::repeat_n(row.clone(), n as usize));
        let change = [Change::delete(table, all.collect())];
        assert!(model.apply(&change));
        apply(db, &change).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn random_dags_equal_recomputation(
        way in ways(),
        seeds in vec(vec(any::<u8>(), 24), 1..6),
        fixed in vec(row(2), 0..4),
        before in vec(step(), 0..6),
        behind in vec(step(), 1..8),
    ) {
        history(way, &seeds, fixed, &before, &behind);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    #[ignore = "the same for minutes"]
    fn many_random_dags_equal_recomputation(
        way in ways(),
        seeds in vec(vec(any::<u8>(), 24), 3..7),
        fixed in vec(row(2), 0..4),
        before in vec(step(), 0..6),
        behind in vec(step(), 1..12),
    ) {
        history(way, &seeds, fixed, &before, &behind);
    }
}
