//! What the command line says of itself: pages about findings, completions for shells, manual pages.

use std::fs;
use std::process::Command;

use crate::stage::{HOLDUP, Stage, assert_refused, is_installed, run, text};
use holdup_model::{Process, Time};
use holdup_replay::ExpressionError;
use holdup_report::Explanation;

/// The commands, as `holdup --help` lists them.
fn commands() -> Vec<String> {
    let help = text(&run(Command::new(HOLDUP).arg("--help")).stdout);
    let listed = help.split("Arguments:\n").next();
    let is_entry = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let commands: Vec<String> = listed
        .expect("groups of commands")
        .lines()
        .filter(is_entry)
        .filter_map(|line| Some(line.split_whitespace().next()?.to_owned()))
        .filter(|command| command != "help")
        .collect();
    assert!(commands.contains(&"record".to_owned()), "{help}");
    commands
}

fn completions(shell: &str) -> String {
    let ended = run(Command::new(HOLDUP).args(["completions", shell]));
    assert_eq!((ended.status, text(&ended.stderr)), (0, String::new()), "{shell}");
    text(&ended.stdout)
}

#[test]
fn completions_know_every_command_and_are_read_by_their_shell() {
    let stage = Stage::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = completions(shell);
        for command in commands() {
            assert!(script.contains(&command), "{shell} does not know {command}");
        }
        let file = stage.write(&format!("holdup.{shell}"), &script);
        if !is_installed(shell) {
            continue;
        }
        let ended = run(Command::new(shell).arg("-n").arg(file));
        assert_eq!((ended.status, text(&ended.stderr)), (0, String::new()), "{shell}");
    }
}

#[test]
fn bash_completes_commands_kinds_and_options() {
    let stage = Stage::new();
    let script = stage.write("holdup.bash", completions("bash"));
    let complete = |words: &[&str]| -> String {
        let last = words.len() - 1;
        let program = format!(
            "source {}\nCOMP_WORDS=({})\nCOMP_CWORD={last}\n_holdup holdup '{}' '{}'\necho \"${{COMPREPLY[*]}}\"",
            script.display(),
            words.join(" "),
            words[last],
            words[last - 1],
        );
        let ended = run(Command::new("bash").arg("-c").arg(program));
        assert_eq!((ended.status, text(&ended.stderr)), (0, String::new()), "{words:?}");
        text(&ended.stdout).trim().to_owned()
    };
    assert_eq!(complete(&["holdup", "expl"]), "explain");
    assert_eq!(complete(&["holdup", "explain", "pipe"]), "pipeline");
    assert_eq!(complete(&["holdup", "report", "--js"]), "--json");
}

#[test]
fn every_command_has_a_manual_page_that_formats_without_a_warning() {
    let stage = Stage::new();
    let folder = stage.path("man1");
    let ended = run(Command::new(HOLDUP).arg("man").arg("--dir").arg(&folder));
    assert_eq!((ended.status, text(&ended.stderr)), (0, String::new()));
    let mut names = vec!["holdup".to_owned()];
    names.extend(commands().into_iter().map(|command| format!("holdup-{command}")));
    let mut files: Vec<String> = fs::read_dir(&folder)
        .expect("the pages")
        .map(|entry| entry.expect("a page").file_name().to_string_lossy().into_owned())
        .collect();
    files.sort();
    let mut expected: Vec<String> = names.iter().map(|name| format!("{name}.1")).collect();
    expected.sort();
    assert_eq!(files, expected);
    for name in &names {
        let path = folder.join(format!("{name}.1"));
        let page = fs::read_to_string(&path).expect("a page");
        assert!(page.is_ascii() && page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{name}");
        if !is_installed("groff") {
            continue;
        }
        let ended = run(Command::new("groff").args(["-man", "-ww", "-z", "-Tutf8"]).arg(&path));
        assert_eq!((ended.status, text(&ended.stderr)), (0, String::new()), "{name}");
    }
    let main = run(Command::new(HOLDUP).arg("man"));
    let page = fs::read(folder.join("holdup.1")).expect("the main page");
    assert!(main.stdout == page, "without --dir it is the main page");
    for section in ["EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES"] {
        assert!(text(&page).contains(section), "{section}");
    }
}

#[test]
fn manual_pages_that_cannot_be_written() {
    let stage = Stage::new();
    let file = stage.write("file", "");
    let ended = run(Command::new(HOLDUP).arg("man").arg("--dir").arg(file.join("below")));
    assert_refused(&ended, 2, &["below", "cannot be written"]);
}

#[test]
fn pages_about_findings() {
    let explain = |words: &[&str]| run(Command::new(HOLDUP).arg("explain").args(words));
    let list = explain(&[]);
    assert_eq!(list.status, 0);
    let page = explain(&["lock"]);
    assert_eq!(page.status, 0);
    let (list, page) = (text(&list.stdout), text(&page.stdout));
    assert!(list.contains("oversubscription") && list.contains("numa"), "{list}");
    assert!(page.starts_with("lock: ") && page.contains("How to fix it"), "{page}");
    assert!(!page.contains('\u{1b}'), "no colour where nobody looks");
    assert!(text(&explain(&["lock", "--color", "always"]).stdout).contains('\u{1b}'));
    assert_refused(&explain(&["lokc"]), 2, &["lokc", "did you mean lock", "holdup explain lists them all"]);
    assert_refused(&explain(&["\u{1b}[31m"]), 2, &["no kind of finding"]);
}

/// The what-ifs that pages suggest, as they are typed.
fn suggested(page: &str) -> Vec<String> {
    // Lines of a paragraph end anywhere.
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let spans = page.split('`').skip(1).step_by(2);
    let typed = spans.map(|span| span.strip_prefix("holdup whatif FILE.holdup ").unwrap_or(span));
    typed.filter_map(|span| Some(span.strip_prefix('\'')?.strip_suffix('\'')?.to_owned())).collect()
}

#[test]
fn what_ifs_that_pages_suggest_are_understood() {
    let process = Process::new(Time::default(), Time::from_nanos(1));
    let mut count = 0;
    for page in Explanation::all() {
        for expression in suggested(page.markdown()) {
            count += 1;
            let expression = expression.replace("=N", "=4");
            match holdup_replay::parse(&expression, &process) {
                // Nothing has a name here.
                Ok(_) | Err(ExpressionError::Unknown { .. }) => {}
                Err(error) => panic!("{}: {error}", page.word()),
            }
        }
    }
    assert!(count > 20, "only {count} suggestions were found");
}
