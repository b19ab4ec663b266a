//! Views by their names.
//!
//! Invariant: none beyond its shape; the graph has the node of each. Cost: none.

use ringview_query::Query;

use super::log::Follower;
use super::node::Node;
use super::suspended::Suspension;

/// A view as its user knows it.
#[derive(Debug)]
pub(crate) struct Declared {
    pub(crate) name: String,
    /// Tells it from all other views and nodes that there were; given by the database.
    pub(crate) id: u64,
    /// The text that it was written as.
    pub(crate) text: Option<String>,
    /// As it was asked for.
    pub(crate) query: Query,
    /// Whoever asks the view itself for its changes, once somebody did.
    pub(crate) own: Option<Follower>,
    /// Whether a change that it cannot take suspends it, and is not refused.
    pub(crate) suspends: bool,
    /// Present while it is suspended: no node maintains it then.
    pub(crate) suspension: Option<Box<Suspension>>,
    /// The number of the node that maintains it.
    pub(crate) node: u64,
}

/// Views that are not known yet: themselves, and the nodes that they need beside those that there are.
pub(crate) struct Newborn {
    pub(crate) declared: Vec<Declared>,
    /// That of a union may take the place of the one of its number.
    pub(crate) nodes: Vec<Node>,
}

impl Newborn {
    /// The only view.
    pub(crate) fn view(&self) -> &Declared {
        match &self.declared[..] {
            [view] => view,
            _ => unreachable!("one view was asked for"),
        }
    }
}
