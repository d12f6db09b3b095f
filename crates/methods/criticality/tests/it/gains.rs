//! Gains: each finding that can be fixed says what that would give, and the script that was really fixed takes that long.

use holdup_criticality::{Depth, Diagnosis, Finding, FindingKind, Gain, diagnose, predict_gains};
use holdup_model::{
    Call, CpuSet, Environment, Nanos, ObjectId, ObjectKind, Placement, Process, Run, ThreadId, Time,
};
use holdup_testkit::{Op, QueueId, Script, any_process, any_script};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn work(length: u64) -> Op {
    Op::Work(length * MS)
}

fn ms(length: u64) -> Nanos {
    Nanos::new(length * MS)
}

fn predicted(run: &Run, depth: Depth) -> Diagnosis {
    let mut diagnosis = diagnose(run, 0);
    predict_gains(run, &mut diagnosis, depth);
    diagnosis
}

fn of(process: Process, cores: u32) -> Diagnosis {
    predicted(&Run { processes: vec![process], cores, ..Run::default() }, Depth::default())
}

fn find(diagnosis: &Diagnosis, kind: FindingKind) -> (&Finding, &Gain) {
    let finding = diagnosis.findings.iter().find(|finding| finding.kind == kind);
    let finding = finding.unwrap_or_else(|| panic!("no {kind:?} in {:?}", diagnosis.findings));
    (finding, finding.gain.as_ref().unwrap_or_else(|| panic!("{finding:?} has no gain")))
}

/// The finding of this kind can be fixed by this change, which gives what the fixed program really takes less.
fn gives(diagnosis: &Diagnosis, kind: FindingKind, expression: &str, fixed: Nanos) {
    let (_, gain) = find(diagnosis, kind);
    assert_eq!(gain.expression, expression);
    assert!(gain.low <= gain.time && gain.time <= gain.high, "{gain:?}");
    let real = diagnosis.wall.saturating_sub(fixed);
    assert!(gain.low <= real && real <= gain.high, "{gain:?}, really {real:?} of {:?}", diagnosis.wall);
    let what_if = diagnosis.what_if.as_ref().expect("it was replayed");
    let off = what_if.replayed.get().abs_diff(diagnosis.wall.get());
    assert!(off * 50 <= diagnosis.wall.get(), "{:?} {:?}", what_if.replayed, diagnosis.wall);
    assert_eq!(what_if.notes, [] as [String; 0]);
}

fn workers(script: &mut Script, ops: &[Vec<Op>]) -> Vec<ThreadId> {
    let workers: Vec<ThreadId> = ops.iter().map(|ops| script.thread("worker", ops.clone())).collect();
    script.main_runs(&workers);
    workers
}

#[test]
fn a_planted_lock() {
    let program = |locked: bool| {
        let mut script = Script::new();
        let lock = script.object(ObjectKind::Mutex, "table_lock");
        let site = script.site("update_table", 12);
        let ops = if locked {
            [Op::Lock(lock, site), work(9), Op::Unlock(lock), work(3)].repeat(20)
        } else {
            [work(9), work(3)].repeat(20)
        };
        workers(&mut script, &vec![ops; 4]);
        script.play()
    };
    let diagnosis = of(program(true), 8);
    gives(&diagnosis, FindingKind::Lock, "lock:table_lock=0", program(false).wall());
    // On two cores there is less to win, and it costs no more.
    let crowded = of(program(true), 2);
    let (finding, gain) = find(&crowded, FindingKind::Lock);
    assert!(gain.high < find(&diagnosis, FindingKind::Lock).1.low, "{gain:?}");
    assert!(gain.time.get().abs_diff(finding.cost.get()) * 20 < gain.time.get(), "{gain:?} {}", finding.cost);
}

/// To fix one lock of an array gives little: the expression is for all of them.
#[test]
fn a_planted_array_of_locks() {
    let program = |locked: bool| {
        let mut script = Script::new();
        let locks = [0, 1, 2].map(|index| script.object(ObjectKind::Mutex, &format!("cells[{index}].lock")));
        let other = script.object(ObjectKind::Mutex, "cells_of_others");
        let site = script.site("update_cell", 12);
        let of_worker = |worker: usize| {
            let of_round = |round: usize| {
                let lock = locks[(round / 5 + (worker / 2) * round) % 3];
                let ops = [Op::Lock(lock, site), work(9), Op::Unlock(lock), work(3)];
                if locked { ops.to_vec() } else { vec![work(9), work(3)] }
            };
            let first = [Op::Lock(other, site), Op::Unlock(other)];
            first.into_iter().chain((0..24).flat_map(of_round)).collect::<Vec<Op>>()
        };
        workers(&mut script, &(0..4).map(of_worker).collect::<Vec<_>>());
        script.play()
    };
    let diagnosis = of(program(true), 8);
    gives(&diagnosis, FindingKind::Lock, "lock:'cells[].lock'=0", program(false).wall());
}

#[test]
fn the_next_lock_caps_the_gain() {
    let program = |first_is_locked: bool| {
        let mut script = Script::new();
        let [first, second] = ["first", "second"].map(|name| script.object(ObjectKind::Mutex, name));
        let site = script.site("update", 12);
        let mut turn = vec![work(10)];
        if first_is_locked {
            turn = vec![Op::Lock(first, site), work(10), Op::Unlock(first)];
        }
        turn.extend([Op::Lock(second, site), work(8), Op::Unlock(second), work(1)]);
        workers(&mut script, &vec![turn.repeat(20); 4]);
        script.play()
    };
    let diagnosis = of(program(true), 8);
    let of_first = diagnosis.findings.iter().find(|finding| finding.what.contains("first"));
    let gain = of_first.and_then(|finding| finding.gain.as_ref()).expect("the first lock is a finding");
    let real = diagnosis.wall.saturating_sub(program(false).wall());
    assert!(gain.low <= real && real <= gain.high, "{gain:?} {real:?}");
    assert_eq!(gain.capped_by.as_deref(), Some("mutex second"));
}

fn rounds(lengths: [[u64; 3]; 4]) -> Process {
    let mut script = Script::new();
    let barrier = script.barrier("round_done", 3);
    let site = script.site("round", 10);
    let ops: Vec<Vec<Op>> = (0..3)
        .map(|thread: usize| {
            lengths.iter().flat_map(|round| [work(round[thread]), Op::Meet(barrier, site)]).collect()
        })
        .collect();
    workers(&mut script, &ops);
    script.play()
}

#[test]
fn uneven_rounds() {
    let late = of(rounds([[10, 10, 40]; 4]), 8);
    gives(&late, FindingKind::Imbalance, "barrier:round_done=balanced", rounds([[20; 3]; 4]).wall());
    // Each comes last as often as the others: nobody has too much to do, and only the meeting itself could go.
    let lengths = [[10, 10, 40], [40, 10, 10], [10, 40, 10], [20, 20, 20]];
    let in_turn = of(rounds(lengths), 8);
    let without = lengths.iter().map(|round| round[0]).sum();
    gives(&in_turn, FindingKind::Barrier, "barrier:round_done=0", ms(without));
}

/// Who is late takes turns, but not evenly: less often meeting gives less than equal shares each time.
#[test]
fn of_two_ways_to_fix_a_barrier_the_better_one_is_shown() {
    let play = |rounds: &[[u64; 2]]| {
        let mut script = Script::new();
        let site = script.site("meet", 40);
        let barrier = script.barrier("round_done", 2);
        let ops: Vec<Vec<Op>> = (0..2)
            .map(|thread| {
                rounds.iter().flat_map(|round| [work(round[thread]), Op::Meet(barrier, site)]).collect()
            })
            .collect();
        workers(&mut script, &ops);
        of(script.play(), 2)
    };
    let uneven = play(&[[30, 10], [12, 28], [30, 10], [12, 28], [30, 10]]);
    // Without the barrier the first thread has 114 ms to do; with equal shares each has 100.
    gives(&uneven, FindingKind::Barrier, "barrier:round_done=balanced", play(&[[20, 20]; 5]).wall);
    let even = play(&[[30, 10], [10, 30], [30, 10], [10, 30]]);
    gives(&even, FindingKind::Barrier, "barrier:round_done=0", ms(80));
}

#[test]
fn uneven_threads() {
    let program = |lengths: &[u64]| {
        let mut script = Script::new();
        workers(&mut script, &lengths.iter().map(|&length| vec![work(length)]).collect::<Vec<_>>());
        script.play()
    };
    let diagnosis = of(program(&[40, 40, 40, 120]), 8);
    gives(&diagnosis, FindingKind::Imbalance, "threads:worker=balanced", program(&[60; 4]).wall());
}

#[test]
fn a_serial_part() {
    let program = |alone: u64| {
        let mut script = Script::new();
        script.main_does(&[work(alone)]);
        workers(&mut script, &vec![vec![work(50)]; 4]);
        script.play()
    };
    let diagnosis = of(program(100), 4);
    gives(&diagnosis, FindingKind::Serial, "alone:main@..main.c:1/4", program(25).wall());
}

fn pipeline(consumers: usize) -> (Process, QueueId) {
    const ITEMS: usize = 80;
    let mut script = Script::new();
    let queue = script.guarded_queue("items", 8);
    let [put, get, close] =
        [("put", 10), ("get", 20), ("close", 30)].map(|(name, line)| script.site(name, line));
    let mut ops = [work(3), Op::Put(queue, put)].repeat(ITEMS);
    ops.push(Op::Close(queue, close));
    let mut threads = vec![script.thread("produce", ops)];
    for _ in 0..consumers {
        let mut ops = [Op::Get(queue, get), work(8)].repeat(ITEMS / consumers);
        ops.push(Op::Get(queue, get));
        threads.push(script.thread("consume", ops));
    }
    script.main_runs(&threads);
    (script.play(), queue)
}

#[test]
fn a_slow_stage() {
    let (process, _) = pipeline(1);
    let diagnosis = of(process, 8);
    gives(&diagnosis, FindingKind::Pipeline, "stage:consume*2", pipeline(2).0.wall());
}

#[test]
fn a_stage_that_does_much_else_gives_no_more_than_what_was_waited_for_it() {
    // Main works for itself, then hands out items, of which each keeps the other waiting for a moment.
    let mut script = Script::new();
    let queue = script.guarded_queue("items", 8);
    let [put, get, close] =
        [("put", 10), ("get", 20), ("close", 30)].map(|(name, line)| script.site(name, line));
    let consume = script.thread("consume", [Op::Get(queue, get), work(8)].repeat(20));
    let joined = script.site("main", 40);
    script.main_does(&[Op::Start(consume)]);
    script.main_does(&[Op::Put(queue, put), work(9)].repeat(20));
    script.main_does(&[Op::Close(queue, close), Op::Join(consume, joined), work(200)]);
    let diagnosis = of(script.play(), 2);
    let waited = |kind| matches!(kind, FindingKind::Pipeline | FindingKind::Condition);
    let finding = diagnosis.findings.iter().find(|finding| waited(finding.kind)).expect("a slow stage");
    let gain = finding.gain.as_ref().expect("a gain");
    // Twice as fast main would save 90 ms and more.
    let lost = finding.cost.get() * u64::from(diagnosis.workers);
    assert!(lost < 60 * MS, "{finding:?}");
    let known = (gain.time, gain.high, gain.expression.as_str());
    assert_eq!(known, (finding.cost, Nanos::new(lost), ""), "{finding:?}");
    // And what such a main would save stands nowhere as the gain of all.
    let all = diagnosis.what_if.as_ref().and_then(|what_if| what_if.all_together.as_ref());
    assert!(all.is_none_or(|all| !all.expression.contains("stage:main*2")), "{all:?}");
}

#[test]
fn a_pool_of_places() {
    let program = |places: u32| {
        let mut script = Script::new();
        let slots = script.semaphore("connection_slots", places);
        let [take, query, post] =
            [("take", 10), ("query", 20), ("post", 30)].map(|(name, line)| script.site(name, line));
        let ops = [Op::Take(slots, take), Op::Sleep(4 * MS, query), Op::Post(slots, post), Op::Work(MS / 5)]
            .repeat(20);
        workers(&mut script, &vec![ops; 6]);
        script.play()
    };
    let diagnosis = of(program(2), 8);
    gives(&diagnosis, FindingKind::Semaphore, "object:connection_slots=0", program(6).wall());
}

#[test]
fn io_and_sleep() {
    let program = |reads: bool, sleeps: bool| {
        let mut script = Script::new();
        let site = script.site("wait", 10);
        let mut turn = vec![work(10)];
        if reads {
            turn.push(Op::Read(20 * MS, site));
        }
        if sleeps {
            turn.push(Op::Sleep(30 * MS, site));
        }
        workers(&mut script, &vec![turn.repeat(5); 2]);
        script.play()
    };
    let diagnosis = of(program(true, true), 8);
    gives(&diagnosis, FindingKind::Io, "io:main.c:10=0", program(false, true).wall());
    gives(&diagnosis, FindingKind::Sleep, "sleep:main.c:10=0", program(true, false).wall());
    // Together it is what is left without either.
    let together = diagnosis
        .what_if
        .as_ref()
        .and_then(|what_if| what_if.all_together.as_ref())
        .expect("two can be fixed");
    let real = diagnosis.wall.saturating_sub(program(false, false).wall());
    assert!(together.low <= real && real <= together.high, "{together:?} {real:?}");
}

/// How long child processes take is theirs: nobody can do without.
#[test]
fn what_the_end_of_a_child_process_would_save_is_not_known() {
    let program = |call: Call| {
        let mut script = Script::new();
        let site = script.site("wait", 10);
        workers(&mut script, &vec![[work(10), Op::Read(20 * MS, site)].repeat(5); 2]);
        let mut process = script.play();
        process.blocks.iter_mut().for_each(|block| block.call = call);
        of(process, 8)
    };
    let io = |diagnosis: &Diagnosis| {
        let mut found = diagnosis.findings.iter().filter(|finding| finding.kind == FindingKind::Io);
        let finding = found.next().expect("I/O");
        (
            finding.gain.is_some(),
            finding.notes.iter().any(|note| note.ends_with("that of its child processes.")),
        )
    };
    assert_eq!([Call::Read, Call::WaitChild].map(|call| io(&program(call))), [(true, false), (false, true)]);
}

/// A thread that looks after something until main stops it is no longer at it than the others work.
#[test]
fn a_thread_that_is_stopped_at_the_end() {
    let program = |locked: bool, pauses: &dyn Fn(u64) -> Vec<u64>| {
        let whole = |pauses: &[u64], length: u64| {
            let mut script = Script::new();
            let lock = script.object(ObjectKind::Mutex, "table_lock");
            let site = script.site("update_table", 12);
            let turn = if locked {
                vec![Op::Lock(lock, site), work(9), Op::Unlock(lock), work(1)]
            } else {
                vec![work(10)]
            };
            let looks = script.site("look_after", 40);
            let op = |&pause: &u64| {
                if pauses.len() > 1 { Op::Sleep(pause, looks) } else { Op::Read(pause, looks) }
            };
            let monitor = script.thread("monitor", pauses.iter().map(op).collect());
            script.main_does(&[Op::Start(monitor)]);
            workers(&mut script, &vec![turn.repeat(30); 2]);
            script.main_does(&[Op::Join(monitor, looks), Op::Work(length)]);
            script.play()
        };
        // It pauses for as long as the rest takes.
        let rest = whole(&[], MS).wall().get() - MS;
        whole(&pauses(rest), MS)
    };
    let read = |rest: u64| vec![rest + MS / 10];
    let sleep = |rest: u64| vec![20 * MS; rest.div_ceil(20 * MS) as usize];
    let ways: [&dyn Fn(u64) -> Vec<u64>; 2] = [&read, &sleep];
    for pauses in ways {
        let diagnosis = of(program(true, pauses), 8);
        gives(&diagnosis, FindingKind::Lock, "lock:table_lock=0", program(false, pauses).wall());
        let (lock, gain) = find(&diagnosis, FindingKind::Lock);
        assert!(gain.time.get() * 3 > diagnosis.wall.get(), "{gain:?}");
        assert_eq!(lock.what, diagnosis.findings[0].what, "{:#?}", diagnosis.findings);
        assert_eq!(diagnosis.workers, 2, "it does not work");
    }
}

#[test]
fn late_wake_ups() {
    let program = |latency: u64| {
        let mut script = Script::new();
        script.wake_up_takes(latency);
        let [ping, pong] = ["ping", "pong"].map(|name| script.semaphore(name, 0));
        let site = script.site("throw", 10);
        let first = [Op::Work(50_000), Op::Post(ping, site), Op::Take(pong, site)].repeat(200);
        let second = [Op::Take(ping, site), Op::Work(50_000), Op::Post(pong, site)].repeat(200);
        workers(&mut script, &[first, second]);
        script.play()
    };
    let diagnosis = of(program(25_000), 8);
    let (_, gain) = find(&diagnosis, FindingKind::WakeUp);
    assert_eq!(gain.expression, "wakeup:ping=0");
    // Of two ways to wake up it is one.
    let real = diagnosis.wall.saturating_sub(program(0).wall()).get() / 2;
    assert!(gain.low.get() <= real && real <= gain.high.get(), "{gain:?} {real:?}");
    assert!(gain.time.get().abs_diff(real) * 4 <= real, "{gain:?} {real:?}");
}

#[test]
fn more_threads_than_cores() {
    let program = |threads: u64| {
        let mut script = Script::new();
        script.main_does(&[Op::Work(1)]);
        workers(&mut script, &vec![vec![work(240 / threads)]; threads as usize]);
        script.play_on(2, MS)
    };
    let diagnosis = of(program(6), 2);
    let (_, gain) = find(&diagnosis, FindingKind::Oversubscription);
    assert_eq!(gain.expression, "threads:worker=2");
    // Two cores are busy with as much work as before.
    let real = diagnosis.wall.saturating_sub(program(2).wall());
    assert!(gain.low <= real && real <= gain.high, "{gain:?} {real:?}");
}

/// Four threads for each of ten frames, started by main when it has worked for so long (ms).
fn frames(alone: u64, cores: u32) -> Diagnosis {
    let mut script = Script::new();
    let join = script.site("fork_and_join", 40);
    let render: Vec<ThreadId> = (0..40).map(|_| script.thread("render", vec![work(20)])).collect();
    for frame in render.chunks(4) {
        script.main_does(&[work(alone)]);
        frame.iter().for_each(|&thread| script.main_does(&[Op::Start(thread)]));
        frame.iter().for_each(|&thread| script.main_does(&[Op::Join(thread, join)]));
    }
    let mut process = script.play_on(cores, MS);
    process.covered = vec![(process.start, process.end)];
    of(process, cores)
}

/// Threads of a later frame do not exist when those of an earlier one work.
#[test]
fn more_threads_than_cores_for_each_frame_anew() {
    let diagnosis = frames(10, 2);
    let crowded = diagnosis.findings.iter().find(|finding| finding.kind == FindingKind::Oversubscription);
    let crowded = crowded.expect("more threads than cores");
    assert_eq!(crowded.gain, None);
    let hint = "Keep 2 threads and hand them more work, instead of starting new ones (41 did work), or give the program more cores.";
    assert_eq!(crowded.hint, hint);
    assert_eq!(frames(10, 4).wall, Nanos::new(300 * MS));
    let said = "4 cores would save 201 ms (147 to 224 ms), 1.67 times faster.";
    assert!(crowded.notes.iter().any(|note| note == said), "{:?}", crowded.notes);
}

/// While the main thread sleeps for longer than the others work, nobody waits for these.
#[test]
fn more_cores_are_no_advice_where_they_give_nothing() {
    let mut script = Script::new();
    let join = script.site("fork_and_join", 40);
    let render: Vec<ThreadId> = (0..4).map(|_| script.thread("render", vec![work(100)])).collect();
    render.iter().for_each(|&thread| script.main_does(&[Op::Start(thread)]));
    script.main_does(&[Op::Sleep(300 * MS, join)]);
    render.iter().for_each(|&thread| script.main_does(&[Op::Join(thread, join)]));
    let mut process = script.play_on(2, MS);
    process.covered = vec![(process.start, process.end)];
    let diagnosis = of(process, 2);
    let (crowded, _) = find(&diagnosis, FindingKind::Oversubscription);
    assert!(crowded.notes.iter().any(|note| note == "4 cores would give next to nothing."), "{crowded:?}");
    assert!(!crowded.hint.contains("more cores"), "{}", crowded.hint);
}

/// Where the cores are busy with its work, fewer threads have nothing to give, whether a replay can say what they would do or not.
#[test]
fn fewer_threads_save_nothing_of_cores_that_are_busy() {
    let diagnosis = frames(1, 2);
    assert!(diagnosis.efficiency > 0.95, "{}", diagnosis.efficiency);
    let (crowded, gain) = find(&diagnosis, FindingKind::Oversubscription);
    let left = Nanos::new(((1.0 - diagnosis.efficiency) * diagnosis.wall.get() as f64) as u64);
    assert!(left > Nanos::ZERO);
    assert_eq!((gain.time, gain.low, gain.high), (Nanos::ZERO, Nanos::ZERO, left));
    assert!(crowded.hint.contains("these are at work for it 99 % of the time"), "{}", crowded.hint);
    let saved = diagnosis.wall.saturating_sub(frames(1, 4).wall);
    let said = format!("4 cores would save {saved} (");
    assert!(crowded.notes.len() == 1 && crowded.notes[0].starts_with(&said), "{said} {:?}", crowded.notes);
}

#[test]
fn cores_that_it_may_not_use() {
    let program = |cores| {
        let mut script = Script::new();
        script.main_does(&[Op::Work(1)]);
        workers(&mut script, &vec![vec![work(60)]; 4]);
        script.play_on(cores, MS)
    };
    let cpus = |list: &str| CpuSet::parse(list).expect("a list");
    let mut process = program(2);
    process.pid = 7;
    let placement = Placement {
        pid: 7,
        given: cpus("0-3"),
        allowed: cpus("0-1"),
        cpuset: cpus("0-3"),
        ..Placement::default()
    };
    let environment =
        Environment { online: cpus("0-3"), placements: vec![placement], ..Environment::default() };
    let run = Run { processes: vec![process], cores: 2, environment, ..Run::default() };
    let diagnosis = predicted(&run, Depth::default());
    let limits = [FindingKind::Affinity, FindingKind::Quota, FindingKind::Oversubscription];
    let finding = diagnosis
        .findings
        .iter()
        .find(|finding| limits.contains(&finding.kind))
        .expect("it is short of cores");
    let gain = finding.gain.as_ref().expect("it can be fixed");
    assert_eq!((finding.kind, gain.expression.as_str()), (FindingKind::Affinity, "cores=4"));
    let real = diagnosis.wall.saturating_sub(program(4).wall());
    assert!(gain.low <= real && real <= gain.high, "{gain:?} {real:?}");
}

#[test]
fn curves_go_from_as_it_is_to_the_gain() {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, "table_lock");
    let site = script.site("update_table", 12);
    let ops = [Op::Lock(lock, site), work(9), Op::Unlock(lock), work(1)].repeat(20);
    workers(&mut script, &vec![ops; 4]);
    let run = Run { processes: vec![script.play()], cores: 8, ..Run::default() };
    let diagnosis = predicted(&run, Depth { curves: true, ..Depth::default() });
    let what_if = diagnosis.what_if.as_ref().expect("it was replayed");
    let first = &what_if.curves[0];
    let at = |size: f64| first.points.iter().find(|point| point.at == size).expect("the size is there").wall;
    assert_eq!((first.finding, at(1.0)), (Some(0), diagnosis.wall));
    assert!(
        first.points.windows(2).all(|pair| pair[0].at < pair[1].at && pair[0].wall >= pair[1].wall),
        "{first:?}"
    );
    let gain = find(&diagnosis, FindingKind::Lock).1.time;
    let split = what_if.curves.iter().find(|curve| curve.axis == "locks").expect("a lock can be split");
    let last = split.points.last().expect("a curve has points");
    assert_eq!((last.at, diagnosis.wall.saturating_sub(last.wall)), (f64::INFINITY, gain));
    for curve in &what_if.curves {
        assert!(
            curve.points.iter().all(|point| point.low <= point.wall && point.wall <= point.high),
            "{curve:?}"
        );
    }
    // The gains do not depend on whether there are curves.
    assert_eq!(predicted(&run, Depth::default()).findings, diagnosis.findings);
}

#[test]
fn what_nobody_can_fix_has_no_gain() {
    let mut script = Script::new();
    let [first, second] = [1, 2].map(|number| script.object(ObjectKind::Mutex, &format!("lock_{number}")));
    let site = script.site("take", 10);
    let take = |first: ObjectId, second: ObjectId| {
        vec![Op::Lock(first, site), work(10), Op::Lock(second, site), Op::Unlock(second), Op::Unlock(first)]
    };
    workers(&mut script, &[take(first, second), take(second, first)]);
    let diagnosis = of(script.play(), 8);
    let deadlock = diagnosis.findings.iter().find(|finding| finding.kind == FindingKind::Deadlock);
    assert_eq!(deadlock.expect("they wait for each other").gain, None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_was_recorded(process in any_process(), cores in 1..5u32) {
        let run = Run { processes: vec![process], cores, ..Run::default() };
        let diagnosis = predicted(&run, Depth { curves: true, ..Depth::default() });
        for gain in diagnosis.findings.iter().filter_map(|finding| finding.gain.as_ref()) {
            prop_assert!(gain.low <= gain.time && gain.time <= gain.high, "{:?}", gain);
        }
    }

    /// What can be replayed and can be fixed has a gain; the expressions are ones that `holdup whatif` reads.
    #[test]
    fn every_finding_that_can_be_fixed_has_a_gain(script in any_script(), cores in 1..5u32) {
        let process = script.play_on(cores, 500);
        let run = Run { processes: vec![process], cores, ..Run::default() };
        let diagnosis = predicted(&run, Depth::default());
        for finding in &diagnosis.findings {
            use FindingKind::{Barrier, Condition, Io, Lock, Pipeline, Semaphore, Sleep, WakeUp};
            if matches!(finding.kind, Lock | Semaphore | Barrier | Io | Sleep | WakeUp | Pipeline | Condition) {
                // A link of a chain has none alone, and says so.
                let is_link = finding.notes.iter().any(|note| note.starts_with("It is one chain of waits"));
                prop_assert!(finding.gain.is_some() != is_link, "{:?}", finding);
            }
            if let Some(gain) = &finding.gain {
                prop_assert!(gain.high <= diagnosis.wall);
                if matches!(finding.kind, Pipeline | Condition) {
                    let lost = finding.cost.get() * u64::from(diagnosis.workers);
                    prop_assert!(gain.time <= Nanos::new(lost), "{:?}", finding);
                    if gain.expression.is_empty() {
                        prop_assert_eq!((gain.time, gain.high), (finding.cost, Nanos::new(lost)));
                        continue;
                    }
                }
                if finding.kind != FindingKind::Delayed {
                    let points = holdup_replay::parse(&gain.expression, &run.processes[0]);
                    prop_assert!(points.is_ok(), "{:?}", points);
                }
            }
        }
    }
}

/// Three children of 18 ms of CPU time each work while main waits 20 ms for them, beside 10 ms of its own work and 2 ms that it writes.
#[test]
fn beside_child_processes_other_work_can_be_done() {
    let children = |by_shell: bool| {
        let mut script = Script::new();
        let (site, write) = (script.site("collect", 10), script.site("log", 20));
        script.main_does(&[work(10), Op::Read(20 * MS, site), Op::Read(2 * MS, write)].repeat(3));
        let mut process = script.play();
        process.pid = 7;
        let waits: Vec<(Time, Time)> = process
            .blocks
            .iter()
            .filter(|block| block.site == Some(site))
            .map(|block| (block.begin, block.end))
            .collect();
        let child = |(number, (begin, end)): (u32, _)| {
            let mut child = Process::new(begin, end);
            let parent = if by_shell { 50 + number } else { 7 };
            (child.pid, child.parent_pid, child.command) = (10 + number, parent, vec!["gzip".to_owned()]);
            let main = child.add_thread("main", begin, None);
            child.threads[main.index()].cpu = Some(ms(18));
            child
        };
        let shell = |(number, &(begin, end)): (u32, &(Time, Time))| {
            let mut shell = Process::new(begin, end);
            (shell.pid, shell.parent_pid, shell.command) = (50 + number, 7, vec!["sh".to_owned()]);
            let main = shell.add_thread("main", begin, None);
            shell.threads[main.index()].cpu = Some(ms(0));
            shell
        };
        let mut processes = vec![process];
        // A shell's child is seen before it, as a process that ends before it.
        processes.extend((0..).zip(waits.iter().copied()).map(child));
        processes.extend((0..).zip(&waits).filter(|_| by_shell).map(shell));
        predicted(&Run { processes, cores: 2, ..Run::default() }, Depth::default())
    };
    for by_shell in [false, true] {
        let diagnosis = children(by_shell);
        assert_eq!(diagnosis.wall, ms(96));
        let at = |name: &str| {
            let found = diagnosis.findings.iter().find(|finding| finding.what.contains(name));
            found.unwrap_or_else(|| panic!("no {name} in {:?}", diagnosis.findings))
        };
        let gain = at("collect").gain.as_ref().expect("there is work beside the children");
        // What main does else: no more can be done at the same time.
        assert_eq!((gain.low, gain.time, gain.high), (ms(0), ms(36), ms(36)));
        let note = "Meanwhile its child processes (gzip) work for 54.0 ms: other work beside that saves what there is of either, at most.";
        assert_eq!(at("collect").notes, [note]);
        let log = at("log").gain.as_ref().expect("no child is in this");
        assert_eq!(log.expression, "io:main.c:20=0");
    }
}
