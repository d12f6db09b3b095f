//! Memory that a program gives back to the kernel, and that comes again page by page.

use std::collections::BTreeMap;

use holdup_model::figures::{bytes, grouped, percent};
use holdup_model::{InKernel, Nanos, Process, Run, Site, SiteId, ThreadId, Usage, cpu_time};

use super::{Candidate, Case, Description, main_ones, most_first};
use crate::FindingKind;

/// So many samples in page faults say where they are.
const FEWEST_SAMPLES: u64 = 10;
/// What goes back to the kernel takes at least this share of what its coming again takes: after a fork pages come again too.
const LEAST_GIVEN_BACK: f64 = 0.02;
/// So many places are named.
const MOST_NAMED: usize = 3;

/// What fixing is likely to save, at least and at most, as parts of the time in page faults and calls: what was measured
/// (docs/explain/faults.md).
const LEAST_PART: f64 = 0.75;
const LIKELY_PART: f64 = 1.1;
const LARGEST_PART: f64 = 1.75;

/// What can be done about them in any program.
const HINT: &str = "Keep the memory and use it again (a buffer for each thread), in place of allocating and freeing it each time";
/// And without any change of it, where the C library's allocator gives it back.
const BY_GLIBC: &str = "; or have glibc keep it: \
    MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=4294967296 in the environment";

/// What is known of a process's memory.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    usage: Usage,
    /// How long a page takes to come and go.
    each: Option<Nanos>,
    /// True if it started other processes: each page that it changes after a `fork` comes again.
    starts_others: bool,
}

impl Memory {
    /// Of `process`; `None` where nothing was seen of it.
    pub(crate) fn of(run: &Run, process: &Process) -> Option<Self> {
        let usage = run.environment.usage(process.pid)?;
        let starts_others =
            run.processes.iter().any(|other| other.parent_pid == process.pid && other.pid != process.pid);
        Some(Self { usage, each: run.environment.page_fault, starts_others })
    }

    /// How long its page faults took in `cpu_time`, if as much of that as when it was looked at last: as long as they take where nothing
    /// disturbs them, and no longer than the kernel was at work.
    fn estimated(&self, cpu_time: Nanos) -> Option<Nanos> {
        let each = self.each.filter(|_| !self.starts_others)?;
        let time = each.get().saturating_mul(self.usage.faults).min(self.usage.system.get());
        let times = cpu_time.share_of(self.usage.user + self.usage.system).max(1.0);
        Some(Nanos::new((time as f64 * times) as u64))
    }
}

/// Page faults of working threads, and calls by which they give memory back.
#[derive(Default)]
struct Faults {
    samples: u64,
    /// In page faults, by where.
    places: BTreeMap<SiteId, Nanos>,
    /// In calls that map or unmap, by where.
    calls: BTreeMap<SiteId, Nanos>,
    threads: BTreeMap<ThreadId, Nanos>,
    /// True if it is the C library's allocator that calls.
    by_glibc: bool,
}

impl Faults {
    fn of(case: &Case<'_>) -> Self {
        let mut found = Self::default();
        for &thread in &case.working.threads {
            for look in case.samples.of_thread(thread) {
                let (Some(in_kernel), Some(site), Some(place)) = (look.in_kernel, look.site, look.place)
                else {
                    continue;
                };
                let site = case.process.site(site);
                let places = match in_kernel {
                    InKernel::Fault => &mut found.places,
                    InKernel::Call if site.maps_memory() => &mut found.calls,
                    InKernel::Call => continue,
                };
                *places.entry(place).or_default() += look.active;
                *found.threads.entry(thread).or_default() += look.active;
                found.samples += u64::from(in_kernel == InKernel::Fault);
                found.by_glibc |= in_kernel == InKernel::Call && is_by_glibc(site);
            }
        }
        found
    }

    fn in_faults(&self) -> Nanos {
        self.places.values().copied().sum()
    }

    fn in_calls(&self) -> Nanos {
        self.calls.values().copied().sum()
    }

    fn all(&self) -> Nanos {
        self.in_faults() + self.in_calls()
    }
}

/// True if glibc's allocator makes the call.
fn is_by_glibc(site: &Site) -> bool {
    site.frames.iter().any(|frame| {
        let is_of = |names: &[&str], text: &Option<String>, found: fn(&str, &str) -> bool| {
            text.as_deref().is_some_and(|text| names.iter().any(|name| found(text, name)))
        };
        is_of(&["libc.so", "libc-2"], &frame.module, |module, name| module.starts_with(name))
            && is_of(&["alloc", "free", "trim"], &frame.function, |function, name| function.contains(name))
    })
}

pub(super) fn candidates<'a>(case: &Case<'_>, candidates: &mut Vec<Candidate<'a>>) {
    let Some(memory) = case.memory.filter(|memory| memory.usage.comes_again()) else { return };
    let faults = Faults::of(case);
    let time = match case.process.samples.iter().any(|sample| sample.in_kernel.is_some()) {
        true if faults.samples < FEWEST_SAMPLES => return,
        true if faults.in_calls().share_of(faults.in_faults()) < LEAST_GIVEN_BACK => return,
        true => faults.all(),
        // Nobody saw into the kernel.
        false => match memory.estimated(cpu_time(case.process)) {
            Some(time) => time,
            None => return,
        },
    };
    // What comes for the first time has to come.
    let usage = memory.usage;
    let again = 1.0 - usage.most_memory as f64 / usage.given().max(1) as f64;
    let lost = Nanos::new((time.get() as f64 * again) as u64);
    let gain = case.gain_of_work(lost, [LEAST_PART, LIKELY_PART, LARGEST_PART]);
    let mut candidate =
        Candidate::new(FindingKind::Faults, lost, move |case| describe(case, &faults, &memory));
    candidate.gain = Some(gain);
    candidates.push(candidate);
}

fn describe(case: &Case<'_>, faults: &Faults, memory: &Memory) -> Description {
    let place = most_first(&faults.places).first().map(|(place, _)| *place);
    let at = place.map(|place| format!(", mostly in {}", case.site(place))).unwrap_or_default();
    let usage = memory.usage;
    let mut evidence = vec![format!(
        "In {} of CPU time the kernel gave it {} pages ({}), of which it had {} at most: what it frees goes back, and comes again page by \
         page.",
        usage.user + usage.system,
        grouped(usage.faults),
        bytes(usage.given()),
        bytes(usage.most_memory),
    )];
    match memory.each {
        Some(each) if place.is_none() => evidence.push(format!(
            "That takes {each} a page on this machine when nothing else runs, and the kernel was at work for {} of its CPU time; where it \
             is, samples of the kernel would say (holdup as root).",
            percent(usage.system.share_of(usage.user + usage.system)),
        )),
        _ => evidence.extend([
            named(case, "Page faults take", &faults.places, faults.in_faults()),
            named(case, "Calls that map and unmap memory take", &faults.calls, faults.in_calls()),
        ]),
    }
    let by_glibc = if faults.by_glibc || place.is_none() { BY_GLIBC } else { "" };
    Description {
        object: None,
        threads: main_ones(&faults.threads),
        place,
        what: format!("page faults{at}"),
        evidence,
        hint: format!("{HINT}{by_glibc}."),
        on_path: None,
        method: match place {
            Some(_) => "samples of threads in page faults, and in calls that map and unmap memory",
            None => "page faults of the process, and how long one takes",
        },
        stretches: Vec::new(),
        notes: Vec::new(),
    }
}

/// `Page faults take 562 ms: 79 % in clean_page (scan.cpp:72), 20 % in blur (scan.cpp:90).`
fn named(case: &Case<'_>, what: &str, places: &BTreeMap<SiteId, Nanos>, all: Nanos) -> String {
    let most = most_first(places);
    let named: Vec<String> = most
        .iter()
        .take(MOST_NAMED)
        .map(|(place, time)| format!("{} in {}", percent(time.share_of(all)), case.site(*place)))
        .collect();
    format!("{what} {all}: {}.", named.join(", "))
}
