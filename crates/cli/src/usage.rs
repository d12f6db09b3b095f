//! Wrong usage, in one line: what stands wrong, and what to write instead.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

use crate::example::{called, example};
use crate::meant::{is_called, nearest, option_instead_of, quoted, takes_next};

/// What clap found wrong with these words, in a sentence; `None` for what is no mistake, such as `--help`.
pub(crate) fn sentence(error: &Error, words: &[OsString], line: &Command) -> Option<String> {
    if !error.use_stderr() {
        return None;
    }
    let command = words.get(1).and_then(|word| line.find_subcommand(word)).unwrap_or(line);
    let argument = shown(&one(error, ContextKind::InvalidArg));
    let option = argument.split([' ', '=']).next().unwrap_or_default();
    let typed = typed(option, words, command);
    let value = one(error, ContextKind::InvalidValue);
    Some(match error.kind() {
        ErrorKind::UnknownArgument if option.starts_with('-') => {
            format!("{option}: {}", option_instead_of(option, command, line))
        }
        ErrorKind::UnknownArgument => {
            format!("{argument}: one word too many; write {}", example(command))
        }
        ErrorKind::InvalidValue if value.is_empty() => format!("{typed} needs a value: write {argument}"),
        ErrorKind::InvalidValue => {
            let values = all(error, ContextKind::ValidValue);
            let meant = nearest(&value, values.iter().map(String::as_str));
            let meant = meant.map_or(String::new(), |meant| format!("; did you mean {meant}?"));
            format!("{typed}: {value} is none of {}{meant}", values.join(", "))
        }
        ErrorKind::NoEquals => format!("{typed} needs a value behind an equals sign: write {argument}"),
        ErrorKind::ValueValidation => format!("{typed} {}: {}", quoted(&[&value]), why(error)),
        ErrorKind::MissingRequiredArgument => missing(error, words, command, line),
        ErrorKind::ArgumentConflict => {
            let other: Vec<String> =
                all(error, ContextKind::PriorArg).iter().map(|name| shown(name)).collect();
            match other.first().is_none_or(|other| *other == argument) {
                true => format!("{typed} stands there twice; write it once"),
                false => format!("{argument} cannot be used with {}; leave one out", other.join(", ")),
            }
        }
        ErrorKind::WrongNumberOfValues | ErrorKind::TooManyValues | ErrorKind::TooFewValues => {
            let given = one(error, ContextKind::ActualNumValues);
            let needed = one(error, ContextKind::ExpectedNumValues);
            format!("{argument}: {given} given where {needed} are needed; write {}", example(command))
        }
        ErrorKind::InvalidSubcommand => {
            let given = one(error, ContextKind::InvalidSubcommand);
            let names =
                line.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name);
            let meant = nearest(&given, names).unwrap_or("COMMAND");
            format!("{given}: no such command; write holdup {meant} --help (holdup --help lists them all)")
        }
        _ => {
            let said = error.to_string();
            let said = said.lines().next().unwrap_or_default().trim_start_matches("error: ");
            format!("{said}; {}", help(command))
        }
    })
}

fn missing(error: &Error, words: &[OsString], command: &Command, line: &Command) -> String {
    let names: Vec<String> = all(error, ContextKind::InvalidArg).iter().map(|name| shown(name)).collect();
    let example = example(command);
    let is_shown =
        |name: &String| !name.starts_with('-') || example.contains(name.split(' ').next().unwrap_or(name));
    let way = if names.iter().all(is_shown) { format!("write {example}") } else { help(command) };
    // An option that took what was meant for another.
    let taken = match words {
        [.., option, value] => option.to_str().filter(|option| takes_next(option, line)).zip(value.to_str()),
        _ => None,
    };
    let taken = taken.filter(|_| names.iter().any(|name| !name.starts_with('-')));
    let taken = taken.map_or(String::new(), |(option, value)| format!(" ({value} is the value of {option})"));
    let verb = if names.len() > 1 { "are" } else { "is" };
    format!("{} {verb} required{taken}; {way}", names.join(" and "))
}

/// The option as it was typed, by its short name or its long one.
fn typed(option: &str, words: &[OsString], command: &Command) -> String {
    let argument = command.get_arguments().find(|one| option.starts_with('-') && is_called(one, option));
    let typed = words.iter().filter_map(|word| word.to_str()).find(|word| {
        !word.starts_with("--") && word.starts_with('-') && argument.is_some_and(|one| is_called(one, word))
    });
    typed.map_or_else(|| option.to_owned(), |word| word.chars().take(2).collect())
}

fn help(command: &Command) -> String {
    format!("{} --help says what it takes", called(command))
}

/// What is wrong with a value.
fn why(error: &Error) -> String {
    let said = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    if std::error::Error::source(error).is_some_and(|source| source.is::<std::num::ParseIntError>()) {
        return "give a whole number".to_owned();
    }
    let range = said.split_once(" is not in ").and_then(|(_, range)| range.split_once("..="));
    match range {
        // The largest number of its kind is no bound that anybody set.
        Some((least, most)) if most.len() >= u32::MAX.to_string().len() => format!("give {least} or more"),
        Some((least, most)) => format!("give a number from {least} to {most}"),
        None => said,
    }
}

/// An argument as it is typed: `--html OUT` for `--html <OUT>`.
fn shown(argument: &str) -> String {
    argument.replace("...", "").replace(['<', '>', '[', ']'], "")
}

fn one(error: &Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::Number(number)) => number.to_string(),
        _ => all(error, kind).into_iter().next().unwrap_or_default(),
    }
}

fn all(error: &Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(word)) => vec![word.clone()],
        Some(ContextValue::Strings(words)) => words.clone(),
        _ => Vec::new(),
    }
}
