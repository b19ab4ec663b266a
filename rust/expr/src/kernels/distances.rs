//! Distances between texts.
//!
//! Invariant: characters are compared, not bytes; NULL where an argument is. Cost: O(length of one x length of the other)
//! a row, for `jaccard` O(lengths).

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Float64Array, Int64Array};
use arrow_schema::DataType;
use datafusion_common::{Result, exec_datafusion_err};
use datafusion_expr::ScalarUDF;

use super::plain::{OfArrays, Plain};

/// All of them.
pub(crate) fn functions() -> Vec<Arc<ScalarUDF>> {
    let of = |name, gives, of: OfArrays| {
        Plain::function(name, (&[DataType::Utf8, DataType::Utf8], 2), gives, of)
    };
    vec![
        of("levenshtein", DataType::Int64, |args| {
            steps(args, |left, right| Ok(strsim::levenshtein(left, right)))
        }),
        of("damerau_levenshtein", DataType::Int64, |args| {
            steps(args, |left, right| {
                Ok(strsim::damerau_levenshtein(left, right))
            })
        }),
        of("hamming", DataType::Int64, |args| {
            steps(args, |left, right| {
                strsim::hamming(left, right).map_err(|_| {
                    exec_datafusion_err!(
                        "hamming takes two texts of the same length, not {left:?} and {right:?}"
                    )
                })
            })
        }),
        of("jaccard", DataType::Float64, |args| shares(args, jaccard)),
        of("jaro_similarity", DataType::Float64, |args| {
            shares(args, |left, right| Ok(similar(left, right, strsim::jaro)))
        }),
        of("jaro_winkler_similarity", DataType::Float64, |args| {
            shares(args, |left, right| {
                Ok(similar(left, right, strsim::jaro_winkler))
            })
        }),
    ]
}

fn steps(args: &[ArrayRef], of: impl Fn(&str, &str) -> Result<usize>) -> Result<ArrayRef> {
    let pairs = args[0]
        .as_string::<i32>()
        .iter()
        .zip(args[1].as_string::<i32>());
    let found = pairs.map(|pair| match pair {
        (Some(left), Some(right)) => of(left, right).map(|steps| Some(steps as i64)),
        _ => Ok(None),
    });
    Ok(Arc::new(found.collect::<Result<Int64Array>>()?))
}

fn shares(args: &[ArrayRef], of: impl Fn(&str, &str) -> Result<f64>) -> Result<ArrayRef> {
    let pairs = args[0]
        .as_string::<i32>()
        .iter()
        .zip(args[1].as_string::<i32>());
    let found = pairs.map(|pair| match pair {
        (Some(left), Some(right)) => of(left, right).map(Some),
        _ => Ok(None),
    });
    Ok(Arc::new(found.collect::<Result<Float64Array>>()?))
}

/// Texts without a character are like nothing.
fn similar(left: &str, right: &str, of: impl Fn(&str, &str) -> f64) -> f64 {
    match left.is_empty() || right.is_empty() {
        true => 0.0,
        false => of(left, right),
    }
}

/// The characters of both among those of either.
fn jaccard(left: &str, right: &str) -> Result<f64> {
    let [left, right] = [left, right].map(|of| of.chars().collect::<BTreeSet<char>>());
    if left.is_empty() || right.is_empty() {
        return Err(exec_datafusion_err!(
            "jaccard takes texts of at least one character"
        ));
    }
    let both = left.intersection(&right).count();
    Ok(both as f64 / (left.len() + right.len() - both) as f64)
}
