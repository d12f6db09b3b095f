//! Did the program use as many threads as it was told?

use holdup_model::{Nanos, Run, Thread};

use crate::thread_count::{Control, PLACEHOLDER};

/// A thread that used less than this share of the CPU time of the busiest one is not at work.
const AT_WORK: f64 = 0.05;

/// What a run shows of its number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// All threads of all processes.
    threads: usize,
    /// Those that worked; `None` where no CPU time is known.
    workers: Option<usize>,
    /// The largest team of an OpenMP region; `None` without regions.
    team: Option<u32>,
}

impl Seen {
    /// In a run.
    pub(crate) fn of(run: &Run) -> Seen {
        let threads = || run.processes.iter().flat_map(|process| &process.threads);
        let times: Vec<Nanos> = threads().filter_map(Thread::known_cpu).collect();
        let most = times.iter().copied().max();
        let at_work = |time: &&Nanos| most.is_some_and(|most| time.share_of(most) >= AT_WORK);
        let regions = run.processes.iter().flat_map(|process| &process.openmp.regions);
        Seen {
            threads: threads().count(),
            workers: most.map(|_| times.iter().filter(at_work).count()),
            team: regions.filter(|region| !region.league).map(|region| region.size).max(),
        }
    }
}

/// Why the program does not seem to use the number that it was given, as a sentence. `seen` is what a run at each number of threads
/// shows, from few to many.
pub(crate) fn ignored(seen: &[(u32, Seen)], control: Option<&Control>) -> Option<String> {
    let is_same = seen.windows(2).all(|pair| pair[0].1 == pair[1].1);
    let ([(_, first), _, ..], true) = (seen, is_same) else { return None };
    let was_told = match control {
        Some(control) if control.is_in_command() => "its arguments".to_owned(),
        Some(control) if !control.names().is_empty() => control.names().join(" and "),
        _ => "the number of threads".to_owned(),
    };
    Some(format!(
        "{} each time, whatever {was_told} said. Put {PLACEHOLDER} where its arguments take a number, or name the variable that it \
         reads with --variable.",
        words(first)
    ))
}

/// That teams stayed smaller than asked for, as a sentence.
pub(crate) fn small_teams(seen: &[(u32, Seen)]) -> Option<String> {
    let short: Vec<&(u32, Seen)> =
        seen.iter().filter(|(count, seen)| seen.team.is_some_and(|team| team < *count)).collect();
    let most = short.iter().filter_map(|(_, seen)| seen.team).max()?;
    let counts: Vec<u32> = short.iter().map(|(count, _)| *count).collect();
    Some(format!(
        "At {} threads the largest team of an OpenMP region had {most}: OMP_THREAD_LIMIT, OMP_DYNAMIC or the program itself keeps \
         teams smaller than asked for.",
        list(&counts)
    ))
}

fn words(seen: &Seen) -> String {
    let threads = |count: usize| if count == 1 { "1 thread".to_owned() } else { format!("{count} threads") };
    match (seen.team, seen.workers) {
        (Some(team), _) => format!("the largest team of an OpenMP region had {}", threads(team as usize)),
        (None, Some(workers)) => format!("{} worked", threads(workers)),
        (None, None) => format!("it had {}", threads(seen.threads)),
    }
}

/// `1, 2 and 4`.
fn list(counts: &[u32]) -> String {
    let words: Vec<String> = counts.iter().map(u32::to_string).collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn seen(threads: usize, workers: usize, team: Option<u32>) -> Seen {
        Seen { threads, workers: Some(workers), team }
    }

    fn control(words: &[&str]) -> Control {
        let command: Vec<OsString> = words.iter().map(OsString::from).collect();
        Control::new(&command, &[], None)
    }

    #[test]
    fn who_uses_the_threads_is_not_accused() {
        for points in [
            [(1, seen(1, 1, None)), (4, seen(5, 4, None))],
            [(1, seen(9, 1, None)), (4, seen(9, 4, None))],
            [(1, seen(8, 1, Some(1))), (4, seen(8, 1, Some(4)))],
        ] {
            assert_eq!(ignored(&points, Some(&control(&["app"]))), None, "{points:?}");
        }
        assert_eq!(ignored(&[(4, seen(1, 1, None))], None), None, "one number tells nothing");
    }

    #[test]
    fn who_ignores_the_number_is_told_with_the_evidence() {
        let points = [(1, seen(4, 3, None)), (2, seen(4, 3, None)), (4, seen(4, 3, None))];
        let note = ignored(&points, Some(&control(&["app"]))).expect("it ignores it");
        assert!(note.starts_with("3 threads worked each time, whatever OMP_NUM_THREADS said."), "{note}");
        assert!(note.contains("{threads}") && note.contains("--variable"), "{note}");
        let note = ignored(&points, Some(&control(&["app", "{threads}"]))).expect("it ignores it");
        assert!(note.contains("whatever its arguments said"), "{note}");
    }

    #[test]
    fn teams_that_stay_small_are_told() {
        let points = [(1, seen(1, 1, Some(1))), (2, seen(2, 2, Some(2))), (8, seen(2, 2, Some(2)))];
        assert_eq!(ignored(&points, None), None);
        let note = small_teams(&points).expect("small teams");
        assert!(note.starts_with("At 8 threads the largest team of an OpenMP region had 2"), "{note}");
    }
}
