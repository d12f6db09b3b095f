//! The line that is said at the end.

use holdup_model::Arrange;
use std::time::Duration;

use holdup_steer::{Event, Told, Verdict};

/// What was done, and what it gained, of the process that was looked at for longest.
pub(crate) fn sentence(told: &[Told], cpus: usize) -> String {
    let Some(first) = told.first() else {
        return "no process had several threads for a slice, so there was nobody to help".to_owned();
    };
    let mut sentence = if first.critical.is_zero() {
        format!("of {}, no thread was more critical than others, so none was helped", seconds(first.watched))
    } else if first.helped.is_zero() || first.used.is_empty() {
        format!(
            "a thread was critical for {} of {}, and none was helped",
            seconds(first.critical),
            seconds(first.watched)
        )
    } else {
        done(first)
    };
    sentence.push_str(&gained(first, cpus));
    if let Some(trouble) = &first.trouble {
        sentence.push_str(&format!("; the system refused something ({trouble})"));
    }
    if told.len() > 1 {
        sentence.push_str(&format!(
            " (process {}, the one of {} with several threads for longest)",
            first.process,
            told.len()
        ));
    }
    sentence
}

/// A line about an event.
pub(crate) fn line(process: u32, at: Duration, event: &Event) -> String {
    let at = format!("process {process}, {:.2} s:", at.as_secs_f64());
    match event {
        Event::Helps(thread, name, share) => {
            format!("{at} helps thread {thread} ({name}), {:.0} % of the criticality", 100.0 * share)
        }
        Event::Rests => format!("{at} helps nobody"),
        Event::Compared(with, without, verdict) => {
            let verdict = match verdict {
                Verdict::Trying => "not sure yet",
                Verdict::Helps => "of use",
                Verdict::Useless => "of no use",
            };
            format!("{at} {with:.2} CPUs in use with help, {without:.2} without: {verdict}")
        }
    }
}

fn seconds(length: Duration) -> String {
    format!("{:.1} s", length.as_secs_f64())
}

fn done(told: &Told) -> String {
    let mut threads: Vec<_> = told.threads.iter().collect();
    threads.arrange_by_key(|(number, (_, length))| (std::cmp::Reverse(*length), **number));
    let who = match threads.as_slice() {
        [(number, (name, _))] => format!("thread {number} ({name})"),
        [(number, (name, length)), rest @ ..] => {
            format!("{} threads (thread {number}, {name}, for {})", rest.len() + 1, seconds(*length))
        }
        [] => "a thread".to_owned(),
    };
    let by: Vec<String> = told.used.iter().map(ToString::to_string).collect();
    format!("helped {who} by {} for {} of {}", by.join(" and "), seconds(told.helped), seconds(told.watched))
}

fn gained(told: &Told, cpus: usize) -> String {
    let Some((with, without)) = told.rates else {
        return String::new();
    };
    let rates = format!("{with:.2} of {cpus} CPUs were in use with help, {without:.2} without");
    match told.verdict {
        Verdict::Helps => {
            format!("; {rates}: {:.0} % more done in a second", 100.0 * (with / without.max(1e-9) - 1.0))
        }
        Verdict::Useless => format!("; {rates}: of no use, so help was withdrawn"),
        Verdict::Trying => format!("; {rates}, which is not sure yet"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdup_steer::Tool;

    fn told() -> Told {
        Told {
            process: 1,
            watched: Duration::from_secs(6),
            critical: Duration::from_secs(5),
            helped: Duration::from_secs(4),
            used: [Tool::Priority].into(),
            threads: [(3, ("sort".to_owned(), Duration::from_secs(4)))].into(),
            rates: Some((1.98, 1.6)),
            verdict: Verdict::Helps,
            trouble: None,
        }
    }

    #[test]
    fn one_line_says_who_was_helped_by_what_and_what_it_gained() {
        assert_eq!(
            sentence(&[told()], 2),
            "helped thread 3 (sort) by priority for 4.0 s of 6.0 s; 1.98 of 2 CPUs were in use with help, 1.60 without: \
             24 % more done in a second"
        );
        let useless = Told { verdict: Verdict::Useless, rates: Some((2.0, 2.0)), ..told() };
        assert!(sentence(&[useless], 2).ends_with("of no use, so help was withdrawn"));
    }

    #[test]
    fn where_nothing_was_done_that_is_said() {
        assert!(sentence(&[], 2).starts_with("no process had several threads"));
        let nobody = Told { critical: Duration::ZERO, helped: Duration::ZERO, rates: None, ..told() };
        assert_eq!(
            sentence(&[nobody], 2),
            "of 6.0 s, no thread was more critical than others, so none was helped"
        );
    }
}
