//! Planning is polynomial: a text that is nested once deeper takes a little longer, as query and as view.
//!
//! Invariant: from one depth to the next the work grows no faster than the third power of the depth. A rewrite that
//! visits or copies an operand twice a level fails at a shallow depth, before it takes long. Cost: seconds.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray};
use ringview_core::{Error, Result, Schema};
use ringview_engine::{Database, Direction, Op, Options};
use ringview_sql::Definition;

use crate::calls;

/// The depths that are compared, and those before each change.
const DEPTHS: [usize; 9] = [3, 4, 5, 6, 8, 10, 12, 16, 20];
const FEWER: [usize; 4] = [3, 4, 5, 6];
/// A depth beyond what planning takes in nearly each form: it overflows no stack.
const DEEPEST: usize = 10_000;
/// Forms whose text says a query twice a level, or names it so: it is planned at each use.
const DOUBLING: [&str; 2] = ["query repeated from", "with, twice"];
/// The stack of a thread of Python.
const STACK: usize = 1 << 30;

/// An expression around another, by the number of the level.
type Around = fn(&str, usize) -> String;

/// The text of a depth.
type Text = Box<dyn Fn(usize) -> String>;

/// Expressions that grow around one, and the one within.
const EXPRESSIONS: &[(&str, &str, Around)] = &[
    ("texts", "t", |of, _| format!("{of} || ',' || t")),
    ("numbers as text", "a", |of, _| format!("{of} || ',' || a")),
    ("brackets of text", "t", |of, _| format!("(t || {of})")),
    ("sum", "a", |of, _| format!("{of} + a")),
    ("sum of types", "a", |of, at| {
        format!("{of} + {}", ["a", "x"][at % 2])
    }),
    ("product", "x", |of, _| format!("{of} * 0.5")),
    ("right sum", "a", |of, _| format!("(a + {of})")),
    ("quotient", "a", |of, _| format!("{of} / 2")),
    ("integer quotient", "a", |of, _| format!("{of} // 2")),
    ("right quotient", "a", |of, _| format!("(a // {of})")),
    ("rest", "a", |of, _| format!("{of} % 7")),
    ("power", "x", |of, _| format!("({of}) ^ 1")),
    ("bits", "a", |of, _| format!("({of} & 7)")),
    ("shift", "a", |of, _| format!("({of} << 1)")),
    ("minus", "a", |of, _| format!("- {of}")),
    ("brackets", "a", |of, _| format!("({of})")),
    ("casts", "a", |of, at| {
        format!("{of}::{}", ["VARCHAR", "BIGINT"][at % 2])
    }),
    ("narrow casts", "a", |of, at| {
        format!("{of}::{}", ["DOUBLE", "INTEGER"][at % 2])
    }),
    ("attempts", "a", |of, at| {
        format!("TRY_CAST({of} AS {})", ["VARCHAR", "BIGINT"][at % 2])
    }),
    ("casts of sums", "a", |of, _| {
        format!("CAST({of} + 1 AS INTEGER)")
    }),
    ("subscript of text", "t", |of, _| format!("{of}[1]")),
    ("slice of text", "t", |of, _| format!("{of}[1:2]")),
    ("subscript by text", "a", |of, _| format!("length(t[{of}])")),
    ("list and subscript", "a", |of, _| format!("([{of}])[1]")),
    ("struct and field", "a", |of, _| {
        format!("({{'f': {of}}}).f")
    }),
    ("first known", "a", |of, _| format!("coalesce({of}, b)")),
    ("last known", "a", |of, _| format!("coalesce(b, {of})")),
    ("three known", "a", |of, _| format!("coalesce(b, {of}, 1)")),
    ("ifnull", "a", |of, _| format!("ifnull({of}, b)")),
    ("nullif", "a", |of, _| format!("nullif({of}, b)")),
    ("nvl2", "a", |of, _| format!("nvl2({of}, b, 1)")),
    ("if", "a", |of, _| format!("if(a = 1, {of}, 2)")),
    ("greatest", "a", |of, _| format!("greatest({of}, b)")),
    ("case then", "a", |of, _| {
        format!("CASE WHEN b = 1 THEN {of} ELSE 1 END")
    }),
    ("case else", "a", |of, _| {
        format!("CASE WHEN b = 1 THEN 1 ELSE {of} END")
    }),
    ("case when", "a", |of, _| {
        format!("CASE WHEN {of} = 1 THEN b ELSE 1 END")
    }),
    ("case of", "a", |of, _| {
        format!("CASE {of} WHEN 1 THEN b ELSE 1 END")
    }),
    ("case of calls", "a", |of, _| {
        format!("abs(CASE WHEN b = 1 THEN {of} END)")
    }),
    ("call", "t", |of, _| format!("lower({of})")),
    ("call of two", "t", |of, _| format!("concat({of}, t)")),
    ("call of numbers", "x", |of, _| format!("round({of}, 1)")),
    ("ceil", "x", |of, _| format!("ceil({of})")),
    ("pad", "t", |of, _| format!("lpad({of}, 3, 'x')")),
    ("pad by", "a", |of, _| format!("length(lpad(t, {of}, 'x'))")),
    ("substring", "t", |of, _| format!("substr({of}, a)")),
    ("replace", "t", |of, _| format!("replace({of}, 'a', 'b')")),
    ("unicode", "a", |of, _| {
        format!("unicode(chr({of}::INTEGER))")
    }),
    ("days", "d", |of, _| format!("{of} + 1")),
    ("era", "d", |of, _| format!("(d + era({of})::INTEGER)")),
    ("week", "d", |of, _| {
        format!("(d + yearweek({of})::INTEGER)")
    }),
    ("century", "d", |of, _| {
        format!("(d + century({of})::INTEGER)")
    }),
    ("truncated", "d", |of, _| {
        format!("date_trunc('month', {of})")
    }),
    ("contains", "a", |of, _| {
        format!("list_contains([b], {of})::BIGINT")
    }),
    ("any", "a", |of, _| format!("({of} = ANY([b]))::BIGINT")),
    ("list sum", "a", |of, _| format!("list_sum([{of}, b])")),
];

/// Conditions that grow around one.
const CONDITIONS: &[(&str, &str, Around)] = &[
    ("and", "a = 1", |of, at| format!("{of} AND a <> {at}")),
    ("or", "a = 1", |of, at| format!("{of} OR a = {at}")),
    ("and or", "a = 1", |of, at| {
        format!("(a < {at} {} {of})", ["AND", "OR"][at % 2])
    }),
    ("not", "a = 1", |of, _| format!("NOT {of}")),
    ("not in brackets", "a = 1", |of, _| format!("NOT ({of})")),
    ("comparisons", "a = 1", |of, _| format!("({of}) = TRUE")),
    ("unknown", "a = 1", |of, _| format!("({of}) IS NULL")),
    ("true", "a = 1", |of, _| format!("({of}) IS NOT TRUE")),
    ("in", "a = 1", |of, _| format!("({of}) IN (TRUE, b = 1)")),
    ("in of lists", "a IN (1)", |of, at| {
        format!("{}, {at})", &of[..of.len() - 1])
    }),
    ("between", "a = 1", |of, _| {
        format!("({of})::BIGINT BETWEEN 0 AND b")
    }),
    ("between bounds", "a = 1", |of, _| {
        format!("b BETWEEN 0 AND ({of})::BIGINT")
    }),
    ("like", "a = 1", |of, _| format!("({of})::VARCHAR LIKE t")),
    ("distinct", "a = 1", |of, _| {
        format!("({of}) IS DISTINCT FROM (b = 1)")
    }),
    ("chosen", "a = 1", |of, _| {
        format!("CASE WHEN {of} THEN b = 1 ELSE b = 2 END")
    }),
    ("in subquery", "a = 1", |of, at| {
        format!("a IN (SELECT a FROM r AS q{at} WHERE {of})")
    }),
    ("exists", "a = 1", |of, at| {
        format!("EXISTS (SELECT 1 FROM r AS q{at} WHERE {of})")
    }),
    ("subquery", "a = 1", |of, at| {
        format!("a < (SELECT sum(b) FROM r AS q{at} WHERE {of})")
    }),
];

/// Queries that grow around one.
const QUERIES: &[(&str, &str, Around)] = &[
    ("union all", "SELECT a, b FROM r", |of, _| {
        format!("{of} UNION ALL SELECT a, b FROM r")
    }),
    ("union", "SELECT a, b FROM r", |of, _| {
        format!("{of} UNION SELECT a, b FROM r")
    }),
    ("intersect", "SELECT a, b FROM r", |of, _| {
        format!("{of} INTERSECT SELECT a, b FROM r")
    }),
    ("except", "SELECT a, b FROM r", |of, _| {
        format!("{of} EXCEPT SELECT a, b FROM r")
    }),
    ("union in brackets", "SELECT a, b FROM r", |of, _| {
        format!("SELECT a, b FROM r UNION ALL ({of})")
    }),
    ("from", "SELECT a, b FROM r", |of, at| {
        format!("SELECT a, b FROM ({of}) AS q{at} WHERE a < {at}")
    }),
    ("computed from", "SELECT a, b FROM r", |of, at| {
        format!("SELECT a + 1 AS a, a + b AS b FROM ({of}) AS q{at}")
    }),
    ("repeated from", "SELECT a, b FROM r", |of, at| {
        format!("SELECT a + a AS a, b FROM ({of}) AS q{at}")
    }),
    ("grouped from", "SELECT a, b FROM r", |of, at| {
        format!("SELECT a, sum(b) AS b FROM ({of}) AS q{at} GROUP BY a")
    }),
    ("joined from", "SELECT a, b FROM r", |of, at| {
        format!("SELECT a, q{at}.b FROM ({of}) AS q{at} JOIN r USING (a)")
    }),
    ("join", "SELECT count(*) FROM r", |of, at| {
        format!("{of} JOIN r AS q{at} USING (a)")
    }),
    ("outer join", "SELECT count(*) FROM r", |of, at| {
        format!("{of} LEFT JOIN r AS q{at} ON r.a = q{at}.a")
    }),
];

/// The text of a chain of common tables, each of which reads the one before so many times.
fn tables(depth: usize, next: impl Fn(usize) -> String) -> String {
    let mut text = "WITH q0 AS (SELECT a, b FROM r)".to_owned();
    for at in 1..=depth {
        let _ = write!(text, ", q{at} AS ({})", next(at - 1));
    }
    format!("{text} SELECT a, b FROM q{depth}")
}

fn grown((_, within, around): (&str, &str, Around), depth: usize) -> String {
    (0..depth).fold(within.to_owned(), |of, at| around(&of, at))
}

/// All texts of a depth, each with the name of its form.
fn forms() -> Vec<(String, Text)> {
    let mut all: Vec<(String, Text)> = Vec::new();
    for &form in EXPRESSIONS {
        let text = move |depth| {
            let of = grown(form, depth);
            format!("SELECT {of} AS v, concat({of}, t) AS w FROM r")
        };
        all.push((form.0.to_owned(), Box::new(text)));
    }
    for &form in CONDITIONS {
        let text = move |depth| format!("SELECT count(*) FROM r WHERE {}", grown(form, depth));
        all.push((format!("condition {}", form.0), Box::new(text)));
    }
    for &form in QUERIES {
        all.push((
            format!("query {}", form.0),
            Box::new(move |depth| grown(form, depth)),
        ));
    }
    let chain = |depth| {
        tables(depth, |before| {
            format!("SELECT a + 1 AS a, b FROM q{before}")
        })
    };
    all.push(("with".to_owned(), Box::new(chain)));
    let twice = |depth| {
        tables(depth, |before| {
            format!("SELECT a, x.b FROM q{before} AS x JOIN q{before} AS y USING (a)")
        })
    };
    all.push(("with, twice".to_owned(), Box::new(twice)));
    all
}

/// A database of one table with a row.
fn database() -> Database {
    let mut db = Database::new(Options::default());
    let rows = row();
    let schema = Schema::from_arrow(&rows.schema()).unwrap();
    db.create_table("r", schema, None, false).unwrap();
    insert(&mut db, &rows);
    db
}

fn row() -> RecordBatch {
    let columns: [(&str, ArrayRef); 5] = [
        ("a", Arc::new(Int64Array::from(vec![Some(1)]))),
        ("b", Arc::new(Int64Array::from(vec![Some(2)]))),
        ("x", Arc::new(Float64Array::from(vec![Some(0.5)]))),
        ("t", Arc::new(StringArray::from(vec![Some("abc")]))),
        ("d", Arc::new(Date32Array::from(vec![Some(19_000)]))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, of)| (name, of, true))).unwrap()
}

fn insert(db: &mut Database, rows: &RecordBatch) {
    let rows = std::slice::from_ref(rows);
    let op = Op {
        table: "r",
        direction: Direction::Insert,
        rows,
        multiplicity: None,
    };
    // A value that fits no type is an answer, too.
    let _ = db.apply(&[op], &mut |_| Ok(()));
}

/// Plans a text, answers it, keeps it as a view and inserts a row; calls of the allocator.
fn cost(db: &mut Database, text: &str) -> Result<u64> {
    let before = calls();
    let definition = Definition::new(text, Default::default(), &db.tables(), &db.catalog())?;
    let kept = definition.first_accepted(|_, query| {
        db.create_view("v", query, &mut |_| Ok(()))
            .map(|_| query.clone())
    });
    let query = match kept {
        Ok(query) => query,
        // No value is a row's answer, and no view's.
        Err(Error::Value { .. } | Error::Overflow { .. }) => return Ok(calls() - before),
        Err(other) => return Err(other),
    };
    insert(db, &row());
    db.drop_view("v")?;
    let _ = db.evaluate(&query, &mut |_| Ok(()));
    Ok(calls() - before)
}

fn on_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        thread.spawn_scoped(scope, work).unwrap().join().unwrap()
    })
}

#[test]
fn work_grows_as_a_power_of_the_depth() {
    grows_as_a_power(&FEWER);
}

#[test]
#[ignore = "takes minutes"]
fn work_grows_as_a_power_of_greater_depths() {
    grows_as_a_power(&DEPTHS);
}

fn grows_as_a_power(depths: &[usize]) {
    let found = on_a_thread(|| {
        let mut wrong = String::new();
        for (name, text) in forms() {
            if DOUBLING.contains(&&*name) {
                continue;
            }
            let mut before: Option<(usize, u64)> = None;
            let mut all = Vec::new();
            for &depth in depths {
                let mut db = database();
                let work = match cost(&mut db, &text(depth)) {
                    Ok(work) => work,
                    Err(error) => {
                        let _ = writeln!(wrong, "{name} at {depth}: {error}");
                        break;
                    }
                };
                all.push(work);
                if let Some((shallow, less)) = before {
                    let power = (depth as f64 / shallow as f64).powi(3);
                    if work as f64 > less as f64 * power {
                        let _ = writeln!(wrong, "{name}: {all:?} allocations");
                        break;
                    }
                }
                before = Some((depth, work));
            }
            if std::env::var("SHOW").is_ok() {
                println!("{name}: {all:?}");
            }
        }
        wrong
    });
    assert!(found.is_empty(), "{found}");
}

#[test]
fn the_deepest_overflows_no_stack() {
    on_a_thread(|| {
        let mut db = database();
        for (_, text) in forms() {
            // Taken, as a chain that is no depth, or refused.
            let _ = cost(&mut db, &text(DEEPEST));
        }
    });
}
