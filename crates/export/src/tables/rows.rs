//! The rows of tables that are columns of the recorded process.

use std::collections::BTreeMap;

use holdup_criticality::{Criticality, Diagnosis};
use holdup_model::{Doing, InKernel, MarkerKind, Mode, ObjectId, SiteId, ThreadId, WakeCount};

use super::Cell::{self, Flag, Null, Real, Text, Whole};
use super::Sink;
use crate::ExportError;
use crate::names;
use crate::subject::Subject;

type Done = Result<(), ExportError>;

pub(super) fn whole(value: Option<u64>) -> Cell<'static> {
    value.map_or(Null, Whole)
}

pub(super) fn index(value: usize) -> Cell<'static> {
    Whole(value as u64)
}

pub(super) fn thread(value: Option<ThreadId>) -> Cell<'static> {
    value.map_or(Null, |id| index(id.index()))
}

pub(super) fn object(value: Option<ObjectId>) -> Cell<'static> {
    value.map_or(Null, |id| index(id.index()))
}

pub(super) fn site(value: Option<SiteId>) -> Cell<'static> {
    value.map_or(Null, |id| index(id.index()))
}

pub(super) fn text(value: Option<&str>) -> Cell<'_> {
    value.map_or(Null, Text)
}

/// The names of places, each made once: many rows are at few sites.
#[derive(Default)]
pub(super) struct Places(BTreeMap<SiteId, String>);

impl Places {
    /// Makes the name of a site's place.
    pub(super) fn know(&mut self, subject: &Subject<'_>, sites: impl IntoIterator<Item = Option<SiteId>>) {
        for site in sites.into_iter().flatten() {
            self.0.entry(site).or_insert_with(|| subject.names.place(site));
        }
    }

    pub(super) fn text(&self, site: Option<SiteId>) -> Cell<'_> {
        text(site.and_then(|site| self.0.get(&site)).map(String::as_str))
    }
}

fn mode(mode: Mode) -> Cell<'static> {
    Text(match mode {
        Mode::Exclusive => "exclusive",
        Mode::Shared => "shared",
    })
}

pub(super) fn processes(subject: &Subject<'_>, _: Option<&Diagnosis>, sink: &mut Sink<'_>) -> Done {
    let process = subject.process;
    sink(&[
        index(subject.index),
        Whole(process.pid.into()),
        Whole(process.parent_pid.into()),
        Text(&process.command.join(" ")),
        Whole(subject.time(process.start)),
        Whole(subject.time(process.end)),
        index(process.threads.len()),
        Flag(process.seen_by.preload),
        Flag(process.seen_by.kernel),
    ])
}

pub(super) fn threads(subject: &Subject<'_>, diagnosis: Option<&Diagnosis>, sink: &mut Sink<'_>) -> Done {
    let mut places = Places::default();
    for id in subject.threads() {
        let (told, row) = (subject.process.thread(id), subject.timeline.row(id));
        places.know(subject, [told.entry, told.created_at]);
        let of = |criticality: fn(&Diagnosis) -> &Criticality| {
            let share = diagnosis.and_then(|diagnosis| criticality(diagnosis).threads.get(id.index()));
            share.map_or(Null, |&share| Real(share))
        };
        sink(&[
            index(subject.index),
            index(id.index()),
            Whole(told.tid.into()),
            text(told.name.as_deref()),
            Text(subject.names.thread(id)),
            places.text(told.entry),
            thread(told.parent),
            places.text(told.created_at),
            Whole(subject.time(row.start)),
            Whole(subject.time(row.end)),
            whole(told.known_cpu().map(|cpu| cpu.get())),
            of(|diagnosis| &diagnosis.criticality),
            of(|diagnosis| &diagnosis.runnable),
        ])?;
    }
    Ok(())
}

/// How one object was used, all threads together.
#[derive(Clone, Copy, Default)]
struct Uses {
    acquisitions: u64,
    failed_tries: u64,
    timed_holds: u64,
    timed_hold: u64,
}

pub(super) fn objects(subject: &Subject<'_>, diagnosis: Option<&Diagnosis>, sink: &mut Sink<'_>) -> Done {
    let process = subject.process;
    let mut uses: Vec<Option<Uses>> = vec![None; process.objects.len()];
    for by_thread in &process.uses {
        let sum = uses[by_thread.object.index()].get_or_insert_default();
        sum.acquisitions = sum.acquisitions.saturating_add(by_thread.acquisitions);
        sum.failed_tries = sum.failed_tries.saturating_add(by_thread.failed_tries);
        sum.timed_holds = sum.timed_holds.saturating_add(by_thread.timed_holds);
        sum.timed_hold = sum.timed_hold.saturating_add(by_thread.timed_hold.get());
    }
    let mut costs = vec![None; process.objects.len()];
    for cost in diagnosis.into_iter().flat_map(|diagnosis| &diagnosis.objects) {
        costs[cost.object.index()] = Some(cost.cost.get());
    }
    let mut places = Places::default();
    for (number, told) in process.objects.iter().enumerate() {
        places.know(subject, [told.created_at]);
        let uses = uses[number];
        sink(&[
            index(subject.index),
            index(number),
            Text(told.kind.word()),
            text(told.name.as_deref()),
            Text(subject.names.object(ObjectId::new(number as u32))),
            Whole(told.address),
            places.text(told.created_at),
            whole(told.parties.map(u64::from)),
            thread(told.thread),
            Flag(told.shared),
            whole(uses.map(|uses| uses.acquisitions)),
            whole(uses.map(|uses| uses.failed_tries)),
            whole(uses.map(|uses| uses.timed_holds)),
            whole(uses.map(|uses| uses.timed_hold)),
            whole(costs[number]),
        ])?;
    }
    Ok(())
}

pub(super) fn waits(subject: &Subject<'_>, _: Option<&Diagnosis>, sink: &mut Sink<'_>) -> Done {
    let mut places = Places::default();
    for wait in &subject.process.waits {
        places.know(subject, [wait.site]);
        sink(&[
            index(subject.index),
            index(wait.thread.index()),
            index(wait.object.index()),
            Whole(subject.time(wait.begin)),
            Whole(subject.time(wait.end)),
            Whole(wait.end.since(wait.begin).get()),
            site(wait.site),
            places.text(wait.site),
            mode(wait.mode),
            Text(names::outcome(wait.outcome)),
            thread(wait.owner),
            thread(subject.released_by(wait)),
            object(wait.mutex),
        ])?;
    }
    Ok(())
}

pub(super) fn holds(subject: &Subject<'_>, _: Option<&Diagnosis>, sink: &mut Sink<'_>) -> Done {
    let mut places = Places::default();
    for hold in &subject.process.holds {
        places.know(subject, [hold.acquired_at, hold.released_at]);
        sink(&[
            index(subject.index),
            index(hold.thread.index()),
            index(hold.object.index()),
            whole(hold.begin.map(|begin| subject.time(begin))),
            Whole(subject.time(hold.end)),
            whole(hold.begin.map(|begin| hold.end.since(begin).get())),
            site(hold.acquired_at),
            places.text(hold.acquired_at),
            site(hold.released_at),
            places.text(hold.released_at),
            mode(hold.mode),
            Flag(hold.waited_for),
        ])?;
    }
    Ok(())
}

pub(super) fn wakes(subject: &Subject<'_>, _: Option<&Diagnosis>, sink: &mut Sink<'_>) -> Done {
    let mut places = Places::default();
    for wake in &subject.process.wakes {
        places.know(subject, [wake.site]);
        let at_most = match wake.count {
            WakeCount::AtMost(count) => Some(u64::from(count)),
            WakeCount::All => None,
        };
        sink(&[
            index(subject.index),
            index(wake.thread.index()),
            index(wake.object.index()),
            Whole(subject.time(wake.time)),
            site(wake.site),
            places.text(wake.site),
            whole(at_most),
        ])?;
    }
    Ok(())
}

pub(super) fn calls(subject: &Subject<'_>, _: Option<&Diagnosis>, sink: &mut Sink<'_>) -> Done {
    let mut places = Places::default();
    for block in &subject.process.blocks {
        places.know(subject, [block.site]);
        sink(&[
            index(subject.index),
            index(block.thread.index()),
            Text(block.call.word()),
            Whole(subject.time(block.begin)),
            Whole(subject.time(block.end)),
            Whole(block.end.since(block.begin).get()),
            site(block.site),
            places.text(block.site),
        ])?;
    }
    Ok(())
}

pub(super) fn markers(subject: &Subject<'_>, _: Option<&Diagnosis>, sink: &mut Sink<'_>) -> Done {
    for marker in &subject.process.markers {
        let kind = match marker.kind {
            MarkerKind::RegionBegin => "region begin",
            MarkerKind::RegionEnd => "region end",
            MarkerKind::Phase => "phase",
            MarkerKind::WorkBegin => "work begin",
            MarkerKind::WorkEnd => "work end",
            MarkerKind::SpinBegin => "spin begin",
            MarkerKind::SpinEnd => "spin end",
        };
        sink(&[
            index(subject.index),
            index(marker.thread.index()),
            Whole(subject.time(marker.time)),
            Text(kind),
            text(marker.label.as_deref()),
        ])?;
    }
    Ok(())
}

pub(super) fn parallel_regions(subject: &Subject<'_>, _: Option<&Diagnosis>, sink: &mut Sink<'_>) -> Done {
    let mut places = Places::default();
    for region in &subject.process.openmp.regions {
        places.know(subject, [region.place]);
        sink(&[
            index(subject.index),
            index(region.thread.index()),
            places.text(region.place),
            Whole(subject.time(region.begin)),
            Whole(subject.time(region.end)),
            Whole(u64::from(region.size)),
            Whole(region.count),
            Whole(region.timed),
            Whole(region.time.get()),
            Flag(region.whole),
            Flag(region.parent.is_some()),
        ])?;
    }
    Ok(())
}

pub(super) fn samples(subject: &Subject<'_>, _: Option<&Diagnosis>, sink: &mut Sink<'_>) -> Done {
    let mut places = Places::default();
    for sample in &subject.process.samples {
        places.know(subject, [sample.site]);
        let doing = match sample.doing {
            Doing::Running => "running",
            Doing::Blocked => "blocked",
        };
        let in_kernel = match sample.in_kernel {
            Some(InKernel::Call) => Text("call"),
            Some(InKernel::Fault) => Text("fault"),
            None => Null,
        };
        sink(&[
            index(subject.index),
            index(sample.thread.index()),
            Whole(subject.time(sample.time)),
            Text(doing),
            site(sample.site),
            places.text(sample.site),
            Whole(sample.weight.get()),
            in_kernel,
        ])?;
    }
    Ok(())
}

pub(super) fn frames(subject: &Subject<'_>, _: Option<&Diagnosis>, sink: &mut Sink<'_>) -> Done {
    for (number, site) in subject.process.sites.iter().enumerate() {
        for (depth, frame) in site.frames.iter().enumerate() {
            sink(&[
                index(subject.index),
                index(number),
                index(depth),
                text(frame.function.as_deref()),
                text(frame.file.as_deref()),
                whole(frame.line.map(u64::from)),
                text(frame.module.as_deref()),
                Whole(frame.address),
                Flag(frame.inlined),
                Flag(site.broken),
            ])?;
        }
    }
    Ok(())
}
