//! Executions of a region that follow each other too fast to be told, or even timed, one by one.

use holdup_trace::openmp::{Region, RuntimeCode};

use crate::thread::openmp::{SUMS, Sum, Tables};
use crate::{Recorder, life};

/// Executions of a region by one thread that follow each other faster than this (µs) are summed.
const FAST_MICROS: u64 = 40;
/// One sum stands for at most this long (µs).
const LONGEST_MICROS: u64 = 10_000;
/// Of executions that are summed, so many are not timed between two that are.
const UNTIMED: u32 = 7;

/// Where the sum of a region lies in the thread's table.
#[inline]
pub(crate) fn place(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SUMS.ilog2())) as usize
}

impl Sum {
    /// True if the next execution of this region need not be timed.
    #[inline]
    pub(crate) fn takes_untimed(&self, key: u64, parent: u64) -> bool {
        self.untimed_left.get() != 0 && self.key.get() == key && self.parent.get() == parent
    }

    /// Counts an execution that was not timed.
    #[inline]
    pub(crate) fn count_untimed(&self) {
        if self.count.get() != 0 {
            self.count.set(self.count.get() + 1);
            self.since_timed.set(self.since_timed.get() + 1);
            self.untimed_left.set(self.untimed_left.get().saturating_sub(1));
        }
    }

    fn begin_with(&self, key: u64, region: &Region) {
        self.key.set(key);
        self.function.set(region.function);
        self.caller.set(region.caller);
        self.stack.set(region.stack);
        self.parent.set(region.parent);
        self.instance.set(region.instance);
        self.runtime.set(region.runtime as u8);
        self.league.set(region.league);
        self.size.set(region.size);
        self.begin.set(region.begin);
        self.count.set(0);
        self.timed.set(0);
        self.ticks.set(0);
        self.since_timed.set(0);
    }

    fn add(&self, region: &Region) {
        self.count.set(self.count.get() + 1);
        self.timed.set(self.timed.get() + 1);
        self.ticks.set(self.ticks.get() + region.ticks);
        self.end.set(region.end);
        self.since_timed.set(0);
        self.untimed_left.set(UNTIMED);
    }

    fn is_of(&self, key: u64, region: &Region) -> bool {
        self.key.get() == key
            && self.caller.get() == region.caller
            && self.parent.get() == region.parent
            && self.size.get() == region.size
    }

    /// Writes the sum, if there is one, of executions that ended before `until`.
    fn flush(&self, recorder: &Recorder, until: u64) {
        let count = self.count.replace(0);
        self.untimed_left.set(0);
        if count == 0 {
            return;
        }
        let timed = self.timed.get();
        let pace = (self.end.get() - self.begin.get()) / u64::from(count - self.since_timed.get()).max(1);
        let rest = u64::from(self.since_timed.get()) * pace;
        recorder.write(
            &Region {
                begin: self.begin.get(),
                end: (self.end.get() + rest).min(until.max(self.end.get())),
                instance: self.instance.get(),
                function: self.function.get(),
                caller: self.caller.get(),
                stack: self.stack.get(),
                parent: self.parent.get(),
                size: self.size.get(),
                count,
                timed,
                ticks: self.ticks.get(),
                runtime: RuntimeCode::from_code(self.runtime.get()).unwrap_or(RuntimeCode::Gnu),
                whole: false,
                league: self.league.get(),
            }
            .words(),
        );
    }
}

/// Tells an execution that was timed: by itself if they are slow, else in a sum.
pub(crate) fn tell(recorder: &Recorder, tables: &Tables, key: u64, region: Region) {
    let sum = &tables.sums[place(key)];
    if !sum.is_of(key, &region) {
        sum.flush(recorder, region.begin);
        sum.begin_with(key, &region);
        sum.last_clock.set(region.begin);
        recorder.write(&region.words());
        return;
    }
    let passed = region.begin.saturating_sub(sum.last_clock.replace(region.begin));
    let fast = passed < life::ticks_of_micros(FAST_MICROS) * u64::from(sum.since_timed.get() + 1);
    if !fast || region.end.saturating_sub(sum.begin.get()) > life::ticks_of_micros(LONGEST_MICROS) {
        sum.flush(recorder, region.begin);
    }
    if fast {
        if sum.count.get() == 0 {
            sum.begin_with(key, &region);
        }
        sum.add(&region);
    } else {
        recorder.write(&region.words());
    }
    flush_old(recorder, tables, region.end);
}

/// Writes the sum of this region, before an execution that is told whole begins.
pub(crate) fn flush(recorder: &Recorder, tables: &Tables, key: u64, until: u64) {
    let sum = &tables.sums[place(key)];
    if sum.key.get() == key {
        sum.flush(recorder, until);
    }
}

/// Writes all sums.
pub(crate) fn flush_all(recorder: &Recorder, tables: &Tables, until: u64) {
    tables.sums.iter().for_each(|sum| sum.flush(recorder, until));
}

fn flush_old(recorder: &Recorder, tables: &Tables, now: u64) {
    let longest = life::ticks_of_micros(LONGEST_MICROS);
    for sum in &tables.sums {
        if sum.count.get() != 0 && now.saturating_sub(sum.begin.get()) > longest {
            sum.flush(recorder, now);
        }
    }
}
