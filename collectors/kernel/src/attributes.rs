//! The events that are asked for, in our words, and in the kernel's.

use perf_event_open_sys::bindings as sys;

use crate::ids::Tid;

/// What an event is for. All kinds of one processor write into one ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Nothing but a ring to write into.
    Ring,
    /// Threads made, named and ended, programs executed, code mapped.
    Tasks,
    /// Switches in and out.
    Switches,
    /// Samples by CPU time of the thread.
    Samples,
    /// The tracepoint `sched:sched_waking`.
    Wakings,
}

/// Whose doings are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The calling thread, and with [`Start::AtExec`] what it starts.
    CallingThread,
    /// A thread that runs.
    Thread(Tid),
    /// All that runs on a processor, of any user. It needs a privilege.
    Processor,
}

impl Target {
    /// The kernel's number for it.
    pub(crate) fn number(self) -> i32 {
        match self {
            Target::CallingThread => 0,
            Target::Thread(tid) => i32::try_from(tid.0).unwrap_or(i32::MAX),
            Target::Processor => -1,
        }
    }
}

/// When an event begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// In each child at its exec.
    AtExec,
    /// When it is switched on.
    WhenEnabled,
}

/// How running threads are sampled.
///
/// The kernel's timer belongs to a thread, begins anew with each one, and may change hands between threads of one
/// process at a switch. So threads that live for less than a period have no samples (2,500 threads of 0.2 ms: 0.02 to
/// 0.09 of 0.51 s of CPU time), nor has one that starts and joins such threads; and a timer that comes late, on a machine
/// whose processors others use too, is one sample, not several (0.83 to 0.97 of 1 s). Samples say *what* a thread did;
/// for how long it ran, switch records or [`crate::Scheduling`] say.
///
/// To stop and start a thread's timer costs each switch several microseconds on virtual machines. A processor's goes on
/// ([`crate::Watch::sample_processors`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// CPU time of a thread between two of its samples, in ns; at least 10,000.
    pub period_ns: u64,
    /// How much of the stack to copy: a multiple of 8 below 64,000; 0 for none.
    pub stack_bytes: u32,
}

impl Default for Sampling {
    /// About 1,000 samples for a second of CPU time, at a period that is in step with no timer tick, with 8 KiB of stack.
    fn default() -> Self {
        Sampling { period_ns: 997_003, stack_bytes: 8 << 10 }
    }
}

/// One event, before it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// What for.
    pub kind: Kind,
    /// Also what happens while the thread is in the kernel. It needs a privilege.
    pub kernel: bool,
    /// When it begins.
    pub start: Start,
    /// How samples are taken, for [`Kind::Samples`].
    pub sampling: Sampling,
    /// The tracepoint's number, for [`Kind::Wakings`].
    pub tracepoint: u64,
    /// Also tells of threads, names, programs and code, whatever its kind: each event costs every switch of a thread about
    /// 0.2 µs, so one does it all.
    pub tasks: bool,
    /// Also tells of switches in and out, whatever its kind.
    pub switches: bool,
    /// Of a processor, not of a thread, for [`Kind::Samples`]: its timer runs on where threads switch.
    pub of_processor: bool,
    /// How many bytes in the ring wake the reader, for [`Kind::Ring`].
    pub wake_at_bytes: u32,
}

/// The fields that end every record and, in this order, begin every sample (after its identifier).
const IN_ALL: u64 =
    (sys::PERF_SAMPLE_IDENTIFIER | sys::PERF_SAMPLE_TID | sys::PERF_SAMPLE_TIME | sys::PERF_SAMPLE_CPU)
        as u64;

/// The general registers and the instruction pointer: `PERF_REG_X86_AX` to `_IP`, `_R8` to `_R15`. The kernel writes them in the
/// order of their bits.
const REGISTERS: u64 = 0x1ff | 0xff << 16;

/// The largest stack copy: a record's length has 16 bits, and the other fields need room too.
const MAX_STACK_BYTES: u32 = 64_000;

impl Attributes {
    /// An event of this kind that is not switched on yet.
    pub fn new(kind: Kind, start: Start) -> Attributes {
        Attributes {
            kind,
            kernel: false,
            start,
            sampling: Sampling::default(),
            tracepoint: 0,
            tasks: kind == Kind::Tasks,
            switches: kind == Kind::Switches,
            of_processor: false,
            wake_at_bytes: 0,
        }
    }

    /// As the kernel wants it.
    pub(crate) fn raw(&self) -> sys::perf_event_attr {
        let mut raw = sys::perf_event_attr::default();
        raw.size = size_of::<sys::perf_event_attr>() as u32;
        raw.type_ = sys::PERF_TYPE_SOFTWARE;
        raw.config = u64::from(sys::PERF_COUNT_SW_DUMMY);
        raw.sample_type = IN_ALL;
        raw.clockid = libc::CLOCK_MONOTONIC;
        raw.set_use_clockid(1);
        raw.set_sample_id_all(1);
        raw.set_disabled(1);
        raw.set_exclude_kernel(u64::from(!self.kernel));
        raw.set_exclude_hv(1);
        raw.set_watermark(1);
        raw.wakeup_watermark = self.wake_at_bytes;
        raw.set_exclude_idle(u64::from(self.of_processor));
        if self.kind != Kind::Ring && !self.of_processor {
            raw.set_inherit(1);
            raw.set_enable_on_exec(u64::from(self.start == Start::AtExec));
        }
        if self.tasks {
            raw.set_task(1);
            raw.set_comm(1);
            raw.set_comm_exec(1);
            // The kernel writes no mapping at all while no event has the older bit.
            raw.set_mmap(1);
            raw.set_mmap2(1);
        }
        raw.set_context_switch(u64::from(self.switches));
        match self.kind {
            Kind::Ring | Kind::Tasks | Kind::Switches => {}
            Kind::Samples => {
                let thread_or_processor = if self.of_processor {
                    sys::PERF_COUNT_SW_CPU_CLOCK
                } else {
                    sys::PERF_COUNT_SW_TASK_CLOCK
                };
                raw.config = u64::from(thread_or_processor);
                raw.sample_period = self.sampling.period_ns.max(10_000);
                raw.sample_type |=
                    (sys::PERF_SAMPLE_IP | sys::PERF_SAMPLE_PERIOD | sys::PERF_SAMPLE_REGS_USER) as u64;
                raw.sample_regs_user = REGISTERS;
                if self.sampling.stack_bytes > 0 {
                    raw.sample_type |= sys::PERF_SAMPLE_STACK_USER as u64;
                    raw.sample_stack_user =
                        self.sampling.stack_bytes.min(MAX_STACK_BYTES).next_multiple_of(8);
                }
            }
            Kind::Wakings => {
                raw.type_ = sys::PERF_TYPE_TRACEPOINT;
                raw.config = self.tracepoint;
                raw.sample_period = 1;
                raw.sample_type |= sys::PERF_SAMPLE_RAW as u64;
            }
        }
        raw
    }
}
