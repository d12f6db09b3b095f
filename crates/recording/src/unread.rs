//! CPU times that the library did not ask for: a thread that calls and calls again has its time read now and then. What it used
//! between two readings is spread over its work in between.

use holdup_model::{Nanos, Process, ThreadId, Time};
use holdup_trace::wire::CALLS_PERIOD_MICROS;

/// A stretch in which a thread does not work, and its CPU time at both ends.
struct Pause {
    begin: Time,
    end: Time,
    cpu: (Option<Nanos>, Option<Nanos>),
    of: Of,
}

/// What a pause is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Block(usize),
    /// A wait for a message.
    Message(usize),
    /// Any other wait, or a moment at which the time was read.
    Other,
}

impl Pause {
    /// Nobody asked, although the thread does nothing in it but call.
    fn is_unread(&self) -> bool {
        self.of != Of::Other && self.cpu == (None, None)
    }
}

/// Fills in the CPU times of calls and of waits for messages that lie between two that were read.
pub(crate) fn fill(process: &mut Process) {
    let mut of_threads: Vec<Option<Vec<Pause>>> = process.threads.iter().map(|_| None).collect();
    let calls = process.blocks.iter().filter(|block| (block.cpu_begin, block.cpu_end) == (None, None));
    let is_message = |object| process.object(object).kind.is_channel();
    let messages = process.waits.iter().filter(|wait| (wait.cpu_begin, wait.cpu_end) == (None, None));
    let messages = messages.filter(|wait| is_message(wait.object));
    for thread in calls.map(|block| block.thread).chain(messages.map(|wait| wait.thread)) {
        of_threads[thread.index()].get_or_insert_default();
    }
    if of_threads.iter().all(Option::is_none) {
        return;
    }
    let mut add = |thread: ThreadId, pause: Pause| {
        if let Some(pauses) = &mut of_threads[thread.index()] {
            pauses.push(pause);
        }
    };
    for (index, block) in process.blocks.iter().enumerate() {
        let cpu = (block.cpu_begin, block.cpu_end);
        add(block.thread, Pause { begin: block.begin, end: block.end, cpu, of: Of::Block(index) });
    }
    for (index, wait) in process.waits.iter().enumerate() {
        let of = if is_message(wait.object) { Of::Message(index) } else { Of::Other };
        let cpu = (wait.cpu_begin, wait.cpu_end);
        add(wait.thread, Pause { begin: wait.begin, end: wait.end, cpu, of });
    }
    for share in &process.openmp.shares {
        let cpu = (share.cpu_begin, share.cpu_begin);
        add(share.thread, Pause { begin: share.begin, end: share.begin, cpu, of: Of::Other });
    }
    for (thread, pauses) in of_threads.into_iter().enumerate() {
        let Some(mut pauses) = pauses else { continue };
        let thread = &process.threads[thread];
        let (begin, end) = (thread.start, thread.end.unwrap_or(process.end).max(thread.start));
        pauses.push(Pause { begin: end, end, cpu: (thread.cpu, thread.cpu), of: Of::Other });
        pauses.sort_by_key(|pause| (pause.begin, pause.end));
        for (of, cpu) in spread(begin, &pauses) {
            match of {
                Of::Block(index) => {
                    let block = &mut process.blocks[index];
                    (block.cpu_begin, block.cpu_end) = (Some(cpu), Some(cpu));
                }
                Of::Message(index) => {
                    let wait = &mut process.waits[index];
                    (wait.cpu_begin, wait.cpu_end) = (Some(cpu), Some(cpu));
                }
                Of::Other => {}
            }
        }
    }
}

/// The CPU times at the pauses that are unread, of a thread that begins at `begin`; `pauses` are in order.
fn spread(begin: Time, pauses: &[Pause]) -> Vec<(Of, Nanos)> {
    let mut found = Vec::new();
    // The library asks again after this time. Who was not asked for longer could not be.
    let period = Nanos::new(2 * CALLS_PERIOD_MICROS * 1000);
    // Up to where work was looked at, and what the thread had used when that was last read.
    let (mut at, mut read) = (begin, Some((begin, Nanos::ZERO)));
    // Where the stretches of work since then end, and how long they are.
    let mut stretches: Vec<(Of, Nanos)> = Vec::new();
    for pause in pauses {
        let worked = pause.begin.since(at);
        at = at.max(pause.end);
        if pause.is_unread() {
            let is_near = read.is_some_and(|read| pause.end.since(read.0) < period);
            stretches.push((if is_near { pause.of } else { Of::Other }, worked));
            continue;
        }
        if let (Some((_, before)), Some(by_then), false) = (read, pause.cpu.0, stretches.is_empty()) {
            stretches.push((Of::Other, worked));
            let used = shares(&stretches, by_then.saturating_sub(before));
            let by_here = stretches.iter().zip(used).scan(before, |sum, ((of, _), used)| {
                *sum += used;
                Some((*of, *sum))
            });
            found.extend(by_here.filter(|(of, _)| *of != Of::Other));
        }
        stretches.clear();
        read = pause.cpu.1.map(|cpu| (pause.end, cpu));
    }
    found
}

/// How much of the time `used` each stretch has. A thread loses its core in the long ones: each has all of its length, but none more
/// than so much. What is used beyond all of the lengths (in the calls) is shared in proportion.
fn shares(stretches: &[(Of, Nanos)], used: Nanos) -> Vec<Nanos> {
    let all: Nanos = stretches.iter().map(|stretch| stretch.1).sum();
    if used >= all {
        let part =
            |length: Nanos| u128::from(used.get()) * u128::from(length.get()) / u128::from(all.get().max(1));
        return stretches.iter().map(|stretch| Nanos::new(part(stretch.1) as u64)).collect();
    }
    let mut lengths: Vec<u64> = stretches.iter().map(|stretch| stretch.1.get()).collect();
    lengths.sort_unstable();
    let mut left = used.get();
    let mut most = 0;
    for (index, &length) in lengths.iter().enumerate() {
        most = left / (lengths.len() - index) as u64;
        if length >= most {
            break;
        }
        left -= length;
    }
    stretches.iter().map(|stretch| stretch.1.min(Nanos::new(most))).collect()
}

#[cfg(test)]
mod tests {
    use holdup_model::{Block, Call, ObjectKind, Wait};

    use super::*;

    const US: u64 = 1000;

    fn call(thread: ThreadId, begin: u64, end: u64, cpu: Option<u64>) -> Block {
        let (begin, end) = (Time::from_nanos(begin * US), Time::from_nanos(end * US));
        let cpu = cpu.map(|cpu| Nanos::new(cpu * US));
        let (cpu_begin, cpu_end) = (cpu, cpu);
        Block { thread, begin, end, call: Call::Read, timed_out: false, site: None, cpu_begin, cpu_end }
    }

    fn process() -> (Process, ThreadId) {
        let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(100 * US));
        let thread = process.add_thread("worker", Time::from_nanos(0), None);
        (process, thread)
    }

    fn filled(process: &Process) -> Vec<Option<u64>> {
        process.blocks.iter().map(|block| block.cpu_end.map(|cpu| cpu.get() / US)).collect()
    }

    #[test]
    fn what_was_used_between_two_readings_is_spread_over_the_work() {
        let (mut process, thread) = process();
        // It works for 10, 10, 30 and 10 µs, and was without a core for 20 of these 50 after the first reading.
        let calls = [(10, 15, Some(10)), (25, 30, None), (60, 65, None), (75, 80, Some(40))];
        process.blocks = calls.map(|(begin, end, cpu)| call(thread, begin, end, cpu)).into();
        fill(&mut process);
        assert_eq!(filled(&process), [Some(10), Some(20), Some(30), Some(40)]);
        assert_eq!(process.blocks[1].cpu_begin, process.blocks[1].cpu_end);
    }

    #[test]
    fn a_thread_loses_its_core_where_it_works_for_long() {
        let shares = |lengths: &[u64], used: u64| -> Vec<u64> {
            let stretches: Vec<_> = lengths.iter().map(|&length| (Of::Other, Nanos::new(length))).collect();
            shares(&stretches, Nanos::new(used)).iter().map(|share| share.get()).collect()
        };
        assert_eq!(shares(&[100, 100, 3100, 100], 400), [100, 100, 100, 100]);
        assert_eq!(shares(&[100, 40, 3100, 100], 1240), [100, 40, 1000, 100]);
        assert_eq!(shares(&[100, 40, 60], 90), [30, 30, 30]);
        assert_eq!(shares(&[100, 50], 300), [200, 100], "the calls used some, too");
        assert_eq!(shares(&[0, 0], 5), [0, 0]);
        assert_eq!(shares(&[10, 10], 0), [0, 0]);
    }

    #[test]
    fn the_first_stretch_begins_with_nothing_and_the_last_ends_with_the_thread() {
        let (mut process, thread) = process();
        process.blocks = [(10, 20, None), (30, 60, None)].map(|(b, e, cpu)| call(thread, b, e, cpu)).into();
        fill(&mut process);
        assert_eq!(filled(&process), [None, None], "nothing was read after them");
        process.threads[thread.index()].cpu = Some(Nanos::new(60 * US));
        fill(&mut process);
        assert_eq!(filled(&process), [Some(10), Some(20)]);
    }

    #[test]
    fn what_was_not_read_for_long_stays_unknown() {
        let (mut process, thread) = process();
        process.end = Time::from_nanos(10_000 * US);
        let calls = [(10, 15, Some(10)), (2600, 2700, None), (9000, 9100, Some(5000))];
        process.blocks = calls.map(|(begin, end, cpu)| call(thread, begin, end, cpu)).into();
        fill(&mut process);
        assert_eq!(filled(&process), [Some(10), None, Some(5000)]);
    }

    #[test]
    fn a_wait_for_a_message_is_filled_in_and_one_for_a_lock_is_not() {
        let (mut process, thread) = process();
        let message = process.add_object(ObjectKind::Messages, 1);
        let mutex = process.add_object(ObjectKind::Mutex, 2);
        let wait = |object, begin: u64, end: u64| {
            Wait::granted(thread, object, Time::from_nanos(begin * US), Time::from_nanos(end * US))
        };
        process.waits = vec![wait(message, 10, 20), wait(mutex, 60, 70), wait(message, 80, 85)];
        process.blocks = vec![call(thread, 30, 40, Some(20)), call(thread, 90, 100, Some(50))];
        fill(&mut process);
        let cpu: Vec<_> = process.waits.iter().map(|wait| wait.cpu_end.map(Nanos::get)).collect();
        // Nothing is known of what the thread used while it waited for the mutex.
        assert_eq!(cpu, [Some(10 * US), None, None]);
    }
}
