//! Serial phases between barriers.

use holdup_criticality::{Diagnosis, FindingKind, diagnose};
use holdup_model::{Nanos, Run, ThreadId};
use holdup_testkit::{Op, Script};

const MS: u64 = 1_000_000;

fn work(length: u64) -> Op {
    Op::Work(length * MS)
}

fn diagnosis(script: &Script) -> Diagnosis {
    diagnose(&Run { processes: vec![script.play()], cores: 8, ..Run::default() }, 0)
}

#[test]
fn a_serial_phase_between_barriers() {
    let mut script = Script::new();
    let barrier = script.barrier("phase_done", 4);
    let site = script.site("run_phase", 10);
    let workers: Vec<ThreadId> = (0..4)
        .map(|thread| {
            let mut round = vec![work(4), Op::Meet(barrier, site)];
            if thread == 2 {
                round.push(work(6));
            }
            round.push(Op::Meet(barrier, site));
            script.thread("worker", round.repeat(10))
        })
        .collect();
    script.main_runs(&workers);
    let diagnosis = diagnosis(&script);
    assert_eq!(diagnosis.findings.len(), 1, "{:#?}", diagnosis.findings);
    let finding = &diagnosis.findings[0];
    assert_eq!((finding.kind, finding.object), (FindingKind::Serial, Some(barrier)));
    assert_eq!(finding.threads, [workers[2]]);
    assert_eq!(finding.cost, Nanos::new(45 * MS));
}

/// Others are not at work that return from one wait and go into the next, and that they wake up late meanwhile costs nothing.
#[test]
fn a_serial_phase_as_short_as_two_wake_ups() {
    const ROUNDS: u64 = 100;
    let mut script = Script::new();
    script.wake_up_takes(25_000);
    let barrier = script.barrier("phase_done", 4);
    let site = script.site("run_phase", 10);
    let workers: Vec<ThreadId> = (0..4)
        .map(|thread| {
            // It comes last to the first of the two, so that the others are woken when it begins its own.
            let [shared, own] = if thread == 2 { [130_000, 60_000] } else { [80_000, 2_000] };
            let round = [Op::Work(shared), Op::Meet(barrier, site), Op::Work(own), Op::Meet(barrier, site)];
            script.thread("worker", round.repeat(ROUNDS as usize))
        })
        .collect();
    script.main_runs(&workers);
    let diagnosis = diagnosis(&script);
    let cost = |kind| {
        let of_kind = diagnosis.findings.iter().find(|finding| finding.kind == kind);
        of_kind.map(|finding| finding.cost.get() / 10_000)
    };
    let serial = &diagnosis.findings[0];
    assert_eq!((serial.kind, serial.object), (FindingKind::Serial, Some(barrier)));
    assert_eq!(serial.threads, workers[2..3]);
    // Three of four wait for 58 µs a round, whether they are awake by then or not.
    assert_eq!(serial.cost.get() / 1_000, 58 * ROUNDS * 3 / 4);
    // They wait for 25 µs before it, and lose as much by waking up after it. (The first round has no wait before it.)
    assert_eq!((cost(FindingKind::Imbalance), cost(FindingKind::WakeUp)), (Some(189), Some(188)));
}
