//! What findings are about.

macro_rules! kinds {
    ($($(#[$text:meta])* $kind:ident = $word:literal, $color:literal, $label:literal;)*) => {
        /// What a finding is about. The words are the `kind` of `--json`.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum FindingKind {
            $($(#[$text])* $kind,)*
        }

        impl FindingKind {
            /// Every kind, in order.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// The word for it in JSON.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$kind => $word,)*
                }
            }

            /// The name of the colour of what is lost to it.
            pub const fn color(self) -> &'static str {
                match self {
                    $(Self::$kind => $color,)*
                }
            }

            /// What a person calls the time that is lost to it.
            pub const fn label(self) -> &'static str {
                match self {
                    $(Self::$kind => $label,)*
                }
            }
        }
    };
}

kinds! {
    /// A lock is held while others wait.
    Lock = "lock", "lock", "waiting for locks";
    /// Threads wait at a barrier, none of them later than the others.
    Barrier = "barrier", "bar", "waiting at barriers";
    /// Some threads have more to do than the others between two barriers or before a join.
    Imbalance = "imbalance", "bar", "uneven work";
    /// One thread works while the others wait for it or do not exist.
    Serial = "serial", "serial", "one thread alone";
    /// Threads wait for a signal or a futex.
    Condition = "condition", "sig", "waiting for signals";
    /// Threads wait for a semaphore.
    Semaphore = "semaphore", "sig", "waiting for semaphores";
    /// Threads wait for tasks of OpenMP, since there are too few, they are made too late, or handing one out takes longer than it.
    Tasks = "tasks", "sig", "waiting for tasks";
    /// A stage of a pipeline is slower than its neighbours.
    Pipeline = "pipeline", "sig", "waiting for a slower stage";
    /// Two stages of a pipeline wait for each other by turns.
    Queue = "queue", "sig", "waiting by turns at a queue";
    /// A thread waits for another's end.
    Join = "join", "bar", "waiting for threads to end";
    /// Threads spin.
    Spin = "spin", "spin", "spinning";
    /// Threads take cache lines from each other. What it costs is the time at accesses to them, which are work.
    Sharing = "sharing", "mem", "passing cache lines";
    /// Memory that goes back to the kernel, and comes again page by page. What it costs is the time in page faults and in calls that give
    /// memory back, which are work.
    Faults = "faults", "mem", "page faults";
    /// A CPU quota of its control groups stops its threads.
    Quota = "quota", "des", "stopped by the quota";
    /// Its threads may use fewer CPUs than there are.
    Affinity = "affinity", "des", "kept to too few CPUs";
    /// More threads than cores.
    Oversubscription = "oversubscription", "des", "more threads than cores";
    /// Others used the same CPUs: what was lost to that is no finding, since nothing of the program can fix it.
    Load = "load", "des", "other load";
    /// Threads that could run are without a core (or in the kernel unseen), though there are enough cores and nobody is
    /// known to have used them.
    Delayed = "delayed", "des", "without a core";
    /// From the release of a waiting thread until it runs.
    WakeUp = "wakeup", "wake", "waking up";
    /// I/O.
    Io = "io", "io", "I/O";
    /// Sleeping.
    Sleep = "sleep", "sleep", "asleep";
    /// Threads that start late.
    Startup = "startup", "idle", "not started yet";
    /// Threads have nothing to do: nothing came from outside of the program.
    Idle = "idle", "idle", "nothing to do";
    /// Threads wait for each other, and always will.
    Deadlock = "deadlock", "lock", "deadlock";
    /// All threads wait, and none is left that could end it.
    Hang = "hang", "lock", "hanging";
    /// Threads wait for something that was not recorded.
    Blocked = "blocked", "sig", "blocked, cause not recorded";
}

impl FindingKind {
    /// False for what has a cost and is no finding, but a note about the environment.
    pub fn is_finding(self) -> bool {
        self != Self::Load
    }

    /// True where what it costs counts as work: it is no part of the lost time.
    pub fn is_of_work(self) -> bool {
        matches!(self, Self::Sharing | Self::Faults)
    }

    /// True for what goes on until the recording ends, whatever else is fixed.
    pub fn never_ends(self) -> bool {
        matches!(self, Self::Deadlock | Self::Hang)
    }
}
