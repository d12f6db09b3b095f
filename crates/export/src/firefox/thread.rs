//! One thread of the profile.

use holdup_model::ThreadId;
use serde::Serialize;

use super::markers::MarkerTable;
use super::tables::{FrameTable, FuncTable, NativeSymbols, ResourceTable, StackKey, StackTable, Tables};
use super::{Libraries, milliseconds};
use crate::pieces::Piece;
use crate::rows::Rows;
use crate::subject::Subject;

/// Pieces longer than this (ns) get a sample at either end: the profiler draws a sample up to the middle between it and
/// the next one.
const LONG: u64 = 2_000_000;

/// How far from the end of a long piece its second sample is (ns).
const BEFORE_END: u64 = 1_000;

/// A thread with all its tables.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Thread {
    name: String,
    is_main_thread: bool,
    process_type: &'static str,
    process_name: String,
    process_startup_time: f64,
    process_shutdown_time: f64,
    register_time: f64,
    unregister_time: f64,
    paused_ranges: [(); 0],
    show_markers_in_timeline: bool,
    pid: String,
    tid: u32,
    samples: Samples,
    markers: MarkerTable,
    stack_table: StackTable,
    frame_table: FrameTable,
    func_table: FuncTable,
    resource_table: ResourceTable,
    native_symbols: NativeSymbols,
    string_array: Vec<String>,
}

/// The samples of one thread, in columns.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Samples {
    length: usize,
    weight_type: &'static str,
    stack: Vec<Option<usize>>,
    time: Vec<f64>,
    weight: Vec<f64>,
    #[serde(rename = "threadCPUDelta")]
    thread_cpu_delta: Vec<u64>,
}

impl Samples {
    fn new() -> Samples {
        let weight_type = "tracing-ms";
        let (stack, time, weight, thread_cpu_delta) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Samples { length: 0, weight_type, stack, time, weight, thread_cpu_delta }
    }

    /// `cpu` is the CPU time since the sample before.
    fn push(&mut self, stack: Option<usize>, time: u64, weight: u64, cpu: u64) {
        self.length += 1;
        self.stack.push(stack);
        self.time.push(milliseconds(time));
        self.weight.push(milliseconds(weight));
        self.thread_cpu_delta.push(cpu);
    }
}

impl Thread {
    pub(super) fn of(
        subject: &Subject<'_>,
        thread: ThreadId,
        pid: &str,
        rows: &Rows,
        libraries: &Libraries,
    ) -> Thread {
        let mut tables = Tables::new(subject, libraries);
        let samples = samples(subject, thread, &mut tables);
        let markers = MarkerTable::of(subject, rows, &mut tables);
        let (process, row) = (subject.process, subject.timeline.row(thread));
        let time = |time| milliseconds(subject.time(time));
        Thread {
            name: subject.names.thread(thread).to_owned(),
            is_main_thread: thread.index() == 0,
            process_type: "default",
            process_name: subject.names.program(),
            process_startup_time: time(process.start),
            process_shutdown_time: time(process.end),
            register_time: time(row.start),
            unregister_time: time(row.end),
            paused_ranges: [],
            show_markers_in_timeline: true,
            pid: pid.to_owned(),
            tid: process.thread(thread).tid,
            samples,
            markers,
            stack_table: tables.stacks,
            frame_table: tables.frames,
            func_table: tables.functions,
            resource_table: tables.resources,
            native_symbols: NativeSymbols::default(),
            string_array: tables.strings.list,
        }
    }
}

/// One sample at the start of each piece, with its length as weight.
fn samples(subject: &Subject<'_>, thread: ThreadId, tables: &mut Tables<'_>) -> Samples {
    let mut samples = Samples::new();
    let (mut cpu, mut last) = (0, None);
    for piece in subject.pieces(thread) {
        let Piece { stack: site, state, object, .. } = piece;
        let stack = tables.sample(StackKey { site, state, object });
        let (start, length) = (subject.time(piece.start), piece.length().get());
        // Where it is not known, active threads have a core.
        let used = piece.cpu.map_or(if state.is_active() { length } else { 0 }, |cpu| cpu.get());
        if length > LONG {
            samples.push(stack, start, length / 2, cpu);
            samples.push(stack, start + length - BEFORE_END, length - length / 2, used);
            cpu = 0;
        } else {
            samples.push(stack, start, length, cpu);
            cpu = used;
        }
        last = stack;
    }
    if cpu > 0 {
        // CPU time is told by the sample that comes after it.
        samples.push(last, subject.time(subject.timeline.row(thread).end), 0, cpu);
    }
    samples
}
