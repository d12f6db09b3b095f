//! What the kernel tells.

use crate::ids::{Cpu, Pid, Tid};

/// One record of the kernel. Borrowed parts lie in the ring and live as long as the call that hands them out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// When, by `CLOCK_MONOTONIC`, in ns.
    pub time_ns: u64,
    /// The process that was current on the processor. `Pid(u32::MAX)` where it was past its exit.
    pub pid: Pid,
    /// The thread that was current on the processor. `Tid(u32::MAX)` where it was past its exit.
    pub tid: Tid,
    /// Where.
    pub cpu: Cpu,
    /// What happened.
    pub what: What<'a>,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum What<'a> {
    /// The event's thread was switched in or out.
    Switch(Switch),
    /// The event's thread made a thread: in its own process if the pids are equal, else in a new one.
    Fork {
        /// The new thread's process.
        pid: Pid,
        /// The new thread.
        tid: Tid,
        /// The process of the thread that made it.
        parent_pid: Pid,
        /// The thread that made it.
        parent_tid: Tid,
    },
    /// A thread ended. There is no switch-out afterwards: its events are gone before it leaves its processor.
    Exit {
        /// Its process.
        pid: Pid,
        /// The thread.
        tid: Tid,
    },
    /// A thread has a new name.
    Name {
        /// Its process.
        pid: Pid,
        /// The thread.
        tid: Tid,
        /// At most 15 bytes, chosen by the program.
        name: &'a [u8],
        /// The name comes from an exec: the process has a new image, its mappings are gone, this is its only thread.
        exec: bool,
    },
    /// Memory that can be executed was mapped.
    Mapping {
        /// Into which process.
        pid: Pid,
        /// By which thread.
        tid: Tid,
        /// The address of the first byte.
        start: u64,
        /// How many bytes.
        len: u64,
        /// Where in the file it begins, in bytes.
        offset: u64,
        /// The file as seen in the root of that process; `//anon`, `[vdso]` and the like where there is none.
        path: &'a [u8],
    },
    /// The event's thread was running when its timer expired.
    Sample(Sample<'a>),
    /// A thread was made runnable.
    Waking {
        /// Which.
        wakee: Tid,
        /// Whether the event's thread did it, or an interrupt that came while it ran (a timer, the network).
        by: Waker,
    },
    /// The ring was full.
    Lost {
        /// How many records were dropped since the last one that was not.
        count: u64,
    },
    /// Sampling goes faster than the kernel allows (`kernel.perf_event_max_sample_rate`).
    Throttle {
        /// It was stopped, or it goes on.
        stopped: bool,
    },
}

/// Which way a thread was switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// It begins to run.
    In,
    /// It stops because it waits for something.
    Blocked,
    /// It stops although it could run: its time was up, another one was preferred, or it yielded. Kernels before
    /// 4.17 call this blocked.
    Preempted,
}

/// Who makes a thread runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waker {
    /// The thread that is current.
    Thread,
    /// An interrupt; the current thread has nothing to do with it.
    Interrupt,
}

/// What a thread was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample<'a> {
    /// For how much of its CPU time it stands: the sampling period, in ns.
    pub weight_ns: u64,
    /// It was in the kernel, on behalf of the code at [`Registers::ip`].
    pub in_kernel: bool,
    /// Where it was in its program; `None` in 32-bit code and where there is no program (any more).
    pub registers: Option<Registers>,
    /// The stack from [`Registers::SP`] upwards, as much as was asked for or there is.
    pub stack: &'a [u8],
}

/// The registers of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// The instruction pointer.
    pub ip: u64,
    /// The general registers by the numbers that instructions have for them: RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8 to R15.
    pub general: [u64; 16],
}

impl Registers {
    /// The number of the register in which a system call leaves the address behind it.
    pub const CX: usize = 1;
    /// The number of the stack pointer.
    pub const SP: usize = 4;
    /// The number of the frame pointer, or of what the program uses that register for.
    pub const BP: usize = 5;
}
