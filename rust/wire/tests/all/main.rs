//! Tests of the wire protocol that need no database.

mod copy;
mod encode;
mod server;
