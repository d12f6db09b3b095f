//! Which member of a variable an offset is in: `.shards[3].lock`, not `+0x98`.

use std::fmt::Write;

use gimli::{AttributeValue, DebuggingInformationEntry, Dwarf, Unit, UnitOffset};

use crate::demangle::MAX_NAME_BYTES;
use crate::dwarf::{Reader, unit_reference};

/// Types nested deeper than this are not descended into: real ones are not, a damaged file's may be a ring.
const MAX_DEPTH: usize = 48;

/// Dimensions of an array that are looked at.
const MAX_DIMENSIONS: usize = 8;

/// Types that threads wait on. Their insides are their library's business, so a path ends at them.
const SYNC_TYPES: [&str; 30] = [
    "pthread_mutex_t",
    "pthread_cond_t",
    "pthread_rwlock_t",
    "pthread_spinlock_t",
    "pthread_barrier_t",
    "pthread_once_t",
    "sem_t",
    "mtx_t",
    "cnd_t",
    "once_flag",
    "mutex",
    "recursive_mutex",
    "timed_mutex",
    "recursive_timed_mutex",
    "shared_mutex",
    "shared_timed_mutex",
    "condition_variable",
    "condition_variable_any",
    "counting_semaphore",
    "barrier",
    "latch",
    "Mutex",
    "RwLock",
    "ReentrantLock",
    "Condvar",
    "Once",
    "OnceLock",
    "LazyLock",
    "Barrier",
    "Semaphore",
];

/// The path to the member at `offset` in a variable of this type; empty for the whole variable.
///
/// A structure and its first member share an address. The path goes on to the member if that, or what it contains, is
/// a type that threads wait on; else it ends as soon as it has reached the offset. Nothing if the types do not tell.
pub(crate) fn part_at(
    dwarf: &Dwarf<Reader>,
    unit: &Unit<Reader>,
    kind: UnitOffset,
    offset: u64,
) -> Option<String> {
    let types = Types { dwarf, unit };
    let mut path = String::new();
    let mut reached = None;
    let (mut kind, mut rest) = (kind, offset);
    for _ in 0..MAX_DEPTH {
        if rest == 0 && reached.is_none() {
            reached = Some(path.clone());
        }
        let Ok(entry) = unit.entry(kind) else { break };
        if types.is_sync(&entry) {
            return Some(path);
        }
        let step = match entry.tag() {
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type => types.target(&entry).map(|target| (target, rest)),
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => types.member(kind, rest, &mut path),
            gimli::DW_TAG_array_type => types.element(kind, rest, &mut path),
            _ => None,
        };
        if path.len() > MAX_NAME_BYTES {
            break;
        }
        match step {
            Some(next) => (kind, rest) = next,
            None => break,
        }
    }
    reached
}

struct Types<'a> {
    dwarf: &'a Dwarf<Reader>,
    unit: &'a Unit<Reader>,
}

type Entry = DebuggingInformationEntry<Reader>;

impl Types<'_> {
    fn name(&self, entry: &Entry) -> Option<String> {
        let text = self.dwarf.attr_string(self.unit, entry.attr_value(gimli::DW_AT_name)?).ok()?;
        Some(String::from_utf8_lossy(text.bytes().get(..MAX_NAME_BYTES).unwrap_or(text.bytes())).into_owned())
    }

    fn target(&self, entry: &Entry) -> Option<UnitOffset> {
        unit_reference(entry.attr_value(gimli::DW_AT_type))
    }

    fn is_sync(&self, entry: &Entry) -> bool {
        self.name(entry).is_some_and(|name| {
            let plain = name.split('<').next().unwrap_or_default();
            SYNC_TYPES.contains(&plain)
        })
    }

    /// The member, or the base class, at an offset in a structure, and the offset in it.
    fn member(&self, kind: UnitOffset, offset: u64, path: &mut String) -> Option<(UnitOffset, u64)> {
        let mut tree = self.unit.entries_tree(Some(kind)).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            if entry.tag() != gimli::DW_TAG_member && entry.tag() != gimli::DW_TAG_inheritance {
                continue;
            }
            // Static members have no place; places computed at run time are virtual bases.
            let Some(start) = entry.attr_value(gimli::DW_AT_data_member_location) else { continue };
            let (Some(start), Some(target)) = (start.udata_value(), self.target(entry)) else { continue };
            let Some(inside) = offset.checked_sub(start) else { continue };
            if self.size(target, 0).is_none_or(|size| inside >= size) {
                continue;
            }
            if entry.tag() == gimli::DW_TAG_member
                && let Some(name) = self.name(entry)
            {
                path.push('.');
                path.push_str(&name);
            }
            return Some((target, inside));
        }
        None
    }

    /// The element at an offset in an array, and the offset in it.
    fn element(&self, kind: UnitOffset, offset: u64, path: &mut String) -> Option<(UnitOffset, u64)> {
        let target = self.target(&self.unit.entry(kind).ok()?)?;
        let size = self.size(target, 0).filter(|size| *size > 0)?;
        let (mut index, inside) = (offset / size, offset % size);
        let counts = self.dimensions(kind);
        let mut indices = Vec::new();
        for count in counts.iter().skip(1).rev() {
            indices.push(index.checked_rem(*count)?);
            index /= count;
        }
        if counts.first().is_some_and(|count| *count > 0 && index >= *count) {
            return None;
        }
        indices.push(index);
        for index in indices.iter().rev() {
            // Writing to a string cannot fail.
            let _ = write!(path, "[{index}]");
        }
        Some((target, inside))
    }

    /// Number of elements in each dimension, the outermost first; 0 if unknown.
    fn dimensions(&self, kind: UnitOffset) -> Vec<u64> {
        let mut counts = Vec::new();
        let Ok(mut tree) = self.unit.entries_tree(Some(kind)) else { return counts };
        let Ok(root) = tree.root() else { return counts };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            if entry.tag() == gimli::DW_TAG_subrange_type && counts.len() < MAX_DIMENSIONS {
                let number = |name| entry.attr_value(name).as_ref().and_then(AttributeValue::udata_value);
                let last = number(gimli::DW_AT_upper_bound).and_then(|last| last.checked_add(1));
                counts.push(number(gimli::DW_AT_count).or(last).unwrap_or(0));
            }
        }
        counts
    }

    /// A type's size in bytes.
    fn size(&self, kind: UnitOffset, depth: usize) -> Option<u64> {
        if depth > MAX_DEPTH {
            return None;
        }
        let entry = self.unit.entry(kind).ok()?;
        if let Some(size) = entry.attr_value(gimli::DW_AT_byte_size) {
            return size.udata_value();
        }
        match entry.tag() {
            gimli::DW_TAG_pointer_type => Some(u64::from(self.unit.encoding().address_size)),
            gimli::DW_TAG_array_type => {
                let element = self.size(self.target(&entry)?, depth + 1)?;
                self.dimensions(kind).iter().try_fold(element, |size, count| size.checked_mul(*count))
            }
            _ => self.size(self.target(&entry)?, depth + 1),
        }
    }
}
