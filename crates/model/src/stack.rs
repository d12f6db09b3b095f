//! Bars whose parts add up.

use std::borrow::Cow;

use crate::Nanos;
use crate::figures::{counted, factor, figure, percent};

/// What the components of a [`Stack`] are counted in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Nanoseconds.
    Nanos,
    /// Cycles of threads.
    Cycles,
    /// Parts of a speedup.
    Speedup,
    /// Joules.
    Joules,
    /// Shares of the total.
    Share,
}

/// One named component of a [`Stack`]: what is the same of it wherever it is shown, and how much there is of it.
#[derive(Clone, PartialEq, Debug)]
pub struct StackComponent {
    /// What it is called in JSON and in tables.
    pub key: Cow<'static, str>,
    /// What a person calls it.
    pub label: Cow<'static, str>,
    /// What it is, as a clause; empty where its label says that.
    pub meaning: &'static str,
    /// The name of its colour, the same on the page and in the terminal.
    pub color: &'static str,
    /// The letter with which its piece of a bar begins in the terminal.
    pub letter: Option<char>,
    /// How much of the total it is, in the stack's unit; negative for what helps.
    pub amount: f64,
}

impl StackComponent {
    /// So much of it, without a letter, and with nothing to say beside its label.
    pub fn new(
        key: impl Into<Cow<'static, str>>,
        label: impl Into<Cow<'static, str>>,
        color: &'static str,
        amount: f64,
    ) -> Self {
        Self { key: key.into(), label: label.into(), meaning: "", color, letter: None, amount }
    }
}

/// A total and the components that it consists of, in the order in which they are drawn. What is in none of them is
/// [`Stack::remainder`], so nothing is dropped unseen.
#[derive(Clone, PartialEq, Debug)]
pub struct Stack {
    total: f64,
    unit: Unit,
    components: Vec<StackComponent>,
}

impl Stack {
    /// A total and what is known of it.
    pub fn of_total(total: f64, unit: Unit, components: Vec<StackComponent>) -> Self {
        Self { total, unit, components }
    }

    /// The stack of components that add up to its total.
    pub fn of(unit: Unit, components: Vec<StackComponent>) -> Self {
        Self::of_total(components.iter().map(|component| component.amount).sum(), unit, components)
    }

    /// What the components must add up to.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// The unit of the total and of every component.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// All components, from the first that is drawn to the last.
    pub fn components(&self) -> &[StackComponent] {
        &self.components
    }

    /// The component of this key.
    pub fn get(&self, key: &str) -> Option<&StackComponent> {
        self.components.iter().find(|component| component.key == key)
    }

    /// The total less all that was booked: 0 up to rounding for a complete stack.
    pub fn remainder(&self) -> f64 {
        self.total - self.components.iter().map(|component| component.amount).sum::<f64>()
    }

    /// How far its bar reaches to the left of zero and to the right: what helps, and all else.
    pub fn reach(&self) -> (f64, f64) {
        let side =
            |sign: f64| self.components.iter().map(|component| (sign * component.amount).max(0.0)).sum();
        (side(-1.0), side(1.0))
    }

    /// How much a component is, in short: `12 %`; of a speedup `0.43`.
    pub fn told_short(&self, amount: f64) -> String {
        let told = match self.unit {
            Unit::Speedup => factor(amount.abs()),
            _ if self.total == 0.0 => percent(0.0),
            _ => percent((amount / self.total).abs()),
        };
        let sign = if amount < 0.0 && told != "0.00" && told != "0 %" { "−" } else { "" };
        format!("{sign}{told}")
    }

    /// How much a component is, for people: `431 ms · 12 %`.
    pub fn told(&self, amount: f64) -> String {
        let sign = if amount < 0.0 { "−" } else { "" };
        let size = amount.abs().round() as u64;
        let short = self.told_short(amount);
        match self.unit {
            Unit::Nanos => format!("{sign}{} · {short}", Nanos::new(size)),
            Unit::Cycles => format!("{} · {short}", counted(size, "cycle", "cycles")),
            Unit::Joules => format!("{sign}{} J · {short}", figure(amount.abs())),
            Unit::Speedup | Unit::Share => short,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(key: &'static str, amount: f64) -> StackComponent {
        StackComponent::new(key, key, "act", amount)
    }

    #[test]
    fn what_is_in_no_component_remains() {
        let stack = Stack::of_total(10.0, Unit::Nanos, vec![component("a", 6.0), component("b", 1.0)]);
        assert_eq!(stack.get("a").unwrap().amount, 6.0);
        assert_eq!(stack.remainder(), 3.0);
    }

    #[test]
    fn what_helps_is_on_the_other_side_of_zero() {
        let stack =
            Stack::of(Unit::Speedup, vec![component("a", 3.0), component("b", -0.5), component("c", 1.5)]);
        assert_eq!((stack.total(), stack.reach()), (4.0, (0.5, 4.5)));
        assert_eq!([-0.5, -0.001].map(|amount| stack.told(amount)), ["−0.50", "0.00"]);
        let time = Stack::of(Unit::Nanos, vec![component("a", 3e6), component("b", 1e6)]);
        assert_eq!(time.told(-1e6), "−1.0 ms · −25 %");
    }
}
