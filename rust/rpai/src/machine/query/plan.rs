//! The maintained query: the columns of its tables, and blocks of aggregates over them (paper, 4.1).
//!
//! Invariant: the relations of its blocks are tables, by number. Cost: none; this is data.

use ringview_core::Type;
use ringview_query::nested::Block;

/// A query: the columns of its tables, and its outermost block.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) tables: Vec<Vec<ColumnType>>,
    pub(crate) block: Block,
    /// Subqueries, which are numbered from 1.
    pub(crate) blocks: usize,
}

impl Plan {
    /// A query over tables, given by their columns.
    #[must_use]
    pub fn new(tables: Vec<Vec<ColumnType>>, mut block: Block) -> Self {
        Self {
            tables,
            blocks: block.number() - 1,
            block,
        }
    }

    /// Of each table, which columns are read.
    pub(crate) fn needed(&self) -> Vec<Vec<bool>> {
        let mut needed: Vec<_> = (self.tables.iter())
            .map(|all| vec![false; all.len()])
            .collect();
        self.block
            .each_read(&mut |table, column| needed[table][column] = true);
        needed
    }

    /// Number of columns of each table.
    #[must_use]
    pub fn widths(&self) -> Vec<usize> {
        self.tables.iter().map(Vec::len).collect()
    }
}

/// The type of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnType {
    /// The type, by which words are read.
    pub ty: Type,
    /// Whether it may be NULL.
    pub nullable: bool,
}

impl ColumnType {
    /// Of a verdict on each row.
    #[must_use]
    pub fn verdict() -> Self {
        Self {
            ty: Type::Bool,
            nullable: false,
        }
    }
}
