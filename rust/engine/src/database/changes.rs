//! The changes of a view, for those who follow it: its rows, or what it adds to the view over more rows.
//!
//! Invariant: a follower is given each change once, in the order of transactions, and keeps what it was not yet said to
//! have been given: `changes` forgets nothing, `advance` does. A follower is freed with its last copy, at the next
//! transaction of its view at the latest. Cost: O(rows that changed); a transaction keeps one log of each kind a view,
//! however many follow, and none where nobody does.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use arrow_select::concat::{concat, concat_batches};
use ringview_core::{Budget, Error, Result};
use ringview_view::answer::listing::check_size;
use ringview_view::result_table::partial::Since;

use super::Database;
use super::partials::refuse_sample;
use crate::graph::Graph;
use crate::graph::declared::Declared;
use crate::graph::facets::NodeAnswer;
use crate::graph::log::{Follower, Log, Logged};
use crate::graph::logs::Logs;
use crate::graph::node::Node;
use crate::graph::partial_deltas::PartialDeltas;
use crate::graph::row_deltas::{RowDeltas, WeightedRows};

/// Somebody with a position of its own in the changes of a view.
#[derive(Clone, Debug)]
pub struct ViewFollower {
    name: String,
    view: u64,
    form: DeltaForm,
    follower: Follower,
}

/// The form in which a follower is given changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeltaForm {
    Rows,
    Partials,
}

impl Database {
    /// Adds a follower of a view. It first receives the whole view at that moment; or, with `from_now`, only later
    /// changes.
    ///
    /// # Errors
    /// `UnknownView`; `Unsupported` for groups that are computed as they are read.
    pub fn follow(&mut self, view: &str, from_now: bool) -> Result<ViewFollower> {
        let index = self.state.graph.index(view)?;
        let follower = self.state.graph.follow(index, from_now)?;
        let view = self.state.graph.declared(view)?;
        Ok(view.follower(DeltaForm::Rows, follower))
    }

    /// One more who follows the partials of a view: what it is given, added up, is what the view adds to the same view
    /// over more rows. First all of it as it is at that moment; or, `from_now`, what transactions change from here on.
    ///
    /// # Errors
    /// `UnknownView`; `Unsupported` for samples, and for groups that are computed as they are read.
    pub fn follow_partials(&mut self, view: &str, from_now: bool) -> Result<ViewFollower> {
        let index = self.state.graph.index(view)?;
        let node = &self.state.graph.nodes[index];
        refuse_sample(node)?;
        if node.bound.bag.is_some() && !node.bound.distinct {
            // Its rows with multiplicities are its partial, and so is what moves.
            return self.follow(view, from_now);
        }
        let reading = (&self.state.storage.dictionary, &Budget::free());
        self.state
            .graph
            .partial(node, Since::LastCommit, reading)
            .map_err(|error| error.in_view(&node.serves))?;
        let log = &mut self.state.graph.nodes[index].logs.partials;
        let log = log.get_or_insert_with(|| Log::new(PartialDeltas));
        let follower = log.join(from_now);
        let view = self.state.graph.declared(view)?;
        Ok(view.follower(DeltaForm::Partials, follower))
    }

    /// The follower behind `view_changes`, which all callers of that share.
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
        Ok(view.follower(DeltaForm::Rows, follower))
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
        self.state.graph.nodes[index].tidy_logs();
        Ok(())
    }

    /// The changes since a follower was last said to have been given them: old rows with multiplicity -1, then new ones
    /// with 1; of a join, each row with the change of its multiplicity. A follower of partials receives these, where a
    /// group may occur more than once. A second call returns the same and later changes. O(rows that changed), of rows
    /// in order.
    ///
    /// # Errors
    /// `UnknownView` if the view was dropped, `Stale` if there is a new one of its name; as
    /// `view_result`.
    pub fn changes(&self, follower: &ViewFollower) -> Result<RecordBatch> {
        let view = &self.state.graph.nodes[self.followed(follower)?];
        if follower.form == DeltaForm::Partials {
            return self.partials_since(view, follower);
        }
        let changes = view.logs.rows.as_ref();
        let changes = changes.map(|log| log.since(&follower.follower));
        let answer = self.state.graph.answer(view);
        let changes = match changes.transpose()?.flatten() {
            Some(changes) => changes,
            None => self.whole(view, &answer)?,
        };
        view.weighted_batch(&answer.schema(), changes)
    }

    /// Partials of the changes of a view since a follower's position.
    fn partials_since(&self, view: &Node, follower: &ViewFollower) -> Result<RecordBatch> {
        let changes = view.logs.partials.as_ref();
        let changes = changes.map(|log| log.since(&follower.follower));
        let changes = match changes.transpose()?.flatten() {
            Some(changes) => changes,
            None => self.view_partials(&follower.name, &mut |_| Ok(()))?,
        };
        let schema = self.partial_schema(&follower.name)?;
        concat_batches(&schema, &changes).map_err(|problem| view.unfit(&problem.to_string()))
    }

    /// All rows of a view with their multiplicities.
    pub(super) fn whole(&self, view: &Node, answer: &NodeAnswer<'_>) -> Result<WeightedRows> {
        let wanted = vec![true; view.columns.len()];
        let rows = answer.len(&self.state.storage.dictionary)?;
        check_size(rows, wanted.len())?;
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
        match (follower.form, &mut view.logs) {
            (DeltaForm::Rows, Logs { rows, .. }) => advance(rows, follower),
            (DeltaForm::Partials, Logs { partials, .. }) => advance(partials, follower),
        }
        view.choose_wanted();
        Ok(())
    }

    /// Whether `changes` may have rows for a follower.
    ///
    /// # Errors
    /// `UnknownView` or `Stale` if the view was dropped.
    pub fn has_changes(&self, follower: &ViewFollower) -> Result<bool> {
        let logs = &self.state.graph.nodes[self.followed(follower)?].logs;
        Ok(match follower.form {
            DeltaForm::Rows => has_changes(logs.rows.as_ref(), follower),
            DeltaForm::Partials => has_changes(logs.partials.as_ref(), follower),
        })
    }

    /// Frees at once what was kept for a follower alone.
    pub fn unfollow(&mut self, follower: ViewFollower) {
        let index = self.followed(&follower);
        drop(follower);
        if let Ok(index) = index {
            self.state.graph.nodes[index].tidy_logs();
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

fn advance<L: Logged>(log: &mut Option<Log<L>>, to: &ViewFollower) {
    if let Some(log) = log {
        log.advance(&to.follower);
    }
}

fn has_changes<L: Logged>(log: Option<&Log<L>>, to: &ViewFollower) -> bool {
    log.is_none_or(|log| log.has_changes(&to.follower))
}

impl Declared {
    fn follower(&self, form: DeltaForm, follower: Follower) -> ViewFollower {
        ViewFollower {
            name: self.name.clone(),
            view: self.id,
            form,
            follower,
        }
    }
}

impl Graph {
    /// One more who follows a node.
    fn follow(&mut self, at: usize, from_now: bool) -> Result<Follower> {
        let node = &self.nodes[at];
        self.state_of(node).has_delta()?;
        let schema = node.logs.rows.is_none();
        let schema = schema.then(|| self.answer(node).schema());
        let made = schema.map(|schema| RowDeltas::new(&schema)).transpose()?;
        let node = &mut self.nodes[at];
        if let Some(made) = made {
            node.logs.rows = Some(Log::new(made));
        }
        let log = node.logs.rows.as_mut();
        let follower = log.map(|log| log.join(from_now));
        node.choose_wanted();
        match follower {
            Some(follower) => Ok(follower),
            None => unreachable!("there is a log by now"),
        }
    }
}

impl Node {
    fn tidy_logs(&mut self) {
        self.logs.tidy();
        self.choose_wanted();
    }

    /// Rows with a last column of multiplicities.
    fn weighted_batch(
        &self,
        shown: &Schema,
        (mut columns, multiplicity): WeightedRows,
    ) -> Result<RecordBatch> {
        let mut fields: Vec<_> = shown.fields().iter().cloned().collect();
        // Two columns of one name would be ambiguous.
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
