//! What made cores scarce: the number of threads, a quota, an affinity, or others on the same CPUs.
//!
//! Threads that could run and had no core lost time together, which is known; for whom or what is known only in sums
//! of the whole run: how long a quota stopped CPUs, how many threads there were beyond the cores, how much CPU time
//! others used. The lost time is divided by these, in this order, so that each nanosecond has one cause.

use std::ops::{AddAssign, SubAssign};

use holdup_model::{Environment, Nanos, Placement, Process, Run};
use holdup_sections::Working;

use crate::blame::Blame;
use crate::tree::cpu_of;

/// CPU time of others counts from this share of the CPUs' time on, and from [`LEAST_OTHERS`] on: the kernel counts in
/// ticks, and something always runs.
const LEAST_SHARE_OF_OTHERS: f64 = 0.03;

/// See [`LEAST_SHARE_OF_OTHERS`]: five ticks.
const LEAST_OTHERS: Nanos = Nanos::new(50_000_000);

/// From this share of the CPUs' time on, all of them are busy.
const BUSY: f64 = 0.8;

/// What is known of the cores that a process could have.
pub(crate) struct Scarcity<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) placement: Option<&'a Placement>,
    /// CPUs that the process was allowed to use; 0 where that is not known.
    pub(crate) allowed: u32,
    /// CPUs that its working threads could have at a time: fewer than `allowed` where they are pinned to few of these.
    pub(crate) cores: u32,
    /// CPU time for which a quota stopped CPUs.
    pub(crate) stopped: Nanos,
    /// CPU time that others used on the CPUs of the process.
    pub(crate) others: Nanos,
    /// CPU time that other processes of the run used while this one lived, as far as it is known: where one lived longer, its
    /// share of that.
    siblings: Nanos,
}

/// What was lost between the release of a thread and its running.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waking {
    /// By the working threads that were released.
    pub(crate) own: Nanos,
    /// The part of that in which they were kept so long that another must have had the core.
    pub(crate) behind_another: Nanos,
    /// That, and what was lost in waits for them.
    pub(crate) all: Nanos,
}

/// What was lost for want of a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Want {
    /// By active threads without a core.
    pub(crate) own: Nanos,
    /// By threads that were released but did not run.
    pub(crate) wake_up: Nanos,
    /// In waits for threads that were late for that reason.
    pub(crate) late: Nanos,
}

impl Want {
    pub(crate) fn total(&self) -> Nanos {
        self.own + self.wake_up + self.late
    }
}

impl AddAssign for Want {
    fn add_assign(&mut self, more: Want) {
        self.own += more.own;
        self.wake_up += more.wake_up;
        self.late += more.late;
    }
}

impl SubAssign for Want {
    fn sub_assign(&mut self, part: Want) {
        self.own -= part.own;
        self.wake_up -= part.wake_up;
        self.late -= part.late;
    }
}

/// The same by its reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct WantOfCores {
    /// A quota was used up.
    pub(crate) quota: Want,
    /// There were more threads able to run than cores.
    pub(crate) crowded: Want,
    /// Others used the cores.
    pub(crate) load: Want,
    /// It is not known why. Waking threads are not in it: that has a class of its own.
    pub(crate) other: Want,
}

/// The CPU time that `other` used while `process` lived, if it used it evenly.
fn beside(other: &Process, process: &Process) -> Nanos {
    let (from, to) = (other.start.max(process.start), other.end.min(process.end));
    if to <= from {
        return Nanos::ZERO;
    }
    part(cpu_of(other), to.since(from), other.wall())
}

impl<'a> Scarcity<'a> {
    pub(crate) fn of(run: &'a Run, process: &Process, working: &Working) -> Self {
        let placement = run.environment.placement(process.pid);
        let allowed = run.cores_of(process);
        let tids: Vec<u32> = working.threads.iter().map(|&thread| process.thread(thread).tid).collect();
        let room = placement.and_then(|placement| placement.room_for(&tids));
        let all = u32::try_from(tids.len()).unwrap_or(u32::MAX).min(allowed);
        let stopped = placement.and_then(Placement::throttling_quota).map(|(_, throttling)| throttling.time);
        let others = run.environment.load.filter(|load| {
            let capacity = load.span.get().saturating_mul(u64::from(allowed.max(1)));
            load.others() >= LEAST_OTHERS
                && load.others().share_of(Nanos::new(capacity)) >= LEAST_SHARE_OF_OTHERS
        });
        Self {
            environment: &run.environment,
            placement,
            allowed,
            cores: room.filter(|&room| room < all).unwrap_or(allowed),
            stopped: stopped.unwrap_or(Nanos::ZERO),
            others: others.map_or(Nanos::ZERO, |load| load.others()),
            siblings: run
                .processes
                .iter()
                .filter(|other| !std::ptr::eq(*other, process))
                .map(|other| beside(other, process))
                .sum(),
        }
    }

    /// The share of the CPUs' time that others used.
    pub(crate) fn share_of_others(&self) -> f64 {
        let span = self.environment.load.unwrap_or_default().span;
        self.others.share_of(Nanos::new(span.get().saturating_mul(u64::from(self.allowed.max(1)))))
    }

    /// True if other processes of the run explain `lacking`, the time that threads lacked a core: they used as much, and with the
    /// process itself, which used `own`, they kept its CPUs busy for most of `wall`.
    pub(crate) fn is_by_siblings(&self, lacking: Nanos, own: Nanos, wall: Nanos) -> bool {
        let capacity = Nanos::new(wall.get().saturating_mul(u64::from(self.allowed)));
        self.siblings >= lacking && (self.siblings + own).share_of(capacity) >= BUSY
    }

    /// True if a limit, not the machine, makes the cores as few as they are.
    pub(crate) fn is_by_affinity(&self) -> bool {
        (self.cores as usize) < self.environment.online.len()
    }

    /// How many CPUs' time the process can have.
    pub(crate) fn capacity(&self) -> f64 {
        let quota = self.placement.and_then(Placement::throttling_quota).map(|(quota, _)| quota.cpus());
        quota.unwrap_or(f64::MAX).min(f64::from(self.cores))
    }

    /// How many threads can run at a time at least while the quota, if it stops anything, lasts.
    pub(crate) fn fewest_cores(&self) -> u32 {
        (self.capacity().ceil() as u32).clamp(self.cores.min(1), self.cores)
    }

    /// Divides what was lost for want of a core.
    ///
    /// - While a quota stops CPUs nobody runs: it has what the CPUs stood still, and what threads beyond the number of
    ///   cores lacked meanwhile, which is their [`Blame::excess`] times the share of the CPUs' time that was stopped.
    /// - Of the rest, threads beyond the number of cores lack the rest of the excess.
    /// - Of the rest, others have what they used; then the part of `waking` in which threads were kept so long that another must
    ///   have had the core.
    ///
    /// What others lost in waits for threads that were late, or woken and not running yet, is divided as what these lost: a CPU
    /// that somebody uses may keep many waiting.
    pub(crate) fn divide(
        &self,
        delayed: Nanos,
        waking: Waking,
        blame: &Blame,
        working: &Working,
    ) -> WantOfCores {
        let late: Nanos = blame.delayed.values().copied().sum();
        let kept = blame.kept_waiting_late;
        let is_crowded = working.cores > 0 && working.at_once > working.cores;
        let most = |time: Nanos| if is_crowded { time } else { Nanos::ZERO };
        let all_cores = Nanos::new(working.wall().get().saturating_mul(u64::from(working.cores)));
        let excess = most(blame.excess);
        let excess_while_stopped = part(excess, self.stopped, all_cores);
        let by_quota = self.stopped + excess_while_stopped;
        let quota = by_quota.min(delayed);
        let crowded = (excess - excess_while_stopped).min(delayed - quota);
        let load = (delayed - quota - crowded).min(self.others);
        let quota_wake_up = (by_quota - quota).min(waking.all);
        let crowded_waking = part(waking.all, blame.crowded_waking, blame.waking);
        let crowded_wake_up = most(crowded_waking).min(waking.all - quota_wake_up);
        let scarce_wake_up = quota_wake_up + crowded_wake_up;
        let own_scarce = part(waking.own, scarce_wake_up, waking.all);
        let by_others = waking.behind_another.saturating_sub(own_scarce).min(self.others - load);
        let load_wake_up = part(waking.all, by_others, waking.own).min(waking.all - scarce_wake_up);
        let late_by = |own: Nanos| part(late, own, delayed);
        let kept_by_quota = match (self.stopped > Nanos::ZERO, is_crowded) {
            (false, _) => Nanos::ZERO,
            (true, false) => kept,
            (true, true) => part(kept, quota, quota + crowded),
        };
        let kept_by_crowd = most(kept - kept_by_quota);
        let mut wants = WantOfCores {
            quota: Want { own: quota, wake_up: quota_wake_up, late: late_by(quota) + kept_by_quota },
            crowded: Want { own: crowded, wake_up: crowded_wake_up, late: late_by(crowded) + kept_by_crowd },
            load: Want { own: load, wake_up: load_wake_up, late: late_by(load) },
            other: Want { own: delayed - quota - crowded - load, ..Want::default() },
        };
        wants.other.late = late + kept - wants.quota.late - wants.crowded.late - wants.load.late;
        wants
    }
}

/// `time` × `some` / `all`.
pub(crate) fn part(time: Nanos, some: Nanos, all: Nanos) -> Nanos {
    let some = some.min(all);
    let part = u128::from(time.get()) * u128::from(some.get()) / u128::from(all.get().max(1));
    Nanos::new(part as u64)
}
