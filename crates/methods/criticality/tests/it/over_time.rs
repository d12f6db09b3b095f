//! The course of a run: slices, phases, the worst second.

use holdup_criticality::{OverTime, Phase, diagnose};
use holdup_model::{Block, Call, Nanos, Process, Run, ThreadId, Time};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * MS)
}

/// Threads that are active but for these times (ms), in which they sleep.
fn process(wall: u64, asleep: &[Vec<(u64, u64)>]) -> Process {
    let mut process = Process::new(at(0), at(wall));
    for (index, spans) in asleep.iter().enumerate() {
        let thread = process.add_thread(&format!("thread {index}"), at(0), None);
        for &(begin, end) in spans {
            process.blocks.push(Block {
                thread,
                begin: at(begin),
                end: at(end),
                call: Call::Sleep,
                timed_out: false,
                site: None,
                cpu_begin: None,
                cpu_end: None,
            });
        }
    }
    process
}

fn over_time(process: Process) -> OverTime {
    diagnose(&Run { processes: vec![process], cores: 4, ..Run::default() }, 0).over_time
}

fn spans(phases: &[Phase]) -> Vec<(u64, u64)> {
    phases.iter().map(|phase| (phase.start.nanos() / MS, phase.end.nanos() / MS)).collect()
}

#[test]
fn a_serial_beginning_is_a_phase() {
    let over_time = over_time(process(1_000, &[vec![], vec![(0, 400)], vec![(0, 400)], vec![(0, 400)]]));
    assert_eq!((over_time.slice, over_time.slices.len()), (Nanos::new(10 * MS), 100));
    assert_eq!(spans(&over_time.phases), [(0, 400), (400, 1_000)]);
    let [first, second] = &over_time.phases[..] else { panic!("two phases") };
    assert_eq!((first.parallelism, second.parallelism), (1.0, 4.0));
    assert_eq!(first.threads, [(ThreadId::new(0), 400.0 * MS as f64)]);
    let each = 150.0 * MS as f64;
    assert_eq!(second.threads, [0, 1, 2, 3].map(|thread| (ThreadId::new(thread), each)));
    assert_eq!((first.nobody, over_time.worst), (0.0, None));
}

#[test]
fn a_steady_run_has_one_phase_whatever_its_rhythm_and_its_disturbances() {
    // Rounds of 30 ms in which two threads work together for 20 ms, and one alone for 10 ms.
    let rounds: Vec<(u64, u64)> = (0..100).map(|round| (round * 30 + 20, round * 30 + 30)).collect();
    assert_eq!(spans(&over_time(process(3_000, &[vec![], rounds])).phases), [(0, 3_000)]);
    // A stall of 40 ms in a run of 3 s.
    let stall = vec![(1_000, 1_040)];
    assert_eq!(spans(&over_time(process(3_000, &[stall.clone(), stall])).phases), [(0, 3_000)]);
}

#[test]
fn work_that_goes_from_thread_to_thread_of_one_sort_is_one_phase() {
    let turn = |thread: u64| match thread {
        0 => vec![(500, 1_000)],
        _ => vec![(0, 500)],
    };
    let mut both = process(1_000, &[vec![(0, 1_000)], turn(0), turn(1)]);
    assert_eq!(spans(&over_time(both.clone()).phases), [(0, 1_000)]);
    both.threads[2].name = Some("other".to_owned());
    assert_eq!(spans(&over_time(both).phases), [(0, 500), (500, 1_000)]);
}

#[test]
fn there_are_at_most_twelve_phases() {
    let rests: Vec<(u64, u64)> = (0..8).map(|round| (round * 250 + 125, round * 250 + 250)).collect();
    let phases = over_time(process(2_000, &[vec![], rests.clone(), rests])).phases;
    assert_eq!(phases.len(), 12);
}

#[test]
fn the_worst_second_is_the_first_with_the_lowest_parallelism() {
    let rest = vec![(2_300, 2_900), (4_500, 4_600)];
    let over_time = over_time(process(5_000, &[vec![], rest.clone(), rest.clone(), rest]));
    assert_eq!(over_time.slices.len(), 200);
    let worst = over_time.worst.expect("the run is long enough");
    assert_eq!(spans(std::slice::from_ref(&worst)), [(1_900, 2_900)]);
    assert!((worst.parallelism - 2.2).abs() < 1e-12);
    assert_eq!(worst.threads[0], (ThreadId::new(0), 700.0 * MS as f64));
}

#[test]
fn the_worst_second_of_a_long_run_is_a_second() {
    // Three hours: a slice is nearly a minute.
    let wall = 3 * 3_600_000;
    let worst = over_time(process(wall, &[vec![], vec![(7_000_000, 7_000_500)]])).worst.expect("long enough");
    assert_eq!(spans(std::slice::from_ref(&worst)), [(6_999_500, 7_000_500)]);
}

fn any_run() -> impl Strategy<Value = Process> {
    let thread = proptest::collection::vec((0..3_000u64, 1..800u64), 0..6);
    (proptest::collection::vec(thread, 1..6), 1..3_000u64).prop_map(|(threads, wall)| {
        let spans =
            |thread: Vec<(u64, u64)>| thread.into_iter().map(|(begin, length)| (begin, begin + length));
        process(wall, &threads.into_iter().map(|thread| spans(thread).collect()).collect::<Vec<_>>())
    })
}

proptest! {
    #[test]
    fn slices_and_phases_add_up_to_the_run(process in any_run()) {
        let run = Run { processes: vec![process], cores: 4, ..Run::default() };
        let diagnosis = diagnose(&run, 0);
        let process = &run.processes[0];
        let OverTime { slice, slices, phases, worst } = &diagnosis.over_time;
        prop_assert!(slices.len() <= 200 && phases.len() <= 12);
        prop_assert_eq!(slices.len() as u64, process.wall().get().div_ceil(slice.get()));
        prop_assert_eq!(phases[0].start, process.start);
        prop_assert_eq!(phases[phases.len() - 1].end, process.end);
        prop_assert!(phases.windows(2).all(|pair| pair[0].end == pair[1].start));
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-2;
        let mut by_slice = vec![0.0; process.threads.len()];
        let mut by_phase = by_slice.clone();
        slices.iter().flat_map(|slice| &slice.threads).for_each(|(thread, own)| by_slice[thread.index()] += own);
        phases.iter().flat_map(|phase| &phase.threads).for_each(|(thread, own)| by_phase[thread.index()] += own);
        for (index, &own) in diagnosis.criticality.threads.iter().enumerate() {
            prop_assert!(close(by_slice[index], own) && close(by_phase[index], own));
        }
        let nobody = diagnosis.criticality.nobody_total();
        prop_assert!(close(slices.iter().map(|slice| slice.nobody).sum(), nobody));
        prop_assert!(close(phases.iter().map(|phase| phase.nobody).sum(), nobody));
        for phase in phases.iter().chain(worst) {
            let length = phase.end.since(phase.start).get() as f64;
            let sum = phase.threads.iter().map(|(_, own)| own).sum::<f64>() + phase.nobody;
            prop_assert!(close(sum, length), "{} instead of {}", sum, length);
        }
        if let Some(worst) = worst {
            prop_assert_eq!(worst.end.since(worst.start), Nanos::new(1_000 * MS));
        }
    }
}
