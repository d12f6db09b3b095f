//! The machine that programs are measured on: quiet, or beside busy loops.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use holdup_stage::{Ended, Form, run, text};
use serde_json::Value;

use super::quiet::{ACCEPTED, Meter, until_quiet};

/// How long the machine is watched before the next run once others were there.
const LOOK: Duration = Duration::from_millis(250);
/// So many looks are waited for others to be gone.
const LOOKS: u32 = 8;

/// Never waits, and ends once who started it has ended.
const BUSY: &str = "while kill -0 $PPID 2>&-; do i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; done";

/// Where a program is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Where {
    /// Nobody else uses the machine.
    Quiet,
    /// So many loops do, that never wait.
    Load,
}

impl Where {
    /// Its name in tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Where::Quiet => "quiet",
            Where::Load => "load",
        }
    }

    /// The one of that name.
    pub(super) fn of(name: &str) -> Option<Where> {
        [Where::Quiet, Where::Load].into_iter().find(|place| place.name() == name)
    }
}

/// Runs programs one at a time, and sees to it that nobody else is there.
pub(super) struct Machine {
    holdup: PathBuf,
    scratch: tempfile::TempDir,
    meter: Meter,
    real_time: bool,
    repeats: u32,
    loops: Vec<Child>,
    was_disturbed: bool,
    repeated: u32,
    disturbed: u32,
}

impl Machine {
    /// `holdup` is what is measured; with `real_time` programs run under `chrt -r 1`. A run beside which others used the machine
    /// is repeated so often before it counts all the same.
    pub(super) fn new(holdup: PathBuf, real_time: bool, repeats: u32) -> Result<Machine> {
        let scratch = tempfile::tempdir().context("no room for recordings")?;
        let meter = Meter::new(Path::new("/proc"));
        Ok(Machine {
            holdup,
            scratch,
            meter,
            real_time,
            repeats,
            loops: Vec::new(),
            was_disturbed: true,
            repeated: 0,
            disturbed: 0,
        })
    }

    /// Starts `count` busy loops, which end with [`Machine::calm`].
    pub(super) fn load(&mut self, count: u32) -> Result<()> {
        for _ in 0..count {
            let mut busy = Command::new("sh");
            busy.args(["-c", BUSY]).stdin(Stdio::null());
            self.loops.push(busy.spawn().context("sh does not run")?);
        }
        Ok(())
    }

    /// Ends the busy loops.
    pub(super) fn calm(&mut self) {
        for mut busy in self.loops.drain(..) {
            let _ = busy.kill();
            let _ = busy.wait();
        }
    }

    /// True while no busy loop runs.
    pub(super) fn is_quiet(&self) -> bool {
        self.loops.is_empty()
    }

    /// How many runs were repeated since the last call, and how many counted though others used the machine.
    pub(super) fn take_tally(&mut self) -> (u32, u32) {
        (std::mem::take(&mut self.repeated), std::mem::take(&mut self.disturbed))
    }

    /// A path for a file of a run.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// A command that runs `program` as it is measured.
    pub(super) fn command(&self, program: &Path) -> Command {
        if !self.real_time || !self.is_quiet() {
            return Command::new(program);
        }
        let mut command = Command::new("chrt");
        command.args(["-r", "1"]).arg(program);
        command
    }

    /// The binary that is measured.
    pub(super) fn holdup_path(&self) -> &Path {
        &self.holdup
    }

    /// A command of holdup.
    pub(super) fn holdup(&self) -> Command {
        self.command(&self.holdup)
    }

    /// Runs what `make` gives until nobody else used the machine meanwhile; how it ended, and after how many seconds.
    pub(super) fn measure(&mut self, make: impl Fn(&Machine) -> Command) -> Result<(Ended, f64)> {
        self.wait_for_quiet()?;
        let companions: Vec<u32> = self.loops.iter().map(Child::id).collect();
        let measured = until_quiet(self.repeats, || {
            let before = self.meter.read(&companions)?;
            let begin = Instant::now();
            let ended = run(&mut make(self));
            let seconds = begin.elapsed().as_secs_f64();
            let others = self.meter.read(&companions)?.others_since(before);
            Ok(((ended, seconds), others))
        })?;
        self.was_disturbed = measured.disturbed || measured.repeated > 0;
        self.repeated += measured.repeated;
        self.disturbed += u32::from(measured.disturbed);
        Ok(measured.value)
    }

    /// Once others were there, the next run begins when they have gone, or have stayed for long.
    fn wait_for_quiet(&mut self) -> Result<()> {
        for _ in 0..if self.was_disturbed { LOOKS } else { 0 } {
            let companions: Vec<u32> = self.loops.iter().map(Child::id).collect();
            let before = self.meter.read(&companions)?;
            sleep(LOOK);
            if self.meter.read(&companions)?.others_since(before) <= ACCEPTED {
                break;
            }
        }
        Ok(())
    }

    /// As [`Machine::measure`], of a command that must succeed and print JSON, maybe behind what the program prints.
    pub(super) fn measure_json(&mut self, make: impl Fn(&Machine) -> Command) -> Result<Value> {
        let (ended, _) = self.measure(make)?;
        json_of(&ended)
    }

    /// The seconds that a program takes without holdup.
    pub(super) fn measure_plain(&mut self, form: &Form, arguments: &[String]) -> Result<f64> {
        let (ended, seconds) = self.measure(|machine| {
            let mut command = machine.command(&form.program);
            command.args(&form.before).args(arguments);
            command
        })?;
        succeeded(&ended)?;
        Ok(seconds)
    }

    /// Records a program; gives what `holdup report --json` says of the recording.
    pub(super) fn measure_report(
        &mut self,
        program: &Path,
        arguments: &[String],
        options: &[&str],
    ) -> Result<Value> {
        let recording = self.path("truth.holdup");
        let (ended, _) = self.measure(|machine| {
            // A recording that is there is not written over.
            let _ = std::fs::remove_file(&recording);
            let mut command = machine.holdup();
            command.arg("record").args(options).arg("-o").arg(&recording).arg("--");
            command.arg(program).args(arguments);
            command
        })?;
        succeeded(&ended)?;
        self.report_again(&[])
    }

    /// Another report of the recording of [`Machine::measure_report`].
    pub(super) fn report_again(&self, options: &[&str]) -> Result<Value> {
        let mut command = self.holdup();
        json_of(&run(command.arg("report").arg(self.path("truth.holdup")).arg("--json").args(options)))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.calm();
    }
}

/// What a command printed, from the first line that is a bracket on.
pub(super) fn json_of(ended: &Ended) -> Result<Value> {
    succeeded(ended)?;
    let said = text(&ended.stdout);
    let begin = if said.starts_with('{') { 0 } else { said.find("\n{").context("it printed no JSON")? };
    serde_json::from_str(said[begin..].trim_start()).context("what it printed is no JSON")
}

/// An error for a command that failed.
pub(super) fn succeeded(ended: &Ended) -> Result<()> {
    if ended.status != 0 {
        let said = text(&ended.stderr);
        bail!("status {}: {}", ended.status, said.lines().last().unwrap_or_default());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(status: i32, stdout: &str, stderr: &str) -> Ended {
        Ended { status, stdout: stdout.into(), stderr: stderr.into() }
    }

    #[test]
    fn the_answer_comes_behind_what_the_program_prints() {
        let answer = json_of(&ended(0, "a {line}\n{\n\"a\": 1}\n", "")).expect("JSON");
        assert_eq!(answer["a"], 1);
        assert_eq!(json_of(&ended(0, "{\"a\": 2}", "")).expect("JSON")["a"], 2);
        assert!(json_of(&ended(0, "nothing", "")).is_err());
        let failed = json_of(&ended(3, "{}", "first\nlast\n")).expect_err("it failed").to_string();
        assert_eq!(failed, "status 3: last");
    }

    #[test]
    fn places_have_names() {
        for place in [Where::Quiet, Where::Load] {
            assert_eq!(Where::of(place.name()), Some(place));
        }
        assert_eq!(Where::of("elsewhere"), None);
    }
}
