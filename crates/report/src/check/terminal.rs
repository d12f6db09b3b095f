//! Budgets for a terminal: a line each, and more of those that do not hold.

use holdup_compare::{Judged, Verdict};

use super::{is, limit, shown_with_interval};
use crate::ink::Ink;
use crate::lines::{Line, painted, wrapped};
use crate::numbers::counted;
use crate::{Look, escape};

/// How far what belongs to a budget is indented (columns).
const INDENT: usize = 6;

/// At most so many things that exceed one budget are told.
const MOST_TOLD: usize = 5;

/// The budgets for a terminal, each line at most [`Look::width`] columns wide, with a line break at its end.
pub fn render_check(verdicts: &[Verdict], look: Look) -> String {
    let mut lines = Vec::new();
    for verdict in verdicts {
        let (word, ink) = if verdict.holds() { ("ok", Ink::Color("act")) } else { ("FAIL", Ink::Warning) };
        let title = Line::default().with(word, ink).at_column("", INDENT, Ink::Text);
        let text = escape::sentence(&verdict.budget.text, look);
        lines.push(title.with(&text, Ink::Strong));
        let failed: Vec<&Judged> = verdict.judged.iter().filter(|judged| !judged.holds).collect();
        // Of what holds the value that comes nearest is enough.
        let told: Vec<&Judged> = if failed.is_empty() {
            verdict.judged.iter().take(1).collect()
        } else {
            failed.iter().copied().take(MOST_TOLD).collect()
        };
        for judged in told {
            let text = format!(
                "{} {} {}{}",
                super::told(judged),
                is(verdict.budget.limited),
                shown_with_interval(&verdict.budget, judged, look),
                if judged.holds {
                    String::new()
                } else {
                    format!("; allowed is {}", limit(&verdict.budget, look))
                }
            );
            lines.extend(wrapped(&escape::sentence(&text, look), INDENT, Ink::Text, look));
        }
        if let Some(more @ 1..) = failed.len().checked_sub(MOST_TOLD) {
            lines.extend(wrapped(&format!("and {more} more"), INDENT, Ink::Faint, look));
        }
        for note in &verdict.notes {
            lines.extend(wrapped(&escape::sentence(note, look), INDENT, Ink::Text, look));
        }
    }
    let (all, held) = (verdicts.len(), verdicts.iter().filter(|verdict| verdict.holds()).count());
    let text = if all == held {
        format!("{} held", counted(all as u64, "budget is", "budgets are"))
    } else {
        format!("{} of {} not held", all - held, counted(all as u64, "budget is", "budgets are"))
    };
    lines.extend(wrapped(&format!("{text}."), 0, Ink::Strong, look));
    painted(&lines, look)
}
