//! Reading of a table's rows for a view: a filter, and the numbers that each row contributes.
//!
//! It is compiled from an atom of a bound query, the columns of it that are keys, and a list of
//! factors: what an engine plans beyond that is its own affair.
//! Invariant: a selected row passes the filter, and none of the columns that it joins on is NULL; no
//! selected row has NaN in a key. A factor has one number for each selected row, 0 where a column that it
//! must not be NULL is. Cost: O(rows) for each node of an expression, a column at a time; once warm
//! nothing is allocated, and a plain column without NULLs is not even copied.
//!
//! | file | holds |
//! |---|---|
//! | `predicate`, `textual` | conditions, in three-valued logic; those on one string column |
//! | `scalar/`, `number`, `input` | expressions, the kinds of numbers, and where columns are found |
//! | `keys` | columns as the fields of keys |
//! | `lifted` | rows as payloads of counts and sums |
//! | `leaf` | the rows of an atom as a relation |
//! | `text` | expressions as messages show them |
//! | `units` | decimals as integers |

mod input;
mod keys;
mod leaf;
mod lifted;
mod number;
mod predicate;
mod scalar;
#[cfg(test)]
mod tests;
mod text;
mod textual;
mod units;
mod verdict;

use ringview_core::{Batch, Dictionary, Error, FreedIds, Result, Schema};
use ringview_query::{Factor, Kind, PlanAtom, Polynomial};

use input::Input;
pub use keys::key_column;
pub use leaf::Leaf;
pub use lifted::LiftedRows;
use number::Source;
use predicate::{Check, nulls};
use scalar::Scalar;
use verdict::TRUE;

/// The rows of a batch that take part. Keep one and refill it: it holds the memory.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    rows: Vec<u32>,
    verdicts: Vec<u8>,
    len: usize,
    all: bool,
}

impl Selection {
    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The selected rows, ascending; `None` if all of the batch.
    #[must_use]
    pub fn rows(&self) -> Option<&[u32]> {
        (!self.all).then_some(&self.rows)
    }
}

/// One number a selected row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values<'a> {
    /// 1 in every row, of kind Int.
    Ones,
    /// A word a row, two (low half first) for decimals.
    Words(&'a [u64]),
    /// Of kind Real: the three words of an expansion a row.
    Long(&'a [u64]),
}

/// The filter and the factors of one atom, compiled.
#[derive(Clone, Debug)]
pub struct AtomProgram {
    table: String,
    filter: Option<Check>,
    not_null: Vec<usize>,
    /// Columns of doubles that are keys, with their names.
    float_keys: Vec<(usize, String)>,
    factors: Vec<FactorProgram>,
}

/// Compiler of an expression: of doubles, or long.
type CompileScalar = fn(&Polynomial, &str, &Schema) -> Result<Scalar>;

#[derive(Clone, Debug)]
struct FactorProgram {
    not_null: Vec<usize>,
    value: Option<Scalar>,
    /// The same in units, until one did not fit a word.
    units: Option<Scalar>,
    /// Text of the value in messages.
    text: String,
    /// The numbers, where they cannot be handed out in place.
    words: Vec<u64>,
}

impl AtomProgram {
    /// Compiles what is read of an atom: its filter; `keys`, the columns that are keys; `factors`, each
    /// 1 in every row where absent.
    ///
    /// # Errors
    /// What its expressions cannot be compiled for.
    pub fn compile(atom: &PlanAtom, keys: &[usize], factors: &[Option<Factor>]) -> Result<Self> {
        Self::compile_with(atom, keys, factors, Scalar::compile)
    }

    /// The same for sums of reals, which take what a row computes without a rounding.
    ///
    /// # Errors
    /// As `compile`.
    pub fn compile_long(
        atom: &PlanAtom,
        keys: &[usize],
        factors: &[Option<Factor>],
    ) -> Result<Self> {
        Self::compile_with(atom, keys, factors, Scalar::compile_long)
    }

    fn compile_with(
        atom: &PlanAtom,
        keys: &[usize],
        factors: &[Option<Factor>],
        scalar: CompileScalar,
    ) -> Result<Self> {
        let place = format!("{} (as {})", atom.table, atom.alias);
        let fields = atom.schema.fields();
        let is_float = |column: &&usize| fields[**column].ty.is_float();
        let name = |&column: &usize| (column, fields[column].name.clone());
        let factor = |factor: &Option<Factor>| {
            FactorProgram::compile(factor.as_ref(), &place, &atom.schema, scalar)
        };
        let filter = atom.filter.as_ref();
        Ok(Self {
            table: atom.table.clone(),
            filter: filter
                .map(|filter| Check::compile(filter, &place, &atom.schema))
                .transpose()?,
            not_null: atom.join_columns_not_null.clone(),
            float_keys: keys.iter().filter(is_float).map(name).collect(),
            factors: factors.iter().map(factor).collect::<Result<_>>()?,
        })
    }

    /// The kind of each factor.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> {
        let kind = |factor: &FactorProgram| factor.value.as_ref().map_or(Kind::Int, Scalar::kind);
        self.factors.iter().map(kind)
    }

    /// Drops the filter's verdicts on freed strings.
    pub fn forget_strings(&mut self, gone: &FreedIds) {
        if let Some(filter) = &mut self.filter {
            filter.forget_strings(gone);
        }
    }

    /// Finds the rows that take part.
    ///
    /// # Errors
    /// `NotANumber` if one has NaN in a key; its row is counted within the batch. `Overflow` where the
    /// filter computes what does not fit.
    pub fn select(
        &mut self,
        batch: &Batch,
        dictionary: &Dictionary,
        into: &mut Selection,
    ) -> Result<()> {
        into.len = batch.rows;
        into.all = true;
        let has_nulls = nulls(batch, &self.not_null).next().is_some();
        if self.filter.is_some() || has_nulls {
            match &mut self.filter {
                Some(filter) => filter.evaluate(batch, dictionary, &mut into.verdicts)?,
                None => {
                    into.verdicts.clear();
                    into.verdicts.resize(batch.rows, TRUE);
                }
            }
            for valid in nulls(batch, &self.not_null) {
                for (verdict, valid) in into.verdicts.iter_mut().zip(valid) {
                    *verdict *= u8::from(*valid);
                }
            }
            into.gather();
        }
        self.float_keys
            .iter()
            .try_for_each(|(column, name)| self.refuse_nan(batch, *column, name, into))
    }

    /// The factor at `index`, for each selected row.
    ///
    /// # Errors
    /// `Overflow` or, where a double is not finite, `Value` names the expression.
    pub fn factor<'a>(
        &'a mut self,
        index: usize,
        batch: &'a Batch,
        selection: &'a Selection,
    ) -> Result<Values<'a>> {
        self.factors[index].evaluate(batch, selection, false)
    }

    /// The same; a decimal is one word, the integer of its units, where all of them fit.
    ///
    /// # Errors
    /// As `factor`.
    pub(crate) fn factor_in_units<'a>(
        &'a mut self,
        index: usize,
        batch: &'a Batch,
        selection: &'a Selection,
    ) -> Result<Values<'a>> {
        self.factors[index].evaluate(batch, selection, true)
    }

    /// Bytes that grow with the dictionary.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        self.filter.as_ref().map_or(0, Check::memory_usage)
    }

    fn refuse_nan(&self, batch: &Batch, column: usize, name: &str, rows: &Selection) -> Result<()> {
        let words = &batch.column(column).words;
        let is_nan = |row: &usize| f64::from_bits(words[*row]).is_nan();
        let found = match rows.rows() {
            None => (0..batch.rows).find(is_nan),
            Some(rows) => rows.iter().map(|&row| row as usize).find(is_nan),
        };
        match found {
            None => Ok(()),
            Some(row) => Err(Error::NotANumber {
                table: self.table.clone(),
                column: name.to_owned(),
                row: row as u64,
            }),
        }
    }
}

impl Selection {
    /// The rows whose verdict is TRUE, without a branch a row.
    fn gather(&mut self) {
        self.rows.resize(self.verdicts.len(), 0);
        let mut len = 0;
        for (row, &verdict) in self.verdicts.iter().enumerate() {
            self.rows[len] = row as u32;
            len += usize::from(verdict == TRUE);
        }
        self.rows.truncate(len);
        self.len = len;
        self.all = len == self.verdicts.len();
    }
}

impl FactorProgram {
    fn compile(
        factor: Option<&Factor>,
        place: &str,
        schema: &Schema,
        scalar: CompileScalar,
    ) -> Result<FactorProgram> {
        let value = factor.and_then(|factor| factor.value.as_ref());
        let units = value.and_then(units::of);
        let units = units.and_then(|units| scalar(&units, place, schema).ok());
        let value = value
            .map(|value| scalar(value, place, schema))
            .transpose()?;
        Ok(FactorProgram {
            units,
            not_null: factor.map_or_else(Vec::new, |factor| factor.not_null.clone()),
            text: value
                .as_ref()
                .map_or_else(String::new, |v| v.text().to_owned()),
            value,
            words: Vec::new(),
        })
    }

    fn evaluate<'a>(
        &'a mut self,
        batch: &'a Batch,
        selection: &'a Selection,
        may_be_units: bool,
    ) -> Result<Values<'a>> {
        let Self {
            not_null,
            value,
            units,
            text,
            words,
        } = self;
        let rows = selection.len();
        let has_nulls = nulls(batch, not_null).next().is_some();
        let Some(scalar) = value else {
            if !has_nulls {
                return Ok(Values::Ones);
            }
            words.clear();
            words.resize(rows, 1);
            zero_nulls(batch, not_null, selection, 1, words);
            return Ok(Values::Words(words));
        };
        let chosen = selection.rows();
        let input = Input { batch, chosen };
        if may_be_units
            && units
                .as_mut()
                .is_some_and(|units| units.evaluate(&input).is_err())
        {
            *units = None;
        }
        let scalar = match units {
            Some(units) if may_be_units => units,
            _ => {
                scalar.evaluate(&input)?;
                scalar
            }
        };
        let (kind, long) = (scalar.kind(), scalar.is_long());
        let width = match kind {
            Kind::Decimal { .. } => 2,
            Kind::Real if long => 3,
            Kind::Int | Kind::Real => 1,
        };
        let nulls_are_zeros = scalar.is_column() && scalar.columns() == not_null.as_slice();
        let source = scalar.result(&input);
        let found = match source {
            Source::Words(found) if !has_nulls || nulls_are_zeros => found,
            Source::Words(found) => {
                words.clear();
                words.extend_from_slice(found);
                zero_nulls(batch, not_null, selection, width, words);
                words
            }
            Source::Constant(constant) => {
                words.clear();
                words.extend((0..rows).flat_map(|_| &constant[..width]));
                zero_nulls(batch, not_null, selection, width, words);
                words
            }
        };
        if kind == Kind::Real {
            refuse_infinite(found, width, text)?;
        }
        Ok(if long {
            Values::Long(found)
        } else {
            Values::Words(found)
        })
    }
}

/// Makes the numbers 0 in rows where one of the columns is NULL.
fn zero_nulls(
    batch: &Batch,
    columns: &[usize],
    selection: &Selection,
    width: usize,
    words: &mut [u64],
) {
    for valid in nulls(batch, columns) {
        for (position, number) in words.chunks_exact_mut(width).enumerate() {
            let row = selection
                .rows()
                .map_or(position, |rows| rows[position] as usize);
            if !valid[row] {
                number.fill(0);
            }
        }
    }
}

/// A sum that took NaN or an infinity in could never be rid of it again.
fn refuse_infinite(words: &[u64], width: usize, text: &str) -> Result<()> {
    const EXPONENT: u64 = 0x7ff << 52;
    // The first word of an expansion is NaN or infinite if the expansion is.
    let mut firsts = words.iter().step_by(width);
    let Some(&word) = firsts.find(|&&word| word & EXPONENT == EXPONENT) else {
        return Ok(());
    };
    Err(Error::Value {
        place: text.to_owned(),
        problem: format!(
            "it is {}, which no delete could take out of a sum again; filter such rows, or make it NULL",
            f64::from_bits(word)
        ),
    })
}
