//! Work that is handed on in pieces that are too small.

use holdup_criticality::{Diagnosis, Finding, diagnose};
use holdup_model::{Nanos, ObjectKind, Run, ThreadId};
use holdup_testkit::{Op, Script};

use crate::waiting::{run_at, stack};

const MS: u64 = 1_000_000;

/// Two threads that take pieces from a list which main fills, of which half the time is in `function`, called by `caller`.
fn in_pieces(function: &str, caller: &str, pieces: usize) -> Diagnosis {
    let mut script = Script::new();
    let list = script.object(ObjectKind::Mutex, "list_lock");
    let count = script.object(ObjectKind::Mutex, "count_lock");
    let filled = script.object(ObjectKind::Semaphore, "filled");
    let (take, add) = (script.site("take_piece", 20), script.site("add_up", 30));
    let locked = |lock, site, time| [Op::Lock(lock, site), Op::Work(time), Op::Unlock(lock)];
    let piece = [vec![Op::Take(filled, take)], locked(list, take, MS / 2).into(), vec![Op::Work(MS / 4)]];
    let piece = [piece.concat(), locked(count, add, MS / 4).into()].concat();
    let workers: Vec<ThreadId> = (0..2).map(|_| script.thread("worker", piece.repeat(pieces))).collect();
    let mut main: Vec<Op> = workers.iter().map(|&worker| Op::Start(worker)).collect();
    for _ in 0..2 * pieces {
        main.extend(locked(list, take, MS / 4));
        main.push(Op::Post(filled, take));
    }
    main.extend(workers.iter().map(|&worker| Op::Join(worker, take)));
    script.main_does(&main);
    let mut process = script.play();
    let work = stack(&mut process, &["render@app", "worker@app"]);
    let hands_on =
        stack(&mut process, &[&format!("{function}@libc.so.6"), &format!("{caller}@app"), "worker@app"]);
    let end = process.end.nanos() / MS;
    for &worker in &workers {
        for ms in 0..end {
            run_at(&mut process, worker, if ms % 2 == 0 { work } else { hands_on }, ms, ms + 1);
        }
    }
    diagnose(&Run { processes: vec![process], cores: 2, ..Run::default() }, 0)
}

fn of(diagnosis: &Diagnosis) -> Option<&Finding> {
    diagnosis.findings.iter().find(|finding| finding.what.starts_with("work handed on in small pieces"))
}

#[test]
fn locking_and_waking_for_small_pieces_takes_time() {
    for function in ["pthread_cond_signal", "__GI___lll_lock_wake", "__pthread_mutex_cond_lock"] {
        let diagnosis = in_pieces(function, "hand_over", 40);
        let finding = of(&diagnosis).unwrap_or_else(|| panic!("{function}: {:#?}", diagnosis.findings));
        assert!(finding.what.ends_with("mostly in hand_over (main.c:33)"), "{}", finding.what);
        assert!(finding.evidence[0].starts_with("60 samples, 40 % of the active time,"), "{finding:#?}");
        // Of 40.25 ms on two cores 0.4 and 0.8; waits for locks go with it, and no more is saved than is no work.
        let locks = diagnosis.objects.iter().filter(|cost| cost.object.index() < 2);
        let waited: Nanos = locks.map(|cost| cost.cost).sum();
        let gain = finding.gain.as_ref().expect("it has one");
        assert_eq!((gain.low, gain.time), (Nanos::new(8_050_000), Nanos::new(16_100_000) + waited));
        assert!(waited > Nanos::ZERO && gain.time < gain.high && gain.high < diagnosis.wall, "{gain:?}");
    }
}

#[test]
fn what_one_lock_or_the_work_takes_is_something_else() {
    let is_told = |function, caller, pieces| of(&in_pieces(function, caller, pieces)).is_some();
    assert!(!is_told("pthread_mutex_lock", "take_piece", 40), "that is the list's lock");
    assert!(!is_told("memcpy", "hand_over", 40));
    assert!(!is_told("pthread_cond_signal", "hand_over", 5), "too few samples");
}
