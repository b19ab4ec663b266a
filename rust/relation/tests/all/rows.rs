//! The row store against an ordered map, on random batches of every type of column.

use std::collections::BTreeMap;

use proptest::prelude::*;
use ringview_core::{Batch, Column, Dictionary, Error, Field, Schema, TimeUnit, Type};
use ringview_relation::RowStore;

/// Valid, word, upper half: by column.
type Row = Vec<(bool, u64, u64)>;
type Model = BTreeMap<Row, u64>;

fn schema() -> Schema {
    let decimal = |precision| Type::Decimal {
        precision,
        scale: 2,
    };
    let stamp = Type::Timestamp {
        unit: TimeUnit::Microsecond,
        timezone: None,
    };
    let fields = [
        ("id", Type::Int8, false),
        ("name", Type::Utf8, true),
        ("single", Type::Float32, true),
        ("flag", Type::Bool, true),
        ("small", decimal(9), true),
        ("middle", decimal(18), false),
        ("large", decimal(38), true),
        ("double", Type::Float64, true),
        ("day", Type::Date32, true),
        ("stamp", stamp, true),
        ("half", Type::UInt16, true),
        ("big", Type::UInt64, true),
    ];
    let field = |(name, ty, nullable): (&str, Type, bool)| Field::new(name, ty, nullable);
    Schema::new(fields.into_iter().map(field).collect()).unwrap()
}

/// A word of the type, one of few, with extremes.
fn value(ty: &Type, choice: u8) -> (u64, u64) {
    let number = [0, 1, -1, 77][choice as usize % 4];
    let decimal = |limit: u32| {
        let units = [0, 1, -1, 1 - 10_i128.pow(limit)][choice as usize % 4];
        (units as u64, (units >> 64) as u64)
    };
    match ty {
        Type::Bool | Type::Utf8 => (u64::from(choice % 2), 0),
        Type::Float32 => (f64::from(0.1_f32 * number as f32).to_bits(), 0),
        Type::Float64 => (
            if choice == 2 {
                f64::NAN
            } else {
                0.1 * number as f64
            }
            .to_bits(),
            0,
        ),
        Type::Decimal { precision, .. } => decimal((*precision).into()),
        Type::UInt16 => (u64::from(number as u16), 0),
        Type::Int8 => (i64::from(number as i8) as u64, 0),
        Type::Date32 => ((number * 20_000) as u64, 0),
        _ => ((number * (i64::MAX / 80)) as u64, 0),
    }
}

/// Rows that often agree: all columns but two follow one choice.
fn row() -> impl Strategy<Value = Row> {
    (0..4_u8, 0..4_u8, 0..12_usize, 0..8_u8).prop_map(|(id, other, column, null)| {
        let schema = schema();
        let fields = schema.fields().iter().enumerate();
        fields
            .map(|(index, field)| {
                let choice = if index == column { other } else { id };
                if field.nullable && null == 0 && index >= column {
                    return (false, 0, 0);
                }
                let (word, high) = value(&field.ty, choice);
                (true, word, high)
            })
            .collect()
    })
}

fn multiplicity() -> impl Strategy<Value = i64> {
    prop_oneof![8 => Just(1), 1 => -2..4_i64, 1 => Just(300), 1 => Just(-300), 1 => Just(5_000_000_000)]
}

/// End of a transaction.
#[derive(Clone, Copy, Debug)]
enum End {
    Commit,
    Rollback,
}

#[derive(Clone, Debug)]
struct Step {
    delete: bool,
    end: Option<End>,
    /// Whether a look-up is made that merges waiting rows.
    ask: bool,
    rows: Vec<(Row, i64)>,
    with_multiplicity: bool,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let rows = prop::collection::vec((row(), multiplicity()), 0..6);
    let end = prop::option::of(prop::sample::select(vec![End::Commit, End::Rollback]));
    let step = (
        0..5_u8,
        (end, any::<bool>()),
        rows,
        prop::bool::weighted(0.3),
    );
    let step = step.prop_map(|(kind, (end, ask), rows, with_multiplicity)| Step {
        delete: kind < 2,
        end,
        ask,
        rows,
        with_multiplicity,
    });
    prop::collection::vec(step, 0..40)
}

fn batch(step: &Step) -> Batch {
    let schema = schema();
    let columns = schema.fields().iter().enumerate().map(|(index, field)| {
        let cells = || step.rows.iter().map(|(row, _)| row[index]);
        let decimal = matches!(field.ty, Type::Decimal { .. });
        Some(Column {
            words: cells().map(|cell| cell.1).collect(),
            high: if decimal {
                cells().map(|cell| cell.2).collect()
            } else {
                Vec::new()
            },
            valid: cells()
                .any(|cell| !cell.0)
                .then(|| cells().map(|cell| cell.0).collect()),
        })
    });
    Batch {
        rows: step.rows.len(),
        columns: columns.collect(),
        multiplicity: step
            .with_multiplicity
            .then(|| step.rows.iter().map(|row| row.1).collect()),
    }
}

enum Wrong {
    OverDelete { asked: u64, present: u64 },
    Duplicate,
}

/// Applies a step to the map, row by row, on a copy.
fn apply(model: &Model, step: &Step, unique: Option<&[usize]>) -> Result<Model, Wrong> {
    let mut next = model.clone();
    let key = |row: &Row| unique.map(|columns| columns.iter().map(|&c| row[c]).collect::<Row>());
    for (row, multiplicity) in &step.rows {
        let amount = if step.with_multiplicity {
            *multiplicity
        } else {
            1
        };
        let amount = if step.delete { -amount } else { amount };
        let count = next.get(row).copied().unwrap_or(0);
        if amount > 0 {
            let taken = unique.is_some() && next.keys().any(|other| key(other) == key(row));
            if taken || (unique.is_some() && amount > 1) {
                return Err(Wrong::Duplicate);
            }
            next.insert(row.clone(), count + amount as u64);
        } else if amount < 0 {
            let present = model.get(row).copied().unwrap_or(0);
            let asked = amount.unsigned_abs() + present;
            match count.checked_sub(amount.unsigned_abs()) {
                None => {
                    return Err(Wrong::OverDelete {
                        asked: asked.wrapping_sub(count),
                        present,
                    });
                }
                Some(0) => next.remove(row),
                Some(left) => next.insert(row.clone(), left),
            };
        }
    }
    Ok(next)
}

fn contents(store: &RowStore, chunk: usize) -> Model {
    let mut all = Model::new();
    store
        .scan(chunk, &vec![true; schema().len()], |batch| {
            assert!(batch.rows > 0 && batch.rows <= chunk);
            for row in 0..batch.rows {
                let cell = |index| {
                    let column: &Column = batch.column(index);
                    (!column.is_null(row), column.words[row], column.high(row))
                };
                let count = u64::try_from(batch.multiplicity(row)).unwrap();
                *all.entry((0..schema().len()).map(cell).collect())
                    .or_default() += count;
            }
            Ok(())
        })
        .unwrap();
    all
}

fn run(steps: &[Step], unique: Option<&[usize]>) {
    let dict = {
        let mut dict = Dictionary::new();
        dict.intern("a").unwrap();
        dict.intern("b").unwrap();
        dict
    };
    let mut store = RowStore::new("t", &schema(), unique.map(<[usize]>::to_vec));
    let mut model = Model::new();
    let mut committed = Model::new();
    for step in steps {
        let batch = batch(step);
        let done = if step.delete {
            store.delete(&batch, &dict)
        } else {
            store.insert(&batch, &dict)
        };
        match (apply(&model, step, unique), done) {
            (Ok(next), Ok(())) => model = next,
            (Err(Wrong::Duplicate), Err(Error::Duplicate { .. })) => {}
            (
                Err(Wrong::OverDelete { asked, present }),
                Err(Error::OverDelete {
                    asked: told,
                    present: held,
                    ..
                }),
            ) => assert_eq!((told, held), (asked, present)),
            (_, done) => panic!("{done:?} after {step:?}"),
        }
        match step.end {
            None => {}
            Some(End::Commit) => {
                store.commit();
                committed.clone_from(&model);
            }
            Some(End::Rollback) => {
                store.rollback();
                model.clone_from(&committed);
            }
        }
        assert_eq!(store.len(), model.values().sum::<u64>());
        if step.ask {
            assert_eq!(store.distinct(), model.len());
        }
        assert_eq!(store.is_empty(), model.is_empty());
    }
    assert_eq!(contents(&store, 3), model);
    assert_eq!(store.distinct(), model.len());
    for chunk in [1, 3, 100] {
        assert_eq!(contents(&store, chunk), model);
    }
}

proptest! {
    #[test]
    fn a_bag_behaves_like_a_map(steps in steps()) {
        run(&steps, None);
    }

    #[test]
    fn a_table_with_a_key_behaves_like_a_map(steps in steps(), columns in 0..3_usize) {
        run(&steps, Some([&[0][..], &[1, 0], &[2, 4, 11]][columns]));
    }
}
