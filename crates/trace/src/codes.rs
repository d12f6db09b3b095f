//! The small numbers by which records say what something is.

macro_rules! coded {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $value:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum $name { $($(#[$vdoc])* $variant = $value,)* }

        impl $name {
            /// All values, in the order of their codes.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The value with this code.
            pub const fn from_code(code: u8) -> Option<$name> {
                match code {
                    $($value => Some($name::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use coded;

coded! {
    /// What a sync object is.
    ObjectCode {
        /// A mutex.
        Mutex = 0,
        /// A read-write lock.
        RwLock = 1,
        /// A spin lock.
        SpinLock = 2,
        /// A condition variable.
        Condition = 3,
        /// A barrier.
        Barrier = 4,
        /// A semaphore.
        Semaphore = 5,
        /// The end of a thread; the object's address is its `pthread_t`.
        ThreadEnd = 6,
        /// A one-time initialization.
        Once = 7,
        /// A futex word.
        Futex = 8,
        /// An OpenMP critical section; the object's address is that of the lock of its name.
        Critical = 9,
        /// An OpenMP lock, simple or nestable.
        OmpLock = 10,
        /// The turn at an OpenMP `ordered`.
        Ordered = 11,
        /// What threads send to each other by descriptors; the object's address is the number of the channel, with the highest bit
        /// set.
        Messages = 12,
        /// Room for such messages in the channel of this number.
        Room = 13,
    }
}

coded! {
    /// How a wait ended.
    OutcomeCode {
        /// With what was waited for.
        Granted = 0,
        /// The time was up.
        TimedOut = 1,
        /// The call failed or was interrupted.
        Failed = 2,
        /// It had not ended when the thread did.
        Open = 3,
    }
}

coded! {
    /// A kind of blocking system call.
    CallCode {
        /// `read` and its relatives.
        Read = 0,
        /// `write` and its relatives.
        Write = 1,
        /// `recv` and its relatives.
        Receive = 2,
        /// `send` and its relatives.
        Send = 3,
        /// `accept` and its relatives.
        Accept = 4,
        /// `connect`.
        Connect = 5,
        /// `poll`, `select`, `epoll_wait` and their relatives.
        Poll = 6,
        /// `nanosleep` and its relatives.
        Sleep = 7,
        /// `fsync` and its relatives.
        Sync = 8,
        /// `waitpid` and its relatives.
        WaitChild = 9,
        /// `flock`, `lockf`.
        FileLock = 10,
        /// `sigwait`, `sigsuspend`, `pause` and their relatives.
        Signal = 11,
    }
}

coded! {
    /// What the program says about itself.
    MarkerCode {
        /// The region of interest begins.
        RegionBegin = 0,
        /// The region of interest ends.
        RegionEnd = 1,
        /// A new phase.
        Phase = 2,
        /// A unit of work begins on this thread.
        WorkBegin = 3,
        /// A unit of work ends on this thread.
        WorkEnd = 4,
        /// This thread begins to spin.
        SpinBegin = 5,
        /// This thread goes on.
        SpinEnd = 6,
    }
}
