//! What pirates leave on this machine: measured, and kept for an hour, since it takes longer than many programs.
//!
//! What can be had of a cache that others use too changes by the hour: what was kept counts only if the calibration, which
//! is made each time, says the same as then.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use holdup_pirate::{Calibration, Place, Range, Refusal, Row, Survey};
use serde::{Deserialize, Serialize};

use crate::kept_measurements::kept_as;

/// The file's beginning, with the version of what is in it.
const NAME: &str = "pirates-1";
/// For so long it counts (s).
const LIFETIME_S: u64 = 3600;
/// What can be had and held may differ by so much from then, beside what it was.
const AGREE: f64 = 0.1;

/// What was measured, and what it depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Kept {
    /// When (s since 1970).
    at_s: u64,
    /// Which start of the machine: guests are moved between hosts.
    boot: String,
    program_cpu: u32,
    pirate_cpu: u32,
    nominal_bytes: u64,
    available_bytes: u64,
    holdable_bytes: u64,
    #[serde(rename = "row")]
    rows: Vec<KeptRow>,
}

/// What was left beside one pirate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct KeptRow {
    pirate: u64,
    low: u64,
    middle: u64,
    high: u64,
    missed: f64,
    cpu_share: f64,
}

/// What pirates leave: what was measured of late, else measured now. `root` is `/` outside of tests.
pub(super) fn survey(root: &Path, place: &Place, calibration: &Calibration) -> Result<Survey, Refusal> {
    let file = kept_as(NAME, root);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let boot = fs::read_to_string(root.join("proc/sys/kernel/random/boot_id")).unwrap_or_default();
    let wanted = Kept::new(now, boot.trim(), place, calibration);
    let text = file.as_ref().and_then(|file| fs::read_to_string(file).ok());
    let kept: Option<Kept> = text.and_then(|text| toml::from_str(&text).ok());
    if let Some(kept) = kept.filter(|kept| kept.counts_for(&wanted)) {
        return Ok(kept.survey());
    }
    let survey = holdup_pirate::survey(root, place, calibration)?;
    if let Some(file) = file {
        // Where it cannot be kept it is measured again.
        let _ = wanted.with(&survey).write(&file);
    }
    Ok(survey)
}

impl Kept {
    fn new(at_s: u64, boot: &str, place: &Place, calibration: &Calibration) -> Kept {
        Kept {
            at_s,
            boot: boot.to_owned(),
            program_cpu: place.program,
            pirate_cpu: place.pirate,
            nominal_bytes: place.level.bytes,
            available_bytes: calibration.available.middle,
            holdable_bytes: calibration.holdable,
            rows: Vec::new(),
        }
    }

    fn with(self, survey: &Survey) -> Kept {
        let row = |row: &Row| KeptRow {
            pirate: row.pirate,
            low: row.left.low,
            middle: row.left.middle,
            high: row.left.high,
            missed: row.missed,
            cpu_share: row.cpu_share,
        };
        Kept { rows: survey.rows.iter().map(row).collect(), ..self }
    }

    fn survey(&self) -> Survey {
        let row = |row: &KeptRow| Row {
            pirate: row.pirate,
            left: Range { low: row.low, middle: row.middle, high: row.high },
            curves: Vec::new(),
            missed: row.missed,
            cpu_share: row.cpu_share,
        };
        Survey { rows: self.rows.iter().map(row).collect(), discarded: 0, took_ns: 0 }
    }

    /// Whether it says what is now, as far as one can tell.
    fn counts_for(&self, now: &Kept) -> bool {
        let near = |then: u64, now: u64| (now as f64 - then as f64).abs() <= AGREE * then as f64;
        let place = |kept: &Kept| (kept.boot.clone(), kept.program_cpu, kept.pirate_cpu, kept.nominal_bytes);
        !self.rows.is_empty()
            && place(self) == place(now)
            && now.at_s.checked_sub(self.at_s).is_some_and(|age| age <= LIFETIME_S)
            && near(self.available_bytes, now.available_bytes)
            && near(self.holdable_bytes, now.holdable_bytes)
    }

    /// Under another name first: somebody may be reading.
    fn write(&self, file: &PathBuf) -> std::io::Result<()> {
        let folder = file.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let text = toml::to_string(self).map_err(std::io::Error::other)?;
        let mut new = tempfile::NamedTempFile::new_in(folder)?;
        std::io::Write::write_all(&mut new, text.as_bytes())?;
        new.persist(file)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> Kept {
        let row = KeptRow { pirate: 0, low: 7, middle: 8, high: 9, missed: 0.01, cpu_share: 0.99 };
        Kept {
            at_s: 1000,
            boot: "one".to_owned(),
            program_cpu: 0,
            pirate_cpu: 1,
            nominal_bytes: 1 << 25,
            available_bytes: 1000,
            holdable_bytes: 900,
            rows: vec![row, KeptRow { pirate: 4, middle: 5, ..row }],
        }
    }

    #[test]
    fn what_was_kept_is_read_again() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("new/pirates.toml");
        kept().write(&file).unwrap();
        let again: Kept = toml::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(again, kept());
        assert_eq!(again.survey().pirate_for(5).unwrap(), 4);
        assert_eq!(again.clone().with(&again.survey()), again);
    }

    #[test]
    fn it_counts_only_while_everything_it_depends_on_is_the_same() {
        let now = Kept { at_s: 2000, available_bytes: 1050, ..kept() };
        assert!(kept().counts_for(&now));
        for other in [
            Kept { at_s: 1000 + LIFETIME_S + 1, ..now.clone() },
            Kept { at_s: 999, ..now.clone() },
            Kept { boot: "two".to_owned(), ..now.clone() },
            Kept { pirate_cpu: 2, ..now.clone() },
            Kept { available_bytes: 1200, ..now.clone() },
            Kept { holdable_bytes: 500, ..now.clone() },
        ] {
            assert!(!kept().counts_for(&other), "{other:?}");
        }
        assert!(!Kept { rows: Vec::new(), ..kept() }.counts_for(&now));
    }
}
