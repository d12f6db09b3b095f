//! What marks become: each test makes streams by hand and looks at the acts, or executes them.

mod stream;
mod untimed;

use holdup_feed::{FeedError, Prepared, RecordedFeed};
use holdup_model::{
    Block, Call, Mode, ObjectKind, Outcome, Process, Run, Thread, ThreadId, Time, Wait, Wake, WakeCount,
};
use holdup_recording::Recording;
use holdup_sim::{Act, CallWithin, Feed, Item, Reason};
use holdup_trace::instructions::{Loss, MarkCode, Other};
use holdup_trace::openmp::{SyncCode, WorkCode};
use holdup_trace::wire::{CallCode, ObjectCode, OutcomeCode};
use stream::{COPIES, RUNTIME, Stream, recorded, recorded_pieces, run_of};
use untimed::walk;

const MUTEX: u64 = ObjectCode::Mutex as u64;
const CONDITION: u64 = ObjectCode::Condition as u64;
const BARRIER: u64 = ObjectCode::Barrier as u64;
const THREAD_END: u64 = ObjectCode::ThreadEnd as u64;
const SEMAPHORE: u64 = ObjectCode::Semaphore as u64;
const GRANTED: u64 = OutcomeCode::Granted as u64;
const BROADCAST: u64 = u32::MAX as u64;

fn acquire(stream: Stream, lock: u64) -> Stream {
    stream.mark(MarkCode::Acquired, &[lock, MUTEX, 0x1000])
}

fn release(stream: Stream, lock: u64) -> Stream {
    stream.mark(MarkCode::Released, &[lock, MUTEX])
}

fn waits(stream: Stream, object: u64, kind: u64, mutex: u64) -> Stream {
    stream.mark(MarkCode::WaitBegin, &[object, kind, 0, mutex]).mark(MarkCode::WaitEnd, &[GRANTED, kind])
}

/// A wait for a condition, with its mutex, as the library tells it.
fn waits_for(stream: Stream, condition: u64, mutex: u64) -> Stream {
    acquire(waits(release(stream, mutex), condition, CONDITION, mutex), mutex)
}

fn prepared<'a>(recording: &'a Recording, run: &Run) -> Prepared<'a> {
    Prepared::new(recording, run).unwrap()
}

/// The acts of each thread; blocks and ends left out.
fn acts(streams: &[Stream], run: &Run) -> Vec<Vec<Act>> {
    let recording = recorded(streams);
    let prepared = prepared(&recording, run);
    let mut feed = RecordedFeed::new(&prepared, false);
    let threads = 0..prepared.program().threads.len();
    threads
        .map(|thread| {
            let mut acts = Vec::new();
            loop {
                match feed.next(thread) {
                    Item::End => return acts,
                    Item::Act(act) => acts.push(act),
                    _ => {}
                }
            }
        })
        .collect()
}

fn nothing() -> Run {
    Run::default()
}

#[test]
fn threads_are_created_and_joined_by_handles_that_are_used_again() {
    let join = |stream: Stream, handle| waits(stream, handle, THREAD_END, 0).works(1);
    let begins = |number: u64, handle| {
        let fields = [number, 0, 0x1000, 100 + number, handle];
        Stream::default().mark(MarkCode::ThreadBegin, &fields).works(1).end()
    };
    let main = Stream::thread(0).works(1).mark(MarkCode::Created, &[1]);
    let main = join(main, 0x9999).mark(MarkCode::Created, &[2]);
    let main = join(main, 0x9999).end();
    let found = acts(&[main, begins(1, 0x9999), begins(2, 0x9999)], &nothing());
    assert_eq!(
        found[0],
        [Act::Cut, Act::Create(1), Act::Cut, Act::Join(1), Act::Cut, Act::Create(2), Act::Cut, Act::Join(2)]
    );
    assert!(found[1].is_empty());
}

#[test]
fn locks_count_once_however_often_they_are_taken() {
    let stream = acquire(acquire(Stream::thread(0), 0x10), 0x10);
    // A lock of the runtime's own, and one that is not held.
    let stream = stream.mark(MarkCode::Acquired, &[0x20, MUTEX, RUNTIME + 8]);
    let stream = release(release(release(release(stream, 0x20), 0x10), 0x10).works(3), 0x30);
    let shared = stream.mark(MarkCode::Acquired, &[0x40, ObjectCode::RwLock as u64, 0x1000, 1]);
    let found = acts(&[shared.works(1)], &nothing());
    assert_eq!(
        found[0],
        [
            Act::Acquire(0, Mode::Exclusive),
            Act::Release(0),
            Act::Acquire(1, Mode::Shared),
            // Nobody waits for a thread that has ended.
            Act::Release(1)
        ]
    );
}

#[test]
fn barriers_are_for_as_many_as_was_said_or_as_come() {
    let said = Stream::thread(0).mark(MarkCode::Initialized, &[0x10, BARRIER, 3]).works(1);
    let first = waits(waits(said, 0x10, BARRIER, 0), 0x20, BARRIER, 0).end();
    let second = waits(waits(Stream::thread(1).works(1), 0x10, BARRIER, 0), 0x20, BARRIER, 0).end();
    let recording = recorded(&[first, second]);
    let prepared = prepared(&recording, &nothing());
    assert_eq!(prepared.program().barriers, [3, 2]);
    let mut feed = RecordedFeed::new(&prepared, true);
    let walked = walk(prepared.program(), &mut feed, 10);
    assert_eq!((walked.stuck, walked.cuts), (vec![0, 1], vec![1, 1]), "the third one never comes");
}

#[test]
fn semaphores_have_what_they_were_initialized_with_or_at_least_what_was_taken() {
    let stream = Stream::thread(0).mark(MarkCode::Initialized, &[0x10, SEMAPHORE, 5]);
    let take = |stream: Stream, object| stream.mark(MarkCode::Acquired, &[object, SEMAPHORE]);
    let stream = take(take(take(stream, 0x10), 0x20), 0x20).mark(MarkCode::Woke, &[0x20, SEMAPHORE, 1]);
    let recording = recorded(&[stream.works(1).end()]);
    let prepared = prepared(&recording, &nothing());
    assert_eq!(prepared.program().tokens, [5, 1]);
    let found = acts(&[take(Stream::thread(0), 0x10).works(1)], &nothing());
    assert_eq!(found[0], [Act::Take(0, Reason::Condition)]);
}

#[test]
fn calls_take_the_time_that_they_took() {
    let stream =
        Stream::thread(0).works(1).mark(MarkCode::CallBegin, &[7]).mark(MarkCode::CallEnd, &[12_345]);
    assert_eq!(acts(&[stream], &nothing())[0], [Act::Call { nanos: 12_345 }]);
}

fn thread(tid: u32) -> Thread {
    Thread {
        name: Some(format!("t{tid}")),
        tid,
        start: Time::from_nanos(0),
        end: None,
        parent: None,
        entry: None,
        created_at: None,
        cpu: None,
        cpu_when_last_read: None,
    }
}

/// Two threads, and a condition at 0x10: the second thread waits for it from each `begin` to `end`, and the first wakes it.
fn waited(waits: &[(u64, u64, Outcome)], wakes: &[u64]) -> Run {
    let mut process = Process { end: Time::from_nanos(1_000_000), ..Process::default() };
    process.threads = vec![thread(100), thread(101)];
    let condition = process.add_object(ObjectKind::Condition, 0x10);
    process.waits.extend(waits.iter().map(|&(begin, end, outcome)| Wait {
        outcome,
        ..Wait::granted(ThreadId::new(1), condition, Time::from_nanos(begin), Time::from_nanos(end))
    }));
    process.wakes.extend(wakes.iter().map(|&time| Wake {
        thread: ThreadId::new(0),
        time: Time::from_nanos(time),
        object: condition,
        site: None,
        count: WakeCount::AtMost(1),
    }));
    run_of(process)
}

fn signal(stream: Stream) -> Stream {
    release(acquire(stream, 0x20).mark(MarkCode::Woke, &[0x10, CONDITION, 1]), 0x20).works(1)
}

#[test]
fn a_wait_for_a_condition_ends_with_the_signal_that_ended_it() {
    let run = waited(&[(10, 20, Outcome::Granted), (30, 50, Outcome::TimedOut)], &[5, 15, 60]);
    let waits = waits_for(waits_for(acquire(Stream::thread(1), 0x20), 0x10, 0x20).works(200), 0x10, 0x20);
    let signals = signal(signal(signal(Stream::thread(0)))).end();
    let streams = [signals, release(waits, 0x20).works(1).end()];
    let found = acts(&streams, &run);
    let locks = |open: Option<Act>| {
        [Some(Act::Acquire(0, Mode::Exclusive)), open, Some(Act::Release(0))].into_iter().flatten()
    };
    let expected: Vec<Act> = locks(None).chain(locks(Some(Act::Open(0)))).chain(locks(None)).collect();
    assert_eq!(found[0], expected, "the second signal is the one");
    assert_eq!(
        found[1],
        [
            Act::Acquire(0, Mode::Exclusive),
            Act::Release(0),
            Act::Cut,
            Act::Pass(0, Reason::Condition),
            Act::Acquire(0, Mode::Exclusive),
            Act::Release(0),
            Act::Cut,
            Act::Call { nanos: 20 },
            Act::Acquire(0, Mode::Exclusive),
            Act::Release(0),
        ]
    );
    let recording = recorded(&streams);
    let prepared = prepared(&recording, &run);
    assert_eq!(prepared.program().threads[1].name.as_deref(), Some("t101"));
    assert!(prepared.program().warnings.is_empty(), "{:?}", prepared.program().warnings);
    for turn in [1, 100] {
        assert!(walk(prepared.program(), &mut RecordedFeed::new(&prepared, true), turn).stuck.is_empty());
    }
}

#[test]
fn a_wait_whose_time_was_up_ends_with_the_signal_that_ended_a_later_one_if_that_comes_first() {
    let run = waited(&[(10, 20, Outcome::TimedOut), (30, 50, Outcome::Granted)], &[45]);
    let waits = waits_for(waits_for(acquire(Stream::thread(1), 0x20), 0x10, 0x20).works(200), 0x10, 0x20);
    let streams = [signal(Stream::thread(0)).end(), release(waits, 0x20).works(1).end()];
    let found = acts(&streams, &run);
    let waited: Vec<Act> = found[1]
        .iter()
        .copied()
        .filter(|act| !matches!(act, Act::Acquire(..) | Act::Release(_) | Act::Cut))
        .collect();
    assert_eq!(waited, [Act::PassWithin(0, Reason::Condition, 10), Act::Pass(0, Reason::Condition)]);
    let recording = recorded(&streams);
    let prepared = prepared(&recording, &run);
    for turn in [1, 100] {
        assert!(walk(prepared.program(), &mut RecordedFeed::new(&prepared, true), turn).stuck.is_empty());
    }
}

/// A process of two threads in which thread 1 was in a call from 100 to 1000 µs, and thread 0 for this time (µs).
fn called(call: Call, other: (u64, u64)) -> Run {
    let micros = |micros: u64| Time::from_nanos(micros * 1000);
    let block = |thread, call, (begin, end)| Block {
        thread: ThreadId::new(thread),
        begin: micros(begin),
        end: micros(end),
        call,
        timed_out: false,
        site: None,
        cpu_begin: None,
        cpu_end: None,
    };
    let mut process = Process { end: micros(1000), ..Process::default() };
    process.threads.extend([thread(100), thread(101)]);
    process.blocks.push(block(1, call, (100, 1000)));
    process.blocks.push(block(0, Call::Sleep, other));
    run_of(process)
}

fn calls(stream: Stream, call: CallCode, descriptor: u64, micros: u64) -> Stream {
    let stream = stream.mark(MarkCode::CallBegin, &[call as u64, descriptor]);
    if micros == 0 { stream } else { stream.mark(MarkCode::CallEnd, &[micros * 1000]) }
}

#[test]
fn a_call_that_another_thread_can_have_ended_takes_what_that_one_needs() {
    // Thread 0 works for 800 of its 1000 µs, 400 of them during the call, and not in the last 100 µs of it.
    let other = |writes: u64| {
        let stream = calls(Stream::thread(0).works(100), CallCode::Write, writes, 0).works(60);
        calls(stream, CallCode::Sleep, u64::from(u32::MAX), 200).end()
    };
    let own = |call, descriptor| calls(Stream::thread(1).works(1), call, descriptor, 900).end();
    let of = |call: Call, code, read, written| {
        let recording = recorded(&[other(written), own(code, read)]);
        let run = called(call, (800, 1000));
        prepared(&recording, &run).program().calls.clone()
    };
    let each = recorded(&[Stream::thread(0).works(100).end()]);
    let all = prepared(&each, &nothing()).instructions() * 160 / 100;
    let found = of(Call::Read, CallCode::Read, 5, 6);
    // From 100 to 800 µs of the 800 that it worked.
    assert_eq!(found, [CallWithin { nanos: 900_000, instructions: all * 7 / 8, alone: 200_000 }]);
    assert_eq!(of(Call::Read, CallCode::Read, 5, 5), found, "an event's descriptor");
    assert_eq!(of(Call::Poll, CallCode::Poll, u64::from(u32::MAX), 9), found, "any descriptor");
    assert_eq!(of(Call::Signal, CallCode::Signal, u64::from(u32::MAX), 2), found, "any thread sends signals");
    let reads = calls(Stream::thread(0).works(160), CallCode::Read, 5, 0);
    let reads = calls(reads, CallCode::Sleep, u64::from(u32::MAX), 200).end();
    let recording = recorded(&[reads, own(CallCode::Write, 6)]);
    let writes = prepared(&recording, &called(Call::Write, (800, 1000)));
    assert_eq!(writes.program().calls, found, "who waits for room in a pipe");
    for (call, code, read, written, why) in [
        (Call::Read, CallCode::Read, 5, 9, "nobody writes to what belongs to it"),
        (Call::Read, CallCode::Read, 0, 1, "standard input"),
        (Call::Poll, CallCode::Poll, u64::from(u32::MAX), 2, "only standard error is written to"),
        (Call::Sleep, CallCode::Sleep, u64::from(u32::MAX), 9, "nobody ends that"),
        (Call::Write, CallCode::Write, 5, 6, "the other end is outside"),
    ] {
        assert!(of(call, code, read, written).is_empty(), "{why}");
    }
    let recording = recorded(&[other(6), own(CallCode::Read, 5)]);
    let run = called(Call::Read, (1, 1000));
    let idle = prepared(&recording, &run);
    assert!(idle.program().calls.is_empty(), "nobody worked meanwhile");
}

#[test]
fn where_not_all_signals_were_recorded_with_times_the_earliest_possible_one_is_taken() {
    // Three in the stream, one with its time: it can be any of them.
    let run = waited(&[(10, 20, Outcome::Granted)], &[15]);
    let waits = release(waits_for(acquire(Stream::thread(1), 0x20), 0x10, 0x20), 0x20).works(1).end();
    let found = acts(&[signal(signal(signal(Stream::thread(0)))), waits], &run);
    assert_eq!(found[0].iter().position(|act| *act == Act::Open(0)), Some(1));
}

#[test]
fn a_wait_without_a_known_end_takes_no_time_and_is_told() {
    let waits = release(waits_for(acquire(Stream::thread(1), 0x20), 0x10, 0x20), 0x20).works(1).end();
    let recording = recorded(&[waits]);
    let prepared = prepared(&recording, &nothing());
    assert!(prepared.program().gates.is_empty());
    assert!(prepared.program().warnings[0].contains("1 wait"), "{:?}", prepared.program().warnings);
}

#[test]
fn a_block_that_claims_to_be_left_behind_its_end_is_left_there() {
    let recording = recorded(&[Stream::thread(0).partial(272, 64).end()]);
    let run = nothing();
    let prepared = prepared(&recording, &run);
    let length = prepared.program().code.blocks[COPIES as usize].instructions.len() as u32;
    let mut feed = RecordedFeed::new(&prepared, false);
    let count = loop {
        match feed.next(0) {
            Item::Partial(_, count, _) => break count,
            Item::End => panic!("the block is there"),
            _ => {}
        }
    };
    assert_eq!((length, count), (4, 4));
}

/// A round of a barrier that is made of a mutex and a condition.
fn round(stream: Stream, is_last: bool) -> Stream {
    let stream = acquire(stream.works(300), 0x20);
    let stream = match is_last {
        true => stream.mark(MarkCode::Woke, &[0x10, CONDITION, BROADCAST]),
        // It looks again once.
        false => waits_for(waits_for(stream, 0x10, 0x20).works(2), 0x10, 0x20),
    };
    release(stream, 0x20)
}

#[test]
fn a_condition_that_is_a_barrier_is_one_whoever_comes_last() {
    let streams = [
        round(round(Stream::thread(0), false), true).end(),
        round(round(Stream::thread(1), true), false).end(),
        round(round(Stream::thread(2), false), false).end(),
    ];
    let mut process = Process::default();
    let condition = process.add_object(ObjectKind::Barrier, 0x10);
    let facts = &mut process.objects[condition.index()];
    (facts.parties, facts.is_condition_barrier) = (Some(3), true);
    let run = run_of(process);
    let recording = recorded(&streams);
    let prepared = prepared(&recording, &run);
    assert_eq!(prepared.program().barriers, [3]);
    for turn in [1, 7, 1000] {
        let walked = walk(prepared.program(), &mut RecordedFeed::new(&prepared, true), turn);
        assert!(walked.stuck.is_empty(), "{walked:?}");
    }
    let found = acts(&streams, &run);
    let arrivals = |acts: &[Act]| acts.iter().filter(|act| **act == Act::Arrive(0)).count();
    assert_eq!(found.iter().map(|acts| arrivals(acts)).collect::<Vec<_>>(), [2, 2, 2]);
}

/// A share of region 9 with two barriers, the first of which is none.
fn share(stream: Stream) -> Stream {
    let sync = |stream: Stream, sequence, retracts| {
        stream
            .mark(MarkCode::SyncBegin, &[9, sequence, SyncCode::ExplicitBarrier as u64])
            .mark(MarkCode::SyncEnd, &[9, retracts])
    };
    let stream = sync(stream.mark(MarkCode::ShareBegin, &[9, 0, 2]).works(5), 0, 1).works(1);
    sync(stream, 0, 0).works(5).mark(MarkCode::ShareEnd, &[9])
}

#[test]
fn a_region_begins_its_threads_shares_and_they_meet() {
    let main = share(Stream::thread(0).works(1).mark(MarkCode::RegionBegin, &[9, 0x1100]));
    let main = main.mark(MarkCode::RegionEnd, &[9]).works(1).end();
    let found = acts(&[main, share(Stream::thread(1))], &nothing());
    let meets = [Act::Cut, Act::Arrive(0), Act::Cut, Act::Arrive(0)];
    let main = [Act::Cut, Act::Open(0), Act::Cut, Act::Pass(0, Reason::Condition)];
    assert_eq!(found[0], [&main[..], &meets, &[Act::Cut]].concat());
    assert_eq!(found[1], [&[Act::Cut, Act::Pass(0, Reason::Condition)][..], &meets].concat());
}

#[test]
fn a_thread_comes_to_the_join_when_it_has_done_the_tasks_there() {
    let main = Stream::thread(0).mark(MarkCode::RegionBegin, &[9]).mark(MarkCode::ShareBegin, &[9]);
    let main = main.mark(MarkCode::TaskCreate, &[77]).works(1).mark(MarkCode::ShareEnd, &[9]);
    let main = main.mark(MarkCode::RegionEnd, &[9]).works(1).end();
    let other = Stream::thread(1).mark(MarkCode::ShareBegin, &[9]).works(1).mark(MarkCode::ShareEnd, &[9]);
    let other = other.mark(MarkCode::TaskBegin, &[77]).works(9).mark(MarkCode::TaskEnd, &[77, 1]);
    let found = acts(&[main, other], &nothing());
    let last = [Act::Cut, Act::Pass(1, Reason::Condition), Act::Arrive(0)];
    assert!(found[1].ends_with(&last), "{found:?}");
    assert!(found[0].contains(&Act::Open(1)));
}

/// A loop with these chunks, each with what it stores to.
fn deals(stream: Stream, chunks: &[(u64, Vec<u64>)]) -> Stream {
    let kind = WorkCode::DynamicLoop as u64;
    let mut stream = stream.mark(MarkCode::WorkBegin, &[9, 0, kind]).works(1);
    for (first, addresses) in chunks {
        stream = acquire(stream.mark(MarkCode::Chunk, &[*first, 1]).works(1), 0x10);
        for (at, &address) in addresses.iter().enumerate() {
            stream = match at % 3 {
                2 => stream.partial(1, address),
                _ => stream.block(COPIES, &[address, address.wrapping_mul(3)]),
            };
        }
        stream = release(stream, 0x10);
    }
    stream.mark(MarkCode::WorkEnd, &[9, 0]).works(1)
}

#[test]
fn chunks_are_dealt_in_the_order_of_iterations() {
    let first = deals(Stream::thread(0), &[(4, vec![64]), (0, vec![128, 192])]).end();
    let second = deals(Stream::thread(1), &[(2, vec![256])]).end();
    let third = deals(Stream::thread(2), &[]).end();
    let recording = recorded(&[first, second, third]);
    let prepared = prepared(&recording, &nothing());
    assert_eq!(prepared.program().constructs, [[0, 1, 2]]);
    let mut feed = RecordedFeed::new(&prepared, true);
    let deal = |feed: &mut RecordedFeed<'_>, thread| loop {
        if let Item::Act(act) = feed.next(thread) {
            break act;
        }
    };
    for thread in 0..3 {
        assert_eq!(deal(&mut feed, thread), Act::Deal(0));
    }
    feed.take_unit(2, 0);
    assert_eq!(feed.next(2), Item::Block(1, &[]));
    assert_eq!(feed.next(2), Item::Act(Act::Acquire(0, Mode::Exclusive)));
    assert_eq!(feed.next(2), Item::Block(COPIES, &[128, 384]));
    assert_eq!(feed.next(2), Item::Block(COPIES, &[192, 576]));
    assert_eq!(feed.next(2), Item::Act(Act::Release(0)));
    assert_eq!(feed.next(2), Item::UnitEnd);
    feed.take_unit(2, 1);
    for _ in 0..2 {
        feed.next(2);
    }
    assert_eq!(feed.next(2), Item::Block(COPIES, &[256, 768]));
    assert_eq!(feed.next(0), Item::Block(1, &[]), "what comes behind the loop");
    assert_eq!(feed.next(0), Item::End);
}

#[test]
fn simulations_on_several_threads_share_what_is_prepared() {
    let streams = [deals(Stream::thread(0), &[(0, vec![64, 128]), (1, vec![192])]).end()];
    let recording = recorded(&streams);
    let prepared = prepared(&recording, &nothing());
    let alone = walk(prepared.program(), &mut RecordedFeed::new(&prepared, true), 3);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let found = walk(prepared.program(), &mut RecordedFeed::new(&prepared, true), 3);
                assert_eq!(found, alone);
            });
        }
    });
}

#[test]
fn what_is_not_in_a_recording_is_said() {
    let error = |recording: &Recording| Prepared::new(recording, &nothing()).unwrap_err();
    assert_eq!(error(&recorded_pieces(&[])), FeedError::NoStreams);
    assert_eq!(error(&recorded(&[])), FeedError::NothingExecuted);
    assert_eq!(error(&recorded(&[Stream::thread(0)])), FeedError::NothingExecuted);
    let counts = Stream::thread(0).other(Other::Counts, &[0, 0, 0, 7, 0, 0]);
    assert_eq!(error(&recorded(&[counts])), FeedError::CountsOnly);
    assert_eq!(error(&recorded(&[Stream::default().block(77, &[])])), FeedError::Damaged);
}

#[test]
fn a_recording_that_was_cut_off_waits_for_nothing_that_is_not_in_it() {
    let lost = Stream::thread(0).works(3).other(Other::Lost, &[1, Loss::Instructions as u64]);
    let lost = acquire(lost, 0x10).mark(MarkCode::CallEnd, &[5]).mark(MarkCode::Acquired, &[0x20, SEMAPHORE]);
    let recording = recorded(&[lost]);
    let prepared = prepared(&recording, &nothing());
    assert!(prepared.program().warnings[0].contains("limit on instructions"));
    let walked = walk(prepared.program(), &mut RecordedFeed::new(&prepared, true), 1);
    assert_eq!((walked.instructions, walked.stuck), (vec![6], vec![]));
    assert!(prepared.program().locks.is_empty() && prepared.program().tokens.is_empty());
}

proptest::proptest! {
    /// Whoever executes a unit executes what was recorded, and all of it is executed once.
    #[test]
    fn dealing_anew_changes_nothing_but_who_does_it(
        chunks in proptest::collection::vec(
            proptest::collection::vec(
                (0u64..100, proptest::collection::vec(proptest::prelude::any::<u64>(), 0..7)),
                0..9,
            ),
            1..4,
        ),
        turn in 1usize..20,
    ) {
        let each = (0..).zip(&chunks);
        let streams: Vec<Stream> = each
            .map(|(thread, chunks)| deals(deals(Stream::thread(thread), chunks), &[]).end())
            .collect();
        let recording = recorded(&streams);
        let prepared = prepared(&recording, &nothing());
        let recorded = walk(prepared.program(), &mut RecordedFeed::new(&prepared, false), turn);
        let dealt = walk(prepared.program(), &mut RecordedFeed::new(&prepared, true), turn);
        proptest::prop_assert_eq!(recorded.accesses, dealt.accesses);
        let all = |counts: &[u64]| counts.iter().sum::<u64>();
        proptest::prop_assert_eq!(all(&recorded.instructions), all(&dealt.instructions));
        let units: usize = chunks.iter().map(Vec::len).sum();
        proptest::prop_assert_eq!((all(&recorded.units), all(&dealt.units)), (0, units as u64));
        proptest::prop_assert!(dealt.stuck.is_empty());
        // The same feed again.
        let again = walk(prepared.program(), &mut RecordedFeed::new(&prepared, true), turn);
        proptest::prop_assert_eq!(dealt, again);
    }
}
