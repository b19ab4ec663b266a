//! Functions over the rows of partitions, over random transactions some of which fail, against a recomputation that looks
//! at each row's frame by itself.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int64Type};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use proptest::collection::vec;
use proptest::prelude::*;
use ringview_core::{Error, Field, Schema, Type};
use ringview_engine::{Database, Direction, Op, Options};
use ringview_query::Query;

use crate::common::ways;

/// Partition and value.
type Row = (Option<i64>, Option<i64>);
/// Row number, rank, previous value, sum and least value of the frame.
type Windowed = (Row, [Option<i64>; 5]);
/// Rows, values, median times two, most frequent value, first value.
type Grouped = (Option<i64>, [Option<i64>; 4]);

#[derive(Clone, Debug)]
struct QueryShape {
    partitioned: bool,
    descending: bool,
    nulls_first: bool,
    /// Number of rows before and behind.
    frame: (u64, u64),
}

impl QueryShape {
    fn partition(&self) -> &'static str {
        if self.partitioned { r#"["g"]"# } else { "[]" }
    }

    /// Those that look at all rows of a partition, too, or those that look at few rows alone.
    fn windows(&self, looks_far: bool) -> Query {
        let order = format!(
            r#"[{{"column": "x", "descending": {}, "nulls_first": {}}}]"#,
            self.descending, self.nulls_first
        );
        let frame = format!(
            r#"{{"unit": "rows", "start": {{"preceding": "{}"}}, "end": {{"following": "{}"}}}}"#,
            self.frame.0, self.frame.1
        );
        let call = |name: &str, function: &str, arguments: &str| {
            format!(
                r#"{{"name": "{name}", "function": "{function}", "arguments": [{arguments}], "frame": {frame}}}"#
            )
        };
        let calls = [
            call("n", "row_number", ""),
            call("r", "rank", ""),
            call("l", "lag", r#""x""#),
            call("s", "sum", r#""x""#),
            call("m", "min", r#""x""#),
        ];
        let calls = &calls[if looks_far { 0 } else { 2 }..];
        query(&format!(
            r#"{{"atoms": [{{"table": "t", "alias": "t"}}], "outputs": [], "rows": {{"kind": "parted",
            "names": ["g", "x"], "partition": {}, "order": {order}, "calls": [{}]}}}}"#,
            self.partition(),
            calls.join(", ")
        ))
    }

    fn groups(&self) -> Query {
        let names = self.partition();
        let call = |name: &str, function: &str, more: &str| {
            format!(r#"{{"name": "{name}", "function": "{function}", "arguments": ["x"]{more}}}"#)
        };
        let order = r#", "order": [{"column": "x", "descending": true}]"#;
        let calls = [
            r#"{"name": "n", "function": "count"}"#.to_owned(),
            call("d", "median", ""),
            call("m", "mode", ""),
            call("f", "first", order),
        ];
        query(&format!(
            r#"{{"atoms": [{{"table": "t", "alias": "t"}}], "outputs": [], "rows": {{"kind": "parted",
            "names": {names}, "partition": {names}, "grouped": true, "calls": [{}]}}}}"#,
            calls.join(", ")
        ))
    }

    /// The rows of each partition, sorted.
    fn parts(&self, rows: &[Row]) -> Vec<Vec<Row>> {
        let place = |value: Option<i64>| match value {
            None => (if self.nulls_first { 0 } else { 2 }, 0),
            Some(value) => (1, if self.descending { -value } else { value }),
        };
        let mut parts: Vec<Vec<Row>> = Vec::new();
        for row in rows {
            let alike = |part: &&mut Vec<Row>| !self.partitioned || part[0].0 == row.0;
            match parts.iter_mut().find(alike) {
                Some(part) => part.push(*row),
                None => parts.push(vec![*row]),
            }
        }
        for part in &mut parts {
            // NULL sorts before all values among rows that are equal in the order.
            part.sort_by_key(|row| (place(row.1), row.0));
        }
        parts
    }

    fn windowed(&self, rows: &[Row]) -> Vec<Windowed> {
        let mut shown = Vec::new();
        for part in self.parts(rows) {
            for (at, row) in part.iter().enumerate() {
                let from = at.saturating_sub(self.frame.0 as usize);
                let to = (at + self.frame.1 as usize + 1).min(part.len());
                let values = || part[from..to].iter().filter_map(|row| row.1);
                let sum = values().next().is_some().then(|| values().sum());
                let smaller = part.iter().position(|other| other.1 == row.1);
                let before = at.checked_sub(1).and_then(|at| part[at].1);
                shown.push((
                    *row,
                    [
                        Some(at as i64 + 1),
                        smaller.map(|rows| rows as i64 + 1),
                        before,
                        sum,
                        values().min(),
                    ],
                ));
            }
        }
        shown.sort_unstable();
        shown
    }

    fn grouped(&self, rows: &[Row]) -> Vec<Grouped> {
        let mut parts = self.parts(rows);
        if parts.is_empty() && !self.partitioned {
            parts.push(Vec::new());
        }
        let shown = parts.iter().map(|part| {
            let mut values: Vec<i64> = part.iter().filter_map(|row| row.1).collect();
            values.sort_unstable();
            let often = |value: &i64| values.iter().filter(|other| *other == value).count();
            let mode = values
                .iter()
                .rev()
                .max_by_key(|value| often(value))
                .copied();
            let middle = |at: usize| values.get(at).copied();
            let twice = middle(values.len() / 2)
                .zip(middle(values.len().saturating_sub(1) / 2))
                .map(|(one, other)| one + other);
            let first = values.last().copied();
            let group = part
                .first()
                .filter(|_| self.partitioned)
                .and_then(|row| row.0);
            (group, [Some(part.len() as i64), twice, mode, first])
        });
        let mut shown: Vec<Grouped> = shown.collect();
        shown.sort_unstable();
        shown
    }
}

fn query(text: &str) -> Query {
    Query::from_json(text).unwrap()
}

fn batch(rows: &[Row]) -> RecordBatch {
    let column = |of: fn(&Row) -> Option<i64>| {
        Arc::new(Int64Array::from(rows.iter().map(of).collect::<Vec<_>>())) as ArrayRef
    };
    let columns = [
        ("g", column(|row| row.0), true),
        ("x", column(|row| row.1), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn apply(db: &mut Database, changes: &[(Direction, Vec<Row>)]) -> ringview_core::Result<()> {
    let batches: Vec<RecordBatch> = changes.iter().map(|(_, rows)| batch(rows)).collect();
    let ops = changes
        .iter()
        .zip(&batches)
        .map(|((direction, _), batch)| Op {
            table: "t",
            direction: *direction,
            rows: std::slice::from_ref(batch),
            multiplicity: None,
        });
    db.apply(&ops.collect::<Vec<_>>(), &mut |_| Ok(()))
}

fn column(batch: &RecordBatch, name: &str) -> Vec<Option<i64>> {
    let column = batch.column_by_name(name).unwrap();
    let whole = |value: i128| i64::try_from(value).unwrap();
    match column.as_primitive_opt::<Decimal128Type>() {
        Some(column) => column.iter().map(|value| value.map(whole)).collect(),
        None => column.as_primitive::<Int64Type>().iter().collect(),
    }
}

/// A median, times two.
fn doubled(batch: &RecordBatch, name: &str) -> Vec<Option<i64>> {
    let column = batch.column_by_name(name).unwrap();
    let column = column.as_primitive::<arrow_array::types::Float64Type>();
    column
        .iter()
        .map(|value| value.map(|value| (value * 2.0) as i64))
        .collect()
}

fn windowed(batch: &RecordBatch) -> Vec<Windowed> {
    let columns = ["n", "r", "l", "s", "m"].map(|name| match batch.column_by_name(name) {
        Some(_) => column(batch, name),
        None => vec![None; batch.num_rows()],
    });
    let (g, x) = (column(batch, "g"), column(batch, "x"));
    let row = |at: usize| ((g[at], x[at]), columns.each_ref().map(|column| column[at]));
    let mut rows: Vec<Windowed> = (0..batch.num_rows()).map(row).collect();
    rows.sort_unstable();
    rows
}

fn grouped(batch: &RecordBatch, shape: &QueryShape) -> Vec<Grouped> {
    let columns = [
        column(batch, "n"),
        doubled(batch, "d"),
        column(batch, "m"),
        column(batch, "f"),
    ];
    let group = shape.partitioned.then(|| column(batch, "g"));
    let row = |at: usize| {
        let group = group.as_ref().and_then(|group| group[at]);
        (group, columns.each_ref().map(|column| column[at]))
    };
    let mut rows: Vec<Grouped> = (0..batch.num_rows()).map(row).collect();
    rows.sort_unstable();
    rows
}

fn database(way: Options) -> Database {
    let mut db = Database::new(way);
    let field = |name| Field::new(name, Type::Int64, true);
    let schema = Schema::new(vec![field("g"), field("x")]).unwrap();
    db.create_table("t", schema, None, false).unwrap();
    db
}

/// The rows of a block as a view reads them: a listing of some of its columns.
fn listed(block: &Query, columns: &[&str]) -> Query {
    let mut block = block.clone();
    let blocks = std::mem::take(&mut block.blocks);
    assert!(blocks.is_empty());
    let column = |name: &&str| format!(r#"{{"atom": 0, "column": "{name}"}}"#);
    let group_by: Vec<String> = columns.iter().map(column).collect();
    let output = |name: &&str| {
        format!(
            r#"{{"kind": "group", "name": "{name}", "column": {}}}"#,
            column(name)
        )
    };
    let outputs: Vec<String> = columns.iter().map(output).collect();
    query(&format!(
        r#"{{"blocks": [{{"name": "b", "query": {}}}], "atoms": [{{"table": "b", "alias": "b"}}], "bag": {{}},
        "group_by": [{}], "outputs": [{}]}}"#,
        block.to_json().unwrap(),
        group_by.join(", "),
        outputs.join(", ")
    ))
}

fn shapes() -> impl Strategy<Value = QueryShape> {
    (any::<[bool; 3]>(), (0..3u64, 0..3u64)).prop_map(
        |([partitioned, descending, nulls_first], frame)| QueryShape {
            partitioned,
            descending,
            nulls_first,
            frame,
        },
    )
}

fn rows(most: usize, values: i64) -> impl Strategy<Value = Vec<Row>> {
    let value = |to: i64| prop_oneof![1 => Just(None), 4 => (0..to).prop_map(Some)];
    vec((value(4), value(values)), 0..most)
}

proptest! {
    #[test]
    fn partitions_show_their_functions(
        shape in shapes(),
        early in rows(6, 4),
        many in rows(50, 20),
        way in ways(),
        batches in vec((rows(6, 20), vec(any::<prop::sample::Index>(), 0..4), any::<bool>()), 1..6),
    ) {
        let mut db = database(way);
        let mut held = [early, many].concat();
        apply(&mut db, &[(Direction::Insert, held.clone())]).unwrap();
        let (windows, near, groups) = (shape.windows(true), shape.windows(false), shape.groups());
        let key: &[&str] = if shape.partitioned { &["g"] } else { &[] };
        for (name, query) in [
            ("w", windows.clone()),
            ("g", groups.clone()),
            // The same over its deltas.
            ("v", listed(&windows, &["g", "x", "n", "r", "l", "s", "m"])),
            ("f", near.clone()),
            ("l", listed(&near, &["g", "x", "l", "s", "m"])),
            ("h", listed(&groups, &[key, &["n", "d", "m", "f"]].concat())),
        ] {
            db.create_view(name, &query, &mut |_| Ok(())).unwrap();
        }
        for (come, gone, fails) in batches {
            let mut next = held.clone();
            let mut left: Vec<Row> = Vec::new();
            for at in gone.iter().take(held.len()) {
                left.push(next.swap_remove(at.index(next.len())));
            }
            next.extend(&come);
            let mut changes = vec![(Direction::Delete, left), (Direction::Insert, come)];
            if fails {
                changes.push((Direction::Delete, vec![(Some(99), Some(99))]));
                let is_refused = matches!(apply(&mut db, &changes), Err(Error::OverDelete { .. }));
                prop_assert!(is_refused);
            } else {
                apply(&mut db, &changes).unwrap();
                held = next;
            }
            for name in ["w", "v"] {
                let found = windowed(&db.view_result(name).unwrap());
                prop_assert_eq!(found, shape.windowed(&held), "{}", name);
            }
            for name in ["f", "l"] {
                let found = windowed(&db.view_result(name).unwrap());
                let mut near: Vec<Windowed> = shape.windowed(&held);
                near.iter_mut().for_each(|(_, values)| values[..2].fill(None));
                near.sort_unstable();
                prop_assert_eq!(found, near, "{}", name);
            }
            for name in ["g", "h"] {
                let found = grouped(&db.view_result(name).unwrap(), &shape);
                prop_assert_eq!(found, shape.grouped(&held), "{}", name);
            }
            db.check();
        }
    }
}

#[test]
fn a_change_costs_the_rows_that_look_at_it() {
    let shape = QueryShape {
        partitioned: false,
        descending: false,
        nulls_first: false,
        frame: (3, 1),
    };
    let mut db = database(Options::default());
    let row = |x: i64| (None, Some(x));
    apply(
        &mut db,
        &[(Direction::Insert, (0..5_000).map(row).collect())],
    )
    .unwrap();
    let near = shape.windows(false);
    db.create_view("f", &near, &mut |_| Ok(())).unwrap();
    db.create_view("l", &listed(&near, &["x", "l", "s", "m"]), &mut |_| Ok(()))
        .unwrap();
    for x in [2_500, 0, 4_999, 7_000] {
        let before = db.view_steps("f").unwrap();
        apply(&mut db, &[(Direction::Insert, vec![row(x)])]).unwrap();
        apply(&mut db, &[(Direction::Delete, vec![row(x)])]).unwrap();
        // An inserted row is read, with the rows around it as they were and as they are; so is a deleted one. The
        // search tree of 5,000 rows has three levels of nodes, in which five entries are compared at most.
        let most = 2 * (1 + (4 + 1 + 4) + (4 + 2 + 4) + 3 * (1 + 5));
        assert!(db.view_steps("f").unwrap() - before <= most);
    }
    let explained = db.view_explanation("f").unwrap().engine.because;
    assert!(explained.contains("4 rows before"), "{explained}");
}

#[test]
fn a_function_that_fails_undoes_the_transaction() {
    let mut db = Database::new(Options::default());
    let ty = Type::Decimal {
        precision: 38,
        scale: 0,
    };
    let schema = Schema::new(vec![Field::new("x", ty, true)]).unwrap();
    db.create_table("t", schema, None, false).unwrap();
    let sum = query(
        r#"{"atoms": [{"table": "t", "alias": "t"}], "outputs": [], "rows": {"kind": "parted", "names": [],
        "grouped": true, "calls": [{"name": "s", "function": "sum", "arguments": ["x"]}]}}"#,
    );
    db.create_view("v", &sum, &mut |_| Ok(())).unwrap();
    let mut add = |values: Vec<i128>| {
        let values = arrow_array::Decimal128Array::from(values);
        let values = values.with_precision_and_scale(38, 0).unwrap();
        let rows = RecordBatch::try_from_iter([("x", Arc::new(values) as ArrayRef)]).unwrap();
        let op = Op {
            table: "t",
            direction: Direction::Insert,
            rows: std::slice::from_ref(&rows),
            multiplicity: None,
        };
        let done = db.apply(&[op], &mut |_| Ok(()));
        db.check();
        let shown = db.view_result("v").unwrap();
        (
            done,
            shown.column(0).as_primitive::<Decimal128Type>().value(0),
        )
    };
    let large = 6 * 10i128.pow(37);
    assert_eq!(add(vec![large]).1, large);
    let (done, shown) = add(vec![1, large]);
    assert!(matches!(done, Err(Error::Overflow { .. })), "{done:?}");
    assert_eq!(shown, large);
    assert_eq!(add(vec![1]).1, large + 1);
}

#[test]
fn functions_that_do_not_fit_are_refused() {
    let mut db = database(Options::default());
    for (calls, words) in [
        (
            r#"{"name": "a", "function": "array_sum", "arguments": ["x"]}"#,
            "array_sum",
        ),
        (
            r#"{"name": "a", "function": "sum", "arguments": ["y"]}"#,
            "no column \"y\"",
        ),
        (
            r#"{"name": "a", "function": "quantile", "arguments": ["x"], "constants": ["2"]}"#,
            "from 0 to 1",
        ),
        (
            r#"{"name": "a", "function": "string_agg", "arguments": ["x"], "constants": ["g"]}"#,
            "g",
        ),
        (
            r#"{"name": "x", "function": "ntile", "constants": ["0"]}"#,
            "from 1",
        ),
    ] {
        let text = format!(
            r#"{{"atoms": [{{"table": "t", "alias": "t"}}], "outputs": [], "rows": {{"kind": "parted", "names": [],
            "grouped": true, "calls": [{calls}]}}}}"#
        );
        let refused = db
            .create_view("v", &query(&text), &mut |_| Ok(()))
            .unwrap_err();
        assert!(refused.to_string().contains(words), "{refused}");
    }
    let shape = query(
        r#"{"atoms": [{"table": "t", "alias": "t"}], "outputs": [], "rows": {"kind": "parted", "names": ["x"],
        "calls": [{"name": "n", "function": "row_number"}]}}"#,
    );
    let refused = db.create_view("v", &shape, &mut |_| Ok(())).unwrap_err();
    assert!(refused.to_string().contains("over a frame"), "{refused}");
    assert!(db.views().is_empty());
}
