//! The database: tables, views and atomic transactions over the engines.
