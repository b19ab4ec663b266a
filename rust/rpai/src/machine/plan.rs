//! What is maintained: blocks of aggregates, whose conditions hold values that may be blocks (paper, 4.1).
//!
//! Invariant: a column is named by how many blocks further out its relation stands, the relation's place
//! there, and its place in the table. Aggregates take columns of their own block alone. Cost: none; this
//! is data.

use ringview_core::{Result, Type};

use super::number::{Kind, Quantity};
use super::row::Cell;
use super::scope::{Nowhere, simple};

/// A query: the columns of its tables, and its outermost block.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) tables: Vec<Vec<ColumnType>>,
    pub(crate) block: Block,
    /// Blocks within, which are numbered from 1.
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

    /// How many columns each table has.
    #[must_use]
    pub fn widths(&self) -> Vec<usize> {
        self.tables.iter().map(Vec::len).collect()
    }
}

/// What is known of a column.
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
    /// The columns that tell groups, of this block. Only outermost.
    pub group: Vec<Column>,
    /// What is aggregated.
    pub aggregates: Vec<Aggregate>,
    /// What is shown: values over the aggregates. A block within another has one.
    pub outputs: Vec<Value>,
    /// Its place among the blocks of a plan.
    number: usize,
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

/// What is aggregated over the rows of a block.
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
    /// The one output of a block within.
    Block(Box<Block>),
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `>=`
    GreaterOrEqual,
    /// `>`
    Greater,
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

impl Comparison {
    /// The same with sides exchanged.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
            Comparison::Greater => Comparison::Less,
            same => same,
        }
    }

    pub(crate) fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Equal => order.is_eq(),
            Comparison::NotEqual => order.is_ne(),
            Comparison::GreaterOrEqual => order.is_ge(),
            Comparison::Greater => order.is_gt(),
        }
    }
}

impl Value {
    fn number(&mut self, next: &mut usize) {
        match self {
            Value::Block(block) => block.number(next),
            Value::Plus(a, b) | Value::Minus(a, b) | Value::Times(a, b) | Value::Over(a, b) => {
                a.number(next);
                b.number(next);
            }
            _ => {}
        }
    }

    /// Calls `visit` with every column, as seen from the block that the value stands in.
    pub(crate) fn columns(&self, visit: &mut dyn FnMut(Column)) {
        match self {
            Value::Constant(_) | Value::Aggregate(_) => {}
            Value::Column(column) => visit(*column),
            Value::Present(columns) => columns.iter().for_each(|&column| visit(column)),
            Value::Plus(a, b) | Value::Minus(a, b) | Value::Times(a, b) | Value::Over(a, b) => {
                a.columns(visit);
                b.columns(visit);
            }
            Value::Block(block) => block.free(visit),
        }
    }

    /// Calls `visit` with the blocks in it, but not with those within them.
    pub(crate) fn blocks<'a>(&'a self, visit: &mut dyn FnMut(&'a Block)) {
        match self {
            Value::Block(block) => visit(block),
            Value::Plus(a, b) | Value::Minus(a, b) | Value::Times(a, b) | Value::Over(a, b) => {
                a.blocks(visit);
                b.blocks(visit);
            }
            _ => {}
        }
    }

    /// The same, to change them.
    pub(crate) fn blocks_mut(&mut self, visit: &mut dyn FnMut(&mut Block)) {
        match self {
            Value::Block(block) => visit(block),
            Value::Plus(a, b) | Value::Minus(a, b) | Value::Times(a, b) | Value::Over(a, b) => {
                a.blocks_mut(visit);
                b.blocks_mut(visit);
            }
            _ => {}
        }
    }

    /// Whether a block stands in it.
    pub(crate) fn is_nested(&self) -> bool {
        match self {
            Value::Block(_) => true,
            Value::Plus(a, b) | Value::Minus(a, b) | Value::Times(a, b) | Value::Over(a, b) => {
                a.is_nested() || b.is_nested()
            }
            _ => false,
        }
    }

    /// Whether a quotient stands in it.
    pub(crate) fn divides(&self) -> bool {
        match self {
            Value::Over(..) => true,
            Value::Plus(a, b) | Value::Minus(a, b) | Value::Times(a, b) => {
                a.divides() || b.divides()
            }
            _ => false,
        }
    }

    /// Whether it is the same for all rows of the block it stands in, given the row around that.
    pub(crate) fn is_closed(&self) -> bool {
        let mut closed = true;
        self.columns(&mut |column| closed &= column.depth > 0);
        closed
    }

    /// Whether it is the same whatever rows there are around it.
    pub(crate) fn is_constant(&self) -> bool {
        let mut constant = true;
        self.columns(&mut |_| constant = false);
        constant
    }
}

impl Condition {
    fn number(&mut self, next: &mut usize) {
        match self {
            Condition::And(all) | Condition::Or(all) => {
                all.iter_mut().for_each(|one| one.number(next));
            }
            Condition::Compare(left, _, right) => {
                left.number(next);
                right.number(next);
            }
            Condition::IsNull(value, _) => value.number(next),
        }
    }

    /// Calls `visit` with every column, as seen from the block that the condition stands in.
    pub(crate) fn columns(&self, visit: &mut dyn FnMut(Column)) {
        match self {
            Condition::And(all) | Condition::Or(all) => {
                for one in all {
                    one.columns(visit);
                }
            }
            Condition::Compare(left, _, right) => {
                left.columns(visit);
                right.columns(visit);
            }
            Condition::IsNull(value, _) => value.columns(visit),
        }
    }

    /// Calls `visit` with the blocks in it, but not with those within them.
    pub(crate) fn blocks<'a>(&'a self, visit: &mut dyn FnMut(&'a Block)) {
        match self {
            Condition::And(all) | Condition::Or(all) => {
                for one in all {
                    one.blocks(visit);
                }
            }
            Condition::Compare(left, _, right) => {
                left.blocks(visit);
                right.blocks(visit);
            }
            Condition::IsNull(value, _) => value.blocks(visit),
        }
    }

    /// The same, to change them.
    pub(crate) fn blocks_mut(&mut self, visit: &mut dyn FnMut(&mut Block)) {
        match self {
            Condition::And(all) | Condition::Or(all) => {
                for one in all {
                    one.blocks_mut(visit);
                }
            }
            Condition::Compare(left, _, right) => {
                left.blocks_mut(visit);
                right.blocks_mut(visit);
            }
            Condition::IsNull(value, _) => value.blocks_mut(visit),
        }
    }

    /// Calls `visit` with what it compares.
    pub(crate) fn values(&self, visit: &mut dyn FnMut(&Value)) {
        match self {
            Condition::And(all) | Condition::Or(all) => {
                for one in all {
                    one.values(visit);
                }
            }
            Condition::Compare(left, _, right) => {
                visit(left);
                visit(right);
            }
            Condition::IsNull(value, _) => visit(value),
        }
    }

    pub(crate) fn is_nested(&self) -> bool {
        match self {
            Condition::And(all) | Condition::Or(all) => all.iter().any(Condition::is_nested),
            Condition::Compare(left, _, right) => left.is_nested() || right.is_nested(),
            Condition::IsNull(value, _) => value.is_nested(),
        }
    }

    /// What must all hold.
    pub(crate) fn conjuncts(&self) -> Vec<&Condition> {
        match self {
            Condition::And(all) => all.iter().flat_map(Condition::conjuncts).collect(),
            one => vec![one],
        }
    }
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

    pub(crate) fn place(&self) -> usize {
        self.number
    }

    /// Gives this block and those within their numbers.
    fn number(&mut self, next: &mut usize) {
        self.number = *next;
        *next += 1;
        self.condition.number(next);
    }

    /// Calls `visit` with every column of a block further out, as seen from the next block out.
    pub(crate) fn free(&self, visit: &mut dyn FnMut(Column)) {
        let mut further = |column: Column| {
            if let Some(depth) = column.depth.checked_sub(1) {
                visit(Column { depth, ..column });
            }
        };
        self.condition.columns(&mut further);
        for value in self.aggregates.iter().filter_map(Aggregate::argument) {
            value.columns(&mut further);
        }
    }

    /// Calls `visit` with every table of this block and of all within it.
    pub(crate) fn tables(&self, visit: &mut dyn FnMut(usize)) {
        self.relations.iter().copied().for_each(&mut *visit);
        self.condition
            .blocks(&mut |block| block.tables(&mut *visit));
    }

    /// Marks the columns that it reads, by table; `around` has the relations of the blocks around it.
    pub(crate) fn needs<'a>(&'a self, around: &mut Vec<&'a [usize]>, needed: &mut [Vec<bool>]) {
        around.push(&self.relations);
        let mut mark = |column: Column| {
            // What a block within reads of its own is marked there.
            if let Some(at) = (around.len() - 1).checked_sub(column.depth) {
                needed[around[at][column.relation]][column.column] = true;
            }
        };
        self.group.iter().copied().for_each(&mut mark);
        self.condition.columns(&mut mark);
        for value in self.aggregates.iter().filter_map(Aggregate::argument) {
            value.columns(&mut mark);
        }
        let mut within = Vec::new();
        self.condition.blocks(&mut |block| within.push(block));
        for block in within {
            block.needs(around, needed);
        }
        around.pop();
    }

    /// Its first output, from its aggregates.
    pub(crate) fn output(&self, aggregates: &[Cell]) -> Result<Cell> {
        simple(&self.outputs[0], &Nowhere, &mut |value| match value {
            Value::Aggregate(at) => Ok(aggregates[*at]),
            _ => Ok(Cell(None)),
        })
    }

    /// The one aggregate that is its output, as it is.
    pub(crate) fn sole_aggregate(&self) -> Option<&Aggregate> {
        match (&self.outputs[..], &self.aggregates[..]) {
            ([Value::Aggregate(0)], [aggregate]) => Some(aggregate),
            _ => None,
        }
    }
}

/// The kind of a value whose columns have these kinds.
pub(crate) fn kind(value: &Value, column: &impl Fn(Column) -> Kind) -> Kind {
    match value {
        Value::Constant(Quantity::Exact { scale, .. }) => Kind::Exact(*scale),
        Value::Constant(Quantity::Real(_)) | Value::Over(..) => Kind::Real,
        Value::Column(of) => column(*of),
        Value::Present(_) => Kind::Exact(0),
        // What aggregates and blocks give is known when it is there.
        Value::Aggregate(_) | Value::Block(_) => Kind::Real,
        Value::Plus(a, b) | Value::Minus(a, b) => kind(a, column).common(kind(b, column)),
        Value::Times(a, b) => match (kind(a, column), kind(b, column)) {
            (Kind::Exact(a), Kind::Exact(b)) => Kind::Exact(a.saturating_add(b)),
            _ => Kind::Real,
        },
    }
}
