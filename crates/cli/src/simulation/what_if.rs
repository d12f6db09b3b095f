//! The language of `--what-if`: changes with commas between them.
//!
//! ```text
//! change = WORD [ "=" VALUE ]           what the machine is like: perfect-branches, bandwidth=2, memory.channels=1
//!        | "lock:" NAME "=0"            nobody waits for it
//!        | "misses:" NAME "=0"          loads of this line (FILE:LINE), function or address always hit the first level
//!        | "thread:" NUMBER "/" FACTOR  it is so many times as fast
//!        | "core:" NUMBER "/" FACTOR
//! ```
//!
//! Names are as everywhere in expressions: see `holdup_model::selector`.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use holdup_model::selector::{self, Pattern, Verb};
use holdup_sim::{Changes, Machine, Program};

use crate::meant::nearest;

/// Changes that are made together, as they were written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WhatIf(Vec<Change>);

/// One change.
#[derive(Clone, Debug, PartialEq)]
enum Change {
    PerfectBranches,
    PerfectCache(u32),
    PerfectFetch,
    UnlimitedBandwidth,
    Bandwidth(f64),
    PrivateCaches,
    PrivateLinks,
    PrivateMemory,
    NoCoherence,
    OneIpc,
    Padded,
    FreeLocks(Option<Pattern>),
    WithoutMisses(Pattern),
    FasterThreads(Pattern, f64),
    FasterCores(Pattern, f64),
    /// A field of the machine's description, and its value as TOML.
    Field(String, String),
}

/// What is said where a word is not understood.
const KNOWN: &str = "perfect-branches, perfect-cache=1, unlimited-bandwidth, bandwidth=2, private-caches, no-coherence, padded, one-ipc, \
free-locks, lock:NAME=0, misses:FILE:LINE=0, thread:3/2, core:0/2, memory.channels=1 and more in docs/sim.md";

impl FromStr for WhatIf {
    type Err = String;

    fn from_str(text: &str) -> Result<WhatIf, String> {
        let parts = selector::parts(text);
        if parts.is_empty() {
            return Err(format!("say what to change: {KNOWN}"));
        }
        parts.iter().map(|part| change(part)).collect::<Result<_, _>>().map(WhatIf)
    }
}

/// A change of what a selector names.
fn named(verb: Verb<'_>, word: &str) -> Result<Change, String> {
    let Verb { kind, name: Some(name), mark, value } = verb else { return Err(unknown(word)) };
    match (kind, mark, value) {
        ("lock", "=", "0") => Ok(Change::FreeLocks(Some(name))),
        ("misses", "=", "0") => Ok(Change::WithoutMisses(name)),
        ("thread" | "core", "/", times) => {
            let times =
                factor(times).ok_or_else(|| format!("`{word}` needs a factor, such as {kind}:0/2"))?;
            Ok(if kind == "core" {
                Change::FasterCores(name, times)
            } else {
                Change::FasterThreads(name, times)
            })
        }
        _ => Err(unknown(word)),
    }
}

fn unknown(word: &str) -> String {
    let names = KNOWN.split(", ").filter(|name| !name.contains(' '));
    match nearest(word, names).filter(|name| !word.starts_with(name)) {
        Some(name) => format!("`{word}` is no change; did you mean {name}?"),
        None => format!("`{word}` is no change; there are {KNOWN}"),
    }
}

fn change(word: &str) -> Result<Change, String> {
    if let Some(verb) = Verb::of(word, &[&["=", "/"]]).filter(|verb| verb.name.is_some()) {
        return named(verb, word);
    }
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value.trim()).filter(|value| !value.is_empty())),
        None => (word, None),
    };
    let needs = |what: &str| format!("{name} needs {what}");
    let found = match (name, value) {
        ("perfect-branches", None) => Change::PerfectBranches,
        ("perfect-fetch", None) => Change::PerfectFetch,
        ("unlimited-bandwidth", None) => Change::UnlimitedBandwidth,
        ("private-caches", None) => Change::PrivateCaches,
        ("private-links", None) => Change::PrivateLinks,
        ("private-memory", None) => Change::PrivateMemory,
        ("no-coherence", None) => Change::NoCoherence,
        ("one-ipc", None) => Change::OneIpc,
        ("padded", None) => Change::Padded,
        ("free-locks", None) => Change::FreeLocks(None),
        ("perfect-cache", value) => {
            let level = value.and_then(|value| value.parse().ok()).filter(|level| (1..=3).contains(level));
            Change::PerfectCache(level.ok_or_else(|| needs("a level: perfect-cache=1, 2 or 3"))?)
        }
        ("bandwidth", value) => {
            Change::Bandwidth(value.and_then(factor).ok_or_else(|| needs("a factor, such as bandwidth=2"))?)
        }
        (name, Some(value)) if name.contains('.') || FIELDS.contains(&name) => {
            Change::Field(name.to_owned(), value.to_owned())
        }
        _ => return Err(unknown(word)),
    };
    Ok(found)
}

/// Fields of a machine that are in no table, and that a what-if may be about.
const FIELDS: &[&str] = &["frequency", "sockets", "cores-per-socket", "page-walk", "coherence"];

fn factor(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|factor| factor.is_finite() && *factor > 0.0)
}

/// A machine and a program that are changed.
pub(super) struct Changed {
    pub(super) machine: Machine,
    pub(super) changes: Changes,
    /// What was changed, in words for people.
    pub(super) words: Vec<String>,
    /// What is falsely shared without the changes has lines of its own.
    pub(super) pads: bool,
}

/// What the words of a what-if can name.
pub(super) struct Nameable<'a> {
    pub(super) machine: &'a Machine,
    pub(super) cores: u32,
    pub(super) program: &'a Program,
    /// The addresses of the instructions at `FILE:LINE` or in a function.
    pub(super) at: &'a dyn Fn(&str) -> BTreeSet<u64>,
}

impl WhatIf {
    /// The changes of this machine and program.
    ///
    /// # Errors
    /// What it names and is not there, in words.
    pub(super) fn of(&self, named: &Nameable<'_>) -> Result<Changed, String> {
        let mut changed = Changed {
            machine: named.machine.clone(),
            changes: Changes::default(),
            words: Vec::new(),
            pads: false,
        };
        for change in &self.0 {
            let word = change.make(&mut changed, named)?;
            changed.words.push(word);
        }
        Ok(changed)
    }
}

/// An address in hexadecimal.
fn address(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

impl Change {
    /// Makes the change, and gives it in words.
    fn make(&self, changed: &mut Changed, named: &Nameable<'_>) -> Result<String, String> {
        let changes = &mut changed.changes;
        let word = match self {
            Change::PerfectBranches => {
                changes.perfect_branches = true;
                "perfect branches".to_owned()
            }
            Change::PerfectCache(level) => {
                changes.perfect_cache = Some(*level);
                format!("perfect L{level}")
            }
            Change::PerfectFetch => {
                changes.perfect_fetch = true;
                "perfect fetch".to_owned()
            }
            Change::UnlimitedBandwidth => {
                changes.unlimited_bandwidth = true;
                "unlimited bandwidth".to_owned()
            }
            Change::Bandwidth(times) => {
                changes.bandwidth = Some(*times);
                format!("{times} × bandwidth")
            }
            Change::PrivateCaches => {
                changes.private_caches = true;
                "private caches".to_owned()
            }
            Change::PrivateLinks => {
                changes.private_links = true;
                "private interconnects".to_owned()
            }
            Change::PrivateMemory => {
                changes.private_memory = true;
                "private memory".to_owned()
            }
            Change::NoCoherence => {
                changes.no_coherence = true;
                "no coherence".to_owned()
            }
            Change::OneIpc => {
                changed.machine.core.model = holdup_sim::machine::CoreModel::OneIpc;
                "one-IPC core".to_owned()
            }
            Change::Padded => {
                changed.pads = true;
                "no false sharing".to_owned()
            }
            Change::FreeLocks(None) => {
                changes.free_locks = Some(BTreeSet::new());
                "free locks".to_owned()
            }
            Change::FreeLocks(Some(name)) => {
                let locks = locks(name, named.program)?;
                let freed = changes.free_locks.get_or_insert_default();
                freed.extend(locks);
                format!("{name} free")
            }
            Change::WithoutMisses(name) => {
                changes.erased.extend(without_misses(&name.to_string(), named)?);
                format!("no misses at {name}")
            }
            Change::FasterThreads(name, times) => {
                let threads = (0..).zip(&named.program.threads).map(|(index, thread)| (index, thread.number));
                for index in numbered("thread", name, threads)? {
                    changes.faster_threads.insert(index, *times);
                }
                format!("thread {name} {times} × as fast")
            }
            Change::FasterCores(name, times) => {
                for core in numbered("core", name, (0..named.cores).map(|core| (core, core)))? {
                    changes.faster_cores.insert(core, *times);
                }
                format!("core {name} {times} × as fast")
            }
            Change::Field(key, value) => {
                changed.machine = with_field(&changed.machine, key, value)?;
                format!("{key} {}", value.trim_matches(['"', '\'']))
            }
        };
        Ok(word)
    }
}

/// The locks of this name, else those whose names have it in them.
fn locks(name: &Pattern, program: &Program) -> Result<BTreeSet<u32>, String> {
    let part = name.to_string();
    let all = || (0..).zip(&program.locks);
    let mut found: BTreeSet<u32> =
        all().filter(|(_, lock)| name.matches(lock)).map(|(index, _)| index).collect();
    if found.is_empty() && !name.is_open() {
        found = all().filter(|(_, lock)| lock.contains(&part)).map(|(index, _)| index).collect();
    }
    if !found.is_empty() {
        return Ok(found);
    }
    const SHOWN: usize = 8;
    let mut all: Vec<&str> = program.locks.iter().map(String::as_str).collect();
    all.sort_unstable();
    all.dedup();
    let more = if all.len() > SHOWN { ", …" } else { "" };
    let known: Vec<String> = all.iter().take(SHOWN).map(|lock| selector::quoted(lock)).collect();
    Err(match known.is_empty() {
        true => "the program takes no lock".to_owned(),
        false => format!("no lock is named `{part}`; there is {}{more}", known.join(", ")),
    })
}

/// The indices of threads or cores with numbers that a name stands for: `3`, `#3`, `*`.
fn numbered(
    what: &str,
    name: &Pattern,
    all: impl Iterator<Item = (u32, u32)> + Clone,
) -> Result<Vec<u32>, String> {
    let is_it = |number: u32| name.matches(&number.to_string()) || name.matches(&format!("#{number}"));
    let found: Vec<u32> = all.clone().filter(|(_, number)| is_it(*number)).map(|(index, _)| index).collect();
    if found.is_empty() {
        let known = numbers(all.map(|(_, number)| number));
        return Err(format!("there is no {what} {name}; there are {known}"));
    }
    Ok(found)
}

fn without_misses(text: &str, named: &Nameable<'_>) -> Result<BTreeSet<u64>, String> {
    let found = match address(text) {
        Some(address) => {
            let is_there = named.program.code.instructions.iter().any(|found| found.address == address);
            is_there.then_some(address).into_iter().collect()
        }
        None => (named.at)(text),
    };
    if found.is_empty() {
        return Err(format!("no instruction that was executed is at {text}"));
    }
    Ok(found)
}

/// At most so many numbers.
fn numbers(all: impl Iterator<Item = u32>) -> String {
    const SHOWN: usize = 16;
    let mut shown: Vec<String> = all.take(SHOWN + 1).map(|number| number.to_string()).collect();
    if shown.len() > SHOWN {
        shown[SHOWN] = "…".to_owned();
    }
    shown.join(", ")
}

/// The machine with another value in a field: `memory.channels`.
fn with_field(machine: &Machine, key: &str, value: &str) -> Result<Machine, String> {
    let parsed: BTreeMap<String, toml::Value> = toml::from_str(&format!("value = {value}"))
        .or_else(|_| toml::from_str(&format!("value = {value:?}")))
        .map_err(|_| format!("{key}: `{value}` is no value"))?;
    let mut text: toml::Table =
        toml::from_str(&machine.to_toml()).map_err(|error| format!("{}: {error}", machine.name))?;
    let (tables, field) = key.rsplit_once('.').unwrap_or(("", key));
    let mut table = &mut text;
    for name in tables.split('.').filter(|name| !name.is_empty()) {
        let known = table.keys().cloned().collect::<Vec<_>>().join(", ");
        table = table.get_mut(name).and_then(toml::Value::as_table_mut).ok_or_else(|| {
            format!("{key}: the machine {} has no `{name}`; there is {known}", machine.name)
        })?;
    }
    let value = parsed.into_values().next().unwrap_or(toml::Value::Boolean(true));
    // Who writes 2 may mean 2.0.
    let value = match (table.get(field), value) {
        (Some(toml::Value::Float(_)), toml::Value::Integer(whole)) => toml::Value::Float(whole as f64),
        (_, value) => value,
    };
    table.insert(field.to_owned(), value);
    Machine::parse(&text.to_string()).map_err(|error| format!("{key}={}: {error}", table_value(&text, key)))
}

fn table_value(text: &toml::Table, key: &str) -> String {
    let mut names = key.split('.');
    let first = names.next().and_then(|name| text.get(name));
    names.fold(first, |at, name| at?.get(name)).map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use holdup_sim::SimThread;

    use super::*;

    fn program() -> Program {
        let thread = |number| SimThread { number, ..SimThread::default() };
        Program {
            threads: vec![thread(0), thread(3)],
            locks: vec!["queue_lock".to_owned(), "log".to_owned(), "queue_lock2".to_owned()],
            ..Program::default()
        }
    }

    fn of(text: &str) -> Result<Changed, String> {
        let machine = Machine::named("dunnington").expect("a machine that comes with the binary");
        let at = |text: &str| match text {
            "app.c:42" => BTreeSet::from([7, 9]),
            _ => BTreeSet::new(),
        };
        let named = Nameable { machine: &machine, cores: 4, program: &program(), at: &at };
        text.parse::<WhatIf>()?.of(&named)
    }

    #[test]
    fn changes_with_commas_between_them_are_made_together() {
        let changed = of("perfect-branches, perfect-cache=2,bandwidth=1.5").unwrap();
        let expected = Changes {
            perfect_branches: true,
            perfect_cache: Some(2),
            bandwidth: Some(1.5),
            ..Changes::default()
        };
        assert_eq!(changed.changes, expected);
        assert!(!changed.pads && of("padded,perfect-fetch").unwrap().pads);
        assert_eq!(changed.words, ["perfect branches", "perfect L2", "1.5 × bandwidth"]);
    }

    #[test]
    fn locks_lines_and_threads_are_found_by_what_they_are_called() {
        assert_eq!(of("free-locks").unwrap().changes.free_locks, Some(BTreeSet::new()));
        let free = |text| of(text).unwrap().changes.free_locks;
        assert_eq!(free("lock:queue=0"), Some(BTreeSet::from([0, 2])));
        assert_eq!(free("lock:queue_lock=0"), Some(BTreeSet::from([0])));
        assert_eq!(free("lock:*o*=0,lock:'log'=0"), Some(BTreeSet::from([0, 1, 2])));
        assert_eq!(of("misses:app.c:42=0").unwrap().changes.erased, BTreeSet::from([7, 9]));
        assert_eq!(of("thread:3/2").unwrap().changes.faster_threads, BTreeMap::from([(1, 2.0)]));
        let all = BTreeMap::from([(0, 2.0), (1, 2.0)]);
        assert_eq!(of("thread:*/2").unwrap().changes.faster_threads, all);
        assert_eq!(of("core:#3/0.5").unwrap().changes.faster_cores, BTreeMap::from([(3, 0.5)]));
    }

    #[test]
    fn any_number_of_the_machine_can_be_another() {
        assert_eq!(of("memory.channels=1").unwrap().machine.memory.channels, 1);
        assert_eq!(of("frequency=3").unwrap().machine.frequency, 3.0);
        let one = of("one-ipc").unwrap().machine.core.model;
        assert_eq!(one, holdup_sim::machine::CoreModel::OneIpc);
        assert_eq!(of("core.model=one-ipc").unwrap().machine.core.model, one);
        assert_eq!(of("memory.channels=1").unwrap().words, ["memory.channels 1"]);
    }

    #[test]
    fn what_cannot_be_is_said() {
        for (wrong, said) in [
            ("", "say what to change"),
            ("fly", "`fly` is no change"),
            ("perfect-branches=1", "is no change"),
            ("perfect-cache=4", "perfect-cache=1, 2 or 3"),
            ("bandwidth=-1", "a factor"),
            ("bandwidth=NaN", "a factor"),
            ("misses:b.c:1=0", "no instruction that was executed is at b.c:1"),
            ("misses:0x1234=0", "no instruction"),
            ("misses:app.c:42/2", "is no change"),
            ("lock:nobody=0", "there is log, queue_lock, queue_lock2"),
            ("lock:l*c=0", "no lock is named `l*c`"),
            ("lock:'log=0", "is no change"),
            ("free-locks=log", "lock:NAME=0"),
            ("thread:2/2", "there is no thread 2; there are 0, 3"),
            ("core:4/2", "there is no core 4; there are 0, 1, 2, 3"),
            ("core:1/x", "such as core:0/2"),
            ("memory.chanels=1", "chanels"),
            ("memory.channels=0", "channels"),
            ("mem.channels=1", "has no `mem`"),
        ] {
            let found = of(wrong).map(|changed| changed.words).expect_err(wrong);
            assert!(found.contains(said), "{wrong}: {found}");
        }
    }
}
