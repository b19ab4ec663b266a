//! The maintained query: blocks of aggregates, whose conditions hold values that may be blocks
//! (paper, 4.1).
//!
//! Invariant: a column is named by how many blocks further out its relation stands, the relation's
//! place there, and its place in the table. Aggregates take columns of their own block alone. Cost:
//! none; this is data.

use ringview_core::Type;
pub use ringview_query::Comparison;

use crate::machine::query::number::{Kind, Quantity};

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
        let mut blocks = 0;
        block.number(&mut blocks);
        Self {
            tables,
            block,
            blocks: blocks - 1,
        }
    }

    /// Of each table, which columns are read.
    pub(crate) fn needed(&self) -> Vec<Vec<bool>> {
        let mut needed: Vec<_> = (self.tables.iter())
            .map(|all| vec![false; all.len()])
            .collect();
        self.block.needs(&mut Vec::new(), &mut needed);
        needed
    }

    /// How many columns each table has.
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

/// One SELECT of aggregates.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The tables of its relations; more than one are multiplied.
    pub relations: Vec<usize>,
    /// Which rows take part.
    pub condition: Condition,
    /// The columns of GROUP BY, of this block. Only outermost.
    pub group: Vec<Column>,
    /// The aggregates.
    pub aggregates: Vec<Aggregate>,
    /// The outputs: values over the aggregates. A subquery has one.
    pub outputs: Vec<Value>,
    /// Its place among the blocks of a plan.
    pub(crate) number: usize,
}

/// A column of a relation in this block (`depth` 0), or so many blocks further out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Column {
    /// Blocks further out.
    pub depth: usize,
    /// The relation there.
    pub relation: usize,
    /// The column of its table.
    pub column: usize,
}

/// An aggregate over the rows of a block.
#[derive(Clone, Debug, PartialEq)]
pub enum Aggregate {
    /// Rows.
    Count,
    /// Rows where a value is not NULL.
    Counted(Value),
    /// The sum of a value that is not NULL.
    Sum(Value),
    /// The mean.
    Average(Value),
    /// The least.
    Min(Value),
    /// The greatest.
    Max(Value),
}

impl Aggregate {
    pub(crate) fn argument(&self) -> Option<&Value> {
        match self {
            Aggregate::Count => None,
            Aggregate::Counted(value)
            | Aggregate::Sum(value)
            | Aggregate::Average(value)
            | Aggregate::Min(value)
            | Aggregate::Max(value) => Some(value),
        }
    }
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Constant(Quantity),
    /// A column.
    Column(Column),
    /// 1 where columns are not NULL, else NULL.
    Present(Vec<Column>),
    /// An aggregate of the same block, in its outputs.
    Aggregate(usize),
    /// The sum.
    Plus(Box<Value>, Box<Value>),
    /// The difference.
    Minus(Box<Value>, Box<Value>),
    /// The product.
    Times(Box<Value>, Box<Value>),
    /// The quotient; NULL by 0.
    Over(Box<Value>, Box<Value>),
    /// The one output of a subquery.
    Block(Box<Block>),
}

/// A predicate; not TRUE where a value is NULL.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// All of them; TRUE if there is none.
    And(Vec<Condition>),
    /// One of them.
    Or(Vec<Condition>),
    /// A comparison.
    Compare(Value, Comparison, Value),
    /// Whether a value is NULL (or is not); never unknown.
    IsNull(Value, bool),
}

impl Block {
    /// A block that shows its aggregates.
    #[must_use]
    pub fn new(relations: Vec<usize>, condition: Condition, aggregates: Vec<Aggregate>) -> Self {
        let outputs = (0..aggregates.len()).map(Value::Aggregate).collect();
        Self {
            relations,
            condition,
            group: Vec::new(),
            aggregates,
            outputs,
            number: 0,
        }
    }

    pub(crate) fn position(&self) -> usize {
        self.number
    }
}

/// The kind of a value whose columns have these kinds.
pub(crate) fn kind(value: &Value, column: &impl Fn(Column) -> Kind) -> Kind {
    match value {
        Value::Constant(Quantity::Exact { scale, .. }) => Kind::Exact(*scale),
        Value::Constant(Quantity::Real(_) | Quantity::Sum(_)) | Value::Over(..) => Kind::Real,
        Value::Column(of) => column(*of),
        Value::Present(_) => Kind::Exact(0),
        // Aggregates and blocks have no type of their own.
        Value::Aggregate(_) | Value::Block(_) => Kind::Real,
        Value::Plus(a, b) | Value::Minus(a, b) => kind(a, column).common(kind(b, column)),
        Value::Times(a, b) => match (kind(a, column), kind(b, column)) {
            (Kind::Exact(a), Kind::Exact(b)) => Kind::Exact(a.saturating_add(b)),
            _ => Kind::Real,
        },
    }
}
