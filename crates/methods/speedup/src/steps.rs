//! From times to the components of a stack.
//!
//! What each bottleneck adds to the wall time is told from CPU times: the time of N threads that never wait is their CPU
//! time divided by N, so that Σ U (all together) − Σ A(C/N) (alone, with a share of the cache) is what memory adds to N
//! threads' time, Σ A(C/N) − Σ A(C) the cache, and so on. Introduced one after the other they lead from T(1) / N to T(N).
//! At each of these times there is a speedup, and a component is the difference of two speedups (paper 1, section 2):
//! all components and the measured speedup add up to N exactly.

use super::{Component, Curves, Order, PointStack, Speedup, Together};

/// No machine without bottlenecks is taken to be more than so many times as fast as perfect scaling says: where
/// components are negative, times before all have been introduced can be too short to mean anything.
const MOST: f64 = 10.0;

/// Sums over what threads did, in ns; see [`super::course::Spent`].
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Sums {
    /// Wall time.
    pub(super) time: f64,
    pub(super) cpu: f64,
    pub(super) off_core: f64,
    pub(super) outside: f64,
}

impl Sums {
    fn active(&self) -> f64 {
        self.cpu + self.off_core + self.outside
    }

    pub(super) fn scaled(&self, factor: f64) -> Sums {
        Sums {
            time: self.time * factor,
            cpu: self.cpu * factor,
            off_core: self.off_core * factor,
            outside: self.outside * factor,
        }
    }
}

/// What was measured at one number of threads.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Times {
    pub(super) threads: u32,
    /// In parallel.
    pub(super) parallel: Sums,
    /// The longest t − t_wait of all threads in parallel (ns).
    pub(super) longest: f64,
    /// Where only one thread works.
    pub(super) serial: Sums,
    /// False if CPU times are not known: then nothing can be said of cores that were not there.
    pub(super) has_cpu: bool,
    /// How long CPUs stood still because a quota was used up (ns), all CPUs together.
    pub(super) throttled: f64,
    /// For how long more threads could run than there are cores (ns), all of them together: a program that is told to use N
    /// may start more.
    pub(super) crowded: f64,
}

impl Times {
    fn time(&self) -> f64 {
        self.parallel.time + self.serial.time
    }
}

/// CPU times of lone threads, in ns, of all threads together.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct LoneTimes {
    /// With the fewest threads.
    pub(super) base: f64,
    /// Each with all of the cache; `None` if that was not measured.
    pub(super) full: Option<f64>,
    /// What having only a share of the cache adds; `None` if that was not measured.
    pub(super) cache: Option<f64>,
}

/// What each component adds to the wall time, in ns, and which cannot be told apart.
struct Added {
    known: Vec<(Component, f64)>,
    together: Option<(Vec<Component>, f64)>,
}

/// The stack at one number of threads. `None` where nothing was executed.
pub(super) fn stack(
    base: &Times,
    here: &Times,
    lone: &LoneTimes,
    cores: u32,
    order: &Order,
) -> Option<PointStack> {
    let (one, time) = (f64::from(base.threads) * base.time(), here.time());
    if one <= 0.0 || time <= 0.0 {
        return None;
    }
    let threads = f64::from(here.threads);
    let perfect = one / threads;
    let added = added(base, here, lone, cores);
    let free = free_of_synchronization(here, cores);
    let speedup = |at: f64| Speedup::of(one / at.max(perfect / MOST));

    let all: f64 = added.known.iter().map(|(_, time)| time).sum::<f64>()
        + added.together.as_ref().map_or(0.0, |(_, time)| *time);
    // What is left of the measured time.
    let synchronization = time - perfect - all;
    let mut stack = PointStack::default();
    let (mut at, mut before) = (perfect, Speedup::perfect(here.threads));
    let steps = steps(&added, synchronization, order);
    for (index, (of, step)) in steps.iter().enumerate() {
        let start = at;
        at += step;
        // The last step ends at what was measured, whatever was rounded on the way.
        let after = if index + 1 == steps.len() { Speedup::of(one / time) } else { speedup(at) };
        let amount = before - after;
        before = after;
        match of.as_slice() {
            [only] => stack.components.push((*only, amount)),
            several => stack.together = Some(Together { of: several.to_vec(), amount }),
        }
        if of.as_slice() == [Component::Synchronization] {
            let uneven = free - (time - synchronization);
            stack.imbalance = speedup(start) - speedup(start + uneven);
        }
    }
    let of = |component| added.known.iter().find(|(known, _)| *known == component).map(|(_, time)| *time);
    let serial = perfect + of(Component::Serial).unwrap_or(0.0);
    let extra_work = of(Component::ExtraWork).map(|extra| serial + extra);
    let pirate = extra_work.zip(of(Component::Cache)).map(|(extra, cache)| extra + cache);
    stack.curves = Curves {
        perfect: Speedup::perfect(here.threads),
        serial: speedup(serial),
        extra_work: extra_work.map(speedup),
        pirate: pirate.map(speedup),
        no_sync: speedup(free),
        measured: Speedup::of(one / time),
    };
    Some(stack)
}

/// The components by the order of introduction; what cannot be told apart is where the first of it would be.
fn steps(added: &Added, synchronization: f64, order: &Order) -> Vec<(Vec<Component>, f64)> {
    let mut steps = Vec::new();
    for &component in order.components() {
        if component == Component::Synchronization {
            steps.push((vec![component], synchronization));
        } else if let Some((_, time)) = added.known.iter().find(|(known, _)| *known == component) {
            steps.push((vec![component], *time));
        } else if let Some((of, time)) = added.together.as_ref().filter(|(of, _)| of.contains(&component)) {
            let of: Vec<Component> =
                order.components().iter().copied().filter(|component| of.contains(component)).collect();
            if of[0] == component {
                steps.push((of, *time));
            }
        }
    }
    steps
}

/// The time if no thread ever waited: the longest t − t_wait (paper 1, section 6.3), but no shorter than the cores need for
/// all CPU time; and what one thread does on its own.
fn free_of_synchronization(here: &Times, cores: u32) -> f64 {
    let at_once = if cores == 0 { here.threads } else { cores.min(here.threads) };
    let least = here.parallel.cpu / f64::from(at_once.max(1));
    let longest = if here.has_cpu && at_once < here.threads { here.longest.max(least) } else { here.longest };
    longest + here.serial.active().min(here.serial.time)
}

fn added(base: &Times, here: &Times, lone: &LoneTimes, cores: u32) -> Added {
    let (b, n) = (f64::from(base.threads), f64::from(here.threads));
    let growth = |of: fn(&Sums) -> f64| (of(&here.parallel) - of(&base.parallel)) / n;
    let serial_growth = |of: fn(&Sums) -> f64| of(&here.serial) - of(&base.serial);

    let serial = base.serial.time * (1.0 - b / n);
    let other = growth(|sums| sums.outside) + serial_growth(|sums| sums.outside);
    let off_core = growth(|sums| sums.off_core) + serial_growth(|sums| sums.off_core);
    // More CPU time for the same work, whatever for.
    let work = growth(|sums| sums.cpu) + serial_growth(|sums| sums.cpu);
    let mut known = vec![(Component::Serial, serial), (Component::Other, other)];
    let mut apart = Vec::new();
    let mut together = 0.0;

    let extra = |full: f64| (full - lone.base) / n + serial_growth(|sums| sums.cpu);
    // More CPU time alone than together, where nothing else is known of it, is the price of being alone.
    let full = lone.full.filter(|&full| lone.cache.is_some() || extra(full) <= work.max(0.0));
    match (full, lone.cache) {
        (Some(full), cache) => {
            let extra = extra(full);
            known.push((Component::ExtraWork, extra));
            match cache {
                Some(cache) => {
                    known.push((Component::Cache, cache / n));
                    known.push((Component::Memory, work - extra - cache / n));
                }
                None => {
                    apart.extend([Component::Cache, Component::Memory]);
                    together += work - extra;
                }
            }
        }
        (None, _) => {
            apart.extend([Component::ExtraWork, Component::Cache, Component::Memory]);
            together += work;
        }
    }
    if here.has_cpu {
        let crowded = cores > 0 && here.threads > cores;
        // With fewer cores than threads the time is no shorter than the cores need for all CPU time, though not all of
        // the threads were seen to wait for one: some waited for those that did.
        let overlap = (base.parallel.active() - b * base.parallel.time).max(0.0);
        let lack = here.parallel.cpu / f64::from(cores.max(1)) - (here.parallel.active() - overlap) / n;
        let lack = if crowded { lack.max(0.0) } else { 0.0 };
        let too_many = ((here.crowded - base.crowded) / n).clamp(0.0, off_core.max(0.0));
        let stopped = if crowded { (here.throttled / n).min(off_core.max(0.0)) } else { off_core - too_many };
        known.push((Component::Environment, stopped));
        known.push((Component::Oversubscription, off_core - stopped + lack));
    } else {
        apart.extend([Component::Oversubscription, Component::Environment]);
        together += off_core;
    }
    let together = (!apart.is_empty()).then_some((apart, together));
    Added { known, together }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sums(time: f64, cpu: f64) -> Sums {
        Sums { time, cpu, ..Sums::default() }
    }

    fn times(threads: u32, parallel: Sums, longest: f64) -> Times {
        Times { threads, parallel, longest, has_cpu: true, ..Times::default() }
    }

    fn amount(stack: &PointStack, component: Component) -> f64 {
        stack.get(component).unwrap().value()
    }

    #[test]
    fn each_component_is_the_difference_of_two_speedups() {
        // 1000 with one thread. With four 1040 of CPU time alone, 1200 with a quarter of the cache, 1600 all together.
        let base = times(1, sums(1000.0, 1000.0), 1000.0);
        let here = times(4, sums(500.0, 1600.0), 400.0);
        let lone = LoneTimes { base: 1000.0, full: Some(1040.0), cache: Some(160.0) };
        let told = stack(&base, &here, &lone, 4, &Order::default()).unwrap();
        let speedups = [1000.0 / 260.0, 1000.0 / 300.0, 1000.0 / 400.0, 2.0];
        assert_eq!(told.curves.extra_work, Some(Speedup::of(speedups[0])));
        assert_eq!(told.curves.pirate, Some(Speedup::of(speedups[1])));
        assert_eq!(told.curves.no_sync, Speedup::of(speedups[2]));
        assert_eq!(told.curves.measured, Speedup::of(speedups[3]));
        assert_eq!(told.get(Component::Serial), Some(Speedup::ZERO));
        for (component, expected) in [
            (Component::ExtraWork, 4.0 - speedups[0]),
            (Component::Cache, speedups[0] - speedups[1]),
            (Component::Memory, speedups[1] - speedups[2]),
            (Component::Synchronization, speedups[2] - speedups[3]),
        ] {
            assert!((amount(&told, component) - expected).abs() < 2e-6, "{component:?} {told:?}");
        }
        assert_eq!((told.imbalance, told.total()), (Speedup::ZERO, Speedup::perfect(4)));
    }

    #[test]
    fn a_law_of_amdahl_is_told_first() {
        // A tenth is serial.
        let base = Times { serial: sums(100.0, 100.0), ..times(1, sums(900.0, 900.0), 900.0) };
        let here = Times { serial: sums(100.0, 100.0), ..times(3, sums(300.0, 900.0), 300.0) };
        let lone = LoneTimes { base: 900.0, full: Some(900.0), cache: Some(0.0) };
        let told = stack(&base, &here, &lone, 4, &Order::default()).unwrap();
        assert_eq!(told.curves.serial, Speedup::of(2.5));
        assert_eq!(told.get(Component::Serial), Some(Speedup::of(0.5)));
        assert!(
            told.components
                .iter()
                .all(|(component, amount)| *component == Component::Serial || *amount == Speedup::ZERO)
        );
    }

    #[test]
    fn uneven_work_is_synchronization() {
        let base = times(1, sums(300.0, 300.0), 300.0);
        let here = times(2, sums(200.0, 300.0), 200.0);
        let lone = LoneTimes { base: 300.0, full: Some(300.0), cache: Some(0.0) };
        let told = stack(&base, &here, &lone, 2, &Order::default()).unwrap();
        assert_eq!(told.get(Component::Synchronization), Some(Speedup::of(0.5)));
        assert_eq!(told.imbalance, Speedup::of(0.5));
        assert_eq!(told.curves.no_sync, Speedup::of(1.5));
    }

    #[test]
    fn threads_without_a_core_are_no_synchronization() {
        // Four threads take turns on two cores.
        let base = times(1, sums(1000.0, 1000.0), 1000.0);
        let parallel = Sums { time: 500.0, cpu: 1000.0, off_core: 1000.0, outside: 0.0 };
        let lone = LoneTimes { base: 1000.0, full: Some(1000.0), cache: Some(0.0) };
        let told = stack(&base, &times(4, parallel, 500.0), &lone, 2, &Order::default()).unwrap();
        assert_eq!(told.get(Component::Oversubscription), Some(Speedup::of(2.0)));
        assert_eq!(told.get(Component::Synchronization), Some(Speedup::ZERO));
        // Two waited at a barrier for the two that came later: still it is the cores that are missing.
        let parallel = Sums { time: 500.0, cpu: 1000.0, off_core: 500.0, outside: 0.0 };
        let told = stack(&base, &times(4, parallel, 500.0), &lone, 2, &Order::default()).unwrap();
        assert_eq!(told.get(Component::Oversubscription), Some(Speedup::of(2.0)));
        // The program has started more than it was told to.
        let here = Times { crowded: 400.0, ..times(4, parallel, 500.0) };
        let told = stack(&base, &here, &lone, 4, &Order::default()).unwrap();
        assert!(told.get(Component::Oversubscription).unwrap() > Speedup::of(1.0));
        assert!(told.get(Component::Environment).unwrap() < Speedup::of(1.0));
        // With a core for each it was somebody else's doing.
        let parallel = Sums { time: 500.0, cpu: 1000.0, off_core: 1000.0, outside: 0.0 };
        let told = stack(&base, &times(4, parallel, 500.0), &lone, 4, &Order::default()).unwrap();
        assert_eq!(told.get(Component::Environment), Some(Speedup::of(2.0)));
        assert_eq!(told.get(Component::Oversubscription), Some(Speedup::ZERO));
    }

    #[test]
    fn what_cannot_be_told_apart_is_told_together() {
        let base = times(1, sums(1000.0, 1000.0), 1000.0);
        let here = times(2, sums(600.0, 1200.0), 600.0);
        let lone = LoneTimes { base: 1000.0, full: Some(1000.0), cache: None };
        let told = stack(&base, &here, &lone, 2, &Order::default()).unwrap();
        let together = told.together.clone().unwrap();
        assert_eq!(together.of, [Component::Cache, Component::Memory]);
        assert!((together.amount.value() - (2.0 - 1000.0 / 600.0)).abs() < 2e-6);
        assert_eq!((told.get(Component::Cache), told.curves.pirate), (None, None));
        // What is more than together is not extra work.
        let alone = LoneTimes { base: 1000.0, full: Some(1300.0), cache: None };
        let told = stack(&base, &here, &alone, 2, &Order::default()).unwrap();
        assert_eq!((told.get(Component::ExtraWork), told.curves.extra_work), (None, None));
        let nothing = LoneTimes { base: 1000.0, full: None, cache: None };
        let told = stack(&base, &here, &nothing, 2, &Order::default()).unwrap();
        assert_eq!(told.together.unwrap().of, [Component::ExtraWork, Component::Cache, Component::Memory]);
    }

    #[test]
    fn nothing_executed_has_no_stack() {
        let none = Times::default();
        assert_eq!(stack(&none, &none, &LoneTimes::default(), 1, &Order::default()), None);
    }

    fn any_sums() -> impl Strategy<Value = Sums> {
        (1.0f64..1e9, 0.0f64..4e9, 0.0f64..1e9, 0.0f64..1e9).prop_map(|(time, cpu, off_core, outside)| Sums {
            time,
            cpu,
            off_core,
            outside,
        })
    }

    fn any_times() -> impl Strategy<Value = Times> {
        let times = (any_sums(), any_sums(), 0.0f64..1e9, 0.0f64..1e9, 0.0f64..1e9);
        (1u32..64, any::<bool>(), times).prop_map(
            |(threads, has_cpu, (parallel, serial, longest, throttled, crowded))| Times {
                threads,
                parallel,
                longest,
                serial,
                has_cpu,
                throttled,
                crowded,
            },
        )
    }

    proptest! {
        #[test]
        fn components_add_up_to_the_number_of_threads(
            base in any_times(),
            here in any_times(),
            lone in (0.0f64..4e9, prop::option::of(0.0f64..4e9), prop::option::of(-1e9f64..1e9)),
            cores in 0u32..16,
            first in prop::sample::subsequence(Component::ALL.to_vec(), 0..8).prop_shuffle(),
        ) {
            let lone = LoneTimes { base: lone.0, full: lone.1, cache: lone.2 };
            let order = Order::first(&first).unwrap();
            let told = stack(&base, &here, &lone, cores, &order).unwrap();
            prop_assert_eq!(told.total(), Speedup::perfect(here.threads));
            let together = told.together.as_ref().map_or(0, |together| together.of.len());
            prop_assert_eq!(told.components.len() + together, Component::ALL.len());
            // In the order that was asked for.
            let places: Vec<usize> = told
                .components
                .iter()
                .map(|(component, _)| order.components().iter().position(|at| at == component).unwrap())
                .collect();
            prop_assert!(places.is_sorted());
        }

        #[test]
        fn curves_of_a_program_that_only_gets_slower_fall(
            cpu in 1e3f64..1e9, threads in 2u32..32,
            extra in 0.0f64..1.0, cache in 0.0f64..1.0, memory in 0.0f64..1.0, waiting in 0.0f64..1.0,
        ) {
            let n = f64::from(threads);
            let base = times(1, sums(cpu, cpu), cpu);
            let full = cpu * (1.0 + extra);
            let all = full + cpu * (cache + memory);
            let time = all / n * (1.0 + waiting);
            let here = times(threads, sums(time, all), all / n);
            let lone = LoneTimes { base: cpu, full: Some(full), cache: Some(cpu * cache) };
            let told = stack(&base, &here, &lone, threads, &Order::default()).unwrap();
            let curves = told.curves;
            prop_assert!(curves.perfect >= curves.serial && curves.serial >= curves.extra_work.unwrap());
            prop_assert!(curves.extra_work >= curves.pirate && curves.pirate.unwrap() >= curves.no_sync);
            prop_assert!(curves.no_sync >= curves.measured);
            prop_assert!(told.components.iter().all(|(_, amount)| amount.millionths() >= -2));
        }
    }
}
