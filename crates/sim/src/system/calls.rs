//! Calls that block, and waits that have a limit.
//!
//! Under emulation threads are tens of times slower, and what waits for them waits as much longer; what is outside is not. So a
//! call that other threads can end takes as long as they need for what they did meanwhile, which is known as a number of
//! instructions, and then as long as it did with nobody at work. Where none of them can go on it must be their turn to be
//! waited for, and the call ends too. It never takes longer than it did when it was recorded.

use std::cmp::Reverse;

use holdup_model::ThreadId;
use holdup_model::cycles::CycleComponent;
use holdup_sync::Answer;

use super::{State, System};
use crate::program::{CallWithin, Feed, Reason};

/// When a thread that waits for a gate goes on without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deadline {
    pub at: u64,
    pub gate: u32,
}

/// A call under way that other threads can end.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingCall {
    thread: u32,
    /// It ends when all threads together have executed so many instructions,
    instructions: u64,
    /// and so many cycles have passed since.
    alone: u64,
}

impl<F: Feed> System<'_, F> {
    pub(super) fn cycles_of(&self, nanos: u64) -> u64 {
        (nanos as f64 * self.costs.frequency) as u64
    }

    /// The thread is in a call for so long.
    pub(super) fn call(&mut self, index: u32, now: u64, nanos: u64) {
        let until = now + self.cycles_of(nanos);
        self.block(index, CycleComponent::Io);
        let thread = &mut self.threads[index as usize];
        thread.state = State::Timed;
        thread.ready_at = until;
        self.timed.push(Reverse((until, index)));
    }

    /// The same, but others can end it.
    pub(super) fn call_within(&mut self, index: u32, now: u64, call: CallWithin) {
        self.call(index, now, call.nanos);
        let instructions = self.tally.instructions.saturating_add(call.instructions);
        self.calls.push(PendingCall { thread: index, instructions, alone: self.cycles_of(call.alone) });
    }

    pub(super) fn pass_within(&mut self, index: u32, now: u64, gate: u32, reason: Reason, nanos: u64) {
        if self.gates[gate as usize].pass(ThreadId::new(index)) == Answer::Wait {
            let at = now + self.cycles_of(nanos);
            self.block(index, reason.component());
            self.threads[index as usize].deadline = Some(Deadline { at, gate });
            self.timed.push(Reverse((at, index)));
        }
    }

    /// False for what a call that ended earlier, or a gate that was opened in time, left behind: nobody wakes then.
    fn wakes(&self, index: u32, at: u64) -> bool {
        let thread = &self.threads[index as usize];
        let deadline = thread.deadline.filter(|_| thread.state == State::Blocked);
        deadline.is_some_and(|deadline| deadline.at == at)
            || thread.state == State::Timed && thread.ready_at == at
    }

    /// When the next thread wakes by itself.
    pub(super) fn next_timed(&mut self) -> Option<u64> {
        while let Some(&Reverse((at, index))) = self.timed.peek() {
            if self.wakes(index, at) {
                return Some(at);
            }
            self.timed.pop();
        }
        None
    }

    /// True if the thread is able to run at this time; it does not wait for a gate then.
    pub(super) fn is_due(&mut self, index: u32, at: u64) -> bool {
        let is_due = self.wakes(index, at);
        let thread = &mut self.threads[index as usize];
        if is_due && let Some(deadline) = thread.deadline.take() {
            self.gates[deadline.gate as usize].forget(ThreadId::new(index));
        }
        is_due
    }

    /// Calls end, or are known to, of which the others have done their part.
    #[inline]
    pub(super) fn end_calls(&mut self, now: u64) {
        if self.calls.is_empty() {
            return;
        }
        let done = self.tally.instructions;
        self.end_calls_that(now, |call| call.instructions <= done);
    }

    /// The same for all calls, if nobody goes on before one of them has ended. False if nothing changed.
    pub(super) fn end_calls_of_all(&mut self) -> bool {
        if self.calls.is_empty() {
            return false;
        }
        let calls = |index: u32| self.calls.iter().any(|call| call.thread == index);
        if !self.timed.iter().all(|&Reverse((at, index))| calls(index) || !self.wakes(index, at)) {
            return false;
        }
        let stopped = self.threads.iter().map(|thread| thread.since.max(thread.end)).max().unwrap_or(0);
        self.end_calls_that(stopped, |_| true);
        true
    }

    fn end_calls_that(&mut self, now: u64, ends: impl Fn(&PendingCall) -> bool) {
        let mut calls = std::mem::take(&mut self.calls);
        calls.retain(|call| {
            let thread = &mut self.threads[call.thread as usize];
            let is_under_way = thread.state == State::Timed;
            if is_under_way && ends(call) {
                let at = now.max(thread.since) + call.alone;
                if at < thread.ready_at {
                    thread.ready_at = at;
                    self.timed.push(Reverse((at, call.thread)));
                }
                return false;
            }
            is_under_way
        });
        self.calls = calls;
    }
}
