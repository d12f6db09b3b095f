//! What was probably meant: options that stand before a command's name, names of commands and options that are misspelled.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{Arg, Command};
use holdup_collect::find_program;
use holdup_recording::format::MAGIC;
use holdup_report::shell_words;
use holdup_sweep::Counts;

use crate::example::{called, example};

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
    let Some(command) = arguments.get(at).and_then(|word| line.find_subcommand(word)) else {
        return Ok(arguments);
    };
    if at == 1 {
        return Ok(with_program(arguments, command, line));
    }
    if command.is_hide_set() {
        return Ok(arguments);
    }
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
    let arranged = first.chain([&arguments[at]]).chain(before).chain(rest).cloned().collect();
    Ok(with_program(arranged, command, line))
}

/// Puts a program, which some commands take behind `--` since they take recordings too, there: `holdup why ./app 8`. The command's
/// own options may stand between the program and its arguments.
fn with_program(arguments: Vec<OsString>, command: &Command, line: &Command) -> Vec<OsString> {
    let takes_both =
        command.get_positionals().count() == 2 && command.get_positionals().any(Arg::is_last_set);
    if !takes_both || arguments.iter().any(|word| word == "--") {
        return arguments;
    }
    let own = || command.get_arguments().chain(line.get_arguments().filter(|one| one.is_global_set()));
    let behind_options = |mut at: usize| {
        while let Some(option) =
            arguments.get(at).and_then(|word| word.to_str()).filter(|word| is_option(word))
            && own().any(|argument| is_called(argument, option))
        {
            at += if own().any(|argument| takes_next_to(argument, option)) { 2 } else { 1 };
        }
        at
    };
    let at = behind_options(2);
    let rest = behind_options(at + 1).min(arguments.len());
    let has_arguments =
        rest < arguments.len() && !arguments[rest..].iter().any(|word| is_recording(Path::new(word)));
    let names_one = |word: &&OsString| {
        !word.to_str().is_some_and(is_option) && is_program(Path::new(word), has_arguments)
    };
    let Some(program) = arguments.get(at).filter(names_one) else {
        return arguments;
    };
    let options = arguments[..at].iter().chain(&arguments[at + 1..rest]);
    options.chain([&OsString::from("--"), program]).chain(&arguments[rest..]).cloned().collect()
}

/// True for what is no recording and can be executed, or is looked for among the programs. Only a program has arguments.
fn is_program(path: &Path, has_arguments: bool) -> bool {
    if path.exists() {
        return path.is_file() && !is_recording(path) && find_program(path.as_os_str()).is_ok();
    }
    let is_named = path.extension().is_some_and(|ending| ending == "holdup");
    !is_named && (has_arguments || path.components().count() == 1)
}

/// What was meant by a name that is no program's, as the rest of a sentence; `None` where nothing is like it. `words` are all that
/// were typed.
pub(crate) fn instead_of(program: &OsStr, words: &[String], line: &Command) -> Option<String> {
    let word = program.to_str()?;
    let here = words.get(1).and_then(|first| line.find_subcommand(first));
    let at = words.iter().position(|typed| typed == word)?;
    let with = |instead: &[&str]| {
        let mut line = vec!["holdup".to_owned()];
        line.extend_from_slice(&words[1..at]);
        line.extend(instead.iter().map(ToString::to_string));
        let rest = &words[at + 1..];
        let shown = begun(rest);
        line.extend_from_slice(&rest[..shown]);
        let line = shell_words(&line).unwrap_or_default();
        if shown < rest.len() { format!("{line} …") } else { line }
    };
    if is_option(word) {
        return Some(option_instead_of(word, here.unwrap_or(line), line));
    }
    if is_recording(Path::new(word)) {
        return Some(format!("a recording, not a program; write {}", quoted(&["holdup", "report", word])));
    }
    if word.contains('/') && Path::new(word).exists() {
        return None;
    }
    let first = word.split_whitespace().next()?;
    if first.contains('=') && !first.contains('/') {
        let rest: Vec<&str> = word.split_whitespace().skip(1).collect();
        return Some(format!("a variable, not a program; write it first: {first} {}", with(&rest)));
    }
    if OF_SHELLS.contains(&word) {
        let script = quoted(&words[at..].iter().map(String::as_str).collect::<Vec<_>>());
        return Some(format!(
            "no program, but a word of shells; write {}",
            quoted(&["holdup", "sh", "-c", &script])
        ));
    }
    if first.len() < word.len() {
        let is_shells = word.contains(['>', '<', '|', ';', '&', '$', '*']);
        let instead = if is_shells {
            with(&["sh", "-c", word])
        } else {
            with(&word.split_whitespace().collect::<Vec<_>>())
        };
        let why = if is_shells { "for a shell to read" } else { "without the quotes" };
        return Some(format!("no such program; {why} write {instead}"));
    }
    if word.contains('/')
        && let Some(name) = program_like(Path::new(word))
    {
        return Some(format!("no such program; did you mean {name}? write {}", with(&[&name])));
    }
    let takes_threads =
        here.is_some_and(|here| here.get_arguments().any(|argument| is_called(argument, "-t")));
    if takes_threads && word.parse::<Counts>().is_ok() {
        return Some(format!("no such program; numbers of threads stand behind -t: {}", with(&["-t", word])));
    }
    let before = here.zip(words.get(at.wrapping_sub(1)));
    if let Some((here, option)) = before.filter(|(_, option)| is_option(option))
        && here.get_arguments().any(|one| is_called(one, option) && one.is_require_equals_set())
    {
        let (equals, typed) = (format!("{option}={word}"), format!("{option} {word}"));
        return Some(format!("no such program; write {}", with(&[word]).replacen(&typed, &equals, 1)));
    }
    if !word.contains('/') && Path::new(word).exists() {
        return Some(format!(
            "no such program in PATH; for the file here write {}",
            with(&[&format!("./{word}")])
        ));
    }
    let names = line.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name);
    let other = OTHER_WORDS.iter().find(|(others, _)| others.contains(&word)).map(|(_, name)| *name);
    let name = other.or_else(|| nearest(word, names)).filter(|_| at == 1)?;
    let instead = with(&name.split_whitespace().collect::<Vec<_>>());
    let what = match name {
        "" => String::new(),
        name if name.starts_with('-') => format!("did you mean {name}? "),
        name => format!("did you mean the command {name}? "),
    };
    Some(format!("no such program; {what}write {instead}"))
}

/// How many of a program's arguments are repeated: not the thousand that a pattern of a shell became.
fn begun(arguments: &[String]) -> usize {
    const CHARACTERS: usize = 120;
    let mut length = 0;
    arguments
        .iter()
        .take_while(|argument| {
            length += argument.chars().count() + 1;
            length <= CHARACTERS
        })
        .count()
}

/// What only a shell understands.
const OF_SHELLS: [&str; 6] = ["cd", "export", "source", "ulimit", "alias", "eval"];

/// What other tools call what holdup has by another name: a command, an option, or nothing.
const OTHER_WORDS: [(&[&str], &str); 5] = [
    (&["run", "start", "profile", "trace"], ""),
    (&["show", "view", "print", "analyze"], "report"),
    (&["compare"], "diff"),
    (&["browse", "gui"], "open"),
    (&["version"], "--version"),
];

/// The recording that was probably meant where there is none of this name, or how to make one, as the end of a sentence.
pub(crate) fn recordings_near(path: &Path) -> String {
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
    let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries =
        listed.read_dir().into_iter().flatten().flatten().map(|entry| folder.join(entry.file_name()));
    let is_named = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "holdup");
    let mut names: Vec<String> = entries.filter(is_named).map(|path| path.display().to_string()).collect();
    names.sort_unstable();
    let most = names.len().min(3);
    match nearest(&path.display().to_string(), names.iter().map(String::as_str)) {
        Some(name) => format!("; did you mean {name}?"),
        None if most > 0 => format!("; recordings there: {}", names[..most].join(", ")),
        None if folder == path => "; name a recording in it".to_owned(),
        None => {
            format!("; write {} to make it", quoted(&["holdup", "-o", &path.display().to_string(), "./app"]))
        }
    }
}

/// The program in the same directory with the name that is most like this one.
fn program_like(path: &Path) -> Option<String> {
    let folder = path.parent()?;
    let is_program = |path: &PathBuf| path.is_file() && find_program(path.as_os_str()).is_ok();
    let programs =
        folder.read_dir().ok()?.flatten().map(|entry| folder.join(entry.file_name())).filter(is_program);
    let names: Vec<String> =
        programs.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect();
    let name = nearest(path.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(folder.join(name).to_str()?.to_owned())
}

/// True for what begins as recordings do.
pub(crate) fn is_recording(path: &Path) -> bool {
    let mut start = [0; MAGIC.len()];
    let is_file = path.metadata().is_ok_and(|facts| facts.is_file());
    is_file && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *MAGIC
}

/// Words as a shell reads them.
pub(crate) fn quoted(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    shell_words(&words).unwrap_or_default()
}

/// What to write instead of an option that the command `here` does not have, as a sentence.
pub(crate) fn option_instead_of(word: &str, here: &Command, line: &Command) -> String {
    let own = word.split('=').next().unwrap_or(word);
    let commands = || line.get_subcommands().filter(|command| !command.is_hide_set());
    let has =
        |command: &Command, name: &str| command.get_arguments().any(|argument| is_called(argument, name));
    let of = |name: &str| commands().filter(|one| has(one, name)).map(Command::get_name).collect::<Vec<_>>();
    let names = |command: &Command| -> Vec<String> {
        command.get_arguments().filter_map(|one| Some(format!("--{}", one.get_long()?))).collect()
    };
    let like = |names: Vec<String>| nearest(own, names.iter().map(String::as_str)).map(str::to_owned);
    let called = if here.get_name() == line.get_name() { "holdup PROGRAM".to_owned() } else { called(here) };
    let another = OTHER_OPTIONS.iter().find(|(option, name)| *option == own && has(here, name));
    let own_like = || like(names(here).into_iter().chain(["--help".to_owned()]).collect());
    let here_too = match another {
        Some((_, name)) => Some((*name).to_owned()),
        None if of(own).is_empty() => own_like(),
        None => None,
    };
    if let Some(name) = here_too {
        return format!("{called} has no such option; did you mean the option {}?", usage_of(&name, here));
    }
    let name = match of(own).is_empty() {
        false => Some(own.to_owned()),
        true => like(commands().flat_map(names).collect()),
    };
    let Some(name) = name else {
        return format!(
            "{called} has no such option; holdup --help lists the options, holdup COMMAND --help those of a command"
        );
    };
    let owners = of(&name);
    let owner = if owners.contains(&"report") { "report" } else { owners[0] };
    let Some(owner) = line.find_subcommand(owner) else { return format!("{called} has no such option") };
    let file =
        ["app.holdup", "./app"].into_iter().find(|file| example(owner).contains(file)).unwrap_or_default();
    format!(
        "{called} has no such option; {name} is an option of {}: give it with the command, as in {} {} {file}",
        owners.join(", "),
        self::called(owner),
        usage_of(&name, owner)
    )
}

/// What other tools call an option that holdup has by another name.
const OTHER_OPTIONS: [(&str, &str); 2] = [("-o", "--output"), ("-p", "--pid")];

/// `--html OUT` for `--html`.
fn usage_of(name: &str, command: &Command) -> String {
    let argument = command.get_arguments().find(|argument| is_called(argument, name));
    match argument.filter(|one| one.get_action().takes_values() && !one.is_require_equals_set()) {
        Some(argument) => {
            let values = argument.get_value_names().unwrap_or_default();
            format!("{name} {}", values.iter().map(|value| value.as_str()).collect::<Vec<_>>().join(" "))
        }
        None => name.to_owned(),
    }
}

/// The name that is most like this one.
pub(crate) fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = names.map(|name| (strsim::jaro_winkler(word, name), name));
    let best = likeness.max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)));
    best.filter(|(likeness, _)| *likeness >= SIMILAR).map(|(_, name)| name)
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && word != "--"
}

/// True if `--json`, `--json=x`, `-o` or `-oFILE` is this argument.
pub(crate) fn is_called(argument: &Arg, word: &str) -> bool {
    match word.strip_prefix("--") {
        Some(long) => argument.get_long() == long.split('=').next(),
        None => argument.get_short().is_some_and(|short| word[1..].starts_with(short)),
    }
}

/// True if the word after this option is its value, of whatever command it is.
pub(crate) fn takes_next(option: &str, line: &Command) -> bool {
    let mut all = std::iter::once(line).chain(line.get_subcommands()).flat_map(Command::get_arguments);
    all.any(|argument| takes_next_to(argument, option))
}

/// True if the option is this argument, and the word after it its value.
fn takes_next_to(argument: &Arg, option: &str) -> bool {
    let is_whole = if option.starts_with("--") { !option.contains('=') } else { option.chars().count() == 2 };
    let takes = argument.get_action().takes_values() && !argument.is_require_equals_set();
    is_whole && takes && is_called(argument, option)
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
    fn a_program_and_its_arguments_need_no_mark_before_them() {
        for (typed, meant) in [
            ("holdup why sort -u x", "holdup why -- sort -u x"),
            ("holdup why --all sort 8", "holdup why --all -- sort 8"),
            ("holdup why sort --all 8 --section=9", "holdup why --all -- sort 8 --section=9"),
            ("holdup why sort --section x", "holdup why --section x -- sort"),
            ("holdup --all why sort -n", "holdup why --all -- sort -n"),
            ("holdup sim /bin/sh -c ls", "holdup sim -- /bin/sh -c ls"),
            ("holdup policies -t 2,4 sort {threads}", "holdup policies -t 2,4 -- sort {threads}"),
            ("holdup why ./gone 8", "holdup why -- ./gone 8"),
            ("holdup why ./gone --all", "holdup why ./gone --all"),
            ("holdup sim gone/a.holdup b.holdup", "holdup sim gone/a.holdup b.holdup"),
            ("holdup why --help", "holdup why --help"),
            ("holdup why -h", "holdup why -h"),
            ("holdup sim --bogus 8", "holdup sim --bogus 8"),
            ("holdup why --color never sort 8", "holdup why --color never -- sort 8"),
            ("holdup why a.holdup --all", "holdup why a.holdup --all"),
            ("holdup why /etc/passwd --all", "holdup why /etc/passwd --all"),
            ("holdup why --all -- sort 8", "holdup why --all -- sort 8"),
            ("holdup report sort", "holdup report sort"),
            ("holdup sim", "holdup sim"),
        ] {
            assert_eq!(arranged(typed).as_deref(), Ok(meant), "{typed}");
        }
    }

    #[test]
    fn what_is_misspelled_is_said() {
        let instead = |typed: &str, word: &str| {
            let words: Vec<String> = typed.split(' ').map(str::to_owned).collect();
            instead_of(OsStr::new(word), &words, &command())
        };
        let said = |typed: &str, word: &str| instead(typed, word).unwrap_or_default();
        assert!(said("holdup --hmtl x", "--hmtl").contains("holdup report --html OUT app.holdup"));
        assert!(
            said("holdup recrod ./app", "recrod").ends_with("the command record? write holdup record ./app")
        );
        assert!(said("holdup A=1 ./app", "A=1").ends_with("A=1 holdup ./app"));
        assert_eq!(instead("holdup -- ./recrod", "./recrod"), None);
        assert_eq!(nearest("recrod", ["report", "record"].into_iter()), Some("record"));
        assert_eq!(nearest("pigz", ["report", "record"].into_iter()), None);
    }
}
