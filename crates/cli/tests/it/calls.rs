//! System calls that can block: what is told of them.

use std::process::Command;

use holdup_model::Call;
use holdup_recording::Recording;

use crate::stage::{HOLDUP, Stage, run};

#[test]
fn a_call_in_which_the_thread_keeps_its_core_is_work() {
    const SLEEPS: usize = 50;
    const READS: usize = 500;
    let stage = Stage::new();
    let (program, recording) = (stage.program("reads_much", &[]), stage.path("calls.holdup"));
    let mut holdup = Command::new(HOLDUP);
    holdup.args(["record", "--collectors", "preload", "-o"]).arg(&recording).arg("--").arg(&program);
    let ended = run(&mut holdup);
    assert_eq!(ended.status, 0, "{ended:?}");
    let (recording, warnings) = Recording::open(&recording).expect("a recording");
    let recorded = recording.run(&warnings);
    let count = |call| recorded.processes[0].blocks.iter().filter(|block| block.call == call).count();
    assert_eq!(count(Call::Sleep), SLEEPS);
    // Each takes longer than what is told of; what is told lost its core meanwhile, to others on a busy machine.
    assert!(count(Call::Read) < READS / 2, "{} of {READS} reads are told to have blocked", count(Call::Read));
}
