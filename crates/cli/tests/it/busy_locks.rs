//! Locks that threads take from each other all the time: nothing of the program changes, counts stay exact, and of brief waits no more
//! are recorded than is allowed. How many there are depends on the machine; what holds of them does not.

use std::process::Command;

use crate::stage::{HOLDUP, Stage, report_json, run};
use holdup_model::{BusyLock, Nanos, ObjectId, ObjectKind, Process};
use holdup_recording::Recording;

const TURNS: u64 = 200_000;
const THREADS: u64 = 4;

/// Threads that add to a sum, each time with the lock of a kind.
const FIGHT: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <threads.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static mtx_t c11;
static long sums[4];
static void *fight(void *turns) {
    for (long i = 0; i < (long)turns; i++) {
        pthread_mutex_lock(&mutex); sums[0]++; pthread_mutex_unlock(&mutex);
        pthread_rwlock_wrlock(&rwlock); sums[1]++; pthread_rwlock_unlock(&rwlock);
        pthread_spin_lock(&spin); sums[2]++; pthread_spin_unlock(&spin);
        mtx_lock(&c11); sums[3]++; mtx_unlock(&c11);
    }
    return 0;
}
int main(void) {
    pthread_t threads[THREADS];
    pthread_spin_init(&spin, 0);
    mtx_init(&c11, mtx_plain);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, fight, (void *)TURNS);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
    printf("%ld %ld %ld %ld\n", sums[0], sums[1], sums[2], sums[3]);
    return 0;
}
"#;

/// The same with what OpenMP has.
const OPENMP_FIGHT: &str = r#"
#include <omp.h>
#include <stdio.h>
static long sums[3];
int main(void) {
    omp_lock_t lock;
    omp_init_lock(&lock);
    #pragma omp parallel num_threads(THREADS)
    for (long i = 0; i < TURNS; i++) {
        omp_set_lock(&lock); sums[0]++; omp_unset_lock(&lock);
        #pragma omp critical
        sums[1]++;
        #pragma omp critical(other)
        sums[2]++;
    }
    printf("%ld %ld %ld\n", sums[0], sums[1], sums[2]);
    return 0;
}
"#;

/// As [`recorded_once`], of a run of which all is recorded: where the machine gave the recorder no core until there was no room left,
/// which the recording says, it is recorded again.
fn recorded(source: &str, flag: &str, options: &[&str]) -> (Stage, Process) {
    loop {
        let (stage, process) = recorded_once(source, flag, options);
        if process.lost.events == 0 {
            return (stage, process);
        }
        let run = &report_json(&stage.path("fight.holdup"))["run"];
        assert_eq!(run["lost"]["events"], process.lost.events);
        assert!(run["warnings"].to_string().contains("lost for want of room"), "{run}");
    }
}

/// holdup, where this machine allows it without what gives each run other addresses: by these each lock has its place in the table of a
/// thread, and of two that have the same one the acquisitions are an estimate.
fn at_the_same_addresses() -> Command {
    if run(Command::new("setarch").args(["-R", "true"])).status != 0 {
        return Command::new(HOLDUP);
    }
    let mut command = Command::new("setarch");
    command.args(["-R", HOLDUP]);
    command
}

/// Runs such a program plain and recorded, with these options, demands the same, and gives its process.
fn recorded_once(source: &str, flag: &str, options: &[&str]) -> (Stage, Process) {
    let stage = Stage::new();
    let source = format!("#define THREADS {THREADS}\n#define TURNS {TURNS}L\n{source}");
    let file = stage.write("fight.c", source);
    let program = stage.compile("fight", file, &[flag]);
    let plain = run(&mut Command::new(&program));
    let path = stage.path("fight.holdup");
    let mut holdup = at_the_same_addresses();
    holdup.args(["record", "-o"]).arg(&path).args(options).arg("--").arg(&program);
    let under_holdup = run(&mut holdup);
    assert_eq!(plain.stdout, under_holdup.stdout, "{under_holdup:?}");
    assert_eq!((plain.status, under_holdup.status), (0, 0), "{under_holdup:?}");
    let (recording, warnings) = Recording::open(&path).expect("the recording can be read");
    (stage, recording.run(&warnings).processes.remove(0))
}

#[test]
fn brief_waits_are_counted_where_there_are_very_many() {
    let (stage, process) = recorded(FIGHT, "-pthread", &[]);
    assert_eq!(process.lost.uses, 0);
    let of = |object: ObjectId| process.uses.iter().filter(move |used| used.object == object);
    let taken = |object: ObjectId| of(object).map(|used| used.acquisitions).sum::<u64>();
    let whole = (0..process.objects.len() as u32).map(ObjectId::new);
    let whole = whole.filter(|&object| taken(object) == TURNS * THREADS).count();
    assert_eq!(whole, 4, "each acquisition of each of the locks is counted: {:?}", process.uses);
    brief_ones_are_few(&process);
    // What is counted and what is recorded are one number for who reads it.
    let json = report_json(&stage.path("fight.holdup"));
    for cost in json["objects"].as_array().expect("objects") {
        let object = ObjectId::new(cost["object"].as_u64().expect("a number") as u32);
        assert_eq!(cost["waits"], waits(&process, |of| of == object), "{cost}");
    }
}

#[test]
fn waits_for_locks_of_openmp_are_counted_like_those_for_others() {
    let (_stage, process) = recorded(OPENMP_FIGHT, "-fopenmp", &[]);
    brief_ones_are_few(&process);
    for kind in [ObjectKind::OmpLock, ObjectKind::Critical] {
        // At each place all waits are counted.
        let rows = process.openmp.acquires.iter().filter(|row| row.kind == kind);
        let (acquired, waited) = rows.fold((0, 0), |sum, row| (sum.0 + row.acquisitions, sum.1 + row.waits));
        let is_of_kind = |object: ObjectId| process.object(object).kind == kind;
        assert_eq!(waits(&process, is_of_kind), waited, "{kind:?}");
        // Of the locks those are counted from the first wait on.
        let uses = process.uses.iter().filter(|used| is_of_kind(used.object));
        let used: u64 = uses.map(|used| used.acquisitions).sum();
        assert!(waited <= used && used <= acquired, "{waited} {used} {acquired}");
    }
}

/// Waits for objects of which `wanted` is true: recorded ones, and those that were only counted.
fn waits(process: &Process, wanted: impl Fn(ObjectId) -> bool) -> u64 {
    let recorded = process.waits.iter().filter(|wait| wanted(wait.object)).count() as u64;
    let counted = process.busy_locks.iter().filter(|busy| wanted(busy.object));
    recorded + counted.map(|busy| busy.brief).sum::<u64>()
}

/// No more brief waits for locks are recorded than are allowed, and those that are counted are no longer than the run.
fn brief_ones_are_few(process: &Process) {
    // A thread may record 1,000 at once, and one more each 100 µs.
    let allowed = 1000 + process.wall().get() / 100_000 + 1;
    for index in 0..process.threads.len() {
        let is_brief = |wait: &&holdup_model::Wait| {
            let length = wait.end.since(wait.begin);
            let on_core = wait.cpu_end.zip(wait.cpu_begin).map(|(end, begin)| end.saturating_sub(begin));
            // A little less than what is brief: the clocks differ.
            wait.thread.index() == index
                && process.object(wait.object).kind.is_lock()
                && length < Nanos::new(9_000)
                && on_core.is_some_and(|on_core| on_core >= length)
        };
        let brief = process.waits.iter().filter(is_brief).count() as u64;
        assert!(
            brief <= allowed,
            "{brief} brief waits of thread {index} are recorded, {allowed} are allowed"
        );
        let own = process.busy_locks.iter().filter(|busy| busy.thread.index() == index);
        let waiting: Nanos = own.map(|busy: &BusyLock| busy.waiting).sum();
        assert!(waiting <= process.wall(), "{waiting} of {}", process.wall());
    }
}

#[test]
fn with_all_holds_each_wait_is_recorded() {
    // Of so many holds some have no room.
    let (_stage, process) = recorded_once(FIGHT, "-pthread", &["--holds", "all", "--size-limit", "64"]);
    assert!(process.busy_locks.is_empty(), "{:?}", process.busy_locks);
}

#[test]
fn with_all_holds_each_hold_is_recorded_however_brief() {
    let fewer = format!("#undef TURNS\n#define TURNS 5000L\n{FIGHT}");
    let (_stage, process) = recorded(&fewer, "-pthread", &["--holds", "all"]);
    let timed = process.holds.iter().filter(|hold| hold.begin.is_some()).count() as u64;
    assert_eq!((process.holds.len() as u64, timed), (4 * 5000 * THREADS, 4 * 5000 * THREADS));
}
