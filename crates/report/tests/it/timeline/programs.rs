//! Recorded processes to look at.

use holdup_model::{ObjectKind, Process, Time};
use holdup_testkit::{Op, Script};

/// Two workers that need one lock most of the time.
pub(crate) fn two_at_a_lock() -> Process {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, "table_lock");
    let site = script.site("update", 12);
    let ops = || {
        let round = [Op::Lock(lock, site), Op::Work(3_000_000), Op::Unlock(lock), Op::Work(1_000_000)];
        (0..40).flat_map(|_| round).collect::<Vec<_>>()
    };
    let workers: Vec<_> = ["worker 1", "worker 2"].map(|name| script.thread(name, ops())).to_vec();
    script.main_runs(&workers);
    let mut process = script.play();
    for (index, name) in ["main", "worker 1", "worker 2"].iter().enumerate() {
        process.threads[index].name = Some((*name).to_owned());
        process.threads[index].entry = None;
    }
    process.command = vec!["update".to_owned()];
    process
}

/// Many threads that live all the time, named `worker 1`, `worker 2` and so on.
pub(crate) fn many_threads(count: usize) -> Process {
    let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(1_000_000_000));
    process.command = vec!["many".to_owned()];
    process.add_thread("main", process.start, None);
    for index in 1..=count {
        process.add_thread(&format!("worker {index}"), process.start, None);
    }
    process
}

/// One whose names are markup and scripts.
pub(crate) fn hostile() -> Process {
    let bad = "<img src=x onerror=window.ran=1>\u{202e}\u{0}";
    let mut process = two_at_a_lock();
    for thread in &mut process.threads {
        thread.name = Some("</script><b>\u{0}".to_owned());
    }
    for object in &mut process.objects {
        object.name = Some(bad.to_owned());
    }
    for site in &mut process.sites {
        for frame in &mut site.frames {
            (frame.function, frame.file) = (Some(bad.to_owned()), Some(bad.to_owned()));
        }
    }
    process
}

/// One that began and ended at the same time.
pub(crate) fn of_no_length() -> Process {
    let mut process = Process::new(Time::from_nanos(7), Time::from_nanos(7));
    process.add_thread("main", process.start, None);
    process
}
