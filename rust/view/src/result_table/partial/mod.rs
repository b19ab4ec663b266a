//! Partials: what a view over a part of the rows adds to the view over all of them, as Arrow.
//!
//! A row is a group: its columns as they are, so that rows of one group can be brought together, then
//! its whole payload as bytes (`layout`): exact numbers, sums of floats with all their parts, degree-m
//! payloads counted from zero, each value of MIN, MAX, COUNT(DISTINCT) and of categories with how often it
//! is there. Strings travel as strings. Of the rows of a join the partial is they, with multiplicities.
//!
//! Invariant: the sum, in the ring, of the partials of parts is the partial of the whole, if each row of the
//! join is made in one part; and so is the sum of what each transaction changed. Nothing of it depends on which
//! engine kept the part: partials are of the query. Cost: O(groups and values that are written).
//!
//! | file | holds |
//! |---|---|
//! | `layout` | what partials of a query look like: columns, numbers, values |
//! | `since` | the content: all, or the changes of a transaction |
//! | `bytes` | payloads as bytes: version, checks, numbers, strings |
//! | `write`, `written` | groups and rows of a view as partials; the values of companions |
//! | `merged` | what keeps the sum of partials, behind the trait of all views |
//! | `read` | partials as changes of that |
//! | `values` | the values of companions in that |

mod bytes;
mod layout;
mod merged;
mod read;
mod since;
mod values;
mod write;
mod written;

pub use layout::partial_schema;
pub use merged::{Merged, merged_in, merged_view};
pub use since::Since;
pub use write::{write_groups, write_listed};
