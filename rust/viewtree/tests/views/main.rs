//! Views against a naive model; costs by counted steps.

mod cofactor;
mod costs;
mod cyclic;
mod distinct;
mod factors;
mod naive;
mod streams;
