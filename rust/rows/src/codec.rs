//! Rows as bytes that compare as the rows do.
//!
//! Invariant: the bytes of two rows in an order compare as the rows do in it; the bytes of what is shown are equal
//! exactly where the rows are. Cost: O(bytes). The encoding is arrow-row's.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, RecordBatch, downcast_primitive_array,
    make_array,
};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{
    ArrowError, DataType, Field as ArrowField, Schema as ArrowSchema, SchemaRef, SortOptions,
};
use ringview_core::{Error, Result, Schema, decode, sortable};
use ringview_query::{Bound, Parted, PlanAtom, SortKey};
use ringview_view::RowDelta;

/// A row of a partition: its sort key, then its columns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row {
    pub(crate) order: Box<[u8]>,
    pub(crate) shown: Box<[u8]>,
}

impl Row {
    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.order.len() + self.shown.len()
    }
}

/// The bytes of a partition's values.
pub(crate) type PartitionKey = Box<[u8]>;

/// Rows, each with its partition.
pub(crate) type Keyed = Vec<(PartitionKey, Row)>;

/// Columns of a table and their encoding.
#[derive(Debug)]
struct Fields {
    columns: Vec<usize>,
    converter: RowConverter,
}

/// Columns of an atom's rows that are encoded, and their roles.
pub(crate) struct Layout<'l> {
    /// Those of the partition key.
    pub(crate) partition: &'l [String],
    /// Those that rows are ordered by.
    pub(crate) order: &'l [SortKey],
    /// Those that are kept.
    pub(crate) shown: &'l [&'l String],
}

/// Encoding of the rows of one atom.
#[derive(Debug)]
pub(crate) struct Codec {
    atom: PlanAtom,
    partition: Fields,
    order: Fields,
    shown: Fields,
    schema: SchemaRef,
}

impl Codec {
    /// The encoding of the rows of an atom; `schema` has what is shown.
    pub(crate) fn new(layout: &Layout<'_>, atom: &PlanAtom, schema: SchemaRef) -> Result<Self> {
        let plain = |name: &String| (name.clone(), SortOptions::default());
        let keys = layout.order.iter().map(|key| {
            let options = SortOptions {
                descending: key.descending,
                nulls_first: key.nulls_first,
            };
            (key.column.clone(), options)
        });
        let fields = |columns: Vec<(String, SortOptions)>, is_sorted: bool| -> Result<Fields> {
            let mut found = Fields {
                columns: Vec::new(),
                converter: converter(Vec::new())?,
            };
            let mut sorted = Vec::with_capacity(columns.len());
            for (name, options) in columns {
                let at = atom.schema.index_of(&name)?;
                let ty = match atom.schema.fields()[at].ty.to_arrow() {
                    nested if is_sorted && nested.is_nested() => DataType::Binary,
                    ty => ty,
                };
                found.columns.push(at);
                sorted.push(SortField::new_with_options(ty, options));
            }
            found.converter = converter(sorted)?;
            Ok(found)
        };
        Ok(Self {
            partition: fields(layout.partition.iter().map(plain).collect(), false)?,
            order: fields(keys.collect(), true)?,
            shown: fields(layout.shown.iter().copied().map(plain).collect(), false)?,
            atom: atom.clone(),
            schema,
        })
    }

    /// That of what functions over partitions read of an atom.
    pub(crate) fn of(definition: &Parted, atom: &PlanAtom) -> Result<Self> {
        let read = definition.schema(&atom.schema)?.to_arrow();
        let fields = read.fields().iter();
        let fields = fields.map(|field| field.as_ref().clone().with_nullable(true));
        let columns = definition.columns();
        let layout = Layout {
            partition: &definition.partition,
            order: &definition.order,
            shown: &columns,
        };
        let schema = ArrowSchema::new(fields.collect::<Vec<_>>());
        Self::new(&layout, atom, Arc::new(schema))
    }

    /// The rows of a batch, each with its partition.
    pub(crate) fn encode(&self, rows: &RowDelta<'_>) -> Result<Keyed> {
        Ok(self.encode_and_return(rows)?.0)
    }

    /// The same, and the columns that are kept.
    pub(crate) fn encode_and_return(&self, rows: &RowDelta<'_>) -> Result<(Keyed, Vec<ArrayRef>)> {
        let mut read: BTreeMap<usize, ArrayRef> = BTreeMap::new();
        let mut columns = |fields: &Fields| -> Result<Vec<ArrayRef>> {
            let mut all = Vec::with_capacity(fields.columns.len());
            for &at in &fields.columns {
                let column = match read.entry(at) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(free) => free.insert(array(rows, &self.atom.schema, at)?),
                };
                all.push(Arc::clone(column));
            }
            Ok(all)
        };
        let (shown, partition) = (columns(&self.shown)?, columns(&self.partition)?);
        let order = columns(&self.order)?;
        let order: Vec<_> = order.iter().map(sortable).collect::<Result<_>>()?;
        let bytes = |fields: &Fields, columns: &[ArrayRef]| match columns {
            [] => Ok(vec![Box::default(); rows.batch.rows]),
            _ => encoded(&fields.converter, columns),
        };
        let partitions = bytes(&self.partition, &partition)?;
        let order = bytes(&self.order, &order)?;
        let rows = order.into_iter().zip(bytes(&self.shown, &shown)?);
        let rows = rows.map(|(order, shown)| Row { order, shown });
        Ok((partitions.into_iter().zip(rows).collect(), shown))
    }

    /// Columns of some rows, decoded.
    pub(crate) fn decode<'r>(&self, rows: impl Iterator<Item = &'r Row>) -> Result<RecordBatch> {
        let parser = self.shown.converter.parser();
        let rows: Vec<&Row> = rows.collect();
        let rows = rows.iter().map(|row| parser.parse(&row.shown));
        let columns = self.shown.converter.convert_rows(rows).map_err(refused)?;
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(refused)
    }
}

/// The columns of a bound query as Arrow; all of them may hold NULL.
pub(crate) fn schema_of(query: &Bound) -> SchemaRef {
    let fields = query.outputs.iter();
    let fields = fields.map(|output| ArrowField::new(&output.name, output.ty.to_arrow(), true));
    Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()))
}

/// A column of the rows of an atom as an array.
pub(crate) fn array(rows: &RowDelta<'_>, schema: &Schema, at: usize) -> Result<ArrayRef> {
    let (column, ty) = (rows.batch.column(at), &schema.fields()[at].ty);
    let valid = column.valid.as_deref();
    decode(ty, &column.words, &column.high, valid, rows.dictionary)
}

/// A column whose values are 0 where it is NULL: what was bytes has the least value there, of which kernels that compute
/// all values, NULL or not, may make one that does not fit.
pub(crate) fn zeroed(array: &ArrayRef) -> ArrayRef {
    fn of<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>) -> ArrayRef {
        let values = array.iter().map(Option::unwrap_or_default);
        let nulls = array.nulls().cloned();
        let zeroed = PrimitiveArray::<T>::from_iter_values_with_nulls(values, nulls);
        Arc::new(zeroed.with_data_type(array.data_type().clone()))
    }
    if array.null_count() == 0 {
        return Arc::clone(array);
    }
    let array: &dyn Array = array;
    downcast_primitive_array!(
        array => of(array),
        _ => make_array(array.to_data()),
    )
}

/// The bytes of each row of some columns.
pub(crate) fn encoded(converter: &RowConverter, columns: &[ArrayRef]) -> Result<Vec<Box<[u8]>>> {
    let made = converter.convert_columns(columns).map_err(refused)?;
    Ok(made.iter().map(|row| Box::from(row.data())).collect())
}

/// The encoding of columns.
pub(crate) fn converter(fields: Vec<SortField>) -> Result<RowConverter> {
    RowConverter::new(fields).map_err(refused)
}

/// Error for rows that Arrow refuses, which no row should cause.
pub(crate) fn refused(problem: ArrowError) -> Error {
    Error::Value {
        place: "the rows of a view".to_owned(),
        problem: problem.to_string(),
    }
}
