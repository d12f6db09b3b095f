//! What a program would take without spinning, whose threads spin in loops of their own on cores that others need.
//!
//! What a thread in such a loop waits for is not known, so that no replay tells how long it would wait if the others had the cores. But
//! while cores are busy all the time, what the program takes is its work, which samples tell from the spinning.

use holdup_model::{Doing, Nanos, Process, Site, ThreadId};
use holdup_replay::sort_of;

use crate::scarcity::part;
use crate::{Diagnosis, Finding, FindingKind, Gain, NobodyCause};

/// Threads with work are kept from all cores for at least this share of the time, if that is said.
const LEAST_KEPT: f64 = 0.03;
/// Fewer samples of work and of loops together say too little of how much is work.
const LEAST_SAMPLES: f64 = 20.0;
/// Cores are busy from this share of their time on.
const BUSY: f64 = 0.85;
/// Threads with less than this share of the work of who has the most only help.
const HELPERS: f64 = 0.1;
/// What the program takes at the least may be off by this share, however well its work is known.
const OFF: f64 = 0.05;

/// What is said of threads that share cores on which some of them spin.
pub(super) const ONE_GAIN: &str =
    "Threads that have cores need not spin for others: the spinning is in this gain.";

/// What fixing each finding saves, where it is spinning, or that threads share cores of which others spin on some.
pub(super) fn gains(process: &Process, diagnosis: &Diagnosis) -> Vec<Option<Gain>> {
    // A runtime's threads that spin have a finding with what that costs, if they have the cores.
    let is_said = |finding: &Finding| finding.kind == FindingKind::Spin && finding.gain.is_some();
    if diagnosis.findings.iter().any(is_said) {
        return diagnosis.findings.iter().map(|_| None).collect();
    }
    let spins = |finding: &Finding| finding.kind == FindingKind::Spin && finding.object.is_none();
    let spun: Nanos =
        diagnosis.findings.iter().filter(|finding| spins(finding)).map(|finding| finding.cost).sum();
    let kept = Kept::of(diagnosis);
    let cores = Cores::of(diagnosis).filter(|_| spun > Nanos::ZERO);
    let work = cores.and_then(|cores| Work::of(process, cores));
    let asleep = match &work {
        Some(work) => Some(work.saved(&kept, work.by_sleeping())),
        None => kept.saved(diagnosis),
    };
    let fewer = work.as_ref().map(|work| work.saved(&kept, work.by_fewer_threads()));
    let gain = |finding: &Finding| match finding.kind {
        FindingKind::Oversubscription => fewer.clone().filter(|_| do_the_same(process, &finding.threads)),
        _ if spins(finding) => asleep.as_ref().map(|gain| {
            let [time, low, high] =
                [gain.time, gain.low, gain.high].map(|time| part(time, finding.cost, spun));
            Gain { time, low, high, ..gain.clone() }
        }),
        _ => None,
    };
    diagnosis.findings.iter().map(gain).collect()
}

/// True if any of these threads could do the work of another one. Main may do its part beside those that it starts.
fn do_the_same(process: &Process, threads: &[ThreadId]) -> bool {
    let mut sorts =
        threads.iter().filter(|thread| thread.index() != 0).map(|&thread| sort_of(process, thread));
    let first = sorts.next().flatten();
    first.is_some() && sorts.all(|sort| sort == first)
}

fn gain(low: f64, time: f64, high: f64) -> Gain {
    let [low, time, high] =
        [low.min(time), time, high.max(time)].map(|time| Nanos::new(time.max(0.0) as u64));
    Gain { time, low, high, expression: String::new(), capped_by: None }
}

/// The time in which no thread with work had a core.
struct Kept {
    all: f64,
    /// Less what others had the cores for: as large a part as they used of the CPUs' time.
    own: f64,
}

impl Kept {
    fn of(diagnosis: &Diagnosis) -> Kept {
        let causes = diagnosis.criticality.nobody.iter();
        let all = causes.filter(|(cause, _)| *cause == NobodyCause::RunQueue).map(|(_, time)| time).sum();
        Kept { all, own: all * (1.0 - diagnosis.others.clamp(0.0, 1.0)) }
    }

    /// What it saves if threads sleep that spin: at least this, and at most what a single thread lacked. Where there is a core for each
    /// thread, it is others that keep them from one.
    fn saved(&self, diagnosis: &Diagnosis) -> Option<Gain> {
        if diagnosis.workers <= diagnosis.effective_cores {
            return None;
        }
        let most = diagnosis.threads.iter().map(|thread| thread.descheduled).max().unwrap_or(Nanos::ZERO);
        let matters = self.own >= LEAST_KEPT * diagnosis.wall.get() as f64;
        matters.then(|| gain(self.own, self.all, self.all.max(most.get() as f64)))
    }
}

/// Cores that are busy all the time, and shared by more threads than there are of them.
#[derive(Clone, Copy)]
struct Cores {
    count: f64,
    /// How many of them the program has on average.
    used: f64,
    /// The share of their time that others have.
    others: f64,
    /// How long the program runs (ns).
    wall: f64,
}

impl Cores {
    fn of(diagnosis: &Diagnosis) -> Option<Cores> {
        let cores = Cores {
            count: f64::from(diagnosis.effective_cores),
            used: diagnosis.on_cpu_parallelism?,
            others: diagnosis.others.clamp(0.0, 0.9),
            wall: diagnosis.wall.get() as f64,
        };
        let are_shared = diagnosis.effective_cores > 0 && diagnosis.workers > diagnosis.effective_cores;
        (are_shared && cores.used >= BUSY * cores.count * (1.0 - cores.others)).then_some(cores)
    }
}

/// The CPU time of threads that share cores (ns) without their spinning.
struct Work {
    /// All of it.
    all: f64,
    /// What one thread has more of than another has: nobody else can do it.
    alone: f64,
    /// How many threads have work worth the name.
    threads: f64,
    cores: Cores,
    /// Half the width of its 95 % interval, as a share of it.
    error: f64,
}

impl Work {
    /// `None` where there are too few samples.
    fn of(process: &Process, cores: Cores) -> Option<Work> {
        let waits: Vec<bool> = process.sites.iter().map(Site::waits_on_a_core).collect();
        let mut seen = vec![(0.0, 0.0, 0.0); process.threads.len()];
        let mut taken = 0.0;
        for sample in process.samples.iter().filter(|sample| sample.doing == Doing::Running) {
            let (samples, time, working) = &mut seen[sample.thread.index()];
            let weight = sample.weight.get() as f64;
            let works = !sample.site.is_some_and(|site| waits[site.index()]);
            *time += weight;
            taken += 1.0;
            (*samples, *working) =
                if works { (*samples + 1.0, *working + weight) } else { (*samples, *working) };
        }
        let working: f64 = seen.iter().map(|seen| seen.2).sum();
        let sampled: f64 = seen.iter().map(|seen| seen.1).sum();
        if taken < LEAST_SAMPLES || sampled <= 0.0 {
            return None;
        }
        // Where no sample found work, there is up to about three times as much as one stands for.
        let samples = seen.iter().map(|seen| seen.0).sum::<f64>().max(1.0);
        let working = working.max(sampled / taken);
        // Samples are of CPU time, of which all is known.
        let scale = cores.used * cores.wall / sampled;
        let most = seen.iter().map(|seen| seen.2).fold(0.0, f64::max);
        let mut workers: Vec<(f64, f64)> = seen
            .iter()
            .map(|seen| (seen.2, seen.0))
            .filter(|seen| seen.0 > 0.0 && seen.0 >= HELPERS * most)
            .collect();
        workers.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let (median, last) =
            workers.last().map_or_else(|| (0.0, (0.0, 1.0)), |last| (workers[workers.len() / 2].0, *last));
        // As many samples of equal threads differ by as much.
        let by_chance = 2.0 * last.0 / last.1.max(1.0).sqrt();
        let spun = 1.0 - working / sampled;
        Some(Work {
            all: working * scale,
            alone: (last.0 - median - by_chance).max(0.0) * scale,
            threads: workers.len().max(1) as f64,
            cores,
            error: 2.0 * (spun / samples).sqrt(),
        })
    }

    /// What it takes if no more threads share it than there are cores.
    fn by_fewer_threads(&self) -> f64 {
        self.alone + (self.all - self.alone) / self.cores.count.min(self.threads)
    }

    /// What it takes if all of its threads do an equal part, and sleep until the others have done theirs.
    fn by_sleeping(&self) -> f64 {
        self.alone + (self.all - self.alone) / self.threads * (self.threads / self.cores.count).ceil()
    }

    /// What is saved if the program takes so long (ns), on cores of which others use their part: at least what no thread with work
    /// had a core.
    fn saved(&self, kept: &Kept, takes: f64) -> Gain {
        let Cores { wall, others, .. } = self.cores;
        let takes = takes / (1.0 - others);
        let saves = |times: f64| (wall - takes * times).clamp(0.0, wall);
        let off = self.error + OFF;
        let time = saves(1.0).max(kept.own);
        gain(saves(1.0 + off).max(kept.own), time, saves((1.0 - off).max(0.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdup_model::{Frame, Sample, Time};

    /// Threads of a process by how many samples of 5 ms they have of work and of waiting in a loop.
    fn process(threads: &[(u32, u32)]) -> Process {
        let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(1));
        let site =
            |in_waiting_loop| Site { frames: vec![Frame::default()], in_waiting_loop, ..Site::default() };
        let [work, waiting] = [false, true].map(|waits| process.add_site(site(waits)));
        for (index, &(working, spinning)) in threads.iter().enumerate() {
            let thread = ThreadId::new(index as u32);
            process.add_thread("worker", Time::from_nanos(0), None);
            let sites = (0..working).map(|_| work).chain((0..spinning).map(|_| waiting));
            process.samples.extend(sites.map(|site| Sample {
                thread,
                time: Time::from_nanos(0),
                doing: Doing::Running,
                site: Some(site),
                weight: Nanos::new(5_000_000),
                access: None,
                in_kernel: None,
            }));
        }
        process
    }

    const NONE_KEPT: Kept = Kept { all: 0.0, own: 0.0 };

    fn two(wall: f64) -> Cores {
        Cores { count: 2.0, used: 2.0, others: 0.0, wall: wall * 1e6 }
    }

    fn saved(threads: &[(u32, u32)], cores: Cores) -> Option<[Gain; 2]> {
        let work = Work::of(&process(threads), cores)?;
        Some([work.by_fewer_threads(), work.by_sleeping()].map(|takes| work.saved(&NONE_KEPT, takes)))
    }

    fn ms(gain: &Gain) -> f64 {
        gain.time.get() as f64 / 1e6
    }

    #[test]
    fn what_is_saved_is_what_is_not_work() {
        // 720 ms of work and 480 ms of spinning take 600 ms on two cores.
        let [fewer, asleep] = saved(&[(36, 24); 4], two(600.0)).expect("enough samples");
        assert_eq!([ms(&fewer), ms(&asleep)], [240.0; 2]);
        assert!(fewer.low < fewer.time && fewer.time < fewer.high);
        // Of three equal parts two are done at once, then the third.
        let [fewer, asleep] = saved(&[(48, 32); 3], two(600.0)).expect("enough samples");
        assert_eq!([ms(&fewer), ms(&asleep)], [240.0, 120.0]);
        // What one thread has more of, by more than chance, takes its time on one core.
        let uneven = [(136, 0), (36, 100), (36, 100), (36, 100)];
        let [fewer, _] = saved(&uneven, two(1360.0)).expect("enough samples");
        let alone = 680.0 - 180.0 - 2.0 * 680.0 / 136f64.sqrt();
        let takes = alone + (680.0 + 3.0 * 180.0 - alone) / 2.0;
        assert!((ms(&fewer) - (1360.0 - takes)).abs() < 0.1, "{fewer:?} {takes}");
        // Threads that only spin do no part of it.
        let [fewer, asleep] = saved(&[(100, 0), (0, 50), (0, 50)], two(500.0)).expect("enough samples");
        assert_eq!([ms(&fewer), ms(&asleep)], [0.0; 2]);
    }

    #[test]
    fn where_hardly_a_sample_is_of_work_nearly_all_is_saved() {
        // 15 of 600 ms are work, on one core after the other.
        let [_, asleep] = saved(&[(1, 79); 3], two(600.0)).expect("enough samples");
        assert!((ms(&asleep) - 590.0).abs() < 0.01, "{asleep:?}");
        assert!(asleep.high.get() as f64 <= 600e6 && asleep.low.get() as f64 >= 575e6, "{asleep:?}");
        // None is: that is one at most, and may be three.
        let [_, asleep] = saved(&[(0, 80); 3], two(600.0)).expect("enough samples");
        assert!((ms(&asleep) - 595.0).abs() < 0.01, "{asleep:?}");
        assert!((583e6..587e6).contains(&(asleep.low.get() as f64)), "{asleep:?}");
    }

    #[test]
    fn no_thread_can_do_what_one_of_another_sort_does() {
        let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(1));
        for name in ["main", "reader", "reader", "writer"] {
            process.add_thread(name, Time::from_nanos(0), None);
        }
        let same = |threads: &[u32]| {
            do_the_same(&process, &threads.iter().copied().map(ThreadId::new).collect::<Vec<_>>())
        };
        assert!(same(&[0, 1, 2]) && same(&[1, 2]));
        assert!(!same(&[0, 1, 2, 3]) && !same(&[0]));
    }

    #[test]
    fn others_have_their_part_of_the_cores_then_too() {
        let cores = Cores { used: 1.0, others: 0.5, ..two(1200.0) };
        let [fewer, _] = saved(&[(36, 24); 4], cores).expect("enough samples");
        assert_eq!(ms(&fewer), 480.0);
        assert_eq!(saved(&[(1, 1); 9], two(600.0)).map(|_| ()), None, "too few samples");
        let work = Work::of(&process(&[(36, 24); 4]), two(600.0)).expect("enough samples");
        let gain = work.saved(&Kept { all: 4e8, own: 3e8 }, work.by_fewer_threads());
        assert_eq!((ms(&gain), gain.low, gain.high), (300.0, gain.time, gain.time), "that nobody had a core");
    }
}
