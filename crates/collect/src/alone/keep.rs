//! What is done to the thread that was chosen for as long as it is: it is confined to a core, has a share of the cache,
//! and is counted. All of it is taken back when another one is chosen, and by the guardian where the recorder is killed.

use std::sync::Arc;

use holdup_pirate::{CacheShare, Change, Guardian, Undo};
use holdup_recording::facts::AloneCounted;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::AloneOptions;
use super::count::{CounterSource, Counting};

/// What is to be done to each chosen thread.
#[derive(Debug)]
pub(super) struct Keeper {
    core: Option<u32>,
    share: Option<Arc<CacheShare>>,
    guardian: Option<Arc<Guardian>>,
    counters: Option<CounterSource>,
    kept: Option<Kept>,
}

/// The thread to which it is done.
struct Kept {
    tid: u32,
    /// The CPUs that it had, where it was confined.
    before: Option<CpuSet>,
    /// Undoes that if nobody else does.
    change: Option<Change>,
    /// The counters, and when they were opened.
    counting: Option<(u64, Box<dyn Counting>)>,
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Kept").field("tid", &self.tid).finish_non_exhaustive()
    }
}

impl Keeper {
    pub(super) fn new(options: &AloneOptions) -> Keeper {
        Keeper {
            core: options.core,
            share: options.share.clone(),
            guardian: options.guardian.clone(),
            counters: options.counters.clone(),
            kept: None,
        }
    }

    /// Does it to this thread, from `now` on (ticks). What went wrong, as a sentence.
    pub(super) fn keep(&mut self, tid: u32, now: u64) -> Option<String> {
        if let Some(share) = &self.share {
            share.take_in(tid);
        }
        let counting = self.counters.as_ref().and_then(|counters| counters.open(tid)).map(|open| (now, open));
        let mut kept = Kept { tid, before: None, change: None, counting };
        let confined = self.core.map(|core| self.confine(tid, core));
        let note = match confined {
            Some(Ok((before, change))) => {
                (kept.before, kept.change) = (Some(before), change);
                None
            }
            Some(Err(note)) => Some(note),
            None => None,
        };
        self.kept = Some(kept);
        note
    }

    fn confine(&self, tid: u32, core: u32) -> Result<(CpuSet, Option<Change>), String> {
        let note =
            |why: &dyn std::fmt::Display| format!("the thread could not be confined to core {core} ({why})");
        let thread =
            i32::try_from(tid).ok().and_then(Pid::from_raw).ok_or_else(|| note(&"it has no number"))?;
        let before = sched_getaffinity(Some(thread)).map_err(|error| note(&error))?;
        let undo = Undo::of_affinity(tid).ok_or_else(|| note(&"it has ended"))?;
        let change = self.guardian.as_ref().map(|guardian| guardian.before(undo)).transpose();
        let change = change.map_err(|error| note(&error))?;
        let mut set = CpuSet::new();
        set.set(core as usize);
        sched_setaffinity(Some(thread), &set).map_err(|error| note(&error))?;
        Ok((before, change))
    }

    /// True while it is done to this thread.
    pub(super) fn keeps(&self, tid: u32) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.tid == tid)
    }

    /// Takes it back. What was counted up to `now` (ticks); whose process that is the caller knows.
    pub(super) fn let_go(&mut self, now: u64) -> Option<AloneCounted> {
        let kept = self.kept.take()?;
        let counted = kept.counting.and_then(|(begin, mut counting)| {
            let counted = counting.read()?;
            Some(AloneCounted { begin, end: now, ..counted })
        });
        free(kept.tid, kept.before.as_ref());
        // The change is undone already: this tells the guardian.
        drop(kept.change);
        if let Some(share) = &self.share {
            share.let_go(kept.tid);
        }
        counted
    }

    /// What the kept thread creates inherits its core and its share.
    pub(super) fn free_new(&self, tid: u32) {
        let Some(kept) = self.kept.as_ref().filter(|kept| kept.tid != tid) else { return };
        free(tid, kept.before.as_ref());
        if let Some(share) = &self.share {
            share.let_go(tid);
        }
    }
}

fn free(tid: u32, before: Option<&CpuSet>) {
    if let Some((before, thread)) = before.zip(i32::try_from(tid).ok().and_then(Pid::from_raw)) {
        let _ = sched_setaffinity(Some(thread), before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fake;

    impl Counting for Fake {
        fn read(&mut self) -> Option<AloneCounted> {
            Some(AloneCounted { cycles: 300, instructions: 200, time_ns: 100, ..AloneCounted::default() })
        }
    }

    fn cpus() -> Vec<u32> {
        holdup_pirate::allowed_cpus()
    }

    #[test]
    fn a_thread_is_confined_and_counted_until_it_is_let_go() {
        std::thread::spawn(|| {
            let (all, tid) = (cpus(), rustix::thread::gettid().as_raw_nonzero().get() as u32);
            let counters = Some(CounterSource::new(|_| Some(Box::new(Fake))));
            let options = AloneOptions { core: all.last().copied(), counters, ..AloneOptions::default() };
            let mut keeper = Keeper::new(&options);
            assert_eq!(keeper.keep(tid, 7), None);
            assert!(keeper.keeps(tid));
            assert_eq!(cpus(), all[all.len() - 1..]);
            let counted = keeper.let_go(9).expect("counters");
            assert_eq!((counted.begin, counted.end, counted.cycles), (7, 9, 300));
            assert_eq!(cpus(), all);
            assert_eq!(keeper.let_go(9), None);
        })
        .join()
        .expect("a thread");
    }

    #[test]
    fn a_thread_that_cannot_be_confined_is_told() {
        let mut keeper = Keeper::new(&AloneOptions { core: Some(1000), ..AloneOptions::default() });
        let said = keeper.keep(rustix::thread::gettid().as_raw_nonzero().get() as u32, 0);
        assert!(said.is_some_and(|said| said.contains("core 1000")));
    }
}
