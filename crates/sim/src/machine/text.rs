//! Machines from text and to text: errors in one line that say where, what, and what could be meant.

use std::ops::Range;

use super::nearest::nearest;
use super::{Machine, MachineError};

impl Machine {
    /// Reads a machine file (TOML; `machines/README.md` says what is in it) and checks it.
    ///
    /// # Errors
    /// If it is no machine, or one that cannot be.
    // Inline, as all that calls it: reading text as fast as this crate simulates takes a tenth of a megabyte.
    #[inline]
    pub fn parse(text: &str) -> Result<Machine, MachineError> {
        let machine: Machine = toml::from_str(text).map_err(|error| {
            MachineError::Text(format!("{}{}", place(text, error.span()), wording(error.message())))
        })?;
        machine.check()?;
        Ok(machine)
    }

    /// As text that [`Machine::parse`] reads.
    #[inline]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }
}

/// Line and table, as the beginning of a sentence.
fn place(text: &str, span: Option<Range<usize>>) -> String {
    let Some(before) = span.and_then(|span| text.get(..span.start)) else { return String::new() };
    let line = before.matches('\n').count() + 1;
    let header = |line: &str| {
        let line = line.trim();
        line.starts_with('[').then(|| line.split_inclusive(']').next().unwrap_or(line).to_string())
    };
    let table = text.lines().take(line).filter_map(header).last();
    match table {
        Some(table) => format!("line {line}, {table}: "),
        None => format!("line {line}: "),
    }
}

/// What the TOML reader found, in one line.
fn wording(message: &str) -> String {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let what = ["unknown field", "unknown variant"].iter().position(|start| message.starts_with(start));
    match (what, quoted.split_first()) {
        (Some(what), Some((given, choices))) => {
            let what = ["key", "value"][what];
            match nearest(given, choices.iter().copied()) {
                Some(meant) => format!("there is no {what} `{given}`; did you mean `{meant}`?"),
                None => format!("there is no {what} `{given}`; there is {}", choices.join(", ")),
            }
        }
        (None, Some((missing, _))) if message.starts_with("missing field") => {
            format!("the key `{missing}` is missing; machines/README.md says what it means")
        }
        _ => {
            let said = message.lines().map(str::trim).collect::<Vec<_>>().join("; ");
            let number = |word| {
                format!("expected {word} without a unit; holdup sim --show-machine genoa has an example")
            };
            let said = said.replace("expected f64", &number("a number"));
            said.replace("expected u32", &number("a whole number"))
                .replace("expected u64", &number("a whole number"))
        }
    }
}
