//! What expressions mean, and what is refused.

mod meaning;
mod refused;
mod user;
