//! What each sample of a running thread stands for.
//!
//! A sampler looks at a thread whenever it has used a certain amount of CPU time, or somewhat more. So a sample stands
//! for the active time just before it: back from its time over the thread's active segments to the sample before, but
//! not further than [`Sample::reach`]. What it was seen doing then counts for all of that.

use holdup_model::{
    Access, Doing, Fixed, InKernel, Nanos, Process, Row, Sample, Site, SiteId, State, ThreadId, Time,
    Timeline,
};

use crate::criticality::Growth;

/// A sample of an active thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) time: Time,
    /// Where it was seen.
    pub(crate) site: Option<SiteId>,
    /// The site that stands for the place of that.
    pub(crate) place: Option<SiteId>,
    /// The active time that it stands for, never zero.
    pub(crate) active: Nanos,
    /// What the thread's criticality grew by over it.
    pub(crate) critical: Fixed,
    /// The data that it had just accessed.
    pub(crate) access: Option<Access>,
    /// Why it was in the kernel, if it was.
    pub(crate) in_kernel: Option<InKernel>,
}

/// The samples of all active threads.
pub(crate) struct Samples {
    /// By thread, then time.
    threads: Vec<Vec<Look>>,
    /// Active time by site, over all threads.
    by_site: Vec<Nanos>,
}

impl Samples {
    /// Samples in which the thread waits on its core are none of an active thread.
    pub(crate) fn of(process: &Process, timeline: &Timeline) -> Self {
        let mut threads: Vec<Vec<Look>> = process.threads.iter().map(|_| Vec::new()).collect();
        let mut by_site = vec![Nanos::ZERO; process.sites.len()];
        let mut running: Vec<Sample> =
            process.samples.iter().filter(|sample| sample.doing == Doing::Running).copied().collect();
        if running.is_empty() {
            return Self { threads, by_site };
        }
        running.sort_unstable_by_key(|sample| (sample.thread, sample.time, sample.site, sample.weight));
        let growth = Growth::of(timeline);
        let waits: Vec<bool> = process.sites.iter().map(Site::waits_on_a_core).collect();
        for samples in running.chunk_by(|a, b| a.thread == b.thread) {
            let thread = samples[0].thread;
            let row = timeline.row(thread);
            let mut before = row.start;
            for sample in samples {
                let since = before;
                before = before.max(sample.time);
                if sample.site.is_some_and(|site| waits[site.index()]) {
                    continue;
                }
                let (active, critical) = stands_for(row, &growth, since, sample.time, sample.reach());
                if active == Nanos::ZERO {
                    continue;
                }
                if let Some(site) = sample.site {
                    by_site[site.index()] += active;
                }
                let place = timeline.places.at(sample.site);
                threads[thread.index()].push(Look {
                    time: sample.time,
                    site: sample.site,
                    place,
                    active,
                    critical,
                    access: sample.access,
                    in_kernel: sample.in_kernel,
                });
            }
        }
        Self { threads, by_site }
    }

    /// The samples of one thread in order of time.
    pub(crate) fn of_thread(&self, thread: ThreadId) -> &[Look] {
        &self.threads[thread.index()]
    }

    /// All samples with their threads.
    pub(crate) fn all(&self) -> impl Iterator<Item = (ThreadId, &Look)> {
        self.threads.iter().enumerate().flat_map(|(index, looks)| {
            let thread = ThreadId::new(index as u32);
            looks.iter().map(move |look| (thread, look))
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.threads.iter().all(Vec::is_empty)
    }

    /// Sites with the active time that was seen at each.
    pub(crate) fn sites(&self) -> impl Iterator<Item = (SiteId, Nanos)> {
        let seen = self.by_site.iter().enumerate().filter(|(_, time)| **time > Nanos::ZERO);
        seen.map(|(index, &time)| (SiteId::new(index as u32), time))
    }
}

/// The active time in (`since`, `until`] that ends last, at most `reach` of it, and its critical time.
fn stands_for(row: &Row, growth: &Growth, since: Time, until: Time, reach: Nanos) -> (Nanos, Fixed) {
    let after = row.segments.partition_point(|segment| segment.start < until);
    let (mut active, mut critical) = (Nanos::ZERO, 0);
    for segment in row.segments[..after].iter().rev() {
        if segment.end <= since || active >= reach {
            break;
        }
        if segment.state != State::Active {
            continue;
        }
        let end = segment.end.min(until);
        let length = end.since(segment.start.max(since)).min(reach - active);
        active += length;
        critical += growth.between(Time::from_nanos(end.nanos() - length.get()), end);
    }
    (active, critical)
}
