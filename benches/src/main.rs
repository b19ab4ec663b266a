//! `ringview-benches`: streams a workload through systems and prints one JSON line a measurement.
//!
//! Invariant: all systems of one run see the same batches, take turns within each repetition, and must end with the
//! same result. The clock runs only while a system works: batches are cut beforehand, a stretch at a time, so that
//! even batches of one row need little memory.
//!
//! | folder | holds |
//! |---|---|
//! | `common` | relations and batches, clocks, what every system offers |
//! | `baselines` | the programs that ringview is compared with |
//! | `workloads` | one file a stream, with the queries over it |
//! | `ringview` | ringview under those streams |
//! | `harness` | the matrix of a run, and its lines |
//! | `stalls` | the slowest batch beside the median, while tables grow |
//! | `worst` | data made against one way of maintenance, by size |
//! | `correlated` | an order book under queries with correlated aggregates |

mod baselines;
mod common;
mod correlated;
mod harness;
mod ringview;
mod stalls;
mod workloads;
mod worst;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::common::data::Order;
use crate::correlated::Correlated;
use crate::harness::{Phase, Settings, SystemName, matrix};
use crate::workloads::Workload;
use crate::worst::Worst;

const USAGE: &str = "usage: ringview-benches [--workload LIST] [--order LIST] [--batch LIST] [--system LIST] [--scale N]
                        [--deletes back|again] [--repeat N] [--seconds S] [--edges FILE] [--share N] [--export DIR]
       ringview-benches --worst toggles|exponents [--share N]
       ringview-benches --correlated book|cost [--events FILE] [--share N]
       ringview-benches --stalls [--share N]
  workloads: retailer retailer-fact housing triangles triangles-own, each as it is, with -float, -cofactor or -join behind
  orders: sorted shuffled        batches: rows, 1000        scale: of Housing, 20
  systems: handwritten-arrays handwritten-tables ringview-trusted ringview-checked ringview-scalars ringview-plain
           ringview-listing ringview-epsilon recursive first-order, where there is such a program
  --deletes: insert all, then delete all, the last batch first (back) or the first one first (again); time both
  --seconds: stop a stream after that time and report the rows done so far (no results are compared then)
  --edges FILE: sources, then targets, as raw little-endian int32: the graph of the triangles, else a generated one
  --share N: only an Nth of the rows
  --correlated: an order book: its events one at a time; what one costs against the orders that are there
  --events FILE: lines of table (0 or 1), times (1 or -1), volume, price behind a head: the book, else a short one
  --stalls: the slowest batch and the first delete beside the median batch, on the way to ten million rows
  --worst: hubs and cliques whose edges come and go, in time; steps and keys over epsilon, counted
  --export DIR: write the rows of the first workload and order, and stop";

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
    let mut settings = Settings::default();
    let mut export: Option<PathBuf> = None;
    let mut worst: Option<Worst> = None;
    let mut stalls = false;
    let (mut correlated, mut events): (Option<Correlated>, Option<PathBuf>) = (None, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        if flag == "--stalls" {
            stalls = true;
            continue;
        }
        let mut value = || arguments.next().ok_or(format!("{flag} needs a value"));
        match flag.as_str() {
            "--workload" => settings.workloads = list(&value()?, Workload::parse)?,
            "--order" => settings.orders = list(&value()?, parse_order)?,
            "--batch" => settings.batches = list(&value()?, number)?,
            "--system" => settings.systems = list(&value()?, SystemName::parse)?,
            "--deletes" => settings.deletes = Some(Phase::parse_deletes(&value()?)?),
            "--repeat" => settings.repeat = number(&value()?)?,
            "--seconds" => settings.seconds = Some(seconds(&value()?)?),
            "--scale" => settings.size.scale = number(&value()?)?,
            "--edges" => settings.size.edges = Some(value()?.into()),
            "--share" => settings.size.share = number(&value()?)?,
            "--worst" => worst = Some(Worst::parse(&value()?)?),
            "--correlated" => correlated = Some(Correlated::parse(&value()?)?),
            "--events" => events = Some(value()?.into()),
            "--export" => export = Some(value()?.into()),
            _ => return Err(format!("unknown flag {flag}")),
        }
    }
    if stalls {
        return stalls::run(settings.size.share);
    }
    if let Some(worst) = worst {
        return worst.run(settings.size.share);
    }
    if let Some(correlated) = correlated {
        return correlated.run(events.as_deref(), settings.size.share);
    }
    if let Some(folder) = export {
        let data = settings.workloads[0].stream;
        let data = data.generate(settings.orders[0], &settings.size)?;
        return data
            .export(&folder)
            .map_err(|error| format!("cannot write {}: {error}", folder.display()));
    }
    matrix(&settings)
}

fn list<T>(text: &str, parse: fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    text.split(',').map(parse).collect()
}

fn number(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|&n| n > 0)
        .ok_or(format!("{text} is not a positive whole number"))
}

fn seconds(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|&s: &f64| s.is_finite() && s > 0.0)
        .ok_or(format!("{text} is not a number of seconds"))
}

fn parse_order(text: &str) -> Result<Order, String> {
    match text {
        "sorted" => Ok(Order::Sorted),
        "shuffled" => Ok(Order::Shuffled),
        _ => Err(format!("unknown order {text}")),
    }
}
