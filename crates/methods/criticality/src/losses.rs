//! All lost time of the working threads, each nanosecond in one class. Findings and the cost identity are both
//! made from this, so that they agree.

use std::collections::BTreeMap;

use holdup_model::{
    Nanos, ObjectId, ObjectKind, Process, Segment, SiteId, State, ThreadId, ThreadTimes, Timeline,
    awake_waits,
};
use holdup_replay::BEHIND_ANOTHER;
use holdup_sections::{Outside, Working};

use crate::blame::{Blame, Charge, Serial, SerialKey};
use crate::objects::Busy;
use crate::scarcity::{Scarcity, Waking, Want, WantOfCores, part};

/// Time at one place, by thread.
pub(crate) type ByThread = BTreeMap<ThreadId, Nanos>;

/// Lost time of working threads (ns, not yet divided by their number).
#[derive(Default)]
pub(crate) struct Losses {
    /// Waits that end at a lock, by lock and the thread that was waited for in the end; and what busy locks cost, which nobody in
    /// particular is to blame for.
    pub(crate) locks: BTreeMap<(ObjectId, Option<ThreadId>), Charge>,
    /// What busy locks cost of that: active time.
    pub(crate) busy: BTreeMap<ObjectId, Nanos>,
    /// Waits at a barrier, by the late thread.
    pub(crate) barriers: BTreeMap<(ObjectId, Option<ThreadId>), Charge>,
    /// Waits for the end of a thread, and threads that are not there meanwhile.
    pub(crate) joins: BTreeMap<(ObjectId, Option<ThreadId>), Charge>,
    /// Waits for signals, semaphores, futexes, by who gave the signal in the end.
    pub(crate) signals: BTreeMap<(ObjectId, Option<ThreadId>), Charge>,
    /// Waits for tasks of OpenMP, by who made the next one or ended what it depends on.
    pub(crate) tasks: BTreeMap<(ObjectId, Option<ThreadId>), Charge>,
    /// Waits for a thread that works alone.
    pub(crate) serial: BTreeMap<SerialKey, Serial>,
    /// Threads that are not there yet or no longer, while the main thread works and is not alone.
    pub(crate) startup: Nanos,
    /// By the place where the threads wait.
    pub(crate) io: BTreeMap<Option<SiteId>, ByThread>,
    /// By the place where the threads sleep.
    pub(crate) sleep: BTreeMap<Option<SiteId>, ByThread>,
    /// The part of it that others lost who had done their work, while a thread slept before it looked whether they had.
    pub(crate) late_looks: BTreeMap<(Option<SiteId>, ThreadId), Nanos>,
    /// The part of `io` that others lost who waited for what a thread gives them, which was in calls nearly all that time.
    pub(crate) through_calls: BTreeMap<(Option<SiteId>, ThreadId), Nanos>,
    /// By the place of the loop; `None` for loops that the program marked.
    pub(crate) spin: BTreeMap<Option<SiteId>, ByThread>,
    /// For want of a core that a spinning thread had.
    pub(crate) taken_by_spinning: Nanos,
    /// What waiting OpenMP threads that spin took from others.
    pub(crate) awake: Awake,
    /// With nothing to do.
    pub(crate) idle: Idle,
    /// See [`Blame::spare`].
    pub(crate) spare: Nanos,
    /// Without work while there were no cores for more: see [`Blame::beyond_cores`].
    pub(crate) beyond_cores: Nanos,
    /// From release to running, by what had been waited for.
    pub(crate) wake_up: BTreeMap<Option<ObjectId>, Nanos>,
    /// Blocked on something that was not recorded, while no other thread or several were able to run.
    pub(crate) blocked: ByThread,
    /// Active and spinning threads without a core.
    delayed: Nanos,
    waking: Waking,
    /// That, waking threads and waits for late ones, for want of a core.
    pub(crate) cores: WantOfCores,
    /// Not in any class.
    pub(crate) unexplained: Nanos,
}

/// Time in which threads had nothing to do, since nothing came from outside of the program.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    /// In calls that something outside of the program ends, by place.
    pub(crate) own: BTreeMap<Option<SiteId>, ByThread>,
    /// By what they waited on, and who could have given them something but was waiting itself.
    pub(crate) by_object: BTreeMap<(ObjectId, Option<ThreadId>), Nanos>,
    /// In place of threads that were not there.
    pub(crate) absent: Nanos,
}

/// CPU time that threads spun for while an OpenMP runtime let them wait, and what was lost to that.
///
/// Cores that are scarce, for whatever reason, are shared out by the CPU time that threads want: what the process lacks goes
/// with what it uses. So of what it lost for want of a core waiting threads have as large a part as of its CPU time.
#[derive(Debug, Default)]
pub(crate) struct Awake {
    /// By what was waited for.
    pub(crate) spinning: BTreeMap<(ObjectId, ThreadId), Nanos>,
    /// CPU time of all threads, as far as the same records tell.
    all: Nanos,
    /// What threads with work lacked, whoever used it.
    pub(crate) lacked: Nanos,
    /// All that was lost for want of a core.
    pub(crate) wanted: Nanos,
    /// The part of that which waiting threads took.
    pub(crate) taken: Want,
}

impl Awake {
    fn of(process: &Process) -> Awake {
        let waits = awake_waits(process, |object| process.object(object).is_of_openmp());
        let spinning = waits.into_iter().map(|(key, waits)| (key, waits.spun)).collect();
        let all = process.on_core.iter().map(|span| span.end.since(span.begin)).sum();
        Awake { spinning, all, ..Awake::default() }
    }

    /// CPU time of waiting threads.
    pub(crate) fn spun(&self) -> Nanos {
        self.spinning.values().copied().sum()
    }

    /// Its share of all.
    pub(crate) fn share(&self) -> f64 {
        self.spun().share_of(self.all).min(1.0)
    }

    /// As large a part of `lost` as waiting threads have of the CPU time.
    pub(crate) fn part_of(&self, lost: Nanos) -> Nanos {
        part(lost, self.spun(), self.all)
    }

    /// Takes their part of what was lost.
    fn take_from(&mut self, wants: &mut WantOfCores) {
        for want in [&mut wants.quota, &mut wants.crowded, &mut wants.load, &mut wants.other] {
            self.lacked += want.own + want.wake_up;
            self.wanted += want.total();
            let taken = Want {
                own: self.part_of(want.own),
                wake_up: self.part_of(want.wake_up),
                late: self.part_of(want.late),
            };
            *want -= taken;
            self.taken += taken;
        }
    }
}

impl Idle {
    pub(crate) fn total(&self) -> Nanos {
        let own: Nanos = self.own.values().flat_map(BTreeMap::values).copied().sum();
        own + self.by_object.values().copied().sum() + self.absent
    }
}

/// Sorts everything that was lost into classes.
pub(crate) fn losses(
    process: &Process,
    timeline: &Timeline,
    outside: &Outside,
    blame: &Blame,
    working: &Working,
    times: &[ThreadTimes],
    scarcity: &Scarcity<'_>,
) -> Losses {
    let mut losses = Losses { awake: Awake::of(process), ..Losses::default() };
    losses.sort_waits(timeline, outside, blame, working, times);
    (losses.spare, losses.beyond_cores) = (blame.spare, blame.beyond_cores);
    let without_core = losses.add_own(timeline, outside, working, blame);
    losses.sort_sought(timeline, blame);
    losses.take_from_spinning(without_core);
    losses.sort_wants_of_cores(blame, working, scarcity);
    losses
}

impl Losses {
    /// What locks cost that are waited for very often.
    pub(crate) fn add_busy_locks(&mut self, busy: &[Busy]) {
        for (index, busy) in busy.iter().enumerate().filter(|(_, busy)| busy.lost > Nanos::ZERO) {
            let object = ObjectId::new(index as u32);
            self.busy.insert(object, busy.lost);
            let charge = self.locks.entry((object, None)).or_default();
            charge.merge(&Charge { active: busy.lost, ..Charge::default() });
        }
    }

    /// All time in loops that wait.
    pub(crate) fn spun(&self) -> Nanos {
        self.spin.values().flat_map(BTreeMap::values).copied().sum()
    }

    fn sort_waits(
        &mut self,
        timeline: &Timeline,
        outside: &Outside,
        blame: &Blame,
        working: &Working,
        times: &[ThreadTimes],
    ) {
        // Threads that take turns feed each other only as they are alone.
        let roles = &timeline.roles;
        let feeds_others = |thread| {
            !working.take_turns && !roles.gives_in_rounds(thread) && feeds_others(blame, times, thread)
        };
        for (&(object, thread), charge) in &blame.charges {
            match object {
                Some(object) => {
                    let charge = self.take_late_looks(timeline, working, object, thread, *charge);
                    let charge = self.take_calls(timeline, outside, object, thread, charge);
                    self.charge(timeline, object, thread, &charge);
                }
                None => self.charge_absence(timeline, outside, thread, charge),
            }
        }
        for (&key, &serial) in &blame.serial {
            // A team is not fed, nor by tasks: it works with the thread that calls it.
            let is_queue = |object: ObjectId| {
                let kind = roles.kind_for(object, Some(key.thread));
                kind.is_signal() && !matches!(kind, ObjectKind::Team | ObjectKind::Tasks)
            };
            // Who is late with what it was given is that, though it is the only one at work.
            let is_late = |object| {
                roles.joins(object) && roles.kind_for(object, Some(key.thread)) == ObjectKind::ThreadEnd
            };
            match key.object {
                Some(object) if is_late(object) || is_queue(object) && feeds_others(key.thread) => {
                    let charge = Charge { active: serial.lost, ..Charge::default() };
                    self.charge(timeline, object, Some(key.thread), &charge);
                }
                _ => {
                    self.serial.insert(key, serial);
                }
            }
        }
        self.add_rest_of_serial(timeline, &blame.alone);
    }

    /// Who is alone at work while others wait at an object for tasks that are held back is no serial phase, and nobody is late at a
    /// barrier then: the others could do these.
    pub(crate) fn wait_for_tasks(&mut self, are_held: impl Fn(ObjectId) -> bool) {
        let tasks = &mut self.tasks;
        self.barriers.retain(|key, charge| {
            let is_held = are_held(key.0);
            if is_held {
                tasks.entry(*key).or_default().merge(charge);
            }
            !is_held
        });
        self.serial.retain(|key, serial| {
            let Some(object) = key.object.filter(|object| are_held(*object)) else { return true };
            let charge = Charge { active: serial.lost, ..Charge::default() };
            tasks.entry((object, Some(key.thread))).or_default().merge(&charge);
            false
        });
    }

    /// Who gives out work in rounds is alone at work between them: that some have not come to wait by then, or wait for a core, makes no
    /// other thing of it. Nor that it never waits for them, since its own part always takes longest: then nothing says where what it
    /// does alone begins.
    fn add_rest_of_serial(&mut self, timeline: &Timeline, alone: &[Nanos]) {
        let mut known: ByThread = BTreeMap::new();
        for (key, serial) in &self.serial {
            *known.entry(key.thread).or_default() += serial.alone;
        }
        for (&(object, thread), charge) in &mut self.signals {
            let gives = |thread: &ThreadId| timeline.roles.gives_in_rounds(*thread);
            let Some(thread) = thread.filter(gives).filter(|_| charge.active > Nanos::ZERO) else { continue };
            let rest = std::mem::take(&mut charge.active);
            let own = self.serial.iter().filter(|(key, _)| key.thread == thread);
            let most = own.max_by_key(|(_, serial)| serial.lost).filter(|(_, most)| most.lost >= rest);
            let unknown = SerialKey { thread, from: None, to: None, object: Some(object), at_barrier: false };
            let serial = self.serial.entry(most.map_or(unknown, |(key, _)| *key)).or_default();
            serial.lost += rest;
            serial.nowhere += rest;
            // However many objects others waited on meanwhile.
            let known = known.entry(thread).or_default();
            serial.alone += alone[thread.index()].saturating_sub(*known);
            *known = alone[thread.index()];
        }
        self.signals.retain(|_, charge| charge.total() > Nanos::ZERO);
    }

    /// What others lost to the sleep of a thread that looks only now and then what they have done is lost to that sleep. Who sleeps
    /// while it has a lock, keeps that.
    fn take_late_looks(
        &mut self,
        timeline: &Timeline,
        working: &Working,
        object: ObjectId,
        thread: Option<ThreadId>,
        mut charge: Charge,
    ) -> Charge {
        let lost = std::mem::take(&mut charge.looks_late);
        match thread.filter(|_| !timeline.roles.kind_for(object, thread).is_lock()) {
            Some(thread) if lost > Nanos::ZERO => {
                let is_meant = |segment: &Segment| working.late_looks.has(thread, segment);
                for (site, time) in by_place(timeline, is_meant, thread, lost) {
                    *self.sleep.entry(site).or_default().entry(thread).or_default() += time;
                    *self.late_looks.entry((site, thread)).or_default() += time;
                }
            }
            _ => charge.asleep += lost,
        }
        charge
    }

    /// What others lost who wait for what a thread gives them, is lost to the calls in which that one is, if it does nearly nothing else
    /// meanwhile.
    fn take_calls(
        &mut self,
        timeline: &Timeline,
        outside: &Outside,
        object: ObjectId,
        thread: Option<ThreadId>,
        mut charge: Charge,
    ) -> Charge {
        let is_in_calls = charge.io.share_of(charge.total()) >= NEARLY_ALL_IN_CALLS;
        let thread = thread.filter(|_| is_in_calls && timeline.roles.kind_for(object, thread).is_signal());
        if let Some(thread) = thread {
            let is_meant =
                |segment: &Segment| segment.state == State::Io && !outside.is_at(thread, segment.start);
            for (site, time) in by_place(timeline, is_meant, thread, std::mem::take(&mut charge.io)) {
                *self.io.entry(site).or_default().entry(thread).or_default() += time;
                *self.through_calls.entry((site, thread)).or_default() += time;
            }
        }
        charge
    }

    fn charge(&mut self, timeline: &Timeline, object: ObjectId, thread: Option<ThreadId>, charge: &Charge) {
        let roles = &timeline.roles;
        let kind = roles.kind_for(object, thread);
        let mut charge = *charge;
        if kind.is_signal() || kind == ObjectKind::ThreadEnd {
            let mut idle = std::mem::take(&mut charge.outside);
            if roles.is_idle[object.index()] {
                idle += std::mem::take(&mut charge.asleep);
            }
            *self.idle.by_object.entry((object, thread)).or_default() += idle;
        }
        // Who is late because it was woken and did not run yet is late by the system's fault. A lock that is handed to it is held
        // meanwhile.
        if !kind.is_lock() && charge.waking > Nanos::ZERO {
            let waited = thread.filter(|_| kind != ObjectKind::Barrier);
            let waited = waited.and_then(|thread| mostly_woken_from(timeline, thread)).unwrap_or(object);
            *self.wake_up.entry(Some(waited)).or_default() += std::mem::take(&mut charge.waking);
        }
        let class = match kind {
            kind if kind.is_lock() => &mut self.locks,
            ObjectKind::Barrier => &mut self.barriers,
            ObjectKind::ThreadEnd => &mut self.joins,
            ObjectKind::Tasks => &mut self.tasks,
            _ => &mut self.signals,
        };
        class.entry((object, thread)).or_default().merge(&charge);
    }

    /// Nobody takes a place, and `thread`, which should start somebody, does something else.
    fn charge_absence(
        &mut self,
        timeline: &Timeline,
        outside: &Outside,
        thread: Option<ThreadId>,
        charge: &Charge,
    ) {
        self.startup += charge.active + charge.descheduled;
        self.idle.absent += charge.outside;
        *self.wake_up.entry(None).or_default() += charge.waking;
        self.unexplained += charge.other;
        if let Some(thread) = thread {
            let add = |class: &mut BTreeMap<Option<SiteId>, ByThread>, state, time| {
                let is_meant = |segment: &Segment| {
                    segment.state == state && !(state == State::Io && outside.is_at(thread, segment.start))
                };
                if time > Nanos::ZERO {
                    for (site, time) in by_place(timeline, is_meant, thread, time) {
                        *class.entry(site).or_default().entry(thread).or_default() += time;
                    }
                }
            };
            add(&mut self.io, State::Io, charge.io);
            add(&mut self.sleep, State::Asleep, charge.asleep + charge.looks_late);
        } else {
            self.unexplained += charge.io + charge.asleep + charge.looks_late;
        }
    }

    /// What threads lost by themselves. Of spinning: how much of it was without a core.
    fn add_own(
        &mut self,
        timeline: &Timeline,
        outside: &Outside,
        working: &Working,
        blame: &Blame,
    ) -> BTreeMap<(Option<SiteId>, ThreadId), Nanos> {
        let mut without_core = BTreeMap::new();
        for &thread in &working.threads {
            let mut spared = blame.spared[thread.index()].iter();
            for segment in &timeline.row(thread).segments {
                let is_joining = working.polled_joins.has(thread, segment);
                let spared = match segment.state {
                    State::Io | State::Asleep => {
                        spared.next().filter(|_| !is_joining).copied().unwrap_or_default()
                    }
                    _ => Nanos::ZERO,
                };
                self.beyond_cores += spared;
                let length = segment.length() - spared;
                let at_site = |class: &mut BTreeMap<Option<SiteId>, ByThread>| {
                    *class.entry(segment.site).or_default().entry(thread).or_default() += length;
                };
                match segment.state {
                    State::Active => self.delayed += segment.delay(),
                    State::Io if outside.is_at(thread, segment.start) => at_site(&mut self.idle.own),
                    State::Io => at_site(&mut self.io),
                    State::Asleep if is_joining => {}
                    State::Asleep
                        if timeline.places.is_idle(segment.site) || working.looks_after[thread.index()] =>
                    {
                        at_site(&mut self.idle.own);
                    }
                    State::Asleep => at_site(&mut self.sleep),
                    State::Waking => {
                        *self.wake_up.entry(segment.object).or_default() += length;
                        self.waking.own += length;
                        if length >= BEHIND_ANOTHER {
                            self.waking.behind_another += length;
                        }
                    }
                    State::Descheduled => self.delayed += length,
                    State::Spinning if segment.object.is_none() => {
                        at_site(&mut self.spin);
                        *without_core.entry((segment.site, thread)).or_default() += segment.delay();
                    }
                    State::Blocked if segment.object.is_none() => {
                        *self.blocked.entry(thread).or_default() += length;
                    }
                    State::NotRecorded => self.unexplained += length,
                    State::Blocked | State::Spinning => {}
                }
            }
        }
        for (object, &time) in &blame.woken_to_wait {
            if let Some(lost) = self.wake_up.get_mut(object) {
                *lost = lost.saturating_sub(time);
            }
            self.waking.own = self.waking.own.saturating_sub(time);
        }
        without_core
    }

    /// Spinning is CPU time; what is beyond it is want of a core.
    fn take_from_spinning(&mut self, without_core: BTreeMap<(Option<SiteId>, ThreadId), Nanos>) {
        for ((site, thread), time) in without_core {
            if let Some(spun) = self.spin.get_mut(&site).and_then(|threads| threads.get_mut(&thread)) {
                let time = time.min(*spun);
                *spun -= time;
                self.delayed += time;
            }
        }
    }

    /// What waits for nobody in particular is the fault of the one thread that was able to run meanwhile, which
    /// [`Blame::serial`] has; that is no loss of its own.
    fn sort_sought(&mut self, timeline: &Timeline, blame: &Blame) {
        let roles = &timeline.roles;
        for (key, sought) in &blame.sought {
            match key.object {
                Some(object) => {
                    *self.idle.by_object.entry((object, None)).or_default() += sought.with_none;
                    let class = match roles.kinds[object.index()] {
                        ObjectKind::Tasks => &mut self.tasks,
                        _ => &mut self.signals,
                    };
                    class.entry((object, None)).or_default().other += sought.with_more;
                }
                None if key.state == State::Spinning => {
                    let spun = self.spin.get_mut(&key.site).and_then(|threads| threads.get_mut(&key.thread));
                    if let Some(spun) = spun {
                        *spun -= sought.with_one + sought.with_woken;
                    }
                }
                None => {
                    if let Some(blocked) = self.blocked.get_mut(&key.thread) {
                        *blocked -= sought.with_one + sought.with_woken;
                    }
                }
            }
        }
        for (&woken, &time) in &blame.sought_of_woken {
            *self.wake_up.entry(mostly_woken_from(timeline, woken)).or_default() += time;
        }
    }

    /// Divides what was lost for want of a core by its reason.
    fn sort_wants_of_cores(&mut self, blame: &Blame, working: &Working, scarcity: &Scarcity<'_>) {
        let waking: Nanos = self.wake_up.values().copied().sum();
        let mut wants = scarcity.divide(self.delayed, Waking { all: waking, ..self.waking }, blame, working);
        let scarce = wants.quota.wake_up + wants.crowded.wake_up + wants.load.wake_up;
        let mut taken = Nanos::ZERO;
        for time in self.wake_up.values_mut() {
            let some = part(*time, scarce, waking);
            taken += some;
            *time -= some;
        }
        // What the parts, each rounded down, do not have stays with the wake-ups.
        wants.quota.wake_up = wants.quota.wake_up.min(taken);
        wants.crowded.wake_up = wants.crowded.wake_up.min(taken - wants.quota.wake_up);
        wants.load.wake_up = taken - wants.quota.wake_up - wants.crowded.wake_up;
        if !self.spin.is_empty() {
            for time in [&mut wants.crowded.own, &mut wants.crowded.wake_up, &mut wants.crowded.late] {
                let by_spinning = part(*time, blame.excess_by_spinning, blame.excess);
                *time -= by_spinning;
                self.taken_by_spinning += by_spinning;
            }
        }
        // What others took from a thread that is waited for is no fault of that one.
        let by_load = wants.load.own;
        let waited_for =
            [&mut self.locks, &mut self.barriers, &mut self.joins, &mut self.signals, &mut self.tasks];
        for charge in waited_for.into_iter().flat_map(BTreeMap::values_mut) {
            let late = part(charge.descheduled, by_load, self.delayed);
            charge.descheduled -= late;
            wants.load.late += late;
        }
        self.awake.take_from(&mut wants);
        self.cores = wants;
    }
}

/// From this share of what others lose to a thread on, it is its calls that they wait for.
const NEARLY_ALL_IN_CALLS: f64 = 0.9;

/// True for a thread that others work along with rather than in turn with: a stage of a pipeline, which the
/// others mostly accompany, not a serial phase, after which they work without it.
fn feeds_others(blame: &Blame, times: &[ThreadTimes], thread: ThreadId) -> bool {
    let index = thread.index();
    let active = times[index].active;
    let together = active.saturating_sub(blame.alone[index]) + blame.active_beside_io[index];
    together > blame.any_active.saturating_sub(active + blame.active_beside_io[index])
}

/// The object for which the thread was longest on its way from being released to running.
fn mostly_woken_from(timeline: &Timeline, thread: ThreadId) -> Option<ObjectId> {
    let mut objects: BTreeMap<ObjectId, Nanos> = BTreeMap::new();
    for segment in timeline.row(thread).segments.iter().filter(|segment| segment.state == State::Waking) {
        if let Some(object) = segment.object {
            *objects.entry(object).or_default() += segment.length();
        }
    }
    let longest = objects.into_iter().max_by_key(|&(object, time)| (time, std::cmp::Reverse(object)));
    longest.map(|(object, _)| object)
}

/// What a thread made others lose while it was in this state, by the places where it was: to each as much of it as the thread spent there,
/// so that none costs more than the time that was waited there.
fn by_place(
    timeline: &Timeline,
    is_meant: impl Fn(&Segment) -> bool,
    thread: ThreadId,
    lost: Nanos,
) -> BTreeMap<Option<SiteId>, Nanos> {
    let mut places: BTreeMap<Option<SiteId>, Nanos> = BTreeMap::new();
    for segment in timeline.row(thread).segments.iter().filter(|segment| is_meant(segment)) {
        *places.entry(segment.site).or_default() += segment.length();
    }
    let (mut left, mut all) = (lost, places.values().copied().sum::<Nanos>());
    for time in places.values_mut() {
        let part = u128::from(left.get()) * u128::from(time.get()) / u128::from(all.get().max(1));
        all -= *time;
        *time = Nanos::new(part as u64);
        left -= *time;
    }
    if left > Nanos::ZERO {
        *places.entry(None).or_default() += left;
    }
    places
}
