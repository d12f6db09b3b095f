//! Processes of impossible content: nothing panics, everything ends, and the same comes out each time.

use holdup_model::selector::quoted;
use holdup_model::{Nanos, ObjectId, ObjectUse, Process, SiteId, ThreadId, Time, Timeline};
use holdup_replay::{
    Behaviour, Change, LockChange, Machine, NoReplay, PauseKind, Recorded, Replayer, apply, extract,
    object_name, parse, replay,
};
use holdup_testkit::any_process;
use proptest::collection::vec;
use proptest::prelude::*;

fn uses() -> impl Strategy<Value = Vec<ObjectUse>> {
    let nanos = prop_oneof![8 => 0..400u64, 1 => any::<u64>()];
    let used = (proptest::option::of(0..4u32), 0..10u32, 0..60u64, 0..60u64, nanos);
    let used = used.prop_map(|(thread, object, acquisitions, timed_holds, timed_hold)| ObjectUse {
        thread: thread.map(ThreadId::new),
        object: ObjectId::new(object),
        acquisitions,
        failed_tries: 0,
        timed_holds,
        timed_hold: Nanos::new(timed_hold),
    });
    vec(used, 0..6)
}

fn all_changes(process: &Process) -> Vec<Change> {
    let threads: Vec<ThreadId> = (0..process.threads.len() as u32).map(ThreadId::new).collect();
    let mut changes = vec![
        Change::BalancedThreads(threads.clone()),
        Change::BalancedThreads(Vec::new()),
        Change::Faster(threads[1..].to_vec(), 1.5),
        Change::FasterCode((0..process.sites.len() as u32).map(SiteId::new).collect(), 3.0),
        Change::FasterCode(Vec::new(), 2.0),
        Change::Spread(threads.clone(), None, 2.5),
        Change::Shorter(PauseKind::Io, None, f64::INFINITY),
        Change::Shorter(PauseKind::Sleep, None, 2.0),
        Change::FreeWakeUps,
        Change::Cores(1),
        Change::Cores(u32::MAX),
    ];
    for number in [0, 1, 3, 9] {
        changes.push(Change::Threads(threads.clone(), number));
        changes.push(Change::Threads(threads[..1].to_vec(), number));
    }
    for object in (0..process.objects.len() as u32).map(ObjectId::new) {
        changes.extend([
            Change::Lock(object, LockChange::Free),
            Change::Lock(object, LockChange::Split(3)),
            Change::Lock(object, LockChange::Shorter(1e-3)),
            Change::Lock(object, LockChange::Shorter(1e300)),
            Change::Free(object),
            Change::BalancedBarrier(object),
        ]);
    }
    changes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics_and_everything_ends(mut process in any_process(), uses in uses(), cores in 1..5u32) {
        process.uses = uses;
        let timeline = Timeline::build(&process);
        let program = extract(&process, &timeline).expect("there are threads");
        prop_assert_eq!(program.steps.len(), program.times.len());
        prop_assert_eq!(program.steps.len(), program.sites.len());
        let machine = Machine::of(&process, &timeline, cores);
        let recorded = Recorded::new(&process, &timeline);
        let changes = all_changes(&process);
        for change in &changes {
            let setting = apply(&recorded, &program, &machine, std::slice::from_ref(change));
            let replayed = replay(&setting.program, &setting.machine, &setting.behaviour);
            prop_assert!(replayed.is_whole, "{change:?} does not come to an end");
            prop_assert_eq!(&replayed, &replay(&setting.program, &setting.machine, &setting.behaviour));
        }
        let setting = apply(&recorded, &program, &machine, &changes);
        replay(&setting.program, &setting.machine, &setting.behaviour);
        if let Ok(replayer) = Replayer::of(&process, &timeline, cores) {
            for pair in changes.chunks(2) {
                match replayer.predict(pair) {
                    Ok(predicted) => {
                        prop_assert!(predicted.low <= predicted.wall && predicted.wall <= predicted.high);
                    }
                    Err(why) => prop_assert_eq!(why, NoReplay::Undone, "{:?}", pair),
                }
            }
        }
        for object in (0..process.objects.len() as u32).map(ObjectId::new) {
            let expression = format!("object:{}=0", quoted(&object_name(&process, object)));
            prop_assert!(parse(&expression, &process).is_ok());
        }
    }

    /// The columns of a process are in no particular order.
    #[test]
    fn the_order_of_the_columns_does_not_matter(
        mut process in any_process(),
        uses in uses(),
        turn in 1..20usize,
        cores in 1..5u32,
    ) {
        process.uses = uses;
        let mut other = process.clone();
        other.waits.reverse();
        other.holds.reverse();
        other.wakes.reverse();
        other.blocks.reverse();
        other.markers.reverse();
        other.uses.reverse();
        other.on_core.reverse();
        other.samples.reverse();
        let length = other.waits.len();
        if length > 0 {
            other.waits.rotate_left(turn % length);
        }
        let results = [process, other].map(|process| {
            let timeline = Timeline::build(&process);
            let program = extract(&process, &timeline).expect("there are threads");
            let machine = Machine::of(&process, &timeline, cores);
            let replayed = replay(&program, &machine, &Behaviour::default());
            let recorded = Recorded::new(&process, &timeline);
            let changed: Vec<_> = all_changes(&process)
                .iter()
                .map(|change| {
                    let setting = apply(&recorded, &program, &machine, std::slice::from_ref(change));
                    replay(&setting.program, &setting.machine, &setting.behaviour)
                })
                .collect();
            (program, machine, replayed, changed)
        });
        prop_assert_eq!(&results[0].0, &results[1].0);
        prop_assert_eq!(&results[0], &results[1]);
    }
}

/// A clock that went wrong: nothing is replayed for days, or at all.
#[test]
fn times_that_make_no_sense() {
    for end in [1 << 50, 1 << 53, (1 << 53) + 1, u64::MAX] {
        let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(end));
        for _ in 0..3 {
            process.add_thread("worker", Time::from_nanos(0), None);
        }
        let timeline = Timeline::build(&process);
        let replayer = Replayer::of(&process, &timeline, 3);
        assert_eq!(replayer.is_ok(), end <= 1 << 53, "{end}");
        if let Ok(replayer) = replayer {
            let slower = replayer.predict(&[Change::Faster(vec![ThreadId::new(0)], 1e-3)]).expect("an end");
            assert!(slower.wall.get() >= end / 2, "{slower:?}");
        }
    }
}
