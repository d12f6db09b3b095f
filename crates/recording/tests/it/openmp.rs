//! Records of OpenMP's constructs become columns, and the waits that they mean.

use holdup_model::openmp::{Instance, Vendor, WorkKind};
use holdup_model::{Nanos, ObjectKind, Outcome, Run, State, ThreadId, Time, Timeline, Wait};
use holdup_recording::facts::{ClockSample, ProcessEnd, ProcessStart, Session, SessionEnd};
use holdup_recording::format::FrameKind;
use holdup_recording::{Recording, Writer};
use holdup_trace::openmp::{
    Acquire, Chunk, Depend, DependCode, Event, Region, Runtime, RuntimeCode, Share, Sync, SyncCode,
    TaskCreate, TaskEndCode, TaskRun, Work, WorkCode,
};
use holdup_trace::wire::{self, NO_STACK, NO_THREAD, ObjectCode, UNKNOWN};
use proptest::prelude::*;

const START: u64 = 1_000;
const END: u64 = 3_000;
const FUNCTION: u64 = 0x40_1000;

/// A run whose threads 0, 1, … wrote these words. Ticks are nanoseconds.
fn recorded(threads: &[Vec<u64>]) -> Run {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.holdup");
    let mut writer = Writer::create(&path).unwrap();
    let session = Session {
        clock: "monotonic".into(),
        start: START,
        ticks_per_second: 1e9,
        command: vec!["./lu".into()],
        cores: 2,
        ..Session::default()
    };
    writer.facts(FrameKind::Session, 0, &session).unwrap();
    writer.facts(FrameKind::Clock, 0, &ClockSample { ticks: START, monotonic_ns: START }).unwrap();
    writer
        .facts(FrameKind::ProcessStart, 0, &ProcessStart { pid: 7, start: START, ..Default::default() })
        .unwrap();
    for (thread, words) in threads.iter().enumerate() {
        let parent = if thread == 0 { NO_THREAD } else { 0 };
        let start = wire::thread_start(START, parent, 0, NO_STACK, 0, 100 + thread as u32);
        let words = [start.as_slice(), words.as_slice()].concat();
        writer.chunk(0, thread as u32, 0, &words).unwrap();
    }
    writer.facts(FrameKind::ProcessEnd, 0, &ProcessEnd { end: END, ..Default::default() }).unwrap();
    writer.facts(FrameKind::SessionEnd, 0, &SessionEnd { end: END, ..SessionEnd::default() }).unwrap();
    drop(writer);
    let (recording, warnings) = Recording::open(&path).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    recording.run(&warnings)
}

fn region(begin: u64, end: u64, instance: u64, whole: bool) -> [u64; 10] {
    let region = Region {
        begin,
        end,
        instance,
        function: FUNCTION,
        caller: 0x40_0123,
        stack: NO_STACK,
        parent: 0,
        size: 2,
        count: 1,
        timed: 1,
        ticks: end.saturating_sub(begin),
        runtime: RuntimeCode::Llvm,
        whole,
        league: false,
    };
    region.words()
}

fn share(begin: u64, end: u64, instance: u64, index: u32) -> [u64; 6] {
    Share { begin, end, instance, index, cpu_begin: begin / 2, cpu_end: begin / 2 + 10 }.words()
}

fn barrier(
    begin: u64,
    end: u64,
    instance: u64,
    sequence: u32,
    (continued, interrupted): (bool, bool),
) -> [u64; 7] {
    let kind = SyncCode::ExplicitBarrier;
    let (caller, cpu_begin, cpu_end) = (0x40_1100, UNKNOWN, UNKNOWN);
    Sync { begin, end, instance, sequence, caller, kind, continued, interrupted, cpu_begin, cpu_end }.words()
}

/// The model's time of a tick.
fn at(tick: u64) -> Time {
    Time::from_nanos(tick - START)
}

const MAIN: ThreadId = ThreadId::new(0);
const WORKER: ThreadId = ThreadId::new(1);

fn waits_of(run: &Run, kind: ObjectKind, thread: ThreadId) -> Vec<Wait> {
    let process = &run.processes[0];
    let of = |wait: &&Wait| wait.thread == thread && process.object(wait.object).kind == kind;
    process.waits.iter().filter(of).cloned().collect()
}

/// Two whole instances with one between them that was not; a barrier in the first.
fn two_regions() -> Run {
    let main: [&[u64]; 6] = [
        &region(1_100, 1_500, 1, true),
        &barrier(1_250, 1_305, 1, 0, (false, false)),
        &share(1_110, 1_480, 1, 0),
        &region(1_600, 1_700, 2, false),
        &region(1_800, 2_000, 3, true),
        &share(1_800, 1_900, 3, 0),
    ];
    let worker: [&[u64]; 3] = [
        &barrier(1_300, 1_302, 1, 0, (false, false)),
        &share(1_120, 1_400, 1, 1),
        &share(1_820, 1_980, 3, 1),
    ];
    recorded(&[main.concat(), worker.concat()])
}

#[test]
fn joins_and_barriers_are_rounds_that_end_with_the_last_arrival() {
    let run = two_regions();
    let process = &run.processes[0];
    assert_eq!(process.openmp.regions.len(), 3);
    assert_eq!(process.openmp.regions[0].vendor, Vendor::Llvm);
    assert_eq!(process.openmp.shares[1].cpu, Some(Nanos::new(10)));
    let barriers = waits_of(&run, ObjectKind::Barrier, MAIN);
    let spans: Vec<_> = barriers.iter().map(|wait| (wait.begin, wait.end)).collect();
    let told = [(at(1_250), at(1_305)), (at(1_480), at(1_500)), (at(1_900), at(2_000))];
    assert!(told.iter().all(|span| spans.contains(span)), "{spans:?}");
    // The instance between has the barrier and the join of the one before.
    assert_eq!(spans.len(), 5);
    let timeline = Timeline::build(process);
    timeline.check().unwrap();
    let state = |thread, time| {
        let row = timeline.row(thread);
        let segment = &row.segments[row.at(at(time)).unwrap()];
        (segment.state, segment.by)
    };
    // The main thread comes first to the barrier and waits for the worker; what follows is the way out.
    assert_eq!(state(MAIN, 1_299), (State::Blocked, Some(WORKER)));
    assert_eq!(state(MAIN, 1_303).0, State::Waking);
    // The worker comes first to the join of the first instance, the main thread to that of the last.
    assert_eq!(state(WORKER, 1_470), (State::Blocked, Some(MAIN)));
    assert_eq!(state(MAIN, 1_970), (State::Blocked, Some(WORKER)));
    assert_eq!(state(MAIN, 1_990).0, State::Waking);
}

#[test]
fn workers_wait_for_their_team_between_regions() {
    let run = two_regions();
    let teams = waits_of(&run, ObjectKind::Team, WORKER);
    let spans: Vec<_> = teams.iter().map(|wait| (wait.begin, wait.end, wait.outcome)).collect();
    assert_eq!(
        spans,
        [
            // In the instance between it comes late by as much of it as in the one before: 20 of 400.
            (at(1_480), at(1_605), Outcome::Granted),
            (at(1_695), at(1_820), Outcome::Granted),
            (at(1_980), at(3_000), Outcome::Open),
        ]
    );
    assert!(waits_of(&run, ObjectKind::Team, MAIN).is_empty());
    let timeline = Timeline::build(&run.processes[0]);
    let row = timeline.row(WORKER);
    let state = |time| {
        let segment = &row.segments[row.at(at(time)).unwrap()];
        (segment.state, segment.by)
    };
    // It is called at the begin of the region, and comes later.
    assert_eq!(state(1_790), (State::Blocked, Some(MAIN)));
    assert_eq!(state(1_810).0, State::Waking);
}

#[test]
fn an_instance_that_was_not_told_goes_as_the_one_before() {
    let run = two_regions();
    let timeline = Timeline::build(&run.processes[0]);
    let state = |thread, time| {
        let row = timeline.row(thread);
        let segment = &row.segments[row.at(at(time)).unwrap()];
        (segment.state, segment.by)
    };
    // Its barrier is 150 to 205 of 400 after the begin for the main thread, in an instance of 100.
    assert_eq!(state(MAIN, 1_630).0, State::Active);
    assert_eq!(state(MAIN, 1_645), (State::Blocked, Some(WORKER)));
    assert_eq!(state(WORKER, 1_660).0, State::Active);
    assert_eq!(state(WORKER, 1_690), (State::Blocked, Some(MAIN)));
}

#[test]
fn a_barrier_that_tasks_cut_off_is_a_wait_for_tasks_and_then_for_the_team() {
    let main: [&[u64]; 5] = [
        &region(1_100, 1_500, 1, true),
        &barrier(1_200, 1_250, 1, 0, (false, true)),
        &TaskRun { begin: 1_250, end: 1_300, task: 9, instance: 1, ended: TaskEndCode::Complete }.words(),
        &barrier(1_300, 1_410, 1, 0, (true, false)),
        &share(1_110, 1_450, 1, 0),
    ];
    let worker: [&[u64]; 3] = [
        &TaskRun { begin: 1_210, end: 1_240, task: 8, instance: 1, ended: TaskEndCode::Complete }.words(),
        &barrier(1_400, 1_405, 1, 0, (false, false)),
        &share(1_120, 1_440, 1, 1),
    ];
    let run = recorded(&[main.concat(), worker.concat()]);
    let tasks = waits_of(&run, ObjectKind::Tasks, MAIN);
    assert_eq!(tasks.len(), 1);
    assert_eq!((tasks[0].begin, tasks[0].end), (at(1_200), at(1_250)));
    let timeline = Timeline::build(&run.processes[0]);
    let row = timeline.row(MAIN);
    let segment = |time| &row.segments[row.at(at(time)).unwrap()];
    assert_eq!((segment(1_230).state, segment(1_230).by), (State::Blocked, Some(WORKER)));
    assert_eq!(segment(1_270).state, State::Active);
    assert_eq!((segment(1_390).state, segment(1_390).by), (State::Blocked, Some(WORKER)));
}

/// A task is made in 5.
fn made(time: u64, task: u64) -> TaskCreate {
    TaskCreate {
        time,
        task,
        parent: 0,
        instance: 1,
        function: 0x40_1200,
        caller: 0x40_1080,
        ticks: 5,
        undeferred: false,
        of_loop: false,
        depends: false,
    }
}

#[test]
fn a_wait_for_tasks_ends_by_who_made_the_next_one() {
    let task = |begin, end, task| TaskRun { begin, end, task, instance: 1, ended: TaskEndCode::Complete };
    // The third thread is done with a task after the main thread has made the next one, which the worker executes.
    let main: [&[u64]; 5] = [
        &region(1_100, 1_500, 1, true),
        &made(1_110, 8).words(),
        &made(1_270, 9).words(),
        &barrier(1_400, 1_410, 1, 0, (false, false)),
        &share(1_105, 1_450, 1, 0),
    ];
    let worker: [&[u64]; 4] = [
        &barrier(1_200, 1_300, 1, 0, (false, true)),
        &task(1_300, 1_350, 9).words(),
        &barrier(1_350, 1_410, 1, 0, (true, false)),
        &share(1_110, 1_440, 1, 1),
    ];
    let other: [&[u64]; 3] = [
        &task(1_130, 1_290, 8).words(),
        &barrier(1_300, 1_410, 1, 0, (false, false)),
        &share(1_110, 1_440, 1, 2),
    ];
    let run = recorded(&[main.concat(), worker.concat(), other.concat()]);
    let timeline = Timeline::build(&run.processes[0]);
    let row = timeline.row(WORKER);
    let waiting = &row.segments[row.at(at(1_250)).unwrap()];
    assert_eq!((waiting.state, waiting.by, waiting.end), (State::Blocked, Some(MAIN), at(1_275)));
}

/// Who was waited for, and until when, where the worker goes on with a task that is not recorded; `makers` make one each before, which
/// others may take or not.
fn waited_for(makers: &[(ThreadId, bool)]) -> (Option<ThreadId>, u64) {
    let makes = |thread: ThreadId| -> Vec<u64> {
        let number = thread.index() as u64;
        let own = makers.iter().filter(|maker| maker.0 == thread);
        let task = |undeferred| TaskCreate { undeferred, ..made(1_110 + number, 7 + number) };
        own.flat_map(|&(_, can_be_taken)| task(!can_be_taken).words().to_vec()).collect()
    };
    let task =
        |begin, end, task| TaskRun { begin, end, task, instance: 1, ended: TaskEndCode::Complete }.words();
    let main: [&[u64]; 4] = [
        &region(1_100, 1_500, 1, true),
        &makes(MAIN),
        &barrier(1_400, 1_410, 1, 0, (false, false)),
        &share(1_105, 1_450, 1, 0),
    ];
    let worker: [&[u64]; 5] = [
        &makes(WORKER),
        &barrier(1_200, 1_300, 1, 0, (false, true)),
        &task(1_300, 1_350, 0),
        &barrier(1_350, 1_410, 1, 0, (true, false)),
        &share(1_110, 1_440, 1, 1),
    ];
    let other: [&[u64]; 3] =
        [&task(1_130, 1_250, 9), &barrier(1_260, 1_410, 1, 0, (false, false)), &share(1_110, 1_440, 1, 2)];
    let run = recorded(&[main.concat(), worker.concat(), other.concat()]);
    let timeline = Timeline::build(&run.processes[0]);
    let row = timeline.row(WORKER);
    let waiting = &row.segments[row.at(at(1_220)).unwrap()];
    assert_eq!(waiting.state, State::Blocked);
    (waiting.by, waiting.end.since(at(1_000)).get())
}

#[test]
fn who_makes_all_tasks_is_waited_for_until_one_is_there() {
    assert_eq!(waited_for(&[(MAIN, true)]), (Some(MAIN), 300));
    assert_eq!(waited_for(&[(MAIN, true), (WORKER, false)]), (Some(MAIN), 300));
    // Where several make them, it is who was done with one last.
    let third = ThreadId::new(2);
    assert_eq!(waited_for(&[(MAIN, true), (WORKER, true)]), (Some(third), 250));
    assert_eq!(waited_for(&[(WORKER, true)]), (Some(third), 250));
    assert_eq!(waited_for(&[(MAIN, false)]), (Some(third), 250));
    assert_eq!(waited_for(&[]), (Some(third), 250));
}

#[test]
fn tasks_at_the_join_come_before_the_arrival_there() {
    let task =
        |begin, end, task| TaskRun { begin, end, task, instance: 1, ended: TaskEndCode::Complete }.words();
    let main: [&[u64]; 3] =
        [&region(1_100, 1_500, 1, true), &share(1_110, 1_400, 1, 0), &task(1_420, 1_450, 9)];
    // The worker's tasks were not told one by one: 20 of them, in all.
    let worker: [&[u64]; 2] = [&share(1_120, 1_460, 1, 1), &task(1_460, 1_480, 0)];
    let run = recorded(&[main.concat(), worker.concat()]);
    let timeline = Timeline::build(&run.processes[0]);
    let row = timeline.row(MAIN);
    let segment = |time| &row.segments[row.at(at(time)).unwrap()];
    assert_eq!(segment(1_410).state, State::Blocked);
    assert_eq!(segment(1_440).state, State::Active);
    // The last to arrive is the worker, once its tasks are done.
    assert_eq!((segment(1_475).state, segment(1_475).by), (State::Blocked, Some(WORKER)));
    assert_eq!(segment(1_490).state, State::Waking);
}

#[test]
fn constructs_come_as_they_were_told() {
    let work = Work {
        begin: 1_200,
        end: 1_300,
        instance: 1,
        sequence: 4,
        caller: 0x40_1050,
        kind: WorkCode::DynamicLoop,
        iterations: 100,
        chunk: 5,
        chunks: 20,
        done: UNKNOWN,
        dealing: 12,
    };
    let acquire = Acquire {
        caller: 0x40_1060,
        function: FUNCTION,
        kind: ObjectCode::OmpLock,
        acquisitions: 1_000,
        timed: 10,
        ticks: 300,
        fastest: 20,
        waits: 3,
        wait_ticks: 900,
    };
    let burst =
        Region { count: 500, timed: 50, ticks: 100, ..region_of_words(region(2_000, 2_500, 2, false)) };
    let main: [&[u64]; 7] = [
        &Runtime { time: 1_050, runtime: RuntimeCode::Gnu, told: true, address: 0x7f00_0000 }.words(),
        &region(1_100, 0, 1, true),
        &work.words(),
        &Chunk { begin: 1_210, end: 1_220, instance: 1, sequence: 4, first: 5, count: 5 }.words(),
        &Depend { task: 3, address: 0x10, kind: DependCode::Out }.words(),
        &acquire.words(),
        &burst.words(),
    ];
    let run = recorded(&[main.concat()]);
    let openmp = &run.processes[0].openmp;
    assert!(openmp.runtimes[0].told);
    let open = &openmp.regions[0];
    assert!(open.open);
    assert_eq!((open.begin, open.end), (at(1_100), at(END)));
    assert_eq!((openmp.works[0].kind, openmp.works[0].done), (WorkKind::DynamicLoop, None));
    assert_eq!((openmp.works[0].chunk, openmp.works[0].chunks), (Some(5), 20));
    assert_eq!(openmp.chunks[0].instance, Instance::new(1));
    let acquires = &openmp.acquires[0];
    assert_eq!((acquires.acquisitions, acquires.fastest), (1_000, Nanos::new(20)));
    assert_eq!(acquires.region, open.place);
    assert_eq!((openmp.regions[1].count, openmp.regions[1].timed), (500, 50));
    assert_eq!(openmp.regions[1].time, Nanos::new(100));
}

/// The record of these words.
fn region_of_words(words: [u64; 10]) -> Region {
    match wire::read(&words) {
        Ok((wire::Record::OpenMp(Event::Region(region)), 10)) => region,
        other => panic!("{other:?}"),
    }
}

fn any_event() -> impl Strategy<Value = Vec<u64>> {
    let time = 900u64..3_100;
    (0u8..9, time.clone(), time, 0u64..5, 0u32..3, any::<[bool; 2]>()).prop_map(
        |(which, begin, end, instance, small, [one, two])| match which {
            0 | 1 => region(begin, end, instance, one).to_vec(),
            2 | 3 => share(begin, end, instance, small).to_vec(),
            4 => barrier(begin, end, instance, small, (one, two)).to_vec(),
            5 => {
                let (task, parent, function, caller, ticks) = (u64::from(small), 0, 0, 0x40_1000, 3);
                let (undeferred, of_loop, depends) = (one, two, false);
                let made = TaskCreate {
                    time: begin,
                    task,
                    parent,
                    instance,
                    function,
                    caller,
                    ticks,
                    undeferred,
                    of_loop,
                    depends,
                };
                made.words().to_vec()
            }
            6 => {
                let ended = if one { TaskEndCode::Complete } else { TaskEndCode::Suspended };
                TaskRun { begin, end, task: u64::from(small), instance, ended }.words().to_vec()
            }
            7 => Sync {
                begin,
                end,
                instance,
                sequence: 0,
                caller: 0,
                kind: SyncCode::Taskwait,
                continued: one,
                interrupted: two,
                cpu_begin: UNKNOWN,
                cpu_end: UNKNOWN,
            }
            .words()
            .to_vec(),
            _ => vec![wire::header(wire::Tag::Cpu as u8, 0, 1, 0)],
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn whatever_the_records_say_the_timeline_is_whole(
        threads in prop::collection::vec(prop::collection::vec(any_event(), 0..12), 1..4)
    ) {
        let words: Vec<Vec<u64>> = threads.iter().map(|events| events.concat()).collect();
        let run = recorded(&words);
        let process = &run.processes[0];
        let timeline = Timeline::build(process);
        prop_assert_eq!(timeline.check(), Ok(()));
        for wait in &process.waits {
            prop_assert!(wait.begin <= wait.end);
        }
    }
}
