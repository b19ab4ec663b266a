//! Payload fields: their positions in a row, and the strings that they hold.

use ringview_core::Type;
use ringview_query::Kind;
use ringview_view::answer::{Categories, FeatureColumns, PayloadField, PayloadLayout, TermSums};

/// Sums, a degree-m payload over two features, two summaries, origins.
fn payload_layout() -> PayloadLayout {
    let mut payload_layout = PayloadLayout::default();
    let kinds = vec![Kind::Int, Kind::Real, Kind::Decimal { scale: 2 }];
    // Terms 1 and 2 are one component.
    payload_layout.push(PayloadField::Sums(TermSums::new(kinds, vec![0, 2, 2, 1])));
    payload_layout.push(PayloadField::Cofactor(FeatureColumns {
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
    payload_layout.push(PayloadField::Summary);
    payload_layout.push(PayloadField::Summary);
    payload_layout.push(PayloadField::Origins { features: 2 });
    payload_layout
}

#[test]
fn members_lie_one_after_the_other() {
    let payload_layout = payload_layout();
    let words: Vec<_> = [0, 1, 2, 3].map(|term| payload_layout.words(term)).to_vec();
    assert_eq!(words, [0..1, 4..6, 4..6, 1..4]);
    assert_eq!(payload_layout.first(), 6);
    let (payload, _) = payload_layout.features().expect("there are features");
    assert_eq!(payload, 6..12, "a count, two sums, three products");
    let summaries: Vec<_> = payload_layout.summaries().collect();
    assert_eq!(summaries, [12..17, 17..22]);
    assert_eq!(payload_layout.origins(), 22..26);
    assert_eq!(payload_layout.width(), 26);
}
