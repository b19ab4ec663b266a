//! Keys of groups as readers give them, and single values as readers take them.
//!
//! A key or a row is a handful of values, so none of this uses Arrow. Cost: O(columns).

/// A value to look for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyValue<'a> {
    /// NULL, which is a group of its own.
    Null,
    /// True or false.
    Bool(bool),
    /// An integer; of a decimal its units, of a date its days, of a timestamp its ticks.
    Integer(i128),
    /// A float.
    Real(f64),
    /// A string.
    Text(&'a str),
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// NULL.
    Null,
    /// True or false.
    Bool(bool),
    /// An integer.
    Integer(i128),
    /// A float.
    Real(f64),
    /// A string.
    Text(String),
    /// A decimal: its units, and how many of its digits are behind the point.
    Decimal(i128, i8),
    /// Values that only Arrow holds: a point in time, a COFACTOR.
    Other,
}

/// A group by its key: columns by name.
pub type Key<'a> = [(&'a str, KeyValue<'a>)];
