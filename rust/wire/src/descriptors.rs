//! The descriptors of this process.
//!
//! Invariant: connections leave descriptors for the files of databases, which cannot be written without. Cost: a file
//! of the system read once a server; on other systems than Linux there is no limit.

use std::fs::read_to_string;

/// Descriptors for everything but connections.
const OTHERS: usize = 128;

/// So many connections, or as many as leave room for files; one at least.
pub(crate) fn connections(wanted: usize) -> usize {
    let limits = read_to_string("/proc/self/limits").ok();
    match limits.as_deref().and_then(soft_limit) {
        Some(most) => wanted.min(most.saturating_sub(OTHERS)).max(1),
        None => wanted,
    }
}

fn soft_limit(limits: &str) -> Option<usize> {
    let mut lines = limits.lines();
    let line = lines.find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_room_for_files() {
        let table = "Limit  Soft Limit  Hard Limit  Units\nMax open files  1024  4096  files\n";
        assert_eq!(soft_limit(table), Some(1024));
        assert_eq!(
            soft_limit("Max open files  unlimited  unlimited  files"),
            None
        );
        assert_eq!(connections(1), 1);
        assert!(connections(usize::MAX) > 0);
    }
}
