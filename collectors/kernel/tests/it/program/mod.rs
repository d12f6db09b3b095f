//! The measured program: this test's own binary, told what to do by a variable.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use holdup_kernel::{KernelError, Linux, Pid, Wanted, Watch};

const TASK: &str = "HOLDUP_KERNEL_TEST_TASK";

/// What the program does.
#[derive(Clone, Copy)]
pub(crate) enum Task {
    /// Two threads wait for each other so many times.
    PingPong(u32),
    /// A thread computes, for some tens of samples.
    Compute,
    /// Two threads wait for each other, a third one starts and joins others, until somebody kills them all.
    UntilKilled,
}

/// Runs this binary as the measured program.
pub(crate) fn command(task: Task) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["--exact", "program::measured", "--ignored", "--test-threads=1"]).stdout(Stdio::null());
    let task = match task {
        Task::PingPong(times) => times.to_string(),
        Task::Compute => "compute".to_owned(),
        Task::UntilKilled => "until killed".to_owned(),
    };
    command.env(TASK, task);
    command
}

#[test]
#[ignore = "it is the program that the tests record"]
fn measured() {
    let Ok(task) = std::env::var(TASK) else { return };
    match task.as_str() {
        "compute" => compute(),
        "until killed" => {
            // Not for ever, should nobody do it.
            let end = Instant::now() + Duration::from_secs(60);
            std::thread::scope(|scope| {
                scope.spawn(|| ping_pong(|_| Instant::now() < end));
                while Instant::now() < end {
                    scope.spawn(|| std::thread::sleep(Duration::from_micros(100)));
                    std::thread::sleep(Duration::from_micros(500));
                }
            });
        }
        times => {
            let times: u32 = times.parse().expect("a number of times");
            ping_pong(|done| done < times);
        }
    }
}

fn ping_pong(go_on: impl Fn(u32) -> bool) {
    let (ping, pinged) = sync_channel::<()>(0);
    let (pong, ponged) = sync_channel::<()>(0);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while pinged.recv().is_ok() {
                // A channel tries for a while before it blocks.
                std::thread::sleep(Duration::from_micros(20));
                pong.send(()).expect("the other thread waits");
            }
        });
        let mut done = 0;
        while go_on(done) {
            std::thread::sleep(Duration::from_micros(20));
            ping.send(()).expect("the other thread lives");
            ponged.recv().expect("the other thread lives");
            done += 1;
        }
        drop(ping);
    });
}

fn compute() {
    let sum = (0..50_000_000_u64).fold(0_u64, |sum, number| (sum ^ number).wrapping_mul(31));
    std::io::stdout().write_all(&sum.to_le_bytes()).expect("its output");
}

/// Opens events of what this thread starts; `None`, with the reason printed, where there are none.
pub(crate) fn over_children(wanted: Wanted) -> Option<Watch> {
    opened(Watch::over_children(&Linux, wanted))
}

/// Opens events of a process.
pub(crate) fn over_process(pid: Pid, wanted: Wanted) -> Option<Watch> {
    opened(Watch::over_process(&Linux, pid, wanted))
}

/// Starts a program under events, on a thread of its own.
pub(crate) fn spawned(mut command: Command, wanted: Wanted) -> Option<(Watch, Child)> {
    let starter = std::thread::spawn(move || {
        let watch = over_children(wanted)?;
        Some((watch, command.spawn().expect("the program")))
    });
    starter.join().expect("it does not panic")
}

fn opened(opened: Result<Watch, KernelError>) -> Option<Watch> {
    match opened {
        Ok(watch) => {
            for (kind, refusal) in watch.refused() {
                println!("not tried: {kind:?}, because {refusal} ({:?})", refusal.remedy);
            }
            Some(watch)
        }
        Err(error @ (KernelError::Refused { .. } | KernelError::Ring { .. })) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}
