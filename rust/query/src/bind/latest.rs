//! Binding of ASOF joins: keys and times of both sides get common types.
//!
//! Invariant: two values of a key are equal exactly where their bytes of the common type are, so -0.0 becomes 0.0. Cost:
//! linear in the columns.

use datafusion_expr::lit;
use ringview_core::{Error, Result, Schema, Type};
use ringview_expr::{Projection, Scalar, common_type};

use super::bound::{OutputKind, PlanOutput, TableInfo};
use super::shown::{Shown, shape};
use crate::logical::{Latest, LatestSide};

impl Latest {
    /// The keys of each side and its time, in their common types, over the rows of two tables. O(columns).
    ///
    /// # Errors
    /// `UnknownColumn`; `Type` for a pair that is not compared; `Value` where the sides have not as many keys.
    pub fn projections(&self, schemas: [&Schema; 2]) -> Result<[Projection; 2]> {
        let columns = self.sides.each_ref().map(LatestSide::join_columns);
        if columns[0].len() != columns[1].len() {
            return Err(shape("both sides of an ASOF join have as many keys"));
        }
        let mut types = Vec::with_capacity(columns[0].len());
        for (one, other) in columns[0].iter().zip(&columns[1]) {
            let ty = |at: usize, name: &str| -> Result<Type> {
                let schema: &Schema = schemas[at];
                Ok(schema.fields()[schema.index_of(name)?].ty.clone())
            };
            types.push(common(&ty(0, one)?, &ty(1, other)?, one)?);
        }
        let [one, other] = [0, 1].map(|at| {
            let keys = columns[at].iter().zip(&types);
            let keys: Vec<Scalar> = keys.map(|(name, ty)| key(name, ty)).collect();
            let keys: Vec<&Scalar> = keys.iter().collect();
            Ok(Projection::bind(None, &keys, schemas[at])?.widened(types.clone()))
        });
        Ok([one?, other?])
    }
}

impl LatestSide {
    /// The keys, then the time.
    fn join_columns(&self) -> Vec<&str> {
        let keys = self.keys.iter().map(String::as_str);
        keys.chain([self.time.as_str()]).collect()
    }
}

fn common(one: &Type, other: &Type, name: &str) -> Result<Type> {
    let is_text = |ty: &Type| *ty == Type::Utf8;
    common_type(one, other)
        .filter(|_| is_text(one) == is_text(other))
        .ok_or_else(|| Error::Type {
            place: format!("{name:?} of an ASOF join"),
            expected: one.to_string(),
            found: other.to_string(),
        })
}

/// A column that is compared; there is one zero.
fn key(name: &str, ty: &Type) -> Scalar {
    let column = Scalar::column(name);
    match ty {
        Type::Float32 | Type::Float64 => Scalar::from(column.expr().clone() + lit(0.0)),
        _ => column,
    }
}

/// Columns read of each side, and the outputs.
pub(super) fn bound(latest: &Latest, tables: &[TableInfo]) -> Result<Shown> {
    let [one, other] = tables else {
        return Err(shape("an ASOF join is of two atoms"));
    };
    let projections = latest.projections([&one.schema, &other.schema])?;
    let mut read = Vec::with_capacity(2);
    let mut outputs = Vec::with_capacity(latest.names.len());
    let mut names = latest.names.iter();
    for (at, (side, table)) in latest.sides.iter().zip(tables).enumerate() {
        let mut columns = projections[at].inputs().to_vec();
        for name in &side.shown {
            let place = table.schema.index_of(name)?;
            let field = &table.schema.fields()[place];
            let name = names.next().ok_or_else(unnamed)?;
            let nullable = field.nullable || (latest.outer && at == 1);
            outputs.push(PlanOutput {
                name: name.clone(),
                ty: field.ty.clone(),
                kind: OutputKind::Row { nullable },
            });
            columns.push(place);
        }
        columns.sort_unstable();
        columns.dedup();
        read.push(columns);
    }
    match names.next() {
        None => Ok((read, outputs)),
        Some(_) => Err(unnamed()),
    }
}

fn unnamed() -> Error {
    shape("each column of an ASOF join has a name")
}
