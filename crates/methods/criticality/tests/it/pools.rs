//! Pools of threads that have nothing to do.

use holdup_criticality::FindingKind;
use holdup_model::{ObjectKind, ThreadId};

use crate::waiting::{at, first, four, ms, of, run_at, stack, wait};

/// A pool of which only one thread ever has work: those that search all the time are part of it.
#[test]
fn threads_that_never_found_work_count() {
    let (mut process, workers) = four();
    let search = stack(&mut process, &["rayon_core::registry::WorkerThread::wait_until_cold@app"]);
    for &worker in &workers {
        run_at(&mut process, worker, search, 0, 100);
    }
    let diagnosis = of(process);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.cost), (FindingKind::Serial, ms(750)));
    assert_eq!(finding.threads, [ThreadId::new(0)]);
}

/// A library's pool that nobody calls: its threads search for a while and then sleep to the end, and main and a worker are all that work.
#[test]
fn threads_that_sleep_since_they_were_never_given_work_do_not_count() {
    let (mut process, workers) = four();
    let server = ["blas_thread_server@libopenblas.so.0", "start_thread@libc.so.6"];
    let search = stack(&mut process, &server);
    let called = process.add_object(ObjectKind::Condition, 0x90);
    for &idle in &workers[..2] {
        run_at(&mut process, idle, search, 0, 20);
        process.waits.push(wait(idle, called, search, at(20), at(100)));
    }
    process.threads[workers[2].index()].start = at(60);
    let diagnosis = of(process);
    assert_eq!(diagnosis.workers, 2);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.threads.as_slice()), (FindingKind::Serial, &[ThreadId::new(0)][..]));
    assert!(ms(250) < finding.cost && finding.cost < ms(350), "half of 60 ms, about: {finding:?}");
}
