//! Values and members of groups.

mod members;
mod values;
