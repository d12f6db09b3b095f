//! What getting chunks took in executions of which no chunks were recorded.

use std::collections::BTreeMap;

use holdup_model::Nanos;
use holdup_model::openmp::OpenMp;

/// Takes each chunk of these to have cost as much as those of others at the same place did on average.
pub(crate) fn estimate(openmp: &mut OpenMp) {
    let mut timed: BTreeMap<_, (Nanos, u64)> = BTreeMap::new();
    for work in &openmp.works {
        if let (Some(dealing), true) = (work.dealing, work.kind.is_dealt_out()) {
            let (time, chunks) = timed.entry(work.place).or_default();
            *time += dealing;
            *chunks += u64::from(work.chunks);
        }
    }
    let untimed = openmp.works.iter_mut().filter(|work| work.dealing.is_none() && work.kind.is_dealt_out());
    for work in untimed {
        let Some(&(time, chunks)) = timed.get(&work.place).filter(|(_, chunks)| *chunks > 0) else {
            continue;
        };
        let own = u128::from(time.get()) * u128::from(work.chunks) / u128::from(chunks);
        let own = Nanos::new(u64::try_from(own).unwrap_or(u64::MAX)).min(work.end.since(work.begin));
        work.dealing = (own > Nanos::ZERO).then_some(own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdup_model::openmp::{Instance, Work, WorkKind};
    use holdup_model::{SiteId, ThreadId, Time};

    #[test]
    fn chunks_cost_what_others_did_at_the_same_place() {
        let work = |place, kind, chunks, dealing: Option<u64>| Work {
            thread: ThreadId::new(0),
            instance: Instance::new(1),
            sequence: 0,
            kind,
            place: Some(SiteId::new(place)),
            begin: Time::from_nanos(100),
            end: Time::from_nanos(1100),
            iterations: None,
            chunk: None,
            chunks,
            done: None,
            dealing: dealing.map(Nanos::new),
        };
        let dynamic = WorkKind::DynamicLoop;
        let mut openmp = OpenMp {
            works: vec![
                work(1, dynamic, 10, Some(100)),
                work(1, dynamic, 30, Some(500)),
                work(1, dynamic, 20, None),
                work(1, dynamic, 200, None),
                work(1, dynamic, 0, None),
                work(2, dynamic, 20, None),
                work(1, WorkKind::StaticLoop, 20, None),
            ],
            ..OpenMp::default()
        };
        estimate(&mut openmp);
        let dealing: Vec<_> = openmp.works.iter().map(|work| work.dealing.map(Nanos::get)).collect();
        // 15 ns each; no more than there was time.
        assert_eq!(dealing, [Some(100), Some(500), Some(300), Some(1000), None, None, None]);
    }
}
