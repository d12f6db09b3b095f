//! Which simulations there are to do, in the order in which they are told.

use std::collections::BTreeSet;

use holdup_sim::{Changes, Machine, Program};
use holdup_speedup::SpeedupStep;

use super::policies::{Asked, PolicyOptions};
use super::what_if::{Changed, Nameable, WhatIf};

/// One simulation.
#[derive(Clone, Debug)]
pub(crate) struct Simulation {
    /// Of which recording.
    pub(crate) input: usize,
    pub(crate) machine: Machine,
    pub(crate) cores: u32,
    pub(crate) changes: Changes,
    /// The changes as words.
    pub(crate) words: Vec<String>,
    /// What is falsely shared in the unchanged simulation before is padded.
    pub(crate) pads: bool,
    /// The policy that makes threads fast, if there is one.
    pub(crate) policy: Option<Asked>,
    pub(crate) role: Role,
}

/// What a simulation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is told of.
    Told,
    /// It is the run on one core that the speedup stack of this number begins with.
    Single(usize),
    /// The variant of the speedup stack of this number in which so many steps are back.
    Variant(usize, usize),
}

/// What there is to simulate of one recording.
pub(crate) struct Subject<'a> {
    pub(crate) input: usize,
    pub(crate) program: &'a Program,
    /// The addresses of the instructions at a line or in a function.
    pub(crate) at: &'a dyn Fn(&str) -> BTreeSet<u64>,
    /// How many threads had something to do.
    pub(crate) threads: u32,
}

/// What was asked for.
pub(crate) struct Wanted<'a> {
    pub(crate) machines: &'a [Machine],
    /// Empty: as many as threads had something to do.
    pub(crate) cores: &'a [u32],
    pub(crate) what_ifs: &'a [WhatIf],
    pub(crate) speedup_stack: bool,
    pub(crate) policies: Option<&'a PolicyOptions>,
}

/// All simulations of a recording. `stacks` is how many speedup stacks there are before.
///
/// # Errors
/// What a what-if names and is not there, in words.
pub(crate) fn simulations(
    subject: &Subject<'_>,
    wanted: &Wanted<'_>,
    stacks: usize,
) -> Result<Vec<Simulation>, String> {
    let mut all = Vec::new();
    let mut stack = stacks;
    for machine in wanted.machines {
        let usual = [subject.threads.clamp(1, machine.cores().max(1))];
        let cores = if wanted.cores.is_empty() { &usual[..] } else { wanted.cores };
        for &cores in cores {
            let plain = Simulation {
                input: subject.input,
                machine: machine.with_cores(cores),
                cores,
                changes: Changes::default(),
                words: Vec::new(),
                pads: false,
                policy: None,
                role: Role::Told,
            };
            all.push(plain.clone());
            for what_if in wanted.what_ifs {
                let named =
                    Nameable { machine: &plain.machine, cores, program: subject.program, at: subject.at };
                let Changed { machine, changes, words, pads } = what_if.of(&named)?;
                let machine = machine.with_cores(cores);
                all.push(Simulation { machine, changes, words, pads, ..plain.clone() });
            }
            for policy in wanted.policies.map(|options| options.asked(machine)).unwrap_or_default() {
                if let Some(missing) = policy.missing(subject.program) {
                    return Err(missing);
                }
                all.push(Simulation { words: policy.words(), policy: Some(policy), ..plain.clone() });
            }
            if wanted.speedup_stack {
                all.extend(stacked(&plain, stack));
                stack += 1;
            }
        }
    }
    Ok(all)
}

/// What a speedup stack needs besides the unchanged run (paper 1, section 2): the program on one core, and with the
/// resources made private, of which one after the other is shared again.
fn stacked(plain: &Simulation, stack: usize) -> impl Iterator<Item = Simulation> + use<> {
    let single = Simulation { cores: 1, role: Role::Single(stack), ..plain.clone() };
    let plain = plain.clone();
    let variants = (0..SpeedupStep::ALL.len()).map(move |back| {
        let changes = without(&SpeedupStep::ALL[back..]);
        Simulation { changes, role: Role::Variant(stack, back), ..plain.clone() }
    });
    std::iter::once(single).chain(variants)
}

fn without(steps: &[SpeedupStep]) -> Changes {
    let mut changes = Changes::default();
    for step in steps {
        match step {
            SpeedupStep::Caches => changes.private_caches = true,
            SpeedupStep::Links => changes.private_links = true,
            SpeedupStep::Memory => changes.private_memory = true,
            SpeedupStep::Coherence => changes.no_coherence = true,
            SpeedupStep::Locks => changes.free_locks = Some(BTreeSet::new()),
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(cores: &[u32], what_ifs: &[&str], speedup_stack: bool) -> Vec<Simulation> {
        let machine = Machine::named("dunnington").expect("a machine that comes with the binary");
        let what_ifs: Vec<WhatIf> = what_ifs.iter().map(|text| text.parse().expect("a what-if")).collect();
        let program = Program::default();
        let subject = Subject { input: 0, program: &program, at: &|_| BTreeSet::new(), threads: 3 };
        let wanted =
            Wanted { machines: &[machine], cores, what_ifs: &what_ifs, speedup_stack, policies: None };
        simulations(&subject, &wanted, 0).expect("a plan")
    }

    #[test]
    fn threads_say_how_many_cores_there_are_where_nobody_does() {
        let found = planned(&[], &[], false);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].cores, 3);
    }

    #[test]
    fn each_number_of_cores_has_its_what_ifs_beside_it() {
        let found = planned(&[4, 64], &["perfect-branches", "memory.channels=3"], false);
        let told: Vec<(u32, String)> = found.iter().map(|one| (one.cores, one.words.join("+"))).collect();
        let expected = [
            (4, ""),
            (4, "perfect branches"),
            (4, "memory.channels 3"),
            (64, ""),
            (64, "perfect branches"),
            (64, "memory.channels 3"),
        ];
        assert_eq!(told, expected.map(|(cores, words)| (cores, words.to_owned())));
        assert!(found.iter().all(|one| one.machine.cores() >= one.cores), "sockets are added");
    }

    #[test]
    fn a_speedup_stack_gives_resources_back_one_by_one() {
        let found = planned(&[4], &[], true);
        assert_eq!(found.len(), 7);
        assert_eq!((found[1].role, found[1].cores), (Role::Single(0), 1));
        let private = |one: &Simulation| {
            let changes = &one.changes;
            [
                changes.private_caches,
                changes.private_links,
                changes.private_memory,
                changes.no_coherence,
                changes.free_locks.is_some(),
            ]
        };
        for (back, one) in found[2..].iter().enumerate() {
            assert_eq!(one.role, Role::Variant(0, back));
            let expected: Vec<bool> = (0..5).map(|step| step >= back).collect();
            assert_eq!(private(one).to_vec(), expected);
        }
    }
}
