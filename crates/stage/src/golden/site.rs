//! Where a program is compiled and run, so that its recording says nothing of who made it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use super::list::{By, Origin, Recipe, Setting};
use crate::{CpuQuota, Ended, Stage, child_of, run, start, workspace};

/// Where sources are, with all that they include.
const SOURCES: &[&str] =
    &["examples", "workloads", "bench/whatif", "crates/cli/tests/programs", "tests/harm", "include"];

/// Where a program is compiled and run: a directory whose name says nothing of the machine, gone afterwards.
pub(super) struct Site<'a> {
    recipe: &'a Recipe,
    stage: Stage,
    /// The directory of the program, and what is run in it.
    directory: PathBuf,
    command: Vec<String>,
}

impl<'a> Site<'a> {
    /// Compiles the program.
    ///
    /// # Errors
    /// What is missing for that, or that somebody else makes recordings.
    pub(super) fn new(recipe: &'a Recipe) -> Result<Site<'a>, String> {
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
        let mut language = language.as_str();
        if language == "counted" {
            language = "c";
            flags.extend(counts_itself(&stage)?);
        }
        if matches!(language, "c" | "static" | "openmp" | "openmp-clang") {
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

    /// Runs the program once; gives the recording, or the directory of recordings.
    ///
    /// # Errors
    /// That nothing was recorded, and what was said instead.
    pub(super) fn recorded(&self, holdup: &Path) -> Result<PathBuf, String> {
        let Origin::Run { by, settings, options, .. } = &self.recipe.origin else { unreachable!() };
        let _loops = Loops::start(settings);
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
        let made = if *by == By::Stack { "runs" } else { "run.holdup" };
        command.arg(holdup).arg(by.word()).args(options).args(["-o", made]);
        let made = self.directory.join(made);
        let _ = fs::remove_file(&made).or_else(|_| fs::remove_dir_all(&made));
        let ended = match settings.iter().find(|one| matches!(one, Setting::Attach(_) | Setting::Killed(_))) {
            Some(Setting::Attach(after)) => self.attached(&mut command, *after, settings),
            Some(Setting::Killed(after)) => self.killed(&mut command, *after),
            _ => run(command.arg("--").args(&self.command)),
        };
        if made.exists() { Ok(made) } else { Err(format!("nothing was recorded: {ended:?}")) }
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

/// The flags that make gcc build a program that counts by itself what it executes.
fn counts_itself(stage: &Stage) -> Result<[String; 3], String> {
    let counting = stage.path("counting.o");
    let source = stage.path("include/holdup_counts.c");
    succeeds(Command::new("cc").args(["-O2", "-c", "-o"]).arg(&counting).arg(source))?;
    let flags = ["-fno-omit-frame-pointer", "-fsanitize-coverage=trace-pc"].map(str::to_owned);
    let [first, second] = flags;
    Ok([first, second, counting.display().to_string()])
}
