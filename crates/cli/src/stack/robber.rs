//! Who takes cache and bandwidth from the thread that runs by itself.

use std::path::Path;

use holdup_collect::Beside;
use holdup_pirate::{
    Calibration, Gate, Pirate, Place, Plan, Refusal, Stretch, Survey, Thief, Verdict, allowed_cpus,
    calibrate, steady, survey,
};
use holdup_recording::facts::{PirateFacts, PirateStretch};

use super::kept::{Cache, Kept};
use super::plan::Kind;

/// The least share of its core that a pirate must have had that kept its lines: the recorder needs some of the same core
/// where there are only two.
const BUSY: f64 = 0.9;
/// The same of one that takes nothing.
const HALF_BUSY: f64 = 0.5;
/// How long the strongest thief is measured.
const STRONGEST_NS: u64 = 100_000_000;

/// What there is to take, and from where.
pub(super) struct Robber {
    place: Place,
    calibration: Calibration,
    /// What pirates of several sizes leave.
    survey: Survey,
    /// What a thief takes at most (bytes per second).
    bandwidth: Option<f64>,
}

/// Measures what there is to take, and notes it; or notes why nothing can be taken here.
pub(super) fn prepare(kept: &mut Kept) -> Option<Robber> {
    match Robber::new() {
        Ok(robber) => {
            kept.cache = Some(robber.facts());
            Some(robber)
        }
        Err(why) => {
            kept.notes.push(format!(
                "No cache was taken, so cache and memory are not told apart: {why}. holdup sim --speedup-stack tells them \
                 apart on a simulated machine."
            ));
            None
        }
    }
}

impl Robber {
    fn new() -> Result<Robber, Refusal> {
        let root = Path::new("/");
        let place = Place::choose(root, &allowed_cpus())?;
        let calibration = calibrate(root, &place)?;
        steady(&[&calibration])?;
        let survey = survey(root, &place, &calibration)?;
        // What cannot be had of the thief is missing where it is asked for.
        let bandwidth = Thief::new(root, &place).and_then(|thief| thief.strongest(STRONGEST_NS)).ok();
        Ok(Robber { place, calibration, survey, bandwidth })
    }

    /// The cache that a thread can have (bytes): what it gets of the shared level beside nobody else of ours.
    pub(super) fn cache(&self) -> u64 {
        self.survey.whole()
    }

    /// The CPU for the program while something is taken from it.
    pub(super) fn victim_cpu(&self) -> u32 {
        self.place.program
    }

    fn facts(&self) -> Cache {
        let missed = self.calibration.limit.miss_ns;
        let lines = self.cache() / self.place.level.line.max(1);
        Cache {
            bytes: self.cache(),
            nominal: self.place.level.bytes,
            level: self.place.level.number,
            // One line after the other: the longest that it can take.
            refill_ns: Some((lines as f64 * missed) as u64),
            bandwidth: self.bandwidth.map(|bandwidth| bandwidth as u64),
        }
    }

    /// What is to be taken in such a run; nothing where all threads run together.
    pub(super) fn robbery(&self, kind: Kind) -> Result<Option<Robbery>, Refusal> {
        let root = Path::new("/");
        let robbery = match kind {
            Kind::Plain | Kind::Together => return Ok(None),
            Kind::Whole { .. } => {
                let pirate = Pirate::new(root, Plan::control(&self.place, &self.calibration))?;
                Robbery { with: With::Control(pirate), left: self.cache() }
            }
            Kind::Part { of: parts, .. } => {
                let left = self.cache() / u64::from(parts.max(1));
                let plan = Plan::steal(&self.place, &self.calibration, self.survey.pirate_for(left)?)?;
                let bytes = plan.bytes();
                Robbery { with: With::Pirate(Pirate::new(root, plan)?, bytes), left }
            }
            Kind::Thief { percent, .. } => {
                let thief = Thief::new(root, &self.place)?;
                let most = self.bandwidth.map_or_else(|| thief.strongest(STRONGEST_NS), Ok)?;
                let rate = (most * f64::from(percent) / 100.0) as u64;
                Robbery { with: With::Thief(thief, rate), left: self.cache() }
            }
        };
        Ok(Some(robbery))
    }
}

/// Something that is taken during one run.
pub(super) struct Robbery {
    with: With,
    left: u64,
}

/// Who takes it.
enum With {
    /// One that is as busy as a pirate, and takes nothing.
    Control(Pirate),
    /// One that takes so many bytes of the cache.
    Pirate(Pirate, u64),
    /// One that takes so many bytes per second of the bandwidth.
    Thief(Thief, u64),
}

impl Robbery {
    /// The cache that is left (bytes).
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// As what works beside a thread that runs by itself.
    pub(super) fn beside(self) -> Beside {
        match self.with {
            With::Control(pirate) => Beside::pirate(pirate, 0, true),
            With::Pirate(pirate, bytes) => Beside::pirate(pirate, bytes, false),
            With::Thief(thief, rate) => Beside::thief(thief, rate),
        }
    }

    /// Works until the gate says that the run is over; why what was measured meanwhile does not count, or nothing.
    pub(super) fn run(&self, gate: &impl Gate) -> Option<String> {
        match &self.with {
            With::Control(pirate) => distrust(&ran(pirate.run(gate)), true),
            With::Pirate(pirate, _) => distrust(&ran(pirate.run(gate)), false),
            With::Thief(thief, rate) => thief.run(gate, *rate).err().map(|refusal| refusal.to_string()),
        }
    }
}

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

fn ran(result: Result<Vec<Stretch>, Refusal>) -> Result<Vec<Stretch>, String> {
    result.map_err(|refusal| refusal.to_string())
}

/// Why a run beside a pirate does not count; `None` if it does.
fn distrust(stretches: &Result<Vec<Stretch>, String>, is_control: bool) -> Option<String> {
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
        // Whoever had its lines at each look has not been away for long; and one that takes nothing need only be busy.
        Verdict::Interrupted(share) if share >= if is_control { HALF_BUSY } else { BUSY } => None,
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
