//! Groups of a view by their keys, and rows by some of their columns.
//!
//! A view whose HAVING holds a subquery is kept as rows chosen from a block of its groups. Its query names the columns
//! that identify the groups, and the block has the others of a row. Invariant: the columns of GROUP BY find a row, in
//! either form of a view. Cost: O(columns) a key, and with such a block one look-up more.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use ringview_core::{Error, Result, Type};
use ringview_view::{Cell, Key, KeyValue};

use super::Database;
use crate::graph::node::Node;
use crate::plan::Source;

impl Database {
    /// The columns that identify the groups of a view, with their types.
    ///
    /// # Errors
    /// `UnknownView`; `Unsupported` for the rows of a join.
    pub fn view_key(&self, name: &str) -> Result<Vec<(&str, &Type)>> {
        let view = self.state.graph.view(name)?;
        match self.groups_of(view) {
            Some(groups) => self.state.graph.answer(groups).key_columns(),
            None => self.state.graph.answer(view).key_columns(),
        }
    }

    /// The row of a view's group, by its key, column by column; `None` if there is none. O(columns).
    ///
    /// # Errors
    /// As `view_key`; `UnknownColumn`, `Value` or `Type` for what is no key; as `view_result`.
    pub fn view_get(&self, name: &str, key: &Key<'_>) -> Result<Option<Vec<Cell>>> {
        let view = self.state.graph.view(name)?;
        let Some(groups) = self.groups_of(view) else {
            return self.answer(name)?.get(key, &self.state.storage.dictionary);
        };
        match self.row_of(groups, key)? {
            Some(row) => self
                .answer(name)?
                .get(&whole(view, &row)?, &self.state.storage.dictionary),
            None => Ok(None),
        }
    }

    /// The rows of the groups of some keys, and the place of each among the keys; keys without a group
    /// are left out. O(keys).
    ///
    /// # Errors
    /// As `view_get`.
    pub fn view_get_rows(
        &self,
        name: &str,
        keys: &[Vec<(&str, KeyValue<'_>)>],
    ) -> Result<(RecordBatch, Vec<usize>)> {
        let view = self.state.graph.view(name)?;
        let Some(groups) = self.groups_of(view) else {
            return self
                .answer(name)?
                .get_rows(keys, &self.state.storage.dictionary);
        };
        let (mut rows, mut of) = (Vec::new(), Vec::new());
        for (place, key) in keys.iter().enumerate() {
            if let Some(row) = self.row_of(groups, key)? {
                rows.push(row);
                of.push(place);
            }
        }
        let keys = rows.iter().map(|row| whole(view, row));
        let keys: Vec<_> = keys.collect::<Result<_>>()?;
        let (batch, mut places) = self
            .answer(name)?
            .get_rows(&keys, &self.state.storage.dictionary)?;
        places.iter_mut().for_each(|place| *place = of[*place]);
        Ok((batch, places))
    }

    /// The rows of a view that have these values in columns that identify its groups, or, of a listing, in any of its
    /// columns. O(1) for a whole key, else O(groups).
    ///
    /// # Errors
    /// `UnknownView`, `UnknownColumn`, `Type`; `Unsupported` for other columns, and for a join that is
    /// kept factorised; as `view_result`.
    pub fn view_where(&self, name: &str, key: &Key<'_>) -> Result<RecordBatch> {
        let view = self.state.graph.view(name)?;
        if let Some(groups) = self.groups_of(view)
            && self.is_whole(groups, key)
            && let Some(row) = self.row_of(groups, key)?
        {
            let key = whole(view, &row)?;
            return self
                .answer(name)?
                .rows_where(&key, &self.state.storage.dictionary);
        }
        self.answer(name)?
            .rows_where(key, &self.state.storage.dictionary)
    }

    /// The block that has the groups of a view, where its rows are chosen from it.
    fn groups_of(&self, view: &Node) -> Option<&Node> {
        let Some(Source::View(groups)) = view.sources().next() else {
            return None;
        };
        let graph = &self.state.graph;
        let groups = graph.position(graph.node_id(groups));
        let groups = groups.map(|at| &graph.nodes[at]);
        // Of a sum of partials no block has the rows.
        groups.filter(|_| view.query.is_chosen && !view.merged)
    }

    /// The row of a group.
    fn row_of(&self, groups: &Node, key: &Key<'_>) -> Result<Option<RecordBatch>> {
        let groups = self.state.graph.answer(groups);
        let (row, places) = groups.get_rows(&[key.to_vec()], &self.state.storage.dictionary)?;
        Ok((!places.is_empty()).then_some(row))
    }

    /// Whether a key has the columns that identify groups, each once and no others.
    fn is_whole(&self, groups: &Node, key: &Key<'_>) -> bool {
        let columns = self.state.graph.answer(groups).key_columns();
        let columns = columns.unwrap_or_default();
        let has = |(name, _): &(&str, &Type)| key.iter().any(|(other, _)| other == name);
        columns.len() == key.len() && columns.iter().all(has)
    }
}

/// The key of a row among the rows that were chosen: all columns that they are grouped by.
fn whole<'a>(view: &'a Node, row: &'a RecordBatch) -> Result<Vec<(&'a str, KeyValue<'a>)>> {
    let columns = view.query.group_by.iter().filter(|column| column.atom == 0);
    let value = |name: &'a str| {
        let column = row.column_by_name(name).ok_or_else(|| Error::Value {
            place: format!("column {name:?} of view {:?}", view.name),
            problem: "is not among those of its groups; this is a bug in ringview".to_owned(),
        });
        Ok((name, value(&**column?)))
    };
    columns.map(|column| value(&column.column)).collect()
}

/// The value of the one row of a column.
fn value(column: &dyn Array) -> KeyValue<'_> {
    if column.is_null(0) {
        return KeyValue::Null;
    }
    macro_rules! integer {
        ($type:ty) => {
            KeyValue::Integer(i128::from(column.as_primitive::<$type>().value(0)))
        };
    }
    match column.data_type() {
        DataType::Boolean => KeyValue::Bool(column.as_boolean().value(0)),
        DataType::Utf8 => KeyValue::Text(column.as_string::<i32>().value(0)),
        DataType::LargeUtf8 => KeyValue::Text(column.as_string::<i64>().value(0)),
        DataType::Utf8View => KeyValue::Text(column.as_string_view().value(0)),
        DataType::Float32 => KeyValue::Real(column.as_primitive::<Float32Type>().value(0).into()),
        DataType::Float64 => KeyValue::Real(column.as_primitive::<Float64Type>().value(0)),
        DataType::Int8 => integer!(Int8Type),
        DataType::Int16 => integer!(Int16Type),
        DataType::Int32 => integer!(Int32Type),
        DataType::Int64 => integer!(Int64Type),
        DataType::UInt8 => integer!(UInt8Type),
        DataType::UInt16 => integer!(UInt16Type),
        DataType::UInt32 => integer!(UInt32Type),
        DataType::UInt64 => integer!(UInt64Type),
        DataType::Decimal128(..) => integer!(Decimal128Type),
        DataType::Date32 => integer!(Date32Type),
        DataType::Timestamp(TimeUnit::Second, _) => integer!(TimestampSecondType),
        DataType::Timestamp(TimeUnit::Millisecond, _) => integer!(TimestampMillisecondType),
        DataType::Timestamp(TimeUnit::Microsecond, _) => integer!(TimestampMicrosecondType),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => integer!(TimestampNanosecondType),
        _ => KeyValue::Null,
    }
}
