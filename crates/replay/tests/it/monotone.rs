//! What never makes a run longer, and what may.
//!
//! With a core for each thread and no costs, a run is as long as the longest chain of work through it. A change that only takes
//! work or waits away makes no chain longer as long as it does not change who comes first: for meetings, joins and
//! signals of one certain thread nobody comes first, and at one lock threads that do the same as each other come one after the other
//! whoever is first. Elsewhere a shorter piece of work may let another thread come first, and the run take longer: Graham's
//! anomalies (Bell System Technical Journal 45, 1966; SIAM J. Appl. Math. 17, 1969). The tests at the end are such runs.

use crate::programs;
use crate::programs::{any_program, on_ideal_cores};
use holdup_model::{ObjectId, ObjectKind, Process, ThreadId, Timeline};
use holdup_replay::{Change, LockChange, Machine, PauseKind, Recorded, apply, extract, replay};
use holdup_testkit::{Op, Script};
use proptest::collection::vec;
use proptest::prelude::*;

fn wall(process: &Process, machine: &Machine, changes: &[Change]) -> u64 {
    let timeline = Timeline::build(process);
    let program = extract(process, &timeline).expect("there are threads");
    let setting = apply(&Recorded::new(process, &timeline), &program, machine, changes);
    replay(&setting.program, &setting.machine, &setting.behaviour).wall.get()
}

fn workers(script: &mut Script, ops: Vec<Vec<Op>>) -> Vec<ThreadId> {
    let workers: Vec<ThreadId> = ops.into_iter().map(|ops| script.thread("worker", ops)).collect();
    script.main_runs(&workers);
    workers
}

/// One lock, at which each thread takes its turns: before, inside, and behind each.
fn one_lock(turns: &[Vec<(u64, u64, u64)>]) -> (Process, ObjectId) {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, "lock");
    let site = script.site("update", 10);
    let ops = turns.iter().map(|turns| {
        let turn = |&(before, inside, behind): &(u64, u64, u64)| {
            [Op::Work(before), Op::Lock(lock, site), Op::Work(inside), Op::Unlock(lock), Op::Work(behind)]
        };
        turns.iter().flat_map(turn).collect()
    });
    workers(&mut script, ops.collect());
    (script.play(), lock)
}

fn turn() -> impl Strategy<Value = (u64, u64, u64)> {
    (1..100_000u64, 1..100_000u64, 1..100_000u64)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A lock that nobody waits for: each thread takes what it takes alone, and no run is shorter.
    #[test]
    fn a_free_lock_is_never_slower(turns in vec(vec(turn(), 1..8), 1..6), times in 1.0..50.0f64) {
        let (process, lock) = one_lock(&turns);
        let machine = on_ideal_cores(8);
        let free = wall(&process, &machine, &[Change::Lock(lock, LockChange::Free)]);
        let alone = turns.iter().map(|turns| turns.iter().map(|turn| turn.0 + turn.1 + turn.2).sum::<u64>());
        prop_assert_eq!(free, alone.max().unwrap_or(0));
        prop_assert!(free <= wall(&process, &machine, &[]));
        // However short the sections are, waiting for them is never less than not waiting.
        let shorter = wall(&process, &machine, &[Change::Lock(lock, LockChange::Shorter(times))]);
        let both = [Change::Lock(lock, LockChange::Shorter(times)), Change::Lock(lock, LockChange::Free)];
        prop_assert!(wall(&process, &machine, &both) <= shorter);
    }

    /// One turn of each thread at one lock: the threads come in the order in which they are ready, whatever the turns take.
    #[test]
    fn shorter_turns_are_never_slower(turns in vec(vec(turn(), 1), 1..8), times in vec(1.0..20.0f64, 2)) {
        let (process, lock) = one_lock(&turns);
        let machine = on_ideal_cores(8);
        let mut last = u64::MAX;
        let (less, more) = (times[0].min(times[1]), times[0].max(times[1]));
        for times in [1.0, less, more] {
            let shorter = wall(&process, &machine, &[Change::Lock(lock, LockChange::Shorter(times))]);
            // Rounding of each section.
            prop_assert!(shorter <= last.saturating_add(turns.len() as u64), "{} {} {}", times, shorter, last);
            last = shorter;
        }
    }

    /// Threads that do nothing but their turns: the lock is always held, and the run is the sum of its sections.
    #[test]
    fn a_lock_that_is_always_held_is_as_long_as_its_sections(inside in vec(1_000..100_000u64, 2..6), rounds in 1..20usize) {
        let turns: Vec<Vec<_>> = inside.iter().map(|&inside| vec![(1, inside, 1); rounds]).collect();
        let (process, lock) = one_lock(&turns);
        let machine = on_ideal_cores(8);
        let mut last = u64::MAX;
        for times in [1.0, 2.0, 4.0, 8.0] {
            let shorter = wall(&process, &machine, &[Change::Lock(lock, LockChange::Shorter(times))]);
            prop_assert!(shorter < last, "{} {} {}", times, shorter, last);
            last = shorter;
        }
    }

    /// More cores than threads are as many as threads.
    #[test]
    fn cores_beyond_the_threads_change_nothing(script in any_program(), more in 1..40u32) {
        let process = script.play();
        let threads = process.threads.len() as u32;
        for machine in [on_ideal_cores(threads), Machine::new(threads)] {
            let same = wall(&process, &machine, &[]);
            prop_assert_eq!(wall(&process, &machine, &[Change::Cores(threads + more)]), same);
        }
    }

    /// Meetings, joins, I/O: nobody comes first. Less work is never slower.
    #[test]
    fn faster_threads_that_only_meet_are_never_slower(
        rounds in vec(vec((1..100_000u64, 0..50_000u64), 3), 1..8),
        times in vec(1.0..10.0f64, 3),
        which in 0..3usize,
    ) {
        let mut script = Script::new();
        let barrier = script.barrier("round_done", 3);
        let site = script.site("round", 10);
        let ops = (0..3).map(|thread: usize| {
            let round = |round: &Vec<(u64, u64)>| {
                let (work, io) = round[thread];
                [Op::Work(work), Op::Read(io + 1, site), Op::Meet(barrier, site)]
            };
            rounds.iter().flat_map(round).collect()
        });
        let workers = workers(&mut script, ops.collect());
        let process = script.play();
        let machine = on_ideal_cores(4);
        let mut changes = Vec::new();
        let mut last = wall(&process, &machine, &[]);
        for (number, &times) in times.iter().enumerate() {
            changes.push(Change::Faster(vec![workers[(which + number) % 3]], times));
            let faster = wall(&process, &machine, &changes);
            prop_assert!(faster <= last, "{:?}: {} {}", changes, faster, last);
            last = faster;
        }
        changes.push(Change::Shorter(PauseKind::Io, None, times[0]));
        prop_assert!(wall(&process, &machine, &changes) <= last);
        // Nobody waits any more, or all have the same to do.
        prop_assert!(wall(&process, &machine, &[Change::Free(barrier)]) <= wall(&process, &machine, &[]));
        let balanced = wall(&process, &machine, &[Change::BalancedBarrier(barrier), Change::Shorter(PauseKind::Io, None, f64::INFINITY)]);
        prop_assert!(balanced <= wall(&process, &machine, &[Change::Shorter(PauseKind::Io, None, f64::INFINITY)]));
    }

    /// Wake-ups that cost nothing, for threads of which each waits for one certain other.
    #[test]
    fn free_wake_ups_of_a_chain_are_never_slower(works in vec(1..50_000u64, 2..20)) {
        let mut script = Script::new();
        let site = script.site("pass_on", 10);
        let chain: Vec<ObjectId> = (0..works.len()).map(|_| script.semaphore("baton", 0)).collect();
        let ops = works.iter().enumerate().map(|(place, &work)| {
            let take = place.checked_sub(1).map(|before| Op::Take(chain[before], site));
            take.into_iter().chain([Op::Work(work), Op::Post(chain[place], site)]).collect()
        });
        workers(&mut script, ops.collect());
        let process = script.play();
        let machine = Machine::new(works.len() as u32 + 1);
        let free = wall(&process, &machine, &[Change::FreeWakeUps]);
        prop_assert_eq!(free, works.iter().sum::<u64>());
        prop_assert!(wall(&process, &machine, &[]) > free);
    }
}

/// Two locks. With a shorter section of the first one a thread comes first to the second, and keeps it from the thread that has
/// most to do behind it.
#[test]
fn with_two_locks_a_shorter_section_may_be_slower() {
    let mut script = Script::new();
    let [first, second] = ["first", "second"].map(|name| script.object(ObjectKind::Mutex, name));
    let site = script.site("update", 10);
    workers(
        &mut script,
        vec![
            // Needs the second lock for a long time, and nothing behind it.
            vec![
                Op::Lock(first, site),
                Op::Work(20),
                Op::Unlock(first),
                Op::Lock(second, site),
                Op::Work(50),
                Op::Unlock(second),
            ],
            // Needs it for a short time only, before all that it has to do.
            vec![Op::Work(15), Op::Lock(second, site), Op::Work(10), Op::Unlock(second), Op::Work(60)],
        ],
    );
    let process = script.play();
    let machine = on_ideal_cores(3);
    assert_eq!(wall(&process, &machine, &[]), 85);
    assert_eq!(wall(&process, &machine, &[Change::Lock(first, LockChange::Shorter(2.0))]), 130);
    assert_eq!(wall(&process, &machine, &[Change::Lock(first, LockChange::Free)]), 85);
}

/// One lock, several turns: a shorter first section lets one thread come to its second turn before another one that has more to
/// do.
#[test]
fn with_several_turns_at_one_lock_a_shorter_section_may_be_slower() {
    let (process, lock) =
        one_lock(&[vec![(1, 40, 1), (5, 40, 1)], vec![(30, 4, 1), (1, 4, 1)], vec![(44, 2, 100)]]);
    let machine = on_ideal_cores(4);
    let walls = [1.0, 1.5, 2.0, 4.0]
        .map(|times| wall(&process, &machine, &[Change::Lock(lock, LockChange::Shorter(times))]));
    assert!(walls.windows(2).any(|pair| pair[1] > pair[0]), "{walls:?}");
}

/// Fewer cores than threads: without the lock more threads want a core at once, and the one with the most to do may get its
/// last. Which programs these are depends on who is chosen for a core; that there are some does not.
#[test]
fn with_fewer_cores_than_threads_a_free_lock_may_be_slower() {
    let machine = Machine { slice: 100_000_000, ..on_ideal_cores(2) };
    let slower = (0..400u64).filter(|seed| {
        // Lengths of a few ms each, from the bits of the seed.
        let length = |place: u64| {
            (1 + (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (3 * place + 20)) % 8) * programs::MS
        };
        let turns: Vec<Vec<(u64, u64, u64)>> =
            (0..4).map(|thread| vec![(1 + thread, length(2 * thread), length(2 * thread + 1))]).collect();
        let (process, lock) = one_lock(&turns);
        wall(&process, &machine, &[Change::Lock(lock, LockChange::Free)]) > wall(&process, &machine, &[])
    });
    assert!(slower.count() > 0);
}
