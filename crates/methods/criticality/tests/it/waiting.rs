//! Waits that do not say what they are: spinning, locks of runtimes, and threads with nothing to do.

use holdup_criticality::{Diagnosis, Finding, FindingKind, diagnose};
use holdup_model::{
    Block, BusyLock, Call, Doing, Frame, Nanos, ObjectId, ObjectKind, Outcome, Process, Run, Sample, Site,
    SiteId, ThreadId, Time, Timeline, Wait, Wake, WakeCount,
};
use holdup_testkit::{Op, Script};

const MS: u64 = 1_000_000;

pub(crate) fn of(process: Process) -> Diagnosis {
    assert_eq!(Timeline::build(&process).check(), Ok(()));
    diagnose(&Run { processes: vec![process], cores: 8, ..Run::default() }, 0)
}

pub(crate) fn first(diagnosis: &Diagnosis) -> &Finding {
    diagnosis.findings.first().expect("there is something to find")
}

fn kinds(diagnosis: &Diagnosis) -> Vec<FindingKind> {
    diagnosis.findings.iter().map(|finding| finding.kind).collect()
}

pub(crate) fn at(ms: u64) -> Time {
    Time::from_nanos(ms * MS)
}

pub(crate) fn ms(tenths: u64) -> Nanos {
    Nanos::new(tenths * MS / 10)
}

fn work(length: u64) -> Op {
    Op::Work(length * MS)
}

/// A stack from `function@module`, innermost first; the first function of `app` has a line.
pub(crate) fn stack(process: &mut Process, frames: &[&str]) -> SiteId {
    let frame = |frame: &&str| {
        let (function, module) = frame.rsplit_once('@').expect("function@module");
        let line = (module == "app").then_some(33);
        Frame {
            function: (!function.is_empty()).then(|| function.to_owned()),
            file: line.map(|_| "/src/main.c".to_owned()),
            line,
            module: Some(module.to_owned()),
            ..Frame::default()
        }
    };
    process.add_site(Site { frames: frames.iter().map(frame).collect(), ..Site::default() })
}

#[test]
fn what_a_busy_lock_takes_is_lost_to_it_and_not_useful() {
    let (mut process, workers) = four();
    let lock = process.add_object(ObjectKind::Mutex, 0x40);
    let lost = |thread: ThreadId, tenths: u64| BusyLock {
        thread,
        object: lock,
        brief: 1000,
        waiting: ms(tenths),
        acquisitions: 1000,
        // 20 ns of each would be there if no other thread took it.
        acquiring: ms(10) + Nanos::new(20 * 1000),
        releasing: Nanos::new(20 * 2000),
    };
    process.busy_locks = workers.iter().map(|&worker| lost(worker, 190)).collect();
    let diagnosis = of(process.clone());
    let lock_cost = &diagnosis.objects[0];
    assert_eq!((lock_cost.waits, lock_cost.wait), (3000, ms(3 * 190)));
    assert_eq!(lock_cost.cost, ms(3 * 200 / 4), "20 ms of three of four threads");
    assert_eq!((first(&diagnosis).kind, first(&diagnosis).cost), (FindingKind::Lock, ms(150)));
    let evidence = first(&diagnosis).evidence.join(" ");
    assert!(evidence.contains("100 % of the cost is in threads that have a core"), "{evidence}");
    assert_eq!(diagnosis.cost_identity.useful, ms(850));
    assert_eq!(diagnosis.cost_identity.unexplained, Nanos::ZERO);
    // No more than the thread worked.
    process.busy_locks = vec![lost(workers[0], 5000), lost(workers[0], 5000)];
    let diagnosis = of(process);
    assert_eq!(diagnosis.objects[0].cost, ms(250));
    assert_eq!(diagnosis.cost_identity.useful, ms(750));
}

/// Four threads for 100 ms: the main thread and three workers.
pub(crate) fn four() -> (Process, Vec<ThreadId>) {
    let mut process = Process::new(at(0), at(100));
    process.add_thread("main", at(0), None);
    let workers = (1..4).map(|number| process.add_thread(&format!("worker {number}"), at(0), None)).collect();
    (process, workers)
}

/// Looks at a running thread, each of which stands for 1 ms.
pub(crate) fn run_at(process: &mut Process, thread: ThreadId, site: SiteId, from: u64, to: u64) {
    let samples = (from + 1..=to).map(|ms| Sample {
        thread,
        time: at(ms),
        doing: Doing::Running,
        site: Some(site),
        weight: Nanos::new(MS),
        access: None,
        in_kernel: None,
    });
    process.samples.extend(samples);
}

pub(crate) fn wait(thread: ThreadId, object: ObjectId, site: SiteId, begin: Time, end: Time) -> Wait {
    Wait { site: Some(site), ..Wait::granted(thread, object, begin, end) }
}

#[test]
fn a_loop_that_waits_for_a_flag() {
    let (mut process, workers) = four();
    let spin = stack(&mut process, &["wait_for_flag@app", "worker@app"]);
    process.sites[spin.index()].in_waiting_loop = true;
    let encode = stack(&mut process, &["encode@app"]);
    for &worker in &workers {
        run_at(&mut process, worker, encode, 0, 10);
        run_at(&mut process, worker, spin, 10, 70);
        run_at(&mut process, worker, encode, 70, 100);
    }
    let read = stack(&mut process, &["read_all@app", "main@app"]);
    run_at(&mut process, ThreadId::new(0), read, 10, 70);
    let on_two = diagnose(&Run { processes: vec![process.clone()], cores: 2, ..Run::default() }, 0);
    assert_eq!(first(&on_two).gain, None, "four do not work at once there");
    let diagnosis = of(process);
    assert_eq!(kinds(&diagnosis), [FindingKind::Spin]);
    let finding = first(&diagnosis);
    let what = "spinning in wait_for_flag (main.c:33), while only main is at work in read_all (main.c:33)";
    assert_eq!(finding.what, what);
    assert!(finding.hint.starts_with("Share out what that thread does meanwhile"));
    let gain = finding.gain.as_ref().map(|gain| (gain.low, gain.time, gain.high));
    assert_eq!(gain, Some((ms(0), ms(450), ms(450))));
    assert_eq!((finding.place, finding.threads.as_slice()), (Some(spin), workers.as_slice()));
    assert_eq!(finding.cost, ms(450));
    let cause = "For 100 % of that, main is the only other thread at work: most likely they wait for it.";
    assert_eq!(finding.evidence[1], cause);
    assert_eq!(finding.evidence[2], "100 % of the 60 samples that were taken meanwhile are in read_all.");
}

/// Who looks for work waits for whoever has the last task, which is another one each time.
#[test]
fn a_loop_that_waits_now_for_one_thread_and_now_for_another() {
    let (mut process, workers) = four();
    let spin = stack(&mut process, &["look_for_work@app", "worker@app"]);
    process.sites[spin.index()].in_waiting_loop = true;
    let run = stack(&mut process, &["run_task@app", "worker@app"]);
    let all = [ThreadId::new(0), workers[0], workers[1], workers[2]];
    for (number, round) in (0..4).map(|number| (number, number as u64 * 25)) {
        for (place, &thread) in all.iter().enumerate() {
            let until = if place == number { round + 25 } else { round + 5 };
            run_at(&mut process, thread, run, round, until);
            run_at(&mut process, thread, spin, until, round + 25);
        }
    }
    let diagnosis = of(process);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.threads.len()), (FindingKind::Spin, 4));
    assert_eq!(finding.what, "spinning in look_for_work (main.c:33)");
    assert_eq!(
        finding.evidence[1..],
        [
            "For 100 % of that, only one other thread is at work, now this one, now that: most likely they wait for it.",
            "100 % of the 80 samples that were taken meanwhile are in run_task."
        ]
    );
}

#[test]
fn a_loop_around_sched_yield() {
    let (mut process, workers) = four();
    let spin = stack(&mut process, &["sched_yield@libc.so.6", "wait_turn@app", "worker@app"]);
    for &worker in &workers[..2] {
        run_at(&mut process, worker, spin, 0, 50);
    }
    let diagnosis = of(process);
    let finding = first(&diagnosis);
    assert_eq!(finding.what, "spinning in wait_turn (main.c:33): a loop around sched_yield");
    assert_eq!(finding.cost, ms(250));
    assert!(finding.hint.starts_with("Block instead"));
    // Two others are at work: which of them is waited for is not known.
    assert_eq!(finding.evidence.len(), 1);
}

#[test]
fn a_pool_that_searches_for_work_while_one_thread_works() {
    let (mut process, workers) = four();
    let (main, last) = (ThreadId::new(0), workers[0]);
    let search = ["crossbeam_deque::deque::Stealer<T>::steal@app", "rayon_core::registry::main_loop@app"];
    let search = stack(&mut process, &search);
    let join = stack(&mut process, &["rayon_core::registry::WorkerThread::wait_until_cold@app", "shade@app"]);
    let shade = stack(&mut process, &["shade@app"]);
    run_at(&mut process, last, shade, 0, 100);
    for (thread, waits) in [(main, join), (workers[1], search), (workers[2], search)] {
        run_at(&mut process, thread, shade, 0, 20);
        run_at(&mut process, thread, waits, 20, 100);
    }
    let diagnosis = of(process);
    assert_eq!(kinds(&diagnosis), [FindingKind::Serial]);
    let finding = first(&diagnosis);
    assert_eq!((finding.threads.as_slice(), finding.cost), (&[last][..], ms(600)));
    assert!(finding.what.starts_with("only worker 1 at work"), "{}", finding.what);
    assert!(
        finding.evidence[0].contains("80.0 ms (80 % of the time); the others search for work"),
        "{:?}",
        finding.evidence
    );
}

#[test]
fn single_samples_do_not_say_who_worked_alone() {
    // Two threads that meet every few microseconds: each sample finds one of them at the barrier, and stands for a hundred
    // rounds of both.
    let mut process = Process::new(at(0), at(100));
    process.add_thread("main", at(0), None);
    let worker = process.add_thread("worker", at(0), None);
    let barrier =
        stack(&mut process, &["do_spin@libgomp.so.1", "gomp_team_barrier_wait@libgomp.so.1", "sweep@app"]);
    let sweep = stack(&mut process, &["sweep@app"]);
    for (turn, from) in (0..100).step_by(2).enumerate() {
        for (thread, spins) in [(ThreadId::new(0), turn % 2 == 0), (worker, turn % 2 == 1)] {
            run_at(&mut process, thread, if spins { barrier } else { sweep }, from, from + 2);
        }
    }
    assert_eq!(kinds(&of(process.clone())), [FindingKind::Spin]);
    // Nor where a thread that is often switched is sampled so seldom that each of them stands for several periods.
    for sample in &mut process.samples {
        sample.weight = Nanos::new(MS / 4);
    }
    assert_eq!(kinds(&of(process.clone())), [FindingKind::Spin]);
    // Where it spins for long at a stretch, the other is alone.
    process.samples.clear();
    run_at(&mut process, worker, barrier, 0, 50);
    run_at(&mut process, worker, sweep, 50, 100);
    run_at(&mut process, ThreadId::new(0), sweep, 0, 100);
    assert_eq!(kinds(&of(process)), [FindingKind::Serial]);
}

#[test]
fn a_pool_with_work_for_two_of_four() {
    let (mut process, workers) = four();
    let search = stack(&mut process, &["rayon_core::registry::WorkerThread::wait_until_cold@app"]);
    let shade = stack(&mut process, &["shade@app"]);
    for &worker in &workers[1..] {
        run_at(&mut process, worker, shade, 0, 20);
        run_at(&mut process, worker, search, 20, 100);
    }
    let diagnosis = of(process);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.cost), (FindingKind::Spin, ms(400)));
    assert_eq!(finding.what, "spinning: rayon's search for work");
    assert_eq!(finding.hint, "Give the pool more, or more evenly cut, work.");
}

#[test]
fn a_lock_inside_of_malloc_has_its_name() {
    let (mut process, workers) = four();
    let lock = process.add_object(ObjectKind::Mutex, 0x7000);
    process.objects[lock.index()].name = Some("glibc's malloc arena lock".to_owned());
    let inside = ["__lll_lock_wait_private@libc.so.6", "malloc@libc.so.6", "fill@app"];
    let site = stack(&mut process, &inside);
    for &worker in &workers {
        for begin in (0..100).step_by(10) {
            process.waits.push(wait(worker, lock, site, at(begin), at(begin + 6)));
        }
    }
    let diagnosis = of(process);
    assert_eq!(kinds(&diagnosis), [FindingKind::Lock]);
    let finding = first(&diagnosis);
    assert_eq!(finding.what, "glibc's malloc arena lock, waited for in fill (main.c:33)");
    assert_eq!((finding.cost, finding.place), (ms(450), Some(site)));
    assert!(finding.hint.contains("M_ARENA_MAX"));
}

/// Three threads that each compute for 15 ms under Python's lock, in turn; a thread that waits looks again each 5 ms,
/// as Python's do, and the one that has the lock signals when it lets it go.
fn gil(frames: &[&str], name: Option<&str>) -> Process {
    const TURN: u64 = 15;
    let mut process = Process::new(at(0), at(20 * TURN));
    process.add_thread("main", at(0), None);
    process.add_thread("worker", at(0), None);
    process.add_thread("worker", at(0), None);
    let condition = process.add_object(ObjectKind::Condition, 0x9000);
    let mutex = process.add_object(ObjectKind::Mutex, 0x9030);
    process.objects[condition.index()].name = name.map(str::to_owned);
    process.objects[mutex.index()].name = name.map(str::to_owned);
    let site = stack(&mut process, frames);
    for turn in 0..20 {
        let holder = ThreadId::new(turn as u32 % 3);
        for other in (0..3).map(ThreadId::new).filter(|&other| other != holder) {
            let is_next = other.index() as u64 == (turn + 1) % 3;
            for look in 0..3 {
                let (begin, end) = (at(turn * TURN + look * 5), at(turn * TURN + look * 5 + 5));
                let is_last = is_next && look == 2;
                let outcome = if is_last { Outcome::Granted } else { Outcome::TimedOut };
                let wait = Wait { outcome, mutex: Some(mutex), ..wait(other, condition, site, begin, end) };
                process.waits.push(wait);
            }
        }
        let count = WakeCount::AtMost(1);
        let time = at((turn + 1) * TURN);
        process.wakes.push(Wake { thread: holder, time, object: condition, site: Some(site), count });
    }
    process
}

#[test]
fn python_s_lock_is_named_whether_names_are_known_or_not() {
    let named = gil(&["PyCOND_TIMEDWAIT@libpython3.11.so", "take_gil@libpython3.11.so"], None);
    let stripped = gil(&["wait@python3.11"], Some("_PyRuntime+0x188"));
    // That it is waited for in its own code says nothing.
    let [own, unknown] = ["", ", waited for in wait (python3.11)"]
        .map(|at| format!("Python's global interpreter lock (GIL){at}"));
    for (process, what) in [(named, own), (stripped, unknown)] {
        let diagnosis = of(process);
        assert_eq!(kinds(&diagnosis), [FindingKind::Lock], "{:#?}", diagnosis.findings);
        let finding = first(&diagnosis);
        assert_eq!(finding.what, what);
        assert!(finding.hint.starts_with("Use processes"));
        // Two of three threads wait all the time, for all three of them in turn.
        assert_eq!((diagnosis.wall, finding.cost, finding.threads.len()), (ms(3000), ms(2000), 3));
        assert!(finding.on_path >= Some(ms(2700)), "{:?}", finding.on_path);
    }
}

/// A thread that looks up from its wait each 10 ms, and goes on with it, waits for whom ends that in the end.
#[test]
fn a_wait_with_a_time_limit_that_is_gone_on_with_is_one_wait() {
    let told = |outcome: Outcome| {
        let mut process = Process::new(at(0), at(400));
        let main = process.add_thread("main", at(0), None);
        let worker = process.add_thread("worker", at(0), None);
        let condition = process.add_object(ObjectKind::Condition, 0x9000);
        let site = stack(&mut process, &["main@app"]);
        for round in 0..4 {
            for look in 0..9 {
                let (begin, end) = (at(round * 100 + look * 11), at(round * 100 + look * 11 + 10));
                let outcome = if look == 8 { Outcome::Granted } else { outcome };
                process.waits.push(Wait { outcome, ..wait(main, condition, site, begin, end) });
            }
            let time = at(round * 100 + 98);
            let count = WakeCount::AtMost(1);
            process.wakes.push(Wake { thread: worker, time, object: condition, site: Some(site), count });
        }
        of(process)
    };
    let diagnosis = told(Outcome::TimedOut);
    let finding = first(&diagnosis);
    assert_eq!(
        (finding.kind, &*finding.threads),
        (FindingKind::Pipeline, &[ThreadId::new(1)][..]),
        "{finding:#?}"
    );
    assert!(!finding.evidence.iter().any(|sentence| sentence.contains("not known")), "{finding:#?}");
    // What fails at once is asked again: that is no wait for anybody.
    assert!(told(Outcome::Failed).findings.iter().any(|finding| finding.kind == FindingKind::Condition));
}

/// Requests that come each 10 ms and are worked on for 1 ms by one of four threads.
fn server(call: Call) -> Process {
    let mut script = Script::new();
    let (put, get) = (script.site("submit", 50), script.site("next_request", 60));
    let accept = script.site("accept_loop", 70);
    let requests = script.queue("requests", 100);
    let workers: Vec<ThreadId> = (0..4)
        .map(|_| script.thread("request_worker", [Op::Get(requests, get), work(1)].repeat(10)))
        .collect();
    workers.iter().for_each(|&thread| script.main_does(&[Op::Start(thread)]));
    script.main_does(&[Op::Read(10 * MS, accept), Op::Work(MS / 100), Op::Put(requests, put)].repeat(40));
    let join = script.site("main", 80);
    workers.iter().for_each(|&thread| script.main_does(&[Op::Join(thread, join)]));
    let mut process = script.play();
    process.blocks.iter_mut().for_each(|block| block.call = call);
    process
}

#[test]
fn a_server_that_waits_for_requests_has_nothing_to_fix() {
    for call in [Call::Accept, Call::Poll, Call::Signal] {
        let diagnosis = of(server(call));
        assert_eq!(kinds(&diagnosis), [FindingKind::Idle], "{:#?}", diagnosis.findings);
        let finding = first(&diagnosis);
        assert_eq!(
            finding.what,
            "nothing to do for 4 threads of request_worker, mostly in next_request (main.c:60)"
        );
        assert!(
            finding.evidence[0].contains("for work that main would give them, but waits itself"),
            "{:?}",
            finding.evidence
        );
    }
    // A file is another thing: it can be read ahead.
    assert_eq!(first(&of(server(Call::Read))).kind, FindingKind::Io);
}

#[test]
fn who_waits_in_calls_beside_a_busy_thread_may_wait_for_it() {
    let program = |busy: u64| {
        let mut script = Script::new();
        let poll = script.site("uv__io_poll", 70);
        let ops = [Op::Read(19 * MS, poll), work(1)].repeat(10);
        let workers: Vec<ThreadId> = (0..2).map(|_| script.thread("worker", ops.clone())).collect();
        workers.iter().for_each(|&thread| script.main_does(&[Op::Start(thread)]));
        let sleep = script.site("main", 90);
        script.main_does(&[work(busy), Op::Sleep((200 - busy) * MS, sleep)]);
        let mut process = script.play();
        process.blocks.iter_mut().filter(|block| block.call == Call::Read).for_each(|block| {
            block.call = Call::Poll;
        });
        let diagnosis = of(process);
        diagnosis
            .findings
            .into_iter()
            .find(|finding| finding.kind == FindingKind::Idle)
            .expect("idle threads")
    };
    let beside = program(199);
    assert_eq!(
        beside.what,
        "2 threads of worker wait in calls while main is at work, mostly in uv__io_poll (main.c:70)"
    );
    assert!(
        beside.evidence.iter().any(|sentence| sentence.starts_with("Meanwhile main is at work for")),
        "{beside:?}"
    );
    assert!(beside.hint.contains("--collectors kernel"), "{}", beside.hint);
    // Where main is at work for half of the time only, they wait for something else.
    let alone = program(100);
    assert!(alone.what.starts_with("nothing to do for 2 threads of worker"), "{}", alone.what);
    assert!(alone.hint.starts_with("There is nothing to fix"), "{}", alone.hint);
}

/// What a worker does first of all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum First {
    /// It says that it is there to who makes it.
    Handshake,
    /// It says so twice.
    Handshakes,
    /// It says anything else to that thread.
    Signal,
    /// It lets that thread have a lock.
    OfALock,
    /// It says something to nobody, and is sent messages from then on.
    BesideMessages,
    /// It sends a message to nobody that is known to wait, and is sent messages from then on.
    Message,
}

/// A producer that waits while a worker, which tells that it is there first, is slow; or works slowly itself.
#[test]
fn a_signal_to_who_made_a_thread_is_no_work() {
    let waits_for = |first: First| {
        let mut script = Script::new();
        let (put, get) = (script.site("submit", 50), script.site("next_piece", 60));
        let pieces = script.queue("pieces", 100);
        let worker = script.thread("worker", [Op::Get(pieces, get), work(1)].repeat(10));
        script.main_does(&[Op::Start(worker)]);
        script.main_does(&[work(10), Op::Put(pieces, put)].repeat(10));
        let join = script.site("main", 80);
        script.main_does(&[Op::Join(worker, join)]);
        let mut process = script.play();
        // The main thread waits, where it makes the worker, until that says that it is there.
        let there = process.add_object(ObjectKind::Condition, 0x77);
        match first {
            First::Handshake | First::Handshakes | First::Signal => {}
            First::OfALock => process.objects[there.index()].name = Some("_PyRuntime.gil".to_owned()),
            First::BesideMessages | First::Message => {
                let queues: Vec<_> = process.waits.iter().map(|wait| wait.object).collect();
                let sent = (first == First::Message).then_some(there);
                for object in queues.into_iter().chain(sent) {
                    process.objects[object.index()].kind = ObjectKind::Messages;
                }
            }
        }
        let site = stack(&mut process, &["create_worker@app"]);
        let made_at = if matches!(first, First::Handshake | First::Handshakes) {
            site
        } else {
            stack(&mut process, &["elsewhere@app"])
        };
        process.threads[worker.index()].created_at = Some(made_at);
        let main = ThreadId::new(0);
        let wait =
            Wait::granted(main, there, at(0), process.threads[worker.index()].start + Nanos::new(1000));
        let is_awaited = !matches!(first, First::BesideMessages | First::Message);
        process.waits.extend(is_awaited.then_some(Wait { site: Some(site), ..wait }));
        let count = WakeCount::AtMost(1);
        let time = process.threads[worker.index()].start + Nanos::new(900);
        process.wakes.push(Wake { thread: worker, time, object: there, site: None, count });
        if first == First::Handshakes {
            let time = time + Nanos::new(50);
            process.wakes.push(Wake { thread: worker, time, object: there, site: None, count });
        }
        let diagnosis = of(process);
        let finding = diagnosis.findings.iter().find(|finding| finding.kind == FindingKind::Pipeline);
        finding.unwrap_or_else(|| panic!("{:#?}", diagnosis.findings)).evidence.join(" ")
    };
    for first in [First::Handshake, First::OfALock, First::BesideMessages] {
        assert!(waits_for(first).contains("for work (empty queue)"), "{first:?}: {}", waits_for(first));
    }
    // One that makes threads and waits for what they do in the same function gets more than that they are there.
    assert!(
        waits_for(First::Handshakes).contains("for room (full queue)"),
        "{}",
        waits_for(First::Handshakes)
    );
    // Any other signal that comes first counts as work for the main thread, or for another one.
    let whats = [(First::Signal, "for room (full queue)"), (First::Message, "for answers to their messages")];
    for (first, what) in whats {
        assert!(waits_for(first).contains(what), "{first:?}: {}", waits_for(first));
    }
}

#[test]
fn a_thread_that_is_given_work_by_one_that_sleeps_is_idle() {
    let mut process = server(Call::Sleep);
    assert_eq!(kinds(&of(process.clone())), [FindingKind::Idle]);
    // If the same threads also signal, it is no queue at which workers wait for work.
    let worker = ThreadId::new(1);
    let object = process.waits.iter().find(|wait| wait.thread == worker).map(|wait| wait.object);
    let object = object.expect("the worker waits");
    let count = WakeCount::AtMost(1);
    process.wakes.push(Wake { thread: worker, time: at(3), object, site: None, count });
    assert_ne!(first(&of(process)).kind, FindingKind::Idle);
}

#[test]
fn what_a_server_receives_are_requests() {
    let mut script = Script::new();
    let serve = script.site("serve", 30);
    let ops = [Op::Read(9 * MS, serve), work(1)].repeat(10);
    let workers: Vec<ThreadId> = (0..3).map(|_| script.thread("connection", ops.clone())).collect();
    let accept = script.site("accept_loop", 70);
    script.main_does(&[Op::Read(MS, accept)]);
    script.main_runs(&workers);
    let mut process = script.play();
    process.blocks.iter_mut().for_each(|block| block.call = Call::Receive);
    assert_eq!(first(&of(process.clone())).kind, FindingKind::Io, "a client waits for answers");
    let accepting = process.blocks.iter_mut().find(|block| block.thread.index() == 0);
    accepting.expect("main waits").call = Call::Accept;
    let diagnosis = of(process);
    assert_eq!(kinds(&diagnosis), [FindingKind::Idle]);
    assert!(first(&diagnosis).what.ends_with("mostly in serve (main.c:30)"), "{}", first(&diagnosis).what);
}

#[test]
fn a_pool_that_waits_for_a_thread_that_computes_is_told_whom_it_waits_for() {
    let mut script = Script::new();
    let (put, get) = (script.site("submit", 50), script.site("next_job", 60));
    let jobs = script.queue("jobs", 100);
    let workers: Vec<ThreadId> =
        (0..4).map(|_| script.thread("pool_worker", [Op::Get(jobs, get), work(1)].repeat(10))).collect();
    workers.iter().for_each(|&thread| script.main_does(&[Op::Start(thread)]));
    script.main_does(&[work(5), Op::Put(jobs, put)].repeat(40));
    let join = script.site("main", 80);
    workers.iter().for_each(|&thread| script.main_does(&[Op::Join(thread, join)]));
    let diagnosis = of(script.play());
    let finding = first(&diagnosis);
    assert!(matches!(finding.kind, FindingKind::Serial | FindingKind::Pipeline));
    assert_eq!(finding.threads, [ThreadId::new(0)]);
    assert!(diagnosis.findings.iter().all(|finding| finding.kind != FindingKind::Idle));
}

#[test]
fn sleeping_workers_of_a_pool_wait_for_whoever_works() {
    let (mut process, workers) = four();
    let sleep = stack(
        &mut process,
        &["std::sys::sync::condvar::futex::Condvar::wait@app", "rayon_core::sleep::Sleep::sleep@app"],
    );
    // Main works from 0 to 80, the first worker from 0 to 30: the others are not woken before the end.
    let mut idle = |thread, begin, end| {
        let object = process.add_object(ObjectKind::Futex, 0x100 + process.objects.len() as u64 * 8);
        let open = Wait { outcome: Outcome::Open, ..wait(thread, object, sleep, at(begin), at(end)) };
        process.waits.push(open);
    };
    idle(workers[0], 30, 100);
    idle(workers[1], 10, 100);
    idle(workers[2], 10, 100);
    idle(ThreadId::new(0), 80, 100);
    let diagnosis = of(process);
    let costs: Vec<(FindingKind, Nanos)> =
        diagnosis.findings.iter().map(|finding| (finding.kind, finding.cost)).collect();
    // 50 ms with main alone, three waiting; 20 ms with two at work; 20 ms with none.
    let expected =
        [(FindingKind::Serial, ms(375)), (FindingKind::Condition, ms(100)), (FindingKind::Idle, ms(200))];
    assert_eq!(costs, expected, "{:#?}", diagnosis.findings);
    assert_eq!(diagnosis.findings[0].threads, [ThreadId::new(0)]);
    assert_eq!(diagnosis.findings[1].what, "not enough work for rayon's idle workers");
    assert!(diagnosis.findings[2].evidence[0].contains("while no thread of the program is at work"));
}

#[test]
fn what_the_others_do_is_said_of_idle_workers() {
    let (mut process, workers) = four();
    let sleep = stack(
        &mut process,
        &["std::sys::sync::condvar::futex::Condvar::wait@app", "rayon_core::sleep::Sleep::sleep@app"],
    );
    let piece = stack(&mut process, &["measure_piece@app"]);
    // Main and the first worker work to the end, the others wait from 10 on, until the first worker wakes them.
    for &thread in &workers[1..] {
        let object = process.add_object(ObjectKind::Futex, 0x100 + process.objects.len() as u64 * 8);
        process.waits.push(wait(thread, object, sleep, at(10), at(90)));
        let (thread, count) = (workers[0], WakeCount::AtMost(1));
        process.wakes.push(Wake { thread, time: at(90), object, site: Some(sleep), count });
    }
    for thread in [ThreadId::new(0), workers[0]] {
        process.samples.extend((1..=20).map(|look| Sample {
            thread,
            time: at(look * 5),
            doing: Doing::Running,
            site: Some(piece),
            weight: Nanos::new(5 * MS),
            access: None,
            in_kernel: None,
        }));
    }
    let diagnosis = of(process);
    let finding = first(&diagnosis);
    assert_eq!(
        finding.what,
        "not enough work for rayon's idle workers while worker 1 is in measure_piece (main.c:33)"
    );
    assert_eq!(finding.place, Some(piece));
}

/// Go's monitor sleeps between its looks: nothing would be faster if it did not.
#[test]
fn a_runtimes_thread_that_sleeps_has_nothing_to_do() {
    let (mut process, workers) = four();
    let sleep = stack(&mut process, &["runtime.usleep@app", "runtime.sysmon@app", "runtime.mstart1@app"]);
    let other = stack(&mut process, &["usleep@libc.so.6", "wait_a_little@app"]);
    for (thread, site) in [(workers[0], sleep), (workers[1], other)] {
        process.blocks.push(Block {
            thread,
            begin: at(10),
            end: at(90),
            call: Call::Sleep,
            timed_out: false,
            site: Some(site),
            cpu_begin: None,
            cpu_end: None,
        });
    }
    let diagnosis = of(process);
    let kinds: Vec<FindingKind> = diagnosis.findings.iter().map(|finding| finding.kind).collect();
    assert!(kinds.contains(&FindingKind::Idle), "{:#?}", diagnosis.findings);
    let sleeps = diagnosis.findings.iter().filter(|finding| finding.kind == FindingKind::Sleep);
    let threads: Vec<_> = sleeps.map(|finding| finding.threads.clone()).collect();
    assert_eq!(threads, [vec![workers[1]]]);
}

/// Main reads for 30 ms before it starts three workers, which then compute for 60 ms.
#[test]
fn nobody_waits_for_longer_than_it_lived() {
    let mut script = Script::new();
    let reads = [(20 * MS, script.site("read_input", 10)), (10 * MS, script.site("read_options", 20))];
    let workers: Vec<ThreadId> = (0..3).map(|_| script.thread("worker", vec![work(60)])).collect();
    let main = reads.iter().map(|&(length, site)| Op::Read(length, site));
    let main = main.chain(workers.iter().map(|&worker| Op::Start(worker)));
    let main: Vec<Op> = main.chain(workers.iter().map(|&worker| Op::Join(worker, reads[0].1))).collect();
    script.main_does(&main);
    let diagnosis = of(script.play());
    for (length, site) in reads {
        let io = diagnosis.findings.iter().find(|finding| finding.place == Some(site)).expect("it reads");
        let waited = format!("main waited {} in all, in calls made once.", Nanos::new(length));
        assert_eq!((io.kind, &io.evidence[0]), (FindingKind::Io, &waited));
        assert!(
            io.evidence[1].starts_with("Threads that were not there meanwhile lost "),
            "{:?}",
            io.evidence
        );
        assert_eq!(io.cost, Nanos::new(length), "all wait for it: {io:?}");
    }
}

#[test]
fn who_was_woken_and_does_not_run_yet_is_not_asked_to_signal_earlier() {
    // A caller starts two workers in each round, and is woken late when they have done their part.
    let mut script = Script::new();
    script.wake_up_takes(3 * MS);
    let [start, done] = ["start", "done"].map(|name| script.semaphore(name, 0));
    let site = script.site("rounds", 10);
    let turn = |turn: &[Op]| turn.repeat(20);
    let calls = [Op::Post(start, site), Op::Post(start, site), Op::Take(done, site), Op::Take(done, site)];
    let part = [Op::Take(start, site), Op::Work(2 * MS), Op::Post(done, site)];
    let ops = [turn(&calls), turn(&part), turn(&part)];
    let threads: Vec<_> = ops.into_iter().map(|ops| script.thread("rounds", ops)).collect();
    script.main_runs(&threads);
    let process = script.play();
    let diagnosis = of(process);
    let kinds: Vec<FindingKind> = diagnosis.findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds[0], FindingKind::WakeUp, "{kinds:?}");
    let asked = |kind: &FindingKind| matches!(kind, FindingKind::Semaphore | FindingKind::Condition);
    let costs = diagnosis.findings.iter().filter(|finding| asked(&finding.kind)).map(|finding| finding.cost);
    assert!(costs.fold(Nanos::ZERO, |sum, cost| sum + cost) <= Nanos::new(45 * MS), "{kinds:?}");
}

/// A worker of OpenMP waits between two regions for the thread that calls them, which some other thread is at work beside for a while.
#[test]
fn what_is_between_two_regions_is_serial() {
    let mut script = Script::new();
    let team = script.semaphore("team", 0);
    let site = script.site("rounds", 10);
    let round = |ops: &[Op]| ops.repeat(10);
    let caller = [Op::Work(10 * MS), Op::Post(team, site), Op::Work(2 * MS)];
    let worker = [Op::Take(team, site), Op::Work(2 * MS)];
    let threads = [
        script.thread("caller", round(&caller)),
        script.thread("worker", round(&worker)),
        script.thread("other", vec![Op::Work(35 * MS)]),
    ];
    script.main_runs(&threads);
    let mut process = script.play();
    process.objects[team.index()].kind = ObjectKind::Team;
    let diagnosis = of(process);
    let kinds: Vec<FindingKind> = diagnosis.findings.iter().map(|finding| finding.kind).collect();
    assert!(kinds.contains(&FindingKind::Serial), "{kinds:?}");
    assert!(!kinds.contains(&FindingKind::Condition), "{:?}", diagnosis.findings[0]);
}

/// In ten rounds main works for 2 ms, and waits at `end` until two threads have worked for 8 ms.
fn gives_work_to_two(end: &[&str]) -> Diagnosis {
    let mut process = Process::new(at(0), at(100));
    let main = process.add_thread("main", at(0), None);
    let pool: Vec<ThreadId> =
        (1..3).map(|number| process.add_thread(&format!("pool {number}"), at(0), None)).collect();
    let end = stack(&mut process, end);
    let sleep = stack(&mut process, &["rayon_core::sleep::Sleep::sleep@app"]);
    let objects: Vec<ObjectId> =
        (1..4).map(|address| process.add_object(ObjectKind::Futex, address)).collect();
    let count = WakeCount::All;
    for round in (0..100).step_by(10) {
        for (&worker, &object) in pool.iter().zip(&objects) {
            process.waits.push(wait(worker, object, sleep, at(round), at(round + 2)));
            process.wakes.push(Wake { thread: main, time: at(round + 2), object, site: None, count });
        }
        let object = objects[2];
        process.waits.push(wait(main, object, end, at(round + 2), at(round + 10)));
        process.wakes.push(Wake { thread: pool[1], time: at(round + 10), object, site: None, count });
    }
    of(process)
}

#[test]
fn who_waits_for_what_it_gave_to_a_pool_is_not_missed() {
    let diagnosis = gives_work_to_two(&["rayon_core::latch::LockLatch::wait_and_reset@app", "render@app"]);
    assert_eq!((diagnosis.workers, kinds(&diagnosis)), (2, vec![FindingKind::Serial]));
    assert!(first(&diagnosis).what.starts_with("only main at work"), "{}", first(&diagnosis).what);
    // Nobody knows of another wait that it is one for an end.
    let diagnosis = gives_work_to_two(&["take@app", "render@app"]);
    assert!(kinds(&diagnosis).iter().any(|kind| *kind != FindingKind::Serial), "{:?}", kinds(&diagnosis));
}

/// In two scopes, one after the other, a thread that works for 10 ms and one that works for 50 ms.
#[test]
fn a_thread_of_a_later_scope_did_not_start_late() {
    let mut process = Process::new(at(0), at(100));
    let main = process.add_thread("main", at(0), None);
    let scope =
        stack(&mut process, &["std::thread::park@app", "std::thread::scoped::scope@app", "render@app"]);
    for begin in [0, 50] {
        for length in [10, 50] {
            let thread = process.add_thread("worker", at(begin), Some(at(begin + length)));
            process.threads[thread.index()].parent = Some(main);
        }
        let object = process.add_object(ObjectKind::Futex, begin + 1);
        process.waits.push(wait(main, object, scope, at(begin), at(begin + 50)));
    }
    let diagnosis = of(process);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, diagnosis.workers), (FindingKind::Serial, 2));
    assert_eq!(finding.what, "only one of 2 threads of worker at a time at work");
}

/// Main works for 100 ms, and beside it three threads, one after the other, that check what it has made for a fifth of that time.
#[test]
fn short_threads_beside_one_that_works_are_not_those_that_should_share_its_work() {
    let mut process = Process::new(at(0), at(200));
    let main = process.add_thread("main", at(0), None);
    for begin in [0, 30, 60] {
        let thread = process.add_thread("check", at(begin), Some(at(begin + 7)));
        process.threads[thread.index()].parent = Some(main);
    }
    let late = process.add_thread("worker", at(100), Some(at(200)));
    process.threads[late.index()].parent = Some(main);
    let diagnosis = of(process);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.what.as_str()), (FindingKind::Serial, "only main at work"));
    assert!(
        finding.evidence[0].starts_with("It is the only active thread for 79.0 ms"),
        "{:?}",
        finding.evidence
    );
}
