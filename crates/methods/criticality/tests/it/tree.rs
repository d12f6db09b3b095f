//! Runs of many processes: what decided how long they took.

use holdup_criticality::{Came, ProcessTree};
use holdup_model::{Block, Call, Nanos, Process, Run, ThreadId, Time};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * MS)
}

fn ms(ms: u64) -> Nanos {
    Nanos::new(ms * MS)
}

/// Processes with one thread each.
#[derive(Default)]
struct Script {
    processes: Vec<Process>,
}

impl Script {
    /// A process that is active from `start` to `end` (ms) but for these calls.
    fn add(
        &mut self,
        (pid, parent): (u32, u32),
        command: &str,
        (start, end): (u64, u64),
        waits: &[(u64, u64, Call)],
    ) {
        let mut process = Process::new(at(start), at(end));
        (process.pid, process.parent_pid) = (pid, parent);
        process.command = command.split(' ').map(str::to_owned).collect();
        process.seen_by.preload = true;
        process.add_thread("", at(start), Some(at(end)));
        let thread = ThreadId::new(0);
        let mut cpu = ms(end - start);
        for &(begin, end, call) in waits {
            let (begin, end) = (at(begin), at(end));
            process.blocks.push(Block {
                thread,
                begin,
                end,
                call,
                timed_out: false,
                site: None,
                cpu_begin: None,
                cpu_end: None,
            });
            cpu = cpu.saturating_sub(end.since(begin));
        }
        process.threads[0].cpu = Some(cpu);
        self.processes.push(process);
    }

    fn run(self) -> Run {
        let end = self.processes.iter().map(|process| process.end).max().expect("processes");
        Run { start: at(0), end, cores: 2, processes: self.processes, ..Run::default() }
    }
}

/// `make` with jobs of 10, 20 and 30 ms one after the other, and 10 ms of its own between them.
fn one_after_the_other(flag: &str) -> Run {
    let mut script = Script::default();
    let waits = [(10, 20, Call::WaitChild), (30, 50, Call::WaitChild), (60, 90, Call::WaitChild)];
    script.add((1, 0), &format!("/usr/bin/make{flag}"), (0, 100), &waits);
    for (pid, (start, end)) in (2..).zip([(10, 20), (30, 50), (60, 90)]) {
        script.add((pid, 1), &format!("cc -o out{pid}.o"), (start, end), &[]);
    }
    script.run()
}

/// Whose each step is, and how long (ms).
fn steps(tree: &ProcessTree) -> Vec<(usize, u64)> {
    tree.path.iter().map(|step| (step.process, step.length().get() / MS)).collect()
}

#[test]
fn the_path_goes_along_the_ends_of_children() {
    let run = one_after_the_other("");
    let tree = ProcessTree::of(&run).expect("a tree");
    assert_eq!(tree.processes, 4);
    assert_eq!(steps(&tree), [(0, 10), (1, 10), (0, 10), (2, 20), (0, 10), (3, 30), (0, 10)]);
    let came: Vec<Came> = tree.path.iter().map(|step| step.came).collect();
    let turns = [Came::Started, Came::Ended];
    assert_eq!(came, [&[Came::First][..], &turns, &turns, &turns].concat());
    let cc = &tree.programs[0];
    assert_eq!((cc.program.as_str(), cc.processes, cc.on_path, cc.cpu), ("cc", 3, ms(60), ms(60)));
    assert_eq!(cc.longest, Some((3, ms(30))));
    assert!((cc.criticality - 60.0 * MS as f64).abs() < 10.0);
    assert_eq!((tree.alone(), tree.nobody()), (ms(100), ms(0)));
    assert!(tree.is_the_subject(&run));
}

#[test]
fn jobs_that_waited_for_a_place_are_run_at_once() {
    let tree = ProcessTree::of(&one_after_the_other("")).expect("a tree");
    let jobs = tree.jobs.expect("jobs");
    assert_eq!((jobs.runner.as_str(), jobs.count, jobs.limit, jobs.most, jobs.waited), ("make", 3, 1, 1, 0));
    let told: Vec<_> = jobs.forecasts.iter().map(|one| (one.limit, one.cores, one.wall.get() / MS)).collect();
    // The second begins 10 ms after the first, the third 10 ms after that, when the first has ended: 20 + 30.
    let expected =
        [(Some(1), Some(2), 100), (Some(2), Some(2), 70), (Some(4), Some(4), 70), (None, None, 70)];
    assert_eq!(told, expected);
}

#[test]
fn jobs_that_waited_for_others_stay_behind_them() {
    // Two could have run at once, and one did: each needs the one before.
    let tree = ProcessTree::of(&one_after_the_other(" -j2")).expect("a tree");
    let jobs = tree.jobs.expect("jobs");
    assert_eq!((jobs.limit, jobs.most, jobs.waited), (2, 1, 2));
    assert!(jobs.forecasts.iter().all(|one| one.wall == ms(100)), "{:?}", jobs.forecasts);
}

#[test]
fn what_reads_waits_for_who_writes() {
    let mut script = Script::default();
    script.add((1, 0), "sh", (0, 100), &[(1, 99, Call::WaitChild)]);
    script.add((2, 1), "gzip -9", (1, 95), &[]);
    let reads: Vec<(u64, u64, Call)> =
        (0..9).map(|turn| (2 + 10 * turn, 10 + 10 * turn, Call::Read)).collect();
    script.add((3, 1), "sha256sum", (1, 99), &reads);
    let tree = ProcessTree::of(&script.run()).expect("a tree");
    let first = &tree.programs[0];
    assert_eq!(first.program, "gzip");
    assert!(first.on_path >= ms(80), "{first:?}");
    assert!(tree.path.iter().any(|step| step.came == Came::Fed));
    assert_eq!(tree.jobs, None);
}

#[test]
fn what_a_process_executed_before_does_not_hide_who_feeds_it() {
    // A shell executes a script's interpreter, which reads what its child writes until that closes its end, shortly before
    // it is gone.
    let mut script = Script::default();
    script.add((1, 0), "sh -c driver", (0, 5), &[]);
    script.add((1, 0), "python3 driver", (5, 100), &[(10, 90, Call::Read)]);
    script.add((2, 1), "core", (10, 91), &[]);
    let tree = ProcessTree::of(&script.run()).expect("a tree");
    assert_eq!(steps(&tree), [(0, 5), (1, 5), (2, 80), (1, 10)]);
    assert_eq!(tree.path.last().map(|step| (step.came, step.waited)), Some((Came::Fed, ms(0))));
}

#[test]
fn a_program_waits_for_what_the_process_started_before_it_executed_that() {
    // A shell starts one in the background and executes what waits for it, by its end and by what it writes.
    for call in [Call::WaitChild, Call::Read] {
        let mut script = Script::default();
        script.add((1, 0), "sh script", (0, 10), &[]);
        script.add((2, 1), "maker", (5, 80), &[]);
        script.add((1, 0), "taker", (10, 100), &[(20, 80, call)]);
        let tree = ProcessTree::of(&script.run()).expect("a tree");
        assert_eq!(steps(&tree), [(0, 5), (1, 75), (2, 20)], "{call:?}");
        assert_eq!(tree.programs[0].program, "maker");
    }
}

#[test]
fn one_process_may_execute_several_programs() {
    let mut script = Script::default();
    script.add((1, 0), "sh script", (0, 10), &[]);
    script.add((1, 0), "cc a.c", (10, 30), &[]);
    assert_eq!(ProcessTree::of(&script.run()), None);
    let mut script = Script::default();
    script.add((1, 0), "make", (0, 40), &[(1, 39, Call::WaitChild)]);
    script.add((2, 1), "sh script", (1, 9), &[]);
    script.add((2, 1), "cc a.c", (9, 39), &[]);
    let tree = ProcessTree::of(&script.run()).expect("a tree");
    assert_eq!((tree.processes, tree.programs.len()), (2, 3));
    assert_eq!(steps(&tree), [(0, 1), (1, 8), (2, 30), (0, 1)]);
}

#[test]
fn a_wrapper_is_not_what_a_run_is_about() {
    let mut script = Script::default();
    script.add((1, 0), "timeout 9 app", (0, 1_000), &[(2, 999, Call::WaitChild)]);
    script.add((2, 1), "app", (2, 999), &[]);
    let run = script.run();
    assert!(!ProcessTree::of(&run).expect("a tree").is_the_subject(&run));
}

#[test]
fn a_wait_for_time_is_nobody_else_s() {
    let mut script = Script::default();
    script.add((1, 0), "sh", (0, 100), &[(10, 60, Call::Sleep)]);
    // It ends while the other sleeps, and after that another is at work for the rest of the sleep.
    script.add((2, 1), "logger", (5, 30), &[]);
    script.add((3, 1), "watcher", (5, 80), &[]);
    let tree = ProcessTree::of(&script.run()).expect("a tree");
    assert_eq!(steps(&tree), [(0, 100)]);
    assert_eq!(tree.path[0].waited, ms(50));
}

#[test]
fn what_ended_long_ago_is_not_what_was_read() {
    let mut script = Script::default();
    script.add((1, 0), "sh", (0, 100), &[(10, 90, Call::Read)]);
    script.add((2, 1), "first", (5, 20), &[]);
    script.add((3, 1), "second", (5, 95), &[]);
    let tree = ProcessTree::of(&script.run()).expect("a tree");
    assert_eq!(steps(&tree), [(0, 5), (2, 85), (0, 10)]);
    assert_eq!(tree.path.last().map(|step| step.came), Some(Came::Fed));
    // Without another at work the child that ended is what there is, and the rest of the wait is told as one.
    let mut script = Script::default();
    script.add((1, 0), "sh", (0, 100), &[(10, 90, Call::WaitChild)]);
    script.add((2, 1), "first", (5, 20), &[]);
    let tree = ProcessTree::of(&script.run()).expect("a tree");
    assert_eq!(steps(&tree), [(0, 5), (1, 15), (0, 80)]);
    assert_eq!(tree.path[2].waited, ms(70));
}

/// Any tree of processes: times in ms, a parent before its children.
fn any_run() -> impl Strategy<Value = Run> {
    let call = prop_oneof![Just(Call::WaitChild), Just(Call::Read), Just(Call::Sleep), Just(Call::Poll)];
    let process =
        (0u32..40, 0u64..200, 1u64..200, prop::collection::vec((0u64..200, 1u64..50, call), 0..6), 0u8..4);
    prop::collection::vec(process, 1..12).prop_map(|processes| {
        let mut script = Script::default();
        script.add((100, 0), "make -j2", (0, 400), &[(5, 395, Call::WaitChild)]);
        for (index, (parent, start, length, waits, program)) in processes.into_iter().enumerate() {
            let pid = 101 + index as u32 / 2;
            let parent = 100 + parent % (index as u32 + 1);
            let end = (start + length).min(400);
            let program = ["cc a.c", "make", "sh -c x", "ld"][usize::from(program)];
            let mut at = start;
            let mut kept = Vec::new();
            for (gap, length, call) in waits {
                let (begin, until) = (at + gap, at + gap + length);
                if until <= end {
                    kept.push((begin, until, call));
                    at = until;
                }
            }
            script.add((pid, parent), program, (start, end), &kept);
        }
        script.run()
    })
}

proptest! {
    #[test]
    fn a_tree_adds_up(run in any_run()) {
        let Some(tree) = ProcessTree::of(&run) else { return Ok(()) };
        let wall = run.end.since(run.start);
        prop_assert_eq!(tree.at_once.iter().copied().sum::<Nanos>(), wall);
        // The path is the run, without gaps.
        prop_assert_eq!(tree.path[0].from, run.start);
        prop_assert_eq!(tree.path[tree.path.len() - 1].to, run.end);
        for pair in tree.path.windows(2) {
            prop_assert_eq!(pair[0].to, pair[1].from);
        }
        prop_assert!(tree.path.iter().all(|step| step.waited <= step.length()));
        prop_assert_eq!(tree.programs.iter().map(|one| one.on_path).sum::<Nanos>(), wall);
        // Criticality and the time of nobody are the run.
        let critical: f64 = tree.programs.iter().map(|one| one.criticality).sum();
        prop_assert!((critical + tree.nobody().get() as f64 - wall.get() as f64).abs() < 100.0);
        prop_assert!(tree.parallelism() <= run.processes.len() as f64);
        let mean = tree.over_time.iter().sum::<f64>() / tree.over_time.len() as f64;
        prop_assert!((mean - tree.parallelism()).abs() < 0.01);
        if let Some(jobs) = tree.jobs {
            prop_assert!(jobs.mean <= f64::from(jobs.most) + 1e-9);
            for one in jobs.forecasts {
                let cores = one.cores.unwrap_or(u32::MAX);
                prop_assert!(one.wall.get() >= tree.cpu.get() / u64::from(cores));
            }
        }
    }
}
