//! What the replay of the run predicts.

use holdup_criticality::{Curve, Gain, WhatIf};

use crate::schema;

pub(super) fn what_if(what_if: &WhatIf) -> schema::WhatIf {
    schema::WhatIf {
        replayed_ns: what_if.replayed.get(),
        all_together: what_if.all_together.as_ref().map(gain),
        curves: what_if.curves.iter().map(curve).collect(),
        notes: what_if.notes.clone(),
    }
}

pub(super) fn gain(gain: &Gain) -> schema::Gain {
    schema::Gain {
        ns: gain.time.get(),
        low_ns: gain.low.get(),
        high_ns: gain.high.get(),
        expression: gain.expression.clone(),
        capped_by: gain.capped_by.clone(),
    }
}

fn curve(curve: &Curve) -> schema::Curve {
    schema::Curve {
        what: curve.what.clone(),
        finding: curve.finding,
        axis: curve.axis,
        points: curve
            .points
            .iter()
            .map(|point| schema::CurvePoint {
                at: point.at.is_finite().then_some(point.at),
                wall_ns: point.wall.get(),
                low_ns: point.low.get(),
                high_ns: point.high.get(),
            })
            .collect(),
    }
}
