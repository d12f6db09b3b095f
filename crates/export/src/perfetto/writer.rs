//! Packets on their way out: one sequence, with every string said once.

use std::collections::BTreeMap;
use std::io::Write;

use super::packets::{
    COUNT, CounterDescriptor, DebugAnnotation, EXPLICIT, InternedData, InternedString, NEEDS_STATE,
    NOT_MERGED, PACKET_FIELD, STATE_CLEARED, TracePacket, TrackDescriptor, TrackEvent, kind,
};
use super::wire::Fields;
use crate::ExportError;

/// The one sequence of packets; 0 is no sequence.
const SEQUENCE: u32 = 1;

/// A track, by the number that events name it with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Track(u64);

/// What is said beside the name of an event.
pub(super) enum Value<'a> {
    Text(&'a str),
    Number(u64),
}

/// Facts by their names; the order stays.
pub(super) type Facts<'a> = [(&'static str, Value<'a>)];

/// Strings that were said already, with their numbers.
#[derive(Default)]
struct Known(BTreeMap<String, u64>);

impl Known {
    /// The number of a string; a new one is added to `new`.
    fn iid(&mut self, text: &str, new: &mut Vec<InternedString>) -> u64 {
        if let Some(&iid) = self.0.get(text) {
            return iid;
        }
        // 0 is no number.
        let iid = self.0.len() as u64 + 1;
        self.0.insert(text.to_owned(), iid);
        new.push(InternedString { iid: Some(iid), name: Some(text.to_owned()) });
        iid
    }
}

/// Writes packets.
pub(super) struct Writer<'a> {
    out: &'a mut dyn Write,
    buffer: Vec<u8>,
    tracks: u64,
    flows: u64,
    is_first: bool,
    categories: Known,
    names: Known,
    fact_names: Known,
    fact_texts: Known,
}

impl<'a> Writer<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self {
            out,
            buffer: Vec::new(),
            tracks: 0,
            flows: 0,
            is_first: true,
            categories: Known::default(),
            names: Known::default(),
            fact_names: Known::default(),
            fact_texts: Known::default(),
        }
    }

    fn packet(&mut self, mut packet: TracePacket) -> Result<(), ExportError> {
        packet.trusted_packet_sequence_id = Some(SEQUENCE);
        let first = std::mem::take(&mut self.is_first);
        packet.first_packet_on_sequence = first.then_some(true);
        packet.sequence_flags = Some(if first { STATE_CLEARED | NEEDS_STATE } else { NEEDS_STATE });
        self.buffer.clear();
        Fields::of(&mut self.buffer).message(PACKET_FIELD, [&packet]);
        self.out.write_all(&self.buffer)?;
        Ok(())
    }

    /// Makes a track, below `parent` and in its place among its siblings. Tracks of one name stay apart.
    pub(super) fn track(
        &mut self,
        parent: Option<Track>,
        rank: usize,
        like: TrackDescriptor,
    ) -> Result<Track, ExportError> {
        // 0 is the track of no track.
        self.tracks += 1;
        let descriptor = TrackDescriptor {
            uuid: Some(self.tracks),
            parent_uuid: parent.map(|parent| parent.0),
            child_ordering: Some(EXPLICIT),
            sibling_order_rank: Some(i32::try_from(rank).unwrap_or(i32::MAX)),
            sibling_merge_behavior: Some(NOT_MERGED),
            ..like
        };
        self.packet(TracePacket { track_descriptor: Some(descriptor), ..TracePacket::default() })?;
        Ok(Track(self.tracks))
    }

    /// Makes a track with a name.
    pub(super) fn named_track(
        &mut self,
        parent: Track,
        rank: usize,
        name: &str,
    ) -> Result<Track, ExportError> {
        let like = TrackDescriptor { name: Some(name.to_owned()), ..TrackDescriptor::default() };
        self.track(Some(parent), rank, like)
    }

    /// Makes a track that counts something.
    pub(super) fn counter_track(
        &mut self,
        parent: Track,
        rank: usize,
        name: &str,
    ) -> Result<Track, ExportError> {
        let counter = CounterDescriptor { unit: Some(COUNT) };
        let like = TrackDescriptor {
            name: Some(name.to_owned()),
            counter: Some(counter),
            ..TrackDescriptor::default()
        };
        self.track(Some(parent), rank, like)
    }

    /// Makes the number of a new flow.
    pub(super) fn flow(&mut self) -> u64 {
        self.flows += 1;
        self.flows
    }

    /// A slice begins at `time` (ns); `ends` are flows that lead to it.
    pub(super) fn begin(
        &mut self,
        track: Track,
        time: u64,
        what: What<'_>,
        ends: Vec<u64>,
    ) -> Result<(), ExportError> {
        let event = TrackEvent { terminating_flow_ids: ends, ..TrackEvent::default() };
        self.event(track, time, kind::SLICE_BEGIN, what, event)
    }

    /// The innermost open slice of the track ends.
    pub(super) fn end(&mut self, track: Track, time: u64) -> Result<(), ExportError> {
        let event =
            TrackEvent { r#type: Some(kind::SLICE_END), track_uuid: Some(track.0), ..TrackEvent::default() };
        self.packet(TracePacket { timestamp: Some(time), track_event: Some(event), ..TracePacket::default() })
    }

    /// Something happens at `time` (ns); flows begin or end there.
    pub(super) fn instant(
        &mut self,
        track: Track,
        time: u64,
        what: What<'_>,
        begins: Vec<u64>,
        ends: Vec<u64>,
    ) -> Result<(), ExportError> {
        let event = TrackEvent { flow_ids: begins, terminating_flow_ids: ends, ..TrackEvent::default() };
        self.event(track, time, kind::INSTANT, what, event)
    }

    /// From `time` on the counter has this value.
    pub(super) fn count(&mut self, track: Track, time: u64, value: i64) -> Result<(), ExportError> {
        let event = TrackEvent {
            r#type: Some(kind::COUNTER),
            track_uuid: Some(track.0),
            counter_value: Some(value),
            ..TrackEvent::default()
        };
        self.packet(TracePacket { timestamp: Some(time), track_event: Some(event), ..TracePacket::default() })
    }

    fn event(
        &mut self,
        track: Track,
        time: u64,
        kind: i32,
        what: What<'_>,
        event: TrackEvent,
    ) -> Result<(), ExportError> {
        let mut new = InternedData::default();
        let event = TrackEvent {
            r#type: Some(kind),
            track_uuid: Some(track.0),
            category_iids: vec![self.categories.iid(what.category, &mut new.event_categories)],
            name_iid: Some(self.names.iid(what.name, &mut new.event_names)),
            debug_annotations: what
                .facts
                .iter()
                .map(|(name, value)| {
                    let name_iid = Some(self.fact_names.iid(name, &mut new.debug_annotation_names));
                    let (uint_value, string_value_iid) = match value {
                        Value::Number(number) => (Some(*number), None),
                        Value::Text(text) => {
                            (None, Some(self.fact_texts.iid(text, &mut new.debug_annotation_string_values)))
                        }
                    };
                    DebugAnnotation { name_iid, uint_value, string_value_iid }
                })
                .collect(),
            ..event
        };
        let is_new = new != InternedData::default();
        self.packet(TracePacket {
            timestamp: Some(time),
            track_event: Some(event),
            interned_data: is_new.then_some(new),
            ..TracePacket::default()
        })
    }
}

/// What an event is called, and what is known of it.
#[derive(Clone, Copy)]
pub(super) struct What<'a> {
    pub(super) category: &'static str,
    pub(super) name: &'a str,
    pub(super) facts: &'a Facts<'a>,
}
