//! What is read of a view: its rows, and what moved in them since somebody last asked.

pub mod followers;
