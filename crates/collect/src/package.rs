//! Which package of this machine a file belongs to.
//!
//! dpkg says so too, and takes 30 MB for it, which a program that runs within limits may not have left: its lists of files are read
//! here, one after the other.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Where dpkg has a list of the files of each package: lines of paths in `libzstd1:amd64.list`.
const LISTS: &str = "/var/lib/dpkg/info";

/// By so many letters a program and its package begin alike.
const ALIKE: usize = 6;

/// What was looked for already.
static KNOWN: Mutex<BTreeMap<PathBuf, Option<String>>> = Mutex::new(BTreeMap::new());

/// The package with this file, where dpkg knows it.
pub(crate) fn package_of(file: &Path) -> Option<String> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known
        .entry(file.to_owned())
        .or_insert_with(|| found_in(Path::new(LISTS), &file.canonicalize().ok()?))
        .clone()
}

fn found_in(lists: &Path, file: &Path) -> Option<String> {
    let path = file.to_str()?;
    // Files that lie in /usr today may be known by where they lay before.
    let lines = [path, path.strip_prefix("/usr").unwrap_or(path)].map(|path| format!("\n{path}\n"));
    let is_list = |name: &OsString| name.as_encoded_bytes().ends_with(b".list");
    let names: Vec<OsString> =
        fs::read_dir(lists).ok()?.flatten().map(|entry| entry.file_name()).filter(is_list).collect();
    // mariadbd is in mariadb-server: most programs are found in one of the first few lists out of a thousand.
    let begin: String = file.file_name()?.to_str()?.chars().take(ALIKE).take_while(|c| *c != '.').collect();
    let is_alike = |name: &OsString| name.to_str().is_some_and(|name| name.contains(&begin));
    let mut names =
        [true, false].into_iter().flat_map(|alike| names.iter().filter(move |name| is_alike(name) == alike));
    let mut list = String::new();
    names.find_map(|name| {
        list.clear();
        list.push('\n');
        let opened = File::open(lists.join(name)).ok()?;
        opened.take(u64::MAX).read_to_string(&mut list).ok()?;
        lines.iter().any(|line| list.contains(line.as_str())).then_some(())?;
        let package = name.to_str()?.strip_suffix(".list")?;
        Some(package.split(':').next().unwrap_or(package).to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_found_by_its_list() {
        let lists = tempfile::tempdir().unwrap();
        let list = |name: &str, lines: &str| fs::write(lists.path().join(name), lines).unwrap();
        list("libzstd1:amd64.list", "/.\n/usr\n/usr/lib\n/usr/lib/libzstd.so.1.5.4\n");
        list("coreutils.list", "/.\n/bin\n/bin/cat\n");
        list("coreutils.md5sums", "/bin/dog\n");
        let of = |file: &str| found_in(lists.path(), Path::new(file));
        assert_eq!(of("/usr/lib/libzstd.so.1.5.4"), Some("libzstd1".to_owned()));
        assert_eq!(of("/usr/bin/cat"), Some("coreutils".to_owned()), "as before all of it was in /usr");
        assert_eq!((of("/usr/lib/libzstd.so"), of("/bin/dog")), (None, None));
        assert_eq!(found_in(Path::new("/nowhere"), Path::new("/bin/cat")), None);
    }

    #[test]
    fn no_package_has_a_file_that_is_not_there() {
        assert_eq!(package_of(Path::new("/nowhere/at/all")), None);
    }
}
