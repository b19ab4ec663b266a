//! Tests of the wire protocol that need no database.

mod encode;
mod server;
