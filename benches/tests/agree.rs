//! All systems end with the same result, and with nothing once everything is deleted, whichever way it leaves.
//!
//! The program itself compares what systems have at the end of a stream, and fails where they differ.

use std::process::Command;

/// Runs the program on small streams; how many lines it prints.
fn lines(arguments: &str) -> usize {
    let run = Command::new(env!("CARGO_BIN_EXE_ringview-benches"))
        .args(["--share", "400"])
        .args(arguments.split(' '))
        .output()
        .expect("the program runs");
    let problem = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{problem}");
    let lines = run.stdout.split(|&byte| byte == b'\n');
    lines.filter(|line| !line.is_empty()).count()
}

#[test]
fn sums_agree() {
    // Two programs by hand, the engine trusted and checked, first order.
    let systems = 5;
    for deletes in ["back", "again"] {
        let workloads_orders_batches_phases = 3 * 2 * 2 * 2;
        let sums = "--workload retailer,retailer-fact,housing --batch 7,1000 --deletes";
        let found = lines(&format!("{sums} {deletes}"));
        assert_eq!(found, workloads_orders_batches_phases * systems);
    }
}

#[test]
fn cofactors_agree_to_the_number() {
    // The engine trusted, checked and with a number an entry; recursive, first order.
    let systems = 5;
    let few = "--scale 2 --order shuffled --deletes back --workload";
    let both = lines(&format!("{few} housing-cofactor,retailer-fact-cofactor"));
    assert_eq!(both, 2 * 2 * systems);
    assert_eq!(
        lines("--order sorted --workload retailer-cofactor"),
        systems
    );
}

#[test]
fn triangles_agree() {
    // The engine with indicators, without, checked, and by heavy and light parts; first order by hand.
    let counts = "--workload triangles,triangles-own --batch 10,1000 --deletes again";
    assert_eq!(lines(counts), 2 * 2 * 2 * 2 * 5);
    // The same, and recursive, and a number an entry.
    let cofactors = "--workload triangles-cofactor --order shuffled --deletes back";
    assert_eq!(lines(cofactors), 2 * 6);
}

#[test]
fn joins_agree() {
    // Factorised, with base rows and without; a listing.
    let systems = 3;
    let housing = "--workload housing-join --scale 3 --batch 7,1000 --deletes back";
    assert_eq!(lines(housing), 2 * 2 * 2 * systems);
    let retailer = "--workload retailer-fact-join --order shuffled --deletes again";
    assert_eq!(lines(retailer), 2 * systems);
}

#[test]
fn worst_cases_are_told() {
    // Hub and clique of two sizes, three systems.
    assert_eq!(lines("--worst toggles"), 2 * 2 * 3);
    // Eleven epsilons and two kinds of data, six and the third, two sizes.
    assert_eq!(lines("--worst exponents"), (11 * 2 + 6) * 2);
}
