//! Texts that are refused, with their places; how deeply texts may be nested; what a text names.

mod catalog;
mod depth;
mod named;
mod refused;
