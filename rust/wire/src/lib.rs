//! PostgreSQL's wire protocol: connections, their statements, rows in both formats.
//!
//! A `Backend` is what a database is to a server: it opens sessions, which read, describe and do statements, blocking.
//! Nothing is said here of what runs them.
//!
//! | file | holds |
//! |---|---|
//! | `backend` | interface of a database to a server |
//! | `server` | a server: its address, its threads, its limits, its end |
//! | `connection` | the messages of one connection, one after the other |
//! | `line` | the socket of one, and the calls that it waits for |
//! | `reply` | what a connection answers |
//! | `prepared` | prepared statements and portals |
//! | `login` | who is let in: startup, passwords (SCRAM-SHA-256), TLS |
//! | `certificate` | the files of TLS, read again once they change |
//! | `running` | which sessions run, for requests to cancel them |
//! | `codec` | messages from bytes, of a bounded length |
//! | `frame` | the lengths within messages, checked before they are decoded |
//! | `entering` | the messages of a client that is not let in yet |
//! | `descriptors` | how many connections leave the process room for its files |
//! | `parameter` | values of parameters |
//! | `copying` | the messages of COPY, either way |
//! | `copy/` | its formats |
//! | `encode/` | Arrow to PostgreSQL's formats |
//!
//! Invariant: blocking calls run on threads of their own, so that no connection waits for the statement of another. A
//! client that disconnects, a request to cancel, a limit of time and the end of the server all end the statement that
//! runs. Cost: of a statement, two hops between threads and the bytes of its rows, of which a piece of 64 kB is written
//! at a time.

pub mod backend;
mod certificate;
mod codec;
mod connection;
pub mod copy;
mod copying;
mod descriptors;
pub mod encode;
mod entering;
mod frame;
mod line;
mod login;
mod parameter;
mod prepared;
mod reply;
mod running;
mod server;

pub use server::{Options, Server};
