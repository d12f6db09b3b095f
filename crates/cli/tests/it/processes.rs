//! Trees of processes: all are recorded, the busiest is told about first and the others are listed.

use std::path::Path;
use std::process::Command;

use crate::stage;
use crate::stage::python;
use crate::stage::{Ended, Stage, assert_adds_up, is_installed, record, report, report_json, run, text};
use serde_json::Value;

/// Runs `command`, with words, plain and recorded, demands the same, and gives the report.
fn compare(stage: &Stage, command: &[&str], directory: &Path) -> (Ended, Value) {
    let plain = run(Command::new(command[0]).args(&command[1..]).current_dir(directory));
    let recording = stage.path("processes.holdup");
    let recorded = run(record(&recording, command[0]).args(&command[1..]).current_dir(directory));
    assert!(plain == recorded, "without holdup:\n{plain:?}\nunder holdup:\n{recorded:?}");
    let json = report_json(&recording);
    assert_adds_up(&json);
    (plain, json)
}

/// The command lines of all recorded processes, the one told about first.
fn commands(json: &Value) -> Vec<String> {
    let line = |process: &Value| {
        let words = process["command"].as_array().expect("a command");
        words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
    };
    let others = json["processes"].as_array().expect("processes").iter().map(line);
    [line(&json["process"])].into_iter().chain(others).collect()
}

fn pids(json: &Value) -> Vec<u64> {
    let others = json["processes"].as_array().expect("processes").iter();
    [&json["process"]].into_iter().chain(others).filter_map(|process| process["pid"].as_u64()).collect()
}

#[test]
fn a_shell_with_two_programs_beside_each_other() {
    let stage = Stage::new();
    let program = stage.program("hold_and_wait", &[]);
    let script = format!("'{0}' 2000 > a & '{0}' 40 > b & wait; cat a b; exit 4", program.display());
    let (plain, json) = compare(&stage, &["sh", "-c", &script], stage.directory());
    assert_eq!(plain.status, 4);
    let commands = commands(&json);
    let of_program: Vec<&String> = commands.iter().filter(|line| line.contains("hold_and_wait ")).collect();
    assert!(commands[0].ends_with("hold_and_wait 2000"), "the busiest comes first: {commands:?}");
    assert!(of_program.iter().any(|line| line.ends_with("hold_and_wait 40")), "{commands:?}");
    assert!(commands.iter().any(|line| line.starts_with("sh -c")), "{commands:?}");
    assert_eq!(json["process"]["threads"], 4);
    assert_eq!(json["run"]["processes"].as_u64(), Some(commands.len() as u64));
    // Each can be asked for by its pid.
    for pid in pids(&json) {
        let ended = report(&stage.path("processes.holdup"), &["--json", "--process", &pid.to_string()]);
        let told: Value = serde_json::from_slice(&ended.stdout).expect("JSON");
        assert_eq!(told["process"]["pid"], pid);
        assert_adds_up(&told);
    }
    let shown = text(&report(&stage.path("processes.holdup"), &[]).stdout);
    assert!(shown.contains("hold_and_wait"), "{shown}");
}

#[test]
fn a_makefile_with_jobs() {
    if !is_installed("make") {
        return;
    }
    let stage = Stage::new();
    let program = stage.program("hold_and_wait", &[]);
    let rules: String = (1..=4)
        .map(|job| format!("out{job}:\n\t@{} {} > $@; test $$? -eq 6\n", program.display(), job * 30))
        .collect();
    stage.write(
        "Makefile",
        format!("all: out1 out2 out3 out4\n\t@cat out1 out2 out3 out4; rm -f out?\n{rules}"),
    );
    let (plain, json) = compare(&stage, &["make", "-j2", "all"], stage.directory());
    assert_eq!(plain.status, 0, "{plain:?}");
    let commands = commands(&json);
    for job in 1..=4 {
        let wanted = format!("hold_and_wait {}", job * 30);
        assert!(commands.iter().any(|line| line.ends_with(&wanted)), "{wanted} is not in {commands:?}");
    }
    assert!(commands.iter().any(|line| line.starts_with("make -j2")), "{commands:?}");
    assert!(commands[0].contains("hold_and_wait "), "the busiest comes first: {commands:?}");
}

#[test]
fn forks_without_exec() {
    let stage = Stage::new();
    let program = stage.program("forks", &[]);
    let program = program.to_string_lossy();
    let (plain, json) = compare(&stage, &[&program], stage.directory());
    assert_eq!(plain.status, 0);
    assert_eq!(json["run"]["processes"], 1, "{:?}", commands(&json));
    let children = json["process"]["joined_pids"].as_array().expect("pids");
    assert_eq!(children.len(), 3, "three children: {children:?}");
    // Whichever of them is asked for, all are reported; one child has two threads more.
    let recording = stage.path("processes.holdup");
    for pid in pids(&json).into_iter().chain(children.iter().filter_map(Value::as_u64)) {
        assert_eq!(threads_of(&recording, pid).len(), 6);
    }
}

const THREADING: &str = "
import threading
lock = threading.Lock()
total = 0
def work(n):
    global total
    for i in range(n):
        with lock:
            total += sum(range(200))
threads = [threading.Thread(target=work, args=(2000,)) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print('total', total)
";

const MULTIPROCESSING: &str = "
import multiprocessing, time
def work(n):
    return sum(i * i for i in range(n))
if __name__ == '__main__':
    # Each worker waits, whichever gets the work: of a process that never waits there is nothing to tell.
    pool = multiprocessing.get_context('METHOD').Pool(2, initializer=time.sleep, initargs=(0.005,))
    with open('workers', 'w') as file:
        print(*(child.pid for child in multiprocessing.active_children()), file=file)
    print(pool.map(work, [20000 + i for i in range(20)]))
    pool.close()
    pool.join()
";

#[test]
fn threads_of_python() {
    let Some(python) = python().map(|python| python.to_string_lossy().into_owned()) else { return };
    let stage = Stage::new();
    let script = stage.write("threads.py", THREADING);
    let (plain, json) = compare(&stage, &[&python, &script.to_string_lossy()], stage.directory());
    assert_eq!((plain.status, text(&plain.stderr)), (0, String::new()));
    assert!(json["process"]["threads"].as_u64() >= Some(4), "{:#}", json["process"]);
    assert!(commands(&json)[0].contains("threads.py"));
}

/// The kernel ids of the threads that are told of with a process.
fn threads_of(recording: &Path, pid: u64) -> Vec<u64> {
    let ended = report(recording, &["--json", "--process", &pid.to_string()]);
    let told: Value = serde_json::from_slice(&ended.stdout).expect("JSON");
    let threads = told["criticality"]["threads"].as_array().expect("threads");
    threads.iter().filter_map(|thread| thread["tid"].as_u64()).collect()
}

#[test]
fn processes_of_python() {
    let Some(python) = python().map(|python| python.to_string_lossy().into_owned()) else { return };
    let stage = Stage::new();
    for method in ["fork", "spawn"] {
        let script = stage.write(&format!("{method}.py"), MULTIPROCESSING.replace("METHOD", method));
        let (plain, json) = compare(&stage, &[&python, &script.to_string_lossy()], stage.directory());
        assert_eq!((plain.status, text(&plain.stderr)), (0, String::new()), "{method}");
        // Processes that have waited for the lock of their queue at the same time share it, and are told as one with all their
        // threads: how many there are is up to how they meet. Their threads are there in any case: main, three of the pool, and
        // the two workers.
        assert!(json["run"]["threads"].as_u64() >= Some(6), "{method}: {:?}", json["run"]);
        let recording = stage.path("processes.holdup");
        let threads = pids(&json).into_iter().flat_map(|pid| threads_of(&recording, pid)).collect::<Vec<_>>();
        let workers = std::fs::read_to_string(stage.path("workers")).expect("the workers' ids");
        let workers: Vec<u64> = workers.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        assert!(
            workers.len() == 2 && workers.iter().all(|worker| threads.contains(worker)),
            "{workers:?} {threads:?}"
        );
    }
}

/// Children that outlive the first process belong to the recording up to its end.
#[test]
fn a_child_that_stays() {
    let stage = Stage::new();
    let program = stage.program("hold_and_wait", &[]);
    let script = format!("'{}' 300 > left_behind & sleep 0.1; exit 0", program.display());
    let recording = stage.path("stays.holdup");
    let ended = run(record(&recording, "sh").args(["-c", &script]).current_dir(stage.directory()));
    assert_eq!((ended.status, text(&ended.stderr)), (0, String::new()));
    report_json(&recording);
    stage::eventually("the end of the child", || {
        stage::processes_with(&program.to_string_lossy()).is_empty().then_some(())
    });
    let left = std::fs::read_to_string(stage.path("left_behind")).expect("its output");
    assert!(left.contains("sum "), "the child went on to its end: {left}");
}

#[test]
fn threads_that_live_at_the_end_of_their_process_have_all_of_their_cpu_time() {
    const THREADS: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static pthread_barrier_t done;
static FILE *file;
static long cpu(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec * 1000000000L + t.tv_nsec; }
static void *pool(void *millis) {
    long end = cpu() + (long)millis * 1000000L;
    while (cpu() < end) {}
    fprintf(file, "%ld %ld\n", syscall(SYS_gettid), cpu());
    pthread_barrier_wait(&done);
    for (;;) pause();
}
int main(int count, char **words) {
    if (count < 2 || !(file = fopen(words[1], "w"))) return 1;
    pthread_barrier_init(&done, 0, 4);
    for (long i = 1; i <= 3; i++) { pthread_t t; if (pthread_create(&t, 0, pool, (void *)(20 * i))) return 2; }
    pthread_barrier_wait(&done);
    fclose(file);
    return 0;
}
"#;
    let stage = Stage::new();
    let source = stage.write("pool.c", THREADS);
    let program = stage.compile("pool", source, &["-pthread"]);
    let log = stage.path("log");
    for collectors in [&["--collectors", "preload"][..], &[]] {
        let recording = stage.path("pool.holdup");
        let mut holdup = Command::new(stage::HOLDUP);
        holdup.args(["record", "-o"]).arg(&recording).args(collectors).arg("--").arg(&program).arg(&log);
        assert_eq!(run(&mut holdup).status, 0);
        let json = report_json(&recording);
        let told = json["criticality"]["threads"].as_array().expect("threads");
        let text = std::fs::read_to_string(&log).expect("the log");
        let own: Vec<(u64, u64)> = text
            .lines()
            .map(|line| line.split_once(' ').expect("two numbers"))
            .map(|(tid, cpu)| (tid.parse().expect("an id"), cpu.parse().expect("a time")))
            .collect();
        assert_eq!(own.len(), 3, "{text}");
        for (tid, least) in own {
            let thread = told.iter().find(|thread| thread["tid"] == tid).expect("the thread");
            let cpu = thread["cpu_ns"].as_u64();
            assert!(cpu.is_some_and(|cpu| cpu >= least), "{collectors:?}: {least} by itself: {thread}");
        }
    }
}
