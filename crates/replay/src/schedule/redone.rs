//! What a prediction for loops and tasks is, and how far it can be trusted.

use holdup_model::Nanos;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// No prediction is taken to be better than this share: what runs of one program differ by on a quiet machine.
const LEAST_ERROR: f64 = 0.02;

/// With one instance nothing is known of how much instances differ.
const ERROR_OF_ONE: f64 = 0.05;

/// Work of which only the sum is known may be spread in another way than evenly: of its share this part.
const ERROR_OF_UNSEEN: f64 = 0.1;

/// The probability below the upper end of a 95 % interval.
const UPPER: f64 = 0.975;

/// Loops or tasks as they were and as they would be. Times are sums over all instances (ns).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Redone {
    /// What they took.
    pub recorded: Nanos,
    /// What they take in virtual time, unchanged: the nearer to `recorded`, the better they are modelled.
    pub unchanged: Nanos,
    /// What they would take: for each instance the recorded time × changed / unchanged.
    pub time: Nanos,
    /// The low end of the 95 % interval of `time`.
    pub low: Nanos,
    /// Its high end.
    pub high: Nanos,
    /// How many instances there are.
    pub instances: u32,
    /// True if `time` is not what to expect, but the least that is possible.
    pub bound: bool,
}

impl Redone {
    /// The time that the change saves (ns), with the low and the high end of its interval; negative where it costs.
    pub fn gain(&self) -> [i64; 3] {
        let recorded = self.recorded.get() as i64;
        [self.time, self.high, self.low].map(|time| recorded.saturating_sub_unsigned(time.get()))
    }

    /// Of what each instance took, takes in virtual time, and takes there with the change. `None` without instances, or
    /// where they took no time.
    ///
    /// The interval is that of a ratio estimate (Cochran, *Sampling Techniques*, 1977, section 6.4): with R = Σ predicted
    /// / Σ recorded, the standard error of the sum is √(m Σ (predicted − R · recorded)² / (m − 1)), times Student's t. Added to
    /// it, as independent, is the model's own error: how far the unchanged instances are from the recorded ones.
    pub(super) fn of(instances: &[Instance]) -> Option<Redone> {
        let sum = |of: fn(&Instance) -> f64| instances.iter().map(of).sum::<f64>();
        let (recorded, unchanged) = (sum(|instance| instance.recorded), sum(|instance| instance.unchanged));
        if recorded <= 0.0 || unchanged <= 0.0 {
            return None;
        }
        let time = sum(Instance::predicted);
        let count = instances.len() as f64;
        let ratio = time / recorded;
        let squares =
            instances.iter().map(|instance| (instance.predicted() - ratio * instance.recorded).powi(2));
        let spread = match StudentsT::new(0.0, 1.0, count - 1.0) {
            Ok(t) => t.inverse_cdf(UPPER) * (count / (count - 1.0) * squares.sum::<f64>()).sqrt(),
            Err(_) => ERROR_OF_ONE * time,
        };
        let unseen = sum(|instance| instance.unseen * instance.recorded) / recorded * ERROR_OF_UNSEEN;
        let modelled = ((unchanged / recorded - 1.0).abs().max(LEAST_ERROR) + unseen) * time;
        let half = spread.hypot(modelled);
        Some(Redone {
            recorded: nanos(recorded),
            unchanged: nanos(unchanged),
            time: nanos(time),
            low: nanos(time - half),
            high: nanos(time + half),
            instances: u32::try_from(instances.len()).unwrap_or(u32::MAX),
            bound: false,
        })
    }

    /// The same where `changed` is the least that is possible: what to expect lies between that and what was recorded.
    pub(super) fn bound(self) -> Redone {
        let low = nanos(self.time.get() as f64 * (1.0 - LEAST_ERROR));
        Redone { low, high: self.recorded.max(self.time), bound: true, ..self }
    }
}

/// The times of one instance (ns).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Instance {
    pub(super) recorded: f64,
    pub(super) unchanged: f64,
    pub(super) changed: f64,
    /// The share of its work that is not known piece by piece.
    pub(super) unseen: f64,
}

impl Instance {
    fn predicted(&self) -> f64 {
        if self.unchanged > 0.0 { self.recorded * self.changed / self.unchanged } else { self.recorded }
    }
}

/// The conversion saturates.
pub(super) fn nanos(time: f64) -> Nanos {
    Nanos::new(time.round() as u64)
}
