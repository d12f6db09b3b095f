//! Runs a command with one thread by itself, and prints what came of it:
//! `alone LIBRARY WHICH SECONDS [core=N] COMMAND...`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use holdup_collect::{AloneOptions, Options, Setting, Window, record_alone};
use holdup_recording::Recording;

fn main() {
    let mut arguments: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    let content = std::fs::read(arguments.remove(0)).expect("the library");
    let number =
        |text: std::ffi::OsString| text.to_str().and_then(|text| text.parse::<u64>().ok()).expect("a number");
    let which = number(arguments.remove(0)) as u32;
    let seconds = number(arguments.remove(0));
    let core = arguments[0].to_str().and_then(|text| text.strip_prefix("core=")?.parse().ok());
    if core.is_some() {
        arguments.remove(0);
    }
    let output = std::env::temp_dir().join(format!("alone-{}.holdup", std::process::id()));
    let options = Options {
        output: PathBuf::from(&output),
        all_holds: false,
        kernel: false,
        every_switch: false,
        preload: true,
        arguments: true,
        window: Window::default(),
        size_limit: None,
        setting: Setting::default(),
        emulation: None,
        instrumented: false,
    };
    let alone =
        AloneOptions { which, give_up_after: Duration::from_secs(seconds), core, ..AloneOptions::default() };
    let begin = Instant::now();
    let ended = record_alone(&arguments, &options, alone, &content).expect("it starts");
    let wall = begin.elapsed();
    let (recording, warnings) = Recording::open(&output).expect("it can be read");
    let run = recording.run(&warnings);
    eprintln!("status {:?} wall {:.3} s {:?}", ended.status, wall.as_secs_f64(), recording.alone);
    for warning in &run.warnings {
        eprintln!("warning: {warning}");
    }
    for process in run.processes.iter().filter(|process| process.threads.len() > 1) {
        for index in 0..process.threads.len() {
            let of = |alone: bool| {
                let spans =
                    process.alone.iter().filter(|span| span.thread.index() == index && span.alone == alone);
                spans.fold((0, 0), |(count, cpu), span| (count + 1, cpu + span.cpu.get()))
            };
            let ((alone, alone_cpu), (other, other_cpu)) = (of(true), of(false));
            eprintln!(
                "thread {index}: cpu {:?} ms; {alone} alone {:.3} ms, {other} not {:.3} ms",
                process.threads[index].known_cpu().map(|cpu| cpu.get() / 1_000_000),
                alone_cpu as f64 / 1e6,
                other_cpu as f64 / 1e6
            );
        }
        let mut reasons = std::collections::BTreeMap::new();
        for span in &process.alone {
            let entry: &mut (u32, u64) = reasons.entry(span.reason.map(|why| why.words())).or_default();
            entry.0 += 1;
            entry.1 += span.cpu.get() / 1000;
        }
        eprintln!("{reasons:?}");
    }
    let _ = std::fs::remove_file(&output);
    std::process::exit(ended.status.code().unwrap_or(255));
}
