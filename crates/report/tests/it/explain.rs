//! The pages of `holdup explain`: one for each kind, whole, and readable on every terminal.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use holdup_report::{Explanation, Look, explanations};

const SECTIONS: [&str; 6] = [
    "What it is",
    "How holdup knows",
    "What the cost means",
    "How to fix it",
    "When it is wrong",
    "How to check",
];

/// Wider than this code does not fit into 80 columns with its indentation.
const WIDEST_CODE: usize = 76;

const PLAIN: Look = Look::plain(80);

fn headings(markdown: &str) -> Vec<&str> {
    let mut in_code = false;
    markdown
        .lines()
        .filter(|line| {
            in_code ^= line.starts_with("```");
            !in_code
        })
        .filter_map(|line| line.strip_prefix("## "))
        .collect()
}

#[test]
fn every_page_has_every_section_and_none_is_empty() {
    for page in Explanation::all() {
        let (word, text) = (page.word(), page.markdown());
        assert!(text.starts_with(&format!("# {word}: ")), "{word}: its title must begin with its word");
        assert_eq!(headings(text), SECTIONS, "{word}");
        for section in text.split("\n## ").skip(1) {
            let (heading, body) = section.split_once('\n').expect("a heading has a line of its own");
            assert!(body.trim().len() > 80, "{word}: nothing worth reading under {heading}");
        }
    }
}

#[test]
fn every_page_shows_code_that_fits_a_terminal() {
    for page in Explanation::all() {
        let blocks: Vec<&str> = page.markdown().split("```").skip(1).step_by(2).collect();
        assert!(!blocks.is_empty(), "{} has no code", page.word());
        for line in blocks.iter().flat_map(|block| block.lines()) {
            assert!(line.chars().count() <= WIDEST_CODE, "{}: too wide: {line}", page.word());
            assert!(line.is_ascii(), "{}: code is typed: {line}", page.word());
        }
    }
}

#[test]
fn files_and_kinds_are_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/explain");
    let files: BTreeSet<String> = fs::read_dir(folder)
        .expect("docs/explain")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    let pages: Vec<String> = Explanation::all().map(|page| format!("{}.md", page.word())).collect();
    assert_eq!(pages.iter().collect::<BTreeSet<_>>().len(), pages.len(), "each kind has one page");
    assert_eq!(files, pages.into_iter().collect());
}

#[test]
fn a_page_keeps_all_its_words_at_every_width() {
    // Marks of Markdown are gone, or stand for others.
    let letters = |text: &str| -> String {
        text.chars().filter(|c| !"#`*•-".contains(*c) && !c.is_whitespace()).collect()
    };
    for page in Explanation::all() {
        let source: String = page
            .markdown()
            .lines()
            .filter(|line| !line.starts_with("```"))
            .map(|line| format!("{line}\n"))
            .collect();
        for width in [40, 80, 120] {
            assert_eq!(letters(&page.render(Look { width, ..PLAIN })), letters(&source), "{}", page.word());
        }
    }
}

#[test]
fn lines_are_no_wider_than_the_terminal() {
    for page in Explanation::all() {
        for width in [80, 100, 120] {
            for line in page.render(Look { width, ..PLAIN }).lines() {
                assert!(line.chars().count() <= width, "{}: {line}", page.word());
            }
        }
    }
    for width in [40, 80] {
        for line in explanations(Look { width, ..PLAIN }).lines() {
            assert!(line.chars().count() <= width, "{line}");
        }
    }
}

#[test]
fn looks_are_kept() {
    for page in Explanation::all() {
        let plain = page.render(PLAIN);
        assert!(!plain.contains('\u{1b}'), "{}", page.word());
        assert!(page.render(Look { unicode: false, ..PLAIN }).is_ascii(), "{}", page.word());
        let color = page.render(Look { color: true, ..PLAIN });
        let stripped: String =
            color.split('\u{1b}').map(|part| part.split_once('m').map_or(part, |(_, text)| text)).collect();
        let bare =
            |text: &str| -> Vec<String> { text.lines().map(|line| line.trim_end().to_owned()).collect() };
        // The first part of a split has no code before it.
        assert!(color.starts_with('\u{1b}'), "{}", page.word());
        assert_eq!(bare(&stripped), bare(&plain), "{}", page.word());
    }
}

#[test]
fn the_list_has_every_kind_with_its_summary() {
    let list = explanations(Look { width: 120, ..PLAIN });
    for page in Explanation::all() {
        let line = list.lines().find(|line| line.trim_start().starts_with(&format!("{} ", page.word())));
        let line = line.unwrap_or_else(|| panic!("{} is not in the list", page.word()));
        assert!(line.ends_with(page.summary()) && !page.summary().is_empty(), "{line}");
    }
}

#[test]
fn slips_and_other_words_find_their_page() {
    assert_eq!(Explanation::of("Lock").map(|page| page.word()), Some("lock"));
    assert_eq!(Explanation::of("lok"), None);
    assert_eq!(Explanation::meant_by("lok").first(), Some(&"lock"));
    assert_eq!(Explanation::meant_by("wake-up"), ["wakeup"]);
    assert!(Explanation::meant_by("cgroup").contains(&"quota"));
    assert!(Explanation::meant_by("mutex").contains(&"lock"));
    assert_eq!(Explanation::meant_by("qqqq"), Vec::<&str>::new());
    assert_eq!(Explanation::meant_by(""), Vec::<&str>::new());
}
