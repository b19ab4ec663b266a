//! The dictionary against a map: dense ids, equal ids for equal strings, nothing lost on growth.

use std::collections::HashMap;

use proptest::prelude::*;
use ringview_core::Dictionary;

proptest! {
    #[test]
    fn behaves_like_a_map(texts in prop::collection::vec("\\PC{0,6}|[ab]{0,2}", 0..400)) {
        let mut dict = Dictionary::new();
        let mut model: HashMap<String, u32> = HashMap::new();
        for text in &texts {
            let next = model.len() as u32;
            let expected = *model.entry(text.clone()).or_insert(next);
            prop_assert_eq!(dict.intern(text).unwrap(), expected);
        }
        prop_assert_eq!(dict.len(), model.len());
        for (text, id) in &model {
            prop_assert_eq!(dict.text(*id), text.as_str());
            prop_assert_eq!(dict.id(text), Some(*id));
        }
        prop_assert_eq!(dict.id("never seen \u{0}"), None);
    }
}

#[test]
fn memory_is_the_text_and_a_little() {
    let mut dict = Dictionary::new();
    assert!(dict.is_empty());
    for number in 0..10_000 {
        dict.intern(&format!("customer number {number:06}"))
            .unwrap();
    }
    assert!(
        dict.memory_usage() < 10_000 * (22 + 14) * 2,
        "{}",
        dict.memory_usage()
    );
}
