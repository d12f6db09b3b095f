extern crate std;

use std::vec::Vec;

use proptest::prelude::*;

use super::*;

const ONE: u64 = 1 << FRACTION_BITS;

/// The paper's Fig. 2 with pieces of 4 ticks: three of four threads wait, one after the other.
#[test]
fn who_works_while_others_wait_gets_more() {
    let block = Block::default();
    let cells: [ThreadCell; 4] = Default::default();
    cells.iter().for_each(|cell| cell.begins(&block.clock, 100));
    for (index, now) in [(3, 104), (2, 108), (1, 112)] {
        cells[index].stops(&block.clock, now, Doing::Team);
    }
    let end = block.clock.read().at(116);
    let ticks: Vec<f64> =
        cells.iter().map(|cell| cell.read().criticality_at(end) as f64 / ONE as f64).collect();
    let third = 4.0 / 3.0;
    for (found, expected) in ticks.iter().zip([1.0 + third + 2.0 + 4.0, 1.0 + third + 2.0, 1.0 + third, 1.0])
    {
        assert!((found - expected).abs() < 0.02, "{found} {expected}");
    }
    assert_eq!(cells[0].read().active_at(116), 16);
    assert_eq!(end.active(), 1);
}

#[test]
fn a_time_before_the_last_change_is_no_time() {
    let block = Block::default();
    let cells: [ThreadCell; 2] = Default::default();
    cells[0].begins(&block.clock, 1000);
    cells[1].begins(&block.clock, 990);
    assert_eq!(block.clock.read().time(), 1000);
    cells[0].stops(&block.clock, 1010, Doing::Team);
    assert_eq!(cells[0].read().criticality, 5 * ONE);
}

#[test]
fn the_time_wraps_around() {
    let block = Block::default();
    let cell = ThreadCell::default();
    let begin = TIME_MASK - 3;
    block.clock.starts(begin);
    cell.begins(&block.clock, begin);
    cell.stops(&block.clock, begin + 10, Doing::Calls(1));
    assert_eq!(cell.read().criticality, 10 * ONE);
    assert_eq!(cell.read().doing, Doing::Calls(1));
}

#[test]
fn what_is_said_twice_counts_once_and_an_ended_thread_is_added_to_the_ended_ones() {
    let block = Block::default();
    let cell = ThreadCell::default();
    cell.begins(&block.clock, 0);
    cell.goes_on(&block.clock, 5);
    cell.stops(&block.clock, 10, Doing::Waits(1));
    cell.stops(&block.clock, 20, Doing::Team);
    assert_eq!(cell.read().doing, Doing::Waits(1));
    cell.goes_on(&block.clock, 30);
    cell.ends(&block, 40);
    cell.ends(&block, 50);
    assert_eq!(block.ended_criticality.load(Ordering::Relaxed), 20 * ONE);
    assert_eq!(block.ended_active.load(Ordering::Relaxed), 20);
    assert_eq!(block.ended_changes.load(Ordering::Relaxed), 3);
    assert_eq!((block.ended_threads.load(Ordering::Relaxed), block.clock.read().active()), (1, 0));
    assert_eq!(cell.read().doing, Doing::Nobody);
}

#[test]
fn a_state_is_a_word_and_back() {
    for doing in
        [Doing::Nobody, Doing::Active, Doing::Team, Doing::Waits(0), Doing::Waits(255), Doing::Calls(7)]
    {
        assert_eq!(Doing::from_word(doing.word()), doing);
    }
}

/// Threads change at the same time, each by its own time, and are read meanwhile. Whatever the order: the criticality of all
/// is the time for which somebody was active, and no reading goes backward.
#[test]
fn the_sum_over_threads_is_the_time_with_somebody_active_however_they_interleave() {
    const THREADS: usize = 4;
    const ROUNDS: u64 = 20_000;
    let block = Block::default();
    let cells: [ThreadCell; THREADS] = Default::default();
    let tick = AtomicU64::new(1);
    let next = || tick.fetch_add(1, Ordering::SeqCst);
    // One thread is active all the time.
    let always = ThreadCell::default();
    let begin = next();
    always.begins(&block.clock, begin);
    let (block, cells_ref, next_ref) = (&block, &cells, &next);
    std::thread::scope(|scope| {
        for cell in cells_ref {
            scope.spawn(move || {
                cell.begins(&block.clock, next_ref());
                for round in 0..ROUNDS {
                    cell.stops(&block.clock, next_ref(), Doing::Waits(round as u8));
                    cell.goes_on(&block.clock, next_ref());
                }
            });
        }
        scope.spawn(move || {
            let mut last = [0; THREADS];
            for _ in 0..1000 {
                let clock = block.clock.read();
                for (cell, last) in cells_ref.iter().zip(&mut last) {
                    let reading = cell.read();
                    assert!(reading.criticality >= *last);
                    *last = reading.criticality;
                    assert!(reading.criticality_at(clock) >= reading.criticality);
                }
            }
        });
    });
    let end = next();
    cells.iter().for_each(|cell| cell.ends(block, end));
    always.ends(block, end);
    let sum = block.ended_criticality.load(Ordering::Relaxed);
    let changes = block.ended_changes.load(Ordering::Relaxed);
    assert_eq!(changes, 2 * ROUNDS * THREADS as u64 + THREADS as u64 + 1);
    let expected = (end - begin) << FRACTION_BITS;
    // Each change drops less than a unit for each active thread.
    assert!(sum <= expected && expected - sum <= (changes + 10) * (THREADS as u64 + 1), "{sum} {expected}");
}

proptest! {
    #[test]
    fn the_sum_is_the_time_with_somebody_active(
        script in proptest::collection::vec((0usize..5, 0u64..1000), 1..200)
    ) {
        let block = Block::default();
        let cells: [ThreadCell; 5] = Default::default();
        cells.iter().for_each(|cell| {
            cell.begins(&block.clock, 0);
            cell.stops(&block.clock, 0, Doing::Team);
        });
        let (mut now, mut with_somebody) = (0, 0);
        let mut is_active = [false; 5];
        for (thread, passed) in &script {
            now += passed;
            with_somebody += if is_active.contains(&true) { *passed } else { 0 };
            let cell = &cells[*thread];
            if is_active[*thread] { cell.stops(&block.clock, now, Doing::Team) } else { cell.goes_on(&block.clock, now) }
            is_active[*thread] ^= true;
        }
        let end = block.clock.read().at(now);
        let sum: u64 = cells.iter().map(|cell| cell.read().criticality_at(end)).sum();
        let expected = with_somebody << FRACTION_BITS;
        prop_assert!(sum <= expected && expected - sum <= 5 * script.len() as u64);
    }
}
