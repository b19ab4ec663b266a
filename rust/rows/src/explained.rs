//! Explanation of a block that works row by row.
//!
//! Invariant: it says what is kept. Cost: none.

use ringview_explain::{Choice, Explanation};
use ringview_query::{Bound, Comparison, Parted, Rows, Strategy, TimeCondition, Timed};

use crate::running::plan::is_running;

/// Rows that a change recomputes.
pub(crate) fn recomputed(parted: &Parted) -> String {
    match (parted.frame_bounds(), parted.partition.is_empty()) {
        (Some(frame_bounds), _) => format!(
            "{} rows before and {} behind each row that changes",
            frame_bounds.before + frame_bounds.behind,
            frame_bounds.before + frame_bounds.behind
        ),
        (None, true) => "all rows".to_owned(),
        (None, false) => "the rows of the keys that change".to_owned(),
    }
}

/// Evaluation of the fixpoint of a recursion.
fn derived(strategy: &Strategy) -> &'static str {
    match strategy {
        Strategy::Ranked { .. } => {
            "new rows go through the step until it derives no others (semi-naive evaluation); a row that loses a \
             derivation stays where it has another from a lower level, else it is deleted and derived again if it can be \
             (delete-and-rederive); a change costs the derivations that come and go"
        }
        Strategy::Rederived => {
            "new rows go through the step until it derives no others (semi-naive evaluation); a row that loses a \
             derivation is deleted, and derived again if it can be (delete-and-rederive); a change costs the derivations \
             that come and go"
        }
        Strategy::Levels { .. } => {
            "rows are counted by the level at which they come, and changes go up level by level; a change costs the \
             derivations that come and go"
        }
        Strategy::Anew { .. } => {
            "its step reads the rows of the last round together, so a change computes all rows anew from the seed"
        }
    }
}

/// A condition on time as text.
fn condition(of: &TimeCondition) -> String {
    let op = match of.op {
        Comparison::Eq => "=",
        Comparison::Ne => "<>",
        Comparison::Lt => "<",
        Comparison::Le => "<=",
        Comparison::Gt => ">",
        Comparison::Ge => ">=",
    };
    format!("{} {op} {}", of.value, of.clock.text)
}

/// Condition under which rows are visible.
pub(crate) fn visible(timed: &Timed) -> String {
    let conditions: Vec<String> = timed.conditions.iter().map(condition).collect();
    format!("rows while {}", conditions.join(" and "))
}

/// Explanation of such a query.
pub(crate) fn described(query: &Bound) -> Explanation {
    let rows = query.rows.as_ref().map(Rows::stored);
    let (because, form) = match rows {
        Some(Rows::Ordered(ordering)) => {
            let kept = match (ordering.keep, ordering.partition.is_empty()) {
                (None, _) => "all of them are shown".to_owned(),
                (Some(keep), true) => format!("the first {keep} are shown"),
                (Some(keep), false) => format!("the first {keep} of each partition are shown"),
            };
            (
                format!("rows are kept in their order, O(log n) a row that changes; {kept}"),
                ("ordered rows", "a search tree of rows in each partition"),
            )
        }
        Some(Rows::Parted(_)) if is_running(query) => (
            "its functions are numbers and sums of the rows before each row, or of its partition: they are computed as rows \
             are read, and where changes are followed for the rows that move; O(log n) a row that changes"
                .to_owned(),
            (
                "rows by partition",
                "a search tree of rows in each partition, with their numbers and sums",
            ),
        ),
        Some(Rows::Parted(parted)) => {
            let what = recomputed(parted);
            let shown = if parted.grouped {
                "a row each"
            } else {
                "each row"
            };
            (
                format!(
                    "its functions need the rows of a partition together; a change recomputes {what}, {shown}"
                ),
                (
                    "rows by partition",
                    match parted.frame_bounds() {
                        Some(_) => "a search tree of rows in each partition",
                        None => {
                            "a search tree of rows in each partition, and what is shown of them"
                        }
                    },
                ),
            )
        }
        Some(Rows::Timed(timed)) => (
            format!(
                "{}; when a row comes and leaves is known as it is inserted, O(log n); \
                     advance(to) moves the rows that are due, and those that left for good are forgotten",
                visible(timed)
            ),
            (
                "rows for a time",
                "a search tree of the visible rows by when they leave, and of those to come by when they do",
            ),
        ),
        Some(Rows::Latest(latest)) => (
            format!(
                "a row keeps its match until another comes between them, O(log n) a row that changes and the rows whose \
                     match changes; {}",
                match latest.outer {
                    true => "rows without a match are shown",
                    false => "rows without a match are not shown",
                }
            ),
            (
                "rows of both sides by key and time",
                "two search trees for each key",
            ),
        ),
        Some(Rows::Recursive(recursion)) => (
            derived(&recursion.strategy).to_owned(),
            (
                "rows with the counts of their derivations",
                match recursion.strategy {
                    Strategy::Anew { .. } => "rows, and the seed",
                    _ => "by row, how many derivations it has from rows of which level",
                },
            ),
        ),
        _ => (
            "each row is computed from one row, so nothing is kept: a change is handed on"
                .to_owned(),
            ("nothing", "rows are computed as they change"),
        ),
    };
    let choice = |name: &str, because: &str| Choice {
        name: name.to_owned(),
        because: because.to_owned(),
    };
    let size = match rows {
        Some(Rows::Timed(timed)) => Some(visible(timed)),
        _ => None,
    };
    Explanation {
        size,
        engine: choice("rows", &because),
        form: choice(form.0, form.1),
        ..Explanation::default()
    }
}
