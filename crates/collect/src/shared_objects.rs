//! Objects that several processes use: the same one has another address in each.

use std::collections::BTreeSet;
use std::fs;

use holdup_recording::facts::SharedObject;
use holdup_trace::wire::{self, BadRecord, ObjectCode, Record};

/// The objects that records say are shared, and that were not seen before, by what lies behind their addresses.
pub(crate) fn find(pid: u32, mut words: &[u64], seen: &mut BTreeSet<u64>) -> Vec<SharedObject> {
    let mut new = Vec::new();
    loop {
        match wire::read(words) {
            Ok((record, length)) => {
                if let Some(object) = candidate(&record, seen.len())
                    && seen.insert(object)
                {
                    new.push(object);
                }
                words = &words[length..];
            }
            Err(BadRecord::Unknown(length)) => words = &words[length..],
            Err(BadRecord::Length) => break,
        }
    }
    if new.is_empty() {
        return Vec::new();
    }
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    new.into_iter().filter_map(|address| Some(SharedObject { address, key: key(&maps, address)? })).collect()
}

/// How many objects that do not say whether they are shared are looked up in one process.
const LOOKED_UP: usize = 256;

/// The object of a record if it may be shared: a wait says so itself, but who releases does not know.
fn candidate(record: &Record<'_>, looked_up: usize) -> Option<u64> {
    match *record {
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

/// Device, inode and offset of what is mapped at `address`; `None` if that is private to the process.
fn key(maps: &str, address: u64) -> Option<String> {
    maps.lines().find_map(|line| {
        let mut fields = line.split_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let (start, end) = (hex(start)?, hex(end)?);
        let permissions = fields.next()?;
        let offset = hex(fields.next()?)?;
        let (device, inode) = (fields.next()?, fields.next()?);
        ((start..end).contains(&address) && permissions.ends_with('s'))
            .then(|| format!("{device}:{inode}:{:x}", offset + (address - start)))
    })
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
    fn an_object_is_known_by_file_and_offset() {
        assert_eq!(key(MAPS, 0x7f00_0000_1010).as_deref(), Some("00:1b:77:2010"));
        assert_eq!(key(MAPS, 0x7f00_0000_2010), None, "private memory is nobody else's");
        assert_eq!(key(MAPS, 1), None);
    }
}
