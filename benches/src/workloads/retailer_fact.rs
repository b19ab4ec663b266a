//! Retailer with only Inventory changing; the other relations are loaded before the clock starts.

use crate::baselines::table::{Arrays, Tables};
use crate::baselines::{first_order, handwritten};
use crate::common::data::{Dataset, Order};
use crate::common::system::System;
use crate::workloads::retailer::Retailer;
use crate::workloads::{ByHand, Size, Stream};

/// The stream of Inventory.
pub(crate) struct RetailerFact;

impl Stream for RetailerFact {
    fn name(&self) -> &'static str {
        "retailer-fact"
    }

    fn generate(&self, order: Order, size: &Size) -> Result<Dataset, String> {
        Retailer.generate(order, size)
    }

    fn loaded(&self) -> &'static [usize] {
        &[2, 1, 3, 4]
    }

    fn streamed(&self) -> &'static [usize] {
        &[0]
    }

    fn summed(&self) -> Option<&'static str> {
        Retailer.summed()
    }

    fn by_hand(&self, program: ByHand) -> Option<Box<dyn System>> {
        Some(match program {
            ByHand::Arrays => Box::new(handwritten::fact::Fact::<Arrays>::new()),
            ByHand::Tables => Box::new(handwritten::fact::Fact::<Tables>::new()),
            ByHand::FirstOrder => Box::new(first_order::Retailer::new()),
        })
    }
}
