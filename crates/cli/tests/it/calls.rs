//! System calls that can block: which are recorded as blocked.

use std::process::Command;

use holdup_model::{Call, ObjectKind, Outcome, Process, ThreadId, Wait, endings};
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

/// What two threads of a program can send to each other by, and the call in which the second one waits for what the first one does.
const CHANNELS: [(&str, Call); 11] = [
    ("pipe", Call::Read),
    ("copy", Call::Read),
    ("sockets", Call::Read),
    ("event", Call::Read),
    ("poll", Call::Poll),
    ("select", Call::Poll),
    ("epoll", Call::Poll),
    ("nested", Call::Poll),
    ("closed", Call::Read),
    ("full", Call::Write),
    ("sockets-full", Call::Write),
];

/// Threads that send to each other through the kernel wait for each other, and not for a device.
#[test]
fn who_reads_what_another_thread_writes_waits_for_that_thread() {
    let stage = Stage::new();
    let program = stage.program("channels", &[]);
    for (how, call) in CHANNELS {
        let process = recorded(&stage, &program, how);
        let seen = format!("{how}: {:#?} {:#?} {:#?}", process.waits, process.wakes, process.blocks);
        let (kind, name) = match call {
            Call::Write => (ObjectKind::Room, "to main"),
            _ => (ObjectKind::Messages, "to taker"),
        };
        let is_kind = |wait: &Wait| process.object(wait.object).kind == kind;
        let waits: Vec<usize> =
            (0..process.waits.len()).filter(|&index| is_kind(&process.waits[index])).collect();
        let [index] = waits[..] else { panic!("one wait of {kind:?}: {seen}") };
        let (wait, ending) = (&process.waits[index], endings(&process)[index]);
        assert_eq!((wait.thread, process.object(wait.object).name.as_deref()), (TAKER, Some(name)), "{seen}");
        assert!(ending.by == Some(MAIN) && ending.at > wait.begin, "{ending:?} of {seen}");
        let waited = process.blocks.iter().any(|block| (block.thread, block.call) == (TAKER, call));
        assert!(!waited, "{seen}");
    }
}

/// A process sends to the one that made it, which runs the same program: both are reported as one, and wait for each other.
#[test]
fn who_reads_what_a_process_of_the_same_program_writes_waits_for_that_process() {
    let stage = Stage::new();
    let program = stage.program("channels", &[]);
    // Forked, executed, and forked before there was a pipe, an end of which was sent to it.
    for how in ["child", "itself", "sent"] {
        let process = recorded(&stage, &program, how);
        let seen = format!("{how}: {:#?} {:#?} {:#?}", process.waits, process.wakes, process.blocks);
        assert_eq!(process.joined.len(), 1, "{seen}");
        let child = ThreadId::new(2);
        assert!(process.is_another(child), "{seen}");
        let endings = endings(&process);
        let waits = process.waits.iter().zip(&endings);
        let mut waited: Vec<(ThreadId, Option<ThreadId>, bool)> = waits
            .filter(|(wait, _)| process.object(wait.object).kind == ObjectKind::Messages)
            .map(|(wait, ending)| (wait.thread, ending.by, process.object(wait.object).shared))
            .collect();
        waited.sort_unstable();
        // What is sent to it may have to be waited for, before the line is.
        if how == "sent" {
            waited.dedup();
        }
        assert_eq!(waited, [(TAKER, Some(child), true), (child, Some(MAIN), true)], "{seen}");
        assert_eq!(process.wakes.iter().filter(|wake| wake.thread == child).count(), 1, "{seen}");
        let reads = process.blocks.iter().filter(|block| block.call == Call::Read).count();
        assert_eq!(reads, 0, "{seen}");
    }
}

/// Who waits for the end of a process that it forked is reported with it as one, and waits for that.
#[test]
fn who_waits_for_a_forked_process_joins_it() {
    let stage = Stage::new();
    let process = recorded(&stage, &stage.program("channels", &[]), "waits");
    let seen = format!("{:#?} {:#?}", process.waits, process.blocks);
    let endings = endings(&process);
    let waits = process.waits.iter().zip(&endings);
    let ends = waits.filter(|(wait, _)| process.object(wait.object).kind == ObjectKind::ThreadEnd);
    let ends: Vec<(ThreadId, Option<ThreadId>)> =
        ends.map(|(wait, ending)| (wait.thread, ending.by)).collect();
    assert_eq!(ends, [(MAIN, Some(ThreadId::new(1)))], "{seen}");
    assert!(process.is_another(ThreadId::new(1)), "{seen}");
    assert!(!process.blocks.iter().any(|block| block.call == Call::WaitChild), "{seen}");
}

/// Polls with a time limit are parts of the wait for what comes in the end, also where who sent that is killed at once; and who reads from a
/// timer sleeps.
#[test]
fn who_polls_until_a_worker_sends_its_result_waits_for_it_all_the_time() {
    let stage = Stage::new();
    let program = stage.program("kills_its_workers", &[]);
    let process = recorded(&stage, &program, "results");
    let seen = format!("{:#?} {:#?} {:#?}", process.waits, process.wakes, process.blocks);
    assert_eq!(process.joined.len(), 5, "{seen}");
    let parents: Vec<_> = process.threads.iter().map(|thread| thread.parent).collect();
    assert_eq!(parents[1..], [Some(MAIN); 5], "{seen}");
    // That it has sent something may be unsaid of one that was killed in that moment.
    let mut results =
        process.waits.iter().filter(|wait| process.object(wait.object).kind == ObjectKind::Messages);
    assert!(results.any(|wait| wait.outcome == Outcome::TimedOut), "{seen}");
    assert!(process.blocks.iter().any(|block| block.thread == MAIN && block.call == Call::Sleep), "{seen}");
}

/// What another program sends, and what a descriptor brings that was a channel before, is for no thread of this one.
#[test]
fn who_reads_what_another_program_writes_waits_for_no_thread() {
    let stage = Stage::new();
    let program = stage.program("channels", &[]);
    for how in ["program", "again"] {
        let process = recorded(&stage, &program, how);
        let waits = process.waits.iter().filter(|wait| process.object(wait.object).kind.is_channel()).count();
        let reads = process.blocks.iter().filter(|block| block.call == Call::Read && block.thread == TAKER);
        assert_eq!((waits, reads.count()), (0, 1), "{how}: {:#?} {:#?}", process.waits, process.blocks);
    }
}

const MAIN: ThreadId = ThreadId::new(0);
const TAKER: ThreadId = ThreadId::new(1);

/// The first process of a run of `channels`, as the library inside saw it.
fn recorded(stage: &Stage, program: &std::path::Path, how: &str) -> Process {
    let recording = stage.path(format!("{how}.holdup"));
    let mut holdup = Command::new(HOLDUP);
    holdup.args(["record", "--collectors", "preload", "-o"]).arg(&recording).arg("--").arg(program).arg(how);
    let ended = run(&mut holdup);
    assert_eq!((ended.status, ended.stdout.as_slice()), (0, &b"42\n"[..]), "{how}: {ended:?}");
    let (recording, warnings) = Recording::open(&recording).expect("a recording");
    recording.run(&warnings).processes.remove(0)
}
