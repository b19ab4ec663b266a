//! Operations on a database whose disk fails.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int64Type};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use ringview_core::{Field, Result, Schema, Type};
use ringview_engine::{Alteration, Change, Direction, Op, Options, Poll};
use ringview_query::Query;

use crate::disk::Disk;
use crate::disk::simulated::Simulated;
use crate::file::File;
use crate::{BatchId, Durability, DurableDatabase, Opening, ViewDefinition};

/// Opens the database of a disk, or makes one. Written anew as soon as the log is what a snapshot is.
pub(super) fn open_as(disk: &Simulated, durability: Durability) -> Result<DurableDatabase> {
    let file = File::on(Disk::on(disk.clone()), Path::new("simulated"), false, None)?;
    let opening = Opening {
        durability,
        compact_at: Some(1.0),
        ..Opening::default()
    };
    DurableDatabase::from_file(file, Options::default(), opening, &mut |_| Ok(()))
}

pub(super) fn open(disk: &Simulated) -> Result<DurableDatabase> {
    open_as(disk, Durability::Transaction)
}

pub(super) fn define(db: &mut DurableDatabase) {
    let columns = ["a", "b"].map(|name| Field::new(name, Type::Int64, true));
    let schema = Schema::new(columns.to_vec()).unwrap();
    db.create_table("r", schema, None, false).unwrap();
    db.create_view(view(), &mut |_| Ok(())).unwrap();
}

pub(super) fn view() -> ViewDefinition {
    let query = r#"{"atoms": [{"table": "r", "alias": "r"}],
        "group_by": [{"atom": 0, "column": "a"}],
        "outputs": [{"kind": "group", "name": "a", "column": {"atom": 0, "column": "a"}},
            {"kind": "aggregate", "name": "b", "function": "sum",
                "argument": "\"0\".\"b\""}]}"#;
    ViewDefinition {
        name: "v".to_owned(),
        query: Query::from_json(query).unwrap(),
        text: None,
        environment: None,
        engine: None,
        sample: None,
        suspends: false,
    }
}

/// A transaction that changes rows and definitions, known by its number.
pub(super) fn migrate(db: &mut DurableDatabase, number: i64) -> Result<()> {
    let poll: Poll<'_> = &mut |_| Ok(());
    let mut draft = db.draft(&[], &mut *poll)?;
    change(&mut draft, number, 30, Direction::Insert)?;
    let added = Alteration::AddColumn(Field::new(format!("c{number}"), Type::Int64, true));
    draft.alter_table("r", &added, None, &mut *poll)?;
    draft.alter_table(
        "r",
        &Alteration::DropColumn(format!("c{number}")),
        None,
        &mut *poll,
    )?;
    draft.drop_view("v")?;
    draft.create_view(view(), &mut *poll)?;
    let schema = Schema::new(vec![Field::new("a", Type::Int64, true)])?;
    draft.create_table(&format!("t{number}"), schema, None, false)?;
    db.commit_draft(&draft, poll)
}

/// A transaction of so many rows that are known by its number.
pub(super) fn change(
    db: &mut DurableDatabase,
    number: i64,
    rows: i64,
    direction: Direction,
) -> Result<bool> {
    let a: ArrayRef = Arc::new(Int64Array::from_iter_values((0..rows).map(|row| row % 3)));
    let b: ArrayRef = Arc::new(Int64Array::from_iter_values(
        (0..rows).map(|row| number * 1000 + row / 40),
    ));
    let rows = RecordBatch::try_from_iter([("a", a), ("b", b)]).unwrap();
    let id = (direction == Direction::Insert).then_some(BatchId::Number(number));
    let change = Change::Rows(Op {
        table: "r",
        direction,
        rows: std::slice::from_ref(&rows),
        multiplicity: None,
    });
    db.apply(&[change], (false, id), &mut |_| Ok(()))
}

/// An integer, or a sum of some.
pub(super) fn integer(column: &ArrayRef, row: usize) -> i64 {
    match column.as_primitive_opt::<Decimal128Type>() {
        Some(sums) => i64::try_from(sums.value(row)).unwrap(),
        None => column.as_primitive::<Int64Type>().value(row),
    }
}

/// Rows of integers, each once with the sum of its last column.
pub(super) fn bag(rows: &RecordBatch) -> BTreeMap<Vec<i64>, i64> {
    let mut bag = BTreeMap::new();
    for row in 0..rows.num_rows() {
        let columns = rows.columns().iter();
        let mut values: Vec<i64> = columns.map(|column| integer(column, row)).collect();
        let last = values.pop().unwrap_or_default();
        *bag.entry(values).or_default() += last;
    }
    bag
}

/// Everything that it holds, in a fixed order.
pub(super) fn contents(db: &DurableDatabase) -> String {
    let tables = db.tables();
    let rows = |name: &String| bag(&db.table_rows(name, Some("times")).unwrap());
    let rows: Vec<_> = tables.iter().map(rows).collect();
    let shown = |name: &String| bag(&db.view_result(name).unwrap());
    let views: Vec<_> = db.views().iter().map(shown).collect();
    let ids = (0..140).filter(|&n| db.is_applied(&BatchId::Number(n)));
    format!("{rows:?} {views:?} {:?}", ids.collect::<Vec<i64>>())
}
