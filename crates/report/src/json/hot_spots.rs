//! Where threads were seen at work.

use holdup_criticality::{HotSpot, HotSpots};
use holdup_model::Process;

use super::place;
use crate::{schema, shares};

pub(super) fn hot_spots(process: &Process, hot: &HotSpots) -> schema::HotSpots {
    let spots = |spots: &[HotSpot]| spots.iter().map(|one| spot(process, hot, one)).collect();
    schema::HotSpots {
        samples: hot.samples,
        broken_stacks_share: hot.broken_stacks,
        active_ns: hot.active.get(),
        critical_ns: hot.critical.round() as u64,
        lines: spots(&hot.lines),
        functions: spots(&hot.functions),
    }
}

fn spot(process: &Process, hot: &HotSpots, spot: &HotSpot) -> schema::HotSpot {
    schema::HotSpot {
        place: place(process, Some(spot.place)),
        function: spot.function.clone(),
        inside: spot.inside.clone(),
        samples: spot.samples,
        active_ns: spot.active.get(),
        active_share: spot.active.share_of(hot.active),
        critical_ns: spot.critical.round() as u64,
        critical_share: shares::of_critical(spot, hot),
        threads: spot
            .threads
            .iter()
            .map(|(thread, active)| schema::ThreadTime { thread: thread.index(), time_ns: active.get() })
            .collect(),
    }
}
