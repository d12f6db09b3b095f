//! Who takes cache and bandwidth from the thread that runs by itself: the processor, where it can allot its cache, else a
//! pirate; and a thief.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use holdup_collect::Beside;
use holdup_pirate::{
    CacheShare, Calibration, Change, Gate, Guardian, Mounted, Pirate, Place, Plan, Resctrl, Survey, Thief,
    allow_huge_pages, allowed_cpus, calibrate, left_beside, steady, ways_of_part,
};

use super::kept::{Cache, Kept};
use super::plan::Kind;
use super::proof::{distrust, ran};
use super::surveyed;
use crate::undo_changes::UNDO_CHANGES;

/// How long the strongest thief is measured.
const STRONGEST_NS: u64 = 100_000_000;
/// What a pirate leaves and what an allotment leaves may differ by so much, beside the latter.
const AGREE: f64 = 0.25;
/// Where the kernel's cache allocation is, where not at its usual place.
const RESCTRL: &str = "HOLDUP_RESCTRL";

/// What there is to take, and from where.
pub(super) struct Robber {
    place: Place,
    guardian: Arc<Guardian>,
    pirate: Option<Holds>,
    allotted: Option<Allots>,
    /// What a thief takes at most (bytes per second).
    bandwidth: Option<f64>,
}

/// What a pirate can hold.
struct Holds {
    calibration: Calibration,
    /// What pirates of several sizes leave.
    survey: Survey,
}

/// What the processor can allot.
struct Allots {
    resctrl: Resctrl<Mounted>,
    /// The number of the cache.
    cache: u32,
}

/// Measures what there is to take, and notes it; or notes why nothing can be taken here. Without `pirates` none is started,
/// and cache can be taken by the processor's own allocation only.
pub(super) fn prepare(kept: &mut Kept, pirates: bool) -> Option<Robber> {
    match Robber::new(&mut kept.notes, pirates) {
        Ok(robber) => {
            kept.cache = Some(robber.facts());
            Some(robber)
        }
        Err(why) => {
            kept.notes.push(format!(
                "No cache was taken, so cache and memory are not told apart: {why}. --simulate tells them apart on a simulated \
                 machine."
            ));
            None
        }
    }
}

impl Robber {
    fn new(notes: &mut Vec<String>, pirates: bool) -> Result<Robber, String> {
        let root = Path::new("/");
        let words = |refusal: holdup_pirate::Refusal| refusal.to_string();
        let allocation = resctrl();
        if !pirates && allocation.is_none() {
            return Err(
                "no pirate was wanted (--no-pirate), and the processor's cache allocation is not to be had"
                    .into(),
            );
        }
        let place = Place::choose(root, &allowed_cpus()).map_err(words)?;
        let guardian = guardian().map_err(|error| format!("nothing undoes what is changed ({error})"))?;
        let allotted = allocation.zip(place.level.id).and_then(|(resctrl, cache)| {
            // What may be read need not be there to be written to.
            match CacheShare::new(&resctrl, &guardian, cache, resctrl.ways()) {
                Ok(_) => Some(Allots { resctrl, cache }),
                Err(why) => {
                    notes.push(format!("The processor's cache allocation was not used: {why}."));
                    None
                }
            }
        });
        let mut robber = Robber { place, guardian, pirate: None, allotted, bandwidth: None };
        if !pirates {
            return match robber.allotted {
                Some(_) => Ok(robber),
                None => Err("no pirate was wanted (--no-pirate)".to_owned()),
            };
        }
        match robber.holds() {
            Ok(holds) => {
                robber.check(&holds, notes);
                robber.pirate = Some(holds);
            }
            Err(why) if robber.allotted.is_some() => notes.push(format!(
                "The processor's allocation of cache was not checked against a pirate: {why}."
            )),
            Err(why) => return Err(why.to_string()),
        }
        // What cannot be had of the thief is missing where it is asked for.
        let thief = Thief::new(root, &robber.place);
        robber.bandwidth = thief.and_then(|thief| thief.strongest(STRONGEST_NS)).ok();
        Ok(robber)
    }

    fn holds(&self) -> Result<Holds, holdup_pirate::Refusal> {
        let root = Path::new("/");
        let _huge = self.huge_pages();
        let calibration = calibrate(root, &self.place)?;
        steady(&[&calibration])?;
        let survey = surveyed::survey(root, &self.place, &calibration)?;
        Ok(Holds { calibration, survey })
    }

    /// Holds a pirate against the processor's allocation: what leaves as much should leave as much.
    fn check(&self, holds: &Holds, notes: &mut Vec<String>) {
        let root = Path::new("/");
        let Some(allots) = &self.allotted else { return };
        let ways = (allots.resctrl.ways() / 2).max(allots.resctrl.least());
        let told = CacheShare::new(&allots.resctrl, &self.guardian, allots.cache, ways).and_then(|share| {
            let left = |bytes, share: Option<&CacheShare>| {
                left_beside(root, &self.place, &holds.calibration, bytes, share)
                    .map_err(|why| why.to_string())
            };
            let allotted = left(0, Some(&share))?;
            drop(share);
            let pirate = holds.survey.pirate_for(allotted).map_err(|why| why.to_string())?;
            Ok((allotted, pirate, left(pirate, None)?))
        });
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        notes.push(match told {
            Ok((allotted, pirate, beside)) => {
                let apart = (beside as f64 / allotted.max(1) as f64 - 1.0).abs();
                let verdict = if apart <= AGREE { "they agree" } else { "they do not agree" };
                format!(
                    "With {ways} of {} ways of the cache a chase keeps {:.1} MiB, and beside a pirate of {:.1} MiB {:.1} MiB: \
                     {verdict}. The ways are what the figures rest on.",
                    allots.resctrl.ways(),
                    mib(allotted),
                    mib(pirate),
                    mib(beside)
                )
            }
            Err(why) => format!("The processor's allocation of cache was not checked against a pirate: {why}."),
        });
    }

    fn huge_pages(&self) -> Option<Change> {
        allow_huge_pages(Path::new("/"), &self.guardian)
    }

    /// The cache that a thread can have (bytes): what it gets of the shared level beside nobody else of ours.
    pub(super) fn cache(&self) -> u64 {
        match (&self.allotted, &self.pirate) {
            (None, Some(holds)) => holds.survey.whole(),
            _ => self.place.level.bytes,
        }
    }

    /// The CPU for the program while something is taken from it.
    pub(super) fn victim_cpu(&self) -> u32 {
        self.place.program
    }

    /// Who undoes what is changed meanwhile.
    pub(super) fn guardian(&self) -> Arc<Guardian> {
        Arc::clone(&self.guardian)
    }

    fn facts(&self) -> Cache {
        let lines = self.cache() / self.place.level.line.max(1);
        // One line after the other: the longest that it can take.
        let refill = self.pirate.as_ref().map(|holds| lines as f64 * holds.calibration.limit.miss_ns);
        Cache {
            bytes: self.cache(),
            nominal: self.place.level.bytes,
            level: self.place.level.number,
            refill_ns: refill.map(|ns| ns as u64),
            bandwidth: self.bandwidth.map(|bandwidth| bandwidth as u64),
        }
    }

    /// What is to be taken in such a run; nothing where all threads run together.
    ///
    /// # Errors
    /// Why it cannot be, as the end of a sentence.
    pub(super) fn robbery(&self, kind: Kind) -> Result<Option<Robbery>, String> {
        let root = Path::new("/");
        let words = |refusal: holdup_pirate::Refusal| refusal.to_string();
        let _huge = self.pirate.as_ref().and_then(|_| self.huge_pages());
        let robbery = match (kind, &self.allotted, &self.pirate) {
            (Kind::Plain | Kind::Together, ..) => return Ok(None),
            (Kind::Whole { .. }, None, Some(holds)) => {
                let pirate =
                    Pirate::new(root, Plan::control(&self.place, &holds.calibration)).map_err(words)?;
                Robbery { with: With::Control(pirate), left: Some(self.cache()) }
            }
            (Kind::Whole { .. }, ..) => Robbery { with: With::Nothing, left: None },
            (Kind::Part { which, of }, Some(allots), _) => {
                let all = allots.resctrl.ways();
                let Some((below, above)) = ways_of_part(all, allots.resctrl.least(), of) else {
                    return Err(format!(
                        "one of {of} parts of the cache's {all} ways is less than can be allotted"
                    ));
                };
                // Between both lies the part that is wanted: the threads that are profiled take turns.
                let ways = if which % 2 == 0 { below } else { above };
                let share = CacheShare::new(&allots.resctrl, &self.guardian, allots.cache, ways)?;
                let left = self.cache() / u64::from(all) * u64::from(ways);
                Robbery { with: With::Share(Arc::new(share)), left: Some(left) }
            }
            (Kind::Part { of: parts, .. }, None, Some(holds)) => {
                let left = self.cache() / u64::from(parts.max(1));
                let bytes = holds.survey.pirate_for(left).map_err(words)?;
                let plan = Plan::steal(&self.place, &holds.calibration, bytes).map_err(words)?;
                let bytes = plan.bytes();
                Robbery {
                    with: With::Pirate(Pirate::new(root, plan).map_err(words)?, bytes),
                    left: Some(left),
                }
            }
            (Kind::Part { .. }, None, None) => return Err("nothing can take a part of the cache".to_owned()),
            (Kind::Thief { percent, .. }, ..) => {
                let thief = Thief::new(root, &self.place).map_err(words)?;
                let most = self.bandwidth.map_or_else(|| thief.strongest(STRONGEST_NS), Ok).map_err(words)?;
                let rate = (most * f64::from(percent) / 100.0) as u64;
                Robbery { with: With::Thief(thief, rate), left: Some(self.cache()) }
            }
        };
        Ok(Some(robbery))
    }
}

/// The processor's cache allocation, where the kernel offers it.
fn resctrl() -> Option<Resctrl<Mounted>> {
    let directory = std::env::var_os(RESCTRL).map_or_else(|| PathBuf::from("/sys/fs/resctrl"), PathBuf::from);
    Resctrl::open(Mounted::at(&directory)).ok()
}

/// Starts who undoes changes when this process is gone.
fn guardian() -> io::Result<Arc<Guardian>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(UNDO_CHANGES);
    Guardian::start(command).map(Arc::new)
}

/// Something that is taken during one run.
pub(super) struct Robbery {
    with: With,
    left: Option<u64>,
}

/// Who takes it.
enum With {
    /// Nobody takes anything.
    Nothing,
    /// The processor leaves only some ways.
    Share(Arc<CacheShare>),
    /// One that is as busy as a pirate, and takes nothing.
    Control(Pirate),
    /// One that takes so many bytes of the cache.
    Pirate(Pirate, u64),
    /// One that takes so many bytes per second of the bandwidth.
    Thief(Thief, u64),
}

impl Robbery {
    /// The cache that is left (bytes); `None` where nobody works beside the thread.
    pub(super) fn left(&self) -> Option<u64> {
        self.left
    }

    /// The part of the cache that the processor leaves.
    pub(super) fn share(&self) -> Option<Arc<CacheShare>> {
        match &self.with {
            With::Share(share) => Some(Arc::clone(share)),
            _ => None,
        }
    }

    /// As what works beside a thread that runs by itself.
    pub(super) fn beside(self) -> Option<Beside> {
        match self.with {
            With::Nothing | With::Share(_) => None,
            With::Control(pirate) => Some(Beside::pirate(pirate, 0, true)),
            With::Pirate(pirate, bytes) => Some(Beside::pirate(pirate, bytes, false)),
            With::Thief(thief, rate) => Some(Beside::thief(thief, rate)),
        }
    }

    /// Works until the gate says that the run is over; why what was measured meanwhile does not count, or nothing.
    pub(super) fn run(&self, gate: &impl Gate) -> Option<String> {
        match &self.with {
            With::Nothing => idle(gate),
            With::Share(share) => idle(gate).or_else(|| share.trouble()),
            With::Control(pirate) => distrust(&ran(pirate.run(gate)), true),
            With::Pirate(pirate, _) => distrust(&ran(pirate.run(gate)), false),
            With::Thief(thief, rate) => thief.run(gate, *rate).err().map(|refusal| refusal.to_string()),
        }
    }
}

/// Takes nothing.
fn idle(gate: &impl Gate) -> Option<String> {
    while gate.wait_wanted() {
        gate.ready();
    }
    None
}
