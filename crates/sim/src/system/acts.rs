//! What acts do in simulated time. Their meaning is that of `holdup_sync`; here are their costs.

use std::cmp::Reverse;

use holdup_model::ThreadId;
use holdup_model::cycles::CycleComponent;
use holdup_sync::Answer;

use super::slices::Done;
use super::{NO_PLACE, State, System};
use crate::program::{Act, Feed, Reason};

impl Reason {
    pub(super) fn component(self) -> CycleComponent {
        match self {
            Reason::Condition => CycleComponent::SyncCond,
            Reason::Barrier => CycleComponent::SyncBarrier,
            Reason::Join => CycleComponent::SyncJoin,
            Reason::Lock => CycleComponent::SyncCritSect,
        }
    }
}

impl<F: Feed> System<'_, F> {
    /// The thread on the core does something that others may notice. No other core is behind it.
    pub(super) fn act(&mut self, index: u32, core: u32, act: Act) {
        let thread = ThreadId::new(index);
        let mut released = Vec::new();
        let now = self.cores.now(core);
        match act {
            Act::Create(child) => {
                let created = &mut self.threads[child as usize];
                if created.state == State::Unborn {
                    created.state = State::Timed;
                    created.ready_at = now + self.costs.start;
                    self.timed.push(Reverse((now + self.costs.start, child)));
                }
                self.cores.spend(core, self.costs.create, CycleComponent::SyncCreate);
            }
            Act::Join(child) => {
                let answer = self.ends[child as usize].pass(thread);
                self.go_or_wait(index, answer, CycleComponent::SyncJoin);
            }
            Act::Acquire(lock, mode) => {
                if self.is_free(lock) {
                    return;
                }
                self.touch_lock(core, lock);
                if self.locks[lock as usize].acquire(thread, mode) == Answer::Wait {
                    // A release lets it try again.
                    self.threads[index as usize].pending = Some(act);
                    let spins = self.program.spun.locks.contains(&lock);
                    self.wait(index, CycleComponent::SyncCritSect, spins);
                } else if let Some(notes) = &mut self.notes {
                    notes.acquired(lock, index, mode);
                }
            }
            Act::Release(lock) => {
                if self.is_free(lock) {
                    return;
                }
                self.touch_lock(core, lock);
                let now = self.cores.now(core);
                self.locks[lock as usize].release(thread, &mut released);
                if let Some(notes) = &mut self.notes {
                    notes.released(lock, index);
                }
                self.wake_by(core, &released, now, CycleComponent::SyncCritSect);
            }
            Act::Arrive(barrier) => {
                let spins = barrier >= self.program.spun.barrier;
                if !spins {
                    self.cores.spend(core, self.costs.barrier, CycleComponent::SyncBarrier);
                }
                let now = self.cores.now(core);
                let answer = self.barriers[barrier as usize].arrive(thread, &mut released);
                if answer == Answer::Wait {
                    self.wait(index, CycleComponent::SyncBarrier, spins);
                } else if let Some(slicer) = &mut self.slicer {
                    slicer.meet();
                }
                self.wake_by(core, &released, now, CycleComponent::SyncBarrier);
            }
            Act::Pass(gate, reason) => {
                if self.gates[gate as usize].pass(thread) == Answer::Wait {
                    self.wait(index, reason.component(), gate >= self.program.spun.gate);
                }
            }
            Act::Open(gate) => {
                if let Some(notes) = self.notes.as_mut().filter(|_| !self.gates[gate as usize].is_open()) {
                    notes.done.push(Done::Open(gate));
                }
                self.gates[gate as usize].open(&mut released);
                self.wake_by(core, &released, now, CycleComponent::SyncCond);
            }
            Act::Take(tokens, reason) => {
                let answer = self.tokens[tokens as usize].take(thread);
                self.go_or_wait(index, answer, reason.component());
            }
            Act::Give(tokens) => {
                self.tokens[tokens as usize].give(&mut released);
                self.wake_by(core, &released, now, CycleComponent::SyncCond);
            }
            Act::Call { nanos: 0 } => {}
            Act::Call { nanos } => self.call(index, now, nanos),
            Act::CallWithin(call) => self.call_within(index, now, self.program.calls[call as usize]),
            Act::PassWithin(gate, reason, nanos) => self.pass_within(index, now, gate, reason, nanos),
            Act::Deal(construct) => self.deal(index, construct),
            // Pieces are cut where they are read.
            Act::Cut => {}
        }
    }

    /// The thread takes the next unit of a construct, or goes on behind it.
    fn deal(&mut self, index: u32, construct: u32) {
        let next = &mut self.dealt[construct as usize];
        let unit = self.program.constructs[construct as usize].get(*next).copied();
        let thread = &mut self.threads[index as usize];
        match unit {
            Some(unit) => {
                *next += 1;
                thread.deals = Some(construct);
                if let Some(notes) = &mut self.notes {
                    notes.done.push(Done::Unit(construct));
                }
                self.feed.take_unit(index as usize, unit);
            }
            None => thread.deals = None,
        }
    }

    /// The line of a lock comes to who acquires or releases it.
    fn touch_lock(&mut self, core: u32, lock: u32) {
        let address = self.program.lock_addresses.get(lock as usize).copied().unwrap_or(0);
        if address == 0 && self.program.spun.locks.contains(&lock) {
            return;
        }
        let mut cycles = self.costs.lock / 2;
        if address != 0 {
            let address = self.options.changes.padded.moved(address);
            let now = self.cores.now(core);
            let served = self.cores.memory.store(core, address, 4, NO_PLACE, now);
            cycles += u64::from(served.latency + served.tlb);
        }
        self.cores.spend(core, cycles, CycleComponent::SyncCritSect);
    }

    fn is_free(&self, lock: u32) -> bool {
        let free = self.options.changes.free_locks.as_ref();
        free.is_some_and(|locks| locks.is_empty() || locks.contains(&lock))
    }

    fn go_or_wait(&mut self, index: u32, answer: Answer, component: CycleComponent) {
        if answer == Answer::Wait {
            self.block(index, component);
        }
    }

    /// The thread leaves its core until it is woken.
    pub(super) fn block(&mut self, index: u32, component: CycleComponent) {
        self.wait(index, component, false);
    }

    /// The thread leaves its core until it goes on. One that spins goes on at once; where there are more threads than cores, another
    /// one may have its core meanwhile.
    fn wait(&mut self, index: u32, component: CycleComponent, spins: bool) {
        self.detach(index);
        let thread = &mut self.threads[index as usize];
        thread.spins = spins;
        thread.asleep_at = thread.since + if spins { 0 } else { self.costs.sleep };
        thread.state = State::Blocked;
        thread.component = component;
    }

    /// The thread on the core wakes others, which costs it time.
    fn wake_by(&mut self, core: u32, released: &[ThreadId], now: u64, component: CycleComponent) {
        if released.is_empty() {
            return;
        }
        let wakes = released.iter().any(|thread| !self.threads[thread.index()].spins);
        self.wake(released, now);
        if wakes && self.on[core as usize].is_some() {
            self.cores.spend(core, self.costs.waking, component);
        }
    }

    /// These threads go on, when they have been woken.
    pub(super) fn wake(&mut self, released: &[ThreadId], now: u64) {
        for thread in released {
            let index = thread.index() as u32;
            let thread = &mut self.threads[index as usize];
            if thread.state == State::Blocked {
                let spins = thread.spins;
                let asleep = thread.asleep_at;
                thread.state = State::Timed;
                thread.deadline = None;
                thread.ready_at = now.max(asleep) + if spins { 0 } else { self.costs.wake_up };
                self.timed.push(Reverse((thread.ready_at, index)));
                if let Some(steer) = &mut self.steer {
                    steer.released(index, now.max(asleep));
                }
            }
        }
    }

    /// Nobody can go on: the thread that waits for longest does without what it waits for. False if none waits.
    pub(super) fn let_one_through(&mut self) -> bool {
        let blocked = (0..).zip(&self.threads).filter(|(_, thread)| thread.state == State::Blocked);
        let first = blocked.min_by_key(|(index, thread)| (thread.since, *index)).map(|(index, _)| index);
        let unborn = || (0..).zip(&self.threads).find(|(_, thread)| thread.state == State::Unborn);
        let Some(index): Option<u32> = first.or_else(|| unborn().map(|(index, _)| index)) else {
            return false;
        };
        let thread = ThreadId::new(index);
        self.locks.iter_mut().for_each(|lock| lock.forget(thread));
        self.barriers.iter_mut().for_each(|barrier| barrier.forget(thread));
        self.gates.iter_mut().chain(&mut self.ends).for_each(|gate| gate.forget(thread));
        self.tokens.iter_mut().for_each(|tokens| tokens.forget(thread));
        let latest = self.threads.iter().map(|thread| thread.since.max(thread.end)).max().unwrap_or(0);
        let thread = &mut self.threads[index as usize];
        self.let_through += u64::from(thread.state == State::Blocked);
        (thread.pending, thread.awaits) = (None, None);
        thread.deadline = None;
        thread.state = State::Timed;
        thread.ready_at = latest;
        self.timed.push(Reverse((latest, index)));
        true
    }
}
