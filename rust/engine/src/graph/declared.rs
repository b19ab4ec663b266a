//! Views by their names.
//!
//! Invariant: none beyond its shape; the graph has the node of each. Cost: none.

use ringview_query::Query;

use super::log::Follower;
use super::node::Node;
use super::suspended::Suspension;

/// A view as its user declared it.
#[derive(Debug)]
pub(crate) struct Declared {
    pub(crate) name: String,
    /// Identifies it among all views and nodes that ever existed; given by the database.
    pub(crate) id: u64,
    /// The text that it was written as.
    pub(crate) text: Option<String>,
    /// Its query as the user wrote it.
    pub(crate) query: Query,
    /// The follower shared by callers that read changes by the view's name, once there is one.
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
