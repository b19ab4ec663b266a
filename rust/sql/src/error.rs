//! Problems of the binder and of the lowering, as errors of a text.
//!
//! Invariant: every problem of the library becomes one of ours, in our words, with the place that the binder gives.
//! `located` adds the text. Cost: none without a problem.

use arrow_schema::ArrowError;
use datafusion_common::{Column, DataFusionError, Diagnostic, SchemaError};
use ringview_core::{Error, Position, SqlProblem};

use crate::near::did_you_mean;
use crate::source_text::bound_position;

/// A problem of the library as an error, whose message still lacks the text.
pub(crate) fn refusal(problem: &DataFusionError) -> Error {
    let found = problem.diagnostic();
    let span = found.and_then(|found| found.span);
    let at = span.and_then(|span| bound_position(span.start));
    match root(problem) {
        DataFusionError::SchemaError(inner, _) => schema(inner, found, at),
        DataFusionError::External(inner) => match inner.downcast_ref::<Error>() {
            Some(Error::UnknownTable { name, known }) => bare(
                SqlProblem::UnknownTable,
                at,
                format!(
                    "no table or view \"{name}\"; known: {}{}",
                    listed(known),
                    did_you_mean(name, known.iter().map(String::as_str))
                ),
            ),
            Some(own) => own.clone(),
            None => unsupported(&inner.to_string()),
        },
        DataFusionError::ArrowError(inner, _) => match &**inner {
            ArrowError::CastError(what)
            | ArrowError::ParseError(what)
            | ArrowError::ArithmeticOverflow(what)
            | ArrowError::InvalidArgumentError(what)
            | ArrowError::ComputeError(what) => bare(SqlProblem::Query, at, first_line(what)),
            ArrowError::DivideByZero => bare(SqlProblem::Value, at, "division by zero".to_owned()),
            other => bare(SqlProblem::Query, at, first_line(&other.to_string())),
        },
        DataFusionError::Execution(what) => bare(SqlProblem::Query, at, first_line(what)),
        DataFusionError::Plan(what) => planning(what, at),
        DataFusionError::NotImplemented(what) => {
            bare(SqlProblem::Unsupported, at, advised(&plain(what)))
        }
        other => {
            let message = other.strip_backtrace();
            bare(SqlProblem::Unsupported, at, advised(&plain(&message)))
        }
    }
}

/// An error for a query that cannot be kept.
pub(crate) fn unsupported(what: &str) -> Error {
    bare(SqlProblem::Unsupported, None, advised(what))
}

/// An error whose message still lacks the text.
pub(crate) fn bare(problem: SqlProblem, position: Option<Position>, message: String) -> Error {
    Error::Sql {
        problem,
        message,
        position,
    }
}

/// A message with default advice, where it has none.
fn advised(what: &str) -> String {
    if what.contains("; ") {
        what.to_owned()
    } else {
        format!("{what}; compute that part from what you read")
    }
}

/// The innermost problem; of several the first.
fn root(problem: &DataFusionError) -> &DataFusionError {
    let mut here = problem.find_root();
    while let DataFusionError::Collection(all) = here
        && let Some(first) = all.first()
    {
        here = first.find_root();
    }
    here
}

fn schema(inner: &SchemaError, found: Option<&Diagnostic>, at: Option<Position>) -> Error {
    match inner {
        SchemaError::FieldNotFound {
            field,
            valid_fields,
        } => no_column(field, valid_fields, at),
        SchemaError::AmbiguousReference { field } => {
            let notes = found.map_or(&[][..], |found| &found.notes);
            let possible = notes.iter().filter_map(|note| {
                let column = note.message.strip_prefix("possible column ")?;
                let name = column.rsplit('.').next()?;
                (name == field.name).then(|| column.to_owned())
            });
            let possible: Vec<String> = possible.collect();
            let which = match possible.len() {
                0 | 1 => "write its table before it".to_owned(),
                _ => format!("write one of {}", possible.join(", ")),
            };
            let what = format!("\"{}\" is ambiguous; {which}", field.name);
            bare(SqlProblem::Query, at, what)
        }
        SchemaError::DuplicateQualifiedField { qualifier, name } => {
            let what = format!(
                "\"{qualifier}\" is read twice, and both have \"{name}\"; give one of them an alias"
            );
            bare(SqlProblem::Query, at, what)
        }
        SchemaError::DuplicateUnqualifiedField { name } => {
            let what = format!("two columns are called \"{name}\"; name one of them with AS");
            bare(SqlProblem::Query, at, what)
        }
    }
}

fn no_column(field: &Column, valid: &[Column], at: Option<Position>) -> Error {
    let name = &field.name;
    let Some(table) = &field.relation else {
        if MOMENT.contains(&name.to_lowercase().as_str()) {
            return bare(SqlProblem::Unsupported, at, unknown_function(name));
        }
        if valid.is_empty() {
            let what = format!("\"{name}\" names a column where none can be read");
            return bare(SqlProblem::UnknownColumn, at, what);
        }
        let known = once(valid.iter().map(|column| column.name.as_str()));
        let what = format!(
            "no column \"{name}\"; known: {}{}",
            listed(&known),
            did_you_mean(name, known.iter().copied())
        );
        return bare(SqlProblem::UnknownColumn, at, what);
    };
    let relations = valid.iter().filter_map(|column| column.relation.as_ref());
    let relations: Vec<&str> = once(relations.map(|relation| relation.table()));
    let table = table.table();
    if !relations.contains(&table) {
        let what = format!(
            "no table or alias \"{table}\"; in scope: {}{}",
            listed(&relations),
            did_you_mean(table, relations.iter().copied())
        );
        return bare(SqlProblem::Query, at, what);
    }
    let of_table = |column: &&Column| {
        let relation = column.relation.as_ref();
        relation.is_some_and(|relation| relation.table() == table)
    };
    let known = once(
        valid
            .iter()
            .filter(of_table)
            .map(|column| column.name.as_str()),
    );
    let what = format!(
        "no column \"{name}\" in table \"{table}\"; known: {}{}",
        listed(&known),
        did_you_mean(name, known.iter().copied())
    );
    bare(SqlProblem::UnknownColumn, at, what)
}

/// A problem of the binder, in our words where its own are worse.
fn planning(what: &str, at: Option<Position>) -> Error {
    let query = |message: String| bare(SqlProblem::Query, at, message);
    if let Some(rest) = what.strip_prefix("Invalid function '") {
        let name = rest.split('\'').next().unwrap_or_default();
        return bare(SqlProblem::Unsupported, at, unknown_function(name));
    }
    if what.starts_with("Aggregate functions are not allowed in the WHERE clause") {
        return query(
            "an aggregate is not known in WHERE, which chooses rows before they are grouped; \
             write HAVING"
                .to_owned(),
        );
    }
    if let Some(rest) = what.strip_prefix("Cannot find column with position ") {
        return query(no_output(rest));
    }
    if let Some(rest) = what.strip_prefix("Order by column out of bounds, specified: ") {
        return query(no_output(rest));
    }
    if let Some(rest) = what.strip_prefix("Source table contains ") {
        let mut numbers = rest.split(' ').filter(|word| word.parse::<usize>().is_ok());
        let (columns, names) = (numbers.next(), numbers.next());
        return query(format!(
            "an alias gives {} names to {} columns; give as many, or fewer",
            names.unwrap_or("too many"),
            columns.unwrap_or("its")
        ));
    }
    if let Some((set, _)) = what.split_once(" queries have different number of columns") {
        let message = format!("the sides of {set} have different numbers of columns");
        return bare(SqlProblem::Query, None, message);
    }
    if what.starts_with("Aggregate function calls cannot be nested") {
        return query(
            "an aggregate is among the arguments of another; compute the inner one in a subquery \
             in FROM"
                .to_owned(),
        );
    }
    if let Some(name) = what.strip_prefix("Invalid qualifier ") {
        return query(format!("no table or alias \"{name}\""));
    }
    if let Some(rest) = what.strip_prefix("The window ") {
        let name = rest.split(' ').next().unwrap_or_default();
        let problem = if rest.contains("not defined") {
            "no window"
        } else {
            "two windows are called"
        };
        return query(format!("{problem} \"{name}\""));
    }
    if let Some(rest) = what.strip_prefix("WITH query name ") {
        let name = rest.split('"').nth(1).unwrap_or_default();
        let message = format!("two queries of WITH are called \"{name}\"; give one another name");
        return bare(SqlProblem::Query, None, message);
    }
    if what.starts_with("Too many columns! The subquery") {
        return query("a subquery that is compared has one column, this has more".to_owned());
    }
    if what.starts_with("Could not plan array literal") {
        let message = "a list is no value of a column; write its values as rows";
        return bare(SqlProblem::Unsupported, at, message.to_owned());
    }
    if what.contains("must appear in the GROUP BY clause") {
        return query(ungrouped(what));
    }
    if let Some(rest) = what.strip_prefix("Projections require unique expression names") {
        let name = rest.split('"').nth(1).unwrap_or_default();
        let name = name.rsplit(" AS ").next().unwrap_or_default();
        let name = name.rsplit('.').next().unwrap_or_default();
        return query(format!(
            "two outputs are called \"{name}\"; name one of them with AS"
        ));
    }
    let message = plain(what);
    let lower = message.to_lowercase();
    let is_type = [
        "coerc",
        "signature",
        "argument",
        "is none",
        "type",
        "numeric",
        "needs numbers",
        "boolean",
    ]
    .iter()
    .any(|sign| lower.contains(sign));
    let problem = if is_type && !lower.contains("unsupported") && !lower.contains("not supported") {
        SqlProblem::Type
    } else if lower.contains("support") || what.contains("no column of a view holds") {
        SqlProblem::Unsupported
    } else {
        SqlProblem::Query
    };
    bare(problem, at, message)
}

/// Functions of the moment, or of chance.
const MOMENT: [&str; 9] = [
    "now",
    "current_date",
    "current_time",
    "current_timestamp",
    "today",
    "get_current_time",
    "get_current_timestamp",
    "localtimestamp",
    "transaction_timestamp",
];
const CHANCE: [&str; 7] = [
    "random",
    "rand",
    "uuid",
    "gen_random_uuid",
    "uuidv4",
    "uuidv7",
    "nextval",
];

/// That there is no function of a name, and which there is.
pub(crate) fn unknown_function(name: &str) -> String {
    let lower = name.to_lowercase();
    if CHANCE.contains(&lower.as_str()) {
        format!(
            "\"{name}\" gives another value at each call, so no view of it can be exact; compute it \
             into a column before the rows are inserted"
        )
    } else if MOMENT.contains(&lower.as_str()) {
        format!(
            "\"{name}\" changes while no row does, and a view changes with its rows; compare with \
             the value of a column or a constant"
        )
    } else if ringview_expr::WINDOWS.contains(&lower.as_str()) {
        format!("\"{name}\" is computed over a window; write {name}(..) OVER (..)")
    } else {
        let known = ringview_expr::function_names();
        let all = known.iter().map(String::as_str);
        let all = all.chain(ringview_expr::AGGREGATES.iter().copied());
        let all = all.chain(["cofactor"]);
        let near = did_you_mean(name, all.chain(ringview_expr::WINDOWS.iter().copied()));
        match near.as_str() {
            "" => format!(
                "no function \"{name}\"; compute it into a column, or declare it: create_function of a database"
            ),
            near => format!("no function \"{name}\"{near}"),
        }
    }
}

/// A column that is not of the groups, from the binder's words.
fn ungrouped(what: &str) -> String {
    let quoted = |mark: &str| {
        let (_, rest) = what.split_once(mark)?;
        let (name, _) = rest.split_once("\" must appear")?;
        Some(name.to_owned())
    };
    let named = quoted("column \"").or_else(|| {
        let (_, rest) = what.split_once("references: ")?;
        let (name, _) = rest.split_once(" must appear")?;
        Some(name.to_owned())
    });
    let name = named.unwrap_or_else(|| "a column".to_owned());
    let name = name.rsplit('.').next().unwrap_or(&name).trim_matches('"');
    if name.contains([' ', '(']) {
        return "a column of HAVING is neither in GROUP BY nor in an aggregate; add it to GROUP BY"
            .to_owned();
    }
    format!(
        "\"{name}\" is neither in GROUP BY nor in an aggregate; add it to GROUP BY, or write ANY_VALUE({name})"
    )
}

/// A message of the library in one line, without its headings and dumps of its trees.
pub(crate) fn plain(what: &str) -> String {
    let mut line = first_line(what);
    for heading in [
        "This feature is not implemented: ",
        "Execution error: ",
        "Error during planning: ",
        "Internal error: ",
    ] {
        line = line.replace(heading, "");
    }
    for rest in [". No function matches", ", errors: ", ". Hint: "] {
        if let Some((said, _)) = line.split_once(rest) {
            line = said.to_owned();
        }
    }
    if let Some(dump) = line.find("span: Span(") {
        let said = &line[..dump];
        let begin = said.find([':', '{', '(']).unwrap_or(dump);
        let begin = said[..begin].trim_end().rfind(' ').unwrap_or(begin);
        line = line[..begin].to_owned();
    }
    line.replace(" in sqltorel", "")
        .replace("Unsupported ast node", "this form is not supported")
        .replace(
            "failed to match any signature",
            "does not take these arguments",
        )
}

/// `3 in SELECT ..` or `3, max: 1`.
fn no_output(rest: &str) -> String {
    let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
    format!("there is no output number {number}")
}

fn first_line(what: &str) -> String {
    what.lines().next().unwrap_or_default().trim().to_owned()
}

/// Each once, in their order.
fn once<'n>(names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let mut found: Vec<&str> = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

fn listed(names: &[impl AsRef<str>]) -> String {
    if names.is_empty() {
        return "none yet".to_owned();
    }
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    names.join(", ")
}
