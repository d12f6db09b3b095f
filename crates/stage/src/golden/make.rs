//! Making recordings: compile, run under `holdup record`, take the machine's names away.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::list::{Origin, Recipe, Setting, recordings};
use super::neutral;
use crate::{CpuQuota, Ended, Stage, child_of, run, start, text, workspace};

/// Where sources are, with all that they include.
const SOURCES: &[&str] = &["workloads", "bench/whatif", "crates/cli/tests/programs", "tests/harm", "include"];

/// What other programs on the machine may cost a run, as a share of its time.
const MOST_LOAD: f64 = 0.1;

/// How often a run is repeated that does not show what it is to show.
const TRIES: usize = 6;

/// Makes a recording, and puts it where it is kept; gives what a report finds in it, in words.
///
/// # Errors
/// Why there is none: what it is made of is missing, or no run showed what the table asks for.
pub fn make(recipe: &Recipe, holdup: &Path) -> Result<String, String> {
    let of = |other: &str| neutral::read(&recordings().join(format!("{other}.holdup")));
    match &recipe.origin {
        Origin::Cut { of: other, percent } => keep(recipe, &neutral::cut(&of(other)?, *percent), holdup),
        Origin::Damaged { of: other, frames } => keep(recipe, &neutral::damaged(&of(other)?, frames), holdup),
        Origin::Without { of: other, frames } => keep(recipe, &neutral::without(&of(other)?, frames), holdup),
        Origin::Run { .. } => {
            let site = Site::new(recipe)?;
            let mut last = String::new();
            for _ in 0..TRIES {
                let recording = neutral::neutral(&site.recorded(holdup)?)?;
                match keep(recipe, &recording, holdup) {
                    Ok(found) => return Ok(found),
                    Err(why) => last = why,
                }
            }
            Err(last)
        }
    }
}

/// Puts a recording where it is kept, if it is what was asked for.
fn keep(recipe: &Recipe, recording: &[u8], holdup: &Path) -> Result<String, String> {
    let file = recipe.file();
    let new = file.with_extension("new");
    fs::write(&new, recording).map_err(|error| format!("{}: {error}", new.display()))?;
    let kept = judged(recipe, &new, recording.len(), holdup);
    match &kept {
        Ok(_) => fs::rename(&new, &file),
        Err(_) => fs::remove_file(&new),
    }
    .map_err(|error| format!("{}: {error}", file.display()))?;
    kept
}

fn judged(recipe: &Recipe, file: &Path, length: usize, holdup: &Path) -> Result<String, String> {
    let largest = recipe.largest();
    if length > largest {
        return Err(format!("it has {length} bytes, more than {largest}: run it with smaller arguments"));
    }
    if recipe.instructions().is_some() {
        return Ok(format!("{length} bytes"));
    }
    let ended = run(Command::new(holdup).args(["report", "--json"]).arg(file));
    if ended.status != 0 && recipe.finds.is_empty() {
        return Ok(format!("{length} bytes; {}", text(&ended.stderr).trim()));
    }
    let json: Value = serde_json::from_slice(&ended.stdout).map_err(|error| format!("{error}: {ended:?}"))?;
    let findings = json["findings"].as_array().map_or(&[][..], Vec::as_slice);
    let kinds: Vec<&str> = findings.iter().filter_map(|finding| finding["kind"].as_str()).collect();
    let load = findings.iter().find(|finding| finding["kind"] == "load");
    let is_loaded = load.is_some_and(|load| load["share"].as_f64() > Some(MOST_LOAD));
    if is_loaded && !recipe.is_loaded() {
        return Err("other programs kept the CPUs busy: make it when they do not".to_owned());
    }
    match recipe.finds.iter().find(|kind| !kinds.contains(&kind.as_str())) {
        Some(missing) => Err(format!("no finding is of kind {missing}: {}", kinds.join(", "))),
        None => Ok(format!("{length} bytes; {}", kinds.join(", "))),
    }
}

/// Where a program is compiled and run: a directory whose name says nothing of the machine, gone afterwards.
struct Site<'a> {
    recipe: &'a Recipe,
    stage: Stage,
    /// The directory of the program, and what is run in it.
    directory: PathBuf,
    command: Vec<String>,
}

impl<'a> Site<'a> {
    fn new(recipe: &'a Recipe) -> Result<Site<'a>, String> {
        let Origin::Run { program, language, source, flags, arguments, settings, .. } = &recipe.origin else {
            return Err("it is made of another recording".to_owned());
        };
        let stage = Stage::called("holdup-golden")?;
        let copy = &mut Command::new("cp");
        succeeds(
            copy.current_dir(workspace()).args(["-r", "--parents"]).args(SOURCES).arg(stage.directory()),
        )?;
        let directory = stage.path("run");
        fs::create_dir(&directory).map_err(|error| error.to_string())?;
        let source = stage.path(source);
        let mut flags = flags.clone();
        if matches!(language.as_str(), "c" | "static" | "openmp" | "openmp-clang") {
            // Paths that are relative in the source are so to where the compiler runs.
            let here = std::env::current_dir().map_err(|error| error.to_string())?;
            flags.push(format!("-ffile-prefix-map={}={}", here.display(), stage.directory().display()));
        }
        let form = stage
            .form(&format!("run/{program}"), language, &source, &flags)
            .ok_or_else(|| format!("{language}: what compiles it is not installed"))?;
        if settings.contains(&Setting::Stripped) {
            succeeds(Command::new("strip").arg(&form.program))?;
        }
        let own = form.program.strip_prefix(&directory).map(|name| format!("./{}", name.display()));
        // An interpreter is that of the system, wherever the maker has others.
        let system =
            |path: &Path| format!("/usr/bin/{}", path.file_name().unwrap_or_default().to_string_lossy());
        let started = own.unwrap_or_else(|_| system(&form.program));
        let command = [vec![started], form.before, arguments.clone()].concat();
        Ok(Site { recipe, stage, directory, command })
    }

    /// The recording of one run.
    fn recorded(&self, holdup: &Path) -> Result<Vec<u8>, String> {
        let Origin::Run { settings, options, .. } = &self.recipe.origin else { unreachable!() };
        let _loops = Loops::start(settings);
        let file = self.directory.join("run.holdup");
        let quota = quota(settings)?;
        let mut command = self.command("sh", settings);
        // In a control group, and on some CPUs, is all that the shell starts.
        command.args([
            "-c",
            r#"[ -z "$GROUP" ] || echo $$ > "$GROUP/cgroup.procs"; unset GROUP; exec "$@""#,
            "-",
        ]);
        command.env("GROUP", quota.as_ref().map_or(Path::new(""), CpuQuota::folder));
        for setting in settings {
            if let Setting::Cpus(list) = setting {
                command.args(["taskset", "-c", list]);
            }
        }
        command.arg(holdup).arg("record").args(options).args(["-o", "run.holdup"]);
        let ended = match settings.iter().find(|one| matches!(one, Setting::Attach(_) | Setting::Killed(_))) {
            Some(Setting::Attach(after)) => self.attached(&mut command, *after, settings),
            Some(Setting::Killed(after)) => self.killed(&mut command, *after),
            _ => run(command.arg("--").args(&self.command)),
        };
        let recording = neutral::read(&file).map_err(|error| format!("{error}: {ended:?}"))?;
        fs::remove_file(&file).map_err(|error| error.to_string())?;
        Ok(recording)
    }

    /// A command in the program's directory, which finds nothing of the maker's in its environment.
    fn command(&self, program: &str, settings: &[Setting]) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.directory).env_clear();
        command.envs([("PATH", "/usr/bin:/bin"), ("LC_ALL", "C.UTF-8")]);
        command.env("XDG_CACHE_HOME", self.stage.path("cache")).env("HOME", self.stage.directory());
        for setting in settings {
            if let Setting::Variable(name, value) = setting {
                command.env(name, value);
            }
        }
        command
    }

    fn attached(&self, record: &mut Command, after: u64, settings: &[Setting]) -> Ended {
        let program = start(self.command(&self.command[0], settings).args(&self.command[1..]));
        thread::sleep(Duration::from_millis(after));
        let ended = run(record.arg("--pid").arg(program.pid().as_raw_pid().to_string()));
        let _ = rustix::process::kill_process_group(program.pid(), rustix::process::Signal::KILL);
        program.end();
        ended
    }

    fn killed(&self, record: &mut Command, after: u64) -> Ended {
        let recorder = start(record.arg("--").args(&self.command));
        let program = child_of(recorder.pid());
        thread::sleep(Duration::from_millis(after));
        let _ = rustix::process::kill_process(program, rustix::process::Signal::KILL);
        recorder.end()
    }
}

/// The control group that the program is to be in.
fn quota(settings: &[Setting]) -> Result<Option<CpuQuota>, String> {
    /// Microseconds of a tenth of a second.
    const PERCENT: u64 = 1_000;
    let wanted = settings.iter().find_map(|setting| match setting {
        Setting::Quota(percent) => Some(u64::from(*percent) * PERCENT),
        _ => None,
    });
    let Some(wanted) = wanted else { return Ok(None) };
    let group = CpuQuota::of("holdup-golden", wanted);
    group.map(Some).ok_or_else(|| "no control group with a quota can be made here: it needs root".to_owned())
}

fn succeeds(command: &mut Command) -> Result<(), String> {
    let ended = run(command);
    if ended.status == 0 { Ok(()) } else { Err(format!("{command:?}: {ended:?}")) }
}

/// Busy loops beside a run.
struct Loops(Vec<Child>);

impl Loops {
    fn start(settings: &[Setting]) -> Loops {
        let count =
            settings.iter().map(|setting| if let Setting::Load(count) = setting { *count } else { 0 });
        let spin = |_| Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn();
        Loops((0..count.sum()).map(spin).collect::<Result<_, _>>().expect("a busy loop"))
    }
}

impl Drop for Loops {
    fn drop(&mut self) {
        for one in &mut self.0 {
            let _ = one.kill();
            let _ = one.wait();
        }
    }
}
