//! What a thread has begun on top of each other in whole instances: waits, and the tasks that it runs meanwhile.
//!
//! Time belongs to the topmost of them that is told, its *owner*. A told one that begins cuts the owner below, and when
//! it ends that one goes on. Ones that are not told leave the owner in place; if it is a wait, the time of the tasks
//! that run in it is measured all the same: each piece of a wait is told without it, and followed by a run of task 0
//! of that length, as if all of these tasks had run at its end. So is the join at the end of a region, which is no wait here.

use core::cell::Cell;

use holdup_trace::openmp::{Sync, SyncCode, TaskEndCode, TaskRun};

use super::standing::enter_whole;
use crate::thread::openmp::{Activity, GREATEST_HEIGHT, HEIGHT, Level, Standing, Tables};
use crate::{Recorder, life};

/// In a join, tasks that are not told by themselves are told of together after so much time in them (µs).
const JOIN_MICROS: u64 = 2000;

/// A wait that begins.
pub(crate) struct Wait {
    pub(crate) kind: SyncCode,
    pub(crate) sequence: u32,
    pub(crate) caller: u64,
    pub(crate) told: bool,
}

impl Tables {
    fn top(&self, standing: &Standing) -> Option<&Activity> {
        self.activities.get((standing.height.get() as usize).checked_sub(1)?)
    }

    fn owner(&self) -> Option<&Activity> {
        self.activities.get((self.owner.get() as usize).checked_sub(1)?)
    }

    /// Whether what is in this place is a task (or else a wait); `None` where it is too high to be known.
    fn is_task(&self, place: usize) -> Option<bool> {
        match self.activities.get(place) {
            Some(activity) => Some(activity.is_task.get()),
            None => self.high(place).map(|(word, bit)| word.get() & bit != 0),
        }
    }

    /// Where it stands whether the activity in this place, above those that can be told, is a task.
    fn high(&self, place: usize) -> Option<(&Cell<u64>, u64)> {
        let above = place.checked_sub(HEIGHT)?;
        Some((self.high_tasks.get(above / 64)?, 1 << (above % 64)))
    }

    /// The tasks that the thread runs, the topmost first; `None` for one that is too high to be told.
    fn tasks(&self, standing: &Standing) -> impl Iterator<Item = Option<&Activity>> {
        let height = (standing.height.get() as usize).min(GREATEST_HEIGHT);
        let tasks = (0..height).rev().filter(|&place| self.is_task(place) == Some(true));
        tasks.map(|place| self.activities.get(place))
    }

    /// The number of the task that the thread runs; 0 for an implicit one, or one that is not told.
    pub(crate) fn running_task(&self, standing: &Standing) -> u64 {
        self.tasks(standing).next().flatten().map_or(0, |task| task.task.get())
    }

    /// The identity of the task beneath the one that the thread runs; 0 for an implicit one, or one that is too high to be told.
    pub(crate) fn beneath(&self, standing: &Standing) -> u64 {
        self.tasks(standing).nth(1).flatten().map_or(0, |task| task.identity.get())
    }

    /// Where it stands whether the task that the thread runs has made others; `None` where that is not known: it is too high, or one of
    /// another instance lies on top.
    pub(crate) fn children<'a>(&'a self, standing: &Standing, level: &'a Level) -> Option<&'a Cell<bool>> {
        if standing.height.get() == 0 {
            return Some(&level.children);
        }
        let is_its_task = |top: &&Activity| top.is_task.get() && top.instance.get() == level.instance.get();
        self.top(standing).filter(is_its_task).map(|top| &top.children)
    }

    /// True if the thread runs a task that is not told. So is most of what is too high to be known.
    pub(crate) fn runs_untold(&self, standing: &Standing) -> bool {
        let is_task = standing.height.get() != 0 && self.top_is_task(standing) != Some(false);
        is_task && !self.top_is_told(standing)
    }

    /// A wait begins on top of what there is.
    pub(crate) fn push_wait(
        &self,
        standing: &Standing,
        level: &Level,
        wait: &Wait,
        recorder: Option<&Recorder>,
    ) {
        let Some(activity) = self.push(standing, level, false) else { return };
        activity.told.set(wait.told && recorder.is_some());
        activity.kind.set(wait.kind as u8);
        activity.sequence.set(wait.sequence);
        activity.caller.set(wait.caller);
        self.begun(standing, level, activity, recorder);
    }

    /// A task begins on top of what there is; 0 for one that is not told.
    pub(crate) fn push_task(
        &self,
        standing: &Standing,
        level: &Level,
        task: u64,
        identity: u64,
        recorder: Option<&Recorder>,
    ) {
        let Some(activity) = self.push(standing, level, true) else { return };
        activity.told.set(task != 0 && recorder.is_some());
        activity.task.set(task);
        activity.identity.set(identity);
        self.begun(standing, level, activity, recorder);
    }

    /// Something is on top of what there is; gives where it can be told.
    fn push(&self, standing: &Standing, level: &Level, is_task: bool) -> Option<&Activity> {
        let height = standing.height.get();
        standing.height.set(height + 1);
        let Some(activity) = self.activities.get(height as usize) else {
            if let Some((word, bit)) = self.high(height as usize) {
                word.set(if is_task { word.get() | bit } else { word.get() & !bit });
            }
            self.untold_edge(standing, level);
            return None;
        };
        activity.is_task.set(is_task);
        activity.children.set(false);
        activity.continued.set(false);
        activity.instance.set(level.instance.get());
        Some(activity)
    }

    fn begun(&self, standing: &Standing, level: &Level, activity: &Activity, recorder: Option<&Recorder>) {
        match recorder {
            Some(recorder) if activity.told.get() => {
                let now = life::ticks();
                self.cut(recorder, level, now);
                self.resume(standing, recorder, now);
            }
            _ => self.untold_edge(standing, level),
        }
    }

    /// True if the topmost is a task (or else a wait); `None` if there is nothing, or it is too high to be known.
    pub(crate) fn top_is_task(&self, standing: &Standing) -> Option<bool> {
        self.is_task((standing.height.get() as usize).checked_sub(1)?)
    }

    /// True if the topmost is told.
    pub(crate) fn top_is_told(&self, standing: &Standing) -> bool {
        self.top(standing).is_some_and(|top| top.told.get())
    }

    /// The topmost ends.
    pub(crate) fn pop(
        &self,
        standing: &Standing,
        level: &Level,
        how: TaskEndCode,
        recorder: Option<&Recorder>,
    ) {
        let height = standing.height.get();
        let Some(below) = height.checked_sub(1) else { return };
        match (self.top(standing), recorder) {
            (Some(top), Some(recorder)) if top.told.get() => {
                let now = life::ticks();
                if self.owner.replace(0) == height {
                    self.piece(recorder, top, now, Some(how));
                }
                standing.height.set(below);
                self.resume(standing, recorder, now);
            }
            _ => {
                standing.height.set(below);
                if self.owner.get() > below {
                    self.owner.set(0);
                }
                self.untold_edge(standing, level);
            }
        }
    }

    /// The topmost is gone, and nothing is told of it. The one below goes on only if something else begins and ends.
    pub(crate) fn drop_top(&self, standing: &Standing) {
        standing.height.set(standing.height.get().saturating_sub(1));
        self.owner.set(0);
    }

    /// The owner stops being one: what it did until now is told.
    fn cut(&self, recorder: &Recorder, level: &Level, now: u64) {
        match self.owner() {
            Some(owner) => self.piece(recorder, owner, now, None),
            None => self.tell_busy(recorder, level.instance.get()),
        }
        self.owner.set(0);
    }

    /// The thread arrives at the join, where it can run tasks: the wait there is not said, and has no owner.
    pub(crate) fn arrive(&self) {
        self.owner.set(0);
        self.busy.set(0);
        self.busy_since.set(0);
    }

    /// The thread leaves the join.
    pub(crate) fn leave(&self, level: &Level) {
        if self.busy.get() != 0
            && let Some(recorder) = enter_whole()
        {
            self.leave_with(&recorder, level);
        }
    }

    /// As [`Tables::leave`], for one who has the right to record.
    pub(crate) fn leave_with(&self, recorder: &Recorder, level: &Level) {
        if level.arrived.get() && self.owner.get() == 0 {
            self.tell_busy(recorder, level.instance.get());
        }
    }

    /// Tells the time of tasks that are not told by themselves, in a join.
    fn tell_busy(&self, recorder: &Recorder, instance: u64) {
        let (busy, end) = (self.busy.replace(0), self.busy_until.get());
        if busy != 0 {
            let begin = end.saturating_sub(busy);
            recorder.write(&TaskRun { begin, end, task: 0, instance, ended: TaskEndCode::Complete }.words());
        }
    }

    /// The topmost that is told becomes the owner.
    fn resume(&self, standing: &Standing, recorder: &Recorder, now: u64) {
        let height = (standing.height.get() as usize).min(HEIGHT);
        let owner = self.activities[..height].iter().rposition(|activity| activity.told.get());
        self.busy.set(0);
        self.busy_since.set(if self.runs_untold(standing) { now } else { 0 });
        self.owner.set(owner.map_or(0, |place| place as u32 + 1));
        if let Some(owner) = self.owner() {
            owner.begin.set(now);
            if !owner.is_task.get() {
                owner.cpu_begin.set(recorder.thread().cpu.read(now));
            }
        }
    }

    /// Something that is not told began or ended: if it matters, whether the thread works now.
    fn untold_edge(&self, standing: &Standing, level: &Level) {
        let joins = self.owner.get() == 0 && level.arrived.get();
        if !joins && self.owner().is_none_or(|owner| owner.is_task.get()) {
            return;
        }
        let works = self.runs_untold(standing);
        let since = self.busy_since.get();
        if works == (since != 0) {
            return;
        }
        level.edges.set(level.edges.get().saturating_add(1));
        let now = life::ticks();
        if works {
            self.busy_since.set(now);
        } else {
            self.busy.set(self.busy.get() + now.saturating_sub(since));
            self.busy_since.set(0);
            self.busy_until.set(now);
            // A worker may never come to say that it left.
            if joins && self.busy.get() > life::ticks_of_micros(JOIN_MICROS) {
                self.leave(level);
            }
        }
    }

    /// Tells a piece of the owner that ends now: the last one, in the way `ended`, or one that is cut off.
    fn piece(&self, recorder: &Recorder, owner: &Activity, now: u64, ended: Option<TaskEndCode>) {
        let (begin, instance) = (owner.begin.get(), owner.instance.get());
        if owner.is_task.get() {
            let ended = ended.unwrap_or(TaskEndCode::Suspended);
            let task = owner.task.get();
            recorder.write(&TaskRun { begin, end: now, task, instance, ended }.words());
            return;
        }
        let since = self.busy_since.get();
        let running = if since == 0 { 0 } else { now.saturating_sub(since) };
        let busy = (self.busy.get() + running).min(now.saturating_sub(begin));
        let waited_until = now - busy;
        recorder.write(
            &Sync {
                begin,
                end: waited_until,
                instance,
                sequence: owner.sequence.get(),
                caller: owner.caller.get(),
                kind: SyncCode::from_code(owner.kind.get()).unwrap_or(SyncCode::OtherBarrier),
                continued: owner.continued.replace(true),
                interrupted: ended.is_none(),
                cpu_begin: owner.cpu_begin.get(),
                cpu_end: recorder.thread().cpu.read(now),
            }
            .words(),
        );
        if busy != 0 {
            let run =
                TaskRun { begin: waited_until, end: now, task: 0, instance, ended: TaskEndCode::Complete };
            recorder.write(&run.words());
        }
    }
}
