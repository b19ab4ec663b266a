//! `strftime(moment, format)` and `strptime(text, format)`.
//!
//! Invariant: a format is read once for each run of rows with the same one. Cost: linear in what is written or read.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{Array, ArrayRef, StringArray, TimestampMicrosecondArray};
use arrow_schema::DataType;
use chrono::format::StrftimeItems;
use chrono::{Datelike, NaiveDateTime};
use datafusion_common::{Result, exec_err};
use datafusion_expr::ScalarUDF;

use super::clock::{MOMENT, calendar, instant};
use super::parse::moment;
use super::signs::{Sign, signs};
use crate::kernels::plain::Plain;

pub(super) fn functions() -> [Arc<ScalarUDF>; 6] {
    let written = [MOMENT, DataType::Utf8, DataType::Utf8];
    let read = [DataType::Utf8, DataType::Utf8];
    let several = [DataType::Utf8, DataType::new_list(DataType::Utf8, true)];
    [
        Plain::function("moment_by_formats", (&several, 2), MOMENT, |args| {
            Ok(Arc::new(by_formats(args, refused)?))
        }),
        Plain::function("try_moment_by_formats", (&several, 2), MOMENT, |args| {
            Ok(Arc::new(by_formats(args, |_, _| Ok(None))?))
        }),
        Plain::function("moment_text", (&written, 3), DataType::Utf8, write),
        Plain::function("moment_by_format", (&read, 2), MOMENT, |args| {
            Ok(Arc::new(by_format(args, refused)?))
        }),
        Plain::function("try_moment_by_format", (&read, 2), MOMENT, |args| {
            Ok(Arc::new(by_format(args, |_, _| Ok(None))?))
        }),
        Plain::function("instant_by_format", (&read, 2), instant(), |args| {
            let found = by_format(args, refused)?;
            Ok(Arc::new(found.with_timezone("UTC")))
        }),
    ]
}

/// Signs of the format of each row, found once for rows in a run that have the same one.
struct Formats<'f> {
    of: &'f StringArray,
    last: Option<(&'f str, Vec<Sign>)>,
}

impl<'f> Formats<'f> {
    fn new(of: &'f ArrayRef) -> Self {
        Self {
            of: of.as_string(),
            last: None,
        }
    }

    fn at(&mut self, row: usize) -> Result<Option<(&'f str, &[Sign])>> {
        if self.of.is_null(row) {
            return Ok(None);
        }
        let format = self.of.value(row);
        let last = match self.last.take() {
            Some((known, signs)) if known == format => (known, signs),
            _ => (format, signs(format)?),
        };
        let (format, signs) = self.last.insert(last);
        Ok(Some((format, signs)))
    }
}

/// Moment, format, and the name of the zone, empty where a moment has none.
fn write(args: &[ArrayRef]) -> Result<ArrayRef> {
    let ticks = args[0].as_primitive::<TimestampMicrosecondType>();
    let zones = args[2].as_string::<i32>();
    let mut formats = Formats::new(&args[1]);
    let rows = (0..ticks.len()).map(|row| match formats.at(row)? {
        Some((_, signs)) if ticks.is_valid(row) && zones.is_valid(row) => {
            let moment = calendar(ticks.value(row))?;
            Ok(Some(written(moment, signs, zones.value(row))))
        }
        _ => Ok(None),
    });
    Ok(Arc::new(rows.collect::<Result<StringArray>>()?))
}

fn written(moment: NaiveDateTime, signs: &[Sign], zone: &str) -> String {
    use std::fmt::Write as _;
    let mut shown = String::new();
    for sign in signs {
        let format = match sign {
            Sign::Text(text) => {
                shown.push_str(text);
                continue;
            }
            Sign::Part('Z', _) => {
                shown.push_str(zone);
                continue;
            }
            // The library writes a sign before long years.
            Sign::Part('Y', _) if moment.year() > 9999 => {
                let _ = write!(shown, "{}", moment.year());
                continue;
            }
            Sign::Part('z', _) => "+00".to_owned(),
            Sign::Part('f', _) => "%6f".to_owned(),
            Sign::Part('g', _) => "%3f".to_owned(),
            Sign::Part('n', _) => "%9f".to_owned(),
            Sign::Part(letter, true) => format!("%-{letter}"),
            Sign::Part(letter, false) => format!("%{letter}"),
        };
        // Nothing fails into a text, and `signs` lets no other letters through.
        let _ = write!(
            shown,
            "{}",
            moment.format_with_items(StrftimeItems::new(&format))
        );
    }
    shown
}

fn by_format(
    args: &[ArrayRef],
    wrong: fn(&str, &str) -> Result<Option<i64>>,
) -> Result<TimestampMicrosecondArray> {
    let texts = args[0].as_string::<i32>();
    let mut formats = Formats::new(&args[1]);
    let rows = (0..texts.len()).map(|row| match formats.at(row)? {
        Some((format, signs)) if texts.is_valid(row) => {
            let text = texts.value(row);
            match moment(text, signs) {
                Some(ticks) => Ok(Some(ticks)),
                None => wrong(text, format),
            }
        }
        _ => Ok(None),
    });
    rows.collect()
}

/// By the first of a list of formats that reads a text.
fn by_formats(
    args: &[ArrayRef],
    wrong: fn(&str, &str) -> Result<Option<i64>>,
) -> Result<TimestampMicrosecondArray> {
    let (texts, lists) = (args[0].as_string::<i32>(), args[1].as_list::<i32>());
    let mut last: Option<(ArrayRef, Vec<Vec<Sign>>)> = None;
    let rows = (0..texts.len()).map(|row| {
        if texts.is_null(row) || lists.is_null(row) {
            return Ok(None);
        }
        let formats = lists.value(row);
        let known = match last.take() {
            Some((of, known)) if *of == *formats => known,
            _ => {
                let each = formats.as_string::<i32>().iter().flatten();
                each.map(signs).collect::<Result<_>>()?
            }
        };
        let (formats, known) = last.insert((formats, known));
        let text = texts.value(row);
        match known.iter().find_map(|signs| moment(text, signs)) {
            Some(ticks) => Ok(Some(ticks)),
            None => {
                let each = formats.as_string::<i32>().iter().flatten();
                wrong(text, &each.collect::<Vec<_>>().join("', '"))
            }
        }
    });
    rows.collect()
}

fn refused(text: &str, format: &str) -> Result<Option<i64>> {
    exec_err!("cannot read '{text}' by the format '{format}'")
}
