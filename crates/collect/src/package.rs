//! Which package of this machine a file belongs to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// What was asked already: the system takes its time to say it.
static KNOWN: Mutex<BTreeMap<PathBuf, Option<String>>> = Mutex::new(BTreeMap::new());

/// The package with this file, where dpkg knows it.
pub(crate) fn package_of(file: &Path) -> Option<String> {
    let mut known = KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    known.entry(file.to_owned()).or_insert_with(|| asked(file)).clone()
}

fn asked(file: &Path) -> Option<String> {
    let real = file.canonicalize().ok()?;
    let mut dpkg = Command::new("dpkg-query");
    dpkg.arg("--search").arg(&real).stdin(Stdio::null()).stderr(Stdio::null());
    // Files that lie in /usr today may be known by where they lay before.
    if let Ok(below) = real.strip_prefix("/usr") {
        dpkg.arg(Path::new("/").join(below));
    }
    parsed(&String::from_utf8_lossy(&dpkg.output().ok()?.stdout))
}

/// The first package of `libzstd1:amd64: /usr/lib/x86_64-linux-gnu/libzstd.so.1.5.4`.
fn parsed(answer: &str) -> Option<String> {
    let (packages, _) = answer.lines().find(|line| !line.starts_with("diversion "))?.split_once(": ")?;
    let package = packages.split(',').next()?.split(':').next()?.trim();
    (!package.is_empty()).then(|| package.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_read_from_what_dpkg_says() {
        let of = |answer| parsed(answer);
        assert_eq!(of("libzstd1:amd64: /usr/lib/libzstd.so.1.5.4\n"), Some("libzstd1".to_owned()));
        assert_eq!(of("pigz: /usr/bin/pigz\n"), Some("pigz".to_owned()));
        assert_eq!(of("a:amd64, b: /usr/share/both\n"), Some("a".to_owned()));
        assert_eq!(
            of("diversion by dash from: /bin/sh\ndash: /bin/sh\n"),
            Some("dash".to_owned()),
            "who diverts a file has it not"
        );
        assert_eq!((of(""), of("nothing")), (None, None));
    }

    #[test]
    fn no_package_has_a_file_that_is_not_there() {
        assert_eq!(package_of(Path::new("/nowhere/at/all")), None);
    }
}
