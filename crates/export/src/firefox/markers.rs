//! Markers: waits, holds, blocking calls, and what the program said about itself.

use holdup_model::{Block, Call, Hold, Marker, MarkerKind, Mode, SiteId, State, Time, Wait, Wake, WakeCount};
use serde::Serialize;
use serde_json::{Value, json};

use super::tables::Tables;
use super::{category, milliseconds};
use crate::names;
use crate::rows::Rows;
use crate::subject::Subject;
use crate::text::plain;

/// The types of markers, as the profiler shows them.
pub(super) fn schema() -> Value {
    let text = |key: &str, label: &str| json!({"key": key, "label": label, "format": "unique-string", "searchable": true});
    let shown = ["marker-chart", "marker-table"];
    json!([
        {
            "name": "Wait", "display": shown,
            "chartLabel": "{marker.data.object}", "tableLabel": "{marker.data.object} at {marker.data.place}",
            "description": "From the call that could not go on to its return.",
            "fields": [text("object", "Waits for"), text("place", "Place"), text("by", "Released by"),
                       text("outcome", "Outcome"), text("mode", "Mode")],
        },
        {
            "name": "Hold", "display": shown,
            "chartLabel": "{marker.data.object}", "tableLabel": "{marker.data.object} at {marker.data.place}",
            "description": "A hold of a lock that was timed.",
            "fields": [text("object", "Holds"), text("place", "Acquired in"), text("released", "Released in"),
                       text("others", "Others waited at its end"), text("mode", "Mode")],
        },
        {
            "name": "Call", "display": shown,
            "chartLabel": "{marker.data.call}", "tableLabel": "{marker.data.call} at {marker.data.place}",
            "description": "A system call that blocked.",
            "fields": [text("call", "Call"), text("place", "Place")],
        },
        {
            "name": "Wake", "display": shown,
            "chartLabel": "{marker.data.object}", "tableLabel": "{marker.data.object} at {marker.data.place}",
            "description": "A signal, broadcast, post or futex wake.",
            "fields": [text("object", "Wakes waiters of"), text("place", "Place"), text("count", "At most")],
        },
        {
            "name": "Said", "display": shown,
            "chartLabel": "{marker.data.label}", "tableLabel": "{marker.data.label}",
            "description": "What the program said about itself.",
            "fields": [text("label", "Label")],
        },
    ])
}

/// Phases of a marker: at a point, from one to another, and one end of two that are told apart.
const INSTANT: u8 = 0;
const INTERVAL: u8 = 1;
const INTERVAL_START: u8 = 2;
const INTERVAL_END: u8 = 3;

/// The markers of one thread, in columns.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MarkerTable {
    length: usize,
    category: Vec<usize>,
    data: Vec<Data>,
    start_time: Vec<Option<f64>>,
    end_time: Vec<Option<f64>>,
    name: Vec<usize>,
    phase: Vec<u8>,
}

/// What a marker says; texts are indices of strings.
#[derive(Default, Serialize)]
struct Data {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    released: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    others: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<Cause>,
}

#[derive(Serialize)]
struct Cause {
    stack: usize,
}

impl MarkerTable {
    /// The markers of a thread: each sort in order of time.
    pub(super) fn of(subject: &Subject<'_>, rows: &Rows, tables: &mut Tables<'_>) -> Self {
        let process = subject.process;
        let mut markers = Markers { subject, tables, table: MarkerTable::default() };
        rows.waits.iter().for_each(|&row| markers.wait(&process.waits[row]));
        rows.holds.iter().for_each(|&row| markers.hold(&process.holds[row]));
        rows.blocks.iter().for_each(|&row| markers.call(&process.blocks[row]));
        rows.wakes.iter().for_each(|&row| markers.wake(&process.wakes[row]));
        rows.markers.iter().for_each(|&row| markers.said(&process.markers[row]));
        markers.table
    }

    fn push(
        &mut self,
        name: usize,
        state: State,
        phase: u8,
        start: Option<u64>,
        end: Option<u64>,
        data: Data,
    ) {
        self.length += 1;
        self.category.push(category(state));
        self.data.push(data);
        self.start_time.push(start.map(milliseconds));
        self.end_time.push(end.map(milliseconds));
        self.name.push(name);
        self.phase.push(phase);
    }
}

struct Markers<'a, 'b> {
    subject: &'a Subject<'a>,
    tables: &'a mut Tables<'b>,
    table: MarkerTable,
}

impl Markers<'_, '_> {
    fn wait(&mut self, wait: &Wait) {
        let by = self.subject.released_by(wait);
        let data = Data {
            r#type: "Wait",
            object: Some(self.text(self.subject.names.object(wait.object))),
            place: self.place(wait.site),
            by: by.map(|by| self.text(self.subject.names.thread(by))),
            outcome: Some(self.text(names::outcome(wait.outcome))),
            mode: self.mode(wait.mode),
            cause: self.cause(wait.site),
            ..Data::default()
        };
        self.interval("Wait", State::Blocked, wait.begin, wait.end, data);
    }

    fn hold(&mut self, hold: &Hold) {
        let data = Data {
            r#type: "Hold",
            object: Some(self.text(self.subject.names.object(hold.object))),
            place: self.place(hold.acquired_at),
            released: self.place(hold.released_at),
            others: Some(self.text(if hold.waited_for { "yes" } else { "no" })),
            mode: self.mode(hold.mode),
            cause: self.cause(hold.acquired_at.or(hold.released_at)),
            ..Data::default()
        };
        match hold.begin {
            Some(begin) => self.interval("Hold", State::Active, begin, hold.end, data),
            None => self.at(INSTANT, "Release", State::Active, hold.end, data),
        }
    }

    fn call(&mut self, block: &Block) {
        let data = Data {
            r#type: "Call",
            call: Some(self.text(block.call.word())),
            place: self.place(block.site),
            cause: self.cause(block.site),
            ..Data::default()
        };
        let state = if block.call == Call::Sleep { State::Asleep } else { State::Io };
        self.interval("Call", state, block.begin, block.end, data);
    }

    fn wake(&mut self, wake: &Wake) {
        let count = match wake.count {
            WakeCount::AtMost(count) => self.text(&count.to_string()),
            WakeCount::All => self.text("all"),
        };
        let data = Data {
            r#type: "Wake",
            object: Some(self.text(self.subject.names.object(wake.object))),
            place: self.place(wake.site),
            count: Some(count),
            cause: self.cause(wake.site),
            ..Data::default()
        };
        self.at(INSTANT, "Wake", State::Active, wake.time, data);
    }

    fn said(&mut self, marker: &Marker) {
        let label = marker.label.as_deref().map(plain);
        let data = Data { r#type: "Said", label: label.map(|label| self.text(&label)), ..Data::default() };
        let (phase, name) = match marker.kind {
            MarkerKind::RegionBegin => (INTERVAL_START, "Region"),
            MarkerKind::RegionEnd => (INTERVAL_END, "Region"),
            MarkerKind::Phase => (INSTANT, "Phase"),
            MarkerKind::WorkBegin => (INTERVAL_START, "Work"),
            MarkerKind::WorkEnd => (INTERVAL_END, "Work"),
            MarkerKind::SpinBegin => (INTERVAL_START, "Spin"),
            MarkerKind::SpinEnd => (INTERVAL_END, "Spin"),
        };
        let state = if name == "Spin" { State::Spinning } else { State::Active };
        self.at(phase, name, state, marker.time, data);
    }

    fn interval(&mut self, name: &str, state: State, begin: Time, end: Time, data: Data) {
        let name = self.text(name);
        let (begin, end) = (self.subject.time(begin), self.subject.time(end));
        self.table.push(name, state, INTERVAL, Some(begin), Some(end.max(begin)), data);
    }

    /// A marker with one time, which is its end in one phase only.
    fn at(&mut self, phase: u8, name: &str, state: State, time: Time, data: Data) {
        let name = self.text(name);
        let time = self.subject.time(time);
        let (start, end) = if phase == INTERVAL_END { (None, Some(time)) } else { (Some(time), None) };
        self.table.push(name, state, phase, start, end, data);
    }

    fn text(&mut self, text: &str) -> usize {
        self.tables.strings.index(text)
    }

    fn place(&mut self, site: Option<SiteId>) -> Option<usize> {
        site.map(|site| self.text(&self.subject.names.place(site)))
    }

    fn cause(&mut self, site: Option<SiteId>) -> Option<Cause> {
        Some(Cause { stack: self.tables.site(site?)? })
    }

    fn mode(&mut self, mode: Mode) -> Option<usize> {
        (mode == Mode::Shared).then(|| self.text("shared"))
    }
}
