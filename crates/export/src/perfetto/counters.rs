//! How many threads are active, and how many wait for each of the main objects.

use std::collections::BTreeMap;

use holdup_model::{Arrange, Nanos, ObjectId, State};

use super::writer::{Track, Writer};
use crate::ExportError;
use crate::pieces::Piece;
use crate::subject::Subject;
use crate::weights::Changes;

/// Objects that get a counter: those with the most waiting.
const MOST_OBJECTS: usize = 8;

struct Counter {
    track: Track,
    value: i64,
    /// What was written last.
    told: i64,
}

/// True while a thread waits for an object, up to the logical wake.
fn awaited(piece: &Piece) -> Option<ObjectId> {
    piece.object.filter(|_| matches!(piece.state, State::Blocked | State::Spinning))
}

/// The objects with the most waiting, most first.
fn main_objects(subject: &Subject<'_>) -> Vec<ObjectId> {
    let mut waiting: BTreeMap<ObjectId, Nanos> = BTreeMap::new();
    for segment in subject.timeline.threads.iter().flat_map(|row| &row.segments) {
        if let (State::Blocked | State::Spinning, Some(object)) = (segment.state, segment.object) {
            *waiting.entry(object).or_default() += segment.length();
        }
    }
    let mut objects: Vec<(ObjectId, Nanos)> = waiting.into_iter().collect();
    objects.arrange_by_key(|(object, time)| (std::cmp::Reverse(*time), *object));
    objects.into_iter().take(MOST_OBJECTS).map(|(object, _)| object).collect()
}

/// Writes the counters of a process, one value for each time at which one changes.
pub(super) fn counters(
    subject: &Subject<'_>,
    process: Track,
    writer: &mut Writer<'_>,
) -> Result<(), ExportError> {
    if subject.process.threads.is_empty() {
        return Ok(());
    }
    let track = writer.counter_track(process, 0, "active threads")?;
    let mut counters = vec![Counter { track, value: 0, told: 0 }];
    let mut of_object = BTreeMap::new();
    for object in main_objects(subject) {
        let name = format!("threads waiting for {}", subject.names.object(object));
        of_object.insert(object, counters.len());
        let track = writer.counter_track(process, counters.len(), &name)?;
        counters.push(Counter { track, value: 0, told: 0 });
    }
    let start = subject.time(subject.timeline.start);
    for counter in &counters {
        writer.count(counter.track, start, 0)?;
    }
    let place = |piece: &Piece| match awaited(piece) {
        Some(object) => of_object.get(&object).copied(),
        None => piece.state.is_active().then_some(0),
    };
    let mut at = subject.timeline.start;
    for (time, _, change) in Changes::of(subject) {
        if time > at {
            tell(&mut counters, subject.time(at), writer)?;
            at = time;
        }
        if let Some(before) = change.before.as_ref().and_then(place) {
            counters[before].value -= 1;
        }
        if let Some(after) = change.after.as_ref().and_then(place) {
            counters[after].value += 1;
        }
    }
    tell(&mut counters, subject.time(at), writer)
}

fn tell(counters: &mut [Counter], time: u64, writer: &mut Writer<'_>) -> Result<(), ExportError> {
    for counter in counters.iter_mut().filter(|counter| counter.value != counter.told) {
        writer.count(counter.track, time, counter.value)?;
        counter.told = counter.value;
    }
    Ok(())
}
