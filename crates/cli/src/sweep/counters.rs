//! How far a sweep is, and how long it will still take.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use holdup_sweep::{Measure, Task, TaskKind};

/// Kinds of tasks that take times of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Native,
    Emulated,
    Report,
    Sim,
}

fn kind(task: &Task) -> Kind {
    match task.kind {
        TaskKind::Record { emulated: None, .. } => Kind::Native,
        TaskKind::Record { emulated: Some(_), .. } => Kind::Emulated,
        TaskKind::Answer { measure: Measure::Report, .. } => Kind::Report,
        TaskKind::Answer { measure: Measure::Sim, .. } => Kind::Sim,
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Of {
    left: u32,
    timed: u32,
    spent: Duration,
}

/// What is done and what is left, by kind.
#[derive(Debug)]
pub(super) struct Counters {
    all: usize,
    jobs: usize,
    state: Mutex<(BTreeMap<Kind, Of>, usize)>,
}

impl Counters {
    /// Of so many tasks in all, with these still to do by so many at once.
    pub(super) fn new<'a>(all: usize, to_do: impl Iterator<Item = &'a Task>, jobs: usize) -> Counters {
        let mut kinds: BTreeMap<Kind, Of> = BTreeMap::new();
        to_do.for_each(|task| kinds.entry(kind(task)).or_default().left += 1);
        Counters { all, jobs, state: Mutex::new((kinds, 0)) }
    }

    /// A task ended after this time; `None` if it was not begun.
    pub(super) fn ended(&self, task: &Task, spent: Option<Duration>, is_failed: bool) {
        let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let of = state.0.entry(kind(task)).or_default();
        of.left = of.left.saturating_sub(1);
        if let Some(spent) = spent {
            of.timed += 1;
            of.spent += spent;
        }
        state.1 += usize::from(is_failed);
    }

    /// A line for the terminal.
    pub(super) fn line(&self) -> String {
        let state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let left: u32 = state.0.values().map(|of| of.left).sum();
        let failed = match state.1 {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        let time = time_left(&state.0, self.jobs)
            .map_or(String::new(), |time| format!(", about {} left", rough(time)));
        format!("holdup: {} of {} tasks{failed}{time}", self.all.saturating_sub(left as usize), self.all)
    }
}

/// Each kind takes as long as its tasks so far did; of what was never done, as long as all others. Native runs are alone.
fn time_left(kinds: &BTreeMap<Kind, Of>, jobs: usize) -> Option<Duration> {
    let (timed, spent) =
        kinds.values().fold((0, Duration::ZERO), |(timed, spent), of| (timed + of.timed, spent + of.spent));
    let usual = spent.checked_div(timed)?;
    let of = |(kind, of): (&Kind, &Of)| {
        let each = of.spent.checked_div(of.timed).unwrap_or(usual);
        each * of.left / if *kind == Kind::Native { 1 } else { jobs.max(1) as u32 }
    };
    Some(kinds.iter().map(of).sum())
}

/// A time for people who wait.
fn rough(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..90 => format!("{} s", seconds.max(1)),
        seconds @ 90..5400 => format!("{} min", (seconds + 30) / 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_is_that_of_the_kinds_that_are_left() {
        let mut kinds = BTreeMap::new();
        assert_eq!(time_left(&kinds, 2), None);
        kinds.insert(Kind::Native, Of { left: 3, timed: 1, spent: Duration::from_secs(10) });
        kinds.insert(Kind::Sim, Of { left: 4, timed: 2, spent: Duration::from_secs(4) });
        // 3 × 10 s one after another, and 4 × 2 s two at a time.
        assert_eq!(time_left(&kinds, 2), Some(Duration::from_secs(34)));
        assert_eq!(
            (rough(Duration::from_secs(34)), rough(Duration::from_secs(600))),
            ("34 s".into(), "10 min".into())
        );
        assert_eq!(rough(Duration::from_secs(7300)), "2 h 1 min");
    }
}
