//! What expressions mean, and what is refused.

mod meaning;
mod page;
mod refused;
mod round_trip;
mod user;
