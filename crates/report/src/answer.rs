//! An [`Answer`] in a terminal.

use holdup_answer::{Answer, Block, Cells, Room, Section, Table};
use holdup_model::figures::counted;

use crate::escape::{name, prose, sentences};
use crate::ink::Ink;
use crate::lines::{Line, labelled, painted, wrapped};
use crate::tabular::{Column, table};
use crate::{Look, palette};

/// At most so many warnings, and so many notes, are shown.
const MOST_LISTED: usize = 8;

/// How long the longest bar is, in columns.
const BAR: usize = 24;

/// An answer for a terminal, each line at most [`Look::width`] columns wide, with a line break at its end.
pub fn render_answer(answer: &Answer, look: Look) -> String {
    let mut lines = wrapped(&prose(&answer.headline, look), 0, Ink::Strong, look);
    for section in &answer.sections {
        lines.push(Line::default());
        lines.extend(of_section(section, answer.command, look));
    }
    let mut listed = list("warning", Ink::Warning, &answer.warnings, answer.command, look);
    listed.extend(list("note", Ink::Faint, &answer.notes, answer.command, look));
    if !listed.is_empty() {
        lines.push(Line::default());
        lines.extend(listed);
    }
    painted(&lines, look)
}

fn of_section(section: &Section, command: &str, look: Look) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut add = |text: String, ink| {
        if !text.is_empty() {
            lines.extend(wrapped(&text, 0, ink, look));
        }
    };
    let heading = name(&section.heading, look);
    let mut leads = section.lead.iter().map(|lead| prose(lead, look));
    match (heading.is_empty(), leads.next()) {
        (_, None) => add(heading, Ink::Strong),
        (true, Some(lead)) => add(lead, Ink::Strong),
        (false, Some(lead)) => add(format!("{heading}: {lead}"), Ink::Strong),
    }
    leads.for_each(|lead| add(lead, Ink::Text));
    add(prose(&section.aside, look), Ink::Faint);
    // What a table or text belongs to stands right above it.
    let mut introduced = section.lead.is_empty();
    for block in &section.blocks {
        let (part, introduces) = of_block(block, command, look);
        if part.is_empty() {
            continue;
        }
        if !introduced && !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.extend(part);
        introduced = introduces;
    }
    lines
}

/// The lines of a block, and whether the next one belongs to it.
fn of_block(block: &Block, command: &str, look: Look) -> (Vec<Line>, bool) {
    match block {
        Block::Heading(text) => (wrapped(&prose(text, look), 0, Ink::Strong, look), true),
        Block::Text(text) => (wrapped(&prose(text, look), 0, Ink::Text, look), true),
        Block::Table(of) => (of_table(of, command, look), false),
        Block::Bar { .. } | Block::Key(_) => (Vec::new(), false),
    }
}

fn of_table(of: &Table, command: &str, look: Look) -> Vec<Line> {
    let rows = of.rows().min(of.most.in_terminal);
    let mut lines = table(columns(of, rows, look), look);
    if let Some(more @ 1..) = of.rows().checked_sub(rows) {
        lines.extend(wrapped(&format!("and {more} more: {command} --json"), 2, Ink::Faint, look));
    }
    lines
}

/// The columns of the first rows of a table.
fn columns(of: &Table, rows: usize, look: Look) -> Vec<Column> {
    let mut columns = Vec::new();
    for column in &of.columns {
        let title = prose(&column.title, look);
        let made = match &column.cells {
            Cells::Words(cells) => {
                Column::words(&title, cells.iter().take(rows).map(|cell| prose(cell, look)))
            }
            Cells::Numbers(cells) => {
                Column::numbers(&title, cells.iter().take(rows).map(|cell| prose(cell, look)))
            }
            Cells::Shares(color, cells) => Column::bars(
                &title,
                cells.iter().take(rows).map(|share| {
                    let length = (share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
                    Line::default()
                        .with(&palette::fill(color, look).to_string().repeat(length), Ink::Color(color))
                }),
            ),
            // A terminal has their amounts only.
            Cells::Stacks(_) => continue,
        };
        columns.push(match column.room {
            Room::Always => made,
            Room::IfThereIs => made.optional(),
        });
    }
    if !of.weights.is_empty() && !columns.is_empty() {
        let first = columns.remove(0);
        columns.insert(0, first.weighed(|row| of.weight(row)));
    }
    columns
}

fn list(label: &str, ink: Ink, texts: &[String], command: &str, look: Look) -> Vec<Line> {
    let line = |label: &str, ink, text: &str, of_text| {
        labelled(label, ink, vec![Line::default().with(text, of_text)], look)
    };
    let mut lines: Vec<Line> = Vec::new();
    for text in texts.iter().take(MOST_LISTED) {
        lines.extend(line(label, ink, &sentences(text, look), Ink::Text));
    }
    if let Some(more @ 1..) = texts.len().checked_sub(MOST_LISTED) {
        let more = counted(more as u64, &format!("more {label}"), &format!("more {label}s"));
        lines.extend(line("", ink, &format!("and {more}: {command} --json"), Ink::Faint));
    }
    lines
}
