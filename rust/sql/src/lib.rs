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
//! | `columns` | the columns of what FROM names |
//! | `row_scalar` | bound expressions as blocks keep them |
//! | `kinds` | clauses of a call that belong to functions of another kind |
//! | `grouped` | GROUP BY of brackets, GROUPING() of all groups |
//! | `inherited_order` | the order of a subquery, where the query around depends on it |
//! | `by_name` | NATURAL JOIN and USING spelt out |
//! | `join_kind` | which joins are by name |
//! | `partial` | names for the first columns of a table |
//! | `scopes` | names of WITH that hide others |
//! | `recursion` | WITH RECURSIVE as the binder takes it |
//! | `statement/` | statements of a script that are no queries |
//! | `syntax` | what the parser reads otherwise than DuckDB |
//! | `positions` | ORDER BY ALL, GROUP BY ALL, constants that are no numbers of outputs |
//! | `aliases` | names of outputs that are used beside them |
//! | `pushed` | filters as Spark's conditions |
//! | `short` | names without a table in front |
//! | `fields`, `unnested` | fields, slices and rows; UNNEST in FROM |
//! | `using` | several joins by name in a row |
//! | `windows` | windows that extend others, intervals of frames, defaults of LAG |
//! | `within_group` | WITHIN GROUP as ORDER BY among the arguments |
//! | `work` | the rows of a recursion so far |
//! | `lower/` | relational operators to blocks |

mod aliases;
mod asof;
mod bound;
mod branches;
mod by_name;
mod clauses;
mod clock;
mod columns;
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
mod parameters;
mod partial;
mod positions;
mod precedence;
mod pushed;
mod recursion;
mod rewritten;
mod row_scalar;
mod scopes;
mod short;
mod source_text;
mod special;
mod statement;
mod syntax;
mod tokens;
mod unnested;
mod using;
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
