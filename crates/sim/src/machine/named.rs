//! The machines that come with the binary.

use super::nearest::nearest;
use super::{Machine, MachineError};

macro_rules! machines {
    ($($name:literal,)*) => {
        /// Name and text, in the order in which they are listed.
        const MACHINES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../../machines/", $name, ".toml"))),)*];
    };
}

machines! {
    "dunnington",
    "nehalem",
    "lime",
    "criticality",
    "haswell",
    "genoa",
}

impl Machine {
    /// The machine of this name that comes with the binary.
    #[inline]
    pub fn named(name: &str) -> Option<Machine> {
        Machine::parse(Machine::text(name)?).ok()
    }

    /// Its text, with where each number comes from.
    pub fn text(name: &str) -> Option<&'static str> {
        MACHINES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// The names of all of them.
    pub fn names() -> impl Iterator<Item = &'static str> {
        MACHINES.iter().map(|(name, _)| *name)
    }

    /// The machine of this name, or what to say if there is none. `others` are names that the caller knows besides.
    ///
    /// # Errors
    /// A sentence that names the nearest or all.
    #[inline]
    pub fn known(name: &str, others: &[&str]) -> Result<Machine, MachineError> {
        if let Some(text) = Machine::text(name) {
            return Machine::parse(text);
        }
        let mut all: Vec<&str> = Machine::names().collect();
        all.extend(others);
        Err(MachineError::Text(match nearest(name, all.iter().copied()) {
            Some(meant) => format!("there is no machine `{name}`; did you mean `{meant}`?"),
            None => {
                format!("there is no machine `{name}`; there are {}, or give a .toml file", all.join(", "))
            }
        }))
    }
}
