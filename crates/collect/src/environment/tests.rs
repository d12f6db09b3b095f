//! Surroundings made of files.

use std::fs;
use std::path::Path;

use holdup_model::{Nanos, Throttling, Usage};
use tempfile::TempDir;

use super::*;

const PID: u32 = 7;
/// Ours, which starts process 7.
const OWN: u32 = 3;

/// A root directory that can be changed while it is watched.
struct Fake {
    root: TempDir,
}

impl Fake {
    /// Eight CPUs of one kind that share nothing, one memory node, a process with one thread in a group without limits.
    fn clean() -> Fake {
        let fake = Fake { root: tempfile::tempdir().unwrap() };
        fake.file("sys/devices/system/cpu/online", "0-7\n");
        fake.file("sys/devices/system/node/online", "0\n");
        fake.file("sys/devices/system/node/node0/cpulist", "0-7\n");
        for cpu in 0..8 {
            let folder = format!("sys/devices/system/cpu/cpu{cpu}");
            fake.file(&format!("{folder}/topology/thread_siblings_list"), &format!("{cpu}\n"));
            fake.file(&format!("{folder}/cpu_capacity"), "1024\n");
        }
        fake.file("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        fake.group("0::/job\n");
        fake.file("sys/fs/cgroup/job/cpu.max", "max 100000\n");
        fake.file(
            "sys/fs/cgroup/job/cpu.stat",
            "usage_usec 9\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
        );
        fake.file("sys/fs/cgroup/job/memory.events", "low 0\nhigh 0\nmax 0\noom 0\n");
        fake.thread(PID, "0-127");
        fake.cpu_times([0; 8], [0; 8], [0; 8]);
        fake.times("self", OWN, 1, [0; 4]);
        fake.times(&PID.to_string(), PID, OWN, [0; 4]);
        fake
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn remove(&self, path: &str) {
        let path = self.root.path().join(path);
        if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }

    fn group(&self, told: &str) {
        self.file(&format!("proc/{PID}/cgroup"), told);
    }

    fn thread(&self, tid: u32, cpus: &str) {
        let text = format!(
            "Name:\tx\nVmHWM:\t  120 kB\nVmRSS:\t  100 kB\nVmSwap:\t  8 kB\nCpus_allowed:\tff\nCpus_allowed_list:\t{cpus}\n"
        );
        self.file(&format!("proc/{PID}/task/{tid}/status"), &text);
    }

    /// Busy, idle and stolen ticks of each CPU.
    fn cpu_times(&self, busy: [u64; 8], idle: [u64; 8], stolen: [u64; 8]) {
        let sum = |ticks: [u64; 8]| ticks.iter().sum::<u64>();
        let mut text = format!("cpu  {} 0 0 {} 0 0 0 {} 0 0\n", sum(busy), sum(idle), sum(stolen));
        for cpu in 0..8 {
            text += &format!("cpu{cpu} {} 0 0 {} 0 0 0 {} 0 0\n", busy[cpu], idle[cpu], stolen[cpu]);
        }
        self.file("proc/stat", &format!("{text}intr 1 2 3\n"));
    }

    /// Ticks in user and kernel mode, and those of children.
    fn times(&self, process: &str, pid: u32, parent: u32, ticks: [u64; 4]) {
        let [user, kernel, children, in_kernel] = ticks;
        let faults = 9 + user + kernel;
        let text = format!(
            "{pid} (a) b) S {parent} 1 1 0 -1 4194304 {faults} 0 0 0 {user} {kernel} {children} {in_kernel} 20 0\n"
        );
        self.file(&format!("proc/{process}/stat"), &text);
    }

    /// The process has begun to end: its flags have `PF_EXITING` (4) besides what they had.
    fn ends(&self, state: char) {
        let text = format!("{PID} (a) b) {state} {OWN} 1 1 0 -1 4194308 9 0 0 0 0 0 0 0 20 0\n");
        self.file(&format!("proc/{PID}/stat"), &text);
    }

    fn watch(&self) -> Watch {
        let mut watch = Watch::begin(self.root.path());
        watch.look_now([PID]);
        watch
    }

    fn facts(&self) -> Environment {
        self.watch().facts()
    }
}

fn cpus(list: &str) -> CpuSet {
    CpuSet::parse(list).unwrap()
}

fn ms(ms: u64) -> Nanos {
    Nanos::new(ms * 1_000_000)
}

#[test]
fn an_empty_root_tells_nothing() {
    let root = tempfile::tempdir().unwrap();
    let mut watch = Watch::begin(root.path());
    watch.look([PID]);
    let facts = watch.facts();
    let nothing = holdup_model::Placement { pid: PID, ..holdup_model::Placement::default() };
    assert_eq!(facts, Environment { placements: vec![nothing], ..Environment::default() });
}

#[test]
fn a_clean_machine_has_no_limits() {
    let facts = Fake::clean().facts();
    let placement = &facts.placements[0];
    assert_eq!((&placement.given, &placement.allowed), (&cpus("0-7"), &cpus("0-7")));
    assert!(placement.quotas.is_empty());
    assert_eq!(placement.memory_limit_hits, Some(0));
    assert_eq!(placement.effective_cores(), Some(8));
    assert!(facts.kinds.is_empty() && facts.shared_cores.is_empty() && facts.frequencies.is_empty());
    assert_eq!((facts.turbo_off, facts.thermal_throttles, facts.pressure), (None, None, None));
}

#[test]
fn quotas_of_nested_groups_of_version_two() {
    let fake = Fake::clean();
    fake.group("0::/outer/job\n");
    let stat = |periods: u64, throttled: u64, micros: u64| {
        format!("nr_periods {periods}\nnr_throttled {throttled}\nthrottled_usec {micros}\n")
    };
    fake.file("sys/fs/cgroup/outer/job/cpu.max", "400000 100000\n");
    fake.file("sys/fs/cgroup/outer/job/cpu.stat", &stat(10, 0, 0));
    fake.file("sys/fs/cgroup/outer/cpu.max", "150000 100000\n");
    fake.file("sys/fs/cgroup/outer/cpu.stat", &stat(100, 40, 5_000));
    let mut watch = fake.watch();
    fake.file("sys/fs/cgroup/outer/cpu.stat", &stat(160, 81, 1_305_000));
    let facts = watch.facts();
    let placement = &facts.placements[0];
    assert_eq!(placement.quotas.len(), 2);
    let tightest = placement.tightest_quota().unwrap();
    assert_eq!((tightest.cpus(), tightest.group.as_str()), (1.5, "/sys/fs/cgroup/outer"));
    let during = Throttling { periods: 60, throttled: 41, time: ms(1300) };
    assert_eq!(tightest.throttling, Some(during));
    assert_eq!(
        placement.throttling_quota().map(|(quota, _)| quota.group.as_str()),
        Some("/sys/fs/cgroup/outer")
    );
    assert_eq!(placement.effective_cores(), Some(2));
}

#[test]
fn quotas_of_version_one_beside_an_empty_version_two() {
    let fake = Fake::clean();
    let mounts = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                  41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    fake.file("proc/self/mountinfo", mounts);
    fake.group("2:cpuacct:/\n1:cpu:/job\n0::/\n");
    fake.file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    fake.file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    fake.file("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "100000\n");
    fake.file("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "50000\n");
    let stat = |throttled: u64, nanos: u64| {
        fake.file(
            "sys/fs/cgroup/cpu/job/cpu.stat",
            &format!("nr_periods 20\nnr_throttled {throttled}\nthrottled_time {nanos}\nnr_bursts 0\n"),
        );
    };
    stat(1, 1_000_000);
    let mut watch = fake.watch();
    stat(6, 251_000_000);
    let facts = watch.facts();
    let quota = facts.placements[0].tightest_quota().unwrap().clone();
    assert_eq!((quota.cpus(), quota.period), (2.0, ms(50)));
    assert_eq!(quota.throttling, Some(Throttling { periods: 0, throttled: 5, time: ms(250) }));
}

#[test]
fn a_container_sees_its_group_as_the_mount() {
    let fake = Fake::clean();
    fake.file("proc/self/mountinfo", "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    fake.group("0::/docker/abc\n");
    fake.file("sys/fs/cgroup/cpu.max", "200000 100000\n");
    assert_eq!(fake.facts().placements[0].effective_cores(), Some(2));
    // With a namespace of its own.
    fake.file("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    fake.group("0::/\n");
    assert_eq!(fake.facts().placements[0].effective_cores(), Some(2));
}

#[test]
fn a_group_that_the_program_moves_to_is_found_and_one_that_is_removed_keeps_what_was_read() {
    let fake = Fake::clean();
    let mut watch = fake.watch();
    assert!(watch.facts().placements[0].quotas.is_empty());
    fake.group("0::/late\n");
    fake.file("sys/fs/cgroup/late/cpu.max", "100000 100000\n");
    fake.file("sys/fs/cgroup/late/cpu.stat", "nr_periods 1\nnr_throttled 0\nthrottled_usec 0\n");
    watch.look_now([PID]);
    fake.file("sys/fs/cgroup/late/cpu.stat", "nr_periods 11\nnr_throttled 4\nthrottled_usec 7\n");
    watch.look_now([PID]);
    fake.remove("sys/fs/cgroup/late");
    fake.remove(&format!("proc/{PID}"));
    watch.look_now([PID]);
    let facts = watch.facts();
    let quota = facts.placements[0].tightest_quota().unwrap().clone();
    let during = Throttling { periods: 10, throttled: 4, time: Nanos::new(7_000) };
    assert_eq!((quota.cpus(), quota.throttling), (1.0, Some(during)));
}

/// Version 1 says `/` for it from then on (`proc_cgroup_show` in kernel/cgroup/cgroup.c), before it is a zombie.
#[test]
fn a_process_that_ends_keeps_the_groups_that_it_had() {
    let fake = Fake::clean();
    fake.file("proc/self/mountinfo", "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
    fake.group("1:cpu:/job\n");
    fake.file("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "10000\n");
    fake.file("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
    let stat =
        |periods: u64| format!("nr_periods {periods}\nnr_throttled {periods}\nthrottled_time {periods}\n");
    fake.file("sys/fs/cgroup/cpu/job/cpu.stat", &stat(0));
    let mut watch = fake.watch();
    fake.group("1:cpu:/\n");
    for (state, periods) in [('R', 5), ('Z', 7)] {
        fake.ends(state);
        fake.file("sys/fs/cgroup/cpu/job/cpu.stat", &stat(periods));
        watch.look_now([PID]);
        let quota = watch.facts().placements[0].tightest_quota().unwrap().clone();
        let during = Throttling { periods, throttled: periods, time: Nanos::new(periods) };
        assert_eq!((quota.cpus(), quota.throttling), (0.1, Some(during)));
    }
}

#[test]
fn affinity_is_what_threads_were_last_seen_to_have() {
    let fake = Fake::clean();
    fake.file("sys/fs/cgroup/job/cpuset.cpus.effective", "0-3\n");
    fake.thread(PID, "0-3");
    let mut watch = fake.watch();
    fake.thread(PID, "1");
    for tid in 8..12 {
        fake.thread(tid, "0");
    }
    watch.look_now([PID]);
    fake.remove(&format!("proc/{PID}/task/9"));
    watch.look_now([PID]);
    let placement = watch.facts().placements[0].clone();
    assert_eq!((placement.given, placement.allowed), (cpus("0-3"), cpus("0-1")));
    assert_eq!(placement.cpuset, cpus("0-3"));
    let pins: Vec<(String, Vec<u32>)> =
        placement.pins.iter().map(|pin| (pin.cpus.to_string(), pin.threads.clone())).collect();
    assert_eq!(pins, [("0".to_owned(), vec![8, 9, 10, 11]), ("1".to_owned(), vec![PID])]);
}

#[test]
fn at_most_256_threads_are_looked_at_in_one_look() {
    let fake = Fake::clean();
    for tid in 100..500 {
        fake.thread(tid, "2");
    }
    let placement = fake.facts().placements[0].clone();
    assert_eq!(placement.pins.iter().map(|pin| pin.threads.len()).sum::<usize>(), 256);
}

#[test]
fn cores_of_two_kinds() {
    let fake = Fake::clean();
    fake.file("sys/devices/cpu_core/cpus", "0-3\n");
    fake.file("sys/devices/cpu_atom/cpus", "4-7\n");
    let told = |facts: Environment| -> Vec<String> {
        facts.kinds.iter().map(|kind| format!("{} {}", kind.name, kind.cpus)).collect()
    };
    assert_eq!(told(fake.facts()), ["performance 0-3", "efficiency 4-7"]);
    let fake = Fake::clean();
    for (cpu, capacity) in [(0, 1024), (1, 1010), (2, 446), (3, 446), (4, 980), (5, 980), (6, 446), (7, 440)]
    {
        fake.file(&format!("sys/devices/system/cpu/cpu{cpu}/cpu_capacity"), &format!("{capacity}\n"));
    }
    assert_eq!(told(fake.facts()), ["capacity 1024 0-1,4-5", "capacity 446 2-3,6-7"]);
}

#[test]
fn cores_that_are_shared() {
    let fake = Fake::clean();
    for cpu in 0..8 {
        let list = format!("{},{}\n", cpu % 4, cpu % 4 + 4);
        fake.file(&format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"), &list);
    }
    let facts = fake.facts();
    assert_eq!(facts.shared_cores, [cpus("0,4"), cpus("1,5"), cpus("2,6"), cpus("3,7")]);
    assert_eq!(facts.physical_cores(&facts.online), 4);
    // A sibling that is off shares nothing.
    fake.file("sys/devices/system/cpu/online", "0-3\n");
    assert!(fake.facts().shared_cores.is_empty());
}

#[test]
fn speeds_turbo_and_heat() {
    let fake = Fake::clean();
    for cpu in 0..8 {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}");
        fake.file(&format!("{folder}/cpufreq/scaling_governor"), "powersave\n");
        fake.file(&format!("{folder}/cpufreq/scaling_driver"), "intel_pstate\n");
        fake.file(&format!("{folder}/cpufreq/cpuinfo_max_freq"), "3500000\n");
        let limit = if cpu < 2 { "2000000\n" } else { "3500000\n" };
        fake.file(&format!("{folder}/cpufreq/scaling_max_freq"), limit);
        fake.file(&format!("{folder}/thermal_throttle/core_throttle_count"), "10\n");
    }
    fake.file("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
    let mut watch = fake.watch();
    fake.file("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "13\n");
    let facts = watch.facts();
    let ranges: Vec<(String, u64)> =
        facts.frequencies.iter().map(|range| (range.cpus.to_string(), range.limit_khz)).collect();
    assert_eq!(ranges, [("0-1".to_owned(), 2_000_000), ("2-7".to_owned(), 3_500_000)]);
    assert_eq!((facts.turbo_off, facts.thermal_throttles), (Some(true), Some(3)));
    fake.remove("sys/devices/system/cpu/intel_pstate");
    fake.file("sys/devices/system/cpu/cpufreq/boost", "1\n");
    assert_eq!(fake.facts().turbo_off, Some(false));
}

#[test]
fn memory_lies_where_numa_maps_says() {
    let fake = Fake::clean();
    let maps = "55ab default file=/usr/bin/N9=1 mapped=2 N0=2 kernelpagesize_kB=4\n\
                7f00 default anon=4096 dirty=4096 N0=3000 N1=1096 kernelpagesize_kB=4\n\
                7f20 default huge anon=2 dirty=2 N1=2 kernelpagesize_kB=2048\n";
    fake.file(&format!("proc/{PID}/numa_maps"), maps);
    assert!(fake.facts().placements[0].memory.is_empty(), "one node has nothing to tell");
    fake.file("sys/devices/system/node/online", "0-1\n");
    fake.file("sys/devices/system/node/node0/cpulist", "0-3\n");
    fake.file("sys/devices/system/node/node1/cpulist", "4-7\n");
    let mut watch = fake.watch();
    watch.look_now([PID]);
    let facts = watch.facts();
    assert_eq!(facts.placements[0].memory, [(0, 3002), (1, 1096 + 1024)]);
    assert_eq!(facts.nodes_of(&cpus("2-5")), [0, 1]);
}

#[test]
fn other_load_is_what_neither_the_program_nor_holdup_used() {
    let fake = Fake::clean();
    fake.thread(PID, "0-1");
    let mut watch = fake.watch();
    // CPUs that the program may not use do not matter.
    fake.cpu_times(
        [90, 80, 100, 100, 0, 0, 0, 0],
        [10, 15, 0, 0, 100, 100, 100, 100],
        [0, 5, 9, 9, 0, 0, 0, 0],
    );
    // The program has ended and was waited for.
    fake.times("self", OWN, 1, [2, 3, 40, 10]);
    fake.remove(&format!("proc/{PID}"));
    let load = watch.facts().load.unwrap();
    assert_eq!((load.busy, load.idle, load.stolen), (ms(1700), ms(250), ms(50)));
    assert_eq!((load.program, load.recorder), (ms(500), ms(50)));
    assert_eq!(load.others(), ms(1200));
}

#[test]
fn a_process_that_still_runs_counts_and_one_that_ran_before_counts_from_then_on() {
    let fake = Fake::clean();
    fake.times(&PID.to_string(), PID, OWN, [1, 0, 0, 0]);
    let mut watch = fake.watch();
    fake.times(&PID.to_string(), PID, OWN, [20, 5, 0, 0]);
    assert_eq!(watch.facts().load.unwrap().program, ms(250));
    // Somebody else's child: we have attached to it.
    let fake = Fake::clean();
    fake.times(&PID.to_string(), PID, 1, [1000, 0, 500, 0]);
    let mut watch = fake.watch();
    fake.times(&PID.to_string(), PID, 1, [1020, 5, 507, 0]);
    watch.look_now([PID]);
    assert_eq!(watch.facts().load.unwrap().program, ms(320));
    fake.remove(&format!("proc/{PID}"));
    assert_eq!(watch.facts().load.unwrap().program, ms(320));
}

#[test]
fn what_was_before_the_window_and_what_comes_after_does_not_count() {
    let fake = Fake::clean();
    fake.file("sys/fs/cgroup/job/cpu.max", "100000 100000\n");
    let stat = |periods: u64| format!("nr_periods {periods}\nnr_throttled 0\nthrottled_usec 0\n");
    let mut watch = fake.watch();
    fake.cpu_times([100; 8], [0; 8], [0; 8]);
    fake.times(&PID.to_string(), PID, OWN, [400, 0, 0, 0]);
    fake.file("sys/fs/cgroup/job/cpu.stat", &stat(100));
    watch.begin_again();
    fake.cpu_times([110; 8], [5; 8], [0; 8]);
    fake.file("sys/fs/cgroup/job/cpu.stat", &stat(103));
    // It has ended, and we have waited for it: all of its time is in the sum of our children.
    fake.times("self", OWN, 1, [0, 0, 430, 0]);
    fake.remove(&format!("proc/{PID}"));
    watch.stop();
    fake.cpu_times([900; 8], [900; 8], [0; 8]);
    fake.file("sys/fs/cgroup/job/cpu.stat", &stat(900));
    let facts = watch.facts();
    let load = facts.load.unwrap();
    assert_eq!((load.busy, load.idle, load.program), (ms(800), ms(400), ms(300)));
    assert_eq!(facts.placements[0].quotas[0].throttling.map(|sums| sums.periods), Some(3));
}

#[test]
fn swap_pressure_and_memory_limits() {
    let fake = Fake::clean();
    fake.file("proc/vmstat", "pswpin 100\npswpout 7\n");
    fake.file(
        "proc/pressure/cpu",
        "some avg10=1.00 avg60=0.00 avg300=0.00 total=5000\nfull avg10=0 total=9\n",
    );
    fake.file("sys/fs/cgroup/memory.events", "low 0\nhigh 1000\nmax 0\n");
    fake.file("sys/fs/cgroup/memory.events.local", "low 0\nhigh 3\nmax 1\n");
    let mut watch = fake.watch();
    fake.file("proc/vmstat", "pswpin 612\npswpout 7\n");
    fake.file("proc/pressure/cpu", "some avg10=1.00 avg60=0.00 avg300=0.00 total=9000\n");
    fake.file("sys/fs/cgroup/job/memory.events", "low 0\nhigh 5\nmax 2\n");
    fake.file("sys/fs/cgroup/memory.events.local", "low 0\nhigh 3\nmax 2\n");
    let facts = watch.facts();
    let swapped = facts.swapped.unwrap();
    assert_eq!((swapped.read / rustix::param::page_size() as u64, swapped.written), (512, 0));
    assert_eq!(facts.pressure, Some(ms(4)));
    assert_eq!((facts.placements[0].memory_limit_hits, facts.placements[0].in_swap), (Some(8), Some(8192)));
}

#[test]
fn what_a_process_itself_used_is_its_own_since_the_beginning() {
    let fake = Fake::clean();
    fake.times(&PID.to_string(), PID, OWN + 1, [10, 20, 7, 7]);
    let mut watch = fake.watch();
    fake.times(&PID.to_string(), PID, OWN + 1, [15, 60, 70, 70]);
    watch.look_now([PID]);
    let usage = Usage { user: ms(50), system: ms(400), faults: 45, most_memory: 120 << 10 };
    // It was attached to.
    assert_eq!(watch.facts().placements[0].usage, Some(usage));
}

#[test]
fn rubbish_in_files_is_not_known() {
    let fake = Fake::clean();
    for path in [
        "proc/stat",
        "proc/self/stat",
        "proc/vmstat",
        "proc/pressure/cpu",
        "proc/7/stat",
        "proc/7/cgroup",
        "proc/7/task/7/status",
        "proc/self/mountinfo",
        "sys/devices/system/cpu/online",
        "sys/devices/system/node/online",
        "sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
        "sys/devices/cpu_core/cpus",
    ] {
        fake.file(path, "\u{0}(:,-\n cpu 9-\nsome total=\n0::\n");
    }
    let facts = fake.facts();
    assert_eq!((facts.online.len(), facts.load, facts.pressure), (0, None, None));
    assert_eq!(facts.placements.len(), 1);
    assert_eq!(facts.placements[0].effective_cores(), None);
}

#[test]
fn no_more_than_sixteen_processes_are_looked_at() {
    let fake = Fake::clean();
    let mut watch = Watch::begin(fake.root.path());
    watch.look_now(1..100);
    assert_eq!(watch.facts().placements.len(), 16);
}

#[test]
fn this_machine_can_be_watched() {
    let mut watch = Watch::begin(Path::new("/"));
    watch.look([std::process::id()]);
    let facts = watch.facts();
    let placement = &facts.placements[0];
    assert_eq!(placement.allowed.len() as u32, crate::machine::allowed_cores());
    assert!(facts.load.is_some_and(|load| load.span > Nanos::ZERO));
}
