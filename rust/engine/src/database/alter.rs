//! Tables whose columns change while views read them.
//!
//! Invariant: a table is altered wholly, or nothing is. Views over it stay as they are: none of them reads a column
//! that is dropped, renamed, widened or moved to another position. The query of each can be planned again, as happens
//! when a file is opened. Cost: that of rewriting the rows of the table, which exist twice for that time.

use arrow_array::RecordBatch;
use ringview_core::{Batch, Budget, Error, HoldsStrings, Result, Schema, Type, check_name};

use super::alteration::Alteration;
use super::{Database, defaults};
use crate::catalogue::choose::By;
use crate::plan::Source;
use crate::reversal::Reversal;
use crate::state::State;
use crate::storage::retention::KeepFor;
use crate::storage::table::Table;
use crate::{CHUNK, OnCommit, Poll};

/// Definition of a table after an alteration.
struct Altered {
    name: String,
    schema: Schema,
    unique: Option<Vec<String>>,
    keep_for: Option<KeepFor>,
    /// The columns that no view may read: where one is another, or elsewhere.
    moved: std::ops::Range<usize>,
}

impl Database {
    /// Changes the columns of a table. `value`, one row of one column, is the value of an added column in existing
    /// rows, NULL where absent, and its default; or the new default of a column. `keep` is called once nothing else can
    /// fail.
    ///
    /// # Errors
    /// `UnknownTable`, `UnknownColumn`; `Exists` for a name that is taken; `InUse` where views read what would change, with
    /// their names; `Unsupported` for a column of the key or of `keep_for`, the only one, or a type that lacks values;
    /// `Null` for a column that must not be NULL and would be; `Memory`; what `poll` and `keep` return.
    pub fn alter_table(
        &mut self,
        name: &str,
        change: &Alteration,
        value: Option<&RecordBatch>,
        poll: Poll<'_>,
        keep: OnCommit<'_>,
    ) -> Result<()> {
        let index = self.state.storage.index(name)?;
        if let Alteration::SetDefault(column) = change {
            return self.set_default(index, (column, value), keep);
        }
        let altered = self.altered(index, change)?;
        let id = self.state.storage.tables[index].id;
        let views = self.readers_of_columns((id, name), &altered.moved);
        if !views.is_empty() {
            return Err(self.in_use(index, change, views));
        }
        let budget = self.state.budget(poll);
        let made = self
            .state
            .refilled(index, altered, (change, value), &budget);
        let made = made.inspect_err(|_| drop(self.state.storage.dictionary.rollback()))?;
        let before = std::mem::replace(&mut self.state.storage.tables[index], made);
        let views = self.state.graph.readers_of(name);
        let lost: Vec<String> = views
            .into_iter()
            .filter(|view| !self.can_plan(view))
            .collect();
        let done = match lost.is_empty() {
            true => keep(),
            false => Err(self.in_use(index, change, lost)),
        };
        if done.is_err() {
            self.state.storage.tables[index] = before;
            self.state.storage.dictionary.rollback();
            return done;
        }
        self.state.storage.dictionary.commit();
        let words = before.rows.as_ref().map_or(0, HoldsStrings::string_words);
        self.record(|| Reversal::ReplaceTable(index, before));
        self.state.storage.words_left(words);
        self.state.wire();
        self.state.collect_strings();
        self.state.recount();
        Ok(())
    }

    fn in_use(&self, index: usize, change: &Alteration, views: Vec<String>) -> Error {
        let table = &self.state.storage.tables[index].name;
        let (kind, name) = match change {
            Alteration::RenameTable(_) | Alteration::AddColumn(_) => ("table", table.clone()),
            Alteration::DropColumn(column)
            | Alteration::SetDefault(column)
            | Alteration::RenameColumn { column, .. }
            | Alteration::Widen { column, .. } => ("column", format!("{table}.{column}")),
        };
        Error::InUse { kind, name, views }
    }

    /// Whether the query of a view still means something.
    fn can_plan(&self, view: &str) -> bool {
        let view = self.state.graph.declared(view);
        view.is_ok_and(|view| {
            self.catalogue()
                .plans(&view.query, By::Choice(None))
                .is_ok()
        })
    }

    /// The views that read some columns of a table.
    fn readers_of_columns(
        &self,
        (table, name): (u64, &str),
        columns: &std::ops::Range<usize>,
    ) -> Vec<String> {
        let graph = &self.state.graph;
        let source = Source::Table(table);
        let reads = |id: &u64| {
            graph.position(*id).is_some_and(|at| {
                let node = &graph.nodes[at];
                let mut of_table = node.inputs.iter().filter(|input| input.source == source);
                of_table.any(|input| input.atom.columns.iter().any(|one| columns.contains(one)))
            })
        };
        let declared = graph.declared.iter();
        let found = declared.filter(|view| graph.with_blocks(view.node).iter().any(reads));
        let found: Vec<String> = found.map(|view| view.name.clone()).collect();
        match found.is_empty() && graph.nodes.iter().any(|node| reads(&node.id)) {
            true => graph.readers_of(name),
            false => found,
        }
    }

    /// Definition of a table after a change, if the change is possible.
    fn altered(&self, index: usize, change: &Alteration) -> Result<Altered> {
        let table = &self.state.storage.tables[index];
        let status = table.status();
        let mut fields = status.schema.fields().to_vec();
        let mut altered = Altered {
            name: table.name.clone(),
            schema: Schema::default(),
            unique: status.unique,
            keep_for: status.keep_for,
            moved: 0..0,
        };
        let place = |column: &str| {
            status.schema.index_of(column).map_err(|error| match error {
                Error::UnknownColumn { column, known, .. } => Error::UnknownColumn {
                    table: table.name.clone(),
                    column,
                    known,
                },
                other => other,
            })
        };
        let refused = |column: &str, why: &str, instead: &str| Error::Unsupported {
            what: format!("this change of column {column:?} of table {:?}", table.name),
            why: why.to_owned(),
            instead: instead.to_owned(),
        };
        let is_of_key = |column: &String| altered.unique.iter().flatten().any(|one| one == column);
        match change {
            Alteration::AddColumn(field) => {
                check_name("a column", &field.name)?;
                fields.push(field.clone());
            }
            Alteration::DropColumn(column) => {
                let at = place(column)?;
                if fields.len() == 1 {
                    return Err(refused(column, "it is the only one", "drop the table"));
                }
                let ages = altered
                    .keep_for
                    .as_ref()
                    .is_some_and(|of| of.column == *column);
                if is_of_key(column) || ages {
                    let why = "the key, or how long rows stay, rests on it";
                    return Err(refused(
                        column,
                        why,
                        "copy the rows to a new table without it",
                    ));
                }
                altered.moved = at..fields.len();
                fields.remove(at);
            }
            Alteration::RenameColumn { column, to } => {
                let at = place(column)?;
                check_name("a column", to)?;
                altered.moved = at..at + 1;
                fields[at].name.clone_from(to);
                let of_key = altered.unique.iter_mut().flatten();
                for one in of_key.chain(altered.keep_for.iter_mut().map(|of| &mut of.column)) {
                    if one == column {
                        one.clone_from(to);
                    }
                }
            }
            Alteration::SetDefault(_) => {}
            Alteration::RenameTable(to) => {
                self.catalogue().check_new(to)?;
                altered.name.clone_from(to);
            }
            Alteration::Widen { column, to } => {
                let at = place(column)?;
                if !widens(&fields[at].ty, to) {
                    let why = format!("{to} does not have all values of {}", fields[at].ty);
                    let instead = "add a column of that type, fill it by UPDATE, and drop this one";
                    return Err(refused(column, &why, instead));
                }
                altered.moved = at..at + usize::from(fields[at].ty != *to);
                fields[at].ty = to.clone();
            }
        }
        altered.schema = Schema::new(fields)?;
        Ok(altered)
    }
}

impl State {
    /// A table as it becomes, with its rows.
    fn refilled(
        &mut self,
        index: usize,
        to: Altered,
        (change, value): (&Alteration, Option<&RecordBatch>),
        budget: &Budget<'_>,
    ) -> Result<Table> {
        let (old, dictionary) = (&self.storage.tables[index], &mut self.storage.dictionary);
        let unique = to.unique.as_deref();
        let kept = old.rows.is_some();
        let mut made = Table::new(&to.name, to.schema, unique, old.is_static, kept)?;
        if let Some(keep_for) = to.keep_for {
            made.keep_for(keep_for)?;
        }
        (made.id, made.total) = (old.id, old.total);
        made.defaults = defaults::after(old.defaults.clone(), (change, value))?;
        if !kept {
            return Ok(made);
        }
        budget.reserve(
            old.bytes() as u64,
            || format!("the rows of table {:?}, written anew", old.name),
            "raise memory_limit",
        )?;
        let mut times = "multiplicity".to_owned();
        while [&old.schema, &made.schema]
            .iter()
            .any(|of| of.index_of(&times).is_ok())
        {
            times.push('_');
        }
        let mut batch = Batch::new();
        let mut done = 0;
        old.batches(CHUNK, &mut |rows| {
            let rows = old.decoded(rows, Some(&times), dictionary)?;
            let rows = change.carried(&old.name, &rows, value, false)?;
            let needed = &made.needed;
            made.encoder
                .encode(&rows, done, needed, dictionary, Some(&times), &mut batch)?;
            if let Some(store) = &mut made.rows {
                store.insert(&batch, dictionary)?;
            }
            if let Some(aged) = &mut made.retention {
                aged.apply(&batch, 1);
            }
            made.commit();
            done += rows.num_rows();
            budget.done(rows.num_rows() as u64)
        })?;
        Ok(made)
    }
}

/// Whether a type has all values of another, each as itself.
fn widens(from: &Type, to: &Type) -> bool {
    // Bits, and whether there is a sign.
    let whole = |of: &Type| {
        Some(match of {
            Type::Int8 => (8, true),
            Type::Int16 => (16, true),
            Type::Int32 => (32, true),
            Type::Int64 => (64, true),
            Type::UInt8 => (8, false),
            Type::UInt16 => (16, false),
            Type::UInt32 => (32, false),
            Type::UInt64 => (64, false),
            _ => return None,
        })
    };
    if from == to {
        return true;
    }
    match (whole(from), to) {
        (Some((bits, _)), Type::Float32) => bits <= 16,
        (Some((bits, _)), Type::Float64) => bits <= 32,
        (Some((bits, signed)), Type::Decimal { precision, scale }) => {
            let digits = match (bits, signed) {
                (8, _) => 3,
                (16, _) => 5,
                (32, _) => 10,
                (_, true) => 19,
                (_, false) => 20,
            };
            i16::from(*precision) - i16::from(*scale) >= digits
        }
        (Some((bits, signed)), _) => {
            whole(to).is_some_and(|(wider, with_sign)| match (signed, with_sign) {
                (true, false) => false,
                (false, true) => wider > bits,
                _ => wider >= bits,
            })
        }
        (None, _) => match (from, to) {
            (Type::Float32, Type::Float64) => true,
            (
                Type::Decimal { precision, scale },
                Type::Decimal {
                    precision: wider,
                    scale: finer,
                },
            ) => {
                finer >= scale
                    && i16::from(*wider) - i16::from(*finer)
                        >= i16::from(*precision) - i16::from(*scale)
            }
            _ => false,
        },
    }
}
