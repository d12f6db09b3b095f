//! Who takes cache and bandwidth from the thread that runs by itself.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use holdup_pirate::{
    Calibration, Gate, Pirate, Place, Plan, Refusal, Stretch, Theft, Thief, Verdict, allowed_cpus, calibrate, steady,
};

use super::kept::{Cache, Kept};
use super::plan::Kind;

/// How long the strongest thief is measured.
const STRONGEST_NS: u64 = 100_000_000;

/// What there is to take, and from where.
pub(super) struct Robber {
    place: Place,
    calibration: Calibration,
    /// How much of the cache can be had (bytes).
    cache: u64,
    thief: Option<Arc<Thief>>,
    /// What the thief takes at most (bytes per second).
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
        let cache = steady(&[&calibration])?.middle;
        // What cannot be had of the thief is missing where it is asked for.
        let thief = Thief::new(root, &place).ok().map(Arc::new);
        let bandwidth = thief.as_ref().and_then(|thief| thief.strongest(STRONGEST_NS).ok());
        Ok(Robber { place, calibration, cache, thief, bandwidth })
    }

    /// The cache that can be had (bytes).
    pub(super) fn cache(&self) -> u64 {
        self.cache
    }

    /// The CPU for the program while something is taken from it.
    pub(super) fn victim_cpu(&self) -> u32 {
        self.place.program
    }

    fn facts(&self) -> Cache {
        let missed = self.calibration.limit.miss_ns;
        let lines = self.cache / self.place.level.line.max(1);
        Cache {
            bytes: self.cache,
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
        let of = |plan, left, is_control| {
            let pirate = Arc::new(Pirate::new(root, plan)?);
            Ok(Some(Robbery { with: With::Pirate(pirate), left, is_control, ..Robbery::default() }))
        };
        match kind {
            Kind::Plain | Kind::Together => Ok(None),
            Kind::Whole { .. } => of(Plan::control(&self.place, &self.calibration), self.cache, true),
            Kind::Part { of: parts, .. } => {
                let left = self.cache / u64::from(parts.max(1));
                of(Plan::steal(&self.place, &self.calibration, self.cache - left)?, left, false)
            }
            Kind::Thief { percent, .. } => {
                let (Some(thief), Some(most)) = (&self.thief, self.bandwidth) else { return Ok(None) };
                let rate = most * f64::from(percent) / 100.0;
                let with = With::Thief(Arc::clone(thief), rate as u64);
                Ok(Some(Robbery { with, left: self.cache, is_control: false, ..Robbery::default() }))
            }
        }
    }
}

/// Something taken during one run.
#[derive(Default)]
pub(super) struct Robbery {
    with: With,
    left: u64,
    is_control: bool,
    done: Arc<Mutex<Log>>,
}

/// Who takes it.
#[derive(Default)]
enum With {
    #[default]
    Nobody,
    Pirate(Arc<Pirate>),
    Thief(Arc<Thief>, u64),
}

/// What was taken.
#[derive(Default)]
struct Log {
    stretches: Vec<Stretch>,
    thefts: Vec<Theft>,
    trouble: Option<String>,
}

impl Robbery {
    /// What works while the gate is open; the stretches of a pirate, which belong into the recording.
    pub(super) fn companion(&self) -> Box<dyn FnOnce(&dyn Gate) -> Vec<Stretch> + Send> {
        let done = Arc::clone(&self.done);
        let note = move |log: Log| *done.lock().unwrap_or_else(PoisonError::into_inner) = log;
        match &self.with {
            With::Nobody => Box::new(|_| Vec::new()),
            With::Pirate(pirate) => {
                let pirate = Arc::clone(pirate);
                Box::new(move |gate| {
                    let (stretches, trouble) = told(pirate.run(&gate));
                    note(Log { stretches: stretches.clone(), trouble, ..Log::default() });
                    stretches
                })
            }
            With::Thief(thief, rate) => {
                let (thief, rate) = (Arc::clone(thief), *rate);
                Box::new(move |gate| {
                    let (thefts, trouble) = told(thief.run(&gate, rate));
                    note(Log { thefts, trouble, ..Log::default() });
                    Vec::new()
                })
            }
        }
    }

    /// Bytes that a pirate is to keep.
    pub(super) fn asked(&self) -> u64 {
        match &self.with {
            With::Pirate(pirate) if !self.is_control => pirate.bytes(),
            _ => 0,
        }
    }

    /// The cache that was left (bytes).
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// The bandwidth that was taken (bytes per second).
    pub(super) fn taken(&self) -> Option<u64> {
        let log = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let ns: u64 = log.thefts.iter().map(|theft| theft.end_ns.saturating_sub(theft.begin_ns)).sum();
        let bytes: u64 = log.thefts.iter().map(|theft| theft.bytes).sum();
        (ns > 0).then(|| (bytes as f64 * 1e9 / ns as f64) as u64)
    }

    /// Why the run does not count; `None` if it does.
    pub(super) fn verdict(&self) -> Option<String> {
        let log = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(trouble) = &log.trouble {
            return Some(trouble.clone());
        }
        match &self.with {
            With::Nobody => None,
            With::Thief(..) => log.thefts.is_empty().then(|| "the thief never ran".to_owned()),
            With::Pirate(_) => match Verdict::of(&log.stretches) {
                Verdict::Held => None,
                // What stays in the core's own cache cannot be missed by what it takes from others: it takes nothing.
                Verdict::Missed(_) if self.is_control => None,
                Verdict::Missed(share) => Some(format!(
                    "{:.0} % of what the pirate was to keep was not in the cache",
                    share * 100.0
                )),
                Verdict::Interrupted(share) => {
                    Some(format!("the pirate had only {:.0} % of its core", share * 100.0))
                }
                Verdict::Unknown => Some("the pirate never ran".to_owned()),
            },
        }
    }
}

fn told<T>(result: Result<Vec<T>, Refusal>) -> (Vec<T>, Option<String>) {
    match result {
        Ok(all) => (all, None),
        Err(refusal) => (Vec::new(), Some(refusal.to_string())),
    }
}
