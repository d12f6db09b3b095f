//! What do the records cost? `cost ROUNDS COMMAND…` runs the command without events and with several sets of them in
//! turn, and prints each set's median CPU time and its cost per switch.
//!
//! For a program that does nothing but switch on one processor, the cost per switch is that of the records. CPU time
//! is what other programs disturb least; it is counted in ticks of 10 ms, so let the command run for a second.

use std::error::Error;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use holdup_kernel::{Completeness, Drained, Linux, Sampling, Waited, Wanted, Watch, What};

/// What becomes of the events 5 ms after the start.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    On,
    Off,
    Suspended,
}

/// What one run gave.
#[derive(Default)]
struct Run {
    seconds: f64,
    switches: u64,
    wakings: u64,
    samples: u64,
    lost: u64,
    missing: u64,
    drained: Drained,
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [rounds, program, arguments @ ..] = words.as_slice() else {
        return Err("usage: cost ROUNDS COMMAND…".into());
    };
    let rounds: usize = rounds.parse()?;
    let none = Wanted { switches: false, samples: None, wakings: false, ..Wanted::default() };
    let registers_only = Sampling { stack_bytes: 0, ..Sampling::default() };
    let switches = Wanted { switches: true, ..none };
    let both = Wanted { wakings: false, ..Wanted::default() };
    let sets = [
        ("no events", None),
        ("tasks only", Some((none, Then::On))),
        ("switches, samples, off", Some((both, Then::Off))),
        ("the same, suspended", Some((both, Then::Suspended))),
        ("switches", Some((switches, Then::On))),
        ("samples", Some((Wanted { samples: Some(Sampling::default()), ..none }, Then::On))),
        ("samples without stacks", Some((Wanted { samples: Some(registers_only), ..none }, Then::On))),
        ("switches, samples", Some((both, Then::On))),
        ("all, with wakings", Some((Wanted::default(), Then::On))),
    ];
    let mut runs: Vec<Vec<Run>> = sets.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for ((_, set), runs) in sets.iter().zip(&mut runs) {
            runs.push(run(program, arguments, *set)?);
        }
    }
    let all = runs.last().and_then(|runs| runs.first()).map_or(0, |run| run.switches);
    let mut plain = None;
    println!("{:24} {:>12} {:>12} {:>10}", "", "median CPU s", "µs/switch", "switches/s");
    for ((name, _), mut runs) in sets.iter().zip(runs) {
        runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let median = &runs[rounds / 2];
        let plain = *plain.get_or_insert(median.seconds);
        let cost = (median.seconds - plain) * 1e6 / (all as f64 / 2.0);
        let rate = all as f64 / 2.0 / median.seconds;
        let lost: u64 = runs.iter().map(|run| run.lost).sum();
        let missing: u64 = runs.iter().map(|run| run.missing).sum();
        let Run { seconds, switches, wakings, samples, drained, .. } = median;
        println!(
            "{name:24} {seconds:12.3} {cost:12.3} {rate:10.0}  records: {switches} switches, {wakings} wakings, {samples} \
             samples; lost {lost}, missing {missing}; {drained:?}"
        );
    }
    Ok(())
}

fn run(program: &str, arguments: &[String], set: Option<(Wanted, Then)>) -> Result<Run, Box<dyn Error>> {
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null());
    let Some((wanted, then)) = set else {
        let before = seconds_of_children()?;
        command.spawn()?.wait()?;
        return Ok(Run { seconds: seconds_of_children()? - before, ..Run::default() });
    };
    let before = seconds_of_children()?;
    let starter = thread::spawn(move || {
        let watch = Watch::over_children(&Linux, wanted).map_err(|error| error.to_string())?;
        let child = command.spawn().map_err(|error| error.to_string())?;
        Ok::<_, String>((watch, child))
    });
    let (mut watch, mut child) = starter.join().map_err(|_| "the starting thread panicked")??;
    let mut run = Run::default();
    let mut completeness = Completeness::default();
    if then != Then::On {
        // By then the program has started, which switches them on.
        thread::sleep(Duration::from_millis(5));
    }
    match then {
        Then::On => {}
        Then::Off => {
            watch.disable()?;
        }
        Then::Suspended => {
            watch.suspend(|_| {});
            child.wait()?;
            run.seconds = seconds_of_children()? - before;
            return Ok(run);
        }
    }
    loop {
        let waited = watch.wait(Duration::from_millis(20));
        let drained = watch.drain(|event| {
            completeness.note(&event);
            match event.what {
                What::Switch(_) => run.switches += 1,
                What::Waking { .. } => run.wakings += 1,
                What::Sample(_) => run.samples += 1,
                What::Lost { count } => run.lost += count,
                _ => {}
            }
        });
        run.drained.records += drained.records;
        run.drained.unknown += drained.unknown;
        run.drained.rubbish_bytes += drained.rubbish_bytes;
        if waited == Waited::Ended {
            break;
        }
    }
    let total = completeness.total();
    run.missing = total.missing_ins + total.missing_outs;
    child.wait()?;
    run.seconds = seconds_of_children()? - before;
    Ok(run)
}

/// CPU time of all children that have been waited for (`cutime` and `cstime`, in hundredths of a second).
fn seconds_of_children() -> Result<f64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The name, in parentheses, may have spaces. Behind it comes the third field.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_ascii_whitespace();
    Ok(fields.skip(13).take(2).map(str::parse::<f64>).sum::<Result<f64, _>>()? / 100.0)
}
