//! Suspending a view that a change makes fail, in the place of refusing the change; and resuming it.
//!
//! A change that fails is undone. If the values of its rows made a view fail, and that view and all above it may be
//! suspended, they are, and the change is applied without them. Invariant: a change that fails in the end suspends nothing,
//! and a resumption that fails leaves every view as it was. A follower of a resumed view is given the difference from the
//! rows that it has read. Cost: the change once more for each view that fails, and the rows of a followed view; a resumption
//! fills the view from the rows that are there.

use std::time::{SystemTime, UNIX_EPOCH};

use ringview_core::{Error, Result};
use ringview_query::Query;

use super::Database;
use super::birth::Wanted;
use super::sample::sample;
use crate::Poll;
use crate::catalogue::choose::By;
use crate::graph::declared::{Declared, Newborn};
use crate::graph::node::Node;
use crate::graph::suspended::Suspension;

/// The end of an error that speaks of the whole change.
const OF_THE_CHANGE: [&str; 2] = [
    "; nothing of this transaction was applied",
    "; nothing was changed",
];

/// Views that were suspended within a change: their numbers and nodes.
#[derive(Debug, Default)]
pub(super) struct Suspended {
    views: Vec<u64>,
    nodes: Vec<Node>,
}

impl Database {
    /// Lets a change that a view cannot take suspend it, with the views above it; or, as by default, be refused.
    ///
    /// # Errors
    /// `UnknownView`; `Unsupported` for a sample, and in a database that keeps no rows, from which it would be resumed.
    pub fn set_suspends(&mut self, name: &str, suspends: bool) -> Result<()> {
        let place = self.state.graph.declared_index(name)?;
        if suspends {
            self.check_suspendable(name)?;
        }
        self.state.graph.declared[place].suspends = suspends;
        Ok(())
    }

    /// Refuses to suspend a view, which may not be there yet, where it could not be resumed.
    ///
    /// # Errors
    /// `Unsupported`, as [`set_suspends`](Self::set_suspends).
    pub fn check_suspendable(&self, name: &str) -> Result<()> {
        let node = self.state.graph.view(name);
        if self.options.trust_deletes || node.is_ok_and(|node| sample(node).is_some()) {
            return Err(Error::Unsupported {
                what: format!("suspending the view {name:?}"),
                why: "no rows are kept from which it could be filled again".to_owned(),
                instead: "leave out on_error".to_owned(),
            });
        }
        Ok(())
    }

    /// The moment since which a view is suspended, in microseconds since 1970 in UTC, and why; `None` if it is not.
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn suspension(&self, name: &str) -> Result<Option<(i64, &str)>> {
        let view = self.state.graph.declared(name)?;
        let suspension = view.suspension.as_deref();
        Ok(suspension.map(|suspension| (suspension.since, &*suspension.why)))
    }

    /// Declares a view that is suspended: it is filled when it is resumed. O(1).
    ///
    /// # Errors
    /// `Exists`.
    pub fn create_suspended(
        &mut self,
        name: &str,
        query: &Query,
        engine: Option<&str>,
        why: &Error,
    ) -> Result<()> {
        self.catalogue().check_new(name)?;
        let (node, id) = (self.birth(), self.birth());
        let suspension = Suspension {
            since: now(),
            why: reason(why),
            engine: engine.map(str::to_owned),
            ..Suspension::default()
        };
        self.state.graph.declare(Declared {
            name: name.to_owned(),
            id,
            text: None,
            query: query.clone(),
            own: None,
            suspends: true,
            suspension: Some(Box::new(suspension)),
            node,
        });
        Ok(())
    }

    /// Suspends the views that the change at hand, which is undone, made fail; whether it may be tried again.
    pub(super) fn suspend_failed(&mut self, error: &Error, gone: &mut Suspended) -> Result<bool> {
        let graph = &mut self.state.graph;
        let Some(failed) = graph.failed().filter(|_| error.is_of_values()) else {
            return Ok(false);
        };
        let direct = (failed.views.iter()).find(|(_, is_direct)| *is_direct);
        let direct = direct.map(|&(at, _)| graph.declared[at].name.clone());
        let mut made = Vec::with_capacity(failed.views.len());
        for &(at, is_direct) in &failed.views {
            let view = &self.state.graph.declared[at];
            let node = self.state.graph.node(view.node);
            let rows = match node.filter(|node| node.logs.logs_rows()) {
                Some(node) => Some(self.whole(node, &self.state.graph.answer(node))?),
                None => None,
            };
            let signature = node.and_then(|node| node.signature.as_ref());
            let why = reason(error);
            made.push(Suspension {
                since: now(),
                why: match &direct {
                    Some(direct) if !is_direct => format!("it reads {direct:?}: {why}"),
                    _ => why,
                },
                engine: signature.map(|signature| signature.engine.clone()),
                logs: Default::default(),
                rows,
            });
        }
        let graph = &mut self.state.graph;
        let mut nodes = graph.detach(&failed);
        for (&(at, _), mut suspension) in failed.views.iter().zip(made) {
            let view = &mut graph.declared[at];
            // Views of one node share its logs: the oldest keeps them.
            if let Some(node) = nodes.iter_mut().find(|node| node.id == view.node)
                && node.views.first() == Some(&view.id)
            {
                suspension.logs = std::mem::take(&mut node.logs);
            }
            view.suspension = Some(Box::new(suspension));
            gone.views.push(view.id);
        }
        gone.nodes.extend(nodes);
        self.state.wire();
        Ok(true)
    }

    /// The change is applied: releases the nodes of the views that it suspended.
    pub(super) fn keep_suspended(&mut self, gone: Suspended) {
        if !gone.views.is_empty() {
            self.release_nodes(gone.nodes);
            self.sweep();
        }
    }

    /// The change failed after all: the views that it suspended are as they were.
    pub(super) fn undo_suspended(&mut self, mut gone: Suspended) {
        if gone.views.is_empty() {
            return;
        }
        let graph = &mut self.state.graph;
        for view in &mut graph.declared {
            if !gone.views.contains(&view.id) {
                continue;
            }
            let suspension = view.suspension.take();
            let node = gone.nodes.iter_mut().find(|node| node.id == view.node);
            if let (Some(suspension), Some(node)) = (suspension, node)
                && node.views.first() == Some(&view.id)
            {
                node.logs = suspension.logs;
            }
        }
        graph.attach(gone.nodes);
        self.state.wire();
        for node in &mut self.state.graph.nodes {
            node.choose_wanted();
        }
    }

    /// Resumes a suspended view, with the suspended views that it reads and those above it: each is filled from the rows
    /// that are there. Does nothing to a view that is not suspended.
    ///
    /// # Errors
    /// `UnknownView`; what still makes one of them fail, and then all are as before; `Memory`; what `poll` returns.
    pub fn resume_view(&mut self, name: &str, poll: Poll<'_>) -> Result<Vec<String>> {
        let graph = &self.state.graph;
        if graph.declared(name)?.suspension.is_none() {
            return Ok(Vec::new());
        }
        let mut left = Vec::new();
        self.suspended_with(name, &mut left)?;
        let mut resumed: Vec<(String, u64, Box<Suspension>)> = Vec::new();
        let done = self.resume(&mut left, &mut resumed, poll);
        match done {
            Ok(()) => {
                self.tell_resumed(&mut resumed);
                self.state.recount();
                Ok(resumed.into_iter().map(|(name, ..)| name).collect())
            }
            Err(error) => {
                for (name, node, suspension) in resumed {
                    let place = self.state.graph.declared_index(&name)?;
                    let view = &mut self.state.graph.declared[place];
                    (view.node, view.suspension) = (node, Some(suspension));
                }
                self.sweep();
                Err(error)
            }
        }
    }

    /// The suspended views that are resumed with one: those that it reads, those above it, and those that had its node, for
    /// they share its followers' log.
    fn suspended_with(&self, name: &str, found: &mut Vec<String>) -> Result<()> {
        let graph = &self.state.graph;
        let view = graph.declared(name)?;
        if view.suspension.is_none() || found.iter().any(|other| other == name) {
            return Ok(());
        }
        found.push(name.to_owned());
        let alike = graph
            .declared
            .iter()
            .filter(|other| other.node == view.node);
        let alike = alike.map(|other| other.name.clone());
        let others = [self.rests_on(name)?, graph.above(name), alike.collect()].concat();
        others
            .iter()
            .try_for_each(|other| self.suspended_with(other, found))
    }

    /// Fills suspended views, each behind those that it reads; what was filled, with its former node and suspension.
    fn resume(
        &mut self,
        left: &mut Vec<String>,
        resumed: &mut Vec<(String, u64, Box<Suspension>)>,
        poll: Poll<'_>,
    ) -> Result<()> {
        while !left.is_empty() {
            let graph = &self.state.graph;
            let waits = |name: &String| {
                let reads = graph.declared(name).map(|view| view.query.reads());
                reads.is_ok_and(|reads| left.iter().any(|other| reads.contains(&**other)))
            };
            let next = left.iter().position(|name| !waits(name)).unwrap_or(0);
            let name = left.remove(next);
            let place = graph.declared_index(&name)?;
            let view = &graph.declared[place];
            let engine = view.suspension.as_ref().and_then(|one| one.engine.clone());
            let query = view.query.clone();
            let wanted = Wanted {
                name: &name,
                query: &query,
                by: By::Choice(engine.as_deref()),
            };
            let budget = self.state.budget(&mut *poll);
            let newborn = self.bear(&[wanted], &budget)?;
            let node = newborn.view().node;
            let view = &mut self.state.graph.declared[place];
            let before = std::mem::replace(&mut view.node, node);
            if let Some(suspension) = view.suspension.take() {
                resumed.push((name, before, suspension));
            }
            self.adopt(Newborn {
                declared: Vec::new(),
                ..newborn
            });
            self.state.wire();
            self.find_difference(resumed)?;
        }
        Ok(())
    }

    /// Turns the rows that followers of the view resumed last have read into the difference from its rows now. It may fail,
    /// so it is found before anything is kept.
    fn find_difference(&self, resumed: &mut [(String, u64, Box<Suspension>)]) -> Result<()> {
        let Some((name, _, suspension)) = resumed.last_mut() else {
            return Ok(());
        };
        if let Some((columns, multiplicity)) = &mut suspension.rows {
            let node = self.state.graph.view(name)?;
            let (now, times) = self.whole(node, &self.state.graph.answer(node))?;
            let taken_back = multiplicity.iter().map(|times| -times);
            let all = taken_back.chain(times).collect();
            let joined = columns.iter().zip(&now);
            let joined = joined.map(|(was, is)| {
                arrow_select::concat::concat(&[was, is]).map_err(|problem| Error::Value {
                    place: format!("the changes of view {name:?}"),
                    problem: problem.to_string(),
                })
            });
            suspension.rows = Some((joined.collect::<Result<_>>()?, all));
        }
        Ok(())
    }

    /// Gives the followers of resumed views the difference from the rows that they have read.
    fn tell_resumed(&mut self, resumed: &mut [(String, u64, Box<Suspension>)]) {
        for (name, _, suspension) in resumed {
            let Ok(index) = self.state.graph.index(name) else {
                continue;
            };
            let node = &mut self.state.graph.nodes[index];
            if !suspension.logs.were_followed() || node.logs.were_followed() {
                continue;
            }
            node.logs = std::mem::take(&mut suspension.logs);
            if let (Some(log), Some(difference)) = (&mut node.logs.rows, &suspension.rows) {
                log.record(difference);
            }
            node.choose_wanted();
        }
    }
}

/// The cause alone: the change itself is applied.
fn reason(error: &Error) -> String {
    let mut text = error.to_string();
    for end in OF_THE_CHANGE {
        text = text.strip_suffix(end).unwrap_or(&text).to_owned();
    }
    text
}

/// The moment, in microseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    })
}
