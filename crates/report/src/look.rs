//! How the terminal wants its text.

use anstyle::{AnsiColor, Style};

use crate::palette;

/// What the terminal can show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look {
    /// Columns of a line. Below [`Look::NARROWEST`] counts as that, above [`Look::WIDEST`] too.
    pub width: usize,
    /// Whether colour and weight may be used. Nothing is said by colour alone.
    pub color: bool,
    /// Whether characters outside of ASCII are shown.
    pub unicode: bool,
}

impl Look {
    /// Narrower than this nothing can be laid out (columns).
    pub const NARROWEST: usize = 40;

    /// Longer lines are hard to read (columns).
    pub const WIDEST: usize = 120;

    /// The width that lines are laid out for (columns).
    pub(crate) fn columns(self) -> usize {
        self.width.clamp(Self::NARROWEST, Self::WIDEST)
    }

    /// True where a line has no room for a table.
    pub(crate) fn is_narrow(self) -> bool {
        self.columns() < 64
    }

    pub(crate) fn ellipsis(self) -> &'static str {
        if self.unicode { "…" } else { "..." }
    }

    pub(crate) fn block(self) -> &'static str {
        if self.unicode { "█" } else { "#" }
    }
}

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
