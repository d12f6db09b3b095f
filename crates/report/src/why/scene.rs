//! What an answer is told with: the program, its threads, its source.

use std::collections::{BTreeMap, BTreeSet};

use holdup_imbalance::{SectionWhy, Why};
use holdup_model::counts::ThreadLabel;
use holdup_model::{Frame, Nanos};

use super::removed::Removed;
use crate::SourceFile;
use crate::{Look, escape};

/// What is known of a run beside what makes its threads unequal.
#[derive(Clone, Debug, Default)]
pub struct WhyScene {
    /// The command that was run; empty where it is not known. Hostile.
    pub command: Vec<String>,
    /// The threads that were counted.
    pub threads: Vec<ThreadLabel>,
    /// How long the program ran natively, where such a run is at hand.
    pub wall: Option<Nanos>,
    /// Source files by the names that [`why_source_files`] gives.
    pub sources: BTreeMap<String, SourceFile>,
    /// What simulations without causes gave; empty where there were none.
    pub removed: Vec<Removed>,
    /// Tell of all sections and causes in the terminal, the minor ones too.
    pub all: bool,
}

/// Names of the source files in which causes are, as the program's debug information has them.
pub fn why_source_files(why: &Why) -> BTreeSet<String> {
    let causes = why.sections.iter().flat_map(|section| &section.causes);
    let frames =
        causes.flat_map(|cause| cause.at.iter().chain(&cause.to).chain(cause.latch.iter().flatten()));
    frames.filter_map(|frame| frame.file.clone()).collect()
}

impl WhyScene {
    /// The file name of the program, without its directory.
    pub(crate) fn program(&self, look: Look) -> String {
        match self.command.first().map(|path| path.rsplit('/').next().unwrap_or(path)) {
            Some(file) if !file.is_empty() => escape::name(file, look),
            _ => "the program".to_owned(),
        }
    }

    /// What each thread of a section is called: its number, and its name where it has one that not all of them have.
    pub(crate) fn threads(&self, section: &SectionWhy, look: Look) -> Vec<String> {
        let name = |number: &u32| {
            let label = self.threads.iter().find(|label| label.number == *number)?;
            label.name.as_deref().filter(|name| !name.is_empty())
        };
        let names: BTreeSet<Option<&str>> = section.thread_numbers.iter().map(name).collect();
        let is_told = names.len() > 1;
        let told = |number: &u32| match name(number).filter(|_| is_told) {
            Some(name) => format!("{number} {}", escape::short_name(name, look)),
            None => number.to_string(),
        };
        section.thread_numbers.iter().map(told).collect()
    }

    /// The source of a line, where it is at hand. Hostile.
    pub(crate) fn line(&self, frame: &Frame) -> Option<&str> {
        self.source(frame)?.line(frame.line?)
    }

    /// The source file of a frame.
    pub(crate) fn source(&self, frame: &Frame) -> Option<&SourceFile> {
        self.sources.get(frame.file.as_deref()?)
    }

    /// True if the source of a place tells the compiler to divide the iterations of a loop among threads.
    pub(crate) fn is_parallel_loop(&self, place: &[Frame]) -> bool {
        let line = Frame::place_of(place).and_then(|frame| self.line(frame)).unwrap_or_default().trim_start();
        let lower = line.to_ascii_lowercase();
        let clauses = ["#pragma", "!$omp"].iter().find_map(|begin| lower.strip_prefix(begin));
        let mut words = clauses.unwrap_or_default().split(|c: char| !c.is_alphanumeric());
        words.any(|word| matches!(word, "for" | "do"))
    }

    /// True if a place is the line that opens its function, where nothing is decided in the source.
    pub(crate) fn is_opening(&self, place: &[Frame]) -> bool {
        let Some(frame) = Frame::place_of(place) else { return false };
        let (Some(function), Some(line)) = (&frame.function, self.line(frame)) else { return false };
        let line = line.trim();
        let name = function.split('(').next().unwrap_or(function).rsplit("::").next().unwrap_or(function);
        let opens = line.ends_with('{') && line.contains(&format!("{name}("));
        let decides = |word: &str| line.starts_with(word);
        opens
            && line.matches(['{', ';', '?']).count() == 1
            && !["if", "while", "}", "else", "switch"].iter().any(|word| decides(word))
    }

    /// What the program decides on at a place: `owner(i, j) == me`.
    pub(crate) fn decision(&self, place: &[Frame], look: Look) -> Option<String> {
        let line = self.line(Frame::place_of(place)?)?;
        let text = escape::visible(condition(line), look);
        (!text.is_empty()).then(|| escape::cut_end(&text, DECISION, look))
    }
}

/// The most columns of a decision.
const DECISION: usize = 60;

/// What is decided in a line: that between the parentheses of an `if` or a loop, or the whole line without what encloses
/// it.
fn condition(line: &str) -> &str {
    const WORDS: [&str; 5] = ["if", "while", "for", "switch", "match"];
    let line = line.trim();
    let begun = line.trim_start_matches(['}', ' ']);
    let begun = begun.strip_prefix("else ").map_or(begun, str::trim_start);
    let rest =
        WORDS.iter().find_map(|word| begun.strip_prefix(word).filter(|rest| rest.starts_with([' ', '('])));
    let Some(rest) = rest.map(str::trim_start) else {
        let line = line.strip_prefix("return ").map_or(line, |value| value.trim_end_matches(';'));
        return line.trim_end_matches(['{', ' ']);
    };
    match rest.strip_prefix('(').and_then(enclosed) {
        Some((inside, behind)) if is_end(behind) => match inside.split(';').collect::<Vec<_>>()[..] {
            // The middle of a loop's head says how long it turns.
            [_, goes_on, _] if !goes_on.trim().is_empty() => goes_on.trim(),
            _ => inside.trim(),
        },
        _ => rest.trim_end_matches(['{', ' ']),
    }
}

/// Text up to the parenthesis that closes it, and what follows.
fn enclosed(text: &str) -> Option<(&str, &str)> {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        if depth == 0 {
            return Some((&text[..at], &text[at + 1..]));
        }
    }
    None
}

/// True for what may follow a condition in parentheses; an operator makes them a part of it.
fn is_end(behind: &str) -> bool {
    let behind = behind.trim_start();
    behind.is_empty()
        || behind.starts_with(['{', ';', '/'])
        || behind.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is asked of the first line of a file, in a function that is called body.
    fn of_line(line: &str, asked: fn(&WhyScene, &[Frame]) -> bool) -> bool {
        let place = [Frame {
            function: Some("body".to_owned()),
            file: Some("a.c".to_owned()),
            line: Some(1),
            ..Frame::default()
        }];
        let source = SourceFile::whole(vec![line.to_owned()], false);
        let sources = BTreeMap::from([("a.c".to_owned(), source)]);
        asked(&WhyScene { sources, ..WhyScene::default() }, &place)
    }

    #[test]
    fn a_parallel_loop_is_known_by_what_it_says_to_the_compiler() {
        for (line, is) in [
            ("  #pragma omp parallel for schedule(static) shared(x)", true),
            ("#pragma omp for", true),
            ("!$OMP PARALLEL DO PRIVATE(I)", true),
            ("#pragma omp parallel copyin(x)", false),
            ("#pragma omp parallel // for all", true),
            ("for (int i = 0; i < n; i++) // omp", false),
            ("", false),
        ] {
            assert_eq!(of_line(line, WhyScene::is_parallel_loop), is, "{line}");
        }
    }

    #[test]
    fn a_line_that_opens_a_function_decides_nothing() {
        for (line, is) in [
            ("static void *body(void *argument) {", true),
            ("pub fn body(rows: &[u32]) -> u32 {", true),
            ("static void *body(void *argument)", false),
            ("int body(int n) { return n > 0 ? 1 : 2; }", false),
            ("    if (body(n) > 3) {", false),
            ("for (int i = 0; i < n; i++) {", false),
        ] {
            assert_eq!(of_line(line, WhyScene::is_opening), is, "{line}");
        }
    }

    #[test]
    fn a_condition_is_what_is_decided_on() {
        for (line, told) in [
            ("  if (BlockOwner(I, J) == MyNum) {  /* parcel out */", "BlockOwner(I, J) == MyNum"),
            ("} else if (a(b)) c();", "a(b)"),
            ("\twhile ((offset & 0x1) != 0)", "(offset & 0x1) != 0"),
            ("if (a) && (b) {", "(a) && (b)"),
            ("if owner(i) == me {", "owner(i) == me"),
            ("for (i = 0; i < n; i++)", "i < n"),
            ("for (;;) {", ";;"),
            ("for (auto &row : rows) {", "auto &row : rows"),
            ("ifs(3);", "ifs(3);"),
            ("return f(x) ? g(y) : 0;", "f(x) ? g(y) : 0"),
            ("if (broken((", "(broken(("),
            ("{", ""),
            ("if", "if"),
        ] {
            assert_eq!(condition(line), told, "{line}");
        }
    }
}
