//! What ten million events come to on a page. It asserts nothing that depends on a machine, and takes a minute: run it by
//! name, in a release build, as docs/page.md says.

use std::path::PathBuf;
use std::time::Instant;

use holdup_criticality::diagnose;
use holdup_model::{
    Hold, Mode, ObjectId, ObjectKind, Process, Run, Site, SiteId, ThreadId, Time, Timeline, Wait,
};
use holdup_report::{PageOptions, page};

use crate::timeline::{CHECKS, browser};

/// A lock that one thread after the other gets.
struct Lock {
    id: ObjectId,
    site: SiteId,
    free_at: u64,
    holder: Option<ThreadId>,
}

/// Threads that work, and take one of some locks again and again: `events` begins and ends of waits and holds.
fn contended(threads: u32, locks: usize, events: usize) -> Process {
    let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(0));
    process.command = vec!["contended".to_owned()];
    let ids: Vec<ThreadId> = (0..threads)
        .map(|index| process.add_thread(&format!("worker {index}"), Time::from_nanos(0), None))
        .collect();
    let mut locks: Vec<Lock> = (0..locks)
        .map(|index| {
            let frame = holdup_model::Frame {
                function: Some(format!("update_{index}")),
                file: Some("table.c".to_owned()),
                line: Some(10 + index as u32),
                ..holdup_model::Frame::default()
            };
            let site = process.add_site(Site { frames: vec![frame], ..Site::default() });
            let id = process.add_object(ObjectKind::Mutex, 0x1000 + index as u64);
            process.objects[id.index()].name = Some(format!("table_lock_{index}"));
            Lock { id, site, free_at: 0, holder: None }
        })
        .collect();
    let mut random = 1_u64;
    let mut below = |most: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % most
    };
    // By thread: when it comes to its next lock. The earliest is next.
    let mut next: std::collections::BTreeSet<(u64, ThreadId)> =
        ids.iter().map(|id| (1 + below(20_000), *id)).collect();
    let mut told = 0;
    let mut last = 0;
    while told < events {
        let (at, thread) = next.pop_first().expect("each thread comes again");
        // The first lock is the one that most want.
        let chosen = if below(3) == 0 { 0 } else { below(locks.len() as u64) as usize };
        let lock = &mut locks[chosen];
        let mut begin = at;
        if lock.free_at > at {
            begin = lock.free_at + 2_000 + below(4_000);
            process.waits.push(Wait {
                site: Some(lock.site),
                owner: lock.holder,
                ..Wait::granted(thread, lock.id, Time::from_nanos(at), Time::from_nanos(begin))
            });
            told += 2;
        }
        let end = begin + 500 + below(8_000);
        process.holds.push(Hold {
            thread,
            begin: Some(Time::from_nanos(begin)),
            end: Time::from_nanos(end),
            object: lock.id,
            acquired_at: Some(lock.site),
            released_at: Some(lock.site),
            waited_for: true,
            mode: Mode::Exclusive,
        });
        told += 2;
        (lock.free_at, lock.holder) = (end, Some(thread));
        last = last.max(end);
        next.insert((end + 1_000 + below(40_000), thread));
    }
    process.end = Time::from_nanos(last + 1_000);
    process
}

#[test]
#[ignore = "a measurement: run it by name, in a release build"]
fn ten_million_events() {
    let events = std::env::var("EVENTS").ok().and_then(|events| events.parse().ok()).unwrap_or(10_000_000);
    let threads = std::env::var("THREADS").ok().and_then(|threads| threads.parse().ok()).unwrap_or(16);
    let process = contended(threads, 9, events);
    println!(
        "{} waits, {} holds, {} threads, {}",
        process.waits.len(),
        process.holds.len(),
        threads,
        process.wall()
    );
    let run =
        Run { start: process.start, end: process.end, processes: vec![process], cores: 16, ..Run::default() };
    let begun = Instant::now();
    let diagnosis = diagnose(&run, 0);
    println!("diagnosed in {:.2} s", begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    let timeline = Timeline::build(&run.processes[0]);
    let segments: usize = timeline.threads.iter().map(|row| row.segments.len()).sum();
    println!("timeline of {segments} segments in {:.2} s", begun.elapsed().as_secs_f64());
    drop(timeline);
    let begun = Instant::now();
    let page = page(&run, &[diagnosis], &PageOptions::default());
    println!(
        "page in {:.2} s (with the timeline built again), {:.2} MB",
        begun.elapsed().as_secs_f64(),
        page.len() as f64 / 1e6
    );
    if let Some(path) = std::env::var_os("PAGE").map(PathBuf::from) {
        std::fs::write(path, &page).unwrap();
    }
    println!("{}", browser::run(&page, &[CHECKS, include_str!("large.js")]));
}
