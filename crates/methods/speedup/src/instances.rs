//! Several copies of a program with one thread (paper 1, section 5): they do not synchronize, so that sharing the cache and
//! sharing memory is all that keeps n of them from n times the throughput of one.
//!
//! Each has C / n of the cache. With a time (or cycles per instruction) of t(c) for one copy that has c of the cache and
//! all of the memory, the throughput of n relative to that of one is n · t(C) / t(C / n); what was measured is lower
//! because of memory.

use holdup_model::{Arrange, Stack, StackComponent, Unit, figures};

use super::component::reached;
use super::{CacheCurve, Component, Missing, Speedup};

/// What was measured of a program with one thread.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Instances {
    /// What it is called. Hostile.
    pub name: String,
    /// The shared cache (bytes).
    pub cache: u64,
    /// The time, or cycles per instruction, of one copy over the size of the cache, with all of the memory. Its points need
    /// not be relative to the whole cache.
    pub curve: CacheCurve,
    /// How many copies ran at once, and their throughput relative to that of one; `None` where that was not measured.
    pub measured: Vec<(u32, Option<f64>)>,
    /// The bandwidth that the memory gives (bytes per second), where it is known.
    pub bandwidth: Option<f64>,
}

/// How copies share a machine.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct InstancesProfile {
    /// What the program is called. Hostile.
    pub name: String,
    /// By number of copies, ascending.
    pub points: Vec<InstancesPoint>,
}

/// So many copies at once.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct InstancesPoint {
    /// How many.
    pub copies: u32,
    /// The cache of each (bytes).
    pub cache: u64,
    /// The throughput in units of the curve: copies / t(C / copies). With cycles per instruction, instructions per cycle.
    pub throughput: Option<f64>,
    /// The throughput relative to one copy if memory was not shared.
    pub pirate: Option<Speedup>,
    /// The measured one.
    pub measured: Option<Speedup>,
    /// What sharing costs. With `measured` they add up to the number of copies.
    pub components: Vec<(Component, Speedup)>,
    /// What is not known, and why.
    pub missing: Vec<Missing>,
    /// Bytes a second that all copies would fetch from memory if each had it to itself.
    pub demand: Option<f64>,
    /// That divided by what the memory gives: above 1 it cannot be met.
    pub demand_of_bandwidth: Option<f64>,
}

impl InstancesPoint {
    /// As a bar; it adds up to the number of copies, where anything is known.
    pub fn stack(&self) -> Stack {
        let lost = self.components.iter().rev().map(|(component, amount)| component.of(*amount));
        let reached = match (self.measured, self.pirate) {
            (Some(measured), _) => Some(reached(measured)),
            (None, Some(pirate)) => Some(StackComponent {
                key: "untold".into(),
                label: format!("reached, or lost to {}: not measured", Component::Memory.words()).into(),
                color: "hatch",
                letter: Some('&'),
                ..reached(pirate)
            }),
            (None, None) => None,
        };
        Stack::of(Unit::Speedup, reached.into_iter().chain(lost).collect())
    }
}

/// The components for each number of copies.
pub fn instances(of: &Instances) -> InstancesProfile {
    let mut counts = of.measured.clone();
    counts.arrange_by_key(|(copies, _)| *copies);
    counts.dedup_by_key(|(copies, _)| *copies);
    let points = counts
        .into_iter()
        .filter(|(copies, _)| *copies > 0)
        .map(|(copies, measured)| of_copies(of, copies, measured));
    InstancesProfile { name: of.name.clone(), points: points.collect() }
}

fn of_copies(of: &Instances, copies: u32, measured: Option<f64>) -> InstancesPoint {
    let share = of.cache as f64 / f64::from(copies);
    let mut point = InstancesPoint { copies, cache: share as u64, ..InstancesPoint::default() };
    let throughput = throughput(&of.curve, copies, share);
    point.throughput = throughput;
    let one = self::throughput(&of.curve, 1, of.cache as f64);
    point.pirate = throughput.zip(one).map(|(all, one)| Speedup::of(all / one));
    point.measured = measured.map(Speedup::of);
    let perfect = Speedup::perfect(copies);
    let mut lacks = |component, reason: String| {
        point.missing.push(Missing { component: Some(component), reason });
    };
    match point.pirate {
        Some(pirate) => point.components.push((Component::Cache, perfect - pirate)),
        None if of.cache == 0 => lacks(
            Component::Cache,
            "No cache was taken: without it, nothing tells cache from memory.".to_owned(),
        ),
        None => lacks(
            Component::Cache,
            format!(
                "Nothing was measured with {} of the cache, or with all of it.",
                figures::bytes(share as u64)
            ),
        ),
    }
    match (point.pirate, point.measured) {
        (Some(pirate), Some(measured)) => point.components.push((Component::Memory, pirate - measured)),
        (_, None) => lacks(Component::Memory, format!("{copies} copies were not run at once.")),
        (None, _) => lacks(Component::Memory, "It cannot be told from what the cache costs.".to_owned()),
    }
    point.demand = of.curve.bandwidth_at(share).map(|each| each * f64::from(copies));
    point.demand_of_bandwidth = point.demand.zip(of.bandwidth).map(|(demand, gives)| demand / gives);
    point
}

/// copies / t(c); `None` outside of what was measured.
pub fn throughput(curve: &CacheCurve, copies: u32, bytes: f64) -> Option<f64> {
    curve.at(bytes).map(|time| f64::from(copies) / time)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::CachePoint;
    use super::*;

    const MIB: u64 = 1 << 20;

    fn curve(points: &[(f64, f64, Option<f64>)]) -> CacheCurve {
        let point = |&(mib, cpi, bandwidth): &(f64, f64, Option<f64>)| CachePoint {
            bytes: (mib * MIB as f64) as u64,
            time: cpi,
            high: cpi,
            runs: 1,
            cpi: Some(cpi),
            bandwidth,
        };
        CacheCurve::of(points.iter().map(point).collect())
    }

    fn rounded(value: Option<f64>) -> f64 {
        (value.unwrap() * 100.0).round() / 100.0
    }

    #[test]
    fn gcc_of_the_paper() {
        // Section 5: CPI 1.18, 1.25, 1.32 with 8, 4, 2 MB; 0.85 and 0.95 GB/s each with 4 and 2 MB.
        let of = Instances {
            name: "403.gcc".to_owned(),
            cache: 8 * MIB,
            curve: curve(&[(8.0, 1.18, None), (4.0, 1.25, Some(0.85e9)), (2.0, 1.32, Some(0.95e9))]),
            measured: vec![(1, Some(1.0)), (2, None), (4, Some(3.1))],
            // What four copies got: 4 × 0.85 GB/s.
            bandwidth: Some(3.4e9),
        };
        let told = instances(&of);
        let throughputs: Vec<f64> = told.points.iter().map(|point| rounded(point.throughput)).collect();
        assert_eq!(throughputs, [0.85, 1.60, 3.03]);
        let four = &told.points[2];
        // "Can be improved by about 0.4 if the cache bottleneck is resolved, and by about 0.5 if memory is."
        assert!((four.components[0].1.value() - 0.424).abs() < 0.001, "{four:?}");
        assert!((four.components[1].1.value() - 0.476).abs() < 0.001, "{four:?}");
        assert_eq!(four.demand, Some(3.8e9));
        assert!(four.demand_of_bandwidth.unwrap() > 1.1);
        // Two copies were not measured: memory is missing, not 0.
        assert_eq!(told.points[1].components.len(), 1);
        assert_eq!(told.points[1].missing[0].component, Some(Component::Memory));
    }

    #[test]
    fn omnetpp_of_the_paper() {
        // Section 5: with 6 MB for each of four copies their CPI would be 1.73 against 1.70 alone: 3.93.
        let curve = curve(&[(6.0, 1.73, None), (8.0, 1.70, None)]);
        let four = throughput(&curve, 4, (6 * MIB) as f64).unwrap()
            / throughput(&curve, 1, (8 * MIB) as f64).unwrap();
        assert_eq!(rounded(Some(four)), 3.93);
        let of = Instances { cache: 24 * MIB, curve, measured: vec![(4, None)], ..Instances::default() };
        // 24 MB lie outside of what was measured: nothing is said of four copies against one.
        assert_eq!(instances(&of).points[0].pirate, None);
        assert!(instances(&of).points[0].throughput.is_some());
    }

    #[test]
    fn lbm_of_the_paper() {
        // Section 5: 3 GB/s each with 2 MB is 12 GB/s, and memory gives 10.6; with 4.5 MB each 2.7, together 10.8.
        let curve = curve(&[(2.0, 1.0, Some(3.0e9)), (4.5, 1.0, Some(2.7e9)), (8.0, 1.0, Some(2.4e9))]);
        let told = |cache| {
            let of = Instances {
                cache,
                curve: curve.clone(),
                measured: vec![(4, Some(3.5))],
                bandwidth: Some(10.6e9),
                ..Instances::default()
            };
            instances(&of).points.remove(0)
        };
        let four = told(8 * MIB);
        assert_eq!(four.demand, Some(12.0e9));
        assert!((four.demand_of_bandwidth.unwrap() - 12.0 / 10.6).abs() < 1e-9);
        assert_eq!(
            four.components,
            [(Component::Cache, Speedup::ZERO), (Component::Memory, Speedup::of(0.5))]
        );
        assert!((told(18 * MIB).demand.unwrap() - 10.8e9).abs() < 1.0);
    }

    proptest! {
        #[test]
        fn what_is_lost_and_what_is_left_add_up_to_the_copies(
            times in prop::collection::vec(0.5f64..4.0, 4),
            measured in prop::collection::vec(0.1f64..8.0, 3),
        ) {
            let sizes = [1.0, 2.0, 4.0, 8.0];
            let points: Vec<(f64, f64, Option<f64>)> =
                sizes.iter().zip(&times).map(|(&size, &time)| (size, time, None)).collect();
            let counts = [2, 4, 8].into_iter().zip(measured).map(|(copies, measured)| (copies, Some(measured)));
            let of = Instances { cache: 8 * MIB, curve: curve(&points), measured: counts.collect(), ..Instances::default() };
            for point in instances(&of).points {
                let lost: Speedup = point.components.iter().map(|(_, amount)| *amount).sum();
                prop_assert_eq!(lost + point.measured.unwrap(), Speedup::perfect(point.copies));
            }
        }
    }
}
