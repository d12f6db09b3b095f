//! Hot spots: at which lines and in which functions threads are at work, and what of that is critical.
//!
//! The hottest line is not the one to fix: time at a line counts for the run as much as the criticality of its
//! threads grows meanwhile, dt / r while r threads are active (paper 4, Eq. 1). Time in a library that the program
//! calls counts for the line of the call.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use holdup_model::{Arrange, Fixed, Frame, Nanos, Process, SiteId, ThreadId, from_fixed};

use crate::samples::{Look, Samples};
use crate::{HotSpot, HotSpots};

/// How many lines, and how many functions, a diagnosis keeps.
pub const MOST_HOT_SPOTS: usize = 32;

/// A library's function is named if this share of a place's time passes in it.
const INSIDE_SHARE: f64 = 0.5;

/// Sums over the samples of one place.
#[derive(Default)]
struct Sums<'a> {
    active: Nanos,
    critical: Fixed,
    samples: u64,
    threads: BTreeMap<ThreadId, Nanos>,
    inside: BTreeMap<&'a str, Nanos>,
}

impl<'a> Sums<'a> {
    fn add(&mut self, process: &'a Process, thread: ThreadId, look: &Look) {
        self.active += look.active;
        self.critical += look.critical;
        self.samples += 1;
        *self.threads.entry(thread).or_default() += look.active;
        if let Some(function) = look.site.and_then(|site| inside(process, site)) {
            *self.inside.entry(function).or_default() += look.active;
        }
    }

    fn spot(self, process: &Process, place: SiteId) -> HotSpot {
        let mut threads: Vec<(ThreadId, Nanos)> = self.threads.into_iter().collect();
        threads.arrange_by_key(|&(thread, time)| (Reverse(time), thread));
        HotSpot {
            place,
            function: process.site(place).place().and_then(|frame| match function(process, place) {
                Function::Named(name, _) => Some(name.to_owned()),
                Function::Nameless(..) => Some(frame.by_function(None, &str::to_owned)),
                Function::At(_) => None,
            }),
            inside: dominating(&self.inside, self.active).map(str::to_owned),
            active: self.active,
            critical: from_fixed(self.critical),
            samples: self.samples,
            threads,
        }
    }
}

/// Sums all samples by line and by function; `None` if there are none. O(n log n).
pub(crate) fn hot_spots(process: &Process, samples: &Samples) -> Option<HotSpots> {
    if samples.is_empty() {
        return None;
    }
    let mut lines: BTreeMap<SiteId, Sums<'_>> = BTreeMap::new();
    let mut functions: BTreeMap<Function<'_>, Sums<'_>> = BTreeMap::new();
    let (mut count, mut broken, mut active, mut critical) = (0u64, 0u64, Nanos::ZERO, 0);
    for (thread, look) in samples.all() {
        count += 1;
        active += look.active;
        critical += look.critical;
        broken += u64::from(look.site.is_none_or(|site| process.site(site).broken));
        if let Some(place) = look.place {
            lines.entry(place).or_default().add(process, thread, look);
            functions.entry(function(process, place)).or_default().add(process, thread, look);
        }
    }
    let mut hottest_lines: BTreeMap<Function<'_>, (Fixed, Reverse<SiteId>)> = BTreeMap::new();
    for (&place, sums) in &lines {
        let line = (sums.critical, Reverse(place));
        let hottest = hottest_lines.entry(function(process, place)).or_insert(line);
        *hottest = line.max(*hottest);
    }
    let functions = functions.into_iter().map(|(function, sums)| {
        let Reverse(place) = hottest_lines[&function].1;
        (place, sums)
    });
    Some(HotSpots {
        functions: most_critical(process, functions.collect()),
        lines: most_critical(process, lines.into_iter().collect()),
        samples: count,
        broken_stacks: broken as f64 / count as f64,
        active,
        critical: from_fixed(critical),
    })
}

fn most_critical(process: &Process, mut spots: Vec<(SiteId, Sums<'_>)>) -> Vec<HotSpot> {
    spots.arrange_by_key(|(place, sums)| (Reverse(sums.critical), Reverse(sums.active), *place));
    spots.truncate(MOST_HOT_SPOTS);
    spots.into_iter().map(|(place, sums)| sums.spot(process, place)).collect()
}

/// What tells functions apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Function<'a> {
    /// Its name and its module.
    Named(&'a str, Option<&'a str>),
    /// Its module, and [`Frame::begin`].
    Nameless(&'a str, u64),
    /// Only the place is known.
    At(SiteId),
}

/// The function of a place. `place` is a site that stands for its place.
pub(crate) fn function(process: &Process, place: SiteId) -> Function<'_> {
    process.site(place).place().and_then(function_of).unwrap_or(Function::At(place))
}

/// The function that the code of a place was compiled into: what is inlined belongs to it.
pub(crate) fn compiled_into(process: &Process, place: SiteId) -> Function<'_> {
    let site = process.site(place);
    let own = |frame: &&Frame| site.place().is_none_or(|own| !std::ptr::eq(own, *frame));
    let whole = site.frames.iter().skip_while(own).find(|frame| !frame.inlined);
    whole.and_then(function_of).unwrap_or(Function::At(place))
}

/// The function of a frame; `None` where nothing tells it from others.
pub(crate) fn function_of(frame: &Frame) -> Option<Function<'_>> {
    match frame {
        Frame { function: Some(name), module, .. } => Some(Function::Named(name, module.as_deref())),
        Frame { module: Some(module), begin: Some(begin), .. } => Some(Function::Nameless(module, *begin)),
        _ => None,
    }
}

/// The innermost function, or its library if it has no name, where that is none of the program's own but one that the program called:
/// a function of another library, if it has no name.
pub(crate) fn inside(process: &Process, site: SiteId) -> Option<&str> {
    let site = process.site(site);
    let (innermost, own) = (site.frames.first()?, Frame::own_of(&site.frames).next()?);
    let other = || innermost.module.as_deref().filter(|module| own.module.as_deref() != Some(module));
    innermost.function.as_deref().or_else(other).filter(|_| !std::ptr::eq(innermost, own))
}

/// The one in which at least half of `all` passed.
pub(crate) fn dominating<'a>(inside: &BTreeMap<&'a str, Nanos>, all: Nanos) -> Option<&'a str> {
    let most = inside.iter().max_by_key(|&(name, time)| (*time, Reverse(*name)))?;
    (most.1.share_of(all) >= INSIDE_SHARE).then_some(*most.0)
}
