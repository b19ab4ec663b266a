//! Rows go to those who read them: each view takes them at all its leaves, in order.
//!
//! Invariant: who was handed rows is marked as touched before, so that an error undoes it too. Cost: that of the
//! views, on the threads that there are (`workers`).

use ringview_core::{Budget, Result};

use super::workers::Workers;
use crate::graph::node::Node;
use crate::storage::table::Reader;
use crate::undo::Undo;

/// Nothing is done beside the views.
pub(super) const ALONE: Option<fn() -> Result<()>> = None;

/// What one thread does with rows.
enum Task<'t, S> {
    /// What is done beside the views.
    Beside(S),
    /// A view takes them at these leaves.
    View(&'t mut Node, &'t [Reader]),
}

/// Hands rows to the views that read them, while `beside` is done, if something is. `apply` hands them to a view
/// at one of its atoms.
pub(super) fn feed(
    (nodes, readers): (&mut [Node], &[Reader]),
    (workers, rows): (&Workers, usize),
    undo: &mut Undo,
    budget: &Budget<'_>,
    beside: Option<impl FnOnce() -> Result<()> + Send>,
    apply: impl Fn(&mut Node, usize, &Budget<'_>) -> Result<()> + Sync,
) -> Result<()> {
    for reader in readers {
        undo.touched[reader.view] = true;
    }
    undo.rows = undo.rows.saturating_add(rows);
    let leaves = readers.chunk_by(|one, next| one.view == next.view);
    let views = picked(nodes, leaves.map(|leaves| (leaves[0].view, leaves)));
    let tasks = views.map(|(node, leaves)| Task::View(node, leaves));
    let tasks = beside.map(Task::Beside).into_iter().chain(tasks);
    workers.each(rows, tasks, budget, |task, budget| match task {
        Task::Beside(work) => work(),
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
