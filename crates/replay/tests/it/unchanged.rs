//! Unchanged programs on a machine that costs nothing, with a core for each thread: the replay is the run.

use crate::programs::{any_program, any_shape, program_of, recorded_ends, unchanged};
use holdup_model::{Nanos, Process};
use holdup_replay::Replayed;
use holdup_testkit::any_script;
use proptest::prelude::*;

/// The longest that any thread of the process works and pauses by itself (ns): no schedule is shorter.
fn longest_alone(process: &Process) -> u64 {
    let mut alone: Vec<u64> = process.threads.iter().map(|thread| thread.cpu.map_or(0, Nanos::get)).collect();
    for block in &process.blocks {
        alone[block.thread.index()] += block.end.since(block.begin).get();
    }
    alone.into_iter().max().unwrap_or(0)
}

/// All that any thread works and pauses (ns): while a program lasts, one of its threads does one of these.
fn all_alone(process: &Process) -> u64 {
    let cpu: u64 = process.threads.iter().filter_map(|thread| thread.cpu).map(Nanos::get).sum();
    let pauses: u64 = process.blocks.iter().map(|block| block.end.since(block.begin).get()).sum();
    cpu + pauses
}

fn all_work_is_done(process: &Process, replayed: &Replayed) {
    let program = program_of(process);
    assert_eq!(replayed.let_through, 0);
    assert_eq!(replayed.worked.iter().sum::<u64>(), program.work());
    let cpu: Nanos = process.threads.iter().filter_map(|thread| thread.cpu).sum();
    assert_eq!(program.work(), cpu.get());
    assert!(replayed.ends.iter().all(Option::is_some), "{:?}", replayed.ends);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// Exactly: the wall time, and the end of each thread.
    #[test]
    fn a_replay_is_the_run(script in any_program()) {
        let process = script.play();
        let replayed = unchanged(&process);
        all_work_is_done(&process, &replayed);
        prop_assert_eq!(&replayed.ends, &recorded_ends(&process));
        prop_assert_eq!(replayed.wall, process.wall());
    }

    /// The latency of wake-ups is the machine's, and no part of the program. Locks are left out of this: while a thread
    /// wakes up that a script has given the lock to, another one may take it in a replay.
    #[test]
    fn wake_ups_are_no_work(shape in any_shape(), latency in 0..5_000u64) {
        let (mut script, quick) = (shape.script(), shape.script());
        script.wake_up_takes(latency);
        let (process, quick) = (script.play(), quick.play());
        prop_assert_eq!(program_of(&process).work(), program_of(&quick).work());
        all_work_is_done(&process, &unchanged(&process));
    }

    /// With ties the order of threads may be another one, and so the length: between the longest thread alone and all
    /// threads one after the other, as for each schedule in which somebody can always go on.
    #[test]
    fn with_ties_it_is_another_run_of_the_program(mut script in any_script()) {
        script.wake_up_takes(0);
        let process = script.play();
        let replayed = unchanged(&process);
        all_work_is_done(&process, &replayed);
        prop_assert!(replayed.wall.get() >= longest_alone(&process));
        prop_assert!(replayed.wall.get() <= all_alone(&process));
    }
}
