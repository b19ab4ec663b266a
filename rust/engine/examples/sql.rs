//! SQL from Rust: a text becomes a view, which is fresh after each transaction.
//!
//! `cargo run -p ringview-engine --example sql`

use std::error::Error;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use ringview_core::Schema;
use ringview_engine::{Database, Direction, Op};
use ringview_query::Query;
use ringview_sql::{Definition, Options};

type Outcome<T> = Result<T, Box<dyn Error>>;

const BEST: &str = "
    SELECT o.customer, SUM(i.cents) / 100 AS spent
    FROM orders o JOIN items i USING (order_id)
    GROUP BY ALL ORDER BY spent DESC LIMIT 2";

fn main() -> Outcome<()> {
    let orders = RecordBatch::try_from_iter([
        ("order_id", integers(&[1, 2, 3])),
        ("customer", texts(&["Ada", "Grace", "Ada"])),
    ])?;
    let items = RecordBatch::try_from_iter([
        ("order_id", integers(&[1, 2, 3])),
        ("cents", integers(&[500, 800, 450])),
    ])?;
    let mut db = Database::default();
    for (name, rows) in [("orders", &orders), ("items", &items)] {
        db.create_table(name, Schema::from_arrow(&rows.schema())?, None, false)?;
    }

    // The meaning of a text depends on the existing tables and views.
    let query = meant(&db, BEST)?;
    db.create_view("best", &query, &mut |_| Ok(()))?;

    change(&mut db, "orders", Direction::Insert, &orders)?;
    change(&mut db, "items", Direction::Insert, &items)?;
    assert_eq!(
        best(&db)?,
        [("Ada".to_owned(), 9.5), ("Grace".to_owned(), 8.0)]
    );

    change(&mut db, "items", Direction::Delete, &items.slice(0, 1))?;
    assert_eq!(
        best(&db)?,
        [("Grace".to_owned(), 8.0), ("Ada".to_owned(), 4.5)]
    );

    // A text that means nothing is refused with its place.
    let wrong = BEST.replace("i.cents", "i.cent");
    let refused = meant(&db, &wrong).err();
    println!("{}", refused.ok_or("there is no such column")?);
    Ok(())
}

fn meant(db: &Database, text: &str) -> ringview_core::Result<Query> {
    Definition::new(text, Options::default(), &db.tables(), &db.catalog())?.bind()
}

/// One transaction: inserts or deletes rows.
fn change(db: &mut Database, table: &str, direction: Direction, rows: &RecordBatch) -> Outcome<()> {
    let op = Op {
        table,
        direction,
        rows: std::slice::from_ref(rows),
        multiplicity: None,
    };
    Ok(db.apply(&[op], &mut |_| Ok(()))?)
}

/// The rows of the view, in its order.
fn best(db: &Database) -> Outcome<Vec<(String, f64)>> {
    let result = db.view_result("best")?;
    let names = result.column(0).as_string::<i32>().iter().flatten();
    let spent = result.column(1).as_primitive::<Float64Type>().values();
    Ok(names
        .map(str::to_owned)
        .zip(spent.iter().copied())
        .collect())
}

fn integers(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

#[test]
fn the_view_follows_its_tables() -> Outcome<()> {
    main()
}
