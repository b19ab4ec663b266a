//! Tests of the wire protocol that need no database.

mod copied_in;
mod copy;
mod encode;
mod malformed;
mod server;
