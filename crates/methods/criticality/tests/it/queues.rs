//! Stages of pipelines that wait for each other by turns.

use holdup_criticality::{Depth, Diagnosis, FindingKind, diagnose, predict_gains};
use holdup_model::{Nanos, Run, ThreadId};
use holdup_testkit::{Op, Script};

const MS: u64 = 1_000_000;

/// Runs of `length` pieces that take the one stage 2 ms each and the other one 0.2 ms, then as many the other way round; they go on to a third
/// stage, which takes hardly any time for them. There is room for so many pieces between the first two.
fn parse_and_sum(room: usize, length: usize) -> (Run, Diagnosis) {
    let mut script = Script::new();
    let (parsed, notes) = (script.guarded_queue("parsed", room), script.queue("notes", 64));
    let [put, get, note, read] = [("put", 10), ("get", 20), ("put_note", 30), ("get_note", 40)]
        .map(|(name, line)| script.site(name, line));
    let (dear, cheap) = (Op::Work(2 * MS), Op::Work(MS / 5));
    let (mut parse, mut sum, mut report) = (Vec::new(), Vec::new(), Vec::new());
    for run in 0..12 {
        let [first, second] = if run % 2 == 0 { [&dear, &cheap] } else { [&cheap, &dear] };
        for _ in 0..length {
            parse.extend([*first, Op::Put(parsed, put)]);
            sum.extend([Op::Get(parsed, get), *second, Op::Put(notes, note)]);
            report.extend([Op::Get(notes, read), Op::Work(MS / 1000)]);
        }
    }
    let stages = [("parse", parse), ("sum", sum), ("report", report)];
    let stages: Vec<ThreadId> = stages.into_iter().map(|(name, ops)| script.thread(name, ops)).collect();
    let join = script.site("main", 90);
    let mut ops: Vec<Op> = stages.iter().map(|&stage| Op::Start(stage)).collect();
    ops.extend(stages.iter().map(|&stage| Op::Join(stage, join)));
    script.main_does(&ops);
    let run = Run { processes: vec![script.play()], cores: 4, ..Run::default() };
    let mut diagnosis = diagnose(&run, 0);
    predict_gains(&run, &mut diagnosis, Depth::default());
    (run, diagnosis)
}

#[test]
fn a_queue_that_is_too_short_for_uneven_stages() {
    let (_, diagnosis) = parse_and_sum(2, 20);
    let finding = diagnosis.findings.first().expect("something holds it up");
    assert_eq!(finding.kind, FindingKind::Queue, "{:?}", diagnosis.findings);
    assert_eq!(finding.what, "queue too short between parse 1 and sum 2, waited for in put (main.c:10)");
    assert!(finding.evidence[0].contains("for room (full queue), sum 2 "), "{:?}", finding.evidence);
    assert!(finding.hint.starts_with("Make room for more in it, some 64 pieces"), "{}", finding.hint);
    // What the queue gives that is advised is what was predicted.
    let (_, fixed) = parse_and_sum(64, 20);
    assert!(
        fixed.findings.iter().all(|finding| !finding.what.starts_with("queue too short")),
        "{:?}",
        fixed.findings
    );
    let (gain, real) = (finding.gain.as_ref().expect("a gain"), diagnosis.wall.saturating_sub(fixed.wall));
    assert!(gain.low <= real && real <= gain.high, "{gain:?} {real:?}");
    assert!(gain.time.get().abs_diff(real.get()) <= real.get() / 10, "{gain:?} {real:?}");
    assert!(real > Nanos::new(diagnosis.wall.get() / 3), "{real:?}");
}

#[test]
fn stages_that_wait_in_each_piece_have_no_queue_that_is_too_short() {
    // Each is dear for the one and cheap for the other: there is room for two, and no need for more.
    let (_, diagnosis) = parse_and_sum(2, 1);
    assert!(
        diagnosis.findings.iter().all(|finding| !finding.what.starts_with("queue too short")),
        "{:?}",
        diagnosis.findings
    );
}
