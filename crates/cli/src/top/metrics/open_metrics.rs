//! A survey as OpenMetrics text (version 1.0.0, <https://prometheus.io/docs/specs/om/open_metrics_spec/>).

use std::fmt::{self, Write};

use holdup_live::{ProcessSeen, Survey, ThreadSeen};

/// A survey as OpenMetrics text.
pub(crate) fn text(survey: &Survey) -> String {
    let mut text = String::new();
    // A string takes everything.
    let _ = families(&mut text, survey);
    text
}

/// What all counters of one name share.
struct Family {
    /// With its unit at the end.
    name: &'static str,
    help: &'static str,
    unit: Option<&'static str>,
}

const CRITICALITY: Family = Family {
    name: "holdup_thread_criticality_seconds",
    help: "Time of the thread, each moment divided by the number of threads of its process that were active in it",
    unit: Some("seconds"),
};

const ACTIVE: Family = Family {
    name: "holdup_thread_active_seconds",
    help: "Time in which the thread was active",
    unit: Some("seconds"),
};

const CHANGES: Family = Family {
    name: "holdup_thread_changes",
    help: "How often the thread became active or ceased to be",
    unit: None,
};

const FOLLOWED: Family = Family {
    name: "holdup_process_followed_seconds",
    help: "Time for which the process has been followed",
    unit: Some("seconds"),
};

fn families(out: &mut String, survey: &Survey) -> fmt::Result {
    threads(out, &CRITICALITY, survey, |thread| seconds(thread.criticality_ns))?;
    threads(out, &ACTIVE, survey, |thread| seconds(thread.active_ns))?;
    threads(out, &CHANGES, survey, |thread| thread.changes.to_string())?;
    begin(out, &FOLLOWED)?;
    for process in current(survey) {
        let labels = [("pid", process.pid.to_string()), ("process", process.name.clone())];
        counter(out, &FOLLOWED, &labels, &seconds(process.age_ns))?;
    }
    writeln!(out, "# EOF")
}

/// The processes; of one that executes another program what it is now, under the labels of both.
fn current(survey: &Survey) -> impl Iterator<Item = &ProcessSeen> {
    let later = |at: usize| survey.processes[at + 1..].iter();
    let is_last =
        move |(at, process): &(usize, &ProcessSeen)| later(*at).all(|other| other.pid != process.pid);
    survey.processes.iter().enumerate().filter(is_last).map(|(_, process)| process)
}

/// A value of each thread.
fn threads(
    out: &mut String,
    family: &Family,
    survey: &Survey,
    value: impl Fn(&ThreadSeen) -> String,
) -> fmt::Result {
    begin(out, family)?;
    for process in current(survey) {
        for thread in &process.threads {
            let labels = [
                ("pid", process.pid.to_string()),
                ("process", process.name.clone()),
                ("tid", thread.tid.to_string()),
                ("thread", thread.number.to_string()),
                ("name", thread.name.clone()),
            ];
            counter(out, family, &labels, &value(thread))?;
        }
    }
    Ok(())
}

fn begin(out: &mut String, Family { name, help, unit }: &Family) -> fmt::Result {
    writeln!(out, "# HELP {name} {help}\n# TYPE {name} counter")?;
    unit.map_or(Ok(()), |unit| writeln!(out, "# UNIT {name} {unit}"))
}

fn counter(out: &mut String, family: &Family, labels: &[(&str, String)], value: &str) -> fmt::Result {
    write!(out, "{}_total{{", family.name)?;
    for (at, (name, text)) in labels.iter().enumerate() {
        let between = if at == 0 { "" } else { "," };
        let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        write!(out, "{between}{name}=\"{text}\"")?;
    }
    writeln!(out, "}} {value}")
}

/// Seconds, with a point also where they are whole.
fn seconds(ns: u64) -> String {
    let text = (ns as f64 / 1e9).to_string();
    if text.contains('.') { text } else { text + ".0" }
}

#[cfg(test)]
pub(super) mod tests {
    use holdup_live::Doing;

    use super::super::super::view::tests::{survey, thread};
    use super::*;

    const S: u64 = 1_000_000_000;

    pub(in crate::top::metrics) fn example() -> Survey {
        survey(3 * S, vec![thread(0, "a\"b\\c\nd", Doing::Active, (S / 2, S, 7))])
    }

    #[test]
    fn text_is_open_metrics() {
        let labels = r#"pid="100",process="app",tid="100",thread="0",name="a\"b\\c\nd""#;
        let expected = format!(
            "# HELP holdup_thread_criticality_seconds Time of the thread, each moment divided by the number of threads of its \
             process that were active in it\n\
             # TYPE holdup_thread_criticality_seconds counter\n\
             # UNIT holdup_thread_criticality_seconds seconds\n\
             holdup_thread_criticality_seconds_total{{{labels}}} 0.5\n\
             # HELP holdup_thread_active_seconds Time in which the thread was active\n\
             # TYPE holdup_thread_active_seconds counter\n\
             # UNIT holdup_thread_active_seconds seconds\n\
             holdup_thread_active_seconds_total{{{labels}}} 1.0\n\
             # HELP holdup_thread_changes How often the thread became active or ceased to be\n\
             # TYPE holdup_thread_changes counter\n\
             holdup_thread_changes_total{{{labels}}} 7\n\
             # HELP holdup_process_followed_seconds Time for which the process has been followed\n\
             # TYPE holdup_process_followed_seconds counter\n\
             # UNIT holdup_process_followed_seconds seconds\n\
             holdup_process_followed_seconds_total{{pid=\"100\",process=\"app\"}} 2.0\n\
             # EOF\n"
        );
        assert_eq!(text(&example()), expected);
    }

    #[test]
    fn short_times_are_no_powers() {
        assert_eq!((seconds(1), seconds(1_500)), ("0.000000001".to_owned(), "0.0000015".to_owned()));
    }

    #[test]
    fn a_process_that_executes_another_program_is_there_once() {
        let mut both = example();
        both.processes.extend(example().processes);
        assert_eq!(text(&both), text(&example()));
    }
}
