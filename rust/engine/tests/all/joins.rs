//! The rows of a join kept factorised, against nested loops; what it costs to read them, in steps.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use proptest::collection::vec;
use proptest::prelude::*;
use ringview_core::{Error, Field, Schema, Type};
use ringview_engine::{Database, Direction, Op, Options};
use ringview_query::Query;

use crate::common::ways;

/// r(a, b), s(b, c), u(c, d): a path.
const TABLES: [(&str, [&str; 2]); 3] = [("r", ["a", "b"]), ("s", ["b", "c"]), ("u", ["c", "d"])];

/// `SELECT <columns> FROM r NATURAL JOIN s NATURAL JOIN u`; the second of a pair of columns joins.
fn query(columns: &[(usize, &str)]) -> Query {
    let place =
        |(atom, column): &(usize, &str)| format!(r#"{{"atom": {atom}, "column": "{column}"}}"#);
    let groups: Vec<String> = columns.iter().map(place).collect();
    let outputs = columns.iter().zip(&groups).map(|((atom, column), place)| {
        format!(r#"{{"kind": "group", "name": "{column}{atom}", "column": {place}}}"#)
    });
    Query::from_json(&format!(
        r#"{{"atoms": [{{"table": "r", "alias": "r"}}, {{"table": "s", "alias": "s"}},
                       {{"table": "u", "alias": "u"}}],
            "joins": [[{}, {}], [{}, {}]],
            "group_by": [{}], "outputs": [{}], "bag": {{}}}}"#,
        place(&(0, "b")),
        place(&(1, "b")),
        place(&(1, "c")),
        place(&(2, "c")),
        groups.join(", "),
        outputs.collect::<Vec<_>>().join(", "),
    ))
    .unwrap()
}

fn database(options: Options, query: &Query) -> Database {
    let mut db = Database::new(options);
    for (name, columns) in TABLES {
        let field = |name: &&str| Field::new(*name, Type::Int64, true);
        let schema = Schema::new(columns.iter().map(field).collect()).unwrap();
        db.create_table(name, schema, None, false).unwrap();
    }
    db.create_view("v", query, &mut |_| Ok(())).unwrap();
    db
}

type Pair = [Option<i64>; 2];

fn batch(table: usize, rows: &[Pair], counts: Option<Vec<i64>>) -> RecordBatch {
    let column = |at: usize| -> ArrayRef {
        Arc::new(rows.iter().map(|row| row[at]).collect::<Int64Array>())
    };
    let names = TABLES[table].1;
    let mut columns = vec![(names[0], column(0)), (names[1], column(1))];
    if let Some(counts) = counts {
        columns.push(("n", Arc::new(Int64Array::from(counts)) as ArrayRef));
    }
    RecordBatch::try_from_iter(columns).unwrap()
}

fn apply(
    db: &mut Database,
    table: usize,
    direction: Direction,
    rows: &RecordBatch,
) -> Result<(), Error> {
    let op = Op {
        table: TABLES[table].0,
        direction,
        rows: std::slice::from_ref(rows),
        multiplicity: (rows.num_columns() == 3).then_some("n"),
    };
    db.apply(&[op], &mut |_| Ok(()))
}

fn rows_of(batch: &RecordBatch) -> Vec<Vec<Option<i64>>> {
    let columns: Vec<Vec<Option<i64>>> = batch
        .columns()
        .iter()
        .map(|column| column.as_primitive::<Int64Type>().iter().collect())
        .collect();
    (0..batch.num_rows())
        .map(|row| columns.iter().map(|column| column[row]).collect())
        .collect()
}

/// The join by nested loops, sorted: columns a, b, c, d.
fn nested_loops(tables: &[Vec<Pair>; 3]) -> Vec<[Option<i64>; 4]> {
    let mut found = Vec::new();
    for r in &tables[0] {
        for s in tables[1].iter().filter(|s| r[1].is_some() && s[0] == r[1]) {
            for u in tables[2].iter().filter(|u| s[1].is_some() && u[0] == s[1]) {
                found.push([r[0], r[1], s[1], u[1]]);
            }
        }
    }
    found.sort_unstable();
    found
}

#[derive(Clone, Debug)]
struct Change {
    table: usize,
    rows: Vec<Pair>,
    /// Rows of the table that are deleted.
    gone: Vec<prop::sample::Index>,
    /// Whether the transaction ends in the delete of a row that is not there.
    fails: bool,
}

fn change() -> impl Strategy<Value = Change> {
    let value = || prop_oneof![6 => (0i64..3).prop_map(Some), 1 => Just(None)];
    let pair = (value(), value()).prop_map(|(x, y)| [x, y]);
    (
        0usize..3,
        vec(pair, 0..5),
        vec(any::<prop::sample::Index>(), 0..4),
        prop::bool::weighted(0.2),
    )
        .prop_map(|(table, rows, gone, fails)| Change {
            table,
            rows,
            gone,
            fails,
        })
}

/// Columns of a view among a, b, c, d, and the place where each is read.
const SHOWN: [&[(usize, (usize, &str))]; 4] = [
    &[(0, (0, "a")), (1, (0, "b")), (2, (1, "c")), (3, (2, "d"))],
    &[(3, (2, "d")), (0, (0, "a"))],
    &[(2, (2, "c"))],
    &[(0, (0, "a")), (1, (1, "b"))],
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn rows_are_those_of_nested_loops(
        shown in 0..SHOWN.len(),
        way in ways(),
        changes in vec(change(), 1..10),
    ) {
        let places: Vec<(usize, &str)> = SHOWN[shown].iter().map(|(_, place)| *place).collect();
        let mut db = database(way, &query(&places));
        let mut tables: [Vec<Pair>; 3] = Default::default();
        let mut seen: BTreeMap<Vec<Option<i64>>, i64> = BTreeMap::new();
        for change in changes {
            let Change { table, rows, gone, fails } = change;
            let before = rows_of(&db.view_result("v").unwrap());
            let mut left = tables[table].clone();
            left.extend(&rows);
            let mut leaves = Vec::new();
            for index in gone.iter().filter(|_| !fails) {
                if !left.is_empty() {
                    leaves.push(left.swap_remove(index.index(left.len())));
                }
            }
            if fails {
                leaves.push([Some(99), Some(99)]);
            }
            let (inserted, deleted) = (batch(table, &rows, None), batch(table, &leaves, None));
            let op = |direction, rows| Op {
                table: TABLES[table].0,
                direction,
                rows: std::slice::from_ref(rows),
                multiplicity: None,
            };
            let ops = [op(Direction::Insert, &inserted), op(Direction::Delete, &deleted)];
            prop_assert_eq!(db.apply(&ops, &mut |_| Ok(())).is_err(), fails);
            let result = rows_of(&db.view_result("v").unwrap());
            if fails {
                prop_assert_eq!(&result, &before, "an undone transaction moves no row");
            } else {
                tables[table] = left;
            }
            let project = |row: &[Option<i64>; 4]| -> Vec<Option<i64>> {
                SHOWN[shown].iter().map(|(at, _)| row[*at]).collect()
            };
            let mut expected: Vec<_> = nested_loops(&tables).iter().map(project).collect();
            let mut sorted = result.clone();
            expected.sort_unstable();
            sorted.sort_unstable();
            prop_assert_eq!(&sorted, &expected);
            prop_assert_eq!(db.view_len("v").unwrap(), expected.len());
            for at in 0..result.len() as u64 {
                let one = rows_of(&db.view_slice("v", at, at + 1).unwrap());
                prop_assert_eq!(&one[..], &result[at as usize..][..1]);
            }
            for row in rows_of(&db.view_changes("v").unwrap()) {
                let (count, row) = row.split_last().unwrap();
                *seen.entry(row.to_vec()).or_default() += count.unwrap();
            }
            seen.retain(|_, count| *count != 0);
            let mut counted: BTreeMap<Vec<Option<i64>>, i64> = BTreeMap::new();
            for row in expected {
                *counted.entry(row).or_default() += 1;
            }
            prop_assert_eq!(&seen, &counted);
        }
    }
}

/// A view whose groups have `width` rows of r and of u each: width^2 rows of the join a group.
fn wide(groups: i64, width: i64) -> Database {
    let all = [(0, "a"), (0, "b"), (1, "c"), (2, "d")];
    let mut db = database(
        Options {
            trust_deletes: true,
            ..Options::default()
        },
        &query(&all),
    );
    let many = |row: fn(i64, i64) -> Pair| -> Vec<Pair> {
        (0..groups)
            .flat_map(|g| (0..width).map(move |i| row(g, i)))
            .collect()
    };
    let once: Vec<Pair> = (0..groups).map(|g| [Some(g), Some(g)]).collect();
    let rows = [
        many(|g, i| [Some(i), Some(g)]),
        once,
        many(|g, i| [Some(g), Some(i)]),
    ];
    for (table, rows) in rows.iter().enumerate() {
        apply(&mut db, table, Direction::Insert, &batch(table, rows, None)).unwrap();
    }
    db
}

#[test]
fn the_delay_of_a_row_does_not_grow_with_the_result() {
    for (width, groups) in [
        (32i64, [10, 100, 1_000, 10_000]),
        (2, [2_500, 5_000, 25_000, 50_000]),
    ] {
        for groups in groups {
            let db = wide(groups, width);
            let mut stream = db.view_stream("v").unwrap();
            let (mut rows, mut steps, mut most) = (0, 0, 0.0f64);
            while let Some(block) = db.next_rows(&mut stream).unwrap() {
                let delay = (stream.steps() - steps) as f64 / block.num_rows() as f64;
                (steps, rows, most) = (stream.steps(), rows + block.num_rows(), most.max(delay));
            }
            assert_eq!(rows as i64, groups * width * width);
            // The steps of a group of 2 x 2 rows: its entries in five unions, and two patterns.
            assert!(most <= 3.0, "{most} steps a row of {rows}");
        }
    }
}

#[test]
fn more_rows_than_can_be_counted_are_refused() {
    let mut db = database(Options::default(), &query(&[(0, "a"), (2, "d")]));
    let one = |table, count| batch(table, &[[Some(1), Some(1)]], Some(vec![count]));
    for (table, count) in [(0, 1 << 31), (1, 1 << 31), (2, 1)] {
        apply(&mut db, table, Direction::Insert, &one(table, count)).unwrap();
    }
    assert_eq!(db.view_len("v").unwrap(), 1 << 62);
    let refused = apply(&mut db, 2, Direction::Insert, &one(2, 1));
    assert!(
        matches!(refused, Err(Error::Overflow { .. })),
        "{refused:?}"
    );
    assert_eq!(db.view_len("v").unwrap(), 1 << 62);
    let last = db.view_slice("v", (1 << 62) - 1, 1 << 62).unwrap();
    assert_eq!(rows_of(&last), [[Some(1), Some(1)]]);
    assert!(matches!(db.view_result("v"), Err(Error::Memory { .. })));
}

#[test]
fn a_stream_ends_when_the_view_changes() {
    let mut db = wide(80, 32);
    let mut stream = db.view_stream("v").unwrap();
    assert_eq!(
        db.next_rows(&mut stream).unwrap().unwrap().num_rows(),
        65_536
    );
    let row = batch(0, &[[Some(7), Some(7)]], None);
    apply(&mut db, 0, Direction::Insert, &row).unwrap();
    assert!(matches!(
        db.next_rows(&mut stream),
        Err(Error::Changed { .. })
    ));
    let mut stream = db.view_stream("v").unwrap();
    db.drop_view("v").unwrap();
    assert!(matches!(
        db.next_rows(&mut stream),
        Err(Error::UnknownView { .. })
    ));
}
