use proptest::prelude::*;

use super::*;

fn plan(text: &str) -> Result<Vec<Program>, Wrong> {
    parsed(text, Path::new("/plans")).map(|(programs, _)| programs)
}

const FULL: &str = r#"
threads = "1-4:x2"
machines = ["dunnington", "mine.toml"]
what-ifs = ["perfect-branches"]
time-limit = 0.5
environment = { A = "1", B = "2" }

[[program]]
name = "fft"
suite = "splash2"
command = "./fft '-m {input}' -p{threads}"
inputs = { small = 10, large = "20" }
environment = { B = "{threads}" }
repeats = 3

[[program]]
name = "old"
recording = "old.{threads}.holdup"
threads = [8]
measures = ["report", "sim"]

[slurm]
options = ["--partition=short"]
"#;

#[test]
fn programs_have_what_they_say_and_else_what_is_said_for_all() {
    let programs = plan(FULL).unwrap();
    let Subject::Run { command, environment, directory, .. } = &programs[0].subject else { panic!() };
    assert_eq!(command, &["./fft", "-m {input}", "-p{threads}"]);
    assert_eq!(environment["A"], "1");
    assert_eq!(environment["B"], "{threads}");
    assert_eq!(directory, Path::new("/plans"));
    assert_eq!((programs[0].threads.as_slice(), programs[1].threads.as_slice()), (&[1, 2, 4][..], &[8][..]));
    assert_eq!(programs[0].measures, [Measure::Sim]);
    assert_eq!(programs[1].measures, [Measure::Report, Measure::Sim]);
    assert_eq!(programs[0].machines[1].text, "/plans/mine.toml");
    assert_eq!(programs[1].subject, Subject::Recording("/plans/old.{threads}.holdup".to_owned()));
    assert_eq!(programs[0].inputs.iter().map(|input| input.value.as_str()).collect::<Vec<_>>(), ["20", "10"]);
    assert_eq!((programs[0].repeats, programs[0].time_limit), (3, Duration::from_millis(500)));
}

#[test]
fn what_is_wrong_is_told_where_it_stands() {
    let line = |text: &str, at: usize| text[..at].matches('\n').count() + 1;
    for (text, at_line, part) in [
        ("", 1, "no program"),
        ("x = ", 1, ""),
        ("threads = [0]\n[[program]]\nname='a'\ncommand='a'", 1, "0"),
        ("[[program]]\nname='a'\ncommand='a'\nthread = 3", 4, "unknown field"),
        ("[[program]]\nname='a'", 2, "neither"),
        ("[[program]]\nname='a'\ncommand='a'\nrecording='b'", 4, "both"),
        ("[[program]]\nname='a'\ncommand=''", 3, "empty"),
        ("[[program]]\nname='a'\ncommand='a \"b'", 3, "never closed"),
        ("[[program]]\nname='a'\ncommand='a {input}'", 2, "no inputs"),
        ("[[program]]\nname='a'\ncommand='a {threads}'", 2, "no numbers of threads"),
        ("[[program]]\nname='a'\ncommand='a'\ninputs=['x']", 4, "nowhere"),
        ("[[program]]\nname='a'\ncommand='a {input}'\ninputs=['x','x']", 4, "twice"),
        ("[[program]]\nname='a'\nrecording='a'\nthreads=[1,2]", 4, "one number"),
        ("[[program]]\nname='a'\ncommand='a'\nrepeats=0", 4, "1 to 1000"),
        ("[[program]]\nname='a'\ncommand='a'\ntime-limit=-1", 4, "above 0"),
        ("[[program]]\nname='a'\ncommand='a'\nmeasures=['time']", 4, "\"report\" and \"sim\""),
        ("[[program]]\nname='a'\ncommand='a'\n[[program]]\nname='a'\ncommand='b'", 5, "two programs"),
        ("[[program]]\nname=''\ncommand='a'", 2, "empty"),
    ] {
        let Wrong { at, problem } = plan(text).expect_err(text);
        assert_eq!(line(text, at), at_line, "{text}\n{problem}");
        assert!(problem.contains(part) && !problem.contains('\n'), "{text}\n{problem}");
    }
}

#[test]
fn numbers_of_threads_for_all_are_not_about_a_recording_of_one() {
    let threads = |name: &str| {
        let text = format!("threads = [1, 2]\n[[program]]\nname = 'a'\nrecording = '{name}'");
        plan(&text).unwrap()[0].threads.clone()
    };
    assert_eq!((threads("a.holdup"), threads("a.{threads}.holdup")), (vec![], vec![1, 2]));
}

#[test]
fn quotation_marks_keep_words_together() {
    let words = |text: &str| split(text);
    assert_eq!(words("a  b\tc").unwrap(), ["a", "b", "c"]);
    assert_eq!(words("'a b' c\"d e\"f ''").unwrap(), ["a b", "cd ef", ""]);
    assert_eq!(words("it's"), None);
}

proptest! {
    #[test]
    fn rubbish_is_refused_at_a_place_within_it(text in "[a-z\\[\\]='\" {}\n#.]{0,200}") {
        if let Err(Wrong { at, .. }) = plan(&text) {
            prop_assert!(at <= text.len() && text.is_char_boundary(at));
        }
    }

    #[test]
    fn a_plan_with_bytes_changed_never_panics(at in 0..FULL.len(), with in "[ -~]") {
        if FULL.is_char_boundary(at) && FULL.is_char_boundary(at + 1) {
            let _ = plan(&format!("{}{with}{}", &FULL[..at], &FULL[at + 1..]));
        }
    }
}
