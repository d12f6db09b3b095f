//! Whether help is of use: what the program gets done with and without it, in alternating stretches of slices.
//!
//! A program with a fixed amount of work ends the sooner the more of its CPUs it uses on average: what steering can win is
//! time in which CPUs idle because all wait for one thread. So the CPU time that the program uses per second is compared. A
//! program that keeps all CPUs busy anyway, by work or by spinning, shows no difference, and is left alone.
//!
//! The first pair of stretches is short, and ends what does harm. Then stretches with help are twice as long as those without:
//! who is helped at all has shown to be waited for, so most likely it is of use. Where some pairs do not decide, all become
//! longer: the time between two meetings of the program's threads may be longer than they were.

/// The first two stretches, in ns.
const FIRST: u64 = 100_000_000;
/// Stretches without help, in ns; those with help are twice as long.
const SHORTEST: u64 = 200_000_000;
/// They are doubled so many times, if need be.
const DOUBLINGS: u32 = 1;
/// Pairs of stretches before help is found to be of use, and before it is given up or they are doubled.
const PAIRS: (usize, usize) = (3, 5);
/// What is a difference at all, in shares of all CPUs.
const LEAST: f64 = 0.01;
/// A loss that is enough to stop at once.
const HARM: f64 = 0.05;
/// While help is of use, it is left out for one stretch of so many, to see that it still is.
const ONE_OF: u64 = 10;
/// How many of the last pairs count then.
const MEMORY: usize = 8;
/// After a verdict against it, help is tried again after so long (ns), and each time twice as long up to the second.
const REST: (u64, u64) = (2_000_000_000, 64_000_000_000);

/// What is thought of help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is being tried.
    Trying,
    /// It is of use.
    Helps,
    /// It is not, and is not given.
    Useless,
}

/// CPU time and wall time of a stretch, or of several, in ns.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    cpu: u64,
    wall: u64,
}

impl Used {
    fn rate(self) -> f64 {
        self.cpu as f64 / self.wall.max(1) as f64
    }

    fn add(&mut self, other: Used) {
        self.cpu += other.cpu;
        self.wall += other.wall;
    }
}

/// The comparison.
#[derive(Clone, Debug)]
pub struct Effect {
    cpus: f64,
    verdict: Verdict,
    helps: bool,
    /// How long the present stretch is to be, and what it has had without its first slice, which the last one still shapes.
    length: u64,
    stretch: Used,
    slices: u32,
    passed: u64,
    /// The other stretch of the pair, once it is over: with help or without.
    other: Option<(bool, Used)>,
    /// The pair is the first, short one.
    screens: bool,
    differences: Vec<f64>,
    doubled: u32,
    rest: u64,
    with: Used,
    without: Used,
}

impl Effect {
    /// Nothing is known yet of a program on so many CPUs.
    pub fn new(cpus: usize) -> Effect {
        Effect {
            cpus: cpus.max(1) as f64,
            verdict: Verdict::Trying,
            helps: true,
            length: FIRST,
            stretch: Used::default(),
            slices: 0,
            passed: 0,
            other: None,
            screens: true,
            differences: Vec::new(),
            doubled: 0,
            rest: REST.0,
            with: Used::default(),
            without: Used::default(),
        }
    }

    /// Whether help is to be given now.
    pub fn helps(&self) -> bool {
        self.helps
    }

    /// What is thought of it.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// CPUs in use with and without help, over all pairs of stretches; `None` before the first pair.
    pub fn rates(&self) -> Option<(f64, f64)> {
        (self.with.wall > 0 && self.without.wall > 0).then(|| (self.with.rate(), self.without.rate()))
    }

    /// A slice has ended: how long it was, and what CPU time the program used in it (ns). CPUs in use with and without help,
    /// where a pair of stretches ends with it.
    pub fn slice(&mut self, wall: u64, cpu: u64) -> Option<(f64, f64)> {
        self.slices += 1;
        self.passed += wall;
        if self.slices > 1 {
            self.stretch.add(Used { cpu, wall });
        }
        if self.passed < self.length || self.slices < 2 {
            return None;
        }
        let ended = (self.helps, std::mem::take(&mut self.stretch));
        (self.slices, self.passed) = (0, 0);
        if self.verdict == Verdict::Useless {
            self.begin_trial(0);
            return None;
        }
        let Some(other) = self.other.take() else {
            self.other = Some(ended);
            self.helps = !self.helps;
            self.length = self.usual();
            return None;
        };
        let (with, without) = if ended.0 { (ended.1, other.1) } else { (other.1, ended.1) };
        self.pair(with, without);
        Some((with.rate(), without.rate()))
    }

    fn begin_trial(&mut self, doubled: u32) {
        self.verdict = Verdict::Trying;
        self.helps = true;
        self.doubled = doubled;
        self.screens = doubled == 0;
        self.length = self.usual();
        self.differences.clear();
        self.other = None;
    }

    /// How long a stretch is that begins now.
    fn usual(&self) -> u64 {
        match (self.screens, self.helps) {
            (true, _) => FIRST,
            (false, true) => (SHORTEST << self.doubled) * 2,
            (false, false) => SHORTEST << self.doubled,
        }
    }

    fn pair(&mut self, with: Used, without: Used) {
        self.with.add(with);
        self.without.add(without);
        let difference = (with.rate() - without.rate()) / self.cpus;
        if std::mem::take(&mut self.screens) {
            // Too short to count for more than this.
            if difference < -HARM {
                return self.withdraws();
            }
            self.helps = true;
            self.length = self.usual();
            return;
        }
        self.differences.push(difference);
        if self.differences.len() > MEMORY {
            self.differences.remove(0);
        }
        let (mean, error) = mean_and_error(&self.differences);
        let pairs = self.differences.len();
        match self.verdict {
            Verdict::Helps if pairs >= PAIRS.0 && mean < LEAST => self.begin_trial(self.doubled),
            Verdict::Helps => self.goes_on_helping(),
            _ if pairs > 1 && mean < -HARM => self.withdraws(),
            _ if pairs >= PAIRS.0 && mean - 2.0 * error > LEAST => {
                self.verdict = Verdict::Helps;
                self.rest = REST.0;
                self.goes_on_helping();
            }
            _ if pairs >= PAIRS.0 && mean + 2.0 * error < LEAST => self.withdraws(),
            // Likely of use, though not surely; or too early to say.
            _ if pairs < PAIRS.1 || mean > 2.0 * LEAST => {
                self.helps = true;
                self.length = self.usual();
            }
            _ if self.doubled < DOUBLINGS && mean > -LEAST => self.begin_trial(self.doubled + 1),
            _ => self.withdraws(),
        }
    }

    /// A long stretch with help, and then a short one without.
    fn goes_on_helping(&mut self) {
        self.helps = true;
        self.length = (SHORTEST << self.doubled) * (ONE_OF - 1);
    }

    fn withdraws(&mut self) {
        self.verdict = Verdict::Useless;
        self.helps = false;
        self.differences.clear();
        self.length = self.rest;
        self.rest = (self.rest * 2).min(REST.1);
    }
}

/// The mean, and its standard error; infinite for one value.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if values.len() < 2 {
        return (mean, f64::INFINITY);
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0) / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLICE: u64 = 10_000_000;

    /// Runs a program that uses so many CPUs with and without help, for so many seconds; the share of time with help.
    fn run(effect: &mut Effect, with: f64, without: f64, seconds: u64) -> f64 {
        let mut helped = 0u64;
        let slices = seconds * 100;
        for _ in 0..slices {
            let rate = if effect.helps() { with } else { without };
            helped += u64::from(effect.helps());
            effect.slice(SLICE, (SLICE as f64 * rate) as u64);
        }
        helped as f64 / slices as f64
    }

    #[test]
    fn help_that_is_of_use_is_given_nine_tenths_of_the_time() {
        let mut effect = Effect::new(2);
        let share = run(&mut effect, 1.98, 1.6, 20);
        assert_eq!(effect.verdict(), Verdict::Helps);
        assert!((0.85..0.92).contains(&share), "{share}");
        let (with, without) = effect.rates().unwrap();
        assert!((with / without - 1.98 / 1.6).abs() < 0.01);
    }

    #[test]
    fn help_without_effect_is_withdrawn_and_tried_again_more_and_more_seldom() {
        let mut effect = Effect::new(2);
        let share = run(&mut effect, 2.0, 2.0, 60);
        assert!(share < 0.3, "{share}");
        assert!(run(&mut effect, 2.0, 2.0, 120) < share / 1.5);
    }

    #[test]
    fn harm_ends_at_once() {
        let mut effect = Effect::new(2);
        run(&mut effect, 1.2, 1.8, 1);
        assert_eq!(effect.verdict(), Verdict::Useless);
        assert!(run(&mut effect, 1.2, 1.8, 60) < 0.02);
    }

    #[test]
    fn what_helps_no_longer_is_withdrawn() {
        let mut effect = Effect::new(2);
        run(&mut effect, 2.0, 1.5, 10);
        assert_eq!(effect.verdict(), Verdict::Helps);
        run(&mut effect, 1.5, 1.5, 40);
        assert_ne!(effect.verdict(), Verdict::Helps);
    }

    #[test]
    fn a_difference_that_shows_in_long_stretches_only_is_found() {
        // With help the CPUs idle for a tenth of every 350 ms, without for a third.
        let mut effect = Effect::new(2);
        for slice in 0..1500u64 {
            let phase = slice % 35;
            let busy = if effect.helps() { phase < 32 } else { phase < 23 };
            effect.slice(SLICE, if busy { 2 * SLICE } else { SLICE });
        }
        assert_eq!(effect.verdict(), Verdict::Helps);
    }
}
