//! What is asked of a recording: every command that can read it.

use std::fs;

use super::list::{By, Recipe, recipes, recordings};

/// The widths of the terminals that answers are shown on (columns).
const WIDTHS: [u32; 2] = [80, 120];

/// Limits of which some are held by most programs, and some by none.
const BUDGETS: &[&str] = &["wall<=1s", "efficiency>=0.7", "finding:lock<=5%", "finding:imbalance<=5%"];

/// The machine on which recorded instructions are simulated.
const MACHINE: &str = "dunnington";

/// A recording, or several, and what is asked.
#[derive(Clone, Debug)]
pub struct Subject {
    /// What its golden files are called.
    pub name: String,
    /// What it is there for.
    pub about: String,
    /// How the recording was made, if it is about one.
    pub recipe: Option<Recipe>,
    pub(super) questions: Vec<Question>,
}

/// A command of which the output is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Question {
    /// The arguments of `holdup`.
    pub arguments: Vec<String>,
    /// How its output is kept.
    pub kept: Kept,
}

/// How an output is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kept {
    /// As text to be read, for a terminal of this width (columns).
    Text(u32),
    /// Compressed: JSON, or text that nobody reads.
    Whole,
    /// Compressed, without what all pages share, of which the sizes and checksums are kept.
    Page,
    /// The size and the checksum.
    Sum,
    /// Those of each file in the folder that it writes.
    Folder,
}

impl Question {
    fn new(words: &str, kept: Kept) -> Question {
        Question { arguments: words.split(' ').map(str::to_owned).collect(), kept }
    }

    fn with(mut self, argument: &str) -> Question {
        self.arguments.push(argument.to_owned());
        self
    }

    /// The command as a person would type it.
    pub(super) fn command(&self) -> String {
        let quoted = |word: &String| match word.contains([' ', '<', '>', '*', '\'']) {
            true => format!("'{}'", word.replace('\'', "'\\''")),
            false => word.clone(),
        };
        let words: Vec<String> = self.arguments.iter().map(quoted).collect();
        let command = format!("holdup {}", words.join(" "));
        match self.kept {
            Kept::Text(width) => format!("{command}    ({width} columns)"),
            _ => command,
        }
    }
}

impl Subject {
    /// Every recording, and every question about several.
    pub fn all() -> Vec<Subject> {
        let of_one = recipes().into_iter().map(Subject::of);
        of_one.chain(of_several()).collect()
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Subject> {
        Subject::all().into_iter().find(|subject| subject.name == name)
    }

    fn of(recipe: Recipe) -> Subject {
        let file = format!("{}.holdup", recipe.name);
        let questions = match recipe.instructions() {
            _ if recipe.by() == By::Stack => of_stack(&recipe.name),
            Some("stream") => [of_counts(&file), of_stream(&file, &recipe.cores)].concat(),
            Some(_) => of_counts(&file),
            None => of_times(&file, &recipe.what_ifs),
        };
        let (name, about) = (recipe.name.clone(), recipe.about.clone());
        Subject { name, about, recipe: Some(recipe), questions }
    }
}

fn on_terminals(words: &str) -> impl Iterator<Item = Question> {
    WIDTHS.map(|width| Question::new(words, Kept::Text(width))).into_iter()
}

/// What is asked of a recording of a program that ran natively.
fn of_times(file: &str, what_ifs: &[String]) -> Vec<Question> {
    let [narrow, _] = WIDTHS;
    let mut asked: Vec<Question> = on_terminals(&format!("report {file}")).collect();
    asked.push(Question::new(&format!("whatif {file}"), Kept::Text(narrow)));
    let what_if = |change: &String| Question::new(&format!("whatif {file}"), Kept::Text(narrow)).with(change);
    asked.extend(what_ifs.iter().map(what_if));
    let check = Question::new(&format!("check {file} --allow-missing"), Kept::Text(narrow));
    asked.push(BUDGETS.iter().fold(check, |question, budget| question.with("--budget").with(budget)));
    asked.push(Question::new(&format!("report {file} --json"), Kept::Whole));
    asked.push(Question::new(&format!("report {file} --html -"), Kept::Page));
    for format in ["firefox", "perfetto", "speedscope"] {
        asked.push(Question::new(&format!("export --format {format} --output - {file}"), Kept::Sum));
    }
    for weight in ["critical", "wait"] {
        let command = format!("export --format folded --weight {weight} --output - {file}");
        asked.push(Question::new(&command, Kept::Sum));
    }
    asked.push(Question::new(&format!("export --format csv {file}"), Kept::Folder));
    asked
}

/// What is asked of one with how often threads did what.
fn of_counts(file: &str) -> Vec<Question> {
    let [narrow, _] = WIDTHS;
    let mut asked: Vec<Question> = on_terminals(&format!("why {file}")).collect();
    asked.push(Question::new(&format!("why {file} --all --method paper"), Kept::Text(narrow)));
    asked.push(Question::new(&format!("report {file}"), Kept::Text(narrow)));
    asked.push(Question::new(&format!("why {file} --json"), Kept::Whole));
    asked.push(Question::new(&format!("why {file} --html -"), Kept::Page));
    asked
}

/// What is asked besides of one with all that was executed.
fn of_stream(file: &str, cores: &[String]) -> Vec<Question> {
    let [narrow, _] = WIDTHS;
    let cores = cores.join(",");
    let cores = if cores.is_empty() { "2" } else { &cores };
    let sim = format!("sim {file} --machine {MACHINE} --cores {cores}");
    let mut asked: Vec<Question> = on_terminals(&sim).collect();
    asked.push(Question::new(&format!("{sim} --what-if perfect-branches --sections"), Kept::Text(narrow)));
    asked.push(Question::new(&format!("{sim} --json --speedup-stack"), Kept::Whole));
    asked.push(Question::new(&format!("{sim} --csv"), Kept::Sum));
    asked.push(Question::new(&format!("{sim} --html -"), Kept::Page));
    asked.push(Question::new(&format!("why {file} --simulate --machine {MACHINE}"), Kept::Text(narrow)));
    asked
}

/// What is asked of the runs that a speedup stack was measured with.
fn of_stack(directory: &str) -> Vec<Question> {
    let command = format!("stack --from {directory}");
    let mut asked: Vec<Question> = on_terminals(&command).collect();
    asked.push(Question::new(&format!("{command} --json"), Kept::Whole));
    asked.push(Question::new(&format!("{command} --html -"), Kept::Page));
    asked
}

/// The rows of `questions.tsv`: what is asked of several recordings at once.
fn of_several() -> Vec<Subject> {
    let path = recordings().join("questions.tsv");
    let table = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let subject = |line: &str| {
        let [name, command, kept, about] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("a row: {line}")
        };
        let mut questions = Vec::new();
        for word in kept.split(',').map(str::trim) {
            match word {
                "text" => questions.extend(on_terminals(command)),
                "json" => questions.push(Question::new(&format!("{command} --json"), Kept::Whole)),
                "page" => questions.push(Question::new(&format!("{command} --html -"), Kept::Page)),
                _ => panic!("{name}: outputs are kept as text, json or page, not as {word}"),
            }
        }
        Subject { name: name.to_owned(), about: about.to_owned(), recipe: None, questions }
    };
    table.lines().skip(1).map(subject).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_as_they_are_typed() {
        let asked = of_times("a.holdup", &["lock:x y=0".to_owned()]);
        let commands: Vec<String> = asked.iter().map(Question::command).collect();
        assert_eq!(commands[0], "holdup report a.holdup    (80 columns)");
        assert!(commands.contains(&"holdup whatif a.holdup 'lock:x y=0'    (80 columns)".to_owned()));
        assert!(commands.contains(&"holdup report a.holdup --json".to_owned()));
    }

    #[test]
    fn no_two_subjects_share_their_files() {
        let all = Subject::all();
        let names: std::collections::BTreeSet<&str> = all.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names.len(), all.len());
    }
}
