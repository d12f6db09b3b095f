//! The governor on random interleavings: criticality online against Eq. 1 over the whole run.

use holdup_model::{Fixed, from_fixed};
use holdup_policy::{All, Alone, Change, Chosen, Critical, Governor, Record, Rules, WaitTable};
use proptest::prelude::*;

/// A thread's times of activity: pairs of pause and length.
type Course = Vec<(u64, u64)>;

fn intervals(course: &Course) -> Vec<(u64, u64)> {
    let mut at = 0;
    let one = |&(pause, length): &(u64, u64)| {
        let begin = at + pause;
        at = begin + length;
        (begin, at)
    };
    course.iter().map(one).collect()
}

/// Eq. 1: all times at which something changes divide the run, and each part is shared by who is active in it.
fn offline(courses: &[Course], end: u64) -> (Vec<Fixed>, u64) {
    let all: Vec<Vec<(u64, u64)>> = courses.iter().map(intervals).collect();
    let mut times: Vec<u64> =
        all.iter().flatten().flat_map(|&(begin, end)| [begin, end]).chain([0, end]).collect();
    times.sort_unstable();
    let (mut sums, mut nobody) = (vec![0; courses.len()], 0);
    for two in times.windows(2) {
        let is_active = |own: &&Vec<(u64, u64)>| own.iter().any(|part| part.0 <= two[0] && two[1] <= part.1);
        let running = all.iter().filter(is_active).count() as u128;
        let length = two[1] - two[0];
        if running == 0 {
            nobody += length;
            continue;
        }
        for (sum, own) in sums.iter_mut().zip(&all) {
            if is_active(&own) {
                *sum += u128::from(length) * ((1u128 << 64) / running);
            }
        }
    }
    (sums, nobody)
}

fn online(courses: &[Course], end: u64, slice: u64, steps: &[u64]) -> Record {
    let policy = Box::new(Critical::new(Rules::default()));
    let mut governor = Governor::new(policy, slice, WaitTable::new(0), courses.len());
    let all: Vec<Vec<(u64, u64)>> = courses.iter().map(intervals).collect();
    // What begins or ends in a step is told thread by thread, so not in the order of time.
    let mut at = 0;
    for step in steps.iter().chain(&[u64::MAX / 2]) {
        let until = at + step;
        for (thread, own) in (0..).zip(&all) {
            for &(begin, end) in own {
                for (time, change) in [(begin, Change::Active), (end, Change::Inactive)] {
                    if (at..until).contains(&time) {
                        governor.tell(time, thread, change);
                    }
                }
            }
        }
        at = until;
        if until < end {
            governor.advance(until);
        }
    }
    governor.finish(end)
}

fn courses() -> impl Strategy<Value = Vec<Course>> {
    prop::collection::vec(prop::collection::vec((0u64..50, 1u64..60), 0..8), 1..7)
}

proptest! {
    #[test]
    fn online_criticality_is_offline_criticality_whatever_the_slices(
        courses in courses(),
        slice in 1u64..200,
        steps in prop::collection::vec(1u64..80, 0..10),
        more in 0u64..30,
    ) {
        let last = courses.iter().flat_map(intervals).map(|part| part.1).max().unwrap_or(0);
        let end = last + more;
        let record = online(&courses, end, slice, &steps);
        let (sums, nobody) = offline(&courses, end);
        let mut found = record.criticality();
        found.resize(courses.len(), 0);
        prop_assert_eq!(found, sums);
        prop_assert_eq!(record.slices.iter().map(|slice| slice.nobody).sum::<u64>(), nobody);
    }

    #[test]
    fn criticality_sums_to_the_length_of_each_slice(courses in courses(), slice in 1u64..200) {
        let end = courses.iter().flat_map(intervals).map(|part| part.1).max().unwrap_or(0);
        let record = online(&courses, end, slice, &[]);
        let mut begin = 0;
        for slice in &record.slices {
            let length = slice.end - begin;
            let sum: Fixed = slice.criticality.iter().sum::<Fixed>() + (u128::from(slice.nobody) << 64);
            let lost = (u128::from(length) << 64) - sum;
            prop_assert!(lost <= u128::from(length) * courses.len() as u128);
            begin = slice.end;
        }
        prop_assert_eq!(begin, end);
    }

    #[test]
    fn no_two_spans_of_one_policy_with_one_fast_thread_overlap(courses in courses(), slice in 1u64..50) {
        let end = courses.iter().flat_map(intervals).map(|part| part.1).max().unwrap_or(0);
        let record = online(&courses, end, slice, &[]);
        for two in record.spans.windows(2) {
            prop_assert!(two[0].begin < two[0].end && two[0].end <= two[1].begin);
        }
    }
}

fn governor(policy: Box<dyn holdup_policy::Policy>, threads: usize) -> Governor {
    Governor::new(policy, 100, WaitTable::new(0), threads)
}

#[test]
fn the_critical_thread_of_a_slice_is_fast_in_the_next() {
    let mut governor = governor(Box::new(Critical::new(Rules::default())), 2);
    for (thread, end) in [(0, 40), (1, 90)] {
        governor.tell(0, thread, Change::Active);
        governor.tell(end, thread, Change::Inactive);
        governor.tell(95, thread, Change::Active);
    }
    governor.advance(100);
    // From 40 to 90 thread 1 is alone, which is enough for the second reactive rule.
    assert!(governor.is_fast(1) && !governor.is_fast(0));
    let record = governor.finish(150);
    assert_eq!(
        record.spans.iter().map(|span| (span.thread, span.begin, span.end)).collect::<Vec<_>>(),
        [(1, 40, 90), (1, 95, 150)]
    );
    assert_eq!(record.slices.len(), 2);
    assert_eq!(from_fixed(record.slices[0].criticality[1]), 20.0 + 50.0 + 2.5);
    assert_eq!(from_fixed(record.slices[0].criticality[0]), 20.0 + 2.5);
    assert_eq!(record.slices[0].nobody, 5);
}

#[test]
fn who_only_joins_does_not_make_the_others_critical() {
    let slices = |waits: Change| {
        let mut governor =
            governor(Box::new(Critical::new(Rules { alone: Alone::Ignored, ..Rules::default() })), 3);
        governor.tell(0, 0, Change::Active);
        governor.tell(1, 0, Change::Inactive);
        governor.tell(1, 0, waits);
        governor.tell(1, 1, Change::Active);
        governor.tell(1, 2, Change::Active);
        governor.advance(100);
        (0..3).any(|thread| governor.is_fast(thread))
    };
    assert!(!slices(Change::Joins));
    assert!(slices(Change::Waits(7)), "who waits for a lock all the time makes the holder critical");
}

#[test]
fn a_run_that_ends_with_a_slice_has_no_empty_one_behind() {
    let mut governor = governor(Box::new(All), 1);
    governor.tell(0, 0, Change::Active);
    let record = governor.finish(200);
    assert_eq!(record.slices.iter().map(|slice| slice.end).collect::<Vec<_>>(), [100, 200]);
    assert_eq!(record.work().updates, 3);
}

#[test]
fn nobody_is_fast_without_a_policy() {
    let mut governor = governor(Box::new(Chosen::nobody()), 1);
    governor.tell(0, 0, Change::Active);
    assert_eq!(governor.finish(250).spans, []);
}
