//! Ranks that are played, whose efficiencies are known.

use holdup_criticality::{Rank, Ranks, diagnose};
use holdup_model::{Efficiency, Run};
use holdup_testkit::{Op, Script};

const MS: u64 = 1_000_000;

/// A rank of which each worker works so many ms, and main then waits for so many for another rank.
fn rank(name: &str, work: &[u64], wait: u64) -> Rank {
    let mut script = Script::new();
    let recv = script.site("recv", 5);
    let workers: Vec<_> = work.iter().map(|ms| script.thread("worker", vec![Op::Work(ms * MS)])).collect();
    script.main_runs(&workers);
    script.main_does(&[Op::Read(wait * MS, recv)]);
    let run = Run { processes: vec![script.play()], cores: 8, ..Run::default() };
    Rank::of(name, &diagnose(&run, 0))
}

fn values(node: &Efficiency) -> Vec<(String, f64)> {
    let own = std::iter::once((node.name.clone(), node.value));
    own.chain(node.factors.iter().flat_map(values)).collect()
}

fn assert_values(ranks: &Ranks, wanted: &[(&str, f64)]) {
    let found = values(&ranks.efficiency);
    assert_eq!(found.len(), wanted.len(), "{found:?}");
    for ((name, value), (wanted_name, wanted)) in found.iter().zip(wanted) {
        assert_eq!(name, wanted_name);
        assert!((value - wanted).abs() < 1e-6, "{name}: {value} is not {wanted}");
    }
}

#[test]
fn uneven_ranks_with_uneven_threads() {
    // Busy 100 of 100 ms with 2 × 100 ms of work, and 50 of 100 ms with 50 + 25 ms.
    let ranks = Ranks::of(vec![rank("0", &[100, 100], 0), rank("1", &[50, 25], 50)]);
    assert_eq!(ranks.wall.get(), 100 * MS);
    assert_values(
        &ranks,
        &[
            ("parallel efficiency", 275.0 / 400.0),
            ("efficiency of ranks", 0.75),
            ("load balance of ranks", 0.75),
            ("ranks do not wait all at once", 1.0),
            ("efficiency of threads", 275.0 / 300.0),
            ("load balance of threads", 275.0 / 300.0),
            ("serial and synchronization efficiency", 1.0),
            ("availability of cores", 1.0),
        ],
    );
    assert!((ranks.ranks[1].thread_efficiency() - 0.75).abs() < 1e-6);
}

#[test]
fn even_ranks_that_wait_together_lose_nothing_to_balance() {
    let ranks = Ranks::of((0..3).map(|at| rank(&at.to_string(), &[60, 60, 60, 60], 20)).collect());
    assert_values(
        &ranks,
        &[
            ("parallel efficiency", 0.75),
            ("efficiency of ranks", 0.75),
            ("load balance of ranks", 1.0),
            ("ranks do not wait all at once", 0.75),
            ("efficiency of threads", 1.0),
            ("load balance of threads", 1.0),
            ("serial and synchronization efficiency", 1.0),
            ("availability of cores", 1.0),
        ],
    );
}

#[test]
fn threads_that_work_one_after_another_are_not_uneven() {
    let mut script = Script::new();
    let lock = script.object(holdup_model::ObjectKind::Mutex, "all");
    let site = script.site("update", 5);
    let ops = vec![Op::Lock(lock, site), Op::Work(40 * MS), Op::Unlock(lock)];
    let workers: Vec<_> = (0..2).map(|_| script.thread("worker", ops.clone())).collect();
    script.main_runs(&workers);
    let run = Run { processes: vec![script.play()], cores: 8, ..Run::default() };
    let ranks = Ranks::of(vec![Rank::of("0", &diagnose(&run, 0))]);
    let found = values(&ranks.efficiency);
    let of = |name: &str| found.iter().find(|(known, _)| known == name).map(|(_, value)| *value).unwrap();
    assert!((of("parallel efficiency") - 0.5).abs() < 1e-6);
    assert!((of("load balance of threads") - 1.0).abs() < 1e-6);
    assert!((of("serial and synchronization efficiency") - 0.5).abs() < 1e-6);
}

#[test]
fn nothing_is_no_error() {
    assert!((Ranks::of(Vec::new()).efficiency.value - 1.0).abs() < 1e-12);
}
