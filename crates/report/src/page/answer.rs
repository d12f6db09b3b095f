//! An [`Answer`] as a page.

use std::collections::BTreeSet;

use askama::Template;
use holdup_answer::{Answer, Block, Cells, Table, Weight};
use holdup_model::Stack;

use super::chart::across;
use super::frame::Frame;
use super::header::{Header, KeyFigure, command};
use super::stack_bar::{Reach, StackBar};
use super::text::{Figure, LOOK, unbroken};
use crate::escape::{name, prose, sentences};

/// An answer as one HTML page: no network, no script but its own. The same input gives the same bytes.
pub fn answer_page(answer: &Answer) -> String {
    let mut frame = Frame::new(answer.command, name(&answer.subject, LOOK), header(answer));
    let mut ids = BTreeSet::new();
    for (index, section) in answer.sections.iter().enumerate() {
        let id = if index == 0 { "answer".to_owned() } else { id(&section.heading, &mut ids) };
        let heading = text(&section.heading);
        frame.add(
            &id,
            &heading,
            Markup {
                command: answer.command,
                id: id.clone(),
                heading: heading.clone(),
                aside: text(&section.aside),
                lead: section.lead.iter().map(|lead| text(lead)).collect(),
                blocks: section.blocks.iter().map(block).collect(),
            },
        );
    }
    frame.notes = answer.notes.iter().map(|note| unbroken(&sentences(note, LOOK))).collect();
    frame.page()
}

/// A place on the page for a section of this heading.
fn id(heading: &str, taken: &mut BTreeSet<String>) -> String {
    let letters = heading.to_ascii_lowercase();
    let words = letters.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let base = format!("of-{}", words.take(6).collect::<Vec<_>>().join("-"));
    let mut id = base.clone();
    for number in 2.. {
        if taken.insert(id.clone()) {
            break;
        }
        id = format!("{base}-{number}");
    }
    id
}

fn text(text: &str) -> String {
    unbroken(&prose(text, LOOK))
}

fn header(answer: &Answer) -> Header {
    // The first sentence is the answer, the others say more of it.
    let headline = text(&answer.headline);
    let (heading, continued) = match headline.split_once(". ") {
        Some((first, others)) => (format!("{first}."), others.to_owned()),
        None => (headline, String::new()),
    };
    let figure = |figure: &holdup_answer::KeyFigure| KeyFigure {
        name: figure.name,
        value: Figure::of(&text(&figure.value)),
    };
    Header {
        kick: answer.command.to_owned(),
        heading,
        continued,
        command: command(&answer.program),
        figures: answer.figures.iter().map(figure).collect(),
        budget: None,
        warnings: answer.warnings.iter().map(|warning| text(warning)).collect(),
        way_out: false,
    }
}

#[derive(Template)]
#[template(path = "answer.html")]
struct Markup {
    command: &'static str,
    id: String,
    heading: String,
    aside: String,
    lead: Vec<String>,
    blocks: Vec<Piece>,
}

enum Piece {
    Heading(String),
    Text(String),
    Bar(StackBar),
    Key(Vec<(&'static str, String)>),
    Table(Drawn),
}

/// A table as it is drawn.
struct Drawn {
    caption: String,
    has_bars: bool,
    titles: Vec<(String, &'static str)>,
    rows: Vec<(Weight, Vec<Cell>)>,
    /// How many rows are not shown.
    more: usize,
}

enum Cell {
    Words(String),
    Number(String),
    Share(&'static str, String),
    Stack(Option<StackBar>),
}

fn block(block: &Block) -> Piece {
    match block {
        Block::Heading(heading) => Piece::Heading(text(heading)),
        Block::Text(sentence) => Piece::Text(text(sentence)),
        Block::Bar { label, stack } => {
            Piece::Bar(StackBar::new(&text(label), &shown(stack), Reach::of([stack]), 22))
        }
        Block::Key(parts) => Piece::Key(parts.iter().map(|(color, name)| (*color, text(name))).collect()),
        Block::Table(table) => Piece::Table(drawn(table)),
    }
}

fn drawn(table: &Table) -> Drawn {
    // What is empty says nothing.
    let columns: Vec<_> = table.columns.iter().filter(|column| !column.cells.is_empty()).collect();
    let title = |column: &&holdup_answer::Column| {
        let class = match column.cells {
            Cells::Words(_) => "",
            Cells::Numbers(_) => "r",
            Cells::Shares(..) | Cells::Stacks(_) => "bar-cell",
        };
        (capital(&text(&column.title)), class)
    };
    let reaches: Vec<Option<Reach>> = columns
        .iter()
        .map(|column| match &column.cells {
            Cells::Stacks(stacks) => Some(Reach::of(stacks.iter().flatten())),
            _ => None,
        })
        .collect();
    let name_of = |row: usize| table.columns.first().and_then(|column| column.cells.text(row)).map(text);
    let cell = |row: usize, column: &holdup_answer::Column, reach: Option<Reach>| match &column.cells {
        Cells::Words(cells) => Cell::Words(cells.get(row).map(|cell| text(cell)).unwrap_or_default()),
        Cells::Numbers(cells) => Cell::Number(
            cells.get(row).map(|cell| prose(cell, LOOK).replace(' ', "\u{a0}")).unwrap_or_default(),
        ),
        Cells::Shares(color, cells) => {
            Cell::Share(color, across(cells.get(row).copied().unwrap_or_default(), 1.0))
        }
        Cells::Stacks(cells) => {
            let label = format!("{}: {}", text(&column.title), name_of(row).unwrap_or_default());
            let stack = cells.get(row).and_then(Option::as_ref).zip(reach);
            Cell::Stack(stack.map(|(stack, reach)| StackBar::new(&label, &shown(stack), reach, 10)))
        }
    };
    let row = |row: usize| {
        let cells = columns.iter().zip(&reaches).map(|(column, reach)| cell(row, column, *reach));
        (table.weight(row), cells.collect())
    };
    let shown = table.rows().min(table.most.on_page);
    Drawn {
        caption: text(&table.caption),
        has_bars: reaches.iter().any(Option::is_some),
        titles: columns.iter().map(title).collect(),
        rows: (0..shown).map(row).collect(),
        more: table.rows() - shown,
    }
}

/// A stack whose labels can be shown.
fn shown(stack: &Stack) -> Stack {
    let mut parts = stack.components().to_vec();
    for part in &mut parts {
        part.label = name(&part.label, LOOK).into();
    }
    Stack::of_total(stack.total(), stack.unit(), parts)
}

/// A title as it begins a line; what is a sign, such as `GHz`, stays as it is.
fn capital(title: &str) -> String {
    let mut letters = title.chars();
    match letters.next() {
        Some(first) if first.is_lowercase() => first.to_uppercase().chain(letters).collect(),
        _ => title.to_owned(),
    }
}
