//! What `holdup stack` changes on the machine while it measures is changed back, also after it was killed. The processor's
//! cache allocation is played by a directory.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::stage::{HOLDUP, Stage, run, text, workspace};
use rustix::process::{Pid, Signal, kill_process};

/// Four ways.
const MASK: &str = "f";
const PATIENCE: Duration = Duration::from_secs(60);

/// Does with the files of groups what the kernel does: it takes what is written, so that groups can be removed.
struct Kernel {
    directory: PathBuf,
    over: Arc<AtomicBool>,
    taken: Arc<Mutex<BTreeSet<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl Kernel {
    fn start(directory: PathBuf) -> Kernel {
        fs::create_dir_all(directory.join("info/L3")).expect("a directory");
        let caches: Vec<String> = (0..64).map(|id| format!("{id}={MASK}")).collect();
        for (name, content) in [
            ("info/L3/cbm_mask", MASK.to_owned()),
            ("info/L3/min_cbm_bits", "1".to_owned()),
            ("info/L3/num_closids", "8".to_owned()),
            ("schemata", format!("L3:{}", caches.join(";"))),
        ] {
            fs::write(directory.join(name), format!("{content}\n")).expect("a file");
        }
        let (over, taken) = (Arc::<AtomicBool>::default(), Arc::<Mutex<BTreeSet<String>>>::default());
        let thread = std::thread::spawn({
            let (directory, over, taken) = (directory.clone(), Arc::clone(&over), Arc::clone(&taken));
            move || {
                while !over.load(Ordering::SeqCst) {
                    for file in groups(&directory).iter().flat_map(|group| files(group)) {
                        let lines = fs::read_to_string(&file).unwrap_or_default();
                        if !lines.is_empty() && fs::remove_file(&file).is_ok() {
                            taken.lock().expect("a set").extend(lines.lines().map(str::to_owned));
                        }
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        });
        Kernel { directory, over, taken, thread: Some(thread) }
    }

    fn has_taken(&self, line: &str) -> bool {
        self.taken.lock().expect("a set").contains(line)
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        self.thread.take().map(JoinHandle::join);
    }
}

fn groups(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let ours =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("holdup-"));
    entries.filter(ours).collect()
}

fn files(group: &Path) -> Vec<PathBuf> {
    fs::read_dir(group).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// The CPUs that each thread of a process may use.
fn cpus_of(process: u32) -> Vec<(u32, String)> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let cpus = threads.filter_map(|thread| {
        let status = fs::read_to_string(thread.path().join("status")).ok()?;
        let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        Some((thread.file_name().to_string_lossy().parse().ok()?, cpus.trim().to_owned()))
    });
    cpus.collect()
}

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < PATIENCE, "{what} did not come");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Ends holdup, and the program that has lost it.
struct Ends(Child, Option<u32>);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        if let Some(program) = self.1.and_then(|program| Pid::from_raw(program as i32)) {
            let _ = kill_process(program, Signal::KILL);
        }
    }
}

/// Two CPUs that share a cache with a number are needed to measure at all.
fn machine_can() -> bool {
    let at = |cpu: usize| PathBuf::from(format!("/sys/devices/system/cpu/cpu{cpu}/cache"));
    let last = |cpu: usize| {
        (0..8).rev().map(|index| at(cpu).join(format!("index{index}"))).find(|path| path.is_dir())
    };
    let id = |cpu: usize| fs::read_to_string(last(cpu)?.join("id")).ok();
    std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1) && id(0).is_some() && id(0) == id(1)
}

#[test]
fn the_profiled_thread_has_its_part_of_the_cache_while_it_runs() {
    if !machine_can() {
        return;
    }
    let stage = Stage::new();
    let kernel = Kernel::start(stage.path("resctrl"));
    let source = workspace().join("workloads/stack_prices/main.c");
    let program = stage.compile("stack_prices", source, &["-lm"]).to_string_lossy().into_owned();
    let mut command = Command::new(HOLDUP);
    // Long enough that its two threads work equally long on a busy machine too; each group of threads is measured.
    command.args(["stack", "-t", "1,2", "-r", "1", "--no-pirate", "--json", "--"]);
    let ended = run(command.args([&program, "{threads}", "20"]).env("HOLDUP_RESCTRL", &kernel.directory));
    assert_eq!(ended.status, 0, "{ended:?}");
    // All ways, to see whether it may be used; then half of them for one of two threads.
    assert!((0..64).any(|id| kernel.has_taken(&format!("L3:{id}=f"))), "{ended:?}");
    assert!((0..64).any(|id| kernel.has_taken(&format!("L3:{id}=3"))), "{ended:?}");
    let told: serde_json::Value = serde_json::from_slice(&ended.stdout).expect("JSON");
    let last = &told["phases"][0]["stacks"][1];
    // A measurement in which others disturbed the thread does not count; then it is said why there is none.
    let missing =
        last["missing"].as_array().into_iter().flatten().any(|missing| missing["component"] == "cache");
    assert!(last["components"]["cache"].is_number() != missing, "{}: {told}", text(&ended.stderr));
    assert!(groups(&kernel.directory).is_empty());
}

/// Its fourth run, that with a part of the cache, has threads that run for long; each run writes its number to a file.
const PROGRAM: &str = "\
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static volatile long done;
static long rounds = 1000;
static void *work(void *a) { for (long i = 0; i < rounds; i++) done = i; return a; }
int main(int count, char **words) {
    FILE *runs = fopen(words[count - 1], \"a+\");
    fprintf(runs, \"%d\\n\", (int)getpid());
    fflush(runs);
    rewind(runs);
    int lines = 0;
    for (int c; (c = fgetc(runs)) != EOF;) lines += c == '\\n';
    fclose(runs);
    if (lines == 4) rounds = 100000000000;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
";

#[test]
fn after_a_kill_nothing_is_left_of_what_was_changed() {
    if !machine_can() {
        return;
    }
    let stage = Stage::new();
    let kernel = Kernel::start(stage.path("resctrl"));
    let program = stage.compile("long", stage.write("long.c", PROGRAM), &["-pthread"]);
    let runs = stage.path("runs");
    let mut command = Command::new(HOLDUP);
    command.args(["stack", "-t", "2", "-r", "1", "--profiled", "1", "--no-pirate", "--"]);
    command.arg(&program).arg(&runs).env("HOLDUP_RESCTRL", &kernel.directory);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut ends = Ends(command.spawn().expect("holdup"), None);
    let fourth = until("the fourth run", || {
        let numbers = fs::read_to_string(&runs).ok()?;
        numbers.lines().nth(3)?.parse::<u32>().ok()
    });
    ends.1 = Some(fourth);
    let usual = cpus_of(std::process::id()).remove(0).1;
    let confined = until("a confined thread", || {
        cpus_of(fourth).into_iter().find(|(tid, cpus)| *cpus != usual && kernel.has_taken(&tid.to_string()))
    });
    assert!(!groups(&kernel.directory).is_empty(), "{confined:?}");
    ends.0.kill().expect("SIGKILL");
    until("the undoing", || groups(&kernel.directory).is_empty().then_some(()));
    until("the thread's freedom", || cpus_of(fourth).iter().all(|(_, cpus)| *cpus == usual).then_some(()));
    assert!(!cpus_of(fourth).is_empty(), "the program goes on");
}
