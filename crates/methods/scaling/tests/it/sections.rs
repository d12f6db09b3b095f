//! Programs without OpenMP: sections between barriers, and from the creation of threads to their join.

use holdup_model::{ObjectKind, Run};
use holdup_scaling::{HintKind, Losses, RegionKind, Scaling};
use holdup_testkit::{Op, Script};

use crate::builder::{region, scaled};

const MS: u64 = 1_000_000;

fn run(script: &Script) -> Run {
    Run { processes: vec![script.play()], cores: 8, ..Run::default() }
}

/// Threads that work by these rules, started and joined by the main thread, which does 2 ms before.
fn program(threads: &[u32], ops: impl Fn(&mut Script, u32) -> Vec<Vec<Op>>) -> Scaling {
    scaled(threads, |threads| {
        let mut script = Script::new();
        script.main_does(&[Op::Work(2 * MS)]);
        let ops = ops(&mut script, threads);
        let workers: Vec<_> = ops.into_iter().map(|ops| script.thread("worker", ops)).collect();
        script.main_runs(&workers);
        run(&script)
    })
}

#[test]
fn threads_between_creation_and_join() {
    let scaling = program(&[1, 2], |_, threads| match threads {
        1 => vec![vec![Op::Work(20 * MS)]],
        _ => vec![vec![Op::Work(15 * MS)], vec![Op::Work(5 * MS)]],
    });
    let section = region(&scaling, "main");
    assert_eq!(section.kind, RegionKind::Section);
    let losses = section.points[1].losses;
    assert_eq!(losses, Losses { lost: 5 * MS as i64, imbalance: 5 * MS as i64, ..Losses::default() });
    let serial = scaling.regions.iter().find(|region| region.kind == RegionKind::Serial).unwrap();
    assert_eq!(serial.points[1].losses.serial, MS as i64);
    assert_eq!(scaling.points[1].losses.unexplained, 0);
    let hint = &scaling.hints[0];
    assert_eq!((hint.kind, hint.gain.unwrap().time, hint.bound), (HintKind::Schedule, 5 * MS as i64, true));
}

#[test]
fn barriers_cut_sections() {
    let scaling = program(&[1, 2], |script, threads| {
        let barrier = script.barrier("round_done", threads);
        let (first, second) = (script.site("first", 10), script.site("second", 20));
        let ops = |a, b, c| {
            vec![Op::Work(a), Op::Meet(barrier, first), Op::Work(b), Op::Meet(barrier, second), Op::Work(c)]
        };
        match threads {
            1 => vec![ops(4 * MS, 8 * MS, 2 * MS)],
            _ => vec![ops(MS, 4 * MS, MS), ops(3 * MS, 4 * MS, MS)],
        }
    });
    let first = &region(&scaling, "first").points[1];
    assert_eq!(first.losses, Losses { lost: MS as i64, imbalance: MS as i64, ..Losses::default() });
    assert_eq!(region(&scaling, "second").points[1].losses, Losses::default());
    assert_eq!(region(&scaling, "main").points[1].losses, Losses::default());
}

#[test]
fn late_releases_belong_to_the_section_that_they_end() {
    let scaling = program(&[1, 2], |script, threads| {
        script.wake_up_takes(if threads == 1 { 0 } else { 10_000 });
        let barrier = script.barrier("round_done", threads);
        let (first, second) = (script.site("first", 10), script.site("second", 20));
        let ops = |a, b| vec![Op::Work(a), Op::Meet(barrier, first), Op::Work(b), Op::Meet(barrier, second)];
        match threads {
            1 => vec![ops(4 * MS, 4 * MS)],
            // The one that arrives last goes on at once; the other one is woken.
            _ => vec![ops(2 * MS, 2 * MS), ops(2 * MS + 4, 2 * MS)],
        }
    });
    let losses = region(&scaling, "first").points[1].losses;
    assert_eq!((losses.startup, losses.imbalance), (10_000, 2));
    assert_eq!(region(&scaling, "second").points[1].losses.imbalance, 0);
}

#[test]
fn locks_and_queues_in_sections() {
    let scaling = program(&[1, 2], |script, threads| {
        let lock = script.object(ObjectKind::Mutex, "table");
        let site = script.site("update", 7);
        let ops = [Op::Lock(lock, site), Op::Work(MS), Op::Unlock(lock)].repeat(10 / threads as usize);
        vec![ops; threads as usize]
    });
    let losses = region(&scaling, "main").points[1].losses;
    assert_eq!(losses.lost, 5 * MS as i64);
    assert_eq!(losses.lock_contention + losses.imbalance, 5 * MS as i64);
    assert_eq!(losses.inflation + losses.unexplained, 0);
    assert!(scaling.hints.iter().any(|hint| hint.kind == HintKind::FewerConcurrent));
}
