//! What LLVM's OpenMP runtime tells by OMPT: planted work, chunks, waits, tasks and locks against the columns of the
//! recording; and what is said where it tells nothing.
//!
//! Work is planted as sleep, of which a busy machine can only make more: lengths are compared from below.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use crate::openmp_gcc::LEAVES;
use crate::stage::{Stage, record, run};
use holdup_model::openmp::{DependKind, OpenMp, SyncKind, Vendor, WorkKind};
use holdup_model::{ObjectKind, Process, Run, SiteId, ThreadId};
use holdup_recording::Recording;

/// Before each program: sleep of some milliseconds.
const HEAD: &str = r#"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) static void plant(int ms) { struct timespec t = {0, ms * 1000000L}; nanosleep(&t, 0); }
#line 1 "program.c"
"#;
const MILLI: u64 = 1_000_000;

fn build(stage: &Stage, source: &str, flags: &[&str]) -> PathBuf {
    let file = stage.write("program.c", format!("{HEAD}{source}"));
    stage.clang("program", &file, flags)
}

/// Builds a program, runs it plain and recorded with two threads, demands the same, and gives what was recorded.
fn recorded(source: &str, set: &[(&str, &str)], flags: &[&str], status: i32) -> Run {
    let stage = Stage::new();
    let program = build(&stage, source, flags);
    let environment = || [("OMP_NUM_THREADS", "2")].into_iter().chain(set.iter().copied());
    let recording = stage.path("openmp.holdup");
    let plain = run(Command::new(&program).envs(environment()));
    let under = run(record(&recording, &program).envs(environment()));
    assert!(plain == under, "without holdup:\n{plain:?}\nunder holdup:\n{under:?}");
    assert_eq!(plain.status, status, "{plain:?}");
    let (recording, warnings) = Recording::open(&recording).expect("the recording can be read");
    recording.run(&warnings)
}

/// The processes of a recording that says nothing is missing.
fn processes(source: &str, set: &[(&str, &str)], status: i32) -> Vec<Process> {
    let run = recorded(source, set, &[], status);
    // On a busy machine threads that give way to each other switch more often than the kernel's records are made.
    let missing = |warning: &&String| !warning.contains("context switches");
    assert_eq!(run.warnings.iter().filter(missing).count(), 0, "{:?}", run.warnings);
    run.processes
}

/// Demands that the runtime told nothing, and that this is said.
fn untold(run: &Run) {
    assert!(run.warnings.len() == 1 && run.warnings[0].contains("LLVM"), "{:?}", run.warnings);
    let openmp = &run.processes[0].openmp;
    let runtimes: Vec<_> = openmp.runtimes.iter().map(|runtime| (runtime.vendor, runtime.told)).collect();
    assert_eq!(runtimes, [(Vendor::Llvm, false)]);
    assert!(openmp.regions.is_empty() && openmp.shares.is_empty());
}

/// The only process of a program that ends well.
fn process(source: &str) -> Process {
    processes(source, &[], 0).remove(0)
}

fn told(source: &str) -> OpenMp {
    process(source).openmp
}

fn line(process: &Process, place: Option<SiteId>) -> Option<u32> {
    process.sites[place?.index()].frames.first()?.line
}

#[test]
fn regions_are_known_by_the_function_that_the_compiler_made() {
    // The region is the last thing that `meet` does: the call that begins it returns to `main`.
    let process = process(
        r#"__attribute__((noinline)) static void meet(int ms) {
            #pragma omp parallel
            plant(omp_get_thread_num() == 0 ? 2 : ms);
        }
        int main(void) { for (int i = 0; i < 3; i++) meet(20); }
        "#,
    );
    let openmp = &process.openmp;
    assert_eq!(openmp.runtimes.len(), 1, "{:?}", openmp.runtimes);
    assert_eq!((openmp.runtimes[0].vendor, openmp.runtimes[0].told), (Vendor::Llvm, true));
    assert_eq!(openmp.regions.len(), 3, "{:?}", openmp.regions);
    for region in &openmp.regions {
        assert_eq!((region.size, region.count, region.whole, region.parent), (2, 1, true, None));
        assert_eq!(line(&process, region.place), Some(2), "{region:?}");
        assert!(region.end.since(region.begin).get() >= 20 * MILLI, "{region:?}");
        let shares: BTreeMap<u32, u64> = openmp
            .shares
            .iter()
            .filter(|share| share.instance == region.instance)
            .map(|share| {
                assert!(share.begin >= region.begin && share.end <= region.end, "{share:?} in {region:?}");
                (share.index, share.end.since(share.begin).get())
            })
            .collect();
        assert_eq!(shares.keys().copied().collect::<Vec<_>>(), [0, 1]);
        assert!(shares[&0] >= 2 * MILLI && shares[&1] >= 20 * MILLI, "{shares:?}");
    }
}

#[test]
fn chunks_of_loops_are_told_one_by_one() {
    let openmp = told(
        r#"int main(void) {
            #pragma omp parallel for schedule(dynamic, 2)
            for (int i = 10; i < 50; i += 3) plant(2);
            #pragma omp parallel for schedule(guided, 1)
            for (int i = 40; i > 0; i -= 2) plant(1);
            #pragma omp parallel
            {
                #pragma omp for schedule(dynamic, 3)
                for (unsigned long long i = 5; i < 45; i += 2) plant(1);
                #pragma omp for schedule(dynamic, 4) nowait
                for (unsigned int i = 40; i > 10; i -= 1) plant(1);
                #pragma omp for schedule(static)
                for (int i = 0; i < 6; i++) plant(1);
            }
        }"#,
    );
    // Kind, iterations, milliseconds of each, chunk size: of the loops in the order in which they are met.
    let loops = [
        (WorkKind::DynamicLoop, 14, 2, Some(2)),
        (WorkKind::GuidedLoop, 20, 1, Some(1)),
        (WorkKind::DynamicLoop, 20, 1, Some(3)),
        (WorkKind::DynamicLoop, 30, 1, Some(4)),
        (WorkKind::StaticLoop, 6, 1, None),
    ];
    let met: BTreeSet<_> = openmp.works.iter().map(|work| (work.instance, work.sequence)).collect();
    assert_eq!(met.len(), loops.len(), "{:?}", openmp.works);
    for ((instance, sequence), (kind, iterations, millis, size)) in met.into_iter().zip(loops) {
        let works: Vec<_> = openmp
            .works
            .iter()
            .filter(|work| (work.instance, work.sequence) == (instance, sequence))
            .collect();
        let mut chunks: Vec<_> = openmp
            .chunks
            .iter()
            .filter(|chunk| (chunk.instance, chunk.sequence) == (instance, sequence))
            .collect();
        chunks.sort_by_key(|chunk| chunk.first);
        assert_eq!(works.len(), 2, "{works:?}");
        for work in &works {
            assert_eq!((work.kind, work.iterations, work.chunk), (kind, Some(iterations), size), "{work:?}");
            let own: Vec<_> = chunks.iter().filter(|chunk| chunk.thread == work.thread).collect();
            assert_eq!(work.chunks as usize, own.len(), "{work:?}");
            assert!(own.iter().all(|chunk| chunk.begin >= work.begin && chunk.end <= work.end), "{own:?}");
        }
        if kind == WorkKind::StaticLoop {
            assert!(chunks.is_empty(), "who gets what is known beforehand: {chunks:?}");
            continue;
        }
        // Each iteration was dealt once, and took what was planted.
        let mut next = 0;
        for chunk in &chunks {
            assert_eq!(chunk.first, next, "{chunks:?}");
            next += chunk.count;
            assert!(chunk.end.since(chunk.begin).get() >= chunk.count * millis * MILLI, "{chunk:?}");
        }
        assert_eq!(next, iterations, "{chunks:?}");
        assert_eq!(works.iter().filter_map(|work| work.done).sum::<u64>(), iterations);
        // Getting chunks is apart from them.
        for work in &works {
            let own = chunks.iter().filter(|chunk| chunk.thread == work.thread);
            let within: u64 = own.map(|chunk| chunk.end.since(chunk.begin).get()).sum();
            let dealing = work.dealing.map_or(0, |time| time.get());
            assert!(within + dealing <= work.end.since(work.begin).get() + 1000, "{work:?}");
        }
    }
}

#[test]
fn all_threads_count_constructs_and_barriers_alike() {
    let openmp = told(
        r#"int main(void) {
            #pragma omp parallel
            for (int i = 0; i < 4; i++) {
                #pragma omp sections
                {
                    #pragma omp section
                    plant(2);
                    #pragma omp section
                    plant(1);
                }
                #pragma omp masked
                plant(1);
                #pragma omp single
                {
                    #pragma omp taskloop num_tasks(2)
                    for (int k = 0; k < 4; k++) plant(1);
                }
                if (omp_get_thread_num() == 1) plant(5);
                #pragma omp barrier
            }
        }"#,
    );
    let mut works: BTreeMap<u32, Vec<WorkKind>> = BTreeMap::new();
    for work in openmp.works.iter().filter(|work| work.kind != WorkKind::Masked) {
        works.entry(work.sequence).or_default().push(work.kind);
    }
    assert_eq!(works.len(), 8, "{works:?}");
    for (sequence, mut kinds) in works {
        kinds.sort();
        let expected = match sequence % 2 {
            0 => [WorkKind::Sections, WorkKind::Sections],
            _ => [WorkKind::Single, WorkKind::SingleOther],
        };
        assert_eq!(kinds, expected, "construct {sequence}");
    }
    assert_eq!(openmp.works.iter().filter(|work| work.kind == WorkKind::Masked).count(), 4);

    let mut barriers: BTreeMap<u32, Vec<_>> = BTreeMap::new();
    for sync in openmp.syncs.iter().filter(|sync| sync.kind.is_barrier()) {
        barriers.entry(sync.sequence).or_default().push(sync);
    }
    assert_eq!(barriers.len(), 12, "three in each turn");
    for (sequence, passes) in barriers {
        let arrivals: BTreeMap<_, _> =
            passes.iter().filter(|pass| !pass.continued).map(|pass| (pass.thread, pass.begin)).collect();
        assert_eq!(arrivals.len(), 2, "barrier {sequence}: {passes:?}");
        let last = arrivals.values().max().copied();
        let left = passes.iter().filter(|pass| !pass.interrupted);
        assert!(left.clone().count() == 2 && left.clone().all(|pass| Some(pass.end) >= last), "{passes:?}");
        let expected = if sequence % 3 == 2 { SyncKind::ExplicitBarrier } else { SyncKind::WorkBarrier };
        assert!(passes.iter().all(|pass| pass.kind == expected), "barrier {sequence}: {passes:?}");
    }
}

/// Where not all tasks are told: an untied one is suspended whenever it makes another, and lies beneath what it waits for.
#[test]
fn the_time_of_untied_tasks_that_are_not_told_is_told() {
    let process = process(
        r#"static void village(int level) {
            plant(1);
            for (int i = 0; i < 4 && level > 0; i++) {
                #pragma omp task untied
                village(level - 1);
            }
            #pragma omp taskwait
        }
        int main(void) {
            #pragma omp parallel
            #pragma omp single
            {
                for (int i = 0; i < 1100; i++) {
                    #pragma omp task
                    __asm__ volatile("");
                }
                #pragma omp taskwait
                for (int i = 0; i < 12; i++) village(2);
            }
        }"#,
    );
    let runs = process.openmp.task_runs.iter();
    let in_tasks: u64 = runs.map(|run| run.end.since(run.begin).get()).sum();
    assert!(in_tasks >= 12 * (4 + 16) * MILLI, "{in_tasks} ns in tasks");
}

/// Recursive programs wait for tasks at each of their leaves, where there are none.
#[test]
fn who_has_made_no_task_does_not_wait_for_one() {
    let openmp = told(LEAVES);
    let waits = openmp.syncs.iter().filter(|sync| sync.kind == SyncKind::Taskwait && !sync.continued);
    assert_eq!(waits.count(), 5, "{:?}", openmp.syncs);
}

/// Another thread may go on with an untied task, and with its wait: this is said all the same.
#[test]
fn an_untied_task_waits_for_those_that_it_has_made() {
    let openmp = told(
        r#"int main(void) {
            #pragma omp parallel
            #pragma omp single
            for (int i = 0; i < 8; i++) {
                #pragma omp task untied
                {
                    for (int j = 0; j < 3; j++) {
                        #pragma omp task untied
                        plant(1);
                    }
                    #pragma omp taskwait
                    plant(1);
                }
            }
        }"#,
    );
    let waits = openmp.syncs.iter().filter(|sync| sync.kind == SyncKind::Taskwait && !sync.continued);
    assert!(waits.count() >= 8, "{:?}", openmp.syncs);
}

#[test]
fn tasks_are_told_with_their_dependences() {
    let process = process(
        r#"int main(void) {
            #pragma omp parallel
            #pragma omp single
            {
                int chain = 0;
                for (int i = 0; i < 6; i++) {
                    #pragma omp task depend(inout: chain) shared(chain)
                    { plant(3); chain++; }
                }
                #pragma omp taskwait
                #pragma omp taskgroup
                for (int i = 0; i < 8; i++) {
                    #pragma omp task
                    { plant(1);
                      #pragma omp task
                      plant(1);
                      #pragma omp taskwait
                      plant(1); }
                }
                #pragma omp taskloop grainsize(5)
                for (int i = 100; i < 120; i++) plant(1);
                #pragma omp task if(0)
                plant(1);
                #pragma omp task untied
                { plant(1);
                  #pragma omp taskyield
                  plant(1); }
                if (chain != 6) abort();
            }
        }"#,
    );
    let openmp = &process.openmp;
    let tasks: BTreeMap<_, _> = openmp.tasks.iter().map(|task| (task.id, task)).collect();
    assert_eq!(tasks.len(), 6 + 8 + 8 + 4 + 1 + 1, "{tasks:?}");
    assert_eq!(tasks.values().filter(|task| task.undeferred).count(), 1);
    assert_eq!(tasks.values().filter(|task| task.of_loop).count(), 4);
    assert!(tasks.values().all(|task| task.instance == Some(openmp.regions[0].instance)));
    let children = tasks.values().filter_map(|task| task.parent);
    assert!(children.clone().count() == 8 && children.collect::<BTreeSet<_>>().len() == 8, "{tasks:?}");
    let lines: BTreeSet<_> = tasks.values().filter_map(|task| line(&process, task.place)).collect();
    assert!(lines.is_superset(&BTreeSet::from([7, 13])), "{lines:?}");

    let mut time: BTreeMap<_, u64> = BTreeMap::new();
    for run in &openmp.task_runs {
        let Some(task) = run.task else { panic!("all of so few are told: {run:?}") };
        assert!(tasks.contains_key(&task), "{run:?}");
        *time.entry(task).or_default() += run.end.since(run.begin).get();
    }
    for (id, task) in &tasks {
        let planted = if task.of_loop { 5 } else { 1 };
        assert!(time[id] >= planted * MILLI, "{task:?} ran {} ns", time[id]);
        assert_eq!(
            openmp.task_runs.iter().filter(|run| run.task == Some(*id) && run.complete).count(),
            1,
            "{task:?}"
        );
    }
    let chained: Vec<_> = openmp.depends.iter().filter(|depend| depend.kind == DependKind::Out).collect();
    assert_eq!(chained.len(), 6);
    assert_eq!(chained.iter().map(|depend| depend.address).collect::<BTreeSet<_>>().len(), 1);
    let runs: Vec<_> = chained
        .iter()
        .map(|depend| openmp.task_runs.iter().find(|run| run.task == Some(depend.task)).expect("it ran"))
        .collect();
    assert!(runs.windows(2).all(|pair| pair[0].end <= pair[1].begin), "{runs:?}");

    // What a thread waits for is not what it does meanwhile.
    for sync in &openmp.syncs {
        for run in openmp.task_runs.iter().filter(|run| run.thread == sync.thread) {
            assert!(run.end <= sync.begin || run.begin >= sync.end, "{run:?} overlaps {sync:?}");
        }
    }
    assert!(openmp.syncs.iter().any(|sync| sync.kind == SyncKind::Taskwait));
    assert!(openmp.syncs.iter().any(|sync| sync.kind == SyncKind::Taskgroup));
}

#[test]
fn every_acquisition_is_counted() {
    let openmp = told(
        r#"static omp_lock_t lock;
        static omp_nest_lock_t nested[40];
        int main(void) {
            long sum = 0;
            omp_init_lock(&lock);
            for (int i = 0; i < 40; i++) omp_init_nest_lock(&nested[i]);
            #pragma omp parallel
            for (int i = 0; i < 5000; i++) {
                #pragma omp critical
                sum++;
                #pragma omp critical(named)
                sum++;
                omp_set_lock(&lock);
                sum++;
                omp_unset_lock(&lock);
                omp_set_nest_lock(&nested[i % 40]);
                omp_set_nest_lock(&nested[i % 40]);
                omp_unset_nest_lock(&nested[i % 40]);
                omp_unset_nest_lock(&nested[i % 40]);
            }
            for (int i = 0; i < 300; i++) { while (!omp_test_lock(&lock)) {} omp_unset_lock(&lock); }
        }"#,
    );
    let count = |kind: ObjectKind, inside: bool| -> u64 {
        let matching =
            openmp.acquires.iter().filter(|row| row.kind == kind && row.region.is_some() == inside);
        matching.map(|row| row.acquisitions).sum()
    };
    assert_eq!(count(ObjectKind::Critical, true), 20_000);
    assert_eq!(count(ObjectKind::OmpLock, true), 20_000);
    assert_eq!(count(ObjectKind::OmpLock, false), 300);
    for row in &openmp.acquires {
        assert!(row.timed <= row.acquisitions && row.waits <= row.acquisitions, "{row:?}");
        assert!(row.timed == 0 || row.fastest.get() * row.timed <= row.time.get() + row.timed, "{row:?}");
    }
    assert!(openmp.acquires.iter().any(|row| row.timed > 0));
}

#[test]
fn who_holds_a_lock_is_waited_for() {
    let openmp = told(
        r#"int main(void) {
            omp_lock_t lock;
            omp_nest_lock_t nested;
            omp_init_lock(&lock);
            omp_init_nest_lock(&nested);
            #pragma omp parallel
            {
                for (int i = 0; i < 10; i++) { omp_set_lock(&lock); plant(2); omp_unset_lock(&lock); }
                #pragma omp barrier
                for (int i = 0; i < 10; i++) { omp_set_nest_lock(&nested); plant(2); omp_unset_nest_lock(&nested); }
                #pragma omp barrier
                for (int i = 0; i < 10; i++) {
                    #pragma omp critical
                    plant(2);
                }
            }
        }"#,
    );
    for (kind, acquisitions) in [(ObjectKind::OmpLock, 40), (ObjectKind::Critical, 20)] {
        let rows: Vec<_> = openmp.acquires.iter().filter(|row| row.kind == kind).collect();
        assert_eq!(rows.iter().map(|row| row.acquisitions).sum::<u64>(), acquisitions);
        let waits: u64 = rows.iter().map(|row| row.waits).sum();
        let waiting: u64 = rows.iter().map(|row| row.waiting.get()).sum();
        // Two threads with nothing to do outside of the lock: at least one wait is as long as a hold.
        assert!(waits >= 1 && waiting >= MILLI, "{rows:?}");
    }
}

#[test]
fn frequent_regions_are_summed_up() {
    let openmp = told(
        r#"int main(void) {
            for (int i = 0; i < 20000; i++) {
                #pragma omp parallel
                __asm__ volatile("" ::: "memory");
            }
        }"#,
    );
    assert_eq!(openmp.regions.iter().map(|region| region.count).sum::<u64>(), 20_000);
    let whole = openmp.regions.iter().filter(|region| region.whole).count();
    assert!(whole >= 3, "the first ones are told whole: {whole}");
    assert!(openmp.regions.iter().all(|region| region.timed <= region.count && region.timed > 0));
    assert_eq!(openmp.shares.len(), 2 * whole, "of those that are not whole nothing else is told");
}

#[test]
fn nested_regions_and_leagues_know_what_is_around_them() {
    let openmp = told(
        r#"int main(void) {
            omp_set_max_active_levels(3);
            #pragma omp parallel num_threads(2)
            {
                #pragma omp parallel num_threads(2)
                {
                    plant(2);
                    #pragma omp barrier
                }
                #pragma omp barrier
            }
            #pragma omp parallel if(0)
            plant(1);
            #pragma omp teams num_teams(2)
            plant(1);
        }"#,
    );
    let outer: Vec<_> = openmp.regions.iter().filter(|region| region.parent.is_none()).collect();
    let inner: Vec<_> = openmp.regions.iter().filter(|region| region.parent.is_some()).collect();
    assert_eq!(
        outer.iter().map(|region| (region.size, region.league)).collect::<Vec<_>>(),
        [(2, false), (1, false), (2, true)]
    );
    assert_eq!(inner.len(), 2, "{inner:?}");
    assert!(inner.iter().all(|region| region.parent == Some(outer[0].instance) && region.size == 2));
    for region in inner.iter().chain(&outer[..1]) {
        let barriers = openmp.syncs.iter().filter(|sync| sync.instance == region.instance);
        assert_eq!(barriers.count(), 2, "{region:?}");
    }
    let teams = openmp.shares.iter().filter(|share| share.instance == outer[2].instance);
    assert_eq!(teams.map(|share| share.index).collect::<BTreeSet<_>>(), BTreeSet::from([0, 1]));
}

/// Three executions of a region.
const REGIONS: &str = r#"int main(void) {
    for (int i = 0; i < 3; i++) {
        #pragma omp parallel
        plant(1);
    }
    puts("done");
}"#;

#[test]
fn a_runtime_that_may_have_no_tool_is_told_of() {
    untold(&recorded(REGIONS, &[("OMP_TOOL", "disabled")], &[], 0));
    for set in [("OMP_TOOL", "enabled"), ("KMP_BLOCKTIME", "infinite")] {
        let openmp = &processes(REGIONS, &[set], 0)[0].openmp;
        let runtimes: Vec<_> = openmp.runtimes.iter().map(|runtime| (runtime.vendor, runtime.told)).collect();
        assert_eq!(runtimes, [(Vendor::Llvm, true)], "{set:?}");
        assert_eq!(openmp.regions.len(), 3, "{set:?}");
    }
}

#[test]
fn a_tool_of_the_program_has_the_runtime_to_itself() {
    const TOOL: &str = r#"#include <omp-tools.h>
        static int begun;
        static void parallel_begin(ompt_data_t *a, const ompt_frame_t *b, ompt_data_t *c, unsigned d, int e,
                                   const void *f) { begun++; }
        static int start(ompt_function_lookup_t lookup, int device, ompt_data_t *data) {
            ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
            return set(ompt_callback_parallel_begin, (ompt_callback_t)parallel_begin) != 0;
        }
        static void finish(ompt_data_t *data) { printf("%d regions\n", begun); fflush(stdout); }
        ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime) {
            static ompt_start_tool_result_t result = {start, finish, {0}};
            return &result;
        }
    "#;
    untold(&recorded(&format!("{TOOL}{REGIONS}"), &[], &["-rdynamic"], 0));
    // As a library that the runtime is told to load.
    let stage = Stage::new();
    let file = stage.write("tool.c", format!("{HEAD}{TOOL}"));
    let library = stage.clang("libtool.so", &file, &["-shared", "-fPIC"]);
    let library = library.to_str().expect("a path in ASCII");
    untold(&recorded(REGIONS, &[("OMP_TOOL_LIBRARIES", library)], &[], 0));
}

#[test]
fn a_region_that_is_cancelled_ends() {
    let process = &processes(
        r#"int main(void) {
            for (int i = 0; i < 20; i++) {
                #pragma omp parallel
                {
                    #pragma omp for
                    for (int k = 0; k < 50; k++) {
                        #pragma omp cancellation point for
                        if (k == 4) {
                            #pragma omp cancel for
                        }
                    }
                    #pragma omp barrier
                    // Once, without this pause, the threads were left one barrier apart in LLVM's runtime: see docs/openmp.md.
                    if (omp_get_thread_num() == 1) {
                        plant(1);
                        #pragma omp cancel parallel
                    }
                    #pragma omp barrier
                }
            }
            #pragma omp parallel
            plant(1);
        }"#,
        &[("OMP_CANCELLATION", "true")],
        0,
    )[0];
    let openmp = &process.openmp;
    assert_eq!(openmp.regions.iter().map(|region| region.count).sum::<u64>(), 21);
    let last = openmp.regions.iter().max_by_key(|region| region.begin).expect("a region");
    let shares = openmp.shares.iter().filter(|share| share.instance == last.instance);
    assert_eq!(shares.count(), 2, "{last:?}");
}

#[test]
fn a_region_that_the_program_ends_in_is_open() {
    let process = &processes(
        r#"int main(void) {
            #pragma omp parallel
            {
                #pragma omp barrier
                #pragma omp masked
                { plant(5); exit(7); }
                plant(30);
            }
        }"#,
        &[],
        7,
    )[0];
    let regions: Vec<_> = process.openmp.regions.iter().map(|region| (region.open, region.vendor)).collect();
    assert_eq!(regions, [(true, Vendor::Llvm)], "{:?}", process.openmp.regions);
}

#[test]
fn a_forked_child_tells_of_its_own_regions() {
    let processes = processes(
        r#"int main(void) {
            #pragma omp parallel
            plant(1);
            pid_t child = fork();
            for (int i = 0; i < (child ? 1 : 4); i++) {
                #pragma omp parallel
                plant(1);
            }
            if (child) { int status; waitpid(child, &status, 0); return status; }
        }"#,
        &[],
        0,
    );
    let [process] = processes.as_slice() else { panic!("a forked process is reported with who forked it") };
    let openmp = &process.openmp;
    let met = |child: bool| {
        // The thread itself, or the one that started it: a forked process's first thread has a parent too.
        let by = |thread: ThreadId| match process.is_another(thread) {
            true => thread,
            false => process.thread(thread).parent.unwrap_or(thread),
        };
        openmp.regions.iter().filter(|region| process.is_another(by(region.thread)) == child).count()
    };
    assert_eq!([met(false), met(true)], [2, 4], "{:?}", openmp.regions);
    assert_eq!(openmp.runtimes.iter().map(|runtime| runtime.told).collect::<Vec<_>>(), [true]);
    assert_eq!(openmp.shares.len(), 2 * openmp.regions.len(), "{:?}", openmp.shares);
}
