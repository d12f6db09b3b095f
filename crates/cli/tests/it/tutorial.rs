//! What README.md, docs/tutorial.md and the example of continuous integration tell to type, and what the tutorial says that one
//! finds.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use crate::stage::{HOLDUP, Stage, report, run, text, workspace};

const WORKFLOW: &str = "examples/ci/threads.yml";

/// The program of the tutorial with so many of its faults fixed; a tenth of its documents are enough.
fn words(stage: &Stage, step: u32) -> PathBuf {
    let source = workspace().join("examples/tutorial/words.c");
    let flags = [format!("-DSTEP={step}"), "-DDOCUMENTS=400".to_owned(), "-pthread".to_owned()];
    stage.compile(&format!("words{step}"), source, &flags.each_ref().map(String::as_str))
}

/// The blocks of code of a document.
fn blocks(document: &str) -> Vec<String> {
    let said = std::fs::read_to_string(workspace().join(document)).expect("the document");
    said.split("\n```\n").skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_answers_of_the_tutorial_are_those_of_its_recordings() {
    let answers: Vec<String> =
        blocks("docs/tutorial.md").into_iter().filter(|block| block.starts_with("words")).collect();
    assert_eq!(answers.len(), 5, "{answers:#?}");
    for (step, answer) in answers.iter().enumerate() {
        let recording = workspace().join(format!("tests/recordings/tutorial_{step}.holdup"));
        let ended = report(&recording, &[]);
        assert_eq!(ended.status, 0, "{ended:?}");
        let said = text(&ended.stdout);
        assert!(said.starts_with(answer.as_str()), "step {step}\n{answer}\n--- is said as\n{said}");
    }
}

#[test]
fn what_the_programs_of_the_tutorial_compute_stays_the_same() {
    let stage = Stage::new();
    let said: Vec<String> = (0..=4)
        .flat_map(|step| {
            let program = words(&stage, step);
            ["1", "2", "4"].map(|threads| text(&run(Command::new(&program).arg(threads)).stdout).to_owned())
        })
        .collect();
    assert!(said[0].ends_with(" times\n") && said.iter().all(|one| *one == said[0]), "{said:#?}");
}

/// Lines of blocks of code, or of the workflow, that begin with `holdup`, without that and without what explains them.
fn command_lines(document: &str) -> Vec<String> {
    let mut blocks = blocks(document);
    if document == WORKFLOW {
        let said = std::fs::read_to_string(workspace().join(document)).expect("the workflow");
        blocks = said.lines().map(|line| line.trim().trim_start_matches("run: ").to_owned()).collect();
    }
    let lines = blocks.iter().flat_map(|block| block.lines());
    let commands = lines.filter_map(|line| line.strip_prefix("holdup "));
    commands.map(|words| words.split("  ").next().unwrap_or(words).to_owned()).collect()
}

#[test]
fn commands_and_options_of_readme_and_tutorial_exist() {
    let mut helps: BTreeMap<String, String> = BTreeMap::new();
    let mut help = |command: &str| {
        let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let made = || {
            let ended = run(Command::new(HOLDUP).args(&words));
            assert_eq!(ended.status, 0, "{command}: {ended:?}");
            text(&ended.stdout).to_owned()
        };
        helps.entry(command.to_owned()).or_insert_with(made).clone()
    };
    let all = help("");
    for document in ["README.md", "docs/tutorial.md", WORKFLOW] {
        let lines = command_lines(document);
        assert!(lines.len() >= 3, "{document}: {lines:?}");
        for line in lines {
            let own = line.split(" -- ").next().unwrap_or(&line);
            let first = own.split_whitespace().next().unwrap_or("");
            let is_command = all.lines().any(|row| row.trim_start().starts_with(&format!("{first} ")));
            assert!(is_command || first.contains('/') || first.starts_with('-'), "{document}: {line}");
            let said = help(if is_command { first } else { "" });
            // Behind a program's name come its own options.
            let options = own.split_whitespace().take_while(|word| !word.starts_with("./"));
            for option in options.filter(|word| word.starts_with('-')) {
                let option = option.split('=').next().unwrap_or(option);
                assert!(said.contains(option), "{document}: {line}: holdup {first} has no {option}");
            }
        }
    }
}

#[test]
fn the_budgets_of_the_workflow_are_understood() {
    let budgets = workspace().join("examples/ci/holdup.toml");
    let recording = workspace().join("tests/recordings/tutorial_0.holdup");
    for (format, begins) in [("sarif", "{"), ("junit", "<?xml"), ("github", "::error")] {
        let mut command = Command::new(HOLDUP);
        command.arg("check").arg(&recording).arg("--budget-file").arg(&budgets).args(["--format", format]);
        let ended = run(&mut command);
        // The lock costs more than a tenth.
        assert_eq!(ended.status, 1, "{ended:?}");
        assert!(text(&ended.stdout).starts_with(begins), "{format}: {ended:?}");
    }
}
