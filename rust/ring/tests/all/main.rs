//! The laws of the rings, and sums without rounding.

mod cofactor;
mod expansion;
mod extremes;
mod laws;
mod sum_product;
