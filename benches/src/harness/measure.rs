//! Runs the matrix: streams the batches, keeps the clock, compares the results, prints the lines.

use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use serde::Serialize;

use super::roster::SystemName;
use super::settings::{Phase, Settings};
use crate::common::clock::{on_core, resident};
use crate::common::data::{Dataset, Order, Slice};
use crate::common::system::{Reading, System, Totals};
use crate::workloads::Workload;

/// Batches are cut in stretches of this many, between which the clock rests.
const STRETCH: usize = 16_384;

#[derive(Serialize)]
struct Line {
    workload: String,
    order: &'static str,
    batch: usize,
    /// Of Housing.
    scale: Option<usize>,
    system: &'static str,
    phase: &'static str,
    repetition: usize,
    tuples: usize,
    complete: bool,
    seconds: f64,
    /// Time on a core, which the other programs of a busy machine do not stretch.
    cpu_seconds: f64,
    tuples_per_second: f64,
    /// Bytes that the system reports after this phase.
    bytes: usize,
    /// Growth of the process since the system was made; meaningful for the first system of a process.
    resident_bytes: Option<i64>,
    /// Of the whole stream.
    result: Option<Totals>,
    reading: Option<Reading>,
}

pub(crate) fn matrix(settings: &Settings) -> Result<(), String> {
    for &workload in &settings.workloads {
        for &order in &settings.orders {
            let data = workload.stream.generate(order, &settings.size)?;
            for &batch in &settings.batches {
                let cell = Cell {
                    settings,
                    workload,
                    order,
                    batch,
                    data: &data,
                    stream: data.stream(workload.stream.streamed(), batch),
                };
                for repetition in 0..settings.repeat {
                    cell.take_turns(repetition)?;
                }
            }
        }
    }
    Ok(())
}

struct Cell<'a> {
    settings: &'a Settings,
    workload: Workload,
    order: Order,
    batch: usize,
    data: &'a Dataset,
    stream: Vec<Slice>,
}

impl Cell<'_> {
    /// Every system once, from empty, and the same result from all.
    fn take_turns(&self, repetition: usize) -> Result<(), String> {
        let mut agreed: Option<Totals> = None;
        for &name in &self.settings.systems {
            let before = resident();
            let Some(mut system) = name.build(self.workload, self.data) else {
                continue;
            };
            for &relation in self.workload.stream.loaded() {
                system.apply(relation, self.data.batch(relation), 1);
            }
            let mut phase =
                |phase: Phase| self.phase(name, system.as_mut(), phase, repetition, before);
            let result = phase(Phase::Insert)?;
            if let Some(result) = result
                && *agreed.get_or_insert(result) != result
            {
                return Err(format!(
                    "{} has {result:?}, another system {agreed:?}",
                    name.name()
                ));
            }
            // A stream that was cut short is not all there to be deleted.
            if let Some(deletes) = self.settings.deletes.filter(|_| result.is_some()) {
                let rest = phase(deletes)?;
                if rest.is_some_and(|totals| !totals.is_zero()) {
                    return Err(format!(
                        "{} keeps {rest:?} after all was deleted",
                        name.name()
                    ));
                }
            }
        }
        Ok(())
    }

    /// Streams all batches of the phase and prints a line; the result if the stream was completed.
    fn phase(
        &self,
        name: SystemName,
        system: &mut dyn System,
        phase: Phase,
        repetition: usize,
        resident_before: Option<i64>,
    ) -> Result<Option<Totals>, String> {
        let (sign, mut slices): (i64, Box<dyn Iterator<Item = &Slice>>) = match phase {
            Phase::Insert => (1, Box::new(self.stream.iter())),
            Phase::DeleteBack => (-1, Box::new(self.stream.iter().rev())),
            Phase::DeleteAgain => (-1, Box::new(self.stream.iter())),
        };
        let limit = self.settings.seconds.map(Duration::from_secs_f64);
        let (mut time, mut cpu, mut tuples, mut complete) =
            (Duration::ZERO, Duration::ZERO, 0, false);
        while limit.is_none_or(|limit| time < limit) {
            let stretch = slices
                .by_ref()
                .take(STRETCH)
                .map(|slice| (slice.relation, self.data.cut(slice)));
            let stretch: Vec<(usize, RecordBatch)> = stretch.collect();
            if stretch.is_empty() {
                complete = true;
                break;
            }
            let (start, cpu_start) = (Instant::now(), on_core());
            for (relation, batch) in &stretch {
                system.apply(*relation, batch, sign);
                tuples += batch.num_rows();
                if limit.is_some_and(|limit| time + start.elapsed() > limit) {
                    break;
                }
            }
            time += start.elapsed();
            cpu += on_core() - cpu_start;
        }
        // The state of half a stream may be large to read, and there is nothing to compare it with.
        let reading = complete.then(|| system.read()).flatten();
        let read = |reading: &Reading| reading.totals;
        let result = complete.then(|| reading.as_ref().map_or_else(|| system.totals(), read));
        let line = Line {
            workload: self.workload.name(),
            order: if self.order == Order::Sorted {
                "sorted"
            } else {
                "shuffled"
            },
            batch: self.batch,
            scale: self
                .workload
                .stream
                .is_scaled()
                .then_some(self.settings.size.scale),
            system: name.name(),
            phase: phase.name(),
            repetition,
            tuples,
            complete,
            seconds: time.as_secs_f64(),
            cpu_seconds: cpu.as_secs_f64(),
            tuples_per_second: tuples as f64 / time.as_secs_f64(),
            bytes: system.memory(),
            resident_bytes: resident()
                .zip(resident_before)
                .map(|(after, before)| after - before),
            result,
            reading,
        };
        println!(
            "{}",
            serde_json::to_string(&line).map_err(|error| error.to_string())?
        );
        Ok(result)
    }
}
