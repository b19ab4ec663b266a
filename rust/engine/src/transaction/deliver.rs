//! Delivers rows to the views that read them, at each of their leaves, in order.
//!
//! Invariant: a view is marked as touched before it is given rows, so an error undoes it too. Cost: that of the
//! views, on the threads that there are (`workers`).

use ringview_core::{Budget, Result};

use super::workers::Workers;
use crate::graph::node::Node;
use crate::storage::table::Reader;
use crate::undo::Undo;

/// No concurrent work.
pub(super) const ALONE: Option<fn() -> Result<()>> = None;

/// The work of one thread.
enum Task<'t, S> {
    /// Work done concurrently with the views.
    Concurrent(S),
    /// Applies the rows to a view, at these leaves.
    View(&'t mut Node, &'t [Reader]),
}

/// Delivers rows to the views that read them, and runs `concurrent`, if given, meanwhile. `apply` gives them to a view
/// at one of its atoms.
pub(super) fn deliver(
    (nodes, readers): (&mut [Node], &[Reader]),
    (workers, rows): (&Workers, usize),
    undo: &mut Undo,
    budget: &Budget<'_>,
    concurrent: Option<impl FnOnce() -> Result<()> + Send>,
    apply: impl Fn(&mut Node, usize, &Budget<'_>) -> Result<()> + Sync,
) -> Result<()> {
    for reader in readers {
        undo.touched[reader.view] = true;
    }
    undo.rows = undo.rows.saturating_add(rows);
    let leaves = readers.chunk_by(|one, next| one.view == next.view);
    let views = picked(nodes, leaves.map(|leaves| (leaves[0].view, leaves)));
    let tasks = views.map(|(node, leaves)| Task::View(node, leaves));
    let tasks = concurrent.map(Task::Concurrent).into_iter().chain(tasks);
    workers.each(rows, tasks, budget, |task, budget| match task {
        Task::Concurrent(work) => work(),
        Task::View(node, leaves) => {
            let mut leaves = leaves.iter();
            leaves.try_for_each(|leaf| apply(node, leaf.atom, budget))
        }
    })
}

/// Some of all nodes, each by its place, ascending, with something of its own.
pub(super) fn picked<T>(
    nodes: &mut [Node],
    places: impl Iterator<Item = (usize, T)>,
) -> impl Iterator<Item = (&mut Node, T)> {
    let (mut rest, mut passed) = (nodes, 0);
    places.map(move |(place, own)| {
        let (_, from) = std::mem::take(&mut rest).split_at_mut(place - passed);
        let (node, after) = from
            .split_first_mut()
            .expect("readers are known nodes, in order");
        (rest, passed) = (after, place + 1);
        (node, own)
    })
}
