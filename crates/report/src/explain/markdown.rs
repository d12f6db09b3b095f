//! Markdown for a terminal: what the pages use of it (headings, paragraphs, lists, code) as inked lines.

use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};
use textwrap::core::{Fragment, display_width};
use textwrap::wrap_algorithms::wrap_first_fit;

use crate::Look;
use crate::escape::visible;
use crate::ink::Ink;
use crate::lines::Line;

/// Columns that text below a heading is indented by.
const INDENT: usize = 2;

/// Columns that code is indented by further.
const CODE: usize = 2;

/// The lines of a page; `title` is the ink of its heading.
pub(super) fn lines(markdown: &str, title: Ink, look: Look) -> Vec<Line> {
    let mut page =
        Page { look, lines: Vec::new(), words: Vec::new(), ink: Ink::Text, item: None, code: false };
    for event in Parser::new(markdown) {
        page.take(event, title);
    }
    page.lines
}

/// A piece of text without a space in it, in one or more inks.
#[derive(Default, Debug)]
struct Word {
    spans: Vec<(String, Ink)>,
}

impl Word {
    fn columns(&self) -> usize {
        self.spans.iter().map(|(text, _)| display_width(text)).sum()
    }
}

impl Fragment for Word {
    fn width(&self) -> f64 {
        self.columns() as f64
    }

    fn whitespace_width(&self) -> f64 {
        1.0
    }

    fn penalty_width(&self) -> f64 {
        0.0
    }
}

struct Page {
    look: Look,
    lines: Vec<Line>,
    /// Of the block that is being read. The last one may still grow.
    words: Vec<Word>,
    ink: Ink,
    /// In a list: the mark that its next line begins with.
    item: Option<&'static str>,
    code: bool,
}

impl Page {
    fn take(&mut self, event: Event<'_>, title: Ink) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                self.ink = if level == HeadingLevel::H1 { title } else { Ink::Strong };
            }
            Event::End(TagEnd::Heading(_)) => {
                self.gap();
                self.block(0);
                self.ink = Ink::Text;
            }
            Event::Start(Tag::Paragraph) => self.gap_unless_item(),
            Event::End(TagEnd::Paragraph) => self.block(INDENT),
            Event::Start(Tag::List(_)) => self.gap(),
            Event::Start(Tag::Item) => self.item = Some(if self.look.unicode { "• " } else { "- " }),
            // The items of a list without empty lines have no paragraphs.
            Event::End(TagEnd::Item) => {
                self.block(INDENT);
                self.item = None;
            }
            Event::Start(Tag::CodeBlock(_)) => {
                self.block(INDENT);
                self.gap();
                self.code = true;
            }
            Event::End(TagEnd::CodeBlock) => self.code = false,
            Event::Start(Tag::Strong | Tag::Emphasis) => self.ink = Ink::Strong,
            Event::End(TagEnd::Strong | TagEnd::Emphasis) => self.ink = Ink::Text,
            Event::Text(text) if self.code => {
                for line in text.lines() {
                    let code = visible(line, self.look);
                    self.lines.push(Line::indented(INDENT + CODE).with(&code, Ink::Color("act")));
                }
            }
            Event::Text(text) => self.text(&text, self.ink),
            Event::Code(code) => self.text(&code, if self.ink == Ink::Text { Ink::Strong } else { self.ink }),
            Event::SoftBreak | Event::HardBreak => self.text(" ", self.ink),
            _ => {}
        }
    }

    /// An empty line before the next block, but for the first one.
    fn gap(&mut self) {
        if !self.lines.is_empty() {
            self.lines.push(Line::default());
        }
    }

    fn gap_unless_item(&mut self) {
        if self.item.is_none() {
            self.gap();
        }
    }

    /// More text of this block: spaces end words.
    fn text(&mut self, text: &str, ink: Ink) {
        for (index, piece) in visible(text, self.look).split(' ').enumerate() {
            if index > 0 || self.words.is_empty() {
                self.words.push(Word::default());
            }
            if let (Some(word), false) = (self.words.last_mut(), piece.is_empty()) {
                word.spans.push((piece.to_owned(), ink));
            }
        }
    }

    /// What was read, laid out.
    fn block(&mut self, indent: usize) {
        let mut words = std::mem::take(&mut self.words);
        words.retain(|word| !word.spans.is_empty());
        if words.is_empty() {
            return;
        }
        let mark = self.item.unwrap_or_default();
        let hang = indent + display_width(mark);
        let room = self.look.columns() - hang;
        for (index, row) in wrap_first_fit(&words, &[room as f64]).into_iter().enumerate() {
            // Neighbours of one ink are one span: each has colour codes of its own.
            let mut spans: Vec<(String, Ink)> = Vec::new();
            for (index, word) in row.iter().enumerate() {
                if index > 0 {
                    let inner = word.spans.first().zip(spans.last()).is_some_and(|(a, b)| a.1 == b.1);
                    match spans.last_mut() {
                        Some(last) if inner => last.0.push(' '),
                        _ => spans.push((" ".to_owned(), Ink::Text)),
                    }
                }
                for (text, ink) in &word.spans {
                    match spans.last_mut() {
                        Some(last) if last.1 == *ink => last.0.push_str(text),
                        _ => spans.push((text.clone(), *ink)),
                    }
                }
            }
            let mut line = match index {
                0 if !mark.is_empty() => Line::indented(indent).with(mark, Ink::Faint),
                _ if hang == 0 => Line::default(),
                _ => Line::indented(hang),
            };
            for (text, ink) in spans {
                line = line.with(&text, ink);
            }
            self.lines.push(line);
        }
    }
}
