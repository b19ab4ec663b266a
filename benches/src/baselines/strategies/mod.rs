//! Two strategies to set the view tree beside, for the cofactor matrix of any natural join: first order and recursive.
//!
//! Both are written once, over relations as sets of attributes; nothing is particular to Retailer or Housing.
//! Invariant: all numbers are whole and below 2^53, so every order of summation gives the same result.

mod first_order;
mod moments;
mod recursive;
mod shape;

pub(crate) use first_order::FirstOrder;
pub(crate) use recursive::Recursive;
