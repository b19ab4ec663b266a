//! SQL to the logical query: DataFusion parses and binds a text, and its plan is lowered to blocks.
//!
//! Invariant: the query means what DuckDB means by the text; what has no lowering is refused. Nothing here depends on
//! the representation of a block. Cost: linear in the text, and the binding of each block.
//!
//! | file | holds |
//! |---|---|
//! | `definition` | a view as it was written, which means the same query wherever it is bound |
//! | `bound` | a statement to its query |
//! | `one_row` | subqueries with a row over nothing, and groups with none |
//! | `missing` | calls over a table that may have no row |
//! | `context` | what the binder may look up: tables, functions, aggregates, window functions |
//! | `clauses/` | each clause is read, or refused |
//! | `clock` | now() and its kin |
//! | `dialect` | what the parser takes, by dialect |
//! | `tokens`, `grammar`, `rewritten` | a text to its one statement, and what is said of a text that is none |
//! | `parameters` | constants in the places of `$1`, `?`, `$name` and `:name` |
//! | `meaning` | what other dialects mean, in DuckDB's words |
//! | `depth` | how deeply a text may be nested |
//! | `error` | problems of the library as ours |
//! | `find`, `near`, `source_text`, `located`, `special` | where in the text a problem is, and how a message shows it |
//! | `named` | what a text names, without tables |
//! | `options` | what is said beside a text |
//! | `order` | a variable order that the user gives |
//! | `names` | names are found without case; what has no AS is named by its own text |
//! | `row_scalar` | bound expressions as blocks keep them |
//! | `kinds` | clauses of a call that belong to functions of another kind |
//! | `grouped` | GROUP BY of brackets, GROUPING() of all groups |
//! | `inherited_order` | the order of a subquery, where the query around depends on it |
//! | `join_kind` | which joins are by name |
//! | `outputs` | names of the outputs of a query |
//! | `resolve/` | names of columns and outputs, in scopes; joins by name spelt out |
//! | `scopes` | names of WITH that hide others |
//! | `recursion` | WITH RECURSIVE as the binder takes it |
//! | `statement/` | statements of a script that are no queries |
//! | `syntax` | what the parser reads otherwise than DuckDB |
//! | `positions` | ORDER BY ALL, GROUP BY ALL, constants that are no numbers of outputs |
//! | `pushed` | filters as Spark's conditions |
//! | `fields`, `unnested` | fields, slices and rows; UNNEST in FROM |
//! | `windows` | windows that extend others, intervals of frames, defaults of LAG |
//! | `within_group` | WITHIN GROUP as ORDER BY among the arguments |
//! | `work` | the rows of a recursion so far |
//! | `lower/` | relational operators to blocks |

mod asof;
mod bound;
mod branches;
mod clauses;
mod clock;
mod context;
mod definition;
mod depth;
mod dialect;
mod error;
mod errors_as_null;
mod fields;
mod find;
mod grammar;
mod grouped;
mod inherited_order;
mod join_kind;
mod kinds;
mod located;
mod lower;
mod meaning;
mod missing;
mod named;
mod names;
mod near;
mod one_row;
mod options;
mod order;
mod outer;
mod outputs;
mod parameters;
mod positions;
mod precedence;
mod pushed;
mod recursion;
mod resolve;
mod rewritten;
mod row_scalar;
mod scopes;
mod source_text;
mod special;
mod statement;
mod syntax;
mod tokens;
mod unnested;
mod wildcard;
mod windows;
mod within_group;
mod work;

pub use context::check_function_name;
pub use definition::Definition;
pub use dialect::Dialect;
pub use named::{product_columns, sql_tokens, tables_named};
pub use options::Options;
pub use order::Named;
pub use parameters::{Parameter, Parameters};
pub use pushed::pushed;
pub use statement::{
    Alter, AlterColumns, Conflict, Constants, CreateTable, CreateView, Delete, Dropped, Insert,
    Name, Returning, Select, Shown, Stated, Statement, Update, script,
};
