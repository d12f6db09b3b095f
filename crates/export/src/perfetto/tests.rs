//! The trace, decoded and read as Perfetto reads it: events of a track in order of time, those of one time in the order of
//! the file.

mod decoded;

use std::collections::{BTreeMap, BTreeSet};

use decoded::{InternedData, InternedString, TracePacket, TrackDescriptor, TrackEvent};
use holdup_model::{Marker, MarkerKind, ObjectKind, Process, Run, State, Time, Timeline};
use holdup_testkit::{Op, Script, any_process, any_script};
use proptest::prelude::*;
use prost::Message;

use super::packets::kind;
use super::perfetto;

/// What a `Trace` is, with all of its packets.
#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<TracePacket>,
}

const STATES: [State; 8] = [
    State::Active,
    State::Blocked,
    State::Io,
    State::Asleep,
    State::Spinning,
    State::Waking,
    State::Descheduled,
    State::NotRecorded,
];

fn run_of(processes: Vec<Process>) -> Run {
    let start = processes.iter().map(|process| process.start).min().unwrap_or_default();
    let end = processes.iter().map(|process| process.end).max().unwrap_or_default();
    Run { start, end, processes, cores: 2, ..Run::default() }
}

fn trace(run: &Run) -> Vec<TracePacket> {
    let mut out = Vec::new();
    perfetto(run, &mut out).expect("memory takes everything");
    Trace::decode(out.as_slice()).expect("a trace").packet
}

/// A slice of a track, with the names said in full.
#[derive(Clone, PartialEq, Debug)]
struct Slice {
    track: u64,
    category: String,
    name: String,
    start: u64,
    end: u64,
    facts: BTreeMap<String, String>,
}

#[derive(Default)]
struct Known {
    names: BTreeMap<u64, String>,
    categories: BTreeMap<u64, String>,
    fact_names: BTreeMap<u64, String>,
    texts: BTreeMap<u64, String>,
}

impl Known {
    fn learn(&mut self, data: &InternedData) {
        let add = |table: &mut BTreeMap<u64, String>, new: &[InternedString]| {
            for string in new {
                let before =
                    table.insert(string.iid.expect("a number"), string.name.clone().expect("a text"));
                assert_eq!(before, None, "a number is given once");
            }
        };
        add(&mut self.names, &data.event_names);
        add(&mut self.categories, &data.event_categories);
        add(&mut self.fact_names, &data.debug_annotation_names);
        add(&mut self.texts, &data.debug_annotation_string_values);
    }

    fn facts(&self, event: &TrackEvent) -> BTreeMap<String, String> {
        let text = |iid: u64| self.texts[&iid].clone();
        let facts = event.debug_annotations.iter().map(|fact| {
            let value = fact.string_value_iid.map(text).or(fact.uint_value.map(|value| value.to_string()));
            (self.fact_names[&fact.name_iid.expect("a name")].clone(), value.expect("a value"))
        });
        facts.collect()
    }
}

/// What a trace says when it is read.
#[derive(Default)]
struct Read {
    tracks: BTreeMap<u64, TrackDescriptor>,
    slices: Vec<Slice>,
    instants: Vec<Slice>,
    /// Where each flow begins, and where it ends: track and time.
    begins: BTreeMap<u64, (u64, u64)>,
    ends: BTreeMap<u64, (u64, u64)>,
    counts: BTreeMap<u64, Vec<(u64, i64)>>,
}

impl Read {
    fn of(packets: Vec<TracePacket>) -> Read {
        let mut read = Read::default();
        let mut known = Known::default();
        let mut events = Vec::new();
        for packet in packets {
            assert_eq!(packet.trusted_packet_sequence_id, Some(1));
            if let Some(data) = &packet.interned_data {
                known.learn(data);
            }
            if let Some(track) = packet.track_descriptor {
                let parent = track.parent_uuid;
                assert!(parent.is_none_or(|parent| read.tracks.contains_key(&parent)), "parents come first");
                assert!(read.tracks.insert(track.uuid.expect("a number"), track).is_none());
            }
            if let Some(event) = packet.track_event {
                events.push((packet.timestamp.expect("a time"), event));
            }
        }
        events.sort_by_key(|(time, _)| *time);
        let mut open: BTreeMap<u64, Vec<Slice>> = BTreeMap::new();
        for (time, event) in events {
            let track = event.track_uuid.expect("a track");
            assert!(read.tracks.contains_key(&track));
            for flow in &event.flow_ids {
                assert!(read.begins.insert(*flow, (track, time)).is_none());
            }
            for flow in &event.terminating_flow_ids {
                assert!(read.begins.contains_key(flow), "a flow begins before it ends");
                assert!(read.ends.insert(*flow, (track, time)).is_none());
            }
            let slice = || Slice {
                track,
                category: known.categories[&event.category_iids[0]].clone(),
                name: known.names[&event.name_iid.expect("a name")].clone(),
                start: time,
                end: time,
                facts: known.facts(&event),
            };
            match event.r#type {
                Some(kind::SLICE_BEGIN) => open.entry(track).or_default().push(slice()),
                Some(kind::SLICE_END) => {
                    let slice = open.get_mut(&track).and_then(Vec::pop).expect("an open slice");
                    read.slices.push(Slice { end: time, ..slice });
                }
                Some(kind::INSTANT) => read.instants.push(slice()),
                Some(kind::COUNTER) => {
                    let value = event.counter_value.expect("a value");
                    read.counts.entry(track).or_default().push((time, value));
                }
                other => panic!("no such type: {other:?}"),
            }
        }
        assert!(open.into_values().all(|open| open.is_empty()), "every slice ends");
        read
    }

    /// The slices of the threads' own tracks by category.
    fn states(&self) -> BTreeMap<String, u64> {
        let is_state = |slice: &&Slice| STATES.iter().any(|state| state.word() == slice.category);
        let mut sums = BTreeMap::new();
        for slice in self.slices.iter().filter(is_state) {
            *sums.entry(slice.category.clone()).or_default() += slice.end - slice.start;
        }
        sums
    }

    fn count(&self, category: &str) -> usize {
        self.slices.iter().chain(&self.instants).filter(|slice| slice.category == category).count()
    }
}

fn check(run: &Run) -> Result<(), TestCaseError> {
    let read = Read::of(trace(run));
    let mut states = BTreeMap::new();
    let mut edges = Vec::new();
    for process in &run.processes {
        let timeline = Timeline::build(process);
        for segment in timeline.threads.iter().flat_map(|row| &row.segments) {
            *states.entry(segment.state.word().to_owned()).or_default() += segment.length().get();
        }
        edges.extend(timeline.edges);
    }
    prop_assert_eq!(read.states(), states);
    let since = |time: Time| time.since(run.start).get();
    prop_assert_eq!(read.begins.len(), edges.len());
    prop_assert_eq!(read.ends.len(), edges.len());
    let mut found: Vec<(u64, u64)> =
        read.begins.iter().map(|(flow, begin)| (begin.1, read.ends[flow].1)).collect();
    let mut expected: Vec<(u64, u64)> =
        edges.iter().map(|edge| (since(edge.from_time), since(edge.to_time))).collect();
    found.sort_unstable();
    expected.sort_unstable();
    prop_assert_eq!(found, expected);
    let sum = |count: fn(&Process) -> usize| run.processes.iter().map(count).sum::<usize>();
    prop_assert_eq!(read.count("wait"), sum(|process| process.waits.len()));
    prop_assert_eq!(read.count("call"), sum(|process| process.blocks.len()));
    prop_assert_eq!(read.count("hold"), sum(|process| process.holds.len()));
    prop_assert_eq!(read.count("signal"), sum(|process| process.wakes.len()));
    check_active(run, &read)
}

/// The counter of active threads, summed over time, is the active time of all threads.
fn check_active(run: &Run, read: &Read) -> Result<(), TestCaseError> {
    let is_counter = |track: &u64| read.tracks[track].name.as_deref() == Some("active threads");
    let counters: Vec<_> = read.counts.iter().filter(|(track, _)| is_counter(track)).collect();
    let mut found: Vec<u64> = Vec::new();
    for (_, values) in counters {
        prop_assert!(values.iter().all(|(_, value)| *value >= 0));
        prop_assert_eq!(values.last().map(|last| last.1), Some(0));
        found.push(values.windows(2).map(|pair| (pair[1].0 - pair[0].0) * pair[0].1 as u64).sum());
    }
    let active = |process: &Process| {
        Timeline::build(process).threads.iter().map(|row| row.time_in(State::is_active).get()).sum::<u64>()
    };
    let expected: Vec<u64> =
        run.processes.iter().filter(|process| !process.threads.is_empty()).map(active).collect();
    prop_assert_eq!(found, expected);
    Ok(())
}

proptest! {
    #[test]
    fn the_trace_is_the_timeline(process in any_process()) {
        check(&run_of(vec![process]))?;
    }

    #[test]
    fn processes_do_not_get_into_each_others_way(first in any_process(), script in any_script()) {
        check(&run_of(vec![first, script.play_on(2, 700)]))?;
    }
}

#[test]
fn kernel_ids_are_used_once() {
    let mut process = Script::new().play();
    process.pid = 9;
    process.threads[0].tid = 9;
    process.add_thread("reused", Time::from_nanos(0), None);
    process.add_thread("unknown", Time::from_nanos(0), None);
    process.threads[1].tid = 9;
    let read = Read::of(trace(&run_of(vec![process.clone(), process])));
    let pids: Vec<_> = read.tracks.values().filter_map(|track| track.process.as_ref()?.pid).collect();
    let tids: Vec<_> = read.tracks.values().filter_map(|track| track.thread.as_ref()?.tid).collect();
    assert_eq!((pids, tids), (vec![9], vec![9]));
    let named: BTreeSet<_> = read.tracks.values().filter_map(|track| track.name.as_deref()).collect();
    assert!(
        named.contains("reused") && named.contains("unknown") && named.contains("process 9 9"),
        "{named:?}"
    );
}

#[test]
fn a_wait_says_where_and_who_ended_it() {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, "table_lock");
    let site = script.site("update", 12);
    let ops = [Op::Lock(lock, site), Op::Work(1_000), Op::Unlock(lock)];
    let threads: Vec<_> = (0..2).map(|_| script.thread("worker", ops.to_vec())).collect();
    script.main_runs(&threads);
    let read = Read::of(trace(&run_of(vec![script.play()])));
    let is_it = |slice: &&Slice| slice.category == "wait" && slice.name == "mutex table_lock";
    let wait = read.slices.iter().find(is_it).expect("one waited");
    assert_eq!((wait.start, wait.end), (0, 1_000));
    assert_eq!(wait.facts["place"], "update (main.c:12)");
    assert_eq!(wait.facts["released by"], "worker 1");
    let counter = read
        .tracks
        .values()
        .find(|track| track.name.as_deref() == Some("threads waiting for mutex table_lock"));
    let counter = counter.and_then(|track| track.uuid).expect("a counter");
    assert_eq!(read.counts[&counter], [(0, 0), (0, 1), (1_000, 0)]);
}

#[test]
fn what_the_program_says_is_kept_also_where_a_half_is_missing() {
    let mut process = Process::new(Time::from_nanos(2), Time::from_nanos(100));
    let thread = process.add_thread("main", Time::from_nanos(2), None);
    for (time, kind) in [
        (10, MarkerKind::WorkEnd),
        (20, MarkerKind::RegionBegin),
        (30, MarkerKind::Phase),
        (40, MarkerKind::RegionEnd),
        (50, MarkerKind::WorkBegin),
    ] {
        let label = Some("a\nb".to_owned());
        process.markers.push(Marker { thread, time: Time::from_nanos(time), kind, label });
    }
    let read = Read::of(trace(&run_of(vec![process])));
    let said = |of: &[Slice]| -> Vec<(String, String, u64, u64)> {
        let said = of.iter().filter(|slice| slice.category == "said");
        said.map(|slice| (slice.name.clone(), slice.facts["sort"].clone(), slice.start, slice.end)).collect()
    };
    let label = "a\\nb".to_owned();
    let of = |sort: &str, start, end| (label.clone(), sort.to_owned(), start, end);
    assert_eq!(said(&read.slices), [of("region", 18, 38), of("work", 48, 98)]);
    assert_eq!(said(&read.instants), [of("work", 8, 8), of("phase", 28, 28)]);
}

#[test]
fn an_empty_run_is_an_empty_trace() {
    assert_eq!(trace(&run_of(Vec::new())), []);
}
