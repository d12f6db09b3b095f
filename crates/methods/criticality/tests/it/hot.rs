//! Where threads are at work, by samples: hot spots by critical time, and findings that name the line.

use holdup_criticality::{Diagnosis, FindingKind, HotSpots, diagnose};
use holdup_model::{
    Doing, Frame, Left, Nanos, ObjectKind, OnCore, Process, Run, Sample, SeenBy, Site, SiteId, State,
    ThreadId, Time, Timeline, Wait, Wake, WakeCount,
};
use holdup_testkit::{Op, Script};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn work(length: u64) -> Op {
    Op::Work(length * MS)
}

fn of(process: Process, cores: u32) -> Diagnosis {
    diagnose(&Run { processes: vec![process], cores, ..Run::default() }, 0)
}

/// Looks at each thread whenever it has been active for `period` more nanoseconds; `at` says where it is then.
fn sample(process: &mut Process, period: u64, at: impl Fn(ThreadId, Time) -> Option<SiteId>) {
    let timeline = Timeline::build(process);
    for (index, row) in timeline.threads.iter().enumerate() {
        let thread = ThreadId::new(index as u32);
        let mut left = period;
        for segment in row.segments.iter().filter(|segment| segment.state == State::Active) {
            let mut time = segment.start;
            while segment.end.since(time) >= Nanos::new(left) {
                time = time + Nanos::new(left);
                left = period;
                let (doing, weight) = (Doing::Running, Nanos::new(period));
                process.samples.push(Sample {
                    thread,
                    time,
                    doing,
                    site: at(thread, time),
                    weight,
                    access: None,
                    in_kernel: None,
                });
            }
            left -= segment.end.since(time).get();
        }
    }
}

/// A stack of functions of the program, innermost first, each with its line.
fn stack(process: &mut Process, frames: &[(&str, u32)]) -> SiteId {
    let frame = |&(function, line): &(&str, u32)| Frame {
        function: Some(function.to_owned()),
        file: Some("/src/main.c".to_owned()),
        line: Some(line),
        module: Some("app".to_owned()),
        ..Frame::default()
    };
    process.add_site(Site { frames: frames.iter().map(frame).collect(), ..Site::default() })
}

fn library(process: &mut Process, site: SiteId, function: &str) {
    let frame = Frame {
        function: Some(function.to_owned()),
        module: Some("libc.so.6".to_owned()),
        ..Frame::default()
    };
    process.sites[site.index()].frames.insert(0, frame);
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-3
}

#[test]
fn the_critical_line_comes_before_the_hottest() {
    let mut script = Script::new();
    let workers = [vec![work(220)], vec![work(100)]].map(|ops| script.thread("worker", ops));
    script.main_runs(&workers);
    let mut process = script.play();
    let crunch = stack(&mut process, &[("crunch", 10), ("worker", 20)]);
    let merge = stack(&mut process, &[("merge", 30), ("worker", 21)]);
    let alone_from = Time::from_nanos(100 * MS);
    sample(&mut process, MS, |_, time| Some(if time > alone_from { merge } else { crunch }));
    let diagnosis = of(process, 4);
    let hot = diagnosis.hot.expect("there are samples");
    let lines: Vec<(SiteId, u64, f64, u64)> = hot
        .lines
        .iter()
        .map(|line| (line.place, line.active.get() / MS, line.critical, line.samples))
        .collect();
    assert_eq!(lines, [(merge, 120, 120e6, 120), (crunch, 200, 100e6, 200)]);
    assert_eq!(hot.lines[1].threads, workers.map(|thread| (thread, Nanos::new(100 * MS))));
    assert_eq!(
        hot.functions.iter().map(|spot| spot.function.as_deref()).collect::<Vec<_>>(),
        [Some("merge"), Some("crunch")]
    );
    assert_eq!((hot.samples, hot.active, hot.broken_stacks), (320, Nanos::new(320 * MS), 0.0));
    assert!(close(hot.critical, diagnosis.criticality.threads.iter().sum()));
}

#[test]
fn a_function_is_shown_at_its_most_critical_line_and_with_the_library_it_is_in() {
    let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(100 * MS));
    process.add_thread("main", Time::from_nanos(0), None);
    let copies = [40, 41].map(|line| stack(&mut process, &[("copy_all", line)]));
    library(&mut process, copies[0], "memcpy");
    let other = stack(&mut process, &[("other", 50)]);
    let broken = process.add_site(Site { broken: true, ..Site::default() });
    let site = |time: Time| match time.nanos() / MS {
        0..40 => copies[0],
        40..60 => copies[1],
        60..95 => other,
        _ => broken,
    };
    sample(&mut process, MS, |_, time| Some(site(Time::from_nanos(time.nanos() - 1))));
    let hot = of(process, 1).hot.expect("there are samples");
    let first = &hot.functions[0];
    assert_eq!((first.place, first.samples, first.inside.as_deref()), (copies[0], 60, Some("memcpy")));
    assert_eq!((hot.lines[2].place, hot.lines[2].inside.as_deref()), (copies[1], None));
    assert!(close(hot.broken_stacks, 0.05));
}

#[test]
fn what_has_no_name_is_inside_of_another_library_only() {
    let inside = |library: &str| {
        let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(100 * MS));
        process.add_thread("main", Time::from_nanos(0), None);
        let frame = |function: Option<&str>, module: &str| {
            let (function, module) = (function.map(str::to_owned), Some(module.to_owned()));
            Frame { function, module, ..Frame::default() }
        };
        let frames =
            vec![frame(None, library), frame(Some("deflate"), "libz.so.1"), frame(Some("main"), "app")];
        let site = process.add_site(Site { frames, ..Site::default() });
        sample(&mut process, MS, |_, _| Some(site));
        let first = of(process, 1).hot.expect("there are samples").functions.swap_remove(0);
        (first.function, first.inside)
    };
    let deflate = Some("deflate".to_owned());
    assert_eq!(inside("libc.so.6"), (deflate.clone(), Some("libc.so.6".to_owned())));
    assert_eq!(inside("libz.so.1"), (deflate, None));
}

#[test]
fn code_without_names_is_summed_by_where_its_function_begins() {
    let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(100 * MS));
    process.add_thread("main", Time::from_nanos(0), None);
    let mut nameless = |module: &str, address, begin| {
        let frame = Frame { module: Some(module.to_owned()), address, begin, ..Frame::default() };
        process.add_site(Site { frames: vec![frame], ..Site::default() })
    };
    let sites = [
        nameless("app", 0x110, Some(0x100)),
        nameless("app", 0x120, Some(0x100)),
        nameless("app", 0x210, Some(0x200)),
        nameless("libcodec.so", 0x900, Some(Frame::OUTSIDE)),
        nameless("libcodec.so", 0xa00, Some(Frame::OUTSIDE)),
        nameless("old", 0x300, None),
        nameless("old", 0x400, None),
    ];
    let ends = [30, 50, 60, 77, 90, 96, 100];
    let site = |time: Time| {
        let at = (time.nanos() - 1) / MS;
        ends.iter().position(|end| at < *end).map(|index| sites[index])
    };
    sample(&mut process, MS, |_, time| site(time));
    let hot = of(process, 1).hot.expect("there are samples");
    let functions: Vec<(SiteId, Option<&str>, u64)> =
        hot.functions.iter().map(|spot| (spot.place, spot.function.as_deref(), spot.samples)).collect();
    assert_eq!(
        functions,
        [
            (sites[0], Some("function at app+0x100"), 50),
            (sites[3], Some("libcodec.so (code without names)"), 30),
            (sites[2], Some("function at app+0x200"), 10),
            (sites[5], None, 6),
            (sites[6], None, 4),
        ]
    );
    assert_eq!(hot.lines.len(), 7);
}

#[test]
fn what_a_sample_stands_for_ends_at_the_one_before_and_skips_waiting() {
    let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(100));
    let main = process.add_thread("main", Time::from_nanos(0), None);
    let site = stack(&mut process, &[("crunch", 10)]);
    let spin = process.add_site(Site { in_waiting_loop: true, ..Site::default() });
    process.blocks.push(holdup_model::Block {
        thread: main,
        begin: Time::from_nanos(30),
        end: Time::from_nanos(50),
        call: holdup_model::Call::Read,
        timed_out: false,
        site: None,
        cpu_begin: None,
        cpu_end: None,
    });
    let sample = |time, site, weight| Sample {
        thread: main,
        time: Time::from_nanos(time),
        doing: Doing::Running,
        site: Some(site),
        weight: Nanos::new(weight),
        access: None,
        in_kernel: None,
    };
    // Eight weights: 16 to 30 and 50 to 60; 60 to 65, not further; 72 to 80 of spinning; 80 to 90.
    process.samples =
        vec![sample(90, site, 50), sample(60, site, 3), sample(65, site, 30), sample(80, spin, 1)];
    let diagnosis = of(process, 1);
    let hot = diagnosis.hot.expect("there are samples");
    assert_eq!((hot.samples, hot.active), (3, Nanos::new(39)));
    assert!(close(hot.critical, 39.0));
    assert_eq!(diagnosis.threads[0].spinning, Nanos::new(8));
}

#[test]
fn without_samples_nothing_is_hot() {
    let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(100));
    process.add_thread("main", Time::from_nanos(0), None);
    assert_eq!(of(process, 1).hot, None);
}

/// Frames of 10 ms by the main thread alone and 5 ms by four workers.
fn fork_and_join() -> Script {
    let mut script = Script::new();
    let join = script.site("fork_and_join", 40);
    let workers: Vec<ThreadId> = (0..20).map(|_| script.thread("render_worker", vec![work(5)])).collect();
    for frame in workers.chunks(4) {
        script.main_does(&[work(10)]);
        frame.iter().for_each(|&thread| script.main_does(&[Op::Start(thread)]));
        frame.iter().for_each(|&thread| script.main_does(&[Op::Join(thread, join)]));
    }
    script
}

#[test]
fn a_serial_phase_is_named_by_its_line() {
    let mut process = fork_and_join().play();
    let build = stack(&mut process, &[("build_index", 88), ("main", 120)]);
    let render = stack(&mut process, &[("render", 60), ("render_worker", 70)]);
    sample(&mut process, MS, |thread, _| Some(if thread.index() == 0 { build } else { render }));
    let finding = &of(process.clone(), 8).findings[0];
    assert_eq!((finding.kind, finding.place), (FindingKind::Serial, Some(build)));
    assert_eq!(finding.what, "only main at work in build_index (main.c:88)");
    assert!(finding.evidence[1].starts_with("100 % of the 50 samples"), "{:?}", finding.evidence);
    // With fewer than five samples nothing is concluded.
    process.samples.retain(|sample| sample.thread.index() > 0 || sample.time < Time::from_nanos(5 * MS));
    let finding = &of(process, 8).findings[0];
    assert_eq!(finding.what, "only main at work between two calls in fork_and_join (main.c:40)");
}

#[test]
fn where_all_threads_are_in_one_function_the_caller_tells_them_apart() {
    let mut process = fork_and_join().play();
    let prepare =
        stack(&mut process, &[("crunch", 5), ("prepare_tiles", 12), ("prepare_frame", 30), ("main", 120)]);
    let render = stack(&mut process, &[("crunch", 5), ("render_tiles", 18), ("render_worker", 70)]);
    sample(&mut process, MS, |thread, _| Some(if thread.index() == 0 { prepare } else { render }));
    let finding = &of(process, 8).findings[0];
    assert_eq!(finding.what, "only main at work in prepare_tiles (main.c:12), inside crunch");
    assert_eq!(finding.place, Some(prepare));
}

/// What is said of main's serial phases if its samples are at these stacks in turn.
fn serial_phase_at(stacks: &[&[(&str, u32)]]) -> (String, String, Option<String>) {
    let mut process = fork_and_join().play();
    let sites: Vec<SiteId> = stacks.iter().map(|frames| stack(&mut process, frames)).collect();
    let render = stack(&mut process, &[("render", 60), ("render_worker", 70)]);
    sample(&mut process, MS, |thread, time| {
        let turn = (time.nanos() / MS) as usize % sites.len();
        Some(if thread.index() == 0 { sites[turn] } else { render })
    });
    let place = |place: SiteId| process.site(place).place().and_then(|frame| frame.function.clone());
    let finding = of(process.clone(), 8).findings.swap_remove(0);
    assert_eq!(finding.kind, FindingKind::Serial);
    (finding.what, finding.evidence[1..].concat() + &finding.hint, finding.place.and_then(place))
}

#[test]
fn where_no_function_has_much_of_a_serial_phase_the_one_that_calls_all_is_named() {
    let (what, said, place) = serial_phase_at(&[
        &[("tokenize", 5), ("load", 31), ("main", 120)],
        &[("intern", 6), ("add", 12), ("load", 32), ("main", 120)],
        &[("push", 7), ("load", 33), ("load", 39), ("main", 120)],
        &[("read_line", 8), ("load", 34), ("main", 120)],
        &[("load", 35), ("main", 120)],
    ]);
    assert_eq!(what, "only main at work in load (main.c) and what it calls");
    assert!(said.starts_with("100 % of the 50 samples"), "{said}");
    assert!(said.contains("are in load or what it calls."), "{said}");
    assert_eq!(place.as_deref(), Some("load"));
    // Called by the function that everything is called by they have nothing in common that says anything.
    let (what, ..) = serial_phase_at(&[
        &[("tokenize", 5), ("main", 120)],
        &[("intern", 6), ("main", 121)],
        &[("push", 7), ("main", 122)],
        &[("read_line", 8), ("main", 123)],
    ]);
    assert_eq!(what, "only main at work between two calls in fork_and_join (main.c:40)");
    // Nor is it said of a function that calls less than nearly all.
    let (what, ..) = serial_phase_at(&[
        &[("tokenize", 5), ("load", 31), ("main", 120)],
        &[("intern", 6), ("load", 32), ("main", 120)],
        &[("push", 7), ("load", 33), ("main", 120)],
        &[("sort", 8), ("main", 121)],
        &[("hash", 9), ("main", 122)],
    ]);
    assert_eq!(what, "only main at work between two calls in fork_and_join (main.c:40)");
}

#[test]
fn what_an_interpreter_does_alone_is_called_by_its_name() {
    let outer: &[(&str, u32)] = &[("_PyEval_EvalFrameDefault", 3), ("Py_RunMain", 9)];
    let import =
        |inner: &[(&'static str, u32)]| [inner, &[("PyImport_ImportModuleLevelObject", 4)], outer].concat();
    let (hottest, other) = (import(&[("r_object", 1)]), import(&[("gc_collect_main", 1)]));
    let (what, said, _) = serial_phase_at(&[&hottest, &hottest, &other]);
    assert_eq!(what, "only main at work in Python's import of modules");
    assert!(said.contains("python3 -X importtime"), "{said}");
    // That an interpreter evaluates says nothing.
    let evaluates = |inner: &'static str| [&[(inner, 1)], outer, &[("main", 9)]].concat();
    let stacks = ["dict_get", "list_append", "unicode_join", "long_add"].map(evaluates);
    let (what, ..) = serial_phase_at(&stacks.each_ref().map(Vec::as_slice));
    assert_eq!(what, "only main at work between two calls in fork_and_join (main.c:40)");
}

#[test]
fn a_runtime_s_lock_that_is_fought_for_and_blocked_on_is_one_finding_with_its_object() {
    let at = |ms: u64| Time::from_nanos(ms * MS);
    let mut process = Process::new(at(0), at(100));
    let [holder, waiter] = ["holder", "waiter"].map(|name| process.add_thread(name, at(0), None));
    let monitor = process.add_object(ObjectKind::Condition, 1);
    let works = stack(&mut process, &[("compute", 10), ("main", 20)]);
    let spins = stack(&mut process, &[("ObjectMonitor::TrySpin", 1), ("ObjectMonitor::enter", 2)]);
    let blocks = stack(&mut process, &[("os::PlatformEvent::park", 3), ("ObjectMonitor::enter", 4)]);
    process.waits.push(Wait { site: Some(blocks), ..Wait::granted(waiter, monitor, at(60), at(90)) });
    let (time, site, count) = (at(90), None, WakeCount::All);
    process.wakes.push(Wake { thread: holder, time, object: monitor, site, count });
    sample(&mut process, MS, |thread, time| {
        Some(if thread == waiter && time <= at(60) { spins } else { works })
    });
    let diagnosis = of(process, 2);
    let locks = || diagnosis.findings.iter().filter(|finding| finding.kind == FindingKind::Lock);
    let found: Vec<_> = locks().map(|finding| (finding.what.as_str(), finding.object)).collect();
    assert_eq!(found, [("the monitor of a Java object (synchronized)", Some(monitor))]);
    // Most of it is spun, half of which is lost to one of two places, as of the rest.
    let cost = locks().map(|finding| finding.cost).sum::<Nanos>();
    assert!((42 * MS..=45 * MS).contains(&cost.get()), "{cost}");
}

#[test]
fn a_late_thread_is_named_by_its_line() {
    let mut script = Script::new();
    let barrier = script.barrier("round_done", 4);
    let site = script.site("round", 10);
    let mut workers = vec![script.thread("late_worker", [work(10), Op::Meet(barrier, site)].repeat(20))];
    for _ in 1..4 {
        workers.push(script.thread("prompt_worker", [work(1), Op::Meet(barrier, site)].repeat(20)));
    }
    script.main_runs(&workers);
    let mut process = script.play();
    let own = stack(&mut process, &[("simulate_cell", 33), ("late_worker", 50)]);
    let first = stack(&mut process, &[("read_cell", 31), ("late_worker", 49)]);
    // The late thread's first millisecond of each round does not keep anybody waiting.
    let is_first = |time: Time| ((time.nanos() - 1) / MS).is_multiple_of(10);
    sample(&mut process, MS / 2, |_, time| Some(if is_first(time) { first } else { own }));
    let finding = &of(process, 8).findings[0];
    assert_eq!((finding.kind, finding.place), (FindingKind::Imbalance, Some(own)));
    assert_eq!(finding.what, "late_worker 1 late at barrier round_done, mostly in simulate_cell (main.c:33)");
    let told = "100 % of the 360 samples that were taken meanwhile are in simulate_cell.";
    assert!(finding.evidence.iter().any(|line| line == told), "{:?}", finding.evidence);
}

#[test]
fn what_began_a_parallel_region_does_not_tell_its_threads_apart() {
    let mut script = Script::new();
    let barrier = script.barrier("round_done", 4);
    let site = script.site("round", 10);
    let mut workers = vec![script.thread("begins", [work(10), Op::Meet(barrier, site)].repeat(20))];
    for _ in 1..4 {
        workers.push(script.thread("joins_in", [work(8), Op::Meet(barrier, site)].repeat(20)));
    }
    script.main_runs(&workers);
    let mut process = script.play();
    let own = stack(&mut process, &[("step", 33), ("GOMP_parallel", 1), ("simulate", 50)]);
    let frame = &mut process.sites[own.index()].frames[1];
    (frame.module, frame.file, frame.line) = (Some("libgomp.so.1".to_owned()), None, None);
    let other = stack(&mut process, &[("step", 33)]);
    sample(&mut process, MS / 2, |thread, _| Some(if thread == workers[0] { own } else { other }));
    let finding = &of(process, 8).findings[0];
    assert_eq!((finding.kind, finding.place), (FindingKind::Imbalance, Some(own)));
    assert_eq!(finding.what, "begins 1 late at barrier round_done, mostly in step (main.c:33)");
}

#[test]
fn a_thread_that_ends_late_is_named_by_what_it_does_then() {
    let mut script = Script::new();
    // Joined first, so that it is waited for all the time.
    let mut workers = vec![script.thread("worker", vec![work(90)])];
    workers.extend((0..3).map(|_| script.thread("worker", vec![work(30)])));
    script.main_runs(&workers);
    let mut process = script.play();
    let cut = stack(&mut process, &[("cut", 11), ("worker", 20)]);
    let glue = stack(&mut process, &[("glue", 12), ("worker", 20)]);
    sample(&mut process, MS, |_, time| Some(if time > Time::from_nanos(30 * MS) { glue } else { cut }));
    let finding = &of(process, 8).findings[0];
    assert_eq!((finding.kind, finding.place), (FindingKind::Imbalance, Some(glue)));
    assert!(
        finding.what.starts_with("worker 1 still at work, mostly in glue (main.c:12), when"),
        "{}",
        finding.what
    );
    assert!(finding.evidence.iter().any(|line| line.starts_with("100 % of the 60 samples")));
}

#[test]
fn a_slow_stage_is_named_by_its_line() {
    let mut script = Script::new();
    let (put, get) = (script.site("queue_put", 50), script.site("queue_get", 60));
    let queues = [script.queue("to_compress", 4), script.queue("to_write", 4)];
    let stages = [
        script.thread("read_stage", [work(1), Op::Put(queues[0], put)].repeat(50)),
        script
            .thread("compress_stage", [Op::Get(queues[0], get), work(8), Op::Put(queues[1], put)].repeat(50)),
        script.thread("write_stage", [Op::Get(queues[1], get), work(1)].repeat(50)),
    ];
    script.main_runs(&stages);
    let mut process = script.play();
    let deflate = stack(&mut process, &[("deflate", 70), ("compress_stage", 80)]);
    let copy = stack(&mut process, &[("copy_item", 90), ("stage", 80)]);
    sample(&mut process, MS, |thread, _| Some(if thread == stages[1] { deflate } else { copy }));
    let finding = &of(process, 8).findings[0];
    assert_eq!((finding.kind, finding.place), (FindingKind::Pipeline, Some(deflate)));
    assert_eq!(finding.what, "slow stage compress_stage 2, mostly in deflate (main.c:70)");
}

#[test]
fn a_lock_is_told_with_what_its_holders_do_while_others_wait() {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, "cache_lock");
    let site = script.site("cache_put", 12);
    let ops = [Op::Lock(lock, site), work(9), Op::Unlock(lock), work(1)].repeat(10);
    let workers: Vec<ThreadId> = (0..4).map(|_| script.thread("worker", ops.clone())).collect();
    script.main_runs(&workers);
    let mut process = script.play();
    let deflate = stack(&mut process, &[("deflate", 70), ("cache_put", 13)]);
    let read = stack(&mut process, &[("read_file", 75), ("worker", 14)]);
    let holds: Vec<_> = process.holds.iter().map(|hold| (hold.thread, hold.begin, hold.end)).collect();
    let is_held = |thread, time| {
        holds
            .iter()
            .any(|&(by, begin, end)| by == thread && begin.is_some_and(|begin| begin < time) && time <= end)
    };
    sample(&mut process, MS, |thread, time| Some(if is_held(thread, time) { deflate } else { read }));
    let finding = &of(process, 8).findings[0];
    assert_eq!((finding.kind, finding.place), (FindingKind::Lock, Some(site)));
    let told =
        "While threads wait for it, those who hold it are mostly in deflate (main.c:70). 100 % of the ";
    assert!(finding.evidence.iter().any(|line| line.starts_with(told)), "{:?}", finding.evidence);
}

/// A process that only the kernel's records tell of: threads on a core during these spans (ms), else blocked.
fn seen_by_the_kernel(names: &[&str], end: u64, on_core: &[&[(u64, u64)]]) -> Process {
    let at = |ms: u64| Time::from_nanos(ms * MS);
    let mut process = Process::new(at(0), at(end));
    process.seen_by = SeenBy { preload: false, kernel: true };
    process.covered = vec![(at(0), at(end))];
    for (name, spans) in names.iter().zip(on_core) {
        let thread = process.add_thread(name, at(0), None);
        for &(begin, end) in *spans {
            let (begin, end) = (at(begin), at(end));
            process.on_core.push(OnCore { thread, begin, end, core: 0, left: Left::Blocked });
        }
    }
    process
}

#[test]
fn of_a_program_without_known_objects_the_one_thread_at_work_is_named() {
    let together = (0, 40);
    let mut process =
        seen_by_the_kernel(&["static", "static", "static"], 100, &[&[(0, 100)], &[together], &[together]]);
    let merge = stack(&mut process, &[("merge", 30), ("main", 20)]);
    let crunch = stack(&mut process, &[("crunch", 10), ("work", 20)]);
    let alone_from = Time::from_nanos(40 * MS);
    sample(&mut process, MS, |_, time| Some(if time > alone_from { merge } else { crunch }));
    let diagnosis = of(process, 3);
    let finding = &diagnosis.findings[0];
    assert_eq!((finding.kind, finding.place), (FindingKind::Serial, Some(merge)));
    assert_eq!(finding.what, "only main at work in merge (main.c:30)");
    // Two of three threads wait for 60 ms.
    assert_eq!(finding.cost, Nanos::new(40 * MS));
    assert_eq!(diagnosis.findings.len(), 1);
}

#[test]
fn work_that_moves_from_thread_to_thread_is_one_serial_phase() {
    let spans: Vec<Vec<(u64, u64)>> = (0..4)
        .map(|thread| (0..25).map(|round| ((round * 4 + thread) * 2, (round * 4 + thread) * 2 + 2)).collect())
        .collect();
    let spans: Vec<&[(u64, u64)]> = spans.iter().map(Vec::as_slice).collect();
    let mut process = seen_by_the_kernel(&["serve", "serve", "serve", "serve"], 200, &spans);
    // Whose lines differ.
    let crunch = [20, 21].map(|line| stack(&mut process, &[("main.crunch", line), ("main.main", 40)]));
    sample(&mut process, MS, |thread, _| Some(crunch[usize::from(thread.index() == 3)]));
    let diagnosis = of(process, 4);
    let finding = &diagnosis.findings[0];
    assert_eq!(finding.what, "only one thread at a time at work, mostly in main.crunch (main.c:20)");
    assert_eq!((finding.kind, finding.cost), (FindingKind::Serial, Nanos::new(150 * MS)));
    assert_eq!(diagnosis.findings.len(), 1);
}

/// Two stages, of which the first is nearly always alone.
fn one_after_the_other() -> Process {
    let mut script = Script::new();
    let (put, get) = (script.site("send", 50), script.site("receive", 60));
    let queue = script.queue("results", 100);
    let stages = [
        script.thread("produce", [work(30), Op::Put(queue, put)].repeat(20)),
        script.thread("consume", [Op::Get(queue, get), work(1)].repeat(20)),
    ];
    script.main_runs(&stages);
    script.play()
}

#[test]
fn goroutines_make_no_pipeline_of_the_threads_that_run_them() {
    for (outermost, kind) in [("start", FindingKind::Pipeline), ("runtime.goexit.abi0", FindingKind::Serial)]
    {
        let mut process = one_after_the_other();
        let rank = stack(&mut process, &[("main.rank", 5), (outermost, 99)]);
        let print = stack(&mut process, &[("main.print", 8), (outermost, 99)]);
        sample(&mut process, MS, |thread, _| Some(if thread.index() == 1 { rank } else { print }));
        let finding = &of(process, 8).findings[0];
        assert_eq!((finding.kind, finding.place), (kind, Some(rank)), "{}", finding.what);
    }
}

#[test]
fn threads_without_a_goroutine_to_run_wait_for_what_the_others_do() {
    let mut script = Script::new();
    let site = script.site("runtime.futex", 50);
    let idle = script.semaphore("idle", 0);
    // Two of three threads are at work while the third waits.
    let workers = [
        script.thread("m", [work(10), Op::Post(idle, site)].repeat(10)),
        script.thread("m", vec![work(100)]),
        script.thread("m", [Op::Take(idle, site), work(1)].repeat(10)),
    ];
    script.main_runs(&workers);
    let mut process = script.play();
    let rank = stack(&mut process, &[("main.rank", 5), ("runtime.goexit.abi0", 99)]);
    sample(&mut process, MS, |_, _| Some(rank));
    let finding = &of(process, 8).findings[0];
    let told = "threads have nothing to run while others are at work, mostly in main.rank (main.c:5)";
    assert_eq!((finding.kind, finding.what.as_str()), (FindingKind::Condition, told));
}

#[test]
fn of_two_things_that_one_thread_does_alone_both_are_told() {
    let mut process = seen_by_the_kernel(&["static", "static"], 100, &[&[(0, 100)], &[(0, 10)]]);
    let parse = stack(&mut process, &[("parse", 30), ("main", 20)]);
    let merge = stack(&mut process, &[("merge", 40), ("main", 21)]);
    sample(&mut process, MS, |_, time| Some(if time > Time::from_nanos(60 * MS) { merge } else { parse }));
    let finding = &of(process, 2).findings[0];
    assert_eq!(finding.what, "only main at work in parse (main.c:30)");
    assert_eq!(
        finding.evidence[1],
        "56 % of the 90 samples that were taken meanwhile are in parse, 44 % in merge."
    );
}

#[test]
fn time_that_is_blocked_on_nothing_known_is_told_by_where() {
    let spans: Vec<(u64, u64)> = (0..10).map(|round| (round * 10, round * 10 + 4)).collect();
    let mut process = seen_by_the_kernel(&["main", "reader"], 100, &[&spans, &spans]);
    let fetch = stack(&mut process, &[("fetch_page", 44), ("main", 20)]);
    library(&mut process, fetch, "recvmsg");
    for ms in 0..100 {
        for thread in [0, 1].map(ThreadId::new) {
            let (time, weight) = (Time::from_nanos(ms * MS), Nanos::new(MS));
            process.samples.push(Sample {
                thread,
                time,
                doing: Doing::Blocked,
                site: Some(fetch),
                weight,
                access: None,
                in_kernel: None,
            });
        }
    }
    let diagnosis = of(process.clone(), 2);
    let finding = &diagnosis.findings[0];
    assert_eq!((finding.kind, finding.place), (FindingKind::Blocked, Some(fetch)));
    assert_eq!(finding.what, "blocked on something that was not recorded, in fetch_page (main.c:44)");
    assert_eq!(finding.evidence, ["main and reader waited 120 ms in all, inside recvmsg."]);
    assert_eq!(finding.cost, Nanos::new(60 * MS));
    assert_eq!(diagnosis.cost_identity.unexplained, Nanos::ZERO);
    // The library's function tells what it waits for.
    process.sites[fetch.index()].frames[0].function = Some("__lll_lock_wait".to_owned());
    let told = "blocked on a lock that was not recorded, in fetch_page (main.c:44)";
    assert_eq!(of(process.clone(), 2).findings[0].what, told);
    // Half of it was seen waiting for another thread's end, which holds nobody up.
    let join = stack(&mut process, &[("main", 21)]);
    library(&mut process, join, "pthread_join");
    for sample in process.samples.iter_mut().filter(|sample| sample.time.nanos() / MS % 2 == 1) {
        sample.site = Some(join);
    }
    let diagnosis = of(process, 2);
    assert_eq!((diagnosis.findings.len(), diagnosis.findings[0].cost), (1, Nanos::new(30 * MS)));
    assert_eq!(diagnosis.cost_identity.unexplained, Nanos::new(30 * MS));
}

/// Active and critical time by line and by function are those of all samples.
fn check(hot: &HotSpots, diagnosis: &Diagnosis) -> Result<(), TestCaseError> {
    for spots in [&hot.lines, &hot.functions] {
        prop_assert_eq!(spots.iter().map(|spot| spot.active).sum::<Nanos>(), hot.active);
        prop_assert!(close(spots.iter().map(|spot| spot.critical).sum(), hot.critical));
        prop_assert_eq!(spots.iter().map(|spot| spot.samples).sum::<u64>(), hot.samples);
        for spot in spots {
            prop_assert_eq!(spot.threads.iter().map(|(_, time)| *time).sum::<Nanos>(), spot.active);
        }
        prop_assert!(spots.windows(2).all(|pair| pair[0].critical >= pair[1].critical));
    }
    let active: Nanos = diagnosis.threads.iter().map(|times| times.active).sum();
    prop_assert!(hot.active <= active);
    prop_assert!(hot.critical <= diagnosis.criticality.threads.iter().sum::<f64>() + 1e-3);
    Ok(())
}

proptest! {
    #[test]
    fn hot_spots_add_up_and_leave_only_what_was_not_sampled(
        script in holdup_testkit::any_script(),
        period in 1..200u64,
    ) {
        let mut process = script.play();
        let sites = [1, 2, 3].map(|line| stack(&mut process, &[("work", line)]));
        sample(&mut process, period, |thread, time| {
            Some(sites[(time.nanos() / 97 + thread.index() as u64) as usize % 3])
        });
        let has_samples = !process.samples.is_empty();
        let diagnosis = of(process, 2);
        prop_assert_eq!(diagnosis.hot.is_some(), has_samples);
        if let Some(hot) = &diagnosis.hot {
            check(hot, &diagnosis)?;
            let criticality: f64 = diagnosis.criticality.threads.iter().sum();
            let unsampled = (period * diagnosis.threads.len() as u64) as f64;
            prop_assert!(criticality - hot.critical <= unsampled + 1e-3);
        }
    }

    #[test]
    fn hot_spots_of_any_samples_add_up(
        process in holdup_testkit::any_process(),
        samples in proptest::collection::vec((0..4u32, 0..260u64, 0..3u32, 0..60u64, any::<bool>()), 0..40),
    ) {
        let mut process = process;
        process.samples = samples
            .into_iter()
            .map(|(thread, time, site, weight, is_running)| Sample {
                thread: ThreadId::new(thread),
                time: Time::from_nanos(time),
                doing: if is_running { Doing::Running } else { Doing::Blocked },
                site: Some(SiteId::new(site)),
                weight: Nanos::new(weight),
access: None, in_kernel: None,
            })
            .collect();
        for (index, site) in process.sites.iter_mut().enumerate() {
            site.frames.push(Frame { address: index as u64, ..Frame::default() });
        }
        let diagnosis = of(process.clone(), 2);
        if let Some(hot) = &diagnosis.hot {
            check(hot, &diagnosis)?;
        }
        process.samples.reverse();
        prop_assert_eq!(of(process, 2), diagnosis);
    }
}

/// Two threads of 100 ms of which two fifths are in `function`, called by one of theirs; the first holds a lock for so many of them.
fn two_fifths_in(function: &str, held: u64) -> Diagnosis {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, "grid_lock");
    let site = script.site("settle", 90);
    let ops = [Op::Lock(lock, site), work(held), Op::Unlock(lock), work(100 - held)];
    let workers = [0, 1].map(|_| script.thread("worker", ops.to_vec()));
    script.main_runs(&workers);
    let mut process = script.play();
    let pairs = stack(&mut process, &[("pair_density", 50), ("worker", 9)]);
    let within = stack(&mut process, &[("pair_density", 47), ("worker", 9)]);
    library(&mut process, within, function);
    sample(&mut process, MS, |_, time| Some(if time.nanos() / MS % 5 < 2 { within } else { pairs }));
    of(process, 2)
}

#[test]
fn locks_that_nobody_waits_for_take_time() {
    let is_taking = |finding: &&holdup_criticality::Finding| finding.what.starts_with("taking and releasing");
    for function in ["pthread_mutex_lock", "__GI___pthread_mutex_unlock_usercnt", "omp_set_lock"] {
        let diagnosis = two_fifths_in(function, 1);
        let finding = diagnosis.findings.first().expect("there is one");
        assert_eq!(finding.kind, FindingKind::Lock);
        let what =
            "taking and releasing locks that hardly anybody waits for, mostly in pair_density (main.c:47)";
        assert_eq!(finding.what, what);
        assert!(finding.evidence[0].starts_with("80 samples, 40 % of the active time"), "{finding:#?}");
        let gain = finding.gain.as_ref().expect("it has one");
        let ms = |time: Nanos| time.get() as f64 / MS as f64;
        for (time, expected) in [(finding.cost, 40.0), (gain.time, 30.0), (gain.low, 20.0), (gain.high, 50.0)]
        {
            assert!((ms(time) - expected).abs() < 1.0, "{expected}: {finding:#?}");
        }
        // It is work all the same.
        let useful = diagnosis.cost_identity.useful;
        assert!(useful.share_of(diagnosis.wall) > 0.98, "{useful:?} of {:?}", diagnosis.wall);
    }
    assert!(!two_fifths_in("memcpy", 1).findings.iter().any(|finding| is_taking(&finding)));
    // Who waits for a lock has that to say.
    let waits = two_fifths_in("pthread_mutex_lock", 50);
    assert!(!waits.findings.iter().any(|finding| is_taking(&finding)), "{:#?}", waits.findings);
    assert_eq!(waits.findings[0].kind, FindingKind::Lock);
}

#[test]
fn wake_ups_after_waits_for_a_lock_say_what_is_done_while_it_is_held() {
    let mut script = Script::new();
    script.wake_up_takes(MS);
    let lock = script.object(ObjectKind::Mutex, "journal");
    let site = script.site("submit", 10);
    let turn = [Op::Lock(lock, site), work(2), Op::Unlock(lock), Op::Work(100_000)].repeat(30);
    let threads: Vec<ThreadId> = (0..2).map(|_| script.thread("gateway", turn.clone())).collect();
    script.main_runs(&threads);
    let mut process = script.play();
    let compress = stack(&mut process, &[("compress", 30), ("submit", 10)]);
    sample(&mut process, MS / 2, |_, _| Some(compress));
    let diagnosis = of(process, 8);
    let woken = diagnosis.findings.iter().find(|finding| finding.kind == FindingKind::WakeUp);
    let evidence = &woken.unwrap_or_else(|| panic!("{:?}", diagnosis.findings)).evidence;
    let held = "While threads wait for it, those who hold it are mostly in compress (main.c:30).";
    assert!(evidence[1].starts_with(held), "{evidence:?}");
}
