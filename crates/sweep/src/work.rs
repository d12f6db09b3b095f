//! From a plan to what there is to do: cells, and the tasks that they need.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::hash::{content_hash, hash_of};
use crate::outcome::{Host, Outcome, Status};
use crate::plan::{INPUT, Input, Measure, Plan, Program, Roi, Subject, filled};
use crate::store::Store;

/// Part of each key: a change of what keys are made of, or of what outcomes mean, raises it.
const FORMAT: u32 = 2;

/// What every OpenMP runtime reads.
const OPENMP: &str = "OMP_NUM_THREADS";

/// Variables of the environment that change what a program does with threads or memory; those that begin like this.
const MATTERING: &[&str] = &["OMP_", "GOMP_", "KMP_", "LIBOMP_", "LD_LIBRARY_PATH", "LD_PRELOAD", "MALLOC_"];

/// Variables that the loader looks at begin like this.
const LOADER: &str = "LD_";

/// What results depend on besides the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circumstances {
    /// The version of holdup: recordings of another one are made again.
    pub version: String,
    /// The hash of holdup's own file: answers of another one are made again, of the same recordings.
    pub holdup: String,
}

/// One row of the results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// The program's name in the plan.
    pub program: String,
    /// What it belongs to.
    pub suite: Option<String>,
    /// The input's name.
    pub input: Option<String>,
    /// How many threads it was told to use.
    pub threads: Option<u32>,
    /// Which run of the same, from 1.
    pub repeat: u32,
    /// What is asked.
    pub measure: Measure,
    /// The machine that is simulated.
    pub machine: Option<String>,
    /// The cores that are simulated, where the plan says how many.
    pub cores: Option<u32>,
    /// What is changed in the simulation.
    pub what_if: Option<String>,
    /// The task that makes its recording; none where the plan gives the recording.
    pub recording: Option<String>,
    /// The task that makes its answer.
    pub answer: String,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// A hash of all that its result depends on.
    pub key: String,
    /// What to do.
    pub kind: TaskKind,
    /// The key of the task that makes what it needs.
    pub needs: Option<String>,
    /// How long it may take (ns).
    pub time_limit_ns: u64,
    /// How many threads the program was told to use; 1 if it was not told.
    pub threads: u32,
    /// Why it cannot be begun.
    pub trouble: Option<String>,
}

/// What a task does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TaskKind {
    /// Records a run.
    Record {
        /// Under emulation, with the instructions of this part.
        emulated: Option<Roi>,
        /// Program and arguments.
        command: Vec<String>,
        /// Variables that are set.
        environment: BTreeMap<String, String>,
        /// The current directory.
        directory: PathBuf,
        /// The file to read as standard input.
        stdin: Option<PathBuf>,
        /// Another status than 0 is no failure.
        ignore_status: bool,
        /// Hashes of the program and of its files, by path.
        files: BTreeMap<String, String>,
    },
    /// Asks holdup about a recording.
    Answer {
        /// What is asked.
        measure: Measure,
        /// The recording's file and its hash, where no task makes it.
        recording: Option<(PathBuf, String)>,
        /// The machine that is simulated.
        machine: Option<String>,
        /// The cores.
        cores: Option<u32>,
        /// The change.
        what_if: Option<String>,
        /// A speedup stack too.
        speedup_stack: bool,
    },
}

impl Task {
    /// True if nothing else should run on the machine meanwhile: it measures time.
    pub fn measures_time(&self) -> bool {
        matches!(self.kind, TaskKind::Record { emulated: None, .. })
    }
}

/// All cells and tasks of a plan.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// The cells, in the plan's order.
    pub cells: Vec<Cell>,
    /// Each task once, what is needed before who needs it.
    pub tasks: Vec<Task>,
    /// What keys do not tell apart, a sentence each.
    pub notes: Vec<String>,
}

/// Finds the shared libraries that a program loads: of its file, in a directory, with these variables. Or says why they are not
/// known.
pub type Libraries<'a> = &'a dyn Fn(&Path, &Path, &BTreeMap<String, String>) -> Result<Vec<PathBuf>, String>;

/// Looks at all files that a plan speaks of, and says what there is to do.
///
/// Programs and inputs that are missing do not end it: their tasks say why they cannot be begun.
pub fn work(plan: &Plan, circumstances: &Circumstances, libraries: Libraries<'_>) -> Work {
    let mut maker = Maker {
        circumstances,
        libraries,
        found: BTreeMap::new(),
        hashes: BTreeMap::new(),
        keys: BTreeSet::new(),
        work: Work::default(),
    };
    for program in &plan.programs {
        let inputs: Vec<Option<&Input>> = or_none(program.inputs.iter());
        let threads: Vec<Option<u32>> = or_none(program.threads.iter().copied());
        for &input in &inputs {
            for &threads in &threads {
                for repeat in 1..=program.repeats {
                    maker.point(program, &Point { input, threads, repeat });
                }
            }
        }
    }
    maker.work
}

/// The values, or one that is none.
fn or_none<T>(values: impl Iterator<Item = T>) -> Vec<Option<T>> {
    let all: Vec<Option<T>> = values.map(Some).collect();
    if all.is_empty() { vec![None] } else { all }
}

/// A combination of what a program is run with.
struct Point<'a> {
    input: Option<&'a Input>,
    threads: Option<u32>,
    repeat: u32,
}

impl Point<'_> {
    fn fill(&self, text: &str) -> String {
        filled(text, self.input.map(|input| input.value.as_str()), self.threads)
    }

    /// What a word of a command stands for: an input may be several arguments, or none.
    fn words(&self, word: &str, split: bool) -> Vec<String> {
        match self.fill(word) {
            text if split && word == INPUT => text.split_ascii_whitespace().map(str::to_owned).collect(),
            text => vec![text],
        }
    }
}

/// What decides which libraries are loaded: the program's file, the directory, and variables.
type Loaded = (PathBuf, PathBuf, BTreeMap<String, String>);

struct Maker<'a> {
    circumstances: &'a Circumstances,
    libraries: Libraries<'a>,
    /// The libraries of programs that were looked at.
    found: BTreeMap<Loaded, Vec<PathBuf>>,
    /// Of files that were looked at: a large input is read once.
    hashes: BTreeMap<PathBuf, Result<String, String>>,
    keys: BTreeSet<String>,
    work: Work,
}

impl Maker<'_> {
    fn point(&mut self, program: &Program, point: &Point<'_>) {
        for &measure in &program.measures {
            let (needs, recording, trouble) = match &program.subject {
                Subject::Run { .. } => {
                    let task = self.record(program, point, (measure == Measure::Sim).then_some(program.roi));
                    let key = task.key.clone();
                    self.add(task);
                    (Some(key), None, None)
                }
                Subject::Recording(path) => {
                    let path = PathBuf::from(point.fill(path));
                    match self.hash(&path) {
                        Ok(hash) => (None, Some((path, hash)), None),
                        Err(trouble) => (None, Some((path, String::new())), Some(trouble)),
                    }
                }
            };
            let answer = |machine, cores, what_if| TaskKind::Answer {
                measure,
                recording: recording.clone(),
                machine,
                cores,
                what_if,
                speedup_stack: program.speedup_stack && measure == Measure::Sim,
            };
            let kinds: Vec<TaskKind> = match measure {
                Measure::Report => vec![answer(None, None, None)],
                Measure::Sim => {
                    let cores: Vec<Option<u32>> = or_none(program.cores.iter().copied());
                    let changes: Vec<Option<String>> = std::iter::once(None)
                        .chain(program.what_ifs.iter().map(|what_if| Some(what_if.text.clone())))
                        .collect();
                    let machines = program.machines.iter().map(|machine| machine.text.clone());
                    machines
                        .flat_map(|machine| cores.iter().map(move |cores| (machine.clone(), *cores)))
                        .flat_map(|at| changes.iter().map(move |change| (at.clone(), change.clone())))
                        .map(|((machine, cores), change)| answer(Some(machine), cores, change))
                        .collect()
                }
            };
            for kind in kinds {
                let task = self.answer(program, point, kind, needs.clone(), trouble.clone());
                let TaskKind::Answer { machine, cores, what_if, .. } = &task.kind else { continue };
                let named = |path: &String| {
                    Path::new(path).file_stem().unwrap_or_default().to_string_lossy().into_owned()
                };
                self.work.cells.push(Cell {
                    program: program.name.text.clone(),
                    suite: program.suite.clone(),
                    input: point.input.map(|input| input.name.clone()),
                    threads: point.threads,
                    repeat: point.repeat,
                    measure,
                    machine: machine.as_ref().map(named),
                    cores: *cores,
                    what_if: what_if.clone(),
                    recording: needs.clone(),
                    answer: task.key.clone(),
                });
                self.add(task);
            }
        }
    }

    fn add(&mut self, task: Task) {
        if self.keys.insert(task.key.clone()) {
            self.work.tasks.push(task);
        }
    }

    fn record(&mut self, program: &Program, point: &Point<'_>, emulated: Option<Roi>) -> Task {
        let Subject::Run { command, split, environment, directory, files, stdin, ignore_status } =
            &program.subject
        else {
            unreachable!("only programs that are run are recorded")
        };
        let words = command.iter().enumerate();
        let command: Vec<String> = words.flat_map(|(at, word)| point.words(word, *split && at > 0)).collect();
        let mut environment: BTreeMap<String, String> =
            environment.iter().map(|(name, value)| (name.clone(), point.fill(value))).collect();
        if let Some(threads) = point.threads {
            environment.entry(OPENMP.to_owned()).or_insert_with(|| threads.to_string());
        }
        let stdin = stdin.as_ref().map(|path| directory.join(point.fill(path)));
        let mut hashes = BTreeMap::new();
        let mut trouble = None;
        let mut required: Vec<PathBuf> = Vec::new();
        match found(&command[0], directory, &environment) {
            Some(path) => {
                required.extend(self.libraries(&program.name.text, &path, directory, &environment));
                required.push(path);
            }
            None => trouble = Some(format!("{}: there is no such program", command[0])),
        }
        required.extend(files.iter().map(|file| directory.join(point.fill(file))));
        required.extend(stdin.clone());
        let arguments = command
            .iter()
            .skip(1)
            .flat_map(|word| [Some(word.as_str()), word.split_once('=').map(|(_, value)| value)]);
        let read: Vec<PathBuf> = arguments
            .flatten()
            .filter(|word| !word.is_empty())
            .map(|word| directory.join(word))
            .filter(|path| path.is_file())
            .collect();
        for path in required.into_iter().chain(read) {
            match self.hash(&path) {
                Ok(hash) => _ = hashes.insert(path.display().to_string(), hash),
                Err(problem) => trouble = trouble.or(Some(problem)),
            }
        }
        let outside: BTreeMap<String, String> = env::vars_os()
            .filter_map(|(name, value)| {
                Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
            })
            .filter(|(name, _)| {
                MATTERING.iter().any(|start| name.starts_with(start)) && !environment.contains_key(name)
            })
            .collect();
        let key = hash_of(&(
            (FORMAT, "record", &self.circumstances.version, emulated),
            (&command, &environment, &outside, directory, &stdin, ignore_status),
            (&hashes, &trouble, point.threads, point.repeat),
        ));
        Task {
            key,
            kind: TaskKind::Record {
                emulated,
                command,
                environment,
                directory: directory.clone(),
                stdin,
                ignore_status: *ignore_status,
                files: hashes,
            },
            needs: None,
            time_limit_ns: program.time_limit.as_nanos() as u64,
            threads: point.threads.unwrap_or(1),
            trouble,
        }
    }

    fn answer(
        &mut self,
        program: &Program,
        point: &Point<'_>,
        kind: TaskKind,
        needs: Option<String>,
        mut trouble: Option<String>,
    ) -> Task {
        let TaskKind::Answer { measure, recording, machine, cores, what_if, speedup_stack } = &kind else {
            unreachable!("a recording is no answer")
        };
        // A machine's file counts by its content.
        let machine_hash = match machine.as_ref().filter(|name| name.contains('/')) {
            Some(path) => match self.hash(Path::new(path)) {
                Ok(hash) => Some(hash),
                Err(problem) => {
                    trouble = trouble.or(Some(problem));
                    None
                }
            },
            None => None,
        };
        let key = hash_of(&(
            (FORMAT, "answer", &self.circumstances.holdup, measure),
            (&needs, recording, machine, machine_hash, cores, what_if, speedup_stack, &trouble),
        ));
        Task {
            key,
            needs,
            time_limit_ns: program.time_limit.as_nanos() as u64,
            threads: point.threads.unwrap_or(1),
            trouble,
            kind,
        }
    }

    /// The shared libraries of a program. Where they are not known, a note says so.
    fn libraries(
        &mut self,
        name: &str,
        path: &Path,
        directory: &Path,
        environment: &BTreeMap<String, String>,
    ) -> Vec<PathBuf> {
        let search: BTreeMap<String, String> = environment
            .iter()
            .filter(|(name, _)| name.starts_with(LOADER))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let key = (path.to_owned(), directory.to_owned(), search);
        if let Some(found) = self.found.get(&key) {
            return found.clone();
        }
        let found = (self.libraries)(path, directory, &key.2).unwrap_or_else(|reason| {
            self.work.notes.push(format!(
                "{name}: a change of its shared libraries would not be noticed, since they are not known: {reason}"
            ));
            Vec::new()
        });
        self.found.insert(key, found.clone());
        found
    }

    fn hash(&mut self, path: &Path) -> Result<String, String> {
        let look =
            || content_hash(path).map_err(|error| format!("{}: it cannot be read ({error})", path.display()));
        self.hashes.entry(path.to_owned()).or_insert_with(look).clone()
    }
}

/// The program's file, as the kernel would find it.
fn found(name: &str, directory: &Path, environment: &BTreeMap<String, String>) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(directory.join(name)).filter(|path| path.is_file());
    }
    let paths = environment.get("PATH").map(Into::into).or_else(|| env::var_os("PATH"))?;
    env::split_paths(&paths).map(|folder| folder.join(name)).find(|path| path.is_file())
}

impl Work {
    /// How a task ended, if it did and that still holds; `None` if it is to be done. `here` is where times would be measured now;
    /// without it, times of any machine count.
    pub fn outcome(&self, task: &Task, store: &Store, here: Option<&Host>) -> Option<Outcome> {
        if let Some(trouble) = &task.trouble {
            return Some(failed(task, Status::Failed, trouble.clone()));
        }
        let needed = match task.needs.as_ref().and_then(|key| self.tasks.iter().find(|task| task.key == *key))
        {
            Some(recording) => {
                let outcome = self.outcome(recording, store, here)?;
                if outcome.status != Status::Done {
                    return Some(failed(task, outcome.status, outcome.reason.unwrap_or_default()));
                }
                Some(outcome)
            }
            None => None,
        };
        let kept = store.outcome(&task.key)?;
        if kept.status == Status::Timeout && kept.time_limit_ns < Some(task.time_limit_ns) {
            return None;
        }
        match &task.kind {
            TaskKind::Record { .. } => {
                let is_elsewhere =
                    task.measures_time() && here.is_some_and(|here| !here.is_alike(&kept.host));
                let is_gone = kept.status == Status::Done && !store.recording(&task.key).is_file();
                (!is_elsewhere && !is_gone).then_some(kept)
            }
            // An answer of a recording that was made again since is not one of this.
            TaskKind::Answer { .. } => {
                needed.is_none_or(|needed| needed.recording == kept.recording).then_some(kept)
            }
        }
    }
}

/// The outcome of a task that was not begun.
fn failed(task: &Task, status: Status, reason: String) -> Outcome {
    Outcome {
        key: task.key.clone(),
        status,
        reason: Some(reason),
        time_limit_ns: Some(task.time_limit_ns),
        spent_ns: 0,
        holdup: String::new(),
        host: Host::default(),
        recording: None,
        numbers: Default::default(),
        files: BTreeMap::new(),
    }
}
