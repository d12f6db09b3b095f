//! What the environment takes away is the first suspect, and a clean machine is none.

use holdup_criticality::{Diagnosis, Finding, FindingKind, NoteKind, diagnose};
use holdup_model::openmp::SyncKind;
use holdup_model::{
    Block, Call, CoreKind, CpuSet, Environment, FrequencyRange, Hold, Left, Load, MemoryNode, Mode, Nanos,
    ObjectId, ObjectKind, OnCore, Outcome, Pin, Placement, Process, Quota, Run, Swapped, ThreadId,
    Throttling, Time, Wait, Wake, WakeCount,
};
use proptest::prelude::*;

/// How long the invented programs run, in ms.
const WALL: u64 = 1_000;
const PID: u32 = 7;

fn ms(ms: u64) -> Nanos {
    Nanos::new(ms * 1_000_000)
}

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn cpus(list: &str) -> CpuSet {
    CpuSet::parse(list).expect("a list")
}

fn wait(thread: u32, object: ObjectId, begin: u64, end: u64) -> Wait {
    Wait {
        thread: ThreadId::new(thread),
        begin: at(begin),
        end: at(end),
        object,
        site: None,
        mode: Mode::Exclusive,
        outcome: Outcome::Granted,
        owner: None,
        mutex: None,
        cpu_begin: Some(Nanos::ZERO),
        cpu_end: Some(Nanos::ZERO),
        round: None,
    }
}

/// Threads that compute all the time, of which each has a core for `cpu` ms, and a main thread that waits for them.
/// Their kernel ids are 101, 102, …
fn computing(threads: u32, cpu: u64) -> Process {
    let mut process = Process::new(at(0), at(WALL));
    process.pid = PID;
    process.add_thread("main", at(0), None);
    process.threads[0].cpu = Some(Nanos::ZERO);
    for number in 1..=threads {
        let thread = process.add_thread("worker", at(0), None);
        process.threads[thread.index()].parent = Some(ThreadId::new(0));
        process.threads[thread.index()].cpu = Some(ms(cpu));
        process.threads[thread.index()].tid = 100 + number;
        let end = process.add_object(ObjectKind::ThreadEnd, 0);
        process.objects[end.index()].thread = Some(thread);
    }
    process.waits.push(wait(0, ObjectId::new(0), 0, WALL));
    process
}

/// A machine of eight CPUs of one kind, all of which the process may use.
fn clean() -> Environment {
    Environment {
        online: cpus("0-7"),
        placements: vec![Placement {
            pid: PID,
            given: cpus("0-7"),
            allowed: cpus("0-7"),
            cpuset: cpus("0-7"),
            pins: vec![Pin { cpus: cpus("0-7"), threads: (101..109).collect() }],
            quotas: Vec::new(),
            memory_limit_hits: Some(0),
            memory: Vec::new(),
            in_swap: Some(0),
            usage: None,
        }],
        frequencies: vec![FrequencyRange {
            cpus: cpus("0-7"),
            governor: "performance".to_owned(),
            driver: "acpi-cpufreq".to_owned(),
            limit_khz: 3_500_000,
            highest_khz: 3_500_000,
        }],
        turbo_off: Some(false),
        thermal_throttles: Some(0),
        nodes: vec![MemoryNode { node: 0, cpus: cpus("0-7") }],
        load: Some(Load {
            span: ms(WALL),
            busy: ms(7_000),
            idle: ms(1_000),
            stolen: Nanos::ZERO,
            program: ms(6_900),
            recorder: ms(50),
        }),
        swapped: Some(Swapped::default()),
        pressure: Some(ms(3)),
        ..Environment::default()
    }
}

fn quota(cpus: f64, throttled: u64, stopped: Nanos) -> Quota {
    Quota {
        time: Nanos::new((cpus * 1e8) as u64),
        period: ms(100),
        group: "/sys/fs/cgroup/job".to_owned(),
        throttling: Some(Throttling { periods: 60, throttled, time: stopped }),
    }
}

fn with_quota(quota: Quota) -> Environment {
    let mut environment = clean();
    environment.placements[0].quotas.push(quota);
    environment
}

fn of(process: Process, environment: Environment) -> Diagnosis {
    let run = Run { processes: vec![process], cores: 8, environment, ..Run::default() };
    let diagnosis = diagnose(&run, 0);
    let identity = &diagnosis.cost_identity;
    let parts: Nanos = identity.parts.iter().map(|(_, cost)| *cost).sum();
    assert_eq!(identity.useful + parts + identity.unexplained, diagnosis.wall);
    diagnosis
}

fn costs(diagnosis: &Diagnosis) -> Vec<(FindingKind, Nanos)> {
    diagnosis.findings.iter().map(|finding| (finding.kind, finding.cost)).collect()
}

fn first(diagnosis: &Diagnosis) -> &Finding {
    diagnosis.findings.first().expect("there is something to find")
}

#[test]
fn a_clean_machine_is_no_suspect() {
    let diagnosis = of(computing(8, WALL), clean());
    assert_eq!((diagnosis.findings, diagnosis.environment), (vec![], vec![]));
    assert_eq!((diagnosis.cores, diagnosis.effective_cores), (8, 8));
}

#[test]
fn nothing_known_is_no_suspect() {
    let diagnosis = of(computing(8, WALL), Environment::default());
    assert_eq!((diagnosis.findings, diagnosis.environment), (vec![], vec![]));
    assert_eq!((diagnosis.cores, diagnosis.effective_cores), (8, 8));
}

/// Eight threads on eight CPUs stand still for three quarters of each period.
#[test]
fn eight_threads_under_a_quota_of_two() {
    let diagnosis = of(computing(8, WALL / 4), with_quota(quota(2.0, 41, ms(6_000))));
    assert_eq!(costs(&diagnosis), [(FindingKind::Quota, ms(750))]);
    let finding = first(&diagnosis);
    assert_eq!(finding.what, "CPU quota: the control group gives 2 CPUs; 8 threads share them");
    assert!(finding.evidence[0].contains("/sys/fs/cgroup/job was throttled in 41 of 60 periods of 100 ms"));
    assert!(finding.evidence[0].contains("6.0 s in all"), "{}", finding.evidence[0]);
    assert!(finding.hint.contains("no more than 2 working threads"), "{}", finding.hint);
    assert_eq!((diagnosis.cores, diagnosis.effective_cores), (8, 2));
    assert!((diagnosis.efficiency - 1.0).abs() < 1e-9, "the two CPUs are busy");
}

/// On four CPUs they would share cores without the quota, too: that is not its fault. While CPUs stand still, all
/// eight threads do.
#[test]
fn a_quota_on_a_machine_that_is_too_small_anyway() {
    let mut environment = with_quota(quota(2.0, 60, ms(2_000)));
    environment.online = cpus("0-3");
    environment.placements[0].allowed = cpus("0-3");
    environment.placements[0].pins.clear();
    let diagnosis = of(computing(8, WALL / 4), environment);
    assert_eq!(costs(&diagnosis), [(FindingKind::Quota, ms(500)), (FindingKind::Oversubscription, ms(250))]);
    assert_eq!(diagnosis.findings[1].what, "8 threads share 4 cores");
}

#[test]
fn a_quota_of_a_part_of_a_cpu() {
    let diagnosis = of(computing(2, 750), with_quota(quota(1.5, 10, ms(500))));
    assert_eq!(costs(&diagnosis), [(FindingKind::Quota, ms(250))]);
    assert_eq!(first(&diagnosis).what, "CPU quota: the control group gives 1.5 CPUs; 2 threads share them");
    assert_eq!(diagnosis.effective_cores, 2);
    let diagnosis = of(computing(1, 500), with_quota(quota(0.5, 10, ms(500))));
    assert_eq!(first(&diagnosis).what, "CPU quota: the control group gives 0.5 CPUs; 1 thread uses them");
}

/// The thread that starts the others stands without a core, too, before it can wait for their ends.
#[test]
fn who_only_starts_others_is_not_counted_however_long_it_lacks_a_core() {
    let after = |cpu: Nanos| {
        let mut process = computing(4, WALL / 10);
        process.waits[0] =
            Wait { cpu_begin: Some(cpu), cpu_end: Some(cpu), ..wait(0, ObjectId::new(0), 100, WALL) };
        process.threads[0].cpu = Some(cpu);
        of(process, with_quota(quota(0.4, 60, ms(7_600))))
    };
    let shared =
        |threads: u32| format!("CPU quota: the control group gives 0.4 CPUs; {threads} threads share them");
    assert_eq!(first(&after(ms(1))).what, shared(4), "1 % of what each of the others did");
    assert_eq!(first(&after(ms(10))).what, shared(5), "a tenth");
}

#[test]
fn a_quota_that_never_throttles_is_no_finding() {
    let diagnosis = of(computing(2, WALL), with_quota(quota(2.0, 0, Nanos::ZERO)));
    assert_eq!((costs(&diagnosis), diagnosis.environment.len()), (vec![], 0));
    // What threads lack then, others have.
    let diagnosis = of(computing(8, WALL / 4), with_quota(quota(2.0, 0, Nanos::ZERO)));
    assert_eq!(costs(&diagnosis), [(FindingKind::Delayed, ms(750))]);
}

#[test]
fn the_quota_that_throttles_counts_not_the_tightest() {
    let mut environment = with_quota(quota(2.0, 0, Nanos::ZERO));
    environment.placements[0]
        .quotas
        .push(Quota { group: "/sys/fs/cgroup".to_owned(), ..quota(4.0, 5, ms(4_000)) });
    let diagnosis = of(computing(8, WALL / 2), environment);
    assert_eq!(costs(&diagnosis), [(FindingKind::Quota, ms(500))]);
    assert!(first(&diagnosis).what.contains("gives 4 CPUs"));
}

/// Threads that were released but stand still with all others.
#[test]
fn threads_that_wake_up_while_the_quota_is_used_up() {
    let mut process = computing(2, 500);
    let condition = process.add_object(ObjectKind::Condition, 9);
    process.waits.push(Wait {
        cpu_begin: Some(ms(100)),
        cpu_end: Some(ms(100)),
        round: None,
        ..wait(1, condition, 200, 600)
    });
    process.waits.push(Wait {
        cpu_begin: Some(ms(250)),
        cpu_end: Some(ms(250)),
        round: None,
        ..wait(2, condition, 350, 400)
    });
    process.wakes.push(holdup_model::Wake {
        thread: ThreadId::new(2),
        time: at(300),
        object: condition,
        site: None,
        count: holdup_model::WakeCount::AtMost(1),
    });
    let without = of(process.clone(), clean());
    let wake_up = without.findings.iter().find(|finding| finding.kind == FindingKind::WakeUp);
    assert_eq!(wake_up.map(|finding| finding.cost), Some(ms(150)), "300 ms of one of two threads");
    let with = of(process, with_quota(quota(1.0, 10, ms(1_000))));
    assert_eq!(first(&with).kind, FindingKind::Quota);
    assert!(with.findings.iter().all(|finding| finding.kind != FindingKind::WakeUp), "{:?}", costs(&with));
}

#[test]
fn an_affinity_narrower_than_the_machine_and_the_threads() {
    let mut environment = clean();
    let placement = &mut environment.placements[0];
    (placement.given, placement.allowed) = (cpus("3"), cpus("3"));
    placement.pins = vec![Pin { cpus: cpus("3"), threads: (100..105).collect() }];
    let diagnosis = of(computing(4, WALL / 4), environment.clone());
    assert_eq!(costs(&diagnosis), [(FindingKind::Affinity, ms(750))]);
    let finding = first(&diagnosis);
    assert_eq!(
        finding.what,
        "CPU affinity: the program may use 1 of the machine's 8 CPUs; 4 threads share it"
    );
    assert!(finding.hint.contains("taskset"), "{}", finding.hint);
    assert!(finding.notes.is_empty());
    assert_eq!((diagnosis.cores, diagnosis.effective_cores), (1, 1));
    // By the control group's cpuset.
    environment.placements[0].cpuset = cpus("3");
    let diagnosis = of(computing(4, WALL / 4), environment.clone());
    assert!(first(&diagnosis).hint.contains("cpuset"));
    // As many CPUs as threads are no finding, however many the machine has.
    environment.placements[0].allowed = cpus("0-3");
    environment.placements[0].pins.clear();
    assert_eq!(of(computing(4, WALL), environment).findings, []);
}

#[test]
fn more_threads_than_the_machine_has_cpus_are_no_affinity() {
    let diagnosis = of(computing(16, WALL / 2), clean());
    assert_eq!(costs(&diagnosis), [(FindingKind::Oversubscription, ms(500))]);
    let mut environment = clean();
    environment.placements[0].allowed = cpus("0-3");
    environment.placements[0].pins.clear();
    let diagnosis = of(computing(16, WALL / 4), environment);
    assert_eq!(costs(&diagnosis), [(FindingKind::Affinity, ms(750))]);
    assert_eq!(first(&diagnosis).notes, ["Without that, 16 threads would still share 8 CPUs."]);
}

/// A mistake in the program: all its threads are pinned to one CPU though it may use eight.
#[test]
fn threads_that_are_pinned_to_the_same_cpu() {
    let mut environment = clean();
    environment.placements[0].pins = vec![
        Pin { cpus: cpus("0"), threads: (101..109).collect() },
        Pin { cpus: cpus("0-7"), threads: vec![100] },
    ];
    let diagnosis = of(computing(8, WALL / 8), environment);
    assert_eq!(costs(&diagnosis), [(FindingKind::Affinity, ms(875))]);
    let finding = first(&diagnosis);
    assert_eq!(
        finding.what,
        "CPU affinity: 8 threads are pinned to 1 of the 8 CPUs that the program may use"
    );
    assert!(finding.evidence.iter().any(|text| text.contains("8 on CPU 0.")), "{:?}", finding.evidence);
    assert!(finding.hint.contains("pthread_setaffinity_np"));
    assert!(diagnosis.efficiency < 0.2, "seven CPUs were to be had: {}", diagnosis.efficiency);
}

#[test]
fn threads_that_are_pinned_to_cpus_of_their_own_are_no_finding() {
    let mut environment = clean();
    environment.placements[0].pins =
        (0..8).map(|cpu| Pin { cpus: std::iter::once(cpu).collect(), threads: vec![101 + cpu] }).collect();
    assert_eq!(of(computing(8, WALL), environment).findings, []);
}

#[test]
fn other_load_has_what_it_used() {
    let mut environment = clean();
    environment.load = Some(Load { busy: ms(7_400), program: ms(5_000), ..clean().load.unwrap() });
    // Four threads lack 3 s; others used 2.35 s of the CPUs.
    let diagnosis = of(computing(4, 250), environment.clone());
    assert_eq!(costs(&diagnosis), [(FindingKind::Delayed, Nanos::new(162_500_000))]);
    let note = |diagnosis: &Diagnosis| match diagnosis.environment.as_slice() {
        [note] if note.kind == NoteKind::Load => (note.what.clone(), note.cost),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        note(&diagnosis),
        ("others used 29 % of the CPUs' time, which cost 588 ms".to_owned(), Some(Nanos::new(587_500_000)))
    );
    // The host of a virtual machine.
    environment.load =
        Some(Load { busy: ms(5_100), program: ms(5_000), stolen: ms(2_000), ..clean().load.unwrap() });
    let diagnosis = of(computing(4, 500), environment.clone());
    assert_eq!(diagnosis.findings, []);
    let by_host = "the host of this machine used 25 % of the CPUs' time, which cost 500 ms".to_owned();
    assert_eq!(note(&diagnosis), (by_host, Some(ms(500))));
    // Threads that lack nothing: a note, since times are not steady.
    let diagnosis = of(computing(4, WALL), environment);
    assert_eq!(diagnosis.findings, []);
    assert_eq!(note(&diagnosis).1, None);
}

/// The first worker holds the lock for 500 ms.
fn held_by_the_first(object: ObjectId) -> Hold {
    Hold {
        thread: ThreadId::new(1),
        begin: Some(at(0)),
        end: at(500),
        object,
        acquired_at: None,
        released_at: None,
        waited_for: true,
        mode: Mode::Exclusive,
    }
}

/// A thread that was released ran 200 ms later: another program had the core.
#[test]
fn a_long_wake_up_beside_others_is_theirs() {
    let lost = |others: u64, wakes_up: u64| {
        let mut process = computing(2, 0);
        let lock = process.add_object(ObjectKind::Mutex, 9);
        process.holds.push(held_by_the_first(lock));
        let waited = wait(2, lock, 0, 500 + wakes_up);
        process.waits.push(Wait { owner: Some(ThreadId::new(1)), ..waited });
        process.threads[1].cpu = Some(ms(1_000));
        process.threads[2].cpu = Some(ms(500 - wakes_up));
        let mut environment = clean();
        environment.load =
            Some(Load { busy: ms(5_000 + others), program: ms(5_000), ..clean().load.unwrap() });
        let parts = of(process, environment).cost_identity.parts;
        let cost = |kind| parts.iter().find(|part| part.0 == kind).map_or(Nanos::ZERO, |part| part.1);
        [cost(FindingKind::Lock), cost(FindingKind::WakeUp), cost(FindingKind::Load)]
    };
    assert_eq!(lost(2_000, 200), [ms(250), ms(0), ms(100)]);
    assert_eq!(lost(0, 200), [ms(250), ms(100), ms(0)], "nobody else was there");
}

/// Two more threads wait for the one that was released and did not run: one CPU that somebody used kept all three waiting.
#[test]
fn waits_for_a_thread_that_others_kept_from_running_are_theirs() {
    let mut process = computing(4, 0);
    let lock = process.add_object(ObjectKind::Mutex, 9);
    let done = process.add_object(ObjectKind::Semaphore, 10);
    process.holds.push(held_by_the_first(lock));
    process.waits.push(Wait { owner: Some(ThreadId::new(1)), ..wait(2, lock, 0, 700) });
    for thread in [3, 4] {
        process.waits.push(wait(thread, done, 0, 800));
        let (time, count) = (at(800), WakeCount::AtMost(1));
        process.wakes.push(Wake { thread: ThreadId::new(2), time, object: done, site: None, count });
    }
    for (thread, cpu) in [(1, 1_000), (2, 300), (3, 200), (4, 200)] {
        process.threads[thread].cpu = Some(ms(cpu));
    }
    let mut environment = clean();
    environment.load = Some(Load { busy: ms(5_350), program: ms(5_000), ..clean().load.unwrap() });
    let parts = of(process, environment).cost_identity.parts;
    let cost = |kind| parts.iter().find(|part| part.0 == kind).map_or(Nanos::ZERO, |part| part.1);
    assert_eq!((cost(FindingKind::Load), cost(FindingKind::WakeUp)), (ms(600 / 4), ms(0)), "{parts:?}");
}

/// One thread lacks a core for 600 of the 1,000 ms, beside other programs, and the other waits for it at a barrier, on a core for
/// 300 ms: of 700 ms of CPU time of the process that is 3/7.
fn late_at_a_barrier(construct: Option<SyncKind>) -> Diagnosis {
    let mut process = Process::new(at(0), at(WALL));
    process.pid = PID;
    let barrier = process.add_object(ObjectKind::Barrier, 9);
    process.objects[barrier.index()].construct = construct;
    process.covered = vec![(at(0), at(WALL))];
    for (number, spans) in [
        (0, &[(0, 200, Left::Preempted), (800, 1_000, Left::Blocked)][..]),
        (1, &[(0, 300, Left::Preempted)]),
    ] {
        let thread = process.add_thread("worker", at(0), None);
        process.threads[thread.index()].tid = 101 + number;
        process.threads[thread.index()].cpu = Some(ms(spans.iter().map(|span| span.1 - span.0).sum()));
        for &(begin, end, left) in spans {
            process.on_core.push(OnCore { thread, begin: at(begin), end: at(end), core: number, left });
        }
    }
    process.waits.push(Wait { round: Some(0), ..wait(1, barrier, 0, WALL) });
    process.waits.push(Wait { round: Some(0), ..wait(0, barrier, WALL, WALL) });
    let mut environment = clean();
    environment.load = Some(Load { busy: ms(6_000), program: ms(5_000), ..clean().load.unwrap() });
    of(process, environment)
}

/// What threads that spin at a barrier take from the one that they wait for is the program's own.
#[test]
fn waiting_threads_that_spin_have_their_part_of_the_want_of_cores() {
    let cost = |diagnosis: &Diagnosis, kind| {
        diagnosis.findings.iter().find(|finding| finding.kind == kind).map(|finding| finding.cost)
    };
    let others = |diagnosis: &Diagnosis| diagnosis.environment[0].cost.unwrap();
    let slept = late_at_a_barrier(None);
    assert_eq!(cost(&slept, FindingKind::Spin), None);
    let spun = late_at_a_barrier(Some(SyncKind::ExplicitBarrier));
    let part = cost(&spun, FindingKind::Spin).expect("a finding");
    // Of the 300 ms 20 µs are what it takes to go to sleep.
    let expected = others(&slept).get() as f64 * (300.0 - 0.02) / 700.0;
    assert!((part.get() as f64 - expected).abs() < 10.0, "{part} {expected}");
    let sum = others(&spun) + part;
    assert!(sum.get().abs_diff(others(&slept).get()) < 10, "{sum}");
    let gain = spun.findings.iter().find_map(|finding| finding.gain.clone()).expect("a gain");
    assert_eq!((gain.time, gain.high), (part, others(&slept)));
}

#[test]
fn load_is_no_finding_however_much_it_cost() {
    let mut environment = clean();
    environment.load = Some(Load { busy: ms(5_400), program: ms(5_000), ..clean().load.unwrap() });
    let mut process = computing(4, 600);
    for thread in 1..=4 {
        process.blocks.push(Block {
            thread: ThreadId::new(thread),
            begin: at(0),
            end: at(300),
            call: Call::Read,
            timed_out: false,
            site: None,
            cpu_begin: Some(Nanos::ZERO),
            cpu_end: Some(Nanos::ZERO),
        });
    }
    let diagnosis = of(process, environment);
    assert_eq!(costs(&diagnosis), [(FindingKind::Io, ms(300))]);
    assert_eq!(diagnosis.environment[0].cost, Some(Nanos::new(87_500_000)));
}

#[test]
fn a_quota_comes_before_a_lock_that_costs_more() {
    let mut process = computing(4, 0);
    let lock = process.add_object(ObjectKind::Mutex, 9);
    for thread in 2..=4 {
        process.waits.push(Wait { owner: Some(ThreadId::new(1)), ..wait(thread, lock, 0, 800) });
    }
    for (thread, cpu) in [(1, 900), (2, 100), (3, 100), (4, 100)] {
        process.threads[thread].cpu = Some(ms(cpu));
    }
    let diagnosis = of(process, with_quota(quota(2.0, 3, ms(400))));
    let kinds: Vec<FindingKind> = diagnosis.findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [FindingKind::Quota, FindingKind::Lock]);
    assert!(diagnosis.findings[0].cost < diagnosis.findings[1].cost);
}

fn notes(threads: u32, change: impl FnOnce(&mut Environment)) -> Vec<(NoteKind, String)> {
    let mut environment = clean();
    change(&mut environment);
    let diagnosis = of(computing(threads, WALL), environment);
    assert_eq!(diagnosis.findings, []);
    diagnosis.environment.into_iter().map(|note| (note.kind, note.what)).collect()
}

fn one(kind: NoteKind, what: &str) -> Vec<(NoteKind, String)> {
    vec![(kind, what.to_owned())]
}

/// No CPU times could be read, so that it is not known what threads lacked.
#[test]
fn a_quota_whose_cost_is_not_known_is_noted() {
    let mut process = computing(8, WALL);
    process.threads.iter_mut().for_each(|thread| thread.cpu = None);
    process.waits.iter_mut().for_each(|wait| (wait.cpu_begin, wait.cpu_end) = (None, None));
    let diagnosis = of(process, with_quota(quota(2.0, 41, ms(6_000))));
    assert_eq!(diagnosis.findings, []);
    let told: Vec<(NoteKind, &str)> =
        diagnosis.environment.iter().map(|note| (note.kind, note.what.as_str())).collect();
    assert_eq!(told, [(NoteKind::Quota, "a CPU quota (2 CPUs) was used up in 41 of 60 periods")]);
}

#[test]
fn threads_that_share_physical_cores_are_noted() {
    let smt = |environment: &mut Environment| {
        environment.shared_cores = (0..4).map(|cpu| [cpu, cpu + 4].into_iter().collect()).collect();
    };
    assert_eq!(notes(8, smt), one(NoteKind::Smt, "8 threads on 4 physical cores, two or more to a core"));
    assert_eq!(notes(4, smt), []);
}

#[test]
fn cores_of_two_kinds_are_noted() {
    let hybrid = |environment: &mut Environment| {
        environment.kinds = [("performance", "0-3"), ("efficiency", "4-7")]
            .map(|(name, list)| CoreKind { name: name.to_owned(), cpus: cpus(list) })
            .to_vec();
    };
    let what = "8 threads on CPUs of different speed (4 performance, 4 efficiency)";
    assert_eq!(notes(8, hybrid), one(NoteKind::Hybrid, what));
    assert_eq!(notes(4, hybrid), []);
}

#[test]
fn speed_limits_are_noted() {
    let limited = |environment: &mut Environment| environment.frequencies[0].limit_khz = 2_000_000;
    let what = "CPUs 0-7 may run at 2.0 of 3.5 GHz (governor performance)";
    assert_eq!(notes(8, limited), one(NoteKind::Frequency, what));
    let powersave = |driver: &'static str| {
        move |environment: &mut Environment| {
            environment.frequencies[0].governor = "powersave".to_owned();
            environment.frequencies[0].driver = driver.to_owned();
        }
    };
    assert_eq!(notes(8, powersave("acpi-cpufreq")).len(), 1);
    assert_eq!(notes(8, powersave("intel_pstate")), []);
    let hot = |environment: &mut Environment| {
        (environment.turbo_off, environment.thermal_throttles) = (Some(true), Some(3));
    };
    let what = "turbo is off; CPUs slowed down for heat 3 times";
    assert_eq!(notes(8, hot), one(NoteKind::Frequency, what));
}

#[test]
fn memory_on_one_of_several_nodes_is_noted() {
    let memory = |pages: &'static [(u32, u64)]| {
        move |environment: &mut Environment| {
            environment.nodes =
                [(0, "0-3"), (1, "4-7")].map(|(node, list)| MemoryNode { node, cpus: cpus(list) }).to_vec();
            environment.placements[0].memory = pages.to_vec();
        }
    };
    let what = "its CPUs belong to 2 memory nodes, 97 % of its memory lies in node 0";
    assert_eq!(notes(8, memory(&[(0, 970), (1, 30)])), one(NoteKind::Numa, what));
    assert_eq!(notes(8, memory(&[(0, 500), (1, 500)])), []);
    assert_eq!(notes(4, memory(&[(0, 970), (1, 30)])), [], "they all fit beside the memory");
}

#[test]
fn swap_and_memory_limits_are_noted() {
    let swapping = |own: u64| {
        move |environment: &mut Environment| {
            environment.swapped = Some(Swapped { read: 64 << 20, written: 0 });
            environment.placements[0].in_swap = Some(own);
        }
    };
    let what = "64 MiB came back from swap (64.0 MiB a second), of this program up to 32 MiB were there";
    assert_eq!(notes(8, swapping(32 << 20)), one(NoteKind::Swap, what));
    assert_eq!(notes(8, swapping(0)), [], "others' memory");
    let limit = |environment: &mut Environment| environment.placements[0].memory_limit_hits = Some(12);
    let what = "a memory limit of its control group was reached 12 times";
    assert_eq!(notes(8, limit), one(NoteKind::Memory, what));
}

fn any_environment() -> impl Strategy<Value = Environment> {
    let pins = proptest::collection::vec((0..8u32, 0..8u32), 0..4);
    (1..9u32, pins, 0..3_000u64, 0..3_000u64, 0..60u64).prop_map(
        |(allowed, pins, stopped, busy, throttled)| {
            let mut environment = with_quota(quota(1.5, throttled, ms(stopped)));
            let placement = &mut environment.placements[0];
            placement.allowed = (0..allowed).collect();
            placement.pins = pins
                .into_iter()
                .map(|(cpu, tid)| Pin { cpus: std::iter::once(cpu).collect(), threads: vec![tid] })
                .collect();
            environment.load = Some(Load { busy: ms(busy), program: Nanos::ZERO, ..clean().load.unwrap() });
            environment
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn each_lost_nanosecond_has_one_reason_in_any_environment(
        script in holdup_testkit::any_script(),
        environment in any_environment(),
    ) {
        let process = script.play();
        let run = Run { processes: vec![process], cores: 4, environment, ..Run::default() };
        let diagnosis = diagnose(&run, 0);
        let identity = &diagnosis.cost_identity;
        let parts: Nanos = identity.parts.iter().map(|(_, cost)| *cost).sum();
        prop_assert_eq!(identity.useful + parts + identity.unexplained, diagnosis.wall);
        let rounding = (identity.parts.len() + diagnosis.threads.len() * 2) as u64 + 1;
        prop_assert!(identity.unexplained.get() <= rounding, "{:?}", identity);
        prop_assert!((0.0..=1.0).contains(&diagnosis.efficiency));
    }
}
