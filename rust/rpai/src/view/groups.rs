//! The groups of a machine as a relation.
//!
//! Invariant: once settled the part has the groups of the machine, with the number of each term of
//! the query. Rows of a table at several places are taken once. Cost: that of the machine; the
//! groups that changed where it has them, else all.

use ringview_core::{Budget, Dictionary, FreedIds, HoldsStrings, LiveIds, Result, Type};
use ringview_explain::Explanation;
use ringview_relation::{Delta, KeyScratch, Relocated as Shrunk};
use ringview_ring::{Element, PayloadRing, SumProduct};
use ringview_view::RowDelta;
use ringview_view::fields::Field;
use ringview_view::read::{AtomProgram, Selection};
use ringview_view::result_table::{Grouped, Maintainer, ResultTable, SumGroups};

use super::payload;
use super::texts::Texts;
use crate::machine::{Cell, GroupDelta, Machine, Rows};
use crate::plan::{Plan, Source};

/// Reader of a table's rows.
#[derive(Debug)]
struct Reader {
    first: usize,
    is_static: bool,
    program: AtomProgram,
    /// Predicates whose verdicts are the last columns.
    predicates: Vec<AtomProgram>,
    /// The columns with strings.
    texts: Vec<usize>,
}

/// Groups that a machine keeps.
#[derive(Debug)]
pub(crate) struct Groups {
    plan: Plan,
    machine: Machine,
    readers: Vec<Reader>,
    result: SumGroups,
    texts: Texts,
    /// Source of the keys of groups: the column of the group, and its field.
    keys: Vec<(usize, Field)>,
    selection: Selection,
    verdicts: Vec<Vec<bool>>,
    delta: Delta,
    scratch: KeyScratch,
    /// The aggregates of a query with one group.
    sole: Vec<Cell>,
    measured: Measured,
}

/// Bytes of the machine when they were last summed over its indexes, which takes O(keys), and the rows since.
///
/// Invariant: they are summed again before the rows since are worth a sixteenth of them, so a row pays for O(1) indexes.
#[derive(Debug, Default)]
struct Measured {
    bytes: usize,
    rows: usize,
}

/// Bytes of a row in the indexes, at most.
const ROW: usize = 256;

impl Measured {
    /// Counts rows; `bytes` sums the bytes again.
    fn count(&mut self, rows: usize, bytes: impl FnOnce() -> usize) {
        self.rows += rows;
        if self.rows * ROW >= self.bytes / 16 {
            (self.bytes, self.rows) = (bytes(), 0);
        }
    }

    fn bytes(&self) -> usize {
        self.bytes + self.rows * ROW
    }
}

impl Reader {
    fn new(source: &Source) -> Result<Self> {
        let atom = &source.atom;
        let fields = atom.schema.fields();
        let of = |keep: &dyn Fn(&Type) -> bool| -> Vec<usize> {
            let columns = atom.columns.iter().copied();
            columns.filter(|&column| keep(&fields[column].ty)).collect()
        };
        let verdict = |predicate: &ringview_query::Predicate| {
            let atom = ringview_query::PlanAtom {
                filter: Some(predicate.clone()),
                ..atom.clone()
            };
            AtomProgram::compile(&atom, &[], &[])
        };
        Ok(Self {
            first: source.first,
            is_static: atom.is_static,
            // NaN has no place among what is compared.
            program: AtomProgram::compile(atom, &of(&Type::is_float), &[])?,
            predicates: source.verdicts.iter().map(verdict).collect::<Result<_>>()?,
            texts: of(&Type::is_interned),
        })
    }
}

impl Groups {
    pub(crate) fn new(plan: Plan) -> Result<Self> {
        let readers = plan.sources.iter().map(Reader::new);
        let readers = readers.collect::<Result<_>>()?;
        let result = SumGroups::new(plan.query.clone());
        let free = plan.query.variables.iter().enumerate();
        let free: Vec<usize> = free.filter(|(_, one)| one.free).map(|(id, _)| id).collect();
        let field = |id: &usize| {
            let field = result.fields.field(*id);
            let at = free.iter().position(|&id| id == field.variable);
            (at.unwrap_or_default(), field)
        };
        let keys: Vec<(usize, Field)> = result.key_fields().iter().map(field).collect();
        Ok(Self {
            machine: plan.machine.clone(),
            delta: Delta::with_registers(keys.len()),
            plan,
            readers,
            result,
            texts: Texts::new(),
            keys,
            selection: Selection::default(),
            verdicts: Vec::new(),
            scratch: KeyScratch::default(),
            sole: Vec::new(),
            measured: Measured::default(),
        })
    }

    /// Puts groups into the part; those without aggregates are removed.
    fn put<'g>(
        &mut self,
        groups: impl Iterator<Item = (&'g [Cell], Option<&'g [Cell]>)>,
    ) -> Result<()> {
        let elements: &[Element] = self.result.groups.shape().elements();
        let stride = SumProduct::stride(self.result.groups.shape());
        let delta = &mut self.delta;
        delta.columns.iter_mut().for_each(Vec::clear);
        delta.payload.clear();
        (delta.rows, delta.width) = (0, stride);
        for (group, all) in groups {
            for ((at, field), column) in self.keys.iter().zip(&mut delta.columns) {
                let variable = &self.result.query.variables[field.variable];
                column.push(payload::field(group[*at], variable, field.aspect)?);
            }
            let start = delta.payload.len();
            delta.payload.resize(start + stride, 0);
            let words = &mut delta.payload[start..];
            let terms = &self.result.query.terms;
            for ((&cell, term), &element) in all.into_iter().flatten().zip(terms).zip(elements) {
                payload::store(cell, term.kind, element, words)?;
            }
            delta.rows += 1;
        }
        let fields: Vec<usize> = (0..self.keys.len()).collect();
        (self.result.groups).put(&self.delta, &fields, &mut self.scratch);
        Ok(())
    }
}

impl Grouped for Groups {
    fn grouped(&self) -> ResultTable<'_> {
        self.result.grouped()
    }
}

impl Maintainer for Groups {
    fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        let source = self.plan.source_of[rows.atom];
        let reader = &mut self.readers[source];
        if reader.first != rows.atom {
            return Ok(());
        }
        let (batch, selection) = (rows.batch, &mut self.selection);
        self.verdicts.resize_with(reader.predicates.len(), Vec::new);
        for (program, verdict) in reader.predicates.iter_mut().zip(&mut self.verdicts) {
            program.select(batch, rows.dictionary, selection)?;
            verdict.clear();
            verdict.resize(batch.rows, selection.rows().is_none());
            for &row in selection.rows().unwrap_or_default() {
                verdict[row as usize] = true;
            }
        }
        reader.program.select(batch, rows.dictionary, selection)?;
        budget.work(selection.len() as u64)?;
        let filtered = selection.rows();
        self.texts.take(batch, &reader.texts, filtered, rows.sign);
        let rows = Rows {
            batch,
            filtered,
            verdicts: &self.verdicts,
            sign: rows.sign,
        };
        self.machine.take(source, rows, budget)?;
        (self.measured).count(batch.rows, || self.machine.memory_usage());
        Ok(())
    }

    fn freeze(&mut self) {
        let is_static: Vec<bool> = self.readers.iter().map(|reader| reader.is_static).collect();
        self.machine.freeze(&is_static);
    }

    fn prepare(&mut self, _dictionary: &Dictionary, budget: &Budget<'_>) -> Result<()> {
        if self.keys.is_empty() && self.machine.sole(budget, &mut self.sole)? {
            let all = std::mem::take(&mut self.sole);
            let put = self.put(std::iter::once((&[][..], Some(&all[..]))));
            self.sole = all;
            return put;
        }
        match self.machine.delta(budget)? {
            GroupDelta::All(groups) => {
                budget.work(groups.len() as u64)?;
                if !self.keys.is_empty() {
                    self.result.groups.rewrite(|payload| payload.fill(0));
                }
                self.put(
                    groups
                        .iter()
                        .map(|(group, all)| (&group[..], Some(&all[..]))),
                )
            }
            GroupDelta::Some(groups) => {
                budget.work(groups.len() as u64)?;
                self.put(
                    groups
                        .iter()
                        .map(|(group, all)| (&group[..], all.as_deref())),
                )
            }
        }
    }

    fn commit(&mut self, _dictionary: &Dictionary) -> Option<Shrunk> {
        self.machine.commit();
        self.texts.commit();
        self.result.groups.commit()
    }

    fn rollback(&mut self) {
        self.machine.rollback();
        self.texts.rollback();
        self.result.groups.rollback();
    }

    fn explanation(&self) -> Explanation {
        self.plan.explanation(&self.machine.description())
    }

    fn memory_usage(&self) -> usize {
        let table = self.grouped().table.memory_usage();
        self.machine.memory_usage() + self.texts.memory_usage() + table
    }

    fn bytes(&self) -> usize {
        let table = self.grouped().table.memory_usage();
        self.measured.bytes() + self.texts.memory_usage() + table
    }

    fn steps(&self) -> u64 {
        self.machine.steps()
    }

    /// The table has the groups of the machine.
    fn check(&self) {
        let mut machine = self.machine.clone();
        let groups = machine.groups(&Budget::free());
        assert!(groups.is_ok(), "a result that was kept can be worked out");
        let shown = groups.unwrap_or_default();
        let live = shown.iter().filter(|(_, all)| counts(all)).count();
        assert_eq!(live, self.grouped().table.len(), "groups");
    }
}

impl HoldsStrings for Groups {
    fn mark_strings(&self, held: &mut LiveIds) {
        self.grouped().mark_strings(held);
        self.texts.mark(held);
    }

    fn string_words(&self) -> usize {
        self.grouped().string_words() + self.texts.len()
    }

    fn forget_strings(&mut self, gone: &FreedIds) {
        for reader in &mut self.readers {
            reader.program.forget_strings(gone);
            (reader.predicates.iter_mut()).for_each(|program| program.forget_strings(gone));
        }
    }
}

/// Whether a group has rows: the first term counts them.
fn counts(all: &[Cell]) -> bool {
    all[0].0.is_some_and(|count| count.real() != 0.0)
}
