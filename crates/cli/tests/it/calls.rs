//! System calls that can block: which are recorded as blocked.

use std::process::Command;

use holdup_model::Call;
use holdup_recording::Recording;

use crate::stage::{HOLDUP, Stage, run, skip};

/// True from the version of glibc on that registers restartable sequences, by which threads see that they lose their core.
fn sees_lost_cores() -> bool {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().map(|output| output.stdout);
    let version = String::from_utf8(output.unwrap_or_default()).unwrap_or_default();
    let numbers = version.trim().strip_prefix("glibc ").and_then(|version| version.split_once('.'));
    numbers.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?))) >= Some((2, 35))
}

#[test]
fn a_call_in_which_the_thread_keeps_its_core_is_work() {
    if !sees_lost_cores() {
        return skip("the C library is older than glibc 2.35");
    }
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
    // Each takes long enough to be recorded as blocked. On a busy machine many lose their core, and the kernel knows how many.
    let lost: usize =
        String::from_utf8_lossy(&ended.stdout).trim().parse().expect("how many reads can have lost the core");
    let blocked = count(Call::Read);
    assert!(blocked <= lost, "{blocked} of {READS} reads have blocked, and {lost} can have lost their core");
}
