//! The row store against an ordered map, on random batches of every type of column.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

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

#[derive(Clone, Debug)]
struct Step {
    delete: bool,
    undo: bool,
    rows: Vec<(Row, i64)>,
    with_multiplicity: bool,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let rows = prop::collection::vec((row(), multiplicity()), 0..6);
    let step = (
        0..5_u8,
        prop::bool::weighted(0.2),
        rows,
        prop::bool::weighted(0.3),
    );
    let step = step.prop_map(|(kind, undo, rows, with_multiplicity)| Step {
        delete: kind < 2,
        undo,
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
    for step in steps {
        let batch = batch(step);
        let done = if step.delete {
            store.delete(&batch, &dict)
        } else {
            store.insert(&batch, &dict)
        };
        match (apply(&model, step, unique), done) {
            (Ok(_), Ok(())) if step.undo && step.delete => store.undo_delete(&batch),
            (Ok(_), Ok(())) if step.undo => store.undo_insert(&batch),
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
        assert_eq!(store.len(), model.values().sum::<u64>());
        assert_eq!(store.distinct(), model.len());
        assert_eq!(store.is_empty(), model.is_empty());
    }
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

fn two_ints() -> Schema {
    let field = |name| Field::new(name, Type::Int32, false);
    Schema::new(vec![field("a"), field("b")]).unwrap()
}

fn ints(rows: impl Iterator<Item = (i32, i32)> + Clone) -> Batch {
    let column = |words: Vec<u64>| {
        Some(Column {
            words,
            ..Column::default()
        })
    };
    let a: Vec<u64> = rows.clone().map(|row| row.0 as i64 as u64).collect();
    let b: Vec<u64> = rows.map(|row| row.1 as i64 as u64).collect();
    Batch {
        rows: a.len(),
        columns: vec![column(a), column(b)],
        multiplicity: None,
    }
}

/// Equal rows wait in slots of any order, and meet in linear time nevertheless.
#[test]
fn one_row_that_comes_again_and_again() {
    const MANY: usize = 200_000;
    let dict = Dictionary::new();
    let mut store = RowStore::new("t", &two_ints(), None);
    let begun = Instant::now();
    for round in 1..=4 {
        let rows = (0..MANY).map(|row| (7, i32::from(row == MANY / 2)));
        store.insert(&ints(rows), &dict).unwrap();
        assert_eq!((store.len(), store.distinct()), ((round * MANY) as u64, 2));
    }
    // A look back over all equal rows for each of them would take minutes.
    assert!(begun.elapsed() < Duration::from_secs(20));
    let other = Batch {
        multiplicity: Some(vec![5]),
        ..ints([(7, 1)].into_iter())
    };
    assert!(store.delete(&other, &dict).is_err());
    assert_eq!(store.len(), 4 * MANY as u64);
}

/// Enough rows to enter the directory by the pass over all, by ones and twos, and in free slots.
#[test]
fn rows_that_wait_meet_their_equals_however_many_wait() {
    let dict = Dictionary::new();
    let mut store = RowStore::new("t", &two_ints(), None);
    let mut model: BTreeMap<(i32, i32), u64> = BTreeMap::new();
    let mut seed = 1_u32;
    let mut random = |below: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((seed >> 8) % below) as i32
    };
    for round in 0..120 {
        let many = [1, 20, 3_000, 20_000][round % 4];
        let rows: Vec<(i32, i32)> = (0..many).map(|_| (random(20_000), random(3))).collect();
        store.insert(&ints(rows.iter().copied()), &dict).unwrap();
        for row in &rows {
            *model.entry(*row).or_default() += 1;
        }
        if round % 3 == 0 {
            let gone: Vec<(i32, i32)> = model.keys().copied().filter(|_| random(4) == 0).collect();
            store.delete(&ints(gone.iter().copied()), &dict).unwrap();
            for row in &gone {
                if let Some(count) = model.get_mut(row) {
                    *count -= 1;
                }
            }
            model.retain(|_, count| *count > 0);
            assert_eq!(store.distinct(), model.len());
            let one_more = ints(gone.iter().copied().take(1));
            let present = gone
                .first()
                .and_then(|row| model.get(row))
                .copied()
                .unwrap_or(0);
            let asked = vec![present as i64 + 1];
            let refused = Batch {
                multiplicity: Some(asked),
                ..one_more
            };
            assert_eq!(store.delete(&refused, &dict).is_err(), !gone.is_empty());
        }
        assert_eq!(store.len(), model.values().sum::<u64>());
    }
    let mut all: BTreeMap<(i32, i32), u64> = BTreeMap::new();
    let mut whole = Batch::new();
    store
        .scan(usize::MAX, &[true, true], |batch| {
            whole = batch.clone();
            Ok(())
        })
        .unwrap();
    for row in 0..whole.rows {
        let value = |column| whole.column(column).words[row] as i32;
        *all.entry((value(0), value(1))).or_default() += whole.multiplicity(row) as u64;
    }
    assert_eq!(all, model);
}

#[test]
fn refused_rows_are_named_with_what_the_table_held_before() {
    let dict = Dictionary::new();
    let mut store = RowStore::new("t", &two_ints(), None);
    store.insert(&ints([(1, -2)].into_iter()), &dict).unwrap();
    let error = store
        .delete(&ints([(1, -2), (1, -2)].into_iter()), &dict)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "table \"t\" holds 1 of the row (a = 1, b = -2), so 2 cannot be deleted; \
         nothing of this transaction was applied"
    );
    assert_eq!(store.len(), 1);

    let mut keyed = RowStore::new("t", &two_ints(), Some(vec![1]));
    let error = keyed
        .insert(&ints([(1, 5), (2, 5)].into_iter()), &dict)
        .unwrap_err();
    assert_eq!(
        error,
        Error::Duplicate {
            table: "t".to_owned(),
            key: "(b = 5)".to_owned()
        }
    );
    assert!(keyed.is_empty());
    keyed.insert(&ints([(1, 5)].into_iter()), &dict).unwrap();
    let error = keyed
        .delete(&ints([(2, 5)].into_iter()), &dict)
        .unwrap_err();
    assert!(matches!(
        error,
        Error::OverDelete {
            asked: 1,
            present: 0,
            ..
        }
    ));
}

#[test]
fn too_many_rows_are_an_overflow_and_change_nothing() {
    let dict = Dictionary::new();
    let mut store = RowStore::new("t", &two_ints(), None);
    let mut batch = ints([(1, 1), (1, 1), (1, 1)].into_iter());
    batch.multiplicity = Some(vec![i64::MAX - 1, 1, 1]);
    assert!(matches!(
        store.insert(&batch, &dict),
        Err(Error::Overflow { .. })
    ));
    assert!(store.is_empty());
    batch.multiplicity = Some(vec![i64::MAX - 1, 1, 0]);
    store.insert(&batch, &dict).unwrap();
    assert_eq!(store.len(), i64::MAX as u64);
}

#[test]
fn a_table_without_columns_only_counts() {
    let mut store = RowStore::new("t", &Schema::default(), None);
    let batch = Batch {
        rows: 3,
        columns: Vec::new(),
        multiplicity: None,
    };
    store.insert(&batch, &Dictionary::new()).unwrap();
    assert_eq!((store.len(), store.distinct()), (3, 1));
    store.delete(&batch, &Dictionary::new()).unwrap();
    assert!(store.is_empty());
}

#[test]
fn a_row_costs_its_columns_and_16_bytes_and_slots_are_reused() {
    let dict = Dictionary::new();
    let mut store = RowStore::new("t", &two_ints(), None);
    let rows = |part: i32| ints((0..1_000).map(move |row| (part * 1_000 + row, row)));
    for part in 0..300 {
        store.insert(&rows(part), &dict).unwrap();
        if part >= 65 {
            let bytes = store.memory_usage() as f64 / store.distinct() as f64;
            assert!(bytes <= 8.0 + 16.0, "{bytes} bytes a row at {part}");
        }
    }
    let full = store.memory_usage();
    for part in 0..300 {
        store.delete(&rows(part), &dict).unwrap();
        store.insert(&rows(part + 300), &dict).unwrap();
    }
    assert!(
        store.memory_usage() <= full + 64 * 1_024,
        "{} {full}",
        store.memory_usage()
    );
    for part in 300..600 {
        store.delete(&rows(part), &dict).unwrap();
    }
    assert!(store.is_empty());
    store
        .scan(10, &[true, true], |_| panic!("no rows"))
        .unwrap();
}
