//! Random changes of random programs, on machines of any number of cores, with costs and without.

use crate::programs::{any_program, on_ideal_cores};
use holdup_model::{ObjectId, ObjectKind, Process, SiteId, ThreadId, Timeline};
use holdup_replay::{
    Behaviour, Change, LockChange, Machine, Op, PauseKind, Program, Recorded, Replayed, Setting, apply,
    extract, replay,
};
use holdup_testkit::any_script;
use proptest::collection::vec;
use proptest::prelude::*;

/// A change by numbers, whatever the program has.
type Choice = (u8, u16, u16, f64);

fn choice() -> impl Strategy<Value = Choice> {
    (0..14u8, any::<u16>(), 0..7u16, prop_oneof![Just(0.5), Just(1.0), 1.0..20.0])
}

fn change(process: &Process, (kind, which, number, times): Choice) -> Change {
    let pick = |count: usize| u32::from(which) % count.max(1) as u32;
    let object = ObjectId::new(pick(process.objects.len()));
    let thread = ThreadId::new(pick(process.threads.len()));
    let alike: Vec<ThreadId> = (0..process.threads.len() as u32)
        .map(ThreadId::new)
        .filter(|&other| {
            process.thread(other).entry.is_some() && entry(process, other) == entry(process, thread)
        })
        .collect();
    let alike = if alike.is_empty() { vec![thread] } else { alike };
    let number = u32::from(number) + 1;
    match kind {
        0 => Change::Lock(object, LockChange::Free),
        1 => Change::Lock(object, LockChange::Split(number)),
        2 => Change::Lock(object, LockChange::Shorter(times)),
        3 => Change::Free(object),
        4 => {
            let barriers = process.objects.iter().position(|object| object.kind == ObjectKind::Barrier);
            Change::BalancedBarrier(barriers.map_or(object, |index| ObjectId::new(index as u32)))
        }
        5 => Change::BalancedThreads(alike),
        6 => Change::Faster(alike, times),
        7 => Change::Faster(vec![thread], times),
        8 => Change::FasterCode(vec![SiteId::new(pick(process.sites.len()))], times),
        9 => Change::Spread(vec![thread], None, times),
        10 => Change::Shorter(PauseKind::Io, None, if number == 1 { f64::INFINITY } else { times }),
        11 => Change::Shorter(PauseKind::Sleep, None, if number == 1 { f64::INFINITY } else { times }),
        12 => Change::FreeWakeUps,
        _ => Change::Threads(alike, number),
    }
}

fn entry(process: &Process, thread: ThreadId) -> Option<String> {
    process.site(process.thread(thread).entry?).frames.first()?.function.clone()
}

fn settings(
    process: &Process,
    choices: &[Choice],
    machine: &Machine,
) -> (Program, Vec<Change>, Setting<'static>, Replayed) {
    let timeline = Timeline::build(process);
    let program = extract(process, &timeline).expect("there are threads");
    let changes: Vec<Change> = choices.iter().map(|&choice| change(process, choice)).collect();
    let setting = apply(&Recorded::new(process, &timeline), &program, machine, &changes);
    let setting = Setting {
        program: std::borrow::Cow::Owned(setting.program.into_owned()),
        machine: setting.machine,
        behaviour: setting.behaviour,
        stands_for: setting.stands_for,
        relieved: setting.relieved,
    };
    let replayed = replay(&setting.program, &setting.machine, &setting.behaviour);
    (program, changes, setting, replayed)
}

/// All that could come one after the other (ns): work, pauses, and for each step one thread that goes to sleep, is woken, waits
/// for a core to look for it, and is new.
fn longest(setting: &Setting<'_>, worked: u64) -> u64 {
    let program = &setting.program;
    let machine = &setting.machine;
    let pauses: u64 = program
        .steps
        .iter()
        .map(|step| if let Op::Pause(pause) = step.op { program.pauses[pause as usize].length } else { 0 })
        .sum();
    let latency = machine.latency.iter().map(|latency| latency.1).max().unwrap_or(0);
    let each = latency + machine.wake_cost + machine.block_cost + machine.pull;
    let actors = program.actors.len() as u64;
    // Threads that spin take time from the one that they wait for, where there are not enough cores.
    let spun = program.locks.iter().any(|lock| lock.spins) && u64::from(machine.cores) < actors;
    // A wake-up may be in vain, and come again.
    let all = worked + pauses + program.steps.len() as u64 * each * actors + latency;
    if spun { all * actors } else { all }
}

fn hold(process: &Process, choices: &[Choice], machine: &Machine) -> Result<(), TestCaseError> {
    let (program, changes, setting, replayed) = settings(process, choices, machine);
    let worked: u64 = replayed.worked.iter().sum();
    let renumbered = changes.iter().any(|change| matches!(change, Change::Threads(..)));
    let faster = changes.iter().any(|change| matches!(change, Change::Faster(..)));
    // Every thread ends, and that without help: a lock is not held while its thread waits for anything but another lock of a
    // higher number, and all else comes in the order of the recording.
    prop_assert!(replayed.ends.iter().all(Option::is_some), "{:?} {:?}", changes, replayed.ends);
    if !renumbered {
        prop_assert_eq!(replayed.let_through, 0, "{:?}", changes);
        if !faster {
            prop_assert_eq!(worked, setting.program.work(), "{:?}", changes);
        }
    }
    if changes.is_empty() {
        prop_assert_eq!(&program, &*setting.program);
    }
    let wall = replayed.wall.get();
    let cores = u64::from(setting.machine.cores.max(1));
    prop_assert!(wall >= worked / cores, "{:?}", changes);
    prop_assert!(replayed.worked.iter().all(|&worked| wall >= worked), "{:?}", changes);
    prop_assert!(wall <= longest(&setting, worked), "{:?}: {} {}", changes, wall, longest(&setting, worked));
    prop_assert!(replayed.crowded == 0 || setting.machine.cores < setting.program.actors.len() as u32);
    // Once more: the same.
    let again = replay(&setting.program, &setting.machine, &setting.behaviour);
    prop_assert_eq!(again, replayed);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 384, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_changed_program_ends(
        script in any_program(),
        choices in vec(choice(), 0..4),
        cores in 1..7u32,
        slice in prop_oneof![Just(2_000), Just(20_000), Just(3_000_000u64)],
    ) {
        let process = script.play();
        hold(&process, &choices, &on_ideal_cores(cores))?;
        hold(&process, &choices, &Machine { slice, ..Machine::new(cores) })?;
    }

    #[test]
    fn every_changed_program_with_ties_ends(script in any_script(), choices in vec(choice(), 0..4), cores in 1..7u32) {
        let process = script.play();
        hold(&process, &choices, &on_ideal_cores(cores))?;
        hold(&process, &choices, &Machine::new(cores))?;
    }

    /// Recorded on few cores, with the kernel's records.
    #[test]
    fn crowded_programs_end(script in any_program(), choices in vec(choice(), 0..3), cores in 1..5u32) {
        let process = script.play_on(cores, 50_000);
        let timeline = Timeline::build(&process);
        hold(&process, &choices, &Machine::of(&process, &timeline, cores))?;
    }

    /// A change of the number of threads keeps the work, but for what rounding adds to each step.
    #[test]
    fn other_numbers_of_threads_do_the_same_work(script in any_program(), which in any::<u16>(), number in 0..8u16) {
        let process = script.play();
        let machine = on_ideal_cores(64);
        let (program, changes, setting, replayed) = settings(&process, &[(13, which, number, 1.0)], &machine);
        let (before, after) = (program.work(), replayed.worked.iter().sum::<u64>());
        let Change::Threads(threads, _) = &changes[0] else { panic!("{changes:?}") };
        // Alike are those that meet in as many rounds: the others have different parts of the program to do.
        let rounds = |thread: &ThreadId| {
            let steps = &program.steps[program.steps_of(*thread)];
            let deals = steps.iter().any(|step| matches!(step.op, Op::Deal(_)));
            (deals, steps.iter().filter(|step| matches!(step.op, Op::Arrive(_))).count())
        };
        let alike = threads.iter().all(|thread| rounds(thread) == rounds(&threads[0]));
        prop_assume!(alike && !rounds(&threads[0]).0);
        prop_assert!(before.abs_diff(after) <= setting.program.steps.len() as u64, "{} {}", before, after);
    }
}

#[test]
fn nothing_is_nothing() {
    let program = Program::default();
    let replayed = replay(&program, &Machine::new(4), &Behaviour::default());
    assert_eq!((replayed.wall.get(), replayed.let_through), (0, 0));
}
