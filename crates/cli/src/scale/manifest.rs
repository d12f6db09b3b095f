//! What a sweep's directory says of itself: the command, what it depends on, and which runs are done.
//!
//! It is one file of TOML, replaced as a whole after each run: so the directory can be used again whenever holdup was
//! stopped. A recording that it does not name is of a run that was not finished.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use holdup_collect::as_caller;
use holdup_model::{CpuSet, Nanos};
use serde::{Deserialize, Serialize};

use super::affinity::Affinity;
use super::stop::{Rule, Verdict};
use crate::failure::Failure;
use crate::thread_count::{Control, OPENMP, Variable};

/// The file's name.
pub(crate) const NAME: &str = "scale.toml";
/// What it is called while it is written.
const NEW: &str = "scale.toml.new";
/// Its version. Members are only added; a change that older versions would misread raises it.
const VERSION: u32 = 1;

/// Variables of the environment that change what a program does with threads or memory; those that begin like this.
const MATTERING: &[&str] = &["OMP_", "GOMP_", "KMP_", "LIBOMP_", "LD_LIBRARY_PATH", "LD_PRELOAD", "MALLOC_"];

/// A sweep and its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Manifest {
    version: u32,
    /// The version of holdup that began it.
    holdup: String,
    /// The numbers of threads that were last asked for.
    pub threads: Vec<u32>,
    /// When runs are repeated, as last asked for.
    pub rule: Rule,
    /// What is measured; the same in all runs.
    pub subject: Subject,
    /// Runs that are done, in their order.
    #[serde(default, rename = "run")]
    pub runs: Vec<Done>,
    /// Runs that failed, in their order.
    #[serde(default, rename = "failure")]
    pub failures: Vec<Failed>,
}

/// What is measured, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Subject {
    /// Program and arguments, with the placeholder. What is no UTF-8 is escaped.
    pub command: Vec<String>,
    /// The current directory.
    directory: String,
    /// The program's file.
    program: ProgramFile,
    /// The variables that tell the number of threads.
    #[serde(default)]
    variables: Vec<String>,
    /// The collectors that were asked for.
    collectors: Vec<String>,
    /// How CPUs are chosen.
    pub affinity: Affinity,
    /// The processor's name, as the kernel tells it.
    processor: String,
    /// How many CPUs may be used.
    cores: u32,
    /// Other variables of the environment that matter.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

/// A program's file, by which a rebuilt one is told from what it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ProgramFile {
    path: String,
    bytes: u64,
    /// ns of its modification since 1970.
    modified: i64,
}

/// A run that is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Done {
    /// How many threads it was told to use.
    pub threads: u32,
    /// Its wall time.
    wall_ns: u64,
    /// The CPUs that it was confined to, as the kernel lists them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
    /// The recording, in the manifest's directory; `None` of a run without recording.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording: Option<String>,
}

impl Done {
    /// A run that was recorded, or a plain one, confined to these CPUs if there are any.
    pub(crate) fn new(threads: u32, wall: Nanos, cpus: &[u32], recording: Option<String>) -> Done {
        let cpus = (!cpus.is_empty()).then(|| cpus.iter().copied().collect::<CpuSet>().to_string());
        Done { threads, wall_ns: wall.get(), cpus, recording }
    }

    /// Its wall time.
    pub(crate) fn wall(&self) -> Nanos {
        Nanos::new(self.wall_ns)
    }
}

/// A run that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Failed {
    /// How many threads it was told to use.
    pub threads: u32,
    /// Its status, as a shell gives it.
    pub status: u8,
}

impl Failed {
    /// How it ended, in words.
    pub(crate) fn words(&self) -> String {
        match self.status {
            status @ 129..=192 => format!("signal {}", status - 128),
            status => format!("status {status}"),
        }
    }
}

/// What may vary from call to call, and decides whether runs belong together.
pub(crate) struct Circumstances<'a> {
    /// The command, with the placeholder.
    pub command: &'a [OsString],
    /// Where the program is.
    pub program: &'a Path,
    /// The variables that tell the number of threads, as typed.
    pub variables: Vec<String>,
    /// The collectors.
    pub collectors: Vec<String>,
    /// How CPUs are chosen.
    pub affinity: Affinity,
}

impl Subject {
    /// As things are now.
    pub(crate) fn now(circumstances: &Circumstances<'_>) -> Subject {
        let facts = circumstances.program.metadata().ok();
        let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = processors.lines().find_map(|line| line.strip_prefix("model name"));
        let matters = |name: &str| MATTERING.iter().any(|start| name.starts_with(start));
        Subject {
            command: circumstances.command.iter().map(|word| written(word)).collect(),
            directory: std::env::current_dir().map(|path| written(path.as_os_str())).unwrap_or_default(),
            program: ProgramFile {
                path: written(circumstances.program.as_os_str()),
                bytes: facts.as_ref().map_or(0, |facts| facts.size()),
                modified: facts.as_ref().map_or(0, |facts| {
                    facts.mtime().saturating_mul(1_000_000_000).saturating_add(facts.mtime_nsec())
                }),
            },
            variables: circumstances.variables.clone(),
            collectors: circumstances.collectors.clone(),
            affinity: circumstances.affinity,
            processor: model.unwrap_or_default().trim_start_matches([':', ' ', '\t']).to_owned(),
            cores: holdup_collect::allowed_cores(),
            environment: std::env::vars_os()
                .map(|(name, value)| (written(&name), written(&value)))
                .filter(|(name, _)| matters(name))
                .collect(),
        }
    }

    /// How the program is told the number of threads.
    pub(crate) fn control(&self) -> Control {
        let command: Vec<OsString> = self.command.iter().map(OsString::from).collect();
        let variables: Vec<Variable> = self.variables.iter().filter_map(|typed| typed.parse().ok()).collect();
        Control::new(&command, &variables, self.environment.get(OPENMP).map(OsStr::new))
    }

    /// What differs, in words; `None` where runs of both belong together.
    fn difference(&self, now: &Subject) -> Option<String> {
        let shell = |words: &[String]| words.join(" ");
        let differing = |what: &str, was: &str, is: &str| Some(format!("{what} was {was}, and is {is} now"));
        if self.command != now.command {
            return differing("the command", &shell(&self.command), &shell(&now.command));
        }
        if self.directory != now.directory {
            return differing("the current directory", &self.directory, &now.directory);
        }
        if self.program.path != now.program.path {
            return differing("the program", &self.program.path, &now.program.path);
        }
        if self.program != now.program {
            return Some(format!("{} is not the same file as then", now.program.path));
        }
        if (&self.processor, self.cores) != (&now.processor, now.cores) {
            let machine = |subject: &Subject| format!("{} CPUs ({})", subject.cores, subject.processor);
            return differing("the machine", &machine(self), &machine(now));
        }
        if self.affinity != now.affinity {
            let word = |affinity: Affinity| format!("{affinity:?}").to_lowercase();
            return differing("--affinity", &word(self.affinity), &word(now.affinity));
        }
        for (what, was, is) in [
            ("--variable", &self.variables, &now.variables),
            ("--collectors", &self.collectors, &now.collectors),
        ] {
            if was != is {
                return differing(what, &format!("[{}]", was.join(", ")), &format!("[{}]", is.join(", ")));
            }
        }
        let names = self.environment.keys().chain(now.environment.keys());
        let mut changed = names.filter(|name| self.environment.get(*name) != now.environment.get(*name));
        let word = |value: Option<&String>| value.map_or("not set".to_owned(), |value| format!("{value:?}"));
        changed.next().and_then(|name| {
            let (was, is) = (self.environment.get(name), now.environment.get(name));
            differing(name, &word(was), &word(is))
        })
    }
}

/// A word as text; what is no UTF-8 by its bytes.
fn written(word: &OsStr) -> String {
    word.to_str().map_or_else(|| word.as_bytes().escape_ascii().to_string(), str::to_owned)
}

impl Manifest {
    /// That of a sweep in which nothing was run yet.
    pub(crate) fn new(subject: Subject) -> Manifest {
        Manifest {
            version: VERSION,
            holdup: env!("CARGO_PKG_VERSION").to_owned(),
            threads: Vec::new(),
            rule: Rule::Runs(0),
            subject,
            runs: Vec::new(),
            failures: Vec::new(),
        }
    }

    /// That of a directory; `None` where there is none.
    pub(crate) fn read(directory: &Path) -> Result<Option<Manifest>, Failure> {
        let path = directory.join(NAME);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(Failure::input(format!("{}: cannot be read ({error})", path.display())));
            }
        };
        // The version first: a newer one may have any members.
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        if let Ok(Versioned { version }) = toml::from_str(&text)
            && version > VERSION
        {
            return Err(Failure::input(format!(
                "{}: it is of version {version}, and this holdup reads up to {VERSION}; use the newer holdup",
                path.display()
            )));
        }
        match toml::from_str(&text) {
            Ok(manifest) => Ok(Some(manifest)),
            Err(error) => Err(Failure::input(format!(
                "{}: this is not what `holdup scale` writes ({}); remove the directory to begin again",
                path.display(),
                error.message()
            ))),
        }
    }

    /// Goes on with what a directory holds of the same subject.
    ///
    /// # Errors
    /// Names what differs.
    pub(crate) fn go_on(self, directory: &Path, now: &Subject) -> Result<Manifest, Failure> {
        match self.subject.difference(now) {
            None => Ok(self),
            Some(difference) => Err(Failure::input(format!(
                "{}: holds runs of something else: {difference}; give --runs another directory",
                directory.display()
            ))),
        }
    }

    /// Replaces the file: whenever holdup is stopped, the old one or the new one is there as a whole.
    pub(crate) fn write(&self, directory: &Path) -> Result<(), Failure> {
        let replace = || -> io::Result<()> {
            let text = toml::to_string(self).map_err(io::Error::other)?;
            let new = directory.join(NEW);
            let mut file = File::create(&new)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, directory.join(NAME))?;
            File::open(directory)?.sync_all()
        };
        as_caller(replace).map_err(|error| {
            Failure::input(format!(
                "{}: runs cannot be noted here ({error}); give --runs another directory",
                directory.display()
            ))
        })
    }

    /// Wall times of the runs at this number of threads: recorded ones, or plain ones.
    pub(crate) fn walls(&self, threads: u32, recorded: bool) -> Vec<Nanos> {
        let wanted = |done: &&Done| done.threads == threads && done.recording.is_some() == recorded;
        self.runs.iter().filter(wanted).map(Done::wall).collect()
    }

    /// All that runs took together.
    fn spent(&self) -> Nanos {
        self.runs.iter().map(Done::wall).sum()
    }

    /// Whether this number of threads is to be run again.
    pub(crate) fn verdict(&self, threads: u32) -> Verdict {
        self.rule.verdict(&self.walls(threads, true), self.spent())
    }

    /// The recordings at this number of threads.
    pub(crate) fn recordings(&self, directory: &Path, threads: u32) -> Vec<PathBuf> {
        let of_count = self.runs.iter().filter(|done| done.threads == threads);
        of_count.filter_map(|done| Some(directory.join(done.recording.as_ref()?))).collect()
    }

    /// The CPUs that runs at this number of threads were confined to.
    pub(crate) fn cpus(&self, threads: u32) -> Option<&str> {
        self.runs.iter().find(|done| done.threads == threads)?.cpus.as_deref()
    }

    /// The numbers of threads at which there are recordings and no run failed, ascending.
    pub(crate) fn usable(&self) -> Vec<u32> {
        let mut usable: Vec<u32> =
            self.runs.iter().filter(|done| done.recording.is_some()).map(|done| done.threads).collect();
        usable.sort_unstable();
        usable.dedup();
        usable.retain(|threads| self.failures.iter().all(|failed| failed.threads != *threads));
        usable
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn subject(command: &[&str]) -> Subject {
        let command: Vec<OsString> = command.iter().map(OsString::from).collect();
        Subject::now(&Circumstances {
            command: &command,
            program: Path::new("/proc/self/exe"),
            variables: vec!["RAYON_NUM_THREADS".to_owned()],
            collectors: vec!["preload".to_owned()],
            affinity: Affinity::Spread,
        })
    }

    fn refusal(result: Result<impl std::fmt::Debug, Failure>) -> String {
        format!("{:?}", result.expect_err("refused"))
    }

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(Manifest::read(directory.path()).unwrap(), None);
        let mut manifest = Manifest::new(subject(&["./app", "a \"b\"\n", "{threads}"]));
        manifest.threads = vec![1, 2];
        for threads in [2, 1] {
            manifest.runs.push(Done::new(threads, Nanos::new(7), &[3, 2], Some(format!("{threads}.holdup"))));
            manifest.runs.push(Done::new(threads, Nanos::new(5), &[], None));
            manifest.write(directory.path()).unwrap();
            assert_eq!(Manifest::read(directory.path()).unwrap().as_ref(), Some(&manifest));
        }
        assert_eq!(manifest.walls(2, true), [Nanos::new(7)]);
        assert_eq!(manifest.walls(2, false), [Nanos::new(5)]);
        assert_eq!(manifest.recordings(Path::new("d"), 1), [Path::new("d/1.holdup")]);
        assert_eq!(manifest.cpus(2), Some("2-3"));
        assert_eq!(manifest.usable(), [1, 2]);
        manifest.failures.push(Failed { threads: 2, status: 139 });
        assert_eq!((manifest.usable(), manifest.failures[0].words()), (vec![1], "signal 11".to_owned()));
    }

    #[test]
    fn another_subject_is_refused_by_what_differs() {
        let was = subject(&["./app", "1"]);
        let manifest = Manifest::new(was.clone());
        let refused = |now: &Subject| refusal(manifest.clone().go_on(Path::new("DIR"), now));
        assert!(manifest.clone().go_on(Path::new("DIR"), &was).is_ok());
        let other = refused(&subject(&["./app", "2"]));
        assert!(other.contains("the command was ./app 1, and is ./app 2 now"), "{other}");
        let mut rebuilt = was.clone();
        rebuilt.program.modified += 1;
        assert!(refused(&rebuilt).contains("not the same file"));
        let mut moved = was.clone();
        moved.cores += 1;
        assert!(refused(&moved).contains("the machine"));
        let mut bound = was.clone();
        bound.environment.insert("OMP_PROC_BIND".to_owned(), "close".to_owned());
        let bound = refused(&bound);
        assert!(bound.contains("OMP_PROC_BIND was not set") && bound.contains("close"), "{bound}");
        let mut pinned = was.clone();
        pinned.affinity = Affinity::None;
        assert!(refused(&pinned).contains("--affinity was spread, and is none now"));
    }

    #[test]
    fn words_that_differ_in_no_utf8_differ() {
        let word = |byte| written(&OsString::from_vec(vec![b'x', byte]));
        assert_ne!(word(0xe8), word(0xe9));
        assert_eq!(written(OsStr::new("é")), "é");
    }

    #[test]
    fn what_is_no_manifest_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        for (text, says) in [
            ("", "not what"),
            ("version = 1", "missing field"),
            ("version = 9\nx = 1", "version 9"),
            ("=", ""),
        ] {
            fs::write(directory.path().join(NAME), text).unwrap();
            let refused = refusal(Manifest::read(directory.path()));
            assert!(refused.contains(NAME) && refused.contains(says), "{text}: {refused}");
        }
    }
}
