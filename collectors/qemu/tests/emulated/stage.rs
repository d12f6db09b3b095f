//! Builds the plugin and programs, and runs these under QEMU.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

use super::reader::{Counts, Event, Streams};
use super::recorder::Recorder;

/// The plugin, built once.
fn plugin() -> &'static Path {
    static PLUGIN: OnceLock<PathBuf> = OnceLock::new();
    PLUGIN.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugin");
        let ended = Command::new(env!("CARGO"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["rustc", "--quiet", "--lib", "--crate-type", "cdylib", "--profile", "injected"])
            .arg("--target-dir")
            .arg(&target)
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .env_remove("RUSTFLAGS")
            .output()
            .expect("cargo");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        target.join("injected/libholdup_qemu.so")
    })
}

/// A directory with a program and a session.
pub(crate) struct Stage {
    pub(crate) directory: TempDir,
    program: PathBuf,
}

/// A program that runs under QEMU.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) recorder: Recorder,
}

/// What came of it.
pub(crate) struct Run {
    pub(crate) output: Output,
    /// What the program printed as `name=number`.
    pub(crate) values: BTreeMap<String, u64>,
    pub(crate) streams: Streams,
    pub(crate) instructions: u64,
}

impl Stage {
    /// Builds a program of `tests/programs`.
    pub(crate) fn new(program: &str) -> Self {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join(program);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{program}.c"));
        let ended = Command::new("cc")
            .args(["-std=gnu11", "-O2", "-g", "-Wall", "-Wno-clobbered", "-pthread", "-o"])
            .args([&path, &source])
            .output()
            .expect("a C compiler");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        Self { directory, program: path }
    }

    /// The command that runs the program, with further arguments of the plugin.
    pub(crate) fn command(&self, options: &str) -> Command {
        let mut command = Command::new("qemu-x86_64");
        let session = self.directory.path().display();
        command
            .args(["-cpu", "max", "-plugin"])
            .arg(format!("{},session={session},{options}", plugin().display()))
            .arg(&self.program)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts the program; the recorder has that many buffers.
    pub(crate) fn start(&self, options: &str, arguments: &[&str], buffers: u32, slow: bool) -> Running {
        let recorder = Recorder::new(self.directory.path(), buffers, slow);
        let child = self.command(options).args(arguments).spawn().expect("qemu-x86_64 (package qemu-user)");
        Running { child, recorder }
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, options: &str, arguments: &[&str]) -> Run {
        let run = self.start(options, arguments, 64, false).end();
        assert!(run.output.status.success(), "{:?}", run.output);
        run
    }
}

impl Running {
    /// Waits for its end.
    pub(crate) fn end(self) -> Run {
        let output = self.child.wait_with_output().unwrap();
        let values = String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter_map(|line| line.split_once('='))
            .filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
            .collect();
        let instructions = self.recorder.instructions();
        let streams = Streams::read(&self.recorder.finish());
        Run { output, values, streams, instructions }
    }
}

impl Run {
    /// What the program printed under this name.
    pub(crate) fn value(&self, name: &str) -> u64 {
        *self.values.get(name).unwrap_or_else(|| panic!("{name} in {:?}", self.output))
    }

    /// Instructions that counts have in blocks that begin between two labels.
    pub(crate) fn between(&self, counts: &Counts, from: &str, to: &str) -> u64 {
        let range = self.value(from)..self.value(to);
        let blocks = &self.streams.blocks;
        let within = counts.executed.iter().filter(|(block, _)| range.contains(&blocks[**block].address));
        within.map(|(block, times)| blocks[*block].instructions * times).sum()
    }

    /// Of each entry of counts of a thread, in their order.
    pub(crate) fn each_between(&self, thread: u32, from: &str, to: &str) -> Vec<u64> {
        let counts = self.streams.threads[&thread].iter().filter_map(|event| match event {
            Event::Counts(counts) => Some(self.between(counts, from, to)),
            _ => None,
        });
        counts.filter(|instructions| *instructions > 0).collect()
    }
}
