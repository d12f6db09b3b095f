//! Forked processes that are reported as one.

use holdup_criticality::{FindingKind, diagnose};
use holdup_model::{ObjectKind, Run};
use holdup_testkit::{Op, Script};

fn work(ms: u64) -> Op {
    Op::Work(ms * 1_000_000)
}

/// A forked process that waits for what another one sends, both of one program: that one is the slow stage.
#[test]
fn a_forked_process_that_waits_for_another_one_does_something_else() {
    let mut script = Script::new();
    let (put, get) = (script.site("send", 50), script.site("receive", 60));
    let pieces = script.queue("pieces", 100);
    let sender = script.thread("sender", [work(10), Op::Put(pieces, put)].repeat(10));
    let taker = script.thread("taker", [Op::Get(pieces, get), work(1)].repeat(10));
    script.main_does(&[Op::Start(sender), Op::Start(taker)]);
    let join = script.site("main", 80);
    script.main_does(&[Op::Join(sender, join), Op::Join(taker, join)]);
    let mut process = script.play();
    for thread in [sender, taker] {
        let facts = &mut process.threads[thread.index()];
        (facts.name, facts.entry, facts.tid) = (None, None, 70 + thread.index() as u32);
        process.joined.push(facts.tid);
    }
    let queues: Vec<_> =
        process.waits.iter().filter(|wait| wait.thread == taker).map(|wait| wait.object).collect();
    for object in queues {
        process.objects[object.index()].kind = ObjectKind::Messages;
    }
    let [one, other] = [sender, taker].map(|thread| holdup_model::sort_of_thread(&process, thread));
    assert_eq!(one, other);
    let diagnosis = diagnose(&Run { processes: vec![process], cores: 8, ..Run::default() }, 0);
    let first = &diagnosis.findings[0];
    assert_eq!((first.kind, first.threads.as_slice()), (FindingKind::Pipeline, &[sender][..]), "{first:#?}");
    assert!(first.hint.starts_with("Let more threads produce work"), "{}", first.hint);
}
