//! How a query falls into parts: by which values of its tables' rows, and how their results are shown.
//!
//! Invariant: rows of a part agree in their keys, units of one scale each. Cost: O(key) a row.

use ringview_core::Result;

use crate::machine::Machine;
use crate::machine::general::accumulator::Accumulator;
use crate::machine::keyed::local::{Local, Place};
use crate::machine::query::exact::Exact;
use crate::machine::query::number::{Kind, Quantity, rescaled};
use crate::machine::query::plan::{Aggregate, Column, Value, kind};
use crate::machine::query::row::{Cell, Row};

pub(crate) type Key = Vec<i128>;

/// How rows of a table reach parts.
#[derive(Debug)]
pub(crate) struct Way {
    pub(crate) table: usize,
    /// The table of the local plan.
    pub(crate) local: usize,
    pub(crate) key: Vec<Exact>,
    /// Of which of them NULL is a key, too.
    pub(crate) nulls: Vec<bool>,
}

/// NULL in a key: no decimal is so small.
pub(crate) const NULL: i128 = i128::MIN;

#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) ways: Vec<Way>,
    pub(crate) group: Vec<Place>,
    /// The scales of the key.
    pub(crate) scales: Vec<u8>,
    pub(crate) aggregates: Vec<Aggregate>,
    /// Without rows.
    pub(crate) empty: Machine,
}

/// The sums of a group, and how many results of parts are in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Total {
    pub(crate) all: Vec<Accumulator>,
    pub(crate) parts: usize,
}

/// A column of the part's own table.
pub(crate) fn own(column: usize) -> Value {
    Value::Column(Column {
        depth: 0,
        relation: 0,
        column,
    })
}

impl Shape {
    /// Of a query; `None` where keys are not exact.
    pub(crate) fn new(local: Local, aggregates: Vec<Aggregate>) -> Option<Self> {
        let width = local.tables.first()?.columns.len();
        let mut scales = vec![0; width];
        let types = &local.plan.tables;
        for (table, types) in local.tables.iter().zip(types) {
            for (scale, &column) in scales.iter_mut().zip(&table.columns) {
                match kind(&own(column), &|_| Kind::of(&types[column].ty)) {
                    Kind::Exact(finer) => *scale = finer.max(*scale),
                    Kind::Real => return None,
                }
            }
        }
        let mut ways = Vec::new();
        for (at, (table, types)) in local.tables.iter().zip(types).enumerate() {
            let exact =
                |(&column, &scale): (&usize, &u8)| Exact::new(&own(column), types)?.at_scale(scale);
            let key = table.columns.iter().zip(&scales).map(exact);
            ways.push(Way {
                table: table.table,
                local: at,
                key: key.collect::<Option<_>>()?,
                nulls: table.nulls.clone(),
            });
        }
        Some(Self {
            ways,
            group: local.group,
            scales,
            aggregates,
            empty: Machine::in_one(local.plan),
        })
    }

    pub(crate) fn group(&self, key: &[i128], rest: &Row) -> Row {
        let cell = |place: &Place| match *place {
            Place::Key(at, _) if key[at] == NULL => Cell(None),
            Place::Key(at, own) => {
                let (units, scale) = (key[at], self.scales[at]);
                // The column has this value itself, so that nothing is cut off.
                let shown = rescaled(units, scale, own).map(|units| (units, own));
                let (units, scale) = shown.unwrap_or((units, scale));
                Cell(Some(Quantity::Exact { units, scale }))
            }
            Place::Rest(at) => rest[at],
        };
        self.group.iter().map(cell).collect()
    }

    pub(crate) fn values(&self, total: Option<&Total>) -> Result<Vec<Cell>> {
        let none = Accumulator::default();
        let value = |(at, what): (usize, &Aggregate)| {
            let of = total.map_or(&none, |total| &total.all[at]);
            let value = of.value(&Aggregate::Sum(own(0)))?;
            Ok(match what {
                Aggregate::Count => Cell(Some(value.0.unwrap_or(Quantity::int(0)))),
                _ => value,
            })
        };
        self.aggregates.iter().enumerate().map(value).collect()
    }
}
