//! Options that several commands have, each declared here once: how a program is recorded, which part of a recording is meant,
//! where answers go, and where runs are kept.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use holdup_collect::{MAX_COST, Options, ask_debuginfod, may_ask_debuginfod};

use crate::answer::{self, Color, Part, check_writable};
use crate::collectors::Collector;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::seconds::seconds;
use holdup_answer::Answer;
use holdup_report::{Look, answer_page, render_answer};

fn mib(text: &str) -> Result<u64, String> {
    let size = text.parse().ok().filter(|mib| (1..=1 << 30).contains(mib));
    size.ok_or_else(|| "give MiB as a whole number from 1 on, such as 500".to_owned())
}

/// How large a recording may become.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct SizeLimit {
    /// Stop adding events when a recording has this size
    #[arg(long, value_name = "MIB", value_parser = mib)]
    size_limit: Option<u64>,
}

impl SizeLimit {
    /// In bytes.
    pub(crate) fn bytes(self) -> Option<u64> {
        self.size_limit.map(|mib| mib << 20)
    }
}

/// A share of the program's CPU time; `None` for any.
#[derive(Clone, Copy, Debug, PartialEq)]
struct MaxCost(Option<f64>);

fn max_cost(text: &str) -> Result<MaxCost, String> {
    if text == "none" {
        return Ok(MaxCost(None));
    }
    let percent = text.strip_suffix('%').unwrap_or(text).trim_end().parse::<f64>().ok();
    let percent = percent.filter(|percent| (0.1..=100.0).contains(percent));
    let share = percent.map(|percent| MaxCost(Some(percent / 100.0)));
    share.ok_or_else(|| "give percent from 0.1 to 100, such as 0.5, or none".to_owned())
}

/// How a program is recorded as it is, not under emulation.
#[derive(Args, Clone, Debug)]
pub(crate) struct RecordingOptions {
    /// Which collectors to use: the library inside of the program (preload), the kernel's records, or both
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Collector::Preload, Collector::Kernel])]
    pub(crate) collectors: Vec<Collector>,
    /// How much of the program's CPU time recording its context switches may take, in percent; where it would be more they are
    /// recorded for a part of the time only (none: record all)
    #[arg(long, value_name = "PERCENT", value_parser = max_cost, default_value = "2")]
    max_cost: MaxCost,
    /// What `--max-cost none` was called before
    #[arg(long, hide = true, conflicts_with = "max_cost")]
    every_switch: bool,
    /// Leave the program's arguments out of the recording
    #[arg(long)]
    no_arguments: bool,
    /// Leave the program's source out of the recording: the lines around those where it computes and waits
    #[arg(long)]
    no_source: bool,
    #[command(flatten)]
    size: SizeLimit,
}

impl RecordingOptions {
    /// A recording in this file, as these options say.
    pub(crate) fn options(&self, output: &Path) -> Options {
        Options {
            preload: self.collectors.contains(&Collector::Preload),
            kernel: self.collectors.contains(&Collector::Kernel),
            max_cost: self.max_cost(),
            arguments: !self.no_arguments,
            source: !self.no_source,
            size_limit: self.size.bytes(),
            ..Options::new(output)
        }
    }

    fn max_cost(&self) -> Option<f64> {
        self.max_cost.0.filter(|_| !self.every_switch)
    }

    /// What is the same for runs that can be compared, as words: the collectors, and what else was chosen.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words: Vec<String> =
            self.collectors.iter().map(|collector| format!("{collector:?}").to_lowercase()).collect();
        match self.max_cost() {
            None => words.push("max-cost none".to_owned()),
            Some(MAX_COST) => {}
            Some(share) => words.push(format!("max-cost {}", 100.0 * share)),
        }
        words.sort_unstable();
        words
    }
}

/// Where names of code may come from.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct NameSources {
    /// Ask the servers that DEBUGINFOD_URLS names for names of code that was stripped: they learn what is run here
    #[arg(long)]
    debuginfod: bool,
}

impl NameSources {
    /// Refuses what this machine cannot do.
    pub(crate) fn check(self) -> Result<(), Failure> {
        if !self.debuginfod {
            return Ok(());
        }
        may_ask_debuginfod().map_err(|why| Failure::machine(format!("--debuginfod: {why}")))
    }

    /// From here on servers are asked, if that is wanted: never while a program is recorded.
    pub(crate) fn use_them(self) {
        if self.debuginfod {
            ask_debuginfod();
        }
    }
}

/// A process by its id.
pub(crate) fn pid(text: &str) -> Result<u32, String> {
    let id = text.parse::<u32>().ok().filter(|id| *id > 0);
    let is_name = text.starts_with(|c: char| c.is_ascii_alphabetic() || "./".contains(c));
    let name = if is_name { text.rsplit('/').next().unwrap_or(text) } else { "NAME" };
    id.ok_or_else(|| format!("give the number of a process, such as --pid $(pidof {name})"))
}

/// The same of a process that ran.
fn pid_of_recording(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "give the pid of a process, as the report says it, such as 4711".to_owned())
}

/// Which part of the run is meant.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    /// Only what came after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    from: Option<Duration>,
    /// Only what came before so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    to: Option<Duration>,
}

impl Span {
    /// This part, of all processes.
    pub(crate) fn part(self) -> Part {
        Part { from: self.from, to: self.to, ..Part::default() }
    }
}

/// Which part of the run, and which of its processes.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Selection {
    #[command(flatten)]
    span: Span,
    /// Report on this process (its pid) first, instead of the busiest
    #[arg(long, value_name = "PID", value_parser = pid_of_recording)]
    process: Option<u32>,
}

impl Selection {
    /// This part, of this process.
    pub(crate) fn part(self) -> Part {
        Part { process: self.process, ..self.span.part() }
    }
}

/// Where an answer goes.
#[derive(Args, Clone, Debug)]
pub(crate) struct Printed {
    /// Where to write the answer [default: standard output; standard error after a program whose output is shown]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// When to use colour
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
    /// Shorten no name, and use all columns of the terminal
    #[arg(long)]
    wide: bool,
}

impl Printed {
    /// How to show things on `stream`.
    pub(crate) fn look(&self, stream: &(impl IsTerminal + AsFd)) -> Look {
        answer::look(self.color, self.wide, stream, self.output.is_some())
    }

    /// Writes the answer, as it is shown there: to the file, or else to this stream.
    pub(crate) fn to(
        &self,
        stream: impl Write + IsTerminal + AsFd,
        text: impl FnOnce(Look) -> String,
    ) -> Result<(), Failure> {
        let look = self.look(&stream);
        answer::write(&text(look), self.output.as_deref(), stream)
    }
}

/// How much is told.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Length {
    /// Tell in five lines what ran and what holds it up most
    #[arg(long)]
    pub(crate) brief: bool,
}

/// Where an answer goes that there is as JSON too.
#[derive(Args, Clone, Debug)]
pub(crate) struct Answered {
    /// Print JSON, as the schema with the command's name in docs/json-schema says; what a program prints then goes to standard
    /// error
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) printed: Printed,
}

impl Answered {
    /// Writes JSON if that is wanted, else the text.
    pub(crate) fn show(
        &self,
        json: impl FnOnce() -> String,
        text: impl FnOnce(Look) -> String,
    ) -> Result<(), Failure> {
        self.printed.to(io::stdout(), |look| if self.json { json() } else { text(look) })
    }
}

/// Where an answer goes that there is as a page and as JSON too.
#[derive(Args, Clone, Debug)]
pub(crate) struct Faces {
    /// Write a page to look at, one file that needs nothing else (- for standard output)
    #[arg(long, value_name = "OUT")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) answered: Answered,
}

impl Faces {
    /// True if JSON is wanted.
    pub(crate) fn json(&self) -> bool {
        self.answered.json
    }

    /// Refuses what could not be written in the end.
    pub(crate) fn check_writable(&self) -> Result<(), Failure> {
        let files = [&self.answered.printed.output, &self.html];
        let files = files.into_iter().flatten().filter(|out| out.as_os_str() != "-");
        files.map(PathBuf::as_path).try_for_each(check_writable)
    }

    /// Refuses to write over one of the files that the answer is made of.
    pub(crate) fn check_apart<'a>(&self, read: impl IntoIterator<Item = &'a Path>) -> Result<(), Failure> {
        let real = |path: &Path| fs::canonicalize(path).ok();
        let read: Vec<PathBuf> = read.into_iter().filter_map(real).collect();
        for (option, out) in [("--html", &self.html), ("--output", &self.answered.printed.output)] {
            let Some(out) = out else { continue };
            if real(out).is_some_and(|out| read.contains(&out)) {
                return Err(Failure::input(format!(
                    "{}: this is what the answer is made of, which it would replace; give {option} another name",
                    out.display()
                )));
            }
        }
        Ok(())
    }

    /// True if standard output is the answer's, not the program's. `data` is one that is no text for people.
    pub(crate) fn takes_stdout(&self, data: bool) -> bool {
        (data && self.answered.printed.output.is_none())
            || self.html.as_deref().is_some_and(|out| out.as_os_str() == "-")
    }

    /// Writes an answer as a page where one is wanted, and as text, or as JSON, unless the page is all that is wanted.
    pub(crate) fn answer(&self, answer: &Answer, json: impl FnOnce() -> String) -> Result<(), Failure> {
        self.show(|| answer_page(answer), json, |look| render_answer(answer, look))
    }

    /// Writes the page where one is wanted, and the text, or JSON, unless the page is all that is wanted.
    pub(crate) fn show(
        &self,
        page: impl FnOnce() -> String,
        json: impl FnOnce() -> String,
        text: impl FnOnce(Look) -> String,
    ) -> Result<(), Failure> {
        let data = self.json().then_some(json);
        self.show_beside(false, page, data, text)
    }

    /// The same, with text on standard error if a program has used standard output, and with any other data in place of JSON.
    pub(crate) fn show_beside(
        &self,
        is_shared: bool,
        page: impl FnOnce() -> String,
        data: Option<impl FnOnce() -> String>,
        text: impl FnOnce(Look) -> String,
    ) -> Result<(), Failure> {
        let printed = &self.answered.printed;
        if let Some(out) = &self.html {
            let file = Some(out.as_path()).filter(|out| out.as_os_str() != "-");
            let progress = Progress::start("making the page");
            let page = page();
            drop(progress);
            answer::write(&page, file, io::stdout())?;
            if data.is_none() && printed.output.is_none() {
                return Ok(());
            }
        }
        match data {
            Some(data) => printed.to(io::stdout(), |_| data()),
            None if is_shared => printed.to(io::stderr(), text),
            None => printed.to(io::stdout(), text),
        }
    }
}

/// Where runs are kept.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunsDirectory {
    /// Keep the runs in this directory, which must be new or empty [default: they are removed]
    #[arg(long, value_name = "DIR")]
    runs: Option<PathBuf>,
    /// What it was called before
    #[arg(short = 'o', long = "directory", value_name = "DIR", hide = true, conflicts_with = "runs")]
    directory: Option<PathBuf>,
}

impl RunsDirectory {
    /// The directory, if one was named.
    pub(crate) fn chosen(&self) -> Option<&Path> {
        if self.directory.is_some() {
            hint("a directory of runs is named by --runs DIR");
        }
        self.runs.as_deref().or(self.directory.as_deref())
    }
}

/// How `--output` was called before by commands that make a file.
#[derive(Args, Clone, Debug)]
pub(crate) struct EarlierOutput {
    /// What it was called before
    #[arg(short = 'o', value_name = "PATH", hide = true, conflicts_with = "output")]
    earlier_output: Option<PathBuf>,
}

impl EarlierOutput {
    /// The place that was named, by whichever name.
    pub(crate) fn or<'a>(&'a self, output: Option<&'a Path>) -> Option<&'a Path> {
        if self.earlier_output.is_some() {
            hint("what is made is named by --output");
        }
        self.earlier_output.as_deref().or(output)
    }
}

/// Says what to write in place of `-o`, which names the recording, and is understood otherwise in this version for the last time.
pub(crate) fn hint(instead: &str) {
    eprintln!("holdup: {instead}; the next version does not understand -o or --directory here");
}
