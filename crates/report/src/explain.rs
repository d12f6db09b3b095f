//! What each kind of finding, of note about the environment, of hint, and of finding of a simulation means: the pages of `holdup explain`.
//!
//! A page is a Markdown file in `docs/explain/`, so that it can be read there too. The table below makes a kind
//! without a page an error of the compiler. The build script packs the pages together.

mod markdown;

use std::cmp::Reverse;
use std::io::Read;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use holdup_criticality::{FindingKind, NoteKind};
use holdup_model::Arrange;
use holdup_scaling::HintKind;

use crate::Look;
use crate::ink::Ink;
use crate::lines::{Line, painted, wrapped};
use crate::scaling::words;

/// What a page is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Subject {
    Finding(FindingKind),
    Note(NoteKind),
    Hint(HintKind),
    /// What only `holdup sim` finds, by its word.
    Simulated(&'static str),
    /// A component of `holdup stack` that is nothing else, by its word.
    Component(&'static str),
}

/// The pages, each as its name and its text, with a zero byte behind either.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/explain.gz"));

/// [`PACKED`], unpacked.
static UNPACKED: LazyLock<String> = LazyLock::new(|| {
    let mut text = String::new();
    GzDecoder::new(PACKED).read_to_string(&mut text).expect("what the build script packed");
    text
});

/// The text of a page.
fn text_of(name: &str) -> &'static str {
    let mut parts = UNPACKED.split('\0');
    while let (Some(found), Some(text)) = (parts.next(), parts.next()) {
        if found == name {
            return text;
        }
    }
    unreachable!("the build script packs {name}.md, which is there")
}

/// The name of a page that is there.
macro_rules! page {
    ($file:literal) => {{
        const _: &str = include_str!(concat!("../../../docs/explain/", $file, ".md"));
        $file
    }};
}

/// The table, and a function that does not compile where a kind is not in it.
macro_rules! pages {
    ($kind:ident, $subjects:ident: $($variant:ident $file:literal,)*) => {
        const $subjects: &[($kind, &str)] =
            &[$(($kind::$variant, page!($file)),)*];
        const _: fn($kind) = |kind| match kind {
            $($kind::$variant => (),)*
        };
    };
}

pages! { FindingKind, FINDINGS:
    Lock "lock",
    Barrier "barrier",
    Imbalance "imbalance",
    Serial "serial",
    Pipeline "pipeline",
    Queue "queue",
    Condition "condition",
    Semaphore "semaphore",
    Tasks "tasks",
    Join "join",
    Startup "startup",
    Spin "spin",
    Sharing "sharing",
    Faults "faults",
    Io "io",
    Sleep "sleep",
    Blocked "blocked",
    Idle "idle",
    Deadlock "deadlock",
    Hang "hang",
    WakeUp "wakeup",
    Oversubscription "oversubscription",
    Quota "quota",
    Affinity "affinity",
    Load "load",
    Delayed "delayed",
}

// A quota is a finding where its cost is known, and other load never: one page tells of both.
pages! { NoteKind, NOTES:
    Quota "quota",
    Load "load",
    Smt "smt",
    Hybrid "hybrid",
    Frequency "frequency",
    Numa "numa",
    Swap "swap",
    Memory "memory",
}

pages! { HintKind, HINTS:
    Schedule "schedule",
    Barriers "barriers",
    Runtime "runtime",
    LockHint "lock-hint",
    Atomic "atomic",
    QueueLock "queue-lock",
    FewerConcurrent "fewer-concurrent",
    CoarserRegions "coarser-regions",
    Collapse "collapse",
    TaskCutoff "task-cutoff",
    MoreTasks "more-tasks",
    Parallelize "parallelize",
    Memory "memory-use",
    FewerThreads "fewer-threads",
}

/// Findings of `holdup sim`, which has no type of them.
const SIMULATED: &[&str] = &[page!("false-sharing")];

/// Components of a measured speedup stack that no finding tells of.
const COMPONENTS: &[&str] = &[page!("shared-cache"), page!("shared-memory"), page!("extra-work")];

/// Words that are offered in place of one that is no kind.
const MOST_OFFERED: usize = 3;

/// A word this like a kind (Jaro-Winkler similarity, from 0 to 1) is most likely a slip.
const ALIKE: f64 = 0.8;

/// A word that a page has less often than this is not what the page is about.
const OFTEN: usize = 2;

/// The page about one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Explanation {
    subject: Subject,
    text: &'static str,
}

impl Explanation {
    /// Every page: findings first, then what is told beside them, then the hints of `holdup scale`, then what `holdup sim` and
    /// `holdup stack` find. Kinds that are both have one page.
    pub fn all() -> impl Iterator<Item = Explanation> {
        let findings = FINDINGS.iter().filter(|(kind, _)| kind.is_finding());
        let is_told = |kind: NoteKind| findings.clone().any(|(finding, _)| finding.word() == kind.word());
        let notes: Vec<_> = NOTES.iter().filter(|(kind, _)| !is_told(*kind)).collect();
        let page = |subject, name: &str| Explanation { subject, text: text_of(name) };
        let notes = notes.into_iter().map(move |&(kind, name)| page(Subject::Note(kind), name));
        let findings = findings.map(move |&(kind, name)| page(Subject::Finding(kind), name));
        let hints = HINTS.iter().map(move |&(kind, name)| page(Subject::Hint(kind), name));
        let simulated = SIMULATED.iter().map(move |&word| page(Subject::Simulated(word), word));
        let components = COMPONENTS.iter().map(move |&word| page(Subject::Component(word), word));
        findings.chain(notes).chain(hints).chain(simulated).chain(components)
    }

    /// The page about the kind of this word, as `--json` has it; case does not matter.
    pub fn of(word: &str) -> Option<Explanation> {
        Explanation::all().find(|page| page.word().eq_ignore_ascii_case(word))
    }

    /// Words of pages that somebody may have meant by `word`: those that are spelled like it, else those whose pages
    /// mention it, the likeliest first. At most three.
    pub fn meant_by(word: &str) -> Vec<&'static str> {
        let word = word.to_lowercase();
        let mut alike: Vec<(f64, &str)> = Explanation::all()
            .map(|page| (strsim::jaro_winkler(&word, page.word()), page.word()))
            .filter(|(likeness, _)| *likeness >= ALIKE)
            .collect();
        alike.arrange_by(|a, b| b.0.total_cmp(&a.0));
        let mut mentioned: Vec<(usize, &str)> =
            Explanation::all().map(|page| (page.mentions(&word), page.word())).collect();
        mentioned.retain(|(count, _)| *count >= OFTEN);
        mentioned.arrange_by_key(|(count, _)| Reverse(*count));
        let words: Vec<&str> = match alike.is_empty() {
            false => alike.into_iter().map(|(_, word)| word).collect(),
            true => mentioned.into_iter().map(|(_, word)| word).collect(),
        };
        words.into_iter().take(MOST_OFFERED).collect()
    }

    /// The word for the kind, as in `--json`.
    pub fn word(&self) -> &'static str {
        match self.subject {
            Subject::Finding(kind) => kind.word(),
            Subject::Note(kind) => kind.word(),
            Subject::Hint(kind) => words::hint_kind(kind),
            Subject::Simulated(word) | Subject::Component(word) => word,
        }
    }

    /// What the kind is, in a line: the page's title behind the word.
    pub fn summary(&self) -> &'static str {
        let title = self.text.lines().next().unwrap_or_default();
        title.split_once(": ").map_or(title, |(_, summary)| summary)
    }

    /// The page as Markdown.
    pub fn markdown(&self) -> &'static str {
        self.text
    }

    /// The page for a terminal.
    pub fn render(&self, look: Look) -> String {
        painted(&markdown::lines(self.text, self.ink(), look), look)
    }

    fn ink(&self) -> Ink {
        match self.subject {
            Subject::Finding(kind) => Ink::Mark(kind.color()),
            Subject::Note(_) | Subject::Hint(_) | Subject::Simulated(_) | Subject::Component(_) => {
                Ink::Strong
            }
        }
    }

    fn mentions(&self, word: &str) -> usize {
        if word.is_empty() {
            return 0;
        }
        let words = self.text.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.filter(|other| other.to_lowercase() == word).count()
    }
}

/// The list of all pages, a line each.
pub fn explanations(look: Look) -> String {
    let room = Explanation::all().map(|page| page.word().len()).max().unwrap_or(0) + 4;
    let group = |title: &str, is_in: fn(&Subject) -> bool| {
        let mut lines = wrapped(title, 0, Ink::Strong, look);
        for page in Explanation::all().filter(|page| is_in(&page.subject)) {
            let word = Line::indented(2).with(page.word(), page.ink());
            match wrapped(page.summary(), room, Ink::Text, look) {
                long if long.len() > 1 => {
                    lines.push(word);
                    lines.extend(long);
                }
                _ => lines.push(word.at_column(page.summary(), room, Ink::Text)),
            }
        }
        lines
    };
    let mut lines = group("findings, which have a cost", |subject| matches!(subject, Subject::Finding(_)));
    lines.push(Line::default());
    lines.extend(group("notes about the environment", |subject| matches!(subject, Subject::Note(_))));
    lines.push(Line::default());
    lines.extend(group("hints of holdup scale", |subject| matches!(subject, Subject::Hint(_))));
    lines.push(Line::default());
    lines.extend(group("findings of holdup sim", |subject| matches!(subject, Subject::Simulated(_))));
    lines.push(Line::default());
    lines.extend(group("components of holdup stack", |subject| matches!(subject, Subject::Component(_))));
    lines.push(Line::default());
    lines.extend(wrapped("holdup explain KIND shows a page.", 0, Ink::Faint, look));
    painted(&lines, look)
}
