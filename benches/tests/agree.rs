//! All systems end with the same result, and with nothing once everything is deleted, whichever way it leaves.

use std::process::Command;

/// Runs the program on small streams, which fails where systems disagree; how many lines it prints.
fn lines(arguments: &[&str]) -> usize {
    let run = Command::new(env!("CARGO_BIN_EXE_ringview-benches"))
        .arg("--quick")
        .args(arguments)
        .output()
        .expect("the program runs");
    let problem = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{problem}");
    let lines = run.stdout.split(|&byte| byte == b'\n');
    lines.filter(|line| !line.is_empty()).count()
}

#[test]
fn sums_agree_on_small_streams() {
    for deletes in ["back", "again"] {
        let sums = ["--workload", "retailer,retailer-fact,housing"];
        let rest = ["--batch", "7,1000", "--deletes", deletes];
        let workloads_orders_batches_phases = 3 * 2 * 2 * 2;
        let found = lines(&[&sums[..], &rest[..]].concat());
        assert_eq!(found, workloads_orders_batches_phases * 5);
    }
}

#[test]
fn cofactors_agree_on_small_streams() {
    // Trusted, checked, one SUM a number, first order, recursive.
    let systems = 5;
    let both = ["--workload", "housing-cofactor,retailer-fact-cofactor"];
    let rest = ["--order", "shuffled", "--deletes", "back"];
    assert_eq!(lines(&[&both[..], &rest[..]].concat()), 2 * 2 * systems);
    let all = ["--workload", "retailer-cofactor", "--order", "sorted"];
    assert_eq!(lines(&all), systems);
}
