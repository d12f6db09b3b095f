//! Threads with nothing to do, because nothing comes from outside of the program. At most one finding, the last.

use std::collections::BTreeMap;

use holdup_model::figures::percent;
use holdup_model::{Nanos, Segment, SiteId, State, ThreadId};

use super::{Candidate, Case, Description, main_ones, most_first};
use crate::FindingKind;

/// A part is told if it is at least this share of all.
const WORTH_A_SENTENCE: f64 = 0.05;

/// Where one thread is at work for at least this share of the time that others have nothing to do, they may well wait for it.
const BESIDE_WORK: f64 = 0.8;

pub(super) fn candidates<'a>(case: &Case<'_>, candidates: &mut Vec<Candidate<'a>>) {
    candidates.push(Candidate::new(FindingKind::Idle, case.losses.idle.total(), describe));
}

/// The thread that is at work while these wait in calls, and for how much of that time, if that is most of it.
fn busy_meanwhile(case: &Case<'_>, idle: &[ThreadId]) -> Option<(ThreadId, f64)> {
    let others = (0..case.times.len()).map(|index| ThreadId::new(index as u32));
    let others = others.filter(|thread| !idle.contains(thread));
    let busy = others.max_by_key(|thread| case.times[thread.index()].active)?;
    let work: Vec<&Segment> =
        case.timeline.row(busy).segments.iter().filter(|segment| segment.state.is_active()).collect();
    let (mut waited, mut beside) = (Nanos::ZERO, Nanos::ZERO);
    for thread in idle {
        let waits = case.timeline.row(*thread).segments.iter().filter(|segment| segment.state == State::Io);
        for wait in waits {
            waited += wait.length();
            let first = work.partition_point(|part| part.end <= wait.start);
            let parts = work[first..].iter().take_while(|part| part.start < wait.end);
            beside += parts.map(|part| part.end.min(wait.end).since(part.start.max(wait.start))).sum();
        }
    }
    let share = beside.share_of(waited);
    (share >= BESIDE_WORK).then_some((busy, share))
}

fn describe(case: &Case<'_>) -> Description {
    let idle = &case.losses.idle;
    let mut threads: BTreeMap<ThreadId, Nanos> = BTreeMap::new();
    let mut places: BTreeMap<SiteId, Nanos> = BTreeMap::new();
    let mut calls: BTreeMap<SiteId, Nanos> = BTreeMap::new();
    let mut givers: BTreeMap<ThreadId, Nanos> = BTreeMap::new();
    for (&site, by_thread) in &idle.own {
        for (&thread, &time) in by_thread {
            *threads.entry(thread).or_default() += time;
            if let Some(site) = site {
                *calls.entry(site).or_default() += time;
                *places.entry(site).or_default() += time;
            }
        }
    }
    for (&(object, giver), &lost) in &idle.by_object {
        if let Some(giver) = giver {
            *givers.entry(giver).or_default() += lost;
        }
        let Some(cost) = case.object_cost(object) else { continue };
        let part = |time: Nanos| Nanos::new((lost.get() as f64 * time.share_of(cost.wait)) as u64);
        for waiter in &cost.waiters {
            *threads.entry(waiter.thread).or_default() += part(waiter.time);
            if let Some(site) = waiter.site {
                *places.entry(site).or_default() += part(waiter.time);
            }
        }
    }
    let threads = main_ones(&threads);
    let place = most_first(&places).first().map(|(site, _)| *site);
    let at = place.map(|place| format!(", mostly in {}", case.site(place))).unwrap_or_default();
    let busy = busy_meanwhile(case, &threads);
    let mut evidence = Vec::new();
    if let Some((site, _)) = most_first(&calls).first() {
        let time: Nanos = calls.values().copied().sum();
        evidence.push(format!(
            "Threads wait {time} in calls that {} ends, mostly in {}.",
            match busy {
                Some(_) => "something outside of the program, or another thread,",
                None => "something outside of the program",
            },
            case.site(*site)
        ));
    }
    if let Some((busy, share)) = busy {
        let busy = case.threads(&[busy]);
        evidence.push(format!("Meanwhile {busy} is at work for {} of the time.", percent(share)));
    }
    let by_object: Nanos = idle.by_object.values().copied().sum();
    if by_object.share_of(idle.total()) >= WORTH_A_SENTENCE {
        let givers = main_ones(&givers);
        evidence.push(match givers.is_empty() {
            true => format!("They wait {by_object} for work while no thread of the program is at work."),
            false => format!(
                "They wait {by_object} for work that {} would give them, but waits itself, for something outside or \
                 for time to pass.",
                case.threads(&givers)
            ),
        });
    }
    Description {
        object: None,
        what: match busy {
            Some((busy, _)) => {
                format!(
                    "{} wait in calls while {} is at work{at}",
                    case.threads(&threads),
                    case.threads(&[busy])
                )
            }
            None => format!("nothing to do for {}{at}", case.threads(&threads)),
        },
        threads,
        place,
        evidence,
        hint: match busy {
            Some((busy, _)) => format!(
                "If they wait for what {} sends them through a pipe, a socket or an eventfd, share its work out. Who ends \
                 such calls is recorded by --collectors kernel, as root.",
                case.threads(&[busy])
            ),
            None => "There is nothing to fix, unless the program could ask earlier for what it waits for."
                .to_owned(),
        },
        on_path: None,
        method: "waits that only something outside of the program, or time, ends",
        stretches: Vec::new(),
        notes: Vec::new(),
    }
}
