//! What is predicted, and how the program is really changed to see whether that was true.

/// A program as it is recorded.
pub(super) struct Base {
    /// Its source, below the workspace's root.
    pub(super) source: &'static str,
    pub(super) switches: &'static [&'static str],
    pub(super) changes: &'static [Change],
}

/// One change of it.
pub(super) struct Change {
    /// What `holdup whatif` is asked.
    pub(super) expression: &'static str,
    /// What the program is given in place of the base's switches.
    pub(super) switches: &'static [&'static str],
    /// What the compiler is given for it.
    pub(super) flags: &'static [&'static str],
}

impl Base {
    /// `hot_lock threads=4`; a workload goes by its folder.
    pub(super) fn name(&self) -> String {
        let path = self.source.trim_end_matches("/main.c").trim_end_matches(".c");
        let name = path.rsplit('/').next().unwrap_or(path);
        [&[name], self.switches].concat().join(" ")
    }
}

const fn switched(expression: &'static str, switches: &'static [&'static str]) -> Change {
    Change { expression, switches, flags: &[] }
}

/// The workload's own fixed form.
const fn fixed(expression: &'static str) -> Change {
    Change { expression, switches: &[], flags: &["-DFIXED"] }
}

const HOT_LOCK: &str = "bench/whatif/hot_lock.c";
const BUSY_LOCK: &str = "bench/whatif/busy_lock.c";
const BARRIER: &str = "bench/whatif/barrier.c";
const PIPELINE: &str = "bench/whatif/pipeline.c";
const TASKS: &str = "bench/whatif/tasks.c";
const RWLOCK: &str = "bench/whatif/rwlock.c";
const CONDITION: &str = "bench/whatif/condition.c";
const SEMAPHORE: &str = "bench/whatif/semaphore.c";
const PHASES: &str = "bench/whatif/phases.c";
const UNEVEN: &str = "bench/whatif/uneven.c";
const PAUSES: &str = "bench/whatif/pauses.c";

/// Each base is recorded once a round, whatever the number of its changes.
pub(super) const BASES: &[Base] = &[
    Base {
        source: HOT_LOCK,
        switches: &["threads=2"],
        changes: &[
            switched("lock:hot_lock/4", &["threads=2", "hold=75"]),
            switched("lock:hot_lock=0", &["threads=2", "locks=0"]),
            switched("lock:hot_lock split 4", &["threads=2", "locks=4"]),
            switched("thread:first/1.5", &["threads=2", "quick=150"]),
            switched("site:prepare/2", &["threads=2", "outside=100"]),
            switched("threads=4", &["threads=4"]),
        ],
    },
    Base {
        source: HOT_LOCK,
        switches: &["threads=4"],
        changes: &[
            switched("lock:hot_lock/4", &["threads=4", "hold=75"]),
            switched("lock:hot_lock=0", &["threads=4", "locks=0"]),
            switched("lock:hot_lock split 4", &["threads=4", "locks=4"]),
        ],
    },
    Base {
        source: BUSY_LOCK,
        switches: &["threads=2"],
        changes: &[switched("lock:sums_lock=0", &["threads=2", "sums=0"])],
    },
    Base {
        source: BUSY_LOCK,
        switches: &["threads=4"],
        changes: &[switched("lock:sums_lock=0", &["threads=4", "sums=0"])],
    },
    Base {
        source: HOT_LOCK,
        switches: &["threads=1", "rounds=1000"],
        changes: &[switched("threads=2", &["threads=2", "rounds=1000"])],
    },
    Base {
        source: HOT_LOCK,
        switches: &["threads=4", "hold=20", "cpus=1"],
        changes: &[switched("cores=2", &["threads=4", "hold=20", "cpus=2"])],
    },
    Base {
        source: BARRIER,
        switches: &["threads=2"],
        changes: &[
            switched("barrier:round_barrier=balanced", &["threads=2", "balanced=1"]),
            switched("site:late_work/2", &["threads=2", "late=3000"]),
            switched("thread:first/1.5", &["threads=2", "late=4000"]),
        ],
    },
    Base {
        source: BARRIER,
        switches: &["threads=4", "rounds=60"],
        changes: &[switched("barrier:round_barrier=balanced", &["threads=4", "rounds=60", "balanced=1"])],
    },
    Base {
        source: BARRIER,
        switches: &["threads=2", "random=1"],
        changes: &[switched("barrier:round_barrier=balanced", &["threads=2", "random=1", "balanced=1"])],
    },
    Base {
        source: BARRIER,
        switches: &["threads=2", "cpus=1"],
        changes: &[switched("cores=2", &["threads=2", "cpus=2"])],
    },
    Base {
        source: PIPELINE,
        switches: &[],
        changes: &[
            switched("site:filter_item/2", &["filter=2000"]),
            switched("stage:filter_stage*2", &["filters=2"]),
        ],
    },
    Base { source: TASKS, switches: &["workers=1"], changes: &[switched("threads=2", &["workers=2"])] },
    Base {
        source: TASKS,
        switches: &["workers=2"],
        changes: &[
            switched("threads=4", &["workers=4"]),
            switched("thread:first/1.5", &["workers=2", "quick=150"]),
        ],
    },
    Base {
        source: TASKS,
        switches: &["workers=2", "hold=900", "task=600"],
        changes: &[switched("lock:tasks_lock/4", &["workers=2", "hold=225", "task=600"])],
    },
    Base {
        source: TASKS,
        switches: &["workers=4", "tasks=400", "cpus=1"],
        changes: &[switched("cores=2", &["workers=4", "tasks=400", "cpus=2"])],
    },
    Base {
        source: RWLOCK,
        switches: &[],
        changes: &[
            switched("site:rewrite/4", &["rewriting=500"]),
            switched("lock:table_lock=0", &["locked=0"]),
        ],
    },
    Base {
        source: CONDITION,
        switches: &[],
        changes: &[switched("site:make_job/2", &["making=1000"]), switched("site:do_job/2", &["doing=750"])],
    },
    Base {
        source: CONDITION,
        switches: &["making=1000", "doing=2500"],
        changes: &[switched("stage:do_jobs*2", &["making=1000", "doing=2500", "doers=2"])],
    },
    Base {
        source: SEMAPHORE,
        switches: &[],
        changes: &[
            switched("site:run_query/2", &["query=1000"]),
            switched("object:connection_slots=0", &["slots=2"]),
        ],
    },
    Base {
        source: PHASES,
        switches: &[],
        changes: &[
            switched("site:prepare_frame/2", &["serial=3000"]),
            switched("alone:main/2", &["shared=1"]),
        ],
    },
    Base {
        source: UNEVEN,
        switches: &["threads=2"],
        changes: &[switched("threads:work=balanced", &["threads=2", "balanced=1"])],
    },
    Base {
        source: UNEVEN,
        switches: &["threads=4"],
        changes: &[switched("threads:work=balanced", &["threads=4", "balanced=1"])],
    },
    Base {
        source: PAUSES,
        switches: &[],
        changes: &[switched("sleep/2", &["pause=1000"]), switched("sleep=0", &["pause=0"])],
    },
    Base {
        source: PAUSES,
        switches: &["io=1"],
        changes: &[switched("io/2", &["io=1", "pause=1000"]), switched("io=0", &["io=1", "pause=0"])],
    },
    Base {
        source: "workloads/critical_section/main.c",
        switches: &[],
        changes: &[fixed("lock:table_lock=0")],
    },
    Base {
        source: "workloads/late_thread/main.c",
        switches: &[],
        changes: &[fixed("barrier:round_barrier=balanced")],
    },
    Base { source: "workloads/two_locks/main.c", switches: &[], changes: &[fixed("lock:ledger_lock=0")] },
    Base { source: "workloads/pipeline/main.c", switches: &[], changes: &[fixed("stage:compress_stage*2")] },
    Base {
        source: "workloads/demo/thumbnails.c",
        switches: &[],
        changes: &[fixed("lock:cache_lock=0,barrier:frame_done=balanced")],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_changes_something() {
        for base in BASES {
            for change in base.changes {
                let same = change.switches == base.switches && change.flags.is_empty();
                assert!(!same, "{}: {}", base.name(), change.expression);
            }
        }
    }

    #[test]
    fn programs_know_their_switches() {
        let workspace = crate::workspace::Workspace::of_this_run().expect("the workspace");
        for base in BASES {
            let text = workspace.text(base.source).unwrap_or_else(|| panic!("there is no {}", base.source));
            let switches = base.changes.iter().flat_map(|change| change.switches).chain(base.switches);
            // The header reads this one.
            for name in switches.filter_map(|switch| switch.split('=').next()).filter(|name| *name != "cpus")
            {
                assert!(text.contains(&format!("number(\"{name}\"")), "{} has no {name}", base.source);
            }
            for change in base.changes.iter().filter(|change| !change.flags.is_empty()) {
                assert!(text.contains("FIXED"), "{}: {} changes nothing", base.source, change.expression);
            }
        }
    }

    #[test]
    fn names_are_of_program_and_switches() {
        let base = |source, switches| Base { source, switches, changes: &[] }.name();
        assert_eq!(base("bench/whatif/tasks.c", &["workers=2"]), "tasks workers=2");
        assert_eq!(base("workloads/late_thread/main.c", &[]), "late_thread");
    }
}
