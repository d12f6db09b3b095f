//! Runs and their diagnoses, built by hand: what the faces are given.

mod build;
mod sampled;
mod surrounded;

use std::sync::Arc;

use holdup_criticality::{
    Bottle, Chain, ChainLink, CostIdentity, CriticalPath, Criticality, Diagnosis, Finding, FindingKind,
    HoldTime, HolderShare, NobodyCause, ObjectCost, OverTime, PathStep, Phase, WaiterShare,
};
use holdup_model::{
    ExitStatus, Frame, Nanos, ObjectKind, Process, RecordingCost, Run, Site, SiteId, State, ThreadId,
    ThreadTimes, Time, Timeline,
};

pub(crate) use build::{a_build, a_build_with_a_lock};
pub(crate) use sampled::{at, kernel_only, sample_it, sampled_lock};
pub(crate) use surrounded::{clean_machine, surrounded};

pub(crate) const MS: u64 = 1_000_000;

pub(crate) fn ms(milliseconds: u64) -> Nanos {
    Nanos::new(milliseconds * MS)
}

pub(crate) fn thread(index: u32) -> ThreadId {
    ThreadId::new(index)
}

/// A process `command` of `wall` milliseconds whose threads have these names.
pub(crate) fn process(command: &str, pid: u32, wall: u64, names: &[&str]) -> Process {
    let (start, end) = (Time::from_nanos(0), Time::from_nanos(wall * MS));
    let mut process = Process::new(start, end);
    process.pid = pid;
    process.parent_pid = 1;
    process.command = vec![command.to_owned(), "photos/".to_owned()];
    for (index, name) in names.iter().enumerate() {
        let id = process.add_thread(name, start, Some(end));
        process.threads[id.index()].tid = pid + index as u32;
    }
    process
}

pub(crate) fn site(process: &mut Process, function: &str, file: &str, line: u32) -> SiteId {
    process.add_site(Site {
        frames: vec![Frame {
            function: Some(function.to_owned()),
            file: Some(file.to_owned()),
            line: Some(line),
            module: Some("convert".to_owned()),
            address: 0x1234,
            ..Default::default()
        }],
        ..Site::default()
    })
}

pub(crate) fn run(processes: Vec<Process>) -> Run {
    Run {
        recorded_by: "0.1.0".to_owned(),
        command: processes.first().map(|process| process.command.clone()).unwrap_or_default(),
        start: Time::from_nanos(0),
        end: processes.iter().map(|process| process.end).max().unwrap_or_default(),
        exit: Some(ExitStatus::Code(0)),
        cores: 8,
        collectors: vec!["preload".to_owned()],
        clock: "invariant TSC, error below 1 ppm".to_owned(),
        cost: None,
        processes,
        ..Run::default()
    }
}

/// A diagnosis without findings in which the threads are active for these shares of the time and have these
/// shares of the criticality; what the latter leave over is nobody's.
pub(crate) fn diagnosis(process: &Process, index: usize, active: &[f64], critical: &[f64]) -> Diagnosis {
    let wall = process.wall();
    let length = wall.get() as f64;
    let ids = || (0..active.len() as u32).map(ThreadId::new);
    let part = |share: f64| Nanos::new((share * length).round() as u64);
    let nobody = (1.0 - critical.iter().sum::<f64>()).max(0.0) * length;
    let parallelism = active.iter().sum::<f64>();
    Diagnosis {
        process: index,
        timeline: Arc::new(Timeline::build(process)),
        wall,
        cores: 8,
        effective_cores: 8,
        working_threads: ids().collect(),
        one_by_one: false,
        workers: active.len() as u32,
        parallelism,
        on_cpu_parallelism: Some(parallelism),
        efficiency: parallelism / (active.len().clamp(1, 8) as f64),
        active_means: "not waiting",
        criticality: Criticality {
            total: wall,
            threads: critical.iter().map(|share| share * length).collect(),
            nobody: if nobody > 0.5 { vec![(NobodyCause::Io, nobody)] } else { Vec::new() },
        },
        runnable: Criticality {
            total: wall,
            threads: critical.iter().map(|share| share * length).collect(),
            nobody: if nobody > 0.5 { vec![(NobodyCause::Io, nobody)] } else { Vec::new() },
        },
        others: 0.0,
        bottle: ids()
            .zip(critical)
            .zip(active)
            .filter(|((_, height), _)| **height > 0.0)
            .map(|((thread, &height), active)| Bottle { thread, height, width: active / height })
            .collect(),
        threads: active
            .iter()
            .map(|&share| ThreadTimes {
                active: part(share),
                waiting: wall.saturating_sub(part(share)),
                ..ThreadTimes::default()
            })
            .collect(),
        objects: Vec::new(),
        path: CriticalPath {
            pieces: Vec::new(),
            length: wall,
            steps: vec![PathStep { thread: thread(0), site: None, state: State::Active, time: wall }],
            by_thread: vec![(thread(0), wall)],
            by_object: Vec::new(),
        },
        chains: Vec::new(),
        findings: Vec::new(),
        cost_identity: CostIdentity { useful: wall, parts: Vec::new(), unexplained: Nanos::ZERO },
        environment: Vec::new(),
        hot: None,
        what_if: None,
        repeats: None,
        tree: None,
        families: Vec::new(),
        over_time: OverTime {
            slice: Nanos::new(wall.get() / 200),
            slices: Vec::new(),
            phases: vec![Phase {
                start: process.start,
                end: process.end,
                parallelism,
                threads: critical.iter().take(8).zip(ids()).map(|(share, id)| (id, share * length)).collect(),
                nobody,
            }],
            worst: None,
        },
    }
}

pub(crate) fn finding(kind: FindingKind, what: &str, cost: Nanos) -> Finding {
    Finding {
        kind,
        object: None,
        others: Vec::new(),
        stretches: Vec::new(),
        threads: vec![thread(0)],
        place: None,
        what: what.to_owned(),
        evidence: vec!["It was seen to cost that much.".to_owned()],
        hint: "Fix it.".to_owned(),
        cost,
        on_path: None,
        gain: None,
        repeats: None,
        method: "waits charged to the thread that was waited for",
        notes: Vec::new(),
    }
}

/// The example of the design: a lock that is held most of the time, and an uneven loop.
pub(crate) fn planted_lock() -> (Run, Vec<Diagnosis>) {
    let names = ["main", "worker 1", "worker 2", "worker 3", "worker 4", "worker 5", "worker 6", "worker 7"];
    let mut process = process("/usr/bin/convert", 100, 12_400, &names);
    let put = site(&mut process, "cache_put", "cache.c", 212);
    let row = site(&mut process, "resize", "resize.c", 88);
    let worker = site(&mut process, "worker", "pool.c", 12);
    for index in 1..names.len() {
        process.threads[index].entry = Some(worker);
        process.threads[index].parent = Some(thread(0));
        process.threads[index].cpu = Some(ms(4_700));
    }
    process.threads[0].cpu = Some(ms(5_540));
    let lock = process.add_object(ObjectKind::Mutex, 0x4040);
    process.objects[lock.index()].name = Some("cache_lock".to_owned());

    let critical = [0.31, 0.11, 0.27, 0.07, 0.07, 0.06, 0.06, 0.05];
    let mut told = diagnosis(&process, 0, &[0.45, 0.38, 0.40, 0.38, 0.38, 0.37, 0.37, 0.37], &critical);
    told.objects.push(ObjectCost {
        object: lock,
        place: Some(put),
        acquisitions: Some(48_211),
        failed_tries: 3,
        waits: 31_004,
        wait: ms(40_800),
        waking: ms(310),
        hold: HoldTime::Estimated { time: ms(8_800), samples: 1_007 },
        cost: ms(5_100),
        direct_cost: ms(5_100),
        holders: vec![HolderShare { thread: Some(thread(2)), site: Some(put), time: ms(31_000) }],
        waiters: vec![WaiterShare { thread: thread(1), site: Some(put), time: ms(9_000) }],
        on_path: ms(7_300),
        mean_waiters: 2.6,
    });
    told.path.by_object.push((lock, ms(7_300)));
    told.chains.push(Chain {
        waiters: vec![thread(1), thread(3)],
        links: vec![ChainLink {
            object: lock,
            wait_site: Some(put),
            holder: Some(thread(2)),
            holder_state: State::Active,
            holder_site: Some(put),
        }],
        time: ms(21_000),
    });
    told.findings = vec![
        Finding {
            object: Some(lock),
            others: Vec::new(),
            stretches: Vec::new(),
            threads: vec![thread(2)],
            place: Some(put),
            evidence: vec![
                "Held 71 % of the time, mostly by worker 2; 2.6 threads wait for it on average.".to_owned(),
            ],
            hint: "Move work out of the critical section, or split the lock.".to_owned(),
            on_path: Some(ms(7_300)),
            ..finding(FindingKind::Lock, "lock cache_lock, held in cache_put (cache.c:212)", ms(5_100))
        },
        Finding {
            place: Some(row),
            threads: vec![thread(5), thread(6), thread(7)],
            evidence: vec!["Threads 5 to 7 wait 1.2 s on average for the last one to arrive.".to_owned()],
            hint: "Deal the work out in smaller pieces.".to_owned(),
            ..finding(
                FindingKind::Imbalance,
                "uneven work before the barrier in resize (resize.c:88)",
                ms(1_900),
            )
        },
    ];
    told.cost_identity = CostIdentity {
        useful: ms(4_800),
        parts: vec![(FindingKind::Lock, ms(5_100)), (FindingKind::Imbalance, ms(1_900))],
        unexplained: ms(600),
    };
    let mut run = run(vec![process]);
    run.cost = Some(RecordingCost { records: ms(230), ..RecordingCost::default() });
    (run, vec![told])
}

/// Four threads that are active all the time.
pub(crate) fn nothing_found() -> (Run, Vec<Diagnosis>) {
    let process = process("./sum", 100, 3_000, &["sum", "sum", "sum", "sum"]);
    let mut told = diagnosis(&process, 0, &[0.99, 0.99, 0.98, 0.98], &[0.25, 0.25, 0.25, 0.25]);
    (told.cores, told.effective_cores) = (4, 4);
    told.cost_identity = CostIdentity {
        useful: ms(2_960),
        parts: vec![(FindingKind::Lock, ms(3)), (FindingKind::WakeUp, ms(21))],
        unexplained: ms(16),
    };
    (run(vec![process]), vec![told])
}

/// A program that never started a thread.
pub(crate) fn single_thread() -> (Run, Vec<Diagnosis>) {
    let process = process("/bin/sort", 100, 800, &["sort"]);
    let mut told = diagnosis(&process, 0, &[0.87], &[0.87]);
    told.threads[0].waiting = Nanos::ZERO;
    told.threads[0].io = ms(104);
    (run(vec![process]), vec![told])
}

/// The planted lock, in a recording with losses.
pub(crate) fn lost_events() -> (Run, Vec<Diagnosis>) {
    let (mut run, diagnoses) = planted_lock();
    run.processes[0].lost.events = 12_345;
    run.processes[0].lost.in_signals = 2;
    run.processes[0].lost.damaged_bytes = 1;
    run.unseen = vec![
        "gs (pid 120) is a static program: nothing can be loaded into it.".to_owned(),
        "su (pid 121) is set-uid: nothing is loaded into it.".to_owned(),
        "su (pid 122) is set-uid: nothing is loaded into it.".to_owned(),
    ];
    run.exit = Some(ExitStatus::Signal(9));
    (run, diagnoses)
}

/// 64 threads that are all alike, and nine findings.
pub(crate) fn many_threads() -> (Run, Vec<Diagnosis>) {
    let process = process("server", 100, 60_000, &["server"; 64]);
    let mut told = diagnosis(&process, 0, &[0.09; 64], &[0.9 / 64.0; 64]);
    told.criticality.nobody =
        vec![(NobodyCause::Io, 4_500.0 * MS as f64), (NobodyCause::WakeUp, 1_500.0 * MS as f64)];
    told.efficiency = 0.7;
    told.on_cpu_parallelism = Some(4.1);
    told.threads.iter_mut().for_each(|times| times.delayed = ms(1_500));
    told.findings = (1u64..=9)
        .map(|rank| {
            let what = format!("lock shard_{rank}, held in take (shard.c:{})", 10 * rank);
            finding(FindingKind::Lock, &what, ms(9_000 / rank))
        })
        .collect();
    (run(vec![process]), vec![told])
}

/// A build: many processes.
pub(crate) fn many_processes() -> (Run, Vec<Diagnosis>) {
    let (first, mut diagnoses) = planted_lock();
    let mut processes = first.processes;
    for index in 1..8usize {
        let child = process("/usr/lib/cc1", 200 + index as u32, 900 * index as u64, &["cc1", "lto"]);
        let mut told = diagnosis(&child, index, &[0.9, 0.3], &[0.8, 0.2]);
        if index % 2 == 1 {
            told.findings.push(finding(FindingKind::Join, "join of lto", ms(100 * index as u64)));
        }
        processes.push(child);
        diagnoses.push(told);
    }
    (run(processes), diagnoses)
}

/// Names that attack the terminal.
pub(crate) fn hostile_names() -> (Run, Vec<Diagnosis>) {
    let (mut run, mut diagnoses) = planted_lock();
    let process = &mut run.processes[0];
    process.command[0] = "/tmp/\x1b]0;owned\x07con\nvert".to_owned();
    process.threads[0].name = Some("\x1b[31mred\x1b[0m".to_owned());
    process.threads[2].name = Some("\u{202e}evil\u{2066}".to_owned());
    diagnoses[0].findings[0].what = format!("lock a\r\nb\x1b[2J\u{9b}1m, held in {}", "std::map<".repeat(60));
    diagnoses[0].findings[0].evidence = vec!["Held by \u{202e}evil\u{2066} \u{200b}\t.".to_owned()];
    run.warnings.push("cannot read /tmp/\x1b[8mhidden".to_owned());
    sample_it(&mut run, &mut diagnoses[0]);
    let hot = diagnoses[0].hot.as_mut().unwrap();
    hot.lines[0].inside = Some("copy\x1b[5m\nit".to_owned());
    hot.functions[0].inside = hot.lines[0].inside.clone();
    let line = run.processes[0].sites[hot.lines[0].place.index()].frames.first_mut().unwrap();
    line.function = Some("\u{202e}<\x1b[2K>".repeat(9));
    line.file = Some("/src/\x1b]2;x\x07.c".to_owned());
    (run, diagnoses)
}

/// Too much of everything.
pub(crate) fn crowded() -> (Run, Vec<Diagnosis>) {
    let (mut run, mut diagnoses) = many_processes();
    let (lossy, _) = lost_events();
    run.processes[0].lost = lossy.processes[0].lost;
    run.unseen = lossy.unseen;
    run.exit = None;
    sample_it(&mut run, &mut diagnoses[0]);
    for rank in 1..=9 {
        let what = format!("lock shard_{rank}, held in {}{rank} (shard.c:{rank})", "take_one_of_".repeat(7));
        let mut found = finding(FindingKind::Lock, &what, ms(900));
        found.evidence = vec!["Held 12 % of the time, mostly by worker 3. ".repeat(4)];
        found.notes = vec!["The hold time is an estimate from 12 samples.".to_owned()];
        diagnoses[0].findings.push(found);
    }
    diagnoses[0].criticality.threads[0] -= 0.2 * diagnoses[0].wall.get() as f64;
    let nobody = 0.05 * diagnoses[0].wall.get() as f64;
    diagnoses[0].criticality.nobody = vec![
        (NobodyCause::Io, nobody),
        (NobodyCause::Sleep, nobody),
        (NobodyCause::WakeUp, nobody),
        (NobodyCause::RunQueue, nobody),
    ];
    (run, diagnoses)
}

/// All of them, by name.
pub(crate) fn all() -> Vec<(&'static str, Run, Vec<Diagnosis>)> {
    let named = |name, (run, diagnoses)| (name, run, diagnoses);
    vec![
        named("planted lock", planted_lock()),
        named("sampled lock", sampled_lock()),
        named("kernel only", kernel_only()),
        named("clean machine", clean_machine()),
        named("surrounded", surrounded()),
        named("nothing found", nothing_found()),
        named("single thread", single_thread()),
        named("lost events", lost_events()),
        named("many threads", many_threads()),
        named("many processes", many_processes()),
        named("a build", a_build()),
        named("a build with a lock", a_build_with_a_lock()),
        named("hostile names", hostile_names()),
        named("crowded", crowded()),
        named("nothing recorded", (Run::default(), Vec::new())),
    ]
}
