//! Bars whose parts add up.

/// What the parts of a [`Stack`] are counted in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Nanoseconds.
    Nanos,
}

/// One named part of a [`Stack`].
#[derive(Clone, PartialEq, Debug)]
pub struct Component {
    /// What this part stands for.
    pub name: String,
    /// How much of the total it is, in the stack's unit.
    pub amount: f64,
}

/// A total and the named parts that it consists of. Parts enter through [`Stack::book`] alone; what has not
/// been booked is [`Stack::remainder`], so nothing is dropped unseen.
#[derive(Clone, PartialEq, Debug)]
pub struct Stack {
    total: f64,
    unit: Unit,
    components: Vec<Component>,
}

impl Stack {
    /// An empty stack of height `total`.
    pub fn new(total: f64, unit: Unit) -> Self {
        Self { total, unit, components: Vec::new() }
    }

    /// Adds `amount` to the part `name`, which is created at its first booking.
    pub fn book(&mut self, name: &str, amount: f64) {
        match self.components.iter_mut().find(|component| component.name == name) {
            Some(component) => component.amount += amount,
            None => self.components.push(Component { name: name.to_owned(), amount }),
        }
    }

    /// What the parts must add up to.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// The unit of the total and of every part.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// The parts in the order of their first booking.
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// The total less all that was booked: 0 up to rounding for a complete stack.
    pub fn remainder(&self) -> f64 {
        self.total - self.components.iter().map(|component| component.amount).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_booked_remains() {
        let mut stack = Stack::new(10.0, Unit::Nanos);
        stack.book("a", 4.0);
        stack.book("b", 1.0);
        stack.book("a", 2.0);
        assert_eq!(stack.components().len(), 2);
        assert_eq!(stack.components()[0].amount, 6.0);
        assert_eq!(stack.remainder(), 3.0);
    }
}
