//! The machine's face: every number of a diagnosis, as JSON.

mod environment;
mod hot_spots;
mod over_time;
mod repeats;
mod tree;
mod what_if;

use std::fmt::Write;

use holdup_criticality::{
    Criticality, Diagnosis, EnvironmentNote, FamilyCost, Finding, HoldTime, NobodyCause, ObjectCost,
};
use holdup_model::{ExitStatus, Frame, Process, Run, Site, SiteId, State, ThreadId};
use serde::Serialize;
use serde_json::Value;

use crate::escape;
use crate::schema::{self, Place};
use crate::{shares, warnings};

/// The whole answer as a value of the schema in `docs/json-schema/report.schema.json`. Names are as the program
/// gave them. Where nothing was recorded, `process` and `criticality` are null.
///
/// # Panics
/// If a diagnosis is not of this run.
pub fn json(run: &Run, diagnoses: &[Diagnosis]) -> Value {
    let recorded = |diagnosis: &&Diagnosis| !run.processes[diagnosis.process].threads.is_empty();
    let told = diagnoses.first().filter(recorded);
    let process = told.map(|diagnosis| &run.processes[diagnosis.process]);
    let with = told.zip(process);
    let report = schema::Report {
        schema: schema::SCHEMA,
        holdup: env!("CARGO_PKG_VERSION"),
        run: run_facts(run, told.map_or(&[], |diagnosis| &diagnosis.environment)),
        clock: run.clock.clone(),
        exit: run.exit.map(|exit| match exit {
            ExitStatus::Code(code) => schema::Exit { code: Some(code), signal: None },
            ExitStatus::Signal(signal) => schema::Exit { code: None, signal: Some(signal) },
        }),
        process: with.map(|(diagnosis, process)| process_facts(process, diagnosis)),
        criticality: with.map(|(diagnosis, process)| criticality(process, diagnosis)),
        bottle: told.map_or_else(Vec::new, bottle),
        hot_spots: with
            .and_then(|(diagnosis, process)| Some(hot_spots::hot_spots(process, diagnosis.hot.as_ref()?))),
        over_time: told.map(|diagnosis| over_time::over_time(run, &diagnosis.over_time)),
        what_if: told.and_then(|diagnosis| diagnosis.what_if.as_ref()).map(what_if::what_if),
        repeats: told.and_then(|diagnosis| diagnosis.repeats.as_ref()).map(repeats::run),
        objects: with.map_or_else(Vec::new, |(diagnosis, process)| {
            diagnosis.objects.iter().map(|cost| object(process, cost)).collect()
        }),
        families: with.map_or_else(Vec::new, |(diagnosis, process)| {
            diagnosis.families.iter().map(|of| family(process, of)).collect()
        }),
        critical_path: with.map(|(diagnosis, process)| critical_path(process, diagnosis)),
        chains: with.map_or_else(Vec::new, |(diagnosis, process)| chains(process, diagnosis)),
        findings: with.map_or_else(Vec::new, |(diagnosis, process)| findings(process, diagnosis)),
        cost_identity: told.map(cost_identity),
        tree: told.and_then(|diagnosis| diagnosis.tree.as_ref()).map(|of| tree::tree(run, of)),
        processes: other_processes(run, diagnoses),
    };
    value(report)
}

/// An answer as a value. A number that JSON cannot hold is null.
pub(crate) fn value(answer: impl Serialize) -> Value {
    serde_json::to_value(answer).expect("all keys are strings and all numbers have a JSON form")
}

/// [`json`] as text, indented, with a line break at its end. Characters that could act on a terminal are
/// written as JSON escapes, so that it is safe to print; a reader of JSON gets the names unchanged.
pub fn json_text(run: &Run, diagnoses: &[Diagnosis]) -> String {
    printed(&json(run, diagnoses))
}

/// A value as text, indented, with a line break at its end. Characters that could act on a terminal are JSON escapes.
pub(crate) fn printed(value: &Value) -> String {
    let text = format!("{value:#}\n");
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '\n' && escape::acts_on_terminal(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}").expect("a String takes all that is written to it");
            }
        } else {
            out.push(c);
        }
    }
    out
}

fn run_facts(run: &Run, notes: &[EnvironmentNote]) -> schema::RunFacts {
    let lost = warnings::lost(run);
    schema::RunFacts {
        command: run.command.clone(),
        recorded_by: run.recorded_by.clone(),
        wall_ns: run.end.since(run.start).get(),
        threads: run.processes.iter().map(|process| process.threads.len()).sum(),
        processes: run.processes.len(),
        cores: run.cores,
        collectors: run.collectors.clone(),
        environment: environment::environment(&run.environment, notes),
        recording_cost: recording_cost(run),
        lost_events: lost.all_events(),
        lost: schema::Lost {
            events: lost.events,
            events_in_signals: lost.in_signals,
            threads: lost.threads,
            uses: lost.uses,
            damaged_bytes: lost.damaged_bytes,
        },
        unseen: run.unseen.clone(),
        warnings: warnings::sentences(run),
    }
}

fn process_facts(process: &Process, diagnosis: &Diagnosis) -> schema::ProcessFacts {
    let (broken_stacks, stacks) = shares::broken_stacks(process);
    schema::ProcessFacts {
        process: diagnosis.process,
        pid: process.pid,
        parent_pid: process.parent_pid,
        joined_pids: process.joined.clone(),
        command: process.command.clone(),
        wall_ns: diagnosis.wall.get(),
        threads: process.threads.len(),
        cores: (diagnosis.cores > 0).then_some(diagnosis.cores),
        effective_cores: Some(shares::effective_cores(diagnosis)).filter(|&cores| cores > 0),
        working_threads: indices(&diagnosis.working_threads),
        workers: diagnosis.workers,
        parallelism: diagnosis.parallelism,
        on_cpu_parallelism: diagnosis.on_cpu_parallelism,
        efficiency: diagnosis.efficiency,
        active_means: diagnosis.active_means,
        on_core_share: shares::on_core(diagnosis),
        without_core: shares::without_core(diagnosis),
        seen_by: seen_by(process),
        stacks,
        broken_stacks,
    }
}

fn seen_by(process: &Process) -> schema::SeenBy {
    schema::SeenBy {
        preload: process.seen_by.preload,
        kernel: process.seen_by.kernel,
        switches_share: shares::switches(process),
        samples: process.samples.len(),
    }
}

fn other_processes(run: &Run, diagnoses: &[Diagnosis]) -> Vec<schema::OtherProcess> {
    diagnoses
        .iter()
        .skip(1)
        .map(|diagnosis| {
            let process = &run.processes[diagnosis.process];
            let recorded = !process.threads.is_empty();
            schema::OtherProcess {
                process: diagnosis.process,
                pid: process.pid,
                parent_pid: process.parent_pid,
                joined_pids: process.joined.clone(),
                command: process.command.clone(),
                wall_ns: diagnosis.wall.get(),
                threads: process.threads.len(),
                parallelism: recorded.then_some(diagnosis.parallelism),
                efficiency: recorded.then_some(diagnosis.efficiency),
                seen_by: seen_by(process),
                findings: findings(process, diagnosis),
            }
        })
        .collect()
}

fn criticality(process: &Process, diagnosis: &Diagnosis) -> schema::Criticality {
    let Criticality { total, threads, nobody } = &diagnosis.criticality;
    let whole = shares::whole_criticality(&diagnosis.criticality);
    let runnable = shares::whole_criticality(&diagnosis.runnable);
    let mut nobody_ns = schema::Nobody::default();
    for ((cause, _), &amount) in nobody.iter().zip(&whole[threads.len()..]) {
        *match cause {
            NobodyCause::Io => &mut nobody_ns.io,
            NobodyCause::Sleep => &mut nobody_ns.sleep,
            NobodyCause::WakeUp => &mut nobody_ns.wake_up,
            NobodyCause::RunQueue => &mut nobody_ns.run_queue,
            NobodyCause::Other => &mut nobody_ns.other,
        } += amount;
    }
    let mut works = vec![false; threads.len()];
    diagnosis.working_threads.iter().for_each(|thread| works[thread.index()] = true);
    let share = |amount: f64| if total.get() == 0 { 0.0 } else { amount / total.get() as f64 };
    let thread = |index: usize| {
        let id = ThreadId::new(index as u32);
        let facts = process.thread(id);
        let times = diagnosis.threads[index];
        schema::Thread {
            thread: index,
            tid: facts.tid,
            name: process.thread_name(id),
            start: place(process, facts.entry),
            created_at: place(process, facts.created_at),
            parent: facts.parent.map(ThreadId::index),
            works: works[index],
            criticality_ns: whole[index],
            share: share(threads[index]),
            runnable_criticality_ns: runnable[index],
            active_ns: times.active.get(),
            waiting_ns: times.waiting.get(),
            waking_ns: times.waking.get(),
            io_ns: times.io.get(),
            asleep_ns: times.asleep.get(),
            spinning_ns: times.spinning.get(),
            descheduled_ns: times.descheduled.get(),
            not_recorded_ns: times.not_recorded.get(),
            not_existing_ns: times.not_existing.get(),
            delayed_ns: times.delayed.get(),
            cpu_ns: facts.known_cpu().map(|time| time.get()),
        }
    };
    schema::Criticality {
        total_ns: total.get(),
        nobody_ns,
        nobody_share: share(diagnosis.criticality.nobody_total()),
        runnable_nobody_ns: runnable[threads.len()..].iter().sum(),
        is_by_runnable: diagnosis.is_by_runnable(),
        threads: (0..threads.len()).map(thread).collect(),
    }
}

fn bottle(diagnosis: &Diagnosis) -> Vec<schema::Bottle> {
    diagnosis
        .bottle
        .iter()
        .map(|bottle| schema::Bottle {
            thread: bottle.thread.index(),
            height: bottle.height,
            width: bottle.width,
        })
        .collect()
}

fn family(process: &Process, of: &FamilyCost) -> schema::Family {
    schema::Family {
        name: of.name.clone(),
        members: of.members.iter().map(|member| member.index()).collect(),
        waited_for: of.waited_for,
        sum: object(process, &of.sum),
    }
}

fn object(process: &Process, cost: &ObjectCost) -> schema::Object {
    let object = process.object(cost.object);
    let (hold_basis, hold_samples) = match cost.hold {
        HoldTime::Measured(_) => (schema::HoldBasis::Measured, None),
        HoldTime::Estimated { samples, .. } => (schema::HoldBasis::Estimated, Some(samples)),
        HoldTime::Unknown => (schema::HoldBasis::Unknown, None),
    };
    schema::Object {
        object: cost.object.index(),
        kind: object.kind.word(),
        name: object.name.clone(),
        address: object.address,
        shared: object.shared,
        parties: object.parties,
        place: place(process, cost.place),
        created_at: place(process, object.created_at),
        acquisitions: cost.acquisitions,
        failed_tries: cost.failed_tries,
        waits: cost.waits,
        wait_ns: cost.wait.get(),
        waking_ns: cost.waking.get(),
        hold_ns: cost.hold.time().map(|time| time.get()),
        hold_basis,
        hold_samples,
        cost_ns: cost.cost.get(),
        direct_cost_ns: cost.direct_cost.get(),
        on_path_ns: cost.on_path.get(),
        mean_waiters: cost.mean_waiters,
        holders: cost
            .holders
            .iter()
            .map(|holder| schema::Holder {
                thread: holder.thread.map(ThreadId::index),
                place: place(process, holder.site),
                time_ns: holder.time.get(),
            })
            .collect(),
        waiters: cost
            .waiters
            .iter()
            .map(|waiter| schema::Waiter {
                thread: waiter.thread.index(),
                place: place(process, waiter.site),
                time_ns: waiter.time.get(),
            })
            .collect(),
    }
}

fn critical_path(process: &Process, diagnosis: &Diagnosis) -> schema::CriticalPath {
    let path = &diagnosis.path;
    schema::CriticalPath {
        length_ns: path.length.get(),
        steps: path
            .steps
            .iter()
            .map(|step| schema::PathStep {
                thread: step.thread.index(),
                place: place(process, step.site),
                state: state(step.state),
                time_ns: step.time.get(),
            })
            .collect(),
        by_thread: path
            .by_thread
            .iter()
            .map(|(thread, time)| schema::ThreadTime { thread: thread.index(), time_ns: time.get() })
            .collect(),
        by_object: path
            .by_object
            .iter()
            .map(|(object, time)| schema::ObjectTime { object: object.index(), time_ns: time.get() })
            .collect(),
    }
}

fn chains(process: &Process, diagnosis: &Diagnosis) -> Vec<schema::Chain> {
    let link = |link: &holdup_criticality::ChainLink| schema::ChainLink {
        object: link.object.index(),
        wait_place: place(process, link.wait_site),
        holder: link.holder.map(ThreadId::index),
        holder_state: state(link.holder_state),
        holder_where: place(process, link.holder_site),
    };
    diagnosis
        .chains
        .iter()
        .map(|chain| schema::Chain {
            waiters: indices(&chain.waiters),
            time_ns: chain.time.get(),
            links: chain.links.iter().map(link).collect(),
        })
        .collect()
}

fn findings(process: &Process, diagnosis: &Diagnosis) -> Vec<schema::Finding> {
    diagnosis.findings.iter().map(|finding| told(process, diagnosis, finding)).collect()
}

fn told(process: &Process, diagnosis: &Diagnosis, finding: &Finding) -> schema::Finding {
    schema::Finding {
        kind: schema::Kind(finding.kind.word()),
        place: place(process, finding.place),
        stack: finding
            .place
            .map_or_else(Vec::new, |site| process.site(site).frames.iter().map(place_at_frame).collect()),
        object: finding.object.map(|object| object.index()),
        others: finding.others.iter().map(|object| object.index()).collect(),
        threads: indices(&finding.threads),
        what: finding.what.clone(),
        evidence: finding.evidence.clone(),
        hint: finding.hint.clone(),
        cost_ns: finding.cost.get(),
        share: finding.cost.share_of(diagnosis.wall),
        on_path_ns: finding.on_path.map(|time| time.get()),
        gain: finding.gain.as_ref().map(what_if::gain),
        repeats: finding.repeats.as_ref().map(repeats::finding),
        method: finding.method,
        notes: finding.notes.clone(),
    }
}

fn cost_identity(diagnosis: &Diagnosis) -> schema::CostIdentity {
    let identity = &diagnosis.cost_identity;
    schema::CostIdentity {
        wall_ns: diagnosis.wall.get(),
        useful_ns: identity.useful.get(),
        parts: identity
            .parts
            .iter()
            .map(|(kind, cost)| schema::CostPart { kind: schema::Kind(kind.word()), cost_ns: cost.get() })
            .collect(),
        unexplained_ns: identity.unexplained.get(),
    }
}

fn indices(threads: &[ThreadId]) -> Vec<usize> {
    threads.iter().map(|thread| thread.index()).collect()
}

/// The frame of a site that a person should see; all null where nothing is known.
fn place(process: &Process, site: Option<SiteId>) -> Place {
    place_at(site.map(|site| process.site(site)))
}

/// The same of a site that stands alone.
pub(crate) fn place_at(site: Option<&Site>) -> Place {
    site.and_then(Site::place).map_or_else(Place::default, place_at_frame)
}

/// The same of a place that is known without its address.
pub(crate) fn place_of(place: Option<&holdup_compare::Place>) -> Place {
    place.map_or_else(Place::default, |place| Place {
        function: place.function.clone(),
        file: place.file.clone(),
        line: place.line,
        module: place.module.clone(),
        address: place.offset,
    })
}

/// The place of one frame.
pub(crate) fn place_at_frame(frame: &Frame) -> Place {
    Place {
        function: frame.function.clone(),
        file: frame.file.clone(),
        line: frame.line,
        module: frame.module.clone(),
        address: (frame.address != 0).then_some(frame.address),
    }
}

fn state(state: State) -> schema::State {
    match state {
        State::Active => schema::State::Active,
        State::Blocked => schema::State::Blocked,
        State::Io => schema::State::Io,
        State::Asleep => schema::State::Asleep,
        State::Spinning => schema::State::Spinning,
        State::Waking => schema::State::Waking,
        State::Descheduled => schema::State::Descheduled,
        State::NotRecorded => schema::State::NotRecorded,
    }
}

fn recording_cost(run: &Run) -> Option<schema::RecordingCost> {
    let (cost, range) = (run.cost?, run.cost_range()?);
    Some(schema::RecordingCost {
        least: range.least,
        most: range.most,
        cpu_ns: run.cpu_time().get(),
        counted_ns: cost.counted.get(),
        own_samples: cost.own_samples,
        all_samples: cost.all_samples,
        records_ns: cost.records.get(),
        recorder_cpu_ns: cost.recorder.map(|time| time.get()),
    })
}
