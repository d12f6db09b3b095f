//! Which thread a number, a kernel id or a handle means.

use std::collections::BTreeMap;

use holdup_model::ThreadId;
use holdup_trace::wire::{NO_THREAD, Record, UNKNOWN};

use crate::reader::RawProcess;
use crate::ticks;

/// A thread as its records tell.
#[derive(Clone, Debug)]
pub(crate) struct ThreadFacts {
    pub number: u32,
    pub parent: Option<u32>,
    pub entry: u64,
    pub created_at: u64,
    pub handle: u64,
    pub tid: u32,
    /// Ticks.
    pub start: u64,
    /// Ticks.
    pub end: Option<u64>,
    /// CPU time at the end.
    pub cpu: Option<u64>,
    /// CPU time when it was last read.
    pub last_cpu: Option<u64>,
    pub name: Option<String>,
}

/// The threads of a process in the order of their numbers.
pub(crate) struct Threads {
    pub facts: Vec<ThreadFacts>,
    by_number: BTreeMap<u32, ThreadId>,
    by_tid: Lives<u32>,
    by_handle: Lives<u64>,
}

/// Threads by something that is used again when they have ended: for each, when they began (ticks) and their numbers, in the order of time.
struct Lives<K>(BTreeMap<K, Vec<(u64, u32)>>);

impl<K: Ord + Copy> Lives<K> {
    fn of<'a>(facts: impl IntoIterator<Item = &'a ThreadFacts>, key: impl Fn(&ThreadFacts) -> K) -> Self {
        let mut lives: BTreeMap<K, Vec<(u64, u32)>> = BTreeMap::new();
        for facts in facts {
            lives.entry(key(facts)).or_default().push((facts.start, facts.number));
        }
        lives.values_mut().for_each(|lives| lives.sort_unstable());
        Self(lives)
    }

    /// The number of the one that began last up to `time`.
    fn latest(&self, key: K, time: u64) -> Option<u32> {
        let lives = self.0.get(&key)?;
        let begun = lives.partition_point(|&(start, _)| start <= time);
        Some(lives[begun.checked_sub(1)?].1)
    }
}

impl Threads {
    pub(crate) fn of(process: &RawProcess) -> Threads {
        let mut by_number: BTreeMap<u32, ThreadFacts> = BTreeMap::new();
        let mut names = Vec::new();
        let mut of_others = Vec::new();
        for (number, record) in process.records() {
            let facts = by_number.entry(number).or_insert_with(|| ThreadFacts {
                number,
                parent: None,
                entry: 0,
                created_at: 0,
                handle: 0,
                tid: 0,
                start: u64::MAX,
                end: None,
                cpu: None,
                last_cpu: None,
                name: None,
            });
            match record {
                Record::ThreadStart { time, parent, entry, stack, handle, tid } => {
                    facts.start = time;
                    facts.parent = (parent != NO_THREAD).then_some(parent);
                    facts.entry = entry;
                    facts.created_at = stack;
                    facts.handle = handle;
                    facts.tid = tid;
                }
                Record::ThreadEnd { time, cpu } => {
                    facts.end = Some(time);
                    facts.cpu = (cpu != UNKNOWN).then_some(cpu);
                }
                Record::Cpu { time, cpu } => {
                    facts.start = facts.start.min(time);
                    facts.cpu = (cpu != UNKNOWN).then_some(cpu);
                }
                Record::ThreadName { handle, text } => {
                    let name = String::from_utf8_lossy(&text.bytes().collect::<Vec<_>>()).into_owned();
                    names.push((number, handle, name));
                }
                Record::Wait(wait) => {
                    facts.start = facts.start.min(wait.begin);
                    facts.last_cpu = facts.last_cpu.max((wait.cpu_end != UNKNOWN).then_some(wait.cpu_end));
                }
                Record::Block { begin, cpu_end, .. } => {
                    facts.start = facts.start.min(begin);
                    facts.last_cpu = facts.last_cpu.max((cpu_end != UNKNOWN).then_some(cpu_end));
                }
                Record::Hold { end, .. } => facts.start = facts.start.min(end),
                Record::Wake { time, .. } | Record::Marker { time, .. } | Record::ObjectInit { time, .. } => {
                    facts.start = facts.start.min(time);
                }
                Record::OpenMp(event) => {
                    if let Some((begin, _)) = ticks::of_openmp(&event) {
                        facts.start = facts.start.min(begin);
                    }
                }
                Record::CpuOf { thread, cpu } => of_others.push((thread, cpu)),
                _ => {}
            }
        }
        for (number, cpu) in of_others {
            if let Some(facts) = by_number.get_mut(&number)
                && facts.end.is_none()
            {
                facts.cpu = Some(cpu);
            }
        }
        // A thread of which only counts are known: nothing happened in it that could be placed in time.
        by_number.retain(|_, facts| facts.start != u64::MAX);
        let by_handle = Lives::of(by_number.values(), |facts| facts.handle);
        for (number, handle, name) in names {
            let target = match handle {
                0 => Some(number),
                // The latest thread with this handle: handles are used again.
                _ => by_handle.latest(handle, u64::MAX),
            };
            if let Some(facts) = target.and_then(|number| by_number.get_mut(&number)) {
                facts.name = Some(name);
            }
        }
        let by_tid = Lives::of(by_number.values(), |facts| facts.tid);
        let ids = by_number.keys().enumerate().map(|(index, number)| (*number, ThreadId::new(index as u32)));
        Threads { by_number: ids.collect(), facts: by_number.into_values().collect(), by_tid, by_handle }
    }

    pub(crate) fn id(&self, number: u32) -> Option<ThreadId> {
        self.by_number.get(&number).copied()
    }

    /// The thread with this kernel id that lived at `time` (ticks): ids are used again.
    pub(crate) fn by_tid(&self, tid: u32, time: u64) -> Option<ThreadId> {
        self.id(self.by_tid.latest(tid, time).filter(|_| tid != 0)?)
    }

    /// The thread with this handle that started last before `time` (ticks).
    pub(crate) fn by_handle(&self, handle: u64, time: u64) -> Option<ThreadId> {
        self.id(self.by_handle.latest(handle, time).filter(|_| handle != 0)?)
    }
}
