//! The timeline of a part of a process is that part of its timeline.

use holdup_model::{
    Left, Nanos, ObjectId, ObjectKind, OnCore, Process, Row, Run, Sample, Segment, State, ThreadId, Time,
    Timeline,
};
use holdup_testkit::{Op, Script};
use proptest::prelude::*;

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

/// The rows of a timeline in this part of it. Where work ends that the window cuts lies outside of it: that of its last
/// piece, and of the pieces that the kernel's records cut out of it.
fn cut(timeline: &Timeline, start: Time, end: Time, is_cut_by_kernel: bool) -> Vec<Vec<Segment>> {
    let piece = |segment: &Segment| {
        let (from, to) = (segment.start.max(start), segment.end.min(end));
        let is_work = matches!(segment.state, State::Active | State::Descheduled);
        let site = segment.site.filter(|_| !is_work || (to < end && !is_cut_by_kernel));
        (from < to).then(|| Segment { start: from, end: to, site, cpu: None, ..segment.clone() })
    };
    let same = |a: &Segment, b: &Segment| *a == Segment { start: a.start, end: a.end, ..b.clone() };
    let row = |row: &Row| {
        let mut pieces: Vec<Segment> = Vec::new();
        for piece in row.segments.iter().filter_map(piece) {
            match pieces.last_mut().filter(|last| same(last, &piece)) {
                Some(last) => last.end = piece.end,
                None => pieces.push(piece),
            }
        }
        pieces
    };
    timeline.threads.iter().map(row).collect()
}

fn check(process: &Process, start: Time, end: Time) -> Result<(), TestCaseError> {
    let timeline = Timeline::build(&process.window(start, end));
    prop_assert_eq!(timeline.check(), Ok(()));
    prop_assert_eq!((timeline.start, timeline.end), (start, end));
    let of = |timeline: &Timeline| cut(timeline, start, end, !process.covered.is_empty());
    prop_assert_eq!(of(&timeline), of(&Timeline::build(process)));
    Ok(())
}

/// Where a part of a process begins and ends, from thousandths of its life.
fn part(process: &Process, part: (u64, u64)) -> (Time, Time) {
    let point = |share: u64| process.start + Nanos::new(process.wall().get() * share / 1_000);
    (point(part.0.min(part.1)), point(part.0.max(part.1)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_part_of_any_program_is_as_in_the_whole(
        script in holdup_testkit::any_script(),
        cut in (0..=1_000u64, 0..=1_000u64),
    ) {
        let process = script.play();
        let (start, end) = part(&process, cut);
        check(&process, start, end)?;
    }

    #[test]
    fn a_part_of_what_the_kernel_tells_is_as_in_the_whole(
        script in holdup_testkit::any_script(),
        spans in proptest::collection::vec(proptest::collection::vec((0..900u64, 1..900u64, 0..2u8), 0..20), 5),
        cut in (0..=1_000u64, 0..=1_000u64),
    ) {
        let mut process = script.play();
        process.covered = vec![(process.start, process.end)];
        for (index, spans) in spans.iter().take(process.threads.len()).enumerate() {
            let thread = ThreadId::new(index as u32);
            let mut time = process.threads[index].start;
            for &(gap, length, left) in spans {
                let begin = time + Nanos::new(gap);
                let end = begin + Nanos::new(length);
                let left = [Left::Blocked, Left::Preempted][usize::from(left)];
                process.on_core.push(OnCore { thread, begin, end, core: 0, left });
                time = end;
            }
        }
        let (start, end) = part(&process, cut);
        check(&process, start, end)?;
    }

    #[test]
    fn a_part_of_any_recording_is_a_recording(
        process in holdup_testkit::any_process(),
        cut in (0..=1_000u64, 0..=1_000u64),
    ) {
        let (start, end) = part(&process, cut);
        let window = process.window(start, end);
        prop_assert_eq!((window.start, window.end), (start, end));
        prop_assert_eq!(Timeline::build(&window).check(), Ok(()));
        if (start, end) == (process.start, process.end) {
            // All of it, with what a recording may tell of beyond its ends.
            prop_assert_eq!(format!("{window:?}"), format!("{process:?}"));
            return Ok(());
        }
        prop_assert!(window.blocks.iter().all(|block| start <= block.begin && block.end <= end));
        prop_assert!(window.samples.iter().all(|sample| start < sample.time && sample.time <= end));
    }
}

/// A thread that holds a lock, and one that waits for it from 10 to 1,000 ns.
fn a_wait() -> (Process, [ThreadId; 2], ObjectId) {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, "table_lock");
    let site = script.site("update", 10);
    let holder = script.thread("holder", vec![Op::Lock(lock, site), Op::Work(1_000), Op::Unlock(lock)]);
    let waiter =
        script.thread("waiter", vec![Op::Work(10), Op::Lock(lock, site), Op::Work(50), Op::Unlock(lock)]);
    script.main_runs(&[holder, waiter]);
    (script.play(), [holder, waiter], lock)
}

#[test]
fn what_was_waited_for_before_and_after_the_part_is_known_in_it() {
    let (process, [holder, waiter], lock) = a_wait();
    let window = process.window(at(400), at(500));
    let timeline = Timeline::build(&window);
    let [segment] = &timeline.row(waiter).segments[..] else { panic!("one segment") };
    assert_eq!((segment.state, segment.object, segment.by), (State::Blocked, Some(lock), Some(holder)));
    // Of the hold only what lies in the window is counted.
    let held: Nanos = window.holds.iter().filter_map(|hold| Some(hold.end.since(hold.begin?))).sum();
    assert_eq!(held, Nanos::new(100));
}

#[test]
fn cpu_time_from_before_the_part_is_not_counted_in_it() {
    let mut process = Process::new(at(0), at(100));
    let main = process.add_thread("main", at(0), None);
    process.threads[0].cpu = Some(Nanos::new(90));
    let late = process.add_thread("late", at(60), Some(at(80)));
    process.threads[1].cpu = Some(Nanos::new(20));
    let gone = process.add_thread("gone", at(0), Some(at(10)));
    process.threads[2].cpu = Some(Nanos::new(5));
    let window = process.window(at(50), at(90));
    let cpu = [main, late, gone].map(|thread| window.thread(thread).cpu);
    assert_eq!(cpu, [None, Some(Nanos::new(20)), Some(Nanos::ZERO)]);
    assert_eq!(Timeline::build(&window).row(main).segments[0].cpu, None);
    assert_eq!(process.window(at(0), at(100)).thread(main).cpu, Some(Nanos::new(90)));
}

#[test]
fn spinning_that_goes_on_at_the_ends_of_the_part_is_cut() {
    // Between them the thread works for longer than a loop that waits gives its core away, and the kernel tells of all of it.
    let at = |time: u64| self::at(time * 10_000);
    let mut process = Process::new(at(0), at(100));
    process.covered = vec![(at(0), at(100))];
    let main = process.add_thread("main", at(0), None);
    let mut mark = |time, kind| {
        process.markers.push(holdup_model::Marker { thread: main, time: at(time), kind, label: None });
    };
    for (begin, end) in [(10, 30), (40, 45), (60, 80)] {
        mark(begin, holdup_model::MarkerKind::SpinBegin);
        mark(end, holdup_model::MarkerKind::SpinEnd);
    }
    for (from, to) in [(20, 70), (0, 35), (15, 25), (62, 63), (50, 100)] {
        check(&process, at(from), at(to)).unwrap();
    }
}

#[test]
fn a_part_of_a_run_has_the_processes_that_lived_then() {
    let process = |start, end| Process::new(at(start), at(end));
    let mut first = process(0, 100);
    let main = first.add_thread("main", at(0), None);
    let sample = |time| Sample {
        thread: main,
        time: at(time),
        doing: holdup_model::Doing::Running,
        site: None,
        weight: Nanos::new(1),
        access: None,
        in_kernel: None,
    };
    first.samples = [10, 40, 60, 90].map(sample).to_vec();
    let run = Run {
        start: at(0),
        end: at(100),
        exit: Some(holdup_model::ExitStatus::Code(0)),
        cores: 3,
        processes: vec![first, process(10, 30), process(50, 70)],
        ..Run::default()
    };
    let window = run.window(at(40), at(60));
    assert_eq!((window.start, window.end, window.exit, window.cores), (at(40), at(60), None, 3));
    assert_eq!(window.processes.len(), 2);
    assert_eq!(window.processes[1].start, at(50));
    assert_eq!(window.processes[0].samples.len(), 1);
    assert_eq!(run.window(at(0), at(200)).exit, run.exit);
}

#[test]
fn a_wait_that_the_part_cuts_has_no_cpu_time_where_it_is_cut() {
    let (process, [_, waiter], _) = a_wait();
    let of_waiter = |process: &Process| {
        process.waits.iter().find(|wait| wait.thread == waiter).cloned().expect("its wait")
    };
    let wait = of_waiter(&process);
    let (begin, end) = (wait.begin.nanos(), wait.end.nanos());
    for (from, to, known) in [
        (begin - 1, end + 1, (true, true)),
        (begin, end, (true, true)),
        (begin + 1, end, (false, true)),
        (begin, end - 1, (true, false)),
        (begin + 1, end - 1, (false, false)),
    ] {
        let wait = of_waiter(&process.window(at(from), at(to)));
        assert_eq!((wait.cpu_begin.is_some(), wait.cpu_end.is_some()), known, "{from} to {to}");
    }
}

#[test]
fn a_thread_that_had_no_core_yet_waits_for_its_first_one() {
    let mut process = Process::new(at(0), at(100));
    process.covered = vec![(at(20), at(100))];
    // Began before switches were recorded, at that moment, after it, where the part begins, and in it.
    let began = [10, 20, 21, 50, 51];
    let threads = began.map(|began| process.add_thread("worker", at(began), None));
    let left = Left::Blocked;
    let of = |thread: usize, begin, end| OnCore {
        thread: threads[thread],
        begin: at(begin),
        end: at(end),
        core: 1,
        left,
    };
    // The second one's span ends where switches begin to be recorded; the third's where the part begins.
    process.on_core = vec![of(0, 10, 19), of(1, 15, 20), of(2, 30, 50)];
    let spans: Vec<_> = process.window(at(50), at(90)).on_core;
    let found: Vec<_> = spans.iter().map(|span| (span.thread, span.begin, span.end, span.left)).collect();
    let at_start = |thread: usize, left| (threads[thread], at(50), at(50), left);
    assert_eq!(found, [at_start(1, left), at_start(2, left), at_start(3, Left::Preempted)]);
    // Where the part begins with the records, nobody is known to have waited.
    let mut early = process.clone();
    early.on_core.clear();
    let spans = early.window(at(20), at(90)).on_core;
    assert!(spans.is_empty(), "{spans:?}");
    // Nor where the part begins while none are recorded.
    early.covered = vec![(at(20), at(40)), (at(60), at(100))];
    for start in [40, 45, 59] {
        let spans = early.window(at(start), at(90)).on_core;
        assert!(spans.is_empty(), "{start}: {spans:?}");
    }
}
