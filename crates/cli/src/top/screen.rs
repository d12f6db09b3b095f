//! The screen: drawn whole from what is known, on terminals of any size.

use holdup_live::Doing;
use holdup_model::Arrange;
use holdup_report::escaped;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, Sparkline};

use super::lines::{doing, length};
use super::ui::{KEYS, Ui};
use super::view::{Course, Order, Row, View};

/// What is drawn.
pub(crate) struct Scene<'a> {
    pub view: &'a View,
    /// The view's rows in the order of `ui`.
    pub rows: &'a [Row],
    pub ui: &'a Ui,
    /// Of the chosen thread.
    pub course: Option<Course>,
    /// Where the figures come from, in a sentence.
    pub source: &'a str,
    /// The time since the start.
    pub age_ns: u64,
    /// Each value of a course stands for so much time.
    pub interval_ns: u64,
    /// Bytes that the program has written since that was last shown; `None` where it has its terminal or none.
    pub output: Option<u64>,
    pub colored: bool,
    pub unicode: bool,
}

/// Room that is left between columns.
const GAP: u16 = 1;
/// Terminals of fewer lines have threads only.
const LEAST_FRAME: u16 = 6;
/// Details need so many lines, and the screen twice as many for both.
const DETAILS: u16 = 7;

/// A column: the order that it shows, and how wide it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Name,
    Now,
    Bar,
    All,
    Active,
    Changes,
    Tid,
    Does,
}

impl Column {
    /// From left to right.
    const PLACES: [Column; 8] = [
        Column::Name,
        Column::Now,
        Column::Bar,
        Column::All,
        Column::Active,
        Column::Changes,
        Column::Tid,
        Column::Does,
    ];
    /// Those first that are shown where there is little room.
    const RANKS: [Column; 8] = [
        Column::Now,
        Column::Name,
        Column::Active,
        Column::Does,
        Column::All,
        Column::Bar,
        Column::Changes,
        Column::Tid,
    ];

    fn least(self) -> u16 {
        match self {
            Column::Name => 15,
            Column::Now | Column::All | Column::Active => 6,
            Column::Bar => 8,
            Column::Changes => 9,
            Column::Tid => 7,
            Column::Does => 11,
        }
    }

    fn most(self) -> u16 {
        match self {
            Column::Bar => 40,
            Column::Name => 24,
            Column::Does => 24,
            _ => self.least(),
        }
    }

    fn order(self) -> Option<Order> {
        match self {
            Column::Name => Some(Order::Name),
            Column::Now => Some(Order::Now),
            Column::All => Some(Order::All),
            Column::Active => Some(Order::Active),
            Column::Changes => Some(Order::Changes),
            Column::Tid => Some(Order::Tid),
            Column::Bar | Column::Does => None,
        }
    }
}

/// The columns that fit into a width, with theirs.
fn columns(width: u16) -> Vec<(Column, u16)> {
    let mut chosen: Vec<(Column, u16)> = Vec::new();
    let mut left = width;
    for column in Column::RANKS {
        let needed = column.least() + if chosen.is_empty() { 0 } else { GAP };
        if needed > left {
            break;
        }
        left -= needed;
        chosen.push((column, column.least()));
    }
    for wide in [Column::Does, Column::Bar, Column::Name] {
        if let Some((_, width)) = chosen.iter_mut().find(|(column, _)| *column == wide) {
            let more = left.min(wide.most() - wide.least());
            *width += more;
            left -= more;
        }
    }
    chosen.arrange_by_key(|(column, _)| Column::PLACES.iter().position(|place| place == column));
    chosen
}

/// Draws it all.
pub(crate) fn draw(frame: &mut Frame<'_>, scene: &Scene<'_>) {
    let area = frame.area();
    if area.height < LEAST_FRAME {
        return threads(frame, area, scene, false);
    }
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(2), Constraint::Min(1), Constraint::Length(1)]).areas(area);
    frame.render_widget(Paragraph::new(header(scene)), head);
    frame.render_widget(Paragraph::new(footer(scene, area.width)), foot);
    let chosen = scene.ui.position(scene.rows).and_then(|at| scene.rows.get(at));
    match chosen.filter(|_| scene.ui.details) {
        Some(row) if body.height >= 2 * DETAILS => {
            let [list, under] =
                Layout::vertical([Constraint::Min(1), Constraint::Length(DETAILS)]).areas(body);
            threads(frame, list, scene, true);
            details(frame, under, scene, row);
        }
        Some(row) => details(frame, body, scene, row),
        None => threads(frame, body, scene, true),
    }
    if scene.ui.help {
        help(frame, body);
    }
}

fn style(scene: &Scene<'_>, color: Color) -> Style {
    if scene.colored { Style::new().fg(color) } else { Style::new() }
}

fn header(scene: &Scene<'_>) -> Vec<Line<'static>> {
    let view = scene.view;
    let main = view.main();
    let name = main.map_or_else(String::new, |main| format!("{} ({})", escaped(&main.name), main.pid));
    let others = match view.living_processes() {
        0 | 1 => String::new(),
        many => format!(" and {} more", many - 1),
    };
    let threads = view.living();
    let word = if threads == 1 { "thread" } else { "threads" };
    let mut said =
        format!("{name}{others}  {}  {threads} {word}, {:.1} active", length(scene.age_ns), view.active());
    if let Some(main) = main.filter(|_| view.living_processes() <= 1) {
        said.push_str(&format!(", nobody {:.0} %", main.nobody * 100.0));
    }
    let mut first = vec![Span::styled(said, Style::new().add_modifier(Modifier::BOLD))];
    if scene.ui.paused {
        first.push(Span::styled("  held", style(scene, Color::Yellow).add_modifier(Modifier::REVERSED)));
    }
    vec![
        Line::from(first),
        Line::from(Span::styled(scene.source.to_owned(), Style::new().add_modifier(Modifier::DIM))),
    ]
}

fn footer(scene: &Scene<'_>, width: u16) -> Line<'static> {
    let all = "q leave  space hold  ←→ sort  ↑↓ choose  enter details  h help";
    let few = "q leave  h help";
    let text = if usize::from(width) >= all.chars().count() { all } else { few };
    let mut spans = vec![Span::styled(text, Style::new().add_modifier(Modifier::DIM))];
    let room = usize::from(width).saturating_sub(text.chars().count());
    match scene.output {
        Some(1..) if room >= 14 => spans.push(Span::styled("  o new output", style(scene, Color::Yellow))),
        Some(0) if room >= 10 => {
            spans.push(Span::styled("  o output", Style::new().add_modifier(Modifier::DIM)));
        }
        _ => {}
    }
    Line::from(spans)
}

fn threads(frame: &mut Frame<'_>, area: Rect, scene: &Scene<'_>, with_head: bool) {
    let columns = columns(area.width);
    let mut lines = Vec::new();
    if with_head {
        lines.push(head(scene, &columns));
    }
    let room = usize::from(area.height).saturating_sub(lines.len());
    let chosen = scene.ui.position(scene.rows);
    // The chosen one stays in sight.
    let first = chosen.map_or(0, |chosen| (chosen + 1).saturating_sub(room));
    for (index, row) in scene.rows.iter().enumerate().skip(first).take(room) {
        lines.push(line(scene, row, &columns, chosen == Some(index)));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn head(scene: &Scene<'_>, columns: &[(Column, u16)]) -> Line<'static> {
    let mut spans = Vec::new();
    for (column, width) in columns {
        if !spans.is_empty() {
            spans.push(Span::raw(" "));
        }
        let word = match column {
            Column::Bar => "critical",
            Column::Does => "does",
            Column::Now => "now %",
            Column::All => "all %",
            Column::Active => "act %",
            Column::Name | Column::Changes | Column::Tid => column.order().map_or("", Order::word),
        };
        let is_left = matches!(column, Column::Name | Column::Bar | Column::Does);
        let mut look = Style::new().add_modifier(Modifier::BOLD);
        if column.order() == Some(scene.ui.order) {
            look = look.add_modifier(Modifier::UNDERLINED).patch(style(scene, Color::Cyan));
        }
        spans.push(Span::styled(fit(word, *width, is_left), look));
    }
    Line::from(spans)
}

fn line(scene: &Scene<'_>, row: &Row, columns: &[(Column, u16)], is_chosen: bool) -> Line<'static> {
    let mut spans = Vec::new();
    for (column, width) in columns {
        if !spans.is_empty() {
            spans.push(Span::raw(" "));
        }
        let percent = |share: f64| fit(&format!("{:.1}", share * 100.0), *width, false);
        let span = match column {
            Column::Name => Span::raw(fit(&name(scene, row), *width, true)),
            Column::Now => Span::raw(percent(row.share)),
            Column::All => Span::raw(percent(row.total_share)),
            Column::Active => Span::raw(percent(row.active_share)),
            Column::Changes => Span::raw(fit(&format!("{:.0}", row.changes_a_second), *width, false)),
            Column::Tid => Span::raw(fit(&row.tid.to_string(), *width, false)),
            Column::Bar => Span::styled(bar(row.share, *width, scene.unicode), style(scene, Color::Red)),
            Column::Does => {
                let color = if row.state == Doing::Active { Color::Green } else { Color::Reset };
                Span::styled(fit(&doing(&row.state), *width, true), style(scene, color))
            }
        };
        spans.push(span);
    }
    let mut look = Style::new();
    if row.state == Doing::Ended {
        look = look.add_modifier(Modifier::DIM);
    }
    if is_chosen {
        look = look.add_modifier(Modifier::REVERSED);
    }
    Line::from(spans).style(look)
}

/// A thread's name; with its process's number where there are several.
fn name(scene: &Scene<'_>, row: &Row) -> String {
    let name = escaped(&row.name);
    if scene.view.living_processes() > 1 { format!("{}/{name}", row.pid) } else { name }
}

/// Cut or filled up to a width, in columns.
fn fit(text: &str, width: u16, is_left: bool) -> String {
    let width = usize::from(width);
    let mut cut = String::new();
    let mut used = 0;
    for c in text.chars() {
        let columns = Span::raw(c.to_string()).width();
        if used + columns > width {
            break;
        }
        cut.push(c);
        used += columns;
    }
    let space = " ".repeat(width - used);
    if is_left { cut + &space } else { space + &cut }
}

/// A bar of eighths of a column.
fn bar(share: f64, width: u16, unicode: bool) -> String {
    if !unicode {
        return fit(&"#".repeat((share.clamp(0.0, 1.0) * f64::from(width)).round() as usize), width, true);
    }
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * f64::from(width) * 8.0).round() as usize;
    fit(&("█".repeat(eighths / 8) + EIGHTHS[eighths % 8]), width, true)
}

fn details(frame: &mut Frame<'_>, area: Rect, scene: &Scene<'_>, row: &Row) {
    let of = |ns: u64| format!("{:.2} s", ns as f64 / 1e9);
    let text = vec![
        Line::from(Span::styled(
            format!(
                "{} (thread {} of process {}): {}",
                escaped(&row.name),
                row.tid,
                row.pid,
                doing(&row.state)
            ),
            Style::new().add_modifier(Modifier::BOLD),
        )),
        Line::from(format!(
            "critical {} = {:.1} %, active {}, {} changes, since the start",
            of(row.criticality_ns),
            row.total_share * 100.0,
            of(row.active_ns),
            row.changes
        )),
    ];
    let [said, label, drawn] =
        Layout::vertical([Constraint::Length(2), Constraint::Length(1), Constraint::Min(0)]).areas(area);
    frame.render_widget(Paragraph::new(text), said);
    let Some(course) = &scene.course else { return };
    let room = usize::from(drawn.width);
    let shares = &course.shares;
    let shown: Vec<u64> = shares
        .iter()
        .skip(shares.len().saturating_sub(room))
        .map(|share| (share * 1000.0).round() as u64)
        .collect();
    let span = length(shown.len() as u64 * scene.interval_ns);
    let look = Style::new().add_modifier(Modifier::DIM);
    frame.render_widget(
        Paragraph::new(Span::styled(format!("criticality, the last {span} (0 to 100 %)"), look)),
        label,
    );
    frame.render_widget(Sparkline::default().data(&shown).max(1000).style(style(scene, Color::Red)), drawn);
}

fn help(frame: &mut Frame<'_>, area: Rect) {
    let mut lines: Vec<Line<'_>> =
        KEYS.iter().map(|(key, what)| Line::from(format!(" {key:8} {what}"))).collect();
    lines.push(Line::default());
    for said in [
        " Critical: while n threads are active, each of them gets 1/n of the time; so a",
        " thread that works while others wait gets most. All threads of a process and",
        " \"nobody\" add up to 100 %. now: last 3 s; all: since the start; act: active.",
    ] {
        lines.push(Line::from(said));
    }
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines), area);
}

#[cfg(test)]
mod tests;
