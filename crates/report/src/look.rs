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
    /// The most columns that one name takes: [`Look::NAMES`], more where that is needed to tell names apart, or
    /// [`Look::WHOLE`] for answers in which nothing is shortened and lines are as wide as the terminal.
    pub names: usize,
}

impl Look {
    /// Narrower than this nothing can be laid out (columns).
    pub const NARROWEST: usize = 40;

    /// Longer lines are hard to read (columns).
    pub const WIDEST: usize = 120;

    /// So much of a name fits beside figures in a line of 80 columns, and tells most functions apart (columns).
    pub const NAMES: usize = 48;

    /// Names are shown in full.
    pub const WHOLE: usize = usize::MAX;

    /// Text without colour, for lines of this width (columns).
    pub const fn plain(width: usize) -> Look {
        Look { width, color: false, unicode: true, names: Self::NAMES }
    }

    /// True where nothing is shortened.
    pub(crate) fn is_whole(self) -> bool {
        self.names == Self::WHOLE
    }

    /// The width that lines are laid out for (columns).
    pub(crate) fn columns(self) -> usize {
        let widest = if self.is_whole() { self.width } else { Self::WIDEST };
        self.width.clamp(Self::NARROWEST, widest.max(Self::NARROWEST))
    }

    /// True where a line has no room for a table.
    pub(crate) fn is_narrow(self) -> bool {
        self.columns() < 64
    }

    /// A share of the most as one character.
    pub(crate) fn level(self, share: f64) -> char {
        const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        const DIGITS: [char; 10] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];
        let levels: &[char] = if self.unicode { &BLOCKS } else { &DIGITS };
        let at = (share.clamp(0.0, 1.0) * (levels.len() - 1) as f64).round() as usize;
        levels[at.min(levels.len() - 1)]
    }

    pub(crate) fn ellipsis(self) -> &'static str {
        if self.unicode { "…" } else { "..." }
    }
}
