//! A database: what tables and views there are, and what is known of them.
//!
//! Invariant: tables and views have distinct names; a view's tables are there; between two calls
//! every view equals its query over the rows of its tables. A call that fails has changed nothing.
//! Cost: names are found in O(tables) or O(views); what a change costs, see `transaction`.

use std::sync::Arc;

use arrow_array::RecordBatch;
use ringview_core::{Batch, Dictionary, Error, HoldsStrings, Result, Schema, check_name};
use ringview_query::Query;
use ringview_view::Engine;

use crate::Poll;
use crate::choose::engines;
use crate::memory::Memory;
use crate::names::Source;
use crate::strings::Leaving;
use crate::table::{Table, TableStatus};
use crate::undo::Undo;
use crate::view::NamedView;

/// How a database behaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Keep no base rows of tables that may change, and believe every delete. Saves their memory
    /// and most of the work of a change; views must be created while their tables are empty.
    pub trust_deletes: bool,
    /// Bytes that tables, views and strings may take, with what is read at once; what needs more is
    /// refused with `Memory`. By default what the machine or the control group has.
    pub memory_limit: Option<u64>,
}

/// Tables, and views that are exact after every transaction.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{Decimal128Array, Int64Array, RecordBatch};
/// use ringview_core::{Field, Schema, Type};
/// use ringview_engine::{Database, Direction, Op, Options};
/// use ringview_query::Query;
///
/// let mut db = Database::new(Options::default());
/// let column = |name| Field::new(name, Type::Int64, true);
/// db.create_table("sales", Schema::new(vec![column("units"), column("price")])?, None, false)?;
/// db.create_view("revenue", &Query::from_json(r#"{
///     "atoms": [{"table": "sales", "alias": "s"}],
///     "outputs": [{"kind": "aggregate", "name": "total", "function": "sum", "argument":
///         {"op": "multiply", "left": {"op": "column", "atom": 0, "column": "units"},
///                            "right": {"op": "column", "atom": 0, "column": "price"}}}]}"#)?,
///     &mut |_| Ok(()))?;
/// let numbers = |values: &[i64]| Arc::new(Int64Array::from(values.to_vec())) as _;
/// let rows = RecordBatch::try_from_iter([("units", numbers(&[3, 1])), ("price", numbers(&[20, 50]))]);
/// db.apply(&[Op {
///     table: "sales",
///     direction: Direction::Insert,
///     rows: &[rows.unwrap()],
///     multiplicity: None,
/// }], &mut |_| Ok(()))?;
/// let total = db.view_result("revenue")?;
/// let sum = Decimal128Array::from(vec![110]).with_precision_and_scale(38, 0).unwrap();
/// assert_eq!(total.column(0).as_ref(), &sum);
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Database {
    pub(crate) options: Options,
    /// Who may keep views, the first among equals first.
    pub(crate) engines: Vec<Arc<dyn Engine>>,
    pub(crate) tables: Vec<Table>,
    /// In the order in which they came, each behind its blocks.
    pub(crate) views: Vec<NamedView>,
    /// The views, each behind those that it reads.
    pub(crate) order: Vec<usize>,
    pub(crate) dictionary: Dictionary,
    /// Which strings may be nobody's.
    pub(crate) leaving: Leaving,
    /// The batch at hand where it is large, for its memory.
    pub(crate) batch: Batch,
    /// What the transaction at hand has done, for its memory.
    pub(crate) undo: Undo,
    pub(crate) memory: Memory,
    /// How many tables and views there ever were.
    pub(crate) births: u64,
}

impl Default for Database {
    fn default() -> Self {
        Self::new(Options::default())
    }
}

impl Database {
    /// An empty database.
    pub fn new(options: Options) -> Database {
        Database::with_engines(options, engines())
    }

    /// The same with other engines, of different names: who may keep views, the first among equals
    /// first.
    pub fn with_engines(options: Options, engines: Vec<Arc<dyn Engine>>) -> Database {
        Database {
            options,
            engines,
            tables: Vec::new(),
            views: Vec::new(),
            order: Vec::new(),
            dictionary: Dictionary::default(),
            leaving: Leaving::default(),
            batch: Batch::default(),
            undo: Undo::default(),
            memory: Memory::new(options.memory_limit),
            births: 0,
        }
    }

    /// Declares a table. No two of its rows may agree in the columns `unique`; if `is_static`, it
    /// cannot change once a view reads it, which lets views store less.
    ///
    /// # Errors
    /// `Exists`; `UnknownColumn` for `unique`.
    pub fn create_table(
        &mut self,
        name: &str,
        schema: Schema,
        unique: Option<&[String]>,
        is_static: bool,
    ) -> Result<()> {
        self.check_new(name)?;
        if schema.is_empty() {
            return Err(Error::Value {
                place: format!("the columns of table {name:?}"),
                problem: "there are none, so it could hold nothing; give it one at least"
                    .to_owned(),
            });
        }
        for field in schema
            .fields()
            .iter()
            .filter(|field| !field.name.is_empty())
        {
            check_name("a column", &field.name)?;
        }
        let keep_rows = is_static || !self.options.trust_deletes;
        let mut table = Table::new(name, schema, unique, is_static, keep_rows)?;
        table.id = self.birth();
        self.tables.push(table);
        Ok(())
    }

    /// Forgets a table.
    ///
    /// # Errors
    /// `UnknownTable`; `InUse` if a view reads it.
    pub fn drop_table(&mut self, name: &str) -> Result<()> {
        let index = self.can_drop_table(name)?;
        let rows = self.tables.remove(index).rows;
        self.words_left(rows.as_ref().map_or(0, HoldsStrings::string_words));
        self.collect_strings();
        self.recount();
        Ok(())
    }

    /// Whether a table could be forgotten, and where it stands.
    ///
    /// # Errors
    /// As [`drop_table`](Self::drop_table).
    pub fn can_drop_table(&self, name: &str) -> Result<usize> {
        let index = self.table_index(name)?;
        let views = self.readers_of(Source::Table(self.tables[index].id));
        match views.is_empty() {
            true => Ok(index),
            false => Err(Error::InUse {
                kind: "table",
                name: name.to_owned(),
                views,
            }),
        }
    }

    /// How it behaves.
    pub fn options(&self) -> Options {
        self.options
    }

    /// The names of the tables, in the order in which they came.
    pub fn tables(&self) -> Vec<String> {
        self.tables.iter().map(|t| t.name.clone()).collect()
    }

    /// The names of the views, in the order in which they came.
    pub fn views(&self) -> Vec<String> {
        let named = self.views.iter().filter(|view| view.owner.is_none());
        named.map(|view| view.name.clone()).collect()
    }

    /// The names and numbers of the tables, oldest first.
    pub fn table_ids(&self) -> Vec<(String, u64)> {
        let tables = self.tables.iter();
        tables.map(|table| (table.name.clone(), table.id)).collect()
    }

    /// The names and numbers of the views, oldest first.
    pub fn view_ids(&self) -> Vec<(String, u64)> {
        let named = self.views.iter().filter(|view| view.owner.is_none());
        named.map(|view| (view.name.clone(), view.id)).collect()
    }

    /// What is known of a table.
    ///
    /// # Errors
    /// `UnknownTable`.
    pub fn table(&self, name: &str) -> Result<TableStatus> {
        Ok(self.tables[self.table_index(name)?].status())
    }

    /// The rows of a view. O(rows).
    ///
    /// # Errors
    /// `UnknownView`; `Overflow` if a column adds several sums and that leaves its type; `Memory`.
    pub fn view_result(&self, name: &str) -> Result<RecordBatch> {
        self.view_result_with(name, &mut |_| Ok(()))
    }

    /// The same, asking `poll` now and then.
    ///
    /// # Errors
    /// The same, and what `poll` returns.
    pub fn view_result_with(&self, name: &str, poll: Poll<'_>) -> Result<RecordBatch> {
        let (answer, budget) = (self.view(name)?.answer(), self.reading(poll));
        answer.rows(&self.dictionary, &budget)
    }

    /// How many rows a view has. O(1), or O(groups) with HAVING.
    ///
    /// # Errors
    /// `UnknownView`; `Overflow` if what HAVING computes does not fit.
    pub fn view_len(&self, name: &str) -> Result<usize> {
        Ok(self.view(name)?.answer().len(&self.dictionary)? as usize)
    }

    /// A number that tells a view from all others that there were, of its name or not.
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn view_id(&self, name: &str) -> Result<u64> {
        Ok(self.view(name)?.id)
    }

    /// The text that a view was written as, if whoever created it left one.
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn view_text(&self, name: &str) -> Result<Option<&str>> {
        Ok(self.view(name)?.text.as_deref())
    }

    /// Leaves the text that a view was written as.
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn set_view_text(&mut self, name: &str, text: &str) -> Result<()> {
        let index = self.view_index(name)?;
        self.views[index].text = Some(text.to_owned());
        Ok(())
    }

    /// Whether the view of a name is still the one with this number.
    ///
    /// # Errors
    /// `UnknownView`; `Stale` if it is another.
    pub fn is_view(&self, name: &str, id: u64) -> Result<()> {
        same("view", name, id, self.view(name)?.id)
    }

    /// Whether the table of a name is still the one with this number.
    ///
    /// # Errors
    /// `UnknownTable`; `Stale` if it is another.
    pub fn is_table(&self, name: &str, id: u64) -> Result<()> {
        same("table", name, id, self.tables[self.table_index(name)?].id)
    }

    /// The query of a view.
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn view_query(&self, name: &str) -> Result<&Query> {
        Ok(self.view(name)?.asked())
    }

    /// Bytes held, part by part: each table's rows, each view, the dictionary of strings.
    pub fn memory_usage(&self) -> Vec<(String, usize)> {
        let table = |table: &Table| (format!("table {}", table.name), table.bytes());
        let view = |view: &NamedView| (self.label(view), view.kept.memory_usage());
        let mut parts: Vec<_> = self.tables.iter().map(table).collect();
        parts.extend(self.views.iter().map(view));
        parts.push(("dictionary".to_owned(), self.dictionary.memory_usage()));
        let batches = self.tables.iter().map(|table| &table.batch);
        let batches = batches.chain([&self.batch]).map(Batch::memory_usage);
        parts.push(("buffers".to_owned(), batches.sum()));
        parts
    }

    /// Checks the invariants of all views; for tests.
    ///
    /// # Panics
    /// When one does not hold.
    pub fn check(&self) {
        self.views.iter().for_each(|view| view.kept.check());
    }

    pub(crate) fn table_index(&self, name: &str) -> Result<usize> {
        let found = self.tables.iter().position(|table| table.name == name);
        found.ok_or_else(|| Error::UnknownTable {
            name: name.to_owned(),
            known: self.tables(),
        })
    }

    /// A number that no table or view had before.
    pub(crate) fn birth(&mut self) -> u64 {
        self.births += 1;
        self.births
    }

    /// Refuses a name that is taken, and one that cannot be written.
    pub(crate) fn check_new(&self, name: &str) -> Result<()> {
        check_name("a table or view", name)?;
        let kind = if self.tables.iter().any(|table| table.name == name) {
            "table"
        } else if self.view_index(name).is_ok() {
            "view"
        } else {
            return Ok(());
        };
        Err(Error::Exists {
            kind,
            name: name.to_owned(),
        })
    }

    pub(crate) fn view(&self, name: &str) -> Result<&NamedView> {
        Ok(&self.views[self.view_index(name)?])
    }

    pub(crate) fn view_index(&self, name: &str) -> Result<usize> {
        let named = |view: &NamedView| view.owner.is_none() && view.name == name;
        let found = self.views.iter().position(named);
        found.ok_or_else(|| Error::UnknownView {
            name: name.to_owned(),
            known: self.views(),
        })
    }
}

fn same(kind: &'static str, name: &str, asked: u64, found: u64) -> Result<()> {
    if asked == found {
        return Ok(());
    }
    Err(Error::Stale {
        kind,
        name: name.to_owned(),
    })
}
