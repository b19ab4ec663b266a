//! Numbers and sums of the rows before each row, over random transactions some of which fail, against a recomputation; and
//! what changes cost, in steps.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int64Type};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use proptest::collection::vec;
use proptest::prelude::*;
use ringview_core::{Error, Field, Schema, Type};
use ringview_engine::{Database, Direction, Op, Options};
use ringview_query::Query;

use crate::common::ways;

/// Partition, value, double.
type Row = (Option<i64>, Option<i64>, i64);
type Shown = (Row, Vec<Option<i64>>);

const ENDS: [(&str, &str); 3] = [
    ("rows", r#""current_row""#),
    ("range", r#""current_row""#),
    ("rows", r#"{"following": null}"#),
];
const FUNCTIONS: [(&str, &str); 12] = [
    ("row_number", ""),
    ("rank", ""),
    ("dense_rank", ""),
    ("count", ""),
    ("count", r#""arguments": ["x"],"#),
    ("sum", r#""arguments": ["x"],"#),
    ("sum", r#""arguments": ["f"],"#),
    ("min", r#""arguments": ["x"],"#),
    ("max", r#""arguments": ["x"],"#),
    ("first_value", r#""arguments": ["x"],"#),
    ("last_value", r#""arguments": ["x"],"#),
    ("nth_value", r#""arguments": ["x"], "constants": ["3"],"#),
];

/// Functions with the ends of their frames, over partitions or all rows.
#[derive(Clone, Debug)]
struct QueryShape {
    partitioned: bool,
    descending: bool,
    calls: Vec<(usize, usize)>,
}

impl QueryShape {
    fn query(&self) -> Query {
        let calls = self.calls.iter().enumerate().map(|(at, &(function, end))| {
            let ((name, arguments), (unit, end)) = (FUNCTIONS[function], ENDS[end]);
            format!(
                r#"{{"name": "w{at}", "function": "{name}", {arguments} "frame": {{"unit": "{unit}",
                "start": {{"preceding": null}}, "end": {end}}}}}"#
            )
        });
        let text = format!(
            r#"{{"atoms": [{{"table": "t", "alias": "t"}}], "outputs": [], "rows": {{"kind": "parted",
            "names": ["g", "x", "f"], "partition": {}, "order": [{{"column": "x", "descending": {}}}],
            "calls": [{}]}}}}"#,
            if self.partitioned { r#"["g"]"# } else { "[]" },
            self.descending,
            calls.collect::<Vec<_>>().join(", ")
        );
        Query::from_json(&text).unwrap()
    }

    /// Outputs of some rows.
    fn shown(&self, rows: &[Row]) -> Vec<Shown> {
        let mut parts: BTreeMap<Option<i64>, Vec<Row>> = BTreeMap::new();
        for row in rows {
            let part = row.0.filter(|_| self.partitioned);
            parts
                .entry(part.or((!self.partitioned).then_some(0)))
                .or_default()
                .push(*row);
        }
        let place = |value: Option<i64>| {
            let value = value.map(|value| if self.descending { -value } else { value });
            (value.is_none(), value)
        };
        let mut shown = Vec::new();
        for part in parts.values_mut() {
            part.sort_by_key(|row| (place(row.1), row.0, row.2));
            for at in 0..part.len() {
                let calls = self.calls.iter();
                let values = calls.map(|&(function, end)| value(part, at, function, end));
                shown.push((part[at], values.collect()));
            }
        }
        shown.sort();
        shown
    }
}

/// The value of one function for one row of a sorted partition.
fn value(part: &[Row], at: usize, function: usize, end: usize) -> Option<i64> {
    let before = part.iter().position(|row| row.1 == part[at].1)?;
    let peers = part.iter().rposition(|row| row.1 == part[at].1)? + 1;
    let frame = &part[..[at + 1, peers, part.len()][end]];
    let values = || frame.iter().filter_map(|row| row.1);
    let mut different: Vec<Option<i64>> = part[..before].iter().map(|row| row.1).collect();
    different.dedup();
    match FUNCTIONS[function] {
        ("row_number", _) => Some(at as i64 + 1),
        ("rank", _) => Some(before as i64 + 1),
        ("dense_rank", _) => Some(different.len() as i64 + 1),
        ("count", "") => Some(frame.len() as i64),
        ("count", _) => Some(values().count() as i64),
        ("sum", of) if of.contains('f') => Some(frame.iter().map(|row| row.2).sum()),
        ("sum", _) => values().next().is_some().then(|| values().sum()),
        ("min", _) => values().min(),
        ("max", _) => values().max(),
        ("first_value", _) => frame[0].1,
        ("last_value", _) => frame[frame.len() - 1].1,
        _ => frame.get(2).and_then(|row| row.1),
    }
}

fn batch(rows: &[Row]) -> RecordBatch {
    let whole = |of: fn(&Row) -> Option<i64>| {
        Arc::new(Int64Array::from(rows.iter().map(of).collect::<Vec<_>>())) as ArrayRef
    };
    let doubles = rows.iter().map(|row| row.2 as f64 / 4.0);
    let doubles = Arc::new(Float64Array::from_iter_values(doubles)) as ArrayRef;
    let columns = [
        ("g", whole(|row| row.0), true),
        ("x", whole(|row| row.1), true),
        ("f", doubles, true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn apply(db: &mut Database, changes: &[(Direction, Vec<Row>)]) -> ringview_core::Result<()> {
    let batches: Vec<RecordBatch> = changes.iter().map(|(_, rows)| batch(rows)).collect();
    let ops = changes.iter().zip(&batches);
    let ops = ops.map(|((direction, _), batch)| Op {
        table: "t",
        direction: *direction,
        rows: std::slice::from_ref(batch),
        multiplicity: None,
    });
    db.apply(&ops.collect::<Vec<_>>(), &mut |_| Ok(()))
}

/// Numbers of any type; doubles times four.
fn column(of: &ArrayRef) -> Vec<Option<i64>> {
    if let Some(decimals) = of.as_primitive_opt::<Decimal128Type>() {
        return decimals
            .iter()
            .map(|one| one.map(|one| one as i64))
            .collect();
    }
    match of.as_primitive_opt::<Float64Type>() {
        Some(doubles) => doubles
            .iter()
            .map(|one| one.map(|one| (one * 4.0) as i64))
            .collect(),
        None => of.as_primitive::<Int64Type>().iter().collect(),
    }
}

fn read(batch: &RecordBatch, number: usize) -> Vec<Shown> {
    let columns: Vec<Vec<Option<i64>>> = batch.columns().iter().map(column).collect();
    let row = |at: usize| {
        let own = (columns[0][at], columns[1][at], columns[2][at].unwrap());
        (
            own,
            columns[3..3 + number]
                .iter()
                .map(|column| column[at])
                .collect(),
        )
    };
    let mut rows: Vec<Shown> = (0..batch.num_rows()).map(row).collect();
    rows.sort();
    rows
}

fn database(way: Options) -> Database {
    let mut db = Database::new(way);
    let schema = Schema::new(vec![
        Field::new("g", Type::Int64, true),
        Field::new("x", Type::Int64, true),
        Field::new("f", Type::Float64, true),
    ]);
    db.create_table("t", schema.unwrap(), None, false).unwrap();
    db
}

fn rows(most: usize, values: i64) -> impl Strategy<Value = Vec<Row>> {
    let value = |to: i64| prop_oneof![1 => Just(None), 4 => (0..to).prop_map(Some)];
    vec((value(3), value(values), 0..3i64), 0..most)
}

fn shapes() -> impl Strategy<Value = QueryShape> {
    let calls = vec((0..FUNCTIONS.len(), 0..ENDS.len()), 1..4);
    (any::<[bool; 2]>(), calls).prop_map(|([partitioned, descending], calls)| QueryShape {
        partitioned,
        descending,
        calls,
    })
}

proptest! {
    #[test]
    fn numbers_and_sums_are_those_of_a_recomputation(
        shape in shapes(),
        early in prop_oneof![rows(6, 4), rows(120, 40)],
        way in ways(),
        batches in vec((rows(6, 40), vec(any::<prop::sample::Index>(), 0..4), any::<bool>()), 1..6),
    ) {
        let mut db = database(way);
        let mut held = early;
        apply(&mut db, &[(Direction::Insert, held.clone())]).unwrap();
        for name in ["alone", "followed"] {
            db.create_view(name, &shape.query(), &mut |_| Ok(())).unwrap();
        }
        let follower = db.follow("followed", false).unwrap();
        let mut told: BTreeMap<Shown, i64> = BTreeMap::new();
        for (come, gone, fails) in batches {
            let mut next = held.clone();
            let mut left: Vec<Row> = Vec::new();
            for at in gone.iter().take(held.len()) {
                left.push(next.swap_remove(at.index(next.len())));
            }
            next.extend(&come);
            let mut changes = vec![(Direction::Delete, left), (Direction::Insert, come)];
            if fails {
                changes.push((Direction::Delete, vec![(Some(99), Some(99), 0)]));
                let is_refused = matches!(apply(&mut db, &changes), Err(Error::OverDelete { .. }));
                prop_assert!(is_refused);
            } else {
                apply(&mut db, &changes).unwrap();
                held = next;
            }
            let expected = shape.shown(&held);
            let number = shape.calls.len();
            for name in ["alone", "followed"] {
                let found = read(&db.view_result(name).unwrap(), number);
                prop_assert_eq!(&found, &expected, "{}", name);
                prop_assert_eq!(db.view_len(name).unwrap(), expected.len());
            }
            let moved = db.changes(&follower).unwrap();
            db.advance(&follower).unwrap();
            let often = column(moved.columns().last().unwrap());
            let columns = 3 + number;
            for (at, &copies) in often.iter().enumerate() {
                let one = moved.slice(at, 1).project(&(0..columns).collect::<Vec<_>>()).unwrap();
                *told.entry(read(&one, number).remove(0)).or_default() += copies.unwrap();
            }
            let mut counted: BTreeMap<Shown, i64> = BTreeMap::new();
            expected.into_iter().for_each(|row| *counted.entry(row).or_default() += 1);
            told.retain(|_, often| *often != 0);
            prop_assert_eq!(&told, &counted);
            db.check();
        }
    }
}

/// Rows of one partition, all of which differ, and the steps of an insert and a delete at places among them.
fn steps(shape: &QueryShape, number: i64, places: &[i64], followed: bool) -> Vec<u64> {
    let mut db = database(Options::default());
    let row = |x: i64| (None, Some(x), x % 7);
    let many: Vec<Row> = (0..number).map(|at| row(2 * at)).collect();
    apply(&mut db, &[(Direction::Insert, many)]).unwrap();
    db.create_view("v", &shape.query(), &mut |_| Ok(()))
        .unwrap();
    let _follower = followed.then(|| db.follow("v", true).unwrap());
    let one = |&place: &i64| {
        let before = db.view_steps("v").unwrap();
        apply(&mut db, &[(Direction::Insert, vec![row(place)])]).unwrap();
        apply(&mut db, &[(Direction::Delete, vec![row(place)])]).unwrap();
        db.view_steps("v").unwrap() - before
    };
    places.iter().map(one).collect()
}

#[test]
fn a_change_costs_a_logarithm_and_the_rows_that_move() {
    let shape = QueryShape {
        partitioned: false,
        descending: false,
        calls: vec![(0, 0), (1, 0), (2, 0), (5, 0), (4, 1), (9, 0)],
    };
    for number in [1_000, 2_000, 4_000, 8_000, 16_000i64] {
        let log = u64::from(number.unsigned_abs().ilog2());
        let last = 2 * number;
        let (front, middle, end) = (-1, last / 2 + 1, last - 1);
        for found in steps(&shape, number, &[front, middle, end], false) {
            assert!(found <= 12 * log, "{found} steps of {number} rows");
        }
        let moved = [number, number / 2, 2].map(|rows| 2 * rows.unsigned_abs() + 4);
        let found = steps(&shape, number, &[front, middle, end], true);
        for (found, moved) in found.into_iter().zip(moved) {
            assert!(
                found <= 12 * log + moved,
                "{found} steps of {number} rows, {moved} move"
            );
        }
    }
}

#[test]
fn changes_that_cancel_move_the_rows_between_them() {
    let shape = QueryShape {
        partitioned: false,
        descending: false,
        calls: vec![(0, 0), (1, 0), (3, 2)],
    };
    for number in [1_000, 4_000, 16_000i64] {
        let mut db = database(Options::default());
        let row = |x: i64| (None, Some(x), 0);
        let many: Vec<Row> = (0..number).map(|at| row(2 * at)).collect();
        apply(&mut db, &[(Direction::Insert, many)]).unwrap();
        db.create_view("v", &shape.query(), &mut |_| Ok(()))
            .unwrap();
        let _follower = db.follow("v", true).unwrap();
        let before = db.view_steps("v").unwrap();
        // Two rows are moved by a few places each.
        let changes = [
            (Direction::Delete, vec![row(20), row(number)]),
            (Direction::Insert, vec![row(31), row(number + 11)]),
        ];
        apply(&mut db, &changes).unwrap();
        let log = u64::from(number.unsigned_abs().ilog2());
        let found = db.view_steps("v").unwrap() - before;
        assert!(found <= 4 * 6 * log + 20, "{found} steps of {number} rows");
    }
}

#[test]
fn a_frame_of_few_rows_costs_a_logarithm_and_those() {
    let query = Query::from_json(
        r#"{"atoms": [{"table": "t", "alias": "t"}], "outputs": [], "rows": {"kind": "parted", "names": ["x"],
        "order": [{"column": "x"}], "calls": [{"name": "s", "function": "sum", "arguments": ["x"], "frame": {"unit": "rows",
        "start": {"preceding": "3"}, "end": "current_row"}}]}}"#,
    )
    .unwrap();
    for number in [1_000, 4_000, 16_000i64] {
        let mut db = database(Options::default());
        let row = |x: i64| (None, Some(x), 0);
        let many: Vec<Row> = (0..number).map(|at| row(2 * at)).collect();
        apply(&mut db, &[(Direction::Insert, many)]).unwrap();
        db.create_view("v", &query, &mut |_| Ok(())).unwrap();
        let _follower = db.follow("v", true).unwrap();
        for place in [-1, number + 1, 2 * number - 1] {
            let before = db.view_steps("v").unwrap();
            apply(&mut db, &[(Direction::Insert, vec![row(place)])]).unwrap();
            let log = u64::from(number.unsigned_abs().ilog2());
            let found = db.view_steps("v").unwrap() - before;
            assert!(found <= 3 * log + 16, "{found} steps of {number} rows");
        }
    }
}

#[test]
fn a_row_of_an_asof_join_costs_a_logarithm_and_the_rows_whose_match_changes() {
    let query = Query::from_json(
        r#"{"atoms": [{"table": "t", "alias": "t"}, {"table": "u", "alias": "u"}], "outputs": [], "rows": {"kind": "latest",
        "names": ["x", "y"], "sides": [{"shown": ["x"], "time": "x"}, {"shown": ["x"], "time": "x"}]}}"#,
    )
    .unwrap();
    for number in [1_000, 4_000, 16_000i64] {
        let mut db = database(Options::default());
        let schema = Schema::new(vec![
            Field::new("g", Type::Int64, true),
            Field::new("x", Type::Int64, true),
            Field::new("f", Type::Float64, true),
        ]);
        db.create_table("u", schema.unwrap(), None, false).unwrap();
        let into = |db: &mut Database, table: &str, values: Vec<i64>| {
            let rows: Vec<Row> = values.into_iter().map(|x| (None, Some(x), 0)).collect();
            let rows = batch(&rows);
            let op = Op {
                table,
                direction: Direction::Insert,
                rows: std::slice::from_ref(&rows),
                multiplicity: None,
            };
            db.apply(&[op], &mut |_| Ok(())).unwrap();
        };
        into(&mut db, "t", (0..number).collect());
        into(&mut db, "u", (0..number / 10).map(|at| 10 * at).collect());
        db.create_view("v", &query, &mut |_| Ok(())).unwrap();
        let _follower = db.follow("v", true).unwrap();
        let before = db.view_steps("v").unwrap();
        // Five rows have another match.
        into(&mut db, "u", vec![number / 2 + 5]);
        let log = u64::from(number.unsigned_abs().ilog2());
        let found = db.view_steps("v").unwrap() - before;
        assert!(
            (11..=3 * log + 11).contains(&found),
            "{found} steps of {number} rows"
        );
    }
}
