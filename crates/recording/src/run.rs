//! From stored records to the model's columns.

use std::collections::BTreeSet;

use holdup_model::{ExitStatus, LostEvents, Nanos, Process, RecordingCost, Run, Thread, Unnamed};
use holdup_trace::wire::Record;

use crate::alone;
use crate::clock::Clock;
use crate::error::Warning;
use crate::facts::ProcessEnd;
use crate::filler::Filler;
use crate::join::{Member, join};
use crate::kernel::{self, Kernel};
use crate::merge::Merge;
use crate::messages;
use crate::objects::Objects;
use crate::openmp::{self, CpuTimes};
use crate::reader::{RawProcess, Recording, Sources};
use crate::sites::Sites;
use crate::start_functions;
use crate::threads::Threads;
use crate::ticks;
use crate::unread;

impl Recording {
    /// The run that was recorded.
    pub fn run(&self, warnings: &[Warning]) -> Run {
        self.run_from(warnings, Sources::ALL)
    }

    /// The run as these collectors saw it.
    pub fn run_from(&self, warnings: &[Warning], sources: Sources) -> Run {
        run(self, warnings, sources)
    }
}

fn run(recording: &Recording, warnings: &[Warning], sources: Sources) -> Run {
    let clock = Clock::new(&recording.session, &recording.samples);
    let last_event = || recording.processes.iter().map(ticks::last).max().unwrap_or(recording.session.start);
    let end = match &recording.end {
        Some(end) => end.end.max(recording.session.start),
        None => last_event(),
    };
    let frames = if sources.kernel { recording.kernel.as_slice() } else { &[] };
    let end_ns = match recording.end {
        Some(_) => clock.monotonic(end),
        None => clock.monotonic(end).max(kernel::last_time(frames)),
    };
    let kernel = Kernel::of(frames, end_ns);
    let merge = Merge { kernel: &kernel, names: &recording.image_names, clock: &clock, end: end_ns };
    let mut members: Vec<Member> = Vec::new();
    let mut seen_images = vec![false; kernel.images.len()];
    let mut hooks = 0.0;
    let mut own_samples = 0;
    // The first process may have executed another program, whose file comes later: the last one saw the end.
    let first_pid = recording.processes.first().map(|raw| raw.start.pid);
    let last_image =
        recording.processes.iter().rposition(|raw| !raw.is_empty() && Some(raw.start.pid) == first_pid);
    for (index, raw) in recording.processes.iter().enumerate() {
        if raw.is_empty() || !sources.preload {
            continue;
        }
        let from = (index == 0).then_some(recording.session.start);
        let is_cut = raw.end.as_ref().is_some_and(|facts| facts.executed);
        let until = (Some(index) == last_image && !is_cut).then_some(end);
        let mut process = process(raw, &clock, from, until);
        if process.command.is_empty() && index == 0 {
            // Its own record of it comes late, and not at all where the recording could not be written to its end.
            process.command.clone_from(&recording.session.command);
        }
        if let Some(facts) = &raw.end {
            hooks += facts.events as f64 * facts.event_ticks;
        }
        let uses = process.uses.iter().fold(0u64, |all, entry| all.saturating_add(entry.acquisitions));
        let keys = raw.shared.iter().map(|shared| (shared.address, shared.key.clone())).collect();
        process.seen_by.preload = true;
        let counted = recording.alone.iter().flat_map(|alone| &alone.counted);
        let of_process = counted
            .filter(|counted| counted.pid == raw.start.pid)
            .map(|counted| alone::count(counted, &clock));
        // Another program that the process executed before or after has its own times.
        let (start, end) = (process.start, process.end);
        process.alone_counts =
            of_process.filter(|count| count.begin >= start && count.begin <= end).collect();
        if let Some(image) = merge.image_at(raw.start.pid, clock.monotonic(raw.start.start)) {
            own_samples += merge.add(&mut process, image);
            seen_images[image] = true;
            openmp::let_workers_leave(&mut process);
        }
        // Samples say where threads spin.
        process.find_condition_barriers();
        let is_known = |what: fn(&ProcessEnd) -> bool| raw.end.as_ref().is_some_and(what);
        members.push(Member {
            process,
            keys,
            forked: raw.start.forked,
            executed: is_known(|end| end.executed),
            ended: is_known(|end| end.end != 0 && !end.still_running),
        });
        hooks += raw.end.as_ref().map_or(0.0, |facts| facts.use_ticks) * uses as f64;
    }
    let rest: Vec<usize> = (0..kernel.images.len()).filter(|&image| !seen_images[image]).collect();
    for &image in &rest {
        let is_only = members.is_empty() && Some(&image) == rest.last();
        members.extend(merge.process(image, is_only).map(Member::alone));
    }
    members.sort_by_key(|member| member.process.start);
    if let Some(first) = members.first_mut().filter(|first| first.process.command.is_empty()) {
        first.process.command.clone_from(&recording.session.command);
    }
    name_forks(&mut members);
    let mut processes = join(members);
    processes.iter_mut().for_each(start_functions::name);
    processes.iter_mut().for_each(messages::name);
    let mut all: Vec<String> = warnings.iter().map(Warning::to_string).collect();
    all.extend(recording.end.iter().flat_map(|end| end.warnings.iter().cloned()));
    let of_processes = || recording.processes.iter().filter_map(|raw| raw.names.as_ref());
    let of_images = || recording.image_names.values();
    all.extend(of_processes().flat_map(|names| names.warnings.iter().cloned()));
    all.extend(of_images().flat_map(|names| names.warnings.iter().cloned()));
    all.extend(kernel.warnings());
    let unnamed = of_processes().map(|names| &names.unnamed).chain(of_images().map(|names| &names.unnamed));
    let unnamed: BTreeSet<Unnamed> = unnamed
        .flatten()
        .map(|code| Unnamed { module: code.module.clone(), remedy: code.remedy.clone() })
        .collect();
    let mut told = BTreeSet::new();
    all.retain(|sentence| told.insert(sentence.clone()));
    let running = |raw: &&RawProcess| raw.end.as_ref().is_some_and(|end| end.still_running);
    match recording.processes.iter().filter(running).count() {
        0 => {}
        1 => all.push(
            "a process still ran when the first one had ended: the rest of it is not recorded".to_owned(),
        ),
        count => all.push(format!(
            "{count} processes still ran when the first one had ended: the rest of them is not recorded"
        )),
    }
    for runtime in processes.iter().flat_map(|process| &process.openmp.runtimes) {
        if !runtime.told {
            all.push(format!(
                "{} does not tell of its parallel regions here: its tools interface is switched off (OMP_TOOL) or another \
                 tool has it",
                runtime.vendor.word()
            ));
        }
    }
    let run = Run {
        recorded_by: recording.session.holdup.clone(),
        command: recording.session.command.clone(),
        start: clock.time(recording.session.start),
        end: clock.time(end),
        exit: recording.end.as_ref().and_then(|end| match (end.code, end.signal) {
            (_, Some(signal)) => Some(ExitStatus::Signal(signal)),
            (Some(code), None) => Some(ExitStatus::Code(code)),
            (None, None) => None,
        }),
        cores: recording.session.cores,
        environment: (&recording.environment).into(),
        collectors: recording.session.collectors.clone(),
        clock: clock.description().to_owned(),
        cost: (!processes.is_empty()).then(|| RecordingCost {
            counted: clock.length(hooks.max(0.0) as u64),
            own_samples,
            all_samples: kernel.running_samples,
            records: Nanos::new(kernel.cost),
            recorder: recording.end.as_ref().and_then(|end| end.recorder_cpu).map(Nanos::new),
        }),
        processes,
        unseen: recording.end.as_ref().map(|end| end.unseen.clone()).unwrap_or_default(),
        warnings: all,
        unnamed: unnamed.into_iter().collect(),
    };
    match recording.end.as_ref().and_then(|end| end.window) {
        Some((from, to)) => run.window(clock.time(from), clock.time(to)),
        None => run,
    }
}

/// A fork runs its parent's program.
fn name_forks(members: &mut [Member]) {
    for index in 0..members.len() {
        let (before, rest) = members.split_at_mut(index);
        let Some(Member { process, .. }) = rest.first_mut() else { continue };
        if process.command.is_empty()
            && let Some(parent) = before.iter().rev().find(|other| other.process.pid == process.parent_pid)
        {
            process.command = parent.process.command.clone();
        }
    }
}

/// The process; `from` and `until` are when it started and ended where its own records cannot tell.
fn process(raw: &RawProcess, clock: &Clock, from: Option<u64>, until: Option<u64>) -> Process {
    let ended = raw.end.as_ref().map_or(0, |end| end.end);
    let start = from.unwrap_or(raw.start.start);
    let end = until.unwrap_or_else(|| ended.max(ticks::last(raw)));
    let start = clock.time(start);
    // Words of a damaged recording, or of a clock that was set back, may say that it ended before.
    let mut process = Process::new(start, clock.time(end).max(start));
    process.pid = raw.start.pid;
    process.parent_pid = raw.start.parent_pid;
    if let Some(end) = &raw.end {
        process.lost = LostEvents {
            events: end.lost_events,
            in_signals: end.lost_in_signals,
            threads: end.lost_threads,
            uses: end.lost_uses,
            damaged_bytes: 0,
        };
    }
    let threads = Threads::of(raw);
    let mut sites = Sites::of(raw.names.as_ref());
    for (index, facts) in threads.facts.iter().enumerate() {
        let entry = sites.code(&mut process, facts.entry);
        let created_at = sites.stack(&mut process, facts.created_at);
        // The library is initialized in the first thread, which has run since the process started.
        let start = if index == 0 { process.start } else { clock.time(facts.start) };
        let start = start.clamp(process.start, process.end);
        let end = facts.end.map(|end| clock.time(end).clamp(process.start, process.end));
        // The first thread's clock goes on where a process executes another program.
        let life = end.unwrap_or(process.end).since(start);
        let at_most_life = |cpu: u64| Nanos::new(cpu).min(life);
        process.threads.push(Thread {
            name: facts.name.clone(),
            tid: facts.tid,
            start,
            end,
            parent: facts.parent.and_then(|parent| threads.id(parent)),
            entry,
            created_at,
            cpu: facts.cpu.map(at_most_life),
            cpu_when_last_read: facts.last_cpu.map(at_most_life),
        });
    }
    if process.threads.is_empty() {
        process.add_thread("main", process.start, None);
    }
    let mut filler = Filler { clock, threads: &threads, objects: Objects::of(raw), sites };
    let mut cpu = CpuTimes::default();
    for (number, record) in raw.records() {
        match (record, threads.id(number)) {
            (Record::OpenMp(event), Some(thread)) => {
                filler.openmp(&mut process, thread, &event, &mut cpu);
            }
            (record, thread) => filler.take(&mut process, thread, &record),
        }
    }
    openmp::find_places_of_jumps(&mut process);
    openmp::estimate_dealing(&mut process.openmp);
    openmp::add_waits(&mut process, &cpu);
    unread::fill(&mut process);
    let callers: Vec<_> = filler.objects.callers().collect();
    for (object, caller) in callers {
        let site = filler.sites.code(&mut process, caller);
        process.objects[object.index()].created_at = site;
    }
    process
}
