//! What a new command needs for a terminal and a page: a function that makes its answer, here `answer`.

use holdup_answer::{Answer, Block, KeyFigure, Section, Table, Weight};
use holdup_model::{Stack, StackComponent, Unit};
use holdup_report::{Look, answer_page, render_answer};
use scraper::Html;
use unicode_width::UnicodeWidthStr;

use crate::shared::page::{NAMES, check, select, texts};

/// A made-up command about queues of this name: how long they are, and who fills them.
fn answer(name: &str, queues: usize) -> Answer {
    let rows: Vec<(String, u64)> =
        (0..queues).map(|at| (format!("{name} {at}"), 12 * (queues - at) as u64)).collect();
    let parts = |length: u64| {
        let part = |key, color, amount: u64| StackComponent::new(key, name.to_owned(), color, amount as f64);
        Stack::of(Unit::Nanos, vec![part("full", "lock", length), part("empty", "io", 3)])
    };
    let queues = Table::of("Queues", &rows)
        .words("queue", |(name, _)| name.clone())
        .numbers("length", |(_, length)| length.to_string())
        .numbers("time in it", |(_, length)| format!("{length} µs"))
        .words("filled by", |_| format!("a thread of {name} in a function with a long name"))
        .if_there_is_room()
        .shares("", "act", |(_, length)| *length as f64 / 120.0)
        .stacks("full, or empty", |(_, length)| Some(parts(*length)))
        .weighed(|(_, length)| if *length > 12 { Weight::Strong } else { Weight::Part })
        .at_most(3, 5);
    Answer {
        command: "holdup queues",
        subject: name.to_owned(),
        headline: format!("{name} is full for 71 % of the time. It is 12 places long."),
        program: vec!["./app".to_owned(), name.to_owned()],
        figures: vec![KeyFigure { name: "Full", value: "71 %".to_owned() }],
        warnings: vec![format!("{name} was seen in part")],
        sections: vec![
            Section {
                heading: "Which queue".to_owned(),
                aside: "by how long they are".to_owned(),
                lead: vec![format!("{name} is the longest."), "Others are short.".to_owned()],
                blocks: vec![queues.block(), Block::Key(vec![("lock", "full".to_owned())])],
            },
            Section {
                heading: "Which queue".to_owned(),
                blocks: vec![
                    Block::Heading("All together".to_owned()),
                    Block::Text(format!("Beside {name} there is nothing.")),
                    Block::Bar { label: "all".to_owned(), stack: parts(9) },
                ],
                ..Section::default()
            },
        ],
        notes: vec!["it is made up".to_owned()],
    }
}

#[test]
fn one_answer_is_shown_in_a_terminal() {
    let text = render_answer(&answer("jobs", 5), Look::plain(80));
    let expected = "\
jobs is full for 71 % of the time. It is 12 places long.

Which queue: jobs is the longest.
Others are short.
by how long they are

  queue   length  time in it  filled by
  jobs 0      60       60 µs  a thread of jobs in a function with a long name
  jobs 1      48       48 µs  a thread of jobs in a function with a long name
  jobs 2      36       36 µs  a thread of jobs in a function with a long name
  and 2 more: holdup queues --json

Which queue
All together
Beside jobs there is nothing.

  warning       jobs was seen in part.
  note          it is made up.
";
    assert_eq!(text, expected);
    // Where there is more room the shares stand beside it as bars.
    let bar = format!("  {}", "█".repeat(12));
    assert!(render_answer(&answer("jobs", 5), Look::plain(120)).lines().any(|line| line.ends_with(&bar)));
}

#[test]
fn the_same_answer_is_shown_on_a_page() {
    let text = answer_page(&answer("jobs", 9));
    check(&text);
    let page = Html::parse_document(&text);
    assert_eq!(texts(&page, "h1"), ["jobs is full for 71 % of the time. It is 12 places long."]);
    assert_eq!(texts(&page, "nav a"), ["Which queue", "Which queue", "Notes"]);
    let rows = texts(&page, "#answer tbody th");
    assert_eq!((rows.len(), rows[0].as_str()), (5, "jobs 0"));
    assert_eq!(texts(&page, "#answer p.sub"), ["and 4 more: holdup queues --json"]);
    // A share and a stack for each row, and the colours of the key.
    assert_eq!(select(&page, "#answer tbody svg").len(), 10);
    assert_eq!(texts(&page, ".warnings li"), ["jobs was seen in part"]);
}

#[test]
fn answers_fit_and_hostile_names_do_nothing() {
    for name in NAMES.iter().copied().chain(["", "日本語の名前", &"long::".repeat(200)]) {
        for queues in [0, 1, 7] {
            let answer = answer(name, queues);
            check(&answer_page(&answer));
            for width in [40, 64, 80, 120] {
                let text = render_answer(&answer, Look::plain(width));
                assert!(!text.contains(['\u{1b}', '\u{202e}', '\0']), "{text}");
                let longest = text.lines().map(UnicodeWidthStr::width).max().unwrap_or(0);
                assert!(longest <= width, "{longest} of {width}:\n{text}");
            }
        }
    }
}
