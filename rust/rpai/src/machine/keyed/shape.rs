//! Keys of the parts of a query: values of its tables' rows; and the output of their results.
//!
//! Invariant: rows of a part agree in their keys, units of one scale each, which are the fields of
//! a relation's key: the units in one word where they fit, else in two, and a bit for NULL where
//! that is a key. Cost: O(key) a row.

use ringview_core::{Result, Type};
use ringview_relation::{KeyField, KeyLayout, KeyedTable as Table};

use crate::machine::general::accumulator::Accumulator;
use crate::machine::keyed::local::{GroupColumn, Local, local};
use crate::machine::query::{
    Aggregate, Cell, Column, ColumnType, Exact, Kind, Plan, Quantity, Row, RowAt, Value, rescaled,
};
use crate::machine::store::packed::RowFormat;

/// Path by which rows of a table reach parts.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) table: usize,
    /// The table of the local plan.
    pub(crate) local: usize,
    key: Vec<Exact>,
    /// Of which of them NULL is a key, too.
    nulls: Vec<bool>,
}

/// A number of the key: how it is made of fields.
#[derive(Clone, Copy, Debug)]
struct KeyColumn {
    scale: u8,
    /// Whether it takes two words.
    is_wide: bool,
    /// Whether NULL is a key, too.
    has_null: bool,
}

/// The number of a key; `None` for NULL.
pub(crate) type KeyValue = Option<i128>;

#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) routes: Vec<Route>,
    key: Vec<KeyColumn>,
    group: Vec<GroupColumn>,
    pub(crate) aggregates: Vec<Aggregate>,
    /// Packing of rows of the local tables.
    pub(crate) formats: Vec<RowFormat>,
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

/// Whether the units of a column at a scale fit a word.
fn fits_word(of: &ColumnType, scale: u8) -> bool {
    match of.ty {
        Type::Decimal {
            precision,
            scale: own,
        } => precision <= 18 && own == scale as i8,
        Type::UInt64 => false,
        _ => scale == 0,
    }
}

impl Shape {
    /// Of a query, with the local plan; `None` where it does not fall into parts, or keys are not exact.
    pub(crate) fn new(plan: &Plan) -> Option<(Self, Plan)> {
        let Local {
            plan: inner,
            tables,
            group,
        } = local(plan)?;
        let types = &inner.tables;
        let mut key = Vec::new();
        for at in 0..tables.first()?.columns.len() {
            let columns = || {
                let all = tables.iter().zip(types);
                all.map(|(table, types)| (table, &types[table.columns[at]]))
            };
            let mut scale = 0;
            for (_, of) in columns() {
                match Kind::of(&of.ty) {
                    Kind::Exact(finer) => scale = finer.max(scale),
                    Kind::Real => return None,
                }
            }
            key.push(KeyColumn {
                scale,
                is_wide: !columns().all(|(_, of)| fits_word(of, scale)),
                has_null: columns().any(|(table, _)| table.nulls[at]),
            });
        }
        let mut routes = Vec::new();
        for (at, (table, types)) in tables.iter().zip(types).enumerate() {
            let exact = |(&column, to): (&usize, &KeyColumn)| {
                Exact::new(&own(column), types)?.at_scale(to.scale)
            };
            let exact = table.columns.iter().zip(&key).map(exact);
            routes.push(Route {
                table: table.table,
                local: at,
                key: exact.collect::<Option<_>>()?,
                nulls: table.nulls.clone(),
            });
        }
        let needed = inner.needed();
        let formats = types.iter().zip(&needed);
        let shape = Self {
            routes,
            key,
            group,
            aggregates: plan.block.aggregates.clone(),
            formats: (formats.map(|(types, needed)| RowFormat::new(types, needed))).collect(),
        };
        Some((shape, inner))
    }

    /// A table of keys, without any.
    pub(crate) fn table(&self) -> Table {
        let field = |bits| KeyField {
            bits,
            signed: bits == 64,
        };
        let fields = self.key.iter().flat_map(|key| {
            let words = 1 + usize::from(key.is_wide);
            std::iter::repeat_n(field(64), words).chain(key.has_null.then_some(field(1)))
        });
        Table::new(KeyLayout::new(&fields.collect::<Vec<_>>()), 0)
    }

    /// Appends the fields of a row's key; whether it has one: with NULL it may equal nothing.
    pub(crate) fn push_key(
        &self,
        route: &Route,
        row: &RowAt<'_>,
        columns: &mut [Vec<u64>],
    ) -> Result<bool> {
        let mut columns = columns.iter_mut();
        let mut put = |word: u64| columns.next().into_iter().for_each(|all| all.push(word));
        let mut is_key = true;
        for ((exact, null), key) in route.key.iter().zip(&route.nulls).zip(&self.key) {
            let units = exact.scaled(row)?;
            is_key &= units.is_some() || *null;
            put(units.unwrap_or(0) as u64);
            if key.is_wide {
                put((units.unwrap_or(0) >> 64) as u64);
            }
            if key.has_null {
                put(u64::from(units.is_none()));
            }
        }
        Ok(is_key)
    }

    /// The key of a slot.
    pub(crate) fn key(&self, table: &Table, slot: u32) -> Vec<KeyValue> {
        let mut fields = (0..).map(|field| table.field(slot, field));
        let mut next = || fields.next().unwrap_or_default();
        let value = |key: &KeyColumn| {
            let mut units = i128::from(next() as i64);
            if key.is_wide {
                units = i128::from(units as u64) | i128::from(next()) << 64;
            }
            let is_null = key.has_null && next() == 1;
            (!is_null).then_some(units)
        };
        self.key.iter().map(value).collect()
    }

    /// Whether the query is one without GROUP BY.
    pub(crate) fn has_no_groups(&self) -> bool {
        self.group.is_empty()
    }

    /// Whether each group is of one part alone: groups have all of the key.
    pub(crate) fn groups_are_keys(&self) -> bool {
        let is_shown = |at: usize| {
            let mut group = self.group.iter();
            group.any(|place| matches!(place, GroupColumn::Key(of, _) if *of == at))
        };
        !self.group.is_empty() && (0..self.key.len()).all(is_shown)
    }

    pub(crate) fn group(&self, key: &[KeyValue], rest: &[Cell]) -> Row {
        let cell = |place: &GroupColumn| match *place {
            GroupColumn::Key(at, own) => {
                let scale = self.key[at].scale;
                Cell(key[at].map(|units| {
                    // The column has this value itself, so that nothing is cut off.
                    let shown = rescaled(units, scale, own).map(|units| (units, own));
                    let (units, scale) = shown.unwrap_or((units, scale));
                    Quantity::Exact { units, scale }
                }))
            }
            GroupColumn::Rest(at) => rest[at],
        };
        self.group.iter().map(cell).collect()
    }

    /// Number of columns of a group that are not of the key.
    pub(crate) fn rest(&self) -> usize {
        let rest = self.group.iter();
        rest.filter(|place| matches!(place, GroupColumn::Rest(_)))
            .count()
    }

    /// The aggregates of a group.
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
