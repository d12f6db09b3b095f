//! Stretches of a thread's work between two points at which it waits for others or releases them, and whether
//! the thread worked alone in them.

use holdup_model::openmp::SyncKind;
use holdup_model::{Ends, Nanos, ObjectId, ObjectKind, Segment, SiteId, State, ThreadId, Time};

use super::Pass;
use super::roots::Awaited;
use holdup_replay::BEHIND_ANOTHER;

/// A stretch is serial if its thread is the only active one for at least this share of its active time.
const ALONE_SHARE: f64 = 0.95;

/// What a thread takes that has nothing to do between two waits, from the end of the one to the begin of the next: it
/// returns from one call and enters another (1 to 2.5 µs where both are system calls and are recorded).
const PASSING: Nanos = Nanos::new(3_000);

/// A thread that only passes is not at work beside one that works for so many times as long.
const TIMES_AS_LONG: u64 = 10;

/// The same of what is between two parallel regions, and of where threads are missed.
const MOSTLY_ALONE: f64 = 0.5;

/// At a barrier a stretch is serial only if those who wait there did less than this share of its work, on
/// average: else its thread is late, not alone.
const OTHERS_SHARE: f64 = 0.02;

/// Working threads' time by what the root of their waits did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Charge {
    pub(crate) active: Nanos,
    /// Able to run, without a core.
    pub(crate) descheduled: Nanos,
    pub(crate) io: Nanos,
    /// In a call that something outside of the program ends; see [`holdup_sections::Outside`].
    pub(crate) outside: Nanos,
    pub(crate) asleep: Nanos,
    /// Asleep until it looks whether there is something to do; see [`holdup_sections::LateLooks`].
    pub(crate) looks_late: Nanos,
    pub(crate) waking: Nanos,
    pub(crate) other: Nanos,
}

impl Charge {
    pub(crate) fn add(&mut self, state: State, is_apart: bool, time: Nanos) {
        match state {
            State::Active => self.active += time,
            State::Descheduled => self.descheduled += time,
            State::Io if is_apart => self.outside += time,
            State::Io => self.io += time,
            State::Asleep if is_apart => self.looks_late += time,
            State::Asleep => self.asleep += time,
            State::Waking => self.waking += time,
            _ => self.other += time,
        }
    }

    pub(crate) fn merge(&mut self, other: &Charge) {
        *self = self.zip(other, |own, more| own + more);
    }

    /// Each by its own.
    fn zip(&self, other: &Charge, of: impl Fn(Nanos, Nanos) -> Nanos) -> Charge {
        Charge {
            active: of(self.active, other.active),
            descheduled: of(self.descheduled, other.descheduled),
            io: of(self.io, other.io),
            outside: of(self.outside, other.outside),
            asleep: of(self.asleep, other.asleep),
            looks_late: of(self.looks_late, other.looks_late),
            waking: of(self.waking, other.waking),
            other: of(self.other, other.other),
        }
    }

    /// So much of each.
    pub(crate) fn share(&self, share: f64) -> Charge {
        self.zip(self, |time, _| Nanos::new((time.get() as f64 * share) as u64).min(time))
    }

    /// What is left without `part`.
    pub(crate) fn without(&self, part: &Charge) -> Charge {
        self.zip(part, Nanos::saturating_sub)
    }

    pub(crate) fn total(&self) -> Nanos {
        let waits = self.io + self.outside + self.asleep + self.looks_late;
        self.active + self.descheduled + waits + self.waking + self.other
    }
}

/// A serial stretch: whose, from where to where, and what the others waited for meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct SerialKey {
    pub(crate) thread: ThreadId,
    pub(crate) from: Option<SiteId>,
    pub(crate) to: Option<SiteId>,
    pub(crate) object: Option<ObjectId>,
    /// It ends at a barrier.
    pub(crate) at_barrier: bool,
}

impl SerialKey {
    /// Of all stretches that begin and end so.
    pub(crate) fn ends(&self) -> Ends {
        Ends { from: self.from, to: self.to, at_barrier: self.at_barrier }
    }
}

/// What was lost in a serial phase, and how long its thread worked alone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Serial {
    pub(crate) lost: Nanos,
    pub(crate) alone: Nanos,
    /// Part of `lost`: of threads of which it is not known whom they waited for, while this one alone was able to run.
    pub(crate) sought: Nanos,
    /// Part of `lost`: in stretches of which a part was not alone, so that nothing says where what was done alone begins.
    pub(crate) nowhere: Nanos,
}

/// Who came to a barrier.
#[derive(Default)]
pub(super) struct Arrived {
    work: Work,
    /// Of those who only passed on their way from another wait: what that wait was for, and what they took to wake up from it.
    woken: Vec<(Option<ObjectId>, Nanos)>,
}

/// Work of one or several threads in a stretch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    threads: u32,
    active: Nanos,
    /// Part of `active`: without a core.
    delay: Nanos,
    /// Before it: released, and not yet running, while there were more threads able to run than cores.
    kept_waiting: Nanos,
    /// The same while there were not, but so long that another must have had the core.
    woken_late: Nanos,
}

impl Work {
    pub(super) fn add(&mut self, other: &Work) {
        self.threads += other.threads.max(1);
        self.active += other.active;
        self.delay += other.delay;
        self.kept_waiting += other.kept_waiting;
        self.woken_late += other.woken_late;
    }
}

/// The current stretch of one thread.
#[derive(Default)]
pub(super) struct Stretch {
    pub(super) work: Work,
    pub(super) alone: Nanos,
    /// The only thread that was able to run, while others were woken and did not run yet.
    pub(super) beside_woken: Nanos,
    /// Waking up at its begin, from a wait for this.
    pub(super) woken: Option<(Option<ObjectId>, Nanos)>,
    /// Up to when `work` has been added to, while the thread is able to run.
    pub(super) able_since: Option<Time>,
    /// The sync site at which it began.
    from: Option<SiteId>,
    /// No task of the parallel region is left: until its next barrier.
    pub(super) behind_tasks: bool,
    /// The roots, by their numbers, of which something is in [`super::roots::Roots::awaited`].
    waited: Vec<u32>,
    /// What seeking threads lost while this one alone was able to run, and how long that was.
    pub(super) sought: Serial,
}

impl Stretch {
    /// The thread runs, some time after it was released, `crowded` later than it could have if there had been a core for each thread.
    pub(super) fn end_of_waking(&mut self, segment: &Segment, crowded: Nanos) {
        let late = segment.length();
        self.work.kept_waiting += crowded;
        if late >= BEHIND_ANOTHER {
            self.work.woken_late += late.saturating_sub(crowded);
        } else if crowded == Nanos::ZERO {
            self.woken = Some((segment.object, late));
        }
    }

    /// The thread is no longer in `segment`, in which it was able to run.
    pub(super) fn end_of_activity(&mut self, now: Time, segment: &Segment) {
        self.add_work(now, segment.state);
        self.able_since = None;
        if segment.state == State::Active {
            self.work.delay += segment.delay();
        }
    }

    /// The thread had no core for so long.
    pub(super) fn add_delay(&mut self, time: Nanos) {
        self.work.active += time;
        self.work.delay += time;
    }

    fn add_work(&mut self, now: Time, state: State) {
        let Some(since) = &mut self.able_since else { return };
        let length = now.since(*since);
        *since = now;
        self.work.active += length;
        if state == State::Descheduled {
            self.work.delay += length;
        }
    }
}

impl Pass<'_> {
    /// Others lost so much while they waited for this thread, which was able to run.
    pub(super) fn wait_for(&mut self, root: u32, thread: ThreadId, state: State, time: Nanos) {
        let awaited = &mut self.roots.awaited[root as usize];
        if awaited.time == Nanos::ZERO {
            self.doing[thread.index()].stretch.waited.push(root);
        }
        awaited.time += time;
        awaited.descheduled += if state == State::Descheduled { time } else { Nanos::ZERO };
    }

    /// A thread begins to wait at a barrier.
    pub(super) fn arrive(&mut self, barrier: ObjectId, thread: ThreadId) {
        let doing = &self.doing[thread.index()];
        let arrived = self.arrived.entry(barrier).or_default();
        arrived.work.add(&doing.stretch.work);
        let passed = doing.takes_place && on_core(doing.stretch.work) <= PASSING.get();
        arrived.woken.extend(doing.stretch.woken.filter(|_| passed));
    }

    /// Others that were woken, and only went on to wait at a barrier for a thread that works alone, lost nothing by waking up late.
    /// Takes that for their waiting, as far as the `work` lasts.
    fn take_waking(&mut self, barrier: ObjectId, work: Work, waited: Nanos) -> Nanos {
        let Some(arrived) = self.arrived.get_mut(&barrier) else { return Nanos::ZERO };
        let others = u64::from(arrived.work.threads);
        let known = waited.get() + on_core(arrived.work);
        let mut left = Nanos::new((on_core(work) * others).saturating_sub(known));
        let mut all = Nanos::ZERO;
        for (object, time) in std::mem::take(&mut arrived.woken) {
            let taken = time.min(left);
            left -= taken;
            all += taken;
            *self.blame.woken_to_wait.entry(object).or_default() += taken;
        }
        self.blame.waking = self.blame.waking.saturating_sub(all);
        all
    }

    /// Ends the stretch of `thread` at `site`, which may be a barrier, and decides what the waiting for it was.
    pub(super) fn decide(&mut self, thread: ThreadId, site: Option<SiteId>, at_barrier: bool) {
        let doing = &mut self.doing[thread.index()];
        let stretch = &mut doing.stretch;
        stretch.add_work(self.now, doing.state.unwrap_or(State::NotRecorded));
        let behind_tasks = stretch.behind_tasks;
        stretch.behind_tasks &= !at_barrier;
        if stretch.work.active == Nanos::ZERO && stretch.waited.is_empty() {
            return;
        }
        let to = site.or(doing.site);
        let from = std::mem::replace(&mut stretch.from, to);
        let work = std::mem::take(&mut stretch.work);
        let mut alone = std::mem::take(&mut stretch.alone);
        let is_alone = alone.get() as f64 >= ALONE_SHARE * work.active.get() as f64;
        let beside_woken = std::mem::take(&mut stretch.beside_woken);
        let mostly_alone = alone.get() as f64 >= MOSTLY_ALONE * work.active.get() as f64;
        let sought = std::mem::take(&mut stretch.sought);
        let waited = std::mem::take(&mut stretch.waited);
        let mut serial_keys = Vec::new();
        if sought.lost > Nanos::ZERO {
            let key = SerialKey { thread, from, to, object: None, at_barrier };
            serial_keys.push(key);
            let own = self.lost_to_work(None, thread, sought.lost, work, Work::default());
            let serial = self.blame.serial.entry(key).or_default();
            serial.lost += own;
            serial.sought += own;
            serial.alone += if is_alone { std::mem::take(&mut alone) } else { sought.alone };
        }
        for root in waited {
            let (object, _) = self.roots.keys[root as usize];
            let Awaited { time, descheduled } = std::mem::take(&mut self.roots.awaited[root as usize]);
            let barrier = object.filter(|object| self.roles[object.index()] == ObjectKind::Barrier);
            let others = barrier.and_then(|barrier| self.arrived.get(&barrier)).map(|arrived| arrived.work);
            // A parallel region is there to be shared out, however little of it the others got.
            let is_region = barrier.is_some_and(|barrier| {
                self.process.object(barrier).construct == Some(SyncKind::RegionBarrier)
            });
            let is_late = others.is_some_and(|others| {
                let did = on_core(others) as f64 / f64::from(others.threads);
                let passing = PASSING.get().min(on_core(work) / TIMES_AS_LONG) as f64;
                is_region || did > passing.max(OTHERS_SHARE * on_core(work) as f64)
            });
            // Who was woken meanwhile had nothing to do, as has been seen since.
            let was_alone = others.map_or(alone, |_| alone + beside_woken);
            let is_alone = is_alone || others.is_some() && only_passed(was_alone, work);
            // What is done behind the last task was not to be dealt out by the region: its tasks were.
            let is_late = is_late && !(behind_tasks && is_alone);
            // Who waits for the next region waits for what is between them, though others hold that up now and then; and threads
            // are missed where short ones, like those that check sums, come and go beside this one.
            let may_share_it = object.is_none_or(|object| self.roles[object.index()] == ObjectKind::Team);
            if (is_alone || may_share_it && mostly_alone) && !is_late {
                let key = SerialKey { thread, from, to, object, at_barrier };
                serial_keys.push(key);
                let mut own = self.lost_to_work(object, thread, time, work, Work::default());
                own += barrier.map_or(Nanos::ZERO, |barrier| self.take_waking(barrier, work, time));
                let serial = self.blame.serial.entry(key).or_default();
                serial.lost += own;
                // Once a stretch, whatever the number of objects on which others waited. Who is missed now and then was not the reason
                // all the time.
                let counted = if is_alone || object.is_some() { was_alone } else { alone.min(time) };
                alone = alone.saturating_sub(counted);
                serial.alone += counted;
                continue;
            }
            let is_end = object.is_some_and(|object| self.roles[object.index()] == ObjectKind::ThreadEnd);
            // Where there are no others to compare with, it can only be said that it had no core meanwhile.
            let compared = others.or(is_end.then(Work::default));
            let rest = match compared {
                Some(others) => self.lost_to_work(object, thread, time, work, others),
                None => time,
            };
            if rest < time {
                self.times.were_for_work(root, rest.share_of(time));
            }
            let without_core = if compared.is_some() { Nanos::ZERO } else { descheduled };
            let charge = self.blame.charges.entry((object, Some(thread))).or_default();
            charge.active += rest - without_core;
            charge.descheduled += without_core;
        }
        self.times.end_stretch(thread, &serial_keys);
    }

    /// What others lost to the thread's work, of the `time` that they waited for it; what they lost to its want of a core is
    /// booked as that.
    fn lost_to_work(
        &mut self,
        object: Option<ObjectId>,
        thread: ThreadId,
        time: Nanos,
        work: Work,
        others: Work,
    ) -> Nanos {
        let late = late_for_want_of_a_core(time, work, others);
        if late.delayed > Nanos::ZERO {
            *self.blame.delayed.entry((object, thread)).or_default() += late.delayed;
        }
        self.blame.kept_waiting_late += late.kept_waiting;
        if late.woken > Nanos::ZERO {
            self.blame.charges.entry((object, Some(thread))).or_default().waking += late.woken;
        }
        time - late.delayed - late.kept_waiting - late.woken
    }
}

/// True if others did no more beside it than pass from one wait to the next.
fn only_passed(alone: Nanos, work: Work) -> bool {
    let beside = work.active.saturating_sub(alone);
    beside <= PASSING && beside.get() * TIMES_AS_LONG <= work.active.get()
}

/// Work, less what it was delayed (ns).
fn on_core(work: Work) -> u64 {
    work.active.saturating_sub(work.delay).get()
}

/// The part of the waiting for a late thread that comes from its want of a core.
#[derive(Clone, Copy, Debug, Default)]
struct Late {
    /// Because it lost its core.
    delayed: Nanos,
    /// Because it got one late, of the program's own threads.
    kept_waiting: Nanos,
    /// Because it got one late, of others, as far as is known.
    woken: Nanos,
}

/// At a barrier a thread is later than the others by what it worked more, by what it was delayed more and by what it
/// began later, than they on the average; the wait is divided in the same ratio. Where others have ended, or do
/// nothing meanwhile, there is nobody to compare with, and `others` is zero.
fn late_for_want_of_a_core(wait: Nanos, last: Work, others: Work) -> Late {
    let threads = f64::from(others.threads.max(1));
    let more = |own: Nanos, others: Nanos| (own.get() as f64 - others.get() as f64 / threads).max(0.0);
    let more_work = more(Nanos::new(on_core(last)), Nanos::new(on_core(others)));
    let more_delay = more(last.delay, others.delay);
    let later = more(last.kept_waiting, others.kept_waiting);
    let woken_later = more(last.woken_late, others.woken_late);
    let all = more_work + more_delay + later + woken_later;
    if all == 0.0 {
        return Late::default();
    }
    let part = |amount: f64| Nanos::new((wait.get() as f64 * (amount / all)) as u64);
    let delayed = part(more_delay).min(wait);
    let kept_waiting = part(later).min(wait - delayed);
    Late { delayed, kept_waiting, woken: part(woken_later).min(wait - delayed - kept_waiting) }
}
