//! Objects that several processes use: the same one has another address in each.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use holdup_recording::facts::SharedObject;
use holdup_trace::wire::{self, BadRecord, ObjectCode, Record, WaitRecord};

/// What is known of one process: its objects, and what lies where in its memory.
#[derive(Debug, Default)]
pub(crate) struct SharedObjects {
    seen: BTreeSet<u64>,
    mappings: Mappings,
}

impl SharedObjects {
    /// The objects that records say are shared, and that were not seen before, by what lies behind their addresses.
    pub(crate) fn find(&mut self, pid: u32, mut words: &[u64]) -> Vec<SharedObject> {
        let mut new = Vec::new();
        loop {
            match wire::read(words) {
                Ok((record, length)) => {
                    if let Some(object) = candidate(&record, self.seen.len())
                        && self.seen.insert(object)
                    {
                        new.push(object);
                    }
                    words = &words[length..];
                }
                Err(BadRecord::Unknown(length)) => words = &words[length..],
                Err(BadRecord::Length) => break,
            }
        }
        let (channels, new): (Vec<u64>, Vec<u64>) =
            new.into_iter().partition(|&address| wire::is_shared_channel(address));
        // To list the memory of a program with many libraries takes milliseconds, on a core that it may want.
        if new.iter().any(|&address| !self.mappings.know(address)) {
            let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
            self.mappings = Mappings::of(&maps);
        }
        let key = |address| Some(SharedObject { address, key: self.mappings.key(address)? });
        // All processes call a channel alike.
        let channel = |address| SharedObject { address, key: format!("channel:{address:x}") };
        new.into_iter().filter_map(key).chain(channels.into_iter().map(channel)).collect()
    }
}

/// How many objects that do not say whether they are shared are looked up in one process.
const LOOKED_UP: usize = 256;

/// The object of a record if it may be shared: a wait says so itself, but who releases does not know.
fn candidate(record: &Record<'_>, looked_up: usize) -> Option<u64> {
    match *record {
        Record::Wait(WaitRecord { object, .. }) | Record::Wake { object, .. }
            if wire::is_shared_channel(object) =>
        {
            Some(object)
        }
        Record::Wait(wait) if wait.process_shared => Some(wait.object),
        Record::Hold { object, waited_for: true, .. } | Record::Wake { object, .. }
            if looked_up < LOOKED_UP =>
        {
            Some(object)
        }
        Record::Wait(wait) if wait.kind == ObjectCode::Barrier && looked_up < LOOKED_UP => Some(wait.object),
        _ => None,
    }
}

/// What was mapped where when it was last looked.
#[derive(Debug, Default)]
struct Mappings {
    /// By the first address: the end, and of what is shared device, inode and the offset of the first address.
    ranges: BTreeMap<u64, (u64, Option<(String, u64)>)>,
}

impl Mappings {
    fn of(maps: &str) -> Self {
        let range = |line: &str| {
            let mut fields = line.split_whitespace();
            let (start, end) = fields.next()?.split_once('-')?;
            let is_shared = fields.next()?.ends_with('s');
            let offset = hex(fields.next()?)?;
            let (device, inode) = (fields.next()?, fields.next()?);
            let behind = is_shared.then(|| (format!("{device}:{inode}"), offset));
            Some((hex(start)?, (hex(end)?, behind)))
        };
        Self { ranges: maps.lines().filter_map(range).collect() }
    }

    fn at(&self, address: u64) -> Option<(u64, &Option<(String, u64)>)> {
        let (start, (end, behind)) = self.ranges.range(..=address).next_back()?;
        (address < *end).then_some((*start, behind))
    }

    fn know(&self, address: u64) -> bool {
        self.at(address).is_some()
    }

    /// Device, inode and offset of what is mapped at `address`; `None` if that is private to the process.
    fn key(&self, address: u64) -> Option<String> {
        let (start, behind) = self.at(address)?;
        let (file, offset) = behind.as_ref()?;
        Some(format!("{file}:{:x}", offset + (address - start)))
    }
}

fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
7f0000000000-7f0000002000 rw-s 00001000 00:1b 77                         /dev/shm/pool
7f0000002000-7f0000003000 rw-p 00000000 00:00 0
";

    #[test]
    fn a_channel_is_shared_by_the_processes_that_were_forked_from_one_another() {
        let kind = ObjectCode::Messages;
        let words: Vec<u64> = [wire::channel(70, 3), wire::channel(0, 4), wire::channel(70, 3)]
            .into_iter()
            .flat_map(|object| wire::wake(10, object, kind, u32::MAX, wire::NO_STACK))
            .collect();
        let mut objects = SharedObjects::default();
        let found = objects.find(u32::MAX, &words);
        let [channel] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(channel.address, wire::channel(70, 3));
        let of_another = SharedObjects::default().find(u32::MAX, &words);
        assert_eq!(of_another[0].key, channel.key, "whichever process looks");
        assert!(objects.find(u32::MAX, &words).is_empty(), "it is said once");
    }

    #[test]
    fn an_object_is_known_by_file_and_offset() {
        let maps = Mappings::of(MAPS);
        assert_eq!(maps.key(0x7f00_0000_1010).as_deref(), Some("00:1b:77:2010"));
        assert_eq!(maps.key(0x7f00_0000_2010), None, "private memory is nobody else's");
        assert!(maps.know(0x7f00_0000_2010) && !maps.know(0x7f00_0000_3000) && !maps.know(1));
        assert_eq!(maps.key(1), None);
    }
}
