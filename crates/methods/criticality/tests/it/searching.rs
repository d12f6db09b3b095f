//! Threads of a runtime that search for work while one of them has some.

use holdup_criticality::FindingKind;
use holdup_model::ThreadId;

use crate::waiting::{first, four, ms, of, run_at, stack};

/// A stage of a pipeline that one thread at a time may do, which is another one each time.
#[test]
fn what_one_thread_does_while_the_others_search_for_work_can_be_shared_out() {
    let (mut process, workers) = four();
    let search = stack(&mut process, &["@libtbb.so.12", "start_thread@libc.so.6"]);
    let run = stack(&mut process, &["pack@app", "@libtbb.so.12", "start_thread@libc.so.6"]);
    let all = [ThreadId::new(0), workers[0], workers[1], workers[2]];
    for round in 0..25 {
        for (place, &thread) in all.iter().enumerate() {
            let (begin, end) = (round * 4, round * 4 + 4);
            let until = if place as u64 == round % 4 { end } else { begin + 2 };
            run_at(&mut process, thread, run, begin, until);
            run_at(&mut process, thread, search, until, end);
        }
    }
    let diagnosis = of(process);
    let finding = first(&diagnosis);
    assert_eq!(finding.kind, FindingKind::Spin);
    assert_eq!(
        finding.what,
        "spinning: TBB's search for work, while only one thread at a time is at work, mostly in pack (main.c:33)"
    );
    // Three of four threads for half of 100 ms.
    let gain = finding.gain.as_ref().map(|gain| (gain.low, gain.time, gain.high));
    assert_eq!((finding.cost, gain), (ms(375), Some((ms(0), ms(375), ms(375)))));
    assert!(finding.hint.starts_with("Share out what one thread does alone meanwhile"));
}
