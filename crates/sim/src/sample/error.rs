//! How sure the cycles of a sample are.

use super::plan::Plan;

/// The 97.5 % quantiles of Student's t with 1, 2, … degrees of freedom (any table of it); beyond, the last.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

impl Plan {
    /// Half the width of the 95 % interval of the estimated cycles, from how those differ that stand for others: ratio
    /// estimators of strata (Cochran, Sampling Techniques, 3rd edition, sections 6.4 and 6.10), for samples without
    /// replacement. The degrees of freedom of all strata together are Satterthwaite's (the same book, section 5.4).
    pub(super) fn error(&self, cycles: &[u64]) -> f64 {
        let (mut variance, mut squares) = (0.0, 0.0);
        for (group, chosen) in self.samples.iter().enumerate().filter(|(_, chosen)| chosen.len() > 1) {
            let of = |index: &usize| (cycles[*index] as f64, self.sections[*index].instructions as f64);
            let (time, work) =
                chosen.iter().map(of).fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
            let ratio = time / work.max(1.0);
            let residuals: f64 =
                chosen.iter().map(of).map(|(time, work)| (time - ratio * work).powi(2)).sum();
            let samples = chosen.len() as f64;
            // What is left out, in sections that execute as much as those of the sample.
            let left = self.left_out(group) as f64 / (work / samples).max(1.0);
            let of_group = residuals / (samples - 1.0) * (left.powi(2) / samples + left);
            variance += of_group;
            squares += of_group.powi(2) / (samples - 1.0);
        }
        let freedom = if squares > 0.0 { variance.powi(2) / squares } else { 1.0 };
        STUDENT[(freedom as usize).clamp(1, STUDENT.len()) - 1] * variance.sqrt()
    }
}
