//! Hashing under random seeds, so that nobody can choose keys that collide.
//!
//! Randomness must not be visible: results, their order and the bits of floats are the same
//! whatever the seeds are. Cost: that of hashing under a known seed.
//!
//! | what users choose is hashed in | safe, because |
//! |---|---|
//! | parts: views, groups of indexes and companions, change logs, batches being grouped | they begin with a known seed, watch the distance of their entries from home, and take a random one; arrays of slots hash nothing |
//! | the base rows of a table | the same |
//! | the dictionary of strings | random from the start; ids are given in the order in which strings are added |
//! | maps of `std` by slots or names | they are random, or hold slots, which nobody chooses |

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use foldhash::SharedSeed;
use foldhash::quality::SeedableRandomState;

/// A fresh way to hash, seeded by the operating system.
pub fn random_hasher() -> SeedableRandomState {
    static SHARED: OnceLock<SharedSeed> = OnceLock::new();
    // SipHash under keys of the operating system gives independent numbers.
    let random = || RandomState::new().hash_one(0);
    let shared = SHARED.get_or_init(|| SharedSeed::from_u64(random()));
    SeedableRandomState::with_seed(random(), shared)
}
