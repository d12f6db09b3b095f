//! `holdup man`: the manual pages, made from what the command line says of itself.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::answer;
use crate::failure::Failure;

/// Options of `holdup man`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ManOptions {
    /// Write all pages into this directory (holdup.1, holdup-record.1…) [default: holdup.1 to standard output]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Writes the manual of this command line.
pub(crate) fn man(options: &ManOptions, line: Command) -> Result<ExitCode, Failure> {
    let pages = pages(line);
    match &options.dir {
        None => answer::write(&pages[0].1, None, io::stdout())?,
        Some(dir) => {
            fs::create_dir_all(dir).map_err(|error| unwritable(dir, &error))?;
            for (name, page) in &pages {
                let path = dir.join(format!("{name}.1"));
                fs::write(&path, page).map_err(|error| unwritable(&path, &error))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::input(format!("{}: the manual cannot be written here ({error})", path.display()))
}

/// All pages by name, that of `holdup` itself first.
fn pages(command: Command) -> Vec<(String, String)> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let commands: Vec<Command> =
        command.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    let names: Vec<String> = commands.iter().map(name).collect();
    let others: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut pages = vec![("holdup".to_owned(), main_page(command, &others))];
    for (name, command) in names.iter().zip(commands) {
        pages.push((name.clone(), page(name, command)));
    }
    for (_, page) in &mut pages {
        *page = ascii(page);
    }
    pages
}

/// Not every formatter reads UTF-8: other characters by their number, as groff_char(7) has them.
fn ascii(page: &str) -> String {
    let escaped = |c: char| match c {
        c if c.is_ascii() => c.to_string(),
        '…' => "...".to_owned(),
        c => format!("\\[u{:04X}]", u32::from(c)),
    };
    page.chars().map(escaped).collect()
}

fn name(command: &Command) -> String {
    format!("holdup-{}", command.get_name())
}

fn main_page(command: Command, others: &[&str]) -> String {
    let man = Man::new(command);
    let parts = [Man::render_title, Man::render_name_section, Man::render_synopsis_section];
    let options = [Man::render_options_section, Man::render_subcommands_section];
    let see: Vec<String> = others.iter().map(|name| format!("{name}(1)")).collect();
    [
        rendered(&man, &parts),
        text("DESCRIPTION", DESCRIPTION),
        rendered(&man, &options),
        list("EXIT STATUS", STATUSES),
        list("ENVIRONMENT", ENVIRONMENT),
        list("FILES", FILES),
        list("EXAMPLES", EXAMPLES),
        text("SEE ALSO", &see.join(", ")),
    ]
    .concat()
}

fn page(name: &str, command: Command) -> String {
    let man = Man::new(command.display_name(name.to_owned())).source(SOURCE);
    let parts = [
        Man::render_title,
        Man::render_name_section,
        Man::render_synopsis_section,
        Man::render_description_section,
        Man::render_options_section,
    ];
    rendered(&man, &parts) + &text("SEE ALSO", "holdup(1) has examples, files and exit statuses.")
}

type Part = fn(&Man, &mut dyn io::Write) -> io::Result<()>;

fn rendered(man: &Man, parts: &[Part]) -> String {
    let mut page = Vec::new();
    for part in parts {
        part(man, &mut page).expect("a Vec takes all that is written to it");
    }
    String::from_utf8_lossy(&page).into_owned()
}

fn text(title: &str, text: &str) -> String {
    Roff::new().control("SH", [title]).text([roman(text)]).render()
}

/// A section of terms with what they mean.
fn list(title: &str, entries: &[(&str, &str)]) -> String {
    let mut roff = Roff::new();
    roff.control("SH", [title]);
    for (term, meaning) in entries {
        roff.control("TP", []).text([bold(*term)]).text([roman(*meaning)]);
    }
    roff.render()
}

/// What the foot of each page says.
const SOURCE: &str = concat!("holdup ", env!("CARGO_PKG_VERSION"));

const DESCRIPTION: &str = "\
holdup records a threaded Linux program and says which thread, which lock and which line hold it up, what each cause \
costs, and where to begin. It needs neither a special build nor root. What follows PROGRAM is the program's; a \
program whose name is that of a command is run by holdup -- PROGRAM.";

const STATUSES: &[(&str, &str)] = &[
    ("that of the program", "of commands that run one; 128 + N if it was killed by signal N."),
    ("0", "of all others: done."),
    ("1", "A check failed: something is worse than it was allowed to be."),
    (
        "2",
        "Wrong usage or input: no such program, not a recording. Of commands that run a program before it starts only.",
    ),
    (
        "3",
        "Something needed is missing on this machine. Of commands that run a program before it starts only.",
    ),
];

const ENVIRONMENT: &[(&str, &str)] = &[
    ("LD_PRELOAD, HOLDUP_SESSION", "are set for the program that is recorded."),
    ("HOLDUP_QEMU", "names the qemu-x86_64 under which instructions are recorded."),
    ("HOLDUP_RESCTRL", "is where the kernel's cache allocation is mounted, if not at /sys/fs/resctrl."),
    ("NO_COLOR", "switches colour off, where --color does not say otherwise."),
    ("COLUMNS", "is the width of the answer; without it that of the terminal, else 100."),
    ("LC_ALL, LC_CTYPE, LANG", "say whether characters outside of ASCII may be shown."),
    (
        "TMPDIR, XDG_CACHE_HOME, HOME",
        "say where the recording and the library go where other places cannot be written.",
    ),
];

const FILES: &[(&str, &str)] = &[
    (
        "PROGRAM.holdup",
        "The recording, in the current directory, with mode 0600. An earlier one is kept as PROGRAM.old.holdup. \
      It holds copies of stack memory: keep it as a core dump.",
    ),
    ("/dev/shm/holdup-session-*", "Memory that is shared with the program while it is recorded."),
    (
        "libholdup-*.so",
        "The library that is preloaded, in $XDG_CACHE_HOME/holdup or the first other private place that can be used.",
    ),
];

const EXAMPLES: &[(&str, &str)] = &[
    ("holdup ./app input.dat", "records the program and says what holds it up."),
    ("holdup record -o run.holdup -- ./app input.dat", "only records."),
    ("holdup report run.holdup --json", "prints everything that the recording shows, for scripts."),
    (
        "holdup scale -t 1,2,4,8 -- ./app {threads}",
        "runs the program with several numbers of threads, and says how it scales.",
    ),
    (
        "holdup why -- ./app input.dat",
        "says which line makes threads unequal; needs QEMU (holdup doctor says whether it is there).",
    ),
    (
        "holdup sim --cores 4,16 --machine dunnington -- ./app input.dat",
        "says where the cycles of each thread would go on that machine; needs QEMU too.",
    ),
    ("holdup --pid 4711 --duration 10", "records a running process for ten seconds."),
    ("holdup explain lock", "says what the finding means and how to fix it."),
    ("holdup doctor", "says what this machine allows."),
];
