//! What is told of gcc's OpenMP runtime: planted work, chunks, waits, tasks and locks against the columns of the recording.
//!
//! Work is planted as sleep, of which a busy machine can only make more: lengths are compared from below.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use crate::stage::{Stage, record, run};
use holdup_model::ObjectKind;
use holdup_model::openmp::{DependKind, OpenMp, SyncKind, Vendor, WorkKind};
use holdup_recording::Recording;
use holdup_trace::openmp::Event;
use holdup_trace::wire::Record;

/// Before each program: sleep of some milliseconds.
const HEAD: &str = r#"
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static void plant(int ms) { struct timespec t = {0, ms * 1000000L}; nanosleep(&t, 0); }
"#;
const MILLI: u64 = 1_000_000;

/// Builds a program, runs it plain and recorded with two threads, demands the same, and gives what was told of its
/// process.
fn told(source: &str) -> OpenMp {
    recorded(source).0
}

/// As [`told`], with the recording.
fn recorded(source: &str) -> (OpenMp, Recording) {
    let stage = Stage::new();
    let file = stage.write("program.c", format!("{HEAD}{source}"));
    let program = stage.compile("program", file, &["-fopenmp"]);
    let recording = stage.path("openmp.holdup");
    let plain = run(Command::new(&program).env("OMP_NUM_THREADS", "2"));
    let under_holdup = run(record(&recording, &program).env("OMP_NUM_THREADS", "2"));
    assert!(plain == under_holdup, "without holdup:\n{plain:?}\nunder holdup:\n{under_holdup:?}");
    assert_eq!(plain.status, 0, "{plain:?}");
    let (recording, warnings) = Recording::open(&recording).expect("the recording can be read");
    let mut run = recording.run(&warnings);
    // On a busy machine threads that give way to each other switch more often than the kernel's records are made.
    let missing = |warning: &&String| !warning.contains("context switches");
    assert_eq!(run.warnings.iter().filter(missing).count(), 0, "{:?}", run.warnings);
    (run.processes.remove(0).openmp, recording)
}

#[test]
fn regions_name_their_runtime_and_their_team() {
    let openmp = told(
        r#"int main(void) {
            for (int i = 0; i < 3; i++) {
                #pragma omp parallel
                plant(omp_get_thread_num() == 0 ? 2 : 20);
            }
        }"#,
    );
    assert_eq!(openmp.runtimes.len(), 1, "{:?}", openmp.runtimes);
    assert_eq!((openmp.runtimes[0].vendor, openmp.runtimes[0].told), (Vendor::Gnu, true));
    assert_eq!(openmp.regions.len(), 3, "{:?}", openmp.regions);
    for region in &openmp.regions {
        assert_eq!((region.size, region.count, region.whole, region.parent), (2, 1, true, None));
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
            #pragma omp parallel for schedule(guided)
            for (int i = 40; i > 0; i -= 2) plant(1);
            #pragma omp parallel
            {
                #pragma omp for schedule(dynamic, 3)
                for (unsigned long long i = 5; i < 45; i += 2) plant(1);
                #pragma omp for schedule(dynamic, 4) nowait
                for (unsigned long long i = 40; i > 10; i -= 1) plant(1);
                #pragma omp for ordered schedule(static, 1)
                for (int i = 0; i < 6; i++) {
                    #pragma omp ordered
                    plant(1);
                }
            }
        }"#,
    );
    // Kind, iterations, milliseconds of each, chunk size: of the loops in the order in which they are met.
    let loops = [
        (WorkKind::DynamicLoop, 14, 2, Some(2)),
        (WorkKind::GuidedLoop, 20, 1, None),
        (WorkKind::DynamicLoop, 20, 1, Some(3)),
        (WorkKind::DynamicLoop, 30, 1, Some(4)),
        (WorkKind::StaticLoop, 6, 1, Some(1)),
    ];
    let met: BTreeSet<_> = openmp.works.iter().map(|work| (work.instance, work.sequence)).collect();
    assert_eq!(met.len(), loops.len(), "{:?}", openmp.works);
    for ((instance, sequence), (kind, iterations, millis, chunk)) in met.into_iter().zip(loops) {
        let is_it = |of: (_, u32)| of == (instance, sequence);
        let works: Vec<_> =
            openmp.works.iter().filter(|work| is_it((work.instance, work.sequence))).collect();
        let mut chunks: Vec<_> =
            openmp.chunks.iter().filter(|chunk| is_it((chunk.instance, chunk.sequence))).collect();
        chunks.sort_by_key(|chunk| chunk.first);
        assert_eq!(works.len(), 2, "{works:?}");
        for work in &works {
            assert_eq!((work.kind, work.iterations), (kind, Some(iterations)), "{work:?}");
            let own: Vec<_> = chunks.iter().filter(|chunk| chunk.thread == work.thread).collect();
            assert_eq!(work.chunks as usize, own.len(), "{work:?}");
            assert!(own.iter().all(|chunk| chunk.begin >= work.begin && chunk.end <= work.end), "{own:?}");
            if chunk.is_some() {
                assert_eq!(work.chunk, chunk, "{work:?}");
            }
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
    }
}

#[test]
fn a_long_instance_whose_barriers_are_rare_is_told_whole() {
    let openmp = told(
        r#"static void pause(void) { struct timespec t = {0, 60000}; nanosleep(&t, 0); }
        int main(void) {
            #pragma omp parallel
            for (int i = 0; i < 600; i++) {
                #pragma omp for schedule(dynamic)
                for (int j = 0; j < 4; j++) pause();
            }
        }"#,
    );
    let distinct: BTreeSet<_> = openmp.works.iter().map(|work| (work.thread, work.sequence)).collect();
    assert_eq!((openmp.works.len(), distinct.len()), (1200, 1200));
    let chunks: BTreeSet<_> = openmp.chunks.iter().map(|chunk| (chunk.sequence, chunk.first)).collect();
    assert_eq!((openmp.chunks.len(), chunks.len()), (2400, 2400));
    let barriers: BTreeSet<_> = openmp.syncs.iter().map(|sync| (sync.thread, sync.sequence)).collect();
    assert_eq!(barriers.len(), 1200);
}

#[test]
fn all_threads_count_constructs_and_barriers_alike() {
    let openmp = told(
        r#"int main(void) {
            #pragma omp parallel
            for (int i = 0; i < 4; i++) {
                int shared_value = 0;
                #pragma omp sections
                {
                    #pragma omp section
                    plant(2);
                    #pragma omp section
                    plant(1);
                    #pragma omp section
                    plant(3);
                }
                #pragma omp single
                plant(3);
                #pragma omp single copyprivate(shared_value)
                { plant(2); shared_value = 7; }
                if (shared_value != 7) abort();
                if (omp_get_thread_num() == 1) plant(5);
                #pragma omp barrier
            }
        }"#,
    );
    let mut works: BTreeMap<u32, Vec<WorkKind>> = BTreeMap::new();
    for work in &openmp.works {
        works.entry(work.sequence).or_default().push(work.kind);
    }
    assert_eq!(works.len(), 12);
    for (sequence, mut kinds) in works {
        kinds.sort();
        let expected = match sequence % 3 {
            0 => [WorkKind::Sections, WorkKind::Sections],
            _ => [WorkKind::Single, WorkKind::SingleOther],
        };
        assert_eq!(kinds, expected, "construct {sequence}");
    }
    let sections = openmp.chunks.iter().filter(|chunk| chunk.sequence == 0);
    assert_eq!(sections.map(|chunk| chunk.first).collect::<BTreeSet<_>>(), BTreeSet::from([0, 1, 2]));

    let mut barriers: BTreeMap<u32, Vec<_>> = BTreeMap::new();
    for sync in openmp.syncs.iter().filter(|sync| sync.kind.is_barrier()) {
        barriers.entry(sync.sequence).or_default().push(sync);
    }
    assert_eq!(barriers.len(), 20, "five in each turn, one of them within copyprivate");
    for (sequence, passes) in barriers {
        assert_eq!(passes.len(), 2, "barrier {sequence}: {passes:?}");
        let last = passes.iter().map(|pass| pass.begin).max();
        assert!(passes.iter().all(|pass| Some(pass.end) >= last), "barrier {sequence}: {passes:?}");
    }
}

/// Five of its waits are for tasks: of the one that makes four, and of these, each of which makes one.
pub(crate) const LEAVES: &str = r#"static void leaf(void) {
            for (int i = 0; i < 100; i++) {
                #pragma omp taskwait
            }
        }
        static void work(void) {
            leaf();
            plant(1);
            #pragma omp task
            plant(1);
            #pragma omp taskwait
            leaf();
        }
        int main(void) {
            #pragma omp parallel
            #pragma omp single
            {
                leaf();
                for (int i = 0; i < 4; i++) {
                    #pragma omp task
                    work();
                }
                #pragma omp taskwait
                leaf();
            }
        }"#;

/// Recursive programs wait for tasks at each of their leaves, where there are none.
#[test]
fn who_has_made_no_task_does_not_wait_for_one() {
    let openmp = told(LEAVES);
    let waits = openmp.syncs.iter().filter(|sync| sync.kind == SyncKind::Taskwait && !sync.continued);
    assert_eq!(waits.count(), 5, "{:?}", openmp.syncs);
}

#[test]
fn tasks_are_told_with_their_dependences() {
    let openmp = told(
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
                    #pragma omp task if(i < 7)
                    plant(2);
                }
                #pragma omp taskloop grainsize(5)
                for (int i = 100; i < 120; i++) plant(1);
                if (chain != 6) abort();
            }
        }"#,
    );
    let tasks: BTreeMap<_, _> = openmp.tasks.iter().map(|task| (task.id, task)).collect();
    assert_eq!(tasks.len(), 18, "{tasks:?}");
    assert_eq!(tasks.values().filter(|task| task.of_loop).count(), 4);
    assert_eq!(tasks.values().filter(|task| task.undeferred).count(), 1);
    assert!(
        tasks.values().all(|task| task.parent.is_none() && task.instance == Some(openmp.regions[0].instance))
    );

    let mut time: BTreeMap<_, u64> = BTreeMap::new();
    for run in &openmp.task_runs {
        let Some(task) = run.task else { panic!("all of so few are told: {run:?}") };
        *time.entry(task).or_default() += run.end.since(run.begin).get();
    }
    for (id, task) in &tasks {
        let planted = if task.of_loop { 5 } else { 2 };
        assert!(time[id] >= planted * MILLI, "{task:?} ran {} ns", time[id]);
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
        for run in openmp.task_runs.iter().filter(|run| run.thread == sync.thread && run.complete) {
            assert!(run.end <= sync.begin || run.begin >= sync.end, "{run:?} overlaps {sync:?}");
        }
    }
    assert!(openmp.syncs.iter().any(|sync| sync.kind == SyncKind::Taskwait));
    assert!(openmp.syncs.iter().any(|sync| sync.kind == SyncKind::Taskgroup));
}

/// To record all chunks would cost more than they may: all else is recorded.
#[test]
fn an_execution_of_many_chunks_is_whole_without_them() {
    let openmp = told(
        r#"int main(void) {
            static unsigned sum[4096];
            for (int step = 0; step < 300; step++) {
                #pragma omp parallel for schedule(dynamic, 1)
                for (int i = 0; i < 4096; i++)
                    for (int k = 0; k < 300; k++) sum[i] = sum[i] * 5 + k;
            }
            printf("%u\n", sum[7]);
        }"#,
    );
    let whole = openmp.regions.iter().filter(|region| region.whole).count();
    assert_eq!(whole, 300, "{:?}", openmp.regions.len());
    let chunks: u64 = openmp.works.iter().map(|work| u64::from(work.chunks)).sum();
    assert_eq!(chunks, 300 * 4096, "they are counted");
    assert!((openmp.chunks.len() as u64) < chunks, "{}", openmp.chunks.len());
}

/// The runtime puts the data of tasks that a function copies on the stack, of all of a `taskloop` at once; ours must not make it
/// so deep that the program dies, nor change what its tasks see.
#[test]
fn a_taskloop_of_very_many_tasks_leaves_the_stack_as_it_is() {
    let openmp = told(
        r#"int main(void) {
            static char out[400000];
            long sum = 0, odd = 0;
            int n = 1000;
            #pragma omp parallel
            #pragma omp single
            {
                #pragma omp taskloop grainsize(1)
                for (int i = 0; i < 400000; i++) out[i] = i % 7;
                #pragma omp taskloop grainsize(1) reduction(+: sum) firstprivate(n)
                for (int i = 0; i < 400000; i++) sum += out[i] + n;
                #pragma omp taskloop grainsize(3) reduction(+: odd)
                for (unsigned long long i = 400000; i > 1; i -= 2) odd += i;
                int own[n];
                for (int i = 0; i < n; i++) own[i] = i;
                #pragma omp taskloop grainsize(1) firstprivate(own)
                for (int i = 0; i < 1000; i++) if (own[i] != i) abort();
            }
            printf("%ld %ld\n", sum, odd);
        }"#,
    );
    assert!(openmp.tasks.iter().any(|task| task.of_loop));
}

#[test]
fn the_time_of_tasks_that_are_not_told_is_told() {
    let (openmp, records) = recorded(
        r#"static void pause(void) { struct timespec t = {0, 200000}; nanosleep(&t, 0); }
        int main(void) {
            #pragma omp parallel
            #pragma omp single
            for (int i = 0; i < 3000; i++) {
                #pragma omp task final(i % 2)
                pause();
            }
        }"#,
    );
    assert!((1024..3000).contains(&openmp.tasks.len()), "{} are told one by one", openmp.tasks.len());
    // The compiler makes one of the barrier of the `single` and the join of the region.
    let region = &openmp.regions[0];
    let mut ticks = 0;
    let mut region_ticks = 0;
    for (_, record) in records.processes[0].records() {
        match record {
            Record::OpenMp(Event::TaskRun(run)) => ticks += run.end - run.begin,
            Record::OpenMp(Event::Region(region)) => region_ticks = region.end - region.begin,
            _ => {}
        }
    }
    let in_tasks = region.end.since(region.begin).get() as f64 * ticks as f64 / region_ticks as f64;
    assert!(in_tasks >= (3000 * MILLI / 5) as f64, "{in_tasks} ns in tasks");
}

/// A thread that waits for a task in a task in a task… executes those meanwhile: that is no waiting, however deep they lie.
#[test]
fn the_time_of_tasks_that_lie_deep_is_told() {
    let openmp = told(
        r#"static void down(int left) {
            plant(1);
            if (left == 0) return;
            // Made by who waits for it at once, or put off.
            #pragma omp task if(left % 4)
            down(left - 1);
            #pragma omp taskwait
        }
        int main(void) {
            #pragma omp parallel
            #pragma omp single
            {
                #pragma omp task
                down(299);
                #pragma omp taskwait
            }
        }"#,
    );
    let in_tasks: u64 = openmp.task_runs.iter().map(|run| run.end.since(run.begin).get()).sum();
    assert!(in_tasks >= 300 * MILLI, "{in_tasks} ns in tasks");
}

#[test]
fn every_acquisition_is_counted() {
    let openmp = told(
        r#"static omp_lock_t lock;
        static omp_nest_lock_t nested;
        int main(void) {
            long sum = 0;
            omp_init_lock(&lock);
            omp_init_nest_lock(&nested);
            #pragma omp parallel
            for (int i = 0; i < 5000; i++) {
                #pragma omp critical
                sum++;
                #pragma omp critical(named)
                sum++;
                omp_set_lock(&lock);
                sum++;
                omp_unset_lock(&lock);
                omp_set_nest_lock(&nested);
                omp_set_nest_lock(&nested);
                omp_unset_nest_lock(&nested);
                omp_unset_nest_lock(&nested);
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
fn a_lock_that_is_held_is_waited_for() {
    let openmp = told(
        r#"
        #include <sys/syscall.h>
        #include <unistd.h>
        static _Atomic int held, asking;
        // Waits until the thread that says that it asks for what is held here sleeps.
        static void until_the_other_sleeps(void) {
            held = 1;
            while (!asking) plant(1);
            char path[64], state = 0;
            snprintf(path, sizeof path, "/proc/self/task/%d/stat", asking);
            while (state != 'S') {
                plant(2);
                FILE *stat = fopen(path, "r");
                if (!stat || fscanf(stat, "%*d (%*[^)]) %c", &state) != 1) abort();
                fclose(stat);
            }
            plant(2);
            held = asking = 0;
        }
        static void ask(void) {
            while (!held) plant(1);
            asking = syscall(SYS_gettid);
        }
        int main(void) {
            omp_lock_t lock;
            omp_init_lock(&lock);
            #pragma omp parallel
            {
                int first = omp_get_thread_num() == 0;
                if (!first) ask();
                omp_set_lock(&lock);
                if (first) until_the_other_sleeps();
                omp_unset_lock(&lock);
                #pragma omp barrier
                if (!first) ask();
                #pragma omp critical
                if (first) until_the_other_sleeps();
            }
        }"#,
    );
    for kind in [ObjectKind::OmpLock, ObjectKind::Critical] {
        let rows: Vec<_> = openmp.acquires.iter().filter(|row| row.kind == kind).collect();
        assert_eq!(rows.iter().map(|row| row.acquisitions).sum::<u64>(), 2);
        let waits: u64 = rows.iter().map(|row| row.waits).sum();
        let waiting: u64 = rows.iter().map(|row| row.waiting.get()).sum();
        // It sleeps, and the other holds on for two milliseconds more.
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
    assert_eq!(
        openmp.regions.iter().map(|region| region.instance).collect::<BTreeSet<_>>().len(),
        openmp.regions.len()
    );
}

#[test]
fn nested_regions_know_what_is_around_them() {
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
        }"#,
    );
    let outer: Vec<_> = openmp.regions.iter().filter(|region| region.parent.is_none()).collect();
    let inner: Vec<_> = openmp.regions.iter().filter(|region| region.parent.is_some()).collect();
    assert_eq!((outer.len(), inner.len()), (2, 2), "{:?}", openmp.regions);
    assert!(inner.iter().all(|region| region.parent == Some(outer[0].instance) && region.size == 2));
    assert_eq!(outer[1].size, 1);
    for region in inner.iter().chain(&outer[..1]) {
        let barriers = openmp.syncs.iter().filter(|sync| sync.instance == region.instance);
        assert_eq!(
            barriers.map(|sync| (sync.sequence, sync.kind)).collect::<Vec<_>>().len(),
            2,
            "{region:?}"
        );
    }
}

#[test]
fn threads_of_the_program_meet_regions_of_their_own() {
    let openmp = told(
        r#"static pthread_barrier_t all_are_here;
        static void *meet(void *unused) {
            // The first regions of the program begin at the same time.
            pthread_barrier_wait(&all_are_here);
            for (int i = 0; i < 20; i++) {
                #pragma omp parallel
                plant(1);
            }
            return unused;
        }
        int main(void) {
            pthread_t threads[3];
            pthread_barrier_init(&all_are_here, 0, 3);
            for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, meet, 0);
            for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
        }"#,
    );
    assert_eq!(openmp.regions.iter().map(|region| region.count).sum::<u64>(), 60);
    assert_eq!(openmp.regions.iter().map(|region| region.thread).collect::<BTreeSet<_>>().len(), 3);
    for region in openmp.regions.iter().filter(|region| region.whole) {
        let shares = openmp.shares.iter().filter(|share| share.instance == region.instance);
        assert_eq!(
            shares.map(|share| share.index).collect::<BTreeSet<_>>(),
            BTreeSet::from([0, 1]),
            "{region:?}"
        );
    }
}
