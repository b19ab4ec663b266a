//! The registry: the names of DataFusion's functions that are used, and the functions that are for our own texts alone.
//!
//! Invariant: a public name has DuckDB's meaning and is listed in docs/functions.md, which a test compares; a name that
//! is in no list of this file, of `renamed` or of `kernels` is unknown. Cost: a search in a sorted list.

/// Names of DataFusion's that a user's text may call.
const TAKEN: &[&str] = &[
    "abs",
    "acos",
    "acosh",
    "array_append",
    "array_cat",
    "array_concat",
    "array_contains",
    "array_distinct",
    "array_extract",
    "array_has",
    "array_has_all",
    "array_has_any",
    "array_indexof",
    "array_intersect",
    "array_length",
    "array_pop_back",
    "array_pop_front",
    "array_position",
    "array_prepend",
    "array_push_back",
    "array_resize",
    "array_reverse",
    "array_slice",
    "array_sort",
    "array_to_string",
    "ascii",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bit_length",
    "cardinality",
    "cbrt",
    "ceil",
    "char_length",
    "character_length",
    "chr",
    "concat",
    "concat_ws",
    "contains",
    "cos",
    "cosh",
    "cot",
    "date_part",
    "date_trunc",
    "datepart",
    "datetrunc",
    "degrees",
    "ends_with",
    "exp",
    "factorial",
    "flatten",
    "floor",
    "gcd",
    "generate_series",
    "greatest",
    "initcap",
    "instr",
    "isnan",
    "lcm",
    "least",
    "left",
    "length",
    "list_any_value",
    "list_append",
    "list_avg",
    "list_cat",
    "list_concat",
    "list_contains",
    "list_distance",
    "list_distinct",
    "list_element",
    "list_extract",
    "list_has",
    "list_has_all",
    "list_has_any",
    "list_indexof",
    "list_intersect",
    "list_max",
    "list_min",
    "list_position",
    "list_prepend",
    "list_product",
    "list_resize",
    "list_reverse",
    "list_slice",
    "list_sort",
    "list_sum",
    "ln",
    "log",
    "log10",
    "log2",
    "lower",
    "lpad",
    "ltrim",
    "make_date",
    "map",
    "map_entries",
    "map_keys",
    "map_values",
    "md5",
    "nullif",
    "nvl",
    "nvl2",
    "octet_length",
    "overlay",
    "pi",
    "position",
    "pow",
    "power",
    "radians",
    "range",
    "regexp_replace",
    "repeat",
    "replace",
    "reverse",
    "right",
    "round",
    "rpad",
    "rtrim",
    "sin",
    "sinh",
    "split_part",
    "sqrt",
    "starts_with",
    "strpos",
    "substr",
    "substring",
    "tan",
    "tanh",
    "to_timestamp",
    "translate",
    "trim",
    "trunc",
    "upper",
];

/// Names that only planning writes: of syntax (`EXTRACT`, `l[i]`, `TRIM(BOTH ..)`), of what `meaning` puts in the place of
/// a name, and of what dialects say otherwise; each with what a text says for it.
const INNER: &[(&str, &str)] = &[
    ("array_any_value", "list_any_value"),
    ("array_avg", "list_avg"),
    ("array_compact", "list_filter"),
    ("array_distance", "list_distance"),
    ("array_element", "list_extract"),
    ("array_max", "list_max"),
    ("array_min", "list_min"),
    ("array_product", "list_product"),
    ("array_sum", "list_sum"),
    ("btrim", "trim"),
    ("digest", "sha256"),
    ("get_field", "struct_extract"),
    ("make_array", "list_value"),
    ("map_extract", "map_extract"),
    ("named_struct", "struct_pack"),
    ("regexp_like", "regexp_matches"),
    ("signum", "sign"),
];

/// Kernels and names of ours that no user's text calls, each with what a text says for it.
const OURS: &[(&str, &str)] = &[
    ("as_text", "CAST"),
    ("bit_not", "~"),
    ("bits_of_number", "bin"),
    ("bits_of_text", "bin"),
    ("clock_in_zone", "timezone"),
    ("day_of_text", "CAST"),
    ("divide_checked", "/"),
    ("divide_integers", "/"),
    ("double_of_decimal", "CAST"),
    ("exact_list_sum", "list_sum"),
    ("hex_of_number", "hex"),
    ("hex_of_text", "hex"),
    ("instant_by_format", "strptime"),
    ("instant_in_zone", "timezone"),
    ("instant_of_text", "CAST"),
    ("int_divide", "//"),
    ("interval_length", "INTERVAL"),
    ("interval_times", "INTERVAL"),
    ("moment_bucket", "time_bucket"),
    ("moment_by_format", "strptime"),
    ("moment_by_formats", "strptime"),
    ("moment_of_parts", "make_timestamp"),
    ("moment_of_text", "CAST"),
    ("moment_text", "strftime"),
    ("moment_trunc", "date_trunc"),
    ("natural_number", "CAST"),
    ("only", "a subquery"),
    ("plain_number", "CAST"),
    ("round_even", "CAST"),
    ("round_places", "round"),
    ("shift_left", "<<"),
    ("shift_right", ">>"),
    ("text_like", "LIKE"),
    ("text_slice", "[]"),
    ("try_day_of_text", "TRY_CAST"),
    ("try_instant_of_text", "TRY_CAST"),
    ("try_moment_by_format", "try_strptime"),
    ("try_moment_by_formats", "try_strptime"),
    ("try_moment_of_text", "TRY_CAST"),
    ("unnest_each", "unnest"),
    ("whole_number", "CAST"),
    ("whole_part", "CAST"),
    ("whole_parts", "date_sub"),
];

/// Whether DataFusion's function of a name is known to some text.
pub(crate) fn is_taken(name: &str) -> bool {
    TAKEN.binary_search(&name).is_ok() || written(INNER, name).is_some()
}

/// Whether a user's text may call the function of a name that is known.
pub(crate) fn is_public(name: &str) -> bool {
    written(INNER, name).is_none() && written(OURS, name).is_none()
}

/// The syntax of a text for a function that it cannot name.
fn written(names: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    let at = names.binary_search_by_key(&name, |(known, _)| known);
    at.ok().map(|at| names[at].1)
}

/// A message whose calls have the names that a text gives them, and none of planning's.
///
/// ```
/// let message = ringview_expr::as_written("the expression int_divide(\"a\", 0): no number");
/// assert_eq!(message, "the expression //(\"a\", 0): no number");
/// ```
#[must_use]
pub fn as_written(message: &str) -> String {
    let mut made = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find(|letter: char| letter.is_ascii_alphabetic()) {
        let (before, behind) = rest.split_at(at);
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let end = behind
            .find(|letter| !is_part(letter))
            .unwrap_or(behind.len());
        let (word, behind) = behind.split_at(end);
        // A name of one word may be a word of the message.
        let is_call = behind.starts_with('(') || word.contains('_') && !before.ends_with('"');
        let known = written(INNER, word).or_else(|| written(OURS, word));
        made.push_str(before);
        made.push_str(known.filter(|_| is_call).unwrap_or(word));
        rest = behind;
    }
    made + rest
}
