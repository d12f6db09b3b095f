//! Threads that spin for each other on fewer cores.

use holdup_criticality::{Depth, Diagnosis, FindingKind, diagnose, predict_gains};
use holdup_model::{Block, Call, Left, OnCore, Process, Run};

use crate::waiting::{at, first, four, ms, run_at, stack};

/// Three of four threads are on two cores in turn, for 4 ms each, of which `work` ms are work: the others stand in loops.
fn in_turn(work: u64) -> Process {
    let (mut process, workers) = four();
    let loops = ["put@app", "move@app", "take@app"].map(|loops| {
        let spin = stack(&mut process, &[loops, "stage@app"]);
        process.sites[spin.index()].in_waiting_loop = true;
        spin
    });
    let encode = stack(&mut process, &["encode@app"]);
    process.covered = vec![(at(0), at(100))];
    for slice in 0..25 {
        let begin = slice * 4;
        for of_two in 0..2 {
            let which = ((slice + u64::from(of_two)) % 3) as usize;
            let (thread, spin) = (workers[which], loops[which]);
            run_at(&mut process, thread, encode, begin, begin + work);
            run_at(&mut process, thread, spin, begin + work, begin + 4);
            let on =
                OnCore { thread, begin: at(begin), end: at(begin + 4), core: of_two, left: Left::Preempted };
            process.on_core.push(on);
        }
    }
    process.on_core.sort_by_key(|on| (on.thread, on.begin));
    for thread in 0..process.threads.len() {
        let spans = process.on_core.iter().filter(|on| on.thread.index() == thread);
        process.threads[thread].cpu = Some(spans.map(|on| on.end.since(on.begin)).sum());
    }
    process
}

fn on(cores: u32, work: u64) -> Diagnosis {
    let run = Run { processes: vec![in_turn(work)], cores, ..Run::default() };
    let mut diagnosis = diagnose(&run, 0);
    predict_gains(&run, &mut diagnosis, Depth::default());
    diagnosis
}

#[test]
fn loops_in_which_nobody_gets_on_for_want_of_a_core_are_one() {
    let diagnosis = on(2, 0);
    let finding = first(&diagnosis);
    assert_eq!(finding.kind, FindingKind::Spin);
    assert_eq!(finding.what, "3 threads that spin for each other on 2 cores, mostly in put (main.c:33)");
    assert_eq!(finding.threads.len(), 3);
    let [_, nobody, also] = &finding.evidence[..] else { panic!("{:?}", finding.evidence) };
    assert!(nobody.ends_with(" of that, no thread is at work: whoever could go on has no core."), "{nobody}");
    assert_eq!(also, "They also spin in move (main.c:33) and take (main.c:33).");
    // No sample is of work: one is reckoned with.
    let gain = finding.gain.as_ref().expect("cores are busy all the time");
    assert_eq!((gain.time, gain.high), (ms(990), ms(1000)));
    assert!(gain.low >= ms(960), "{gain:?}");
    assert!(finding.hint.contains("sched_yield"));
}

/// What they wait for is outside of the program, as long as one waits for that.
#[test]
fn who_spins_while_another_reads_a_file_lacks_no_core() {
    let mut process = in_turn(0);
    let reader = process.add_thread("reader", at(0), None);
    let place = stack(&mut process, &["read_all@app"]);
    process.blocks.push(Block {
        thread: reader,
        begin: at(0),
        end: at(100),
        call: Call::Read,
        timed_out: false,
        site: Some(place),
        cpu_begin: None,
        cpu_end: None,
    });
    let run = Run { processes: vec![process], cores: 2, ..Run::default() };
    let findings = diagnose(&run, 0).findings;
    assert!(findings.iter().any(|finding| finding.kind == FindingKind::Spin));
    assert!(findings.iter().all(|finding| !finding.what.contains("spin for each other")), "{findings:#?}");
}

#[test]
fn loops_are_one_each_where_there_are_cores_enough_or_somebody_gets_on() {
    for (cores, work) in [(8, 0), (2, 2)] {
        let whats: Vec<String> = on(cores, work).findings.into_iter().map(|finding| finding.what).collect();
        for name in ["put", "move", "take"] {
            assert!(whats.contains(&format!("spinning in {name} (main.c:33)")), "{whats:?}");
        }
    }
}
