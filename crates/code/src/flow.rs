//! What an iteration of a loop makes of the places that it found.

use std::collections::BTreeMap;

use crate::effect::{Effect, Origin, Write};
use crate::graph::Body;
use crate::place::{COUNT, Places, each};

/// Contents of a place, as a function of the contents at the beginning of the iteration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Value {
    /// It can be what one of these places had.
    pub(crate) same: Places,
    /// It can be computed from what these places had.
    pub(crate) from: Places,
    /// It can depend on memory or the clock as they were in this iteration.
    pub(crate) is_fresh: bool,
}

/// The contents of all places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State([Value; COUNT]);

impl Value {
    fn of(place: Places) -> Self {
        Self { same: place, ..Self::default() }
    }

    fn joined(self, other: Self) -> Self {
        Self {
            same: self.same | other.same,
            from: self.from | other.from,
            is_fresh: self.is_fresh || other.is_fresh,
        }
    }

    /// All places that it depends on.
    pub(crate) fn sources(self) -> Places {
        self.same | self.from
    }

    pub(crate) fn is_unchanged(self, place: Places) -> bool {
        self == Self::of(place)
    }
}

impl State {
    /// At the beginning of an iteration.
    fn initial() -> Self {
        Self(std::array::from_fn(|index| Value::of(1 << index)))
    }

    /// What is in these places, together.
    pub(crate) fn value(&self, places: Places) -> Value {
        each(places).map(|place| self.0[index(place)]).fold(Value::default(), Value::joined)
    }

    fn apply(&mut self, effect: &Effect) {
        // All instructions read before they write.
        let before = self.clone();
        for write in &effect.writes {
            self.write(write, &before);
        }
    }

    fn write(&mut self, write: &Write, before: &Self) {
        let is_parallel = |from: Places| from.count_ones() == write.to.count_ones();
        let mut parts = match write.from {
            Origin::Same(from) if is_parallel(from) => each(from).collect(),
            _ => Vec::new(),
        }
        .into_iter();
        for place in each(write.to) {
            let new = match (write.from, parts.next()) {
                (_, Some(part)) => before.value(part),
                (Origin::Same(from), None) => before.value(from),
                (Origin::Computed { from, is_fresh }, None) => {
                    let value = before.value(from);
                    Value { same: 0, from: value.sources(), is_fresh: is_fresh || value.is_fresh }
                }
            };
            let slot = &mut self.0[index(place)];
            *slot = if write.is_certain { new } else { slot.joined(new) };
        }
    }

    /// Takes up what another way to the same point gives. Whether that was anything new.
    fn join(&mut self, other: &Self) -> bool {
        let mut is_new = false;
        for (value, other) in self.0.iter_mut().zip(&other.0) {
            let joined = value.joined(*other);
            is_new |= joined != *value;
            *value = joined;
        }
        is_new
    }
}

fn index(place: Places) -> usize {
    place.trailing_zeros() as usize
}

/// The state before each instruction, and at the end of an iteration.
pub(crate) struct Flow {
    pub(crate) before: BTreeMap<u64, State>,
    pub(crate) end: Option<State>,
}

impl Flow {
    pub(crate) fn of(body: &Body, effects: &BTreeMap<u64, Effect>) -> Self {
        let mut before = BTreeMap::from([(body.header, State::initial())]);
        let mut end: Option<State> = None;
        let mut open = vec![body.header];
        // Each round adds places to some value, of which there are finitely many.
        while let Some(address) = open.pop() {
            let (Some(instruction), Some(effect)) = (body.instructions.get(&address), effects.get(&address))
            else {
                continue;
            };
            let mut state = before[&address].clone();
            state.apply(effect);
            for next in body.next_in_iteration(instruction) {
                let is_new = match before.get_mut(&next) {
                    Some(known) => known.join(&state),
                    None => {
                        before.insert(next, state.clone());
                        true
                    }
                };
                if is_new {
                    open.push(next);
                }
            }
            if body.goes_back(instruction) {
                match &mut end {
                    Some(known) => {
                        known.join(&state);
                    }
                    None => end = Some(state),
                }
            }
        }
        Self { before, end }
    }
}
