//! How the terminal wants its text.

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
}
