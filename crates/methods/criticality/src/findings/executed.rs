//! What threads executed while others waited for them: the line to look at, where samples tell.
//!
//! The line is the innermost one of the program, as in [`crate::HotSpots`]. Where its function does work for many (a
//! hash, a loop that the compiler put into its callers), that says little: then the caller from which the blamed
//! samples came is named first. A caller is named if most blamed samples came through it, and the function is also
//! reached otherwise. Where no function has much of the time, the one that calls all of it is named; and what a runtime does
//! that has a name of its own (an interpreter loads modules) is called by that.

use std::collections::BTreeMap;

use holdup_model::figures::percent;
use holdup_model::{Activity, Frame, Nanos, ObjectId, Site, SiteId, ThreadId};

use super::{Case, most_first};
use crate::blame::{Spans, Waited};
use crate::hot::{Function, dominating, function, function_of, inside};
use crate::samples::Look;

/// With fewer samples nothing is said.
const FEWEST_SAMPLES: u64 = 5;

/// A function is named if at least this share of the samples is in it.
const LEAST_SHARE: f64 = 0.3;

/// The next one is named too if at least this share of the samples is in it.
const LEAST_SHARE_OF_NEXT: f64 = 0.15;

/// A caller is named if this share of the blamed samples in a function came through it, and less than this of all.
const MOST_THROUGH: f64 = 0.75;

/// A function is named with what it calls if this share of the blamed samples came through it.
const NEARLY_ALL_THROUGH: f64 = 0.8;

/// How many callers may be passed on the way to the one that is named.
const MOST_CALLERS: usize = 4;

/// The function in which threads mostly were.
pub(super) struct Executed {
    /// Its hottest line.
    pub(super) place: SiteId,
    /// `build_index (x.c:88)`; `parse (x.c:12), inside hash_bytes`.
    pub(super) words: String,
    /// Tells it from what others executed: the caller that is named, and the function.
    pub(super) key: (Option<String>, String),
    /// What can be done about it; `None` for nothing special.
    pub(super) hint: Option<&'static str>,
    /// `hash_bytes`; `load or what it calls`.
    within: String,
    share: f64,
    samples: u64,
    /// The next one, with its share, where that is not small.
    next: Option<(String, f64)>,
}

impl Executed {
    /// How certain that is, as a sentence.
    pub(super) fn evidence(&self) -> String {
        let next = self.next.as_ref().map(|(next, share)| format!(", {} in {next}", percent(*share)));
        format!(
            "{} of the {} samples that were taken meanwhile are in {}{}.",
            percent(self.share),
            self.samples,
            self.within,
            next.unwrap_or_default()
        )
    }
}

impl Case<'_> {
    /// What these threads mostly executed while others waited for them because of one of `objects`, and for what they did; where that
    /// was too short, also while these waited because they had begun late or had no core.
    pub(super) fn executed_while_waited_for(
        &self,
        threads: &[ThreadId],
        objects: impl IntoIterator<Item = Option<ObjectId>>,
    ) -> Option<Executed> {
        let objects: Vec<Option<ObjectId>> = objects.into_iter().collect();
        let during = |waited: &Waited| {
            let of_object = |&object| {
                threads.iter().filter_map(move |&thread| Some((thread, waited.get(&(object, thread))?)))
            };
            self.executed(objects.iter().flat_map(of_object))
        };
        during(&self.blame.times.for_work).or_else(|| during(&self.blame.times.waited))
    }

    /// What these threads mostly executed during these times; `None` where samples do not tell.
    pub(super) fn executed<'s>(
        &self,
        during: impl IntoIterator<Item = (ThreadId, &'s Spans)>,
    ) -> Option<Executed> {
        let process = self.process;
        let mut seen = Seen::new();
        let (mut samples, mut total) = (0, Nanos::ZERO);
        let mut threads: BTreeMap<ThreadId, Vec<&Spans>> = BTreeMap::new();
        for (thread, spans) in during {
            threads.entry(thread).or_default().push(spans);
        }
        for (thread, spans) in threads {
            let is_meanwhile = |look: &&Look| spans.iter().any(|spans| spans.contain(look.time));
            for look in self.samples.of_thread(thread).iter().filter(is_meanwhile) {
                samples += 1;
                total += look.active;
                if let (Some(site), Some(place)) = (look.site, look.place) {
                    seen.entry(site).or_insert((place, Nanos::ZERO)).1 += look.active;
                }
            }
        }
        if samples < FEWEST_SAMPLES {
            return None;
        }
        if let Some(activity) = self.activity(&seen, samples, total) {
            return Some(activity);
        }
        let mut functions: BTreeMap<Function<'_>, Nanos> = BTreeMap::new();
        for &(place, time) in seen.values() {
            *functions.entry(function(process, place)).or_default() += time;
        }
        let ordered = most_first(&functions);
        let (mostly, time) = *ordered.first()?;
        if time.share_of(total) < LEAST_SHARE {
            return self.common(&seen, samples, total);
        }
        let in_function = |of: Function<'_>| {
            let place = seen.values().find(|(place, _)| function(process, *place) == of);
            place.map(|&(place, _)| self.names.function(place))
        };
        let next = ordered
            .get(1)
            .filter(|next| next.1.share_of(total) >= LEAST_SHARE_OF_NEXT)
            .and_then(|&(next, time)| Some((in_function(next)?, time.share_of(total))));
        seen.retain(|_, (place, _)| function(process, *place) == mostly);
        let mut lines: BTreeMap<SiteId, Nanos> = BTreeMap::new();
        let mut libraries: BTreeMap<&str, Nanos> = BTreeMap::new();
        for (&site, &(place, time)) in &seen {
            *lines.entry(place).or_default() += time;
            if let Some(library) = inside(process, site) {
                *libraries.entry(library).or_default() += time;
            }
        }
        let place = most_first(&lines).first()?.0;
        let own_name = self.names.function(place);
        let blamed = seen.into_iter().map(|(site, (_, time))| (site, time)).collect();
        let caller = self.caller(mostly, blamed);
        let at = if matches!(mostly, Function::Nameless(..)) { own_name.clone() } else { self.site(place) };
        let words = match (caller, dominating(&libraries, time)) {
            (Some(caller), _) => format!("{}, inside {own_name}", caller.name()),
            (None, Some(library)) => format!("{at}, inside {library}"),
            (None, None) => at,
        };
        let key = (caller.and_then(|caller| caller.function.clone()), own_name.clone());
        let (within, share) = (own_name, time.share_of(total));
        Some(Executed { place, words, key, hint: None, within, share, samples, next })
    }

    /// What a runtime does that has a name of its own, in nearly all samples.
    fn activity(&self, seen: &Seen, samples: u64, total: Nanos) -> Option<Executed> {
        let mut times: BTreeMap<&Activity, (Nanos, SiteId, Nanos)> = BTreeMap::new();
        for (&site, &(place, time)) in seen {
            let Some(activity) = self.process.site(site).activity() else { continue };
            let (all, hottest, most) = times.entry(activity).or_insert((Nanos::ZERO, place, time));
            *all += time;
            if time > *most {
                (*hottest, *most) = (place, time);
            }
        }
        let (activity, (time, place, _)) = times.into_iter().max_by_key(|(_, (time, ..))| *time)?;
        let share = time.share_of(total);
        let words = activity.name.to_owned();
        let (key, within, hint, next) = ((None, words.clone()), words.clone(), activity.hint, None);
        let is_nearly_all = share >= NEARLY_ALL_THROUGH;
        is_nearly_all.then_some(Executed { place, words, key, hint, within, share, samples, next })
    }

    /// The function that calls nearly all of what was seen: of several the one that is called by the others. The one with which
    /// a stack begins says nothing.
    fn common(&self, seen: &Seen, samples: u64, total: Nanos) -> Option<Executed> {
        let process = self.process;
        let mut through: BTreeMap<Function<'_>, Through<'_>> = BTreeMap::new();
        for (&site, &(_, time)) in seen {
            let site = process.site(site);
            let Some(called) = called(site) else { continue };
            // By function how far out it is called first.
            let mut first: BTreeMap<Function<'_>, (usize, &Frame)> = BTreeMap::new();
            let mut own =
                Frame::own_of(called).filter_map(|frame| Some((function_of(frame)?, frame))).enumerate();
            let mut outermost = None;
            own.by_ref().for_each(|(depth, (function, frame))| {
                first.insert(function, (depth, frame));
                outermost = Some(function);
            });
            for (function, (depth, frame)) in first {
                let begins = outermost == Some(function) && !site.broken;
                let sums = through.entry(function).or_insert_with(|| Through::of(frame));
                sums.time += time;
                sums.as_first += if begins { time } else { Nanos::ZERO };
                sums.depth += time.get() as f64 * depth as f64;
            }
        }
        let is_nearly_all = |sums: &Through<'_>| sums.time.share_of(total) >= NEARLY_ALL_THROUGH;
        let says_nothing =
            |sums: &Through<'_>| sums.as_first.share_of(sums.time) >= 0.5 || sums.frame.is_interpreter();
        let (function, sums) = (through.into_iter())
            .filter(|(_, sums)| is_nearly_all(sums) && !says_nothing(sums))
            .min_by(|a, b| a.1.mean_depth().total_cmp(&b.1.mean_depth()))?;
        let name = self.names.function_of(sums.frame);
        let at = self.names.all_of(sums.frame);
        let of_function = |&site: &SiteId| process.site(site).place().and_then(function_of) == Some(function);
        let sites = (0..process.sites.len()).map(|index| SiteId::new(index as u32));
        let hottest = || seen.values().max_by_key(|&(_, time)| *time).map(|&(place, _)| place);
        let place = sites.into_iter().find(of_function).or_else(hottest)?;
        Some(Executed {
            place,
            words: format!("{at} and what it calls"),
            key: (Some(name.clone()), String::new()),
            hint: None,
            within: format!("{name} or what it calls"),
            share: sums.time.share_of(total),
            samples,
            next: None,
        })
    }

    /// The caller that tells the blamed time in a function apart from other time in it.
    fn caller(&self, mostly: Function<'_>, mut blamed: Vec<(SiteId, Nanos)>) -> Option<&Frame> {
        let process = self.process;
        let mut all: Vec<(SiteId, Nanos)> = self
            .samples
            .sites()
            .filter(|(site, _)| {
                self.timeline.places.at(Some(*site)).is_some_and(|place| function(process, place) == mostly)
            })
            .collect();
        let mut named = None;
        for depth in 1..=MOST_CALLERS {
            let caller = |site: SiteId| frame_at(process.site(site), depth);
            let mut frames: BTreeMap<&Frame, Nanos> = BTreeMap::new();
            let mut names: BTreeMap<&str, Nanos> = BTreeMap::new();
            let sum = |times: &[(SiteId, Nanos)]| times.iter().map(|(_, time)| *time).sum::<Nanos>();
            let (blamed_time, all_time) = (sum(&blamed), sum(&all));
            for &(site, time) in &blamed {
                let Some((frame, name)) = caller(site) else { continue };
                *frames.entry(frame).or_default() += time;
                *names.entry(name).or_default() += time;
            }
            let Some(&(name, time)) = most_first(&names).first() else { break };
            let comes_from =
                |&(site, _): &(SiteId, Nanos)| caller(site).is_some_and(|(_, known)| known == name);
            blamed.retain(comes_from);
            all.retain(comes_from);
            let is_main_way = time.share_of(blamed_time) >= MOST_THROUGH;
            let is_inlined = depth == 1 && blamed.iter().all(|&(site, _)| is_inlined(process.site(site)));
            if !is_main_way || (sum(&all).share_of(all_time) > MOST_THROUGH && !is_inlined) {
                break;
            }
            named = most_first(&frames)
                .into_iter()
                .map(|(frame, _)| frame)
                .find(|frame| frame.function.as_deref() == Some(name));
        }
        named
    }
}

/// By site where a thread was seen: the site that stands for its place, and for how long.
type Seen = BTreeMap<SiteId, (SiteId, Nanos)>;

/// Sums over the samples with a function on their stacks.
struct Through<'a> {
    frame: &'a Frame,
    time: Nanos,
    /// Part of that: the stack begins with it.
    as_first: Nanos,
    /// Time multiplied by how many of the program's calls its outermost call is away from the innermost.
    depth: f64,
}

impl<'a> Through<'a> {
    fn of(frame: &'a Frame) -> Self {
        Self { frame, time: Nanos::ZERO, as_first: Nanos::ZERO, depth: 0.0 }
    }

    fn mean_depth(&self) -> f64 {
        self.depth / self.time.get().max(1) as f64
    }
}

/// The part of a stack from the program's innermost frame outwards. What runs for a team or as a task is called by OpenMP's runtime, and
/// by nothing beyond that: only on the thread that began the region, or that happened to take the task, is there more of the stack.
fn called(site: &Site) -> Option<&[Frame]> {
    let innermost = Frame::own_of(&site.frames).next()?;
    let at = site.frames.iter().position(|frame| std::ptr::eq(frame, innermost))?;
    site.frames[at..].split(Frame::is_of_openmp).next()
}

/// The program's frame `depth` calls further out than its innermost one, and its function. A function that calls
/// itself counts once.
fn frame_at(site: &Site, depth: usize) -> Option<(&Frame, &str)> {
    let mut own = Frame::own_of(called(site)?);
    let mut inner = own.next()?.function.as_deref()?;
    let mut left = depth;
    own.find_map(|frame| {
        let name = frame.function.as_deref()?;
        left -= usize::from(std::mem::replace(&mut inner, name) != name);
        (left == 0).then_some((frame, name))
    })
}

fn is_inlined(site: &Site) -> bool {
    site.place().is_some_and(|frame| frame.inlined)
}
