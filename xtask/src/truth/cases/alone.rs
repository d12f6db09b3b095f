//! One thread runs by itself while `holdup stack` holds the others: the CPU time that is measured is that of its own account,
//! and the others stand still.
//!
//! The program (`crates/cli/tests/programs/alone.c`) writes for each of its threads the CPU time of its work, and how many
//! steps of others it saw in it. The last of all runs is the one with a thread by itself, and its account is what is left.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use holdup_stage::Stage;

use super::{Filter, boxed};
use crate::truth::case::{Answer, Case};
use crate::truth::machine::Machine;

/// What threads wait for.
const MODES: [&str; 5] = ["barrier", "mutex", "rwlock", "condition", "semaphore"];

struct Alone {
    mode: &'static str,
    program: PathBuf,
}

pub(super) fn all(stage: &Stage, is_wanted: Filter) -> Vec<Box<dyn Case>> {
    let modes = MODES.into_iter().filter(|mode| is_wanted(&format!("alone {mode}")));
    boxed(modes.map(|mode| Alone { mode, program: stage.program("alone", &[]) }))
}

/// What a thread says of itself: CPU time of its work (ns), and steps of others in it.
fn account(text: &str) -> Option<Vec<(f64, f64)>> {
    let line = |line: &str| {
        let words: Vec<f64> = line.split(' ').map_while(|word| word.parse().ok()).collect();
        let [_, computed, seen] = words[..] else { return None };
        Some((computed, seen))
    };
    text.lines().map(line).collect::<Option<Vec<_>>>().filter(|threads| !threads.is_empty())
}

impl Case for Alone {
    fn rows(&self) -> Vec<String> {
        vec![format!("alone {}", self.mode)]
    }

    fn round(&self, machine: &mut Machine, _: bool) -> Result<Vec<Answer>> {
        let [result, times] = ["result", "times"].map(|name| machine.path(name));
        let told = machine.measure_json(|machine| {
            let mut command = machine.holdup();
            command.args(["stack", "-t", "3", "-r", "1", "--profiled", "1", "--no-pirate", "--json", "--"]);
            command.arg(&self.program).arg(self.mode).arg(&result).arg(&times);
            command
        })?;
        let text = fs::read_to_string(&times).context("the program's account")?;
        let threads = account(&text).context("the program's account")?;
        let cpu = told["alone_runs"][0]["cpu_ns"].as_f64().context("no run with a thread by itself")?;
        // The one beside which the others made the fewest steps is the one that ran by itself.
        let own = threads.iter().min_by(|one, other| one.1.total_cmp(&other.1)).copied().unwrap_or_default();
        let ratio = cpu / own.0;
        let said = format!("{ratio:.2} of its CPU time; steps of others {threads:?}");
        let mut answer = Answer::of(&self.rows()[0], (0.8..1.3).contains(&ratio), said.clone());
        let beside_others: f64 = threads.iter().map(|(_, seen)| seen).sum::<f64>() - own.1;
        // Where the others stand still between two barriers; with a lock they may begin before it is known who is alone.
        answer.place = (self.mode == "barrier").then_some(own.1 * 20.0 <= beside_others.max(20.0));
        if answer.place == Some(false) {
            answer.said = said;
        }
        Ok(vec![answer])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_is_that_of_each_thread() {
        assert_eq!(account("0 120 3\n1 110 0\n"), Some(vec![(120.0, 3.0), (110.0, 0.0)]));
        assert_eq!(account(""), None);
        assert_eq!(account("0 120\n"), None);
    }
}
