//! Time by call stack: what flame graphs are made of.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use holdup_criticality::{NobodyCause, OnlineCriticality};
use holdup_model::{ObjectId, SiteId, State, ThreadId, Time};

use crate::pieces::Piece;
use crate::subject::Subject;

/// Which time is summed by stack. All are in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Weight {
    /// Active time, by the stacks of the samples. A thread's stacks add up to its active time.
    Active,
    /// Critical time: active time, each moment divided by the number of threads that were active then (paper 4, Eq. 1).
    /// A thread's stacks add up to its criticality.
    Critical,
    /// All time that is not active, whatever the reason, by the stacks of the calls in which the threads waited.
    Blocked,
    /// Time from the beginning of waits for sync objects to their logical wakes.
    Wait,
}

impl Weight {
    /// Every weight.
    pub const ALL: [Weight; 4] = [Weight::Active, Weight::Critical, Weight::Blocked, Weight::Wait];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Weight::Active => "active",
            Weight::Critical => "critical",
            Weight::Blocked => "blocked",
            Weight::Wait => "wait",
        }
    }

    fn counts(self, piece: &Piece) -> bool {
        match self {
            Weight::Active | Weight::Critical => piece.state.is_active(),
            Weight::Blocked => !piece.state.is_active() && piece.state != State::NotRecorded,
            Weight::Wait => matches!(piece.state, State::Blocked | State::Spinning) && piece.object.is_some(),
        }
    }
}

/// One thread's time at one stack.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Stack {
    pub(crate) thread: ThreadId,
    pub(crate) site: Option<SiteId>,
    pub(crate) state: State,
    pub(crate) object: Option<ObjectId>,
}

/// The time of all threads of a process by stack (ns); none is zero.
pub(crate) fn by_stack(subject: &Subject<'_>, weight: Weight) -> BTreeMap<Stack, u64> {
    let mut sums = BTreeMap::new();
    let mut add = |thread, piece: &Piece, amount: u64| {
        if amount > 0 {
            let Piece { stack: site, state, object, .. } = *piece;
            *sums.entry(Stack { thread, site, state, object }).or_default() += amount;
        }
    };
    if weight == Weight::Critical {
        critical_pieces(subject, &mut add);
    } else {
        for thread in subject.threads() {
            for piece in subject.pieces(thread).filter(|piece| weight.counts(piece)) {
                add(thread, &piece, piece.length().get());
            }
        }
    }
    sums
}

/// Gives each active piece with its critical time: what its thread's criticality grows by in it. Amounts are rounded so
/// that those of a thread add up to its criticality, rounded.
fn critical_pieces(subject: &Subject<'_>, add: &mut impl FnMut(ThreadId, &Piece, u64)) {
    let mut online = OnlineCriticality::new(subject.timeline.start);
    let mut counted = vec![0u64; subject.process.threads.len()];
    let mut so_far = |online: &OnlineCriticality, thread: ThreadId| {
        let now = online.so_far(thread).round() as u64;
        now - std::mem::replace(&mut counted[thread.index()], now)
    };
    for (time, thread, change) in Changes::of(subject) {
        let before = change.before.filter(|piece| piece.state.is_active());
        let is_active = change.after.as_ref().is_some_and(|piece| piece.state.is_active());
        // The cause matters to the time with nobody active only, which is not asked for.
        if is_active {
            online.activate(thread, time, NobodyCause::Other);
        } else if before.is_some() {
            online.deactivate(thread, time);
        }
        if let Some(piece) = before {
            let amount = so_far(&online, thread);
            add(thread, &piece, amount);
        }
    }
}

/// A thread goes from one piece to the next.
pub(crate) struct Change {
    /// `None` at the thread's start.
    pub(crate) before: Option<Piece>,
    /// `None` at the thread's end.
    pub(crate) after: Option<Piece>,
}

/// The changes of all threads by time, then by thread: a merge of their pieces.
pub(crate) struct Changes<I> {
    rows: Vec<(Option<Piece>, I)>,
    next: BinaryHeap<Reverse<(Time, ThreadId)>>,
}

impl<'a> Changes<Box<dyn Iterator<Item = Piece> + 'a>> {
    pub(crate) fn of(subject: &'a Subject<'_>) -> Self {
        let rows: Vec<_> = subject
            .threads()
            .map(|thread| (None, Box::new(subject.pieces(thread)) as Box<dyn Iterator<Item = Piece>>))
            .collect();
        let next = subject.threads().map(|id| Reverse((subject.timeline.row(id).start, id))).collect();
        Self { rows, next }
    }
}

impl<I: Iterator<Item = Piece>> Iterator for Changes<I> {
    type Item = (Time, ThreadId, Change);

    fn next(&mut self) -> Option<Self::Item> {
        let Reverse((time, thread)) = self.next.pop()?;
        let (before, pieces) = &mut self.rows[thread.index()];
        let after = pieces.next();
        if let Some(piece) = &after {
            self.next.push(Reverse((piece.end, thread)));
        }
        let before = std::mem::replace(before, after.clone());
        Some((time, thread, Change { before, after }))
    }
}

#[cfg(test)]
mod tests {
    use holdup_criticality::criticality;
    use holdup_model::Run;
    use holdup_testkit::{any_process, any_script};
    use proptest::prelude::*;

    use super::*;

    fn run_of(process: holdup_model::Process) -> Run {
        Run { start: process.start, end: process.end, processes: vec![process], cores: 4, ..Run::default() }
    }

    /// The sum of each thread.
    fn sums(subject: &Subject<'_>, weight: Weight) -> Vec<u64> {
        let mut sums = vec![0; subject.process.threads.len()];
        for (stack, amount) in by_stack(subject, weight) {
            sums[stack.thread.index()] += amount;
        }
        sums
    }

    fn check(run: &Run) -> Result<(), TestCaseError> {
        let subject = Subject::of(run, 0);
        let rows = &subject.timeline.threads;
        let time_in = |wanted: fn(State) -> bool| -> Vec<u64> {
            rows.iter().map(|row| row.time_in(wanted).get()).collect()
        };
        prop_assert_eq!(sums(&subject, Weight::Active), time_in(State::is_active));
        let rest = time_in(|state| !state.is_active() && state != State::NotRecorded);
        prop_assert_eq!(sums(&subject, Weight::Blocked), rest);
        let expected = criticality(&subject.timeline).threads;
        let critical: Vec<u64> = expected.iter().map(|share| share.round() as u64).collect();
        prop_assert_eq!(sums(&subject, Weight::Critical), critical);
        for (wait, blocked) in sums(&subject, Weight::Wait).iter().zip(sums(&subject, Weight::Blocked)) {
            prop_assert!(*wait <= blocked);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn stacks_add_up_to_the_timeline(process in any_process()) {
            check(&run_of(process))?;
        }

        #[test]
        fn stacks_of_programs_add_up_too(script in any_script()) {
            check(&run_of(script.play_on(2, 500)))?;
        }
    }
}
