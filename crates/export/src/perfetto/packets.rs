//! The part of Perfetto's trace format that is used, by the field numbers of its published `.proto` files
//! (`protos/perfetto/trace/` in the Perfetto repository: `trace_packet.proto`, `track_event/*.proto`,
//! `interned_data/interned_data.proto`). Fields of a `oneof` are plain here: their encoding is the same.

use super::wire::{Fields, Message};

/// A trace is packets one after the other, each a field of the message `Trace`.
pub(super) const PACKET_FIELD: u32 = 1;

/// The values of `TrackEvent.Type`.
pub(super) mod kind {
    pub(in crate::perfetto) const SLICE_BEGIN: i32 = 1;
    pub(in crate::perfetto) const SLICE_END: i32 = 2;
    pub(in crate::perfetto) const INSTANT: i32 = 3;
    pub(in crate::perfetto) const COUNTER: i32 = 4;
}

/// `TracePacket.SequenceFlags`: what was interned before no longer holds.
pub(super) const STATE_CLEARED: u32 = 1;
/// `TracePacket.SequenceFlags`: it refers to what was interned.
pub(super) const NEEDS_STATE: u32 = 2;

/// `TrackDescriptor.ChildTracksOrdering.EXPLICIT`: by `sibling_order_rank`.
pub(super) const EXPLICIT: i32 = 3;

/// `TrackDescriptor.SiblingMergeBehavior.SIBLING_MERGE_BEHAVIOR_NONE`.
pub(super) const NOT_MERGED: i32 = 2;

/// `CounterDescriptor.Unit.UNIT_COUNT`.
pub(super) const COUNT: i32 = 2;

#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct TracePacket {
    pub(super) timestamp: Option<u64>,
    pub(super) trusted_packet_sequence_id: Option<u32>,
    pub(super) track_event: Option<TrackEvent>,
    pub(super) interned_data: Option<InternedData>,
    pub(super) sequence_flags: Option<u32>,
    pub(super) track_descriptor: Option<TrackDescriptor>,
    pub(super) first_packet_on_sequence: Option<bool>,
}

impl Message for TracePacket {
    fn fields(&self, out: &mut Fields<'_>) {
        out.unsigned(8, self.timestamp);
        out.unsigned(10, self.trusted_packet_sequence_id.map(u64::from));
        out.message(11, &self.track_event);
        out.message(12, &self.interned_data);
        out.unsigned(13, self.sequence_flags.map(u64::from));
        out.message(60, &self.track_descriptor);
        out.flag(87, self.first_packet_on_sequence);
    }
}

#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct TrackEvent {
    pub(super) category_iids: Vec<u64>,
    pub(super) debug_annotations: Vec<DebugAnnotation>,
    pub(super) r#type: Option<i32>,
    pub(super) name_iid: Option<u64>,
    pub(super) track_uuid: Option<u64>,
    pub(super) counter_value: Option<i64>,
    pub(super) flow_ids: Vec<u64>,
    pub(super) terminating_flow_ids: Vec<u64>,
}

impl Message for TrackEvent {
    fn fields(&self, out: &mut Fields<'_>) {
        self.category_iids.iter().for_each(|id| out.unsigned(3, Some(*id)));
        out.message(4, &self.debug_annotations);
        out.signed(9, self.r#type.map(i64::from));
        out.unsigned(10, self.name_iid);
        out.unsigned(11, self.track_uuid);
        out.signed(30, self.counter_value);
        self.flow_ids.iter().for_each(|id| out.fixed(47, *id));
        self.terminating_flow_ids.iter().for_each(|id| out.fixed(48, *id));
    }
}

#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct DebugAnnotation {
    pub(super) name_iid: Option<u64>,
    pub(super) uint_value: Option<u64>,
    pub(super) string_value_iid: Option<u64>,
}

impl Message for DebugAnnotation {
    fn fields(&self, out: &mut Fields<'_>) {
        out.unsigned(1, self.name_iid);
        out.unsigned(3, self.uint_value);
        out.unsigned(17, self.string_value_iid);
    }
}

#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct InternedData {
    pub(super) event_categories: Vec<InternedString>,
    pub(super) event_names: Vec<InternedString>,
    pub(super) debug_annotation_names: Vec<InternedString>,
    pub(super) debug_annotation_string_values: Vec<InternedString>,
}

impl Message for InternedData {
    fn fields(&self, out: &mut Fields<'_>) {
        out.message(1, &self.event_categories);
        out.message(2, &self.event_names);
        out.message(3, &self.debug_annotation_names);
        out.message(29, &self.debug_annotation_string_values);
    }
}

/// `EventCategory`, `EventName`, `DebugAnnotationName` and `InternedString` are alike.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct InternedString {
    pub(super) iid: Option<u64>,
    pub(super) name: Option<String>,
}

impl Message for InternedString {
    fn fields(&self, out: &mut Fields<'_>) {
        out.unsigned(1, self.iid);
        out.text(2, self.name.as_deref());
    }
}

#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct TrackDescriptor {
    pub(super) uuid: Option<u64>,
    pub(super) name: Option<String>,
    pub(super) process: Option<ProcessDescriptor>,
    pub(super) thread: Option<ThreadDescriptor>,
    pub(super) parent_uuid: Option<u64>,
    pub(super) counter: Option<CounterDescriptor>,
    pub(super) child_ordering: Option<i32>,
    pub(super) sibling_order_rank: Option<i32>,
    pub(super) sibling_merge_behavior: Option<i32>,
}

impl Message for TrackDescriptor {
    fn fields(&self, out: &mut Fields<'_>) {
        out.unsigned(1, self.uuid);
        out.text(2, self.name.as_deref());
        out.message(3, &self.process);
        out.message(4, &self.thread);
        out.unsigned(5, self.parent_uuid);
        out.message(8, &self.counter);
        out.signed(11, self.child_ordering.map(i64::from));
        out.signed(12, self.sibling_order_rank.map(i64::from));
        out.signed(15, self.sibling_merge_behavior.map(i64::from));
    }
}

#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct ProcessDescriptor {
    pub(super) pid: Option<i32>,
    pub(super) cmdline: Vec<String>,
    pub(super) process_name: Option<String>,
}

impl Message for ProcessDescriptor {
    fn fields(&self, out: &mut Fields<'_>) {
        out.signed(1, self.pid.map(i64::from));
        self.cmdline.iter().for_each(|text| out.text(2, Some(text)));
        out.text(6, self.process_name.as_deref());
    }
}

#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct ThreadDescriptor {
    pub(super) pid: Option<i32>,
    pub(super) tid: Option<i64>,
    pub(super) thread_name: Option<String>,
}

impl Message for ThreadDescriptor {
    fn fields(&self, out: &mut Fields<'_>) {
        out.signed(1, self.pid.map(i64::from));
        out.signed(2, self.tid);
        out.text(5, self.thread_name.as_deref());
    }
}

#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct CounterDescriptor {
    pub(super) unit: Option<i32>,
}

impl Message for CounterDescriptor {
    fn fields(&self, out: &mut Fields<'_>) {
        out.signed(3, self.unit.map(i64::from));
    }
}
