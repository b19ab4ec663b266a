//! Members: where they stand in a row, and which strings they hold.

use ringview_core::Type;
use ringview_query::Kind;
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
    members.push(Member::Summary);
    members.push(Member::Summary);
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
