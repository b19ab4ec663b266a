//! Values and rows, in an order of their own: NULL first, then by kind, then by value.

use std::cmp::Ordering;

/// A value of a row.
#[derive(Clone, Debug)]
pub enum Value {
    /// NULL: here it equals itself, as the rows of a group do.
    Null,
    /// An integer.
    Int(i64),
    /// A double.
    Real(f64),
    /// A string.
    Text(String),
}

/// A row.
pub type Row = Vec<Value>;

impl Value {
    fn kind(&self) -> u8 {
        match self {
            Value::Null => 0,
            Value::Int(_) => 1,
            Value::Real(_) => 2,
            Value::Text(_) => 3,
        }
    }

    /// It, unless it is NULL.
    #[must_use]
    pub fn known(&self) -> Option<&Value> {
        (*self != Value::Null).then_some(self)
    }

    /// The order of two known values as SQL has it; `None` where one is NULL.
    #[must_use]
    pub fn compare(&self, other: &Value) -> Option<Ordering> {
        match (self.known()?, other.known()?) {
            (Value::Int(left), Value::Real(right)) => (*left as f64).partial_cmp(right),
            (Value::Real(left), Value::Int(right)) => left.partial_cmp(&(*right as f64)),
            (left, right) => Some(left.cmp(right)),
        }
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Value::Int(left), Value::Int(right)) => left.cmp(right),
            // 0.0 and -0.0 are one value.
            (Value::Real(left), Value::Real(right)) => (left + 0.0).total_cmp(&(right + 0.0)),
            (Value::Text(left), Value::Text(right)) => left.cmp(right),
            _ => self.kind().cmp(&other.kind()),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Value {}

impl From<Option<i64>> for Value {
    fn from(value: Option<i64>) -> Self {
        value.map_or(Value::Null, Value::Int)
    }
}

/// A row of integers.
#[must_use]
pub fn ints(values: &[i64]) -> Row {
    values.iter().copied().map(Value::Int).collect()
}
