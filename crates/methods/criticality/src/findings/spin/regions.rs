//! Parallel regions that are too small to be shared out, around which a runtime lets threads spin.

use std::collections::BTreeMap;

use holdup_model::figures::counted;
use holdup_model::{Nanos, SiteId};

use super::OFTEN;
use crate::findings::Case;
use crate::wording::mean;

/// Small regions are what takes the time where they take at least this share of it.
const LEAST_SHARE: f64 = 0.5;

/// The small parallel regions of a program that has most of its time in them.
pub(super) struct SmallRegions {
    /// The line of most of their time.
    pub(super) place: SiteId,
    count: u64,
    mean: Nanos,
}

impl SmallRegions {
    /// `None` where regions are not small, or take less of the time.
    pub(super) fn of(case: &Case<'_>) -> Option<Self> {
        let regions = case.process.openmp.regions.iter().filter(|region| region.size > 1 && !region.open);
        let mut by_place: BTreeMap<SiteId, (u64, f64)> = BTreeMap::new();
        for (place, region) in regions.filter_map(|region| Some((region.place?, region))) {
            let (count, time) = by_place.entry(place).or_default();
            *count += region.count;
            *time += region.total_time();
        }
        by_place.retain(|_, (count, time)| *time < *count as f64 * OFTEN.get() as f64);
        let (count, time) = by_place.values().fold((0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        if time < LEAST_SHARE * case.wall().get() as f64 {
            return None;
        }
        let (&place, _) = by_place.iter().max_by(|one, other| one.1.1.total_cmp(&other.1.1))?;
        Some(Self { place, count, mean: mean(Nanos::new(time as u64), count) })
    }

    pub(super) fn words(&self, case: &Case<'_>) -> String {
        format!("spinning around parallel regions of {} each, mostly in {}", self.mean, case.site(self.place))
    }

    pub(super) fn evidence(&self) -> String {
        let regions = counted(self.count, "parallel region", "parallel regions");
        format!("Threads met {regions}, of {} on average.", self.mean)
    }

    pub(super) const HINT: &str = "Do more work in each region: share out an outer loop, put regions together, or let one thread do \
        small ones (the if clause).";
}
