//! `holdup whatif`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holdup_model::Timeline;
use holdup_model::figures::counted;
use holdup_replay::{Budget, NoReplay, Point, Prediction, Replayer, parse, sweep};

use crate::answer;
use crate::failure::Failure;
use crate::meant::{is_recording, quoted};
use crate::options::{Faces, Selection};
use crate::progress::Progress;

const AFTER: &str = "\
changes (several at once with a comma between them; one number may be a range, such as 1..16: a sweep)
  lock:NAME=0 nobody waits for it          lock:NAME/4 critical sections 4 times shorter
  lock:NAME split 8 eight locks instead    barrier:NAME=balanced, barrier:NAME=0
  site:FUNCTION/2, site:FILE:LINE/2 code twice as fast, with all that it calls (needs samples)
  thread:NAME/2 threads of this name or start function twice as fast
  threads:NAME=balanced equal work         alone:NAME/4 what they do alone, spread over 4 threads
  alone:NAME@FILE:LINE..FILE:LINE/4 of that only what is between calls there
  stage:NAME*2 twice as many of them       threads=8, threads:NAME=8, cores=8
  object:NAME=0 nobody waits for it        wakeup:NAME=0 its wake-ups cost nothing
  io=0, io/2, sleep=0, wakeup=0            load=0 nothing else on the machine
  io:FILE:LINE=0, sleep:FUNCTION/2 only what is waited for at this place
A part of a name is enough where only one name has it; names with blanks stand in single quotes.";

/// Options of `holdup whatif`.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = AFTER)]
pub(crate) struct WhatIfOptions {
    /// The recording
    #[arg(value_name = "FILE")]
    pub recording: PathBuf,
    /// What changes, such as lock:cache_lock/4 or cores=8; without any, what can be named is listed
    #[arg(value_name = "CHANGE")]
    pub expressions: Vec<String>,
    /// Change this by degrees, such as cores, lock:NAME or thread:NAME
    #[arg(long, value_name = "WHAT")]
    pub sweep: Vec<String>,
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub faces: Faces,
}

/// Says what changes of the program would give.
pub(crate) fn what_if(options: &WhatIfOptions) -> Result<ExitCode, Failure> {
    let path = &options.recording;
    options.faces.check_writable()?;
    options.faces.check_apart([path.as_path()])?;
    let recording = options.expressions.iter().find(|word| is_recording(Path::new(word)));
    if let Some(recording) = recording.filter(|_| !path.exists()) {
        let path = path.display().to_string();
        let instead = quoted(&["holdup", "whatif", recording, &path]);
        return Err(Failure::input(format!(
            "{path}: the recording stands before its changes; write {instead}"
        )));
    }
    let progress = Progress::start("reading the recording");
    let (recording, warnings) = answer::named(path, None, &progress)?;
    let part = options.selection.part();
    let run = part.cut(recording.run_from(&warnings, part.sources), path)?;
    let Some(process) = part.order(&run, path)?.first().map(|index| &run.processes[*index]) else {
        return Err(Failure::input(format!("{}: there is no process in this recording", path.display())));
    };
    let timeline = Timeline::build(process);
    let failed = |why: NoReplay| Failure::input(format!("{}: {why}", path.display()));
    let replayer = Replayer::of(process, &timeline, run.effective_cores_of(process)).map_err(failed)?;
    drop(progress);
    let mut results: Vec<(Point, Prediction)> = Vec::new();
    let swept = options.sweep.iter().map(|what| sweep(what));
    for expression in options.expressions.iter().cloned().chain(swept) {
        let points = parse(&expression, process).map_err(|error| Failure::input(error.to_string()))?;
        let sets: Vec<_> = points.iter().map(|point| point.changes.clone()).collect();
        let known = results.len();
        let progress = Progress::start("replaying the run");
        progress.at(format!("replaying the run with {}", counted(sets.len() as u64, "change", "changes")));
        let predictions = replayer.curve(&sets, &mut Budget::unlimited());
        drop(progress);
        let mut unknown = Vec::new();
        for (point, prediction) in points.into_iter().zip(predictions) {
            match prediction {
                Ok(prediction) => results.push((point, prediction)),
                Err(why) => unknown.push((point.expression, why)),
            }
        }
        match unknown.as_slice() {
            [] => {}
            // Nothing is left to tell of this expression.
            [(what, why), ..] if results.len() == known => {
                return Err(Failure::input(format!("{}: {what}: {why}", path.display())));
            }
            some => {
                for (what, why) in some {
                    eprintln!("holdup: {what} is left out: {why}");
                }
            }
        }
    }
    let answer = match results.is_empty() {
        true => holdup_whatif::expressible_answer(process, &replayer),
        false => holdup_whatif::answer(process, &replayer, &results),
    };
    options.faces.answer(&answer, || holdup_report::what_if_json_text(process, &replayer, &results))?;
    Ok(ExitCode::SUCCESS)
}
