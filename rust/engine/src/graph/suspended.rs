//! Suspended views: those that a change made fail, and that are not kept until they are resumed.
//!
//! Invariant: a suspended view has no node, and each view above it is suspended, too. So no change reaches it, and no read
//! finds its rows. Cost: a suspension is linear in the nodes and views; a suspended view costs a change nothing.

use std::collections::BTreeSet;

use ringview_core::{Dictionary, Error, TimeUnit, Type, format_value};

use super::Graph;
use super::logs::Logs;
use super::node::Node;
use super::row_deltas::WeightedRows;

/// The cause of a suspension, and what a view needs to be resumed.
#[derive(Debug, Default)]
pub(crate) struct Suspension {
    /// The moment of the change, in microseconds since 1970 in UTC.
    pub(crate) since: i64,
    /// The error of the change.
    pub(crate) why: String,
    /// The engine that maintained the view; the cheapest resumes it where absent.
    pub(crate) engine: Option<String>,
    /// The logs of the view, if it was followed.
    pub(crate) logs: Logs,
    /// The rows that its followers have seen, where its rows were logged.
    pub(crate) rows: Option<WeightedRows>,
}

impl Suspension {
    /// The refusal to read the view.
    pub(crate) fn error(&self, name: &str) -> Error {
        Error::Suspended {
            name: name.to_owned(),
            since: self.since(),
            why: self.why.clone(),
        }
    }

    /// The moment as text.
    pub(crate) fn since(&self) -> String {
        let ty = Type::Timestamp {
            unit: TimeUnit::Microsecond,
            timezone: None,
        };
        let text = format_value(&ty, self.since.cast_unsigned(), 0, &Dictionary::new());
        format!("{text} UTC")
    }
}

/// The views of one suspension.
#[derive(Debug)]
pub(crate) struct Failed {
    /// Their places among the declared views, ascending, and whether one of their own nodes failed.
    pub(crate) views: Vec<(usize, bool)>,
    /// Their nodes.
    nodes: BTreeSet<u64>,
}

impl Graph {
    /// The views that follow from the first node that failed. `None` if no node failed, if one of these views is not to be
    /// suspended, or if somebody follows its partials, of which none takes back another.
    pub(crate) fn failed(&mut self) -> Option<Failed> {
        let first = self.nodes.iter().find(|node| node.failed)?.id;
        self.nodes.iter_mut().for_each(|node| node.failed = false);
        let mut nodes = BTreeSet::from([first]);
        for &at in self.levels.iter().flatten() {
            let node = &self.nodes[at];
            if node.reads().any(|read| nodes.contains(&self.node_id(read))) {
                nodes.insert(node.id);
            }
        }
        let is_followed = |id: &u64| {
            let node = self.node(*id);
            node.is_some_and(|node| node.merged || node.logs.logs_partials())
        };
        let declared = self.declared.iter().enumerate();
        let above = declared.filter(|(_, view)| nodes.contains(&view.node));
        let views: Vec<(usize, bool)> = above
            .map(|(at, view)| (at, self.rests_on_node(view.node, first)))
            .collect();
        let may_suspend = views.iter().all(|&(at, _)| self.declared[at].suspends);
        (may_suspend && !nodes.iter().any(is_followed)).then_some(Failed { views, nodes })
    }

    /// Whether a view of this node fails with another node: a block of its own, or that of its groups.
    fn rests_on_node(&self, node: u64, failed: u64) -> bool {
        let own = self.with_blocks(node);
        let groups = own.iter().filter_map(|&id| self.node(id)?.answered_from());
        own.contains(&failed) || groups.into_iter().any(|groups| groups == failed)
    }

    /// Takes the nodes of suspended views out. The others have to be wired.
    pub(crate) fn detach(&mut self, failed: &Failed) -> Vec<Node> {
        let is_one = |node: &mut Node| failed.nodes.contains(&node.id);
        self.nodes.extract_if(.., is_one).collect()
    }

    /// Puts nodes back that were taken out. All have to be wired.
    pub(crate) fn attach(&mut self, nodes: Vec<Node>) {
        self.nodes.extend(nodes);
        self.nodes.sort_by_key(|node| node.id);
    }
}
