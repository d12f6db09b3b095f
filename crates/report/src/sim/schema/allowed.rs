//! Words and members that the schema allows, out of the functions that give them.

use std::collections::BTreeMap;

use holdup_model::cycles::{CycleComponent, Level};
use schemars::{Schema, schema_for};

pub(super) fn group_kinds() -> [&'static str; 4] {
    use holdup_cycles::GroupKind::{Function, Main, Team, Unknown};
    [Main, Team, Function, Unknown].map(crate::sim::words::group_kind)
}

pub(super) fn components() -> Vec<&'static str> {
    CycleComponent::ALL.iter().map(|component| component.name()).collect()
}

/// A count, and what it counts.
fn count_of(meaning: &str) -> Schema {
    let mut schema = schema_for!(u64);
    schema.remove("$schema");
    schema.remove("title");
    schema.insert("description".to_owned(), meaning.into());
    schema
}

pub(super) fn cycles_of_components() -> BTreeMap<&'static str, Schema> {
    let one = |component: &CycleComponent| (component.name(), count_of(component.meaning()));
    CycleComponent::ALL.iter().map(one).collect()
}

pub(super) fn accesses_of_levels() -> BTreeMap<&'static str, Schema> {
    let one = |level: &Level| (crate::sim::words::level(*level), count_of(level.component().meaning()));
    Level::ALL.iter().map(one).collect()
}
