//! Groups by their keys, and rows by some of their columns.
//!
//! Invariant: a key finds the group that its values would fall into: NULL finds the group of NULL, and
//! a value that no row ever had finds none and enters nowhere. Cost: a whole key is one look-up in the
//! table, O(1) expected; a part of one is compared with each key, O(groups), and only the rows
//! that agree are made.

use arrow_array::RecordBatch;
use ringview_core::{Dictionary, Error, Result, Type};
use ringview_query::{OutputKind, VarId};
use ringview_relation::{ABSENT, KeyScratch, KeyedTable, Keys};

use super::ResultTable;
use crate::answer::{Cell, Cells, Key, KeyValue, ResultRows, retain};
use crate::fields::Aspect;

/// A field of the key of the table, and what it has to be.
type Wanted = (usize, u64);

impl<'a> ResultTable<'a> {
    /// As that of an answer whose rows are groups.
    #[must_use]
    pub fn key_columns(&self) -> Vec<(&'a str, &'a Type)> {
        let column = |&variable: &VarId| {
            let variable_of = &self.outputs.variables[variable];
            let shown = self.outputs.columns.iter().find(
                |output| matches!(output.kind, OutputKind::Group { variable: v } if v == variable),
            );
            let name = shown.map_or(&variable_of.name, |output| &output.name);
            (name.as_str(), &variable_of.ty)
        };
        self.keys.iter().map(column).collect()
    }

    /// As that of an answer whose rows are groups.
    ///
    /// # Errors
    /// As of the answer.
    pub fn get(&self, key: &Key<'_>, dictionary: &Dictionary) -> Result<Option<Vec<Cell>>> {
        let assembler = self.assembler(dictionary);
        if let Some(row) = self.sole(key).and_then(|payload| assembler.row(payload)) {
            return row.map(Some);
        }
        let Some(rows) = self.group(key, dictionary)? else {
            return Ok(None);
        };
        let Some(columns) = assembler.cells(rows)? else {
            return Ok(None);
        };
        let cell = |(cells, ty): (&Cells, &Type)| cells.first(ty, dictionary);
        let types = self.outputs.columns.iter().map(|output| &output.ty);
        Ok(Some(columns.iter().zip(types).map(cell).collect()))
    }

    /// As that of an answer whose rows are groups.
    ///
    /// # Errors
    /// As of the answer.
    pub fn get_rows(
        &self,
        keys: &[Vec<(&str, KeyValue<'_>)>],
        dictionary: &Dictionary,
    ) -> Result<(RecordBatch, Vec<usize>)> {
        let (mut slots, mut places) = (Vec::new(), Vec::new());
        let mut always = ResultRows::default();
        for (place, key) in keys.iter().enumerate() {
            match self.find(key, dictionary)? {
                Position::Slot(slot) => slots.push(slot),
                Position::Always => always = self.all(),
                Position::Nowhere => continue,
            }
            places.push(place);
        }
        let rows = if !slots.is_empty() || places.is_empty() {
            ResultRows::of(self.table, &slots, self.auxiliary)
        } else {
            // Of a view without groups every key finds the one row.
            always.repeated(places.len())
        };
        let (batch, kept) = self.assembler(dictionary).batch_and_mask(rows)?;
        if let Some(kept) = kept {
            retain(&mut places, &kept);
        }
        Ok((batch, places))
    }

    /// The rows of the table that have these values in columns of its key. O(1) for the whole key, else
    /// O(keys) to find them.
    pub fn rows_where(&self, key: &Key<'_>, dictionary: &Dictionary) -> Result<ResultRows> {
        let of = |slots: &[u32]| ResultRows::of(self.table, slots, self.auxiliary);
        let Some(wanted) = self.wanted(key, dictionary)? else {
            return Ok(of(&[]));
        };
        if wanted.len() == self.table.layout().fields() {
            return Ok(match lookup(self.table, &wanted) {
                _ if wanted.is_empty() => self.all(),
                Some(slot) => of(&[slot]),
                None => of(&[]),
            });
        }
        let agrees = |&slot: &u32| {
            let mut wanted = wanted.iter();
            wanted.all(|&(field, word)| self.table.field(slot, field) == word)
        };
        Ok(of(&self.table.iter().filter(agrees).collect::<Vec<u32>>()))
    }

    /// The fields of the key of the group of a whole key; `None` where it is not whole, or none can have
    /// it.
    #[must_use]
    pub fn key_words(&self, key: &Key<'_>, dictionary: &Dictionary) -> Option<Vec<u64>> {
        let wanted = self.wanted(key, dictionary).ok()??;
        let is_whole = wanted.len() == self.table.layout().fields();
        is_whole.then(|| wanted.iter().map(|&(_, word)| word).collect())
    }

    /// The payload of the one row of a view without groups, if it has one.
    fn sole(&self, key: &Key<'_>) -> Option<&'a [u64]> {
        let is_sole = key.is_empty() && self.keys.is_empty();
        let slot = self.table.iter().next().filter(|_| is_sole)?;
        Some(self.table.payload(slot))
    }

    fn group(&self, key: &Key<'_>, dictionary: &Dictionary) -> Result<Option<ResultRows>> {
        Ok(match self.find(key, dictionary)? {
            Position::Slot(slot) => Some(ResultRows::of(self.table, &[slot], self.auxiliary)),
            Position::Always => Some(self.all()),
            Position::Nowhere => None,
        })
    }

    /// Position of the group of a whole key.
    fn find(&self, key: &Key<'_>, dictionary: &Dictionary) -> Result<Position> {
        let columns = self.key_columns();
        let missing = columns
            .iter()
            .zip(self.keys)
            .find(|((_, _), variable)| !key.iter().any(|(name, _)| self.means(name, **variable)));
        if let Some(((missing, _), _)) = missing {
            let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
            return Err(Error::Value {
                place: "the key of a group".to_owned(),
                problem: format!(
                    "lacks {missing:?}; a group of this view is told by {}, and where() finds all \
                     that agree with a part of that",
                    names.join(", ")
                ),
            });
        }
        let Some(wanted) = self.wanted(key, dictionary)? else {
            return Ok(Position::Nowhere);
        };
        if wanted.is_empty() {
            return Ok(Position::Always);
        }
        let found = lookup(self.table, &wanted);
        Ok(found.map_or(Position::Nowhere, Position::Slot))
    }

    /// Whether a name is that of a column that shows a variable; its own counts where none does.
    fn means(&self, name: &str, variable: VarId) -> bool {
        let mut shown = self.outputs.columns.iter().filter(
            |output| matches!(output.kind, OutputKind::Group { variable: v } if v == variable),
        );
        match shown.next() {
            Some(first) => first.name == name || shown.any(|output| output.name == name),
            None => self.outputs.variables[variable].name == name,
        }
    }

    /// Required contents of the fields of keys with some values; `None` if no key can have them.
    fn wanted(&self, key: &Key<'_>, dictionary: &Dictionary) -> Result<Option<Vec<Wanted>>> {
        let (fields, keys) = (self.fields, self.keys);
        let all = fields.of_all(keys);
        let mut wanted = Vec::with_capacity(all.len());
        let mut possible = true;
        for &(name, value) in key {
            let variable = keys.iter().find(|&&variable| self.means(name, variable));
            let Some(&variable) = variable else {
                return Err(self.not_a_key(name));
            };
            let described = &self.outputs.variables[variable];
            let word = encode(name, &described.ty, value, dictionary)?;
            possible &= word.is_some() && (value != KeyValue::Null || described.nullable);
            let (low, high) = word.unwrap_or_default();
            for at in fields.positions(keys, variable) {
                let word = match fields.field(all[at]).aspect {
                    Aspect::Word => low,
                    Aspect::High => high,
                    Aspect::Null => u64::from(value == KeyValue::Null),
                };
                if wanted.iter().any(|&(other, w)| other == at && w != word) {
                    possible = false;
                }
                if !wanted.iter().any(|&(other, _)| other == at) {
                    wanted.push((at, word));
                }
            }
        }
        wanted.sort_unstable();
        Ok(possible.then_some(wanted))
    }

    fn not_a_key(&self, name: &str) -> Error {
        if self
            .outputs
            .columns
            .iter()
            .any(|output| output.name == name)
        {
            return Error::Unsupported {
                what: format!("looking for groups by {name:?}"),
                why: "it is computed, and groups are told by the columns of GROUP BY".to_owned(),
                instead: "filter the rows that are read".to_owned(),
            };
        }
        let shown = |&variable: &VarId| {
            let outputs = self.outputs.columns.iter();
            let mut names = outputs.filter(|output| self.means(&output.name, variable));
            let own = &self.outputs.variables[variable].name;
            names.next().map_or(own, |output| &output.name).clone()
        };
        Error::UnknownColumn {
            table: String::new(),
            column: name.to_owned(),
            known: self.keys.iter().map(shown).collect(),
        }
    }
}

/// Position of the group of a key.
enum Position {
    Slot(u32),
    /// The one row of a view without groups.
    Always,
    Nowhere,
}

/// The slot of a key, all of whose fields are wanted in their order.
fn lookup(table: &KeyedTable, wanted: &[Wanted]) -> Option<u32> {
    let columns: Vec<Vec<u64>> = wanted.iter().map(|&(_, word)| vec![word]).collect();
    let fields: Vec<usize> = (0..columns.len()).collect();
    let keys = Keys {
        columns: &columns,
        fields: &fields,
        rows: 1,
    };
    let mut found = Vec::with_capacity(1);
    table.find(keys, &mut KeyScratch::default(), &mut found);
    found.first().copied().filter(|&slot| slot != ABSENT)
}

/// The word of a value of a type, and its upper half; `None` if no value of the type is equal to it, or
/// no row has it. NULL has zeros.
fn encode(
    name: &str,
    ty: &Type,
    value: KeyValue<'_>,
    dictionary: &Dictionary,
) -> Result<Option<(u64, u64)>> {
    let one = |word: u64| Some((word, 0));
    Ok(match (ty, value) {
        (_, KeyValue::Null) => one(0),
        (Type::Utf8, KeyValue::Text(text)) => dictionary.id(text).map(|id| (u64::from(id), 0)),
        (Type::Bool, KeyValue::Bool(value)) => one(u64::from(value)),
        (Type::Float32 | Type::Float64, KeyValue::Real(value)) => {
            // -0.0 is 0.0, and NaN is no key.
            (!value.is_nan()).then(|| ((value + 0.0).to_bits(), 0))
        }
        (Type::Float32 | Type::Float64, KeyValue::Integer(value)) => {
            let real = value as f64;
            (real as i128 == value).then(|| (real.to_bits(), 0))
        }
        (Type::Decimal { .. }, KeyValue::Integer(units)) => {
            Some((units as u64, (units >> 64) as u64))
        }
        (Type::Date32, KeyValue::Integer(days)) => i32::try_from(days)
            .ok()
            .map(|days| (i64::from(days) as u64, 0)),
        (Type::Timestamp { .. }, KeyValue::Integer(ticks)) => {
            i64::try_from(ticks).ok().map(|ticks| (ticks as u64, 0))
        }
        (ty, KeyValue::Integer(value)) if ty.is_integer() => {
            let fits = |&(least, greatest): &(i128, i128)| least <= value && value <= greatest;
            ty.integer_range().filter(fits).map(|_| (value as u64, 0))
        }
        (ty, value) => {
            return Err(Error::Type {
                place: format!("column {name:?}"),
                expected: ty.to_string(),
                found: match value {
                    KeyValue::Bool(_) => "bool",
                    KeyValue::Integer(_) => "an integer",
                    KeyValue::Real(_) => "a float",
                    _ => "string",
                }
                .to_owned(),
            });
        }
    })
}
