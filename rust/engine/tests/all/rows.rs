//! Blocks that work row by row: an order with numbers of each kind, projections, and differences of Z-sets, over
//! random transactions some of which fail, against sorted lists.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use proptest::collection::vec;
use proptest::prelude::*;
use ringview_core::{Error, Field, Schema, Type};
use ringview_engine::{Database, Direction, Op, Options};
use ringview_query::Query;

use crate::common::ways;

/// Partition and value.
type Row = (Option<i64>, Option<i64>);

#[derive(Clone, Debug)]
struct Window {
    rank: &'static str,
    partitioned: bool,
    descending: bool,
    nulls_first: bool,
    skip: u64,
    keep: Option<u64>,
}

impl Window {
    fn query(&self) -> Query {
        let partition = if self.partitioned { r#"["g"]"# } else { "[]" };
        let keep = self.keep.map_or("null".to_owned(), |keep| keep.to_string());
        let order = format!(
            r#"[{{"column": "x", "descending": {}, "nulls_first": {}}}]"#,
            self.descending, self.nulls_first
        );
        query(&format!(
            r#"{{"atoms": [{{"table": "t", "alias": "t"}}], "outputs": [], "rows": {{"kind": "ordered",
            "names": ["g", "x"], "partition": {partition}, "order": {order}, "rank": "{}",
            "skip": {}, "keep": {keep}}}}}"#,
            self.rank, self.skip
        ))
    }

    /// Outputs of some rows, in no order.
    fn shown(&self, rows: &[Row]) -> Vec<Row> {
        // NULL where the order has it, then values in their direction.
        let place = |value: Option<i64>| match value {
            None => (if self.nulls_first { 0 } else { 2 }, 0),
            Some(value) => (1, if self.descending { -value } else { value }),
        };
        let part = |row: &Row| self.partitioned.then_some(row.0);
        let mut sorted = rows.to_vec();
        sorted.sort_by_key(|row| (part(row), place(row.1), row.0));
        let mut shown = Vec::new();
        for (at, row) in sorted.iter().enumerate() {
            let before = sorted[..at].iter().filter(|other| part(other) == part(row));
            let smaller = before.clone().filter(|other| other.1 != row.1);
            let number = match self.rank {
                "row_number" => before.count(),
                "rank" => smaller.count(),
                _ => {
                    let mut values: Vec<_> = smaller.map(|other| other.1).collect();
                    values.sort_unstable();
                    values.dedup();
                    values.len()
                }
            } as u64;
            let is_kept = self.keep.is_none_or(|keep| number < self.skip + keep);
            if number >= self.skip && is_kept {
                shown.push(*row);
            }
        }
        shown.sort_unstable();
        shown
    }
}

fn query(text: &str) -> Query {
    Query::from_json(text).unwrap()
}

/// Twice the values above 1, and those of the other rows taken from all rows: as two branches.
fn maps() -> [Query; 2] {
    let listing = |block: &str, columns: &str| {
        format!(
            r#"{{"blocks": [{{"name": "b", "query": {block}}}],
            "atoms": [{{"table": "b", "alias": "b"}}], "bag": {{}},
            "group_by": [{columns}], "outputs": [{{"kind": "group", "name": "y", "column": {columns}}}]}}"#
        )
    };
    let y = r#"{"atom": 0, "column": "y"}"#;
    let t = r#"{"table": "t", "alias": "t"}"#;
    let doubled = format!(
        r#"{{"atoms": [{t}], "outputs": [], "rows": {{"kind": "map", "names": ["y"],
        "branches": [{{"filter": "\"x\" > 1", "columns": ["\"x\" * 2"]}}]}}}}"#
    );
    let difference = format!(
        r#"{{"atoms": [{t}, {{"table": "t", "alias": "u"}}], "outputs": [],
        "rows": {{"kind": "map", "names": ["y"], "branches": [
            {{"columns": ["\"x\""]}}, {{"filter": "\"x\" > 1", "columns": ["\"x\""], "minus": true}}]}}}}"#
    );
    [
        query(&listing(&doubled, y)),
        query(&listing(&difference, y)),
    ]
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

fn column(batch: &RecordBatch, at: usize) -> Vec<Option<i64>> {
    let array = batch
        .column(at)
        .as_any()
        .downcast_ref::<Int64Array>()
        .unwrap();
    array.iter().collect()
}

fn rows_of(db: &Database, view: &str) -> Vec<Row> {
    let found = db.view_result(view).unwrap();
    column(&found, 0)
        .into_iter()
        .zip(column(&found, 1))
        .collect()
}

fn database(way: Options) -> Database {
    let mut db = Database::new(way);
    let field = |name| Field::new(name, Type::Int64, true);
    db.create_table(
        "t",
        Schema::new(vec![field("g"), field("x")]).unwrap(),
        None,
        false,
    )
    .unwrap();
    db
}

fn window() -> impl Strategy<Value = Window> {
    let ranks = prop_oneof![Just("row_number"), Just("rank"), Just("dense_rank")];
    let keep = prop_oneof![Just(None), (0..4u64).prop_map(Some)];
    (ranks, any::<[bool; 3]>(), 0..3u64, keep).prop_map(
        |(rank, [partitioned, descending, nulls_first], skip, keep)| Window {
            rank,
            partitioned,
            descending,
            nulls_first,
            skip,
            keep,
        },
    )
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let value = || prop_oneof![1 => Just(None), 4 => (0..4i64).prop_map(Some)];
    vec((value(), value()), 0..6)
}

proptest! {
    #[test]
    fn an_order_shows_its_first_rows(
        window in window(),
        early in rows(),
        way in ways(),
        batches in vec((rows(), vec(any::<prop::sample::Index>(), 0..4), any::<bool>()), 1..6),
    ) {
        let mut db = database(way);
        let mut held = early;
        apply(&mut db, &[(Direction::Insert, held.clone())]).unwrap();
        db.create_view("w", &window.query(), &mut |_| Ok(())).unwrap();
        for (at, query) in maps().iter().enumerate() {
            db.create_view(&format!("m{at}"), query, &mut |_| Ok(())).unwrap();
        }
        for (come, gone, fails) in batches {
            let mut next = held.clone();
            let gone: Vec<Row> = gone
                .iter()
                .map_while(|at| {
                    let number = next.len().checked_sub(1)?;
                    Some(next.swap_remove(at.index(number + 1)))
                })
                .collect();
            next.extend(&come);
            let mut changes = vec![(Direction::Delete, gone), (Direction::Insert, come)];
            if fails {
                changes.push((Direction::Delete, vec![(Some(99), Some(99))]));
                let is_refused = matches!(apply(&mut db, &changes), Err(Error::OverDelete { .. }));
                prop_assert!(is_refused);
            } else {
                apply(&mut db, &changes).unwrap();
                held = next;
            }
            let mut found = rows_of(&db, "w");
            let place = |row: &Row| {
                let value = row.1.map(|x| if window.descending { -x } else { x });
                (window.partitioned.then_some(row.0), value.is_none() != window.nulls_first, value)
            };
            prop_assert!(found.is_sorted_by_key(place), "{found:?}");
            found.sort_unstable();
            prop_assert_eq!(found, window.shown(&held));
            let all = || held.iter().filter_map(|row| row.1);
            let mut doubled: Vec<Option<i64>> = all().filter(|&x| x > 1).map(|x| Some(x * 2)).collect();
            let mut rest: Vec<Option<i64>> = held.iter().map(|row| row.1).collect();
            rest.retain(|x| x.is_none_or(|x| x <= 1));
            for (view, expected) in [("m0", &mut doubled), ("m1", &mut rest)] {
                let mut found = column(&db.view_result(view).unwrap(), 0);
                found.sort_unstable();
                expected.sort_unstable();
                prop_assert_eq!(&found, expected);
            }
            db.check();
        }
    }
}

#[test]
fn a_row_that_cannot_be_computed_undoes_the_transaction() {
    let mut db = database(Options::default());
    let [doubled, _] = maps();
    db.create_view("m", &doubled, &mut |_| Ok(())).unwrap();
    apply(&mut db, &[(Direction::Insert, vec![(None, Some(3))])]).unwrap();
    let far = apply(
        &mut db,
        &[(
            Direction::Insert,
            vec![(None, Some(5)), (None, Some(i64::MAX))],
        )],
    );
    assert!(matches!(far, Err(Error::Overflow { .. })), "{far:?}");
    assert_eq!(column(&db.view_result("m").unwrap(), 0), [Some(6)]);
    db.check();
}

#[test]
fn bad_shapes_are_refused() {
    let mut db = database(Options::default());
    for (text, words) in [
        (
            r#""kind": "ordered", "names": ["y"], "order": []"#,
            "no column \"y\"",
        ),
        (
            r#""kind": "map", "names": ["y"], "branches": []"#,
            "a branch",
        ),
        (
            r#""kind": "map", "names": ["y"], "branches": [{"columns": ["1", "2"]}]"#,
            "a column for each name",
        ),
    ] {
        let text = format!(
            r#"{{"atoms": [{{"table": "t", "alias": "t"}}], "outputs": [], "rows": {{{text}}}}}"#
        );
        let refused = db
            .create_view("v", &query(&text), &mut |_| Ok(()))
            .unwrap_err();
        assert!(refused.to_string().contains(words), "{refused}");
    }
    let [doubled, _] = maps();
    let refused = db.create_view_with("v", &doubled, Some("epsilon"), &mut |_| Ok(()));
    assert!(refused.is_err());
    assert!(db.views().is_empty());
}
