//! Rows from tables: CSV, and Parquet as a sweep writes it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;

use holdup_characterize::Labels;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use super::gather::{Found, Gathered, Kind, LABELS, StackKind};
use crate::failure::Failure;

/// Columns of a sweep that say how a cell went, not how the program behaves.
const ABOUT_THE_CELL: [&str; 3] = ["repeat", "status", "reason"];

/// What a column of a table is for.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    /// It says what the row is of: a place in [`LABELS`].
    Label(usize),
    /// It is compared: a place among the columns.
    Number(usize),
    /// Neither.
    Nothing,
}

/// Reads comma-separated values (RFC 4180; with tabs or semicolons if the first line has more of these). The first line names
/// the columns. Of the others those are compared that have nothing but numbers; the first one names rows if none is called
/// `program`.
pub(super) fn csv(path: &Path) -> Result<Gathered, Failure> {
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
fn uses(names: &[String], is_number: impl Fn(usize) -> bool, gathered: &mut Gathered) -> Vec<Use> {
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

fn places(uses: &[Use]) -> Vec<usize> {
    let place = |used: &Use| match used {
        Use::Number(place) => Some(*place),
        _ => None,
    };
    uses.iter().filter_map(place).collect()
}

fn set(labels: &mut Labels, label: usize, text: &str) {
    let known = (!text.is_empty()).then(|| text.to_owned());
    match LABELS[label] {
        "suite" => labels.suite = known,
        "program" => labels.program = text.to_owned(),
        "input" => labels.input = known,
        "threads" => labels.threads = threads(text),
        "machine" => labels.machine = known,
        _ => labels.what_if = known,
    }
}

/// A number of threads, also as tables with missing numbers have it: `4.0`.
fn threads(text: &str) -> Option<u32> {
    let number: f64 = text.parse().ok()?;
    let is_count = number.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(&number);
    is_count.then_some(number as u32)
}

fn add(gathered: &mut Gathered, mut labels: Labels, places: &[usize], numbers: &[f64]) {
    if labels.program.is_empty() {
        labels.program = format!("row {}", gathered.rows.len() + 1);
    }
    gathered.add(labels, places, numbers.iter().copied());
}

/// Reads a Parquet file with plain columns: a sweep's table of components, or any table. Cells of a sweep that failed are left
/// out.
pub(super) fn parquet(path: &Path, of: Option<StackKind>) -> Result<Gathered, Failure> {
    let refused = |what: String| Failure::input(format!("{}: {what}", path.display()));
    let file = File::open(path).map_err(|error| refused(format!("it cannot be read ({error})")))?;
    let broken = |error: ParquetError| refused(format!("it is no Parquet file that can be read ({error})"));
    let reader = SerializedFileReader::new(file).map_err(broken)?;
    let schema = reader.metadata().file_metadata().schema_descr();
    let fields = schema.root_schema().get_fields();
    let names: Vec<String> = fields.iter().map(|field| field.name().to_owned()).collect();
    if ["stack", "component", "share"].iter().all(|name| names.iter().any(|known| known == name)) {
        return components(&reader, of, &refused);
    }
    let is_number = |column: usize| {
        use parquet::basic::Type::{DOUBLE, FLOAT, INT32, INT64};
        let field = &fields[column];
        field.is_primitive() && matches!(field.get_physical_type(), INT32 | INT64 | FLOAT | DOUBLE)
    };
    let mut gathered = Gathered::new(Kind::Table);
    let uses = uses(&names, is_number, &mut gathered);
    let places = places(&uses);
    let status = names.iter().position(|name| name == "status");
    let mut failed = 0usize;
    for row in reader.get_row_iter(None).map_err(broken)? {
        let row = row.map_err(broken)?;
        let mut labels = Labels::default();
        let mut numbers = Vec::with_capacity(places.len());
        let mut is_done = true;
        for (at, ((_, field), used)) in row.get_column_iter().zip(&uses).enumerate() {
            match used {
                Use::Label(label) => set(&mut labels, *label, &text(field)),
                Use::Number(_) => numbers.push(float(field)),
                Use::Nothing if status == Some(at) => is_done = ["done", ""].contains(&text(field).as_str()),
                Use::Nothing => {}
            }
        }
        if is_done {
            add(&mut gathered, labels, &places, &numbers);
        } else {
            failed += 1;
        }
    }
    if failed > 0 {
        gathered.notes.push(format!("Cells of the sweep that did not end well are left out: {failed}."));
    }
    Ok(gathered)
}

/// What the sweep calls a kind of stack.
fn of_sweep(kind: StackKind) -> &'static str {
    match kind {
        StackKind::Cycles => "cycles",
        StackKind::Losses => "loss",
        StackKind::Criticality => "criticality",
        StackKind::Speedup => "speedup",
    }
}

/// Which stack of a sweep: its kind, the run's labels, on how many cores, and which of its repetitions.
type StackOfSweep = (String, Labels, Option<u32>, String);

/// The table of a sweep with a row for each component of each stack. The first kind of stack that is there is taken, cycles
/// before losses.
fn components(
    reader: &SerializedFileReader<File>,
    of: Option<StackKind>,
    refused: &impl Fn(String) -> Failure,
) -> Result<Gathered, Failure> {
    let broken = |error: ParquetError| refused(format!("it is no Parquet file that can be read ({error})"));
    let mut stacks: BTreeMap<StackOfSweep, (usize, Vec<(String, f64)>)> = BTreeMap::new();
    for row in reader.get_row_iter(None).map_err(broken)? {
        let row = row.map_err(broken)?;
        let (mut labels, mut repeat, mut cores) = (Labels::default(), String::new(), None);
        let (mut stack, mut component, mut share) = (String::new(), String::new(), f64::NAN);
        for (name, field) in row.get_column_iter() {
            match name.as_str() {
                "repeat" => repeat = text(field),
                "cores" => cores = text(field).parse().ok(),
                "stack" => stack = text(field),
                "component" => component = text(field),
                "share" => share = float(field),
                other => {
                    if let Some(label) = LABELS.iter().position(|label| *label == other) {
                        set(&mut labels, label, &text(field));
                    }
                }
            }
        }
        let number = stacks.len();
        let rows = stacks.entry((stack, labels, cores, repeat)).or_insert((number, Vec::new()));
        rows.1.push((component, share));
    }
    let kinds = [StackKind::Cycles, StackKind::Losses, StackKind::Criticality, StackKind::Speedup];
    let has = |kind: &StackKind| stacks.keys().any(|(stack, ..)| stack == of_sweep(*kind));
    let kind = match of {
        Some(kind) => Some(kind).filter(has),
        None => kinds.into_iter().find(has),
    };
    let Some(kind) = kind else {
        return Err(refused("it has no such stacks; --of chooses others".to_owned()));
    };
    let mut gathered = Gathered::new(Kind::Stack(kind));
    gathered.repeated = true;
    let mut found: Vec<_> = stacks.into_iter().filter(|((stack, ..), _)| stack == of_sweep(kind)).collect();
    found.sort_by_key(|(_, (number, _))| *number);
    let numbers: BTreeSet<u32> = found.iter().filter_map(|((_, _, cores, _), _)| *cores).collect();
    for ((_, mut labels, cores, _), (_, parts)) in found {
        match (labels.threads, cores) {
            (None, cores) => labels.threads = cores,
            // Threads on another number of cores are on another machine, where there are several.
            (Some(threads), Some(cores)) if threads != cores && numbers.len() > 1 => {
                let machine = labels.machine.unwrap_or_default();
                labels.machine = Some(format!("{machine} with {cores} cores").trim_start().to_owned());
            }
            _ => {}
        }
        gathered.push(Found { labels, parts });
    }
    Ok(gathered)
}

fn text(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        Field::Bytes(bytes) => String::from_utf8_lossy(bytes.data()).into_owned(),
        other => other.to_string(),
    }
}

fn float(field: &Field) -> f64 {
    match field {
        Field::Byte(value) => f64::from(*value),
        Field::Short(value) => f64::from(*value),
        Field::Int(value) => f64::from(*value),
        Field::Long(value) => *value as f64,
        Field::UByte(value) => f64::from(*value),
        Field::UShort(value) => f64::from(*value),
        Field::UInt(value) => f64::from(*value),
        Field::ULong(value) => *value as f64,
        Field::Float(value) => f64::from(*value),
        Field::Double(value) => *value,
        _ => f64::NAN,
    }
}
