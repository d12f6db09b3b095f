//! What as many cores would give as threads are at work at once.

use holdup_model::Nanos;
use holdup_replay::{Budget, Change};

use super::Case;
use crate::{Diagnosis, FindingKind};

/// Who is advised to use more cores, where they do not help.
const ADVICE: &str = ", or give the program more cores.";
/// A run that is shorter by less than this share of it is as long.
const LEAST: f64 = 0.02;

impl Case<'_> {
    /// Says of threads that share cores what more of these would give, if there is time to replay that.
    pub(super) fn tell_of_more_cores(&self, diagnosis: &mut Diagnosis, budget: &mut Budget) {
        let (cores, wall) = (diagnosis.workers, self.wall);
        let are_shared = |kind| kind == FindingKind::Oversubscription && cores > diagnosis.effective_cores;
        let Some(finding) = diagnosis.findings.iter_mut().find(|finding| are_shared(finding.kind)) else {
            return;
        };
        let Some(Ok(prediction)) = self.replayer.sweep(&[vec![Change::Cores(cores)]], budget).pop() else {
            return;
        };
        let gain = self.gain(&prediction, String::new());
        if gain.time.share_of(wall) < LEAST {
            finding.notes.insert(0, format!("{cores} cores would give next to nothing."));
            if let Some(advice) = finding.hint.strip_suffix(ADVICE) {
                finding.hint = format!("{advice}.");
            }
            return;
        }
        let faster = wall.get() as f64 / wall.saturating_sub(gain.time).get().max(1) as f64;
        let next = self.next(&prediction).map_or(String::new(), |next| format!("; then {next} limits it"));
        let saved = format!("{} ({})", gain.time, Nanos::range(gain.low, gain.high));
        finding.notes.insert(0, format!("{cores} cores would save {saved}, {faster:.2} times faster{next}."));
    }
}
