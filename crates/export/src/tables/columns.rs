//! The tables and their columns.

use std::fmt;

use holdup_criticality::Diagnosis;

use super::{Sink, finding_rows, rows, segment_rows};
use crate::ExportError;
use crate::subject::Subject;

/// What the values of a column are. Every value may be missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ColumnKind {
    /// A whole number, not negative.
    Whole,
    /// A whole number of 64 bits without a sign: an address.
    Address,
    /// A number with a fraction.
    Real,
    /// True or false.
    Flag,
    /// Text.
    Text,
}

/// A column of a [`Table`].
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    /// Its name; those of times end with their unit, `_ns`.
    pub name: &'a str,
    /// What its values are.
    pub kind: ColumnKind,
    /// What they mean.
    pub about: &'a str,
}

type Rows = fn(&Subject<'_>, Option<&Diagnosis>, &mut Sink<'_>) -> Result<(), ExportError>;

/// A table: one file of the export.
pub struct Table {
    /// The name of its file, without the ending.
    pub name: &'static str,
    /// What a row is.
    pub about: &'static str,
    /// Its columns.
    pub columns: &'static [Column<'static>],
    pub(super) rows: Rows,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("name", &self.name)
            .field("columns", &self.columns)
            .finish_non_exhaustive()
    }
}

const fn whole(name: &'static str, about: &'static str) -> Column<'static> {
    Column { name, kind: ColumnKind::Whole, about }
}

const fn address(name: &'static str, about: &'static str) -> Column<'static> {
    Column { name, kind: ColumnKind::Address, about }
}

const fn real(name: &'static str, about: &'static str) -> Column<'static> {
    Column { name, kind: ColumnKind::Real, about }
}

const fn flag(name: &'static str, about: &'static str) -> Column<'static> {
    Column { name, kind: ColumnKind::Flag, about }
}

const fn text(name: &'static str, about: &'static str) -> Column<'static> {
    Column { name, kind: ColumnKind::Text, about }
}

const PROCESS: Column<'static> = whole("process", "The process: `process` in `processes`");
const THREAD: Column<'static> = whole("thread", "The thread: `thread` in `threads`, of the same process");
const OBJECT: Column<'static> = whole("object", "The object: `object` in `objects`, of the same process");
const STACK: Column<'static> = whole("stack", "The call stack: `stack` in `frames`, of the same process");
const PLACE: Column<'static> =
    text("place", "The frame of the stack to look at first: function, file and line");
const START: Column<'static> = whole("start_ns", "When it begins, since the start of the run");
const END: Column<'static> = whole("end_ns", "When it ends");
const LENGTH: Column<'static> = whole("length_ns", "How long it is");
const MODE: Column<'static> = text("mode", "`exclusive` or `shared` (readers of a read-write lock)");

/// Every table.
pub const TABLES: &[Table] = &[
    Table {
        name: "processes",
        about: "A process of the run, or a program that one of them went on as (exec)",
        columns: &[
            whole("process", "Its number in the run"),
            whole("pid", "The kernel's id; an exec keeps it"),
            whole("parent_pid", "The kernel's id of the parent"),
            text("command", "Program and arguments, with spaces between"),
            START,
            END,
            whole("threads", "How many threads it had"),
            flag("seen_inside", "The library inside of it told of locks and waits"),
            flag("seen_by_kernel", "The kernel told of time on a core, or of samples"),
        ],
        rows: rows::processes,
    },
    Table {
        name: "threads",
        about: "A thread",
        columns: &[
            PROCESS,
            whole("thread", "Its number in the process, in the order of their starts"),
            whole("tid", "The kernel's id, which may have been used again"),
            text("name", "The name that the program gave it"),
            text("label", "What the other formats call it: different for every thread of the process"),
            text("start_function", "Its start function"),
            whole("parent", "The thread that created it"),
            text("created_in", "Where it was created"),
            START,
            END,
            whole("cpu_ns", "Its CPU time, as far as it was read"),
            real("criticality_ns", "Its criticality (paper 4, Eq. 1), where the process was diagnosed"),
            real(
                "runnable_criticality_ns",
                "The same with threads that wait for a core counted as those that have one",
            ),
        ],
        rows: rows::threads,
    },
    Table {
        name: "objects",
        about: "A synchronization object",
        columns: &[
            PROCESS,
            whole("object", "Its number in the process"),
            text(
                "kind",
                "`mutex`, `read-write lock`, `spin lock`, `condition variable`, `barrier`, `semaphore`, `thread end`, `once`, `futex`, `messages`, `room for messages`; of OpenMP also `critical section`, `OpenMP lock`, `ordered section`, `thread team`, `start of a thread team` or `tasks`",
            ),
            text("name", "The symbol of a global object"),
            text("label", "What the other formats call it"),
            address("address", "Where it lies in the process"),
            text("created_in", "Where it was initialized"),
            whole("parties", "Of a barrier: for how many threads it is"),
            whole("thread_of_end", "Of a thread end: the thread"),
            flag("shared", "Other processes use it too"),
            whole("acquisitions", "How often it was acquired, where that was counted"),
            whole("failed_tries", "How often a `try` failed"),
            whole("timed_holds", "How many holds were timed"),
            whole("timed_hold_ns", "Their length together"),
            whole("cost_ns", "What it cost, by root cause: thread-time divided by the working threads"),
        ],
        rows: rows::objects,
    },
    Table {
        name: "segments",
        about: "A time of one thread in one state; those of a thread abut",
        columns: &[
            PROCESS,
            THREAD,
            START,
            END,
            LENGTH,
            text(
                "state",
                "`active`, `blocked`, `I/O`, `asleep`, `spinning`, `waking`, `descheduled` or `not recorded`",
            ),
            OBJECT,
            STACK,
            text("place", "Where it waits; of active time, of the call that ends it"),
            whole("released_by", "The thread that ended the wait"),
            whole("cpu_ns", "CPU time in it, where it is known"),
        ],
        rows: segment_rows::segments,
    },
    Table {
        name: "edges",
        about: "One thread let another go on",
        columns: &[
            PROCESS,
            whole("from_thread", "The thread that did"),
            whole("from_ns", "When: the logical wake"),
            whole("to_thread", "The thread that went on"),
            whole("to_ns", "When it did"),
            text("kind", "`release` (of a lock), `signal`, `barrier`, `join` or `create`"),
            OBJECT,
        ],
        rows: segment_rows::edges,
    },
    Table {
        name: "waits",
        about: "A wait for an object, from the call that could not go on to its return",
        columns: &[
            PROCESS,
            THREAD,
            OBJECT,
            START,
            END,
            LENGTH,
            STACK,
            PLACE,
            MODE,
            text("outcome", "`granted`, `timed out`, `failed` or `open` (the recording ended first)"),
            whole("owner_at_start", "Who owned the lock when the wait began"),
            whole("released_by", "Who ended it"),
            whole("mutex", "Of a condition wait: the mutex that is taken again"),
        ],
        rows: rows::waits,
    },
    Table {
        name: "holds",
        about: "A hold of a lock that was timed",
        columns: &[
            PROCESS,
            THREAD,
            OBJECT,
            whole("start_ns", "When it was acquired; missing if only the release was seen"),
            END,
            whole("length_ns", "How long it was held"),
            whole("stack", "Of the call that acquired it"),
            text("acquired_in", "Where it was acquired"),
            whole("release_stack", "Of the call that released it"),
            text("released_in", "Where it was released"),
            MODE,
            flag("waited_for", "Another thread waited at its end"),
        ],
        rows: rows::holds,
    },
    Table {
        name: "wakes",
        about: "A signal, broadcast, post or futex wake",
        columns: &[
            PROCESS,
            THREAD,
            OBJECT,
            whole("time_ns", "When"),
            STACK,
            PLACE,
            whole("at_most", "How many waiters it can release; missing for all"),
        ],
        rows: rows::wakes,
    },
    Table {
        name: "calls",
        about: "A system call that blocked",
        columns: &[PROCESS, THREAD, text("call", "Which sort of call"), START, END, LENGTH, STACK, PLACE],
        rows: rows::calls,
    },
    Table {
        name: "markers",
        about: "Something that the program said about itself",
        columns: &[
            PROCESS,
            THREAD,
            whole("time_ns", "When"),
            text(
                "kind",
                "`region begin`, `region end`, `phase`, `work begin`, `work end`, `spin begin` or `spin end`",
            ),
            text("label", "What it said"),
        ],
        rows: rows::markers,
    },
    Table {
        name: "parallel_regions",
        about: "An execution of an OpenMP parallel region, or several that were too frequent to be told one by one",
        columns: &[
            PROCESS,
            THREAD,
            PLACE,
            START,
            END,
            whole("team", "The threads of its team"),
            whole("executions", "How many executions the row stands for"),
            whole("timed", "How many of them were timed"),
            whole("time_ns", "Time in those that were timed, together"),
            flag("recorded_whole", "What each thread did in it was recorded"),
            flag("nested", "It was met inside of another"),
        ],
        rows: rows::parallel_regions,
    },
    Table {
        name: "samples",
        about: "A look at a thread",
        columns: &[
            PROCESS,
            THREAD,
            whole("time_ns", "When"),
            text("doing", "`running` or `blocked`"),
            STACK,
            PLACE,
            whole(
                "weight_ns",
                "Running: the sampling period, in CPU time. Blocked: the time between two looks × threads for each that was looked at",
            ),
            text(
                "in_kernel",
                "Running: why it was in the kernel, `call` or `fault`; empty in its own code, and where that is not known",
            ),
        ],
        rows: rows::samples,
    },
    Table {
        name: "frames",
        about: "A frame of a call stack",
        columns: &[
            PROCESS,
            whole("stack", "The stack's number in the process"),
            whole("depth", "0 for the innermost frame"),
            text("function", "The demangled name"),
            text("file", "The source file, as the compiler recorded it"),
            whole("line", "The line in it, from 1"),
            text("module", "The file name of the program or library"),
            address("address", "Relative to the module, or plain where none covers it"),
            flag("inlined", "The compiler put it into the next outer frame"),
            flag("broken", "The stack could not be followed to the start of its thread"),
        ],
        rows: rows::frames,
    },
    Table {
        name: "findings",
        about: "What holds a process up, most worth fixing first",
        columns: &[
            PROCESS,
            whole("rank", "From 1"),
            text("kind", "Which sort: `lock`, `barrier`, `imbalance`…, as in `--json`"),
            text("what", "What it is, in a few words"),
            OBJECT,
            STACK,
            PLACE,
            whole("cost_ns", "Thread-time lost to it, divided by the working threads"),
            whole("on_path_ns", "How much of the critical path it is"),
            whole("gain_ns", "What fixing it saves, as a replay predicts"),
            whole("gain_low_ns", "The low end of that"),
            whole("gain_high_ns", "The high end of that"),
            text("evidence", "Sentences of figures"),
            text("hint", "What can be done"),
        ],
        rows: finding_rows::findings,
    },
];
