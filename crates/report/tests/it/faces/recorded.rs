//! Both faces of diagnoses that the analysis has made.

use holdup_criticality::diagnose;
use holdup_model::{Hold, Mode, Nanos, ObjectId, ObjectKind, Process, SiteId, ThreadId, Time, Wait};
use holdup_report::{Look, json, render};
use proptest::prelude::*;

use crate::faces::examples::{self, MS};
use crate::faces::json::schema;

const PLAIN: Look = Look::plain(100);

fn at(milliseconds: u64) -> Time {
    Time::from_nanos(milliseconds * MS)
}

fn wait(thread: ThreadId, object: ObjectId, site: SiteId, begin: u64, end: u64) -> Wait {
    Wait { site: Some(site), ..Wait::granted(thread, object, at(begin), at(end)) }
}

/// Two workers that take turns with one lock and do nothing else, for `rounds` holds of these lengths (ms).
fn turns(holds: &[u64]) -> Process {
    let wall: u64 = holds.iter().sum();
    let mut process = examples::process("./turns", 7, wall, &["turns", "left", "right"]);
    let lock = process.add_object(ObjectKind::Mutex, 0x40);
    process.objects[lock.index()].name = Some("the_lock".to_owned());
    let site = examples::site(&mut process, "take_turns", "turns.c", 30);
    let end = process.add_object(ObjectKind::ThreadEnd, 2);
    process.objects[end.index()].thread = Some(examples::thread(2));
    process.waits.push(wait(examples::thread(0), end, site, 0, wall));
    let mut from = 0;
    for (round, length) in holds.iter().enumerate() {
        let [holder, waiter] = if round % 2 == 0 { [1, 2] } else { [2, 1] };
        let until = from + length;
        process.holds.push(Hold {
            thread: examples::thread(holder),
            begin: Some(at(from)),
            end: at(until),
            object: lock,
            acquired_at: Some(site),
            released_at: Some(site),
            waited_for: true,
            mode: Mode::Exclusive,
        });
        process.waits.push(wait(examples::thread(waiter), lock, site, from, until));
        from = until;
    }
    process
}

#[test]
fn a_lock_that_two_threads_take_in_turns_is_named() {
    let run = examples::run(vec![turns(&[20; 10])]);
    let diagnoses = [diagnose(&run, 0)];
    let shown = render(&run, &diagnoses, PLAIN);
    let first = shown.lines().find(|line| line.starts_with("1 ")).expect("there is a finding");
    assert!(first.starts_with("1 mutex the_lock, held in take_turns (turns.c:30) "), "{shown}");
    let report = json(&run, &diagnoses);
    assert_eq!(report["findings"][0]["kind"], "lock");
    assert_eq!(report["findings"][0]["where"]["line"], 30);
    // One of two workers waits at any time: the lock costs half of the run.
    assert_eq!(report["findings"][0]["cost_ns"], 100 * MS);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reports_of_any_turns_follow_the_schema(holds in prop::collection::vec(1u64..90, 1..20)) {
        let run = examples::run(vec![turns(&holds)]);
        let diagnoses = [diagnose(&run, 0)];
        let report = json(&run, &diagnoses);
        let errors: Vec<String> = jsonschema::draft202012::new(&schema())
            .unwrap()
            .iter_errors(&report)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        prop_assert!(errors.is_empty(), "{:#?}", errors);
        let identity = &report["cost_identity"];
        let parts = identity["parts"].as_array().unwrap().iter().map(|part| part["cost_ns"].as_u64().unwrap());
        let known = identity["useful_ns"].as_u64().unwrap() + identity["unexplained_ns"].as_u64().unwrap();
        prop_assert_eq!(Nanos::new(known + parts.sum::<u64>()), diagnoses[0].wall);
        prop_assert!(render(&run, &diagnoses, PLAIN).lines().count() <= 30);
    }
}
