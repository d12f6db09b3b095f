//! Counters of the whole machine that grow: CPU time by CPU, swap, pressure, heat.

use std::collections::BTreeMap;
use std::time::Duration;

use holdup_model::{CpuSet, Load, Nanos, Swapped, Usage};

use crate::files::{Files, count, field};

/// The kernel's unit of CPU times in /proc (`USER_HZ`), which is 100 a second on all architectures that holdup runs
/// on.
const TICK: u64 = 10_000_000;

/// Ticks of one CPU.
#[derive(Clone, Copy, Debug, Default)]
struct CpuTicks {
    busy: u64,
    idle: u64,
    stolen: u64,
}

/// The counters at one moment.
#[derive(Debug, Default)]
pub(super) struct Counters {
    cpus: BTreeMap<u32, CpuTicks>,
    /// Of holdup itself.
    own: Option<ProcessTicks>,
    swapped_pages: Option<(u64, u64)>,
    pressure_micros: Option<u64>,
    thermal: BTreeMap<u32, u64>,
}

/// Ticks of a process and of those of its descendants that have ended and were waited for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProcessTicks {
    pub(super) parent: u32,
    /// True if its main thread ends, or has ended and nobody has waited for it yet.
    pub(super) is_ending: bool,
    user: u64,
    system: u64,
    children: u64,
    /// Page faults of the process that were answered without a disk.
    pub(super) faults: u64,
}

/// The kernel's `PF_EXITING` (include/linux/sched.h).
const ENDING: u64 = 4;

impl ProcessTicks {
    /// From `/proc/PID/stat` (proc(5)): after the name in parentheses, which may contain anything, the state, the
    /// parent, …, as 7th the kernel's flags, as 8th the page faults, and as 12th to 15th the times in user and kernel mode, those of children
    /// last.
    pub(super) fn read(files: &Files<'_>, process: &str) -> Option<ProcessTicks> {
        let text = files.text(&format!("proc/{process}/stat"))?;
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        Some(ProcessTicks {
            parent: fields.get(1)?.parse().ok()?,
            is_ending: number(6)? & ENDING != 0,
            faults: number(7)?,
            user: number(11)?,
            system: number(12)?,
            children: number(13)? + number(14)?,
        })
    }

    /// CPU time of the process and its ended descendants since `earlier`.
    pub(super) fn since(self, earlier: ProcessTicks) -> Nanos {
        ticks((self.own() + self.children).saturating_sub(earlier.own() + earlier.children))
    }

    fn own(self) -> u64 {
        self.user + self.system
    }

    /// What the process itself used since `earlier`, where it had so much memory at most (bytes).
    pub(super) fn usage_since(self, earlier: ProcessTicks, most_memory: u64) -> Usage {
        Usage {
            user: ticks(self.user.saturating_sub(earlier.user)),
            system: ticks(self.system.saturating_sub(earlier.system)),
            faults: self.faults.saturating_sub(earlier.faults),
            most_memory,
        }
    }
}

fn ticks(count: u64) -> Nanos {
    Nanos::new(count.saturating_mul(TICK))
}

impl Counters {
    pub(super) fn read(files: &Files<'_>) -> Counters {
        let stat = files.text("proc/stat").unwrap_or_default();
        let memory = files.text("proc/vmstat").unwrap_or_default();
        let cpus: BTreeMap<u32, CpuTicks> = stat.lines().filter_map(cpu_line).collect();
        let heat = |&cpu: &u32| {
            let file = format!("sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count");
            Some((cpu, files.number(&file)?.try_into().ok()?))
        };
        Counters {
            thermal: cpus.keys().filter_map(heat).collect(),
            cpus,
            own: ProcessTicks::read(files, "self"),
            swapped_pages: count(&memory, "pswpin").zip(count(&memory, "pswpout")),
            pressure_micros: files.text("proc/pressure/cpu").and_then(|text| some_total(&text)),
        }
    }
}

/// `cpu0 user nice system idle iowait irq softirq steal …` (proc(5)); guests' time is in the user's already.
fn cpu_line(line: &str) -> Option<(u32, CpuTicks)> {
    let mut words = line.strip_prefix("cpu")?.split_whitespace();
    let cpu = words.next().filter(|_| !line.starts_with("cpu "))?.parse().ok()?;
    let times: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
    let at = |index: usize| times.get(index).copied().unwrap_or(0);
    let busy = at(0) + at(1) + at(2) + at(5) + at(6);
    (times.len() >= 4).then_some((cpu, CpuTicks { busy, idle: at(3) + at(4), stolen: at(7) }))
}

/// The sum in the line `some avg10=… avg60=… avg300=… total=…`, in µs.
fn some_total(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    line.rsplit_once("total=")?.1.trim().parse().ok()
}

/// What is to be added to, and taken from, the CPU time of processes that we waited for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Live {
    pub(super) more: Nanos,
    pub(super) less: Nanos,
}

/// Who used these CPUs.
pub(super) fn between(
    first: &Counters,
    last: &Counters,
    cpus: &CpuSet,
    span: Duration,
    live: Live,
) -> Option<Load> {
    let (own_first, own_last) = (first.own?, last.own?);
    let mut sum = CpuTicks::default();
    let mut found = false;
    for cpu in cpus.iter() {
        let (Some(before), Some(after)) = (first.cpus.get(&cpu), last.cpus.get(&cpu)) else { continue };
        found = true;
        sum.busy += after.busy.saturating_sub(before.busy);
        sum.idle += after.idle.saturating_sub(before.idle);
        sum.stolen += after.stolen.saturating_sub(before.stolen);
    }
    found.then(|| Load {
        span: Nanos::new(span.as_nanos() as u64),
        busy: ticks(sum.busy),
        idle: ticks(sum.idle),
        stolen: ticks(sum.stolen),
        program: (ticks(own_last.children.saturating_sub(own_first.children)) + live.more)
            .saturating_sub(live.less),
        recorder: ticks(own_last.own().saturating_sub(own_first.own())),
    })
}

/// What went to and came from swap.
pub(super) fn swapped(first: &Counters, last: &Counters) -> Option<Swapped> {
    let page = rustix::param::page_size() as u64;
    let (before, after) = first.swapped_pages.zip(last.swapped_pages)?;
    Some(Swapped {
        read: after.0.saturating_sub(before.0).saturating_mul(page),
        written: after.1.saturating_sub(before.1).saturating_mul(page),
    })
}

/// For how long some thread of the machine waited for a CPU.
pub(super) fn pressure(first: &Counters, last: &Counters) -> Option<Nanos> {
    let (before, after) = first.pressure_micros.zip(last.pressure_micros)?;
    Some(Nanos::new(after.saturating_sub(before).saturating_mul(1_000)))
}

/// How often these CPUs were slowed down for heat; each counts for itself, as the kernel does.
pub(super) fn thermal_throttles(first: &Counters, last: &Counters, cpus: &CpuSet) -> Option<u64> {
    let grown =
        cpus.iter().filter_map(|cpu| Some(last.thermal.get(&cpu)?.saturating_sub(*first.thermal.get(&cpu)?)));
    grown.reduce(|a, b| a.saturating_add(b))
}

/// The bytes in a line `name:  4096 kB` of `/proc/PID/status`.
pub(super) fn kib(text: &str, name: &str) -> Option<u64> {
    let value = field(text, name)?.strip_suffix("kB")?;
    Some(value.trim().parse::<u64>().ok()?.saturating_mul(1024))
}
