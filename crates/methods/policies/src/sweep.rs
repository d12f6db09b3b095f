//! The shape of a sweep of a thread's frequency: what kind of criticality it has (paper 4, section 5.3).

/// A run with a thread at a frequency.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepPoint {
    /// GHz.
    pub frequency: f64,
    /// Against the run at the machine's own frequency.
    pub speedup: f64,
    /// The criticality of each thread in this run, as shares of its time, in the order of the recording (Fig. 7).
    pub criticality: Vec<f64>,
}

/// The most critical thread at several frequencies, the first of which is the machine's own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sweep {
    /// Its number.
    pub thread: u32,
    /// In rising order.
    pub points: Vec<SweepPoint>,
}

/// What a thread's speed does to the program's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Nothing to speak of.
    None,
    /// Others wait for it until it is as fast as they need: no gain above this frequency in GHz (Fig. 6a).
    InterThread(f64),
    /// Nobody else works meanwhile: the faster the better (Fig. 6b).
    Sequential,
    /// Both: above this frequency the gain is less (Fig. 6c).
    Mixed(f64),
}

/// A program that becomes shorter by less than this share, even at the highest frequency, has no critical thread to speak of.
const LEAST: f64 = 0.01;

/// A slope below the first share of the initial one is flat, and above the second as good as unchanged: assumptions.
const FLAT: f64 = 0.2;
const UNCHANGED: f64 = 0.7;
/// A bend that is worth less than this share of the time is none: when threads meet by chance a little later at one frequency,
/// that is as much. An assumption, too.
const LEAST_BEND: f64 = 0.02;

impl Sweep {
    /// The kind of criticality by the curve's shape.
    ///
    /// What a thread does alone takes time in proportion to the length of its cycle, so the run's time falls along a line
    /// over 1 − f₀/f. With others that wait it falls until they do not, then stays. The knee is where two lines, the first from
    /// the origin on, come nearest to all points.
    pub fn kind(&self) -> Kind {
        let Some(base) = self.points.first().map(|point| point.frequency) else { return Kind::None };
        let curve: Vec<(f64, f64)> = self
            .points
            .iter()
            .map(|point| (1.0 - base / point.frequency, 1.0 - 1.0 / point.speedup.max(1e-9)))
            .collect();
        if curve.len() < 4 || curve.last().is_none_or(|last| last.1 < LEAST) {
            return Kind::None;
        }
        let Some(knee) = knee(&curve) else { return Kind::Sequential };
        let initial = slope(&curve[..=knee]);
        let last = slope(&curve[knee..]);
        let frequency = self.points[knee].frequency;
        // What is won at once where the second line begins.
        let bend = curve[knee].1 - last * curve[knee].0;
        match last / initial {
            ratio if ratio <= FLAT => Kind::InterThread(frequency),
            ratio if ratio < UNCHANGED && bend >= LEAST_BEND => Kind::Mixed(frequency),
            _ => Kind::Sequential,
        }
    }
}

/// The inner point through which a bent line lies nearest to the curve.
fn knee(curve: &[(f64, f64)]) -> Option<usize> {
    let distance = |knee: usize| -> f64 {
        let off = |part: &[(f64, f64)]| -> f64 {
            let (from, slope) = (part[0], slope(part));
            part.iter().map(|point| (point.1 - from.1 - slope * (point.0 - from.0)).powi(2)).sum()
        };
        off(&curve[..=knee]) + off(&curve[knee..])
    };
    (1..curve.len() - 1).min_by(|&one, &other| distance(one).total_cmp(&distance(other)))
}

/// The slope of the line through the first point that comes nearest to the others.
fn slope(part: &[(f64, f64)]) -> f64 {
    let Some(&(x, y)) = part.first() else { return 0.0 };
    let (mut products, mut squares) = (0.0, 0.0);
    for point in part {
        products += (point.0 - x) * (point.1 - y);
        squares += (point.0 - x).powi(2);
    }
    if squares > 0.0 { products / squares } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nine frequencies from 2 to 4 GHz, of a program whose time is given by that of the thread's cycle.
    fn kind(time: impl Fn(f64) -> f64) -> Kind {
        let points = (0..9).map(|step| {
            let frequency = 2.0 + 0.25 * f64::from(step);
            SweepPoint { frequency, speedup: time(1.0) / time(2.0 / frequency), criticality: Vec::new() }
        });
        Sweep { thread: 0, points: points.collect() }.kind()
    }

    #[test]
    fn who_works_alone_is_sequentially_critical() {
        assert_eq!(kind(|cycle| 0.6 + 0.4 * cycle), Kind::Sequential);
        // BFS (Fig. 6b): a third faster at 4 GHz.
        assert_eq!(kind(|cycle| 0.53 + 0.47 * cycle), Kind::Sequential);
    }

    #[test]
    fn one_run_that_met_a_hundredth_later_makes_no_bend() {
        let base_is_late = |cycle: f64| 0.78 + 0.22 * cycle + if cycle == 1.0 { 0.01 } else { 0.0 };
        assert_eq!(kind(base_is_late), Kind::Sequential);
        let much_later = |cycle: f64| 0.78 + 0.22 * cycle + if cycle == 1.0 { 0.05 } else { 0.0 };
        assert!(matches!(kind(much_later), Kind::Mixed(_) | Kind::InterThread(_)));
    }

    #[test]
    fn who_is_a_little_late_is_so_only_up_to_a_frequency() {
        // Fluidanimate (Fig. 6a): nothing above 2.25 GHz.
        assert_eq!(kind(|cycle| (1.125 * cycle).max(1.0)), Kind::InterThread(2.25));
        assert_eq!(kind(|cycle| (1.5 * cycle).max(1.0)), Kind::InterThread(3.0));
    }

    #[test]
    fn both_kinds_give_a_bend() {
        // Lud_omp (Fig. 6c): less above 2.5 GHz.
        assert_eq!(kind(|cycle| (1.25 * cycle).max(1.0) + 0.4 * cycle), Kind::Mixed(2.5));
    }

    #[test]
    fn who_changes_nothing_is_not_critical() {
        assert_eq!(kind(|_| 1.0), Kind::None);
        assert_eq!(kind(|cycle| 1.0 + 0.005 * cycle), Kind::None);
        assert_eq!(Sweep::default().kind(), Kind::None);
    }
}
