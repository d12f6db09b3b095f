//! Speedup stacks of invented programs whose every nanosecond is known.

use holdup_model::openmp::{Instance, Region, Vendor};
use holdup_model::{
    AloneCount, AloneSpan, Frame, LockCost, Marker, MarkerKind, Nanos, NotAlone, ObjectId, ObjectKind,
    ObjectUse, Process, Run, Site, SiteId, ThreadId, Time, Wait,
};
use holdup_speedup::{
    AloneRun, Beside, CacheFacts, Component, Measurements, PhaseKind, PhaseStack, PointStack, Speedup,
    SpeedupProfile, ThreadPoint, Verdict, profile, worth_profiling,
};
use holdup_testkit::{Op, Script, any_process};
use proptest::prelude::*;

const MIB: u64 = 1 << 20;
const CACHE: u64 = 8 * MIB;

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

/// A program whose threads do these things, each of `crunch`.
fn program(threads: &[Vec<Op>]) -> Run {
    let mut script = Script::new();
    let ids: Vec<ThreadId> = threads.iter().map(|ops| script.thread("crunch", ops.clone())).collect();
    script.main_runs(&ids);
    run(script.play())
}

fn run(process: Process) -> Run {
    Run {
        start: process.start,
        end: process.end,
        cores: 2,
        command: vec!["./app".to_owned()],
        processes: vec![process],
        ..Run::default()
    }
}

fn works(times: &[u64]) -> Run {
    program(&times.iter().map(|&time| vec![Op::Work(time)]).collect::<Vec<_>>())
}

#[test]
fn threads_that_do_the_work_are_profiled_one_of_each_group_first() {
    let mut script = Script::new();
    let mut add = |entry: &str, time| script.thread(entry, vec![Op::Work(time)]);
    let ids = vec![
        add("log", 10),
        add("read", 200_000),
        add("crunch", 1_000_000),
        add("crunch", 1_100_000),
        add("read", 210_000),
    ];
    script.main_runs(&ids);
    let run = run(script.play());
    let rotation = worth_profiling(&run);
    assert_eq!(rotation.order, [3, 2, 4, 5], "crunch, read, the others of each; log does nothing");
    assert_eq!(rotation.rounds, 2, "one of crunch, one of read");
    assert_eq!(worth_profiling(&Run::default()).order, Vec::<u32>::new());
}

#[test]
fn each_group_of_threads_asks_for_a_round() {
    let mut script = Script::new();
    let mut add = |entry: &str| script.thread(entry, vec![Op::Work(1_000_000)]);
    let ids = vec![add("read"), add("crunch"), add("crunch"), add("write")];
    script.main_runs(&ids);
    assert_eq!(worth_profiling(&run(script.play())).rounds, 3);
    assert_eq!(worth_profiling(&works(&[1000, 1000, 1000])).rounds, 1, "all do the same");
}

/// The same with one thread alone all the time.
fn lone(mut run: Run, thread: u32, cpu: u64) -> Run {
    let process = &mut run.processes[0];
    let (begin, end) = (process.start, process.end);
    process.alone.push(AloneSpan {
        thread: ThreadId::new(thread),
        begin,
        end,
        cpu: Nanos::new(cpu),
        alone: true,
        reason: None,
    });
    run
}

fn alone(run: &Run, beside: Beside, cache: u64) -> AloneRun<'_> {
    AloneRun { run, which: 0, cache, beside, verdict: Verdict::Held }
}

fn point<'a>(threads: u32, recorded: &'a Run, alone: Vec<AloneRun<'a>>) -> ThreadPoint<'a> {
    ThreadPoint { threads, plain: Vec::new(), recorded, alone }
}

fn measured<'a>(points: Vec<ThreadPoint<'a>>) -> SpeedupProfile {
    profile(&Measurements {
        command: vec!["./app".to_owned()],
        cores: 4,
        cache: Some(CacheFacts { bytes: CACHE, nominal: CACHE, level: 3, ..CacheFacts::default() }),
        points,
        ..Measurements::default()
    })
}

fn last(phase: &PhaseStack) -> &PointStack {
    phase.points.last().expect("a point").stack.as_ref().expect("a stack")
}

fn check(stack: &PointStack, expected: &[(Component, f64)]) {
    for component in Component::ALL {
        let wanted =
            expected.iter().find(|(known, _)| *known == component).map_or(0.0, |(_, amount)| *amount);
        let amount = stack.get(component).unwrap_or_else(|| panic!("{component:?} is missing")).value();
        assert!((amount - wanted).abs() < 3e-6, "{component:?} is {amount}, not {wanted}: {stack:?}");
    }
}

#[test]
fn cache_and_memory_come_from_what_a_lone_thread_needs() {
    let (one, two) = (works(&[1000]), works(&[600, 600]));
    let nothing = lone(works(&[520, 520]), 1, 520);
    let pirate = lone(works(&[560, 520]), 1, 560);
    let told = measured(vec![
        point(1, &one, Vec::new()),
        point(
            2,
            &two,
            vec![
                alone(&nothing, Beside::Nothing, CACHE),
                alone(&nothing, Beside::Control, CACHE),
                alone(&pirate, Beside::Pirate, CACHE / 2),
            ],
        ),
    ]);
    // 500 would be perfect; 520 alone, 560 with half of the cache, 600 together.
    let speedups = [2.0, 1000.0 / 520.0, 1000.0 / 560.0, 1000.0 / 600.0];
    for phase in &told.phases {
        check(
            last(phase),
            &[
                (Component::ExtraWork, speedups[0] - speedups[1]),
                (Component::Cache, speedups[1] - speedups[2]),
                (Component::Memory, speedups[2] - speedups[3]),
            ],
        );
        assert!(phase.points[1].missing.is_empty(), "{phase:?}");
    }
    assert_eq!((told.phases[0].kind, told.phases[1].kind), (PhaseKind::Whole, PhaseKind::ForkJoin));
    let group = &told.phases[1].points[1].groups[0];
    assert_eq!((group.name.as_str(), group.threads, group.cache), ("crunch", 2, Some(CACHE / 2)));
    let curve: Vec<(u64, f64)> =
        group.curve.points().iter().map(|point| (point.bytes / MIB, point.time)).collect();
    assert_eq!(curve, [(4, 560.0 / 520.0), (8, 1.0)]);
    assert_eq!(group.control, Some(1.0));
    // With the fewest threads nothing is lost by definition.
    check(told.phases[0].points[0].stack.as_ref().expect("a stack"), &[]);
}

#[test]
fn what_a_lock_costs_beyond_what_it_costs_one_thread_is_synchronization() {
    let (mut one, mut two) = (works(&[1000]), works(&[600, 600]));
    let add = |run: &mut Run, thread, acquisitions, acquiring, hand_overs, handing_over| {
        run.processes[0].lock_costs.push(LockCost {
            thread: ThreadId::new(thread),
            acquisitions,
            acquiring: Nanos::new(acquiring),
            hand_overs,
            handing_over: Nanos::new(handing_over),
        });
    };
    add(&mut one, 1, 10, 20, 0, 0);
    for thread in [1, 2] {
        add(&mut two, thread, 5, 30, 1, 10);
    }
    let nothing = lone(works(&[520, 520]), 1, 520);
    let told = measured(vec![
        point(1, &one, Vec::new()),
        point(
            2,
            &two,
            vec![alone(&nothing, Beside::Nothing, CACHE), alone(&nothing, Beside::Pirate, CACHE / 2)],
        ),
    ]);
    // Of 600 each, 10 woke the other, and 5 acquisitions took 30 instead of 10.
    let (perfect, extra_work, free, together) = (2.0, 1000.0 / 520.0, 1000.0 / 570.0, 1000.0 / 600.0);
    for phase in &told.phases {
        check(
            last(phase),
            &[
                (Component::ExtraWork, perfect - extra_work),
                (Component::Memory, extra_work - free),
                (Component::Synchronization, free - together),
            ],
        );
        assert_eq!(last(phase).curves.no_sync, Speedup::of(free));
        assert_eq!(last(phase).imbalance, Speedup::ZERO);
    }
}

/// The same with what counters said while the thread was alone.
fn counted(mut run: Run, cycles: u64, instructions: u64, misses: u64) -> Run {
    let process = &mut run.processes[0];
    let (begin, end) = (process.start, process.end);
    let time = Nanos::new(1000);
    process.alone_counts.push(AloneCount { begin, end, cycles, instructions, misses: Some(misses), time });
    run
}

#[test]
fn counters_give_cycles_per_instruction_and_bandwidth_over_the_size_of_the_cache() {
    let (one, two) = (works(&[1000]), works(&[600, 600]));
    // 403.gcc of paper 1, Fig. 4: a CPI of 1.18 with all of the cache, 1.32 with a quarter.
    let whole = counted(lone(works(&[520, 520]), 1, 520), 1180, 1000, 10);
    let part = counted(lone(works(&[560, 520]), 1, 560), 1320, 1000, 20);
    let alone = vec![alone(&whole, Beside::Nothing, CACHE), alone(&part, Beside::Pirate, CACHE / 2)];
    let told = measured(vec![point(1, &one, Vec::new()), point(2, &two, alone)]);
    let phase = told.phases.iter().find(|phase| phase.kind == PhaseKind::ForkJoin).expect("a phase");
    let points = phase.points[1].groups[0].curve.points();
    let cpis: Vec<f64> = points.iter().filter_map(|point| point.cpi).collect();
    assert_eq!(cpis, [1.32, 1.18]);
    // 20 lines of 64 bytes in 1000 ns, in bytes a second.
    let bandwidths: Vec<f64> = points.iter().filter_map(|point| point.bandwidth).collect();
    assert_eq!(bandwidths.len(), 2);
    assert!((bandwidths[0] / 1.28e9 - 1.0).abs() < 1e-9, "{bandwidths:?}");
}

#[test]
fn times_are_those_of_runs_without_recording() {
    let (one, two) = (works(&[1000]), works(&[600, 600]));
    let mut points = vec![point(1, &one, Vec::new()), point(2, &two, Vec::new())];
    points[0].plain = vec![Nanos::new(900), Nanos::new(880), Nanos::new(950)];
    points[1].plain = vec![Nanos::new(500)];
    let told = measured(points);
    assert_eq!(told.phases[0].points[1].time, Nanos::new(500));
    assert_eq!(last(&told.phases[0]).curves.measured, Speedup::of(900.0 / 500.0));
    assert_eq!(told.effort.runs, 6);
    assert!((told.effort.recording.expect("runs without recording") - 0.2).abs() < 1e-9);
    assert!(
        told.notes.iter().any(|note| note.contains("the recorded run took 20 % longer")),
        "{:?}",
        told.notes
    );
}

#[test]
fn runs_that_differ_tell_how_little_small_parts_mean() {
    let (one, two) = (works(&[1000]), works(&[600, 600]));
    let noted = |plain: [u64; 2]| {
        let mut points = vec![point(1, &one, Vec::new()), point(2, &two, Vec::new())];
        points[0].plain = vec![Nanos::new(1000); 2];
        points[1].plain = plain.map(Nanos::new).to_vec();
        measured(points).notes.into_iter().find(|note| note.contains("mean nothing"))
    };
    assert!(
        noted([500, 600]).is_some_and(|note| note.contains("20 %: parts of less than 0.40 of the speedup"))
    );
    assert_eq!(noted([600, 610]), None);
}

#[test]
fn waits_are_synchronization() {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, "lock");
    let site = script.site("crunch", 7);
    let ops = vec![Op::Work(100), Op::Lock(lock, site), Op::Work(400), Op::Unlock(lock)];
    let ids = [script.thread("crunch", ops.clone()), script.thread("crunch", ops)];
    script.main_runs(&ids);
    let two = run(script.play());
    let one = works(&[1000]);
    let alone_run = lone(works(&[500, 500]), 1, 500);
    let told = measured(vec![
        point(1, &one, Vec::new()),
        point(
            2,
            &two,
            vec![alone(&alone_run, Beside::Nothing, CACHE), alone(&alone_run, Beside::Pirate, CACHE / 2)],
        ),
    ]);
    let stack = last(&told.phases[0]);
    // 900 in the place of 500: the second waits 400.
    check(stack, &[(Component::Synchronization, 2.0 - 1000.0 / 900.0)]);
    assert_eq!((stack.curves.no_sync, stack.imbalance), (Speedup::of(2.0), Speedup::ZERO));
}

#[test]
fn a_thread_that_takes_over_the_others_work_counts_by_its_share() {
    let (one, two) = (works(&[1000]), works(&[600, 600]));
    let nothing = lone(works(&[1000, 10]), 1, 1000);
    let pirate = lone(works(&[1100, 10]), 1, 1100);
    let told = measured(vec![
        point(1, &one, Vec::new()),
        point(
            2,
            &two,
            vec![alone(&nothing, Beside::Nothing, CACHE), alone(&pirate, Beside::Pirate, CACHE / 2)],
        ),
    ]);
    let stack = last(&told.phases[0]);
    // All of the work takes 1010 alone, and 10 % more with half of the cache.
    let (full, cache) = (1000.0 / 505.0, 1000.0 / 555.5);
    assert_eq!(stack.get(Component::ExtraWork), Some(Speedup::perfect(2) - Speedup::of(full)));
    assert_eq!(stack.curves.pirate, Some(Speedup::of(cache)));
    assert!(told.phases[1].points[1].groups[0].takes_over);
    assert!(told.notes.iter().any(|note| note.contains("takes over")), "{:?}", told.notes);
}

#[test]
fn a_thread_that_takes_more_locks_takes_over_work() {
    let used = |mut run: Run, acquisitions: u64| {
        run.processes[0].uses.push(ObjectUse {
            thread: Some(ThreadId::new(1)),
            object: ObjectId::new(0),
            acquisitions,
            failed_tries: 0,
            timed_holds: 0,
            timed_hold: Nanos::ZERO,
        });
        run
    };
    let one = works(&[1000]);
    let share_of_time = |taken: u64| {
        let mut two = used(works(&[500, 500]), 600);
        two.processes[0].uses[0].thread = Some(ThreadId::new(1));
        let nothing = used(lone(works(&[600, 400]), 1, 600), taken);
        let told = measured(vec![
            point(1, &one, Vec::new()),
            point(2, &two, vec![alone(&nothing, Beside::Nothing, CACHE)]),
        ]);
        last(&told.phases[0]).curves.extra_work
    };
    // Of twice as many tasks it did more than half: all took as long as ever.
    assert_eq!(share_of_time(720), Some(Speedup::of(2.0)));
    // With as many it needed longer for its own, which it does not together.
    assert_eq!(share_of_time(300), None);
}

#[test]
fn what_a_thread_did_before_its_turn_is_its_work_too() {
    let (one, two) = (works(&[1000]), works(&[500, 500]));
    // Of 500, 450 in stretches.
    let late = lone(works(&[500, 500]), 1, 450);
    let told = measured(vec![
        point(1, &one, Vec::new()),
        point(2, &two, vec![alone(&late, Beside::Nothing, CACHE)]),
    ]);
    assert_eq!(last(&told.phases[0]).get(Component::ExtraWork), Some(Speedup::ZERO));
}

#[test]
fn where_units_of_work_are_known_a_thread_that_takes_over_counts_by_these() {
    let marked = |mut run: Run, units: &[(u32, u64)]| {
        for &(thread, count) in units {
            for unit in 0..count {
                let marker = Marker {
                    thread: ThreadId::new(thread),
                    time: at(unit),
                    kind: MarkerKind::WorkBegin,
                    label: None,
                };
                run.processes[0].markers.push(marker);
            }
        }
        run
    };
    let (one, two) = (works(&[1000]), marked(works(&[600, 600]), &[(1, 10), (2, 10)]));
    let nothing = marked(lone(works(&[988, 60]), 1, 988), &[(1, 19), (2, 1)]);
    let told = measured(vec![
        point(1, &one, Vec::new()),
        point(2, &two, vec![alone(&nothing, Beside::Nothing, CACHE)]),
    ]);
    // 52 for a unit against 60: all 20 would take 1040.
    assert_eq!(last(&told.phases[0]).curves.extra_work, Some(Speedup::of(1000.0 / 520.0)));
}

#[test]
fn what_was_not_measured_is_missing_with_a_reason() {
    let (one, two) = (works(&[1000]), works(&[600, 600]));
    let nothing = lone(works(&[520, 520]), 1, 520);
    let mut poor = alone(&nothing, Beside::Pirate, CACHE / 2);
    poor.verdict = Verdict::Discarded("the pirate missed 9 % of its probes".to_owned());
    let told = measured(vec![
        point(1, &one, Vec::new()),
        point(2, &two, vec![alone(&nothing, Beside::Nothing, CACHE), poor]),
    ]);
    let whole = &told.phases[0];
    let stack = last(whole);
    assert_eq!((stack.get(Component::Cache), stack.get(Component::Memory)), (None, None));
    let together = stack.together.as_ref().expect("two that cannot be told apart");
    assert_eq!(together.of, [Component::Cache, Component::Memory]);
    assert_eq!(together.amount, Speedup::of(1000.0 / 520.0) - Speedup::of(1000.0 / 600.0));
    assert_eq!(stack.total(), Speedup::perfect(2));
    for component in [Component::Cache, Component::Memory] {
        let missing = whole.points[1].missing.iter().find(|missing| missing.component == Some(component));
        assert!(missing.is_some_and(|missing| missing.reason.contains("9 % of its probes")), "{whole:?}");
    }
    assert_eq!(told.discarded.len(), 1);
}

#[test]
fn a_thread_that_was_not_really_alone_is_no_measurement() {
    let (one, two) = (works(&[1000]), works(&[600, 600]));
    let mut run = lone(works(&[520, 520]), 1, 100);
    let span = AloneSpan {
        cpu: Nanos::new(420),
        alone: false,
        reason: Some(NotAlone::Watchdog),
        ..run.processes[0].alone[0]
    };
    run.processes[0].alone.push(span);
    let told =
        measured(vec![point(1, &one, Vec::new()), point(2, &two, vec![alone(&run, Beside::Nothing, CACHE)])]);
    assert_eq!(last(&told.phases[0]).get(Component::ExtraWork), None);
    let reason = &told.discarded[0].reason;
    assert!(reason.contains("alone for 19 %") && reason.contains("the others were let go"), "{reason}");
    assert_eq!(told.watched.len(), 1);
    let rest = told.watched[0].of(NotAlone::Watchdog).expect("a reason");
    assert!((rest - 420.0 / 520.0).abs() < 1e-9, "{:?}", told.watched);
}

#[test]
fn loops_that_wait_and_giving_up_are_noted() {
    let (one, two) = (works(&[1000]), works(&[600, 600]));
    for (reason, expected) in [(NotAlone::Spun, "in a loop"), (NotAlone::GivenUp, "given up")] {
        let mut run = lone(works(&[520, 520]), 1, 500);
        let span = AloneSpan {
            cpu: Nanos::new(100),
            alone: false,
            reason: Some(reason),
            ..run.processes[0].alone[0]
        };
        run.processes[0].alone.push(span);
        let of = vec![alone(&run, Beside::Nothing, CACHE)];
        let told = measured(vec![point(1, &one, Vec::new()), point(2, &two, of)]);
        let noted = told.notes.iter().filter(|note| note.contains(expected)).count();
        assert_eq!((noted, told.discarded.len()), (1, 0), "{:?}", told.notes);
    }
}

#[test]
fn nothing_is_said_of_cache_sizes_beyond_those_measured() {
    let (one, four) = (works(&[1000]), works(&[250, 250, 250, 250]));
    let nothing = lone(works(&[250, 250, 250, 250]), 1, 250);
    let told = measured(vec![
        point(1, &one, Vec::new()),
        point(
            4,
            &four,
            vec![alone(&nothing, Beside::Nothing, CACHE), alone(&nothing, Beside::Pirate, CACHE / 2)],
        ),
    ]);
    let reasons: Vec<&str> =
        told.phases[1].points[1].missing.iter().map(|missing| missing.reason.as_str()).collect();
    assert!(reasons[0].contains("2 MiB") && reasons[0].contains("4 MiB to 8 MiB"), "{reasons:?}");
}

#[test]
fn groups_of_threads_share_the_cache_by_what_they_fetch() {
    let play = |small: u64, large: u64| {
        let mut script = Script::new();
        let ids =
            [script.thread("stream", vec![Op::Work(small)]), script.thread("table", vec![Op::Work(large)])];
        script.main_runs(&ids);
        run(script.play())
    };
    let (one, two) = (play(500, 500), play(500, 650));
    let run_of = |thread: u32, cpu: u64| lone(play(500, 500), thread, cpu);
    // The first needs no cache; the second loses half as much again for each halving.
    let runs: Vec<(Run, Beside, u64)> = vec![
        (run_of(1, 500), Beside::Nothing, CACHE),
        (run_of(1, 500), Beside::Pirate, CACHE / 2),
        (run_of(1, 500), Beside::Pirate, CACHE / 16),
        (run_of(2, 500), Beside::Nothing, CACHE),
        (run_of(2, 600), Beside::Pirate, CACHE / 2),
        (run_of(2, 800), Beside::Pirate, CACHE / 16),
    ];
    let lones = runs.iter().map(|(run, beside, cache)| alone(run, *beside, *cache)).collect();
    let told = measured(vec![point(1, &one, Vec::new()), point(2, &two, lones)]);
    let groups = &told.phases[1].points[1].groups;
    let share =
        |name: &str| groups.iter().find(|group| group.name == name).expect(name).cache.expect("a share");
    assert!(share("table") > 3 * CACHE / 4, "{groups:?}");
    assert!(share("stream") < CACHE / 4 && share("stream") + share("table") > CACHE - 4, "{groups:?}");
}

#[test]
fn a_region_of_openmp_is_a_phase_and_the_rest_is_serial() {
    // 100 of main alone, then a region of two threads; the second waits for the first at its end.
    let play = |size: u32, time: u64, other: u64| {
        let mut process = Process::new(at(0), at(100 + time));
        let master = process.add_thread("main", at(0), None);
        let barrier = process.add_object(ObjectKind::Barrier, 8);
        if size > 1 {
            let worker = process.add_thread("worker", at(100), None);
            process.waits.push(Wait {
                mode: Default::default(),
                ..Wait::granted(worker, barrier, at(100 + other), at(100 + time))
            });
        }
        process.openmp.regions.push(Region {
            thread: master,
            begin: at(100),
            end: at(100 + time),
            instance: Instance::new(1),
            place: None,
            met_at: None,
            parent: None,
            size,
            count: 1,
            timed: 1,
            time: Nanos::new(time),
            vendor: Vendor::Gnu,
            whole: false,
            league: false,
            open: false,
        });
        run(process)
    };
    let (one, two) = (play(1, 900, 0), play(2, 600, 300));
    let told = measured(vec![point(1, &one, Vec::new()), point(2, &two, Vec::new())]);
    let (whole, region) = (&told.phases[0], &told.phases[1]);
    assert_eq!(region.kind, PhaseKind::Region);
    let stack = last(region);
    // As much CPU time as before, unevenly spread.
    assert_eq!(stack.curves.measured, Speedup::of(1.5));
    assert_eq!(stack.imbalance, Speedup::of(0.5));
    assert_eq!(stack.get(Component::Synchronization), Some(Speedup::of(0.5)));
    let stack = last(whole);
    assert_eq!(stack.curves.serial, Speedup::of(1000.0 / 550.0));
    assert_eq!(stack.get(Component::Serial), Some(Speedup::perfect(2) - Speedup::of(1000.0 / 550.0)));
    assert_eq!(stack.total(), Speedup::perfect(2));
}

#[test]
fn a_program_that_starts_no_thread_for_one_is_told_of_as_a_whole() {
    let mut script = Script::new();
    script.main_does(&[Op::Work(1000)]);
    let one = run(script.play());
    let mut script = Script::new();
    let ids = [script.thread("crunch", vec![Op::Work(450)]), script.thread("crunch", vec![Op::Work(450)])];
    script.main_does(&[Op::Work(100)]);
    script.main_runs(&ids);
    let two = run(script.play());
    // Threads that are held end in another order, and are joined elsewhere.
    let mut held = lone(two.clone(), 1, 450);
    let process = &mut held.processes[0];
    let frame = Frame { function: Some("main".to_owned()), line: Some(7), ..Frame::default() };
    process.sites.push(Site { frames: vec![frame], ..Site::default() });
    let site = SiteId::new(process.sites.len() as u32 - 1);
    process.waits.iter_mut().for_each(|wait| wait.site = Some(site));
    process.threads.iter_mut().for_each(|thread| thread.created_at = Some(site));
    let of = vec![alone(&held, Beside::Nothing, CACHE)];
    let told = measured(vec![point(1, &one, Vec::new()), point(2, &two, of)]);
    assert_eq!(told.phases[1].points[0].groups.len(), 1, "{told:?}");
    let stack = last(&told.phases[0]);
    assert_eq!(stack.curves.measured, Speedup::of(1000.0 / 550.0));
    assert_eq!(stack.get(Component::Serial), Some(Speedup::perfect(2) - Speedup::of(1000.0 / 550.0)));
    assert!(told.phases[1].points[0].stack.is_none() && !told.phases[1].points[0].missing.is_empty());
    assert!(told.notes.iter().any(|note| note.contains("started no threads")), "{:?}", told.notes);
}

#[test]
fn nothing_measured_is_said() {
    let told = measured(Vec::new());
    assert_eq!((told.phases.len(), told.notes.len()), (0, 1));
    let empty = Run::default();
    let told = measured(vec![point(2, &empty, vec![alone(&empty, Beside::Nothing, CACHE)])]);
    assert!(told.phases.is_empty() && told.notes[0].contains("2 threads"), "{:?}", told.notes);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_was_recorded_stacks_add_up(
        processes in prop::collection::vec(any_process(), 3),
        spans in prop::collection::vec((0u32..4, 0u64..2000, 0u64..2000, 0u64..4000, any::<bool>()), 0..6),
    ) {
        let mut runs: Vec<Run> = processes.into_iter().map(run).collect();
        for (thread, begin, end, cpu, is_alone) in spans {
            let process = &mut runs[2].processes[0];
            if (thread as usize) < process.threads.len() {
                process.alone.push(AloneSpan {
                    thread: ThreadId::new(thread),
                    begin: at(begin),
                    end: at(end),
                    cpu: Nanos::new(cpu),
                    alone: is_alone,
                    reason: None,
                });
            }
        }
        let lones = vec![alone(&runs[2], Beside::Nothing, CACHE), alone(&runs[2], Beside::Pirate, CACHE / 3)];
        let points = vec![point(1, &runs[0], Vec::new()), point(3, &runs[1], lones)];
        let told = measured(points.clone());
        for phase in &told.phases {
            for point in &phase.points {
                if let Some(stack) = &point.stack {
                    prop_assert_eq!(stack.total(), Speedup::perfect(point.threads));
                    let known = stack.components.len() + stack.together.as_ref().map_or(0, |together| together.of.len());
                    prop_assert_eq!(known, Component::ALL.len());
                }
            }
        }
        prop_assert_eq!(format!("{told:?}"), format!("{:?}", measured(points)));
    }
}
