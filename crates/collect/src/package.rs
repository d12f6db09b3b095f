//! Which packages of this machine files belong to.
//!
//! dpkg says so too, and takes 30 MB for it, which a program that runs within limits may not have left: its lists of files are read
//! here, one after the other.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Where dpkg has a list of the files of each package: lines of paths in `libzstd1:amd64.list`.
const LISTS: &str = "/var/lib/dpkg/info";

/// What was looked for already.
static KNOWN: Mutex<BTreeMap<PathBuf, Option<String>>> = Mutex::new(BTreeMap::new());

/// The packages with these files, where dpkg knows them.
pub(crate) fn packages_of<'a>(files: impl Iterator<Item = &'a Path>) -> BTreeMap<PathBuf, String> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let files: Vec<&Path> = files.collect();
    let is_new = |file: &&&Path| !known.contains_key(**file);
    let new: Vec<(PathBuf, PathBuf)> = files
        .iter()
        .filter(is_new)
        .filter_map(|file| Some((file.to_path_buf(), file.canonicalize().ok()?)))
        .collect();
    let found = found_in(Path::new(LISTS), new.iter().map(|(_, real)| real.as_path()));
    known.extend(new.into_iter().map(|(file, real)| (file, found.get(&real).cloned())));
    files.into_iter().filter_map(|file| Some((file.to_owned(), known.get(file)?.clone()?))).collect()
}

/// Reads each list once at most, however many files are looked for, until all were found: first the lists of packages
/// that are called as these files are, since of a thousand lists one or two are wanted.
fn found_in<'a>(lists: &Path, files: impl Iterator<Item = &'a Path>) -> BTreeMap<PathBuf, String> {
    // Files that lie in /usr today may be known by where they lay before.
    let paths = files.filter_map(|file| Some((file.to_str()?, file)));
    let mut wanted: HashMap<&str, &Path> = paths
        .flat_map(|(path, file)| [path, path.strip_prefix("/usr").unwrap_or(path)].map(|path| (path, file)))
        .collect();
    // Most lines of a hundred thousand are not even as long as one of them.
    let lengths: BTreeSet<usize> = wanted.keys().map(|path| path.len()).collect();
    let is_long: Vec<bool> =
        (0..=lengths.last().copied().unwrap_or(0)).map(|length| lengths.contains(&length)).collect();
    let may_be = |line: &&str| is_long.get(line.len()).copied().unwrap_or(false);
    let mut found = BTreeMap::new();
    let stems: BTreeSet<String> = wanted.values().filter_map(|file| stem_of(file)).collect();
    let entries = fs::read_dir(lists).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut packages: Vec<String> =
        names.filter_map(|name| Some(name.strip_suffix(".list")?.to_owned())).collect();
    packages.sort_by_cached_key(|package| {
        let package = letters_of(package);
        !stems.iter().any(|stem| package.starts_with(stem.as_str()))
    });
    let mut list = String::new();
    for package in packages {
        if wanted.is_empty() {
            break;
        }
        let path = lists.join(format!("{package}.list"));
        list.clear();
        if File::open(path).and_then(|mut opened| opened.read_to_string(&mut list)).is_err() {
            continue;
        }
        let files: Vec<&Path> =
            list.lines().filter(may_be).filter_map(|line| wanted.get(line).copied()).collect();
        if files.is_empty() {
            continue;
        }
        wanted.retain(|_, file| !files.contains(file));
        let package = package.split(':').next().unwrap_or(&package);
        found.extend(files.into_iter().map(|file| (file.to_owned(), package.to_owned())));
    }
    found
}

/// What the name of a package with this file most likely begins with, as [`letters_of`] has it: `libglib2` of
/// `libglib-2.0.so.0.7400.6`, which is in `libglib2.0-0`.
fn stem_of(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    let stem = letters_of(name.split('.').next()?);
    (!stem.is_empty()).then_some(stem)
}

/// The letters and digits of a name, in lower case.
fn letters_of(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
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
        let files =
            ["/usr/lib/libzstd.so.1.5.4", "/usr/bin/cat", "/usr/lib/libzstd.so", "/bin/dog"].map(Path::new);
        let found = found_in(lists.path(), files.into_iter());
        let of = |file: &str| found.get(Path::new(file)).map(String::as_str);
        assert_eq!(of("/usr/lib/libzstd.so.1.5.4"), Some("libzstd1"));
        assert_eq!(of("/usr/bin/cat"), Some("coreutils"), "as before all of it was in /usr");
        assert_eq!(found.len(), 2);
        assert!(found_in(Path::new("/nowhere"), files.into_iter()).is_empty());
    }

    #[test]
    fn packages_are_called_as_what_they_have() {
        let of = |file: &str| stem_of(Path::new(file));
        assert_eq!(of("/usr/lib/libglib-2.0.so.0.7400.6").as_deref(), Some("libglib2"));
        assert_eq!(of("/usr/lib/libMagickCore-6.Q16.so.6").as_deref(), Some("libmagickcore6"));
        assert!(letters_of("libmagickcore-6.q16-6:amd64").starts_with("libmagickcore6"));
        assert_eq!(of("/usr/bin/.hidden"), None);
    }

    #[test]
    fn no_package_has_a_file_that_is_not_there() {
        assert!(packages_of([Path::new("/nowhere/at/all")].into_iter()).is_empty());
    }
}
