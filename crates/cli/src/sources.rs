//! The program's source, for the lines that a page shows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use holdup_collect::read_source;
use holdup_recording::facts::SourceText;
use holdup_report::SourceFile;

/// Those of these files that are at hand and are source: as they were when they were recorded, else as they are now.
pub(crate) fn read(
    names: &BTreeSet<String>,
    stored: Option<&SourceText>,
    recording: &Path,
) -> BTreeMap<String, SourceFile> {
    let recorded = fs::metadata(recording).and_then(|facts| facts.modified()).ok();
    let file = |name: &String| {
        stored.and_then(|stored| stored_file(name, stored)).or_else(|| present_file(name, recorded))
    };
    names.iter().filter_map(|name| Some((name.clone(), file(name)?))).collect()
}

fn stored_file(name: &str, stored: &SourceText) -> Option<SourceFile> {
    let excerpts = stored.files.get(name)?;
    let lines =
        excerpts.iter().flat_map(|excerpt| (excerpt.first..=u32::MAX).zip(excerpt.lines.iter().cloned()));
    Some(SourceFile { lines: lines.collect(), is_newer: false })
}

fn present_file(name: &str, recorded: Option<SystemTime>) -> Option<SourceFile> {
    let source = read_source(Path::new(name))?;
    let is_newer = source.changed.zip(recorded).is_some_and(|(changed, recorded)| changed > recorded);
    Some(SourceFile::whole(source.lines, is_newer))
}

#[cfg(test)]
mod tests {
    use holdup_recording::facts::SourceExcerpt;

    use super::*;

    #[test]
    fn a_file_that_was_changed_later_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let at = |seconds| SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        for (name, seconds) in [("x.holdup", 2000), ("old.c", 1000), ("new.c", 3000)] {
            let file = fs::File::create(folder.path().join(name)).unwrap();
            file.set_modified(at(seconds)).unwrap();
        }
        let is_newer = |name: &str| {
            let path = folder.path().join(name).to_str().unwrap().to_owned();
            read(&BTreeSet::from([path.clone()]), None, &folder.path().join("x.holdup"))[&path].is_newer
        };
        assert!(!is_newer("old.c"));
        assert!(is_newer("new.c"));
    }

    #[test]
    fn what_was_recorded_is_shown_rather_than_what_is_there_now() {
        let folder = tempfile::tempdir().unwrap();
        let [recorded, other, absent] =
            ["a.c", "b.c", "absent.c"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
        for file in [&recorded, &other] {
            fs::write(file, "now\n").unwrap();
        }
        let excerpt = SourceExcerpt { first: 7, lines: vec!["then".to_owned()] };
        let stored = [&recorded, &absent].map(|file| (file.clone(), vec![excerpt.clone()]));
        let stored = SourceText { files: stored.into() };
        let names = [recorded.clone(), other.clone(), absent.clone()].into();
        let found = read(&names, Some(&stored), Path::new("x.holdup"));
        let lines = |name: &String| found[name].lines.clone();
        assert_eq!(lines(&recorded), BTreeMap::from([(7, "then".to_owned())]));
        assert_eq!(lines(&absent), lines(&recorded));
        assert_eq!(lines(&other), BTreeMap::from([(1, "now".to_owned())]));
    }
}
