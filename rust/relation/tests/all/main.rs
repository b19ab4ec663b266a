//! Relations: parts, base rows, partitions, joins.

mod crafted;
mod growth;
mod join;
mod keyed_table;
mod narrow;
mod partition;
mod relation;
mod room;
mod row_cases;
mod rows;
