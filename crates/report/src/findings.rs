//! The table of findings: what, cost, share or gain, then evidence and hint.

use holdup_criticality::{Diagnosis, Finding, Gain};
use holdup_model::Nanos;

use crate::ink::Ink;
use crate::lines::{Line, broken_short, fits_short, wrapped, wrapped_short};
use crate::numbers::{counted, figure, percent, time};
use crate::{Look, escape};

/// At most so many findings are told.
const MOST: usize = 5;

/// How far details are indented (columns).
const INDENT: usize = 4;

/// So many findings have their heading in any case where something else could take the room.
const HEADED: usize = 3;

/// The table, in at most `rows` lines where that can be done: the first finding is told in full in any case, the
/// others with their evidence or its first sentence and their hint, by their heading alone, or by their number, as
/// there is room.
pub(crate) fn table(diagnosis: &Diagnosis, rows: usize, look: Look) -> Vec<Line> {
    let columns = Columns::of(diagnosis, look);
    let mut lines = columns.titles();
    // A line is kept for the number of those that are not told.
    let mut left = rows.saturating_sub(lines.len() + 1);
    let mut told: Vec<(Vec<Line>, Vec<Line>)> = Vec::new();
    for (index, finding) in diagnosis.findings.iter().take(MOST).enumerate() {
        let heading = columns.heading(index + 1, finding);
        if index == 0 {
            let details = details(finding, usize::MAX, look);
            left = left.saturating_sub(heading.len() + details.len());
            told.push((heading, details));
        } else if heading.len() <= left {
            left -= heading.len();
            told.push((heading, Vec::new()));
        } else {
            break;
        }
    }
    for (finding, (_, space)) in diagnosis.findings.iter().zip(&mut told).skip(1) {
        let Some(details) =
            [usize::MAX, 1].map(|most| details(finding, most, look)).into_iter().find(|d| d.len() <= left)
        else {
            break;
        };
        left -= details.len();
        *space = details;
    }
    let (shown, untold) = diagnosis.findings.split_at(told.len());
    lines.extend(told.into_iter().flat_map(|(heading, details)| heading.into_iter().chain(details)));
    lines.extend(all_together(diagnosis, look));
    if !untold.is_empty() {
        // What is hardly on the critical path comes last, whatever it costs.
        let least = shown.iter().map(|finding| finding.cost).min();
        let are_smaller = untold.iter().all(|finding| Some(finding.cost) <= least);
        let (one, many) = if are_smaller { ("smaller one", "smaller ones") } else { ("other", "others") };
        let which = counted(untold.len() as u64, one, many);
        lines.extend(wrapped(&format!("and {which}: holdup report FILE --json"), 2, Ink::Faint, look));
    }
    lines
}

/// What fixing all findings gives: gains do not add up.
fn all_together(diagnosis: &Diagnosis, look: Look) -> Vec<Line> {
    let Some(all) = diagnosis.what_if.as_ref().and_then(|what_if| what_if.all_together.as_ref()) else {
        return Vec::new();
    };
    let gain = told_gain(all, diagnosis.wall, false, look);
    let next = all.capped_by.as_ref();
    let next = next.map_or_else(String::new, |next| format!("; then {} limits it", escape::name(next, look)));
    wrapped(&format!("fixing all of them saves {gain}{next}"), 2, Ink::Text, look)
}

/// The titles and the first findings, in a line each: `rows` lines at most.
pub(crate) fn brief(diagnosis: &Diagnosis, rows: usize, look: Look) -> Vec<Line> {
    let mut columns = Columns { is_brief: true, ..Columns::of(diagnosis, look) };
    if columns.gains {
        let longest = if gain_has_factor(look) { "1.00 ms, 1.00 times faster" } else { "next to nothing" };
        columns.last = look.columns() - longest.len();
        columns.cost_end = columns.last - 2;
    }
    let headings =
        diagnosis.findings.iter().enumerate().map(|(index, finding)| columns.heading(index + 1, finding));
    let mut lines = columns.titles();
    for heading in headings {
        if lines.len() + heading.len() > rows {
            break;
        }
        lines.extend(heading);
    }
    lines
}

/// The lines that the table should have in any case: its title, the first finding in full, the headings of the next
/// two, and the number of the others.
pub(crate) fn fewest_rows(diagnosis: &Diagnosis, look: Look) -> usize {
    let columns = Columns::of(diagnosis, look);
    let Some(first) = diagnosis.findings.first() else { return 0 };
    let headings = diagnosis.findings.iter().take(HEADED).enumerate();
    let headings: usize = headings.map(|(index, finding)| columns.heading(index + 1, finding).len()).sum();
    let others = usize::from(diagnosis.findings.len() > HEADED);
    columns.titles().len() + headings + details(first, usize::MAX, look).len() + others
}

/// The sentences of the evidence and the notes, as many as fit in the lines that [`wrapped_short`] gives and at most
/// `most`, then the hint. A first sentence that is too long is cut.
fn details(finding: &Finding, most: usize, look: Look) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut told = String::new();
    for fact in finding.evidence.iter().chain(&finding.notes).take(most) {
        let longer = format!("{told} {}", escape::sentence(fact, look)).trim_start().to_owned();
        if !told.is_empty() && !fits_short(&longer, INDENT, look) {
            break;
        }
        lines = wrapped_short(&longer, INDENT, Ink::Text, look);
        told = longer;
    }
    lines.extend(wrapped_short(&escape::sentence(&finding.hint, look), INDENT, Ink::Text, look));
    lines
}

/// Where the columns of the table end.
struct Columns<'a> {
    look: Look,
    diagnosis: &'a Diagnosis,
    /// Column at which the costs end.
    cost_end: usize,
    /// Column at which the shares end or the gains begin.
    last: usize,
    gains: bool,
    /// True where what is slow has one line.
    is_brief: bool,
    /// By finding: what is slow, all told differently.
    what: Vec<String>,
}

impl<'a> Columns<'a> {
    fn of(diagnosis: &'a Diagnosis, look: Look) -> Self {
        let gains = diagnosis.findings.iter().any(|finding| finding.gain.is_some());
        let width = look.columns();
        let (cost_end, last) = match (gains, gain_has_factor(look)) {
            (true, true) => (width - 40, width - 38),
            (true, false) => (width - 24, width - 22),
            (false, _) => (width - 13, width),
        };
        let what: Vec<&str> = diagnosis.findings.iter().map(|finding| finding.what.as_str()).collect();
        let what = escape::apart(&what, look, |what, look| escape::sentence(what, look));
        Self { look, diagnosis, cost_end, last, gains, is_brief: false, what }
    }

    fn titles(&self) -> Vec<Line> {
        let title = Line::indented(2).with("what holds it up", Ink::Faint);
        if self.look.is_narrow() {
            return vec![title];
        }
        let title = title.right_aligned("costs", self.cost_end, Ink::Faint);
        vec![if self.gains {
            title.at_column("fixing it saves", self.last, Ink::Faint)
        } else {
            title.right_aligned("of the time", self.last, Ink::Faint)
        }]
    }

    fn heading(&self, rank: usize, finding: &Finding) -> Vec<Line> {
        let what = &self.what[rank - 1];
        let cost = time(finding.cost, self.look);
        let share = percent(finding.cost.share_of(self.diagnosis.wall));
        let gain =
            finding.gain.as_ref().map(|gain| told_gain(gain, self.diagnosis.wall, self.is_brief, self.look));
        let narrow = self.look.is_narrow();
        let room = if narrow { self.look.columns() - 2 } else { self.cost_end - 2 - 10 };
        let what = match self.is_brief {
            true => vec![escape::cut(what, room, self.look)],
            false => broken_short(what, room, self.look),
        };
        let mut lines: Vec<Line> = what
            .iter()
            .enumerate()
            .map(|(index, text)| {
                let start = if index == 0 {
                    Line::default().with(&format!("{rank} "), Ink::Mark(finding.kind.color()))
                } else {
                    Line::indented(2)
                };
                start.with(text, Ink::Strong)
            })
            .collect();
        if lines.is_empty() {
            lines.push(
                Line::default()
                    .with(&format!("{rank} {}", finding.kind.word()), Ink::Mark(finding.kind.color())),
            );
        }
        if narrow {
            let figures = match gain {
                Some(gain) => format!("costs {cost}; fixing it saves {gain}"),
                None => format!("costs {cost}, {share} of the time"),
            };
            lines.extend(wrapped(&figures, 2, Ink::Text, self.look));
        } else {
            let first = lines.remove(0).right_aligned(&cost, self.cost_end, Ink::Text);
            let first = if self.gains {
                first.at_column(&gain.unwrap_or_else(|| "not known".to_owned()), self.last, Ink::Text)
            } else {
                first.right_aligned(&share, self.last, Ink::Text)
            };
            lines.insert(0, first);
        }
        lines
    }
}

/// A gain that is a smaller share of the wall time is none.
const NOTHING: f64 = 0.005;

fn gain_has_factor(look: Look) -> bool {
    look.columns() >= 100
}

/// `4.4 s (3.9 to 4.7), 1.55 times faster`: the gain, its interval, and where there is room the speedup that
/// it means, wall time / (wall time − gain). Without the interval if `is_brief`.
fn told_gain(gain: &Gain, wall: Nanos, is_brief: bool, look: Look) -> String {
    let [mid, low, high] = [gain.time, gain.low, gain.high].map(|value| time(value, look));
    if gain.time.share_of(wall) < NOTHING {
        return match gain.high {
            Nanos::ZERO => "nothing".to_owned(),
            _ if is_brief => "next to nothing".to_owned(),
            _ => format!("next to nothing (up to {high})"),
        };
    }
    let unit = |text: &str| text.rsplit(' ').next().map(str::to_owned);
    let bare = |text: &str| text.rsplit_once(' ').map_or(text.to_owned(), |(number, _)| number.to_owned());
    let mut out = if is_brief {
        mid
    } else if unit(&low) == unit(&mid) && unit(&high) == unit(&mid) {
        format!("{mid} ({} to {})", bare(&low), bare(&high))
    } else {
        format!("{mid} ({low} to {high})")
    };
    let left = wall.saturating_sub(gain.time);
    if gain_has_factor(look) && left > Nanos::ZERO {
        let speedup = wall.get() as f64 / left.get() as f64;
        let speedup = if speedup < 9.995 { format!("{speedup:.2}") } else { figure(speedup) };
        out.push_str(&format!(", {speedup} times faster"));
    }
    out
}
