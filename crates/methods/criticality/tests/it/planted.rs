//! Programs with one planted problem each: the first finding must name it, with its exact cost.

use holdup_criticality::{Diagnosis, Finding, FindingKind, diagnose};
use holdup_model::{Nanos, ObjectId, ObjectKind, Process, Run, State, ThreadId, Time, Wait};
use holdup_testkit::{Op, Script};

const MS: u64 = 1_000_000;

fn of(process: Process, cores: u32) -> Diagnosis {
    diagnose(&Run { processes: vec![process], cores, ..Run::default() }, 0)
}

fn diagnosis(script: &Script) -> Diagnosis {
    of(script.play(), 8)
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

#[test]
fn balanced_threads_give_no_finding() {
    let mut script = Script::new();
    let barrier = script.barrier("round_done", 4);
    let site = script.site("round", 10);
    let workers: Vec<ThreadId> =
        (0..4).map(|_| script.thread("worker", [work(5), Op::Meet(barrier, site)].repeat(10))).collect();
    script.main_runs(&workers);
    let diagnosis = diagnosis(&script);
    assert_eq!(diagnosis.findings, []);
    assert_eq!(diagnosis.working_threads, workers);
    assert_eq!(diagnosis.workers, 4);
    assert_eq!(diagnosis.cost_identity.useful, diagnosis.wall);
    assert!((diagnosis.efficiency - 1.0).abs() < 1e-12);
    assert!((diagnosis.parallelism - 4.0).abs() < 1e-12);
}

#[test]
fn one_long_critical_section() {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, "table_lock");
    let site = script.site("update_table", 12);
    let ops = [Op::Lock(lock, site), work(9), Op::Unlock(lock), work(1)].repeat(10);
    let workers: Vec<ThreadId> = (0..4).map(|_| script.thread("worker", ops.clone())).collect();
    script.main_runs(&workers);
    let diagnosis = diagnosis(&script);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.object, finding.place), (FindingKind::Lock, Some(lock), Some(site)));
    assert_eq!(finding.what, "mutex table_lock, held in update_table (main.c:12)");
    assert_eq!(finding.threads.len(), 4);
    // Forty holds of 9 ms, and a millisecond after the last; nobody waits for that.
    assert_eq!(diagnosis.wall, ms(3610));
    assert_eq!(finding.on_path, Some(ms(3510)));
    let identity = &diagnosis.cost_identity;
    assert_eq!(identity.useful, ms(1000));
    assert_eq!(
        identity.parts.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(),
        [FindingKind::Lock, FindingKind::Imbalance]
    );
    assert_eq!(
        identity.useful + identity.parts[0].1 + identity.parts[1].1 + identity.unexplained,
        diagnosis.wall
    );
    // The four wait 0, 9, 18 and 27 ms for their first hold and 26 ms for each of nine others.
    let cost = &diagnosis.objects[0];
    assert_eq!(cost.waiters.iter().map(|waiter| waiter.time).sum::<Nanos>(), ms(9900));
    assert_eq!((cost.wait, cost.direct_cost), (ms(9900), ms(2475)));
    // Then one, two and three are missing for 9 ms each. Those who are left share that: of three two wait for the
    // lock for 8 ms and one for 1 ms, of two one for 8 ms.
    let shares = 9 * MS / 3 * 2 - MS / 3 + 8 * MS;
    assert_eq!((cost.cost, finding.cost), (ms(2475) + Nanos::new(shares / 4), cost.cost));
    assert_eq!(diagnosis.findings[1].cost, Nanos::new((54 * MS - shares) / 4));
    assert!(diagnosis.cost_identity.unexplained <= Nanos::new(2));
}

#[test]
fn what_is_done_outside_of_the_lock_is_no_finding() {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, "table_lock");
    let site = script.site("update_table", 12);
    let ops = [work(9), Op::Lock(lock, site), Op::Work(1_000), Op::Unlock(lock)].repeat(10);
    let workers: Vec<ThreadId> = (0..4).map(|_| script.thread("worker", ops.clone())).collect();
    script.main_runs(&workers);
    assert_eq!(diagnosis(&script).findings, []);
}

#[test]
fn a_lock_convoy() {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, "counter_lock");
    let site = script.site("count_event", 20);
    script.wake_up_takes(4_000);
    let ops = [Op::Lock(lock, site), Op::Work(1_000), Op::Unlock(lock), Op::Work(100)].repeat(2_000);
    let workers: Vec<ThreadId> = (0..8).map(|_| script.thread("worker", ops.clone())).collect();
    script.main_runs(&workers);
    let diagnosis = diagnosis(&script);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.object, finding.place), (FindingKind::Lock, Some(lock), Some(site)));
    // Each hand-over takes the wake-up's 4 µs and the hold's 1 µs: the thread that was given the lock sleeps.
    assert!(finding.evidence.iter().any(|line| line.contains("woken but not yet running 80 %")));
    assert!(diagnosis.criticality.nobody_total() > 0.7 * diagnosis.wall.get() as f64);
}

#[test]
fn a_thread_late_at_a_barrier() {
    let mut script = Script::new();
    let barrier = script.barrier("round_done", 4);
    let site = script.site("round", 10);
    let mut workers = vec![script.thread("late_worker", [work(10), Op::Meet(barrier, site)].repeat(20))];
    for _ in 1..4 {
        workers.push(script.thread("prompt_worker", [work(1), Op::Meet(barrier, site)].repeat(20)));
    }
    script.main_runs(&workers);
    let diagnosis = diagnosis(&script);
    assert_eq!(diagnosis.findings.len(), 1);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.object), (FindingKind::Imbalance, Some(barrier)));
    assert_eq!((finding.threads.as_slice(), finding.place), (&workers[..1], Some(site)));
    // Three of four threads wait 9 of 10 ms.
    assert_eq!(finding.cost, ms(1350));
    assert_eq!(finding.on_path, Some(ms(1800)));
    assert!(finding.what.starts_with("late_worker 1 late at barrier round_done"));
    assert!(finding.evidence[0].contains("last in 20 of 20 rounds"));
    assert!(finding.evidence[0].contains("imbalance 68 %"), "{}", finding.evidence[0]);
    assert_eq!(diagnosis.path.by_thread, [(workers[0], ms(2000))]);
}

#[test]
fn a_barrier_at_which_each_is_late_in_turn() {
    let mut script = Script::new();
    let barrier = script.barrier("round_done", 4);
    let site = script.site("round", 10);
    let workers: Vec<ThreadId> = (0..4)
        .map(|thread| {
            let round = |round| [work(if round % 4 == thread { 9 } else { 3 }), Op::Meet(barrier, site)];
            script.thread("worker", (0..20).flat_map(round).collect())
        })
        .collect();
    script.main_runs(&workers);
    let diagnosis = diagnosis(&script);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.object), (FindingKind::Barrier, Some(barrier)));
    assert_eq!(finding.cost, ms(20 * 60 * 3 / 4));
    assert_eq!(diagnosis.findings.len(), 1);
}

#[test]
fn a_serial_phase_between_fork_and_join() {
    let mut script = Script::new();
    let join = script.site("fork_and_join", 40);
    let workers: Vec<ThreadId> = (0..20).map(|_| script.thread("render_worker", vec![work(5)])).collect();
    for frame in workers.chunks(4) {
        script.main_does(&[work(10)]);
        frame.iter().for_each(|&thread| script.main_does(&[Op::Start(thread)]));
        frame.iter().for_each(|&thread| script.main_does(&[Op::Join(thread, join)]));
    }
    let diagnosis = diagnosis(&script);
    assert_eq!((diagnosis.wall, diagnosis.workers), (ms(750), 4));
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.threads.as_slice()), (FindingKind::Serial, &[ThreadId::new(0)][..]));
    // Three of four places are empty for 50 ms.
    assert_eq!(finding.cost, ms(375));
    assert!(finding.what.starts_with("only main at work"), "{}", finding.what);
    assert_eq!(diagnosis.cost_identity.useful, ms(375));
}

#[test]
fn a_pipeline_with_a_slow_stage() {
    let mut script = Script::new();
    let (put, get) = (script.site("queue_put", 50), script.site("queue_get", 60));
    let queues = [script.queue("to_parse", 4), script.queue("to_compress", 4), script.queue("to_write", 4)];
    const ITEMS: usize = 100;
    let mut stages = vec![script.thread("read_stage", [work(1), Op::Put(queues[0], put)].repeat(ITEMS))];
    for (stage, length) in [("parse_stage", 1), ("compress_stage", 8)] {
        let queue = stages.len() - 1;
        let ops = [Op::Get(queues[queue], get), work(length), Op::Put(queues[queue + 1], put)];
        stages.push(script.thread(stage, ops.repeat(ITEMS)));
    }
    stages.push(script.thread("write_stage", [Op::Get(queues[2], get), work(1)].repeat(ITEMS)));
    script.main_runs(&stages);
    let diagnosis = diagnosis(&script);
    let finding = first(&diagnosis);
    assert_eq!(finding.kind, FindingKind::Pipeline);
    assert_eq!(finding.threads, [stages[2]]);
    assert!(finding.what.contains("compress_stage"), "{}", finding.what);
    assert!(finding.evidence[1].contains("empty queue") && finding.evidence[1].contains("full queue"));
    // 803 ms; the writer waits 7 of 8 ms, and so do the others until they have put their last item.
    assert!(finding.cost > ms(4800) && finding.cost < ms(5400), "{}", finding.cost);
    assert_eq!(diagnosis.path.by_thread[0].0, stages[2]);
    assert!(diagnosis.path.by_thread[0].1 >= ms(8000));
}

#[test]
fn a_pool_that_waits_for_work_from_the_reader() {
    let mut script = Script::new();
    let (put, get) = (script.site("submit", 50), script.site("next_job", 60));
    let read = script.site("read_input", 70);
    let jobs = script.queue("jobs", 100);
    let workers: Vec<ThreadId> =
        (0..4).map(|_| script.thread("pool_worker", [Op::Get(jobs, get), work(1)].repeat(25))).collect();
    workers.iter().for_each(|&thread| script.main_does(&[Op::Start(thread)]));
    script.main_does(&[Op::Read(3 * MS, read), work(1), Op::Put(jobs, put)].repeat(100));
    let join = script.site("main", 80);
    workers.iter().for_each(|&thread| script.main_does(&[Op::Join(thread, join)]));
    let diagnosis = diagnosis(&script);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.threads.as_slice()), (FindingKind::Io, &[ThreadId::new(0)][..]));
    assert_eq!(finding.what, "I/O: read in read_input (main.c:70)");
    // Of four workers, all but what they and main work meanwhile.
    assert!(finding.cost > ms(2750) && finding.cost <= ms(3000), "{}", finding.cost);
    assert!(finding.evidence[0].starts_with("main waited 300 ms in all"), "{:?}", finding.evidence);
    assert!(finding.evidence[1].starts_with("Others waited 1."), "{:?}", finding.evidence);
    assert!(finding.evidence[1].ends_with(" meanwhile for what they are given there."));
}

/// Of three producers the last one finds the queue full before it ever put something in; the consumer comes late.
#[test]
fn producers_wait_for_room_whoever_begins() {
    for late in [0, 60] {
        let mut script = Script::new();
        let (put, get) = (script.site("produce", 50), script.site("consume", 60));
        let queue = script.queue("parts", 2);
        let mut threads: Vec<ThreadId> =
            (0..3).map(|_| script.thread("produce", [work(1), Op::Put(queue, put)].repeat(30))).collect();
        let consumer = [vec![work(2 + late)], [Op::Get(queue, get), work(8)].repeat(90)].concat();
        threads.push(script.thread("consume", consumer));
        script.main_runs(&threads);
        let diagnosis = diagnosis(&script);
        let finding = first(&diagnosis);
        assert_eq!((finding.kind, finding.threads.as_slice()), (FindingKind::Pipeline, &threads[3..]));
        assert!(finding.what.starts_with("slow stage"), "{}", finding.what);
        let told =
            finding.evidence.iter().find(|line| line.contains("for room")).expect("which way it waits");
        assert!(!told.contains("for work"), "{told}");
    }
}

#[test]
fn of_two_locks_the_one_on_the_critical_path_comes_first() {
    let mut script = Script::new();
    let ledger = script.object(ObjectKind::Mutex, "ledger_lock");
    let stats = script.object(ObjectKind::Mutex, "stats_lock");
    let (post, sample) = (script.site("post_to_ledger", 20), script.site("record_stats", 30));
    let mut workers = Vec::new();
    for _ in 0..2 {
        workers
            .push(script.thread("ledger", [Op::Lock(ledger, post), work(5), Op::Unlock(ledger)].repeat(40)));
    }
    for _ in 0..5 {
        workers.push(script.thread("stats", [Op::Lock(stats, sample), work(5), Op::Unlock(stats)].repeat(8)));
    }
    script.main_runs(&workers);
    let diagnosis = diagnosis(&script);
    let locks: Vec<&Finding> =
        diagnosis.findings.iter().filter(|finding| finding.kind == FindingKind::Lock).collect();
    assert_eq!(first(&diagnosis).object, Some(ledger));
    // All but the last hold, which nobody waits for.
    assert_eq!(first(&diagnosis).on_path, Some(ms(3950)));
    assert_eq!(locks.len(), 2);
    assert_eq!(locks[1].object, Some(stats));
    assert_eq!(locks[1].on_path, Some(Nanos::ZERO));
    assert_eq!(locks[1].notes, ["It is not on the critical path of this run."]);
    let wait = |lock: ObjectId| {
        diagnosis.objects.iter().find(|cost| cost.object == lock).map(|cost| cost.wait).unwrap()
    };
    assert!(wait(stats) > wait(ledger));
}

#[test]
fn a_lock_chain_is_charged_to_its_root() {
    let mut script = Script::new();
    let outer = script.object(ObjectKind::Mutex, "outer_lock");
    let inner = script.object(ObjectKind::Mutex, "inner_lock");
    let rebuild = script.site("rebuild_index", 20);
    let (look_up, read) = (script.site("look_up", 30), script.site("read_index", 40));
    let indexer = script.thread("index_worker", vec![Op::Lock(inner, rebuild), work(100), Op::Unlock(inner)]);
    let ops = vec![
        work(1),
        Op::Lock(outer, look_up),
        Op::Lock(inner, read),
        work(1),
        Op::Unlock(inner),
        Op::Unlock(outer),
    ];
    let mut workers = vec![indexer];
    workers.extend((0..3).map(|_| script.thread("lookup_worker", ops.clone())));
    script.main_runs(&workers);
    let diagnosis = diagnosis(&script);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.object), (FindingKind::Lock, Some(inner)));
    assert_eq!(finding.place, Some(rebuild));
    // Three threads wait 99 ms for the indexer, one of them itself, two through the outer lock; then two and
    // one wait for 1 ms more, for the outer lock alone. All that by four threads.
    let inner_cost = diagnosis.objects.iter().find(|cost| cost.object == inner).unwrap();
    let outer_cost = diagnosis.objects.iter().find(|cost| cost.object == outer).unwrap();
    assert_eq!(inner_cost.cost, Nanos::new(3 * 99 * MS / 4));
    assert_eq!(inner_cost.direct_cost, Nanos::new(99 * MS / 4));
    assert_eq!(outer_cost.direct_cost, Nanos::new((2 * 99 + 2 + 1) * MS / 4));
    // When the indexer has ended, each of those that are left also answers for its share of the empty place.
    assert_eq!(outer_cost.cost, Nanos::new((2 * MS + 2 * MS / 3 + MS + MS) / 4));
    let chain = &diagnosis.chains[0];
    assert_eq!((chain.time, chain.waiters.as_slice()), (ms(1980), &workers[2..]));
    assert_eq!(chain.links.len(), 2);
    assert_eq!((chain.links[0].object, chain.links[0].holder), (outer, Some(workers[1])));
    assert_eq!(chain.links[0].holder_state, State::Blocked);
    assert_eq!((chain.links[1].object, chain.links[1].holder), (inner, Some(indexer)));
    assert_eq!((chain.links[1].holder_state, chain.links[1].wait_site), (State::Active, Some(read)));
}

#[test]
fn a_lock_that_is_held_during_io() {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, "log_lock");
    let (log, write) = (script.site("log", 20), script.site("write_log", 30));
    let ops = [Op::Lock(lock, log), Op::Read(9 * MS, write), Op::Unlock(lock), work(1)].repeat(5);
    let workers: Vec<ThreadId> = (0..3).map(|_| script.thread("worker", ops.clone())).collect();
    script.main_runs(&workers);
    let diagnosis = diagnosis(&script);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.object), (FindingKind::Lock, Some(lock)));
    assert!(finding.evidence.iter().any(|line| line.contains("waiting for I/O 100 % of the time")));
}

#[test]
fn threads_that_wait_for_io() {
    let mut script = Script::new();
    let site = script.site("fetch_page", 30);
    let ops = [Op::Read(10 * MS, site), work(2)].repeat(10);
    let workers: Vec<ThreadId> = (0..4).map(|_| script.thread("page_worker", ops.clone())).collect();
    script.main_runs(&workers);
    let diagnosis = diagnosis(&script);
    assert_eq!(diagnosis.findings.len(), 1);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.place), (FindingKind::Io, Some(site)));
    assert_eq!(finding.what, "I/O: read in fetch_page (main.c:30)");
    assert_eq!((finding.cost, finding.on_path), (ms(1000), Some(ms(1000))));
    assert_eq!(finding.threads, workers);
}

#[test]
fn threads_that_sleep() {
    let mut script = Script::new();
    let site = script.site("poll_queue", 30);
    let workers: Vec<ThreadId> =
        (0..2).map(|_| script.thread("poller", [Op::Sleep(10 * MS, site), work(10)].repeat(3))).collect();
    script.main_runs(&workers);
    let diagnosis = diagnosis(&script);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.place, finding.cost), (FindingKind::Sleep, Some(site), ms(300)));
}

#[test]
fn a_pool_that_is_too_small() {
    let mut script = Script::new();
    let slots = script.semaphore("connection_slots", 2);
    let (take, post) = (script.site("acquire_connection", 20), script.site("release_connection", 30));
    let query = script.site("run_query", 40);
    let ops =
        [Op::Take(slots, take), Op::Sleep(4 * MS, query), Op::Post(slots, post), Op::Work(MS / 5)].repeat(20);
    let workers: Vec<ThreadId> = (0..8).map(|_| script.thread("query_worker", ops.clone())).collect();
    script.main_runs(&workers);
    let diagnosis = diagnosis(&script);
    let finding = first(&diagnosis);
    assert_eq!(diagnosis.working_threads.len(), 8);
    assert_eq!(
        (finding.kind, finding.object, finding.place),
        (FindingKind::Semaphore, Some(slots), Some(take))
    );
    assert!(finding.cost > ms(2300) && finding.cost < ms(2500), "{}", finding.cost);
}

#[test]
fn a_helper_that_is_waited_for() {
    let mut script = Script::new();
    let join = script.site("save_all", 40);
    let helper = script.thread("saver", vec![work(50)]);
    script.main_does(&[Op::Start(helper), work(10), Op::Join(helper, join), work(1)]);
    let diagnosis = diagnosis(&script);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.threads.as_slice()), (FindingKind::Join, &[helper][..]));
    assert_eq!((finding.cost, finding.on_path), (ms(200), Some(ms(400))));
}

#[test]
fn one_of_several_workers_ends_late() {
    let mut script = Script::new();
    let mut workers: Vec<ThreadId> = (0..3).map(|_| script.thread("worker", vec![work(30)])).collect();
    workers.push(script.thread("worker", vec![work(90)]));
    script.main_runs(&workers);
    let diagnosis = diagnosis(&script);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.threads.as_slice()), (FindingKind::Imbalance, &workers[3..]));
    assert_eq!(finding.cost, ms(450));
    assert_eq!(diagnosis.findings.len(), 1);
}

#[test]
fn a_lock_that_its_holder_takes_again_before_the_waiter_runs() {
    let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(100 * MS));
    let first = process.add_thread("main", Time::from_nanos(0), Some(Time::from_nanos(50 * MS)));
    let second = process.add_thread("second", Time::from_nanos(0), None);
    let lock = process.add_object(ObjectKind::Mutex, 1);
    for hold in 0..5 {
        process.holds.push(holdup_model::Hold {
            thread: first,
            begin: Some(Time::from_nanos(hold * 10 * MS)),
            end: Time::from_nanos((hold + 1) * 10 * MS),
            object: lock,
            acquired_at: None,
            released_at: None,
            waited_for: true,
            mode: holdup_model::Mode::Exclusive,
        });
    }
    process.waits.push(holdup_model::Wait { thread: second, object: lock, ..join(0, 50 * MS) });
    let diagnosis = of(process, 2);
    // All five holds were waited for, though only the last one's release let the waiter go on.
    assert_eq!((first_lock(&diagnosis).cost, first_lock(&diagnosis).on_path), (ms(250), Some(ms(500))));
    assert_eq!(diagnosis.path.by_thread, [(first, ms(500)), (second, ms(500))]);
}

fn first_lock(diagnosis: &Diagnosis) -> &Finding {
    diagnosis.findings.iter().find(|finding| finding.kind == FindingKind::Lock).expect("a lock is waited for")
}

/// Threads that are active all the time, of which `cpu` ns on a core.
fn crowd(threads: u64, wall: u64, cpu: u64) -> Process {
    let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(wall));
    process.add_thread("main", Time::from_nanos(0), None);
    process.threads[0].cpu = Some(Nanos::ZERO);
    for _ in 0..threads {
        let thread = process.add_thread("crowd_worker", Time::from_nanos(0), None);
        process.threads[thread.index()].parent = Some(ThreadId::new(0));
        process.threads[thread.index()].cpu = Some(Nanos::new(cpu));
        let end = process.add_object(ObjectKind::ThreadEnd, 0);
        process.objects[end.index()].thread = Some(thread);
    }
    let mut wait = join(0, wall);
    wait.object = ObjectId::new(0);
    process.waits.push(wait);
    process
}

fn join(begin: u64, end: u64) -> holdup_model::Wait {
    holdup_model::Wait {
        cpu_begin: Some(Nanos::ZERO),
        cpu_end: Some(Nanos::ZERO),
        ..holdup_model::Wait::granted(
            ThreadId::new(0),
            ObjectId::new(0),
            Time::from_nanos(begin),
            Time::from_nanos(end),
        )
    }
}

#[test]
fn more_threads_than_cores() {
    let diagnosis = of(crowd(8, 100 * MS, 25 * MS), 2);
    let finding = first(&diagnosis);
    assert_eq!(finding.kind, FindingKind::Oversubscription);
    assert_eq!(finding.what, "8 threads share 2 cores");
    // 8 × 75 ms without a core, 600 of 800: all of it is what six threads too many lack.
    assert_eq!(finding.cost, ms(750));
    assert_eq!(diagnosis.findings.len(), 1);
    assert!((diagnosis.efficiency - 1.0).abs() < 1e-9, "both cores are busy");
}

/// Three threads on two cores, 10 ms of work each a round: the third begins when the first two are done, so that
/// these wait for it at the barrier although all work the same.
#[test]
fn a_thread_that_gets_its_core_late_makes_the_others_wait() {
    const ROUNDS: u64 = 4;
    let end = Time::from_nanos(ROUNDS * 20 * MS);
    let mut process = Process::new(Time::from_nanos(0), end);
    let workers = [0; 3].map(|_| process.add_thread("crowd_worker", Time::from_nanos(0), None));
    let barrier = process.add_object(ObjectKind::Barrier, 1);
    process.objects[barrier.index()].parties = Some(3);
    let mut meet = |thread: ThreadId, from: u64, to: u64| {
        let outcome =
            if to > ROUNDS * 20 { holdup_model::Outcome::Open } else { holdup_model::Outcome::Granted };
        let to = (to * MS).min(end.nanos());
        process.waits.push(holdup_model::Wait {
            thread,
            object: barrier,
            outcome,
            cpu_begin: None,
            cpu_end: None,
            round: None,
            ..join(from * MS, to)
        });
    };
    for round in 0..=ROUNDS {
        let start = round * 20;
        meet(workers[0], start.saturating_sub(10), start);
        meet(workers[1], start.saturating_sub(10), start);
        meet(workers[2], start, start + 10);
    }
    process.threads.iter_mut().for_each(|thread| thread.cpu = Some(Nanos::new(ROUNDS * 10 * MS)));
    let diagnosis = of(process, 2);
    let finding = first(&diagnosis);
    assert_eq!(
        (finding.kind, finding.what.as_str()),
        (FindingKind::Oversubscription, "3 threads share 2 cores")
    );
    // In each round the third thread is kept waiting for 10 ms, and then the two others wait 10 ms for it, of whom one could run:
    // with one core of two that is half of three places.
    assert_eq!(finding.cost, Nanos::new(ROUNDS * 25 * MS / 3));
    assert_eq!(diagnosis.findings.len(), 1);
}

#[test]
fn a_core_that_something_else_takes_is_not_oversubscription() {
    let diagnosis = of(crowd(4, 100 * MS, 25 * MS), 8);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.cost), (FindingKind::Delayed, ms(750)));
    // Five threads on four cores lack one core; the rest of what they lack is taken by others.
    let diagnosis = of(crowd(5, 100 * MS, 60 * MS), 4);
    let costs: Vec<(FindingKind, Nanos)> =
        diagnosis.findings.iter().map(|finding| (finding.kind, finding.cost)).collect();
    assert_eq!(costs, [(FindingKind::Oversubscription, ms(200)), (FindingKind::Delayed, ms(200))]);
}

#[test]
fn cores_that_other_processes_of_the_run_keep_busy_are_not_taken_from_outside() {
    let beside = |cpu: u64| {
        let processes = vec![crowd(4, 100 * MS, 25 * MS), crowd(1, 100 * MS, cpu)];
        let diagnosis = diagnose(&Run { processes, cores: 8, ..Run::default() }, 0);
        first(&diagnosis).what.clone()
    };
    // Eight cores have 800 ms; the process had 100 of them, and lacked 300.
    assert_eq!(beside(600 * MS), "threads delayed by other processes of the run");
    // Enough for what was lacking, and yet cores were idle; or not enough.
    assert_eq!(beside(350 * MS), "threads delayed by something outside of the program");
    assert_eq!(beside(100 * MS), "threads delayed by something outside of the program");
}

#[test]
fn who_is_late_at_a_barrier_for_want_of_a_core_has_not_too_much_work() {
    let mut script = Script::new();
    let barrier = script.barrier("round_done", 3);
    let site = script.site("round", 10);
    let round = |length| [work(length), Op::Meet(barrier, site)];
    // In turn, one of three threads on two cores has to wait for the others before it can run.
    let workers: Vec<ThreadId> = (0..3)
        .map(|thread| {
            let ops = (0..30).flat_map(|number| round(if number % 3 == thread { 10 } else { 5 })).collect();
            script.thread("crowd_worker", ops)
        })
        .collect();
    script.main_runs(&workers);
    let mut process = script.play();
    // All work 5 ms a round; what is more was spent without a core.
    for wait in process.waits.iter_mut().filter(|wait| wait.object == barrier) {
        let rounds = wait.begin.nanos() / (10 * MS);
        let cpu = Nanos::new((rounds + u64::from(wait.begin.nanos() % (10 * MS) > 0)) * 5 * MS);
        (wait.cpu_begin, wait.cpu_end) = (Some(cpu), Some(cpu));
    }
    for &worker in &workers {
        process.threads[worker.index()].cpu = Some(Nanos::new(150 * MS));
    }
    let diagnosis = of(process, 2);
    let finding = first(&diagnosis);
    assert_eq!(
        (finding.kind, finding.what.as_str()),
        (FindingKind::Oversubscription, "3 threads share 2 cores")
    );
    // 30 rounds of 10 ms: a third of 5 ms without a core, then half of the three places for 5 ms at the barrier.
    assert_eq!(finding.cost, ms(1250));
    assert_eq!(diagnosis.findings.len(), 1);
}

#[test]
fn locks_of_one_kind_are_one_finding() {
    let end = Time::from_nanos(100 * MS);
    let mut process = Process::new(Time::from_nanos(0), end);
    let main = process.add_thread("main", Time::from_nanos(0), None);
    for address in 1..=3 {
        let waiter = process.add_thread("waiter", Time::from_nanos(0), None);
        let lock = process.add_object(ObjectKind::Mutex, address);
        let wait = holdup_model::Wait { thread: waiter, object: lock, owner: Some(main), ..join(0, 60 * MS) };
        process.waits.push(wait);
    }
    let diagnosis = of(process, 4);
    let locks: Vec<&Finding> =
        diagnosis.findings.iter().filter(|finding| finding.kind == FindingKind::Lock).collect();
    assert_eq!(locks.len(), 1);
    let costs: Nanos = diagnosis.objects.iter().map(|object| object.cost).sum();
    assert_eq!((locks[0].cost, costs), (ms(450), ms(450)));
    assert!(locks[0].evidence.iter().any(|sentence| sentence.contains("largest of 3 like it")));
}

/// Four threads at the locks of an array, each in an order of its own.
#[test]
fn locks_of_an_array_are_one_finding() {
    let mut script = Script::new();
    let locks = [0, 1, 2, 3].map(|index| script.object(ObjectKind::Mutex, &format!("cells[{index}].lock")));
    let site = script.site("update_cell", 12);
    let turn = |lock| [Op::Lock(lock, site), work(9), Op::Unlock(lock), work(1)];
    let of = |worker: usize| -> Vec<Op> {
        (0..20).flat_map(|round: usize| turn(locks[(round / 5 + (worker / 2) * round) % 4])).collect()
    };
    let workers: Vec<ThreadId> = (0..4).map(|worker| script.thread("worker", of(worker))).collect();
    script.main_runs(&workers);
    let diagnosis = diagnosis(&script);
    let found = first(&diagnosis);
    assert_eq!((found.kind, found.others.len()), (FindingKind::Lock, 3));
    assert_eq!(found.what, "mutexes cells[].lock, held in update_cell (main.c:12)");
    assert_eq!(diagnosis.findings.iter().filter(|finding| finding.kind == FindingKind::Lock).count(), 1);
    let costs = |diagnosis: &Diagnosis| diagnosis.objects.iter().map(|object| object.cost).sum::<Nanos>();
    let [family] = diagnosis.families.as_slice() else { panic!("{:?}", diagnosis.families) };
    assert_eq!((family.name.as_str(), family.members.len(), family.waited_for), ("cells[].lock", 4, 4));
    assert_eq!(family.sum.acquisitions, None, "a script counts nothing");
    let on_locks = costs(&diagnosis).saturating_sub(
        diagnosis
            .objects
            .iter()
            .filter(|object| !locks.contains(&object.object))
            .map(|object| object.cost)
            .sum(),
    );
    assert_eq!(family.sum.cost, on_locks);
    assert_eq!(found.cost, family.sum.cost);
    assert!(found.evidence[0].starts_with("All 4 were waited for; cells["), "{:?}", found.evidence);
}

/// Two threads that hand a turn to each other, each time by another condition variable.
#[test]
fn condition_variables_of_an_array_are_one_finding() {
    let end = Time::from_nanos(100 * MS);
    let mut process = Process::new(Time::from_nanos(0), end);
    process.add_thread("main", Time::from_nanos(0), None);
    let workers = [0, 1].map(|_| process.add_thread("worker", Time::from_nanos(0), None));
    let rows = [0, 1, 2, 3, 4].map(|row| {
        let object = process.add_object(ObjectKind::Condition, row);
        process.objects[object.index()].name = Some(format!("rows[{row}].done"));
        object
    });
    for (turn, &object) in rows.iter().enumerate() {
        let (begin, until) = (turn as u64 * 20 * MS, (turn as u64 * 20 + 19) * MS);
        let (waits, signals) = (workers[turn % 2], workers[(turn + 1) % 2]);
        process.waits.push(holdup_model::Wait { thread: waits, object, ..join(begin, until) });
        process.wakes.push(holdup_model::Wake {
            thread: signals,
            time: Time::from_nanos(until),
            object,
            site: None,
            count: holdup_model::WakeCount::All,
        });
    }
    let diagnosis = of(process, 4);
    let found: Vec<&Finding> =
        diagnosis.findings.iter().filter(|finding| finding.kind == FindingKind::Condition).collect();
    let [found] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(found.what, "condition variables rows[].done");
    assert_eq!((found.others.len(), found.threads.len()), (4, 2));
    assert!(found.evidence[0].starts_with("All 5 were waited for; rows[0].done has 20 %"), "{found:?}");
}

#[test]
fn the_lock_of_an_array_that_has_nearly_all_of_the_cost_is_told_alone() {
    let mut script = Script::new();
    let locks = [0, 1].map(|index| script.object(ObjectKind::Mutex, &format!("cells[{index}].lock")));
    let site = script.site("update_cell", 12);
    let turn = |lock, length| [Op::Lock(lock, site), work(length), Op::Unlock(lock), work(1)];
    let ops = [turn(locks[0], 9).repeat(10), turn(locks[1], 1).to_vec()].concat();
    let workers: Vec<ThreadId> = (0..4).map(|_| script.thread("worker", ops.clone())).collect();
    script.main_runs(&workers);
    let diagnosis = diagnosis(&script);
    assert_eq!(first(&diagnosis).what, "mutex cells[0].lock, held in update_cell (main.c:12)");
    assert_eq!(first(&diagnosis).others, []);
}

/// Two threads keep both cores busy; a third waits for a signal from the first nearly all the time.
#[test]
fn what_cannot_be_won_on_busy_cores_is_no_finding() {
    let mut process = crowd(2, 100 * MS, 100 * MS);
    let waiter = process.add_thread("waiter", Time::from_nanos(0), None);
    process.threads[waiter.index()].parent = Some(ThreadId::new(0));
    process.threads[waiter.index()].cpu = Some(Nanos::new(2 * MS));
    let condition = process.add_object(ObjectKind::Condition, 7);
    process.waits.push(holdup_model::Wait { thread: waiter, object: condition, ..join(MS, 99 * MS) });
    process.wakes.push(holdup_model::Wake {
        thread: ThreadId::new(1),
        time: Time::from_nanos(99 * MS),
        object: condition,
        site: None,
        count: holdup_model::WakeCount::AtMost(1),
    });
    assert_eq!(of(process.clone(), 2).findings, []);
    assert_eq!(first(&of(process, 3)).object, Some(condition), "on a third core there is something to win");
}

#[test]
fn threads_that_wait_for_each_other_for_ever() {
    let end = Time::from_nanos(100 * MS);
    let mut process = Process::new(Time::from_nanos(0), end);
    let first = process.add_thread("forwards", Time::from_nanos(0), None);
    let second = process.add_thread("backwards", Time::from_nanos(0), None);
    let locks = [1, 2].map(|address| process.add_object(ObjectKind::Mutex, address));
    for (thread, begin, lock, owner) in [(first, 30, locks[1], second), (second, 40, locks[0], first)] {
        process.waits.push(holdup_model::Wait {
            thread,
            object: lock,
            owner: Some(owner),
            outcome: holdup_model::Outcome::Open,
            ..join(begin * MS, 100 * MS)
        });
    }
    let diagnosis = of(process, 2);
    let found = first_finding_of(&diagnosis, FindingKind::Deadlock);
    assert_eq!((found.threads.as_slice(), found.cost), ([first, second].as_slice(), ms(600)));
    assert_eq!(diagnosis.findings.iter().filter(|finding| finding.kind == FindingKind::Deadlock).count(), 1);
}

/// Two threads wait for a signal that nobody sends, and main for their ends.
fn lost_wakeup(outcome: holdup_model::Outcome) -> Process {
    let end = Time::from_nanos(3000 * MS);
    let mut process = Process::new(Time::from_nanos(0), end);
    process.add_thread("main", Time::from_nanos(0), None);
    let condition = process.add_object(ObjectKind::Condition, 7);
    for begin in [100, 110] {
        let worker = process.add_thread("body", Time::from_nanos(0), None);
        let end_of = process.add_object(ObjectKind::ThreadEnd, 100 + begin);
        process.objects[end_of.index()].thread = Some(worker);
        let wait = holdup_model::Wait { object: condition, outcome, ..join(begin * MS, 3000 * MS) };
        process.waits.push(holdup_model::Wait { thread: worker, ..wait });
        if begin == 100 {
            let wait = holdup_model::Wait { object: end_of, ..join(MS, 3000 * MS) };
            process.waits.push(holdup_model::Wait {
                thread: ThreadId::new(0),
                outcome: holdup_model::Outcome::Open,
                ..wait
            });
        }
    }
    process
}

#[test]
fn a_signal_that_nobody_sends_is_a_hang() {
    let mut process = lost_wakeup(holdup_model::Outcome::Open);
    let diagnosis = of(process.clone(), 2);
    let found = first_finding_of(&diagnosis, FindingKind::Hang);
    assert_eq!((found.object, found.threads.len(), found.cost), (Some(ObjectId::new(0)), 2, ms(28_900)));
    assert!(found.evidence[1].contains("never signalled"), "{:?}", found.evidence);
    assert!(diagnosis.findings[1..].iter().all(|other| other.cost < found.cost));
    // Or it came before anybody waited for it.
    process.wakes.push(holdup_model::Wake {
        thread: ThreadId::new(2),
        time: Time::from_nanos(60 * MS),
        object: ObjectId::new(0),
        site: None,
        count: holdup_model::WakeCount::AtMost(1),
    });
    let diagnosis = of(process, 2);
    let told = &first_finding_of(&diagnosis, FindingKind::Hang).evidence[1];
    assert!(told.contains("signalled last 40.0 ms before"), "{told}");
}

#[test]
fn a_wait_with_a_limit_is_no_hang() {
    let diagnosis = of(lost_wakeup(holdup_model::Outcome::TimedOut), 2);
    assert!(diagnosis.findings.iter().all(|finding| finding.kind != FindingKind::Hang));
}

fn first_finding_of(diagnosis: &Diagnosis, kind: FindingKind) -> &Finding {
    let found = first(diagnosis);
    assert_eq!(found.kind, kind);
    found
}

/// Two threads share a loop in blocks: the second one's turn comes when the first is through.
#[test]
fn turns_of_an_ordered_loop_come_late_where_it_is_dealt_out_in_blocks() {
    let mut script = Script::new();
    let turn = script.object(ObjectKind::Ordered, "turn");
    let worker = script.thread("worker", vec![work(10), work(100)]);
    script.main_does(&[Op::Start(worker), work(100)]);
    let join = script.site("main", 9);
    script.main_does(&[Op::Join(worker, join)]);
    let mut process = script.play();
    let at = |ms: u64| Time::from_nanos(ms * MS);
    process.waits.push(Wait::granted(worker, turn, at(10), at(100)));
    let diagnosis = of(process, 2);
    let waits = diagnosis.findings.iter().find(|finding| finding.object == Some(turn)).expect("a finding");
    assert!(waits.hint.contains("schedule(static, 1)"), "{}", waits.hint);
}
