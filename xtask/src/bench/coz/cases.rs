//! What both tools are asked.

/// A function's work made shorter.
pub(super) struct Case {
    /// A source in `bench/whatif/`.
    pub(super) program: &'static str,
    pub(super) switches: &'static [&'static str],
    /// What holdup is asked.
    pub(super) expression: &'static str,
    /// Where coz is asked: at the line of this function's work.
    pub(super) function: &'static str,
    /// How much shorter, in per cent: coz counts what is taken away.
    pub(super) speedup: u32,
    /// The switches that make it so.
    pub(super) change: &'static [&'static str],
    /// The switches that make coz's runs some seconds long.
    pub(super) longer: &'static [&'static str],
}

/// Switches that come last win.
pub(super) const CASES: &[Case] = &[
    Case {
        program: "hot_lock",
        switches: &["threads=2"],
        expression: "lock:hot_lock/4",
        function: "update",
        speedup: 75,
        change: &["hold=75"],
        longer: &["rounds=16000"],
    },
    Case {
        program: "hot_lock",
        switches: &["threads=2"],
        expression: "site:prepare/2",
        function: "prepare",
        speedup: 50,
        change: &["outside=100"],
        longer: &["rounds=16000"],
    },
    Case {
        program: "barrier",
        switches: &["threads=2"],
        expression: "site:late_work/2",
        function: "late_work",
        speedup: 50,
        change: &["late=3000"],
        longer: &["rounds=800"],
    },
    Case {
        program: "pipeline",
        switches: &[],
        expression: "site:filter_item/2",
        function: "filter_item",
        speedup: 50,
        change: &["filter=2000"],
        longer: &["items=1000"],
    },
    Case {
        program: "tasks",
        switches: &["workers=2"],
        expression: "site:run_task/2",
        function: "run_task",
        speedup: 50,
        change: &["task=750"],
        longer: &["tasks=6000"],
    },
    Case {
        program: "rwlock",
        switches: &[],
        expression: "site:rewrite/4",
        function: "rewrite",
        speedup: 75,
        change: &["rewriting=500"],
        longer: &["rounds=8000"],
    },
    Case {
        program: "condition",
        switches: &[],
        expression: "site:make_job/2",
        function: "make_job",
        speedup: 50,
        change: &["making=1000"],
        longer: &["jobs=2500"],
    },
    Case {
        program: "condition",
        switches: &[],
        expression: "site:do_job/2",
        function: "do_job",
        speedup: 50,
        change: &["doing=750"],
        longer: &["jobs=2500"],
    },
    Case {
        program: "semaphore",
        switches: &[],
        expression: "site:run_query/2",
        function: "run_query",
        speedup: 50,
        change: &["query=1000"],
        longer: &["rounds=2500"],
    },
    Case {
        program: "phases",
        switches: &[],
        expression: "site:prepare_frame/2",
        function: "prepare_frame",
        speedup: 50,
        change: &["serial=3000"],
        longer: &["rounds=480"],
    },
];
