//! What other runs of a program say of the sections that were counted, kept in the recording that they were counted from: so that it
//! says the same when it is read again, and the program need not be run for it.

use holdup_model::Nanos;
use holdup_model::counts::{Counts, NativeMatch, Section};
use holdup_recording::facts::{OtherRuns, OtherSection, ThreadsMatched};

/// What is to be kept, after [`crate::add_native_times`] and [`crate::compare_schedules`]; the native run took so long.
pub fn other_runs(counts: &Counts, wall: Option<Nanos>) -> OtherRuns {
    let of_section = |section: &Section| OtherSection {
        native: section
            .instances
            .iter()
            .map(|instance| instance.native.iter().flatten().map(|time| time.get()).collect())
            .collect(),
        depends_on_schedule: section.depends_on_schedule.clone(),
    };
    OtherRuns {
        wall: wall.map(Nanos::get),
        matched: match counts.native_match {
            NativeMatch::Order => ThreadsMatched::Order,
            NativeMatch::Behaviour => ThreadsMatched::Behaviour,
            NativeMatch::Unknown => ThreadsMatched::Unknown,
        },
        sections: counts.sections.iter().map(of_section).collect(),
    }
}

/// Adds what was kept to counts of the same recording. False, and nothing is added, if it is of other sections: another version
/// may have found them.
pub fn add_other_runs(counts: &mut Counts, kept: &OtherRuns) -> bool {
    let is_same = |(section, kept): (&Section, &OtherSection)| {
        let mut instances = section.instances.iter().zip(&kept.native);
        section.instances.len() == kept.native.len()
            && instances.all(|(instance, native)| native.is_empty() || native.len() == instance.rows())
    };
    if counts.sections.len() != kept.sections.len()
        || !counts.sections.iter().zip(&kept.sections).all(is_same)
    {
        return false;
    }
    counts.native_match = match kept.matched {
        ThreadsMatched::Order => NativeMatch::Order,
        ThreadsMatched::Behaviour => NativeMatch::Behaviour,
        ThreadsMatched::Unknown => NativeMatch::Unknown,
    };
    for (section, kept) in counts.sections.iter_mut().zip(&kept.sections) {
        section.depends_on_schedule.clone_from(&kept.depends_on_schedule);
        for (instance, native) in section.instances.iter_mut().zip(&kept.native) {
            let native = (!native.is_empty()).then(|| native.iter().copied().map(Nanos::new).collect());
            instance.native = native.or(instance.native.take());
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use holdup_model::counts::{CountedThread, Instance};

    use super::*;

    fn counts() -> Counts {
        let instance = |native: Option<[u64; 2]>| Instance {
            threads: vec![CountedThread(0), CountedThread(1)],
            time: vec![5, 9],
            native: native.map(|native| native.map(Nanos::new).to_vec()),
            ..Instance::default()
        };
        let section = Section {
            instances: vec![instance(Some([70, 80])), instance(None)],
            depends_on_schedule: Some("a queue".to_owned()),
            ..Section::default()
        };
        let static_one = Section { instances: vec![instance(Some([1, 2]))], ..Section::default() };
        Counts {
            sections: vec![section, static_one],
            native_match: NativeMatch::Behaviour,
            ..Counts::default()
        }
    }

    #[test]
    fn what_was_kept_comes_back() {
        let kept = other_runs(&counts(), Some(Nanos::new(900)));
        let text = serde_json::to_vec(&kept).expect("JSON");
        let kept: OtherRuns = serde_json::from_slice(&text).expect("the same");
        assert_eq!(kept.wall, Some(900));
        let mut again = counts();
        again.native_match = NativeMatch::Order;
        for section in &mut again.sections {
            section.depends_on_schedule = Some("as it seems".to_owned());
            section.instances.iter_mut().for_each(|instance| instance.native = None);
        }
        assert!(add_other_runs(&mut again, &kept));
        assert_eq!(again, counts());
    }

    #[test]
    fn what_is_of_other_sections_is_left() {
        let kept = other_runs(&counts(), None);
        let mut fewer = counts();
        fewer.sections.truncate(1);
        let mut other = counts();
        other.sections[0].instances[0].threads.push(CountedThread(2));
        for mut counts in [fewer, other] {
            let before = counts.clone();
            assert!(!add_other_runs(&mut counts, &kept));
            assert_eq!(counts, before);
        }
    }
}
