//! Taking over what one process writes.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use holdup_kernel::{Lifetime, Pid};
use holdup_recording::Writer;
use holdup_recording::facts::{ProcessEnd, ProcessStart};
use holdup_recording::format::FrameKind;
use holdup_trace::openmp::{NO_INSTANCE, Region, RuntimeCode};
use holdup_trace::shared::{
    CHUNK_WORDS, CHUNKS, FIRST_CHUNKS, LocalAcquire, LocalBusy, LocalUse, ProcessState, SharedUse, Slot,
    take_all,
};
use holdup_trace::wire::{self, NO_STACK, NO_THREAD};

use crate::session::{MappedFile, SharedMemory};
use crate::shared_objects::SharedObjects;

/// How much of a run can be lost where holdup is killed: what threads have in chunks that are not full is written
/// this often.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// Chunks that are kept ready beside those of live threads.
const MOST_AHEAD: u32 = 1024;

/// Chunks (32 KiB each) for each thread of a process with several, and for all of them together: what they write while others
/// have the recorder's core. A process with one thread needs less, and there may be thousands of those.
const FOR_EACH: u32 = 16;
const FOR_ALL: u32 = 64;

/// A chunk of which a part is in the recording.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Begun {
    thread: u32,
    sequence: u32,
    words: usize,
}

/// A process that writes, or has written, to a file of the session.
pub(crate) struct Process {
    index: u32,
    file: MappedFile,
    pid: u32,
    /// `None` if it had ended before it was looked for.
    lifetime: Option<Lifetime>,
    shared: SharedObjects,
    drained: u64,
    flushed: Option<Instant>,
    begun: BTreeMap<u32, Begun>,
    words: Vec<u64>,
}

impl Process {
    /// Takes over a file that a process has claimed; `None` while the process has not filled in its header.
    pub(crate) fn adopt(
        index: u32,
        file: MappedFile,
        writer: &mut Writer,
    ) -> io::Result<Result<Process, MappedFile>> {
        let header = file.parts().header();
        if header.state.load(Ordering::Acquire) == ProcessState::Spare as u32 {
            return Ok(Err(file));
        }
        let pid = header.pid.load(Ordering::Relaxed);
        let start = ProcessStart {
            pid,
            parent_pid: header.parent_pid.load(Ordering::Relaxed),
            start: header.start.load(Ordering::Relaxed),
            forked: header.forked.load(Ordering::Relaxed) != 0,
        };
        writer.facts(FrameKind::ProcessStart, index, &start)?;
        Ok(Ok(Process {
            index,
            file,
            pid,
            lifetime: Lifetime::of(Pid(pid)).ok(),
            shared: SharedObjects::default(),
            drained: 0,
            flushed: None,
            begun: BTreeMap::new(),
            words: Vec::new(),
        }))
    }

    /// The memory that it shares with us.
    pub(crate) fn memory(&self) -> SharedMemory {
        self.file.memory()
    }

    /// Its kernel id.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// When the library was initialized in it, in ticks.
    pub(crate) fn start(&self) -> u64 {
        self.file.parts().header().start.load(Ordering::Relaxed)
    }

    /// True if the process has ended.
    pub(crate) fn is_gone(&self) -> bool {
        self.lifetime.as_ref().is_none_or(Lifetime::has_ended)
    }

    /// Writes all full chunks to the recording and gives them back. True if there were any.
    pub(crate) fn drain(&mut self, writer: &mut Writer) -> io::Result<bool> {
        let parts = self.file.parts();
        let mut next = take_all(&parts.header().full_chunks);
        let mut count = 0;
        // The links lie in memory that a faulty program could have overwritten: no more than there can be.
        while let Some(index) = next.checked_sub(1)
            && count < CHUNKS as u32
        {
            let Some(chunk) = parts.chunk(index) else { break };
            next = chunk.next.load(Ordering::Relaxed);
            self.write_chunk(index, writer)?;
            self.begun.remove(&index);
            self.file.offer_chunk(index);
            count += 1;
        }
        self.drained += u64::from(count);
        self.grow(count);
        Ok(count > 0)
    }

    /// Writes what threads have in chunks that are not full, from time to time: the first chunk of a process, which
    /// says what its code is called, may otherwise stay with it until its end.
    pub(crate) fn flush(&mut self, writer: &mut Writer) -> io::Result<()> {
        let parts = self.file.parts();
        let header = parts.header();
        // While a process measures what recording costs, it takes back what it has written.
        let measures =
            header.event_cost.load(Ordering::Acquire) == 0 && header.forked.load(Ordering::Relaxed) == 0;
        if measures || self.flushed.is_some_and(|last| last.elapsed() < FLUSH_INTERVAL) {
            return Ok(());
        }
        self.flushed = Some(Instant::now());
        for index in 0..self.file.reserved_slots() {
            let Some(slot) = parts.slot(index) else { break };
            if slot.live.load(Ordering::Acquire) != 0
                && let Some(chunk) = slot.chunk.load(Ordering::Acquire).checked_sub(1)
            {
                self.write_chunk(chunk, writer)?;
            }
        }
        Ok(())
    }

    /// Writes what a chunk holds and what is not in the recording yet.
    fn write_chunk(&mut self, index: u32, writer: &mut Writer) -> io::Result<()> {
        let parts = self.file.parts();
        let Some(chunk) = parts.chunk(index) else { return Ok(()) };
        let thread = chunk.thread.load(Ordering::Relaxed);
        let sequence = chunk.sequence.load(Ordering::Relaxed);
        let used = (chunk.used.load(Ordering::Acquire) as usize).min(CHUNK_WORDS);
        let before =
            self.begun.get(&index).filter(|begun| (begun.thread, begun.sequence) == (thread, sequence));
        let from = before.map_or(0, |begun| begun.words);
        if thread == NO_THREAD || used <= from {
            return Ok(());
        }
        self.words.clear();
        self.words.extend(chunk.words[from..used].iter().map(|word| word.load(Ordering::Relaxed)));
        self.begun.insert(index, Begun { thread, sequence, words: used });
        for object in self.shared.find(self.pid, &self.words) {
            writer.facts(FrameKind::SharedObject, self.index, &object)?;
        }
        writer.chunk(self.index, thread, sequence, &self.words)
    }

    /// Reserves more where the process uses what there is. A file system that is full costs it events.
    fn grow(&mut self, drained: u32) {
        let header = self.file.parts().header();
        let threads = header.next_thread.load(Ordering::Relaxed);
        let chunks = self.file.reserved_chunks();
        let scarce = header.free_chunks.load(Ordering::Relaxed) as u32 == 0 || drained * 2 >= chunks;
        let slots = self.file.reserved_slots();
        let live = header.taken_slots.load(Ordering::Relaxed).min(slots);
        let wanted = wanted_chunks(live, chunks, scarce);
        let _ = self.file.reserve_chunks(wanted);
        if threads > 0 && (header.free_slots.load(Ordering::Relaxed) as u32 == 0 || live * 2 >= slots) {
            let _ = self.file.reserve_slots(slots * 2);
        }
    }

    /// True if the process has lost events because the file system is full.
    pub(crate) fn is_out_of_room(&self) -> bool {
        self.file.is_full()
    }

    /// Writes what is left in the process's memory, whether it ended in order, was killed, or still runs.
    pub(crate) fn finish(mut self, writer: &mut Writer, now: u64, still_running: bool) -> io::Result<()> {
        self.drain(writer)?;
        let parts = self.file.parts();
        let mut events = parts.header().events.load(Ordering::Relaxed);
        let mut lost_uses = parts.header().lost_uses.load(Ordering::Relaxed);
        for index in 0..self.file.reserved_slots() {
            let Some(slot) = parts.slot(index) else { break };
            if slot.live.load(Ordering::Acquire) == 0 {
                continue;
            }
            events += slot.events.load(Ordering::Relaxed);
            lost_uses = lost_uses.saturating_add(slot.lost_uses.load(Ordering::Relaxed));
            if let Some(chunk) = slot.chunk.load(Ordering::Acquire).checked_sub(1) {
                self.write_chunk(chunk, writer)?;
            }
            let rest = unfinished(slot, now);
            let thread = slot.thread.load(Ordering::Relaxed);
            // After all chunks of the thread.
            writer.chunk(self.index, thread, u32::MAX, &rest)?;
        }
        let overflow = overflowed_uses(&self.file);
        if !overflow.is_empty() {
            writer.chunk(self.index, 0, u32::MAX, &overflow)?;
        }
        let header = parts.header();
        let sixteenth = |cost: u32| f64::from(cost) / 16.0;
        let ended = header.end.load(Ordering::Relaxed);
        let facts = ProcessEnd {
            end: if ended != 0 { ended } else { now },
            lost_events: header.lost_events.load(Ordering::Relaxed),
            lost_in_signals: header.lost_in_signals.load(Ordering::Relaxed),
            lost_threads: header.lost_threads.load(Ordering::Relaxed),
            lost_uses,
            event_ticks: sixteenth(header.event_cost.load(Ordering::Relaxed)),
            use_ticks: sixteenth(header.use_cost.load(Ordering::Relaxed)),
            events,
            still_running,
            executed: header.executed.load(Ordering::Acquire) != 0,
            confined: header.confined.load(Ordering::Relaxed) != 0,
        };
        writer.facts(FrameKind::ProcessEnd, self.index, &facts)
    }
}

/// How many chunks a process should have that has so many live threads and so many chunks; `scarce` if it uses all.
fn wanted_chunks(live: u32, chunks: u32, scarce: bool) -> u32 {
    let for_several = if live > 1 { live.saturating_mul(FOR_EACH).min(FOR_ALL) } else { 0 };
    let ahead = (live + live.min(MOST_AHEAD) + 8).max(for_several);
    // Twice as many as there are threads, so that all can go on while theirs are written; less of many threads, which seldom
    // fill theirs at once.
    let most = live + FIRST_CHUNKS as u32;
    if scarce { most.min(chunks * 2) } else { chunks }.max(ahead)
}

/// What a thread that has not ended has still in its slot: its counts, the wait that it is in, and the OpenMP region.
fn unfinished(slot: &Slot, now: u64) -> Vec<u64> {
    let mut words = Vec::new();
    if slot.filled.load(Ordering::Relaxed) == 0 {
        // There was no room to tell of anything.
        words.extend(slot.begin());
    }
    words.extend(slot.uses.iter().filter_map(LocalUse::record).flatten());
    words.extend(slot.open_wait(now).iter().flat_map(wire::wait));
    words.extend(slot.acquires.iter().filter_map(LocalAcquire::record).flat_map(|counts| counts.words()));
    if slot.busy_locks.load(Ordering::Relaxed) != 0 {
        words.extend(slot.busy.iter().filter_map(LocalBusy::record).flatten());
    }
    words.extend(slot.lock_cost.record().iter().flatten());
    words.extend(open_region(slot).iter().flat_map(Region::words));
    words
}

/// The region that a thread met and that has not ended: it ends before it begins, and its slot does not say whose it is.
fn open_region(slot: &Slot) -> Option<Region> {
    let instance = slot.region_instance.load(Ordering::Acquire);
    (instance != NO_INSTANCE).then(|| Region {
        begin: slot.region_begin.load(Ordering::Relaxed).max(1),
        end: 0,
        instance,
        function: slot.region_function.load(Ordering::Relaxed),
        caller: slot.region_caller.load(Ordering::Relaxed),
        stack: NO_STACK,
        parent: NO_INSTANCE,
        size: 0,
        count: 1,
        timed: 0,
        ticks: 0,
        runtime: RuntimeCode::Gnu,
        whole: false,
        league: false,
    })
}

/// The process's table of uses, as records of all threads together.
fn overflowed_uses(file: &MappedFile) -> Vec<u64> {
    file.parts().uses().iter().filter_map(SharedUse::record).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::wanted_chunks;

    #[test]
    fn several_threads_have_room_for_what_they_write_while_the_recorder_has_no_core() {
        assert_eq!(wanted_chunks(1, 8, false), 10);
        assert_eq!([2, 4, 20].map(|live| wanted_chunks(live, 8, false)), [32, 64, 64]);
        assert_eq!(wanted_chunks(100, 8, false), 208);
    }

    #[test]
    fn room_doubles_where_it_is_scarce_and_ends_somewhere() {
        assert_eq!(wanted_chunks(4, 64, true), 128);
        assert_eq!(wanted_chunks(4, 1500, true), 2052);
        assert_eq!(wanted_chunks(4, 300, false), 300);
    }
}
