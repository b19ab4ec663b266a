//! View trees: plans, and views against a naive model.

mod plan;
mod views;
