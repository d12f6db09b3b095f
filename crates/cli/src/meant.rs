//! What was probably meant: options that stand before a command's name, names of commands and options that are misspelled.

use std::ffi::{OsStr, OsString};

use clap::{Arg, Command};
use holdup_collect::find_program;

/// What `holdup` alone says.
pub(crate) const FIRST: &str = "\
holdup says what holds a multi-threaded program up:

  holdup ./app input.dat             run it, and say what it waits for and what fixing that saves
  holdup --pid 1234 --duration 10    the same of a process that runs
  holdup open app.holdup             the recording as a page, in the browser
  holdup scale -t 1,2,4 -- ./app     how it scales, and what keeps it from scaling better
  holdup why ./app                   which line makes its threads unequal
  holdup demo                        try it on a small program with planted problems
  holdup --help                      all commands and options
";

/// Names that are this similar (Jaro-Winkler, 0 to 1) are the same, misspelled.
const SIMILAR: f64 = 0.85;

/// Puts options that stand before a command's name behind it: `holdup --json report FILE`.
///
/// # Errors
/// A sentence, where that name is a program's, too, which would have been run with these options.
pub(crate) fn arranged(arguments: Vec<OsString>, line: &Command) -> Result<Vec<OsString>, String> {
    let mut at = 1;
    while let Some(option) = arguments.get(at).and_then(|word| word.to_str()).filter(|word| is_option(word)) {
        at += if takes_next(option, line) { 2 } else { 1 };
    }
    let command = arguments.get(at).and_then(|word| line.find_subcommand(word));
    let Some(command) = command.filter(|command| at > 1 && !command.is_hide_set()) else {
        return Ok(arguments);
    };
    let before = &arguments[1..at];
    let is_one_of = |command: &Command, word: &OsString| {
        let word = word.to_str().filter(|word| is_option(word));
        word.is_none_or(|word| command.get_arguments().any(|argument| is_called(argument, word)))
    };
    let name = command.get_name();
    if before.iter().all(|word| is_one_of(line, word)) && find_program(OsStr::new(name)).is_ok() {
        return Err(format!(
            "{name} after options may be the command or the program of that name: holdup {name} OPTIONS is the command, holdup \
             OPTIONS -- {name} runs the program"
        ));
    }
    let (first, rest) = (arguments[..1].iter(), arguments[at + 1..].iter());
    Ok(first.chain([&arguments[at]]).chain(before).chain(rest).cloned().collect())
}

/// What else there is of a name that is no program's; `None` where nothing is like it.
pub(crate) fn instead_of(program: &OsStr, line: &Command) -> Option<String> {
    let word = program.to_str()?;
    if is_option(word) {
        return Some(option_instead_of(word, line));
    }
    let is_first = std::env::args_os().nth(1).is_some_and(|first| first == program);
    let names = line.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name);
    let name = nearest(word, names.filter(|_| is_first))?;
    Some(format!("did you mean the command {name}? holdup {name} --help says what it takes"))
}

fn option_instead_of(word: &str, line: &Command) -> String {
    let own = word.split('=').next().unwrap_or(word);
    let commands = || line.get_subcommands().filter(|command| !command.is_hide_set());
    let of = |name: &str| {
        let has = |command: &&Command| command.get_arguments().any(|argument| is_called(argument, name));
        let names: Vec<&str> = commands().filter(has).map(Command::get_name).collect();
        names.join(", ")
    };
    let known = of(own);
    if !known.is_empty() {
        return format!("{own} is an option of {known}: give it with the command, before the program");
    }
    let all = || std::iter::once(line).chain(commands()).flat_map(Command::get_arguments);
    let names: Vec<String> = all().filter_map(|one| Some(format!("--{}", one.get_long()?))).collect();
    match nearest(own, names.iter().map(String::as_str)) {
        Some(name) => {
            let of = of(name);
            let of = if of.is_empty() { String::new() } else { format!(" (of {of})") };
            format!("did you mean the option {name}{of}? options stand before the program")
        }
        None => {
            "nor is there such an option: holdup --help lists them, holdup COMMAND --help those of a command"
                .to_owned()
        }
    }
}

fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = names.map(|name| (strsim::jaro_winkler(word, name), name));
    let best = likeness.max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)));
    best.filter(|(likeness, _)| *likeness >= SIMILAR).map(|(_, name)| name)
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && word != "--"
}

/// True if `--json`, `--json=x`, `-o` or `-oFILE` is this argument.
fn is_called(argument: &Arg, word: &str) -> bool {
    match word.strip_prefix("--") {
        Some(long) => argument.get_long() == long.split('=').next(),
        None => argument.get_short().is_some_and(|short| word[1..].starts_with(short)),
    }
}

/// True if the word after this option is its value, of whatever command it is.
fn takes_next(option: &str, line: &Command) -> bool {
    let is_whole = if option.starts_with("--") { !option.contains('=') } else { option.chars().count() == 2 };
    let all = std::iter::once(line).chain(line.get_subcommands()).flat_map(Command::get_arguments);
    let takes = |argument: &Arg| argument.get_action().takes_values() && !argument.is_require_equals_set();
    is_whole && all.filter(|argument| is_called(argument, option)).any(takes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::command;

    fn arranged(words: &str) -> Result<String, String> {
        let arguments = words.split(' ').map(OsString::from).collect();
        let words = super::arranged(arguments, &command())?;
        Ok(words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn options_may_stand_before_the_command() {
        for (typed, meant) in [
            ("holdup --json report a.holdup", "holdup report --json a.holdup"),
            ("holdup --color never scale -t 1,2 ./app", "holdup scale --color never -t 1,2 ./app"),
            ("holdup --color=never report a.holdup", "holdup report --color=never a.holdup"),
            ("holdup -o x.holdup record ./app", "holdup record -o x.holdup ./app"),
            ("holdup report --json a.holdup", "holdup report --json a.holdup"),
            ("holdup -o x.holdup -- record ./app", "holdup -o x.holdup -- record ./app"),
            ("holdup -o x.holdup ./app report", "holdup -o x.holdup ./app report"),
            ("holdup --output report ./app", "holdup --output report ./app"),
        ] {
            assert_eq!(arranged(typed).as_deref(), Ok(meant), "{typed}");
        }
    }

    #[test]
    fn what_is_misspelled_is_said() {
        let instead = |word: &str| instead_of(OsStr::new(word), &command());
        assert!(
            instead("--hmtl").is_some_and(|said| said.starts_with("did you mean the option --html (of "))
        );
        assert!(instead("--json").is_some_and(|said| said.starts_with("--json is an option of ")));
        assert!(instead("--zzzz").is_some_and(|said| said.starts_with("nor is there such an option")));
        assert_eq!(instead("./recrod"), None, "it is not the first word");
        assert_eq!(nearest("recrod", ["report", "record"].into_iter()), Some("record"));
        assert_eq!(nearest("pigz", ["report", "record"].into_iter()), None);
    }
}
