//! Regular expressions: whether a whole text matches, the first match or a group of it, all of them, and what lies between.
//!
//! Invariant: NULL where an argument is; a text without a match has an empty one. A pattern is compiled once a batch, or
//! once for each run of rows with the same one. Cost: linear in the texts.

use std::sync::{Arc, LazyLock};

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, StringArray};
use arrow_schema::DataType;
use datafusion_common::{Result, exec_err, plan_err};
use datafusion_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use regex::Regex;

use super::plain::Plain;

/// `regexp_full_match(text, pattern)`.
pub(crate) fn full_match() -> Arc<ScalarUDF> {
    static MADE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| made("regexp_full_match"));
    Arc::clone(&MADE)
}

/// `regexp_extract(text, pattern [, group])`.
pub(crate) fn extract() -> Arc<ScalarUDF> {
    static MADE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| made("regexp_extract"));
    Arc::clone(&MADE)
}

/// `regexp_extract_all(text, pattern [, group])`, and `string_split_regex(text, pattern)`.
pub(crate) fn lists() -> [Arc<ScalarUDF>; 2] {
    let takes = [DataType::Utf8, DataType::Utf8, DataType::Int64];
    let texts = DataType::new_list(DataType::Utf8, true);
    [
        Plain::function("regexp_extract_all", (&takes, 2), texts.clone(), |args| {
            each(args, |pattern, text, group, found| {
                let group = usize::try_from(group).ok();
                let mut at = 0;
                // DuckDB finds nothing behind a match, too, where nothing matches.
                while let Some(matched) = pattern.captures_at(text, at) {
                    let part = group.and_then(|group| matched.get(group));
                    found.append_option(part.map(|part| part.as_str()));
                    let end = matched.get_match().end();
                    let next = text[end..].chars().next().map_or(1, char::len_utf8);
                    at = end
                        + if matched.get_match().is_empty() {
                            next
                        } else {
                            0
                        };
                    if at > text.len() {
                        break;
                    }
                }
            })
        }),
        Plain::function("string_split_regex", (&takes[..2], 2), texts, |args| {
            each(args, |pattern, text, _, found| match pattern.as_str() {
                "" => text
                    .chars()
                    .for_each(|one| found.append_value(one.to_string())),
                _ => pattern
                    .split(text)
                    .for_each(|part| found.append_value(part)),
            })
        }),
    ]
}

/// The texts that are found in each text by its pattern, and the number of a group where one is given.
fn each(
    args: &[ArrayRef],
    find: impl Fn(&Regex, &str, i64, &mut StringBuilder),
) -> Result<ArrayRef> {
    let (texts, patterns) = (args[0].as_string::<i32>(), args[1].as_string::<i32>());
    let groups = args.get(2).map(|of| of.as_primitive::<Int64Type>());
    let mut compiled = Compiled {
        whole: false,
        last: None,
    };
    let mut found = ListBuilder::new(StringBuilder::new());
    for (row, (text, pattern)) in texts.iter().zip(patterns).enumerate() {
        let group = groups.map_or(Some(0), |of| of.is_valid(row).then(|| of.value(row)));
        let is_known = match (text, pattern, group) {
            (Some(text), Some(pattern), Some(group)) => {
                find(compiled.get(pattern)?, text, group, found.values());
                true
            }
            _ => false,
        };
        found.append(is_known);
    }
    Ok(Arc::new(found.finish()))
}

fn made(name: &'static str) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(Pattern {
        name,
        signature: Signature::user_defined(Volatility::Immutable),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Pattern {
    name: &'static str,
    signature: Signature,
}

impl Pattern {
    fn extracts(&self) -> bool {
        self.name == "regexp_extract"
    }
}

impl ScalarUDFImpl for Pattern {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let is_text = |of: &DataType| {
            matches!(
                of,
                DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null
            )
        };
        match types {
            [text, pattern] if is_text(text) && is_text(pattern) => Ok(vec![DataType::Utf8; 2]),
            [text, pattern, group]
                if self.extracts() && is_text(text) && is_text(pattern) && group.is_integer() =>
            {
                Ok(vec![DataType::Utf8, DataType::Utf8, DataType::Int64])
            }
            _ => plan_err!("{} takes a text and a pattern", self.name),
        }
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(if self.extracts() {
            DataType::Utf8
        } else {
            DataType::Boolean
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let operands = args.args.iter().map(|of| of.to_array(rows));
        let operands = operands.collect::<Result<Vec<ArrayRef>>>()?;
        let (texts, patterns) = (
            operands[0].as_string::<i32>(),
            operands[1].as_string::<i32>(),
        );
        let groups = operands.get(2).map(|of| of.as_primitive::<Int64Type>());
        let mut compiled = Compiled {
            whole: !self.extracts(),
            last: None,
        };
        let is_known = |row: usize| texts.is_valid(row) && patterns.is_valid(row);
        if !self.extracts() {
            let matched = (0..rows).map(|row| {
                let one = is_known(row).then(|| compiled.get(patterns.value(row)));
                Ok(one.transpose()?.map(|one| one.is_match(texts.value(row))))
            });
            let matched = matched.collect::<Result<BooleanArray>>()?;
            return Ok(ColumnarValue::Array(Arc::new(matched)));
        }
        let found = (0..rows).map(|row| {
            let group = groups.map_or(0, |groups| groups.value(row));
            let one = is_known(row).then(|| compiled.get(patterns.value(row)));
            Ok(one.transpose()?.map(|one| {
                let captured = one.captures(texts.value(row));
                let group = usize::try_from(group).ok();
                let found = captured.and_then(|captured| captured.get(group?));
                found.map_or_else(String::new, |found| found.as_str().to_owned())
            }))
        });
        let found = found.collect::<Result<StringArray>>()?;
        Ok(ColumnarValue::Array(Arc::new(found)))
    }
}

/// The pattern of the last row, compiled. It is lent and not cloned: a clone has caches of its own, which cost more than
/// a match.
struct Compiled {
    /// Whether all of a text is to match.
    whole: bool,
    last: Option<(String, Regex)>,
}

impl Compiled {
    fn get(&mut self, pattern: &str) -> Result<&Regex> {
        if self.last.as_ref().is_none_or(|(known, _)| known != pattern) {
            let source = match self.whole {
                true => format!("^(?:{pattern})$"),
                false => pattern.to_owned(),
            };
            let Ok(made) = Regex::new(&source) else {
                return exec_err!("{pattern:?} is no regular expression");
            };
            self.last = Some((pattern.to_owned(), made));
        }
        match &self.last {
            Some((_, made)) => Ok(made),
            None => unreachable!("it was just made"),
        }
    }
}
