//! Rows of tables in, groups out: machines behind the trait of all views.
//!
//! Invariant: between transactions the part has the groups of the query. Cost: that of the
//! machines.
//!
//! | file | holds |
//! |---|---|
//! | `groups` | the groups of a machine as a relation |
//! | `payload` | numbers of a machine as words |
//! | `texts` | which strings a machine may hold |

mod groups;
mod payload;
mod texts;

pub(crate) use groups::Groups;
