//! Timelines of small processes with known answers.

use holdup_model::{
    Mode, Nanos, ObjectId, ObjectKind, Outcome, Process, Site, SiteId, State, ThreadId, Time, Timeline, Wait,
    Wake, WakeCount,
};

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn process(threads: u32) -> Process {
    let mut process = Process::new(at(0), at(100));
    for _ in 0..threads {
        process.add_thread("thread", at(0), None);
    }
    process.add_site(Site::default());
    process
}

fn wait(thread: u32, begin: u64, end: u64, object: ObjectId) -> Wait {
    Wait {
        thread: ThreadId::new(thread),
        begin: at(begin),
        end: at(end),
        object,
        site: Some(SiteId::new(0)),
        mode: Mode::Exclusive,
        outcome: Outcome::Granted,
        owner: None,
        mutex: None,
        cpu_begin: Some(Nanos::new(begin / 2)),
        cpu_end: Some(Nanos::new(begin / 2)),
        round: None,
    }
}

fn states(timeline: &Timeline, thread: u32) -> Vec<(u64, State)> {
    let segments = &timeline.row(ThreadId::new(thread)).segments;
    segments.iter().map(|segment| (segment.end.nanos(), segment.state)).collect()
}

#[test]
fn work_ends_where_the_last_one_arrives_at_a_barrier_without_waiting() {
    let mut process = process(2);
    let barrier = process.add_object(ObjectKind::Barrier, 1);
    process.objects[barrier.index()].parties = Some(2);
    process.waits = vec![wait(0, 20, 60, barrier), wait(1, 60, 60, barrier)];
    let timeline = Timeline::build(&process);
    assert_eq!(timeline.check(), Ok(()));
    assert_eq!(states(&timeline, 1), [(60, State::Active), (100, State::Active)]);
    let work = &timeline.row(ThreadId::new(1)).segments[0];
    assert_eq!((work.site, work.cpu), (Some(SiteId::new(0)), Some(Nanos::new(30))));
}

#[test]
fn who_leaves_a_barrier_at_once_was_the_last_of_the_round_before() {
    let mut process = process(2);
    let barrier = process.add_object(ObjectKind::Barrier, 1);
    process.objects[barrier.index()].parties = Some(2);
    // Both arrive at 20, and thread 0 comes back at once to wait for thread 1 until 50.
    process.waits = vec![
        wait(0, 20, 50, barrier),
        wait(0, 20, 20, barrier),
        wait(1, 20, 20, barrier),
        wait(1, 50, 50, barrier),
    ];
    let timeline = Timeline::build(&process);
    let waits = &timeline.row(ThreadId::new(0)).segments;
    let blocked: Vec<_> = waits.iter().filter(|segment| segment.state == State::Blocked).collect();
    assert_eq!(blocked.len(), 1);
    assert_eq!((blocked[0].start, blocked[0].end), (at(20), at(50)));
    assert_eq!(blocked[0].by, Some(ThreadId::new(1)));
}

#[test]
fn a_signal_releases_no_more_waiters_than_it_has_room_for() {
    let mut process = process(3);
    let condition = process.add_object(ObjectKind::Condition, 1);
    let other = process.add_object(ObjectKind::Condition, 2);
    let wake = |time, object| Wake {
        thread: ThreadId::new(2),
        time: at(time),
        object,
        site: None,
        count: WakeCount::AtMost(1),
    };
    process.wakes = vec![wake(40, condition), wake(30, condition), wake(55, other)];
    process.waits = vec![wait(0, 10, 60, condition), wait(1, 10, 70, condition)];
    let timeline = Timeline::build(&process);
    let first = [(10, State::Active), (40, State::Blocked), (60, State::Waking), (100, State::Active)];
    assert_eq!(states(&timeline, 0), first);
    let second = [(10, State::Active), (30, State::Blocked), (70, State::Waking), (100, State::Active)];
    assert_eq!(states(&timeline, 1), second);
}

#[test]
fn the_order_of_columns_changes_nothing_where_spans_overlap() {
    let mut process = process(1);
    let (first, second) =
        (process.add_object(ObjectKind::Mutex, 1), process.add_object(ObjectKind::Mutex, 2));
    process.waits = vec![wait(0, 10, 40, first), wait(0, 10, 40, second)];
    let timeline = Timeline::build(&process);
    process.waits.reverse();
    assert_eq!(Timeline::build(&process), timeline);
}

#[test]
fn a_process_that_is_said_to_end_before_it_starts_lived_for_no_time() {
    let mut process = Process::new(at(5), at(3));
    process.add_thread("thread", at(4), Some(at(3)));
    assert_eq!((process.start, process.end), (at(5), at(5)));
    assert_eq!(Timeline::build(&process).threads.len(), 1);
}
