//! The database: every engine against recomputation, transactions, refusals.

mod altered;
mod chain;
mod common;
mod correlated;
mod dag;
mod draws;
mod engines;
mod evaluate;
mod joins;
mod keyed;
mod limits;
mod months;
mod parted;
mod recursive;
mod refusals;
mod rows;
mod running;
mod sample_state;
mod samples;
mod time;
mod transactions;
