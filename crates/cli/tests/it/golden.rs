//! Every command says of every recording in `tests/recordings` what it said when a person last looked at it.
//!
//! A change that is meant is taken over by `cargo xtask golden accept`, which says what it changes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use holdup_criticality::FindingKind;
use holdup_recording::format::{MAGIC, VERSION};
use serde_json::Value;

use crate::stage::HOLDUP;
use crate::stage::golden::{
    Origin, Outputs, Subject, check_neutral, differences, goldens, recipes, recordings,
};

/// All recordings together are no larger (bytes).
const LARGEST_TOGETHER: u64 = 5_000_000;

/// So many different programs are recorded at least.
const FEWEST_PROGRAMS: usize = 25;

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
    own_lock
    critical_section_fixed
    late_thread
    late_thread_fixed
    condition_barrier
    condition_barrier_stream
    pipeline
    short_queue
    short_channel
    late_look
    fresh_buffers
    fresh_vectors
    io_wait
    semaphore
    serial_phase
    early_join
    child_unpacks
    short_threads
    rwlock
    two_locks
    lock_array
    lock_chain
    convoy
    pool_idle
    pool_rounds
    hand_spin
    spin_yield
    false_sharing
    shared_counter
    malloc_arena
    stdio_lock
    loader_lock
    mmap_lock
    balanced
    demo
    oversubscribed
    late_thread_crowded
    critical_section_loaded
    pipeline_loaded
    uneven_loaded
    critical_section_confined
    uneven_confined
    late_thread_quota
    hot_lock_quota
    random_barrier
    random_barrier_crowded
    job_list
    hot_lock
    busy_lock
    pauses
    timer_reads
    uneven
    main_has_more
    hold_and_wait
    started_late
    sleeps_then_works
    children
    hostile_names
    deadlock
    deadlock_ring
    lost_signal
    absent_party
    conditions_kept
    once
    robust_mutex
    cancelled
    interrupted_calls
    executes_itself
    spawned
    shared_memory
    small_stacks
    aborted
    requests
    processes
    rust_sync
    rust_sync_fixed
    rust_scope
    uneven_async
    pool_results
    pool_idle_wait
    rayon_uneven
    rayon_lock
    tokio_blocking
    go_mutex
    go_serial
    python_gil
    static_stage
    critical_section_stripped
    rwlock_kernel
    rwlock_preload
    critical_section_attached
    pipeline_attached
    critical_section_all_holds
    serial_phase_window
    omp_mandelbrot_gcc
    omp_mandelbrot_llvm
    omp_serial_gcc
    omp_serial_llvm
    omp_sections_gcc
    omp_sections_llvm
    omp_held_gcc
    omp_rounds_llvm
    omp_starve_gcc
    omp_starve_llvm
    omp_starve_llvm_4
    late_tasks
    omp_tasks_gcc
    omp_tasks_llvm
    omp_barriers_gcc
    omp_barriers_llvm
    omp_mandelbrot_1
    omp_mandelbrot_2
    omp_mandelbrot_4
    omp_critical_gcc
    lime_tree_counts
    lime_poll_counts
    lime_lu_stream
    sim_lock_stream
    sim_false_stream
    policy_bfs_stream
    lime_tree_counted
    lime_condition_counted
    stack_lock
    stack_late
    damaged
    cut_off
    without_chunk
    without_names
    cut_off_stream
    unreadable
    tutorial_0
    tutorial_1
    tutorial_2
    tutorial_3
    tutorial_4
    diff_lock
    diff_barrier
    diff_rust
    diff_others
    diff_several
    diff_threads
    scale_mandelbrot
    report_several
    report_ranks
    report_window
    report_kernel
    report_preload
    whatif_sweep
    whatif_cores
    whatif_unknown
    check_regression
    check_junit
    check_github
    sim_two
    sim_sections
    policies
    policies_sweep
    characterize
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
            let ending = file.extension().unwrap_or_default().to_str().unwrap_or_default();
            endings.contains(&ending) || ending.is_empty()
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
    let mut together: u64 = 0;
    for recipe in recipes() {
        let mut length = 0;
        for file in recipe.files() {
            let bytes = std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            check_neutral(&bytes).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            length += bytes.len();
        }
        assert!(length <= recipe.largest(), "{} has {length} bytes", recipe.name);
        together += length as u64;
    }
    assert!(together <= LARGEST_TOGETHER, "{together} bytes");
}

#[test]
fn every_version_of_the_format_is_there() {
    let version = |path: &Path| {
        path.extension().filter(|ending| *ending == "holdup")?;
        let bytes = std::fs::read(path).expect("a recording");
        Some(u32::from_le_bytes(bytes.get(MAGIC.len()..)?.first_chunk().copied()?))
    };
    let found: BTreeSet<u32> =
        recipes().iter().flat_map(|recipe| recipe.files()).filter_map(|file| version(&file)).collect();
    assert!((1..=VERSION).all(|version| found.contains(&version)), "{found:?}");
}

#[test]
fn every_kind_of_finding_is_found_in_two_programs() {
    let mut programs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut sources = BTreeSet::new();
    for recipe in recipes() {
        let Origin::Run { source, language, .. } = &recipe.origin else { continue };
        sources.insert((source.clone(), language.clone()));
        let outputs = Outputs::kept(&recipe.name).unwrap().expect("outputs");
        let is_report = |command: &str| command.starts_with("holdup report") && command.ends_with("--json");
        let Some((_, json)) = outputs.whole.iter().find(|(command, _)| is_report(command)) else { continue };
        let Ok(json) = serde_json::from_str::<Value>(json) else { continue };
        for finding in json["findings"].as_array().into_iter().flatten() {
            let kind = finding["kind"].as_str().expect("a kind").to_owned();
            programs.entry(kind).or_default().insert(source.clone());
        }
        for note in json["run"]["environment"]["notes"].as_array().into_iter().flatten() {
            if note["cost_ns"].is_u64() {
                let kind = note["kind"].as_str().expect("a kind").to_owned();
                programs.entry(kind).or_default().insert(source.clone());
            }
        }
    }
    assert!(sources.len() >= FEWEST_PROGRAMS, "{sources:?}");
    for kind in FindingKind::ALL {
        let found = programs.get(kind.word()).cloned().unwrap_or_default();
        assert!(found.len() >= 2, "{}: only {found:?}", kind.word());
    }
}
