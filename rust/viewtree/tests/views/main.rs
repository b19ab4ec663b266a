//! Views against a naive model; costs by counted steps.

mod costs;
mod naive;
mod streams;
