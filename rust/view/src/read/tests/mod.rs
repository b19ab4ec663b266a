//! The programs of atoms against an evaluator that takes one row at a time.

mod naive;
mod random;

use proptest::collection::vec;
use proptest::prelude::*;
use ringview_core::{Dictionary, Error};
use ringview_query::{Comparison, Constant, Factor, Kind, Op, PlanAtom, Predicate};

use super::verdict::TRUE;
use super::{AtomProgram, Selection, Values};
use naive::{Over, columns_of, decide, is_null, naive_factor};
use random::{DECIMAL, Row, any_expression, batch, column, condition, make, row, schema};

fn atom(filter: Option<Predicate>, not_null: Vec<usize>) -> PlanAtom {
    PlanAtom {
        table: "data".to_owned(),
        alias: "x".to_owned(),
        filter,
        columns: (0..8).collect(),
        join_columns_not_null: not_null,
        is_static: false,
        cancels: false,
        unique: None,
        schema: std::sync::Arc::new(schema()),
        rows: None,
    }
}

/// The program of an atom with the key f: a count, then the factors.
fn program(filter: Option<Predicate>, not_null: Vec<usize>, factors: Vec<Factor>) -> AtomProgram {
    let factors = std::iter::once(None).chain(factors.into_iter().map(Some));
    let factors: Vec<Option<Factor>> = factors.collect();
    AtomProgram::compile(&atom(filter, not_null), &[4], &factors).unwrap()
}

/// Numbers of whatever width as words of the widest, where it is an integer of one word or of two.
fn whole(values: Values<'_>, rows: usize) -> Vec<[u64; 2]> {
    let Values::Words(words) = values else {
        return Vec::new();
    };
    let one = |word: u64| [word, (word.cast_signed() >> 63).cast_unsigned()];
    match words.len() == rows {
        true => words.iter().map(|&word| one(word)).collect(),
        false => words.as_chunks().0.to_vec(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn agrees_with_one_row_at_a_time(
        batches in vec(vec(row(), 0..20), 1..4),
        filter in prop::option::of(condition()),
        not_null in prop::sample::subsequence((0usize..8).collect::<Vec<_>>(), 0..3),
        expr in any_expression(),
    ) {
        let mut present = Vec::new();
        columns_of(&expr, &mut present);
        present.sort_unstable();
        present.dedup();
        let factors = vec![
            Factor { not_null: present.clone(), value: Some(expr) },
            Factor { not_null: present, value: None },
        ];
        let mut program = program(filter.clone(), not_null.clone(), factors.clone());
        let mut dictionary = Dictionary::new();
        let mut selection = Selection::default();
        for rows in batches {
            let batch = batch(&rows, &mut dictionary);
            let verdicts: Result<Vec<u8>, Over> = rows
                .iter()
                .map(|row| filter.as_ref().map_or(Ok(TRUE), |f| decide(f, row)))
                .collect();
            let selected = program.select(&batch, &dictionary, &mut selection);
            let Ok(verdicts) = verdicts else {
                let is_overflow = matches!(selected, Err(Error::Overflow { .. }));
                prop_assert!(is_overflow, "{:?}", selected);
                continue;
            };
            prop_assert_eq!(selected, Ok(()));
            let wanted: Vec<u32> = (0..rows.len())
                .filter(|&at| {
                    verdicts[at] == TRUE && !not_null.iter().any(|&c| is_null(&rows[at], c))
                })
                .map(|at| at as u32)
                .collect();
            let all: Vec<u32> = (0..rows.len() as u32).collect();
            prop_assert_eq!(selection.rows().unwrap_or(&all), &wanted[..]);
            prop_assert_eq!(selection.len(), wanted.len());
            let chosen: Vec<Row> = wanted.iter().map(|&at| rows[at as usize]).collect();
            prop_assert_eq!(program.factor(0, &batch, &selection), Ok(Values::Ones));
            for (index, factor) in factors.iter().enumerate() {
                let found = program.factor(index + 1, &batch, &selection);
                match naive_factor(factor, &chosen) {
                    Err(Over) => {
                        let is_overflow = matches!(found, Err(Error::Overflow { .. }));
                        prop_assert!(is_overflow, "{:?}", found);
                    }
                    Ok(words) => match found {
                        Ok(Values::Ones) => prop_assert_eq!(words, vec![1; wanted.len()]),
                        found => prop_assert_eq!(found, Ok(Values::Words(&words))),
                    },
                }
                let found = program.factor(index + 1, &batch, &selection);
                let found = found.map(|values| whole(values, wanted.len()));
                let units = program.factor_in_units(index + 1, &batch, &selection);
                prop_assert_eq!(units.map(|values| whole(values, wanted.len())), found);
            }
        }
    }
}

#[test]
fn nan_in_a_key_names_the_row_unless_it_is_filtered_away() {
    let rows = [
        (Some(1), None, None, None, Some(2.0), None, None, None),
        (Some(2), None, None, None, Some(f64::NAN), None, None, None),
    ];
    let mut dictionary = Dictionary::new();
    let batch = batch(&rows, &mut dictionary);
    let mut selection = Selection::default();
    let mut all = program(None, vec![], vec![]);
    assert_eq!(
        all.select(&batch, &dictionary, &mut selection),
        Err(Error::NotANumber {
            table: "data".to_owned(),
            column: "f".to_owned(),
            row: 1
        })
    );
    let first = Predicate::Compare {
        comparison: Comparison::Lt,
        left: column(0, Kind::Int),
        right: make(
            Kind::Int,
            Op::Literal {
                value: Constant::Int(2),
            },
        ),
    };
    let mut some = program(Some(first), vec![], vec![]);
    assert_eq!(some.select(&batch, &dictionary, &mut selection), Ok(()));
    assert_eq!(selection.rows(), Some(&[0][..]));
}

#[test]
fn doubles_that_no_delete_could_take_out_are_refused() {
    let rows = [(
        None,
        None,
        None,
        None,
        Some(f64::INFINITY),
        None,
        None,
        None,
    )];
    let mut dictionary = Dictionary::new();
    let batch = batch(&rows, &mut dictionary);
    let factor = Factor {
        not_null: vec![4],
        value: Some(column(4, Kind::Real)),
    };
    let mut program = program(None, vec![], vec![factor]);
    let mut selection = Selection::default();
    program.select(&batch, &dictionary, &mut selection).unwrap();
    let problem = program
        .factor(1, &batch, &selection)
        .unwrap_err()
        .to_string();
    assert!(
        problem.starts_with("f of data (as x): it is inf"),
        "{problem}"
    );
}

#[test]
fn overflow_names_the_expression() {
    let rows = [(Some(i64::MAX), Some(2), None, None, None, None, None, None)];
    let mut dictionary = Dictionary::new();
    let batch = batch(&rows, &mut dictionary);
    let product = Op::Multiply {
        left: Box::new(column(0, Kind::Int)),
        right: Box::new(column(1, Kind::Int)),
    };
    let factor = Factor {
        not_null: vec![0, 1],
        value: Some(make(Kind::Int, product)),
    };
    let mut program = program(None, vec![], vec![factor]);
    let mut selection = Selection::default();
    program.select(&batch, &dictionary, &mut selection).unwrap();
    assert_eq!(
        program.factor(1, &batch, &selection),
        Err(Error::Overflow {
            place: "i * j of data (as x)".to_owned()
        })
    );
}

/// A column is compared in its own units only where the constant is some of them.
#[test]
fn converted_columns_are_compared_by_all_their_digits() {
    let row = |value: i64| (Some(value), None, None, None, None, None, None, Some(value));
    let rows: Vec<Row> = (-3..=3).map(row).collect();
    let mut dictionary = Dictionary::new();
    let batch = batch(&rows, &mut dictionary);
    let to = Kind::Decimal { scale: 4 };
    let columns = [(0, Kind::Int, 10_000i128), (7, DECIMAL, 100)];
    use Comparison::{Eq, Ge, Gt, Le, Lt, Ne};
    for (at, kind, unit) in columns {
        for constant in (-13..=13).map(|share| unit * share / 4) {
            let operand = Box::new(column(at, kind));
            let converted = make(to, Op::Convert { operand });
            let value = Constant::Decimal(constant);
            let literal = make(to, Op::Literal { value });
            for comparison in [Eq, Ne, Lt, Le, Gt, Ge] {
                for is_left in [true, false] {
                    let (left, right) = match is_left {
                        true => (converted.clone(), literal.clone()),
                        false => (literal.clone(), converted.clone()),
                    };
                    let filter = Predicate::Compare {
                        comparison,
                        left,
                        right,
                    };
                    let mut selection = Selection::default();
                    let mut program = program(Some(filter), vec![], vec![]);
                    let selected = program.select(&batch, &dictionary, &mut selection);
                    assert_eq!(selected, Ok(()));
                    let all: Vec<u32> = (0..rows.len() as u32).collect();
                    let chosen = selection.rows().unwrap_or(&all);
                    for (row, value) in (0u32..).zip(-3..=3) {
                        let value = value * unit;
                        let wanted = comparison.holds(match is_left {
                            true => value.cmp(&constant),
                            false => constant.cmp(&value),
                        });
                        let found = chosen.contains(&row);
                        assert_eq!(found, wanted, "{value} {comparison:?} {constant}");
                    }
                }
            }
        }
    }
}
