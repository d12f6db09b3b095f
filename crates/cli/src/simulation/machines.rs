//! Which machines are simulated: those that come with holdup by name, files, and this one.

use std::fs;
use std::path::Path;

use holdup_sim::Machine;
use holdup_sim::machine::CoreModel;

use super::host;
use crate::failure::Failure;

/// What is simulated where nobody asks for another: a current server.
pub(crate) const USUAL: &str = "genoa";
/// The machine that holdup runs on.
const HOST: &str = "host";

/// Machines that were chosen, and what is to be known of them.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) machines: Vec<Machine>,
    /// Sentences.
    pub(crate) notes: Vec<String>,
}

/// The machines of these names, each a name or a file.
pub(crate) fn chosen(names: &[String], one_ipc: bool) -> Result<Chosen, Failure> {
    let mut chosen = Chosen { machines: Vec::new(), notes: Vec::new() };
    for name in names {
        let mut machine = machine(name, &mut chosen.notes)?;
        if one_ipc {
            machine.core.model = CoreModel::OneIpc;
        }
        chosen.machines.push(machine);
    }
    Ok(chosen)
}

fn machine(name: &str, notes: &mut Vec<String>) -> Result<Machine, Failure> {
    if name == HOST {
        let usual = Machine::named(USUAL).unwrap_or_else(|| unreachable!("it comes with the binary"));
        let (machine, said) = host::machine(usual)?;
        notes.extend(said);
        return Ok(machine);
    }
    if !is_file(name) {
        return Machine::known(name, &[HOST]).map_err(|error| Failure::input(format!("--machine: {error}")));
    }
    let text = fs::read_to_string(name).map_err(|error| {
        Failure::input(format!(
            "{name}: the machine cannot be read ({error}); holdup sim --list-machines says which there are"
        ))
    })?;
    Machine::parse(&text).map_err(|error| Failure::input(format!("{name}: {error}")))
}

/// True for what is a path rather than a name.
fn is_file(name: &str) -> bool {
    name.contains('/') || Path::new(name).extension().is_some_and(|ending| ending == "toml")
}

/// The machines by name, a line each.
pub(crate) fn machine_list() -> String {
    let mut lines: Vec<(&str, String)> = Machine::names()
        .filter_map(|name| Machine::named(name).map(|machine| (name, machine.description)))
        .collect();
    lines.push((
        HOST,
        "this machine: measured when it is first asked for, which takes some seconds".to_owned(),
    ));
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let usual = |name: &str| if name == USUAL { " (what is taken if none is asked for)" } else { "" };
    lines.iter().map(|(name, what)| format!("{name:width$}  {what}{}\n", usual(name))).collect()
}

/// A machine's file, to start an own one from.
pub(crate) fn machine_text(name: &str) -> Result<String, Failure> {
    if let Some(text) = Machine::text(name) {
        return Ok(text.to_owned());
    }
    Ok(machine(name, &mut Vec::new())?.to_toml())
}
