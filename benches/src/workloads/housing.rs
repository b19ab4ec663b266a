//! Housing: six relations that join on the postcode alone, so every change is O(1) in a view tree.
//!
//! At scale s a postcode has s rows in House, s in Shop, floor(log2 s) in Institution, s/2 in Restaurant and one each
//! in Demographics and Transport; at least one. A share keeps the shape with fewer postcodes.

use crate::baselines::table::{Arrays, Tables};
use crate::baselines::{first_order, handwritten};
use crate::common::data::{Dataset, Order, Random, Relation};
use crate::common::system::System;
use crate::workloads::{ByHand, Size, Stream};

/// That of the figures, unless they say another.
pub(crate) const SCALE: usize = 20;
const POSTCODES: usize = 25_000;

/// The stream of all six, all changing.
pub(crate) struct Housing;

impl Stream for Housing {
    fn name(&self) -> &'static str {
        "housing"
    }

    fn generate(&self, order: Order, size: &Size) -> Result<Dataset, String> {
        Ok(generate(order, size.scale, size.share))
    }

    fn streamed(&self) -> &'static [usize] {
        &[0, 1, 2, 3, 4, 5]
    }

    fn summed(&self) -> Option<&'static str> {
        Some("postcode")
    }

    fn is_scaled(&self) -> bool {
        true
    }

    fn by_hand(&self, program: ByHand) -> Option<Box<dyn System>> {
        Some(match program {
            ByHand::Arrays => Box::new(handwritten::housing::Housing::<Arrays>::new()),
            ByHand::Tables => Box::new(handwritten::housing::Housing::<Tables>::new()),
            ByHand::FirstOrder => Box::new(first_order::Housing::new()),
        })
    }
}

/// House, Shop, Institution, Restaurant, Demographics, Transport: 1,400,000 rows at scale 20.
fn generate(order: Order, scale: usize, share: usize) -> Dataset {
    let postcodes = POSTCODES / share;
    let mut random = Random::new(0x40e5);
    let relations = [
        ("House", scale, 10),
        ("Shop", scale, 5),
        ("Institution", scale.ilog2().max(1) as usize, 2),
        ("Restaurant", (scale / 2).max(1), 2),
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
