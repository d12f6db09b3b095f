//! Whether what was to be taken from a thread was really taken.

use holdup_pirate::{BUSY, CONTROL_BUSY, Refusal, Stretch, Verdict};
use holdup_recording::facts::{PirateFacts, PirateStretch};

/// What was taken beside a thread that ran by itself, as its recording has it.
pub(super) struct Taken {
    /// Bytes per second of the bandwidth, by a thief.
    pub bandwidth: Option<u64>,
    /// Why the run does not count; `None` if it does.
    pub discarded: Option<String>,
}

impl Taken {
    /// From what is stored of a run.
    pub(super) fn of(facts: Option<&PirateFacts>) -> Taken {
        let never = || Taken { bandwidth: None, discarded: Some("nothing was taken in it".to_owned()) };
        let Some(facts) = facts else { return never() };
        if facts.kind == PirateFacts::BANDWIDTH {
            let sum = |of: fn(&PirateStretch) -> u64| facts.stretches.iter().map(of).sum::<u64>();
            let ns = sum(|stretch| stretch.end_ns.saturating_sub(stretch.begin_ns));
            return match ns {
                0 => never(),
                ns => Taken {
                    bandwidth: Some((sum(|stretch| stretch.bytes) as f64 * 1e9 / ns as f64) as u64),
                    discarded: None,
                },
            };
        }
        let stretches: Vec<Stretch> = facts.stretches.iter().map(stretch).collect();
        let discarded = distrust(&Ok(stretches), facts.kind == PirateFacts::CONTROL);
        Taken { bandwidth: None, discarded }
    }
}

fn stretch(stored: &PirateStretch) -> Stretch {
    Stretch {
        begin_ns: stored.begin_ns,
        end_ns: stored.end_ns,
        cpu_ns: stored.cpu_ns,
        probes: stored.probes,
        missed: stored.missed,
        // How it came to hold what it held says nothing of whether it did.
        sweeps: 0,
        warming: 0,
        warmed: stored.warmed,
        fetch_ratio: stored.fetch_ratio,
    }
}

pub(super) fn ran(result: Result<Vec<Stretch>, Refusal>) -> Result<Vec<Stretch>, String> {
    result.map_err(|refusal| refusal.to_string())
}

/// Why a run beside a pirate does not count; `None` if it does.
pub(super) fn distrust(stretches: &Result<Vec<Stretch>, String>, is_control: bool) -> Option<String> {
    let stretches = match stretches {
        Ok(stretches) => stretches,
        Err(why) => return Some(why.clone()),
    };
    match Verdict::of(stretches) {
        Verdict::Held => None,
        // What it has lies in caches of its core alone: wherever else it is, it takes nothing from anybody.
        Verdict::Missed(_) if is_control => None,
        Verdict::Missed(share) => {
            Some(format!("{:.0} % of what the pirate was to keep was not in the cache", share * 100.0))
        }
        Verdict::Interrupted(share) if share >= if is_control { CONTROL_BUSY } else { BUSY } => None,
        Verdict::Interrupted(share) => {
            Some(format!("the pirate had only {:.0} % of its core", share * 100.0))
        }
        Verdict::Unknown => Some("the pirate never ran".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(kind: &str, missed: u32, cpu_ns: u64) -> PirateFacts {
        let stretch = PirateStretch {
            begin_ns: 0,
            end_ns: 1_000_000,
            cpu_ns,
            probes: 480,
            missed,
            warmed: true,
            bytes: 5_000_000,
            fetch_ratio: None,
        };
        PirateFacts { kind: kind.to_owned(), asked: 1 << 20, stretches: vec![stretch] }
    }

    #[test]
    fn a_pirate_that_lost_its_lines_or_its_core_took_nothing() {
        assert_eq!(Taken::of(Some(&facts(PirateFacts::CACHE, 3, 1_000_000))).discarded, None);
        let lost = Taken::of(Some(&facts(PirateFacts::CACHE, 48, 1_000_000))).discarded;
        assert!(lost.unwrap().starts_with("10 % of what the pirate was to keep"));
        assert_eq!(Taken::of(Some(&facts(PirateFacts::CACHE, 3, 950_000))).discarded, None);
        let slow = Taken::of(Some(&facts(PirateFacts::CACHE, 0, 500_000))).discarded;
        assert!(slow.unwrap().contains("only 50 % of its core"));
        assert!(Taken::of(None).discarded.is_some());
    }

    #[test]
    fn a_control_pirate_has_nothing_to_lose_but_its_core() {
        assert_eq!(Taken::of(Some(&facts(PirateFacts::CONTROL, 480, 1_000_000))).discarded, None);
        assert!(Taken::of(Some(&facts(PirateFacts::CONTROL, 0, 100_000))).discarded.is_some());
    }

    #[test]
    fn a_thief_is_as_strong_as_what_it_read() {
        let taken = Taken::of(Some(&facts(PirateFacts::BANDWIDTH, 0, 1)));
        assert_eq!((taken.bandwidth, taken.discarded), (Some(5_000_000_000), None));
    }
}
