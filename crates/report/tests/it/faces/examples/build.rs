//! A build: `make` with jobs, of which no one says what holds it up.

use holdup_criticality::{Diagnosis, ProcessTree, diagnose};
use holdup_model::{Block, Call, Nanos, Process, Run, ThreadId, Time};

use super::{MS, finding, ms, process, run};

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * MS)
}

/// A process of one thread that lives for a while (ms).
fn lived(command: &str, pid: u32, (start, end): (u64, u64), waits: &[(u64, u64)]) -> Process {
    let mut one = process(command, pid, end, &[""]);
    (one.start, one.threads[0].start) = (at(start), at(start));
    one.seen_by.preload = true;
    let cpu: u64 = end - start - waits.iter().map(|(begin, end)| end - begin).sum::<u64>();
    one.threads[0].cpu = Some(Nanos::new(cpu * MS));
    for &(begin, end) in waits {
        one.blocks.push(Block {
            thread: ThreadId::new(0),
            begin: at(begin),
            end: at(end),
            call: Call::WaitChild,
            timed_out: false,
            site: None,
            cpu_begin: None,
            cpu_end: None,
        });
    }
    one
}

/// Jobs one after the other, which could run at once.
pub(crate) fn a_build() -> (Run, Vec<Diagnosis>) {
    let times = [(100, 900), (1_000, 2_500), (2_600, 3_000), (3_100, 4_900)];
    let mut processes = vec![lived("/usr/bin/make", 300, (0, 5_000), &times)];
    for (pid, (start, end)) in (301..).zip(times) {
        let mut job = lived("/usr/lib/gcc/cc1", pid, (start, end), &[]);
        job.parent_pid = 300;
        job.command =
            ["/usr/lib/gcc/cc1", "-quiet", "-dumpbase", &format!("part{pid}.c")].map(str::to_owned).to_vec();
        processes.push(job);
    }
    let run = run(processes);
    let mut diagnoses: Vec<Diagnosis> =
        run.busiest_first().into_iter().map(|index| diagnose(&run, index)).collect();
    diagnoses[0].tree = ProcessTree::of(&run);
    (run, diagnoses)
}

/// The same where one of the jobs has threads that wait for a lock.
pub(crate) fn a_build_with_a_lock() -> (Run, Vec<Diagnosis>) {
    let (mut run, mut diagnoses) = a_build();
    let told = &mut diagnoses[0];
    let job = &mut run.processes[told.process];
    job.add_thread("lto", job.start, Some(job.end));
    for _ in 0..4 {
        told.findings.push(finding(holdup_criticality::FindingKind::Lock, "lock of all", ms(700)));
    }
    let object = job.add_object(holdup_model::ObjectKind::Mutex, 0x1000);
    told.findings[0].object = Some(object);
    let facts = told.threads[0];
    told.threads.push(facts);
    told.criticality.threads.push(0.0);
    told.runnable.threads.push(0.0);
    (run, diagnoses)
}
