//! What measuring took, and what it did to the program.

use holdup_model::Nanos;

use super::point::Point;
use super::{Effort, PhaseStack};

pub(super) fn of(points: &[Point<'_>], phases: &[PhaseStack]) -> Effort {
    let Some(base) = points.first() else { return Effort::default() };
    let (mut runs, mut time) = (0u32, Nanos::ZERO);
    let (mut alone_time, mut alone_runs) = (0.0, 0u32);
    for point in points {
        let recorded = point.recorded.main.wall();
        runs += 1 + point.plain.len() as u32 + point.source.alone.len() as u32;
        time += recorded + point.plain.iter().copied().sum();
        for alone in &point.source.alone {
            let wall = alone.run.end.since(alone.run.start);
            time += wall;
            if recorded > Nanos::ZERO && wall > Nanos::ZERO {
                alone_time += wall.share_of(recorded);
                alone_runs += 1;
            }
        }
    }
    let one = base.plain.get(base.plain.len().saturating_sub(1) / 2).copied();
    let one = one.unwrap_or(base.recorded.main.wall());
    let slowed = points.iter().filter(|point| !point.plain.is_empty()).map(|point| 1.0 / point.factor - 1.0);
    let groups = phases.iter().flat_map(|phase| &phase.points).flat_map(|point| &point.groups);
    let controls: Vec<f64> = groups.filter_map(|group| group.control).collect();
    Effort {
        runs,
        time,
        in_runs: (one > Nanos::ZERO).then(|| time.share_of(one)),
        recording: slowed.filter(|share| share.is_finite()).max_by(f64::total_cmp),
        control: (!controls.is_empty()).then(|| controls.iter().sum::<f64>() / controls.len() as f64 - 1.0),
        alone: (alone_runs > 0).then(|| alone_time / f64::from(alone_runs)),
    }
}
