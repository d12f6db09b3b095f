//! Machines made of files.

use std::fs;
use std::io;
use std::path::Path;

use tempfile::TempDir;

use super::*;

struct Fake {
    root: TempDir,
    events: fn(Event) -> io::Result<()>,
    emulator: Option<&'static str>,
    room: Option<Room>,
    /// What a thread gets of each of two CPUs.
    cores: [f64; 2],
}

const ROOMY: Room = Room { size: 1 << 30, free: 1 << 30 };

impl Fake {
    /// Two CPUs, an ordinary user, nothing in the way.
    fn sound() -> Fake {
        let fake = Fake {
            root: tempfile::tempdir().unwrap(),
            events: |_| Ok(()),
            emulator: Some("7.2.22"),
            room: Some(ROOMY),
            cores: [1.0; 2],
        };
        fake.file("proc/self/status", "Name:\tholdup\nCapEff:\t0000000000000000\nCpus_allowed_list:\t0-1\n")
            .file("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu tsc constant_tsc nonstop_tsc\n")
            .file("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet \n")
            .file("proc/sys/kernel/perf_event_paranoid", "2\n")
            .file("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n")
            .file("proc/sys/kernel/yama/ptrace_scope", "1\n")
            .file("sys/kernel/tracing/events/sched/sched_waking/id", "300\n")
            .file("proc/self/cgroup", "0::/job\n")
            .file("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
            .file("sys/fs/cgroup/job/cpu.max", "max 100000\n")
            .file("sys/fs/cgroup/job/memory.max", "max\n")
            .file("sys/devices/system/cpu/online", "0-1\n")
            .file("sys/devices/system/node/online", "0\n")
            .file("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
            .file("sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n")
            .with_cache(0, 3, "0-1")
            .with_cache(1, 3, "0-1")
    }

    /// A CPU whose last level of cache these CPUs share.
    fn with_cache(self, cpu: u32, level: u32, shared: &str) -> Fake {
        let file = |name: &str| format!("sys/devices/system/cpu/cpu{cpu}/cache/index0/{name}");
        self.file(&file("level"), &format!("{level}\n"))
            .file(&file("type"), "Unified\n")
            .file(&file("size"), "32768K\n")
            .file(&file("shared_cpu_list"), &format!("{shared}\n"))
    }

    fn file(self, path: &str, text: &str) -> Fake {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn without(self, path: &str) -> Fake {
        fs::remove_file(self.root.path().join(path)).unwrap();
        self
    }

    fn checks(&self) -> Vec<Check> {
        examine(&Machine {
            root: self.root.path(),
            holdup: Path::new("/opt/hold up/holdup"),
            try_event: &self.events,
            try_emulator: &|| match self.emulator {
                Some(version) => Ok((version.to_owned(), "/opt/qemu".into())),
                None => Err(CollectError::NoEmulator {
                    what: "there is none".to_owned(),
                    advice: "apt install qemu-user".to_owned(),
                }),
            },
            try_core: &|cpu| Some(self.cores[cpu as usize % 2]),
            room: &|_| self.room,
        })
    }

    fn check(&self, name: &str) -> Check {
        self.checks()
            .into_iter()
            .find(|check| check.name == name)
            .unwrap_or_else(|| panic!("no check {name}"))
    }

    /// The check that differs from the sound machine's; panics where it is not exactly one.
    fn only_trouble(&self) -> Check {
        let mut troubles: Vec<Check> =
            self.checks().into_iter().filter(|check| check.state != State::Available).collect();
        assert_eq!(troubles.len(), 1, "{troubles:#?}");
        troubles.remove(0)
    }
}

fn says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is not in {text:?}");
    }
}

#[test]
fn a_sound_machine_lacks_nothing() {
    for check in Fake::sound().checks() {
        assert_eq!(check.state, State::Available, "{check}");
        assert!(check.lost.is_empty() && check.remedy.is_none(), "{check}");
    }
}

#[test]
fn an_empty_machine_is_no_reason_to_fail() {
    let fake = Fake {
        root: tempfile::tempdir().unwrap(),
        events: |_| Err(io::ErrorKind::NotFound.into()),
        emulator: None,
        room: None,
        cores: [1.0; 2],
    };
    let checks = fake.checks();
    let missing: Vec<&str> =
        checks.iter().filter(|check| check.state == State::Missing).map(|check| check.name).collect();
    let expected = [
        "shared memory",
        "perf_event_paranoid",
        "samples",
        "switch records",
        "hardware counters",
        "instructions",
        "shared cache",
    ];
    assert_eq!(missing, expected);
}

#[test]
fn whatever_is_wrong_says_what_is_lost_and_commands_have_consequences() {
    let fake = Fake {
        root: tempfile::tempdir().unwrap(),
        events: |_| Err(io::ErrorKind::PermissionDenied.into()),
        emulator: None,
        room: Some(Room { size: 1 << 20, free: 0 }),
        cores: [0.5; 2],
    };
    for check in fake.checks() {
        assert_eq!(check.state == State::Available, check.lost.is_empty(), "{check}");
        assert_eq!(check.remedy.is_some(), check.consequence.is_some(), "{check}");
    }
}

#[test]
fn a_counter_that_stops_or_differs_is_no_clock() {
    let check = Fake::sound().file("proc/cpuinfo", "flags\t: fpu tsc constant_tsc\n").only_trouble();
    assert_eq!(check.state, State::Limited);
    says(&check.found, &["nonstop_tsc"]);
    let clocksources = "sys/devices/system/clocksource/clocksource0/available_clocksource";
    says(&Fake::sound().file(clocksources, "hpet acpi_pm\n").only_trouble().found, &["unstable"]);
}

#[test]
fn a_capability_of_one_file_is_preferred_to_a_setting_for_all() {
    let check = Fake::sound().file("proc/sys/kernel/perf_event_paranoid", "3\n").only_trouble();
    assert_eq!((check.name, check.state), ("perf_event_paranoid", State::Missing));
    assert_eq!(check.remedy.as_deref(), Some("sudo setcap cap_perfmon+ep '/opt/hold up/holdup'"));
    says(&check.consequence.unwrap(), &["setcap -r", "sysctl kernel.perf_event_paranoid=2"]);
}

#[test]
fn who_has_the_capability_needs_no_remedy() {
    let fake = Fake::sound()
        .file("proc/sys/kernel/perf_event_paranoid", "4\n")
        .file("proc/self/status", "CapEff:\t0000004000000000\nCpus_allowed_list:\t0-1\n");
    assert_eq!(fake.check("perf_event_paranoid").state, State::Available);
}

#[test]
fn old_kernels_and_containers_get_the_remedy_that_works_there() {
    let strict = || Fake::sound().file("proc/sys/kernel/perf_event_paranoid", "3\n");
    let old = strict().file("proc/sys/kernel/osrelease", "5.4.0-generic\n").only_trouble();
    says(&old.remedy.unwrap(), &["sysctl kernel.perf_event_paranoid=2"]);
    let docker = strict().file(".dockerenv", "").check("perf_event_paranoid");
    says(&docker.remedy.unwrap(), &["--cap-add PERFMON"]);
}

#[test]
fn events_are_tried_and_told_apart() {
    let mut fake = Fake::sound();
    fake.events = |event| match event {
        Event::TaskClock => Ok(()),
        Event::ContextSwitches => Err(io::ErrorKind::PermissionDenied.into()),
        Event::Cycles => Err(io::ErrorKind::NotFound.into()),
    };
    assert_eq!(fake.check("samples").state, State::Available);
    says(&fake.check("switch records").remedy.unwrap(), &["setcap"]);
    let hardware = fake.check("hardware counters");
    assert_eq!((hardware.state, hardware.remedy), (State::Missing, None));
}

#[test]
fn tracepoints_need_a_readable_file() {
    let check = Fake::sound().without("sys/kernel/tracing/events/sched/sched_waking/id").only_trouble();
    assert_eq!((check.name, check.state), ("tracepoints", State::Limited));
    says(&check.remedy.unwrap(), &["sudo '/opt/hold up/holdup' PROGRAM"]);
    let root = Fake::sound()
        .without("sys/kernel/tracing/events/sched/sched_waking/id")
        .file("proc/self/status", "CapEff:\t000001ffffffffff\nCpus_allowed_list:\t0-1\n")
        .only_trouble();
    says(&root.remedy.unwrap(), &["mount -t tracefs"]);
}

#[test]
fn a_small_or_full_dev_shm_has_different_remedies() {
    let mut fake = Fake::sound();
    fake.room = Some(Room { size: 64 << 20, free: 1 << 20 });
    says(&fake.only_trouble().remedy.unwrap(), &["remount,size="]);
    fake.room = Some(Room { size: 8 << 30, free: 1 << 20 });
    says(&fake.only_trouble().remedy.unwrap(), &["ls -lS /dev/shm"]);
    fake.room = Some(Room { size: 64 << 20, free: 64 << 20 });
    assert_eq!(fake.check("shared memory").state, State::Available);
}

#[test]
fn ptrace_scope_above_one_limits() {
    let scope = |value: &str| Fake::sound().file("proc/sys/kernel/yama/ptrace_scope", value);
    assert_eq!(scope("0").check("ptrace_scope").state, State::Available);
    says(&scope("2").only_trouble().remedy.unwrap(), &["ptrace_scope=1"]);
    let never = scope("3").only_trouble();
    assert_eq!((never.state, never.remedy), (State::Missing, None));
}

#[test]
fn affinity_is_compared_with_the_cpus_that_are_there() {
    let status = |list: &str| format!("CapEff:\t0\nCpus_allowed_list:\t{list}\n");
    let alone = Fake::sound().file("proc/self/status", &status("1"));
    let pinned = alone.check("CPUs");
    says(&alone.check("shared cache").found, &["CPU 1"]);
    says(&pinned.found, &["1 of 2"]);
    says(&pinned.remedy.unwrap(), &["taskset -c 0-1 '/opt/hold up/holdup'"]);
    let wide = Fake::sound().file("proc/self/status", &status("0-127"));
    says(&wide.check("CPUs").found, &["2, all"]);
}

#[test]
fn what_a_measured_speedup_stack_lacks_is_told_with_what_it_costs() {
    let private = Fake::sound().with_cache(0, 2, "0").with_cache(1, 2, "1").only_trouble();
    assert_eq!((private.name, private.state), ("shared cache", State::Missing));
    says(&private.lost, &["holdup stack", "--simulate"]);
    let small = Fake::sound().file("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
    says(&small.only_trouble().remedy.unwrap(), &["madvise"]);
    let busy = Fake { cores: [0.99, 0.7], ..Fake::sound() }.only_trouble();
    assert_eq!(busy.name, "cores for a pirate");
    says(&busy.found, &["CPU 1", "70 %"]);
}

#[test]
fn cache_allocation_is_offered_where_the_kernel_knows_it() {
    assert_eq!(Fake::sound().check("cache allocation").state, State::Available);
    let known = Fake::sound().file("proc/filesystems", "nodev\tresctrl\n");
    says(&known.only_trouble().remedy.unwrap(), &["mount -t resctrl"]);
    let mounted = known
        .file("sys/fs/resctrl/info/L3/cbm_mask", "fff\n")
        .file("sys/fs/resctrl/info/L3/min_cbm_bits", "1\n")
        .file("sys/fs/resctrl/info/L3/num_closids", "16\n");
    says(&mounted.check("cache allocation").found, &["12 ways"]);
}

#[test]
fn the_tightest_quota_of_all_levels_counts() {
    let fake = Fake::sound()
        .file("sys/fs/cgroup/job/cpu.max", "180000 100000\n")
        .file("sys/fs/cgroup/cpu.max", "150000 100000\n");
    let check = fake.only_trouble();
    says(&check.found, &["1.50 CPUs", "of 2 CPUs"]);
    assert_eq!(check.remedy.as_deref(), Some("echo max | sudo tee /sys/fs/cgroup/cpu.max"));
    let wide = Fake::sound().file("sys/fs/cgroup/job/cpu.max", "200000 100000\n");
    assert_eq!(wide.check("CPU quota").state, State::Available);
}

#[test]
fn quotas_of_version_one_are_known() {
    let fake = Fake::sound()
        .file("proc/self/cgroup", "1:cpu,cpuacct:/job\n0::/\n")
        .file("proc/self/mountinfo", "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n")
        .file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
        .file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
        .file("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000\n")
        .file("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
    let check = fake.only_trouble();
    says(&check.found, &["0.50 CPUs"]);
    assert_eq!(check.remedy.as_deref(), Some("echo -1 | sudo tee /sys/fs/cgroup/cpu/job/cpu.cfs_quota_us"));
}

#[test]
fn throttled_periods_are_told() {
    let stat = |throttled: u32| format!("nr_periods 500\nnr_throttled {throttled}\nthrottled_usec 9\n");
    let fake = Fake::sound().file("sys/fs/cgroup/job/cpu.stat", &stat(41));
    says(&fake.only_trouble().found, &["41 of 500"]);
    let never = Fake::sound().file("sys/fs/cgroup/job/cpu.stat", &stat(0));
    assert_eq!(never.check("throttling").state, State::Available);
}

#[test]
fn who_else_uses_the_cpus_is_told() {
    let load =
        |average: &str| Fake::sound().file("proc/loadavg", &format!("{average} 0.50 0.20 1/100 4242\n"));
    assert_eq!(load("0.40").check("other load").state, State::Available);
    says(&load("1.52").only_trouble().found, &["1.5 threads", "2 CPUs"]);
    let stat = |stolen: u32| {
        Fake::sound().file("proc/stat", &format!("cpu  500 0 200 {} 0 0 0 {stolen} 9 9\n", 300 - stolen))
    };
    assert_eq!(stat(9).check("steal").state, State::Available);
    says(&stat(50).only_trouble().found, &["5.00 %"]);
}

#[test]
fn governors_other_than_performance_vary() {
    let governor = |name: &str| {
        let fake = Fake::sound().file("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance");
        fake.file("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", name)
    };
    assert_eq!(governor("performance").check("frequency").state, State::Available);
    says(&governor("powersave").only_trouble().found, &["performance, powersave"]);
}

#[test]
fn siblings_on_one_core_are_counted() {
    let fake = Fake::sound()
        .file("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0-1\n")
        .file("sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "0-1\n");
    assert_eq!(fake.check("shared cache").state, State::Missing, "a thief would take the core's units too");
    let check = fake.check("SMT");
    says(&check.found, &["2 CPUs, physical cores: 1"]);
    says(&check.remedy.unwrap(), &["taskset -c 0 "]);
}

#[test]
fn several_memory_nodes_are_told() {
    let check = Fake::sound().file("sys/devices/system/node/online", "0-1\n").only_trouble();
    says(&check.found, &["2 memory nodes (0-1)"]);
}

#[test]
fn a_tight_memory_limit_is_told_a_wide_one_is_shown() {
    let limit = |limit: u64| {
        let fake = Fake::sound().file("sys/fs/cgroup/job/memory.max", &limit.to_string());
        fake.file("sys/fs/cgroup/job/memory.current", "1048576\n")
    };
    let check = limit(10 << 20).only_trouble();
    says(&check.found, &["10 MiB", "9 MiB left"]);
    assert_eq!(limit(1 << 30).check("memory limit").state, State::Available);
    assert!(Fake::sound().checks().iter().all(|check| check.name != "memory limit"));
}

#[test]
fn files_cannot_send_control_characters_to_the_terminal() {
    let fake = Fake::sound().file("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "a\x1b[31mb");
    let shown = fake.only_trouble().to_string();
    assert!(!shown.contains('\x1b'), "{shown:?}");
}

#[test]
fn a_check_is_shown_on_lines_of_its_own() {
    let shown = Check::limited("SMT", "2 CPUs are 1 core", "little").remedy("do x", "then y").to_string();
    let lines: Vec<&str> = shown.lines().map(str::trim_start).collect();
    assert_eq!(lines.len(), 4);
    assert!(
        lines[0].starts_with("SMT")
            && lines[0].contains("limited")
            && lines[0].ends_with("2 CPUs are 1 core")
    );
    assert!(
        lines[1].starts_with("lost") && lines[2].starts_with("remedy") && lines[3].starts_with("consequence")
    );
    assert_eq!(Check::available("SMT", "none").to_string().lines().count(), 1);
}

#[test]
fn without_an_emulator_no_lines_are_told() {
    let sound = Fake::sound();
    says(&sound.check("instructions").found, &["7.2.22", "/opt/qemu"]);
    let check = Fake { emulator: None, ..sound }.only_trouble();
    says(&check.to_string(), &["there is none", "holdup why", "apt install qemu-user"]);
}
