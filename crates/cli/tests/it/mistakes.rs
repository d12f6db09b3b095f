//! Typical mistakes at the command line: each is answered in a line that says what is wrong, and what to write instead.

use std::env::{join_paths, split_paths, var_os};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::stage::{self, HOLDUP, Stage, assert_refused, is_root, run, text};

/// What is typed, and the words that the answer must have.
type Mistake = (&'static str, &'static [&'static str]);

const COMMANDS: &[Mistake] = &[
    ("holdup recrod ./app", &["recrod: no such program", "the command record?", "write holdup record ./app"]),
    ("holdup scael -t 1,2 ./app", &["the command scale?", "write holdup scale -t 1,2 ./app"]),
    ("holdup run ./app", &["run: no such program", "write holdup ./app"]),
    (
        "holdup run ./app /a/first/file/of/a/thousand /a/second/file/of/a/thousand /a/third/file/of/a/thousand /a/fourth/file/of/a/thousand/files",
        &[
            "write holdup ./app /a/first/file/of/a/thousand /a/second/file/of/a/thousand /a/third/file/of/a/thousand …",
        ],
    ),
    ("holdup compare app.holdup b.holdup", &["write holdup diff app.holdup b.holdup"]),
    ("holdup version", &["write holdup --version"]),
    ("holdup help reprot", &["reprot: no such command", "write holdup report --help"]),
    ("holdup record", &["PROGRAM is required", "write holdup record -o app.holdup ./app"]),
    ("holdup report", &["FILE is required", "write holdup report app.holdup"]),
    ("holdup why", &["FILE is required", "write holdup why -- ./app"]),
    ("holdup scale", &["PROGRAM is required", "write holdup scale -t"]),
    (
        "holdup check app.holdup",
        &["--budget BUDGET is required", "write holdup check", "--budget 'efficiency"],
    ),
    (
        "holdup diff app.holdup",
        &["1 given where 2 are needed", "write holdup diff before.holdup after.holdup"],
    ),
    (
        "holdup export app.holdup",
        &["--format FORMAT is required", "holdup export --format firefox app.holdup"],
    ),
    ("holdup doctor now", &["now: one word too many", "write holdup doctor"]),
    ("holdup -- record", &["record: no such program"]),
];

const OPTIONS: &[Mistake] = &[
    (
        "holdup --json ./app",
        &["--json is an option of report,", "give it with the command", "holdup report --json app"],
    ),
    ("holdup --hmtl x.html ./app", &["--hmtl:", "holdup report --html OUT app.holdup"]),
    ("holdup -t 4 ./app", &["-t is an option of scale,", "holdup scale -t LIST ./app"]),
    ("holdup -p 1", &["-p:", "the option --pid PID?"]),
    ("holdup record --max-cots=1 ./app", &["--max-cots=1:", "the option --max-cost PERCENT?"]),
    ("holdup record --zzzz ./app", &["--zzzz:", "no such option", "holdup --help"]),
    ("holdup report --jsn app.holdup", &["--jsn:", "holdup report has no such option", "the option --json?"]),
    ("holdup report -o x app.holdup", &["-o:", "the option --output FILE?"]),
    ("holdup --color never report none.holdup", &["none.holdup: cannot be read"]),
    ("holdup -o x.holdup record ./none", &["./none: no such program"]),
    ("holdup report app.holdup --html", &["--html needs a value: write --html OUT"]),
    ("holdup report --html app.holdup", &["FILE is required", "app.holdup is the value of --html"]),
    ("holdup -o ./app", &["PROGRAM is required (./app is the value of -o)", "write holdup ./app"]),
    ("holdup -o a.holdup -o b.holdup ./app", &["-o stands there twice", "write it once"]),
    ("holdup --pid 1 ./app", &["--pid PID cannot be used with PROGRAM", "leave one out"]),
    ("holdup record --roi all ./app", &["--roi", "write --instructions too"]),
    ("holdup record --instructions stream ./app", &["write holdup record --instructions=stream ./app"]),
];

const VALUES: &[Mistake] = &[
    ("holdup -r 0 ./app", &["-r 0: give a number from 1 to 1000"]),
    ("holdup -r many ./app", &["-r many: give a whole number"]),
    ("holdup --max-cost 0 ./app", &["--max-cost 0:", "0.1 to 100", "or none"]),
    ("holdup --duration 5m ./app", &["--duration 5m: give seconds, such as 2"]),
    ("holdup --size-limit 10G ./app", &["--size-limit 10G: give MiB", "such as 500"]),
    ("holdup --collectors perf ./app", &["perf is none of preload, kernel"]),
    ("holdup --pid app", &["--pid app: give the number", "--pid $(pidof app)"]),
    ("holdup --pid 4194305", &["process 4194305 does not exist", "ps -e"]),
    ("holdup scale -t 0 ./app", &["-t 0:", "such as 1,2,4 or 1-8"]),
    ("holdup scale -t 4-1 ./app", &["-t 4-1:", "give the smaller number first"]),
    ("holdup scale 1,2,4 ./app", &["behind -t: holdup scale -t 1,2,4 ./app"]),
    ("holdup sim --cores 0 app.holdup", &["--cores 0: give a number from 1 to 1024"]),
    ("holdup sim --machine haswel stream.holdup", &["no machine `haswel`", "mean `haswell`?"]),
    (
        "holdup sim --machine key.toml stream.holdup",
        &["key.toml: line 6:", "`freqency`", "mean `frequency`?"],
    ),
    ("holdup sim --machine unit.toml stream.holdup", &["unit.toml: line 6:", "a number without a unit"]),
    ("holdup sim --machine none.toml stream.holdup", &["none.toml:", "holdup sim --list-machines"]),
    ("holdup sim --what-if perfect-branch stream.holdup", &["mean perfect-branches?"]),
    ("holdup sim --what-if nonsense stream.holdup", &["`nonsense` is no change; there are perfect-branches"]),
    ("holdup export --format firefx app.holdup", &["firefx is none of firefox, ", "mean firefox?"]),
    ("holdup completions bsh", &["bsh is none of bash, ", "mean bash?"]),
    ("holdup explain lok", &["lok: no kind of finding", "mean lock"]),
    ("holdup explain pizza", &["pizza: no kind of finding", "holdup explain lists them all"]),
    ("holdup whatif app.holdup the_lock/4", &["`the_lock/4` is no change", "write such as lock:NAME=0"]),
    ("holdup whatif app.holdup lock:none=0", &["no lock is named \"none\"", "there are: table_lock"]),
    ("holdup whatif app.holdup lock:table_lock/0", &["a number above 0"]),
    ("holdup whatif lock:a=0 app.holdup", &["write holdup whatif app.holdup lock:a=0"]),
    (
        "holdup check app.holdup --budget 'speed<=5'",
        &["'speed' is nothing that can be limited", "say wall, cpu"],
    ),
    ("holdup check app.holdup --budget 'wall<=5'", &["the limit of 'wall' is a time such as 2.5s"]),
    ("holdup check app.holdup --budget 'wall<=5kg'", &["'kg' is no unit", "ns, us, ms, s"]),
    ("holdup report --from 5 --to 2 app.holdup", &["--from 5 is not before --to 2", "write --from 2 --to 5"]),
    ("holdup report --from 100 app.holdup", &["app.holdup: nothing", "write less behind --from"]),
    ("holdup report --process 1 app.holdup", &["app.holdup: no process 1", "it has "]),
    ("holdup sweep plan.toml", &["plan.toml:2:3", "`programm`", "`program`"]),
    ("holdup sweep none.toml", &["none.toml:", "docs/sweep.md"]),
    ("holdup sweep app.holdup", &["app.holdup:", "a plan is a TOML file"]),
];

const PROGRAMS: &[Mistake] = &[
    ("holdup ./none", &["./none: no such program", "check the path"]),
    (
        "holdup record -o x.holdup ./ap",
        &["./ap: no such program", "mean ./app? write holdup record -o x.holdup ./app"],
    ),
    ("holdup app", &["app: no such program in PATH", "write holdup ./app"]),
    ("holdup no-such-program-anywhere", &["no-such-program-anywhere: no such program", "PATH"]),
    ("holdup ./folder", &["./folder: is a directory", "name a program in it"]),
    ("holdup ./data", &["./data: is not an executable file", "write chmod +x ./data"]),
    ("holdup ./data/below", &["./data/below: no such program"]),
    ("holdup ./empty", &["./empty: is neither an ELF program nor a script", "holdup sh ./empty"]),
    ("holdup ./cut", &["./cut: is cut off or damaged", "build or copy it again"]),
    ("holdup ./orphan", &["its interpreter /no/such/interpreter does not exist", "holdup sh ./orphan"]),
    ("holdup ./windows", &["its interpreter /bin/sh\\r does not exist", "sed -i 's/\\r$//' ./windows"]),
    (
        "holdup record -o x.foreign ./foreign",
        &["./foreign: is a program for another kind of machine", "build it"],
    ),
    ("holdup record -o x.narrow ./narrow", &["./narrow: is a 32-bit program", "build it for 64 bits"]),
    ("holdup './app arg'", &["./app arg: no such program", "without the quotes write holdup ./app arg"]),
    ("holdup './app > out.txt'", &["write holdup sh -c './app > out.txt'"]),
    ("holdup OMP_NUM_THREADS=4 ./app", &["a variable, not a program", "OMP_NUM_THREADS=4 holdup ./app"]),
    ("holdup record 'A=4 ./app'", &["a variable, not a program", "A=4 holdup record ./app"]),
    ("holdup cd folder", &["cd: no program", "write holdup sh -c 'cd folder'"]),
    ("holdup why app.holdup arg", &["arg: one word too many", "write holdup why -- ./app"]),
    ("holdup app.holdup", &["app.holdup: a recording, not a program", "write holdup report app.holdup"]),
    ("holdup record ./app.holdup", &["write holdup report ./app.holdup"]),
];

const FILES: &[Mistake] = &[
    (
        "holdup report ap.holdup",
        &["ap.holdup: cannot be read (No such file or directory)", "mean app.holdup?"],
    ),
    ("holdup open none", &["none: cannot be read", "recordings there: app.holdup"]),
    ("holdup report folder", &["folder: cannot be read (Is a directory)", "name a recording in it"]),
    ("holdup report empty.holdup", &["empty.holdup: the file is empty", "record again"]),
    ("holdup report ./app", &["./app: not a recording of holdup, but a program", "holdup record -o FILE"]),
    (
        "holdup report perf.data",
        &["perf.data: not a recording of holdup, but one of perf", "holdup record -o FILE"],
    ),
    ("holdup report page.html", &["page.html: not a recording of holdup, but a page", "browser"]),
    ("holdup report data", &["data: not a recording of holdup", "holdup record -o FILE"]),
    (
        "holdup why app.holdup",
        &["app.holdup: the recording has no instruction", "holdup record --instructions -o"],
    ),
    ("holdup sim app.holdup", &["app.holdup: the recording has no instruction", "--instructions=stream -o"]),
    (
        "holdup policies app.holdup",
        &["app.holdup: the recording has no instruction", "--instructions=stream -o"],
    ),
    ("holdup scale --from folder", &["folder: there are no runs", "make some with --runs"]),
    ("holdup report --html folder app.holdup", &["folder: the answer cannot be written here", "name a file"]),
    (
        "holdup report --html no/x.html app.holdup",
        &["no/x.html: the answer cannot be written here", "name a file"],
    ),
    ("holdup report --output /dev/full app.holdup", &["/dev/full: the answer cannot be written here"]),
    ("holdup report --html app.holdup app.holdup", &["which it would replace", "give --html another name"]),
    ("holdup -o folder ./app", &["folder: the recording cannot be written", "a directory", "-o FILE"]),
    ("holdup record -o no/such/place ./app", &["no/such/place:", "No such file", "-o FILE"]),
    ("holdup -o /dev/full ./app", &["/dev/full:", "a device", "-o FILE"]),
    ("holdup record -o /proc/version ./app", &["/proc/version:", "cannot be written", "-o FILE"]),
    ("holdup -o app ./app", &["app: the recording cannot be written", "would be lost", "-o FILE"]),
    ("holdup -o data ./app", &["data: the recording cannot be written", "would be lost", "-o FILE"]),
];

/// Enough for what is wrong and what to write, and no more than is read.
const LONGEST: usize = 300;

/// A shell in a directory with all that the mistakes are made with, where `holdup` is found, and beside it only what the
/// mistakes are about: some machine has a program that is called like one.
fn shell(stage: &Stage, typed: &str) -> stage::Ended {
    let folder = Path::new(HOLDUP).parent().expect("a directory").to_owned();
    let path = join_paths([folder, stage.path("programs")]).expect("directories");
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", typed]).env("PATH", path).current_dir(stage.directory());
    run(&mut shell)
}

fn furnished() -> Stage {
    let stage = Stage::new();
    let recordings = stage::golden::recordings();
    let machine = text(&run(Command::new(HOLDUP).args(["sim", "--show-machine", "dunnington"])).stdout);
    fs::create_dir(stage.path("folder")).expect("mkdir");
    fs::create_dir(stage.path("programs")).expect("mkdir");
    let directories = var_os("PATH").unwrap_or_default();
    for name in ["sh", "qemu-x86_64"] {
        let found =
            split_paths(&directories).map(|directory| directory.join(name)).find(|file| file.exists());
        if let Some(found) = found {
            symlink(found, stage.path("programs").join(name)).expect("a link");
        }
    }
    fs::copy(recordings.join("critical_section.holdup"), stage.path("app.holdup")).expect("a recording");
    fs::copy(recordings.join("condition_barrier_stream.holdup"), stage.path("stream.holdup"))
        .expect("a recording");
    stage.write("empty.holdup", "");
    stage.write("data", "no program");
    stage.write("perf.data", "PERFILE2 and then much more than a header is long");
    stage.write("page.html", "<!DOCTYPE html><html><body>nothing to see here</body></html>");
    stage.write("key.toml", machine.replace("frequency", "freqency"));
    stage.write("unit.toml", machine.replace("frequency = 2.67", "frequency = \"2.67 GHz\""));
    stage.write("plan.toml", "threads = [1]\n[[programm]]\nname = \"a\"\ncommand = \"./app\"\n");
    let own = fs::read("/bin/sh").expect("a program");
    stage.write_executable("app", &own);
    let changed = |bytes: &[(usize, u8)]| {
        let mut own = own.clone();
        bytes.iter().for_each(|(at, byte)| own[*at] = *byte);
        own
    };
    const SPARC: u8 = 43;
    const I386: u8 = 3;
    stage.write_executable("foreign", changed(&[(18, SPARC), (19, 0)]));
    stage.write_executable("narrow", changed(&[(4, 1), (18, I386), (19, 0)]));
    stage.write_executable("empty", "");
    stage.write_executable("cut", b"\x7fELF\x02\x01\x01");
    stage.write_executable("orphan", "#!/no/such/interpreter\n");
    stage.write_executable("windows", "#!/bin/sh\r\necho\r\n");
    stage
}

#[test]
fn mistakes_are_answered_in_a_line_with_what_to_write() {
    let stage = furnished();
    let all = [COMMANDS, OPTIONS, VALUES, PROGRAMS, FILES].concat();
    for (typed, says) in &all {
        let ended = shell(&stage, typed);
        assert_eq!(ended.status, 2, "{typed}: {ended:?}");
        assert_refused(&ended, 2, says);
        let said = text(&ended.stderr);
        assert!(said.chars().count() <= LONGEST, "{typed}: {said}");
        assert!(!said.contains("os error"), "{typed}: {said}");
        assert!(!stage.path("x.holdup").exists(), "{typed}: nothing was recorded");
        assert!(stage.path("app.holdup").exists(), "{typed}: an earlier recording stays where it is");
    }
    assert!(all.len() >= 100, "{} mistakes", all.len());
    let kept = fs::read(stage.path("data")).expect("a file");
    assert_eq!(kept, b"no program", "recordings replace nothing else");
}

#[test]
fn without_any_word_it_says_what_to_type() {
    let ended = run(&mut Command::new(HOLDUP));
    let said = text(&ended.stderr);
    assert_eq!((ended.status, ended.stdout.as_slice()), (2, &b""[..]));
    assert!(said.lines().count() <= 10 && said.contains("holdup ./app") && said.contains("--help"), "{said}");
}

/// Root may record everything.
#[test]
fn processes_of_other_users_are_refused() {
    if is_root() {
        return;
    }
    for words in [["--pid", "1"], ["record", "--pid=1"]] {
        assert_refused(&run(Command::new(HOLDUP).args(words)), 2, &["process 1 ", "another user", "as root"]);
    }
}
