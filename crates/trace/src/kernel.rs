//! The records that the kernel collector writes, from outside of the measured program.
//!
//! They are words as those of [`crate::wire`], with a header of the same shape and tags of their own. Points in time
//! are nanoseconds of CLOCK_MONOTONIC. Threads are named by kernel ids, which may be used again: what belongs to
//! which thread follows from [`Record::Start`] and [`Record::Exit`] and their times. Call stacks are unwound when they
//! are taken; a stack is addresses in an image.
//!
//! An *image* is what a process has mapped: a new one begins with each process and each execution of another program.

use crate::words::{BadRecord, Text, header, pair, words_for};

/// No call stack.
pub const NO_STACK: u32 = 0;
/// No system call: the thread was blocked outside of any (a page fault).
pub const NO_CALL: u32 = u32::MAX;
/// The most addresses in one stack.
pub const MAX_ADDRESSES: usize = 512;

/// What a record of a switch, to a core or from it, takes the thread that it is about while it runs (ns): it cannot be measured
/// from outside, and is taken from measurements (docs/performance.md).
pub const SWITCH_COST: u64 = 1_000;
/// What it takes more where the thread has a timer for samples, which is stopped and started with it.
pub const TIMER_COST: u64 = 1_000;
/// As for a wake-up.
pub const WAKING_COST: u64 = 600;
/// As for a sample of a running thread with its stack.
pub const SAMPLE_COST: u64 = 4_000;

/// What a sample shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum SampleCode {
    /// A thread on a core.
    Running = 0,
    /// A thread that is blocked.
    Blocked = 1,
    /// A thread that is on a core or could be, as was found by looking at it from outside, while context switches were
    /// not recorded. It has no stack.
    Able = 2,
}

/// What an instruction did to data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum AccessCode {
    /// It read it.
    Read = 1,
    /// It wrote it.
    Write = 2,
    /// It read and wrote it, and others may have written in between.
    Update = 3,
    /// It read and wrote it in one step.
    Atomic = 4,
}

/// Data that a running thread had just accessed when it was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Its address.
    pub address: u64,
    /// How many bytes.
    pub bytes: u8,
    /// What was done to it.
    pub code: AccessCode,
}

/// Why a running thread was in the kernel when it was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum InKernelCode {
    /// It had called it.
    Call = 5,
    /// Its code goes on at the instruction at which it was stopped: a page fault, or an interrupt.
    Fault = 6,
}

/// What is known of a running thread, beside where it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Running {
    /// What it had just accessed, if that is known.
    pub access: Option<Access>,
    /// Why it was in the kernel; `None` in its own code, and in recordings that do not say.
    pub in_kernel: Option<InKernelCode>,
}

/// What the collector can see from a moment on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum CoverageCode {
    /// Context switches are recorded from now on.
    Begin = 0,
    /// They are not recorded from now on.
    End = 1,
    /// They are not recorded from now on, because there are too many: CPU times are read instead.
    BackOff = 2,
    /// As [`CoverageCode::BackOff`], but what threads execute goes on to be sampled.
    BackOffWithSamples = 3,
}

/// A record, borrowed from the words that hold it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Record<'a> {
    /// A thread was given a core, or lost it.
    Switch {
        /// When.
        time: u64,
        /// Which process.
        pid: u32,
        /// Which thread.
        tid: u32,
        /// Which core.
        core: u32,
        /// True if it lost the core.
        out: bool,
        /// True if it lost the core though it could have gone on.
        preempted: bool,
    },
    /// A thread began, or was there when the collector began.
    Start {
        /// When.
        time: u64,
        /// Which process.
        pid: u32,
        /// Which thread.
        tid: u32,
        /// The process that started it.
        parent_pid: u32,
        /// The thread that started it; 0 if it was there before.
        parent_tid: u32,
        /// The image of its process.
        image: u32,
    },
    /// A thread ended.
    Exit {
        /// When.
        time: u64,
        /// Which process.
        pid: u32,
        /// Which thread.
        tid: u32,
    },
    /// A thread has this name.
    Name {
        /// When.
        time: u64,
        /// Which process.
        pid: u32,
        /// Which thread.
        tid: u32,
        /// The bytes.
        text: Text<'a>,
    },
    /// A process executed a program.
    Exec {
        /// When.
        time: u64,
        /// Which process.
        pid: u32,
        /// Its image from now on.
        image: u32,
        /// The program and its arguments, each ended by a zero byte, as far as known.
        text: Text<'a>,
    },
    /// A file with code was mapped.
    Mapping {
        /// When.
        time: u64,
        /// In which image.
        image: u32,
        /// The first address.
        start: u64,
        /// The end of the last page.
        end: u64,
        /// Where in the file it begins.
        offset: u64,
        /// The path, as the kernel knows it.
        text: Text<'a>,
    },
    /// A thread was seen.
    Sample {
        /// When.
        time: u64,
        /// Which process.
        pid: u32,
        /// Which thread.
        tid: u32,
        /// Doing what.
        kind: SampleCode,
        /// The time that it stands for (ns); 0 where that is not known.
        weight: u64,
        /// Its call stack, or [`NO_STACK`].
        stack: u32,
        /// For blocked threads the number of the system call, or [`NO_CALL`].
        call: u32,
        /// The first argument of the system call: for futexes the address.
        argument: u64,
        /// What is known of running threads.
        running: Running,
    },
    /// A call stack.
    Stack {
        /// What samples call it; its own in each image.
        id: u32,
        /// In which image its addresses mean something.
        image: u32,
        /// True if it does not reach the start of its thread.
        broken: bool,
        /// The instruction pointer, then return addresses.
        addresses: &'a [u64],
    },
    /// A thread was woken.
    Waking {
        /// When.
        time: u64,
        /// The thread that was woken.
        tid: u32,
        /// The thread that did it; 0 if it was none (an interrupt).
        by: u32,
    },
    /// CPU times of a thread since its start.
    Reading {
        /// When.
        time: u64,
        /// Which process.
        pid: u32,
        /// Which thread.
        tid: u32,
        /// Time on a core (ns).
        cpu: u64,
        /// Time in which it could run and had no core (ns).
        delay: u64,
    },
    /// What is recorded changes.
    Coverage {
        /// When.
        time: u64,
        /// What.
        kind: CoverageCode,
    },
    /// Records for which there was no room.
    Lost {
        /// When that was noticed.
        time: u64,
        /// How many.
        count: u64,
    },
}

const SWITCH: u8 = 1;
const START: u8 = 2;
const EXIT: u8 = 3;
const NAME: u8 = 4;
const EXEC: u8 = 5;
const SAMPLE: u8 = 6;
const STACK: u8 = 7;
const WAKING: u8 = 8;
const READING: u8 = 9;
const COVERAGE: u8 = 10;
const LOST: u8 = 11;
const MAPPING: u8 = 12;

const OUT: u8 = 1;
const PREEMPTED: u8 = 2;
const BROKEN: u8 = 1;

/// A context switch. The arguments are the fields of [`Record::Switch`].
pub fn switch(
    out: &mut impl Extend<u64>,
    time: u64,
    (pid, tid): (u32, u32),
    core: u32,
    leaves: bool,
    preempted: bool,
) {
    let flags = if leaves { OUT } else { 0 } | if preempted { PREEMPTED } else { 0 };
    out.extend([header(SWITCH, flags, 3, core), time, pair(pid, tid)]);
}

/// The start of a thread. The arguments are the fields of [`Record::Start`].
pub fn start(
    out: &mut impl Extend<u64>,
    time: u64,
    (pid, tid): (u32, u32),
    (parent_pid, parent_tid): (u32, u32),
    image: u32,
) {
    out.extend([header(START, 0, 4, image), time, pair(pid, tid), pair(parent_pid, parent_tid)]);
}

/// The end of a thread.
pub fn exit(out: &mut impl Extend<u64>, time: u64, (pid, tid): (u32, u32)) {
    out.extend([header(EXIT, 0, 3, 0), time, pair(pid, tid)]);
}

/// A thread's name; at most 65,000 bytes of it.
pub fn name(out: &mut impl Extend<u64>, time: u64, (pid, tid): (u32, u32), text: &[u8]) {
    let text = &text[..text.len().min(MAX_TEXT)];
    out.extend([header(NAME, 0, 3 + words_for(text.len()), text.len() as u32), time, pair(pid, tid)]);
    pack(out, text);
}

/// The execution of a program; at most 65,000 bytes of its arguments.
pub fn exec(out: &mut impl Extend<u64>, time: u64, pid: u32, image: u32, text: &[u8]) {
    let text = &text[..text.len().min(MAX_TEXT)];
    out.extend([header(EXEC, 0, 3 + words_for(text.len()), text.len() as u32), time, pair(pid, image)]);
    pack(out, text);
}

/// A mapping. The arguments are the fields of [`Record::Mapping`]; at most 65,000 bytes of the path.
pub fn mapping(
    out: &mut impl Extend<u64>,
    time: u64,
    image: u32,
    (start, end): (u64, u64),
    offset: u64,
    text: &[u8],
) {
    let text = &text[..text.len().min(MAX_TEXT)];
    let head = header(MAPPING, 0, 6 + words_for(text.len()), text.len() as u32);
    out.extend([head, time, u64::from(image), start, end, offset]);
    pack(out, text);
}

/// A sample. The arguments are the fields of [`Record::Sample`].
#[allow(clippy::too_many_arguments, reason = "one argument for each field of the record, each named there")]
pub fn sample(
    out: &mut impl Extend<u64>,
    time: u64,
    (pid, tid): (u32, u32),
    kind: SampleCode,
    weight: u64,
    stack: u32,
    call: u32,
    argument: u64,
) {
    out.extend([
        header(SAMPLE, kind as u8, 6, stack),
        time,
        pair(pid, tid),
        weight,
        u64::from(call),
        argument,
    ]);
}

/// A sample of a running thread. The arguments are the fields of [`Record::Sample`].
pub fn running(
    out: &mut impl Extend<u64>,
    time: u64,
    (pid, tid): (u32, u32),
    weight: u64,
    stack: u32,
    running: Running,
) {
    // Of blocked threads the call stands in these words: in the kernel a running one accesses nothing of its own.
    let head = header(SAMPLE, SampleCode::Running as u8, 6, stack);
    let kind = match running {
        Running { in_kernel: Some(code), .. } => u64::from(code as u8) << 32,
        Running { access: Some(access), .. } => {
            u64::from(access.code as u8) << 32 | u64::from(access.bytes) << 40
        }
        Running { access: None, in_kernel: None } => 0,
    };
    let access = running.access.filter(|_| running.in_kernel.is_none());
    let address = access.map_or(0, |access| access.address);
    out.extend([head, time, pair(pid, tid), weight, u64::from(NO_CALL) | kind, address]);
}

/// A call stack; at most [`MAX_ADDRESSES`] of it.
pub fn stack(out: &mut impl Extend<u64>, id: u32, image: u32, broken: bool, addresses: &[u64]) {
    let addresses = &addresses[..addresses.len().min(MAX_ADDRESSES)];
    out.extend([header(STACK, if broken { BROKEN } else { 0 }, 2 + addresses.len(), id), u64::from(image)]);
    out.extend(addresses.iter().copied());
}

/// A wake-up. The arguments are the fields of [`Record::Waking`].
pub fn waking(out: &mut impl Extend<u64>, time: u64, tid: u32, by: u32) {
    out.extend([header(WAKING, 0, 3, 0), time, pair(tid, by)]);
}

/// CPU times of a thread. The arguments are the fields of [`Record::Reading`].
pub fn reading(out: &mut impl Extend<u64>, time: u64, (pid, tid): (u32, u32), cpu: u64, delay: u64) {
    out.extend([header(READING, 0, 5, 0), time, pair(pid, tid), cpu, delay]);
}

/// A change of what is recorded.
pub fn coverage(out: &mut impl Extend<u64>, time: u64, kind: CoverageCode) {
    out.extend([header(COVERAGE, kind as u8, 2, 0), time]);
}

/// Lost records.
pub fn lost(out: &mut impl Extend<u64>, time: u64, count: u64) {
    out.extend([header(LOST, 0, 3, 0), time, count]);
}

/// The longest text in bytes.
const MAX_TEXT: usize = 65_000;

fn pack(out: &mut impl Extend<u64>, bytes: &[u8]) {
    out.extend(bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    }));
}

/// Reads the record at the start of `words`; gives it and its length in words.
///
/// # Errors
/// [`BadRecord`], which says whether the records after it can still be read.
pub fn read(words: &[u64]) -> Result<(Record<'_>, usize), BadRecord> {
    let head = *words.first().ok_or(BadRecord::Length)?;
    let len = (head >> 16 & 0xffff) as usize;
    if len == 0 || len > words.len() {
        return Err(BadRecord::Length);
    }
    record(head, &words[..len]).map(|record| (record, len)).ok_or(BadRecord::Unknown(len))
}

/// All records in `words`; what is not understood is passed over.
pub fn records(mut words: &[u64]) -> impl Iterator<Item = Record<'_>> {
    core::iter::from_fn(move || {
        loop {
            match read(words) {
                Ok((record, length)) => {
                    words = &words[length..];
                    return Some(record);
                }
                Err(BadRecord::Unknown(length)) => words = &words[length..],
                Err(BadRecord::Length) => return None,
            }
        }
    })
}

/// What is known of a running thread, from the words that samples of others have for calls.
fn running_from(call: u64, address: u64) -> Running {
    let access = |code| Some(Access { address, bytes: (call >> 40) as u8, code });
    let (access, in_kernel) = match (call >> 32) as u8 {
        1 => (access(AccessCode::Read), None),
        2 => (access(AccessCode::Write), None),
        3 => (access(AccessCode::Update), None),
        4 => (access(AccessCode::Atomic), None),
        5 => (None, Some(InKernelCode::Call)),
        6 => (None, Some(InKernelCode::Fault)),
        _ => (None, None),
    };
    Running { access, in_kernel }
}

fn record(head: u64, words: &[u64]) -> Option<Record<'_>> {
    let flags = (head >> 8) as u8;
    let small = (head >> 32) as u32;
    let word = |index: usize| words.get(index).copied();
    let halves = |index: usize| word(index).map(|word| (word as u32, (word >> 32) as u32));
    let text = |from: usize| Text::new(words.get(from..)?, small as usize);
    Some(match head as u8 {
        SWITCH => {
            let (pid, tid) = halves(2)?;
            let (out, preempted) = (flags & OUT != 0, flags & PREEMPTED != 0);
            Record::Switch { time: word(1)?, pid, tid, core: small, out, preempted }
        }
        START => {
            let ((pid, tid), (parent_pid, parent_tid)) = (halves(2)?, halves(3)?);
            Record::Start { time: word(1)?, pid, tid, parent_pid, parent_tid, image: small }
        }
        EXIT => {
            let (pid, tid) = halves(2)?;
            Record::Exit { time: word(1)?, pid, tid }
        }
        NAME => {
            let (pid, tid) = halves(2)?;
            Record::Name { time: word(1)?, pid, tid, text: text(3)? }
        }
        EXEC => {
            let (pid, image) = halves(2)?;
            Record::Exec { time: word(1)?, pid, image, text: text(3)? }
        }
        SAMPLE => {
            let (pid, tid) = halves(2)?;
            let kind = match flags {
                0 => SampleCode::Running,
                1 => SampleCode::Blocked,
                2 => SampleCode::Able,
                _ => return None,
            };
            let (call, argument) = (word(4)?, word(5)?);
            let running = match kind {
                SampleCode::Running => running_from(call, argument),
                SampleCode::Blocked | SampleCode::Able => Running::default(),
            };
            Record::Sample {
                time: word(1)?,
                pid,
                tid,
                kind,
                weight: word(3)?,
                stack: small,
                call: call as u32,
                argument: if running.access.is_some() { 0 } else { argument },
                running,
            }
        }
        STACK => Record::Stack {
            id: small,
            image: word(1)? as u32,
            broken: flags & BROKEN != 0,
            addresses: words.get(2..)?,
        },
        WAKING => {
            let (tid, by) = halves(2)?;
            Record::Waking { time: word(1)?, tid, by }
        }
        READING => {
            let (pid, tid) = halves(2)?;
            Record::Reading { time: word(1)?, pid, tid, cpu: word(3)?, delay: word(4)? }
        }
        COVERAGE => {
            let kind = match flags {
                0 => CoverageCode::Begin,
                1 => CoverageCode::End,
                2 => CoverageCode::BackOff,
                3 => CoverageCode::BackOffWithSamples,
                _ => return None,
            };
            Record::Coverage { time: word(1)?, kind }
        }
        MAPPING => Record::Mapping {
            time: word(1)?,
            image: word(2)? as u32,
            start: word(3)?,
            end: word(4)?,
            offset: word(5)?,
            text: text(6)?,
        },
        LOST => Record::Lost { time: word(1)?, count: word(2)? },
        _ => return None,
    })
}
