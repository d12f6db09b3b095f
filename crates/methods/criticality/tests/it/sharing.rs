//! Cache lines that threads pass to each other, by what samples say they accessed.

use holdup_criticality::{Diagnosis, Finding, FindingKind, diagnose, predict_gains};
use holdup_model::{
    Access, AccessKind, Doing, Frame, Nanos, ObjectKind, Process, Run, Sample, Site, SiteId, State, ThreadId,
    Time, Timeline,
};
use holdup_testkit::{Op, Script};

const MS: u64 = 1_000_000;
/// The sampling period.
const PERIOD: u64 = 5 * MS;
const LINE: u64 = 0x40_0000;

/// Two threads that are at work for as long (ms).
fn two_threads(length: u64) -> Process {
    let mut script = Script::new();
    let worker = script.thread("worker", vec![Op::Work(length * MS)]);
    script.main_does(&[Op::Start(worker), Op::Work(length * MS)]);
    let join = script.site("main", 9);
    script.main_does(&[Op::Join(worker, join)]);
    script.play()
}

fn place(process: &mut Process, function: &str, module: &str) -> SiteId {
    let frame = |function: &str, module: &str| Frame {
        function: Some(function.to_owned()),
        file: Some("/src/count.c".to_owned()),
        line: Some(7),
        module: Some(module.to_owned()),
        ..Frame::default()
    };
    let frames = vec![frame(function, module), frame("main", "app")];
    process.add_site(Site { frames, ..Site::default() })
}

fn access(address: u64, bytes: u8, kind: AccessKind) -> Access {
    Access { address, bytes, kind }
}

/// Thread `thread` is found at `site` in each period from one time to another (ms), behind this access.
fn seen(process: &mut Process, thread: u32, site: SiteId, from: u64, until: u64, access: Access) {
    let mut time = from * MS + PERIOD;
    while time <= until * MS {
        process.samples.push(Sample {
            thread: ThreadId::new(thread),
            time: Time::from_nanos(time),
            doing: Doing::Running,
            site: Some(site),
            weight: Nanos::new(PERIOD),
            access: Some(access),
            in_kernel: None,
        });
        time += PERIOD;
    }
}

fn of(process: Process) -> Diagnosis {
    let run = Run { processes: vec![process], cores: 2, ..Run::default() };
    let mut diagnosis = diagnose(&run, 0);
    predict_gains(&run, &mut diagnosis, Default::default());
    diagnosis
}

fn sharing(process: Process) -> Option<Finding> {
    let findings = of(process).findings;
    findings.into_iter().find(|finding| finding.kind == FindingKind::Sharing)
}

/// For 300 of 400 ms both threads are found behind these accesses.
fn both(kind: AccessKind, first: u64, second: u64) -> Process {
    let mut process = two_threads(400);
    let site = place(&mut process, "count", "app");
    let elsewhere = place(&mut process, "parse", "app");
    for (thread, address) in [(0, first), (1, second)] {
        seen(&mut process, thread, site, 0, 300, access(address, 8, kind));
        seen(
            &mut process,
            thread,
            elsewhere,
            300,
            400,
            access(0x7000_0000 + u64::from(thread) * 4096, 8, kind),
        );
    }
    process
}

#[test]
fn different_bytes_of_a_line_are_false_sharing() {
    let diagnosis = of(both(AccessKind::Update, LINE, LINE + 8));
    let finding = &diagnosis.findings[0];
    assert_eq!(finding.kind, FindingKind::Sharing);
    assert_eq!(finding.what, "false sharing in count (count.c:7)");
    // What both threads were found there for, divided by two; no more than three quarters of it is likely to be saved.
    assert_eq!(finding.cost, Nanos::new(300 * MS));
    let gain = finding.gain.as_ref().expect("a gain");
    assert_eq!([gain.low, gain.time, gain.high], [0, 225, 400].map(|ms| Nanos::new(ms * MS)));
    let evidence = finding.evidence.join(" ");
    assert!(evidence.contains("120 samples (600 ms)") && evidence.contains("at other bytes"), "{evidence}");
    assert!(evidence.contains("main writes 0 to 7") && evidence.contains("writes 8 to 15"), "{evidence}");
    // It is work: no time is lost to it.
    assert!(diagnosis.cost_identity.parts.iter().all(|(kind, _)| *kind != FindingKind::Sharing));
    assert!(diagnosis.efficiency > 0.99, "{}", diagnosis.efficiency);
}

#[test]
fn the_variable_is_named_that_most_accesses_are_to() {
    let named = |process: &mut Process| {
        process.variables.insert(LINE, "rows".to_owned());
        process.variables.insert(LINE + 8, "rows".to_owned());
        process.variables.insert(0x7000_0000, "text".to_owned());
    };
    let mut process = both(AccessKind::Update, LINE, LINE + 8);
    named(&mut process);
    let finding = sharing(process).expect("a finding");
    assert_eq!(finding.what, "false sharing of rows in count (count.c:7)");
    let mut process = both(AccessKind::Update, LINE, LINE);
    named(&mut process);
    let finding = sharing(process).expect("a finding");
    assert_eq!(finding.what, "rows, which several threads change in count (count.c:7)");
}

#[test]
fn the_same_bytes_are_data_that_several_change() {
    let finding = sharing(both(AccessKind::Atomic, LINE + 8, LINE + 8)).expect("a finding");
    assert_eq!(finding.what, "data that several threads change in count (count.c:7)");
    assert!(finding.hint.contains("count for itself"), "{}", finding.hint);
    // Eight bytes from the fourth on and those from the eighth on are the same in part.
    let finding = sharing(both(AccessKind::Update, LINE + 4, LINE + 8)).expect("a finding");
    assert!(finding.what.starts_with("data that several"), "{}", finding.what);
    assert!(finding.hint.contains("data of its own"), "{}", finding.hint);
}

#[test]
fn who_reads_only_or_has_a_line_of_its_own_passes_none() {
    assert_eq!(sharing(both(AccessKind::Read, LINE, LINE)), None);
    assert_eq!(sharing(both(AccessKind::Update, LINE, LINE + 64)), None);
}

#[test]
fn who_reads_what_another_one_writes_waits_for_it() {
    let mut process = two_threads(400);
    let site = place(&mut process, "count", "app");
    seen(&mut process, 0, site, 0, 300, access(LINE, 8, AccessKind::Write));
    seen(&mut process, 1, site, 0, 300, access(LINE + 32, 8, AccessKind::Read));
    let finding = sharing(process).expect("a finding");
    let evidence = finding.evidence.join(" ");
    assert!(evidence.contains("main writes 0 to 7") && evidence.contains("reads 32 to 39"), "{evidence}");
}

#[test]
fn one_after_the_other_is_not_at_the_same_time() {
    let mut process = two_threads(800);
    let site = place(&mut process, "count", "app");
    for (thread, from) in [(0, 0), (1, 500)] {
        seen(&mut process, thread, site, from, from + 300, access(LINE, 8, AccessKind::Update));
    }
    assert_eq!(sharing(process), None);
}

/// The other thread is waiting, for 2 ms each, whenever one is at the line.
#[test]
fn who_waits_meanwhile_takes_no_line() {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, "state_lock");
    let at = script.site("update", 3);
    let turns = || (0..200).flat_map(move |_| [Op::Lock(lock, at), Op::Work(2 * MS), Op::Unlock(lock)]);
    let worker = script.thread("worker", turns().collect());
    script.main_does(&[Op::Start(worker)]);
    script.main_does(&turns().collect::<Vec<_>>());
    let join = script.site("main", 9);
    script.main_does(&[Op::Join(worker, join)]);
    let mut process = script.play();
    let site = place(&mut process, "update", "app");
    let timeline = Timeline::build(&process);
    for (index, row) in timeline.threads.iter().enumerate() {
        for segment in row.segments.iter().filter(|segment| segment.state == State::Active).step_by(2) {
            process.samples.push(Sample {
                thread: ThreadId::new(index as u32),
                time: Time::from_nanos(segment.end.nanos() - 1000),
                doing: Doing::Running,
                site: Some(site),
                weight: Nanos::new(PERIOD),
                access: Some(access(LINE, 8, AccessKind::Update)),
                in_kernel: None,
            });
        }
    }
    assert!(process.samples.len() > 50, "{}", process.samples.len());
    assert_eq!(sharing(process), None);
}

/// By turns of 40 ms, and nobody waits.
#[test]
fn by_turns_is_not_at_the_same_time() {
    let mut process = two_threads(2_000);
    let site = place(&mut process, "count", "app");
    for turn in 0..50 {
        let access = access(LINE, 8, AccessKind::Update);
        seen(&mut process, turn % 2, site, u64::from(turn) * 40, u64::from(turn) * 40 + 40, access);
    }
    let cost = sharing(process).map_or(Nanos::ZERO, |finding| finding.cost);
    assert!(cost < Nanos::new(300 * MS), "{cost}");
}

#[test]
fn who_hardly_uses_a_line_holds_nobody_up() {
    let mut process = two_threads(400);
    let site = place(&mut process, "count", "app");
    seen(&mut process, 0, site, 0, 400, access(LINE, 8, AccessKind::Update));
    seen(&mut process, 1, site, 0, 5, access(LINE + 8, 8, AccessKind::Update));
    // The one sample of the other thread is worth two of the first's, of those that are near to it.
    let finding = sharing(process);
    assert!(finding.as_ref().is_none_or(|finding| finding.cost <= Nanos::new(8 * MS)), "{finding:?}");
}

#[test]
fn what_a_lock_costs_is_told_of_the_lock() {
    let mut process = both(AccessKind::Atomic, LINE, LINE);
    let lock = process.add_object(ObjectKind::Mutex, LINE);
    assert_eq!(sharing(process.clone()), None);
    // Data beside it is data.
    process.objects[lock.index()].address = LINE + 16;
    assert!(sharing(process).is_some());
    let mut process = two_threads(400);
    let site = place(&mut process, "__pthread_mutex_lock", "libc.so.6");
    for thread in [0, 1] {
        seen(&mut process, thread, site, 0, 300, access(LINE, 8, AccessKind::Atomic));
    }
    assert_eq!(sharing(process), None);
}

#[test]
fn few_samples_say_nothing() {
    let mut process = two_threads(400);
    let site = place(&mut process, "count", "app");
    for thread in [0, 1] {
        seen(&mut process, thread, site, 0, 20, access(LINE, 8, AccessKind::Atomic));
    }
    assert_eq!(sharing(process), None);
}

#[test]
fn lines_of_the_same_function_are_one_finding_and_others_are_another() {
    let mut process = two_threads(1_201);
    let [count, add] = ["count", "add"].map(|function| place(&mut process, function, "app"));
    for (site, line, from) in [(count, LINE, 0), (count, LINE + 64, 400), (add, LINE + 4096, 800)] {
        for thread in [0, 1] {
            let own = u64::from(thread) * 8;
            seen(&mut process, thread, site, from, from + 400, access(line + own, 8, AccessKind::Update));
        }
    }
    let findings = of(process).findings;
    // In tens of milliseconds: the last one of the run stands at no sample.
    let found: Vec<(&str, u64)> = findings
        .iter()
        .filter(|finding| finding.kind == FindingKind::Sharing)
        .map(|finding| (finding.what.as_str(), finding.cost.get() / (10 * MS)))
        .collect();
    let expected = [("false sharing in count (count.c:7)", 80), ("false sharing in add (count.c:7)", 40)];
    assert_eq!(found, expected);
    assert!(findings[0].evidence[0].contains("2 cache lines"), "{:?}", findings[0].evidence);
}

/// Pairs of threads that are each too short to be found twice, 4 of 6 ms of each in one row of two in the same line.
#[test]
fn threads_that_come_one_after_the_other_are_one() {
    let mut script = Script::new();
    for _ in 0..50 {
        let pair = [0, 1].map(|_| script.thread("row", vec![Op::Work(6 * MS)]));
        script.main_runs(&pair);
    }
    let mut process = script.play();
    let site = place(&mut process, "count", "app");
    for index in 1..process.threads.len() as u32 {
        let (thread, own) = (ThreadId::new(index), u64::from(index % 2) * 32);
        let start = process.thread(thread).start;
        // One of each pair is found, in turn.
        if index / 2 % 2 == index % 2 {
            process.samples.push(Sample {
                thread,
                time: start + Nanos::new(3 * MS),
                doing: Doing::Running,
                site: Some(site),
                weight: Nanos::new(PERIOD),
                access: Some(access(LINE + own, 8, AccessKind::Update)),
                in_kernel: None,
            });
        }
    }
    let finding = sharing(process).expect("a finding");
    assert!(finding.what.starts_with("false sharing in count"), "{}", finding.what);
    // All that they were active for: samples of each sort stand for all of the sort.
    assert!(finding.cost > Nanos::new(250 * MS), "{}", finding.cost);
}

/// Both threads are found in each period of so many ms at one of 64 lines: the same ones by chance, or each in the first half of the time at
/// those of one half, and then at the others.
fn at_many_lines(length: u64, by_halves: bool) -> Process {
    let mut process = two_threads(length);
    let site = place(&mut process, "count", "app");
    let mut state = 1u64;
    for round in 0..length / 5 {
        let time = round * 5;
        for thread in [0u32, 1] {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let half = (u64::from(thread) + time * 2 / length) % 2 * 32;
            let line = if by_halves { half + (state >> 40) % 32 } else { (state >> 40) % 64 };
            let address = LINE + line * 64 + u64::from(thread) * 8;
            seen(&mut process, thread, site, time, time + 5, access(address, 8, AccessKind::Update));
        }
    }
    process
}

#[test]
fn lines_that_are_found_seldom_count_together() {
    let finding = sharing(at_many_lines(400, false)).expect("a finding");
    assert_eq!(finding.what, "false sharing in count (count.c:7)");
    // All touches of the lines at which both were ever found; not only those that have the other one's near them at the same line.
    assert!(finding.cost > Nanos::new(250 * MS), "{finding:?}");
    // Both have had all lines in the end, but not at the same time: around the change they may have met.
    let by_halves = sharing(at_many_lines(4_000, true)).map_or(Nanos::ZERO, |finding| finding.cost);
    assert!(by_halves < Nanos::new(400 * MS), "a tenth: {by_halves}");
    assert!(sharing(at_many_lines(4_000, false)).expect("a finding").cost > Nanos::new(3_500 * MS));
}

#[test]
fn what_is_inlined_into_one_function_is_one_finding() {
    let mut process = two_threads(801);
    let sites = ["count", "next_random"].map(|function| {
        let frame = |function: &str, inlined| Frame {
            function: Some(function.to_owned()),
            file: Some("/src/count.c".to_owned()),
            line: Some(7),
            module: Some("app".to_owned()),
            inlined,
            ..Frame::default()
        };
        let frames = vec![frame(function, true), frame("simulate", false), frame("main", false)];
        process.add_site(Site { frames, ..Site::default() })
    });
    for (site, line, from) in [(sites[0], LINE, 0), (sites[1], LINE + 64, 400)] {
        for thread in [0, 1] {
            let own = u64::from(thread) * 8;
            seen(&mut process, thread, site, from, from + 400, access(line + own, 8, AccessKind::Update));
        }
    }
    let findings = of(process).findings;
    let found = findings.iter().filter(|finding| finding.kind == FindingKind::Sharing).count();
    assert_eq!(found, 1, "{findings:?}");
}
