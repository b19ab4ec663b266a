//! A database: what tables and views there are, and what is known of them.
//!
//! Invariant: tables and views have distinct names; a view's tables are there; between two calls
//! every view equals its query over the rows of its tables. A call that fails has changed nothing.
//! Cost: names are found in O(tables) or O(views); what a change costs, see `transaction`.

mod alter;
pub(crate) mod alteration;
mod apply;
pub(crate) mod birth;
mod births;
pub(crate) mod changes;
mod clock;
mod defaults;
mod definitions;
mod detached;
mod drafts;
mod evaluate;
mod explained;
mod fill;
mod lookup;
mod partials;
mod pending;
mod recursion;
mod reduced;
mod replace;
pub(crate) mod rows;
mod sample;
mod sources;
mod suspend;
mod tables;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;

use arrow_array::RecordBatch;
use ringview_core::{Batch, Error, Result};
use ringview_query::{Catalog, Query};
use ringview_view::Engine;

use crate::Poll;
use crate::catalogue::Catalogue;
use crate::catalogue::choose::engines;
use crate::graph::declared::Declared;
use crate::graph::facets::NodeAnswer;
use crate::graph::node::Node;
use crate::memory::Memory;
use crate::state::State;
use crate::storage::table::Table;
use crate::transaction::workers::Workers;

/// Options of a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Keep no base rows of tables that may change, and believe every delete. Saves their memory
    /// and most of the work of a change; views must be created while their tables are empty.
    pub trust_deletes: bool,
    /// Bytes that tables, views and strings may take, with what is read at once; what needs more is
    /// refused with `Memory`. By default what the machine or the control group has.
    pub memory_limit: Option<u64>,
    /// Whether views and blocks whose queries are equal, or have sums or inner views in common, are kept each by itself,
    /// and not once for all.
    pub unshared: bool,
    /// Number of threads that share the work of a transaction; one, that of the caller, where absent. The results are
    /// the same for any number, to the last bit.
    pub threads: Option<NonZeroUsize>,
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
///     "outputs": [{"kind": "aggregate", "name": "total", "function": "sum",
///                  "argument": "\"0\".\"units\" * \"0\".\"price\""}]}"#)?,
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
    options: Options,
    /// Engines that may keep views, the first among equals first.
    engines: Vec<Arc<dyn Engine>>,
    pub(crate) state: State,
    /// Number of tables and views created so far.
    births: u64,
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
        let memory = Memory::new(options.memory_limit);
        Database {
            options,
            engines,
            state: State {
                memory,
                workers: Workers::new(options.threads),
                ..State::default()
            },
            births: 0,
        }
    }

    /// Names, and who may keep views.
    fn catalogue(&self) -> Catalogue<'_> {
        Catalogue {
            state: &self.state,
            engines: &self.engines,
            births: self.births,
            is_static: false,
        }
    }

    /// The tables and views as the binder of a query sees them. O(1); a look-up is O(tables and views).
    pub fn catalog(&self) -> impl Catalog + '_ {
        self.catalogue()
    }

    /// Options of the database.
    pub fn options(&self) -> Options {
        self.options
    }

    /// The names of the views, in the order of their creation.
    pub fn views(&self) -> Vec<String> {
        self.state.graph.names()
    }

    /// The names and numbers of the views, oldest first.
    pub fn view_ids(&self) -> Vec<(String, u64)> {
        let views = self.state.graph.declared.iter();
        views.map(|view| (view.name.clone(), view.id)).collect()
    }

    /// The rows of a view. O(rows).
    ///
    /// # Errors
    /// `UnknownView`; `Overflow` if a column adds several sums and that leaves its type; `Memory`.
    pub fn view_result(&self, name: &str) -> Result<RecordBatch> {
        self.view_result_with(name, &mut |_| Ok(()))
    }

    /// The same, calling `poll` now and then.
    ///
    /// # Errors
    /// The same, and what `poll` returns.
    pub fn view_result_with(&self, name: &str, poll: Poll<'_>) -> Result<RecordBatch> {
        let (answer, budget) = (self.answer(name)?, self.state.reading(poll));
        answer.rows(&self.state.storage.dictionary, &budget)
    }

    /// Number of rows of a view. O(1), or O(groups) with HAVING.
    ///
    /// # Errors
    /// `UnknownView`; `Overflow` if what HAVING computes does not fit.
    pub fn view_len(&self, name: &str) -> Result<usize> {
        let answer = self.answer(name)?;
        Ok(answer.len(&self.state.storage.dictionary)? as usize)
    }

    /// A number that identifies a view among all views that ever existed, of its name or not.
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn view_id(&self, name: &str) -> Result<u64> {
        Ok(self.state.graph.declared(name)?.id)
    }

    /// The text that a view was written as, if whoever created it left one.
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn view_text(&self, name: &str) -> Result<Option<&str>> {
        Ok(self.state.graph.declared(name)?.text.as_deref())
    }

    /// Leaves the text that a view was written as.
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn set_view_text(&mut self, name: &str, text: &str) -> Result<()> {
        let place = self.state.graph.declared_index(name)?;
        self.state.graph.declared[place].text = Some(text.to_owned());
        Ok(())
    }

    /// Whether the view of a name is still the one with this number.
    ///
    /// # Errors
    /// `UnknownView`; `Stale` if it is another.
    pub fn is_view(&self, name: &str, id: u64) -> Result<()> {
        same("view", name, id, self.state.graph.declared(name)?.id)
    }

    /// A view, those that it reads, and those that these read, by their names.
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn rests_on(&self, view: &str) -> Result<Vec<String>> {
        let graph = &self.state.graph;
        let mut open = vec![graph.declared(view)?];
        let mut found = BTreeSet::from([view]);
        while let Some(above) = open.pop() {
            let reads = above.query.reads().into_iter();
            let reads = reads.filter_map(|name| graph.declared(name).ok());
            open.extend(reads.filter(|below| found.insert(&below.name)));
        }
        let rests = |other: &&Declared| found.contains(&*other.name);
        let views = graph.declared.iter().filter(rests);
        Ok(views.map(|view| view.name.clone()).collect())
    }

    /// The query of a view.
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn view_query(&self, name: &str) -> Result<&Query> {
        Ok(&self.state.graph.declared(name)?.query)
    }

    /// Bytes held, part by part: each table's rows, each view, the dictionary of strings. A view that shares its state
    /// with an older one has 0.
    pub fn memory_usage(&self) -> Vec<(String, usize)> {
        let table = |table: &Table| (format!("table {}", table.name), table.bytes());
        let graph = &self.state.graph;
        let node = |node: &Node| {
            let shared = graph.maintained(node);
            let groups = match graph.is_first_facet(node) {
                true => shared.bytes(false),
                false => 0,
            };
            (graph.label(node), node.bytes(false) + groups)
        };
        let mut parts: Vec<_> = self.state.storage.tables.iter().map(table).collect();
        let shown = graph.nodes.iter().filter(|node| node.union.is_none());
        parts.extend(shown.map(node));
        let shared = graph.sharing();
        parts.extend(shared.map(|view| (format!("view {}", view.name), 0)));
        parts.push((
            "dictionary".to_owned(),
            self.state.storage.dictionary.memory_usage(),
        ));
        let batches = self.state.storage.tables.iter().map(|table| &table.batch);
        let batches = batches
            .chain([&self.state.storage.batch])
            .map(Batch::memory_usage);
        parts.push(("buffers".to_owned(), batches.sum()));
        parts
    }

    /// Counts so many bytes more against the limit: whoever keeps the database holds them for it.
    pub fn count_external_bytes(&mut self, bytes: u64) {
        self.state.count_external_bytes(bytes);
    }

    /// Checks the invariants of all views; for tests.
    ///
    /// # Panics
    /// When one does not hold.
    pub fn check(&self) {
        self.state.graph.check();
    }

    /// Result of a view, to be read.
    fn answer(&self, name: &str) -> Result<NodeAnswer<'_>> {
        let graph = &self.state.graph;
        graph.view(name).map(|node| graph.answer(node))
    }

    /// A number that no table or view had before.
    pub(crate) fn birth(&mut self) -> u64 {
        self.births += 1;
        self.births
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
