//! All systems end with the same result, and with nothing once everything is deleted, whichever way it leaves.

use std::process::Command;

#[test]
fn systems_agree_on_small_streams() {
    for deletes in ["back", "again"] {
        let arguments = ["--quick", "--batch", "7,1000", "--deletes", deletes];
        let run = Command::new(env!("CARGO_BIN_EXE_ringview-benches"))
            .args(arguments)
            .output()
            .expect("the program runs");
        assert!(
            run.status.success(),
            "{}",
            String::from_utf8_lossy(&run.stderr)
        );
        let orders_batches_phases = 2 * 2 * 2;
        let systems_of_all_workloads = 3 * 5 + 3 * 3;
        let lines = run
            .stdout
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty());
        assert_eq!(
            lines.count(),
            orders_batches_phases * systems_of_all_workloads
        );
    }
}
