//! What speedup is lost to, and the order in which losses are told.

use std::iter::Sum;
use std::ops::{Add, Sub};

use holdup_model::StackComponent;

/// A bottleneck: one component of a speedup stack.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Component {
    /// One thread alone can work (Amdahl's law).
    Serial,
    /// More CPU time for the same work than with the fewest threads, though each thread has all of the cache and of the
    /// memory to itself: copies, splitting, merging, the runtime.
    ExtraWork,
    /// Threads share the cache's capacity.
    Cache,
    /// Threads share memory banks and busses; what coherence costs is in it.
    Memory,
    /// More threads than cores: threads could run, and others did.
    Oversubscription,
    /// The machine gave less than it has: a CPU quota, other programs.
    Environment,
    /// Input and output, sleep, and what none of the others explains.
    Other,
    /// Threads wait for each other: locks, barriers, conditions, uneven work.
    Synchronization,
}

impl Component {
    /// All, in the order in which they are introduced unless one asks for another: that of paper 1, section 2 (cache, memory,
    /// synchronization), with the law of Amdahl before and what the machine withholds beside the memory.
    pub const ALL: [Component; 8] = [
        Component::Serial,
        Component::ExtraWork,
        Component::Cache,
        Component::Memory,
        Component::Oversubscription,
        Component::Environment,
        Component::Other,
        Component::Synchronization,
    ];

    /// Its name in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Component::Serial => "serial",
            Component::ExtraWork => "extra_work",
            Component::Cache => "cache",
            Component::Memory => "memory",
            Component::Oversubscription => "oversubscription",
            Component::Environment => "environment",
            Component::Other => "other",
            Component::Synchronization => "synchronization",
        }
    }

    /// Several in a sentence: `extra work, cache and memory`.
    pub fn several(components: &[Component]) -> String {
        let words: Vec<&str> = components.iter().map(|component| component.words()).collect();
        match words.split_last() {
            None => String::new(),
            Some((last, [])) => (*last).to_owned(),
            Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        }
    }

    /// What a person calls it.
    pub fn words(self) -> &'static str {
        match self {
            Component::Serial => "serial part",
            Component::ExtraWork => "extra work",
            Component::Cache => "cache",
            Component::Memory => "memory",
            Component::Oversubscription => "oversubscription",
            Component::Environment => "environment",
            Component::Other => "other",
            Component::Synchronization => "synchronization",
        }
    }

    /// The letter with which its piece of a bar begins.
    pub fn letter(self) -> char {
        match self {
            Component::Serial => '1',
            Component::ExtraWork => 'x',
            Component::Cache => 'c',
            Component::Memory => 'm',
            Component::Oversubscription => 'o',
            Component::Environment => 'e',
            Component::Other => '?',
            Component::Synchronization => 's',
        }
    }

    /// The name of its colour.
    pub fn color(self) -> &'static str {
        match self {
            Component::Serial => "serial",
            Component::ExtraWork => "spin",
            Component::Cache => "cache",
            Component::Memory => "mem",
            Component::Oversubscription => "des",
            Component::Environment => "wake",
            Component::Other => "idle",
            Component::Synchronization => "lock",
        }
    }

    /// So much of it as a part of a stack.
    pub(crate) fn of(self, amount: Speedup) -> StackComponent {
        StackComponent {
            key: self.name().into(),
            label: self.words().into(),
            meaning: "",
            color: self.color(),
            letter: Some(self.letter()),
            amount: amount.value(),
        }
    }

    /// The component of this name, with `-` or `_` between its words.
    pub fn named(name: &str) -> Option<Component> {
        let name = name.trim().replace('-', "_");
        Component::ALL.into_iter().find(|component| component.name() == name)
    }
}

/// The key of the measured speedup in a stack: all else is lost.
pub const REACHED: &str = "speedup";

/// The key of what several components cost together.
pub const NOT_TOLD_APART: &str = "together";

pub(crate) fn reached(amount: Speedup) -> StackComponent {
    StackComponent::new(REACHED, "measured speedup", "act", amount.value())
}

/// Something that is not known.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Missing {
    /// The component; `None` for the stack as a whole.
    pub component: Option<Component>,
    /// Why, as a sentence.
    pub reason: String,
}

/// The order in which bottlenecks are introduced to a machine that has none: a component is the speedup that its own
/// introduction costs, so it is smaller the later it comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order([Component; Component::ALL.len()]);

impl Default for Order {
    fn default() -> Self {
        Self(Component::ALL)
    }
}

impl Order {
    /// These first, the others behind them as they are by default.
    ///
    /// # Errors
    /// The component that is named twice.
    pub fn first(components: &[Component]) -> Result<Order, Component> {
        let mut order: Vec<Component> = Vec::with_capacity(Component::ALL.len());
        for &component in components {
            if order.contains(&component) {
                return Err(component);
            }
            order.push(component);
        }
        order.extend(Component::ALL.iter().filter(|component| !components.contains(component)));
        let mut all = Component::ALL;
        all.copy_from_slice(&order);
        Ok(Order(all))
    }

    /// The components, the one that is introduced first ahead.
    pub fn components(&self) -> &[Component] {
        &self.0
    }

    /// True if it is the one that is used unless one asks for another.
    pub fn is_default(&self) -> bool {
        self.0 == Component::ALL
    }
}

/// A speedup, or a part of one, in millionths: integers, so that the parts of a stack add up exactly. A part is negative
/// where what it stands for helps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Speedup(i64);

impl Speedup {
    /// None at all.
    pub const ZERO: Speedup = Speedup(0);

    /// The perfect one of so many threads.
    pub fn perfect(threads: u32) -> Speedup {
        Speedup(i64::from(threads) * 1_000_000)
    }

    /// The nearest one to `value`; none for what is no number.
    pub fn of(value: f64) -> Speedup {
        Speedup((value * 1e6).round() as i64)
    }

    /// In millionths.
    pub fn millionths(self) -> i64 {
        self.0
    }

    /// As a number: 2.5 is two and a half times as fast.
    pub fn value(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Add for Speedup {
    type Output = Speedup;
    fn add(self, rhs: Speedup) -> Speedup {
        Speedup(self.0.saturating_add(rhs.0))
    }
}

impl Sub for Speedup {
    type Output = Speedup;
    fn sub(self, rhs: Speedup) -> Speedup {
        Speedup(self.0.saturating_sub(rhs.0))
    }
}

impl Sum for Speedup {
    fn sum<I: Iterator<Item = Speedup>>(iter: I) -> Speedup {
        iter.fold(Speedup::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_names_each_component_once() {
        let order = Order::first(&[Component::Synchronization, Component::Memory]).unwrap();
        assert_eq!(
            order.components()[..3],
            [Component::Synchronization, Component::Memory, Component::Serial]
        );
        assert_eq!(order.components().len(), Component::ALL.len());
        assert_eq!(Order::first(&[Component::Cache, Component::Cache]), Err(Component::Cache));
        assert!(Order::first(&[]).unwrap().is_default() && !order.is_default());
    }

    #[test]
    fn components_are_found_by_the_names_that_json_gives() {
        for component in Component::ALL {
            assert_eq!(Component::named(component.name()), Some(component));
        }
        assert_eq!(Component::named("extra-work"), Some(Component::ExtraWork));
        assert_eq!(Component::named("magic"), None);
    }

    #[test]
    fn what_is_no_number_is_no_speedup() {
        assert_eq!(Speedup::of(f64::NAN), Speedup::ZERO);
        assert_eq!(Speedup::of(1.85).value(), 1.85);
        assert_eq!(Speedup::perfect(4) - Speedup::of(2.5), Speedup::of(1.5));
    }

    #[test]
    fn components_are_named_in_a_row() {
        use Component::{Cache, ExtraWork, Memory};
        assert_eq!(Component::several(&[ExtraWork, Cache, Memory]), "extra work, cache and memory");
        assert_eq!(Component::several(&[Cache]), "cache");
    }
}
