//! What became of budgets as JUnit's XML, which most CI systems read: a test case for each budget.

use holdup_compare::Verdict;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::{PLAIN, is, sentence, shown_with_interval, told};
use crate::escape;

/// The budgets as a test suite named after the program, with a line break at its end.
pub fn check_junit(program: &str, verdicts: &[Verdict]) -> String {
    let safe = |text: &str| escape::escaped(text);
    let mut suite = TestSuite::new(safe(if program.is_empty() { "the program" } else { program }));
    for verdict in verdicts {
        let budget = &verdict.budget;
        let failures: Vec<String> = verdict
            .judged
            .iter()
            .filter(|judged| !judged.holds)
            .map(|judged| sentence(budget, judged))
            .collect();
        let status = match failures.first() {
            None => TestCaseStatus::success(),
            Some(first) => {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                status.set_type("budget").set_message(safe(first)).set_description(safe_lines(&failures));
                status
            }
        };
        let mut case = TestCase::new(safe(&budget.text), status);
        case.set_classname("holdup.check");
        let values = verdict.judged.iter().map(|judged| {
            format!("{} {} {}.", told(judged), is(budget.limited), shown_with_interval(budget, judged, PLAIN))
        });
        let said: Vec<String> = values.chain(verdict.notes.iter().cloned()).collect();
        if !said.is_empty() {
            case.set_system_out(safe_lines(&said));
        }
        suite.add_test_case(case);
    }
    let mut report = Report::new("holdup check");
    report.add_test_suite(suite);
    let mut text = report.to_string().expect("escaped text can be written as XML");
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn safe_lines(lines: &[String]) -> String {
    lines.iter().map(|line| escape::escaped(line)).collect::<Vec<_>>().join("\n")
}
