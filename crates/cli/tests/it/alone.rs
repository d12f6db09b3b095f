//! One thread of a program runs by itself while the others are held: whatever its threads wait for, the program computes
//! what it computes otherwise, and ends.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::stage;
use crate::stage::Stage;
use holdup_collect::{AloneOptions, Holds, Options, Output, Setting, record_alone};
use holdup_model::Process;
use holdup_pirate::Guardian;
use holdup_recording::Recording;
use holdup_recording::facts::Alone;

/// The library that is injected, as it is embedded in the command.
const LIBRARY: &[u8] = include_bytes!(env!("HOLDUP_PRELOAD"));
/// A run that takes longer hangs.
const HANGS: Duration = Duration::from_secs(120);
/// After so long all threads run to the end, whatever they wait for.
const GIVE_UP: Duration = Duration::from_secs(60);

struct Ran {
    process: Process,
    facts: Alone,
    /// For each thread that the program started what it says of itself: CPU time of its work (ns), and steps of others in it.
    told: Vec<(u64, u64)>,
    result: String,
}

fn options(output: &Path) -> Options {
    Options {
        kernel: false,
        setting: Setting { output: Output::Silent, ..Setting::default() },
        ..Options::new(output)
    }
}

fn alone_of(which: u32) -> AloneOptions {
    AloneOptions { which, give_up_after: GIVE_UP, ..AloneOptions::default() }
}

/// Runs `command` with one thread by itself; gives what was recorded, and its exit status.
fn record(stage: &Stage, command: &[String], alone: AloneOptions) -> (Process, Alone, i32) {
    let output = stage.path("alone.holdup");
    let (send, receive) = mpsc::channel();
    let arguments = command.iter().map(Into::into).collect::<Vec<_>>();
    let wanted = options(&output);
    std::thread::spawn(move || send.send(record_alone(&arguments, &wanted, alone, LIBRARY)));
    let ended = receive.recv_timeout(HANGS).unwrap_or_else(|_| panic!("{command:?} hangs"));
    let ended = ended.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (recording, warnings) = Recording::open(&output).expect("the recording can be read");
    let mut run = recording.run(&warnings);
    let facts = recording.alone.clone().expect("how it went is stored");
    (run.processes.swap_remove(0), facts, stage::shell_status(ended.status))
}

/// Runs a mode of the program plain and with thread `which` by itself.
fn run_mode(mode: &str, which: u32) -> Ran {
    let stage = Stage::new();
    let program = stage.program("alone", &[]);
    let [result, times] = ["result", "times"].map(|name| stage.path(name).to_string_lossy().into_owned());
    let words = [program.to_string_lossy().into_owned(), mode.to_owned(), result.clone(), times.clone()];
    let plain = stage::run(Command::new(&program).args(&words[1..]));
    assert_eq!(plain.status, 0, "{mode}: {plain:?}");
    let expected = fs::read_to_string(&result).expect("the plain result");
    fs::remove_file(&result).expect("the plain result");
    let (process, facts, status) = record(&stage, &words, alone_of(which));
    assert_eq!(status, 0, "{mode}");
    let result = fs::read_to_string(&result).expect("the result");
    assert_eq!(result, expected, "{mode} with thread {which} by itself");
    let told = fs::read_to_string(&times).expect("times");
    let number = |word: Option<&str>| word.and_then(|word| word.parse().ok()).expect("a number");
    let told = told.lines().map(|line| {
        let mut words = line.split(' ').skip(1);
        (number(words.next()), number(words.next()))
    });
    Ran { process, facts, told: told.collect(), result }
}

/// Runs a mode in which threads wait for each other in ways that hooks see: nothing is given up, and some thread runs alone.
/// How well its CPU time alone is that of its work, and how still the others stand, is up to who else uses the cores:
/// `cargo xtask truth` measures it.
fn alone_in(mode: &str, which: u32) -> Ran {
    let ran = run_mode(mode, which);
    assert_eq!(ran.facts.gave_up, None, "{mode}");
    let alone: Vec<_> = ran.process.alone.iter().filter(|span| span.alone).collect();
    assert!(alone.iter().any(|span| span.cpu.get() > 0), "{mode}: {:?}", ran.facts);
    assert!(alone.iter().all(|span| span.begin <= span.end), "{mode}: {alone:?}");
    ran
}

#[test]
fn between_barriers_one_thread_runs_alone() {
    for which in [0, 2] {
        assert_eq!(alone_in("barrier", which).told.len(), 3);
    }
}

#[test]
fn a_lock_is_waited_for_by_nobody_while_one_thread_runs_alone() {
    assert_eq!(alone_in("mutex", 1).result, "120\n");
    alone_in("rwlock", 0);
}

#[test]
fn threads_that_pass_items_on_go_on_by_turns() {
    for which in [0, 1] {
        assert_eq!(alone_in("condition", which).result, "1830\n");
    }
    alone_in("semaphore", 2);
}

#[test]
fn of_each_group_of_threads_one_is_chosen() {
    let ran = alone_in("join", 1);
    assert!(ran.facts.chosen >= 5, "{:?}", ran.facts);
    for group in 0..5 {
        let mut alone = ran.process.alone.iter().filter(|span| span.alone).map(|span| span.thread.index());
        assert!(
            alone.any(|thread| (3 * group + 1..=3 * group + 3).contains(&thread)),
            "{group}: {:?}",
            ran.facts
        );
    }
}

#[test]
fn the_threads_that_are_named_are_chosen_in_their_order() {
    let stage = Stage::new();
    let program = stage.program("alone", &[]);
    let [result, times] = ["result", "times"].map(|name| stage.path(name).to_string_lossy().into_owned());
    let words = [program.to_string_lossy().into_owned(), "barrier".to_owned(), result, times];
    for (which, expected) in [(0, 3), (1, 1)] {
        let (process, facts, status) =
            record(&stage, &words, AloneOptions { order: vec![3, 1], ..alone_of(which) });
        assert_eq!(status, 0);
        // Another one may have been chosen until the wanted one came.
        let mut alone = process.alone.iter().filter(|span| span.alone).map(|span| span.thread.index());
        assert!(alone.any(|thread| thread == expected), "{facts:?}");
    }
}

#[test]
fn threads_that_wait_for_each_other_in_loops_of_their_own_are_let_go() {
    let ran = run_mode("spin", 1);
    assert!(ran.facts.silences > 0, "{:?}", ran.facts);
    assert!(ran.process.alone.iter().any(|span| !span.alone), "the time in its loop is no work");
    run_mode("poll", 2);
}

#[test]
fn who_yields_or_tries_again_lets_the_others_go_by_itself() {
    for (mode, which) in [("yield", 0), ("yield", 2), ("try", 1)] {
        let ran = run_mode(mode, which);
        assert_eq!((&ran.facts.gave_up, ran.facts.silences), (&None, 0), "{mode}: {:?}", ran.facts);
    }
}

#[test]
fn calls_that_wait_for_time_or_for_others_let_them_go() {
    for mode in ["doze", "pipe", "fork"] {
        let ran = run_mode(mode, 1);
        assert_eq!(ran.facts.gave_up, None, "{mode}");
    }
}

#[test]
fn where_the_time_is_up_everybody_runs_to_the_end() {
    let stage = Stage::new();
    let program = stage.program("alone", &[]);
    let [result, times] = ["result", "times"].map(|name| stage.path(name).to_string_lossy().into_owned());
    let words = [program.to_string_lossy().into_owned(), "barrier".to_owned(), result.clone(), times];
    let alone = AloneOptions { give_up_after: Duration::ZERO, ..AloneOptions::default() };
    let (_, facts, status) = record(&stage, &words, alone);
    assert_eq!((status, fs::read_to_string(result).expect("the result")), (0, "0\n".to_owned()));
    assert!(facts.gave_up.is_some());
}

#[test]
fn the_threads_of_a_team_take_their_turns_in_either_runtime() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/alone_team.c");
    let stage = Stage::new();
    let mut programs = vec![stage.compile("gnu", &source, &["-fopenmp"])];
    if stage::is_installed(stage::CLANG) {
        programs.push(stage.clang("llvm", &source, &[]));
    }
    for program in programs {
        let [result, times] = ["result", "times"].map(|name| stage.path(name).to_string_lossy().into_owned());
        let words = [program.to_string_lossy().into_owned(), result.clone(), times.clone()];
        // The thread that meets the region is the last of its team.
        for (which, member) in [(0, 1), (2, 0)] {
            let (process, facts, status) = record(&stage, &words, alone_of(which));
            assert_eq!((status, &facts.gave_up), (0, &None), "{program:?}");
            assert_eq!(fs::read_to_string(&result).expect("the result"), "140 600\n", "{program:?}");
            let alone = process.alone.iter().filter(|span| span.alone && span.cpu.get() > 0);
            assert!(alone.count() > 0, "{program:?}, member {member}: {facts:?}");
        }
    }
}

/// What tells the recorder of the next test where its program is.
const KILLED: &str = "HOLDUP_TEST_KILLED";

/// The core to which that recorder confines a thread.
fn core() -> u32 {
    let cpus = fs::read_to_string("/proc/self/status").expect("a status");
    first_cpu(&cpus).expect("a CPU")
}

/// The first of the CPUs that a status allows.
fn first_cpu(status: &str) -> Option<u32> {
    let list = cpus(status)?;
    list.split(['-', ',']).next()?.parse().ok()
}

fn cpus(status: &str) -> Option<&str> {
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).map(str::trim)
}

#[test]
#[ignore = "the next test starts it, and kills it"]
fn a_recorder_to_be_killed() {
    let Some(directory) = std::env::var_os(KILLED) else { return };
    let path = |name: &str| Path::new(&directory).join(name).into_os_string();
    let words = [path("alone"), "long".into(), path("result"), path("times")];
    let mut guardian = Command::new(stage::HOLDUP);
    guardian.arg("undo-changes");
    let guardian = Some(Arc::new(Guardian::start(guardian).expect("a guardian")));
    let alone = AloneOptions { core: Some(core()), guardian, ..alone_of(1) };
    let _ = record_alone(&words, &options(Path::new(&path("killed.holdup"))), alone, LIBRARY);
}

/// The process with this name and parent.
fn child(parent: u32, name: &str) -> Option<u32> {
    let mut pids =
        fs::read_dir("/proc").ok()?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.find(|pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let words = stat
            .split_once(&format!("({name}) "))
            .map(|(_, rest)| rest.split(' ').nth(1) == Some(&parent.to_string()));
        words == Some(true)
    })
}

/// What the threads of a process may run on.
fn cpus_of_threads(pid: u32) -> Vec<String> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let status = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("status")).ok());
    status.filter_map(|status| Some(cpus(&status)?.to_owned())).collect()
}

/// Waits until it is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = std::time::Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < HANGS, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn when_the_recorder_is_killed_the_thread_is_free_of_its_core_and_all_go_on() {
    let own = fs::read_to_string("/proc/self/status").expect("a status");
    let all = cpus(&own).expect("CPUs").to_owned();
    let one = core().to_string();
    if all == one {
        return stage::skip("there is only one CPU");
    }
    let stage = Stage::new();
    stage.program("alone", &[]);
    let mut recorder = Command::new(std::env::current_exe().expect("this test"))
        .args(["--ignored", "--exact", "alone::a_recorder_to_be_killed"])
        .env(KILLED, stage.directory())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the recorder");
    let mut program = None;
    until("the program does not start", || {
        program = child(recorder.id(), "alone");
        program.is_some()
    });
    let program = program.expect("the program");
    until("no thread is confined", || cpus_of_threads(program).contains(&one));
    recorder.kill().expect("kill");
    recorder.wait().expect("wait");
    until("a thread is still confined", || cpus_of_threads(program).iter().all(|cpus| *cpus == all));
    until("the program does not end", || {
        fs::read_to_string(stage.path("times")).is_ok_and(|text| text.lines().count() == 3)
    });
    assert_eq!(fs::read_to_string(stage.path("result")).expect("the result"), "4800\n");
}

/// Two threads that take one lock 50,000 times each.
const LOCKS: &str = r"
#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile long sum;
static void *take(void *unused)
{
	for (int i = 0; i < 50000; i++) {
		pthread_mutex_lock(&mutex);
		sum++;
		pthread_mutex_unlock(&mutex);
		for (volatile int work = 0; work < 100; work++)
			;
	}
	return unused;
}
int main(void)
{
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, take, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return sum != 100000;
}
";

#[test]
fn what_locks_cost_is_told_where_holds_are_sampled() {
    let stage = Stage::new();
    let program = stage.compile("locks", stage.write("locks.c", LOCKS), &["-pthread"]);
    let process = |holds: Holds| {
        let output = stage.path("locks.holdup");
        let options = Options { holds, ..options(&output) };
        let ended =
            holdup_collect::record(&[program.clone().into()], &options, LIBRARY).expect("a recording");
        assert_eq!(stage::shell_status(ended.status), 0);
        let (recording, warnings) = Recording::open(&output).expect("the recording can be read");
        recording.run(&warnings).processes.swap_remove(0)
    };
    assert!(process(Holds::Waited).lock_costs.is_empty());
    let process = process(Holds::Sampled);
    let mut threads: Vec<usize> = process.lock_costs.iter().map(|cost| cost.thread.index()).collect();
    threads.sort_unstable();
    assert_eq!(threads, [1, 2], "{:?}", process.lock_costs);
    for cost in &process.lock_costs {
        // Whoever had to wait did not find it free, and an interrupted acquisition is not counted.
        let free = cost.acquisitions;
        assert!((1..=50_000).contains(&free) && cost.acquiring.get() > 0, "{cost:?}");
        assert!(cost.hand_overs > 0 || cost.handing_over.get() == 0, "{cost:?}");
    }
}
