//! Values, types, the row encoding, the dictionary.

mod column;
mod common;
mod convert;
mod dictionary;
mod encode;
mod encoder;
mod types;
