//! OpenMP programs with one planted problem each, as the reader gives them: the first finding must name it.

use holdup_criticality::{Depth, Diagnosis, Finding, FindingKind, diagnose, predict_gains};
use holdup_model::openmp::{
    Depend, DependKind, Instance, Region, Share, Sync, SyncKind, Task, TaskId, TaskRun, Vendor,
};
use holdup_model::{
    Doing, Frame, Left, Nanos, ObjectId, ObjectKind, OnCore, Process, Run, Sample, Site, SiteId, ThreadId,
    Time, Wait, Wake, WakeCount,
};

const MS: u64 = 1_000_000;
const TEAM: u32 = 4;
/// Of waiting for a task.
const ROUNDS: u64 = 40;

/// A process whose main thread runs regions on a team.
struct Regions {
    process: Process,
    team: ObjectId,
    join: ObjectId,
    place: SiteId,
    now: u64,
    /// Since when each worker waits for its team.
    idle: [u64; TEAM as usize],
    round: u64,
}

impl Regions {
    fn new() -> Regions {
        let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(0));
        for _ in 0..TEAM {
            process.add_thread("lu", Time::from_nanos(0), None);
        }
        let frame = Frame {
            function: Some("solve".into()),
            file: Some("lu.c".into()),
            line: Some(88),
            address: 0x40_1000,
            ..Frame::default()
        };
        let place = process.add_site(Site { frames: vec![frame], ..Site::default() });
        let team = process.add_object(ObjectKind::Team, 0);
        let join = process.add_object(ObjectKind::Barrier, 0x40_1000);
        let object = &mut process.objects[join.index()];
        (object.parties, object.construct) = (Some(TEAM), Some(SyncKind::RegionBarrier));
        object.created_at = Some(place);
        Regions { process, team, join, place, now: 0, idle: [0; TEAM as usize], round: 0 }
    }

    fn wait(&mut self, thread: u32, object: ObjectId, begin: u64, end: u64, round: Option<u64>) {
        if begin == end && round.is_none() {
            return;
        }
        self.process.waits.push(Wait {
            site: Some(self.place),
            round,
            ..Wait::granted(ThreadId::new(thread), object, Time::from_nanos(begin), Time::from_nanos(end))
        });
    }

    /// The main thread works alone, then the team does; lengths in ms.
    fn region(&mut self, alone: u64, shares: [u64; TEAM as usize]) {
        let begin = self.now + alone * MS;
        let end = begin + shares.iter().max().unwrap_or(&0) * MS;
        let (thread, time, object) = (ThreadId::new(0), Time::from_nanos(begin), self.team);
        self.process.wakes.push(Wake { thread, time, object, site: Some(self.place), count: WakeCount::All });
        for (thread, share) in shares.into_iter().enumerate() {
            if thread > 0 {
                self.wait(thread as u32, self.team, self.idle[thread], begin, None);
            }
            self.wait(thread as u32, self.join, begin + share * MS, end, Some(self.round));
            self.idle[thread] = end;
        }
        self.round += 1;
        self.now = end;
    }

    /// What the runtime says of the last region, which began `length` ms ago and in which each thread worked for so long.
    fn observe(&mut self, length: u64, shares: [u64; TEAM as usize]) -> Instance {
        let end = Time::from_nanos(self.now);
        let begin = Time::from_nanos(self.now - length * MS);
        let instance = Instance::new(self.round);
        self.process.openmp.regions.push(Region {
            thread: ThreadId::new(0),
            begin,
            end,
            place: Some(self.place),
            met_at: None,
            instance,
            parent: None,
            size: TEAM,
            count: 1,
            timed: 1,
            time: end.since(begin),
            whole: true,
            open: false,
            league: false,
            vendor: Vendor::Gnu,
        });
        for (index, worked) in (0..TEAM).zip(shares) {
            let (thread, end) = (ThreadId::new(index), begin + Nanos::new(worked * MS));
            let share = Share { thread, instance, index, begin, end, cpu: None, cpu_begin: None };
            self.process.openmp.shares.push(share);
        }
        instance
    }

    /// A region of 20 ms in which each thread is on one of two cores for so long (ms), the first two from the begin on.
    fn crowded(&mut self, on_core: [u64; TEAM as usize]) {
        let begin = self.now;
        self.region(0, [20; TEAM as usize]);
        self.observe(20, [20; TEAM as usize]);
        for (index, length) in (0..TEAM).zip(on_core) {
            let first = if index < 2 { begin } else { self.now - length * MS };
            self.process.on_core.push(OnCore {
                thread: ThreadId::new(index),
                begin: Time::from_nanos(first),
                end: Time::from_nanos(first + length * MS),
                core: index % 2,
                left: Left::Preempted,
            });
        }
        self.process.covered = vec![(Time::from_nanos(0), Time::from_nanos(self.now))];
    }

    fn diagnosis(self) -> Diagnosis {
        self.diagnosis_on(8)
    }

    fn diagnosis_on(mut self, cores: u32) -> Diagnosis {
        self.process.end = Time::from_nanos(self.now);
        self.process.seen_by.preload = true;
        let run = Run { processes: vec![self.process], cores, ..Run::default() };
        let mut diagnosis = diagnose(&run, 0);
        predict_gains(&run, &mut diagnosis, Depth::default());
        diagnosis
    }
}

fn first(diagnosis: &Diagnosis) -> &Finding {
    diagnosis.findings.first().expect("there is something to find")
}

fn crowded(on_core: [u64; TEAM as usize]) -> Finding {
    let mut regions = Regions::new();
    (0..10).for_each(|_| regions.crowded(on_core));
    let findings = regions.diagnosis_on(2).findings;
    let of_cores = findings.into_iter().find(|finding| finding.kind == FindingKind::Oversubscription);
    of_cores.expect("four threads on two cores")
}

#[test]
fn smaller_teams_do_what_their_neighbours_did() {
    // 32 ms of work in 20 ms: two threads take 16, and meet 103 µs later at the end.
    let finding = crowded([8; 4]);
    let gain = finding.gain.as_ref().expect("a gain");
    assert_eq!(gain.time, Nanos::new(10 * (4 * MS - 103_000)));
    assert!(gain.low < gain.time && gain.time < gain.high, "{gain:?}");
    assert!(finding.hint.contains("OMP_NUM_THREADS=2"), "{}", finding.hint);
}

#[test]
fn smaller_teams_may_take_longer() {
    // The second of two threads would do 10 and 12 of 32 ms, as much again as it has time for.
    let finding = crowded([2, 8, 10, 12]);
    let gain = finding.gain.as_ref().expect("a gain");
    assert_eq!((gain.time, gain.low), (Nanos::ZERO, Nanos::ZERO));
    assert!(finding.hint.contains("would take longer"), "{}", finding.hint);
}

#[test]
fn blocks_of_unequal_rows() {
    let mut regions = Regions::new();
    for _ in 0..10 {
        regions.region(0, [2, 2, 2, 10]);
    }
    let diagnosis = regions.diagnosis();
    let finding = first(&diagnosis);
    assert_eq!(finding.kind, FindingKind::Imbalance);
    assert!(finding.what.contains("the end of the parallel region in solve (lu.c:88)"), "{}", finding.what);
    assert_eq!(finding.threads, [ThreadId::new(3)]);
    // Three of four threads wait 8 ms in each of ten regions.
    assert_eq!(finding.cost, Nanos::new(60 * MS));
    // With the work shared out evenly a region takes 4 ms.
    let gain = finding.gain.as_ref().expect("a gain");
    assert!(gain.low <= Nanos::new(60 * MS) && gain.high >= Nanos::new(60 * MS), "{gain:?}");
    assert!(gain.time.get().abs_diff(60 * MS) < MS, "{gain:?}");
}

#[test]
fn a_block_that_has_all_the_work() {
    let mut regions = Regions::new();
    for _ in 0..10 {
        regions.region(0, [1, 1, 1, 101]);
    }
    let diagnosis = regions.diagnosis();
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.cost), (FindingKind::Imbalance, Nanos::new(750 * MS)));
}

#[test]
fn work_between_regions() {
    let mut regions = Regions::new();
    for _ in 0..10 {
        regions.region(6, [2, 2, 2, 2]);
    }
    let diagnosis = regions.diagnosis();
    let finding = first(&diagnosis);
    assert_eq!(finding.kind, FindingKind::Serial);
    assert_eq!(finding.threads, [ThreadId::new(0)]);
    assert_eq!(finding.cost, Nanos::new(45 * MS));
    assert_eq!(diagnosis.findings.len(), 1, "{:#?}", diagnosis.findings);
    // Shared out among the four it takes 1.5 ms of the 6.
    let gain = finding.gain.as_ref().expect("a gain");
    assert!(gain.time.get().abs_diff(45 * MS) < MS, "{gain:?}");
}

/// Between regions the main thread works for 6 ms, and in each it goes on for 4 ms when the others, and tasks if there are any, are done.
fn merging(has_tasks: bool) -> Diagnosis {
    let mut regions = Regions::new();
    for _ in 0..10 {
        regions.region(6, [9, 5, 5, 5]);
        let instance = Some(regions.observe(9, [9, 5, 5, 5]));
        let begin = Time::from_nanos(regions.now - 9 * MS);
        for thread in (0..TEAM).filter(|_| has_tasks).map(ThreadId::new) {
            let (end, task) = (begin + Nanos::new(5 * MS), None);
            let run = TaskRun { thread, task, instance, begin, end, complete: true };
            regions.process.openmp.task_runs.push(run);
        }
    }
    regions.diagnosis()
}

#[test]
fn what_is_left_behind_the_last_task_is_done_by_one_alone() {
    let diagnosis = merging(true);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.cost), (FindingKind::Serial, Nanos::new(75 * MS)));
    assert_eq!(diagnosis.findings.len(), 1, "{:#?}", diagnosis.findings);
    let gain = finding.gain.as_ref().expect("a gain");
    assert!(gain.time.get().abs_diff(75 * MS) < MS, "{gain:?}");
}

/// Both parts begin and end with a call at one line: in a loop's region the thread is late, and what is between regions has a gain of
/// its own.
#[test]
fn who_has_more_of_a_region_is_late_and_not_alone() {
    let diagnosis = merging(false);
    let of = |kind| diagnosis.findings.iter().find(|finding| finding.kind == kind).expect("is found");
    let [alone, late] = [FindingKind::Serial, FindingKind::Imbalance].map(of);
    assert_eq!((alone.cost, late.cost), (Nanos::new(45 * MS), Nanos::new(30 * MS)));
    for finding in [alone, late] {
        let gain = finding.gain.as_ref().expect("a gain").time.get();
        assert!(gain.abs_diff(finding.cost.get()) < 3 * MS, "{finding:#?}");
    }
}

#[test]
fn a_balanced_program_has_no_finding() {
    let mut regions = Regions::new();
    for _ in 0..10 {
        regions.region(0, [5, 5, 5, 5]);
    }
    assert_eq!(regions.diagnosis().findings, []);
}

/// The second thread waits each round for a task that the first one makes, which takes it `making` µs and the second `length` µs, while
/// the third one works.
fn tasks(making: u64, length: u64) -> Diagnosis {
    tasks_timed(making, length, None, &[])
}

/// As [`tasks`]; making each took `timed`, as recorded, and samples find the first thread meanwhile in these modules in turn,
/// innermost first.
fn tasks_timed(making: u64, length: u64, timed: Option<Nanos>, seen: &[&[&str]]) -> Diagnosis {
    tasks_among(0, making, length, timed, seen)
}

/// As [`tasks_timed`]; the runtime has the first thread execute so many more in each round before it goes on making others, since there
/// are enough.
fn tasks_among(more: u64, making: u64, length: u64, timed: Option<Nanos>, seen: &[&[&str]]) -> Diagnosis {
    region_with_tasks(more, making, length, timed, seen).diagnosis()
}

/// The region of [`tasks_among`].
fn region_with_tasks(more: u64, making: u64, length: u64, timed: Option<Nanos>, seen: &[&[&str]]) -> Regions {
    const INSTANCE: Instance = Instance::new(1);
    let mut regions = Regions::new();
    let (place, process) = (regions.place, &mut regions.process);
    let object = process.add_object(ObjectKind::Tasks, 0);
    process.objects[object.index()].construct = Some(SyncKind::RegionBarrier);
    process.objects[object.index()].created_at = Some(place);
    let [first, second, third] = [0, 1, 2].map(ThreadId::new);
    // A runtime's code without a name is taken for its loops that wait.
    let frame = |module: &&str| Frame {
        function: Some("make".to_owned()),
        module: Some((*module).to_owned()),
        ..Frame::default()
    };
    let mut site = |modules: &&[&str]| {
        let frames = modules.iter().map(frame).collect();
        process.add_site(Site { frames, ..Site::default() })
    };
    let seen_at: Vec<SiteId> = seen.iter().map(&mut site).collect();
    let mut now = 0;
    for number in 1..=ROUNDS {
        let begin = now;
        now += making * 1_000;
        let site = seen_at.get(number as usize % seen_at.len().max(1)).copied();
        process.samples.extend(site.map(|site| Sample {
            thread: first,
            time: Time::from_nanos(now - 1),
            doing: Doing::Running,
            site: Some(site),
            weight: Nanos::new(making * 1_000),
            access: None,
            in_kernel: None,
        }));
        let [from, time, end] = [begin, now, now + length * 1_000].map(Time::from_nanos);
        process.waits.push(Wait { site: Some(place), ..Wait::granted(second, object, from, time) });
        process.wakes.push(Wake { thread: first, time, object, site: Some(place), count: WakeCount::All });
        let mut add = |number, making, thread, (made, begin, end)| {
            let id = TaskId::new(number);
            process.openmp.tasks.push(Task {
                id,
                parent: None,
                thread: first,
                time: made,
                instance: Some(INSTANCE),
                place: Some(place),
                making,
                undeferred: false,
                of_loop: false,
            });
            let (task, instance) = (Some(id), Some(INSTANCE));
            process.openmp.task_runs.push(TaskRun { thread, task, instance, begin, end, complete: true });
        };
        let first_number = (more + 1) * number;
        add(first_number, timed, second, (from, time, end));
        for more in 1..=more {
            let [made, begin, end] = [0, 50, 150].map(|after| from + Nanos::new(4_000 * more + after));
            add(first_number + more, Some(Nanos::new(200)), first, (made, begin, end));
        }
        now = end.nanos();
    }
    process.openmp.regions.push(Region {
        thread: first,
        begin: Time::from_nanos(0),
        end: Time::from_nanos(now),
        place: Some(place),
        met_at: None,
        instance: INSTANCE,
        parent: None,
        size: 3,
        count: 1,
        timed: 1,
        time: Nanos::new(now),
        whole: true,
        open: false,
        league: false,
        vendor: Vendor::Gnu,
    });
    for (index, thread) in [first, second, third].into_iter().enumerate() {
        let (begin, end) = (Time::from_nanos(0), Time::from_nanos(now));
        process.openmp.shares.push(Share {
            thread,
            instance: INSTANCE,
            index: index as u32,
            begin,
            end,
            cpu: None,
            cpu_begin: None,
        });
    }
    process.threads.truncate(3);
    regions.now = now;
    regions
}

#[test]
fn tasks_of_executions_that_were_not_recorded_whole_count_by_one_that_was() {
    let mut regions = region_with_tasks(0, 90, 4, Some(Nanos::new(1_000)), &[]);
    let whole = regions.process.openmp.regions[0].clone();
    // Nine more, which take half as long, since none of their tasks are recorded.
    let length = Nanos::new(9 * regions.now / 2);
    let end = whole.end + length;
    regions.process.openmp.regions.push(Region {
        begin: whole.end,
        end,
        instance: Instance::new(2),
        count: 9,
        timed: 9,
        time: length,
        whole: false,
        ..whole
    });
    regions.now = end.nanos();
    let diagnosis = regions.diagnosis();
    let tiny = diagnosis.findings.iter().find(|finding| finding.what.contains("too small")).expect("tasks");
    // Ten times as many, in five and a half times the time of those that were recorded.
    let all = "400 tasks take 2.2 µs each on average, making one 550 ns.";
    assert!(tiny.evidence.iter().any(|line| line == all), "{:?}", tiny.evidence);
}

#[test]
fn one_thread_makes_the_tasks_that_others_wait_for() {
    let diagnosis = tasks(3_000, 1_000);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, &finding.threads[..]), (FindingKind::Tasks, &[ThreadId::new(0)][..]));
    assert!(finding.what.contains("too few tasks"), "{}", finding.what);
    // One of three threads waits 3 ms a round.
    assert_eq!(finding.cost, Nanos::new(MS * ROUNDS));
    assert!(finding.evidence.iter().any(|line| line.contains("40 tasks take 1.0 ms each")), "{finding:#?}");
    assert!(finding.gain.is_some());
}

#[test]
fn tasks_that_take_less_than_to_hand_them_out() {
    let diagnosis = tasks(90, 4);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.cost), (FindingKind::Tasks, Nanos::new(90_000 * ROUNDS / 3)));
    assert_eq!(finding.what, "tasks that are too small in solve (lu.c:88)");
    // What is won by making fewer no replay of the waits tells: it is the waits, up to all but the tasks' own work.
    let gain = finding.gain.as_ref().expect("a gain");
    assert_eq!(
        (gain.time, gain.low, gain.expression.as_str()),
        (Nanos::new(90_000 * ROUNDS / 3), Nanos::ZERO, "")
    );
    assert!(gain.high > gain.time && gain.high < diagnosis.wall, "{gain:?}");
}

#[test]
fn what_recording_a_task_takes_is_no_part_of_making_it() {
    let gain = |timed: u64| {
        let diagnosis = tasks_timed(90, 4, Some(Nanos::new(timed)), &[]);
        first(&diagnosis).gain.clone().expect("a gain")
    };
    // Of 1 µs each 20 to 80 ns are recording's; the three threads share it.
    let made = |each: u64| Nanos::new(each * ROUNDS / 3);
    let gain_of_long = gain(1_000);
    assert_eq!(gain_of_long.low, made(1_000 - 80));
    assert_eq!(gain_of_long.time, made(90_000) + made(1_000 - 50));
    // All of it may be.
    assert_eq!(gain(70).low, Nanos::ZERO);
}

#[test]
fn larger_tasks_save_no_more_than_their_own_work_leaves_over() {
    let high = |timed: u64| {
        let diagnosis = tasks_timed(90, 4, Some(Nanos::new(timed)), &[]);
        first(&diagnosis).gain.as_ref().expect("a gain").high
    };
    // The three threads share the tasks' 4 µs. Of these making others may be a part...
    let wall = Nanos::new(94_000 * ROUNDS);
    let all_but = |work: u64| wall - Nanos::new(work * ROUNDS / 3);
    assert_eq!(high(1_000), all_but(4_000 - 1_000));
    assert_eq!(high(5_000), wall);
    // ...but not where it seems to take more than twice as long as they do: then only what a runtime may do anyway.
    assert_eq!(high(9_000), all_but(4_000 - 100));
    // Every second sample, of 90 µs each, is in the tasks' own code: half of that, less twice the error of a count, is left at least.
    let half_seen = tasks_timed(90, 4, None, &[&["app"], &["libgomp.so.1", "app"]]);
    let count = ROUNDS as f64 / 2.0;
    let work = count * 90_000.0 * (1.0 - 2.0 / count.sqrt()) / 2.0;
    let high = first(&half_seen).gain.as_ref().expect("a gain").high;
    assert!(high.get().abs_diff(wall.get() - (work / 3.0) as u64) < 10, "{high}");
}

#[test]
fn who_waits_longer_than_handing_a_small_task_out_takes_waits_for_one_that_is_not_made() {
    let diagnosis = tasks(3_000, 4);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.cost), (FindingKind::Tasks, Nanos::new(MS * ROUNDS)));
    assert!(finding.what.contains("tasks that come late"), "{}", finding.what);
    assert!(finding.gain.as_ref().is_some_and(|gain| !gain.expression.is_empty()), "{finding:?}");
}

#[test]
fn where_threads_are_hardly_in_the_runtime_tasks_are_waited_for_that_nobody_has_made() {
    let what = |seen: &[&str]| first(&tasks_timed(90, 4, None, &[seen])).what.clone();
    assert!(what(&["app"]).contains("tasks that come late"));
    assert!(what(&["libc.so.6", "app"]).contains("tasks that come late"));
    for making in [&["libgomp.so.1", "app"][..], &["libc.so.6", "libomp.so.5", "app"]] {
        assert_eq!(what(making), "tasks that are too small in solve (lu.c:88)");
    }
}

/// A runtime that has enough tasks executes those that are made at once: then nobody waits for one that is not made.
#[test]
fn who_waits_while_there_are_more_than_enough_small_tasks_waits_until_one_is_handed_out() {
    let what = |more| first(&tasks_among(more, 90, 4, Some(Nanos::new(200)), &[&["app"]])).what.clone();
    assert!(what(0).contains("tasks that come late"));
    assert_eq!(what(19), "tasks that are too small in solve (lu.c:88)");
}

/// Several threads make small tasks, and some wait for those that others have taken: it is not known that anybody makes one meanwhile.
#[test]
fn who_waits_for_small_tasks_while_nobody_is_known_to_make_one_waits_for_the_runtime() {
    let what = |are_known: bool, making| {
        let mut regions = region_with_tasks(0, making, 4, None, &[&["app"]]);
        regions.process.wakes.retain(|_| are_known);
        first(&regions.diagnosis()).what.clone()
    };
    for making in [90, 3_000] {
        assert!(what(true, making).contains("tasks that come late"));
        assert_eq!(what(false, making), "tasks that are too small in solve (lu.c:88)");
    }
}

/// As [`one_thread_makes_the_tasks_that_others_wait_for`], but all tasks were made at the beginning, and the `writers` first ones write the
/// same.
fn dependent_tasks(writers: u64) -> Diagnosis {
    let mut regions = region_with_tasks(0, 3_000, 1_000, None, &[]);
    let openmp = &mut regions.process.openmp;
    for task in &mut openmp.tasks {
        task.time = Time::from_nanos(0);
        let address = if task.id.number() <= writers { 77 } else { 1_000 + task.id.number() };
        openmp.depends.push(Depend { task: task.id, address, kind: DependKind::Out });
    }
    regions.diagnosis()
}

#[test]
fn tasks_that_were_made_and_do_not_begin_depend_on_others() {
    let diagnosis = dependent_tasks(30);
    let finding = first(&diagnosis);
    assert_eq!(finding.kind, FindingKind::Tasks);
    assert!(
        finding.what.starts_with("tasks that depend on each other in solve (lu.c:88): threads wait for"),
        "{}",
        finding.what
    );
    let of_one = "of 40 that were recorded 30 write what one and the same dependence names, and so are done one after another";
    assert!(finding.evidence.iter().any(|line| line.contains(of_one)), "{:?}", finding.evidence);
    // All of the waits, but for one of the tasks.
    let gain = finding.gain.as_ref().expect("a gain");
    let error = Nanos::new(diagnosis.wall.get() / 50);
    assert_eq!(gain.time, Nanos::new(MS * ROUNDS));
    assert_eq!((gain.low, gain.high), (gain.time - Nanos::new(MS) - error, gain.time + error));
    let few = dependent_tasks(10);
    let says_so = |line: &String| line.contains("one and the same dependence");
    assert!(!first(&few).evidence.iter().any(says_so), "{:?}", first(&few).evidence);
}

/// As [`one_thread_makes_the_tasks_that_others_wait_for`], but it waits for each at a `taskwait` before it makes the next; within tasks of
/// others, if `nested`.
fn tasks_in_rounds(nested: bool) -> Diagnosis {
    let mut regions = region_with_tasks(0, 3_000, 1_000, None, &[]);
    let place = regions.place;
    let openmp = &mut regions.process.openmp;
    for (task, run) in openmp.tasks.iter_mut().zip(&openmp.task_runs) {
        task.parent = nested.then_some(TaskId::new(1_000));
        // The second waits while the first, which made one, waits for that to end.
        let begin = run.begin.nanos() - 2_900_000;
        task.time = Time::from_nanos(begin);
        let pieces = [(begin + 10_000, begin + 1_000_000), (begin + 1_000_000, run.end.nanos())];
        for (number, (begin, end)) in pieces.into_iter().enumerate() {
            openmp.syncs.push(Sync {
                thread: ThreadId::new(0),
                instance: Instance::new(1),
                sequence: 0,
                kind: SyncKind::Taskwait,
                place: Some(place),
                begin: Time::from_nanos(begin),
                end: Time::from_nanos(end),
                continued: number > 0,
                interrupted: number == 0,
            });
        }
    }
    regions.diagnosis()
}

#[test]
fn tasks_that_are_made_behind_a_wait_for_others_are_held_back_by_that() {
    let diagnosis = tasks_in_rounds(false);
    let finding = first(&diagnosis);
    assert!(
        finding
            .what
            .starts_with("more tasks are made only behind taskwait in solve (lu.c:88): threads wait for"),
        "{}",
        finding.what
    );
    // Behind the last one none is made.
    let rounds = format!("In {} rounds the thread that makes tasks waits there", ROUNDS - 1);
    assert!(finding.evidence.iter().any(|line| line.starts_with(&rounds)), "{:?}", finding.evidence);
    assert!(finding.hint.contains("wait once behind them"), "{}", finding.hint);
    // Who waits in a task for those that it made needs what they did.
    assert!(
        first(&tasks_in_rounds(true)).what.contains("too few tasks"),
        "{:?}",
        first(&tasks_in_rounds(true))
    );
}
