//! Threads that share the work of a transaction.
//!
//! A task is the work of one view, or on the base rows of a table; a free thread takes the next. Invariant: no two
//! tasks touch the same data, and of several errors the first task's is returned. So results, errors and the state
//! after an error are the same for any number of threads, to the last bit. The thread of the caller takes tasks as the
//! others do, and polls for an interruption while it waits for them. Cost: none for one thread; handing work over takes
//! some microseconds, so few rows are not handed over.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuilder};
use ringview_core::{Budget, Error, Result};

/// Rows of all tasks that are worth handing over: waking a thread costs as much as some hundred of them. All are where
/// every check is on, so that tests see it.
const WORTH: usize = if cfg!(debug_assertions) { 1 } else { 4096 };
/// Time that the caller waits between two polls.
const PATIENCE: Duration = Duration::from_millis(20);

/// The threads of a database, beside that of whoever calls; they start when there is first something for them.
#[derive(Debug, Default)]
pub(crate) struct Workers {
    helpers: usize,
    pool: OnceLock<Option<ThreadPool>>,
}

/// The first of the tasks that failed; an interruption of the call precedes all.
type Failed = Mutex<Option<(Option<usize>, Error)>>;

impl Workers {
    /// So many threads in all.
    pub(crate) fn new(threads: Option<NonZeroUsize>) -> Self {
        Self {
            helpers: threads.map_or(0, |threads| threads.get() - 1),
            pool: OnceLock::new(),
        }
    }

    /// Whether there may be others beside the thread of the caller.
    pub(crate) fn are_several(&self) -> bool {
        self.helpers > 0
    }

    /// Does all tasks; `rows` is how many rows each of them is about.
    ///
    /// # Errors
    /// That of the first task which fails; what the poll says. Some tasks may then not have begun.
    pub(crate) fn each<T: Send>(
        &self,
        rows: usize,
        mut tasks: impl Iterator<Item = T>,
        budget: &Budget<'_>,
        work: impl Fn(T, &Budget<'_>) -> Result<()> + Sync,
    ) -> Result<()> {
        if self.helpers == 0 {
            return tasks.try_for_each(|task| work(task, budget));
        }
        let tasks: Vec<T> = tasks.collect();
        let all = rows.saturating_mul(tasks.len());
        let pool = (tasks.len() > 1).then(|| self.pool(all)).flatten();
        let Some(pool) = pool else {
            return tasks.into_iter().try_for_each(|task| work(task, budget));
        };
        let helpers = pool.current_num_threads().min(tasks.len() - 1);
        let (tasks, failed) = (Mutex::new(tasks.into_iter().enumerate()), Failed::default());
        let (stop, over) = (AtomicBool::new(false), AtomicBool::new(false));
        // Tasks are begun in order: before one that fails, all have begun.
        let take_turns = |budget: &Budget<'_>| {
            while !over.load(Ordering::Relaxed)
                && let Some((at, task)) = next(&tasks)
            {
                if let Err(error) = work(task, budget) {
                    over.store(true, Ordering::Relaxed);
                    note(&failed, (!budget.is_refused()).then_some(at), error);
                }
            }
        };
        let mut grown = 0;
        pool.in_place_scope(|scope| {
            let (finished, others) = mpsc::channel();
            for _ in 0..helpers {
                let (finished, share) = (finished.clone(), budget.share(&stop));
                let take_turns = &take_turns;
                scope.spawn(move |_| {
                    let own = share.budget();
                    take_turns(&own);
                    // The caller waits for it, unless it panics.
                    let _ = finished.send(own.grown_since(&share));
                });
            }
            drop(finished);
            take_turns(budget);
            stop.store(budget.is_refused(), Ordering::Relaxed);
            loop {
                match others.recv_timeout(PATIENCE) {
                    Ok(bytes) => grown += bytes,
                    Err(RecvTimeoutError::Disconnected) => break,
                    Err(RecvTimeoutError::Timeout) => {
                        if let Err(error) = budget.ask() {
                            stop.store(true, Ordering::Relaxed);
                            note(&failed, None, error);
                        }
                    }
                }
            }
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some((_, error)) => Err(error),
            None => budget.grown(grown),
        }
    }

    /// The threads, where there are some and so many rows are worth their while.
    fn pool(&self, rows: usize) -> Option<&ThreadPool> {
        if rows < WORTH {
            return None;
        }
        // If the system has no more threads, the caller works alone.
        let made = || ThreadPoolBuilder::new().num_threads(self.helpers).build();
        self.pool.get_or_init(|| made().ok()).as_ref()
    }
}

/// The next task; the lock is given back before it begins.
fn next<I: Iterator>(tasks: &Mutex<I>) -> Option<I::Item> {
    locked(tasks).next()
}

/// Keeps the first of errors.
fn note(failed: &Failed, at: Option<usize>, error: Error) {
    let mut first = locked(failed);
    if first.as_ref().is_none_or(|(other, _)| at < *other) {
        *first = Some((at, error));
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use ringview_core::PERIOD;

    use super::*;

    fn overflow(at: usize) -> Error {
        Error::Overflow {
            place: format!("task {at}"),
        }
    }

    fn workers(threads: usize) -> Workers {
        Workers::new(NonZeroUsize::new(threads))
    }

    #[test]
    fn every_task_is_done_once() {
        for threads in 1..5 {
            let workers = workers(threads);
            let done: Vec<AtomicUsize> = (0..100).map(|_| AtomicUsize::new(0)).collect();
            let outcome = workers.each(9, 0..100usize, &Budget::free(), |task, budget| {
                done[task].fetch_add(1, Ordering::Relaxed);
                budget.grown(task as u64)
            });
            assert_eq!(outcome, Ok(()));
            assert!(done.iter().all(|count| count.load(Ordering::Relaxed) == 1));
        }
    }

    #[test]
    fn the_first_task_that_fails_is_told() {
        for threads in [1, 2, 4] {
            let workers = workers(threads);
            for first in [0, 1, 7, 31] {
                let outcome = workers.each(9, 0..32, &Budget::free(), |task, _| {
                    if task >= first {
                        return Err(overflow(task));
                    }
                    Ok(())
                });
                assert_eq!(outcome, Err(overflow(first)));
            }
        }
    }

    #[test]
    fn who_stops_the_call_stops_the_others() {
        for threads in [1, 2, 3] {
            let workers = workers(threads);
            let mut asked = 0;
            let mut poll = |_| {
                asked += 1;
                if asked > 3 {
                    Err(Error::Interrupted)
                } else {
                    Ok(())
                }
            };
            let budget = Budget::new(&mut poll);
            // None of them would end by itself.
            let outcome = workers.each(9, 0..8, &budget, |_, budget| {
                loop {
                    budget.work(PERIOD / 2)?;
                }
            });
            assert_eq!(outcome, Err(Error::Interrupted));
        }
    }

    #[test]
    fn what_grows_under_all_threads_counts() {
        for threads in [1, 2] {
            let budget = Budget::free().limited(1_000, 0);
            let grow = |_, budget: &Budget<'_>| budget.grown(300);
            assert_eq!(workers(threads).each(9, 0..3, &budget, grow), Ok(()));
            let outcome = workers(threads).each(9, 0..3, &budget, grow);
            assert!(matches!(outcome, Err(Error::Memory { .. })), "{outcome:?}");
        }
    }
}
