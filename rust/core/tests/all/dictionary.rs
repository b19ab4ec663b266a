//! The dictionary against a map: dense ids, equal ids for equal strings, nothing lost on growth;
//! and under transactions and sweeps: held strings stay as they are, others are removed with their
//! memory.

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

/// A string of any length class, by a number.
fn text(number: u16) -> String {
    let long = match number % 50 {
        0 => 70,
        1 => 5_000,
        _ => 0,
    };
    format!("\u{e4}{number}{}", "x".repeat(long))
}

#[derive(Clone, Debug)]
enum Step {
    Intern(Vec<u16>),
    Commit,
    Rollback,
    /// Holds what this divides.
    Sweep(u16),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => prop::collection::vec(0u16..400, 0..60).prop_map(Step::Intern),
        2 => Just(Step::Commit),
        1 => Just(Step::Rollback),
        1 => (1u16..5).prop_map(Step::Sweep),
    ]
}

proptest! {
    #[test]
    fn strings_leave_and_others_keep_their_ids(steps in prop::collection::vec(step(), 1..40)) {
        let mut dict = Dictionary::new();
        let mut now: HashMap<u16, u32> = HashMap::new();
        let mut committed = now.clone();
        for step in steps {
            match step {
                Step::Intern(numbers) => {
                    for number in numbers {
                        let id = dict.intern(&text(number)).unwrap();
                        let known = now.insert(number, id);
                        prop_assert!(known.is_none_or(|known| known == id));
                    }
                    prop_assert_eq!(dict.fresh(), now.len() - committed.len());
                }
                Step::Commit => {
                    dict.commit();
                    committed = now.clone();
                }
                Step::Rollback => {
                    let gone = dict.rollback();
                    let mut fresh: Vec<u32> = now
                        .iter()
                        .filter(|(number, _)| !committed.contains_key(number))
                        .map(|(_, id)| *id)
                        .collect();
                    fresh.sort_unstable();
                    let mut ids = gone.ids;
                    ids.sort_unstable();
                    prop_assert_eq!(ids, fresh);
                    now = committed.clone();
                }
                Step::Sweep(divisor) => {
                    dict.commit();
                    let mut held = dict.unmarked();
                    let before = now.len();
                    now.retain(|number, _| number % divisor == 0);
                    now.values().for_each(|&id| held.mark(id.into()));
                    held.mark(u64::from(u32::MAX));
                    let gone = dict.sweep(&held);
                    prop_assert_eq!(gone.ids.len(), before - now.len());
                    prop_assert_eq!(gone.limit, dict.limit());
                    prop_assert!(gone.ids.iter().all(|&id| dict.get(id.into()).is_none()));
                    committed = now.clone();
                }
            }
            prop_assert_eq!(dict.len(), now.len());
            for (number, id) in &now {
                prop_assert!((*id as usize) < dict.limit());
                prop_assert_eq!(dict.text(*id), text(*number));
                prop_assert_eq!(dict.id(&text(*number)), Some(*id));
            }
        }
    }
}

#[test]
fn what_is_refused_or_gone_leaves_no_room_behind() {
    let mut dict = Dictionary::new();
    let number = |number: usize| format!("a fresh string {number}");
    for round in 0..20 {
        for at in 0..20_000 {
            dict.intern(&number(round * 20_000 + at)).unwrap();
        }
        assert_eq!(dict.rollback().ids.len(), 20_000);
    }
    assert!(dict.memory_usage() < 40_000, "{}", dict.memory_usage());
    // A window of a thousand strings advances; strings behind it are swept when as many were added.
    let mut most = 0;
    for first in (0..400_000).step_by(1_000) {
        let ids = (first..first + 1_000).map(|at| dict.intern(&number(at)).unwrap());
        let ids: Vec<u32> = ids.collect();
        dict.commit();
        if first % 2_000 == 0 {
            let mut held = dict.unmarked();
            ids.iter().for_each(|&id| held.mark(id.into()));
            dict.sweep(&held);
        }
        most = most.max(dict.memory_usage());
        assert!(dict.limit() <= 3_000, "ids are given again");
    }
    assert!(most < 400_000, "{most}");
    dict.sweep(&dict.unmarked());
    assert!(dict.is_empty());
    assert!(dict.memory_usage() < 100_000, "{}", dict.memory_usage());
}
