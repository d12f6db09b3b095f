//! `holdup scale`: the same work with several numbers of threads.
//!
//! The runs are planned ([`Counts`], [`Control`], [`affinity`], [`stop`]), done one after another and kept in a
//! directory that says which are done ([`sweep`], [`manifest`]), and read again for the analysis ([`points`]).

mod affinity;
mod manifest;
mod points;
mod stop;
mod sweep;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use affinity::{Affinity, Topology};
use holdup_collect::{allowed_cores, find_program};
use holdup_report::{render_scale, scale_json_text, scale_page};
use holdup_scaling::Scaling;
use holdup_sweep::Counts;
use manifest::{Circumstances, Manifest, Subject};
use points::Origin;
use stop::{Rule, half_width};
use sweep::{Finish, Place, Plan, left_out};

use crate::failure::Failure;
use crate::options::{Faces, RunsDirectory};
use crate::runs::EachRun;
use crate::seconds::seconds;
use crate::thread_count::{Control, OPENMP, Variable};

/// A mean of which half of the 95 % interval is wider than this share says little.
const UNCERTAIN: f64 = 0.1;

const AFTER: &str = "\
holdup scale -t 1,2,4,8 -- ./app {threads}            the program takes the number as an argument
holdup scale -t 1-64:x2 --variable RAYON_NUM_THREADS -- ./app
holdup scale --runs sweep -- ./app                    keeps the runs; the same again goes on where it stopped
holdup scale --from sweep --html scale.html           shows them again
holdup scale --from 1=one.holdup --from 4=four.holdup shows recordings that were made otherwise

OMP_NUM_THREADS is set in each run, unless you set it yourself and tell the program in another way.
Statuses: 0 all runs succeeded; else that of the first run that failed, or 128 + the signal that stopped holdup;
2 wrong usage or input, 3 something is missing on this machine, both before the program starts.";

const KEPT: &str =
    "Keep the runs in this directory, and go on with those that it holds [default: they are removed]";

/// Options of `holdup scale`.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = AFTER, mut_arg("runs", |arg| arg.help(KEPT)))]
pub(crate) struct ScaleOptions {
    /// The numbers of threads: 1,2,4 or 1-8 or 1-64:x2 (doubling) or 4-16:4 (in steps) [default: 1, 2, 4… up to all CPUs]
    #[arg(short = 't', long, value_name = "LIST")]
    pub threads: Option<Counts>,
    /// Tell the number by this variable too, such as RAYON_NUM_THREADS, or by NAME=VALUE with {threads} in the value
    #[arg(long, value_name = "NAME")]
    pub variable: Vec<Variable>,
    /// Which CPUs each run may use
    #[arg(long, value_enum, default_value_t = Affinity::None)]
    pub affinity: Affinity,
    /// Run each number of threads so often [default: 2 to 5 times, until the mean wall time is known to 2 %]
    #[arg(short = 'r', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub repeat: Option<u16>,
    /// Repeat no run any more once all runs together took so long
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = seconds, conflicts_with = "repeat")]
    pub time_limit: Duration,
    /// Run each number of threads so often without recording too, to show what recording costs
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub plain: u16,
    /// Run the program so often before the first run that counts, with the most threads
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub warm_up: u16,
    #[command(flatten)]
    pub runs: RunsDirectory,
    /// Run nothing: show the runs in a directory of --runs, or recordings with the number of threads of each
    #[arg(long, value_name = "DIR|N=FILE", conflicts_with_all = ["command", "runs", "directory", "variable", "repeat"])]
    pub from: Vec<Origin>,
    #[command(flatten)]
    pub each: EachRun,
    #[command(flatten)]
    pub faces: Faces,
    /// The program and its arguments; {threads} in them stands for the number
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM",
        required_unless_present = "from"
    )]
    pub command: Vec<OsString>,
}

/// Runs a program with several numbers of threads, and says how it scales.
pub(crate) fn scale(options: &ScaleOptions) -> Result<ExitCode, Failure> {
    if !options.from.is_empty() {
        show(&read(options)?, options)?;
        return Ok(ExitCode::SUCCESS);
    }
    options.faces.check_writable()?;
    let control = Control::new(&options.command, &options.variable, std::env::var_os(OPENMP).as_deref());
    let subject = subject(options, &control)?;
    let place = Place::of(options.runs.chosen())?;
    let mut manifest = place.manifest(subject)?;
    let counts = match (&options.threads, Counts::of(manifest.threads.iter().copied())) {
        (Some(asked), _) => asked.clone(),
        (None, Some(earlier)) => earlier,
        (None, None) => Counts::up_to(allowed_cores()),
    };
    let rule = match options.repeat {
        Some(times) => Rule::Runs(usize::from(times)),
        None => Rule::TimeLimit(options.time_limit.as_secs_f64()),
    };
    manifest.threads = counts.iter().collect();
    manifest.rule = rule;
    let plan = Plan {
        counts: &counts,
        control: &control,
        plain: usize::from(options.plain),
        warm_up: usize::from(options.warm_up),
        affinity: options.affinity,
        topology: Topology::read(Path::new("/")),
        recording: &options.each.recording,
        output: options.each.outputs.output(),
        ignore_status: options.each.outputs.ignore_status,
    };
    match sweep::run(&plan, &mut manifest, &place.path)? {
        Finish::Done => {}
        Finish::Trouble(failure) => _ = failure.tell(),
        Finish::Interrupted(signal) => {
            eprintln!("holdup: {}", stopped(&manifest, &place));
            return Ok(ExitCode::from(128u8.saturating_add(signal)));
        }
    }
    // The programs' status stands, whatever becomes of the answer.
    let told =
        answer(&manifest, &place, &plan).and_then(|scaling| scaling.map_or(Ok(()), |s| show(&s, options)));
    _ = told.map_err(|failure| failure.tell());
    Ok(manifest.failures.first().map_or(ExitCode::SUCCESS, |failed| ExitCode::from(failed.status)))
}

/// What this call measures.
fn subject(options: &ScaleOptions, control: &Control) -> Result<Subject, Failure> {
    let first = control.command(1).into_iter().next().unwrap_or_default();
    let program = find_program(&first)?;
    Ok(Subject::now(&Circumstances {
        command: &options.command,
        program: &program,
        variables: options.variable.iter().map(Variable::to_string).collect(),
        collectors: options.each.recording.words(),
        affinity: options.affinity,
    }))
}

/// What is known once all is run; `None` where every run failed, which was told.
fn answer(manifest: &Manifest, place: &Place, plan: &Plan<'_>) -> Result<Option<Scaling>, Failure> {
    let usable = manifest.usable();
    let counts: Vec<u32> = plan.counts.iter().filter(|count| usable.contains(count)).collect();
    if counts.is_empty() {
        return Ok(None);
    }
    let mut scaling = points::of_sweep(manifest, &place.path, &counts)?;
    scaling.notes.extend(notes(manifest, &counts));
    Ok(Some(scaling))
}

/// What `--from` names.
fn read(options: &ScaleOptions) -> Result<Scaling, Failure> {
    let recordings: Vec<(u32, &Path)> = options
        .from
        .iter()
        .filter_map(|from| match from {
            Origin::Recording(threads, path) => Some((*threads, path.as_path())),
            Origin::Directory(_) => None,
        })
        .collect();
    let directories: Vec<&Path> = options
        .from
        .iter()
        .filter_map(|from| match from {
            Origin::Directory(path) => Some(path.as_path()),
            Origin::Recording(..) => None,
        })
        .collect();
    let directory = match (directories.as_slice(), recordings.as_slice()) {
        ([], recordings) => return points::of_recordings(recordings),
        ([directory], []) => *directory,
        _ => {
            return Err(Failure::input(
                "--from: give one directory, or recordings as N=FILE with the number of threads of each",
            ));
        }
    };
    let none = |why: &str| Failure::input(format!("{}: {why}", directory.display()));
    let manifest = Manifest::read(directory)?.ok_or_else(|| {
        none("there are no runs of holdup scale here; make some with --runs, or give N=FILE")
    })?;
    let mut counts = manifest.usable();
    if let Some(asked) = &options.threads {
        counts.retain(|count| asked.iter().any(|asked| asked == *count));
    }
    if counts.is_empty() {
        return Err(none("there is no run here to tell of; the command that began it goes on with it"));
    }
    let mut scaling = points::of_sweep(&manifest, directory, &counts)?;
    scaling.notes.extend(notes(&manifest, &counts));
    Ok(scaling)
}

/// How the runs were made: sentences for the reader of the answer.
fn notes(manifest: &Manifest, counts: &[u32]) -> Vec<String> {
    let known = |&count: &u32| {
        let walls = manifest.walls(count, true);
        let width = half_width(&walls).map_or(String::new(), |width| format!(" ±{:.1} %", width * 100.0));
        format!("{count}: {}{width}{}", walls.len(), manifest.verdict(count).words())
    };
    let each: Vec<String> = counts.iter().map(known).collect();
    let mut notes = vec![manifest.rule.sentence()];
    if manifest.rule != Rule::Runs(1) {
        notes.push(format!(
            "Runs by number of threads, with the 95 % interval of the mean: {}.",
            each.join("; ")
        ));
    }
    let widths = counts.iter().filter_map(|&count| half_width(&manifest.walls(count, true)));
    if widths.fold(0.0, f64::max) > UNCERTAIN {
        notes.push(
            "The runs differ much: give the program a quiet machine or more work, or run it more often (-r 10)."
                .to_owned(),
        );
    }
    let wanted = manifest.threads.iter().filter(|count| counts.contains(count)).count();
    let failed: Vec<u32> = manifest.failures.iter().map(|failed| failed.threads).collect();
    if manifest.threads.iter().any(|count| !counts.contains(count) && !failed.contains(count)) {
        notes.push(format!(
            "The runs are not complete: {wanted} of {} numbers of threads were run.",
            manifest.threads.len()
        ));
    }
    notes.extend(manifest.failures.iter().map(|failed| {
        let said = left_out(failed);
        format!("{}.", said[..1].to_uppercase() + &said[1..])
    }));
    let confined: Vec<String> =
        counts.iter().filter_map(|&count| Some(format!("{count}: CPUs {}", manifest.cpus(count)?))).collect();
    if !confined.is_empty() {
        let how = if manifest.subject.affinity == Affinity::Compact { "close together" } else { "far apart" };
        notes.push(format!(
            "Each run was confined to as many CPUs as threads, {how}, by number of threads: {}.",
            confined.join("; ")
        ));
    }
    if manifest.subject.environment.get("OMP_DYNAMIC").is_some_and(|value| value.eq_ignore_ascii_case("true"))
    {
        notes.push("OMP_DYNAMIC lets OpenMP use fewer threads than it is told.".to_owned());
    }
    notes
}

/// What is said when holdup was stopped.
fn stopped(manifest: &Manifest, place: &Place) -> String {
    let done = manifest.runs.len();
    let word = if done == 1 { "run" } else { "runs" };
    match place.stays {
        true => format!("stopped after {done} {word}; the same command goes on from there"),
        false => {
            format!(
                "stopped after {done} {word}, which are not kept; with --runs DIR they can be gone on with"
            )
        }
    }
}

/// Writes the answer as it was asked for.
fn show(scaling: &Scaling, options: &ScaleOptions) -> Result<(), Failure> {
    options.faces.show(
        || scale_page(scaling),
        || scale_json_text(scaling),
        |look| render_scale(scaling, look),
    )
}
