//! Values and payload fields of groups.

mod payload_layout;
mod values;
