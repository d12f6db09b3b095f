//! `holdup explain`: what a kind of finding means.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Args, Command};
use holdup_report::{Explanation, explanations};

use crate::answer::{self, Color};
use crate::failure::Failure;
use crate::meant::{is_recording, quoted};

/// Options of `holdup explain`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ExplainOptions {
    /// The kind, as the report calls it: lock, barrier, imbalance… [default: list all]
    #[arg(value_name = "KIND", value_parser = Kind, hide_possible_values = true)]
    pub kind: Option<String>,
    /// When to use colour
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
}

/// Any word, for which shells complete those that are kinds.
#[derive(Clone)]
struct Kind;

impl TypedValueParser for Kind {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let value = |page: Explanation| PossibleValue::new(page.word()).help(page.summary());
        Some(Box::new(Explanation::all().map(value)))
    }
}

/// Shows a page, or lists them all.
pub(crate) fn explain(options: &ExplainOptions) -> Result<ExitCode, Failure> {
    let look = answer::look(options.color, false, &io::stdout(), false);
    let text = match &options.kind {
        None => explanations(look),
        Some(word) => Explanation::of(word).ok_or_else(|| unknown(word))?.render(look),
    };
    answer::write(&text, None, io::stdout())?;
    Ok(ExitCode::SUCCESS)
}

fn unknown(word: &str) -> Failure {
    if is_recording(Path::new(word)) {
        return Failure::input(format!(
            "{word}: a recording, no kind of finding; write {}",
            quoted(&["holdup", "report", word])
        ));
    }
    let meant = match Explanation::meant_by(word).as_slice() {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        [all @ .., last] => format!("; did you mean {} or {last}?", all.join(", ")),
    };
    Failure::input(format!("{word}: no kind of finding{meant} (holdup explain lists them all)"))
}
