//! The jobs of `make` and its like: how many ran at once, which waited for which, and what more at once would give.

use std::collections::BTreeSet;

use holdup_model::{Nanos, Process, Run, Time, most_at_once, names};

use super::life::Lives;
use super::schedule::{Plan, Planned};

/// Programs that start jobs, as many at once as they are told: a job is what one of them starts and what starts no such
/// program again.
const RUNNERS: &[Runner] = &[
    Runner { program: "make", flags: &["-j", "--jobs"] },
    Runner { program: "gmake", flags: &["-j", "--jobs"] },
    Runner { program: "ninja", flags: &["-j"] },
    Runner { program: "samu", flags: &["-j"] },
    Runner { program: "cargo", flags: &["-j", "--jobs"] },
    Runner { program: "xargs", flags: &["-P", "--max-procs"] },
    Runner { program: "parallel", flags: &["-j", "--jobs", "-P"] },
];

struct Runner {
    program: &'static str,
    /// The options that say how many jobs run at once.
    flags: &'static [&'static str],
}

/// The jobs of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Jobs {
    /// Who started them: the program of the first such process. Hostile.
    pub runner: String,
    /// How many there were.
    pub count: usize,
    /// How many may run at once: as many as a runner was told, or as ran.
    pub limit: u32,
    /// How many ran at once, at most.
    pub most: u32,
    /// How many ran at once, on the average from the first one's start to the last one's end.
    pub mean: f64,
    /// How many of them began when another had ended while fewer than `limit` ran: they waited for that one's result.
    pub waited: usize,
    /// What other numbers of jobs at once, and of cores, give. Empty where replaying the jobs as they were does not give the
    /// run's time.
    pub forecasts: Vec<Forecast>,
}

/// The time of a run with other numbers of jobs at once.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Forecast {
    /// How many jobs at once; `None` for all that could.
    pub limit: Option<u32>,
    /// On how many cores; `None` where each job has its own.
    pub cores: Option<u32>,
    /// How long the run takes at least: what a job needs of another that ran before it for want of a free place is not known.
    pub wall: Nanos,
}

/// A process that a runner started, with all that it started.
struct Job {
    start: Time,
    end: Time,
    /// How long it would have run with a core whenever it could have used one.
    free: Nanos,
    /// CPU time of all its processes.
    cpu: Nanos,
}

/// Two times of which the larger is no more than this share longer are as good as equal: the replay of the jobs as they ran.
const LIKE: f64 = 0.15;

impl Jobs {
    pub(super) fn of(run: &Run, lives: &Lives) -> Option<Jobs> {
        let runners: BTreeSet<usize> =
            (0..lives.all.len()).filter(|&index| runner(&run.processes[index]).is_some()).collect();
        let first = runners.iter().copied().min_by_key(|&index| (lives.all[index].start, index))?;
        let mut jobs: Vec<Job> = runners
            .iter()
            .flat_map(|&index| &lives.children[index])
            .filter_map(|&child| job(lives, child, &runners))
            .collect();
        if jobs.len() < 2 {
            return None;
        }
        jobs.sort_by_key(|job| (job.start, job.end));
        let cores = run.processes.iter().map(|process| run.effective_cores_of(process)).max().unwrap_or(0);
        let most = most_at_once(jobs.iter().map(|job| (job.start, job.end))) as u32;
        let limit = limit(run, &runners, most);
        let plan = Plan { jobs: planned(&jobs, limit) };
        let (begin, end) = (jobs[0].start, jobs.iter().map(|job| job.end).max()?);
        let length = end.since(begin);
        let lived: Nanos = jobs.iter().map(|job| job.end.since(job.start)).sum();
        Some(Jobs {
            runner: names::program_of(&run.processes[first]),
            count: jobs.len(),
            limit,
            most,
            mean: lived.share_of(length),
            waited: plan.jobs.iter().filter(|job| job.after.is_some()).count(),
            forecasts: forecasts(
                &plan,
                run,
                length,
                (limit, cores),
                lives.all.iter().map(|life| life.cpu).sum(),
            ),
        })
    }
}

/// How a process starts jobs; `None` if it is none that does.
fn runner(process: &Process) -> Option<&'static Runner> {
    let program = names::program_of(process);
    RUNNERS.iter().find(|runner| runner.program == program)
}

/// The job that this child of a runner is; `None` if it starts a runner itself.
fn job(lives: &Lives, child: usize, runners: &BTreeSet<usize>) -> Option<Job> {
    let all = lives.subtree(child);
    if all.iter().any(|index| runners.contains(index)) {
        return None;
    }
    let life = &lives.all[child];
    let end = lives.end(child);
    let cpu = all.iter().map(|&index| lives.all[index].cpu).sum();
    let delayed = delayed(lives, &all);
    Some(Job { start: life.start, end, free: end.since(life.start).saturating_sub(delayed), cpu })
}

/// How long some of these processes were able to run, and none had a core.
fn delayed(lives: &Lives, all: &[usize]) -> Nanos {
    let length = |spans: Vec<(Time, Time)>| -> Nanos {
        super::life::merged(spans).iter().map(|span| span.1.since(span.0)).sum()
    };
    let able = length(all.iter().flat_map(|&index| lives.all[index].able.iter().copied()).collect());
    let active = length(all.iter().flat_map(|&index| lives.all[index].active.iter().copied()).collect());
    able.saturating_sub(active)
}

/// How many jobs the runners may have at once: as many as one was told, or as there were (`most`) where that is more. Where
/// none was told, what one does then (one, or as many as there are cores) may be changed by its environment or its settings.
fn limit(run: &Run, runners: &BTreeSet<usize>, most: u32) -> u32 {
    let told = |index: &usize| {
        let process = &run.processes[*index];
        option(&process.command, runner(process)?.flags)
    };
    runners.iter().filter_map(told).max().unwrap_or(0).max(most)
}

/// The number that follows one of these options, in the same word or the next.
fn option(command: &[String], flags: &[&str]) -> Option<u32> {
    let words = command.iter().skip(1).enumerate();
    let value = |(index, word): (usize, &String)| {
        let rest = flags.iter().find_map(|flag| word.strip_prefix(flag))?;
        let next = || command.get(index + 2).map(String::as_str);
        let number = if rest.is_empty() { next()? } else { rest.strip_prefix('=').unwrap_or(rest) };
        number.parse().ok().filter(|&number| number > 0)
    };
    words.rev().find_map(value)
}

/// Forecasts of a run whose jobs took `length` from the first one's start to the last one's end, with this limit on these
/// cores, and of all of whose CPU time `cpu` is known: no run takes less than that on all its cores.
fn forecasts(plan: &Plan, run: &Run, length: Nanos, (limit, cores): (u32, u32), cpu: Nanos) -> Vec<Forecast> {
    if cores == 0 {
        return Vec::new();
    }
    let as_it_was = plan.length(limit, cores);
    let ratio = as_it_was.share_of(length);
    if !(1.0 / (1.0 + LIKE)..=1.0 + LIKE).contains(&ratio) {
        return Vec::new();
    }
    let beside = run.end.since(run.start).saturating_sub(length);
    let more = if limit < cores { cores } else { limit.saturating_mul(2) };
    let on_twice = (limit.max(cores).saturating_mul(2), cores.saturating_mul(2));
    let asked = [(limit, cores), (more, cores), on_twice];
    let as_long = |told: Nanos| beside + Nanos::new((told.get() as f64 / ratio).round() as u64);
    let forecast = |(limit, cores)| Forecast {
        limit: Some(limit),
        cores: Some(cores),
        wall: as_long(plan.length(limit, cores)).max(Nanos::new(cpu.get().div_ceil(u64::from(cores.max(1))))),
    };
    let all = Forecast { limit: None, cores: None, wall: as_long(plan.longest_chain()) };
    asked.into_iter().map(forecast).chain([all]).collect()
}

/// What a job waits for, by what is seen of it.
fn planned(jobs: &[Job], limit: u32) -> Vec<Planned> {
    let mut ends: Vec<usize> = (0..jobs.len()).collect();
    ends.sort_by_key(|&index| (jobs[index].end, index));
    let planned = |index: usize| {
        let job = &jobs[index];
        let ended = ends.partition_point(|&other| jobs[other].end <= job.start);
        let last = ends[..ended].iter().rev().copied().find(|&other| other < index);
        // How many ran right before the last end: this one and the last are among those that began before it, or are not.
        let running = last.map_or(0, |last| {
            let end = jobs[last].end;
            let begun = jobs.partition_point(|other| other.start < end);
            let done = ends.partition_point(|&other| jobs[other].end < end);
            begun.saturating_sub(done)
        });
        let after = last.filter(|_| (running as u32) < limit);
        let before = index.checked_sub(1).map(|before| jobs[before].start);
        let since = last.map(|last| jobs[last].end).max(before.filter(|_| after.is_none()));
        Planned {
            after,
            lag: since.map_or(Nanos::ZERO, |since| job.start.since(since)),
            free: job.free,
            cores: if job.free > Nanos::ZERO { job.cpu.share_of(job.free) } else { 0.0 },
        }
    };
    (0..jobs.len()).map(planned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &str) -> Vec<String> {
        command.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn the_last_option_counts() {
        let make = RUNNERS[0].flags;
        let told = |command: &str| option(&words(command), make);
        assert_eq!(told("make -j8 all"), Some(8));
        assert_eq!(told("make -j 8"), Some(8));
        assert_eq!(told("make --jobs=3 -j12"), Some(12));
        assert_eq!(told("make --jobs 3"), Some(3));
        assert_eq!(told("make -j all"), None);
        assert_eq!(told("make -j0"), None);
        assert_eq!(told("make"), None);
        assert_eq!(option(&words("xargs -n 1 -P 4 gzip"), &["-P", "--max-procs"]), Some(4));
    }

    #[test]
    fn as_many_jobs_as_told_or_as_there_were() {
        let at = Time::from_nanos;
        let limit = |command: &str, most| {
            let mut process = Process::new(at(0), at(10));
            process.command = words(command);
            let run = Run { processes: vec![process], ..Run::default() };
            super::limit(&run, &BTreeSet::from([0]), most)
        };
        assert_eq!([limit("make", 3), limit("make -j6", 3), limit("make -j2", 3)], [3, 6, 3]);
    }

    #[test]
    fn jobs_know_their_places() {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let job = |(start, end): (u64, u64)| Job {
            start: at(start),
            end: at(end),
            free: at(end).since(at(start)),
            cpu: at(end).since(at(start)),
        };
        // Two places: the third takes that of the first, the fourth begins when nothing else runs.
        let jobs: Vec<Job> = [(0, 10), (0, 20), (10, 18), (20, 30)].map(job).into();
        let plan = Plan { jobs: planned(&jobs, 2) };
        assert_eq!(plan.jobs.iter().map(|job| job.after).collect::<Vec<_>>(), [None, None, None, Some(1)]);
        let ms = |length: Nanos| length.get() / 1_000_000;
        assert_eq!(ms(plan.length(2, 2)), 30);
        assert_eq!(ms(plan.length(1, 2)), 48);
        // Three share two cores until 12, then two have one each: the second ends at 24, and the fourth waits for it.
        assert_eq!(ms(plan.length(4, 2)), 34);
        assert_eq!(ms(plan.length(4, 1)), 48);
        assert_eq!(ms(plan.longest_chain()), 30);
    }
}
