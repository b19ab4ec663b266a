//! Views against a naive model; costs by counted steps.

mod cofactor;
mod costs;
mod cyclic;
mod distinct;
mod explain;
mod factors;
mod naive;
mod streams;
