//! One record's bytes, read.
//!
//! The layouts are those of `perf_event_open(2)` for the fields that [`crate::attributes`] asks for.

use perf_event_open_sys::bindings as sys;

use crate::attributes::Kind;
use crate::event::{Event, Registers, Sample, Switch, Waker, What};
use crate::ids::{Cpu, Pid, Tid};
use crate::records::HEADER_BYTES;
use crate::tracepoint::WakingLayout;

/// What must be known of the opened events to read their records.
pub(crate) trait Schema {
    /// The kind of the event with this identifier.
    fn kind(&self, id: u64) -> Option<Kind>;
    /// How wakings are laid out, where they are recorded.
    fn wakings(&self) -> Option<&WakingLayout>;
    /// Whether samples have a copy of the stack.
    fn stacks(&self) -> bool;
}

/// A record that was understood.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parsed<'a> {
    /// The identifier of the opened event that wrote it.
    pub(crate) id: u64,
    pub(crate) event: Event<'a>,
}

/// The bytes that end every record but a sample: pid, tid, time, processor, identifier.
const TRAILER_BYTES: usize = 32;

/// Reads a record with its header. `None` if its type is unknown or its bytes are not what the type needs.
pub(crate) fn parse<'a>(record: &'a [u8], schema: &impl Schema) -> Option<Parsed<'a>> {
    let mut header = Bytes(record);
    let kind = header.u32()?;
    let flags = u32::from(header.u16()?);
    let body = record.get(HEADER_BYTES..)?;
    if kind == sys::PERF_RECORD_SAMPLE {
        return sample(body, flags, schema);
    }
    let (body, trailer) = body.split_at_checked(body.len().checked_sub(TRAILER_BYTES)?)?;
    let mut body = Bytes(body);
    let what = match kind {
        sys::PERF_RECORD_SWITCH => What::Switch(match flags {
            out if out & sys::PERF_RECORD_MISC_SWITCH_OUT == 0 => Switch::In,
            out if out & sys::PERF_RECORD_MISC_SWITCH_OUT_PREEMPT != 0 => Switch::Preempted,
            _ => Switch::Blocked,
        }),
        sys::PERF_RECORD_FORK => {
            let (pid, parent_pid) = (body.pid()?, body.pid()?);
            What::Fork { pid, tid: body.tid()?, parent_pid, parent_tid: body.tid()? }
        }
        sys::PERF_RECORD_EXIT => {
            let (pid, _parent) = (body.pid()?, body.pid()?);
            What::Exit { pid, tid: body.tid()? }
        }
        sys::PERF_RECORD_COMM => What::Name {
            pid: body.pid()?,
            tid: body.tid()?,
            name: body.text(),
            exec: flags & sys::PERF_RECORD_MISC_COMM_EXEC != 0,
        },
        sys::PERF_RECORD_MMAP2 => {
            let (pid, tid, start, len, offset) =
                (body.pid()?, body.tid()?, body.u64()?, body.u64()?, body.u64()?);
            // Device, inode and its generation (24 bytes), protection and flags (8).
            body.skip(32)?;
            What::Mapping { pid, tid, start, len, offset, path: body.text() }
        }
        sys::PERF_RECORD_LOST => {
            body.skip(8)?;
            What::Lost { count: body.u64()? }
        }
        sys::PERF_RECORD_THROTTLE => What::Throttle { stopped: true },
        sys::PERF_RECORD_UNTHROTTLE => What::Throttle { stopped: false },
        _ => return None,
    };
    let mut trailer = Bytes(trailer);
    let (pid, tid, time_ns, cpu) = (trailer.pid()?, trailer.tid()?, trailer.u64()?, trailer.cpu()?);
    Some(Parsed { id: trailer.u64()?, event: Event { time_ns, pid, tid, cpu, what } })
}

/// When a record was written, in ns; `None` if that cannot be read.
pub(crate) fn time_ns(record: &[u8], schema: &impl Schema) -> Option<u64> {
    let mut header = Bytes(record);
    let time_at = if header.u32()? == sys::PERF_RECORD_SAMPLE {
        // Behind the identifier, the ip where there is one, and pid and tid.
        let id = Bytes(record.get(HEADER_BYTES..)?).u64()?;
        HEADER_BYTES + if schema.kind(id)? == Kind::Samples { 24 } else { 16 }
    } else {
        record.len().checked_sub(TRAILER_BYTES)? + 8
    };
    Bytes(record.get(time_at..)?).u64()
}

/// Reads a sample behind its header: identifier, ip, pid, tid, time, processor, period, raw data, registers, stack,
/// of which each kind of event has its own.
fn sample<'a>(body: &'a [u8], flags: u32, schema: &impl Schema) -> Option<Parsed<'a>> {
    let mut body = Bytes(body);
    let id = body.u64()?;
    let kind = schema.kind(id)?;
    if kind == Kind::Samples {
        body.skip(8)?;
    }
    let (pid, tid, time_ns, cpu) = (body.pid()?, body.tid()?, body.u64()?, body.cpu()?);
    let what = match kind {
        Kind::Samples => {
            let weight_ns = body.u64()?;
            let registers = registers(&mut body)?;
            let stack = if schema.stacks() { body.stack()? } else { &[] };
            let in_kernel = flags & sys::PERF_RECORD_MISC_CPUMODE_MASK == sys::PERF_RECORD_MISC_KERNEL;
            What::Sample(Sample { weight_ns, in_kernel, registers, stack })
        }
        Kind::Wakings => {
            let len = body.u32()? as usize;
            let (wakee, interrupt) = schema.wakings()?.read(body.take(len)?)?;
            let by = if interrupt { Waker::Interrupt } else { Waker::Thread };
            What::Waking { wakee: Tid(wakee), by }
        }
        Kind::Ring | Kind::Tasks | Kind::Switches => return None,
    };
    Some(Parsed { id, event: Event { time_ns, pid, tid, cpu, what } })
}

/// The numbers of the lower general registers, in the order in which the kernel has them.
const IN_ORDER: [usize; 8] = [0, 3, 1, 2, 6, 7, Registers::BP, Registers::SP];

/// The interface word, and the registers unless it says that there are none. Registers of 32-bit code are read and dropped.
fn registers(body: &mut Bytes<'_>) -> Option<Option<Registers>> {
    let abi = body.u64()?;
    if abi == u64::from(sys::PERF_SAMPLE_REGS_ABI_NONE) {
        return Some(None);
    }
    let mut general = [0; 16];
    for number in IN_ORDER {
        general[number] = body.u64()?;
    }
    let ip = body.u64()?;
    for higher in &mut general[8..] {
        *higher = body.u64()?;
    }
    Some((abi == u64::from(sys::PERF_SAMPLE_REGS_ABI_64)).then_some(Registers { ip, general }))
}

/// What is left to read. Numbers are in the machine's byte order.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, left) = self.0.split_at_checked(len)?;
        self.0 = left;
        Some(taken)
    }

    fn skip(&mut self, len: usize) -> Option<()> {
        self.take(len).map(|_| ())
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_ne_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_ne_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_ne_bytes)
    }

    fn pid(&mut self) -> Option<Pid> {
        self.u32().map(Pid)
    }

    fn tid(&mut self) -> Option<Tid> {
        self.u32().map(Tid)
    }

    /// The processor, and 4 bytes of padding.
    fn cpu(&mut self) -> Option<Cpu> {
        let cpu = self.u32().map(Cpu);
        self.skip(4)?;
        cpu
    }

    /// All that is left, up to the zero bytes that fill it up.
    fn text(&mut self) -> &'a [u8] {
        let rest = std::mem::take(&mut self.0);
        rest.split(|byte| *byte == 0).next().unwrap_or_default()
    }

    /// A length, that many bytes, and how many of them were filled; nothing but the length if that is 0.
    fn stack(&mut self) -> Option<&'a [u8]> {
        let room = usize::try_from(self.u64()?).ok()?;
        if room == 0 {
            return Some(&[]);
        }
        let bytes = self.take(room)?;
        let filled = usize::try_from(self.u64()?).ok()?;
        bytes.get(..filled)
    }
}

#[cfg(test)]
mod tests;
