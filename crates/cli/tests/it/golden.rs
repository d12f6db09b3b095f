//! Every command says of every recording in `tests/recordings` what it said when a person last looked at it.
//!
//! A change that is meant is taken over by `cargo xtask golden accept`, which says what it changes.

use std::collections::BTreeSet;
use std::path::Path;

use crate::stage::HOLDUP;
use crate::stage::golden::{
    LARGEST, Outputs, Subject, check_neutral, differences, goldens, recipes, recordings,
};

/// All recordings together are no larger (bytes).
const LARGEST_TOGETHER: u64 = 5_000_000;

/// A test for each subject, which the runner can run beside others.
macro_rules! subjects {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            says_what_it_said(stringify!($name));
        })*

        const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

subjects! {
    critical_section
    critical_section_fixed
    late_thread
    pipeline
    io_wait
    semaphore
    serial_phase
    rwlock
    demo
    balanced
}

fn says_what_it_said(name: &str) {
    /// So many outputs that differ are shown.
    const MOST: usize = 5;
    let subject = Subject::named(name).expect("in list.tsv or questions.tsv of tests/recordings");
    let kept = Outputs::kept(name)
        .unwrap_or_else(|error| panic!("{error}"))
        .unwrap_or_else(|| panic!("{name}: `cargo xtask golden accept {name}` keeps what is said of it"));
    let differing = differences(&kept, &Outputs::of(&subject, Path::new(HOLDUP)), MOST);
    assert!(
        differing.is_empty(),
        "What is said of {name} is not what it was:\n{}\n`cargo xtask golden diff` shows what that changes \
         everywhere, `cargo xtask golden accept` takes it as right.",
        differing.join("\n")
    );
}

#[test]
fn every_subject_has_a_test_and_no_file_is_left_over() {
    let subjects = Subject::all();
    let names: BTreeSet<&str> = subjects.iter().map(|subject| subject.name.as_str()).collect();
    assert_eq!(TESTED.iter().copied().collect::<BTreeSet<_>>(), names, "the list in this file");
    let stems = |directory: &Path, endings: &[&str]| -> BTreeSet<String> {
        let files = std::fs::read_dir(directory).expect("a directory").flatten().map(|entry| entry.path());
        let kept = files.filter(|file| {
            file.extension().is_some_and(|ending| endings.iter().any(|known| ending.to_str() == Some(known)))
        });
        kept.map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
    };
    let recorded: BTreeSet<String> = recipes().into_iter().map(|recipe| recipe.name).collect();
    assert_eq!(stems(&recordings(), &["holdup"]), recorded, "recordings and list.tsv");
    let names: BTreeSet<String> = names.into_iter().map(str::to_owned).collect();
    assert_eq!(stems(&goldens(), &["txt", "zst"]), names, "outputs and both tables");
}

#[test]
fn recordings_are_small_and_say_nothing_of_the_machine() {
    let mut together = 0;
    for recipe in recipes() {
        let bytes = std::fs::read(recipe.file()).unwrap_or_else(|error| panic!("{}: {error}", recipe.name));
        assert!(bytes.len() <= LARGEST, "{} has {} bytes", recipe.name, bytes.len());
        check_neutral(&bytes).unwrap_or_else(|error| panic!("{}: {error}", recipe.name));
        together += bytes.len() as u64;
    }
    assert!(together <= LARGEST_TOGETHER, "{together} bytes");
}
