//! The shares that both faces show, computed in one place.

use holdup_criticality::{Criticality, Diagnosis, HotSpot, HotSpots};
use holdup_model::{Arrange, Nanos, Process};

/// How much of the time in which they had work threads had a core. `None` where neither CPU times nor context
/// switches are known.
pub(crate) fn on_core(diagnosis: &Diagnosis) -> Option<f64> {
    let threads = || diagnosis.threads.iter();
    let descheduled: Nanos = threads().map(|times| times.descheduled).sum();
    if diagnosis.on_cpu_parallelism.is_none() && descheduled == Nanos::ZERO {
        return None;
    }
    let able = threads().map(|times| times.active).sum::<Nanos>() + descheduled;
    let without = threads().map(|times| times.delayed).sum::<Nanos>() + descheduled;
    (able > Nanos::ZERO).then(|| (1.0 - without.share_of(able)).max(0.0))
}

/// How many CPUs the process could have at a time; 0 where that is not known.
pub(crate) fn effective_cores(diagnosis: &Diagnosis) -> u32 {
    if diagnosis.effective_cores > 0 { diagnosis.effective_cores } else { diagnosis.cores }
}

/// How many threads had work and were known to be without a core, on average over the run.
pub(crate) fn without_core(diagnosis: &Diagnosis) -> f64 {
    diagnosis.threads.iter().map(|times| times.descheduled).sum::<Nanos>().share_of(diagnosis.wall)
}

/// How much of a process's time the kernel's context-switch records cover, from 0 to 1.
pub(crate) fn switches(process: &Process) -> f64 {
    let covered: Nanos = process.covered.iter().map(|(from, until)| until.since(*from)).sum();
    if covered == Nanos::ZERO { 0.0 } else { covered.share_of(process.wall()).min(1.0) }
}

/// The critical time of a hot spot as a share of that of all samples.
pub(crate) fn of_critical(spot: &HotSpot, hot: &HotSpots) -> f64 {
    if hot.critical > 0.0 { spot.critical / hot.critical } else { 0.0 }
}

/// Call stacks that could not be followed to the start of their thread, and all call stacks.
pub(crate) fn broken_stacks(process: &Process) -> (usize, usize) {
    (process.sites.iter().filter(|site| site.broken).count(), process.sites.len())
}

/// The criticality of each thread, then the times with nobody active: whole nanoseconds that add up to the wall time.
pub(crate) fn whole_criticality(criticality: &Criticality) -> Vec<u64> {
    let Criticality { total, threads, nobody } = criticality;
    let parts: Vec<f64> = threads.iter().copied().chain(nobody.iter().map(|(_, amount)| *amount)).collect();
    whole_nanos(&parts, *total)
}

/// Parts of a stack (ns) as whole nanoseconds that still add up to its total: each is rounded, and what
/// rounding leaves over goes to the parts that it changed most.
fn whole_nanos(parts: &[f64], total: Nanos) -> Vec<u64> {
    let mut whole: Vec<u64> = parts.iter().map(|part| part.max(0.0).round() as u64).collect();
    let left = total.get() as i128 - whole.iter().map(|&part| i128::from(part)).sum::<i128>();
    // More than a nanosecond a part is no rounding: then the parts are shown as they are.
    if left.unsigned_abs() as usize > parts.len() {
        return whole;
    }
    let lacks = |index: usize| (parts[index] - parts[index].round()) * left.signum() as f64;
    let mut order: Vec<usize> = (0..parts.len()).filter(|&index| left > 0 || whole[index] > 0).collect();
    order.arrange_by(|&a, &b| lacks(b).total_cmp(&lacks(a)).then(a.cmp(&b)));
    for &index in order.iter().take(left.unsigned_abs() as usize) {
        whole[index] = whole[index].saturating_add_signed(left.signum() as i64);
    }
    whole
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn thirds_add_up() {
        assert_eq!(whole_nanos(&[10.0 / 3.0; 3], Nanos::new(10)).iter().sum::<u64>(), 10);
        assert_eq!(whole_nanos(&[0.5, 0.5, 0.0], Nanos::new(1)).iter().sum::<u64>(), 1);
    }

    #[test]
    fn what_does_not_add_up_is_not_made_to() {
        assert_eq!(whole_nanos(&[10.0, 20.0], Nanos::new(90)), [10, 20]);
    }

    proptest! {
        #[test]
        fn parts_of_any_size_add_up(
            weights in prop::collection::vec(0u32..1_000_000, 1..40),
            total in 1u64..1_000_000_000_000,
        ) {
            let sum: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
            prop_assume!(sum > 0.0);
            let parts: Vec<f64> = weights.iter().map(|&w| f64::from(w) / sum * total as f64).collect();
            let whole = whole_nanos(&parts, Nanos::new(total));
            prop_assert_eq!(whole.iter().sum::<u64>(), total);
            for (part, whole) in parts.iter().zip(&whole) {
                prop_assert!((part - *whole as f64).abs() < 2.0);
            }
        }
    }
}
