//! A bound query as a join for the index: the words of a table's rows, and those of the columns of the sample.
//!
//! Invariant: the words of a row are those of its join variables, then those of further columns that are output or read by
//! a condition, then the verdicts of predicates on the row alone; a decimal has two, a column that may be NULL one more, 1
//! for NULL. A join variable is one number to the index for each of its words. Cost: O(columns), once.

use std::ops::Range;

use ringview_core::{Batch, Column, Result, Type};
use ringview_query::nested::{Column as Of, Condition};
use ringview_query::{Bound, OutputKind, PlanAtom, Predicate};
use ringview_view::fields::Aspect;
use ringview_view::read::AtomProgram;

/// The words that are read of the table of a relation.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) program: AtomProgram,
    /// The words of a row: a column of the table each, and which aspect of it.
    pub(super) words: Vec<(usize, Aspect)>,
    /// The words that hold ids of strings.
    pub(super) texts: Vec<usize>,
    /// Predicates, whose verdicts are further words: 1 where the row passes.
    pub(super) verdicts: Vec<AtomProgram>,
    pub(super) alias: String,
    pub(super) table: String,
}

impl Reading {
    /// The words of a row.
    pub(super) fn width(&self) -> usize {
        self.words.len() + self.verdicts.len()
    }
}

/// A column of the sample.
#[derive(Clone, Debug)]
pub(super) struct OutputColumn {
    pub(super) name: String,
    pub(super) ty: Type,
    /// Its words among those of a result: the value, the upper half of a decimal, whether it is NULL.
    pub(super) word: usize,
    pub(super) high: Option<usize>,
    pub(super) null: Option<usize>,
}

/// The words of a column: a relation and a word of its rows each.
type ColumnWords = [Option<(usize, usize)>; 3];

/// The whole query.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) relations: Vec<crate::Relation>,
    pub(super) readings: Vec<Reading>,
    pub(super) outputs: Vec<OutputColumn>,
    /// The words of a result: a relation and a word of its rows each.
    pub(super) words: Vec<(usize, usize)>,
    /// Filter of results; conditions on one row are columns behind those of its table.
    pub(super) condition: Option<Condition>,
    /// Its columns, sorted: the value, the upper half of a decimal, whether it is NULL.
    pub(super) columns: Vec<(Of, Type, ColumnWords)>,
}

impl Shape {
    pub(super) fn new(query: &Bound) -> Result<Shape> {
        let mut shape = Shape {
            relations: Vec::new(),
            readings: Vec::new(),
            outputs: Vec::new(),
            words: Vec::new(),
            condition: query.condition.clone(),
            columns: Vec::new(),
        };
        let predicates = shape.verdicts(query);
        let mut read: Vec<Of> = Vec::new();
        let condition = shape.condition.iter();
        condition.for_each(|one| one.columns(&mut |column| read.push(column)));
        read.sort_unstable();
        read.dedup();
        for (at, atom) in query.atoms.iter().enumerate() {
            let (variables, mut words) = keys(query, at);
            let own: Vec<usize> = words.iter().map(|&(column, _)| column).collect();
            let joined = words.len();
            for variable in query.variables.iter().filter(|v| v.free) {
                let place = variable.columns.iter().find(|(of, _)| *of == at);
                if let Some(&(_, column)) = place.filter(|(_, column)| !own.contains(column)) {
                    let ty = &atom.schema.fields()[column].ty;
                    words.extend(aspects(ty, variable.nullable).map(|aspect| (column, aspect)));
                }
            }
            let fields = atom.schema.len();
            let is_own = |column: &&Of| column.relation == at && column.column < fields;
            for column in read.iter().filter(is_own) {
                let field = &atom.schema.fields()[column.column];
                let joins = atom.join_columns_not_null.contains(&column.column);
                let aspects = aspects(&field.ty, field.nullable && !joins);
                let new = aspects
                    .map(|aspect| (column.column, aspect))
                    .filter(|word| !words.contains(word));
                words.extend(new.collect::<Vec<_>>());
            }
            let verdicts = predicates[at].iter().map(|predicate| {
                let alone = PlanAtom {
                    filter: Some(predicate.clone()),
                    join_columns_not_null: Vec::new(),
                    ..atom.clone()
                };
                AtomProgram::compile(&alone, &[], &[])
            });
            let verdicts: Vec<AtomProgram> = verdicts.collect::<Result<_>>()?;
            let carried = (0..words.len()).filter(|&word| {
                read.iter()
                    .any(|column| (column.relation, column.column) == (at, words[word].0))
            });
            let carried = carried
                .chain(words.len()..words.len() + verdicts.len())
                .collect();
            let text = |&word: &usize| {
                let (column, aspect) = words[word];
                aspect == Aspect::Word && atom.schema.fields()[column].ty.is_interned()
            };
            shape.readings.push(Reading {
                program: AtomProgram::compile(atom, &own, &[])?,
                texts: (0..words.len()).filter(text).collect(),
                alias: atom.alias.clone(),
                table: atom.table.clone(),
                words: words.clone(),
                verdicts,
            });
            shape.relations.push(crate::Relation {
                variables,
                columns: shape.readings[at].width(),
                carried,
                keys: key(atom, &words[..joined]).into_iter().collect(),
                repeats: repeats(atom, &words[..joined]),
            });
        }
        for output in &query.outputs {
            if let OutputKind::Group { variable } = output.kind {
                shape.add_output(query, variable, &output.name, &output.ty);
            }
        }
        shape.read(query, &read);
        Ok(shape)
    }

    /// Gives conditions on one row alone a column; returns them, by atom.
    fn verdicts(&mut self, query: &Bound) -> Vec<Vec<Predicate>> {
        let mut found: Vec<Vec<Predicate>> = vec![Vec::new(); query.atoms.len()];
        if let Some(condition) = &mut self.condition {
            condition.with_verdicts(&mut |atom, predicate| {
                found[atom].push(predicate.clone());
                query.atoms[atom].schema.len() + found[atom].len() - 1
            });
        }
        found
    }

    /// Finds the columns of the condition.
    fn read(&mut self, query: &Bound, read: &[Of]) {
        for &column in read {
            let held = &self.readings[column.relation].words;
            let fields = query.atoms[column.relation].schema.fields();
            let Some(field) = fields.get(column.column) else {
                let verdict = held.len() + column.column - fields.len();
                let places = [Some((column.relation, verdict)), None, None];
                self.columns.push((column, Type::Bool, places));
                continue;
            };
            let word = |aspect| {
                let at = held
                    .iter()
                    .position(|word| *word == (column.column, aspect))?;
                Some((column.relation, at))
            };
            let places = [Aspect::Word, Aspect::High, Aspect::Null].map(word);
            self.columns.push((column, field.ty.clone(), places));
        }
    }

    fn add_output(&mut self, query: &Bound, variable: usize, name: &str, ty: &Type) {
        let (atom, column) = query.variables[variable].columns[0];
        let held = &self.readings[atom].words;
        let mut word = |aspect| {
            let at = held.iter().position(|word| *word == (column, aspect))?;
            self.words.push((atom, at));
            Some(self.words.len() - 1)
        };
        let output = OutputColumn {
            name: name.to_owned(),
            ty: ty.clone(),
            word: word(Aspect::Word).unwrap_or_default(),
            high: word(Aspect::High),
            null: word(Aspect::Null),
        };
        self.outputs.push(output);
    }

    /// Results as columns: those that are needed.
    pub(super) fn batch(&self, results: &[Vec<u64>], needed: impl Fn(usize) -> bool) -> Batch {
        let column = |(at, output): (usize, &OutputColumn)| {
            needed(at).then(|| {
                let words = |at: usize| results.iter().map(move |result| result[at]);
                let valid = |at| words(at).map(|null| null == 0).collect::<Vec<bool>>();
                let high = |at: usize| words(at).collect();
                Column {
                    words: words(output.word).collect(),
                    high: output.high.map_or_else(Vec::new, high),
                    valid: output
                        .null
                        .map(valid)
                        .filter(|valid| valid.contains(&false)),
                }
            })
        };
        Batch {
            rows: results.len(),
            columns: self.outputs.iter().enumerate().map(column).collect(),
            multiplicity: None,
        }
    }
}

/// The words of a relation's join variables, with their numbers in the index.
fn keys(query: &Bound, atom: usize) -> (Vec<usize>, Vec<(usize, Aspect)>) {
    let (mut variables, mut words) = (Vec::new(), Vec::new());
    for (at, variable) in query.variables.iter().enumerate() {
        let place = variable.columns.iter().find(|(of, _)| *of == atom);
        if let (Some(&(_, column)), true) = (place, variable.columns.len() > 1) {
            for (offset, aspect) in aspects(&variable.ty, false).enumerate() {
                variables.push(2 * at + offset);
                words.push((column, aspect));
            }
        }
    }
    (variables, words)
}

/// The words of a column.
fn aspects(ty: &Type, nullable: bool) -> impl Iterator<Item = Aspect> {
    let range: Range<usize> = 0..1;
    let high = (ty.bits() > 64).then_some(Aspect::High);
    let null = nullable.then_some(Aspect::Null);
    range.map(|_| Aspect::Word).chain(high).chain(null)
}

/// The words that no two rows of a table agree on, where they are among those that join.
fn key(atom: &PlanAtom, keys: &[(usize, Aspect)]) -> Option<Vec<usize>> {
    let unique = atom.unique.as_ref()?;
    let joins = |column: &usize| keys.iter().any(|(of, _)| of == column);
    let of = |at: &usize| unique.contains(&keys[*at].0);
    unique
        .iter()
        .all(joins)
        .then(|| (0..keys.len()).filter(of).collect())
}

/// Whether rows of a table may agree in the columns that join.
fn repeats(atom: &PlanAtom, keys: &[(usize, Aspect)]) -> bool {
    let joins = |column: &usize| keys.iter().any(|(of, _)| of == column);
    let by_key = atom
        .unique
        .as_ref()
        .is_some_and(|unique| unique.iter().all(joins));
    !by_key && !(0..atom.schema.len()).all(|column| joins(&column))
}
