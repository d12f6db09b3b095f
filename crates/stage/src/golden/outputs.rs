//! What `holdup` said of a subject: asked for, kept, read back, held against each other.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::ask::{Kept, Question, Subject};
use super::list::recordings;
use super::neutral::LEVEL;
use super::normal;
use crate::{Ended, run, text, workspace};

/// Where the outputs are that a person has looked at.
pub fn goldens() -> PathBuf {
    workspace().join("tests/golden")
}

/// A line of the text that begins like this says which command the next lines are from.
const COMMAND: &str = "$ ";
/// The same, for sizes and checksums.
const SUMS: &str = "$ sizes and checksums";
/// What stands between a command and a sum.
const BETWEEN: &str = " = ";
/// What begins a part of the compressed file.
const PART: &str = "\u{1e}";

/// All that `holdup` said of a subject.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outputs {
    /// Commands and what they printed, to be read.
    pub text: Vec<(String, String)>,
    /// Commands and their JSON or their page.
    pub whole: BTreeMap<String, String>,
    /// What only has to be the same: sizes and checksums.
    pub sums: Vec<(String, String)>,
}

impl Outputs {
    /// Asks a `holdup` binary all that there is to ask.
    pub fn of(subject: &Subject, holdup: &Path) -> Outputs {
        let mut outputs = Outputs::default();
        for question in &subject.questions {
            outputs.add(question, holdup);
        }
        outputs
    }

    fn add(&mut self, question: &Question, holdup: &Path) {
        let called = question.command();
        match question.kept {
            Kept::Text(width) => {
                let ended = asked(holdup, question, width, None);
                let mut said = text(&ended.stdout);
                said.push_str(&beside(&ended));
                self.text.push((called, said));
            }
            Kept::Whole => {
                let ended = asked(holdup, question, 100, None);
                self.whole.insert(called, text(&ended.stdout) + &beside(&ended));
            }
            Kept::Page => {
                let ended = asked(holdup, question, 100, None);
                let html = text(&ended.stdout);
                let (page, shared) = normal::page(&html);
                let shared: Vec<String> = shared.iter().map(|part| sum(part.as_bytes())).collect();
                self.sums.push((format!("{called}, what is left out"), shared.join(", ")));
                self.whole.insert(called, page + &beside(&ended));
            }
            Kept::Sum => {
                let ended = asked(holdup, question, 100, None);
                let said = format!("{}\n{}", sum(&ended.stdout), beside(&ended));
                self.sums.push((called, said.trim_end().replace('\n', "; ")));
            }
            Kept::Folder => {
                let folder = tempfile::tempdir().expect("a directory");
                let tables = folder.path().join("tables");
                let ended = asked(holdup, question, 100, Some(&tables));
                self.sums.push((called.clone(), format!("status {}", ended.status)));
                let entries = fs::read_dir(&tables).into_iter().flatten().flatten();
                let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
                files.sort();
                for file in files {
                    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    self.sums.push((format!("{called}: {name}"), sum(&fs::read(&file).unwrap_or_default())));
                }
            }
        }
    }

    /// The outputs that were kept; nothing where there are none yet.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn kept(name: &str) -> Result<Option<Outputs>, String> {
        let [readable, packed] = files(name);
        if !readable.exists() {
            return Ok(None);
        }
        let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
        let read = fs::read_to_string(&readable).map_err(|error| failed(&readable, error))?;
        let bytes = fs::read(&packed).map_err(|error| failed(&packed, error))?;
        let bytes = zstd::decode_all(&bytes[..]).map_err(|error| failed(&packed, error))?;
        Ok(Some(Outputs::parsed(&read, &text(&bytes))))
    }

    /// Keeps them.
    ///
    /// # Errors
    /// What cannot be written.
    pub fn keep(&self, subject: &Subject) -> Result<(), String> {
        let [readable, packed] = files(&subject.name);
        let (read, whole) = self.written(&subject.about);
        let bytes = zstd::bulk::compress(whole.as_bytes(), LEVEL).map_err(|error| error.to_string())?;
        for (path, content) in [(readable, read.as_bytes()), (packed, &bytes)] {
            fs::create_dir_all(goldens()).map_err(|error| error.to_string())?;
            fs::write(&path, content).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(())
    }

    /// What is in the two files.
    fn written(&self, about: &str) -> (String, String) {
        let mut read = format!("{about}\n");
        for (command, said) in &self.text {
            read.push_str(&format!("\n{COMMAND}{command}\n{said}"));
        }
        read.push_str(&format!("\n{SUMS}\n"));
        for (command, sum) in &self.sums {
            read.push_str(&format!("{command}{BETWEEN}{sum}\n"));
        }
        let parts = self.whole.iter().map(|(command, said)| format!("{PART}{command}\n{said}"));
        (read, parts.collect())
    }

    fn parsed(read: &str, whole: &str) -> Outputs {
        let mut outputs = Outputs::default();
        let (read, sums) = read.split_once(&format!("\n{SUMS}\n")).unwrap_or((read, ""));
        for part in read.split(&format!("\n{COMMAND}")).skip(1) {
            let (command, said) = part.split_once('\n').unwrap_or((part, ""));
            outputs.text.push((command.to_owned(), said.to_owned()));
        }
        let of_sum =
            |line: &str| line.split_once(BETWEEN).map(|(name, sum)| (name.to_owned(), sum.to_owned()));
        outputs.sums = sums.lines().filter_map(of_sum).collect();
        for part in whole.split(PART).skip(1) {
            let (command, said) = part.split_once('\n').unwrap_or((part, ""));
            outputs.whole.insert(command.to_owned(), said.to_owned());
        }
        outputs
    }
}

fn files(name: &str) -> [PathBuf; 2] {
    ["txt", "zst"].map(|ending| goldens().join(format!("{name}.{ending}")))
}

/// Runs the command where the recordings are, with nothing in its environment that answers could depend on.
fn asked(holdup: &Path, question: &Question, columns: u32, folder: Option<&Path>) -> Ended {
    let mut command = Command::new(holdup);
    command.current_dir(recordings()).env_clear().args(&question.arguments);
    command.envs([("PATH", "/usr/bin:/bin"), ("LC_ALL", "C.UTF-8")]).env("COLUMNS", columns.to_string());
    if let Some(folder) = folder {
        command.arg("-o").arg(folder);
    }
    run(&mut command)
}

/// What an output does not say of how the command ended.
fn beside(ended: &Ended) -> String {
    let mut said: String =
        text(&ended.stderr).lines().map(|line| format!("standard error: {line}\n")).collect();
    if ended.status != 0 {
        said.push_str(&format!("status {}\n", ended.status));
    }
    said
}

fn sum(bytes: &[u8]) -> String {
    format!("{} bytes {:08x}", bytes.len(), crc32fast::hash(bytes))
}

/// Where two outputs differ: for each command its first line that does, before and after. At most so many of them.
pub fn differences(before: &Outputs, after: &Outputs, most: usize) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |command: &str, before: Option<&str>, after: Option<&str>| {
        if before == after {
            return;
        }
        let line = |text: &str, at: usize| text.lines().nth(at).map_or("(nothing)".to_owned(), short);
        let (old, new) = (before.unwrap_or(""), after.unwrap_or(""));
        let same = old.lines().zip(new.lines()).take_while(|(old, new)| old == new).count();
        found.push(format!(
            "{command}\n  line {}\n  - {}\n  + {}",
            same + 1,
            line(old, same),
            line(new, same)
        ));
    };
    for (of_before, of_after) in [(&before.text, &after.text), (&before.sums, &after.sums)] {
        let (old, new) = (by_name(of_before), by_name(of_after));
        let names =
            of_after.iter().chain(of_before.iter().filter(|(name, _)| !new.contains_key(name.as_str())));
        for (name, _) in names {
            compare(name, old.get(name.as_str()).copied(), new.get(name.as_str()).copied());
        }
    }
    let names: std::collections::BTreeSet<&String> = before.whole.keys().chain(after.whole.keys()).collect();
    for name in names {
        let of = |outputs: &'_ Outputs| outputs.whole.get(name).cloned();
        compare(name, of(before).as_deref(), of(after).as_deref());
    }
    let left_out = found.len().saturating_sub(most);
    found.truncate(most);
    if left_out > 0 {
        found.push(format!("and {left_out} more outputs"));
    }
    found
}

fn by_name(outputs: &[(String, String)]) -> BTreeMap<&str, &str> {
    outputs.iter().map(|(name, said)| (name.as_str(), said.as_str())).collect()
}

fn short(line: &str) -> String {
    const COLUMNS: usize = 200;
    line.chars().take(COLUMNS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs() -> Outputs {
        Outputs {
            text: vec![
                ("holdup report a    (80 columns)".to_owned(), "one\n\n  two $ three\n".to_owned()),
                ("holdup whatif a b=0    (80 columns)".to_owned(), String::new()),
            ],
            whole: BTreeMap::from([
                ("holdup report a --json".to_owned(), "{\n\"a\": 1\n}\n".to_owned()),
                ("holdup report a --html -".to_owned(), "<p>\n".to_owned()),
            ]),
            sums: vec![("holdup export x: y.csv".to_owned(), sum(b"abc") + "; standard error: why")],
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let (read, whole) = outputs().written("why it is there");
        assert!(read.starts_with("why it is there\n\n$ holdup report a"), "{read}");
        assert_eq!(Outputs::parsed(&read, &whole), outputs());
    }

    #[test]
    fn a_difference_is_shown_with_its_command_and_line() {
        assert_eq!(differences(&outputs(), &outputs(), 9), Vec::<String>::new());
        let mut after = outputs();
        after.text[0].1 = "one\n\n  four\n".to_owned();
        after.sums[0].1 = sum(b"abd");
        after.whole.insert("holdup report a --json".to_owned(), "{\n\"a\": 2\n}\n".to_owned());
        after.whole.remove("holdup report a --html -");
        let found = differences(&outputs(), &after, 9);
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!(found[0], "holdup report a    (80 columns)\n  line 3\n  -   two $ three\n  +   four");
        assert!(found[1].starts_with("holdup export x: y.csv\n"));
        assert_eq!(found[2], "holdup report a --html -\n  line 1\n  - <p>\n  + (nothing)");
        assert_eq!(differences(&outputs(), &after, 1)[1], "and 3 more outputs");
    }
}
