//! What is printed each interval where there is no screen: lines for a person, or JSON for a program.

use std::fmt::Write as _;

use holdup_live::Doing;
use holdup_report::escaped;
use holdup_report::top::{self, Line, Process, State, TOP_SCHEMA, Thread};

use super::view::{Order, View};

/// Threads of which there is a line each.
const MOST_LINES: usize = 20;

/// What a thread does, in words.
pub(crate) fn doing(state: &Doing) -> String {
    match state {
        Doing::Active => "active".to_owned(),
        Doing::Waits(what) if what.is_empty() => "waits".to_owned(),
        Doing::Waits(what) => format!("waits: {}", escaped(what)),
        Doing::Ended => "ended".to_owned(),
    }
}

/// Hours, minutes and seconds where seconds alone are many.
pub(crate) fn length(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    match seconds as u64 {
        0..100 => format!("{seconds:.1} s"),
        whole @ 100..3600 => format!("{}:{:02} min", whole / 60, whole % 60),
        whole => format!("{}:{:02} h", whole / 3600, whole / 60 % 60),
    }
}

/// The lines of one interval; `age_ns` is the time since the start.
pub(crate) fn lines(view: &View, order: Order, age_ns: u64, source: &str) -> String {
    let mut text = String::new();
    let processes: Vec<String> = view
        .processes
        .iter()
        .filter(|process| !process.has_ended || view.living_processes() == 0)
        .take(5)
        .map(|process| format!("{} ({})", escaped(&process.name), process.pid))
        .collect();
    let threads = view.living();
    let _ = writeln!(
        text,
        "{}  {}: {threads} {}, {:.1} active; {source}",
        length(age_ns),
        processes.join(", "),
        if threads == 1 { "thread" } else { "threads" },
        view.active(),
    );
    let _ = writeln!(text, "     now     all  active  changes/s      tid  thread           does");
    let mut rows = view.rows.clone();
    rows.retain(|row| row.state != Doing::Ended || row.share > 0.0 || row.total_share >= 0.01);
    order.sort(&mut rows, false);
    for row in rows.iter().take(MOST_LINES) {
        let _ = writeln!(
            text,
            "{:7.1} {:7.1} {:7.1} {:10.0} {:8}  {:15}  {}",
            row.share * 100.0,
            row.total_share * 100.0,
            row.active_share * 100.0,
            row.changes_a_second,
            row.tid,
            escaped(&row.name),
            doing(&row.state),
        );
    }
    if rows.len() > MOST_LINES {
        let _ = writeln!(text, "         … and {} more", rows.len() - MOST_LINES);
    }
    text
}

/// One line of JSON: what [`lines`] says, of all threads. `age_ns` and `own_cpu_ns`: the time since the start, and the CPU time
/// of holdup itself in it.
pub(crate) fn json_line(
    view: &View,
    order: Order,
    (age_ns, own_cpu_ns): (u64, u64),
    source: Source,
    ended: bool,
) -> String {
    let mut rows = view.rows.clone();
    order.sort(&mut rows, false);
    let line = Line {
        schema: TOP_SCHEMA,
        age_ns,
        span_ns: view.span_ns,
        own_cpu_ns,
        source: source.word,
        estimate: source.estimate,
        ended,
        processes: view
            .processes
            .iter()
            .map(|process| Process {
                pid: process.pid,
                name: &process.name,
                ended: process.has_ended,
                active: process.active,
                nobody_share: process.nobody,
            })
            .collect(),
        threads: rows
            .iter()
            .map(|row| Thread {
                pid: row.pid,
                tid: row.tid,
                number: row.who.1,
                name: &row.name,
                state: match row.state {
                    Doing::Active => State::Active,
                    Doing::Waits(_) => State::Waits,
                    Doing::Ended => State::Ended,
                },
                waits_for: match &row.state {
                    Doing::Waits(what) if !what.is_empty() => Some(what.as_str()),
                    _ => None,
                },
                criticality_share: row.share,
                criticality_share_of_all: row.total_share,
                active_share: row.active_share,
                changes_per_second: row.changes_a_second,
                criticality_ns: row.criticality_ns,
                active_ns: row.active_ns,
                changes: row.changes,
            })
            .collect(),
    };
    // Strings and numbers alone cannot fail.
    let mut text = serde_json::to_string(&line).unwrap_or_default();
    text.push('\n');
    text
}

/// Where the figures come from, for JSON.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    /// Who tells.
    pub word: top::Source,
    /// They are an estimate.
    pub estimate: bool,
}

#[cfg(test)]
mod tests {
    use super::super::view::tests::{survey, thread};
    use super::*;

    const S: u64 = 1_000_000_000;

    fn view() -> View {
        let threads = vec![
            thread(0, "main", Doing::Waits("thread's end".to_owned()), (S / 10, S / 5, 2)),
            thread(1, "bad\u{1b}[31m", Doing::Active, (3 * S / 2, 2 * S, 4000)),
        ];
        View::between(None, &survey(3 * S, threads))
    }

    #[test]
    fn lines_are_sorted_and_harmless() {
        let text = lines(&view(), Order::Now, 2 * S, "the library tells");
        assert_eq!(
            text,
            "2.0 s  app (100): 2 threads, 1.1 active; the library tells\n\
             \x20    now     all  active  changes/s      tid  thread           does\n\
             \x20  75.0    75.0   100.0       2000      101  bad\\u{1b}[31m    active\n\
             \x20   5.0     5.0    10.0          1      100  main             waits: thread's end\n"
        );
    }

    #[test]
    fn json_has_every_thread_on_one_line() {
        let source = Source { word: top::Source::Library, estimate: false };
        let text = json_line(&view(), Order::All, (2 * S, 7), source, true);
        assert_eq!(text.matches('\n').count(), 1);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["threads"][0]["criticality_share"], 0.75);
        assert_eq!(json["threads"][1]["waits_for"], "thread's end");
        assert_eq!(json["threads"][0]["waits_for"], serde_json::Value::Null);
        assert_eq!(
            json["processes"][0]["nobody_share"].as_f64().map(|share| (share * 100.0).round()),
            Some(20.0)
        );
        assert_eq!(json["ended"], true);
    }

    #[test]
    fn long_times_are_minutes_and_hours() {
        assert_eq!(length(99_900_000_000), "99.9 s");
        assert_eq!(length(125 * S), "2:05 min");
        assert_eq!(length(3 * 3600 * S + 61 * S), "3:01 h");
    }
}
