//! The sums that the program keeps in shared memory are those of the paper's hardware, and of its Eq. 1, for the same changes.

use holdup_model::from_fixed;
use holdup_policy::CriticalityUnit;
use holdup_trace::live::{Block, Doing, FRACTION_BITS, ThreadCell};
use proptest::prelude::*;

const THREADS: usize = 6;
/// All numbers of active threads divide it: shares of a tick are whole numbers of such parts.
const PARTS: u64 = 60;

/// What a thread does at a moment.
#[derive(Clone, Copy, Debug)]
enum Change {
    Stops,
    GoesOn,
    Ends,
}

fn changes() -> impl Strategy<Value = Vec<(usize, u64, Change)>> {
    let change = prop_oneof![4 => Just(Change::Stops), 4 => Just(Change::GoesOn), 1 => Just(Change::Ends)];
    let ticks = prop_oneof![0u64..4, 0u64..3_000_000, 0u64..30_000_000_000];
    proptest::collection::vec((0..THREADS, ticks, change), 1..120)
}

proptest! {
    #[test]
    fn sums_in_shared_memory_are_those_of_the_papers_unit(begin in 0u64..1 << 47, changes in changes()) {
        let block = Block::default();
        block.clock.starts(begin);
        let cells: [ThreadCell; THREADS] = Default::default();
        let mut unit = CriticalityUnit::new(begin);
        let mut exact = [0u64; THREADS];
        let mut now = begin;
        for (thread, cell) in (0..).zip(&cells) {
            cell.begins(&block.clock, now);
            unit.set_active(thread, now, true);
        }
        for &(thread, ticks, change) in &changes {
            let active: Vec<usize> =
                (0..THREADS).filter(|index| cells[*index].doing() == Doing::Active).collect();
            for index in &active {
                exact[*index] += ticks * (PARTS / active.len() as u64);
            }
            now += ticks;
            match change {
                Change::Stops => cells[thread].stops(&block.clock, now, Doing::Waits(1)),
                Change::GoesOn => cells[thread].goes_on(&block.clock, now),
                Change::Ends => cells[thread].ends(&block, now),
            }
            unit.set_active(thread as u32, now, cells[thread].doing() == Doing::Active);
            prop_assert_eq!(block.clock.read().active(), unit.active());
        }
        let clock = block.clock.read().at(now);
        let sums = unit.take(now, THREADS).threads;
        // A change drops less than one unit of the last place, and so does the end.
        let unit_of_last_place = 1.0 / f64::from(1u32 << FRACTION_BITS);
        let tolerance = (changes.len() + THREADS + 1) as f64 * unit_of_last_place;
        let mut of_ended = 0.0;
        for (index, cell) in cells.iter().enumerate() {
            let expected = exact[index] as f64 / PARTS as f64;
            let hardware = from_fixed(sums[index]);
            prop_assert!((hardware - expected).abs() < 0.001, "{index}: {hardware} {expected}");
            let reading = cell.read();
            if reading.doing == Doing::Nobody {
                of_ended += expected;
                continue;
            }
            let found = reading.criticality_at(clock) as f64 / f64::from(1u32 << FRACTION_BITS);
            prop_assert!(found <= expected + 0.001, "{index}: {found} {expected}");
            prop_assert!(found > expected - tolerance, "{index}: {found} {expected}");
        }
        let ended = block.ended_criticality.load(std::sync::atomic::Ordering::Relaxed);
        let ended = ended as f64 / f64::from(1u32 << FRACTION_BITS);
        prop_assert!((ended - of_ended).abs() < THREADS as f64 * tolerance, "{ended} {of_ended}");
    }
}
