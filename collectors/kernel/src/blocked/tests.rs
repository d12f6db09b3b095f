use std::io::Write;
use std::process::{Child, Command, Stdio};

use super::*;

#[test]
fn lines_of_the_kernel_are_understood() {
    assert_eq!(parse(b"running\n").expect("a line"), None);
    let call = b"202 0x7f10 0x80 0x0 0x0 0x0 0xffffffffffffffff 0x7ffd10 0x7f99\n";
    let Some(Blocked { call: Some(call), sp, pc, .. }) = parse(call).expect("a line") else {
        panic!("a call")
    };
    assert_eq!(call, Call { number: 202, arguments: [0x7f10, 0x80, 0, 0, 0, u64::MAX] });
    assert_eq!((sp, pc), (0x7ffd10, 0x7f99));
    let fault = parse(b"-1 0x7ffd10 0x7f99\n").expect("a line");
    assert_eq!(fault, Some(Blocked { call: None, sp: 0x7ffd10, pc: 0x7f99, stack: &[] }));
}

#[test]
fn other_lines_are_errors() {
    for line in ["", "runn", "-1", "-1 0x1", "202 0x1 0x2", "x 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8", "-1 1 2"] {
        assert!(parse(line.as_bytes()).is_err(), "{line}");
    }
}

/// A program that waits for its input.
fn waiting() -> Child {
    Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("cat")
}

/// Its place in `read(0, …)`, as soon as it is there.
fn until_it_reads(lookout: &mut Lookout) -> io::Result<(Call, u64, Vec<u8>)> {
    loop {
        if let Sight::Blocked(Blocked { call: Some(call), sp, stack, .. }) = lookout.look()?
            && call.number == libc::SYS_read as u64
            && call.arguments[0] == 0
        {
            return Ok((call, sp, stack.to_vec()));
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_blocked_thread_is_found_where_it_waits() {
    let processes = Processes::here();
    let mut child = waiting();
    let (pid, tid) = (Pid(child.id()), Tid(child.id()));
    let mut lookout = Lookout::on(&processes, pid, tid, 4096).expect("a child");
    match until_it_reads(&mut lookout) {
        Ok((_, sp, stack)) => {
            assert!(!stack.is_empty() && stack.len() <= 4096, "{} bytes", stack.len());
            // The copy is what the memory file shows.
            let mut same = vec![0; stack.len()];
            let memory = File::open(format!("/proc/{pid}/mem")).expect("its memory");
            memory.read_exact_at(&mut same, sp).expect("its stack");
            assert_eq!(stack, same);
        }
        Err(error) => println!("skipped: threads cannot be looked into here ({error})"),
    }
    drop(child.stdin.take());
    child.wait().expect("its end");
    assert!(lookout.look().is_err(), "it has ended");
}

#[test]
fn the_copy_ends_with_the_stack() {
    let processes = Processes::here();
    let mut child = waiting();
    let (pid, tid) = (Pid(child.id()), Tid(child.id()));
    // No main thread has more than 8 MiB below its first frame here.
    let mut lookout = Lookout::on(&processes, pid, tid, 1 << 20).expect("a child");
    match until_it_reads(&mut lookout) {
        Ok((_, sp, stack)) => {
            let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("maps");
            let line = maps.lines().find(|line| line.ends_with("[stack]")).expect("a stack");
            let end = line.split(['-', ' ']).nth(1).expect("its end");
            let end = u64::from_str_radix(end, 16).expect("a number");
            let most = 64 * rustix::param::page_size() as u64;
            assert!(stack.len() as u64 <= end - sp, "{} bytes, {} there", stack.len(), end - sp);
            assert!(stack.len() as u64 >= (end - sp).min(most - rustix::param::page_size() as u64));
        }
        Err(error) => println!("skipped: threads cannot be looked into here ({error})"),
    }
    child.stdin.take().expect("its input").write_all(b"x").expect("it reads");
    child.wait().expect("its end");
}
