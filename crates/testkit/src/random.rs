//! Random inputs for property tests.

use holdup_model::{
    Block, Call, Doing, Frame, Hold, Left, Marker, MarkerKind, Mode, Nanos, ObjectId, ObjectKind, OnCore,
    Outcome, Process, Row, Sample, Segment, Site, SiteId, State, ThreadId, Time, Timeline, Wait, Wake,
    WakeCount,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::select;

use crate::{Op, Script};

const KINDS: [ObjectKind; 9] = [
    ObjectKind::Mutex,
    ObjectKind::RwLock,
    ObjectKind::SpinLock,
    ObjectKind::Condition,
    ObjectKind::Barrier,
    ObjectKind::Semaphore,
    ObjectKind::ThreadEnd,
    ObjectKind::Once,
    ObjectKind::Futex,
];

const CALLS: [Call; 7] =
    [Call::Read, Call::Write, Call::Poll, Call::Sleep, Call::WaitChild, Call::Accept, Call::Receive];

const STATES: [State; 8] = [
    State::Active,
    State::Blocked,
    State::Io,
    State::Asleep,
    State::Spinning,
    State::Waking,
    State::Descheduled,
    State::NotRecorded,
];

const OUTCOMES: [Outcome; 6] =
    [Outcome::Granted, Outcome::Granted, Outcome::Granted, Outcome::TimedOut, Outcome::Failed, Outcome::Open];

const THREADS: u32 = 4;
/// One more than [`KINDS`], so that there are two mutexes to wait for in a chain.
const OBJECTS: u32 = 10;
/// The first three are places in the program; see [`sites`] for the others.
const SITES: u32 = 7;
const END: u64 = 200;

fn span() -> impl Strategy<Value = (Time, Time)> {
    (0..END, 0..END / 3)
        .prop_map(|(begin, length)| (Time::from_nanos(begin), Time::from_nanos(begin + length)))
}

fn thread() -> impl Strategy<Value = ThreadId> {
    (0..THREADS).prop_map(ThreadId::new)
}

fn object() -> impl Strategy<Value = ObjectId> {
    (0..OBJECTS).prop_map(ObjectId::new)
}

fn site() -> impl Strategy<Value = Option<SiteId>> {
    option::of((0..SITES).prop_map(SiteId::new))
}

fn mode() -> impl Strategy<Value = Mode> {
    select(vec![Mode::Exclusive, Mode::Shared])
}

fn cpu() -> impl Strategy<Value = Option<Nanos>> {
    option::of((0..END).prop_map(Nanos::new))
}

fn wait() -> impl Strategy<Value = Wait> {
    let about = (object(), site(), mode(), select(&OUTCOMES[..]), option::of(thread()), any::<bool>());
    (thread(), span(), about, cpu(), cpu()).prop_map(|(thread, span, about, cpu_begin, cpu_end)| {
        let (object, site, mode, outcome, owner, has_mutex) = about;
        let is_condition = kind_of(object) == ObjectKind::Condition;
        Wait {
            site,
            mode,
            outcome,
            owner,
            mutex: (is_condition && has_mutex).then_some(ObjectId::new(0)),
            cpu_begin,
            cpu_end,
            ..Wait::granted(thread, object, span.0, span.1)
        }
    })
}

fn hold() -> impl Strategy<Value = Hold> {
    (thread(), span(), any::<bool>(), object(), site(), any::<bool>(), mode()).prop_map(
        |(thread, span, has_begin, object, acquired_at, waited_for, mode)| Hold {
            thread,
            begin: has_begin.then_some(span.0),
            end: span.1,
            object,
            acquired_at,
            released_at: None,
            waited_for,
            mode,
        },
    )
}

fn wake() -> impl Strategy<Value = Wake> {
    let count = prop_oneof![Just(WakeCount::All), (0..3u32).prop_map(WakeCount::AtMost)];
    (thread(), 0..END, object(), site(), count).prop_map(|(thread, time, object, site, count)| Wake {
        thread,
        time: Time::from_nanos(time),
        object,
        site,
        count,
    })
}

fn block() -> impl Strategy<Value = Block> {
    (thread(), span(), select(&CALLS[..]), site()).prop_map(|(thread, span, call, site)| Block {
        thread,
        begin: span.0,
        end: span.1,
        call,
        timed_out: false,
        site,
        cpu_begin: None,
        cpu_end: None,
    })
}

fn marker() -> impl Strategy<Value = Marker> {
    let kind = select(vec![MarkerKind::SpinBegin, MarkerKind::SpinEnd, MarkerKind::Phase]);
    (thread(), 0..END, kind).prop_map(|(thread, time, kind)| Marker {
        thread,
        time: Time::from_nanos(time),
        kind,
        label: None,
    })
}

/// A span on a core. Those of one thread may overlap: nothing says that a recording is right.
fn on_core() -> impl Strategy<Value = OnCore> {
    let left = select(vec![Left::Blocked, Left::Preempted, Left::Unknown]);
    (thread(), span(), 0..2u32, left).prop_map(|(thread, (begin, end), core, left)| OnCore {
        thread,
        begin,
        end,
        core,
        left,
    })
}

/// Up to three times that do not overlap, in order.
fn covered() -> impl Strategy<Value = Vec<(Time, Time)>> {
    vec(0..END + 50, 0..7).prop_map(|mut times| {
        times.sort_unstable();
        let spans = times.chunks_exact(2).filter(|span| span[0] < span[1]);
        spans.map(|span| (Time::from_nanos(span[0]), Time::from_nanos(span[1]))).collect()
    })
}

fn sample() -> impl Strategy<Value = Sample> {
    let doing = select(vec![Doing::Running, Doing::Running, Doing::Blocked]);
    (thread(), 0..END, doing, site(), 0..40u64).prop_map(|(thread, time, doing, site, weight)| Sample {
        thread,
        time: Time::from_nanos(time),
        doing,
        site,
        weight: Nanos::new(weight),
        access: None,
        in_kernel: None,
    })
}

/// Three places in the program, a waiting loop, a runtime's search for work, its idling, and a lock of its own.
fn sites() -> Vec<Site> {
    let named = |name: &str| {
        let frame = Frame { function: Some(name.to_owned()), ..Frame::default() };
        Site { frames: vec![frame], ..Site::default() }
    };
    vec![
        Site::default(),
        Site::default(),
        Site::default(),
        Site { in_waiting_loop: true, ..named("wait_for_flag") },
        named("rayon_core::registry::WorkerThread::wait_until_cold"),
        named("rayon_core::sleep::Sleep::sleep"),
        named("take_gil"),
    ]
}

fn kind_of(object: ObjectId) -> ObjectKind {
    KINDS[object.index() % KINDS.len()]
}

/// Any process of a few threads and objects of all kinds, with random columns that need not fit together: spans
/// overlap, signals are given by nobody, waits have no release, threads never end, locks have holders that are
/// elsewhere.
pub fn any_process() -> impl Strategy<Value = Process> {
    let lives = vec((0..END / 2, option::of(0..END), option::of(thread()), cpu()), THREADS as usize);
    let columns =
        (vec(wait(), 0..24), vec(hold(), 0..16), vec(wake(), 0..12), vec(block(), 0..8), vec(marker(), 0..6));
    let kernel = (vec(on_core(), 0..16), covered(), vec(sample(), 0..12));
    (lives, columns, kernel, END / 2..END + 50).prop_map(|(lives, columns, kernel, end)| {
        let mut process = Process::new(Time::from_nanos(5), Time::from_nanos(end));
        process.sites = sites();
        for (index, (start, length, parent, cpu)) in lives.into_iter().enumerate() {
            let end = length.map(|length| Time::from_nanos(start + length));
            let thread = process.add_thread("thread", Time::from_nanos(start), end);
            process.threads[thread.index()].parent = parent.filter(|parent| parent.index() != index);
            process.threads[thread.index()].cpu = cpu;
        }
        for index in 0..OBJECTS {
            let object = ObjectId::new(index);
            process.add_object(kind_of(object), u64::from(index));
            if kind_of(object) == ObjectKind::ThreadEnd {
                process.objects[object.index()].thread = Some(ThreadId::new(index % THREADS));
            }
        }
        (process.waits, process.holds, process.wakes, process.blocks, process.markers) = columns;
        (process.on_core, process.covered, process.samples) = kernel;
        process
    })
}

/// What a thread of [`any_script`] does between two meetings.
#[derive(Clone, Copy, Debug)]
enum Part {
    Work(u64),
    /// Holds one lock, and within it another of a higher number: no deadlock can come of it.
    Locked {
        first: usize,
        second: Option<usize>,
        work: u64,
    },
    Read(u64),
    Sleep(u64),
    Pool(u64),
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        (1..2_000u64).prop_map(Part::Work),
        (0..3usize, option::of(0..3usize), 1..1_000u64).prop_map(|(first, second, work)| Part::Locked {
            first,
            second,
            work
        }),
        (1..1_000u64).prop_map(Part::Read),
        (1..1_000u64).prop_map(Part::Sleep),
        (1..500u64).prop_map(Part::Pool),
    ]
}

/// A program that ends: threads that meet at a barrier a few times and in between work, take locks in order,
/// wait for I/O and share a pool; the main thread works before it starts them.
pub fn any_script() -> impl Strategy<Value = Script> {
    let round = || vec(part(), 0..5);
    let threads =
        (1..5usize, 1..4usize).prop_flat_map(move |(threads, rounds)| vec(vec(round(), rounds), threads));
    (threads, 0..3_000u64, 0..50u64).prop_map(|(threads, before, latency)| {
        let mut script = Script::new();
        script.wake_up_takes(latency);
        let barrier = script.barrier("round_done", threads.len() as u32);
        let locks: Vec<ObjectId> =
            (0..3).map(|number| script.object(ObjectKind::Mutex, &format!("lock_{number}"))).collect();
        let pool = script.semaphore("pool", 1);
        let site = script.site("run", 10);
        script.main_does(&[Op::Work(before)]);
        let ids: Vec<ThreadId> = threads
            .iter()
            .map(|rounds| {
                let mut ops = Vec::new();
                for round in rounds {
                    round.iter().for_each(|&part| add(&mut ops, part, &locks, pool, site));
                    ops.push(Op::Meet(barrier, site));
                }
                script.thread("worker", ops)
            })
            .collect();
        script.main_runs(&ids);
        script
    })
}

fn add(ops: &mut Vec<Op>, part: Part, locks: &[ObjectId], pool: ObjectId, site: SiteId) {
    match part {
        Part::Work(length) => ops.push(Op::Work(length)),
        Part::Read(length) => ops.push(Op::Read(length, site)),
        Part::Sleep(length) => ops.push(Op::Sleep(length, site)),
        Part::Pool(length) => ops.extend([Op::Take(pool, site), Op::Work(length), Op::Post(pool, site)]),
        Part::Locked { first, second, work } => {
            ops.extend([Op::Lock(locks[first], site), Op::Work(work)]);
            if let Some(second) = second.filter(|&second| second > first) {
                ops.extend([
                    Op::Lock(locks[second], site),
                    Op::Work(work / 2 + 1),
                    Op::Unlock(locks[second]),
                ]);
            }
            ops.push(Op::Unlock(locks[first]));
        }
    }
}

/// Any timeline of up to six threads: late starts, early ends, every state, times with nobody there.
pub fn any_timeline() -> impl Strategy<Value = Timeline> {
    let state = prop_oneof![Just(State::Active), select(&STATES[..])];
    let row = (0..5_000u64, vec((state, 1..2_000u64), 0..30));
    (vec(row, 0..6), 0..3_000u64).prop_map(|(rows, after)| {
        let start = Time::from_nanos(1_000);
        let threads: Vec<Row> = rows
            .into_iter()
            .map(|(late, segments)| {
                let start = start + Nanos::new(late);
                let mut at = start;
                let segments = segments
                    .into_iter()
                    .map(|(state, length)| {
                        let from = at;
                        at = at + Nanos::new(length);
                        Segment { start: from, end: at, state, object: None, site: None, by: None, cpu: None }
                    })
                    .collect();
                Row { start, end: at, segments }
            })
            .collect();
        let end = threads.iter().map(|row| row.end).max().unwrap_or(start) + Nanos::new(after);
        Timeline { start, end, threads, ..Timeline::default() }
    })
}
