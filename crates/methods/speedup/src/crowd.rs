//! For how long more threads could run than there are cores.
//!
//! A program that is told to use N threads may start more than that: what they take from each other is no other program's
//! doing.

use std::collections::BTreeMap;

use holdup_model::{State, Timeline};

/// Time of threads that could run, as far as there were more of them than cores.
pub(super) struct Crowd {
    /// When the number of threads that could run changed.
    at: Vec<u64>,
    /// That time since the start (ns), all threads together, until then.
    sums: Vec<u64>,
    /// How many threads were too many from then on.
    excess: Vec<u64>,
}

impl Crowd {
    /// Nobody is one too many where the number of cores is not known (0).
    pub(super) fn of(timeline: &Timeline, cores: u32) -> Self {
        let mut changes: BTreeMap<u64, i64> = BTreeMap::new();
        let segments = timeline.threads.iter().flat_map(|row| &row.segments);
        let could_run = |state| matches!(state, State::Active | State::Descheduled | State::Waking);
        for segment in segments.filter(|segment| cores > 0 && could_run(segment.state)) {
            *changes.entry(segment.start.nanos()).or_default() += 1;
            *changes.entry(segment.end.nanos()).or_default() -= 1;
        }
        let mut crowd = Self { at: Vec::new(), sums: Vec::new(), excess: Vec::new() };
        let (mut threads, mut sum) = (0, 0);
        for (at, change) in changes {
            if let Some((&before, &excess)) = crowd.at.last().zip(crowd.excess.last()) {
                sum += excess * (at - before);
            }
            threads += change;
            crowd.at.push(at);
            crowd.sums.push(sum);
            crowd.excess.push((threads - i64::from(cores)).max(0) as u64);
        }
        crowd
    }

    /// Between two moments (ns).
    pub(super) fn between(&self, from: u64, to: u64) -> u64 {
        self.until(to).saturating_sub(self.until(from))
    }

    fn until(&self, time: u64) -> u64 {
        let after = self.at.partition_point(|&at| at <= time);
        after.checked_sub(1).map_or(0, |last| self.sums[last] + self.excess[last] * (time - self.at[last]))
    }
}

#[cfg(test)]
mod tests {
    use holdup_testkit::{Op, Script};

    use super::*;

    #[test]
    fn only_threads_beyond_the_cores_are_too_many() {
        let mut script = Script::new();
        let ids = [100, 200, 300].map(|time| script.thread("crunch", vec![Op::Work(time)]));
        script.main_runs(&ids);
        let process = script.play();
        let timeline = Timeline::build(&process);
        let crowd = |cores| Crowd::of(&timeline, cores).between(0, process.end.nanos());
        let (all, none) = (crowd(1), crowd(3));
        assert_eq!((crowd(0), none), (0, 0));
        // Three for 100, then two for as long.
        assert_eq!((all, crowd(2)), (300, 100));
        assert_eq!(Crowd::of(&timeline, 2).between(50, 80), 30);
    }
}
