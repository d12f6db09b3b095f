//! Rows from tables as text, and what columns of tables are for.

use std::path::Path;

use holdup_characterize::Labels;

use super::components::Components;
use super::labels::{LABELS, set};
use super::rows::{Gathered, Kind};
use super::stacks::StackKind;
use crate::failure::Failure;

/// Columns of a sweep that say how a cell went, not how the program behaves.
const ABOUT_THE_CELL: [&str; 3] = ["repeat", "status", "reason"];

/// What a column of a table is for.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Use {
    /// It says what the row is of: a place in [`LABELS`].
    Label(usize),
    /// It is compared: a place among the columns.
    Number(usize),
    /// Neither.
    Nothing,
}

/// Reads comma-separated values (RFC 4180; with tabs or semicolons if the first line has more of these). The first line names
/// the columns. Of the others those are compared that have nothing but numbers; the first one names rows if none is called
/// `program`. A sweep's table of components is read as what it is.
pub(super) fn csv(path: &Path, of: Option<StackKind>) -> Result<Gathered, Failure> {
    let refused = |what: String| Failure::input(format!("{}: {what}", path.display()));
    let text = std::fs::read(path).map_err(|error| refused(format!("it cannot be read ({error})")))?;
    let first_line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let often = |separator: &u8| first_line.iter().filter(|byte| *byte == separator).count();
    // Of equals the last one is taken.
    let separator = *b"\t;,".iter().max_by_key(|separator| often(separator)).unwrap_or(&b',');
    let mut reader =
        csv::ReaderBuilder::new().delimiter(separator).trim(csv::Trim::All).from_reader(text.as_slice());
    let broken = |error: csv::Error| refused(format!("it is no table of values ({error})"));
    let names: Vec<String> = reader
        .byte_headers()
        .map_err(broken)?
        .iter()
        .map(|name| String::from_utf8_lossy(name).trim_start_matches('\u{feff}').to_owned())
        .collect();
    let mut sorted: Vec<&String> = names.iter().filter(|name| !name.is_empty()).collect();
    sorted.sort_unstable();
    if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(refused(format!("it has two columns {}; name them apart", twice[0])));
    }
    if names.iter().any(|name| name == "component") && names.iter().any(|name| name == "cycles") {
        return Err(refused(
            "it has a row for each component (holdup sim --csv); give what holdup sim --json wrote"
                .to_owned(),
        ));
    }
    if Components::are_in(&names) {
        let mut components = Components::default();
        let mut record = csv::ByteRecord::new();
        while reader.read_byte_record(&mut record).map_err(broken)? {
            let fields = record.iter().map(String::from_utf8_lossy);
            components.push(names.iter().map(String::as_str).zip(fields));
        }
        return components.gathered(of).map_err(refused);
    }
    let is_number = {
        let mut is_number = vec![true; names.len()];
        let mut record = csv::ByteRecord::new();
        while reader.read_byte_record(&mut record).map_err(broken)? {
            for (field, is_number) in record.iter().zip(&mut is_number) {
                *is_number &= value(field).is_some();
            }
        }
        is_number
    };
    let mut gathered = Gathered::new(Kind::Table);
    let uses = uses(&names, |column| is_number[column], &mut gathered);
    let mut reader =
        csv::ReaderBuilder::new().delimiter(separator).trim(csv::Trim::All).from_reader(text.as_slice());
    let places = places(&uses);
    let mut record = csv::ByteRecord::new();
    let mut numbers = vec![f64::NAN; places.len()];
    while reader.read_byte_record(&mut record).map_err(broken)? {
        let mut labels = Labels::default();
        numbers.clear();
        for (field, used) in record.iter().zip(&uses) {
            match used {
                Use::Label(label) => set(&mut labels, *label, &String::from_utf8_lossy(field)),
                Use::Number(_) => numbers.push(value(field).unwrap_or(f64::NAN)),
                Use::Nothing => {}
            }
        }
        add(&mut gathered, labels, &places, &numbers);
    }
    Ok(gathered)
}

/// A number, or a missing one; `None` for text.
fn value(field: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(field).ok()?;
    match text {
        "" | "NA" | "na" | "null" | "NULL" | "-" | "—" => Some(f64::NAN),
        text => text.parse().ok(),
    }
}

/// What each column is for. Rows without a column `program` are named by the first one.
pub(super) fn uses(names: &[String], is_number: impl Fn(usize) -> bool, gathered: &mut Gathered) -> Vec<Use> {
    let has_program = names.iter().any(|name| name == "program");
    gathered.repeated = names.iter().any(|name| name == "repeat");
    let program = LABELS.iter().position(|label| *label == "program").unwrap_or(0);
    let mut left = Vec::new();
    let of = |(column, name): (usize, &String)| {
        if let Some(label) = LABELS.iter().position(|label| label == name) {
            Use::Label(label)
        } else if column == 0 && !has_program {
            Use::Label(program)
        } else if ABOUT_THE_CELL.contains(&name.as_str()) || name.is_empty() {
            Use::Nothing
        } else if is_number(column) {
            Use::Number(gathered.column(name))
        } else {
            left.push(name.clone());
            Use::Nothing
        }
    };
    let uses: Vec<Use> = names.iter().enumerate().map(of).collect();
    if !left.is_empty() {
        gathered.notes.push(format!("Columns with text are not compared: {}.", left.join(", ")));
    }
    uses
}

pub(super) fn places(uses: &[Use]) -> Vec<usize> {
    let place = |used: &Use| match used {
        Use::Number(place) => Some(*place),
        _ => None,
    };
    uses.iter().filter_map(place).collect()
}

pub(super) fn add(gathered: &mut Gathered, mut labels: Labels, places: &[usize], numbers: &[f64]) {
    if labels.program.is_empty() {
        labels.program = format!("row {}", gathered.rows.len() + 1);
    }
    gathered.add(labels, places, numbers.iter().copied());
}
