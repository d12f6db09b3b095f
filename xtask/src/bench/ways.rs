//! The ways to run a program: as it is, under holdup, under what else is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// One way to run a program.
pub(super) struct Way {
    pub(super) name: &'static str,
    /// Command words, of which `{output}` is replaced by the file that it writes; the program's follow.
    prefix: Vec<String>,
    /// Whether the program's words are one argument, the first of them an absolute path: bpftrace refuses a
    /// name that PATH finds in both /bin and /usr/bin.
    joined: bool,
    output: PathBuf,
    /// The holdup that wrote the output, if the program's own time is to be read from it.
    reader: Option<PathBuf>,
}

/// A tool that others use for the question.
struct Peer {
    name: &'static str,
    package: &'static str,
    prefix: &'static [&'static str],
    joined: bool,
    needs_root: bool,
}

const PEERS: &[Peer] = &[
    Peer {
        name: "perf sched record",
        package: "linux-perf",
        prefix: &["perf", "sched", "record", "-o", "{output}", "--"],
        joined: false,
        needs_root: true,
    },
    Peer {
        name: "perf trace -s",
        package: "linux-perf",
        prefix: &["perf", "trace", "-s", "-o", "{output}", "--"],
        joined: false,
        needs_root: true,
    },
    Peer {
        name: "bpftrace",
        package: "bpftrace",
        // What a look for contended futexes is usually written as.
        prefix: &[
            "bpftrace",
            "-o",
            "{output}",
            "-e",
            "tracepoint:syscalls:sys_enter_futex { @begin[tid] = nsecs; } tracepoint:syscalls:sys_exit_futex /@begin[tid]/ { @wait[tid] = sum(nsecs - @begin[tid]); delete(@begin[tid]); }",
            "-c",
        ],
        joined: true,
        needs_root: true,
    },
    Peer {
        name: "coz",
        package: "coz-profiler",
        prefix: &["coz", "run", "-o", "{output}", "---"],
        joined: false,
        needs_root: false,
    },
];

/// Plain first, then holdup, then each peer that runs `true` here. Peers that do not are named on stderr,
/// with the reason.
pub(super) fn installed(holdup: &Path, scratch: &Path) -> Vec<Way> {
    let output = scratch.join("output");
    let way = |name, prefix: &[&str], joined| Way {
        name,
        prefix: prefix.iter().map(|word| word.replace("{output}", &output.to_string_lossy())).collect(),
        joined,
        output: output.clone(),
        reader: None,
    };
    let reader = Some(holdup.to_owned());
    let holdup = holdup.to_string_lossy();
    let mut ways = vec![
        way("plain", &[], false),
        Way { reader, ..way("holdup", &[holdup.as_ref(), "record", "-o", "{output}", "--"], false) },
        way("the whole command", &[holdup.as_ref(), "record", "-o", "{output}", "--"], false),
    ];
    for peer in PEERS {
        let way = way(peer.name, peer.prefix, peer.joined);
        match way.trial() {
            Ok(()) => ways.push(way),
            Err(reason) => {
                let root = if peer.needs_root { "; needs root" } else { "" };
                eprintln!("xtask: without {}: {reason} (package {}{root})", peer.name, peer.package);
            }
        }
    }
    ways
}

/// Plain, and holdup with these options of `record`.
pub(super) fn with_options(holdup: &Path, scratch: &Path, options: &[&str]) -> Vec<Way> {
    let output = scratch.join("output");
    let way =
        |name, prefix: Vec<String>| Way { name, prefix, joined: false, output: output.clone(), reader: None };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let (holdup, output) = (holdup.to_string_lossy(), output.to_string_lossy());
    let record = [words(&[&holdup, "record", "-o", &output]), words(options), words(&["--"])].concat();
    vec![way("plain", Vec::new()), way("holdup", record)]
}

impl Way {
    /// A command that runs `program` this way, with an output file that does not exist yet.
    pub(super) fn command(&self, program: &[String]) -> Command {
        // perf and holdup refuse or rename what is there; a file that was never written is no failure.
        let _ = fs::remove_file(&self.output);
        let mut words = self.prefix.clone();
        if self.joined {
            let program = [&[absolute(&program[0])], &program[1..]].concat();
            words.push(program.join(" "));
        } else {
            words.extend_from_slice(program);
        }
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null());
        command
    }

    /// Whether the last command left a result. One that did not has measured something else.
    pub(super) fn wrote_its_output(&self) -> bool {
        self.prefix.is_empty() || fs::metadata(&self.output).is_ok_and(|file| file.len() > 0)
    }

    /// How long the last program ran, in seconds, where its recorder tells: from its start to its end, without the
    /// recorder's own start and the search for names. `None` for ways that do not tell.
    pub(super) fn program_seconds(&self) -> Option<Result<f64, String>> {
        let reader = self.reader.as_ref()?;
        let told = Command::new(reader).arg("report").arg(&self.output).arg("--json").output();
        Some(told.map_err(|error| error.to_string()).and_then(|told| {
            let report: serde_json::Value =
                serde_json::from_slice(&told.stdout).map_err(|error| error.to_string())?;
            let wall = report["run"]["wall_ns"].as_f64().ok_or("the report has no run.wall_ns")?;
            Ok(wall / 1e9)
        }))
    }

    fn trial(&self) -> Result<(), String> {
        let output = self
            .command(&["true".to_owned()])
            .output()
            .map_err(|error| format!("not installed ({error})"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("does not work here: {}", last_line(&output.stderr)))
    }
}

/// Where PATH finds a program.
pub(super) fn absolute(program: &str) -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file());
    found.map_or_else(|| program.to_owned(), |file| file.to_string_lossy().into_owned())
}

/// The last thing that a failed command said.
pub(super) fn last_line(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    text.trim().lines().next_back().unwrap_or("it said nothing").trim().to_owned()
}
