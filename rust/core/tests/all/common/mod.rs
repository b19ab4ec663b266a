//! One column through the encoding.

use arrow_array::{ArrayRef, RecordBatch};
use ringview_core::{Batch, Dictionary, Encoder, Field, Result, Schema, TimeUnit, Type, decode};

/// With room for every digit there is.
pub const DECIMAL: Type = Type::Decimal {
    precision: 38,
    scale: 4,
};

/// Encodes one column and hands back what it decodes to.
pub fn through(array: ArrayRef, ty: &Type, nullable: bool) -> Result<ArrayRef> {
    let mut dict = Dictionary::new();
    // A string that is id 0, so that NULLs cannot pass for it.
    dict.intern("zero")?;
    let batch = encoded(array, ty, nullable, &mut dict)?;
    let column = batch.column(0);
    for row in 0..batch.rows {
        assert!(!column.is_null(row) || column.words[row] == 0);
    }
    decode(
        ty,
        &column.words,
        &column.high,
        column.valid.as_deref(),
        &dict,
    )
}

/// One column as a batch of table `t`, whose first row is the 100th of the data.
pub fn encoded(array: ArrayRef, ty: &Type, nullable: bool, dict: &mut Dictionary) -> Result<Batch> {
    let schema = Schema::new(vec![Field::new("x", ty.clone(), nullable)])?;
    let rows = RecordBatch::try_from_iter_with_nullable([("x", array, true)]).unwrap();
    let mut into = Batch::new();
    Encoder::new("t", &schema).encode(&rows, 100, &[true], dict, None, &mut into)?;
    Ok(into)
}

/// Timestamps without a zone.
pub fn timestamp(unit: TimeUnit) -> Type {
    Type::Timestamp {
        unit,
        timezone: None,
    }
}
