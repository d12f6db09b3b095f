//! Sections of which little can be said: a truthful answer each, and no made-up score.

use holdup_imbalance::{CauseKind, Method, Verdict, WhyOptions, WorstInstance, why};
use holdup_model::Nanos;
use holdup_model::counts::{
    BasicBlock, BlockExit, BlockId, CountedThread, Counts, EventId, EventTable, HardwareEvent, HardwareKind,
    Instance, Section, TimeUnit, Unit,
};

use crate::planted::{self, balanced, lines};
use crate::synthetic::{Do, Synthetic, turns, when};

fn extra() -> Synthetic {
    Synthetic::new(vec![vec![
        balanced(),
        when(300, |here| here.me == 0, vec![turns(301, |_| 900, vec![Do::Work(10)])]),
    ]])
}

fn both(counts: &Counts) -> [holdup_imbalance::SectionWhy; 2] {
    [Method::Stacked, Method::Paper]
        .map(|method| why(counts, &WhyOptions { method, ..WhyOptions::default() }).sections.remove(0))
}

#[test]
fn two_or_three_threads_have_no_score() {
    for threads in [2, 3] {
        for section in both(&extra().run(threads, 3, 1)) {
            assert_eq!(section.verdict, Verdict::TooFewThreads);
            let cause = &section.causes[0];
            assert!(lines(cause).contains(&300), "{cause:#?}");
            assert_eq!((cause.score, cause.interval, cause.stable), (0.0, None, None));
            assert!(cause.charge > 0.9, "{}", cause.charge);
            assert_eq!(cause.instances, section.instances, "all were looked at together");
        }
    }
}

#[test]
fn a_recursion_of_two_or_three_threads_is_one_cause() {
    for threads in [2, 3] {
        let counts = Synthetic::new(planted::tree()).run(threads, 3, 7);
        let section = both(&counts)[0].clone();
        let cause = &section.causes[0];
        assert!(cause.kind == CauseKind::Recursion && cause.charge > 0.9, "{:#?}", section.causes);
        assert_eq!(cause.counts.len(), threads as usize);
        let of_all: f64 = section.causes.iter().map(|cause| cause.charge).sum();
        assert!(of_all < 1.05, "no part of it is told again: {:#?}", section.causes);
    }
}

#[test]
fn one_thread_is_no_parallel_section() {
    for section in both(&extra().run(1, 2, 1)) {
        assert_eq!((section.verdict, section.causes.len(), section.idle), (Verdict::OneThread, 0, 0));
    }
}

#[test]
fn constant_counts_with_unequal_times_are_unexplained() {
    let mut counts = Synthetic::new(vec![vec![turns(10, |_| 50, vec![Do::Work(9)])]]).run(8, 1, 1);
    for (at, time) in counts.sections[0].instances[0].time.iter_mut().enumerate() {
        *time += 100 * at as u64;
    }
    for section in both(&counts) {
        assert_eq!((section.verdict, section.causes.len()), (Verdict::Unexplained, 0));
        assert_eq!((section.explained, section.unexplained), (0.0, 1.0));
    }
}

#[test]
fn threads_execute_equally_and_take_differently_long() {
    let mut counts = Synthetic::new(vec![vec![turns(10, |_| 500, vec![Do::Work(9)])]]).run(8, 2, 1);
    for instance in &mut counts.sections[0].instances {
        instance.native =
            Some((0..8).map(|me| Nanos::new(if me < 4 { 1_000_000 } else { 3_000_000 })).collect());
    }
    for section in both(&counts) {
        assert_eq!((section.verdict, section.causes.len()), (Verdict::ExecuteEqually, 0));
        let native = section.native.expect("it was measured");
        assert!((native.imbalance - 1.0 / 3.0).abs() < 1e-12 && (native.spread - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(native.by_instructions, None);
        assert_eq!(native.time[7], Nanos::new(6_000_000));
    }
}

#[test]
fn native_times_that_follow_instructions() {
    let mut counts = extra().run(8, 1, 1);
    let instance = &mut counts.sections[0].instances[0];
    instance.native = Some(instance.time.iter().map(|time| Nanos::new(time * 3)).collect());
    let section = &both(&counts)[0];
    let native = section.native.as_ref().expect("it was measured");
    assert!((native.by_instructions.expect("both vary") - 1.0).abs() < 1e-9);
    assert!((native.imbalance - section.imbalance).abs() < 1e-12);
}

#[test]
fn both_imbalances_by_hand() {
    // Times 10, 20, 30, 40 and 10, 10, 10, 10: idle 60 of 200; (40 − 10) / 40.
    let instance = |time: [u64; 4]| Instance {
        threads: (0..4).map(holdup_model::counts::CountedThread).collect(),
        time: time.to_vec(),
        ..Instance::default()
    };
    let instances = vec![instance([10, 20, 30, 40]), instance([10; 4])];
    let counts = Counts { sections: vec![Section { instances, ..Section::default() }], ..Counts::default() };
    let section = &both(&counts)[0];
    assert_eq!((section.idle, section.imbalance, section.spread, section.share), (60, 0.3, 0.75, 1.0));
    assert_eq!(section.time, [20, 30, 40, 50]);
    // Four threads had time for 40 and 10 instructions each.
    assert_eq!((section.capacity, section.cost), (200, 0.3));
    let worst = WorstInstance { number: 1, share: 1.0, time: vec![10, 20, 30, 40] };
    assert_eq!(section.worst, Some(worst));
    // 50 is the longest sum: 30 + 20 + 10 of 200.
    assert!((section.imbalance_of_sums() - 0.3).abs() < 1e-12);
}

#[test]
fn most_idle_time_can_be_in_one_instance() {
    let instance = |time: [u64; 2]| Instance {
        threads: (0..2).map(holdup_model::counts::CountedThread).collect(),
        time: time.to_vec(),
        ..Instance::default()
    };
    let section = |times: &[[u64; 2]]| {
        let instances = times.iter().copied().map(instance).collect();
        Section { instances, ..Section::default() }
    };
    let sections = vec![section(&[[50, 50], [20, 80], [40, 60]]), section(&[[50, 50]])];
    let counts = Counts { sections, ..Counts::default() };
    let found = &both(&counts)[0];
    let worst = WorstInstance { number: 2, share: 0.75, time: vec![20, 80] };
    // 60 and 20 of idle time; 100, 160, 120 of time for it, and 100 in the other section.
    assert_eq!((found.worst.as_ref(), found.capacity), (Some(&worst), 380));
    assert!((found.cost - 80.0 / 480.0).abs() < 1e-12);
}

#[test]
fn a_thread_that_never_enters_is_no_row() {
    let mut counts = extra().run(9, 1, 1);
    let instance = &mut counts.sections[0].instances[0];
    instance.threads.pop();
    instance.time.pop();
    instance.executed.entries.retain(|(_, row, _)| *row < 8);
    for section in both(&counts) {
        assert_eq!((section.threads, section.thread_numbers.len()), (8, 8));
        assert!(lines(&section.causes[0]).contains(&300));
    }
}

#[test]
fn code_without_a_name_is_told_as_such() {
    let mut counts = extra().run(8, 1, 1);
    for block in &mut counts.blocks {
        block.generated = true;
        block.begin.clear();
        block.end.clear();
    }
    assert_eq!(both(&counts)[0].verdict, Verdict::GeneratedCode);
}

#[test]
fn units_that_are_dealt_out_evenly_are_balanced() {
    let mut counts = Synthetic::new(vec![vec![Do::Work(1000)]]).run(8, 1, 1);
    let unit = |at: u64| Unit {
        row: 0,
        construct: 5,
        time: 1_000 + at % 3,
        executed: Vec::new(),
        library: Vec::new(),
    };
    counts.sections[0].instances[0].units = (0..800).map(unit).collect();
    for section in both(&counts) {
        assert_eq!((section.verdict, section.dealt_units), (Verdict::Balanced, 800));
    }
}

#[test]
fn misses_are_a_cause_where_they_differ_for_the_same_accesses() {
    // Time is cycles: threads execute the same, and miss differently often at one instruction.
    let mut counts = Synthetic::new(vec![vec![turns(10, |_| 1000, vec![Do::Work(9)])]]).run(8, 1, 1);
    let first = counts.edges.len() as u32;
    let event = |kind, superior| HardwareEvent {
        kind,
        at: Vec::new(),
        address: 0x40,
        block: Some(BlockId(2)),
        superior,
    };
    counts.hardware =
        vec![event(HardwareKind::Access, None), event(HardwareKind::MissL1, Some(EventId(first)))];
    counts.time_unit = TimeUnit::Cycles;
    let misses = [100, 150, 90, 700, 650, 120, 800, 400];
    let instance = &mut counts.sections[0].instances[0];
    for (row, misses) in misses.into_iter().enumerate() {
        instance.time[row] = 20_000 + 30 * misses;
        let EventTable { entries } = &mut instance.executed;
        entries.push((EventId(first), row as u32, 1000));
        entries.push((EventId(first + 1), row as u32, misses));
    }
    instance.executed.entries.sort_unstable();
    for section in both(&counts) {
        let cause = &section.causes[0];
        assert_eq!(
            (section.verdict, cause.kind, cause.leader),
            (Verdict::Found, CauseKind::CacheMiss, Some(BlockId(2)))
        );
        assert!((cause.score - 1.0).abs() < 1e-9 && cause.counts == misses, "{cause:#?}");
    }
}

#[test]
fn damaged_counts_do_not_panic() {
    let whole = extra().run(8, 2, 1);
    for damage in 0..6 {
        let mut counts = whole.clone();
        match damage {
            0 => counts.blocks.truncate(3),
            1 => counts.edges.reverse(),
            2 => counts.edges.push((BlockId(9_999), BlockId(0))),
            3 => counts.sections[0].instances[0].time.truncate(2),
            4 => counts.sections[0].instances[1].executed.entries.reverse(),
            _ => counts.sections[0].instances[0]
                .executed
                .entries
                .iter_mut()
                .for_each(|entry| entry.2 = u64::MAX),
        }
        for section in both(&counts) {
            assert!(
                section.explained.is_finite() && section.causes.iter().all(|cause| cause.charge.is_finite())
            );
        }
    }
}

#[test]
fn a_section_that_begins_and_ends_at_the_same_barrier() {
    // 0: the barrier's call; 1: behind it; 2: a loop of one block, which leads back to the barrier.
    let block =
        |address, instructions, exit| BasicBlock { address, instructions, exit, ..BasicBlock::default() };
    let instance = |number: u64| {
        let turns = |row: u64| 50 + 10 * ((row * 5 + number) % 11);
        let each = |event: u32, count: &dyn Fn(u64) -> u64| -> Vec<(EventId, u32, u64)> {
            (0..8).map(|row| (EventId(event), row as u32, count(row))).collect()
        };
        let entries = [each(0, &|_| 1), each(1, &|_| 1), each(2, &|_| 1), each(3, &turns)].concat();
        Instance {
            threads: (0..8).map(CountedThread).collect(),
            time: (0..8).map(|row| 8 + 20 * (turns(row) + 1)).collect(),
            executed: EventTable { entries },
            ..Instance::default()
        }
    };
    let counts = Counts {
        blocks: vec![
            block(0x100, 3, BlockExit::Call),
            block(0x10c, 5, BlockExit::Falls),
            block(0x120, 20, BlockExit::Branch),
        ],
        edges: vec![(0, 1), (1, 2), (2, 0), (2, 2)]
            .into_iter()
            .map(|(a, b)| (BlockId(a), BlockId(b)))
            .collect(),
        sections: vec![Section { instances: (0..3).map(instance).collect(), ..Section::default() }],
        ..Counts::default()
    };
    let cause = &both(&counts)[0].causes[0];
    assert_eq!((cause.kind, cause.leader), (CauseKind::Loop, Some(BlockId(2))));
    assert!((cause.charge - 1.0).abs() < 1e-9 && cause.score > 0.99, "{cause:#?}");
}
