//! From a recorded process to a [`Program`]: which CPU time lies between which acts.

use std::sync::Arc;

use holdup_model::{Mode, Nanos, Process, Row, Segment, State, ThreadId, Time, Timeline};

use crate::events::{Act, Event, Maker};
use crate::pools::{self, Cut};
use crate::program::{Actor, BusyFacts, NO_SITE, Op, Program, Step};
use crate::unseen::Unseen;

/// The program that a process ran, as far as it was recorded. `None` where no thread was, or its times make no sense.
pub fn extract(process: &Process, timeline: &Timeline) -> Option<Program> {
    if process.threads.is_empty() || timeline.wall() > Nanos::LONGEST_RUN {
        return None;
    }
    let mut maker = Maker::of(process, timeline);
    let pools = pools::find(&maker);
    let unseen = maker.unseen_holds();
    maker.steps(&pools, unseen);
    Some(maker.program)
}

impl Maker<'_> {
    /// Puts the events of each thread into steps.
    fn steps(&mut self, pools: &pools::Found, unseen: Vec<Vec<Unseen>>) {
        let last = self.last_thread();
        self.program.pools.clone_from(&pools.pools);
        self.program.tokens.clone_from(&pools.tokens);
        let mut starts: Vec<(u64, u32, u32)> = Vec::new();
        for (index, unseen) in unseen.into_iter().enumerate() {
            let thread = ThreadId::new(index as u32);
            let row = self.timeline.row(thread);
            let first = self.program.steps.len() as u32;
            let has_parent = self.process.threads[index].parent.is_some_and(|parent| parent != thread);
            let mut writer = Writer {
                program: &mut self.program,
                work: Work::of(row, self.process.start),
                at: self.timeline.row(thread).start.since(self.process.start).get(),
                pending: 0,
                held: 0,
                unseen,
            };
            let member = pools.member(thread);
            let mut tail = first;
            for (position, event) in self.events[index].iter().enumerate() {
                let replaced = pools.replaced[index].contains(&(position + 1));
                let pool = member.map_or(0, |member| member.pool);
                match member.and_then(|member| member.cut_at(position)) {
                    None => {}
                    Some(cut) => {
                        writer.work_until(event.at);
                        let op = if cut == Cut::First { Op::Deal(pool) } else { Op::EndOfPiece(pool) };
                        writer.step(op, event.at, NO_SITE);
                        let next = writer.program.steps.len() as u32;
                        if cut == Cut::Tail {
                            tail = next;
                        } else {
                            starts.push((event.at, pool, next));
                        }
                    }
                }
                if let Some(&token) = pools.takes[index].get(&position) {
                    writer.work_until(event.at);
                    writer.step(Op::Take(token), event.at, event.site);
                }
                match event.act {
                    // A token was taken in its place.
                    Act::Pass(_) | Act::Pause(_) if replaced => writer.goes_on_at(event.until),
                    Act::Signal(condition, all) => {
                        if let Some(&token) = pools.given.get(&condition) {
                            writer.work_until(event.at);
                            let op = if all { Op::Close(token) } else { Op::Give(token) };
                            writer.step(op, event.at, event.site);
                        }
                    }
                    Act::Wanted(_) => {}
                    _ => writer.event(event),
                }
            }
            let end = self.timeline.row(thread).end.since(self.process.start).get();
            writer.work_until(end);
            writer.step(Op::End, end, NO_SITE);
            self.program.actors.push(Actor {
                thread,
                starts_at: (!has_parent).then(|| row.start.since(self.process.start).get()),
                first,
                tail,
                is_awaited: Some(thread) == last || self.process.thread(thread).end.is_some(),
                is_added: false,
            });
        }
        starts.sort_unstable();
        for (_, pool, step) in starts {
            self.program.pools[pool as usize].pieces.push(step);
        }
        self.program.copies = vec![Vec::new(); self.events.len()];
        self.program.busy.extend(self.process.busy_locks.iter().map(|busy| BusyFacts {
            thread: busy.thread,
            object: busy.object,
            lost: busy.lost().get(),
        }));
    }

    /// The thread with whose end the process ended; `None` where it did not live on until then.
    fn last_thread(&self) -> Option<ThreadId> {
        let rows = &self.timeline.threads;
        let lived_on = |row: &&(usize, &Row)| row.1.end >= self.timeline.end;
        let rows: Vec<(usize, &Row)> = rows.iter().enumerate().collect();
        let works = |row: &&(usize, &Row)| row.1.segments.last().is_some_and(|last| last.state.is_active());
        let alive: Vec<_> = rows.iter().filter(lived_on).collect();
        let first_working = alive.iter().find(|row| works(row)).or_else(|| alive.first());
        first_working.map(|(index, _)| ThreadId::new(*index as u32))
    }
}

/// The CPU time of a thread's useful segments, asked for in order of time.
struct Work<'a> {
    segments: &'a [Segment],
    start: Time,
    next: usize,
}

impl<'a> Work<'a> {
    fn of(row: &'a Row, start: Time) -> Self {
        Self { segments: &row.segments, start, next: 0 }
    }

    /// CPU time (ns) between two moments, the first not before those asked for earlier.
    fn between(&mut self, from: u64, until: u64) -> u64 {
        let mut sum = 0;
        while let Some(segment) = self.segments.get(self.next) {
            let begin = segment.start.since(self.start).get();
            let end = segment.end.since(self.start).get();
            if end <= from {
                self.next += 1;
                continue;
            }
            if begin >= until {
                break;
            }
            let works =
                segment.state.is_active() || segment.state == State::Spinning && segment.object.is_none();
            if works {
                let part = end.min(until) - begin.max(from);
                sum += match segment.cpu {
                    None => part,
                    Some(cpu) if part == end - begin => cpu.get().min(part),
                    Some(cpu) => {
                        (cpu.get().min(end - begin) as u128 * part as u128 / (end - begin) as u128) as u64
                    }
                };
            }
            if end > until {
                break;
            }
            self.next += 1;
        }
        sum
    }
}

/// Writes one thread's steps.
struct Writer<'a> {
    program: &'a mut Program,
    work: Work<'a>,
    /// Up to when the work is in steps or in `pending`.
    at: u64,
    pending: u64,
    /// How many locks the thread holds.
    held: u32,
    unseen: Vec<Unseen>,
}

impl Writer<'_> {
    fn work_until(&mut self, time: u64) {
        if time > self.at {
            self.pending += self.work.between(self.at, time);
            self.at = time;
        }
    }

    fn step(&mut self, op: Op, at: u64, site: u32) {
        if self.held == 0 && self.pending > 0 && !self.unseen.is_empty() {
            self.unseen_holds(at);
        }
        match op {
            Op::Acquire(_) | Op::AcquireShared(_) => self.held += 1,
            Op::Release(_) => self.held = self.held.saturating_sub(1),
            _ => {}
        }
        self.push(op, at, site);
    }

    fn push(&mut self, op: Op, at: u64, site: u32) {
        let work = std::mem::take(&mut self.pending);
        self.program.steps.push(Step { work, op });
        Arc::make_mut(&mut self.program.times).push(at);
        Arc::make_mut(&mut self.program.sites).push(site);
    }

    /// Spreads the holds that were only counted evenly over the pending work.
    fn unseen_holds(&mut self, at: u64) {
        let work = self.pending;
        let mut unseen = std::mem::take(&mut self.unseen);
        let (mut count, mut held) = (0, 0);
        for lock in &mut unseen {
            count += lock.take(work);
            held += lock.now * lock.hold;
        }
        if count > 0 {
            let mut outside = work.saturating_sub(held);
            let mut left = count;
            let mut inside = work - outside;
            while left > 0 {
                for lock in unseen.iter_mut().filter(|lock| lock.now > 0) {
                    let gap = outside / (left + 1);
                    let hold = lock.hold.min(inside);
                    self.pending = gap;
                    self.push(Op::Acquire(lock.lock), at, lock.site);
                    self.pending = hold;
                    self.push(Op::Release(lock.lock), at, NO_SITE);
                    outside -= gap;
                    inside -= hold;
                    lock.now -= 1;
                    left -= 1;
                }
            }
            self.pending = outside + inside;
        }
        self.unseen = unseen;
    }

    fn event(&mut self, event: &Event) {
        self.work_until(event.at);
        let acquire = |lock, mode| match mode {
            Mode::Exclusive => Op::Acquire(lock),
            Mode::Shared => Op::AcquireShared(lock),
        };
        match event.act {
            Act::Release(lock) => self.step(Op::Release(lock), event.at, event.site),
            Act::Open(gate) => self.step(Op::Open(gate), event.at, event.site),
            Act::Start(thread) => self.step(Op::Start(thread), event.at, event.site),
            Act::Acquire(lock, mode) => self.step(acquire(lock, mode), event.at, event.site),
            Act::Touch(lock, mode) => {
                self.step(acquire(lock, mode), event.at, event.site);
                self.step(Op::Release(lock), event.at, event.site);
            }
            Act::Arrive(barrier) => self.step(Op::Arrive(barrier), event.at, event.site),
            Act::Pass(gate) => self.step(Op::Pass(gate), event.at, event.site),
            Act::Pause(pause) => self.step(Op::Pause(pause), event.at, event.site),
            Act::Signal(..) | Act::Wanted(..) => {}
        }
        self.goes_on_at(event.until);
    }

    /// What the thread did on a core on its way out of a wait is the wait's price, which the replay knows.
    fn goes_on_at(&mut self, time: u64) {
        self.at = self.at.max(time);
    }
}
