//! `triangles EDGES`: counts the triangles of a stream of edges and prints one JSON line a measurement.
//!
//! The edges stream as R(a, b), S(b, c) and T(c, a), round robin, in batches. `indicator` and `plain` are the engine
//! with and without indicator projections, deletes trusted; `first-order` is a program by hand that keeps the three
//! relations as sorted adjacency and intersects the shorter list with the other. Invariant: the clock runs only while
//! a system works, and systems that see the whole stream end with the same count.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{Int32Array, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use ringview_engine::{Database, Direction, Op, Options};
use ringview_query::{Planning, Query};
use serde_json::json;

const USAGE: &str = "usage: triangles EDGES [--system LIST] [--batch N] [--seconds S] [--order NAME] [--deletes]
  EDGES: sources, then targets, as raw little-endian int32    systems: indicator plain first-order
  --deletes: delete all again, the last batch first           --order: what the lines say of the order";
const NAMES: [&str; 3] = ["R", "S", "T"];
const WELL_FORMED: &str = "the tables and the query of this program are well formed";

type Edge = (i32, i32);

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}\n{USAGE}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("no edges")?;
    let mut systems = "indicator,plain,first-order".to_owned();
    let (mut size, mut limit, mut order, mut deletes) =
        (1_000, f64::MAX, "given".to_owned(), false);
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{flag} needs a value"));
        match flag.as_str() {
            "--system" => systems = value()?,
            "--order" => order = value()?,
            "--batch" => size = value()?.parse().map_err(|_| "--batch needs a number")?,
            "--seconds" => limit = value()?.parse().map_err(|_| "--seconds needs a number")?,
            "--deletes" => deletes = true,
            _ => return Err(format!("unknown flag {flag}")),
        }
    }
    let edges = read(&path).map_err(|error| format!("{path}: {error}"))?;
    let mut agreed = None;
    for name in systems.split(',') {
        let mut system: Box<dyn System> = match name {
            "indicator" => Box::new(Engine::new(true)),
            "plain" => Box::new(Engine::new(false)),
            "first-order" => Box::new(FirstOrder::default()),
            _ => return Err(format!("unknown system {name}")),
        };
        let mut phases = vec![("insert", 1)];
        if deletes {
            phases.push(("delete-back", -1));
        }
        for (phase, sign) in phases {
            let done = stream(system.as_mut(), &edges, size.max(1), limit, sign);
            let complete = done.tuples == 3 * edges.len();
            let count = system.count();
            println!(
                "{}",
                json!({
                    "workload": "triangles", "order": order, "batch": size, "system": name, "phase": phase,
                    "tuples": done.tuples, "complete": complete, "seconds": done.time.as_secs_f64(),
                    "tuples_per_second": done.tuples as f64 / done.time.as_secs_f64(),
                    "bytes": system.memory(), "result": count,
                })
            );
            if !complete {
                break;
            }
            let expected = if sign == 1 {
                *agreed.get_or_insert(count)
            } else {
                0
            };
            if count != expected {
                return Err(format!(
                    "{name} counts {count} after {phase}, not {expected}"
                ));
            }
        }
    }
    Ok(())
}

fn read(path: &str) -> std::io::Result<Vec<Edge>> {
    let bytes = std::fs::read(path)?;
    let words = bytes.chunks_exact(4);
    let words: Vec<i32> = words
        .map(|word| i32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    let (sources, targets) = words.split_at(words.len() / 2);
    Ok(sources
        .iter()
        .copied()
        .zip(targets.iter().copied())
        .collect())
}

struct Done {
    tuples: usize,
    time: Duration,
}

/// All batches, or as many as the time allows.
fn stream(system: &mut dyn System, edges: &[Edge], size: usize, limit: f64, sign: i64) -> Done {
    let batches = edges
        .chunks(size)
        .flat_map(|batch| (0..3).map(move |relation| (relation, batch)));
    let batches: Vec<(usize, &[Edge])> = match sign {
        1 => batches.collect(),
        _ => batches.rev().collect(),
    };
    let mut done = Done {
        tuples: 0,
        time: Duration::ZERO,
    };
    for (relation, batch) in batches {
        let rows = arrow(relation, batch);
        let start = Instant::now();
        system.apply(relation, &rows, sign);
        done.time += start.elapsed();
        done.tuples += batch.len();
        if done.time.as_secs_f64() > limit {
            break;
        }
    }
    done
}

/// Columns of R(a, b), S(b, c) and T(c, a).
fn columns(relation: usize) -> [&'static str; 2] {
    [["a", "b"], ["b", "c"], ["c", "a"]][relation]
}

fn arrow(relation: usize, edges: &[Edge]) -> RecordBatch {
    let field = |name: &str| Field::new(name, DataType::Int32, false);
    let schema = Schema::new(columns(relation).map(field).to_vec());
    let sources: Int32Array = edges.iter().map(|edge| Some(edge.0)).collect();
    let targets: Int32Array = edges.iter().map(|edge| Some(edge.1)).collect();
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(sources), Arc::new(targets)])
        .expect(WELL_FORMED)
}

trait System {
    fn apply(&mut self, relation: usize, rows: &RecordBatch, sign: i64);
    fn count(&self) -> i64;
    fn memory(&self) -> usize;
}

/// The engine, as any Rust program would feed it.
struct Engine(Database);

impl Engine {
    fn new(indicators: bool) -> Self {
        let mut database = Database::new(Options {
            trust_deletes: true,
        });
        for (relation, name) in NAMES.iter().enumerate() {
            let schema = arrow(relation, &[]).schema();
            let schema = ringview_core::Schema::from_arrow(&schema).expect(WELL_FORMED);
            database
                .create_table(name, schema, None, false)
                .expect(WELL_FORMED);
        }
        let place = |atom: usize, column: &str| json!({"atom": atom, "column": column});
        let query = json!({
            "atoms": NAMES.map(|name| json!({"table": name, "alias": name})),
            "joins": [[place(0, "a"), place(2, "a")], [place(0, "b"), place(1, "b")], [place(1, "c"), place(2, "c")]],
            "outputs": [{"kind": "aggregate", "name": "count", "function": "count", "argument": null}],
        });
        let query: Query = serde_json::from_value(query).expect(WELL_FORMED);
        let planning = Planning { indicators };
        database
            .create_view_with("triangles", &query, planning, &mut |_| Ok(()))
            .expect(WELL_FORMED);
        Self(database)
    }
}

impl System for Engine {
    fn apply(&mut self, relation: usize, rows: &RecordBatch, sign: i64) {
        let op = Op {
            table: NAMES[relation],
            direction: if sign == 1 {
                Direction::Insert
            } else {
                Direction::Delete
            },
            rows: std::slice::from_ref(rows),
            multiplicity: None,
        };
        self.0
            .apply(&[op], &mut |_| Ok(()))
            .expect("edges that fit");
    }

    fn count(&self) -> i64 {
        let result = self.0.view_result("triangles").expect(WELL_FORMED);
        let counts: &Int64Array = result.column(0).as_any().downcast_ref().expect("a count");
        counts.value(0)
    }

    fn memory(&self) -> usize {
        self.0.memory_usage().iter().map(|(_, bytes)| bytes).sum()
    }
}

/// The delta query by hand: for an edge of one relation, the common neighbours in the two others.
#[derive(Default)]
struct FirstOrder {
    /// By relation: the edges that leave and the edges that enter a node, each sorted.
    out: [HashMap<i32, Vec<i32>>; 3],
    into: [HashMap<i32, Vec<i32>>; 3],
    count: i64,
}

impl System for FirstOrder {
    fn apply(&mut self, relation: usize, rows: &RecordBatch, sign: i64) {
        let column =
            |at: usize| -> &Int32Array { rows.column(at).as_any().downcast_ref().expect("int32") };
        let (sources, targets) = (column(0), column(1));
        // An edge x -> y of one relation closes with y -> z of the next and z -> x of the one after.
        let (next, after) = ((relation + 1) % 3, (relation + 2) % 3);
        for (&x, &y) in sources.values().iter().zip(targets.values()) {
            let none = Vec::new();
            let leaving = self.out[next].get(&y).unwrap_or(&none);
            let entering = self.into[after].get(&x).unwrap_or(&none);
            let (short, long) = if leaving.len() < entering.len() {
                (leaving, entering)
            } else {
                (entering, leaving)
            };
            let common = short.iter().filter(|z| long.binary_search(z).is_ok());
            self.count += sign * common.count() as i64;
            change(self.out[relation].entry(x).or_default(), y, sign);
            change(self.into[relation].entry(y).or_default(), x, sign);
        }
    }

    fn count(&self) -> i64 {
        self.count
    }

    fn memory(&self) -> usize {
        let all = self.out.iter().chain(&self.into);
        let lists = all
            .clone()
            .flat_map(HashMap::values)
            .map(|list| list.capacity() * size_of::<i32>());
        lists.sum::<usize>()
            + all
                .map(|map| map.capacity() * size_of::<(i32, Vec<i32>)>())
                .sum::<usize>()
    }
}

fn change(list: &mut Vec<i32>, node: i32, sign: i64) {
    match list.binary_search(&node) {
        Ok(at) if sign < 0 => {
            list.remove(at);
        }
        Err(at) if sign > 0 => list.insert(at, node),
        _ => {}
    }
}
