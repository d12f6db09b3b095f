//! What pieces of text mean, and how that shows.

use anstyle::{AnsiColor, Style};

use crate::palette;

/// What a piece of text means; the look decides how that shows. The colours are the nearest of the terminal's
/// sixteen to the palette of the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ink {
    /// Ordinary text.
    Text,
    /// The headings and key figures.
    Strong,
    /// Labels and column titles.
    Faint,
    /// A warning's label.
    Warning,
    /// The colour of this name.
    Color(&'static str),
    /// The mark of a finding, in the colour of this name.
    Mark(&'static str),
}

impl Ink {
    /// The style of this meaning in colour.
    pub(crate) fn style(self) -> Style {
        let color = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
        match self {
            Ink::Text => Style::new(),
            Ink::Strong => Style::new().bold(),
            Ink::Faint => Style::new().dimmed(),
            Ink::Warning => color(AnsiColor::Yellow).bold(),
            Ink::Color(name) => color(palette::terminal(name)),
            Ink::Mark(name) => color(palette::terminal(name)).bold(),
        }
    }
}
