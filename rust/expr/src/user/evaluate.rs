//! NULLs, types and lengths around a call, and the row by which a call fails.
//!
//! Invariant: a function receives arguments of its declared types, without NULL unless it is declared to take them, and
//! its values are of the declared type, as many as there are rows. Cost: a pass over the arguments where types differ
//! or NULLs are among them; of a call that fails, O(log rows) more calls over twice the rows.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, UInt64Array, new_empty_array, new_null_array};
use arrow_schema::DataType;
use datafusion_common::arrow::compute::{
    CastOptions, and, cast_with_options, filter, is_not_null, take,
};
use datafusion_common::{DataFusionError, ScalarValue};
use ringview_core::{Error, Result};

use super::{Failure, Kind, Nulls, UserFunction};

/// Letters of a value that a message shows.
const MOST_LETTERS: usize = 100;

impl UserFunction {
    /// The values of some rows.
    ///
    /// # Errors
    /// `Function`, `Interrupted`.
    pub(crate) fn of_rows(&self, arguments: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let arguments = self.taken(arguments)?;
        let Some(there) = self.without_nulls(&arguments)? else {
            return self.called(&arguments, rows);
        };
        let kept = there.true_count();
        if kept == 0 {
            return Ok(new_null_array(&self.signature.returns.to_arrow(), rows));
        }
        let selected = arguments.iter().map(|one| filter(one, &there));
        let selected = selected.collect::<std::result::Result<Vec<_>, _>>();
        let values = self.called(&selected.map_err(|problem| self.broken(&problem))?, kept)?;
        let mut next = 0..;
        let positions = there.values().iter();
        let positions: UInt64Array = positions.map(|there| there.then(|| next.next())?).collect();
        take(&values, &positions, None).map_err(|problem| self.broken(&problem))
    }

    /// The value of the rows of a group.
    ///
    /// # Errors
    /// As [`of_rows`](Self::of_rows).
    pub(crate) fn of_group(&self, arguments: &[ArrayRef]) -> Result<ScalarValue> {
        let value = self.called(&self.taken(arguments)?, 1)?;
        ScalarValue::try_from_array(&value, 0).map_err(|problem| self.broken(&problem))
    }

    /// The arguments in their declared types.
    fn taken(&self, arguments: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        let strict = CastOptions {
            safe: false,
            ..CastOptions::default()
        };
        let taken = arguments.iter().zip(&self.signature.takes).enumerate();
        let taken = taken.map(|(at, (one, ty))| {
            let ty = ty.to_arrow();
            if *one.data_type() == ty {
                return Ok(Arc::clone(one));
            }
            cast_with_options(one, &ty, &strict).map_err(|problem| Error::Value {
                place: format!("argument {} of \"{}\"", at + 1, self.signature.name),
                problem: problem.to_string(),
            })
        });
        taken.collect()
    }

    /// The rows that the function is to see; none where it sees all.
    fn without_nulls(&self, arguments: &[ArrayRef]) -> Result<Option<BooleanArray>> {
        if self.signature.nulls == Nulls::Special {
            return Ok(None);
        }
        let mut there: Option<BooleanArray> = None;
        for one in arguments.iter().filter(|one| one.null_count() > 0) {
            let own = is_not_null(one);
            let both = own.and_then(|own| match &there {
                Some(before) => and(before, &own),
                None => Ok(own),
            });
            there = Some(both.map_err(|problem| self.broken(&problem))?);
        }
        Ok(there)
    }

    /// Calls the function: `values` is how many it is to return.
    fn called(&self, arguments: &[ArrayRef], values: usize) -> Result<ArrayRef> {
        let ty = self.signature.returns.to_arrow();
        if values == 0 {
            return Ok(new_empty_array(&ty));
        }
        let failed = |problem: String, given: String, cause| Error::Function {
            name: self.signature.name.clone(),
            problem,
            given,
            view: String::new(),
            cause,
        };
        match self.compute.compute(arguments) {
            Ok(found) if found.len() == values && *found.data_type() == ty => Ok(found),
            Ok(found) => {
                let (found, of) = (found.len(), found.data_type().clone());
                let problem = format!("returned {found} values of {of} for {values} of {ty}");
                Err(failed(problem, String::new(), None))
            }
            Err(Failure::Interrupted) => Err(Error::Interrupted),
            Err(Failure::Returned(problem)) => Err(failed(problem, String::new(), None)),
            Err(Failure::Raised(problem, cause)) => {
                let given = match self.signature.kind {
                    Kind::Scalar => self
                        .failing(arguments)?
                        .map(|row| format!(" for the arguments {}", listed(arguments, row))),
                    Kind::Aggregate => Some(of_group(arguments)),
                };
                Err(failed(problem, given.unwrap_or_default(), Some(cause)))
            }
        }
    }

    /// The first row by which it fails, if it fails by one alone.
    fn failing(&self, arguments: &[ArrayRef]) -> Result<Option<usize>> {
        let fails = |from: usize, len: usize| {
            let some: Vec<ArrayRef> = arguments.iter().map(|one| one.slice(from, len)).collect();
            match self.compute.compute(&some) {
                Err(Failure::Interrupted) => Err(Error::Interrupted),
                done => Ok(done.is_err()),
            }
        };
        let (mut from, mut len) = (0, arguments[0].len());
        while len > 1 {
            let half = len / 2;
            if fails(from, half)? {
                len = half;
            } else {
                (from, len) = (from + half, len - half);
            }
        }
        Ok(fails(from, 1)?.then_some(from))
    }

    fn broken(&self, problem: &dyn std::fmt::Display) -> Error {
        Error::Value {
            place: format!("the function {:?}", self.signature.name),
            problem: problem.to_string(),
        }
    }
}

/// An error of ours as one of the library, through which it is returned.
pub(super) fn handed(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// The rows of a group, of which there may be many.
fn of_group(arguments: &[ArrayRef]) -> String {
    match arguments[0].len() {
        0 => " over no rows".to_owned(),
        1 => format!(" over the row {}", listed(arguments, 0)),
        rows => format!(
            " over {rows} rows, of which {} is the first",
            listed(arguments, 0)
        ),
    }
}

/// The arguments of a row.
fn listed(arguments: &[ArrayRef], row: usize) -> String {
    let values = arguments.iter().map(|one| value(one, row));
    format!("({})", values.collect::<Vec<_>>().join(", "))
}

fn value(of: &ArrayRef, row: usize) -> String {
    let Ok(value) = ScalarValue::try_from_array(of, row) else {
        return "..".to_owned();
    };
    let mut text = value.to_string();
    if let Some((end, _)) = text.char_indices().nth(MOST_LETTERS) {
        text.truncate(end);
        text.push_str("..");
    }
    match of.data_type() {
        DataType::Utf8 if !value.is_null() => format!("'{}'", text.replace('\'', "''")),
        _ => text,
    }
}
