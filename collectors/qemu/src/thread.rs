//! A thread of the program as the plugin sees it.

use std::sync::atomic::AtomicBool;

use holdup_trace::instructions::{DEEPEST_MEETING, Entry, Loss, MARK_FIELDS, Mark, MarkCode, Other};

use crate::channel::Outlet;
use crate::counter::Counter;
use crate::edges::MOST_BLOCKS;
use crate::meets::Visit;
use crate::numbers::number;
use crate::options::Mode;
use crate::sums::Sums;
use crate::tracer::Tracer;
use crate::watch::{MOST_ACCESSES, Watch};

/// A thread.
#[repr(C)]
pub(crate) struct Thread {
    pub(crate) counter: Counter,
    pub(crate) tracer: Tracer,
    pub(crate) outlet: Outlet,
    sums: Sums,
    entry: Vec<u8>,
    /// What is executed now is of interest.
    interest: bool,
    /// That something is dropped from now on was told.
    loss_told: bool,
    /// The functions that may be barriers in which it is, the innermost last.
    visits: Vec<Visit>,
    /// It is in one of our callbacks outside of translated code, where others cannot stop it.
    pub(crate) busy: AtomicBool,
}

impl Thread {
    pub(crate) fn new(watch: &'static Watch, stream: u32) -> Option<Self> {
        // Each mode needs its own tables only.
        let (blocks, accesses) = match watch.options.mode {
            Mode::Counts => (MOST_BLOCKS, 0),
            Mode::Stream => (0, MOST_ACCESSES),
        };
        let mut thread = Self {
            counter: Counter::new(watch.codes, blocks)?,
            tracer: Tracer::new(watch, accesses)?,
            outlet: Outlet::new(&watch.channel, stream),
            sums: Sums::default(),
            entry: Vec::new(),
            interest: false,
            loss_told: false,
            visits: Vec::new(),
            busy: AtomicBool::new(false),
        };
        thread.look(watch);
        Some(thread)
    }

    /// Becomes another thread.
    pub(crate) fn begin_anew(&mut self, watch: &'static Watch, stream: u32) {
        self.counter.begin_anew();
        self.tracer.begin_anew();
        self.outlet = Outlet::new(&watch.channel, stream);
        self.loss_told = false;
        self.visits.clear();
        self.look(watch);
    }

    /// It comes to what may be a barrier. True if that was recorded.
    pub(crate) fn comes(&mut self, watch: &'static Watch, index: u32, function: usize) -> bool {
        // A loop may begin where the function does.
        let is_inside = self.visits.iter().any(|visit| visit.function == function);
        if is_inside || self.visits.len() == DEEPEST_MEETING {
            return false;
        }
        let Some(visit) = watch.meets.comes(function, index) else { return false };
        self.visits.push(visit);
        let mark = watch.meets.mark(visit, self.counter.came_from(), watch.meets.ticket());
        self.cut(watch);
        let (code, fields) = mark.encode();
        self.mark(code, fields);
        true
    }

    /// It may leave that function, and what it came to in it; or that piece of one.
    pub(crate) fn leaves_meeting(&mut self, watch: &'static Watch, function: usize) {
        let Some(at) = self.visits.iter().rposition(|visit| visit.function == function) else { return };
        let visit = self.visits.remove(at);
        if !watch.meets.is_piece(function) {
            self.visits.truncate(at);
        }
        let ticket = watch.meets.ticket();
        watch.meets.leaves(visit);
        self.cut(watch);
        let (code, fields) = Mark::MeetEnd { function: watch.meets.name(visit), ticket }.encode();
        self.mark(code, fields);
    }

    /// Looks whether what is executed now is of interest.
    fn look(&mut self, watch: &'static Watch) {
        self.interest = watch.is_of_interest();
        self.tracer.interest = self.interest && watch.limited().is_none();
        self.tracer.is_before = !self.interest && self.tracer.warm.is_some();
    }

    /// Writes what was executed since the last cut, if it was of interest.
    pub(crate) fn cut(&mut self, watch: &'static Watch) {
        self.settle();
        let limited = watch.limited();
        match watch.options.mode {
            Mode::Stream => self.tracer.publish(),
            Mode::Counts if !self.interest || limited.is_some() => self.counter.discard(),
            Mode::Counts => {
                self.counter.drain(&mut self.sums);
                if !self.sums.is_empty() {
                    watch.executed(self.sums.counted());
                    self.sums.write(&mut self.entry, |entry| {
                        self.outlet.write(entry);
                    });
                }
            }
        }
        let lost = limited.or_else(|| watch.lacked_room().then_some(Loss::Room));
        if let Some(why) = lost.filter(|_| self.interest && !self.loss_told) {
            self.loss_told = true;
            self.tell_loss(why);
        }
        self.look(watch);
        if let Some(warm) = self.tracer.warm.as_mut().filter(|_| self.tracer.interest) {
            warm.write(&mut self.entry, |entry| {
                self.outlet.write(entry);
            });
        }
    }

    /// What was executed so far comes before what is written next.
    pub(crate) fn settle(&mut self) {
        self.tracer.finish(&mut self.outlet);
    }

    pub(crate) fn wait_begins(&mut self) {
        self.counter.wait_begins();
        self.tracer.wait_begins();
    }

    pub(crate) fn wait_ends(&mut self) {
        self.counter.wait_ends();
        self.tracer.wait_ends();
    }

    pub(crate) fn task_begins(&mut self) {
        self.counter.task_begins();
        self.tracer.task_begins();
    }

    pub(crate) fn task_ends(&mut self) {
        self.counter.task_ends();
        self.tracer.task_ends();
    }

    fn tell_loss(&mut self, why: Loss) {
        self.entry.clear();
        for value in [(Other::Lost as u64) << 2 | Entry::Other as u64, 1, why as u64] {
            number(&mut self.entry, value);
        }
        self.outlet.write(&self.entry);
    }

    /// Writes a mark.
    pub(crate) fn mark(&mut self, code: MarkCode, fields: [u64; MARK_FIELDS]) {
        self.settle();
        self.entry.clear();
        number(&mut self.entry, (code as u64) << 2 | Entry::Mark as u64);
        for field in fields {
            number(&mut self.entry, field);
        }
        self.outlet.write(&self.entry);
    }

    /// The process forks. The child has what this thread has, and must not write to its buffer.
    pub(crate) fn forks(&mut self, system_call: u64) {
        self.leaves(system_call);
        self.hand_over();
    }

    /// The process executes another program, or forks.
    pub(crate) fn leaves(&mut self, system_call: u64) {
        self.settle();
        self.entry.clear();
        number(&mut self.entry, (Other::Leaves as u64) << 2 | Entry::Other as u64);
        number(&mut self.entry, system_call);
        self.outlet.write(&self.entry);
    }

    /// Hands over what was written.
    pub(crate) fn hand_over(&mut self) {
        self.settle();
        self.outlet.hand_over();
    }
}
