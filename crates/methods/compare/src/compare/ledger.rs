//! The amounts of one run by name: what can be held against other runs.

use std::collections::{BTreeMap, BTreeSet};

use holdup_criticality::{Diagnosis, Finding, FindingKind, Gain, MOST_HOT_SPOTS};
use holdup_model::names::Names;
use holdup_model::{Nanos, ObjectId, ObjectKind, Process, Roles, Run, SiteId, State, ThreadId};

use super::entries::{Entries, Entry, added_up, whole};
use super::labels::labels;
use super::names::{self, Name, Place, sort_of};
use super::surroundings::Surroundings;

/// Which sort of thing a table is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Subject {
    /// What holds the program up.
    Findings,
    /// Locks, barriers and other sync objects.
    Objects,
    /// Places in the code where threads wait.
    Sites,
    /// Threads, those of one start function or sort of name together, and the time with none active.
    Threads,
    /// Regions, phases and units of work that the program marked.
    Labels,
    /// Functions in which threads are at work.
    Functions,
}

/// What a [`Measure`] is counted in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counted {
    /// Whole nanoseconds.
    Nanos,
    /// Things.
    Number,
}

/// One column of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Measure {
    /// The word for it.
    pub word: &'static str,
    /// Its unit.
    pub counted: Counted,
}

const fn nanos(word: &'static str) -> Measure {
    Measure { word, counted: Counted::Nanos }
}

const fn number(word: &'static str) -> Measure {
    Measure { word, counted: Counted::Number }
}

impl Subject {
    /// All of them, in the order in which they are told.
    pub const ALL: [Subject; 6] = [
        Subject::Findings,
        Subject::Objects,
        Subject::Sites,
        Subject::Threads,
        Subject::Labels,
        Subject::Functions,
    ];

    /// The word for it in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Subject::Findings => "findings",
            Subject::Objects => "objects",
            Subject::Sites => "sites",
            Subject::Threads => "threads",
            Subject::Labels => "labels",
            Subject::Functions => "functions",
        }
    }

    /// What is known of each of them. The first is what they are ranked by.
    pub fn measures(self) -> &'static [Measure] {
        match self {
            Subject::Findings => const { &[nanos("cost"), nanos("gain")] },
            Subject::Objects => {
                const { &[nanos("cost"), nanos("wait"), number("waits"), number("acquisitions"), nanos("hold")] }
            }
            Subject::Sites => const { &[nanos("wait"), nanos("call")] },
            Subject::Threads => {
                const {
                    &[
                        nanos("criticality"),
                        nanos("active"),
                        nanos("waiting"),
                        nanos("cpu"),
                        number("threads"),
                    ]
                }
            }
            Subject::Labels => const { &[nanos("time"), number("times")] },
            Subject::Functions => const { &[nanos("critical"), nanos("active")] },
        }
    }

    /// True where amounts are divided by the number of working threads, as all costs are.
    pub(crate) fn is_per_worker(self) -> bool {
        matches!(self, Subject::Findings | Subject::Objects | Subject::Sites)
    }
}

/// A finding of one run.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct FoundOnce {
    pub(crate) kind: FindingKind,
    pub(crate) gain: Option<Gain>,
}

/// The amounts of one run of a program by name: what remains of a [`Diagnosis`] that can be held against other runs.
/// It is small, whatever the size of the recording.
#[derive(Clone, PartialEq, Debug)]
pub struct Ledger {
    /// The program and its arguments. Hostile.
    pub command: Vec<String>,
    /// The wall time of the process.
    pub wall: Nanos,
    /// What every cost is divided by: see [`Diagnosis::workers`].
    pub workers: u32,
    /// Threads that there were.
    pub threads: usize,
    /// See [`Diagnosis::efficiency`].
    pub efficiency: f64,
    /// See [`Diagnosis::parallelism`].
    pub parallelism: f64,
    /// The CPU time of all threads, where it is known for every one.
    pub cpu: Option<Nanos>,
    /// True if the command ended with status 0, and where it is not known how it ended.
    pub ended_well: bool,
    pub(crate) cores: u32,
    pub(crate) useful: Nanos,
    pub(crate) parts: Vec<(FindingKind, Nanos)>,
    pub(crate) nobody: Nanos,
    /// Whether every use of a lock was counted: then one that is not there was not used.
    pub(crate) counts_uses: bool,
    /// By finding, in the order of the findings' entries.
    pub(crate) found: Vec<FoundOnce>,
    pub(crate) all_together: Option<Gain>,
    /// The names of all functions in call stacks, in order.
    pub(crate) functions_known: Vec<String>,
    pub(crate) surroundings: Surroundings,
    tables: Vec<Entries>,
}

impl Ledger {
    /// The ledger of a diagnosed process of a run.
    ///
    /// # Panics
    /// If the diagnosis is not of this run.
    pub fn of(run: &Run, diagnosis: &Diagnosis) -> Ledger {
        let process = &run.processes[diagnosis.process];
        let workers = diagnosis.workers.max(1);
        let timeline = &diagnosis.timeline;
        let roles = &timeline.roles.kinds;
        let found = |finding: &Finding| FoundOnce { kind: finding.kind, gain: finding.gain.clone() };
        let frames = process.sites.iter().flat_map(|site| &site.frames);
        let functions: BTreeSet<&str> = frames.filter_map(|frame| frame.function.as_deref()).collect();
        Ledger {
            command: process.command.clone(),
            wall: diagnosis.wall,
            workers,
            threads: process.threads.len(),
            efficiency: diagnosis.efficiency,
            parallelism: diagnosis.parallelism,
            cpu: process.threads.iter().try_fold(Nanos::ZERO, |sum, thread| Some(sum + thread.known_cpu()?)),
            ended_well: !matches!(run.exit, Some(exit) if exit != holdup_model::ExitStatus::Code(0)),
            cores: diagnosis.cores,
            useful: diagnosis.cost_identity.useful,
            parts: diagnosis.cost_identity.parts.clone(),
            nobody: Nanos::new(diagnosis.criticality.nobody_total().round().max(0.0) as u64),
            counts_uses: process.seen_by.preload && process.lost.uses == 0 && process.lost.events == 0,
            found: diagnosis.findings.iter().map(found).collect(),
            all_together: diagnosis.what_if.as_ref().and_then(|what_if| what_if.all_together.clone()),
            functions_known: functions.into_iter().map(str::to_owned).collect(),
            surroundings: Surroundings::of(run, diagnosis),
            tables: Subject::ALL
                .iter()
                .map(|subject| match subject {
                    Subject::Findings => findings(process, diagnosis, roles),
                    Subject::Objects => objects(process, diagnosis, &timeline.roles),
                    Subject::Sites => sites(process, diagnosis, workers),
                    Subject::Threads => threads(process, diagnosis),
                    Subject::Labels => labels(process),
                    Subject::Functions => functions_at_work(process, diagnosis),
                })
                .collect(),
        }
    }

    /// The share of the CPUs' time that other programs used while it ran, where that is known.
    pub fn others(&self) -> Option<f64> {
        self.surroundings.others()
    }

    /// The file name of the program, without its folder. Hostile.
    pub fn program(&self) -> &str {
        let path = self.command.first().map_or("", String::as_str);
        path.rsplit('/').next().unwrap_or(path)
    }

    pub(crate) fn entries(&self, subject: Subject) -> &Entries {
        let at = Subject::ALL.iter().position(|other| *other == subject).unwrap_or(0);
        &self.tables[at]
    }

    /// What was lost to a class.
    pub(crate) fn part(&self, kind: FindingKind) -> Nanos {
        let parts = self.parts.iter().filter(|(other, _)| *other == kind);
        parts.map(|(_, cost)| *cost).sum()
    }

    /// The wall time less all that is known.
    pub(crate) fn unexplained(&self) -> Nanos {
        let known = self.useful + self.parts.iter().map(|(_, cost)| *cost).sum();
        self.wall.saturating_sub(known)
    }
}

fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn object_name(process: &Process, diagnosis: &Diagnosis, roles: &[ObjectKind], object: ObjectId) -> Name {
    let cost = diagnosis.objects.iter().find(|cost| cost.object == object);
    names::object(process, roles[object.index()], object, cost.and_then(|cost| cost.place))
}

fn findings(process: &Process, diagnosis: &Diagnosis, roles: &[ObjectKind]) -> Entries {
    let entry = |finding: &Finding| {
        let place = Place::of(process, finding.place);
        let symbol = match diagnosis.family_of(finding) {
            Some(family) => Some(family.name.clone()),
            None => finding.object.and_then(|object| object_name(process, diagnosis, roles, object).told()),
        };
        Entry {
            name: Name {
                sort: finding.kind.word(),
                symbol,
                who: finding.threads.first().map(|&thread| sort_of(process, thread)),
                place: place.clone(),
            },
            told: finding.what.clone(),
            place,
            amounts: vec![Some(whole(finding.cost)), finding.gain.as_ref().map(|gain| whole(gain.time))],
        }
    };
    Entries { all: diagnosis.findings.iter().map(entry).collect(), absent: vec![Some(0), None] }
}

fn objects(process: &Process, diagnosis: &Diagnosis, roles: &Roles) -> Entries {
    let names_here = Names::of(process, Some(roles));
    let mut entries: Vec<Entry> = Vec::new();
    for cost in &diagnosis.objects {
        let role = roles.kinds[cost.object.index()];
        let name = names::object(process, role, cost.object, cost.place);
        let amounts = vec![
            Some(whole(cost.cost)),
            Some(whole(cost.wait)),
            Some(count(cost.waits)),
            cost.acquisitions.map(count),
            cost.hold.time().map(whole),
        ];
        entries.push(Entry {
            told: match &name.who {
                Some(who) => format!("end of {who}"),
                None => names_here.object_or_word(cost.object).to_owned(),
            },
            place: Place::of(process, cost.place),
            name,
            amounts,
        });
    }
    Entries { all: added_up(entries), absent: vec![Some(0), Some(0), Some(0), Some(0), Some(0)] }
}

/// Where threads wait for objects and are in system calls, on the average over the working threads.
fn sites(process: &Process, diagnosis: &Diagnosis, workers: u32) -> Entries {
    let mut times: BTreeMap<SiteId, [Nanos; 2]> = BTreeMap::new();
    let mut add = |site: Option<SiteId>, measure: usize, time| {
        if let Some(site) = site {
            times.entry(site).or_default()[measure] += time;
        }
    };
    for waiter in diagnosis.objects.iter().flat_map(|cost| &cost.waiters) {
        add(waiter.site, 0, waiter.time);
    }
    for segment in diagnosis.timeline.threads.iter().flat_map(|row| &row.segments) {
        if matches!(segment.state, State::Io | State::Asleep) {
            add(segment.site, 1, segment.length());
        }
    }
    let entry = |(site, amounts): (SiteId, [Nanos; 2])| {
        let place = Place::of(process, Some(site))?;
        Some(Entry {
            name: Name { sort: "site", place: Some(place.clone()), ..Name::default() },
            told: place.to_string(),
            place: Some(place),
            amounts: amounts.map(|time| Some(whole(time))).to_vec(),
        })
    };
    let entries: Vec<Entry> = times.into_iter().filter_map(entry).collect();
    let mut all = added_up(entries);
    for amount in all.iter_mut().flat_map(|entry| &mut entry.amounts) {
        *amount = amount.map(|amount| amount / i64::from(workers));
    }
    Entries { all, absent: vec![Some(0), Some(0)] }
}

fn threads(process: &Process, diagnosis: &Diagnosis) -> Entries {
    let mut entries: Vec<Entry> = Vec::new();
    for (index, times) in diagnosis.threads.iter().enumerate() {
        let id = ThreadId::new(index as u32);
        let sort = sort_of(process, id);
        entries.push(Entry {
            name: Name { sort: "thread", symbol: Some(sort.clone()), ..Name::default() },
            told: sort,
            place: Place::of(process, process.thread(id).entry),
            amounts: vec![
                Some(diagnosis.criticality.threads[index].round() as i64),
                Some(whole(times.active)),
                Some(whole(times.waiting)),
                process.thread(id).known_cpu().map(whole),
                Some(1),
            ],
        });
    }
    let mut all = added_up(entries);
    all.push(Entry {
        name: Name { sort: "nobody", ..Name::default() },
        told: "nobody".to_owned(),
        place: None,
        amounts: vec![
            Some(diagnosis.criticality.nobody_total().round() as i64),
            Some(0),
            Some(0),
            Some(0),
            Some(0),
        ],
    });
    Entries { all, absent: vec![Some(0); 5] }
}

fn functions_at_work(process: &Process, diagnosis: &Diagnosis) -> Entries {
    let Some(hot) = &diagnosis.hot else { return Entries { all: Vec::new(), absent: vec![None, None] } };
    let entries: Vec<Entry> = hot
        .functions
        .iter()
        .filter_map(|spot| {
            let place = Place::of(process, Some(spot.place))?;
            // A function is the same whatever its hottest line.
            let function = Place { line: None, ..place.clone() };
            Some(Entry {
                name: Name { sort: "function", place: Some(function), ..Name::default() },
                told: spot.function.clone().unwrap_or_else(|| place.to_string()),
                place: Some(place),
                amounts: vec![Some(spot.critical.round() as i64), Some(whole(spot.active))],
            })
        })
        .collect();
    let all = added_up(entries);
    // A function that is not among the hottest has no more than the last of them.
    let is_cut = hot.functions.len() >= MOST_HOT_SPOTS;
    let least = |measure: usize| {
        let amounts = all.iter().filter_map(|entry: &Entry| entry.amounts[measure]);
        Some(if is_cut { amounts.min().unwrap_or(0) } else { 0 })
    };
    let absent = vec![least(0), least(1)];
    Entries { all, absent }
}
