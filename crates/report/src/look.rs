//! How the terminal wants its text.

use anstyle::{AnsiColor, Style};
use holdup_criticality::FindingKind;
use holdup_model::cycles::CycleComponent;
use holdup_speedup::Component;

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
    /// Useful work.
    Active,
    /// Time in which no thread is active.
    Nobody,
    /// A warning's label.
    Warning,
    /// The mark of a finding of this kind.
    Kind(FindingKind),
    /// Simulated cycles of this component.
    Cycles(CycleComponent),
    /// Speedup that is lost to this component.
    Lost(Component),
}

impl Ink {
    /// The style of this meaning in colour.
    pub(crate) fn style(self) -> Style {
        let color = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
        match self {
            Ink::Text => Style::new(),
            Ink::Strong => Style::new().bold(),
            Ink::Faint => Style::new().dimmed(),
            Ink::Active => color(AnsiColor::Blue),
            Ink::Nobody => color(AnsiColor::BrightBlack),
            Ink::Warning => color(AnsiColor::Yellow).bold(),
            Ink::Kind(kind) => match kind {
                FindingKind::Lock
                | FindingKind::Condition
                | FindingKind::Semaphore
                | FindingKind::Pipeline
                | FindingKind::Deadlock
                | FindingKind::Blocked => color(AnsiColor::Red),
                FindingKind::Barrier | FindingKind::Imbalance | FindingKind::Join => color(AnsiColor::Yellow),
                FindingKind::Spin => color(AnsiColor::Magenta),
                FindingKind::Quota
                | FindingKind::Affinity
                | FindingKind::Oversubscription
                | FindingKind::Load
                | FindingKind::Delayed
                | FindingKind::WakeUp => color(AnsiColor::BrightMagenta),
                _ => color(AnsiColor::BrightBlack),
            }
            .bold(),
            Ink::Cycles(component) => color(color_of_cycles(component)),
            Ink::Lost(component) => color(color_of_loss(component)),
        }
    }
}

/// As on the page: caches green, memory yellow, synchronization red.
fn color_of_loss(component: Component) -> AnsiColor {
    match component {
        Component::Serial | Component::Other => AnsiColor::White,
        Component::ExtraWork => AnsiColor::Magenta,
        Component::Cache => AnsiColor::Green,
        Component::Memory => AnsiColor::Yellow,
        Component::Oversubscription => AnsiColor::BrightMagenta,
        Component::Environment => AnsiColor::Cyan,
        Component::Synchronization => AnsiColor::Red,
    }
}

/// The core is grey and blue, memory green and the further the more yellow, synchronization red, as on the page.
fn color_of_cycles(component: CycleComponent) -> AnsiColor {
    match component {
        CycleComponent::DependInt => AnsiColor::Blue,
        CycleComponent::DependFp => AnsiColor::BrightBlue,
        CycleComponent::Branch => AnsiColor::Cyan,
        CycleComponent::Ifetch => AnsiColor::BrightCyan,
        CycleComponent::MemL1d | CycleComponent::MemL2 | CycleComponent::MemL3 => AnsiColor::Green,
        CycleComponent::Tlb | CycleComponent::MemL1Neighbor | CycleComponent::MemL2Neighbor => {
            AnsiColor::BrightGreen
        }
        CycleComponent::MemOffSocket => AnsiColor::BrightYellow,
        CycleComponent::MemDram => AnsiColor::Yellow,
        CycleComponent::SyncCritSect => AnsiColor::Red,
        CycleComponent::SyncBarrier => AnsiColor::BrightRed,
        CycleComponent::SyncCond => AnsiColor::Magenta,
        CycleComponent::SyncJoin => AnsiColor::BrightMagenta,
        CycleComponent::DispatchWidth | CycleComponent::NoCore | CycleComponent::Io => AnsiColor::White,
        CycleComponent::Imbalance => AnsiColor::BrightBlack,
    }
}
