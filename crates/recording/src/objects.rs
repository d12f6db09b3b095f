//! Which object an address means at a time: memory is used again, and what was initialized elsewhere is another
//! object.

use std::collections::BTreeMap;

use holdup_model::{ATOMIC_WAIT, ObjectId, ObjectKind, Process, SyncObject, ThreadId};
use holdup_trace::wire::{ObjectCode, Record};

use crate::facts::Names;
use crate::reader::RawProcess;

/// A moment at which an object at an address was initialized.
#[derive(Clone, Copy)]
struct Initialization {
    time: u64,
    caller: u64,
    parties: u32,
}

/// Finds objects, and adds them to the process when they are first met.
pub(crate) struct Objects<'a> {
    names: Option<&'a Names>,
    shared: BTreeMap<u64, &'a str>,
    initializations: BTreeMap<(ObjectCodeKey, u64), Vec<Initialization>>,
    known: BTreeMap<(ObjectCodeKey, u64, u64, u32), ObjectId>,
    callers: BTreeMap<ObjectId, u64>,
    ends: BTreeMap<Option<ThreadId>, ObjectId>,
}

type ObjectCodeKey = u8;

/// What the names of the C++ library's own objects begin with.
const OF_ATOMICS: &str = "std::__detail::";

pub(crate) fn kind_of(code: ObjectCode) -> ObjectKind {
    match code {
        ObjectCode::Mutex => ObjectKind::Mutex,
        ObjectCode::RwLock => ObjectKind::RwLock,
        ObjectCode::SpinLock => ObjectKind::SpinLock,
        ObjectCode::Condition => ObjectKind::Condition,
        ObjectCode::Barrier => ObjectKind::Barrier,
        ObjectCode::Semaphore => ObjectKind::Semaphore,
        ObjectCode::ThreadEnd => ObjectKind::ThreadEnd,
        ObjectCode::Once => ObjectKind::Once,
        ObjectCode::Futex => ObjectKind::Futex,
        ObjectCode::Critical => ObjectKind::Critical,
        ObjectCode::OmpLock => ObjectKind::OmpLock,
        ObjectCode::Ordered => ObjectKind::Ordered,
        ObjectCode::Messages => ObjectKind::Messages,
        ObjectCode::Room => ObjectKind::Room,
    }
}

impl<'a> Objects<'a> {
    pub(crate) fn of(process: &'a RawProcess) -> Objects<'a> {
        let mut initializations: BTreeMap<_, Vec<Initialization>> = BTreeMap::new();
        for (_, record) in process.records() {
            if let Record::ObjectInit { time, object, kind, parties, caller } = record {
                let list = initializations.entry((kind as u8, object)).or_default();
                list.push(Initialization { time, caller, parties });
            }
        }
        for list in initializations.values_mut() {
            list.sort_by_key(|initialization| initialization.time);
        }
        Objects {
            names: process.names.as_ref(),
            shared: process.shared.iter().map(|shared| (shared.address, shared.key.as_str())).collect(),
            initializations,
            known: BTreeMap::new(),
            callers: BTreeMap::new(),
            ends: BTreeMap::new(),
        }
    }

    /// The object of this kind at `address` at `time` (ticks; the last time for what has none).
    pub(crate) fn find(
        &mut self,
        process: &mut Process,
        code: ObjectCode,
        address: u64,
        time: u64,
    ) -> ObjectId {
        let initialization = self.initializations.get(&(code as u8, address)).and_then(|list| {
            let after = list.partition_point(|initialization| initialization.time <= time);
            list.get(after.saturating_sub(1)).copied()
        });
        let caller = initialization.map_or(0, |initialization| initialization.caller);
        let parties = initialization.map_or(0, |initialization| initialization.parties);
        let id = *self.known.entry((code as u8, address, caller, parties)).or_insert_with(|| {
            process.objects.push(SyncObject {
                kind: kind_of(code),
                address,
                name: self.names.and_then(|names| name_of(names, address)),
                created_at: None,
                parties: (parties > 0).then_some(parties),
                thread: None,
                shared: self.shared.contains_key(&address),
                construct: None,
                is_condition_barrier: false,
            });
            ObjectId::new(process.objects.len() as u32 - 1)
        });
        if caller != 0 {
            self.callers.insert(id, caller);
        }
        id
    }

    /// The end of a thread, for which a join waits.
    pub(crate) fn end_of(&mut self, process: &mut Process, thread: Option<ThreadId>) -> ObjectId {
        *self.ends.entry(thread).or_insert_with(|| {
            let id =
                process.add_object(ObjectKind::ThreadEnd, thread.map_or(u64::MAX, |id| id.index() as u64));
            process.objects[id.index()].thread = thread;
            id
        })
    }

    /// The return address of the initialization of each object that has one.
    pub(crate) fn callers(&self) -> impl Iterator<Item = (ObjectId, u64)> {
        self.callers.iter().map(|(id, caller)| (*id, *caller))
    }
}

/// What the object at an address is called.
fn name_of(names: &Names, address: u64) -> Option<String> {
    let name = names.data.get(&address)?;
    Some(if name.starts_with(OF_ATOMICS) { ATOMIC_WAIT.to_owned() } else { name.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn futexes_that_stand_for_all_atomics_have_their_name() {
        let data =
            [(1, "cache_lock"), (2, "std::__detail::__waiter_pool_base::_S_for(void const*)::__w[6]._M_ver")];
        let data = data.map(|(address, name)| (address, name.to_owned())).into();
        let names = Names { data, ..Names::default() };
        let named = [1, 2, 3].map(|address| name_of(&names, address));
        assert_eq!(named, [Some("cache_lock".to_owned()), Some("std::atomic::wait".to_owned()), None]);
    }
}
