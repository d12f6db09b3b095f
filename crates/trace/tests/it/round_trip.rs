//! What is written is read back, and rubbish never does harm.

use holdup_trace::alone::{AloneCode, Stretch};
use holdup_trace::shared::{pop, push, take_all};
use holdup_trace::wire::{
    self, BadRecord, BusyLock, LockCost, ObjectCode, OutcomeCode, Record, Tag, WaitRecord,
};
use proptest::prelude::*;
use std::sync::atomic::{AtomicU32, AtomicU64};

proptest! {
    #[test]
    fn a_wait_is_read_as_it_was_written(
        begin: u64, end: u64, object: u64, stack: u64, mutex: u64, cpu_begin: u64, cpu_end: u64, owner_tid: u32,
        kind in prop::sample::select(ObjectCode::ALL), outcome in prop::sample::select(OutcomeCode::ALL),
        shared_mode: bool, process_shared: bool,
    ) {
        let wait = WaitRecord {
            begin, end, object, kind, shared_mode, process_shared, outcome, owner_tid, stack, mutex, cpu_begin, cpu_end,
        };
        let words = wire::wait(&wait);
        prop_assert_eq!(wire::read(&words), Ok((Record::Wait(wait), 8)));
    }

    #[test]
    fn a_hold_is_read_as_it_was_written(
        begin: u64, end: u64, object: u64, acquired_at: u64, stack: u64, shared_mode: bool, waited_for: bool,
        kind in prop::sample::select(ObjectCode::ALL),
    ) {
        let words = wire::hold(begin, end, object, kind, shared_mode, waited_for, acquired_at, stack);
        let expected = Record::Hold { begin, end, object, kind, shared_mode, waited_for, acquired_at, stack };
        prop_assert_eq!(wire::read(&words), Ok((expected, 6)));
    }

    #[test]
    fn a_stretch_is_read_as_it_was_written(
        begin: u64, end: u64, cpu_begin: u64, cpu_end: u64, disturbed: u64,
        why in prop::sample::select(AloneCode::ALL),
    ) {
        let stretch = Stretch { begin, end, cpu_begin, cpu_end, disturbed, why };
        let words = wire::alone(&stretch);
        prop_assert_eq!(wire::read(&words), Ok((Record::Alone(stretch), 6)));
    }

    #[test]
    fn the_cost_of_locks_is_read_as_it_was_written(
        every: u32, timed: u64, ticks: u64, hand_overs: u64, hand_over_ticks: u64,
    ) {
        let cost = LockCost { every, timed, ticks, hand_overs, hand_over_ticks };
        let words = wire::lock_cost(&cost);
        prop_assert_eq!(wire::read(&words), Ok((Record::LockCost(cost), 5)));
    }

    #[test]
    fn busy_locks_and_the_cpu_time_of_others_are_read_as_they_were_written(
        object: u64, every: u32, counts: [u64; 6], kind in prop::sample::select(ObjectCode::ALL), thread: u32,
    ) {
        let [brief, brief_ticks, timed, ticks, releases, release_ticks] = counts;
        let lock = BusyLock { object, kind, brief, brief_ticks, every, timed, ticks, releases, release_ticks };
        let (of_lock, of_thread) = (wire::busy_lock(&lock), wire::cpu_of(thread, ticks));
        prop_assert_eq!(wire::read(&of_lock), Ok((Record::BusyLock(lock), 8)));
        prop_assert_eq!(wire::read(&of_thread), Ok((Record::CpuOf { thread, cpu: ticks }, 2)));
    }

    #[test]
    fn rubbish_is_refused_or_read_but_never_read_past_its_end(words in prop::collection::vec(any::<u64>(), 0..64)) {
        match wire::read(&words) {
            Ok((_, len)) | Err(BadRecord::Unknown(len)) => prop_assert!(len >= 1 && len <= words.len()),
            Err(BadRecord::Length) => {}
        }
    }

    #[test]
    fn plausible_headers_with_rubbish_behind_them_are_safe(
        tag in prop::sample::select(Tag::ALL), flags: u8, len in 0usize..40, small: u32,
        rest in prop::collection::vec(any::<u64>(), 0..40),
    ) {
        let mut words = vec![wire::header(tag as u8, flags, len, small)];
        words.extend(rest);
        if let Ok((Record::Marker { label, .. }, _)) = wire::read(&words) {
            prop_assert_eq!(label.bytes().count(), label.len());
        }
    }
}

#[test]
fn text_keeps_its_bytes() {
    let name = b"worker 2";
    let mut words = wire::thread_name_head(5, name.len()).to_vec();
    words.push(u64::from_le_bytes(*name));
    let Ok((Record::ThreadName { handle: 5, text }, 3)) = wire::read(&words) else { panic!("not a name") };
    assert_eq!(text.bytes().collect::<Vec<_>>(), name);
}

#[test]
fn the_example_of_the_documentation_holds() {
    let wait = WaitRecord {
        begin: 10,
        end: 25,
        object: 0x1000,
        kind: ObjectCode::Mutex,
        shared_mode: false,
        process_shared: false,
        outcome: OutcomeCode::Granted,
        owner_tid: 99,
        stack: 7,
        mutex: 0,
        cpu_begin: 1,
        cpu_end: 2,
    };
    let words = wire::wait(&wait);
    assert_eq!(words[0].to_le_bytes(), [0x03, 0x00, 0x08, 0x00, 0x63, 0, 0, 0]);
    assert_eq!(words[1..6], [10, 25, 0x1000, 7, 0]);
}

#[test]
fn stacks_of_elements_keep_every_element_under_contention() {
    const ELEMENTS: u32 = 64;
    let links: Vec<AtomicU32> = (0..ELEMENTS).map(|_| AtomicU32::new(0)).collect();
    let head = AtomicU64::new(0);
    for index in 0..ELEMENTS {
        push(&head, index, &links[index as usize]);
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20_000 {
                    if let Some(index) = pop(&head, |index| links.get(index as usize)) {
                        push(&head, index, &links[index as usize]);
                    }
                }
            });
        }
    });
    let mut found = vec![false; ELEMENTS as usize];
    let mut at = take_all(&head);
    while let Some(index) = at.checked_sub(1) {
        assert!(!std::mem::replace(&mut found[index as usize], true), "element {index} twice");
        at = links[index as usize].load(std::sync::atomic::Ordering::Relaxed);
    }
    assert!(found.iter().all(|found| *found));
}
