use super::*;

/// A folder that looks like `/proc` with one process of two threads.
fn fake() -> (tempfile::TempDir, Processes) {
    let root = tempfile::tempdir().expect("a folder");
    let write = |path: &str, bytes: &[u8]| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, bytes).expect("a file");
    };
    write("70/task/70/comm", b"main\n");
    write("70/task/70/schedstat", b"1200 34 5\n");
    write("70/task/71/comm", b"odd\nna\xffme\n");
    write("70/task/71/schedstat", b"1200 thirty 5\n");
    write("70/status", b"Name:\tma\xffin\nTgid:\t70\nPid:\t70\nPPid:\t12\n");
    write("71/status", b"Name:\tmain\nTgid:\t70\n");
    write("12/status", b"Name:\tinit\nTgid:\t12\nPPid:\t0\n");
    write("69/status", b"Name:\tchild\nTgid:\t69\nPPid:\t70\n");
    write("13/status", b"Name:\tother\nTgid:\t13\nPPid:\t12\n");
    write(
        "70/maps",
        b"5500000000-5500002000 r--p 00000000 fd:01 77                 /usr/bin/app\n\
          5500002000-5500006000 r-xp 00002000 fd:01 77                 /usr/bin/app\n\
          7f00001000-7f00002000 r-xp 00000000 00:00 0 \n\
          7f00002000-7f00003000 r-xp 00000000 fd:01 78                 /tmp/a b\\012c (deleted)\n\
          7ffd000000-7ffd002000 r-xp 00000000 00:00 0                  [vdso]\n\
          rubbish\n\
          9-8 r-xp 0 0 0\n",
    );
    let processes = Processes::below(root.path());
    (root, processes)
}

const PROCESS: Pid = Pid(70);

#[test]
fn threads_have_names_and_times() {
    let (_root, processes) = fake();
    assert_eq!(processes.threads(PROCESS).expect("threads"), [Tid(70), Tid(71)]);
    assert_eq!(processes.name(PROCESS, Tid(70)).expect("a name"), b"main");
    assert_eq!(processes.name(PROCESS, Tid(71)).expect("a name"), b"odd\nna\xffme");
    let times = processes.scheduling(PROCESS, Tid(70)).expect("times");
    assert_eq!(times, Scheduling { cpu_ns: 1200, run_delay_ns: 34, slices: 5 });
    assert!(processes.scheduling(PROCESS, Tid(71)).is_err());
    assert!(processes.threads(Pid(72)).is_err());
}

#[test]
fn threads_have_a_process_and_a_parent() {
    let (_root, processes) = fake();
    let family = processes.family(Tid(70)).expect("a family");
    assert_eq!(family, Family { process: Pid(70), parent: Pid(12) });
    assert!(processes.family(Tid(71)).is_err());
}

#[test]
fn descendants_are_found_whatever_their_numbers() {
    let (_root, processes) = fake();
    assert_eq!(processes.family_of(Pid(70)).expect("a family"), [Pid(69), Pid(70)]);
    assert_eq!(processes.family_of(Pid(12)).expect("a family"), [12, 13, 69, 70].map(Pid));
}

#[test]
fn only_code_is_listed() {
    let (_root, processes) = fake();
    let mapping =
        |start, len, offset, path: &str| CodeMapping { start, len, offset, path: path.as_bytes().to_vec() };
    let expected = [
        mapping(0x55_0000_2000, 0x4000, 0x2000, "/usr/bin/app"),
        mapping(0x7f_0000_1000, 0x1000, 0, ""),
        mapping(0x7f_0000_2000, 0x1000, 0, "/tmp/a b\nc (deleted)"),
        mapping(0x7f_fd00_0000, 0x2000, 0, "[vdso]"),
    ];
    assert_eq!(processes.code(PROCESS).expect("mappings"), expected);
}

#[test]
fn this_process_is_as_proc_says() {
    let processes = Processes::here();
    let own = Pid::own();
    let threads = processes.threads(own).expect("threads");
    assert!(threads.contains(&Tid(own.0)), "{threads:?}");
    assert_eq!(processes.family(Tid(own.0)).expect("a family").process, own);
    let here = this_process_is_as_proc_says as fn() as usize as u64;
    let code = processes.code(own).expect("mappings");
    assert!(code.iter().any(|mapping| (mapping.start..mapping.start + mapping.len).contains(&here)));
    // A thread that is made has the latest number, or others are made at the same time.
    let before = processes.latest().expect("a number");
    std::thread::spawn(|| {}).join().expect("its end");
    assert_ne!(processes.latest().expect("a number"), before);
}
