//! The tasks as jobs of Slurm, on nodes that share the sweep's directory.
//!
//! Each round submits what has no outcome yet: an array of jobs for the recordings of each number of threads, and one for the
//! answers, which begins once all recordings have ended. A job does one task of a list that lies in the directory, and keeps its
//! outcome there as a local task does. Slurm gives a job whose node died to another node; whatever else happens to a job,
//! its task has no outcome then, and is in the next round.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use holdup_sweep::{
    Host, Numbers, Outcome, SlurmOptions, Status, Store, Task, TaskKind, content_hash, hash_of, replace,
};
use serde::{Deserialize, Serialize};

use super::task::{HOLDUP, Runner, host, worker};
use super::{Ended, Sweep};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::runs::Interrupt;

/// How often a task is given to Slurm before it counts as failed; nodes that die are Slurm's affair and not counted.
const ROUNDS: usize = 3;
/// Between two questions to Slurm.
const POLL: Duration = Duration::from_secs(1);
/// How long Slurm may give no answer.
const PATIENCE: Duration = Duration::from_secs(120);
/// Jobs of one array where Slurm does not say how many it takes (its own default).
const ARRAY: usize = 1000;
/// Beyond the task's time limit, for starting it and for ending it (s).
const SLACK: u64 = 60;
/// The jobs that were submitted and may still be there.
const SUBMITTED: &str = "slurm.json";

/// What the jobs of an array do: the first job does the first task.
#[derive(Serialize, Deserialize)]
struct List {
    /// The hash of holdup's file.
    holdup: String,
    tasks: Vec<Task>,
}

/// Does one task of a list, `LIST.INDEX`: what a job of an array is.
pub(super) fn task(directory: &Path, which: &str) -> Result<ExitCode, Failure> {
    let wrong = |why: String| Failure::input(format!("{}: {why}", directory.display()));
    let (list, index) = which.rsplit_once('.').ok_or_else(|| wrong(format!("{which} is no task")))?;
    let text = fs::read(list_path(directory, list))
        .map_err(|error| wrong(format!("no list of tasks {list} ({error})")))?;
    let list: List = serde_json::from_slice(&text)
        .map_err(|error| wrong(format!("the list of tasks is damaged ({error})")))?;
    if content_hash(Path::new(HOLDUP)).ok().as_ref() != Some(&list.holdup) {
        return Err(wrong(
            "this node has another holdup than the one that began the sweep; sweep again".to_owned(),
        ));
    }
    let task = index.parse().ok().and_then(|index: usize| list.tasks.get(index));
    let task = task.ok_or_else(|| wrong(format!("there is no task {index} in the list")))?;
    let store = Store::open(directory)?;
    let needed = match &task.needs {
        Some(key) => {
            let needed = store
                .outcome(key)
                .ok_or_else(|| wrong("the recording of this task is not there".to_owned()))?;
            if needed.status != Status::Done {
                return Ok(ExitCode::SUCCESS);
            }
            Some(needed)
        }
        None => None,
    };
    // A job that was given to another node may have done it before.
    let recording = needed.as_ref().and_then(|needed| needed.recording.as_ref());
    if store
        .outcome(&task.key)
        .is_some_and(|kept| recording.is_none() || kept.recording.as_ref() == recording)
    {
        return Ok(ExitCode::SUCCESS);
    }
    let interrupt = Interrupt::listen();
    let runner = Runner { store: &store, here: &host(), interrupt: &interrupt };
    Ok(match runner.run(task, needed.as_ref())? {
        Some(_) => ExitCode::SUCCESS,
        None => ExitCode::from(128u8.saturating_add(interrupt.came().unwrap_or(0))),
    })
}

fn list_path(directory: &Path, list: &str) -> PathBuf {
    directory.join(format!("work/{list}.tasks.json"))
}

/// Does what is to be done.
pub(super) fn run(
    sweep: &Sweep<'_>,
    options: &SlurmOptions,
    interrupt: &Interrupt,
) -> Result<Ended, Failure> {
    let directory = fs::canonicalize(sweep.store.path()).map_err(Failure::input)?;
    let slurm = Slurm {
        sweep,
        options,
        interrupt,
        holdup: std::env::current_exe().map_err(Failure::machine)?,
        hash: content_hash(Path::new(HOLDUP)).map_err(Failure::machine)?,
        directory,
        line: Arc::default(),
    };
    let line = Arc::clone(&slurm.line);
    let _progress = Progress::telling(move || line.lock().map_or(String::new(), |line| line.clone()));
    slurm.rounds()
}

struct Slurm<'a> {
    sweep: &'a Sweep<'a>,
    options: &'a SlurmOptions,
    interrupt: &'a Interrupt,
    holdup: PathBuf,
    hash: String,
    directory: PathBuf,
    line: Arc<Mutex<String>>,
}

impl Slurm<'_> {
    fn rounds(&self) -> Result<Ended, Failure> {
        // An earlier holdup's jobs may still be at it.
        let text = fs::read(self.directory.join(SUBMITTED)).unwrap_or_default();
        let earlier: Vec<String> = serde_json::from_slice(&text).unwrap_or_default();
        if let Some(ended) = self.wait(&earlier)? {
            return Ok(ended);
        }
        let mut is_first = true;
        for _ in 0..ROUNDS {
            let to_do: Vec<&Task> = self.to_do(is_first && self.sweep.retry);
            if to_do.is_empty() {
                break;
            }
            if is_first && self.sweep.retry {
                to_do.iter().for_each(|task| self.sweep.store.forget(&task.key));
            }
            is_first = false;
            let jobs = self.submit(&to_do)?;
            if let Some(ended) = self.wait(&jobs)? {
                return Ok(ended);
            }
        }
        let who = worker(&host());
        for task in self.to_do(false) {
            self.sweep.store.keep(&lost(task), &who)?;
        }
        // Nobody is at work any more.
        self.sweep.store.tidy(|_| false);
        Ok(Ended::Through)
    }

    /// What has no outcome, and can have one.
    fn to_do(&self, again: bool) -> Vec<&Task> {
        let sweep = Sweep { retry: again, ..*self.sweep };
        self.sweep.work.tasks.iter().filter(|task| sweep.outcome(task).is_none()).collect()
    }

    /// Submits tasks, and gives the ids of their jobs.
    fn submit(&self, to_do: &[&Task]) -> Result<Vec<String>, Failure> {
        let mut recordings: BTreeMap<(bool, u32), Vec<&Task>> = BTreeMap::new();
        let mut answers = Vec::new();
        for task in to_do {
            match &task.kind {
                TaskKind::Record { .. } => {
                    recordings.entry((task.measures_time(), task.threads)).or_default().push(task);
                }
                TaskKind::Answer { .. } => answers.push(*task),
            }
        }
        let most = most_of_an_array();
        let mut jobs = Vec::new();
        for ((alone, threads), tasks) in recordings {
            let cpus = threads.min(self.options.cpus.unwrap_or(u32::MAX)).max(1);
            let mut wants = vec![format!("--cpus-per-task={cpus}")];
            wants.extend(alone.then(|| "--exclusive".to_owned()));
            for tasks in tasks.chunks(most) {
                jobs.push(self.array(tasks, &wants)?);
                self.note(&jobs)?;
            }
        }
        let mut wants = vec!["--cpus-per-task=1".to_owned()];
        if !jobs.is_empty() {
            wants.push(format!("--dependency=afterany:{}", jobs.join(":")));
        }
        for tasks in answers.chunks(most) {
            jobs.push(self.array(tasks, &wants)?);
            self.note(&jobs)?;
        }
        Ok(jobs)
    }

    fn note(&self, jobs: &[String]) -> Result<(), Failure> {
        Ok(replace(&self.directory.join(SUBMITTED), &serde_json::to_vec(jobs).unwrap_or_default())?)
    }

    fn array(&self, tasks: &[&Task], wants: &[String]) -> Result<String, Failure> {
        let list =
            List { holdup: self.hash.clone(), tasks: tasks.iter().map(|task| (*task).clone()).collect() };
        let name = hash_of(&list)[..16].to_owned();
        replace(&list_path(&self.directory, &name), &serde_json::to_vec(&list).unwrap_or_default())?;
        let limit = tasks.iter().map(|task| task.time_limit_ns).max().unwrap_or(0) / 1_000_000_000;
        let script = format!(
            "exec {} sweep --runs {} --task {name}.$SLURM_ARRAY_TASK_ID",
            quoted(&self.holdup),
            quoted(&self.directory)
        );
        let mut sbatch = Command::new("sbatch");
        sbatch.args(["--parsable", "--requeue", "--open-mode=append", "--job-name=holdup-sweep"]);
        sbatch.arg(format!("--array=0-{}", tasks.len() - 1));
        sbatch.arg(format!("--time={}", (limit + SLACK).div_ceil(60)));
        sbatch.arg(format!("--output={}/logs/slurm-%A_%a.log", self.directory.display()));
        sbatch.arg(format!("--chdir={}", self.directory.display()));
        sbatch.args(wants).args(&self.options.options).arg("--wrap").arg(script);
        let said = sbatch.stdin(Stdio::null()).output().map_err(|error| {
            Failure::machine(format!("sbatch cannot be run ({error}); is this a machine of a Slurm cluster?"))
        })?;
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        // The id, and the cluster's name behind a semicolon where there are several.
        let id = text.trim().split(';').next().unwrap_or_default();
        if !said.status.success() || id.is_empty() {
            let error = String::from_utf8_lossy(&said.stderr).into_owned();
            return Err(Failure::machine(format!(
                "sbatch does not take the jobs ({}); options for it are in the plan's [slurm]",
                error.trim().lines().last().unwrap_or_default()
            )));
        }
        Ok(id.to_owned())
    }

    /// Waits until none of these jobs is there any more; gives something if the user does not want to wait.
    fn wait(&self, jobs: &[String]) -> Result<Option<Ended>, Failure> {
        let mut answered = Instant::now();
        loop {
            if let Some(signal) = self.interrupt.came() {
                eprintln!(
                    "holdup: the jobs go on; the same command waits for them again, and scancel {} ends them",
                    jobs.join(" ")
                );
                return Ok(Some(Ended::Interrupted(signal)));
            }
            match present(jobs) {
                Some(there) if there.iter().sum::<usize>() == 0 => return Ok(None),
                Some([waiting, others]) => {
                    answered = Instant::now();
                    let left = self.to_do(false).len();
                    let all = self.sweep.work.tasks.len();
                    if let Ok(mut line) = self.line.lock() {
                        *line = format!(
                            "holdup: {} of {all} tasks; jobs of Slurm: {others} run, {waiting} wait",
                            all - left
                        );
                    }
                }
                None if answered.elapsed() > PATIENCE => {
                    return Err(Failure::machine(
                        "squeue gives no answer; the jobs may go on, and the same command waits for them again",
                    ));
                }
                None => {}
            }
            sleep(POLL);
        }
    }
}

/// How many jobs of these are waiting, and how many are there besides; `None` if Slurm does not say.
fn present(jobs: &[String]) -> Option<[usize; 2]> {
    if jobs.is_empty() {
        return Some([0, 0]);
    }
    let mut squeue = Command::new("squeue");
    squeue.args(["--noheader", "--array", "--format=%F %T"]).stdin(Stdio::null());
    let said = squeue.output().ok().filter(|said| said.status.success())?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let ours = text
        .lines()
        .filter_map(|line| line.trim().split_once(' '))
        .filter(|(id, _)| jobs.iter().any(|job| job == id));
    let mut there = [0, 0];
    ours.for_each(|(_, state)| there[usize::from(state != "PENDING")] += 1);
    Some(there)
}

/// Slurm's `MaxArraySize` is one more than the largest index.
fn most_of_an_array() -> usize {
    let said = Command::new("scontrol").args(["show", "config"]).stdin(Stdio::null()).output();
    let text = said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned()).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MaxArraySize"));
    let size = line.and_then(|line| line.trim_start_matches([' ', '=']).trim().parse::<usize>().ok());
    size.unwrap_or(ARRAY).clamp(1, ARRAY)
}

/// A word for the shell of a job.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// The outcome of a task that Slurm never did.
fn lost(task: &Task) -> Outcome {
    Outcome {
        key: task.key.clone(),
        status: Status::Failed,
        reason: Some(format!("its jobs ended {ROUNDS} times without a result; see logs/slurm-*.log")),
        time_limit_ns: Some(task.time_limit_ns),
        spent_ns: 0,
        holdup: env!("CARGO_PKG_VERSION").to_owned(),
        host: Host::default(),
        recording: None,
        numbers: Numbers::default(),
        files: BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_reach_the_shell_of_a_job_as_they_are() {
        let path = Path::new("/a b/it's $HOME");
        let said = Command::new("sh").args(["-c", &format!("printf %s {}", quoted(path))]).output().unwrap();
        assert_eq!(said.stdout, path.as_os_str().as_encoded_bytes());
    }
}
