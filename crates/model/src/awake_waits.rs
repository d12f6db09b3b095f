//! How much of their waits threads spend on a core: an OpenMP runtime lets them spin for a while, or for good, before they
//! sleep.

use std::collections::BTreeMap;

use crate::time::within;
use crate::{Nanos, ObjectId, Process, ThreadId, Time};

/// Waits of one thread for one object, as far as the kernel's records tell when it had a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AwakeWaits {
    /// How long it waited.
    pub waited: Nanos,
    /// For how much of that it was on a core.
    pub on_core: Nanos,
    /// The part of that beyond what it takes to go to sleep and to come back, in each of them: spinning.
    pub spun: Nanos,
}

/// Going to sleep, being woken and coming back take a thread at most so long on a core.
const SLEEPING: Nanos = Nanos::new(20_000);

/// The waits for objects that `wanted` chooses. Empty where it is not known when threads had a core.
pub fn awake_waits(
    process: &Process,
    wanted: impl Fn(ObjectId) -> bool,
) -> BTreeMap<(ObjectId, ThreadId), AwakeWaits> {
    let mut found: BTreeMap<(ObjectId, ThreadId), AwakeWaits> = BTreeMap::new();
    let mut covered = [process.covered.as_slice(), process.estimated.as_slice()].concat();
    if covered.is_empty() {
        return found;
    }
    covered.sort_unstable();
    let mut on_core: Vec<Vec<(Time, Time)>> = vec![Vec::new(); process.threads.len()];
    for span in &process.on_core {
        on_core[span.thread.index()].push((span.begin, span.end));
    }
    for spans in &mut on_core {
        spans.sort_unstable();
    }
    for wait in process.waits.iter().filter(|wait| wanted(wait.object)) {
        let waited = within(&covered, wait.begin, wait.end);
        let sums = found.entry((wait.object, wait.thread)).or_default();
        sums.waited += waited;
        let awake = within(&on_core[wait.thread.index()], wait.begin, wait.end).min(waited);
        sums.on_core += awake;
        sums.spun += awake.saturating_sub(SLEEPING);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Left, ObjectKind, OnCore, Wait};

    #[test]
    fn what_the_kernel_did_not_record_is_not_counted() {
        let at = |micros: u64| Time::from_nanos(micros * 1_000);
        let micros = |micros: u64| Nanos::new(micros * 1_000);
        let mut process = Process::new(at(0), at(100));
        let thread = process.add_thread("main", at(0), Some(at(100)));
        let object = process.add_object(ObjectKind::Barrier, 1);
        let other = process.add_object(ObjectKind::Mutex, 2);
        process.covered = vec![(at(0), at(50))];
        for (begin, end) in [(0, 35), (38, 60)] {
            let (begin, end) = (at(begin), at(end));
            process.on_core.push(OnCore { thread, begin, end, core: 0, left: Left::Blocked });
        }
        process.waits.push(Wait::granted(thread, object, at(10), at(40)));
        process.waits.push(Wait::granted(thread, object, at(45), at(80)));
        process.waits.push(Wait::granted(thread, other, at(40), at(45)));
        let found = awake_waits(&process, |wanted| wanted == object);
        let expected = AwakeWaits { waited: micros(35), on_core: micros(32), spun: micros(7) };
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [((object, thread), expected)]);
    }
}
