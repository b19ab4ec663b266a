//! Random changes by key, and net transactions, with failures in the middle, against ordered maps.
//!
//! The views are compared with those of a database that was filled with the rows of the map.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use proptest::collection::vec;
use proptest::prelude::*;
use ringview_core::{Error, Field, Result, Schema, Type};
use ringview_engine::{ByKey, Change, Database, Direction, Keyed, Op, Options};
use ringview_query::Query;

use crate::common::ways;

/// Key, group, value.
type Row = (i64, Option<i64>, Option<i64>);
type Model = BTreeMap<i64, (Option<i64>, Option<i64>)>;

fn aggregate(name: &str, function: &str, argument: &str) -> String {
    format!(
        r#"{{"kind": "aggregate", "name": "{name}", "function": "{function}", "argument": {argument}}}"#
    )
}

fn views() -> Vec<Query> {
    let x = r#""\"0\".\"x\"""#;
    let group = r#"{"kind": "group", "name": "g", "column": {"atom": 0, "column": "g"}}"#;
    let by_g = r#""group_by": [{"atom": 0, "column": "g"}]"#;
    let alone = r#""atoms": [{"table": "t", "alias": "t"}]"#;
    let joined = r#""atoms": [{"table": "t", "alias": "t"}, {"table": "s", "alias": "s"}],
        "joins": [[{"atom": 0, "column": "g"}, {"atom": 1, "column": "g"}]]"#;
    let (n, sum) = (aggregate("n", "count", "null"), aggregate("x", "sum", x));
    let (least, most) = (aggregate("least", "min", x), aggregate("most", "max", x));
    let several = aggregate("several", "count_distinct", x);
    [
        format!(r#"{{{alone}, "outputs": [{n}, {sum}]}}"#),
        format!(r#"{{{joined}, {by_g}, "outputs": [{group}, {n}, {sum}, {least}]}}"#),
        format!(r#"{{{alone}, {by_g}, "outputs": [{group}, {most}, {several}]}}"#),
    ]
    .iter()
    .map(|text| Query::from_json(text).unwrap())
    .collect()
}

fn database(way: Options, keyed: bool) -> Database {
    let mut db = Database::new(way);
    let field = |name| Field::new(name, Type::Int64, true);
    let columns = |names: &[&'static str]| {
        Schema::new(names.iter().map(|&name| field(name)).collect()).unwrap()
    };
    let key = ["id".to_owned()];
    db.create_table(
        "t",
        columns(&["id", "g", "x"]),
        keyed.then_some(&key),
        false,
    )
    .unwrap();
    db.create_table("s", columns(&["g"]), None, false).unwrap();
    let few = ints(&[("g", vec![Some(0), Some(1), Some(1)])]);
    db.apply(&[plain("s", Direction::Insert, &[few])], &mut |_| Ok(()))
        .unwrap();
    for (index, query) in views().iter().enumerate() {
        db.create_view(&format!("v{index}"), query, &mut |_| Ok(()))
            .unwrap();
    }
    db
}

fn ints(columns: &[(&str, Vec<Option<i64>>)]) -> RecordBatch {
    let array = |values: &Vec<Option<i64>>| Arc::new(Int64Array::from(values.clone())) as ArrayRef;
    let columns = columns.iter().map(|(name, values)| (*name, array(values)));
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
        .unwrap()
}

fn plain<'a>(table: &'a str, direction: Direction, rows: &'a [RecordBatch]) -> Op<'a> {
    Op {
        table,
        direction,
        rows,
        multiplicity: None,
    }
}

/// The columns that `which` lists.
fn batch(rows: &[Row], which: &str) -> RecordBatch {
    let mut columns = Vec::new();
    for name in which.split(' ') {
        columns.push(match name {
            "id" => (name, rows.iter().map(|row| Some(row.0)).collect()),
            "g" => (name, rows.iter().map(|row| row.1).collect()),
            _ => (name, rows.iter().map(|row| row.2).collect()),
        });
    }
    ints(&columns)
}

/// All rows of a view, sorted, as text.
fn rows_of(db: &Database, view: usize) -> Vec<String> {
    let result = db.view_result(&format!("v{view}")).unwrap();
    let mut rows: Vec<String> = (0..result.num_rows())
        .map(|row| {
            let cell = |column: &ArrayRef| format!("{:?}", column.slice(row, 1));
            result.columns().iter().map(cell).collect()
        })
        .collect();
    rows.sort();
    rows
}

fn check(db: &Database, rows: &[Row], keyed: bool) {
    let mut fresh = database(Options::default(), keyed);
    let all = batch(rows, "id g x");
    fresh
        .apply(&[plain("t", Direction::Insert, &[all])], &mut |_| Ok(()))
        .unwrap();
    assert_eq!(db.table("t").unwrap().rows, rows.len() as u64);
    for view in 0..views().len() {
        assert_eq!(rows_of(db, view), rows_of(&fresh, view), "view {view}");
    }
}

#[derive(Clone, Debug)]
enum Step {
    Insert(Vec<Row>),
    Delete(Vec<Row>),
    Upsert(Vec<Row>),
    Update(Vec<Row>),
    /// Of one column alone.
    UpdateX(Vec<Row>),
    DeleteKeys(Vec<Row>),
    Cdc(Vec<(Row, &'static str)>),
}

const OPERATIONS: [&str; 12] = [
    "insert", "I", "+I", "c", "update", "U", "+U", "r", "delete", "D", "-U", "d",
];

fn row() -> impl Strategy<Value = Row> {
    let small = || prop::option::weighted(0.9, 0..3_i64);
    (0..6_i64, small(), small())
}

fn step() -> impl Strategy<Value = Step> {
    let rows = || vec(row(), 0..4);
    prop_oneof![
        2 => rows().prop_map(Step::Insert),
        1 => rows().prop_map(Step::Delete),
        4 => rows().prop_map(Step::Upsert),
        1 => vec(row(), 0..2).prop_map(Step::Update),
        1 => vec(row(), 0..2).prop_map(Step::UpdateX),
        1 => vec(row(), 0..2).prop_map(Step::DeleteKeys),
        3 => vec((row(), prop::sample::select(&OPERATIONS[..])), 0..4).prop_map(Step::Cdc),
    ]
}

#[derive(Debug, PartialEq)]
enum Wrong {
    Duplicate,
    OverDelete,
    UnknownKey,
}

fn one(held: &mut Model, word: &str, row: &Row) -> std::result::Result<(), Wrong> {
    let known = held.contains_key(&row.0);
    match word {
        "insert" | "I" | "+I" | "c" if known => return Err(Wrong::Duplicate),
        "update" | "U" if !known => return Err(Wrong::UnknownKey),
        "delete" | "D" | "-U" | "d" => {
            return held.remove(&row.0).map(drop).ok_or(Wrong::OverDelete);
        }
        _ => {}
    }
    held.insert(row.0, (row.1, row.2));
    Ok(())
}

fn model(held: &mut Model, step: &Step) -> std::result::Result<(), Wrong> {
    match step {
        Step::Insert(rows) => rows.iter().try_for_each(|row| one(held, "insert", row)),
        Step::Upsert(rows) => rows.iter().try_for_each(|row| one(held, "r", row)),
        Step::Update(rows) => rows.iter().try_for_each(|row| one(held, "update", row)),
        Step::DeleteKeys(rows) => rows.iter().try_for_each(|row| one(held, "delete", row)),
        Step::Cdc(rows) => rows.iter().try_for_each(|(row, word)| one(held, word, row)),
        Step::UpdateX(rows) => rows.iter().try_for_each(|row| {
            let g = held.get(&row.0).and_then(|held| held.0);
            one(held, "update", &(row.0, g, row.2))
        }),
        Step::Delete(rows) => rows.iter().try_for_each(|row| match held.get(&row.0) {
            Some(&values) if values == (row.1, row.2) => one(held, "delete", row),
            _ => Err(Wrong::OverDelete),
        }),
    }
}

fn rows_in(step: &Step) -> RecordBatch {
    match step {
        Step::Insert(rows) | Step::Delete(rows) | Step::Upsert(rows) | Step::Update(rows) => {
            batch(rows, "id g x")
        }
        Step::UpdateX(rows) => batch(rows, "x id"),
        Step::DeleteKeys(rows) => batch(rows, "id"),
        Step::Cdc(rows) => {
            let (rows, words): (Vec<Row>, Vec<&str>) = rows.iter().copied().unzip();
            let mut columns: Vec<(String, ArrayRef)> = vec![(
                "what".to_owned(),
                Arc::new(StringArray::from(words)) as ArrayRef,
            )];
            let rest = batch(&rows, "g x id");
            for (field, array) in rest.schema().fields().iter().zip(rest.columns()) {
                columns.push((field.name().clone(), array.clone()));
            }
            let columns = columns.into_iter().map(|(name, array)| (name, array, true));
            RecordBatch::try_from_iter_with_nullable(columns).unwrap()
        }
    }
}

fn change<'a>(step: &Step, rows: &'a [RecordBatch]) -> Change<'a> {
    let by = match step {
        Step::Insert(_) => return plain("t", Direction::Insert, rows).into(),
        Step::Delete(_) | Step::DeleteKeys(_) => {
            return plain("t", Direction::Delete, rows).into();
        }
        Step::Upsert(_) => ByKey::Upsert,
        Step::Update(_) | Step::UpdateX(_) => ByKey::Update,
        Step::Cdc(_) => ByKey::Cdc("what"),
    };
    Change::Keyed(Keyed {
        table: "t",
        by,
        rows,
    })
}

fn apply(db: &mut Database, steps: &[Step], stop_at: Option<usize>) -> Result<()> {
    let batches: Vec<[RecordBatch; 1]> = steps.iter().map(|step| [rows_in(step)]).collect();
    let changes = steps.iter().zip(&batches);
    let changes: Vec<Change<'_>> = changes.map(|(step, rows)| change(step, rows)).collect();
    let mut polls = 0;
    db.apply(&changes, &mut |_| {
        polls += 1;
        if stop_at == Some(polls) {
            return Err(Error::Interrupted);
        }
        Ok(())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn changes_by_key_equal_those_of_a_map(
        way in ways(),
        transactions in vec((vec(step(), 1..4), prop::option::weighted(0.1, 1..4_usize)), 1..12),
    ) {
        let mut db = database(way, true);
        let mut held = Model::new();
        for (steps, stop_at) in transactions {
            let mut next = held.clone();
            let expected = steps.iter().try_for_each(|step| model(&mut next, step));
            match (apply(&mut db, &steps, stop_at), expected) {
                (Ok(()), Ok(())) => held = next,
                (Err(Error::Interrupted), _) => prop_assert!(stop_at.is_some()),
                (Err(Error::Duplicate { .. }), Err(Wrong::Duplicate))
                | (Err(Error::OverDelete { .. }), Err(Wrong::OverDelete))
                | (Err(Error::UnknownKey { .. }), Err(Wrong::UnknownKey)) => {}
                (found, expected) => prop_assert!(false, "{found:?}, not {expected:?}"),
            }
            let rows: Vec<Row> = held.iter().map(|(&id, &(g, x))| (id, g, x)).collect();
            check(&db, &rows, true);
        }
    }

    #[test]
    fn the_net_effect_of_a_transaction_counts(
        keyed in any::<bool>(),
        way in ways(),
        transactions in vec(
            (vec((any::<bool>(), vec(row(), 0..5)), 1..5), prop::option::weighted(0.1, 1..4_usize)),
            1..10,
        ),
    ) {
        let mut db = database(way, keyed);
        let mut held: BTreeMap<Row, i64> = BTreeMap::new();
        for (steps, stop_at) in transactions {
            let batches: Vec<[RecordBatch; 1]> =
                steps.iter().map(|(_, rows)| [batch(rows, "id g x")]).collect();
            let direction = |insert| if insert { Direction::Insert } else { Direction::Delete };
            let ops: Vec<Op<'_>> = steps.iter().zip(&batches)
                .map(|(step, rows)| plain("t", direction(step.0), rows))
                .collect();
            let mut next = held.clone();
            for (insert, rows) in &steps {
                for row in rows {
                    *next.entry(*row).or_default() += if *insert { 1 } else { -1 };
                }
            }
            next.retain(|_, count| *count != 0);
            let too_few = next.values().any(|&count| count < 0);
            let mut ids: Vec<i64> = next.keys().map(|row| row.0).collect();
            ids.dedup();
            let clash = keyed && (ids.len() < next.len() || next.values().any(|&count| count > 1));
            let mut polls = 0;
            let done = db.apply_net(&ops, &mut |_| {
                polls += 1;
                if stop_at == Some(polls) { Err(Error::Interrupted) } else { Ok(()) }
            });
            match done {
                Ok(()) => {
                    prop_assert!(!too_few && !clash);
                    held = next;
                }
                Err(Error::Interrupted) => prop_assert!(stop_at.is_some()),
                Err(Error::OverDelete { .. }) => prop_assert!(too_few),
                Err(Error::Duplicate { .. }) => prop_assert!(clash && !too_few),
                Err(other) => prop_assert!(false, "{other}"),
            }
            let rows: Vec<Row> = held.iter()
                .flat_map(|(row, &count)| (0..count).map(|_| *row))
                .collect();
            check(&db, &rows, keyed);
        }
    }
}
