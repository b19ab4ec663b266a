//! Uniform samples without replacement, at every moment of a stream: of the items of a stream that pass
//! a predicate, and of the results of a join whose relations change.
//!
//! Paper: Dai, Hu, Yi, "Reservoir Sampling over Joins" (2024).
//!
//! | file | holds |
//! |---|---|
//! | `random` | the one generator, and exact draws from it |
//! | `law` | what a reservoir remembers beside its items: how many to pass over, and where the next goes |
//! | `reservoir` | [`Reservoir`]: k items of a stream of batches, skipping what need not be looked at |

mod law;
mod random;
mod reservoir;

pub use law::Law;
pub use random::Random;
pub use reservoir::{Items, Reservoir};
