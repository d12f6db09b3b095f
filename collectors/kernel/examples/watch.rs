//! Prints what the kernel tells of a program: `watch -- COMMAND…`, or of a process: `watch PID SECONDS`.

use std::error::Error;
use std::io::Write;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use holdup_kernel::{Abilities, Completeness, Event, Linux, Pid, Waited, Wanted, Watch, What};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let wanted = Wanted::default();
    let (mut watch, child, until) = match words.as_slice() {
        [dashes, program, arguments @ ..] if dashes == "--" => {
            let mut command = Command::new(program);
            command.args(arguments);
            let (watch, child) = start(command, wanted)?;
            (watch, Some(child), None)
        }
        [pid, seconds] => {
            let watch = Watch::over_process(&Linux, Pid(pid.parse()?), wanted)?;
            watch.enable()?;
            (watch, None, Some(Instant::now() + Duration::from_secs_f64(seconds.parse()?)))
        }
        _ => return Err("usage: watch -- COMMAND…, or watch PID SECONDS".into()),
    };
    eprintln!("{:#?}, rings of {} bytes", Abilities::of(&Linux), watch.ring_bytes());
    let mut completeness = Completeness::default();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut written = Ok(());
    loop {
        let waited = watch.wait(Duration::from_millis(20));
        watch.drain(|event| {
            completeness.note(&event);
            written = written.as_mut().map_or_else(|_| Ok(()), |()| show(&mut out, &event));
        });
        if waited == Waited::Ended || until.is_some_and(|until| Instant::now() >= until) {
            break;
        }
    }
    out.flush()?;
    for (cpu, counts) in completeness.by_cpu() {
        eprintln!("processor {cpu}: {counts:?}");
    }
    if let Some(mut child) = child {
        eprintln!("{}", child.wait()?);
    }
    Ok(written?)
}

/// Opens the events and starts the program on a thread of its own, so that nothing else inherits them.
fn start(mut command: Command, wanted: Wanted) -> Result<(Watch, Child), Box<dyn Error>> {
    let opened = thread::spawn(move || {
        let watch = Watch::over_children(&Linux, wanted).map_err(|error| error.to_string())?;
        let child = command.spawn().map_err(|error| error.to_string())?;
        Ok::<_, String>((watch, child))
    });
    Ok(opened.join().map_err(|_| "the starting thread panicked")??)
}

fn show(out: &mut impl Write, event: &Event<'_>) -> std::io::Result<()> {
    let Event { time_ns, pid, tid, cpu, what } = event;
    let at = format!("{:>14.6} ms  cpu {cpu}  {pid}/{tid}", *time_ns as f64 / 1e6);
    match what {
        What::Sample(sample) => {
            let registers = sample.registers;
            let (weight, kernel, stack) = (sample.weight_ns, sample.in_kernel, sample.stack.len());
            writeln!(out, "{at}  sample {weight} ns, kernel {kernel}, {registers:x?}, {stack} bytes of stack")
        }
        What::Name { tid, name, exec, .. } => {
            writeln!(out, "{at}  name of {tid}: {}, exec {exec}", name.escape_ascii())
        }
        What::Mapping { pid, start, len, path, .. } => {
            writeln!(out, "{at}  code in {pid}: {start:#x} + {len:#x} {}", path.escape_ascii())
        }
        other => writeln!(out, "{at}  {other:?}"),
    }
}
