//! Where a global variable is declared, and which part of it an address is in.

use gimli::{AttributeValue, Dwarf, Operation, Reader as _, Section as _, Unit, UnitOffset};

use crate::demangle::shortened;
use crate::dwarf::{Reader, unit_reference};
use crate::member::part_at;

/// Debug information larger than this, in bytes, is not searched for variables: all of it has to be read for that, at
/// some hundred megabytes a second.
const MAX_SEARCHED: usize = 256 << 20;

/// Links from a definition to its declaration are followed this far.
const MAX_LINKS: usize = 8;

/// All variables with a fixed address that a module's DWARF describes, sorted by address.
pub(crate) struct Variables {
    entries: Vec<(u64, EntryPlace)>,
}

/// An entry of `.debug_info`: the offset of its unit, and its offset in the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct EntryPlace {
    unit: usize,
    entry: usize,
}

/// What DWARF says of a variable.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Description {
    /// The part that an offset is in, where types tell.
    pub(crate) part: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
}

impl Variables {
    pub(crate) fn read(dwarf: &Dwarf<Reader>) -> Self {
        let mut entries = Vec::new();
        if dwarf.debug_info.reader().len() <= MAX_SEARCHED {
            let mut headers = dwarf.units();
            while let Ok(Some(header)) = headers.next() {
                let Some(offset) = header.debug_info_offset() else { continue };
                if let Ok(unit) = dwarf.unit(header) {
                    // A damaged unit gives the variables before the damage.
                    let _ = read_unit(dwarf, &unit, offset.0, &mut entries);
                }
            }
        }
        entries.sort_unstable();
        Self { entries }
    }

    /// The declaration of the variable at `address`, and the part of it at `offset`.
    pub(crate) fn describe(&self, dwarf: &Dwarf<Reader>, address: u64, offset: u64) -> Option<Description> {
        let first = self.entries.partition_point(|(at, _)| *at < address);
        let (_, place) = self.entries.get(first).filter(|(at, _)| *at == address)?;
        let header = dwarf.debug_info.header_from_offset(gimli::DebugInfoOffset(place.unit)).ok()?;
        let unit = dwarf.unit(header).ok()?;
        let mut found = Description::default();
        let mut next = Some(UnitOffset(place.entry));
        let mut searched_type = None;
        for _ in 0..MAX_LINKS {
            let Some(entry) = next.and_then(|at| unit.entry(at).ok()) else { break };
            if found.line.is_none() {
                found.line = entry
                    .attr_value(gimli::DW_AT_decl_line)
                    .and_then(|value| u32::try_from(value.udata_value()?).ok())
                    .filter(|line| *line > 0);
                found.file = entry
                    .attr_value(gimli::DW_AT_decl_file)
                    .and_then(|value| file_name(dwarf, &unit, &value));
            }
            searched_type = searched_type.or_else(|| unit_reference(entry.attr_value(gimli::DW_AT_type)));
            next = unit_reference(entry.attr_value(gimli::DW_AT_specification))
                .or_else(|| unit_reference(entry.attr_value(gimli::DW_AT_abstract_origin)));
        }
        found.part = searched_type.and_then(|kind| part_at(dwarf, &unit, kind, offset));
        Some(found)
    }
}

fn read_unit(
    dwarf: &Dwarf<Reader>,
    unit: &Unit<Reader>,
    unit_offset: usize,
    out: &mut Vec<(u64, EntryPlace)>,
) -> gimli::Result<()> {
    let mut entries = unit.entries_raw(None)?;
    while !entries.is_empty() {
        let entry = entries.next_offset();
        let Some(abbreviation) = entries.read_abbreviation()? else { continue };
        if abbreviation.tag() != gimli::DW_TAG_variable {
            entries.skip_attributes(abbreviation.attributes())?;
            continue;
        }
        for specification in abbreviation.attributes() {
            let attribute = entries.read_attribute(*specification)?;
            if attribute.name() == gimli::DW_AT_location
                && let Some(address) = fixed_address(dwarf, unit, &attribute.value())
            {
                out.push((address, EntryPlace { unit: unit_offset, entry: entry.0 }));
            }
        }
    }
    Ok(())
}

/// The address in a location that consists of nothing else.
fn fixed_address(
    dwarf: &Dwarf<Reader>,
    unit: &Unit<Reader>,
    location: &AttributeValue<Reader>,
) -> Option<u64> {
    let AttributeValue::Exprloc(expression) = location else { return None };
    let mut operations = expression.clone().operations(unit.encoding());
    let address = match operations.next().ok()?? {
        Operation::Address { address } => address,
        Operation::AddressIndex { index } => dwarf.address(unit, index).ok()?,
        _ => return None,
    };
    operations.next().ok()?.is_none().then_some(address)
}

/// The path of a file in the unit's table, put together like the paths of lines.
fn file_name(dwarf: &Dwarf<Reader>, unit: &Unit<Reader>, index: &AttributeValue<Reader>) -> Option<String> {
    let AttributeValue::FileIndex(index) = index else { return None };
    let header = unit.line_program.as_ref()?.header();
    let file = header.file(*index)?;
    let text = |value| Some(dwarf.attr_string(unit, value).ok()?.bytes().to_vec());
    let mut path = match &unit.comp_dir {
        Some(directory) => directory.bytes().to_vec(),
        None => Vec::new(),
    };
    // Directory 0 is the compilation's.
    let directory = match file.directory_index() {
        0 => None,
        _ => file.directory(header).and_then(text),
    };
    for part in directory.into_iter().chain([text(file.path_name())?]) {
        if part.starts_with(b"/") {
            path = part;
        } else {
            if !path.is_empty() && !path.ends_with(b"/") {
                path.push(b'/');
            }
            path.extend(part);
        }
    }
    Some(shortened(&String::from_utf8_lossy(&path)).to_owned())
}
