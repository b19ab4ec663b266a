//! Clauses that nothing reads; texts that are refused, with their places; texts that are taken; how deeply texts may be
//! nested; what a text names; definitions; scripts; queries that are run once; values of subqueries.

mod asked_once;
mod catalog;
mod clauses;
mod definition;
mod depth;
mod named;
mod refused;
mod scripts;
mod subquery_values;
mod taken;
