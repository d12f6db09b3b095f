//! Tables to tell of.

use holdup_model::RunEnergy;
use holdup_policies::{Policies, PolicyRun, PolicyThread, ProgramPolicies, Sweep, SweepPoint, Validation};

/// A machine and nothing else.
pub(crate) fn told() -> Policies {
    Policies {
        machine: "criticality".to_owned(),
        frequency: 2.0,
        fast: 2.5,
        alpha: 1.2,
        beta: 0.8,
        fast_threads: 1,
        has_energy: true,
        ..Policies::default()
    }
}

fn run(policy: &str, faster: f64, energy: f64, chosen: &[u32]) -> PolicyRun {
    let joules = 0.3 * energy;
    PolicyRun {
        policy: policy.to_owned(),
        chosen: chosen.to_vec(),
        seconds: 0.005 / faster,
        fast_share: 0.5,
        transitions: 10,
        slices: 100,
        updates: (12_000, 30_000.0),
        energy: Some(RunEnergy {
            dynamic: joules * 0.5,
            leaked: joules * 0.25,
            uncore: joules * 0.2,
            memory: joules * 0.05,
        }),
    }
}

fn runs(single: (f64, u32), offline: u32) -> Vec<PolicyRun> {
    vec![
        run("none", 1.0, 1.0, &[]),
        run("all", 1.2, 1.04, &[]),
        run("offline", 1.001, 1.01, &[offline]),
        run("single", single.0, 0.99, &[single.1]),
        run("tcp", 1.0, 1.01, &[]),
        run("bis", 1.01, 1.0, &[]),
        run("dynamic", 1.025, 0.98, &[]),
    ]
}

fn thread(number: u32, numbers: [f64; 4], simulated: Option<f64>) -> PolicyThread {
    let [criticality, scaling, alone, predicted] = numbers;
    PolicyThread { number, name: None, criticality, scaling, alone, predicted, simulated }
}

fn program(name: &str, runs: Vec<PolicyRun>, threads: Vec<PolicyThread>) -> ProgramPolicies {
    ProgramPolicies {
        name: name.to_owned(),
        command: vec!["./app".to_owned(), "8".to_owned()],
        working: 8,
        cores: 8,
        slice_ns: 50_000.0,
        runs,
        threads,
        warnings: vec!["Something is to be known.".to_owned()],
        ..ProgramPolicies::default()
    }
}

/// Two threads hide each other, and a third one is the better one.
pub(crate) fn hidden() -> ProgramPolicies {
    let threads = vec![
        thread(2, [0.35, 0.34, 0.0, 1.0], Some(1.001)),
        thread(4, [0.30, 0.29, 0.2, 1.05], Some(1.04)),
        thread(7, [0.35, 0.34, 0.0, 1.0], Some(1.0)),
        thread(8, [0.0, 0.0, 0.0, 1.0], None),
    ];
    program("fmm-8", runs((1.04, 4), 2), threads)
}

/// The most critical thread waits for memory; it was validated and swept.
pub(crate) fn waits_for_memory() -> ProgramPolicies {
    let threads =
        vec![thread(0, [0.6, 0.06, 0.55, 1.01], Some(1.001)), thread(2, [0.4, 0.39, 0.3, 1.07], Some(1.07))];
    let point = |step: u32| {
        let frequency = 2.0 + 0.25 * f64::from(step);
        SweepPoint { frequency, speedup: 1.0 / (0.7 + 0.6 / frequency), criticality: vec![0.6, 0.4] }
    };
    let validation = |thread, speedup| Validation { thread, frequency: 4.0, speedup };
    ProgramPolicies {
        validation: vec![validation(2, 1.3), validation(0, 1.0)],
        sweep: Some(Sweep { thread: 2, points: (0..9).map(point).collect() }),
        ..program("lu-8", runs((1.07, 2), 0), threads)
    }
}
