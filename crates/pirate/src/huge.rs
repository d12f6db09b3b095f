//! Huge pages where the machine has switched them off: a sweep in small pages misses translations, too, and holds less.

use std::fs;
use std::path::Path;

use crate::guardian::{Change, Guardian};
use crate::undo::Undo;

/// Which programs get huge pages, below the root; the word in brackets is the one that counts
/// (`Documentation/admin-guide/mm/transhuge.rst` of the kernel).
const SETTING: &str = "sys/kernel/mm/transparent_hugepage/enabled";
const NEVER: &str = "never";
/// Those that ask for them, as the pirate does.
const ASKED_FOR: &str = "madvise";

/// Lets programs ask for huge pages until the change is undone, if they may not and this process may change that. Pages
/// that were given meanwhile stay huge. `None` where nothing was changed. `root` is `/` outside of tests.
pub fn allow_huge_pages(root: &Path, guardian: &Guardian) -> Option<Change> {
    let path = root.join(SETTING);
    let words = fs::read_to_string(&path).ok()?;
    if !words.contains(&format!("[{NEVER}]")) || !may_write(&path) {
        return None;
    }
    let change = guardian.before(Undo::Write { path: path.clone(), content: NEVER.to_owned() }).ok()?;
    fs::write(&path, ASKED_FOR).ok()?;
    Some(change)
}

fn may_write(path: &Path) -> bool {
    fs::OpenOptions::new().write(true).open(path).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn after(words: &str) -> (bool, String, String) {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(SETTING);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, words).unwrap();
        let guardian = Guardian::start(Command::new("cat")).unwrap();
        let change = allow_huge_pages(root.path(), &guardian);
        let meanwhile = fs::read_to_string(&path).unwrap();
        let changed = change.is_some();
        drop(change);
        (changed, meanwhile, fs::read_to_string(&path).unwrap())
    }

    #[test]
    fn only_what_is_switched_off_is_switched_on_and_back() {
        assert_eq!(after("always madvise [never]\n"), (true, "madvise".to_owned(), "never".to_owned()));
        let as_is = "always [madvise] never\n".to_owned();
        assert_eq!(after(&as_is), (false, as_is.clone(), as_is.clone()));
    }

    #[test]
    fn nothing_is_changed_where_there_is_no_such_setting() {
        let root = tempfile::tempdir().unwrap();
        let guardian = Guardian::start(Command::new("cat")).unwrap();
        assert!(allow_huge_pages(root.path(), &guardian).is_none());
    }
}
