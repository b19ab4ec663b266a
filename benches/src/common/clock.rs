//! Units of a measurement: time on a core, and resident bytes.

use std::time::Duration;

/// Resident bytes of this process, where the system has a figure.
pub(crate) fn resident() -> Option<i64> {
    let pages: i64 = std::fs::read_to_string("/proc/self/statm")
        .ok()?
        .split(' ')
        .nth(1)?
        .parse()
        .ok()?;
    Some(pages * 4096)
}

/// Time that this thread has spent on a core.
pub(crate) fn on_core() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
