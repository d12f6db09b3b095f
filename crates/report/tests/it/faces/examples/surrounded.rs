//! Runs with what was known of the machine around them.

use holdup_criticality::{Diagnosis, EnvironmentNote, Finding, FindingKind, NoteKind};
use holdup_model::{
    CoreKind, CpuSet, Environment, FrequencyRange, Load, MemoryNode, Pin, Placement, Quota, Run, Swapped,
    Throttling,
};

use super::{finding, ms, nothing_found, planted_lock};

fn cpus(list: &str) -> CpuSet {
    CpuSet::parse(list).unwrap()
}

/// A machine with nothing in the way.
pub(crate) fn clean_machine() -> (Run, Vec<Diagnosis>) {
    let (mut run, diagnoses) = nothing_found();
    run.environment = Environment {
        online: cpus("0-3"),
        placements: vec![Placement {
            pid: 100,
            given: cpus("0-3"),
            allowed: cpus("0-3"),
            ..Placement::default()
        }],
        ..Environment::default()
    };
    (run, diagnoses)
}

/// A machine with all facts there are: each member of the JSON is something other than null.
pub(crate) fn surrounded() -> (Run, Vec<Diagnosis>) {
    let (mut run, mut diagnoses) = planted_lock();
    (diagnoses[0].cores, diagnoses[0].effective_cores) = (6, 3);
    diagnoses[0].findings.insert(
        0,
        Finding {
            evidence: vec!["The group was throttled in 41 of 60 periods of 100 ms.".to_owned()],
            hint: "Raise the CPU limit of that group.".to_owned(),
            ..finding(
                FindingKind::Quota,
                "CPU quota: the control group gives 2.5 CPUs; 8 threads share them",
                ms(1_300),
            )
        },
    );
    let note = |kind, what: &str| EnvironmentNote {
        kind,
        what: what.to_owned(),
        hint: "See to it.".to_owned(),
        cost: None,
    };
    diagnoses[0].environment = vec![
        note(NoteKind::Smt, "6 threads on 4 physical cores, two or more to a core"),
        note(NoteKind::Frequency, "CPUs 0-7 may run at 1.2 of 3.6 GHz (governor \x1b[1mpowersave)"),
        note(NoteKind::Memory, "a memory limit of its control group was reached 3 times"),
        EnvironmentNote {
            cost: Some(ms(1_100)),
            ..note(NoteKind::Load, "others used 22 % of the CPUs' time, which cost 1.1 s")
        },
    ];
    run.environment = Environment {
        is_estimated: false,
        online: cpus("0-7,16"),
        placements: vec![Placement {
            pid: 100,
            given: cpus("0-7"),
            allowed: cpus("0-5"),
            cpuset: cpus("0-7"),
            pins: vec![Pin { cpus: cpus("2"), threads: vec![103, 104] }],
            quotas: vec![Quota {
                time: ms(250),
                period: ms(100),
                group: "/sys/fs/cgroup/a\x1b[2Jb".to_owned(),
                throttling: Some(Throttling { periods: 60, throttled: 41, time: ms(1_300) }),
            }],
            memory_limit_hits: Some(3),
            memory: vec![(0, 900), (1, 100)],
            in_swap: Some(4_096),
            usage: None,
        }],
        kinds: vec![
            CoreKind { name: "performance".to_owned(), cpus: cpus("0-3") },
            CoreKind { name: "efficiency".to_owned(), cpus: cpus("4-7") },
        ],
        shared_cores: vec![cpus("0-1"), cpus("2-3")],
        frequencies: vec![FrequencyRange {
            cpus: cpus("0-7"),
            governor: "powersave".to_owned(),
            driver: String::new(),
            limit_khz: 1_200_000,
            highest_khz: 3_600_000,
        }],
        turbo_off: Some(true),
        thermal_throttles: Some(2),
        nodes: vec![MemoryNode { node: 0, cpus: cpus("0-3") }, MemoryNode { node: 1, cpus: cpus("4-7") }],
        load: Some(Load {
            span: ms(12_400),
            busy: ms(60_000),
            idle: ms(39_200),
            stolen: ms(310),
            program: ms(38_000),
            recorder: ms(120),
        }),
        swapped: Some(Swapped { read: 8_192, written: 0 }),
        pressure: Some(ms(7_700)),
        page_fault: None,
    };
    (run, diagnoses)
}
