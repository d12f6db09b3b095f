//! Text from the measured program, made safe to show.
//!
//! Thread, symbol, file and command names are chosen by the program, so they may hold escape sequences that
//! rewrite the screen, line breaks that forge a line of the answer, or marks that turn the reading direction.

use std::fmt::Write;

use crate::Look;
use crate::shorten::{self, shortened};

/// The most columns that one name in a bar or a list takes: a kernel thread name has 15 bytes.
const SHORT: usize = 18;

/// The most columns that one sentence takes.
const SENTENCE: usize = 400;

/// The most columns that a name takes to be told apart from another one: no name is longer (`MAX_NAME_BYTES` of the symbols).
const MOST_APART: usize = 4096;

/// Text made safe for a terminal and otherwise left as it is: for messages about files, whose names must stay whole.
pub fn escaped(text: &str) -> String {
    visible(text, Look::plain(Look::WIDEST))
}

/// A name, on one line and short: control characters, line breaks and direction marks are written as escapes
/// (`\n`, `\u{1b}`), and what is too long is [shortened].
pub(crate) fn name(text: &str, look: Look) -> String {
    shortened(&visible(text, look), look.names, look.ellipsis())
}

/// A name for a bar or a list: as [`name`], and shorter.
pub(crate) fn short_name(text: &str, look: Look) -> String {
    let limit = if look.is_whole() { Look::WHOLE } else { SHORT };
    shortened(&visible(text, look), limit, look.ellipsis())
}

/// A sentence that may contain names. Spaces are kept, so that it can be wrapped.
pub(crate) fn sentence(text: &str, look: Look) -> String {
    let text = visible(text, look);
    let short = |word: &&str| {
        let name = word.trim_matches(['(', ')', ',', ';', '.']);
        let at = word.find(name).unwrap_or_default();
        format!("{}{}{}", &word[..at], shortened(name, look.names, look.ellipsis()), &word[at + name.len()..])
    };
    let words: Vec<String> = shorten::words(&text).iter().map(short).collect();
    cut(&words.join(" "), SENTENCE.max(look.names), look)
}

/// The most columns that a few sentences take.
const SENTENCES: usize = 1200;

/// A few sentences, or less, which may have names in them.
pub(crate) fn prose(text: &str, look: Look) -> String {
    // Each of them is cut on its own, so that a long name takes no other sentence with it.
    let parts = text.trim().split_inclusive(". ").map(|part| sentence(part, look));
    cut(&parts.collect::<String>(), SENTENCES, look)
}

/// The same of whole sentences: the last one ends as one too.
pub(crate) fn sentences(text: &str, look: Look) -> String {
    let text = prose(text, look);
    if text.is_empty() || text.ends_with(['.', '!', '?', '…']) { text } else { format!("{text}.") }
}

/// What `show` makes of each of these in this look, or in one with more room for names where it would make two of them the
/// same.
pub(crate) fn apart<T: PartialEq>(all: &[T], look: Look, show: impl Fn(&T, Look) -> String) -> Vec<String> {
    let mut shown: Vec<String> = all.iter().map(|one| show(one, look)).collect();
    let mut names = look.names;
    while names < MOST_APART {
        names = names.saturating_mul(2);
        let wider = Look { names, ..look };
        let is_like_another =
            |at: usize| (0..all.len()).any(|other| all[other] != all[at] && shown[other] == shown[at]);
        let alike: Vec<usize> = (0..all.len()).filter(|at| is_like_another(*at)).collect();
        if alike.is_empty() {
            break;
        }
        for at in alike {
            shown[at] = show(&all[at], wider);
        }
    }
    shown
}

/// Text of any length with nothing in it that acts on a terminal, in the characters of the look.
pub(crate) fn visible(text: &str, look: Look) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if acts_on_terminal(c) => push_escape(&mut out, c),
            c if c.is_ascii() || look.unicode => out.push(c),
            // What holdup's own sentences contain has a plain spelling.
            'µ' | 'μ' => out.push('u'),
            '×' => out.push('x'),
            '·' => out.push('*'),
            'Σ' => out.push_str("sum of "),
            'σ' => out.push_str("sigma"),
            'κ' => out.push_str("kappa"),
            '…' => out.push_str("..."),
            '–' | '—' | '−' => out.push('-'),
            '‘' | '’' => out.push('\''),
            '“' | '”' => out.push('"'),
            '→' => out.push_str("->"),
            '\u{a0}' | '\u{202f}' => out.push(' '),
            c => push_escape(&mut out, c),
        }
    }
    out
}

fn push_escape(out: &mut String, c: char) {
    write!(out, "\\u{{{:x}}}", u32::from(c)).expect("a String takes all that is written to it");
}

/// True for control characters and for those that mislead the reader.
pub(crate) fn acts_on_terminal(c: char) -> bool {
    c.is_control() || misleads(c)
}

/// True for characters that are not seen themselves and change how others are read: direction marks,
/// zero-width characters, tags, variation selectors, and the separators that break lines.
fn misleads(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Takes the middle out of what is wider than `limit` columns, unless nothing is to be shortened.
pub(crate) fn cut(text: &str, limit: usize, look: Look) -> String {
    shorten::cut(text, if look.is_whole() { Look::WHOLE } else { limit }, look.ellipsis())
}

/// Takes the end off what is wider than `limit` columns: of a line of source the begin says most.
pub(crate) fn cut_end(text: &str, limit: usize, look: Look) -> String {
    shorten::cut_end(text, if look.is_whole() { Look::WHOLE } else { limit }, look.ellipsis())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PLAIN: Look = Look::plain(80);
    const ASCII: Look = Look { unicode: false, ..PLAIN };

    #[test]
    fn ordinary_names_stay_as_they_are() {
        for ordinary in ["main", "Größe", "スレッド", "std::vector<int, A<int>>::push_back(int&&)", "a b"]
        {
            assert_eq!(name(ordinary, PLAIN), ordinary);
        }
    }

    #[test]
    fn hostile_names_are_spelled_out() {
        assert_eq!(name("\x1b[2Jx\ny", PLAIN), "\\u{1b}[2Jx\\ny");
        assert_eq!(name("a\u{202e}b\u{2066}c", PLAIN), "a\\u{202e}b\\u{2066}c");
        assert_eq!(name("\u{9b}31m", PLAIN), "\\u{9b}31m");
        assert_eq!(name("line\u{2028}break", PLAIN), "line\\u{2028}break");
    }

    #[test]
    fn the_middle_goes_first() {
        let long = name(&format!("begin{}end", "x".repeat(500)), PLAIN);
        assert_eq!(long.chars().count(), Look::NAMES);
        assert!(long.starts_with("beginx") && long.contains('…') && long.ends_with("xend"), "{long}");
        assert!(name(&"y".repeat(100), ASCII).contains("y...y"));
        assert_eq!(
            (cut_end("スレッド", 5, PLAIN), cut_end("abc", 3, PLAIN)),
            ("スレ…".to_owned(), "abc".to_owned())
        );
    }

    #[test]
    fn plain_terminals_get_plain_characters() {
        assert_eq!(name("3.2 µs × 2", ASCII), "3.2 us x 2");
        assert_eq!(name("é", ASCII), "\\u{e9}");
    }

    #[test]
    fn a_long_word_does_not_take_the_sentence_with_it() {
        let told = sentence(&format!("lock {} is held in f (a.c:3)", "L".repeat(300)), PLAIN);
        assert!(told.starts_with("lock LLL") && told.ends_with(" is held in f (a.c:3)"), "{told}");
    }

    proptest! {
        #[test]
        fn nothing_dangerous_gets_through(text in any::<String>(), unicode: bool) {
            let look = Look { unicode, ..PLAIN };
            for (out, limit) in [(name(&text, look), Look::NAMES), (sentence(&text, look), SENTENCE)] {
                prop_assert!(!out.chars().any(acts_on_terminal), "{out:?}");
                prop_assert!(out.chars().count() <= limit);
                prop_assert!(unicode || out.is_ascii(), "{out:?}");
            }
        }
    }
}
