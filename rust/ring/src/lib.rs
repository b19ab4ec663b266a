//! Rings: what a view keeps beside each key, and how it adds and multiplies.
