//! The words for changes: `lock:cache_lock/4, cores=8`.
//!
//! ```text
//! expression = change { "," change }
//! change     = "lock:" NAME "=0"            nobody waits for it
//!            | "lock:" NAME "/" NUMBER      the work in its critical sections is so many times less
//!            | "lock:" NAME " split " N     N independent locks take its place
//!            | "barrier:" NAME "=balanced"  the threads that meet there have equal work
//!            | "barrier:" NAME "=0"         nobody waits there
//!            | "object:" NAME "=0"          nobody waits for this condition variable, semaphore, futex…
//!            | "site:" NAME "/" NUMBER      the function, or file:line, with all that it calls, is so many times faster
//!            | "thread:" NAME "/" NUMBER    threads of this name or start function are so many times faster
//!            | "threads:" NAME "=balanced"  they have equal work
//!            | "alone:" NAME "/" NUMBER     what they do while nobody else is active is spread over so many threads
//!            | "alone:" NAME "@" [ NAME ] ".." [ "|" ] [ NAME ] "/" NUMBER  of that only what begins with a call at the first
//!                                          place and ends with one at the second, at a barrier ("|") or elsewhere; without
//!                                          one at its start, or end
//!            | "stage:" NAME "*" N          N times as many of them
//!            | "threads" [ ":" NAME ] "=" N so many of them; without a name of the most busy sort
//!            | "cores=" N
//!            | "wakeup:" NAME "=0"          who waits for this object runs as soon as it is released
//!            | "io/" NUMBER | "io=0" | "sleep/" NUMBER | "sleep=0" | "wakeup=0"
//!            | "io:" NAME "/" NUMBER        waits for I/O at this place (file:line, or function) take so many times less
//!            | "io:" NAME "=0" | "sleep:" NAME "/" NUMBER | "sleep:" NAME "=0"
//!            | "load=0"                     nothing but the program uses the machine
//! NAME       = as everywhere in expressions: see holdup_model::selector; of locks also that of a family
//! ```
//!
//! In place of one number of each change a range may stand, `1..16`: then the expression is a sweep.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use holdup_model::names::Names;
use holdup_model::selector::{self, Pattern, Verb, behind_quotes, quoted};
use holdup_model::{
    Call, Ends, Families, Frame, ObjectId, ObjectKind, Process, SiteId, ThreadId, sort_of_thread,
};

use crate::change::{Change, LockChange};
use crate::program::PauseKind;

/// Why an expression is none: one line with a way out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExpressionError {
    /// It is not of the form.
    #[error(
        "`{text}` is no change; write such as lock:NAME=0, lock:NAME/4, site:FUNCTION/2, thread:NAME/2, \
         barrier:NAME=balanced, stage:NAME*2, cores=8, threads=8"
    )]
    Form {
        /// The part that is not.
        text: String,
    },
    /// A number is not one, or makes no sense.
    #[error("`{text}`: {problem}")]
    Number {
        /// The change.
        text: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// Nothing has this name.
    #[error("no {what} is named {name:?} in this recording{}", those(.known))]
    Unknown {
        /// What was looked for.
        what: &'static str,
        /// The name.
        name: String,
        /// Names that there are, the most alike first.
        known: Vec<String>,
    },
}

fn those(names: &[String]) -> String {
    if names.is_empty() {
        return "; there is none".to_owned();
    }
    let names: Vec<String> = names.iter().take(6).map(|name| quoted(name)).collect();
    format!("; there are: {}", names.join(", "))
}

/// An expression at one size of its change.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// The expression with this size in the place of its range.
    pub expression: String,
    /// The size, where the expression had a range.
    pub at: Option<f64>,
    /// The changes.
    pub changes: Vec<Change>,
}

/// What an object is called in expressions: its name, else the function in which it was made, else its number.
pub fn object_name(process: &Process, object: ObjectId) -> String {
    let facts = process.object(object);
    let made_in = || {
        let frame = process.site(facts.created_at?).place()?;
        frame.function.clone()
    };
    facts.name.clone().or_else(made_in).unwrap_or_else(|| format!("#{}", object.index()))
}

/// What threads that do the same are called in expressions; for one that nothing is known of, what it is called.
pub fn thread_name(names: &Names<'_>, process: &Process, thread: ThreadId) -> String {
    sort_of(process, thread).unwrap_or_else(|| names.thread(thread).to_owned())
}

/// What threads that do the same have in common: as [`sort_of_thread`], else the start function of a runtime, which starts any of
/// its threads.
pub fn sort_of(process: &Process, thread: ThreadId) -> Option<String> {
    sort_of_thread(process, thread).or_else(|| {
        let site = process.site(process.thread(thread).entry?);
        site.frames.first()?.function.clone()
    })
}

/// The threads of a process by what they do, found once for all of them: of programs that start thousands it is asked for each.
#[derive(Clone, Debug)]
pub struct Sorts {
    /// Of each thread, by its number, the place of its sort.
    of: Vec<usize>,
    sorts: Vec<Vec<ThreadId>>,
}

impl Sorts {
    /// The sorts of all threads, as [`sort_of`] has them; threads of which nothing is known are each alone.
    pub fn of(process: &Process) -> Self {
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        let mut sorts: Vec<Vec<ThreadId>> = Vec::new();
        let mut of = Vec::with_capacity(process.threads.len());
        for thread in (0..process.threads.len() as u32).map(ThreadId::new) {
            let new = sorts.len();
            let place = sort_of(process, thread).map_or(new, |sort| *known.entry(sort).or_insert(new));
            if place == new {
                sorts.push(Vec::new());
            }
            sorts[place].push(thread);
            of.push(place);
        }
        Self { of, sorts }
    }

    /// All threads that do the same as this one, itself among them, by their numbers.
    ///
    /// # Panics
    /// If the thread is not of the process.
    pub fn like(&self, thread: ThreadId) -> &[ThreadId] {
        &self.sorts[self.of[thread.index()]]
    }
}

/// Reads an expression, with its range if it has one: then one point for each size.
///
/// # Errors
/// One line that names the part, what is wrong, and what there is.
pub fn parse(text: &str, process: &Process) -> Result<Vec<Point>, ExpressionError> {
    let parts = selector::parts(text);
    let ranges: Vec<Option<Swept>> = parts.iter().map(|part| Swept::of(part)).collect();
    let Some(first) = ranges.iter().flatten().next() else {
        let changes = changes(&parts, process)?;
        return Ok(vec![Point { expression: text.trim().to_owned(), at: None, changes }]);
    };
    let other = ranges
        .iter()
        .zip(&parts)
        .find(|(range, _)| range.as_ref().is_some_and(|range| !range.is_like(first)));
    if let Some((_, part)) = other {
        let problem = "all changes of a sweep have the same range";
        return Err(ExpressionError::Number { text: part.clone(), problem });
    }
    let whole = ranges.iter().flatten().any(|range| range.whole);
    sizes(first.from, first.until, whole)
        .into_iter()
        .map(|at| {
            let parts: Vec<String> = parts
                .iter()
                .zip(&ranges)
                .map(|(part, range)| range.as_ref().map_or(part.clone(), |range| range.at(part, at)))
                .collect();
            Ok(Point { expression: parts.join(","), at: Some(at), changes: changes(&parts, process)? })
        })
        .collect()
}

/// An expression for a sweep: one without a number gets a range, `lock:NAME` becomes `lock:NAME/1..16`.
pub fn sweep(text: &str) -> String {
    let text = text.trim();
    let rest = &text[behind_quotes(text)..];
    if rest.contains(['=', '/', '*']) || rest.contains(SPLIT) {
        return text.to_owned();
    }
    let range = match text.split(':').next() {
        Some("cores" | "threads") => "=1..16",
        Some("stage") => "*1..4",
        _ => "/1..16",
    };
    format!("{text}{range}")
}

fn number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}

/// At most this many points are in a sweep.
const MOST_POINTS: usize = 20;

/// Whole numbers one by one or, if these are many, and fractions, by equal factors.
fn sizes(from: f64, until: f64, whole: bool) -> Vec<f64> {
    let steps = until - from;
    if whole && steps < MOST_POINTS as f64 {
        return (0..=steps.round() as u32).map(|step| from + f64::from(step)).collect();
    }
    let points = if whole { MOST_POINTS } else { MOST_POINTS / 2 };
    let factor = (until / from).powf(1.0 / (points - 1) as f64);
    let mut sizes: Vec<f64> = (0..points).map(|point| from * factor.powi(point as i32)).collect();
    if whole {
        for size in &mut sizes {
            *size = size.round();
        }
        sizes.dedup();
    }
    if let Some(last) = sizes.last_mut() {
        *last = until;
    }
    sizes
}

/// The range in a change.
struct Swept {
    from: f64,
    until: f64,
    /// Where it stands in the change.
    place: std::ops::Range<usize>,
    /// Whether fractions make no sense.
    whole: bool,
}

impl Swept {
    fn of(part: &str) -> Option<Self> {
        let body = behind_quotes(part);
        let dots = body + part[body..].rfind("..")?;
        let number = |character: char| character.is_ascii_digit() || character == '.';
        let begin = part[..dots].trim_end_matches(number).len();
        let until = part[dots + 2..].trim_end();
        let place = begin..dots + 2 + until.len();
        let (from, until) = (part[begin..dots].parse().ok()?, until.trim_start().parse().ok()?);
        let whole = !part[..begin].trim_end().ends_with('/');
        (begin >= body && from > 0.0 && until > from).then_some(Self { from, until, place, whole })
    }

    fn is_like(&self, other: &Swept) -> bool {
        (self.from, self.until) == (other.from, other.until)
    }

    /// The change at one size.
    fn at(&self, part: &str, size: f64) -> String {
        format!("{}{}{}", &part[..self.place.start], number(size), &part[self.place.end..])
    }
}

fn changes(parts: &[String], process: &Process) -> Result<Vec<Change>, ExpressionError> {
    let mut all: Vec<Change> = Vec::new();
    if parts.is_empty() {
        return Err(ExpressionError::Form { text: String::new() });
    }
    let names = Known { process, threads: OnceCell::new() };
    for part in parts {
        for change in change(part, &names)? {
            // Parts of what the same threads do alone are one change: to look for stretches takes a pass over the recording.
            let known = all.iter_mut().find_map(|known| match (known, &change) {
                (Change::Spread(threads, Some(known), over), Change::Spread(other, Some(more), times))
                    if threads == other && over == times =>
                {
                    Some((known, more))
                }
                _ => None,
            });
            match known {
                Some((known, more)) => known.extend(more),
                None => all.push(change),
            }
        }
    }
    Ok(all)
}

/// How a change goes on behind its name.
#[derive(Clone, Copy)]
enum How {
    Zero,
    Balanced,
    Divided(f64),
    Split(u32),
    Times(u32),
    Number(u32),
}

fn change(part: &str, names: &Known<'_>) -> Result<Vec<Change>, ExpressionError> {
    let form = || ExpressionError::Form { text: part.to_owned() };
    let (part_without, between) = without_ends(part).ok_or_else(form)?;
    let (word, name, how) = take_apart(&part_without)?;
    if between.is_some() && word != "alone" {
        return Err(form());
    }
    let is_right = match word {
        "threads" | "wakeup" | "io" | "sleep" => true,
        // Of the whole program.
        "cores" | "load" => name.is_none(),
        _ => name.is_some(),
    };
    if !is_right {
        return Err(form());
    }
    let number = |problem| Err(ExpressionError::Number { text: part.to_owned(), problem });
    match (word, &how) {
        ("cores" | "threads", How::Zero) => return number(WHOLE),
        ("threads", How::Number(threads)) | ("stage", How::Times(threads)) if *threads > MOST_THREADS => {
            return number("give a whole number from 1 to 1024");
        }
        _ => {}
    }
    let is_unnamed = name.is_none();
    let name = name.unwrap_or_else(|| Pattern::of(""));
    let locked = |kinds: fn(ObjectKind) -> bool, what| names.objects(&name, kinds, what);
    Ok(match (word, how) {
        ("lock", How::Zero) => each(locked(is_lock, "lock")?, |lock| Change::Lock(lock, LockChange::Free)),
        ("lock", How::Divided(times)) => {
            each(locked(is_lock, "lock")?, |lock| Change::Lock(lock, LockChange::Shorter(times)))
        }
        ("lock", How::Split(parts)) => {
            each(locked(is_lock, "lock")?, |lock| Change::Lock(lock, LockChange::Split(parts)))
        }
        ("barrier", How::Balanced) => {
            each(locked(|kind| kind == ObjectKind::Barrier, "barrier")?, Change::BalancedBarrier)
        }
        ("barrier", How::Zero) => each(locked(|kind| kind == ObjectKind::Barrier, "barrier")?, Change::Free),
        ("object", How::Zero) => each(locked(|_| true, "object")?, Change::Free),
        ("site", How::Divided(times)) => vec![Change::FasterCode(names.sites(&name)?, times)],
        ("thread", How::Divided(times)) => vec![Change::Faster(names.threads(&name)?, times)],
        ("threads", How::Balanced) => vec![Change::BalancedThreads(names.threads(&name)?)],
        ("alone", How::Divided(over)) => {
            let ends = between.map(|between| names.ends(between)).transpose()?;
            vec![Change::Spread(names.threads(&name)?, ends, over)]
        }
        ("stage", How::Times(times)) => vec![Change::Stage(names.threads(&name)?, times)],
        ("threads", How::Number(number)) => {
            let threads = if is_unnamed { names.busiest() } else { names.threads(&name)? };
            vec![Change::Threads(threads, number)]
        }
        ("cores", How::Number(cores)) => vec![Change::Cores(cores)],
        ("io" | "sleep", How::Divided(_) | How::Zero) => {
            let times = if let How::Divided(times) = how { times } else { f64::INFINITY };
            let sleeps = word == "sleep";
            let kind = if sleeps { PauseKind::Sleep } else { PauseKind::Io };
            let places = if is_unnamed { None } else { Some(names.places(&name, sleeps)?) };
            vec![Change::Shorter(kind, places, times)]
        }
        ("load", How::Zero) => vec![Change::WithoutLoad],
        ("wakeup", How::Zero) if is_unnamed => vec![Change::FreeWakeUps],
        ("wakeup", How::Zero) => each(locked(|_| true, "object")?, Change::InstantWakeUps),
        _ => return Err(form()),
    })
}

/// True for what expressions call a lock.
pub fn is_lock(kind: ObjectKind) -> bool {
    kind.is_lock() || kind == ObjectKind::Futex
}

fn each(objects: Vec<ObjectId>, change: impl Fn(ObjectId) -> Change) -> Vec<Change> {
    objects.into_iter().map(change).collect()
}

/// The names of two places; `None` for the thread's start or end, or what is not known.
struct Between {
    from: Option<Pattern>,
    to: Option<Pattern>,
    at_barrier: bool,
}

/// In front of the second place, if that is a barrier.
const AT_BARRIER: &str = "|";

/// A part without the places in it: `alone:main/2` of `alone:main@a.c:12..b.c:40/2`. `None` where they are not understood.
fn without_ends(part: &str) -> Option<(String, Option<Between>)> {
    let Some(at) = outside_of_quotes(part, "@") else { return Some((part.to_owned(), None)) };
    let rest = &part[at + 1..];
    let dots = outside_of_quotes(rest, "..")?;
    let body = dots + 2 + behind_quotes(&rest[dots + 2..]);
    let mark = body + rest[body..].find(['/', '=', '*'])?;
    let place = |name: &str| match name.trim() {
        "" => Some(None),
        name => Pattern::parse(name).map(Some),
    };
    let to = rest[dots + 2..mark].trim();
    let (to, at_barrier) = to.strip_prefix(AT_BARRIER).map_or((to, false), |to| (to, true));
    let between = Between { from: place(&rest[..dots])?, to: place(to)?, at_barrier };
    Some((format!("{}{}", &part[..at], &rest[mark..]), Some(between)))
}

/// Where this stands first outside of quotes.
fn outside_of_quotes(text: &str, wanted: &str) -> Option<usize> {
    let mut quoted = false;
    text.char_indices().find_map(|(at, character)| {
        quoted ^= character == '\'';
        (!quoted && text[at..].starts_with(wanted)).then_some(at)
    })
}

/// What an expression calls what threads do alone in stretches with these ends; `None` where a place has no name.
pub fn ends_name(process: &Process, ends: Ends) -> Option<String> {
    let name = |site: Option<SiteId>| match site {
        Some(site) => place_name(process, site).map(|name| quoted(&name)),
        None => Some(String::new()),
    };
    let mark = if ends.at_barrier { AT_BARRIER } else { "" };
    Some(format!("@{}..{mark}{}", name(ends.from)?, name(ends.to)?))
}

/// The word, the name, and what becomes of it.
fn take_apart(part: &str) -> Result<(&str, Option<Pattern>, How), ExpressionError> {
    let form = || ExpressionError::Form { text: part.to_owned() };
    let number = |problem| ExpressionError::Number { text: part.to_owned(), problem };
    let Verb { kind, name, mark, value } = Verb::of(part, &[&[SPLIT], &["=", "/", "*"]]).ok_or_else(form)?;
    let whole = || value.parse::<u32>().ok().filter(|number| (1..=65_536).contains(number));
    let how = match mark {
        "=" if value == "0" => How::Zero,
        "=" if value == "balanced" => How::Balanced,
        "=" => How::Number(whole().ok_or_else(|| number(WHOLE))?),
        "*" => How::Times(whole().ok_or_else(|| number(WHOLE))?),
        "/" => {
            let times = value.parse::<f64>().ok().filter(|times| (LEAST_TIMES..=MOST_TIMES).contains(times));
            How::Divided(times.ok_or_else(|| {
                number("give how many times less or faster: a number above 0 (0.001 to 1000000000)")
            })?)
        }
        _ => How::Split(whole().ok_or_else(|| number(WHOLE))?),
    };
    Ok((kind, name, how))
}

/// How many times less something may be: more is all of it, and less would take longer than times are.
const LEAST_TIMES: f64 = 1e-3;
const MOST_TIMES: f64 = 1e9;

/// What numbers of cores, locks and threads are.
const WHOLE: &str = "give a whole number from 1 to 65536";

/// Each thread that is added has steps of its own.
const MOST_THREADS: u32 = 1024;

/// Between a name and the number of locks that take the place of one.
const SPLIT: &str = " split ";

/// What an expression calls the place of a stack: file and line, else the function. `None` where nothing is known.
pub fn place_name(process: &Process, site: SiteId) -> Option<String> {
    place_names(process.site(site).place()?).into_iter().next()
}

/// All names of a place, the one that tells most first.
fn place_names(frame: &Frame) -> Vec<String> {
    let mut names = Vec::new();
    if let (Some(file), Some(line)) = (&frame.file, frame.line) {
        let short = file.rsplit('/').next().unwrap_or(file);
        names.push(format!("{short}:{line}"));
        names.push(format!("{file}:{line}"));
    }
    names.push(frame.told_function(&str::to_owned));
    names
}

/// What names mean in a process.
struct Known<'a> {
    process: &'a Process,
    /// All names of each thread: there may be thousands of threads, and an expression may name many of them.
    threads: OnceCell<Vec<(Vec<String>, ThreadId)>>,
}

impl Known<'_> {
    fn objects(
        &self,
        name: &Pattern,
        wanted: impl Fn(ObjectKind) -> bool,
        what: &'static str,
    ) -> Result<Vec<ObjectId>, ExpressionError> {
        let objects = self.process.objects.iter().enumerate();
        let objects = objects.filter(|(_, object)| wanted(object.kind));
        let ids: Vec<ObjectId> = objects.map(|(index, _)| ObjectId::new(index as u32)).collect();
        let names = Names::of(self.process, None);
        let families = Families::of(self.process);
        let named = ids.iter().map(|&id| {
            let family = families.of_object(id).map(|family| family.name.clone());
            let own =
                [object_name(self.process, id), names.object(id).to_owned(), format!("#{}", id.index())];
            (own.into_iter().chain(family).collect(), id)
        });
        chosen(name, &named.collect::<Vec<_>>(), what)
    }

    fn threads(&self, name: &Pattern) -> Result<Vec<ThreadId>, ExpressionError> {
        let named = self.threads.get_or_init(|| {
            let names = Names::of(self.process, None);
            let ids = (0..self.process.threads.len() as u32).map(ThreadId::new);
            let named = |id: ThreadId| {
                vec![
                    thread_name(&names, self.process, id),
                    names.thread(id).to_owned(),
                    names.thread_in_full(id),
                    self.process.thread_name(id),
                    format!("#{}", id.index()),
                ]
            };
            ids.map(|id| (named(id), id)).collect()
        });
        chosen(name, named, "thread or start function")
    }

    /// Sites at the places at which there was I/O, or sleep.
    fn places(&self, name: &Pattern, sleeps: bool) -> Result<Vec<SiteId>, ExpressionError> {
        let process = self.process;
        let blocks = process.blocks.iter().filter(|block| (block.call == Call::Sleep) == sleeps);
        let called: BTreeSet<SiteId> = blocks.filter_map(|block| block.site).collect();
        let at = |id: SiteId| process.site(id).place().map(place_names).unwrap_or_default();
        let known: BTreeSet<String> = called.into_iter().flat_map(at).collect();
        let all = (0..process.sites.len() as u32).map(SiteId::new);
        // Another call at the place may be what stands for it.
        let named = all.map(|id| (at(id).into_iter().filter(|name| known.contains(name)).collect(), id));
        let named: Vec<(Vec<String>, SiteId)> =
            named.filter(|(names, _): &(Vec<_>, _)| !names.is_empty()).collect();
        chosen(name, &named, if sleeps { "place that sleeps" } else { "place with I/O" })
    }

    /// All ends of stretches that these places are.
    fn ends(&self, Between { from, to, at_barrier }: Between) -> Result<Vec<Ends>, ExpressionError> {
        let sites = |name: Option<Pattern>| match name {
            Some(name) => {
                let all = (0..self.process.sites.len() as u32).map(SiteId::new);
                let names = |id: SiteId| self.process.site(id).place().map(place_names).unwrap_or_default();
                let named = all.map(|id| (names(id), id)).filter(|(names, _)| !names.is_empty());
                let sites = chosen(&name, &named.collect::<Vec<_>>(), "place")?;
                Ok(sites.into_iter().map(Some).collect())
            }
            None => Ok(vec![None]),
        };
        let (from, to): (Vec<_>, Vec<_>) = (sites(from)?, sites(to)?);
        Ok(from.iter().flat_map(|&from| to.iter().map(move |&to| Ends { from, to, at_barrier })).collect())
    }

    /// Sites whose stack goes through the function, or the line.
    fn sites(&self, name: &Pattern) -> Result<Vec<SiteId>, ExpressionError> {
        let sampled: BTreeSet<SiteId> =
            self.process.samples.iter().filter_map(|sample| sample.site).collect();
        let mut found: Vec<(Vec<String>, SiteId)> = Vec::new();
        for &id in &sampled {
            let mut names = Vec::new();
            for frame in &self.process.site(id).frames {
                names.extend(frame.function.clone());
                names.extend(place_names(frame));
            }
            found.push((names, id));
        }
        chosen(name, &found, "function or line (with samples)")
    }

    /// The threads of the start function that used the most CPU time together.
    fn busiest(&self) -> Vec<ThreadId> {
        let names = Names::of(self.process, None);
        let mut sorts: BTreeMap<String, (u64, Vec<ThreadId>)> = BTreeMap::new();
        for (index, thread) in self.process.threads.iter().enumerate().skip(1) {
            let id = ThreadId::new(index as u32);
            let sort = sorts.entry(thread_name(&names, self.process, id)).or_default();
            sort.0 += thread.known_cpu().map_or(0, |cpu| cpu.get());
            sort.1.push(id);
        }
        let most = sorts.into_values().max_by_key(|(cpu, threads)| (*cpu, threads.len()));
        most.map_or_else(|| vec![ThreadId::new(0)], |(_, threads)| threads)
    }
}

/// All of a pattern; all with exactly this name; else all whose names begin with it, else have it in them, if that is one name
/// only.
fn chosen<T: Copy>(
    name: &Pattern,
    all: &[(Vec<String>, T)],
    what: &'static str,
) -> Result<Vec<T>, ExpressionError> {
    let matching = |matches: &dyn Fn(&str) -> bool| -> Vec<(&str, T)> {
        all.iter()
            .filter_map(|(names, id)| Some((names.iter().find(|name| matches(name))?.as_str(), *id)))
            .collect()
    };
    let exact = matching(&|other| name.matches(other));
    if !exact.is_empty() {
        return Ok(exact.into_iter().map(|(_, id)| id).collect());
    }
    let (is_open, name) = (name.is_open(), &*name.to_string());
    for matches in [&(|other: &str| other.starts_with(name)) as &dyn Fn(&str) -> bool, &|other: &str| {
        other.contains(name)
    }] {
        let found = matching(matches);
        let mut names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.dedup();
        if names.len() == 1 && !name.is_empty() && !is_open {
            return Ok(found.into_iter().map(|(_, id)| id).collect());
        }
    }
    let mut known: Vec<String> = all.iter().filter_map(|(names, _)| names.first().cloned()).collect();
    known.sort_unstable();
    known.dedup();
    known.sort_by_key(|other| {
        (!other.contains(name) && !name.contains(other.as_str()), strsim::levenshtein(other, name))
    });
    Err(ExpressionError::Unknown { what, name: name.to_owned(), known })
}
