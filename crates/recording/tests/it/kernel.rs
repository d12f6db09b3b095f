//! A recording of the kernel collector alone becomes a process with threads, waits and samples.

use std::collections::BTreeMap;

use holdup_model::{
    Access, AccessKind, Call, Doing, Nanos, ObjectKind, Run, State, ThreadId, Time, Timeline,
};
use holdup_recording::facts::{
    ClockSample, ImageNames, NamedFrame, ProcessEnd, ProcessStart, Session, SessionEnd,
};
use holdup_recording::format::FrameKind;
use holdup_recording::{Recording, Writer};
use holdup_trace::kernel::{self, AccessCode, CoverageCode, NO_CALL, SampleCode};
use holdup_trace::wire::{self, NO_STACK, NO_THREAD};
use proptest::prelude::*;

const FUTEX: u32 = 202;
const READ: u32 = 0;
const WRITE: u32 = 1;
const MAIN: (u32, u32) = (7, 7);
const WORKER: (u32, u32) = (7, 8);

fn recorded(write: impl FnOnce(&mut Vec<u64>)) -> Run {
    recorded_beside(&[], write)
}

/// With processes that the library was in.
fn recorded_beside(processes: &[(ProcessStart, ProcessEnd)], write: impl FnOnce(&mut Vec<u64>)) -> Run {
    recorded_until(2_000, processes, write)
}

/// A recording that ends at `end`.
fn recorded_until(
    end: u64,
    processes: &[(ProcessStart, ProcessEnd)],
    write: impl FnOnce(&mut Vec<u64>),
) -> Run {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.holdup");
    let mut writer = Writer::create(&path).unwrap();
    let session = Session {
        clock: "monotonic".into(),
        start: 1_000,
        ticks_per_second: 1e9,
        command: vec!["./static".into()],
        cores: 2,
        ..Session::default()
    };
    writer.facts(FrameKind::Session, 0, &session).unwrap();
    writer.facts(FrameKind::Clock, 0, &ClockSample { ticks: 1_000, monotonic_ns: 1_000 }).unwrap();
    for ((start, end), number) in processes.iter().zip(0..) {
        writer.facts(FrameKind::ProcessStart, number, start).unwrap();
        writer.facts(FrameKind::ProcessEnd, number, end).unwrap();
        let main = wire::thread_start(start.start, NO_THREAD, 0, NO_STACK, 0, start.pid);
        writer.chunk(number, 0, 0, &main).unwrap();
    }
    let mut words = Vec::new();
    write(&mut words);
    writer.kernel(&words).unwrap();
    let frame = |function: &str, module: &str| NamedFrame {
        function: Some(function.into()),
        module: Some(module.into()),
        ..NamedFrame::default()
    };
    let names = ImageNames {
        image: 1,
        executed: BTreeMap::from([
            (0x10, vec![frame("__lll_lock_wait_private", "libc.so.6")]),
            (0x20, vec![frame("crunch", "static")]),
            (0x30, vec![frame("read", "libc.so.6")]),
            (0x40, vec![frame("__vdso_clock_gettime", "[vdso]")]),
            (0x70, vec![frame("__lll_lock_wake_private", "libc.so.6")]),
            (0x80, vec![frame("holdup_preload::mutex::lock", "libholdup_preload.so")]),
        ]),
        callers: BTreeMap::from([
            (0x11, vec![frame("malloc", "libc.so.6")]),
            (0x41, vec![frame("clock_gettime", "libc.so.6")]),
            (0x51, vec![frame("until", "static")]),
            (0x61, vec![frame("stamp", "static")]),
            (0x71, vec![frame("GOMP_task", "libgomp.so.1")]),
        ]),
        waiting_loops: vec![0x20, 0x51],
        helpers: vec![0x40, 0x41],
        warnings: Vec::new(),
        unnamed: Vec::new(),
        variables: BTreeMap::from([(0x8010, "rows".to_owned())]),
    };
    writer.facts(FrameKind::ImageNames, 0, &names).unwrap();
    writer.facts(FrameKind::SessionEnd, 0, &SessionEnd { end, ..SessionEnd::default() }).unwrap();
    drop(writer);
    let (recording, warnings) = Recording::open(&path).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    recording.run(&warnings)
}

fn lives(out: &mut Vec<u64>) {
    kernel::coverage(out, 0, CoverageCode::Begin);
    kernel::exec(out, 1_000, 7, 1, b"./static\0-j\0");
    kernel::start(out, 1_100, WORKER, MAIN, 1);
    kernel::name(out, 1_100, WORKER, b"worker");
    kernel::stack(out, 1, 1, false, &[0x10, 0x11]);
    kernel::stack(out, 2, 1, false, &[0x20]);
    kernel::stack(out, 3, 1, false, &[0x30]);
}

/// A program that becomes another user and executes another program, into which the library cannot come.
#[test]
fn a_program_has_ended_where_its_process_executes_another() {
    let start = ProcessStart { pid: 7, parent_pid: 1, start: 1_100, forked: false };
    let run = recorded_beside(&[(start, ProcessEnd { end: 2_000, ..ProcessEnd::default() })], |out| {
        kernel::coverage(out, 0, CoverageCode::Begin);
        kernel::exec(out, 1_000, 7, 1, b"setpriv\0");
        kernel::exec(out, 1_300, 7, 2, b"postgres\0");
    });
    let process = &run.processes[0];
    assert_eq!((process.pid, process.start, process.end), (7, Time::from_nanos(0), Time::from_nanos(300)));
    let timeline = Timeline::build(process);
    assert_eq!((timeline.check(), timeline.end), (Ok(()), Time::from_nanos(300)));
}

/// On a busy machine the recorder may notice late that a process was killed.
#[test]
fn what_a_killed_thread_used_is_known_however_late_the_recording_ends() {
    let start = ProcessStart { pid: 7, parent_pid: 1, start: 1_100, forked: false };
    for end in [2_000, 80_000_000] {
        let run = recorded_until(end, &[(start.clone(), ProcessEnd::default())], |out| {
            kernel::coverage(out, 0, CoverageCode::Begin);
            kernel::exec(out, 1_000, 7, 1, b"killed\0");
            kernel::switch(out, 1_200, MAIN, 0, false, false);
            kernel::exit(out, 1_900, MAIN);
        });
        assert_eq!(run.processes[0].threads[0].known_cpu(), Some(Nanos::new(700)), "{end}");
    }
}

/// Who asks for the time waits if the loop around the call does; what the clock's own code does is no matter.
#[test]
fn the_loop_that_asks_for_the_time_says_whether_it_waits() {
    let run = recorded(|out| {
        lives(out);
        kernel::stack(out, 4, 1, false, &[0x40, 0x41, 0x51]);
        kernel::stack(out, 5, 1, false, &[0x40, 0x41, 0x61]);
        for (time, stack) in [(1_300, 2), (1_400, 4), (1_500, 5)] {
            kernel::sample(out, time, WORKER, SampleCode::Running, 100, stack, NO_CALL, 0);
        }
    });
    let process = &run.processes[0];
    let told = process.samples.iter().map(|sample| {
        let site = process.site(sample.site.expect("a stack"));
        (site.frames.last().and_then(|frame| frame.function.as_deref()), site.in_waiting_loop)
    });
    let expected = [(Some("crunch"), true), (Some("until"), true), (Some("stamp"), false)];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

#[test]
fn threads_are_active_while_they_are_on_a_core() {
    let run = recorded(|out| {
        lives(out);
        kernel::switch(out, 1_200, WORKER, 1, false, false);
        kernel::switch(out, 1_500, MAIN, 0, true, true);
        kernel::switch(out, 1_600, MAIN, 0, false, false);
        kernel::switch(out, 1_800, WORKER, 1, true, false);
        let access = kernel::Access { address: 0x8010, bytes: 4, code: AccessCode::Update };
        kernel::running(
            out,
            1_400,
            WORKER,
            100,
            2,
            kernel::Running { access: Some(access), in_kernel: None },
        );
    });
    let [process] = run.processes.as_slice() else { panic!("{} processes", run.processes.len()) };
    assert_eq!((process.pid, process.command.as_slice()), (7, &["./static".to_owned(), "-j".to_owned()][..]));
    assert_eq!(process.threads[1].parent, Some(ThreadId::new(0)));
    assert!(process.seen_by.kernel && !process.seen_by.preload);
    let timeline = Timeline::build(process);
    assert_eq!(timeline.check(), Ok(()));
    let time = |thread: usize, wanted| timeline.threads[thread].time_in(|state| state == wanted).get();
    assert_eq!((time(0, State::Active), time(0, State::Descheduled)), (900, 100));
    // Started at 100, on a core from 200 to 800, of which a sample in a waiting loop at 400 stands for 200.
    assert_eq!((time(1, State::Active), time(1, State::Spinning)), (400, 200));
    assert_eq!((time(1, State::Descheduled), time(1, State::Blocked)), (100, 200));
    assert_eq!(process.samples[0].doing, Doing::Running);
    let access = Access { address: 0x8010, bytes: 4, kind: AccessKind::Update };
    assert_eq!(process.samples[0].access, Some(access));
    assert_eq!(process.variables, BTreeMap::from([(0x8010, "rows".to_owned())]));
}

#[test]
fn what_the_injected_library_accessed_is_none_of_the_programs_data() {
    let access = kernel::Access { address: 0x8010, bytes: 4, code: AccessCode::Atomic };
    let run = recorded(|out| {
        lives(out);
        kernel::stack(out, 4, 1, false, &[0x80, 0x51]);
        kernel::running(
            out,
            1_300,
            WORKER,
            100,
            2,
            kernel::Running { access: Some(access), in_kernel: None },
        );
        kernel::running(
            out,
            1_400,
            WORKER,
            100,
            4,
            kernel::Running { access: Some(access), in_kernel: None },
        );
    });
    let accessed: Vec<bool> = run.processes[0].samples.iter().map(|sample| sample.access.is_some()).collect();
    assert_eq!(accessed, [true, false]);
}

#[test]
fn blocked_times_are_explained_by_looks_at_the_thread() {
    let run = recorded(|out| {
        lives(out);
        // Three times blocked; it was seen in the first and in the last.
        for (begin, end) in [(1_200, 1_300), (1_400, 1_420), (1_500, 1_600)] {
            kernel::switch(out, begin, WORKER, 1, true, false);
            kernel::switch(out, end, WORKER, 1, false, false);
        }
        kernel::sample(out, 1_250, WORKER, SampleCode::Blocked, 20, 1, FUTEX, 0xf00);
        kernel::sample(out, 1_600, WORKER, SampleCode::Blocked, 20, 3, READ, 4);
        kernel::waking(out, 1_290, 8, 7);
        kernel::waking(out, 1_410, 8, 0);
    });
    let process = &run.processes[0];
    let waits: Vec<_> = process
        .waits
        .iter()
        .map(|wait| (wait.begin.nanos(), wait.end.nanos(), process.object(wait.object)))
        .collect();
    assert_eq!(waits.len(), 2, "the second is nearer to the first look than to the other");
    let (begin, end, object) = &waits[0];
    assert_eq!((*begin, *end, object.kind, object.address), (200, 300, ObjectKind::Mutex, 0xf00));
    assert_eq!(object.name.as_deref(), Some("glibc's malloc arena lock"));
    assert_eq!(process.wakes.len(), 1, "an interrupt wakes nobody in the name of a thread");
    assert_eq!((process.wakes[0].thread, process.wakes[0].time.nanos()), (ThreadId::new(0), 290));
    let blocks: Vec<_> = process.blocks.iter().map(|block| (block.begin.nanos(), block.call)).collect();
    assert_eq!(blocks, [(500, Call::Read)]);
}

/// Who was found on a core in the routine in which one goes to sleep until malloc's lock is free slept for that, if nothing else is known.
#[test]
fn who_was_seen_on_the_way_to_sleep_waited_for_that_lock() {
    const SECOND: u64 = 1_000_000_000;
    const WAITS: u32 = 1;
    const FREES: u32 = 4;
    const OF_A_TASK: u32 = 5;
    let of = |pause: bool, samples: &[(u64, u32)], looks: &[u64]| {
        let run = recorded_until(5 * SECOND, &[], |out| {
            lives(out);
            kernel::stack(out, FREES, 1, false, &[0x70, 0x11]);
            kernel::stack(out, OF_A_TASK, 1, false, &[0x10, 0x11, 0x71]);
            kernel::switch(out, SECOND, WORKER, 1, true, false);
            if pause {
                kernel::coverage(out, SECOND + 500, CoverageCode::End);
                kernel::coverage(out, SECOND + 501, CoverageCode::Begin);
            }
            kernel::switch(out, SECOND + 1_000, WORKER, 1, false, false);
            for &(time, stack) in samples {
                kernel::sample(out, time, WORKER, SampleCode::Running, 20, stack, NO_CALL, 0);
            }
            for &time in looks {
                kernel::sample(out, time, WORKER, SampleCode::Blocked, 20, 3, READ, 4);
            }
        });
        let process = &run.processes[0];
        let names = process.waits.iter().map(|wait| process.object(wait.object).name.clone());
        (names.collect::<Vec<_>>(), process.blocks.len())
    };
    let explained = |samples: &[(u64, u32)], looks: &[u64]| of(false, samples, looks);
    let arena = || vec![Some("glibc's malloc arena lock".to_owned())];
    let (before, after) = (SECOND - SECOND / 20, SECOND + SECOND / 20);
    assert_eq!(explained(&[(before, WAITS)], &[]), (arena(), 0));
    assert_eq!(explained(&[(after, WAITS)], &[]), (arena(), 0));
    assert_eq!(explained(&[(before, FREES), (after, FREES)], &[]), (vec![], 0), "who frees it does not wait");
    assert_eq!(explained(&[(2 * SECOND, WAITS)], &[]), (vec![], 0), "too far");
    assert_eq!(explained(&[(before, OF_A_TASK)], &[]), (vec![], 0), "what tasks cost");
    assert_eq!(
        explained(&[(before, WAITS)], &[after]),
        (vec![], 1),
        "a look at the sleeping thread says more"
    );
    assert_eq!(of(true, &[(before, WAITS)], &[]), (vec![], 0), "it may have run meanwhile");
}

/// That there is one arena, and where, those say who were found blocked on it.
#[test]
fn a_lock_that_others_were_found_blocked_on_is_the_one_that_was_slept_for() {
    const SECOND: u64 = 1_000_000_000;
    let arenas = |addresses: &[u64]| {
        let run = recorded_until(5 * SECOND, &[], |out| {
            lives(out);
            kernel::sample(out, SECOND, WORKER, SampleCode::Running, 20, 1, NO_CALL, 0);
            kernel::switch(out, SECOND + 1_000, WORKER, 1, true, false);
            kernel::switch(out, SECOND + 2_000, WORKER, 1, false, false);
            for (&address, later) in addresses.iter().zip(1..) {
                let begin = (1 + later) * SECOND;
                kernel::switch(out, begin, WORKER, 1, true, false);
                kernel::sample(out, begin + 500, WORKER, SampleCode::Blocked, 20, 1, FUTEX, address);
                kernel::switch(out, begin + 1_000, WORKER, 1, false, false);
            }
        });
        let process = &run.processes[0];
        let mut waits: Vec<_> =
            process.waits.iter().map(|wait| (wait.begin, process.object(wait.object).address)).collect();
        waits.sort_unstable();
        waits.into_iter().map(|(_, address)| address).collect::<Vec<_>>()
    };
    assert_eq!(arenas(&[]), [0]);
    assert_eq!(arenas(&[0xf00]), [0xf00, 0xf00]);
    assert_eq!(arenas(&[0xf00, 0xe00]), [0, 0xf00, 0xe00], "either of two");
}

/// Blocked for moments all the time, and seen seldom: between two looks that found the same it was that, and between others nothing is
/// known that is further from both than what changes soon.
#[test]
fn what_looks_on_both_sides_found_was_so_between_them() {
    const SECOND: u64 = 1_000_000_000;
    let (lock, read) = ((1, FUTEX, 0xf00), (3, READ, 4));
    let explained = |looks: &[(u64, (u32, u32, u64))], at: u64| {
        let run = recorded_until(5 * SECOND, &[], |out| {
            lives(out);
            kernel::switch(out, at, WORKER, 1, true, false);
            kernel::switch(out, at + 1_000, WORKER, 1, false, false);
            for &(time, (stack, call, argument)) in looks {
                kernel::sample(out, time, WORKER, SampleCode::Blocked, 20, stack, call, argument);
            }
        });
        let process = &run.processes[0];
        (process.waits.len(), process.blocks.len())
    };
    let tenths = |tenths: u64| tenths * SECOND / 10;
    assert_eq!(explained(&[(tenths(10), lock), (tenths(18), lock)], tenths(14)), (1, 0));
    assert_eq!(explained(&[(tenths(10), read), (tenths(18), read)], tenths(14)), (0, 1));
    assert_eq!(explained(&[(tenths(10), lock), (tenths(18), read)], tenths(14)), (0, 0), "which?");
    assert_eq!(explained(&[(tenths(10), lock)], tenths(14)), (0, 0), "after the last look");
    assert_eq!(explained(&[(tenths(10), lock), (tenths(30), lock)], tenths(15)), (0, 0), "too far");
    assert_eq!(explained(&[(tenths(10), lock), (tenths(11), lock)], tenths(14)), (1, 0), "as twice before");
    assert_eq!(explained(&[(tenths(16), lock), (tenths(17), lock)], tenths(14)), (1, 0), "as twice later");
    // What is near says it alone.
    assert_eq!(explained(&[(tenths(10), read), (tenths(18), lock)], tenths(18) - SECOND / 20), (1, 0));
}

/// Whoever writes to the pipe that a thread reads from is waited for; what an interrupt or another program ends is I/O.
#[test]
fn calls_that_a_thread_of_the_program_ends_are_waits_for_it() {
    let run = recorded(|out| {
        lives(out);
        for (begin, call) in [(1_200, READ), (1_400, READ), (1_600, READ), (1_800, WRITE)] {
            kernel::switch(out, begin, WORKER, 1, true, false);
            kernel::switch(out, begin + 100, WORKER, 1, false, false);
            kernel::sample(out, begin + 50, WORKER, SampleCode::Blocked, 20, 3, call, 4);
        }
        kernel::waking(out, 1_290, 8, 7);
        kernel::waking(out, 1_490, 8, 0);
        kernel::waking(out, 1_690, 8, 99);
        kernel::waking(out, 1_890, 8, 7);
    });
    let process = &run.processes[0];
    let [wait, room] = process.waits.as_slice() else { panic!("{:?}", process.waits) };
    let object = process.object(wait.object);
    assert_eq!((wait.begin.nanos(), wait.end.nanos(), object.kind), (200, 300, ObjectKind::Messages));
    assert_eq!(object.name.as_deref(), Some("to worker"));
    // Who writes waits for room, until the other one reads.
    let full = process.object(room.object);
    assert_eq!((room.begin.nanos(), room.end.nanos(), full.kind), (800, 900, ObjectKind::Room));
    assert_eq!(full.name.as_deref(), Some("to main"));
    let [wake, _] = process.wakes.as_slice() else { panic!("{:?}", process.wakes) };
    assert_eq!((wake.thread, wake.time.nanos(), wake.object), (ThreadId::new(0), 290, wait.object));
    let blocks: Vec<_> = process.blocks.iter().map(|block| (block.begin.nanos(), block.call)).collect();
    assert_eq!(blocks, [(400, Call::Read), (600, Call::Read)]);
}

#[test]
fn a_back_off_leaves_cpu_times_and_says_so() {
    let run = recorded(|out| {
        lives(out);
        kernel::coverage(out, 1_500, CoverageCode::BackOff);
        kernel::reading(out, 1_550, WORKER, 40, 5);
        kernel::reading(out, 1_900, WORKER, 240, 15);
    });
    let process = &run.processes[0];
    let covered: Vec<_> = process.covered.iter().map(|(from, until)| (from.nanos(), until.nanos())).collect();
    assert_eq!(covered, [(0, 500)]);
    let readings: Vec<_> = process.readings.iter().map(|reading| (reading.cpu, reading.delay)).collect();
    assert_eq!(readings, [(Nanos::new(40), Nanos::new(5)), (Nanos::new(240), Nanos::new(15))]);
    assert!(run.warnings.iter().any(|sentence| sentence.contains("too many context switches")));
}

/// It went to sleep while switches were not recorded, and again before they began to be: a look says in what, until it runs or for good.
#[test]
fn who_was_blocked_before_switches_were_recorded_is_in_the_call_that_a_look_found() {
    let run = recorded(|out| {
        lives(out);
        kernel::switch(out, 1_200, WORKER, 1, false, false);
        kernel::coverage(out, 1_300, CoverageCode::BackOff);
        kernel::coverage(out, 1_400, CoverageCode::Begin);
        kernel::sample(out, 1_450, WORKER, SampleCode::Blocked, 20, 3, READ, 4);
        kernel::switch(out, 1_500, WORKER, 1, false, false);
        kernel::coverage(out, 1_600, CoverageCode::BackOff);
        kernel::coverage(out, 1_700, CoverageCode::Begin);
        kernel::sample(out, 1_750, WORKER, SampleCode::Blocked, 20, 3, READ, 4);
    });
    let blocks = run.processes[0].blocks.iter();
    let blocks: Vec<_> = blocks.map(|block| (block.begin.nanos(), block.end.nanos(), block.call)).collect();
    assert_eq!(blocks, [(400, 500, Call::Read), (700, 1_000, Call::Read)]);
}

/// Writes one of the records, with these numbers in it, however little sense they make together.
fn any_record(out: &mut Vec<u64>, (which, time, tid, other): (u8, u64, u32, u32)) {
    let (pid, parent) = (7 + tid % 2, 7 + other % 2);
    match which {
        0 => kernel::switch(out, time, (pid, tid), other, other % 2 == 0, other % 3 == 0),
        1 => kernel::start(out, time, (pid, tid), (parent, other), 1 + other % 3),
        2 => kernel::exit(out, time, (pid, tid)),
        3 => kernel::exec(out, time, pid, 1 + other % 3, b"app"),
        4 => kernel::sample(out, time, (pid, tid), SampleCode::Running, u64::from(other), 2, NO_CALL, 0),
        5 => kernel::sample(out, time, (pid, tid), SampleCode::Blocked, 9, 1 + other % 3, FUTEX, 0xf00),
        6 => kernel::sample(out, time, (pid, tid), SampleCode::Able, 9, 0, NO_CALL, 0),
        7 => kernel::waking(out, time, tid, other),
        8 => kernel::reading(out, time, (pid, tid), u64::from(other), time),
        9 => kernel::coverage(out, time, CoverageCode::Begin),
        10 => kernel::coverage(out, time, CoverageCode::End),
        _ => kernel::coverage(out, time, CoverageCode::BackOff),
    }
}

proptest! {
    #[test]
    fn whatever_the_records_say_the_timeline_is_whole(
        records in prop::collection::vec((0u8..12, 900u64..2_100, 7u32..11, 0u32..13), 0..80),
    ) {
        let run = recorded(|out| {
            lives(out);
            records.iter().for_each(|record| any_record(out, *record));
        });
        for process in &run.processes {
            let timeline = Timeline::build(process);
            prop_assert_eq!(timeline.check(), Ok(()));
        }
    }
}
