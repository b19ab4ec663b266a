//! Functions of the user: what they are given and may return, and the row by which they fail.

use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, StringArray};
use ringview_core::{Cause, Error, Field, Result, Schema, Type};
use ringview_expr::{
    Call, Calls, Compute, Failure, Kind, Nulls, Projection, Scalar, Signature, UserFunction, shown,
    user_functions,
};

type Body = dyn Fn(&Int64Array) -> std::result::Result<ArrayRef, Failure> + Send + Sync;

/// A function of integers.
struct Of(Box<Body>);

impl Debug for Of {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Of")
    }
}

impl Compute for Of {
    fn compute(&self, arguments: &[ArrayRef]) -> std::result::Result<ArrayRef, Failure> {
        (self.0)(arguments[0].as_primitive::<Int64Type>())
    }
}

fn signature(kind: Kind, nulls: Nulls) -> Signature {
    Signature {
        name: "Twice".to_owned(),
        kind,
        takes: vec![Type::Int64],
        returns: Type::Int64,
        nulls,
    }
}

fn function(
    signature: Signature,
    body: impl Fn(&Int64Array) -> std::result::Result<ArrayRef, Failure> + Send + Sync + 'static,
) -> Arc<UserFunction> {
    UserFunction::new(signature, Arc::new(Of(Box::new(body))))
}

fn twice(of: &Int64Array) -> std::result::Result<ArrayRef, Failure> {
    let values = of.iter().map(|value| Some(value.unwrap_or(-1) * 2));
    Ok(Arc::new(values.collect::<Int64Array>()))
}

/// The name of a function in texts.
fn called(function: &Arc<UserFunction>) -> String {
    function.scalar().unwrap().name().to_owned()
}

fn evaluated(text: &str, input: ArrayRef) -> Result<ArrayRef> {
    let ty = Type::from_arrow(input.data_type())?;
    let schema = Schema::new(vec![Field::new("a", ty, true)])?;
    let bound = Projection::read(None, &[text], &schema)?;
    let rows = input.len();
    Ok(Arc::clone(&bound.evaluate(vec![input], rows)?.columns[0]))
}

fn numbers(of: &[Option<i64>]) -> ArrayRef {
    Arc::new(Int64Array::from(of.to_vec()))
}

#[test]
fn a_function_sees_no_null_unless_it_asks_for_it() -> Result<()> {
    let given = numbers(&[Some(1), None, Some(3)]);
    let plain = function(signature(Kind::Scalar, Nulls::Default), twice);
    let text = format!("{}(a) + 1", called(&plain));
    assert_eq!(
        evaluated(&text, given.clone())?.as_ref(),
        numbers(&[Some(3), None, Some(7)]).as_ref()
    );
    let special = function(signature(Kind::Scalar, Nulls::Special), twice);
    let text = format!("{}(a) + 1", called(&special));
    assert_eq!(
        evaluated(&text, given)?.as_ref(),
        numbers(&[Some(3), Some(-1), Some(7)]).as_ref()
    );
    Ok(())
}

#[test]
fn a_function_is_not_called_for_nothing() -> Result<()> {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let of = function(signature(Kind::Scalar, Nulls::Default), move |of| {
        counted.fetch_add(1, Ordering::Relaxed);
        twice(of)
    });
    let text = format!("{}(a)", called(&of));
    evaluated(&text, numbers(&[None, None]))?;
    evaluated(&text, numbers(&[]))?;
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    // A constant is computed as the text is bound, and no more.
    let text = format!("{}(4) + a", called(&of));
    assert_eq!(
        evaluated(&text, numbers(&[Some(1)]))?.as_ref(),
        numbers(&[Some(9)]).as_ref()
    );
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    Ok(())
}

#[test]
fn arguments_become_what_is_declared_where_no_value_is_rounded() -> Result<()> {
    let of = function(signature(Kind::Scalar, Nulls::Default), twice);
    let text = format!("{}(a)", called(&of));
    let small = Arc::new(Int32Array::from(vec![5]));
    assert_eq!(
        evaluated(&text, small)?.as_ref(),
        numbers(&[Some(10)]).as_ref()
    );
    let refused = evaluated(&text, Arc::new(StringArray::from(vec!["5"]))).unwrap_err();
    let message =
        "argument 1 of \"Twice\": expected int64, found string; cast it before it gets here";
    assert_eq!(refused.to_string(), message);
    let rounds = format!("{}(1.5)", called(&of));
    assert!(matches!(
        evaluated(&rounds, numbers(&[])),
        Err(Error::Type { .. })
    ));
    let two = format!("{}(a, a)", called(&of));
    let refused = evaluated(&two, numbers(&[])).unwrap_err();
    let message = "the arguments of \"Twice\": expected int64, found int64, int64; cast it before it gets here";
    assert_eq!(refused.to_string(), message);
    Ok(())
}

#[test]
fn the_first_row_that_fails_is_found_in_few_calls() {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&calls);
    let of = function(signature(Kind::Scalar, Nulls::Default), move |of| {
        noted.lock().unwrap().push(of.len());
        match of.iter().flatten().find(|value| value % 700 == 699) {
            Some(_) => {
                let cause = Cause(Arc::new(std::fmt::Error));
                Err(Failure::Raised("raised Unlucky".to_owned(), cause))
            }
            None => twice(of),
        }
    });
    let text = format!("{}(a)", called(&of));
    let failed = evaluated(&text, numbers(&(0..5000).map(Some).collect::<Vec<_>>())).unwrap_err();
    let message =
        "the function \"Twice\" raised Unlucky for the arguments (699); nothing was changed";
    assert_eq!(failed.to_string(), message);
    assert!(matches!(&failed, Error::Function { cause: Some(_), .. }));
    assert_eq!(
        failed.in_view("v").in_view("w").to_string(),
        message.replace("; nothing", ", in the view \"v\"; nothing")
    );
    let calls = calls.lock().unwrap();
    assert!(calls.len() <= 15, "{calls:?}");
    assert!(calls.iter().sum::<usize>() <= 15_000, "{calls:?}");
}

#[test]
fn what_is_returned_is_checked() {
    let short = function(signature(Kind::Scalar, Nulls::Default), |of| {
        Ok(Arc::new(of.slice(0, 1)))
    });
    let failed = evaluated(
        &format!("{}(a)", called(&short)),
        numbers(&[Some(1), Some(2)]),
    );
    let message =
        "the function \"Twice\" returned 1 values of Int64 for 2 of Int64; nothing was changed";
    assert_eq!(failed.unwrap_err().to_string(), message);
    let other = function(signature(Kind::Scalar, Nulls::Default), |_| {
        Ok(Arc::new(StringArray::from(vec!["1"])))
    });
    let failed = evaluated(&format!("{}(a)", called(&other)), numbers(&[Some(1)]));
    assert!(matches!(failed, Err(Error::Function { .. })));
    let stopped = function(signature(Kind::Scalar, Nulls::Default), |_| {
        Err(Failure::Interrupted)
    });
    let failed = evaluated(&format!("{}(a)", called(&stopped)), numbers(&[Some(1)]));
    assert_eq!(failed.unwrap_err(), Error::Interrupted);
}

#[test]
fn a_name_means_one_function_as_long_as_it_lives() -> Result<()> {
    let one = function(signature(Kind::Scalar, Nulls::Default), twice);
    let other = function(signature(Kind::Scalar, Nulls::Default), twice);
    assert_ne!(one, other);
    let text = format!("{}(\"a\") > 3 AND x = '{}0'", called(&one), called(&one));
    assert_eq!(user_functions(&text), [Arc::clone(&one)]);
    assert_eq!(
        shown(&text),
        format!("Twice(\"a\") > 3 AND x = '{}0'", called(&one))
    );
    assert_eq!(shown(&called(&one).to_uppercase()), "Twice");
    let read = Scalar::read(&text)?;
    let columns = read.columns().map(|column| column.name.as_str());
    assert_eq!(columns.collect::<Vec<_>>(), ["a", "x"]);
    drop(read);
    let name = called(&one);
    drop(one);
    assert_eq!(user_functions(&text), []);
    assert!(evaluated(&format!("{name}(a)"), numbers(&[])).is_err());
    Ok(())
}

#[test]
fn an_aggregate_is_given_the_rows_of_a_group() -> Result<()> {
    let sum = |of: &Int64Array| -> std::result::Result<ArrayRef, Failure> {
        Ok(numbers(&[Some(
            of.len() as i64 * 100 + of.iter().flatten().sum::<i64>(),
        )]))
    };
    let schema = Schema::new(vec![Field::new("a", Type::Int64, true)])?;
    let of = |nulls, given: &[Option<i64>]| -> Result<ArrayRef> {
        let function = function(signature(Kind::Aggregate, nulls), sum);
        let call = Call {
            name: "s".to_owned(),
            function: function.aggregate().unwrap().name().to_owned(),
            arguments: vec!["a".to_owned()],
            constants: Vec::new(),
            filter: None,
            order: Vec::new(),
            distinct: false,
            ignore_nulls: false,
            frame: None,
        };
        let calls = Calls::bind(&[call], &[], &schema)?;
        let rows =
            arrow_array::RecordBatch::try_new(Arc::new(schema.to_arrow()), vec![numbers(given)]);
        Ok(calls.evaluate(&rows.unwrap())?.remove(0))
    };
    let given = [Some(3), None, Some(4)];
    assert_eq!(
        of(Nulls::Default, &given)?.as_ref(),
        numbers(&[Some(207)]).as_ref()
    );
    assert_eq!(
        of(Nulls::Special, &given)?.as_ref(),
        numbers(&[Some(307)]).as_ref()
    );
    assert_eq!(
        of(Nulls::Default, &[None])?.as_ref(),
        numbers(&[None]).as_ref()
    );
    assert_eq!(
        of(Nulls::Special, &[])?.as_ref(),
        numbers(&[Some(0)]).as_ref()
    );
    Ok(())
}

#[test]
fn what_cannot_be_called_is_not_declared() {
    for name in ["", "1a", "a b", "a$1", "é"] {
        let made = Signature {
            name: name.to_owned(),
            ..signature(Kind::Scalar, Nulls::Default)
        };
        assert!(matches!(made.check(), Err(Error::Value { .. })), "{name}");
    }
    let made = Signature {
        takes: Vec::new(),
        ..signature(Kind::Scalar, Nulls::Default)
    };
    assert!(matches!(made.check(), Err(Error::Value { .. })));
    assert_eq!(signature(Kind::Scalar, Nulls::Default).check(), Ok(()));
}
