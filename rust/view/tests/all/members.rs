//! Members: where they stand in a row, and which strings they hold.

use ringview_core::{Dictionary, Type};
use ringview_query::Kind;
use ringview_view::answer::values::Tallies;
use ringview_view::answer::{Categories, FeatureColumns, Member, Members, TermSums};

/// Sums, a degree-m payload over two features, two summaries, origins.
fn members() -> Members {
    let mut members = Members::default();
    let kinds = vec![Kind::Int, Kind::Real, Kind::Decimal { scale: 2 }];
    // Terms 1 and 2 are one component.
    members.push(Member::Sums(TermSums::new(kinds, vec![0, 2, 2, 1])));
    members.push(Member::Cofactor(FeatureColumns {
        names: vec!["x".to_owned(), "y".to_owned()],
        order: vec![1, 0],
        categories: vec![Categories {
            name: "c".to_owned(),
            types: vec![Type::Utf8],
            sums: 2,
        }],
        pairs: vec![Categories {
            name: "c, d".to_owned(),
            types: vec![
                Type::Decimal {
                    precision: 9,
                    scale: 2,
                },
                Type::Utf8,
            ],
            sums: 0,
        }],
    }));
    members.push(Member::Summary { texts: true });
    members.push(Member::Summary { texts: false });
    members.push(Member::Origins { features: 2 });
    members
}

#[test]
fn members_lie_one_after_the_other() {
    let members = members();
    let words: Vec<_> = [0, 1, 2, 3].map(|term| members.words(term)).to_vec();
    assert_eq!(words, [0..1, 4..6, 4..6, 1..4]);
    assert_eq!(members.first(), 6);
    let (payload, _) = members.features().expect("there are features");
    assert_eq!(payload, 6..12, "a count, two sums, three products");
    let summaries: Vec<_> = members.summaries().collect();
    assert_eq!(summaries, [12..17, 17..22]);
    assert_eq!(members.origins(), 22..26);
    assert_eq!(members.width(), 26);
}

/// What is marked of these strings, in their order.
fn held(texts: &[&str], mark: impl FnOnce(&[u64], &mut ringview_core::LiveIds)) -> Vec<bool> {
    let mut dictionary = Dictionary::new();
    let intern = |text: &&str| u64::from(dictionary.intern(text).expect("there is room"));
    let ids: Vec<u64> = texts.iter().map(intern).collect();
    dictionary.commit();
    let mut held = dictionary.unmarked();
    mark(&ids, &mut held);
    dictionary.sweep(&held);
    ids.iter().map(|&id| dictionary.get(id).is_some()).collect()
}

#[test]
fn the_strings_of_summaries_are_marked() {
    let left = held(&["zero", "a", "b", "none"], |ids, held| {
        let mut row = vec![0; members().width()];
        row[12..17].copy_from_slice(&[2, ids[1], 0, ids[2], 0]);
        // Numbers, whatever strings have their ids.
        row[17..22].copy_from_slice(&[2, ids[3], 0, ids[3], 0]);
        members().mark_strings(&row, held);
    });
    assert_eq!(left, [false, true, true, false]);
}

/// An entry of a tally is as wide as its value, its count and all words of its sums.
#[test]
fn the_strings_of_tallies_are_marked_behind_sums() {
    let left = held(&["zero", "a", "b", "c", "d"], |ids, held| {
        let entry = |id: u64| [id, 1, 0, 0, 0, 0, 0, 0];
        let one: Vec<u64> = ids[1..4].iter().flat_map(|&id| entry(id)).collect();
        let pair = vec![7, 0, ids[4], 1];
        let tallies: Tallies = vec![one, pair].into();
        members().mark_tallies(&tallies, held);
    });
    assert_eq!(left, [false, true, true, true, true]);
}
