//! Rows of a table as a change of a relation: keys of the fields that join, payloads component by
//! component.
//!
//! Invariant: what does not join is summed away here: two rows with one key are one tuple, whose payload
//! is their sum. Cost: O(rows) for each field and component.

use std::sync::Arc;

use ringview_core::{Dictionary, Error, FreedIds, Result, Schema};
use ringview_query::{Kind, VarId};
use ringview_relation::Delta;
use ringview_ring::{Element, Expansion, Number, SumProductShape, Widen};
use ringview_view::RowDelta;
use ringview_view::fields::Aspect;
use ringview_view::read::{AtomProgram, Selection, Values, key_column};

use crate::plan::Plan;

/// Program that reads the rows of one atom.
#[derive(Debug)]
pub(super) struct Reading {
    program: AtomProgram,
    /// Source of each field of the key: variable, aspect and column.
    key: Vec<(VarId, Aspect, usize)>,
    /// The kind of number of the atom's own factor, by component.
    kinds: Vec<Kind>,
    selection: Selection,
    /// The columns of features, which must not be NULL, and whose they are.
    features: Vec<usize>,
    table: (String, Arc<Schema>),
}

impl Reading {
    pub(super) fn new(plan: &Plan, atom: usize) -> Result<Self> {
        let factors = plan.components.iter();
        let factors: Vec<_> = factors.map(|one| one.factors[atom].clone()).collect();
        let kinds = factors.iter().map(|factor| {
            let value = factor.as_ref().and_then(|factor| factor.value.as_ref());
            value.map_or(Kind::Int, |value| value.kind)
        });
        let fields = plan.key(atom).into_iter();
        let key = fields.filter_map(|id| {
            let field = plan.fields.field(id);
            let column = plan.column(atom, field.variable)?;
            Some((field.variable, field.aspect, column))
        });
        Ok(Self {
            key: key.collect(),
            kinds: kinds.collect(),
            program: AtomProgram::compile_long(
                &plan.query.atoms[atom],
                &plan.join_columns(atom),
                &factors,
            )?,
            selection: Selection::default(),
            features: match &plan.features {
                Some(features) => features.not_null[atom].clone(),
                None => Vec::new(),
            },
            table: {
                let of = &plan.query.atoms[atom];
                (of.table.clone(), Arc::clone(&of.schema))
            },
        })
    }

    /// The rows that take part, as a change.
    pub(super) fn read(&mut self, rows: RowDelta<'_>, shape: &SumProductShape) -> Result<Delta> {
        self.select(rows, rows.dictionary)?;
        let Self {
            program,
            key,
            kinds,
            selection,
            ..
        } = self;
        let mut delta = Delta::with_registers(key.len());
        for ((_, aspect, column), out) in key.iter().zip(&mut delta.columns) {
            key_column(*aspect, rows.batch.column(*column), selection, out);
        }
        let width = shape.elements().iter().map(|one| one.kind.words()).sum();
        (delta.rows, delta.width) = (selection.len(), width);
        delta.payload.resize(delta.rows * width, 0);
        let times = multiplicities(rows, selection)?;
        for (component, (&element, kind)) in shape.elements().iter().zip(kinds).enumerate() {
            let values = program.factor(component, rows.batch, selection)?;
            if lift(values, (*kind, element), &times, &mut delta.payload, width) {
                return Err(Error::Overflow {
                    place: "a sum or count of a row".to_owned(),
                });
            }
        }
        Ok(delta)
    }

    fn select(&mut self, rows: RowDelta<'_>, dictionary: &Dictionary) -> Result<()> {
        self.program
            .select(rows.batch, dictionary, &mut self.selection)?;
        // NULL is no number: a row with one in a feature is refused, not guessed at.
        for &column in &self.features {
            let data = rows.batch.column(column);
            let selected = self.selection.rows();
            let row = |at: usize| selected.map_or(at, |rows| rows[at] as usize);
            let mut all = (0..self.selection.len()).map(row);
            if let Some(row) = all.find(|&row| data.is_null(row)) {
                let (table, schema) = &self.table;
                return Err(Error::NullFeature {
                    table: table.clone(),
                    column: schema.fields()[column].name.clone(),
                    row: row as u64,
                });
            }
        }
        Ok(())
    }

    /// Drops its filter's verdicts on freed strings.
    pub(super) fn forget_strings(&mut self, gone: &FreedIds) {
        self.program.forget_strings(gone);
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.program.memory_usage()
    }
}

/// Multiplicity of each selected row.
fn multiplicities(rows: RowDelta<'_>, selection: &Selection) -> Result<Vec<i64>> {
    let signed = |times: i64| {
        // The one multiplicity whose inverse is none.
        let fits = times.checked_mul(rows.sign).filter(|_| times != i64::MIN);
        fits.ok_or_else(|| Error::Overflow {
            place: "the multiplicity of a row".to_owned(),
        })
    };
    match (&rows.batch.multiplicity, selection.rows()) {
        (None, _) => Ok(vec![rows.sign; selection.len()]),
        (Some(all), None) => all.iter().map(|&times| signed(times)).collect(),
        (Some(all), Some(chosen)) => chosen
            .iter()
            .map(|&row| signed(all[row as usize]))
            .collect(),
    }
}

/// Multiplicity times value, one component a row; whether any did not fit.
fn lift(
    values: Values<'_>,
    (own, element): (Kind, Element),
    times: &[i64],
    out: &mut [u64],
    width: usize,
) -> bool {
    use ringview_ring::NumberKind::{Decimal, Integer, Real, Wide};
    match (element.kind, values) {
        (Integer, Values::Words(words)) => {
            fill(|row| i64::load(words, row), element, times, out, width)
        }
        (Integer, _) => fill(|_| 1i64, element, times, out, width),
        (Decimal | Wide, Values::Words(words)) => {
            let value = |row: usize| match own {
                Kind::Int => i128::from(words[row] as i64),
                _ => i128::load(words, 2 * row),
            };
            fill(value, element, times, out, width)
        }
        (Decimal | Wide, _) => fill(|_| 1i128, element, times, out, width),
        (Real, Values::Words(words)) => {
            let value = |row: usize| match own {
                Kind::Int => Widen::<Expansion>::widen(words[row] as i64),
                _ => Expansion::from(f64::from_bits(words[row])),
            };
            fill(value, element, times, out, width)
        }
        (Real, Values::Long(words)) => fill(
            |row| Expansion::load(words, 3 * row),
            element,
            times,
            out,
            width,
        ),
        (Real, Values::Ones) => fill(
            |_| Widen::<Expansion>::widen(1i64),
            element,
            times,
            out,
            width,
        ),
    }
}

fn fill<N: Number>(
    value: impl Fn(usize) -> N,
    element: Element,
    times: &[i64],
    out: &mut [u64],
    width: usize,
) -> bool
where
    i64: Widen<N>,
{
    let mut overflow = false;
    for (row, (payload, &times)) in out.chunks_exact_mut(width).zip(times).enumerate() {
        let (number, wrapped) = value(row).mul(Widen::<N>::widen(times));
        number.store(payload, element.word);
        overflow |= wrapped;
    }
    overflow
}
