//! Programs on few cores, as the library and the kernel's records show them together.

use holdup_criticality::{
    Criticality, Depth, Diagnosis, Finding, FindingKind, NobodyCause, diagnose, predict_gains,
};
use holdup_model::openmp::{Instance, Region, Vendor, Work, WorkKind};
use holdup_model::{
    Doing, Environment, Frame, Left, Load, Mode, Nanos, ObjectKind, OnCore, Outcome, Process, Run, Sample,
    Site, State, ThreadId, Time, Timeline, Wait,
};
use holdup_testkit::{Op, Script};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn of(process: Process, cores: u32) -> Diagnosis {
    assert_eq!(Timeline::build(&process).check(), Ok(()));
    diagnose(&Run { processes: vec![process], cores, ..Run::default() }, 0)
}

fn first(diagnosis: &Diagnosis) -> &Finding {
    diagnosis.findings.first().expect("there is something to find")
}

fn ms(tenths: u64) -> Nanos {
    Nanos::new(tenths * MS / 10)
}

fn work(length: u64) -> Op {
    Op::Work(length * MS)
}

/// Four threads that meet after each 10 ms of work.
fn four_that_meet(rounds: usize) -> Script {
    let mut script = Script::new();
    let barrier = script.barrier("round_done", 4);
    let site = script.site("round", 10);
    let workers: Vec<ThreadId> =
        (0..4).map(|_| script.thread("worker", [work(10), Op::Meet(barrier, site)].repeat(rounds))).collect();
    // Of a thread that is there when the records begin it is not known whether it could run.
    script.main_does(&[Op::Work(1)]);
    script.main_runs(&workers);
    script
}

#[test]
fn on_enough_cores_nothing_is_lost() {
    let diagnosis = of(four_that_meet(10).play_on(5, MS), 5);
    assert_eq!(diagnosis.findings, []);
    assert!(diagnosis.wall.saturating_sub(diagnosis.cost_identity.useful) <= Nanos::new(1));
    assert_eq!(diagnosis.active_means, "on a core (the kernel's context-switch records)");
}

#[test]
fn four_threads_that_meet_on_one_core() {
    for slice in [3 * MS, 100 * MS] {
        let diagnosis = of(four_that_meet(10).play_on(1, slice), 1);
        assert_eq!((diagnosis.wall, diagnosis.workers), (ms(4000) + Nanos::new(1), 4));
        let finding = first(&diagnosis);
        assert_eq!(
            (finding.kind, finding.what.as_str()),
            (FindingKind::Oversubscription, "4 threads share 1 core")
        );
        // Each works for a quarter of the time; what it loses it loses for want of a core, but for the time in which it waits for
        // one that has the core.
        assert_eq!(diagnosis.findings.len(), 1, "{:#?}", diagnosis.findings);
        let parts = &diagnosis.cost_identity.parts;
        // While one of them has the core the others wait for it; in short slices they hardly do.
        let most = if slice == 100 * MS { ms(1500) } else { ms(2850) };
        assert!(finding.cost.get().abs_diff(most.get()) <= 8, "{slice} {}", finding.cost);
        assert_eq!(parts.iter().map(|part| part.0).collect::<Vec<_>>(), [FindingKind::Oversubscription]);
        assert!(parts[0].1 >= ms(3000) && parts[0].1 <= ms(3000) + Nanos::new(8), "{slice} {parts:?}");
        assert_eq!(diagnosis.cost_identity.useful, ms(1000));
        assert!((diagnosis.efficiency - 1.0).abs() < 1e-9, "the core is busy");
        for thread in &diagnosis.threads[1..] {
            assert_eq!((thread.active, thread.delayed), (ms(1000), Nanos::ZERO));
        }
        // With one core, never more than one thread is critical: the shares are those of the CPU time.
        let criticality = &diagnosis.criticality;
        assert!(criticality.threads[1..].iter().all(|&share| (share - 1e8).abs() < 1.0), "{criticality:?}");
    }
}

/// Three threads, of which two take a lock all the time and one has a core for itself: with two cores none is ever without work.
#[test]
fn a_lock_that_is_waited_for_while_all_cores_work_costs_nothing() {
    let of_cores = |cores: u32| {
        let mut script = Script::new();
        let lock = script.object(ObjectKind::Mutex, "table_lock");
        let site = script.site("update_table", 12);
        let ops = [Op::Lock(lock, site), work(10), Op::Unlock(lock)].repeat(10);
        let mut workers: Vec<ThreadId> = (0..2).map(|_| script.thread("worker", ops.clone())).collect();
        workers.push(script.thread("reader", vec![work(200)]));
        script.main_runs(&workers);
        let diagnosis = of(script.play_on(cores, 100 * MS), cores);
        let of_lock = diagnosis.findings.iter().find(|finding| finding.object == Some(lock));
        of_lock.map(|finding| finding.cost)
    };
    assert_eq!(of_cores(2), None);
    assert!(of_cores(4) > Some(ms(500)), "{:?}", of_cores(4));
}

/// The same on two cores, but the recording was cut off: of the third thread nothing is known after its start. It may wait.
#[test]
fn who_may_wait_where_a_recording_was_cut_off_keeps_no_core_busy() {
    let cost = |is_cut_off: bool| {
        let end = Time::from_nanos(200 * MS);
        let mut process = Process::new(Time::from_nanos(0), end);
        let threads = [0; 3].map(|_| process.add_thread("worker", Time::from_nanos(0), None));
        let lock = process.add_object(ObjectKind::Mutex, 1);
        for round in 0..10 {
            let [begin, end] = [20 * round, 20 * round + 18].map(|at| Time::from_nanos(at * MS));
            let waiter = threads[round as usize % 2];
            let owner = Some(threads[1 - round as usize % 2]);
            process.waits.push(Wait { owner, ..Wait::granted(waiter, lock, begin, end) });
        }
        for (index, thread) in process.threads.iter_mut().enumerate() {
            let worked = if index == 2 { 200 } else { 110 };
            thread.cpu = Some(Nanos::new(worked * MS)).filter(|_| index < 2 || !is_cut_off);
        }
        let diagnosis = of(process, 2);
        let of_lock = diagnosis.findings.iter().find(|finding| finding.object == Some(lock));
        of_lock.map(|finding| finding.cost)
    };
    assert_eq!(cost(false), None);
    // One of two cores is known to be at work, of three places: the other two may have lost half of 180 ms, each a half of that.
    assert_eq!(cost(true), Some(ms(450)));
}

/// Two threads fight for a lock; something else takes the holder's core for most of the time.
#[test]
fn a_lock_whose_holder_has_no_core() {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, "table_lock");
    let site = script.site("update_table", 12);
    let ops = [Op::Lock(lock, site), work(10), Op::Unlock(lock)].repeat(5);
    let workers: Vec<ThreadId> = (0..2).map(|_| script.thread("worker", ops.clone())).collect();
    script.main_runs(&workers);
    let mut process = script.play_on(4, 100 * MS);
    // Of each span on a core, which is one hold of 10 ms, the middle 4 ms were another program's.
    process.on_core = process
        .on_core
        .iter()
        .flat_map(|&span| {
            let at = |nanos| (span.begin + Nanos::new(nanos * MS)).min(span.end);
            let is_hold = span.end.since(span.begin) == Nanos::new(10 * MS);
            let (from, to) = if is_hold { (at(3), at(7)) } else { (span.end, span.end) };
            let spans = [OnCore { end: from, left: Left::Preempted, ..span }, OnCore { begin: to, ..span }];
            spans.into_iter().filter(|span| span.begin < span.end)
        })
        .collect();
    let diagnosis = of(process, 4);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.object), (FindingKind::Lock, Some(lock)));
    assert!(
        finding.evidence.iter().any(|line| line.contains("was without a core 40 % of the time")),
        "{:?}",
        finding.evidence
    );
    let delayed = diagnosis.findings.iter().find(|finding| finding.kind == FindingKind::Delayed);
    // Ten holds, 4 ms each, by two threads; at the last one the other thread has ended, and its place is empty.
    assert_eq!(delayed.map(|finding| finding.cost), Some(ms(220)));
    let nobody: Vec<NobodyCause> = diagnosis.criticality.nobody.iter().map(|(cause, _)| *cause).collect();
    assert_eq!(nobody, [NobodyCause::RunQueue]);
    assert_eq!(diagnosis.runnable.nobody, [], "somebody could always run");
}

/// The thread that the others wait for is the only one that can run, but has no core for 19 of 40 ms: the phase costs what it
/// would with one.
#[test]
fn a_serial_phase_without_a_core_is_still_one() {
    let mut script = Script::new();
    let site = script.site("main", 40);
    let workers: Vec<ThreadId> = (0..4).map(|_| script.thread("worker", vec![work(20)])).collect();
    script.main_does(&[work(40)]);
    script.main_runs(&workers);
    let mut process = script.play_on(4, 100 * MS);
    let span = process.on_core[0];
    assert_eq!((span.thread, span.end.since(span.begin)), (ThreadId::new(0), Nanos::new(40 * MS)));
    process.on_core[0].end = Time::from_nanos(20 * MS);
    process.on_core[0].left = Left::Preempted;
    process.on_core.push(OnCore { begin: Time::from_nanos(39 * MS), ..span });
    let diagnosis = of(process, 4);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.threads.as_slice()), (FindingKind::Serial, &[ThreadId::new(0)][..]));
    assert_eq!(finding.cost, Nanos::new(ms(300).get() / 40 * 21));
    let lost: Nanos = diagnosis.cost_identity.parts.iter().map(|(_, cost)| *cost).sum();
    assert_eq!(diagnosis.cost_identity.useful + lost, diagnosis.wall);
    assert!(finding.place.is_none_or(|place| place != site));
}

#[test]
fn a_thread_that_waits_for_a_core_is_able_to_run() {
    // While main works, the other has no core: main does not work alone.
    let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(100 * MS));
    let threads =
        [process.add_thread("main", process.start, None), process.add_thread("x", process.start, None)];
    process.covered = vec![(process.start, process.end)];
    for (thread, begin, end) in [(threads[0], 0, 50), (threads[1], 50, 100)] {
        let (begin, end) = (Time::from_nanos(begin * MS), Time::from_nanos(end * MS));
        process.on_core.push(OnCore { thread, begin, end, core: 0, left: Left::Preempted });
        if begin > process.start {
            process.on_core.push(OnCore {
                thread,
                begin: process.start,
                end: Time::from_nanos(1),
                core: 0,
                left: Left::Preempted,
            });
        }
    }
    let diagnosis = of(process, 1);
    let kinds: Vec<FindingKind> = diagnosis.findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [FindingKind::Oversubscription]);
    assert_eq!(first(&diagnosis).cost, Nanos::new((100 * MS - 1) / 2));
    assert_eq!(diagnosis.threads[1].descheduled, Nanos::new(50 * MS - 1));
    // Both are able to run all the time, and each has a core for half of it: but for the first nanosecond neither definition
    // prefers one.
    assert_eq!(diagnosis.runnable.threads, [50.0 * MS as f64; 2]);
    assert!(diagnosis.criticality.threads.iter().all(|share| (share - 50.0 * MS as f64).abs() <= 1.0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Time with nobody able to run is time with nobody on a core.
    #[test]
    fn who_is_able_to_run_shares_all_the_time_in_which_somebody_is(
        script in holdup_testkit::any_script(),
        cores in 1..5u32,
    ) {
        let diagnosis = of(script.play_on(cores, 500), cores);
        let all = |stack: &Criticality| stack.threads.iter().sum::<f64>() + stack.nobody_total();
        let wall = diagnosis.wall.get() as f64;
        prop_assert!((all(&diagnosis.runnable) - wall).abs() <= 1e-6 * wall.max(1.0));
        prop_assert!(diagnosis.runnable.nobody_total() <= diagnosis.criticality.nobody_total() + 1e-6 * wall);
    }

    /// With a core for each thread, the kernel's records say nothing new.
    #[test]
    fn with_enough_cores_the_records_change_nothing(script in holdup_testkit::any_script()) {
        let alone = of(script.play(), 16);
        let both = of(script.play_on(16, u64::MAX), 16);
        prop_assert_eq!(&alone.criticality, &both.criticality);
        prop_assert_eq!(&alone.cost_identity, &both.cost_identity);
        prop_assert_eq!(&alone.findings, &both.findings);
        prop_assert_eq!(&alone.threads, &both.threads);
    }

    #[test]
    fn all_is_explained_on_few_cores(
        script in holdup_testkit::any_script(),
        slice in 1..5_000u64,
        cores in 1..4u32,
    ) {
        let process = script.play_on(cores, slice);
        for thread in &Timeline::build(&process).threads {
            for segment in thread.segments.iter().filter(|segment| segment.state == State::Active) {
                prop_assert_eq!(segment.cpu, Some(segment.length()));
            }
        }
        let diagnosis = of(process, cores);
        prop_assert!(diagnosis.parallelism <= f64::from(cores) + 1e-9);
        let identity = &diagnosis.cost_identity;
        let parts: Nanos = identity.parts.iter().map(|(_, cost)| *cost).sum();
        prop_assert_eq!(identity.useful + parts + identity.unexplained, diagnosis.wall);
        let rounding = identity.parts.len() + diagnosis.threads.len() * 2 + 1;
        prop_assert!(identity.unexplained.get() <= rounding as u64, "{:?}", identity);
    }
}

/// Of a late thread's 30 ms a round, it has a core for 10 ms. The other works for 0.4 ms: less than a fiftieth of the
/// time, but not of the work.
#[test]
fn a_late_thread_that_lacks_a_core_is_late_and_not_alone() {
    let mut script = Script::new();
    let barrier = script.barrier("round_done", 2);
    let site = script.site("round", 10);
    let workers = [30 * MS, MS * 2 / 5]
        .map(|length| script.thread("worker", [Op::Work(length), Op::Meet(barrier, site)].repeat(10)));
    script.main_runs(&workers);
    let mut process = script.play();
    process.covered = vec![(process.start, process.end)];
    for round in 0..10 {
        for (thread, length, left) in
            [(workers[0], 10 * MS, Left::Preempted), (workers[1], MS * 2 / 5, Left::Blocked)]
        {
            let begin = Time::from_nanos(round * 30 * MS);
            process.on_core.push(OnCore { thread, begin, end: begin + Nanos::new(length), core: 0, left });
        }
    }
    let diagnosis = of(process, 2);
    let kinds: Vec<FindingKind> = diagnosis.findings.iter().map(|finding| finding.kind).collect();
    assert!(kinds.contains(&FindingKind::Imbalance) && !kinds.contains(&FindingKind::Serial), "{kinds:?}");
}

fn span(thread: ThreadId, begin: u64, end: u64, left: Left) -> OnCore {
    OnCore { thread, begin: Time::from_nanos(begin * MS), end: Time::from_nanos(end * MS), core: 0, left }
}

/// What only the kernel saw has no joins: the path goes to the thread whose end let main go on.
#[test]
fn the_path_leads_through_waits_of_which_nothing_is_known() {
    let at = |ms: u64| Time::from_nanos(ms * MS);
    let mut process = Process::new(at(0), at(100));
    let main = process.add_thread("main", at(0), None);
    let first = process.add_thread("first", at(10), Some(at(60)));
    let second = process.add_thread("second", at(10), Some(at(90)));
    process.covered = vec![(at(0), at(100))];
    process.on_core = vec![
        span(main, 0, 10, Left::Blocked),
        span(main, 91, 100, Left::Unknown),
        span(first, 10, 60, Left::Unknown),
        span(second, 10, 90, Left::Unknown),
    ];
    for worker in [first, second] {
        process.threads[worker.index()].parent = Some(main);
    }
    let diagnosis = of(process, 4);
    assert_eq!(diagnosis.path.by_thread, [(second, ms(800)), (main, ms(200))]);
}

/// Main exits with an error while two threads compute: their CPU time was read last when they began.
#[test]
fn threads_that_are_cut_off_had_their_cores() {
    let at = |ms: u64| Time::from_nanos(ms * MS);
    let mut process = Process::new(at(0), at(100));
    process.covered = vec![(at(0), at(100))];
    for name in ["main", "worker", "worker"] {
        let thread = process.add_thread(name, at(0), None);
        process.threads[thread.index()].cpu_when_last_read = Some(Nanos::new(50_000));
        let (end, left) = if name == "main" { (1, Left::Blocked) } else { (100, Left::Unknown) };
        process.on_core.push(span(thread, 0, end, left));
    }
    let diagnosis = of(process, 2);
    let on_cpu = diagnosis.on_cpu_parallelism.expect("it was read");
    assert!((on_cpu - 2.01).abs() < 1e-9, "{on_cpu}");
    assert!(diagnosis.efficiency > 0.99, "{}", diagnosis.efficiency);
}

/// A thread that spins has the core for most of the time that another one needs.
fn one_spins_on_the_others_core() -> Process {
    let at = |ms: u64| Time::from_nanos(ms * MS);
    let mut process = Process::new(at(0), at(100));
    let worker = process.add_thread("main", at(0), None);
    let spinner = process.add_thread("spinner", at(0), None);
    let spin = process.add_site(Site { in_waiting_loop: true, ..Site::default() });
    process.covered = vec![(at(0), at(100))];
    process.on_core = vec![
        span(worker, 0, 10, Left::Preempted),
        span(spinner, 0, 0, Left::Preempted),
        span(spinner, 10, 80, Left::Preempted),
        span(worker, 80, 100, Left::Unknown),
    ];
    let looks = (1..=7).map(|look| Sample {
        thread: spinner,
        time: at(10 + look * 10),
        doing: Doing::Running,
        site: Some(spin),
        weight: Nanos::new(10 * MS),
        access: None,
        in_kernel: None,
    });
    process.samples.extend(looks);
    process
}

/// What the other lacks, the program itself took.
#[test]
fn who_spins_takes_a_core_from_the_others() {
    let diagnosis = of(one_spins_on_the_others_core(), 1);
    let costs: Vec<(FindingKind, Nanos)> = diagnosis.cost_identity.parts.clone();
    assert_eq!(diagnosis.threads[0].descheduled, ms(700));
    // 70 ms of spinning and 70 ms of the other's without a core; 30 ms in which there were two that could have worked.
    assert_eq!(costs, [(FindingKind::Spin, ms(700)), (FindingKind::Oversubscription, ms(150))]);
    let evidence = &first(&diagnosis).evidence;
    assert!(evidence[1].contains("lacked a core for 70.0 ms in all"), "{evidence:?}");
}

/// Only who has to share cores saves by sleeping: with one for each thread, others took it.
#[test]
fn sleeping_saves_where_there_are_fewer_cores_than_threads() {
    let gain = |cores: u32| {
        let run = Run { processes: vec![one_spins_on_the_others_core()], cores, ..Run::default() };
        let mut diagnosis = diagnose(&run, 0);
        predict_gains(&run, &mut diagnosis, Depth::default());
        let spins = |finding: &&Finding| finding.kind == FindingKind::Spin;
        diagnosis.findings.iter().find(spins).expect("it spins").gain.as_ref().map(|gain| gain.time)
    };
    assert_eq!([gain(1), gain(2)], [Some(ms(700)), None]);
}

/// What a thread lacks that spun before and spins again is nothing that it could have worked.
#[test]
fn who_would_spin_on_lacks_no_core_to_work() {
    let at = |ms: u64| Time::from_nanos(ms * MS);
    let mut process = Process::new(at(0), at(100));
    let worker = process.add_thread("main", at(0), None);
    let spinner = process.add_thread("spinner", at(10), None);
    let spin = process.add_site(Site { in_waiting_loop: true, ..Site::default() });
    process.covered = vec![(at(0), at(100))];
    process.on_core = (0..5)
        .flat_map(|turn| {
            [
                span(worker, turn * 20, turn * 20 + 10, Left::Preempted),
                span(spinner, turn * 20 + 10, turn * 20 + 20, Left::Preempted),
            ]
        })
        .collect();
    let looks = (0..10).map(|look| Sample {
        thread: spinner,
        time: at(look / 2 * 20 + 15 + look % 2 * 5),
        doing: Doing::Running,
        site: Some(spin),
        weight: Nanos::new(5 * MS),
        access: None,
        in_kernel: None,
    });
    process.samples.extend(looks);
    let mut diagnosis = of(process.clone(), 1);
    let run = Run { processes: vec![process], cores: 1, ..Run::default() };
    predict_gains(&run, &mut diagnosis, Depth::default());
    let finding = first(&diagnosis);
    assert_eq!(finding.kind, FindingKind::Spin);
    assert!(finding.evidence[1].contains("lacked a core for 50.0 ms in all"), "{:?}", finding.evidence);
    // The last 10 ms of them were ended by the end of the run.
    let gain = finding.gain.as_ref().expect("nobody with work had the core meanwhile");
    assert_eq!((gain.low, gain.time, gain.high), (ms(400), ms(400), ms(500)));
    // Where another finding has what spinning threads keep from others, that time is not said twice.
    let mut twice = diagnose(&run, 0);
    let mut other = twice.findings[0].clone();
    other.gain = Some(gain.clone());
    twice.findings.push(other);
    predict_gains(&run, &mut twice, Depth::default());
    let spins = twice.findings.iter().filter(|finding| finding.kind == FindingKind::Spin);
    assert_eq!(spins.map(|finding| finding.gain.is_some()).filter(|is_said| *is_said).count(), 1);
}

/// A thread that would spin if it had a core, and those that wait for it, are kept by others: that is no spinning.
#[test]
fn what_others_take_from_a_spinning_thread_is_no_spinning() {
    let at = |ms: u64| Time::from_nanos(ms * MS);
    let mut process = Process::new(at(0), at(100));
    let waiter = process.add_thread("main", at(0), None);
    let spinner = process.add_thread("spinner", at(0), None);
    let spin = process.add_site(Site { in_waiting_loop: true, ..Site::default() });
    let barrier = process.add_object(ObjectKind::Barrier, 1);
    process.objects[barrier.index()].parties = Some(2);
    process.covered = vec![(at(0), at(100))];
    process.on_core = vec![
        span(waiter, 0, 10, Left::Blocked),
        span(waiter, 90, 100, Left::Unknown),
        span(spinner, 0, 20, Left::Preempted),
        span(spinner, 80, 100, Left::Unknown),
    ];
    for time in [5, 10, 15, 20, 82, 84, 86, 88] {
        let (weight, site) = (Nanos::new(5 * MS), Some(spin));
        process.samples.push(Sample {
            thread: spinner,
            time: at(time),
            doing: Doing::Running,
            site,
            weight,
            access: None,
            in_kernel: None,
        });
    }
    process.waits.push(Wait {
        thread: waiter,
        begin: at(10),
        end: at(90),
        object: barrier,
        site: None,
        mode: Mode::Exclusive,
        outcome: Outcome::Granted,
        owner: Some(spinner),
        mutex: None,
        cpu_begin: Some(ms(100)),
        cpu_end: Some(ms(100)),
        round: None,
    });
    let others = Load { span: ms(1000), busy: ms(2000), program: ms(600), ..Load::default() };
    let environment = Environment { load: Some(others), ..Environment::default() };
    let diagnosis = diagnose(&Run { processes: vec![process], cores: 2, environment, ..Run::default() }, 0);
    let cost = |wanted| {
        let parts = diagnosis.cost_identity.parts.iter().filter(|(kind, _)| *kind == wanted);
        parts.map(|(_, cost)| *cost).fold(Nanos::ZERO, |sum, cost| sum + cost)
    };
    let (load, spun) = (cost(FindingKind::Load), cost(FindingKind::Spin));
    assert!(spun <= ms(200), "it had a core for 40 ms: {:?}", diagnosis.cost_identity.parts);
    // 60 ms of each of the two.
    assert!(load >= ms(550), "{:?}", diagnosis.cost_identity.parts);
}

/// A runtime lets threads spin at a barrier, which samples see: where, and how often they meet, is said where that is the cause, and so are
/// parallel regions that are too small.
#[test]
fn spinning_at_a_barrier_that_is_met_very_often() {
    // With so many parallel regions, which take 60 ms together.
    let told = |rounds: u64, regions: u64| {
        let mut script = Script::new();
        let barrier = script.barrier("", 2);
        let meets = script.site("smooth", 42);
        let workers = [100, 99].map(|length| {
            // Before, they meet as often: these waits are no events.
            let round = [Op::Work(length * MS / 2 / rounds), Op::Meet(barrier, meets)];
            script.thread("worker", [vec![Op::Work(50 * MS)], round.repeat(rounds as usize)].concat())
        });
        script.main_runs(&workers);
        let mut process = script.play();
        let frames = |library: &str, function: &str| Frame {
            module: Some(library.to_owned()),
            function: Some(function.to_owned()),
            ..Frame::default()
        };
        let caller = process.site(meets).frames.clone();
        let spins = [vec![frames("libgomp.so.1", "do_spin"), frames("libgomp.so.1", "GOMP_barrier")], caller];
        let spin = process.add_site(Site { frames: spins.concat(), ..Site::default() });
        let at = |ms: u64| Time::from_nanos(ms * MS);
        let expand = process.add_site(Site { frames: vec![frames("app", "expand")], ..Site::default() });
        process.openmp.regions.extend((regions > 0).then(|| Region {
            thread: ThreadId::new(0),
            begin: at(10),
            end: at(90),
            instance: Instance::new(1),
            place: Some(expand),
            met_at: None,
            parent: None,
            size: 2,
            count: regions,
            timed: 1,
            time: Nanos::new(60 * MS / regions),
            vendor: Vendor::Gnu,
            whole: false,
            league: false,
            open: false,
        }));
        process.covered = vec![(process.start, process.end)];
        process.on_core = workers.map(|worker| span(worker, 0, 100, Left::Unknown)).to_vec();
        process.on_core.sort_by_key(|span| (span.begin, span.thread));
        process.samples.extend((1..10).map(|look| Sample {
            thread: workers[look as usize % 2],
            time: at(look * 5),
            doing: Doing::Running,
            site: Some(spin),
            weight: Nanos::new(2 * MS),
            access: None,
            in_kernel: None,
        }));
        let diagnosis = of(process, 2);
        let finding = diagnosis.findings.into_iter().find(|finding| finding.kind == FindingKind::Spin);
        finding.map(|finding| (finding.what, finding.evidence[1].clone(), finding.hint))
    };
    let (what, evidence, hint) = told(10_000, 0).expect("spinning");
    assert_eq!(what, "spinning at a barrier met every 10.0 µs, in smooth (main.c:42)");
    assert_eq!(
        evidence,
        "Threads met there at least 10 000 times; 100 % of the spinning is in smooth (main.c:42)."
    );
    assert!(hint.starts_with("Do more work between two barriers"), "{hint}");
    // They meet once in 10 ms: that is not what takes the time.
    for regions in [0, 1_000] {
        let (what, _, hint) = told(10, regions).expect("spinning");
        assert_eq!(what, "spinning: gcc's OpenMP runtime, waiting");
        assert!(hint.starts_with("Give the threads more even work"), "{hint}");
    }
    let (what, evidence, hint) = told(10, 30_000).expect("spinning");
    assert_eq!(what, "spinning around parallel regions of 2.0 µs each, mostly in expand (app)");
    assert_eq!(evidence, "Threads met 30 000 parallel regions, of 2.0 µs on average.");
    assert!(hint.starts_with("Do more work in each region"), "{hint}");
}

/// A runtime takes longer to deal out a loop than its chunks do: that is neither work nor waiting.
#[test]
fn chunks_that_take_less_than_to_deal_them_out() {
    let at = |ms: u64| Time::from_nanos(ms * MS);
    let mut process = Process::new(at(0), at(100));
    let workers = [process.add_thread("main", at(0), None), process.add_thread("worker", at(0), None)];
    let frames = |module: &str, function: &str, line| Frame {
        module: Some(module.to_owned()),
        function: (!function.is_empty()).then(|| function.to_owned()),
        file: Some("/src/main.c".to_owned()).filter(|_| line > 0),
        line: Some(line).filter(|line| *line > 0),
        ..Frame::default()
    };
    let stack = vec![
        frames("libomp.so.5", "", 0),
        frames("libomp.so.5", "__kmpc_dispatch_next_8", 0),
        frames("app", "each", 7),
    ];
    let dealing = process.add_site(Site { frames: stack, ..Site::default() });
    process.openmp.works = workers
        .map(|thread| Work {
            thread,
            instance: Instance::new(1),
            sequence: 0,
            kind: WorkKind::DynamicLoop,
            place: Some(dealing),
            begin: at(0),
            end: at(100),
            iterations: None,
            chunk: Some(64),
            chunks: 1_000,
            done: None,
            dealing: None,
        })
        .to_vec();
    process.covered = vec![(at(0), at(100))];
    process.on_core = workers.map(|worker| span(worker, 0, 100, Left::Unknown)).to_vec();
    for look in 1..=10 {
        for thread in workers {
            let site = (look <= 6).then_some(dealing);
            let (time, weight) = (at(look * 10), Nanos::new(10 * MS));
            process.samples.push(Sample {
                thread,
                time,
                doing: Doing::Running,
                site,
                weight,
                access: None,
                in_kernel: None,
            });
        }
    }
    let run = Run { processes: vec![process], cores: 2, ..Run::default() };
    let mut diagnosis = diagnose(&run, 0);
    holdup_criticality::predict_gains(&run, &mut diagnosis, holdup_criticality::Depth::default());
    let finding = first(&diagnosis);
    assert_eq!(
        (finding.kind, finding.what.as_str()),
        (FindingKind::Tasks, "chunks that are too small in each (main.c:7)")
    );
    assert_eq!(finding.cost, ms(600));
    let gain = finding.gain.as_ref().expect("a gain");
    // What the runtime took, and 25 ns for each call of it.
    assert_eq!(gain.time, finding.cost + Nanos::new(2_000 * 25 / 2));
    assert!(gain.low < gain.time && gain.high <= diagnosis.wall, "{gain:?}");
    assert!(
        finding.hint.starts_with("Deal out more iterations at once (schedule(dynamic, 512)"),
        "{}",
        finding.hint
    );
    let said =
        finding.evidence.iter().any(|said| said.starts_with("2 000 chunks of 64 iterations were dealt out"));
    assert!(said, "{:?}", finding.evidence);
}
