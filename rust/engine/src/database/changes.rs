//! The changes of a view, for those who follow it.
//!
//! Invariant: a follower is given each change once, in the order of transactions, and keeps what it was not yet said to
//! have been given: `changes` forgets nothing, `advance` does. A follower is freed with its last copy, at the next
//! transaction of its view at the latest. Cost: O(rows that changed); a transaction keeps one log a view, however many
//! follow, and none where nobody does.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use arrow_select::concat::concat;
use ringview_core::{Error, Result};
use ringview_view::answer::listing::check_size;

use super::Database;
use crate::graph::Graph;
use crate::graph::declared::Declared;
use crate::graph::facets::NodeAnswer;
use crate::graph::log::{Follower, Log, WeightedRows};
use crate::graph::node::Node;

/// Somebody with a position of its own in the changes of a view.
#[derive(Clone, Debug)]
pub struct ViewFollower {
    name: String,
    view: u64,
    follower: Follower,
}

impl Database {
    /// One more who follows a view. What it is given first is the whole view as it is at that moment;
    /// or, `from_now`, what changes from here on.
    ///
    /// # Errors
    /// `UnknownView`; `Unsupported` for groups that are computed as they are read.
    pub fn follow(&mut self, view: &str, from_now: bool) -> Result<ViewFollower> {
        let index = self.state.graph.index(view)?;
        let follower = self.state.graph.follow(index, from_now)?;
        Ok(self.state.graph.declared(view)?.follower(follower))
    }

    /// The follower behind `view_changes`, which all who ask the view itself share.
    ///
    /// # Errors
    /// As `follow`.
    pub fn own_follower(&mut self, view: &str) -> Result<ViewFollower> {
        let (place, index) = (
            self.state.graph.declared_index(view)?,
            self.state.graph.index(view)?,
        );
        let follower = match &self.state.graph.declared[place].own {
            Some(follower) => follower.clone(),
            None => self.state.graph.follow(index, false)?,
        };
        let view = &mut self.state.graph.declared[place];
        view.own = Some(follower.clone());
        Ok(view.follower(follower))
    }

    /// Lets `view_changes` begin with what changes from here on, in all views that can be followed.
    pub fn begin_changes(&mut self) {
        for place in 0..self.state.graph.declared.len() {
            let node = self.state.graph.declared[place].node;
            let node = self.state.graph.position(node);
            let own = node.and_then(|at| self.state.graph.follow(at, true).ok());
            self.state.graph.declared[place].own = own;
        }
    }

    /// Ends what `view_changes` began: nothing is logged for it until it is called again.
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn forget_changes(&mut self, view: &str) -> Result<()> {
        let (place, index) = (
            self.state.graph.declared_index(view)?,
            self.state.graph.index(view)?,
        );
        self.state.graph.declared[place].own = None;
        self.state.graph.nodes[index].tidy_log();
        Ok(())
    }

    /// The changes since a follower was last said to have been given them: old rows with multiplicity -1,
    /// then new ones with 1; of a join, each row with the change of its multiplicity. Asked again, it is
    /// the same and what came since. O(rows that changed), in order.
    ///
    /// # Errors
    /// `UnknownView` if the view was dropped, `Stale` if there is a new one of its name; as
    /// `view_result`.
    pub fn changes(&self, follower: &ViewFollower) -> Result<RecordBatch> {
        let view = &self.state.graph.nodes[self.followed(follower)?];
        let changes = view.log.as_ref().map(|log| log.since(&follower.follower));
        let answer = self.state.graph.answer(view);
        let changes = match changes.transpose()?.flatten() {
            Some(changes) => changes,
            None => self.whole(view, &answer)?,
        };
        view.weighted_batch(&answer.schema(), changes)
    }

    /// All rows of a view with their multiplicities.
    fn whole(&self, view: &Node, answer: &NodeAnswer<'_>) -> Result<WeightedRows> {
        let wanted = vec![true; view.columns.len()];
        let rows = answer.len(&self.state.storage.dictionary)?;
        check_size(rows)?;
        let mut unpolled = |_| Ok(());
        let budget = self.state.reading(&mut unpolled);
        budget.reserve(
            rows.saturating_mul(8 * wanted.len() as u64),
            || format!("a table of {rows} rows"),
            "read the rows as a stream, or some of them",
        )?;
        let reading = (&self.state.storage.dictionary, &budget);
        let (mut parts, mut multiplicity) = (vec![Vec::new(); wanted.len()], Vec::new());
        let mut next = Some(0);
        while let Some(position) = next {
            let (rows, behind) = answer.scan(position, &wanted, reading)?;
            next = behind;
            let arrays = rows.arrays(&view.bound.outputs, &self.state.storage.dictionary)?;
            parts
                .iter_mut()
                .zip(arrays)
                .for_each(|(part, array)| part.push(array));
            multiplicity.extend(rows.multiplicity);
        }
        let column = |parts: Vec<ArrayRef>| {
            let parts: Vec<_> = parts.iter().map(AsRef::as_ref).collect();
            concat(&parts).map_err(|problem| view.unfit(&problem.to_string()))
        };
        Ok((
            parts.into_iter().map(column).collect::<Result<_>>()?,
            multiplicity,
        ))
    }

    /// A follower was given what `changes` says now.
    ///
    /// # Errors
    /// `UnknownView` or `Stale` if the view was dropped.
    pub fn advance(&mut self, follower: &ViewFollower) -> Result<()> {
        let index = self.followed(follower)?;
        let view = &mut self.state.graph.nodes[index];
        if let Some(log) = &mut view.log {
            log.advance(&follower.follower);
        }
        view.choose_wanted();
        Ok(())
    }

    /// Whether `changes` may have rows for a follower.
    ///
    /// # Errors
    /// `UnknownView` or `Stale` if the view was dropped.
    pub fn has_changes(&self, follower: &ViewFollower) -> Result<bool> {
        let log = &self.state.graph.nodes[self.followed(follower)?].log;
        Ok(log
            .as_ref()
            .is_none_or(|log| log.has_changes(&follower.follower)))
    }

    /// Frees at once what was kept for a follower alone.
    pub fn unfollow(&mut self, follower: ViewFollower) {
        let index = self.followed(&follower);
        drop(follower);
        if let Ok(index) = index {
            self.state.graph.nodes[index].tidy_log();
        }
    }

    /// The changes of a view since the last call; the first gives the whole view. Between two calls it
    /// keeps at most the rows that the view had and has. O(rows that changed).
    ///
    /// # Errors
    /// As `view_result`; the changes are then given by the next call.
    pub fn view_changes(&mut self, name: &str) -> Result<RecordBatch> {
        let follower = self.own_follower(name)?;
        let changes = self.changes(&follower)?;
        self.advance(&follower)?;
        Ok(changes)
    }

    fn followed(&self, follower: &ViewFollower) -> Result<usize> {
        self.is_view(&follower.name, follower.view)?;
        self.state.graph.index(&follower.name)
    }
}

impl Declared {
    fn follower(&self, follower: Follower) -> ViewFollower {
        ViewFollower {
            name: self.name.clone(),
            view: self.id,
            follower,
        }
    }
}

impl Graph {
    /// One more who follows a node.
    fn follow(&mut self, at: usize, from_now: bool) -> Result<Follower> {
        let node = &self.nodes[at];
        self.state_of(node).has_delta()?;
        let schema = node.log.is_none().then(|| self.answer(node).schema());
        let log = schema.map(|schema| Log::new(&schema)).transpose()?;
        let node = &mut self.nodes[at];
        if let Some(log) = log {
            node.log = Some(log);
        }
        let follower = node.log.iter_mut().map(|log| log.join(from_now)).next();
        node.choose_wanted();
        match follower {
            Some(follower) => Ok(follower),
            None => unreachable!("there is a log by now"),
        }
    }
}

impl Node {
    fn tidy_log(&mut self) {
        if let Some(log) = &mut self.log {
            log.tidy();
        }
        self.choose_wanted();
    }

    /// Rows with a last column of multiplicities.
    fn weighted_batch(
        &self,
        shown: &Schema,
        (mut columns, multiplicity): WeightedRows,
    ) -> Result<RecordBatch> {
        let mut fields: Vec<_> = shown.fields().iter().cloned().collect();
        // Two columns of one name could not be told apart.
        let mut name = "multiplicity".to_owned();
        while fields.iter().any(|field| *field.name() == name) {
            name.push('_');
        }
        let multiplicity = Int64Array::from(multiplicity);
        fields.push(Arc::new(Field::new(
            name,
            multiplicity.data_type().clone(),
            false,
        )));
        let options = RecordBatchOptions::new().with_row_count(Some(multiplicity.len()));
        columns.push(Arc::new(multiplicity));
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new_with_options(schema, columns, &options);
        batch.map_err(|problem| self.unfit(&problem.to_string()))
    }

    fn unfit(&self, problem: &str) -> Error {
        Error::Value {
            place: format!("the changes of view {:?}", self.name),
            problem: problem.to_owned(),
        }
    }
}
