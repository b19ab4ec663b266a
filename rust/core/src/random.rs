//! Hashing under seeds that nobody can know, so that nobody can choose keys that collide.
//!
//! What is random here must never show: results, their order and the bits of floats are the same
//! whatever the seeds are. Cost: that of hashing under a known seed.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use foldhash::SharedSeed;
use foldhash::quality::SeedableRandomState;

/// A fresh way to hash, seeded by the operating system.
pub fn random_hasher() -> SeedableRandomState {
    static SHARED: OnceLock<SharedSeed> = OnceLock::new();
    // SipHash under keys of the operating system gives numbers that tell nothing of each other.
    let random = || RandomState::new().hash_one(0);
    let shared = SHARED.get_or_init(|| SharedSeed::from_u64(random()));
    SeedableRandomState::with_seed(random(), shared)
}
