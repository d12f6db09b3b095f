//! What would help, and how much.

use holdup_model::openmp::WorkKind;
use holdup_scaling::{Hint, HintKind, Scaling};

use crate::builder::{Phase, Program, scaled};

const MS: u64 = 1_000_000;

fn first(scaling: &Scaling) -> &Hint {
    scaling.hints.first().expect("there is a hint")
}

fn one_loop(threads: &[u32], work: impl Fn(u32) -> Vec<u64>) -> Scaling {
    scaled(threads, |threads| {
        let mut program = Program::new(threads);
        program.serial(MS);
        program.parallel("loop", 0, &[Phase::of(&work(threads)).kind(WorkKind::StaticLoop).iterations(1000)]);
        program.run()
    })
}

/// The paper's Mandelbrot: a static schedule leaves threads idle, and the work costs the same whoever does it.
#[test]
fn an_uneven_static_loop() {
    let scaling = one_loop(&[1, 4], |threads| match threads {
        1 => vec![40 * MS],
        _ => vec![4 * MS, 16 * MS, 16 * MS, 4 * MS],
    });
    let hint = first(&scaling);
    assert_eq!((hint.kind, hint.bound), (HintKind::Schedule, true));
    // CPU times are taken to be known to a hundredth: if the work was inflated by that, even work would be by more.
    let gain = hint.gain.unwrap();
    assert_eq!((gain.time, gain.high), (6 * MS as i64, 6 * MS as i64));
    assert!((4 * MS as i64..6 * MS as i64).contains(&gain.low), "{gain:?}");
    // No interval is narrower than what runs differ by.
    assert!(gain.time - gain.low >= MS as i64 / 10, "{gain:?}");
    assert!(
        hint.text.contains("schedule(dynamic)") && hint.text.contains("loop (app.c:20)"),
        "{}",
        hint.text
    );
}

/// The paper's HydroMM: work gets slower the more threads are at it, which balance alone does not see.
#[test]
fn even_work_keeps_more_threads_busy_and_gets_slower() {
    // CPU time per unit of work grows by a tenth with each further thread.
    let slow = |threads: u64| 10 + (threads - 1);
    let scaling = one_loop(&[1, 2, 4], |threads| match threads {
        1 => vec![40 * MS],
        2 => vec![2 * MS * slow(2); 2],
        // Two of four threads have three quarters of the work: 10 units while four work, then 10 while two do.
        _ => vec![
            5 * MS * slow(4) / 10,
            5 * MS * slow(4) / 10 + 10 * MS * slow(2) / 10,
            5 * MS * slow(4) / 10 + 10 * MS * slow(2) / 10,
            5 * MS * slow(4) / 10,
        ],
    });
    let hint = scaling.hints.iter().find(|hint| hint.kind == HintKind::Schedule).unwrap();
    // Now 5 · 1.3 + 10 · 1.1 = 17.5 ms; even, ten units at 1.3 are 13 ms. Balance alone predicts (4 · 6.5 + 2 · 11) / 4 = 12 ms.
    let gain = hint.gain.unwrap();
    assert!((gain.time - 4_500_000).abs() < 100_000, "{gain:?}");
    assert!(gain.low < gain.time && gain.time < gain.high && gain.high < 5_500_000, "{gain:?}");
    assert!(hint.text.contains("more CPU time"), "{}", hint.text);
}

/// One thread has nearly all of the work: what threads are like together shows nowhere, and CPU times differ a little.
#[test]
fn a_little_more_cpu_time_is_no_inflation() {
    let scaling = one_loop(&[1, 2], |threads| match threads {
        1 => vec![40 * MS],
        _ => vec![MS / 10, 40 * MS],
    });
    let hint = scaling.hints.iter().find(|hint| hint.kind == HintKind::Schedule).expect("it is uneven");
    let gain = hint.gain.unwrap();
    assert!((gain.time - 19_950_000).abs() < 10_000 && gain.low < gain.time, "{gain:?}");
    assert!(!hint.text.contains("more CPU time"), "{}", hint.text);
}

#[test]
fn too_few_iterations() {
    let scaling = scaled(&[1, 2], |threads| {
        let mut program = Program::new(threads);
        let work: &[u64] = if threads == 1 { &[30 * MS] } else { &[20 * MS, 10 * MS] };
        program.parallel("loop", 0, &[Phase::of(work).kind(WorkKind::StaticLoop).iterations(3)]);
        program.run()
    });
    let hint = first(&scaling);
    assert_eq!((hint.kind, hint.gain.unwrap().time), (HintKind::Collapse, 5 * MS as i64));
}

#[test]
fn a_barrier_between_opposite_halves() {
    let scaling = scaled(&[1, 2], |threads| {
        let mut program = Program::new(threads);
        let half = |work: [u64; 2]| match threads {
            1 => Phase::of(&[work.iter().sum()]).kind(WorkKind::DynamicLoop),
            _ => Phase::of(&work).walk(1_000).kind(WorkKind::DynamicLoop),
        };
        program.parallel("halves", 0, &[half([MS, 3 * MS]), half([3 * MS, MS])]);
        program.run()
    });
    let hint = scaling.hints.iter().find(|hint| hint.kind == HintKind::Barriers).expect("a needless barrier");
    assert_eq!(hint.gain.unwrap().time, 2 * MS as i64 + 1_000);
    assert!(hint.text.contains("nowait") && !hint.bound);
}

#[test]
fn regions_that_are_too_small() {
    let scaling = scaled(&[1, 2], |threads| {
        let mut program = Program::new(threads);
        for _ in 0..50 {
            match threads {
                1 => program.parallel("tiny", 0, &[Phase::of(&[4_000])]),
                _ => program.parallel("tiny", 1_000, &[Phase::of(&[2_000, 2_000]).walk(500)]),
            }
        }
        program.run()
    });
    let hint = first(&scaling);
    assert_eq!((hint.kind, hint.gain.unwrap().time), (HintKind::CoarserRegions, 50 * 1_500));
    assert!(!scaling.hints.iter().any(|hint| hint.kind == HintKind::Runtime));
}

#[test]
fn slower_with_more_threads() {
    let scaling = one_loop(&[1, 2, 4], |threads| match threads {
        1 => vec![20 * MS],
        2 => vec![11 * MS; 2],
        _ => vec![15 * MS; 4],
    });
    let fewer = scaling.hints.iter().find(|hint| hint.kind == HintKind::FewerThreads).unwrap();
    assert_eq!((fewer.gain.unwrap().time, fewer.bound), (4 * MS as i64, false));
    let memory = scaling.hints.iter().find(|hint| hint.kind == HintKind::Memory).unwrap();
    assert_eq!((memory.gain.unwrap().time, memory.bound), (10 * MS as i64, true));
}

#[test]
fn a_serial_part() {
    let scaling = scaled(&[1, 2], |threads| {
        let mut program = Program::new(threads);
        program.serial(10 * MS);
        program.parallel("work", 0, &[Phase::of(&vec![4 * MS / u64::from(threads); threads as usize])]);
        program.run()
    });
    let hint = first(&scaling);
    assert_eq!(
        (hint.kind, hint.gain.unwrap().time, hint.bound),
        (HintKind::Parallelize, 5 * MS as i64, true)
    );
}

#[test]
fn what_is_worth_less_than_a_hundredth_is_no_hint() {
    let scaling = one_loop(&[1, 2], |threads| match threads {
        1 => vec![200 * MS],
        _ => vec![100 * MS + MS / 2, 100 * MS - MS / 2],
    });
    assert!(scaling.hints.is_empty(), "{:?}", scaling.hints);
}

/// A dynamic loop whose chunks are so large that one thread has the last of them for itself.
#[test]
fn a_dynamic_loop_with_large_chunks() {
    let scaling = scaled(&[1, 2], |threads| {
        let mut program = Program::new(threads);
        let chunks: &[&[u64]] = if threads == 1 { &[&[8 * MS; 3]] } else { &[&[8 * MS; 2], &[8 * MS]] };
        program.dealt_out("loop", chunks, 300);
        program.run()
    });
    let hint = first(&scaling);
    assert_eq!((hint.kind, hint.bound), (HintKind::Schedule, false));
    // Three chunks of 8 ms on two threads take 16 ms; in small ones 12.
    let gain = hint.gain.unwrap();
    assert!((3_500_000..=4_001_000).contains(&gain.time) && gain.low > 0, "{gain:?}");
    assert!(hint.text.contains("schedule(") && hint.text.contains("300 iterations"), "{}", hint.text);
}

#[test]
fn other_programs_on_the_cores_are_no_reason_for_fewer_threads() {
    let scaling = scaled(&[1, 2], |threads| {
        let mut program = Program::new(threads);
        let work: &[u64] = if threads == 1 { &[20 * MS] } else { &[30 * MS, 30 * MS] };
        program.parallel("work", 0, &[Phase::of(work)]);
        if threads == 2 {
            program.without_core(0, 2 * MS, 22 * MS);
            program.without_core(1, 2 * MS, 22 * MS);
        }
        program.run()
    });
    assert_eq!(scaling.points[1].costs.oversubscription, 20 * MS as i64);
    assert!(!scaling.hints.iter().any(|hint| hint.kind == HintKind::FewerThreads), "{:?}", scaling.hints);
    assert!(scaling.notes.iter().any(|note| note.contains("other programs")), "{:?}", scaling.notes);
}

/// Four threads on two cores, each without a core for half of the time: two threads take as long.
#[test]
fn fewer_threads_give_what_was_measured_and_no_more_than_the_work_allows() {
    let fewer = |numbers: &[u32]| {
        let scaling = scaled(numbers, |threads| {
            let mut program = Program::new(threads);
            let work = match threads {
                1 => vec![40 * MS],
                2 => vec![20 * MS; 2],
                _ => vec![20 * MS; 4],
            };
            program.parallel("work", 0, &[Phase::of(&work)]);
            if threads == 4 {
                (0..4).for_each(|thread| program.without_core(thread, 2 * MS, 12 * MS));
            }
            let mut run = program.run();
            run.cores = 2;
            run
        });
        let parts = scaling.points.last().map(|point| point.costs.oversubscription);
        assert_eq!(parts, Some(10 * MS as i64));
        scaling.hints.into_iter().find(|hint| hint.kind == HintKind::FewerThreads)
    };
    assert_eq!(fewer(&[1, 2, 4]).map(|hint| hint.text), None, "it was as fast with two");
    // Without a run with two, the useful work on both cores is all that is known: nothing is left to save.
    assert_eq!(fewer(&[1, 4]).map(|hint| hint.text), None);
}

/// Two regions, each slower with four threads than with two: one hint for all, before those that save less.
#[test]
fn a_program_that_is_faster_with_fewer_threads_is_told_so_once() {
    let scaling = scaled(&[1, 2, 4], |threads| {
        let mut program = Program::new(threads);
        let [first, second] = match threads {
            1 => [vec![40 * MS], vec![60 * MS]],
            2 => [vec![20 * MS; 2], vec![30 * MS; 2]],
            _ => [vec![35 * MS; 4], vec![50 * MS; 4]],
        };
        program.parallel("first", 0, &[Phase::of(&first)]);
        program.parallel("second", 0, &[Phase::of(&second)]);
        program.run()
    });
    let fewer: Vec<&Hint> = scaling.hints.iter().filter(|hint| hint.kind == HintKind::FewerThreads).collect();
    assert_eq!(fewer.len(), 1, "{fewer:?}");
    assert_eq!((fewer[0].region, &fewer[0].place), (None, &None));
    assert_eq!(fewer[0].gain.map(|gain| gain.time), Some(35 * MS as i64), "{fewer:?}");
    assert!(fewer[0].text.contains("Use 2 everywhere"), "{fewer:?}");
    assert_eq!(scaling.hints[0].kind, HintKind::FewerThreads);
}

/// Others used half of the CPUs: that waking takes long, and that more threads are slower, says nothing of the program.
#[test]
fn what_is_measured_beside_others_is_no_advice() {
    use holdup_model::{Load, Nanos};
    let with_load = |busy: u64| {
        scaled(&[1, 2], |threads| {
            let mut program = Program::new(threads);
            let work: &[u64] = if threads == 1 { &[20 * MS] } else { &[20 * MS, 13 * MS] };
            program.parallel("work", 0, &[Phase::of(work).walk(4 * MS)]);
            let mut run = program.run();
            let (span, program) = (Nanos::new(100 * MS), Nanos::new(40 * MS));
            let busy = program + Nanos::new(busy * MS);
            run.environment.load = Some(Load { span, busy, program, ..Load::default() });
            run.cores = 2;
            run
        })
    };
    let kinds = |scaling: &holdup_scaling::Scaling| -> Vec<HintKind> {
        scaling.hints.iter().map(|hint| hint.kind).collect()
    };
    let quiet = with_load(10);
    assert_eq!(quiet.used_by_others, None);
    assert!(kinds(&quiet).contains(&HintKind::Runtime), "{:?}", quiet.hints);
    assert!(quiet.hints[0].gain.is_some_and(|gain| gain.low > 0));
    let busy = with_load(100);
    assert_eq!(busy.used_by_others, Some(0.5));
    assert!(!kinds(&busy).contains(&HintKind::Runtime) && !kinds(&busy).contains(&HintKind::FewerThreads));
    // 12 ms of the region's 24 may be theirs.
    assert!(busy.hints.iter().all(|hint| hint.gain.is_some_and(|gain| gain.low > 0)), "{:?}", busy.hints);
}

/// Tasks at a join: `tasks` of a length each, one after the other on each thread with a wait before each.
fn with_tasks(threads: u32, count: u64, length: u64, wait: u64) -> holdup_model::Run {
    use holdup_model::openmp::{Instance, Task, TaskId, TaskRun};
    use holdup_model::{Nanos, ThreadId};
    let mut program = Program::new(threads);
    let each = count / u64::from(threads);
    program.parallel("tasks", 0, &[Phase::of(&vec![0; threads as usize]).walk(each * (length + wait))]);
    for number in 0..count {
        let (thread, turn) =
            (ThreadId::new((number % u64::from(threads)) as u32), number / u64::from(threads));
        let begin = turn * (length + wait) + wait;
        program.process.openmp.tasks.push(Task {
            id: TaskId::new(number + 1),
            parent: None,
            thread: ThreadId::new(0),
            time: crate::builder::at(0),
            instance: Some(Instance::new(1)),
            place: None,
            making: Some(Nanos::new(0)),
            undeferred: false,
            of_loop: false,
        });
        program.process.openmp.task_runs.push(TaskRun {
            thread,
            task: Some(TaskId::new(number + 1)),
            instance: Some(Instance::new(1)),
            begin: crate::builder::at(begin),
            end: crate::builder::at(begin + length),
            complete: true,
        });
    }
    program.run()
}

#[test]
fn threads_without_a_task_starve_and_tiny_tasks_cost_more_than_they_do() {
    let starving =
        scaled(&[1, 2], |threads| with_tasks(threads, 40, MS, if threads == 1 { 0 } else { MS / 2 }));
    let losses = starving.points[1].losses;
    assert_eq!((losses.lost, losses.starvation), (10 * MS as i64, 10 * MS as i64));
    assert_eq!(
        (first(&starving).kind, first(&starving).gain.unwrap().time),
        (HintKind::MoreTasks, 10 * MS as i64)
    );

    let tiny = scaled(&[1, 2], |threads| with_tasks(threads, 4_000, 500, if threads == 1 { 0 } else { 250 }));
    let losses = tiny.points[1].losses;
    assert_eq!((losses.lost, losses.scheduling, losses.starvation), (500_000, 500_000, 0));
    assert_eq!(first(&tiny).kind, HintKind::TaskCutoff);
}
