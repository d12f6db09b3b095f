//! A process that undoes what another has changed on the machine, when that one is gone: also after `kill -9`.
//!
//! Owner and guardian are joined by a pipe of which only the owner has the end to write. Before a change the owner writes
//! what undoes it (`+NUMBER UNDO`), when it has undone it itself `-NUMBER`. When the last writer is gone the guardian reads
//! the end of the file, undoes what is left, the latest first, and ends. What was written before a kill is in the pipe.

use std::collections::BTreeMap;
use std::io::{self, BufRead, PipeWriter, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::undo::Undo;

/// Longer lines could be torn by a kill in the middle of the write (`PIPE_BUF` of Linux).
const LONGEST: usize = 4096;

/// How often a change is tried to be undone, and how long is waited in between.
const TRIES: u32 = 20;
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// A guardian that ends so often is of no use.
const MOST_GUARDIANS: u32 = 50;
/// How long a change waits for a guardian that takes the place of one that is gone.
const PATIENCE: Duration = Duration::from_secs(2);

/// The owner's side. A guardian that is killed is replaced at once, and told what is to be undone; where none can be had, all
/// changes are undone and no more are made. Killed in the same moment, owner and guardian leave what was changed.
#[derive(Debug)]
pub struct Guardian {
    keeper: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    lines: Mutex<Lines>,
    /// The pipe has become another one.
    changed: Condvar,
}

#[derive(Debug)]
struct Lines {
    /// `None` after the end.
    pipe: Option<PipeWriter>,
    next: u64,
    /// What is to be undone.
    left: BTreeMap<u64, Undo>,
}

/// A change that is undone when this is dropped, or by the guardian if there is nobody left to drop it.
#[derive(Debug)]
pub struct Change {
    number: u64,
    undo: Undo,
    is_undone: bool,
    shared: Arc<Shared>,
}

impl Guardian {
    /// Starts one. `command` is to call [`serve`] with its standard input: holdup itself with an argument that no help
    /// shows. Its program, arguments and variables alone are used.
    ///
    /// It is a process group of its own, so that Ctrl-C does not end it together with the owner; it keeps none of the
    /// owner's files and no directory.
    ///
    /// # Errors
    /// Those of starting a process or a thread. Without a guardian nothing should be changed.
    pub fn start(command: Command) -> io::Result<Guardian> {
        let (child, pipe) = spawned(&command, "")?;
        let lines = Lines { pipe: Some(pipe), next: 0, left: BTreeMap::new() };
        let shared = Arc::new(Shared { lines: Mutex::new(lines), changed: Condvar::new() });
        let watched = Arc::clone(&shared);
        let keeper = std::thread::Builder::new().name("holdup guardian".into());
        let keeper = keeper.spawn(move || watched.keep(&command, child))?;
        Ok(Guardian { keeper: Some(keeper), shared })
    }

    /// To be called before a change: from now on it will be undone, whatever happens.
    ///
    /// # Errors
    /// If there is no guardian any more: the change should not be made then.
    pub fn before(&self, undo: Undo) -> io::Result<Change> {
        let mut lines = self.shared.lock();
        let number = lines.next;
        lines.next += 1;
        lines.left.insert(number, undo.clone());
        if let Err(error) = lines.write(&told(number, &undo)) {
            // The guardian is gone: the next one is told by who starts it.
            let is_gone = |lines: &mut Lines| lines.pipe.is_some() && lines.write("?\n").is_err();
            let waited = self.shared.changed.wait_timeout_while(lines, PATIENCE, is_gone);
            lines = waited.unwrap_or_else(PoisonError::into_inner).0;
            if error.kind() != io::ErrorKind::BrokenPipe
                || lines.pipe.is_none()
                || lines.write("?\n").is_err()
            {
                lines.left.remove(&number);
                return Err(error);
            }
        }
        drop(lines);
        Ok(Change { number, undo, is_undone: false, shared: Arc::clone(&self.shared) })
    }
}

/// A new guardian, and the pipe to it, in which there are already lines: whoever sees it there knows that it is told.
fn spawned(command: &Command, lines: &str) -> io::Result<(Child, PipeWriter)> {
    // Few changes are open at a time; more than fit into a pipe are told once somebody reads.
    const FITS: usize = 32 << 10;
    let (reader, mut pipe) = io::pipe()?;
    let (before, after) = if lines.len() <= FITS { (lines, "") } else { ("", lines) };
    pipe.write_all(before.as_bytes())?;
    let mut again = Command::new(command.get_program());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => again.env(name, value),
            None => again.env_remove(name),
        };
    }
    again.args(command.get_args()).stdin(reader).stdout(Stdio::null()).stderr(Stdio::null());
    let child = again.current_dir("/").process_group(0).spawn()?;
    // Ours of the reader's end goes with the command: what is written to a guardian that is gone is an error.
    drop(again);
    // If it is gone already, that is found next.
    let _ = pipe.write_all(after.as_bytes());
    Ok((child, pipe))
}

/// The line for a change.
fn told(number: u64, undo: &Undo) -> String {
    format!("+{number} {}\n", undo.line())
}

impl Drop for Guardian {
    /// Waits until the guardian has undone what is left.
    fn drop(&mut self) {
        self.shared.lock().pipe = None;
        // It reads to the end of a file that has just ended, and performs a few calls that do not block.
        let _ = self.keeper.take().map(JoinHandle::join);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the guardian's end, and puts another one in its place as long as there is an owner.
    fn keep(&self, command: &Command, mut child: Child) {
        for _ in 0..MOST_GUARDIANS {
            let _ = child.wait();
            let mut lines = self.lock();
            if lines.pipe.is_none() {
                return;
            }
            let left: String = lines.left.iter().map(|(number, undo)| told(*number, undo)).collect();
            let Ok((next, pipe)) = spawned(command, &left) else { break };
            child = next;
            lines.pipe = Some(pipe);
            self.changed.notify_all();
        }
        let mut lines = self.lock();
        lines.pipe = None;
        for (_, undo) in std::mem::take(&mut lines.left).into_iter().rev() {
            let _ = patiently(&undo);
        }
        self.changed.notify_all();
    }
}

impl Lines {
    fn write(&mut self, line: &str) -> io::Result<()> {
        if line.len() > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "too long for one line to the guardian"));
        }
        self.pipe.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(line.as_bytes())
    }
}

impl Change {
    /// Undoes it now, and says what went wrong.
    ///
    /// # Errors
    /// Those of undoing; the guardian tries again at the end.
    pub fn undo(self) -> io::Result<()> {
        self.perform()
    }

    /// The owner has undone it in another way.
    pub fn is_undone(mut self) {
        self.is_undone = true;
        self.tell();
    }

    fn perform(&self) -> io::Result<()> {
        self.undo.perform()?;
        self.tell();
        Ok(())
    }

    fn tell(&self) {
        let mut lines = self.shared.lock();
        lines.left.remove(&self.number);
        // If nobody is there to be told, nobody is there to undo it again.
        let _ = lines.write(&format!("-{}\n", self.number));
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        if self.is_undone {
            return;
        }
        // Where this fails the guardian tries again, and nobody is left to be told.
        let _ = self.perform();
    }
}

/// The guardian's side: reads what is to be undone until the owner is gone, and undoes it. What could not be undone.
pub fn serve(input: impl BufRead) -> Vec<(Undo, io::Error)> {
    let left = remaining(input);
    let undone = left.into_values().rev().map(|undo| (patiently(&undo), undo));
    undone.filter_map(|(done, undo)| done.err().map(|error| (undo, error))).collect()
}

/// Tries again for a moment: what the owner was at when it was killed may still be under way in the kernel.
fn patiently(undo: &Undo) -> io::Result<()> {
    for _ in 1..TRIES {
        if undo.perform().is_ok() {
            return Ok(());
        }
        std::thread::sleep(BETWEEN_TRIES);
    }
    undo.perform()
}

/// What has been told and not taken back, by its number. A line without an end was not written whole.
fn remaining(mut input: impl BufRead) -> BTreeMap<u64, Undo> {
    let mut left = BTreeMap::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        // An error is an end as well: the owner cannot tell any more.
        if !matches!(input.read_until(b'\n', &mut line), Ok(1..)) || line.pop() != Some(b'\n') {
            return left;
        }
        let Ok(text) = std::str::from_utf8(&line) else { continue };
        if let Some((number, undo)) = text.strip_prefix('+').and_then(|rest| rest.split_once(' ')) {
            if let (Ok(number), Some(undo)) = (number.parse(), Undo::parse(undo)) {
                left.insert(number, undo);
            }
        } else if let Some(number) = text.strip_prefix('-').and_then(|number| number.parse::<u64>().ok()) {
            left.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::PathBuf;

    fn removal(number: u64) -> Undo {
        Undo::Remove { path: PathBuf::from(format!("/group/{number}")) }
    }

    #[test]
    fn what_was_taken_back_and_what_was_not_written_whole_is_not_undone() {
        let text = "+0 remove /a\n+1 remove /b\n-0\n?\n+2 nonsense\n+3 remove /c\n+4 remove /d";
        let left: Vec<(u64, Undo)> = remaining(text.as_bytes()).into_iter().collect();
        let of = |path: &str| Undo::Remove { path: PathBuf::from(path) };
        assert_eq!(left, [(1, of("/b")), (3, of("/c"))]);
    }

    #[test]
    fn the_latest_change_is_undone_first() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("setting");
        std::fs::write(&file, "second change").unwrap();
        let back = |content: &str| Undo::Write { path: file.clone(), content: content.to_owned() }.line();
        let text = format!("+0 {}\n+1 {}\n", back("as it was"), back("first change"));
        assert!(serve(text.as_bytes()).is_empty());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "as it was");
    }

    #[test]
    fn what_cannot_be_undone_is_told_and_the_rest_is_undone() {
        let directory = tempfile::tempdir().unwrap();
        let (full, empty) = (directory.path().join("full"), directory.path().join("empty"));
        std::fs::create_dir_all(full.join("inside")).unwrap();
        std::fs::create_dir(&empty).unwrap();
        let text = format!(
            "+0 {}\n+1 {}\n",
            Undo::Remove { path: empty.clone() }.line(),
            Undo::Remove { path: full.clone() }.line()
        );
        let failed = serve(text.as_bytes());
        assert_eq!(failed.len(), 1);
        assert_eq!(failed[0].0, Undo::Remove { path: full });
        assert!(!empty.exists());
    }

    proptest! {
        #[test]
        fn wherever_the_owner_was_killed_each_whole_line_counts(
            told in proptest::collection::vec(any::<bool>(), 1..20), cut in 0usize..2000
        ) {
            let mut text = String::new();
            for (number, back) in told.iter().enumerate() {
                text.push_str(&format!("+{number} {}\n", removal(number as u64).line()));
                if *back {
                    text.push_str(&format!("-{number}\n"));
                }
            }
            let cut = cut.min(text.len());
            let left = remaining(&text.as_bytes()[..cut]);
            let whole: Vec<&str> = text[..cut].split_inclusive('\n').filter(|line| line.ends_with('\n')).collect();
            for number in 0..told.len() as u64 {
                let added = whole.iter().any(|line| line.starts_with(&format!("+{number} ")));
                let taken = whole.contains(&format!("-{number}\n").as_str());
                prop_assert_eq!(left.contains_key(&number), added && !taken);
            }
        }
    }
}
