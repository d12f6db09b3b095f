//! From TOML to a plan. Whatever is wrong is told with its place.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use toml::{Spanned, Value};

use super::{INPUT, Input, Measure, Named, Program, Roi, SlurmOptions, Subject, THREADS};
use crate::counts::Counts;

/// How long a task may take where the plan does not say it.
const TIME_LIMIT: Duration = Duration::from_secs(600);
/// More than these in one plan are a slip of the keyboard.
const MOST_REPEATS: u32 = 1000;
/// What is simulated where the plan names no machine: that of `holdup sim`.
const MACHINE: &str = "genoa";

/// What is wrong, and at which byte of the text.
#[derive(Debug)]
pub(super) struct Wrong {
    pub at: usize,
    pub problem: String,
}

type Place<T> = Option<Spanned<T>>;

/// The file. What programs do not say themselves, it says for all of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    #[serde(default)]
    program: Vec<Spanned<Section>>,
    #[serde(default)]
    slurm: SlurmOptions,
    suite: Option<String>,
    measures: Place<Value>,
    threads: Place<Value>,
    machines: Place<Vec<Spanned<String>>>,
    cores: Place<Value>,
    what_ifs: Place<Vec<Spanned<String>>>,
    speedup_stack: Option<bool>,
    roi: Option<Roi>,
    repeats: Place<i64>,
    time_limit: Place<Value>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    ignore_status: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Section {
    name: Spanned<String>,
    suite: Option<String>,
    command: Place<Value>,
    recording: Place<String>,
    directory: Option<String>,
    inputs: Place<Value>,
    #[serde(default)]
    files: Vec<String>,
    stdin: Option<String>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    ignore_status: Option<bool>,
    measures: Place<Value>,
    threads: Place<Value>,
    machines: Place<Vec<Spanned<String>>>,
    cores: Place<Value>,
    what_ifs: Place<Vec<Spanned<String>>>,
    speedup_stack: Option<bool>,
    roi: Option<Roi>,
    repeats: Place<i64>,
    time_limit: Place<Value>,
}

/// Reads the text of a plan that lies in `folder`.
pub(super) fn parsed(text: &str, folder: &Path) -> Result<(Vec<Program>, SlurmOptions), Wrong> {
    let file: File = toml::from_str(text).map_err(|error| Wrong {
        at: error.span().map_or(0, |span| span.start),
        problem: error.message().lines().collect::<Vec<_>>().join(", "),
    })?;
    if file.program.is_empty() {
        return Err(Wrong {
            at: 0,
            problem: "there is no program; add a [[program]] with a name and a command".into(),
        });
    }
    let mut names = BTreeSet::new();
    let mut programs = Vec::with_capacity(file.program.len());
    for section in &file.program {
        let name = section.get_ref().name.get_ref();
        if name.trim().is_empty() {
            return wrong(&section.get_ref().name.span(), "a program's name is empty");
        }
        if !names.insert(name.as_str()) {
            return wrong(
                &section.get_ref().name.span(),
                format!("there are two programs {name:?}; give one another name"),
            );
        }
        programs.push(program(&file, section, folder)?);
    }
    Ok((programs, file.slurm))
}

fn program(file: &File, section: &Spanned<Section>, folder: &Path) -> Result<Program, Wrong> {
    let own = section.get_ref();
    let subject = subject(file, section, folder)?;
    let inputs = own.inputs.as_ref().map_or(Ok(Vec::new()), inputs)?;
    let threads = threads(file, own, &subject)?;
    check_placeholders(section, &subject, !inputs.is_empty(), !threads.is_empty())?;
    let named = |word: &Spanned<String>| Named { text: word.get_ref().clone(), at: word.span() };
    let list = |own: &Place<Vec<Spanned<String>>>, all: &Place<Vec<Spanned<String>>>| -> Vec<Named> {
        own.as_ref().or(all.as_ref()).map_or(Vec::new(), |list| list.get_ref().iter().map(named).collect())
    };
    let mut machines = list(&own.machines, &file.machines);
    let measures = match own.measures.as_ref().or(file.measures.as_ref()) {
        Some(asked) => measures(asked)?,
        // Who names machines wants them simulated.
        None if machines.is_empty() => vec![Measure::Report],
        None => vec![Measure::Sim],
    };
    if machines.is_empty() {
        machines.push(Named { text: MACHINE.to_owned(), at: section.span() });
    }
    for machine in &mut machines {
        if is_file(&machine.text) {
            machine.text = folder.join(&machine.text).display().to_string();
        }
    }
    let cores = own.cores.as_ref().or(file.cores.as_ref()).map_or(Ok(Vec::new()), numbers)?;
    let repeats = match own.repeats.as_ref().or(file.repeats.as_ref()) {
        None => 1,
        Some(repeats) => match u32::try_from(*repeats.get_ref()) {
            Ok(number @ 1..=MOST_REPEATS) => number,
            _ => return wrong(&repeats.span(), format!("repeats is a number from 1 to {MOST_REPEATS}")),
        },
    };
    Ok(Program {
        name: Named { text: own.name.get_ref().clone(), at: own.name.span() },
        suite: own.suite.clone().or(file.suite.clone()),
        subject,
        inputs,
        threads,
        measures,
        machines,
        cores,
        what_ifs: list(&own.what_ifs, &file.what_ifs),
        speedup_stack: own.speedup_stack.or(file.speedup_stack).unwrap_or(false),
        roi: own.roi.or(file.roi).unwrap_or_default(),
        repeats,
        time_limit: own.time_limit.as_ref().or(file.time_limit.as_ref()).map_or(Ok(TIME_LIMIT), seconds)?,
    })
}

/// The numbers of threads. A recording is of one: what is said for all programs is not about it, unless its name has the number.
fn threads(file: &File, own: &Section, subject: &Subject) -> Result<Vec<u32>, Wrong> {
    let is_one = matches!(subject, Subject::Recording(path) if !path.contains(THREADS));
    let threads = own.threads.as_ref().or(file.threads.as_ref().filter(|_| !is_one));
    let counts = threads.map_or(Ok(Vec::new()), numbers)?;
    match threads {
        Some(threads) if is_one && counts.len() > 1 => wrong(
            &threads.span(),
            format!("a recording has one number of threads; put {THREADS} into its name for several"),
        ),
        _ => Ok(counts),
    }
}

fn subject(file: &File, section: &Spanned<Section>, folder: &Path) -> Result<Subject, Wrong> {
    let own = section.get_ref();
    match (&own.command, &own.recording) {
        (Some(command), None) => {
            let mut environment = file.environment.clone();
            environment.extend(own.environment.clone());
            Ok(Subject::Run {
                command: words(command)?,
                split: command.get_ref().is_str(),
                environment,
                directory: own
                    .directory
                    .as_ref()
                    .map_or(folder.to_owned(), |directory| folder.join(directory)),
                files: own.files.clone(),
                stdin: own.stdin.clone(),
                ignore_status: own.ignore_status.or(file.ignore_status).unwrap_or(false),
            })
        }
        (None, Some(recording)) => {
            Ok(Subject::Recording(folder.join(recording.get_ref()).display().to_string()))
        }
        (None, None) => {
            wrong(&own.name.span(), format!("{} has neither a command nor a recording", own.name.get_ref()))
        }
        (Some(_), Some(recording)) => wrong(
            &recording.span(),
            format!("{} has both a command and a recording; leave one out", own.name.get_ref()),
        ),
    }
}

/// A placeholder that nothing stands for would go to the program as it is, and a list that no placeholder uses would give the same run
/// again and again. Numbers of threads are told by OpenMP's variable too.
fn check_placeholders(
    section: &Spanned<Section>,
    subject: &Subject,
    has_inputs: bool,
    has_threads: bool,
) -> Result<(), Wrong> {
    let own = section.get_ref();
    let texts: Vec<&String> = match subject {
        Subject::Run { command, environment, files, stdin, .. } => {
            command.iter().chain(environment.values()).chain(files).chain(stdin).collect()
        }
        Subject::Recording(path) => vec![path],
    };
    let uses = |placeholder: &str| texts.iter().any(|text| text.contains(placeholder));
    let name = own.name.get_ref();
    if uses(INPUT) && !has_inputs {
        return wrong(&own.name.span(), format!("{name} has {INPUT} and no inputs; add inputs = [\"…\"]"));
    }
    if let Some(inputs) = own.inputs.as_ref().filter(|_| has_inputs && !uses(INPUT)) {
        return wrong(
            &inputs.span(),
            format!("{name} has inputs, and {INPUT} is nowhere in its command, environment, files or stdin"),
        );
    }
    if uses(THREADS) && !has_threads {
        return wrong(
            &own.name.span(),
            format!("{name} has {THREADS} and no numbers of threads; add threads = [1, 2, 4]"),
        );
    }
    Ok(())
}

/// A list of words, or one text that is split at spaces; quotation marks keep words together.
fn words(command: &Spanned<Value>) -> Result<Vec<String>, Wrong> {
    let words = match command.get_ref() {
        Value::String(text) => split(text).ok_or_else(|| Wrong {
            at: command.span().start,
            problem: "a quotation mark in the command is never closed".to_owned(),
        })?,
        Value::Array(words) => match words.iter().map(Value::as_str).collect::<Option<Vec<_>>>() {
            Some(words) => words.into_iter().map(str::to_owned).collect(),
            None => {
                return wrong(&command.span(), "a command is a list of texts, [\"./app\", \"-t{threads}\"]");
            }
        },
        _ => return wrong(&command.span(), "a command is a text or a list of texts"),
    };
    match words.first().is_some_and(|first| !first.is_empty()) {
        true if words.iter().all(|word| !word.contains('\0')) => Ok(words),
        true => wrong(&command.span(), "there is a zero byte in the command"),
        false => wrong(&command.span(), "the command is empty"),
    }
}

/// Words at spaces, with what is between `'` or `"` kept together. No variables, no patterns: there is no shell.
fn split(text: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut open) = (Vec::new(), None::<String>, None);
    for letter in text.chars() {
        match (open, letter) {
            (Some(mark), _) if letter == mark => open = None,
            (None, '\'' | '"') => {
                open = Some(letter);
                word.get_or_insert_default();
            }
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    open.is_none().then_some(words)
}

/// `["small", "large"]`, or `{small = "-n 10", large = "-n 100"}`.
fn inputs(inputs: &Spanned<Value>) -> Result<Vec<Input>, Wrong> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        _ => None,
    };
    let found: Option<Vec<Input>> = match inputs.get_ref() {
        Value::Array(values) => values
            .iter()
            .map(|value| text(value).map(|text| Input { name: text.clone(), value: text }))
            .collect(),
        Value::Table(table) => table
            .iter()
            .map(|(name, value)| text(value).map(|value| Input { name: name.clone(), value }))
            .collect(),
        _ => None,
    };
    let Some(found) = found else {
        return wrong(&inputs.span(), "inputs is a list of texts, or a table of names and texts");
    };
    let names: BTreeSet<&str> = found.iter().map(|input| input.name.as_str()).collect();
    match names.len() == found.len() && !found.is_empty() {
        true => Ok(found),
        false if found.is_empty() => wrong(&inputs.span(), "the list of inputs is empty"),
        false => wrong(&inputs.span(), "an input is there twice"),
    }
}

/// `4`, `[1, 2, 4]`, or a text such as `"1-64:x2"`.
fn numbers(numbers: &Spanned<Value>) -> Result<Vec<u32>, Wrong> {
    let text = match numbers.get_ref() {
        Value::Integer(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(list) => list
            .iter()
            .map(|value| value.to_string().trim_matches('"').to_owned())
            .collect::<Vec<_>>()
            .join(","),
        _ => {
            return wrong(
                &numbers.span(),
                "give a number, a list such as [1, 2, 4], or a text such as \"1-64:x2\"",
            );
        }
    };
    match text.parse::<Counts>() {
        Ok(counts) => Ok(counts.iter().collect()),
        Err(problem) => wrong(&numbers.span(), problem),
    }
}

fn measures(measures: &Spanned<Value>) -> Result<Vec<Measure>, Wrong> {
    let list = match measures.get_ref() {
        Value::Array(list) => list.clone(),
        one => vec![one.clone()],
    };
    let found: Result<BTreeSet<Measure>, _> = list.into_iter().map(Value::try_into).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found.into_iter().collect()),
        _ => wrong(&measures.span(), "measures is a list of \"report\" and \"sim\""),
    }
}

fn seconds(limit: &Spanned<Value>) -> Result<Duration, Wrong> {
    let number = match limit.get_ref() {
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    };
    let length =
        number.filter(|number| *number > 0.0).and_then(|number| Duration::try_from_secs_f64(number).ok());
    length.ok_or_else(|| Wrong {
        at: limit.span().start,
        problem: "time-limit is a number of seconds above 0, such as 60 or 0.5".to_owned(),
    })
}

/// True for what is a path rather than a machine's name, as `holdup sim --machine` has it.
fn is_file(name: &str) -> bool {
    name.contains('/') || PathBuf::from(name).extension().is_some_and(|ending| ending == "toml")
}

fn wrong<T>(at: &Range<usize>, problem: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong { at: at.start, problem: problem.into() })
}

#[cfg(test)]
mod tests;
