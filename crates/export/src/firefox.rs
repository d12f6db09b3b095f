//! The Firefox Profiler's *processed profile*, version 55 of its format.
//!
//! The format is described in the profiler's repository (`docs-developer/processed-profile-format.md`, types in
//! `src/types/profile.ts`); the profiler upgrades older versions when it loads them. In version 55 each thread has its own
//! tables, so that a thread can be written and forgotten before the next. The crate `fxprof-processed-profile` 0.8 writes
//! that version too, but has no place for the source file and line of a frame, and keeps all threads at once.
//!
//! A thread's samples are its pieces in order of time, each with its length as weight: the profiler then draws the states
//! of the timeline, in the categories' colours, and its call tree sums time, not numbers of samples.

mod markers;
mod tables;
mod thread;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;

use holdup_model::{Run, State};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::rows::Rows;
use crate::subject::Subject;
use crate::{ExportError, text};

/// The version of the format.
const VERSION: u32 = 55;

/// The time between two samples (ms) that the profiler is told: it decides how far a sample reaches in its graphs.
const INTERVAL_MS: f64 = 1.0;

/// The states in the order of their categories, with colours out of the profiler's list. The category *Other* is 0.
const CATEGORIES: [(State, &str); 8] = [
    (State::Active, "green"),
    (State::Blocked, "red"),
    (State::Io, "lightblue"),
    (State::Asleep, "transparent"),
    (State::Spinning, "orange"),
    (State::Waking, "yellow"),
    (State::Descheduled, "purple"),
    (State::NotRecorded, "darkgray"),
];

/// The index of a state's category.
fn category(state: State) -> usize {
    1 + CATEGORIES.iter().position(|(of, _)| *of == state).unwrap_or(0)
}

/// Milliseconds, the unit of all times in the format.
fn milliseconds(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

/// Writes the profile as JSON; the profiler also takes it compressed with gzip.
///
/// # Errors
/// If `out` takes no more.
pub fn firefox(run: &Run, out: &mut dyn Write) -> Result<(), ExportError> {
    let libraries = Libraries::default();
    let profile = Profile {
        meta: meta(run),
        pages: [],
        counters: [],
        threads: Threads { run, libraries: &libraries },
        libs: &libraries,
    };
    serde_json::to_writer(&mut *out, &profile)?;
    out.write_all(b"\n")?;
    Ok(())
}

#[derive(Serialize)]
struct Profile<'a> {
    meta: Value,
    pages: [(); 0],
    counters: [(); 0],
    // Which libraries are used is known when the threads have been written: in this order.
    threads: Threads<'a>,
    libs: &'a Libraries,
}

fn meta(run: &Run) -> Value {
    let other = json!({"name": "Other", "color": "grey", "subcategories": ["Other"]});
    let states = CATEGORIES
        .iter()
        .map(|(state, color)| json!({"name": state.word(), "color": color, "subcategories": ["Other"]}));
    let categories: Vec<Value> = [other].into_iter().chain(states).collect();
    let command: Vec<_> = run.command.iter().map(|word| text::plain(word)).collect();
    let program = run.processes.first().map(|process| crate::subject::names_of(process).program());
    json!({
        "preprocessedProfileVersion": VERSION,
        "version": 24,
        "product": program.unwrap_or_else(|| "holdup".to_owned()),
        "importedFrom": concat!("holdup ", env!("CARGO_PKG_VERSION")),
        "arguments": command.join(" "),
        "interval": INTERVAL_MS,
        "startTime": 0.0,
        "profilingStartTime": 0.0,
        "profilingEndTime": milliseconds(run.end.since(run.start).get()),
        "processType": 0,
        "stackwalk": 1,
        "debug": false,
        "symbolicated": true,
        "logicalCPUs": run.cores,
        "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
        "usesOnlyOneStackType": true,
        "sourceCodeIsNotOnSearchfox": true,
        "keepProfileThreadOrder": true,
        "categories": categories,
        "markerSchema": markers::schema(),
    })
}

/// The threads of a run, made one at a time while they are written.
struct Threads<'a> {
    run: &'a Run,
    libraries: &'a Libraries,
}

impl Serialize for Threads<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let mut pids = BTreeMap::<u32, u32>::new();
        for subject in Subject::all(self.run) {
            // An exec begins a new program under the same pid, and the profiler takes one pid for one process.
            let times = pids.entry(subject.process.pid).or_default();
            let pid = match *times {
                0 => subject.process.pid.to_string(),
                more => format!("{}.{more}", subject.process.pid),
            };
            *times += 1;
            let rows = Rows::by_thread(subject.process);
            for thread in subject.threads() {
                let rows = &rows[thread.index()];
                list.serialize_element(&thread::Thread::of(&subject, thread, &pid, rows, self.libraries))?;
            }
        }
        list.end()
    }
}

/// The programs and libraries that functions lie in, by index. It grows while threads are written.
#[derive(Default)]
struct Libraries(RefCell<BTreeMap<String, usize>>);

impl Libraries {
    fn index(&self, module: &str) -> usize {
        let mut known = self.0.borrow_mut();
        let next = known.len();
        *known.entry(text::plain(module).into_owned()).or_insert(next)
    }
}

impl Serialize for Libraries {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let known = self.0.borrow();
        let mut modules: Vec<(&String, usize)> =
            known.iter().map(|(module, &index)| (module, index)).collect();
        modules.sort_unstable_by_key(|(_, index)| *index);
        serializer.collect_seq(modules.into_iter().map(|(name, _)| {
            json!({"arch": "", "name": name, "path": name, "debugName": name, "debugPath": name,
                   "breakpadId": "", "codeId": null})
        }))
    }
}
