//! What can be recorded here.

use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;

use crate::attributes::{Attributes, Kind, Start, Target};
use crate::cpus;
use crate::ids::Cpu;
use crate::refusal::{Cause, Refusal, older, read_number};
use crate::system::System;
use crate::tracepoint::WakingLayout;

/// What the kernel lets this process record, each with the reason where it does not.
///
/// Every event is really opened, for the calling thread on one processor, and closed again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// Threads made, named and ended, programs executed, code mapped. Without this there is nothing.
    pub tasks: Result<(), Refusal>,
    /// Switches in and out.
    pub switches: Result<(), Refusal>,
    /// Switched-out threads that could run are told from those that wait.
    pub preemption: Result<(), Refusal>,
    /// Samples of what runs, in user space at least.
    pub samples: Result<(), Refusal>,
    /// Samples also of time in the kernel. Without it, that time has no samples at all.
    pub kernel_samples: Result<(), Refusal>,
    /// Who makes whom runnable.
    pub wakings: Result<(), Refusal>,
    /// Where threads of a program that we started are blocked (memory of one's own descendants can be read).
    pub blocked_of_started: Result<(), Refusal>,
    /// Where threads of a process that ran before are blocked (memory of other processes of this user can be read).
    pub blocked_of_running: Result<(), Refusal>,
    layout: Option<WakingLayout>,
}

impl Abilities {
    /// Asks the system.
    pub fn of(system: &impl System) -> Abilities {
        Abilities::with_trials(system, true).0
    }

    /// Asks the system, and gives the events that were opened for it too. The kernel waits for all processors when the
    /// last event of a tracepoint is closed (20 ms and more): who opens some right after should close these after that, and
    /// who wants none should not ask (`wakings` false: then they count as possible).
    pub(crate) fn with_trials(system: &impl System, wakings: bool) -> (Abilities, Vec<OwnedFd>) {
        let trials = RefCell::new(Vec::new());
        // Without a list there is a first processor nevertheless.
        let cpu = cpus::online(system).ok().and_then(|cpus| cpus.first().copied()).unwrap_or(Cpu(0));
        let probe = |kind: Kind, kernel: bool, tracepoint: u64| {
            let attributes = Attributes { kernel, tracepoint, ..Attributes::new(kind, Start::WhenEnabled) };
            let opened = system.open(&attributes, Target::CallingThread, cpu);
            opened
                .map(|event| trials.borrow_mut().push(event))
                .map_err(|error| Refusal::of_event(system, kind, kernel, &error))
        };
        let layout = wakings.then(|| waking_layout(system));
        let kernel_samples = probe(Kind::Samples, true, 0);
        let samples = if kernel_samples.is_ok() { Ok(()) } else { probe(Kind::Samples, false, 0) };
        let preemption = match older(system, (4, 17)) {
            Some(release) => {
                Err(Refusal { cause: Cause::OldKernel { release, since: "4.17" }, remedy: None })
            }
            None => Ok(()),
        };
        let abilities = Abilities {
            tasks: probe(Kind::Tasks, false, 0),
            switches: probe(Kind::Switches, false, 0),
            preemption,
            samples,
            kernel_samples,
            wakings: match &layout {
                Some(Ok(layout)) => probe(Kind::Wakings, true, layout.id),
                Some(Err(refusal)) => Err(refusal.clone()),
                None => Ok(()),
            },
            blocked_of_started: memory_of_others(system, 1),
            blocked_of_running: memory_of_others(system, 0),
            layout: layout.and_then(Result::ok),
        };
        (abilities, trials.into_inner())
    }

    /// Whether events of this kind can be opened.
    pub(crate) fn kind(&self, kind: Kind) -> Result<(), &Refusal> {
        let ability = match kind {
            Kind::Ring | Kind::Tasks => &self.tasks,
            Kind::Switches => &self.switches,
            Kind::Samples => &self.samples,
            Kind::Wakings => &self.wakings,
        };
        ability.as_ref().copied()
    }

    /// How wakings are laid out, where they can be recorded.
    pub(crate) fn waking_layout(&self) -> Option<WakingLayout> {
        self.layout.filter(|_| self.wakings.is_ok())
    }
}

/// The link of the machine's own namespace of process numbers (`PROC_PID_INIT_INO`).
const MACHINE_NUMBERS: &str = "pid:[4026531836]";

/// The tracepoint's description, from where tracefs is mounted nowadays or was before Linux 4.1.
fn waking_layout(system: &impl System) -> Result<WakingLayout, Refusal> {
    let read = |root: &str| system.read(&format!("{root}/events/sched/sched_waking/format"));
    let text = read("sys/kernel/tracing").or_else(|first| {
        // The first error is the telling one: debugfs is seldom mounted where tracefs is.
        read("sys/kernel/debug/tracing").map_err(|_| first)
    });
    let refusal = |error: String, remedy: Option<&str>| Refusal {
        cause: Cause::NoTracepoints { error },
        remedy: remedy.map(str::to_owned),
    };
    if system.link("proc/self/ns/pid").is_ok_and(|link| link.as_os_str() != MACHINE_NUMBERS) {
        return Err(Refusal { cause: Cause::ForeignNumbers, remedy: Some("--pid=host".to_owned()) });
    }
    match text {
        Ok(text) => WakingLayout::parse(&text)
            .ok_or_else(|| refusal("sched_waking has not the fields that are expected".to_owned(), None)),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(refusal(error.to_string(), Some("sudo holdup …")))
        }
        Err(error) => Err(refusal(error.to_string(), Some("mount -t tracefs tracefs /sys/kernel/tracing"))),
    }
}

/// Whether Yama lets a process without privileges look into others, if it does so up to `scope`: 0 every process of
/// the same user, 1 descendants only, 2 none without `CAP_SYS_PTRACE`, 3 none at all.
fn memory_of_others(system: &impl System, scope: i32) -> Result<(), Refusal> {
    /// The capability's bit.
    const SYS_PTRACE: u32 = 19;
    let Some(value) = read_number(system, "proc/sys/kernel/yama/ptrace_scope") else { return Ok(()) };
    let status = system.read("proc/self/status").unwrap_or_default();
    let capabilities = status
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok())
        .unwrap_or(0);
    if value <= scope || value < 3 && capabilities >> SYS_PTRACE & 1 == 1 {
        return Ok(());
    }
    // At 3 it cannot be changed before the next start of the machine.
    let remedy = (value < 3).then(|| format!("sysctl kernel.yama.ptrace_scope={scope}"));
    Err(Refusal { cause: Cause::Yama { scope: value }, remedy })
}

#[cfg(test)]
mod tests;
