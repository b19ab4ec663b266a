//! The page of functions has every name that a text may call.

use std::fs;
use std::path::Path;

use ringview_expr::{Functions, function_names, is_inner_function};

#[test]
fn every_function_stands_on_its_page() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/functions.md");
    let page = fs::read_to_string(page).unwrap().to_lowercase();
    let words: Vec<&str> = page
        .split(|one: char| !one.is_alphanumeric() && one != '_')
        .collect();
    let names = function_names();
    let absent: Vec<&String> = names
        .iter()
        .filter(|name| !words.contains(&name.as_str()))
        .collect();
    assert!(absent.is_empty(), "{absent:?}");
}

/// A plan is kept as a text, which calls functions by their first names.
#[test]
fn every_function_is_known_by_its_first_name() {
    let functions = Functions::default();
    for name in function_names() {
        let first = functions.get(&name).unwrap();
        assert!(
            functions.get(first.name()).is_some(),
            "{name}: {}",
            first.name()
        );
    }
}

#[test]
fn no_text_calls_what_is_for_ours_alone() {
    for name in [
        "moment_bucket",
        "moment_text",
        "shift_left",
        "array_element",
        "int_divide",
    ] {
        assert!(is_inner_function(name), "{name}");
        assert!(!function_names().contains(&name.to_owned()), "{name}");
    }
}
