//! Are the switch records complete?

use std::collections::BTreeMap;

use crate::event::{Event, Switch, What};
use crate::ids::{Cpu, Tid};

/// Checks that on each processor a recorded thread comes in, goes out or ends, before the next one comes in.
///
/// Fed with every event of a [`crate::Watch`] in the order of [`crate::Watch::drain`]. Kernels are known that leave
/// out switches from idle on some processors; a caller can then say how many are missing, and not take a thread for
/// blocked that ran.
#[derive(Clone, Debug, Default)]
pub struct Completeness {
    cpus: BTreeMap<Cpu, Seen>,
    /// When each living thread was first seen. A record may come late, and then it is not the first.
    first_ns: BTreeMap<Tid, u64>,
}

/// What was counted on one processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Switch-ins that were recorded.
    pub ins: u64,
    /// Switch-outs that were recorded.
    pub outs: u64,
    /// Switch-ins that must have happened, but were not recorded.
    pub missing_ins: u64,
    /// Switch-outs that must have happened, but were not recorded.
    pub missing_outs: u64,
}

#[derive(Clone, Debug, Default)]
struct Seen {
    counts: Counts,
    /// The recorded thread that is on the processor.
    running: Option<Tid>,
    /// Something was lost, so the next record may not fit the ones before.
    torn: bool,
}

impl Completeness {
    /// Takes notice of an event.
    pub fn note(&mut self, event: &Event<'_>) {
        let seen = self.cpus.entry(event.cpu).or_default();
        match event.what {
            What::Switch(Switch::In) => {
                let missing = seen.running.is_some() && !seen.torn;
                seen.counts.ins += 1;
                seen.counts.missing_outs += u64::from(missing);
                seen.running = Some(event.tid);
                seen.torn = false;
                self.first_ns.entry(event.tid).or_insert(event.time_ns);
            }
            What::Switch(Switch::Blocked | Switch::Preempted) => {
                // A thread that ran when recording began goes out first.
                let first_ns = self.first_ns.entry(event.tid).or_insert(u64::MAX);
                let began = event.time_ns < *first_ns;
                *first_ns = event.time_ns.min(*first_ns);
                if seen.running != Some(event.tid) && !began && !seen.torn {
                    seen.counts.missing_ins += 1;
                    seen.counts.missing_outs += u64::from(seen.running.is_some());
                }
                seen.counts.outs += 1;
                seen.running = None;
                seen.torn = false;
            }
            What::Exit { tid, .. } => {
                if seen.running == Some(tid) {
                    seen.running = None;
                }
                self.first_ns.remove(&tid);
            }
            What::Lost { .. } => {
                seen.running = None;
                seen.torn = true;
            }
            _ => {}
        }
    }

    /// Switch records were off for a while: what comes next need not fit what came before.
    pub fn interrupted(&mut self) {
        self.first_ns.clear();
        for seen in self.cpus.values_mut() {
            seen.running = None;
            seen.torn = true;
        }
    }

    /// The counts of each processor.
    pub fn by_cpu(&self) -> impl Iterator<Item = (Cpu, Counts)> {
        self.cpus.iter().map(|(cpu, seen)| (*cpu, seen.counts))
    }

    /// The counts of all processors.
    pub fn total(&self) -> Counts {
        self.by_cpu().fold(Counts::default(), |sum, (_, counts)| Counts {
            ins: sum.ins + counts.ins,
            outs: sum.outs + counts.outs,
            missing_ins: sum.missing_ins + counts.missing_ins,
            missing_outs: sum.missing_outs + counts.missing_outs,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Pid;

    const A: Tid = Tid(11);
    const B: Tid = Tid(12);

    fn counts(events: &[(u32, Tid, What<'static>)]) -> Counts {
        let times = (100..).step_by(10);
        timed(
            &times.zip(events).map(|(time, (cpu, tid, what))| (time, *cpu, *tid, *what)).collect::<Vec<_>>(),
        )
    }

    fn timed(events: &[(u64, u32, Tid, What<'static>)]) -> Counts {
        let mut completeness = Completeness::default();
        for (time_ns, cpu, tid, what) in events {
            let time_ns = *time_ns;
            completeness.note(&Event { time_ns, pid: Pid(10), tid: *tid, cpu: Cpu(*cpu), what: *what });
        }
        completeness.total()
    }

    const IN: What<'static> = What::Switch(Switch::In);
    const OUT: What<'static> = What::Switch(Switch::Blocked);
    const END: What<'static> = What::Exit { pid: Pid(10), tid: A };

    #[test]
    fn ins_and_outs_that_alternate_are_complete() {
        let seen = [(0, A, OUT), (0, A, IN), (1, B, IN), (0, A, OUT), (0, B, IN), (0, B, OUT), (1, B, OUT)];
        assert_eq!(counts(&seen), Counts { ins: 3, outs: 4, missing_ins: 0, missing_outs: 0 });
    }

    #[test]
    fn a_thread_that_ends_does_not_go_out() {
        let seen = [(0, A, IN), (0, A, END), (0, B, IN), (0, B, OUT)];
        assert_eq!(counts(&seen), Counts { ins: 2, outs: 1, missing_ins: 0, missing_outs: 0 });
    }

    #[test]
    fn what_is_missing_is_counted() {
        let no_in = [(0, A, IN), (0, A, OUT), (0, A, OUT)];
        assert_eq!(counts(&no_in), Counts { ins: 1, outs: 2, missing_ins: 1, missing_outs: 0 });
        let no_out = [(0, A, IN), (0, B, IN), (0, B, OUT)];
        assert_eq!(counts(&no_out), Counts { ins: 2, outs: 1, missing_ins: 0, missing_outs: 1 });
        let neither = [(1, B, IN), (1, B, OUT), (0, A, IN), (0, B, OUT)];
        assert_eq!(counts(&neither), Counts { ins: 2, outs: 2, missing_ins: 1, missing_outs: 1 });
    }

    #[test]
    fn the_first_switch_out_may_be_handed_out_late() {
        let moved = [(20, 0, A, IN), (30, 0, A, OUT), (10, 1, A, OUT)];
        assert_eq!(timed(&moved), Counts { ins: 1, outs: 2, missing_ins: 0, missing_outs: 0 });
        let missing = [(20, 0, A, IN), (30, 0, A, OUT), (40, 1, A, OUT)];
        assert_eq!(timed(&missing), Counts { ins: 1, outs: 2, missing_ins: 1, missing_outs: 0 });
    }

    #[test]
    fn what_was_lost_is_not_missing() {
        let seen = [(0, A, IN), (0, A, What::Lost { count: 3 }), (0, A, IN), (0, A, OUT)];
        assert_eq!(counts(&seen), Counts { ins: 2, outs: 1, missing_ins: 0, missing_outs: 0 });
    }
}
