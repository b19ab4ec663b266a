//! What is read of a view: its rows, and what moved in them since somebody last asked.
//!
//! An engine gives a part whose keys are the groups, says which members the payloads are made of, and
//! where those are read that stand beside the part; columns, expressions, HAVING and changes follow.
//!
//! | file | holds |
//! |---|---|
//! | `members` | what a payload is made of, and where each member stands in a row |
//! | `further` | members that are kept beside the part of the groups |
//! | `values/` | the values of a column by group: MIN, MAX, COUNT(DISTINCT), categories |
//! | `rows` | rows before they are columns |
//! | `assembler` | rows as Arrow: groups, measures, HAVING |
//! | `columns`, `statistics` | counts, sums, least and greatest values; variances |
//! | `cofactors`, `categories` | the column of a COFACTOR |
//! | `cells`, `computed` | values by row, and what is computed of them |
//! | `listing` | the rows of a join, each with its multiplicity |
//! | `changes`, `followers` | what moved, and who is told |
//! | `fallible` | what may not fit its column is refused before it is kept |

mod assembler;
mod categories;
mod cells;
mod changes;
mod cofactors;
mod columns;
mod computed;
mod fallible;
pub mod followers;
mod further;
pub mod listing;
mod members;
mod rows;
mod statistics;
pub mod values;

pub use assembler::{Assembler, Outputs};
pub use categories::Categories;
pub use cells::{Cells, Value, retain};
pub use changes::ChangeLog;
pub use fallible::Fallible;
pub use further::Further;
pub use members::{FeatureColumns, Member, Members, TermSums, number_kind};
pub use rows::ResultRows;
