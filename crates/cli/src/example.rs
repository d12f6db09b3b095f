//! How a command is called: its name, and a line to write.

use clap::Command;

/// What to write, of commands whose help does not begin with an example.
const EXAMPLES: [(&str, &str); 13] = [
    ("holdup", "holdup ./app input.dat"),
    ("record", "holdup record -o app.holdup ./app input.dat"),
    ("report", "holdup report app.holdup"),
    ("open", "holdup open app.holdup"),
    ("serve", "holdup serve app.holdup"),
    ("diff", "holdup diff before.holdup after.holdup"),
    ("check", "holdup check app.holdup --budget 'efficiency>=0.7'"),
    ("explain", "holdup explain lock"),
    ("export", "holdup export --format firefox app.holdup"),
    ("whatif", "holdup whatif app.holdup cores=8"),
    ("top", "holdup top ./app input.dat"),
    ("completions", "holdup completions bash"),
    ("man", "holdup man --dir man1"),
];

/// How a command is called.
pub(crate) fn called(command: &Command) -> String {
    match command.get_name() {
        "holdup" => "holdup".to_owned(),
        name => format!("holdup {name}"),
    }
}

/// A command line of this command: the first of its help, or one from the list.
pub(crate) fn example(command: &Command) -> String {
    let listed = EXAMPLES.iter().find(|(name, _)| *name == command.get_name());
    if let Some((_, example)) = listed {
        return (*example).to_owned();
    }
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let first = help.lines().next().filter(|line| line.starts_with("holdup "));
    first.and_then(|line| line.split("  ").next()).map_or_else(|| called(command), str::to_owned)
}
