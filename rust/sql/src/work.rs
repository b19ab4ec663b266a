//! The rows of a recursion so far, as its step reads them while it is bound.
//!
//! Invariant: no table of the catalog is one. Cost: O(columns).

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion_expr::TableSource;

/// See the module.
#[derive(Debug)]
pub(crate) struct Work(SchemaRef);

impl Work {
    /// Those with some columns.
    pub(crate) fn over(schema: SchemaRef) -> Self {
        Self(schema)
    }

    /// The same with a level behind its columns.
    pub(crate) fn new(schema: SchemaRef, level: &str) -> Self {
        let level = Arc::new(Field::new(level, DataType::Int64, false));
        let fields = schema.fields().iter().cloned().chain([level]);
        Self(Arc::new(Schema::new(fields.collect::<Vec<FieldRef>>())))
    }
}

impl TableSource for Work {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.0)
    }
}
