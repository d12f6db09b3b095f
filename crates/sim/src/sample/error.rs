//! How sure the cycles of a sample are.

use super::plan::Plan;

/// The 97.5 % quantiles of Student's t with 1, 2, … degrees of freedom (any table of it); beyond, the last.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// What the state of the machine behind a gap may differ from the right one without any spread among samples that shows
/// it, as a share of the cycles that were not simulated (assumption: instruction caches and branch
/// predictors are not replayed, and threads are where they would be if all accesses hit).
const UNSEEN: f64 = 0.04;

impl Plan {
    /// Half the width of the 95 % interval of the estimated cycles. It has three parts, whose squares are added: [`UNSEEN`],
    /// and two that are measured.
    ///
    /// `took` is what each slice took, where it was simulated: cycles and instructions.
    ///
    /// How those differ that stand for others: ratio estimators of groups (Cochran, Sampling Techniques, 3rd edition,
    /// sections 6.4 and 6.10), for samples without replacement. Slices that were simulated in a row may
    /// depend on each other, so that they are taken as one observation (section 9A.2) if that gives more. The
    /// degrees of freedom of all groups together are Satterthwaite's (section 5.4), and fewer than there are such rows.
    ///
    /// How those with a gap close before them differ from those without, where there are both: what is replayed for a gap is
    /// not all that it did. What such a difference would be by chance is taken off.
    pub(super) fn error(&self, took: &[(u64, u64)]) -> f64 {
        // By slice, what its difference from its group's mean does to the estimate.
        let mut differences = vec![None; self.slices.len()];
        let (mut independent, mut squares) = (0.0, 0.0);
        let (mut bias, mut by_chance) = (0.0, 0.0);
        for (group, chosen) in self.samples.iter().enumerate().filter(|(_, chosen)| chosen.len() > 1) {
            let of = |index: &usize| (took[*index].0 as f64, took[*index].1 as f64);
            let all = Ratio::of(chosen.iter().map(of));
            // What is left out, in slices that execute as much as those of the sample.
            let left = self.left_out(group) as f64 / (all.work / all.count).max(1.0);
            // Their own spread comes on top of that of the mean.
            let weight = ((left.powi(2) / all.count + left) / (all.count - 1.0)).sqrt();
            let mut of_group = 0.0;
            for index in chosen {
                let (time, work) = of(index);
                let difference = weight * (time - all.ratio() * work);
                differences[*index] = Some(difference);
                of_group += difference.powi(2);
            }
            independent += of_group;
            squares += of_group.powi(2) / (all.count - 1.0);
            let (behind, alone): (Vec<usize>, Vec<usize>) =
                chosen.iter().partition(|&&index| index > 1 && self.slices[index - 2].is_simulated);
            if !behind.is_empty() && !alone.is_empty() {
                let (behind, alone) = (Ratio::of(behind.iter().map(of)), Ratio::of(alone.iter().map(of)));
                let share = alone.count / all.count;
                bias += (alone.ratio() - behind.ratio()) * share * self.left_out(group) as f64;
                let of_one = of_group / weight.powi(2).max(f64::MIN_POSITIVE) / (all.count - 1.0);
                by_chance += of_one * (left * share).powi(2) * (1.0 / behind.count + 1.0 / alone.count);
            }
        }
        let rows: Vec<f64> = differences
            .split(Option::is_none)
            .filter(|row| !row.is_empty())
            .map(|row| row.iter().flatten().sum())
            .collect();
        let variance = rows.iter().map(|row: &f64| row.powi(2)).sum::<f64>().max(independent);
        let freedom = if squares > 0.0 { independent.powi(2) / squares } else { 1.0 };
        let freedom = (freedom as usize).min(rows.len().saturating_sub(1)).clamp(1, STUDENT.len());
        let weights = self.weights(took);
        let made_up: f64 =
            self.simulated().map(|index| (weights[index] - 1.0).max(0.0) * took[index].0 as f64).sum();
        let unseen = UNSEEN * made_up;
        let by_spread = STUDENT[freedom - 1].powi(2) * variance;
        (by_spread + (bias.powi(2) - by_chance).max(0.0) + unseen.powi(2)).sqrt()
    }
}

/// Cycles of some slices to their instructions.
#[derive(Default)]
struct Ratio {
    time: f64,
    work: f64,
    count: f64,
}

impl Ratio {
    fn of(slices: impl Iterator<Item = (f64, f64)>) -> Ratio {
        slices.fold(Ratio::default(), |all, (time, work)| Ratio {
            time: all.time + time,
            work: all.work + work,
            count: all.count + 1.0,
        })
    }

    fn ratio(&self) -> f64 {
        self.time / self.work.max(1.0)
    }
}
