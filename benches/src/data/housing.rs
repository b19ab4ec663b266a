//! Housing: six relations that join on the postcode alone, so every change is O(1) in a view tree.
//!
//! At scale s a postcode has s rows in House, s in Shop, floor(log2 s) in Institution, s/2 in Restaurant and one each
//! in Demographics and Transport. Quick mode keeps the shape with fewer postcodes.

use super::{Dataset, Order, Random, Relation};

const SCALE: usize = 20;
const POSTCODES: usize = 25_000;

/// House, Shop, Institution, Restaurant, Demographics, Transport: 1,400,000 rows.
pub(crate) fn generate(order: Order, quick: bool) -> Dataset {
    let postcodes = if quick { POSTCODES / 50 } else { POSTCODES };
    let mut random = Random::new(0x40e5);
    let relations = [
        ("House", SCALE, 10),
        ("Shop", SCALE, 5),
        ("Institution", SCALE.ilog2() as usize, 2),
        ("Restaurant", SCALE / 2, 2),
        ("Demographics", 1, 4),
        ("Transport", 1, 3),
    ]
    .map(|(name, rows, features)| {
        let keys = (0..postcodes as i32)
            .flat_map(|postcode| std::iter::repeat_n(postcode, rows))
            .collect();
        Relation::new(
            name,
            &["postcode"],
            vec![keys],
            &name.to_lowercase(),
            features,
            &mut random,
        )
    });
    Dataset::new(relations.into(), order)
}
