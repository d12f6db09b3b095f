//! What the messages that threads send to each other are called: by whom they are for.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::names::Names;
use holdup_model::{ObjectId, ObjectKind, Process, ThreadId};

/// Names each channel, and the room in it, by the threads that take from it: `to main`, `to 4 threads of encode`.
pub(crate) fn name(process: &mut Process) {
    let is_nameless = |object: ObjectId, kind: ObjectKind| {
        let object = process.object(object);
        object.kind == kind && object.name.is_none()
    };
    let taken = process.waits.iter().map(|wait| (wait.object, wait.thread));
    let taken = taken.filter(|&(object, _)| is_nameless(object, ObjectKind::Messages));
    let made_room = process.wakes.iter().map(|wake| (wake.object, wake.thread));
    let made_room = made_room.filter(|&(object, _)| is_nameless(object, ObjectKind::Room));
    let mut takers: BTreeMap<ObjectId, BTreeSet<ThreadId>> = BTreeMap::new();
    for (object, thread) in taken.chain(made_room) {
        takers.entry(object).or_default().insert(thread);
    }
    let names = Names::of(process, None);
    let named: Vec<(ObjectId, String)> = takers
        .into_iter()
        .map(|(object, takers)| {
            let takers = names.threads_in_a_row(&takers.into_iter().collect::<Vec<_>>());
            (object, format!("to {takers}"))
        })
        .collect();
    drop(names);
    for (object, name) in named {
        process.objects[object.index()].name = Some(name);
    }
}

#[cfg(test)]
mod tests {
    use holdup_model::{Time, Wait, Wake, WakeCount};

    use super::*;

    #[test]
    fn messages_are_called_by_whom_they_are_for() {
        let at = Time::from_nanos;
        let mut process = Process::new(at(0), at(100));
        let [main, encode] = ["main", "encode"].map(|name| process.add_thread(name, at(0), None));
        let kinds = [ObjectKind::Messages, ObjectKind::Messages, ObjectKind::Room, ObjectKind::Messages];
        let [to_encode, to_both, room, unused] = kinds.map(|kind| process.add_object(kind, 0));
        for (thread, object) in [(encode, to_encode), (main, to_both), (encode, to_both), (main, room)] {
            process.waits.push(Wait::granted(thread, object, at(10), at(20)));
        }
        let count = WakeCount::AtMost(1);
        process.wakes.push(Wake { thread: encode, time: at(19), object: room, site: None, count });
        name(&mut process);
        let named = |object: ObjectId| process.object(object).name.as_deref();
        assert_eq!(named(to_encode), Some("to encode"));
        assert_eq!(named(to_both), Some("to main and encode"));
        assert_eq!(named(room), Some("to encode"), "who takes makes it");
        assert_eq!(named(unused), None);
    }
}
