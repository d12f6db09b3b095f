//! Instructions of a program that runs under emulation: which are recorded, and what of them.

use clap::ValueEnum;
use holdup_collect::{Emulation, InstructionMode, Interest};

/// Which instructions are recorded.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct InstructionPart {
    /// Which part of the run counts: from the first thread that is created on, all, or what the program marks
    #[arg(long, value_enum, default_value_t = PartName::Auto)]
    pub roi: PartName,
    /// Record so many instructions of all threads together (1000000, 500M, 2G); the program runs on to its end
    #[arg(long, value_name = "N", value_parser = amount)]
    pub limit_instructions: Option<u64>,
    /// Let no thread be ahead of the slowest by more instructions than this, while that one works
    #[arg(long, value_name = "N", value_parser = amount)]
    pub skew: Option<u64>,
}

impl InstructionPart {
    /// Records this part.
    pub(crate) fn set(&self, emulation: &mut Emulation) {
        emulation.interest = self.roi.interest();
        emulation.instruction_limit = self.limit_instructions;
        emulation.skew = self.skew;
    }

    /// True if not all of what is recorded by default is wanted.
    pub(crate) fn is_chosen(&self) -> bool {
        self.roi != PartName::Auto || self.limit_instructions.is_some() || self.skew.is_some()
    }
}

/// See [`Interest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PartName {
    Auto,
    All,
    Marked,
}

impl PartName {
    pub(crate) fn interest(self) -> Interest {
        match self {
            PartName::Auto => Interest::Auto,
            PartName::All => Interest::All,
            PartName::Marked => Interest::Marked,
        }
    }
}

/// What is recorded of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeName {
    Counts,
    Stream,
}

impl ModeName {
    pub(crate) fn mode(self) -> InstructionMode {
        match self {
            ModeName::Counts => InstructionMode::Counts,
            ModeName::Stream => InstructionMode::Stream,
        }
    }
}

/// A number of instructions, perhaps with a unit.
fn amount(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.trim_end_matches(|c: char| c.is_ascii_alphabetic()) {
        digits if digits.len() == text.len() => (digits, 1),
        digits => match text[digits.len()..].to_ascii_uppercase().as_str() {
            "K" => (digits, 1_000),
            "M" => (digits, 1_000_000),
            "G" => (digits, 1_000_000_000),
            _ => ("", 1),
        },
    };
    let value =
        digits.parse::<u64>().ok().and_then(|value| value.checked_mul(unit)).filter(|value| *value > 0);
    value.ok_or_else(|| "give a number of instructions, such as 1000000, 500M or 2G".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_have_units() {
        assert_eq!(amount("1000000"), Ok(1_000_000));
        assert_eq!(
            (amount("500M"), amount("2g"), amount("3k")),
            (Ok(500_000_000), Ok(2_000_000_000), Ok(3_000))
        );
        for wrong in ["", "M", "1.5G", "-3", "0", "7X", "99999999999999999999", "18446744073709551615K"] {
            assert!(amount(wrong).is_err(), "{wrong}");
        }
    }
}
