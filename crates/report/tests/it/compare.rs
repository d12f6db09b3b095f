//! The faces of comparisons, of budgets, and of several recordings.

use holdup_compare::{Against, Comparison, Ledger, Missing, Verdict, combine, compare, judge, parse_budget};
use holdup_criticality::{Diagnosis, diagnose};
use holdup_model::{ObjectKind, Process, Run, ThreadId};
use holdup_report::{
    Look, check_github, check_json, check_json_text, check_junit, check_sarif, diff_json, diff_json_text,
    json, render, render_answer, render_check,
};
use holdup_testkit::{Op, Script, any_process};
use proptest::prelude::*;
use serde_json::Value;

const MS: u64 = 1_000_000;

const WIDE: Look = Look::plain(100);

fn schema(name: &str) -> Value {
    let path = format!("{}/../../docs/json-schema/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).expect("a schema")).expect("JSON")
}

fn assert_follows(name: &str, value: &Value) {
    let validator = jsonschema::draft202012::new(&schema(name)).expect("a schema");
    let errors: Vec<String> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

/// `threads` workers that hold `lock` for `held` tenths of a millisecond ten times, at this line of `update`.
fn process(threads: usize, held: u64, lock: &str, line: u32) -> Process {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, lock);
    let site = script.site("update", line);
    let ops = [Op::Lock(lock, site), Op::Work(held * MS / 10), Op::Unlock(lock), Op::Work(4 * MS)].repeat(10);
    let workers: Vec<ThreadId> = (0..threads).map(|_| script.thread("worker", ops.clone())).collect();
    script.main_runs(&workers);
    let mut process = script.play();
    process.seen_by.preload = true;
    process.command = vec!["/opt/app".to_owned(), "4".to_owned()];
    process
}

fn told(process: Process) -> (Run, Diagnosis) {
    let run = Run { processes: vec![process], cores: 8, ..Run::default() };
    let diagnosis = diagnose(&run, 0);
    (run, diagnosis)
}

fn ledger(process: Process) -> Ledger {
    let (run, diagnosis) = told(process);
    Ledger::of(&run, &diagnosis)
}

fn compared(before: &[u64], after: &[u64], lock: &str) -> Comparison {
    let side = |held: &[u64], line| {
        held.iter().map(|&held| ledger(process(4, held, lock, line))).collect::<Vec<_>>()
    };
    compare(&side(before, 12), &side(after, 15), Against::Change).expect("runs")
}

fn judged(budgets: &[&str], held: &[u64], lock: &str, baseline: &[u64]) -> Vec<Verdict> {
    let budgets: Vec<_> = budgets.iter().map(|text| parse_budget(text).expect("a budget")).collect();
    let runs = |held: &[u64]| held.iter().map(|&held| ledger(process(4, held, lock, 12))).collect::<Vec<_>>();
    judge(&budgets, &runs(held), &runs(baseline), Missing::Refused).expect("names that occur")
}

#[test]
fn a_comparison_is_told() {
    let text = render_answer(&compared(&[90], &[10], "table_lock").answer(), WIDE);
    assert!(
        text.starts_with("app ran 364 ms before and 53.0 ms after: 311 ms less, 6.87 times as fast.\n"),
        "{text}"
    );
    for line in [
        "What the difference consists of",
        "mutex table_lock, held in update (main.c:15)",
        "together: the wall time",
        "update (main.c:15), before in update (main.c:12)",
        "One run on each side cannot tell a difference from noise",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn noise_is_said_to_be_noise() {
    let text = render_answer(&compared(&[90, 95, 100], &[99, 91, 96], "table_lock").answer(), WIDE);
    assert!(text.contains("no difference beyond noise"), "{text}");
    let text = render_answer(&compared(&[90, 95, 100], &[10, 12, 14], "table_lock").answer(), WIDE);
    assert!(text.contains("intervals are of 95 %") && text.contains("less (−"), "{text}");
}

#[test]
fn scaling_is_told() {
    let sides = [ledger(process(1, 60, "table_lock", 12)), ledger(process(4, 60, "table_lock", 12))];
    let comparison = compare(&sides[..1], &sides[1..], Against::Threads).expect("runs");
    let text = render_answer(&comparison.answer(), WIDE);
    // One worker: ten times 10 ms. Four: 40 holds of 6 ms, and 4 ms.
    assert!(
        text.starts_with(
            "app ran 100 ms with 1 thread at work and 244 ms with 4 threads: 0.41 times as fast"
        ),
        "{text}"
    );
    assert!(text.contains("Shared without loss it would have run 25.0 ms"), "{text}");
    assert_follows("diff", &diff_json(&comparison));
}

#[test]
fn comparisons_follow_their_schema() {
    for comparison in [
        compared(&[90], &[10], "table_lock"),
        compared(&[90, 80], &[10], "table_lock"),
        compared(&[90, 80, 85], &[90, 80, 85], "table_lock"),
    ] {
        let value = diff_json(&comparison);
        assert_follows("diff", &value);
        let sum: i64 = value["contributions"]
            .as_array()
            .expect("contributions")
            .iter()
            .map(|part| part["cost"]["difference_ns"].as_i64().expect("a number"))
            .sum();
        assert_eq!(Some(sum), value["wall"]["difference_ns"].as_i64());
        let back: Value = serde_json::from_str(&diff_json_text(&comparison)).expect("JSON");
        assert_eq!(back, value);
    }
}

#[test]
fn schemas_refuse_what_is_wrong() {
    let good = diff_json(&compared(&[90], &[10], "table_lock"));
    let validator = jsonschema::draft202012::new(&schema("diff")).expect("a schema");
    for (pointer, wrong) in [
        ("/schema", Value::from(2)),
        ("/against", Value::from("others")),
        ("/wall/difference_ns", Value::from(0.5)),
        ("/objects/0/cost/low_ns", Value::from("none")),
        ("/objects/0/presence", Value::from("moved")),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).expect(pointer) = wrong;
        assert!(!validator.is_valid(&bad), "{pointer} was accepted");
    }
}

#[test]
fn budgets_are_told() {
    let verdicts =
        judged(&["lock:table_lock<=5%", "wall<=1s", "finding:deadlock<=0%"], &[90], "table_lock", &[]);
    let text = render_check(&verdicts, WIDE);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "FAIL  lock:table_lock<=5%");
    assert!(lines[1].starts_with("      mutex table_lock, update (main.c:12), costs "), "{text}");
    assert!(lines[1].ends_with("; allowed is at most 5.0 %"), "{text}");
    assert_eq!(
        lines[2..],
        [
            "ok    wall<=1s",
            "      wall is 364 ms",
            "ok    finding:deadlock<=0%",
            "      No finding of this kind.",
            "1 of 3 budgets is not held."
        ]
        .map(|line| line.replace("is not held", "are not held"))
    );
}

#[test]
fn verdicts_follow_their_schema() {
    let budgets =
        ["lock:*<=5%", "wall<=1s", "efficiency>=0.9", "regression<=5%", "parallelism>1", "site:log<=1%"];
    for (held, baseline) in [(&[90][..], &[80][..]), (&[90, 95], &[60, 65])] {
        let verdicts = judged(&budgets, held, "table_lock", baseline);
        let value = check_json(&verdicts);
        assert_follows("check", &value);
        let back: Value = serde_json::from_str(&check_json_text(&verdicts)).expect("JSON");
        assert_eq!(back, value);
    }
}

#[test]
fn junit_is_read_by_another_library() {
    let hostile = "lock <&\"']]>\x1b[2J\u{0}\n%";
    let verdicts = judged(&["lock:*<=5%", "wall<=1s", "site:log<=1%"], &[90], hostile, &[]);
    let text = check_junit("app <x>", &verdicts);
    let report = junit_parser::from_reader(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!((report.tests, report.failures, report.errors), (3, 1, 0));
    let suite = &report.suites[0];
    assert_eq!((suite.name.as_str(), suite.tests, suite.failures), ("app <x>", 3, 1));
    let cases: Vec<(&str, bool)> =
        suite.cases.iter().map(|case| (case.original_name.as_str(), case.status.is_failure())).collect();
    assert_eq!(cases, [("lock:*<=5%", true), ("wall<=1s", false), ("site:log<=1%", false)]);
    let failure = suite.cases[0].status.failure_as_ref();
    assert_eq!(failure.failure_type, "budget");
    assert!(failure.message.contains("lock <&\"']]>\\u{1b}[2J\\u{0}\\n%"), "{}", failure.message);
    assert!(failure.text.contains("allowed is at most 5.0 %"), "{}", failure.text);
}

#[test]
fn annotations_are_commands_of_one_line() {
    let hostile = "a%0A\n::warning::b\r\x1b[2J";
    let text = check_github(&judged(&["lock:*<=5%", "site:log<=1%"], &[90], hostile, &[]), Some("/src"));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(
        lines[0].starts_with(
            "::error file=main.c,line=12,title=holdup%3A lock%3A*<=5%25::mutex a%250A\\n::warning::b"
        ),
        "{text}"
    );
    assert!(lines[1].starts_with("::notice title=holdup%3A site%3Alog<=1%25::"), "{text}");
    // Elsewhere, and in a folder that only begins alike, the file is named as it was recorded.
    for root in [None, Some("/sr"), Some("/other")] {
        let text = check_github(&judged(&["lock:*<=5%"], &[90], "l", &[]), root);
        assert!(text.starts_with("::error file=/src/main.c,line=12,"), "{text}");
    }
}

#[test]
fn results_stand_at_their_lines_in_a_review() {
    let verdicts = judged(&["lock:*<=5%", "wall<=100s", "wall<=1ms"], &[90], "a\x1b[2J", &[]);
    let value: serde_json::Value = serde_json::from_str(&check_sarif(&verdicts, Some("/src"))).expect("JSON");
    assert_eq!(value["version"], "2.1.0");
    let run = &value["runs"][0];
    let ids = |list: &serde_json::Value, key: &str| -> Vec<String> {
        let list = list.as_array().expect("a list");
        list.iter().map(|one| one[key].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(ids(&run["tool"]["driver"]["rules"], "id"), ["lock:*<=5%", "wall<=1ms"]);
    assert_eq!(ids(&run["results"], "ruleId"), ["lock:*<=5%", "wall<=1ms"]);
    let place = &run["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(
        (&place["artifactLocation"]["uri"], &place["region"]["startLine"]),
        (&"main.c".into(), &12.into())
    );
    assert_eq!(run["results"][1]["locations"], serde_json::Value::Null, "the whole run is at no line");
    let message = run["results"][0]["message"]["text"].as_str().expect("text");
    assert!(message.contains("allowed is at most 5.0 %") && !message.contains('\x1b'), "{message}");
}

#[test]
fn several_recordings_are_told() {
    let (run, mut diagnosis) = told(process(4, 90, "table_lock", 12));
    let others = [ledger(process(4, 95, "table_lock", 12)), ledger(process(4, 80, "table_lock", 12))];
    combine(&run, &mut diagnosis, &others);
    let diagnoses = [diagnosis];
    let text = render(&run, &diagnoses, WIDE);
    assert!(text.contains("the one in the middle of 3 runs, which took 324 ms to 384 ms"), "{text}");
    assert!(text.contains("In 3 runs it cost"), "{text}");
    let value = json(&run, &diagnoses);
    assert_follows("report", &value);
    assert_eq!(value["repeats"]["walls_ns"].as_array().map(Vec::len), Some(3));
    assert_eq!(value["findings"][0]["repeats"]["found"], 3);
}

fn is_safe(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() && c != '\n')
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_comparison_can_be_shown(
        before in any_process(), after in any_process(), by_threads: bool, width in 20..140usize, unicode: bool,
    ) {
        let sides = [ledger(before), ledger(after)];
        let against = if by_threads { Against::Threads } else { Against::Change };
        for (one, other) in [(&sides[..1], &sides[1..]), (&sides[..], &sides[..1])] {
            let comparison = compare(one, other, against).expect("runs");
            let text = render_answer(&comparison.answer(), Look { unicode, ..Look::plain(width) });
            prop_assert!(is_safe(&text) && (unicode || text.is_ascii()), "{text}");
            prop_assert!(text.lines().all(|line| line.chars().count() <= width.max(Look::NARROWEST)), "{text}");
            assert_follows("diff", &diff_json(&comparison));
        }
    }

    #[test]
    fn hostile_names_do_nothing(name in any::<String>()) {
        let comparison = compared(&[90], &[10, 20], &name);
        prop_assert!(is_safe(&render_answer(&comparison.answer(), WIDE)));
        prop_assert!(is_safe(&diff_json_text(&comparison)));
        let verdicts = judged(&["lock:*<=5%", "cost:*<=1%", "regression<=1%"], &[90, 95], &name, &[80]);
        for text in [
            render_check(&verdicts, WIDE),
            check_json_text(&verdicts),
            check_junit(&name, &verdicts),
            check_github(&verdicts, None),
            check_sarif(&verdicts, None),
        ] {
            prop_assert!(is_safe(&text), "{text:?}");
        }
        prop_assert!(check_github(&verdicts, None).lines().all(|line| line.starts_with("::error ") || line.starts_with("::notice ")));
        prop_assert!(junit_parser::from_reader(check_junit(&name, &verdicts).as_bytes()).is_ok());
    }
}
