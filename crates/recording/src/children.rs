//! A process that is reported with the one that started it is a thread of that one: its parent's first thread started its first one, and
//! who waits for it waits for that, whatever the call.

use std::collections::BTreeMap;
use std::ops::Range;

use holdup_model::{Block, Call, Nanos, ObjectId, ObjectKind, Process, ThreadId, Time, Wait};

/// A process that was joined with others.
pub(crate) struct JoinedProcess {
    pub pid: u32,
    pub parent_pid: u32,
    /// Which of the threads are its own.
    pub threads: Range<u32>,
    /// When it ended; `None` where that is not known, or it executed another program.
    pub end: Option<Time>,
}

/// So long after a process said that it ends its memory may be taken apart, and whoever waits for something else that its end brings
/// (a signal, the end of what it wrote) goes on.
const TAKEN_APART: Nanos = Nanos::new(5_000_000);

/// Processes that a joined one started are its threads' children: their first threads have its first thread as their parent, since
/// nothing tells which of its threads started them. The processes are in order of their threads.
pub(crate) fn start_children(process: &mut Process, lives: &[JoinedProcess]) {
    for (index, life) in lives.iter().enumerate() {
        let parent = lives[..index].iter().rev().find(|before| before.pid == life.parent_pid);
        if let (Some(parent), false) = (parent, life.threads.is_empty()) {
            let first = &mut process.threads[life.threads.start as usize];
            first.parent.get_or_insert(ThreadId::new(parent.threads.start));
        }
    }
}

/// Makes waits of calls that the end of a child ended. The processes are in order of their threads.
pub(crate) fn wait_for_ends(process: &mut Process, lives: &[JoinedProcess]) {
    let mut children: BTreeMap<u32, Vec<(Time, &JoinedProcess)>> = BTreeMap::new();
    for life in lives.iter().filter(|life| life.pid != life.parent_pid) {
        children.entry(life.parent_pid).or_default().extend(life.end.map(|end| (end, life)));
    }
    for of_one in children.values_mut() {
        of_one.sort_by_key(|&(end, _)| end);
    }
    let ended_by = |block: &Block| {
        let own = lives.get(lives.partition_point(|life| life.threads.end <= block.thread.index() as u32))?;
        let children = children.get(&own.pid)?;
        let before = children.partition_point(|&(end, _)| end <= block.end);
        let &(end, child) = children[..before].last().filter(|&&(end, _)| end > block.begin)?;
        let is_at_once = end + TAKEN_APART >= block.end;
        let is_it = match block.call {
            Call::WaitChild => true,
            Call::Read | Call::Receive | Call::Poll | Call::Signal => is_at_once,
            _ => false,
        };
        is_it.then_some(child.threads.start)
    };
    let mut ends: BTreeMap<u32, ObjectId> = BTreeMap::new();
    for block in std::mem::take(&mut process.blocks) {
        let Some(thread) = ended_by(&block) else {
            process.blocks.push(block);
            continue;
        };
        let end = *ends.entry(thread).or_insert_with(|| {
            let end = process.add_object(ObjectKind::ThreadEnd, u64::from(thread));
            process.objects[end.index()].thread = Some(ThreadId::new(thread));
            end
        });
        let Block { thread, begin, end: until, site, cpu_begin, cpu_end, .. } = block;
        process.waits.push(Wait { site, cpu_begin, cpu_end, ..Wait::granted(thread, end, begin, until) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdup_model::{State, Timeline};

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    /// What main did from 10 to `until` in a call while two children ended, at 40 ms and at 70 ms, and a grandchild at 72 ms.
    fn waited(call: Call, until: u64) -> Option<ThreadId> {
        let mut process = Process::new(at(0), at(100_000_000));
        let ends = [100_000_000, 40_000_000, 70_000_000, 72_000_000];
        for (index, end) in ends.into_iter().enumerate() {
            process.add_thread(&format!("process {index}"), at(0), None);
            process.threads[index].end = Some(at(end));
        }
        process.blocks.push(Block {
            thread: ThreadId::new(0),
            begin: at(10_000_000),
            end: at(until),
            call,
            timed_out: false,
            site: None,
            cpu_begin: None,
            cpu_end: None,
        });
        let life = |pid: u32, parent_pid: u32| JoinedProcess {
            pid,
            parent_pid,
            threads: pid - 7..pid - 6,
            end: Some(at(ends[pid as usize - 7])),
        };
        wait_for_ends(&mut process, &[life(7, 1), life(8, 7), life(9, 7), life(10, 9)]);
        let timeline = Timeline::build(&process);
        assert_eq!(timeline.check(), Ok(()));
        let states = timeline.threads[0].segments.iter();
        let blocked: Vec<Option<ThreadId>> =
            states.filter(|segment| segment.state == State::Blocked).map(|segment| segment.by).collect();
        assert_eq!(blocked.len() + process.blocks.len(), 1, "a wait or a call");
        blocked.first().copied().flatten()
    }

    #[test]
    fn who_waits_for_a_child_goes_on_when_the_last_one_has_ended() {
        let [first, second] = [1, 2].map(|index| Some(ThreadId::new(index)));
        assert_eq!(waited(Call::WaitChild, 41_000_000), first);
        assert_eq!(waited(Call::WaitChild, 90_000_000), second, "its memory took long");
        assert_eq!(waited(Call::WaitChild, 39_000_000), None, "another child, which nothing is known of");
        assert_eq!(waited(Call::Poll, 74_000_000), second);
        assert_eq!(waited(Call::Read, 44_000_000), first);
        assert_eq!(waited(Call::Signal, 71_000_000), second);
        assert_eq!(waited(Call::Poll, 90_000_000), None, "something else came");
        assert_eq!(waited(Call::Sleep, 71_000_000), None, "its time was up");
    }
}
