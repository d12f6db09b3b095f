//! How each recording was made.

use std::path::PathBuf;

use crate::workspace;

/// Where recordings and their tables are.
pub fn recordings() -> PathBuf {
    workspace().join("tests/recordings")
}

/// A row of `list.tsv`: a recording and how it is made.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// What the recording is called.
    pub name: String,
    /// What it is made from.
    pub origin: Origin,
    /// Kinds of findings that it must show.
    pub finds: Vec<String>,
    /// What is asked about changes, besides what can be named.
    pub what_ifs: Vec<String>,
    /// Numbers of cores that it is simulated with, where its instructions were recorded.
    pub cores: Vec<String>,
    /// What it is there for.
    pub about: String,
}

/// What a recording is made from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// A run of a program.
    Run {
        /// The file name of the program.
        program: String,
        /// How [`crate::Stage::form`] builds it.
        language: String,
        /// The file in the workspace, or the folder of a project.
        source: String,
        /// The compiler's flags.
        flags: Vec<String>,
        /// The program's arguments.
        arguments: Vec<String>,
        /// The command that records it.
        by: By,
        /// What surrounds the run.
        settings: Vec<Setting>,
        /// Options of `holdup record`.
        options: Vec<String>,
    },
    /// Another recording, of which so many percent of the bytes are kept.
    Cut {
        /// The other recording.
        of: String,
        /// The share that is kept (percent).
        percent: usize,
    },
    /// Another recording, of which some frames have wrong bytes.
    Damaged {
        /// The other recording.
        of: String,
        /// Which frames, from 0.
        frames: Vec<usize>,
    },
    /// Another recording, of which frames are missing.
    Without {
        /// The other recording.
        of: String,
        /// Which frames, from 0.
        frames: Vec<usize>,
    },
}

/// A command that leaves recordings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// `holdup record`.
    Record,
    /// `holdup why`, of a program that counts by itself.
    Why,
    /// `holdup stack`, which leaves a directory of recordings.
    Stack,
}

impl By {
    /// The command.
    pub(super) fn word(self) -> &'static str {
        match self {
            By::Record => "record",
            By::Why => "why",
            By::Stack => "stack",
        }
    }
}

/// What surrounds a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Setting {
    /// So many busy loops run beside it.
    Load(usize),
    /// It runs on these CPUs only, as `taskset` understands them.
    Cpus(String),
    /// Its control group has so many percent of a CPU's time.
    Quota(u32),
    /// It runs already when `holdup record --pid` begins, so many milliseconds later.
    Attach(u64),
    /// It is killed after so many milliseconds.
    Killed(u64),
    /// It has a variable of the environment.
    Variable(String, String),
    /// The program has no symbols.
    Stripped,
}

/// The rows of `list.tsv`, in their order.
pub fn recipes() -> Vec<Recipe> {
    let path = recordings().join("list.tsv");
    let table = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    table.lines().skip(1).map(|line| recipe(line).unwrap_or_else(|| panic!("a row: {line}"))).collect()
}

fn recipe(line: &str) -> Option<Recipe> {
    let [name, program, language, source, flags, arguments, recorded, finds, asked, about] =
        line.split('\t').collect::<Vec<_>>().try_into().ok()?;
    let (cores, what_ifs) = words(asked, ';').into_iter().partition(|word| word.starts_with("cores:"));
    let cores: Vec<String> = cores;
    Some(Recipe {
        name: name.to_owned(),
        origin: match language {
            "of" => changed(program, recorded)?,
            _ => {
                let (options, mut settings): (Vec<String>, Vec<String>) =
                    words(recorded, ' ').into_iter().partition(|word| word.starts_with("--"));
                let by =
                    [By::Why, By::Stack].into_iter().find(|by| settings.iter().any(|word| word == by.word()));
                settings.retain(|word| by.is_none_or(|by| word != by.word()));
                Origin::Run {
                    program: program.to_owned(),
                    language: language.to_owned(),
                    source: source.to_owned(),
                    flags: words(flags, ' '),
                    arguments: words(arguments, ' '),
                    by: by.unwrap_or(By::Record),
                    settings: settings.iter().map(|word| setting(word)).collect::<Option<_>>()?,
                    options,
                }
            }
        },
        finds: words(finds, ','),
        what_ifs,
        cores: cores.iter().flat_map(|word| words(&word["cores:".len()..], ',')).collect(),
        about: about.to_owned(),
    })
}

fn words(text: &str, by: char) -> Vec<String> {
    text.split(by).map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn changed(of: &str, how: &str) -> Option<Origin> {
    let of = of.to_owned();
    let numbers = |text: &str| words(text, ',').iter().map(|word| word.parse().ok()).collect::<Option<_>>();
    Some(match how.split_once('=')? {
        ("cut", percent) => Origin::Cut { of, percent: percent.strip_suffix('%')?.parse().ok()? },
        ("damaged", frames) => Origin::Damaged { of, frames: numbers(frames)? },
        ("without", frames) => Origin::Without { of, frames: numbers(frames)? },
        _ => return None,
    })
}

fn setting(word: &str) -> Option<Setting> {
    Some(match word.split_once('=').unwrap_or((word, "")) {
        ("load", loops) => Setting::Load(loops.parse().ok()?),
        ("cpus", list) => Setting::Cpus(list.to_owned()),
        ("quota", percent) => Setting::Quota(percent.strip_suffix('%')?.parse().ok()?),
        ("attach", after) => Setting::Attach(after.strip_suffix("ms")?.parse().ok()?),
        ("killed", after) => Setting::Killed(after.strip_suffix("ms")?.parse().ok()?),
        ("stripped", "") => Setting::Stripped,
        (name, value) if name.starts_with(|c: char| c.is_ascii_uppercase()) => {
            Setting::Variable(name.to_owned(), value.to_owned())
        }
        _ => return None,
    })
}

impl Recipe {
    /// The recording's file, or the directory of recordings.
    pub fn path(&self) -> PathBuf {
        let ending = if self.by() == By::Stack { "" } else { ".holdup" };
        recordings().join(format!("{}{ending}", self.name))
    }

    /// Its files.
    pub fn files(&self) -> Vec<PathBuf> {
        match std::fs::read_dir(self.path()) {
            Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
            Err(_) => vec![self.path()],
        }
    }

    /// The command that recorded it, or what it is made of.
    pub fn by(&self) -> By {
        match &self.origin {
            Origin::Run { by, .. } => *by,
            _ => By::Record,
        }
    }

    /// Whether other programs are to run beside it, or it is made of one that may be so.
    pub(super) fn is_loaded(&self) -> bool {
        match &self.origin {
            Origin::Run { settings, .. } => {
                settings.iter().any(|setting| matches!(setting, Setting::Load(_)))
            }
            _ => true,
        }
    }

    /// How large it may be (bytes). Counts have all code of the program's libraries in them, however short the run.
    pub fn largest(&self) -> usize {
        if self.instructions() == Some("counts") { 80_000 } else { 60_000 }
    }

    /// What was recorded of instructions: `counts` or `stream`.
    pub fn instructions(&self) -> Option<&str> {
        let Origin::Run { options, by, .. } = &self.origin else { return None };
        if *by == By::Why {
            return Some("counts");
        }
        options.iter().find_map(|option| option.strip_prefix("--instructions="))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_how_a_recording_is_made() {
        let row = "a\tapp\tc\tx/main.c\t-O3 -DX\t4 1\tload=2 OMP_NUM_THREADS=2 --holds=all stripped\tlock, io\tlock:x=0; cores=8\twhy";
        let Origin::Run { flags, settings, options, .. } = recipe(row).unwrap().origin else {
            panic!("no run")
        };
        let variable = Setting::Variable("OMP_NUM_THREADS".to_owned(), "2".to_owned());
        assert_eq!(settings, [Setting::Load(2), variable, Setting::Stripped]);
        assert_eq!((flags.len(), options), (2, vec!["--holds=all".to_owned()]));
        let found = recipe(row).unwrap();
        assert_eq!(
            (found.finds, found.what_ifs),
            (vec!["lock".into(), "io".into()], vec!["lock:x=0".into(), "cores=8".into()])
        );
        let found = recipe("b\ta\tof\t\t\t\tcut=60%\t\t\twhy").unwrap();
        assert!(matches!(&found.origin, Origin::Cut { of, percent: 60 } if of == "a"), "{found:?}");
        let found = recipe("b\ta\tof\t\t\t\tdamaged=3,5\t\tcores:2,4\twhy").unwrap();
        assert!(matches!(&found.origin, Origin::Damaged { frames, .. } if frames == &[3, 5]), "{found:?}");
        assert_eq!(found.cores, ["2", "4"]);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        assert!(recipe("a\tapp\tc\tx\t\t\tlaod=2\t\t\twhy").is_none());
        assert!(recipe("a\tapp\tof\tx\t\t\tcut=6\t\t\twhy").is_none());
        assert!(recipe("a\tapp").is_none());
    }
}
