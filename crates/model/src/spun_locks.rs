//! Threads that spin inside of the call by which they acquire a lock or a semaphore, or wait for a word: they wait for that.
//!
//! Where a lock of OpenMP is wanted very often, not each wait is an event, and an OpenMP runtime lets threads spin for it before they
//! sleep; so do C++'s semaphores and atomic waits. What samples see then is a loop in the runtime, called from the line at which
//! other waits for the object were events. A lock of a runtime's own goes by its name, where there is one of that name.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Frame, ObjectId, ObjectKind, Process, Routine, RoutineKind, Segment, SiteId, State, Timeline};

/// Lets spinning in the acquisition of a lock name that lock.
pub(crate) fn spinning_for_locks(process: &Process, timeline: &mut Timeline) {
    let (locks, hidden) = (locks_by_place(process), hidden_locks(process));
    if locks.is_empty() && hidden.is_empty() {
        return;
    }
    let mut known: BTreeMap<SiteId, Option<ObjectId>> = BTreeMap::new();
    let mut lock_of = |site: SiteId| {
        *known.entry(site).or_insert_with(|| {
            let site = process.site(site);
            let routine = site.routine(|kind| kind == RoutineKind::Spin);
            let is_hidden = |routine: &&Routine| routine.is_lock && !site.is_called_by_openmp();
            if let Some(lock) = routine.filter(is_hidden).and_then(|routine| *hidden.get(routine.name)?) {
                return Some(lock);
            }
            let place = site.place()?;
            // What spins is called from there, and is not the line itself; it may be compiled into the program.
            let is_called = site.frames.first().is_some_and(|innermost| !std::ptr::eq(innermost, place));
            // Who searches for work in a runtime sleeps at some word in the end, but does not wait for it.
            let seeks_work = routine.is_some_and(|routine| routine.seeks_work);
            let is_lock = |lock: &ObjectId| process.object(*lock).kind.is_lock();
            let lock = locks.get(&key(place)).copied().flatten().filter(|_| is_called);
            lock.filter(|lock| is_lock(lock) || !seeks_work)
        })
    };
    let spins = |segment: &&mut Segment| segment.state == State::Spinning && segment.object.is_none();
    for segment in timeline.threads.iter_mut().flat_map(|row| &mut row.segments).filter(spins) {
        segment.object = segment.site.and_then(&mut lock_of);
    }
}

/// The locks of runtimes that threads were found blocked on, by what they are called; nothing where several are called so.
fn hidden_locks(process: &Process) -> BTreeMap<&str, Option<ObjectId>> {
    let mut locks = BTreeMap::new();
    for (object, number) in process.objects.iter().zip(0..) {
        if let Some(name) = object.name.as_deref().filter(|_| object.kind == ObjectKind::Mutex) {
            let lock = Some(ObjectId::new(number));
            locks.entry(name).and_modify(|known| *known = None).or_insert(lock);
        }
    }
    locks
}

/// A line of code: its function and module, too, where it has no number.
type Line<'a> = (Option<&'a str>, Option<&'a str>, Option<&'a str>, Option<u32>);

fn key(place: &Frame) -> Line<'_> {
    (place.module.as_deref(), place.function.as_deref(), place.file.as_deref(), place.line)
}

/// The lock that is waited for at each line; nothing where there are several.
fn locks_by_place(process: &Process) -> BTreeMap<Line<'_>, Option<ObjectId>> {
    let of_sites: BTreeSet<(SiteId, ObjectId)> =
        process.waits.iter().filter_map(|wait| Some((wait.site?, wait.object))).collect();
    let mut locks: BTreeMap<Line<'_>, Option<ObjectId>> = BTreeMap::new();
    for &(site, object) in &of_sites {
        let Some(place) = process.site(site).place().filter(|place| place.line.is_some()) else { continue };
        let kind = process.object(object).kind;
        // All waits for spin locks are events.
        let is_spun_for = kind.is_lock() || matches!(kind, ObjectKind::Semaphore | ObjectKind::Futex);
        let lock = Some(object).filter(|_| is_spun_for && kind != ObjectKind::SpinLock);
        let known = locks.entry(key(place)).or_insert(lock);
        if *known != lock {
            *known = None;
        }
    }
    locks.retain(|_, lock| lock.is_some());
    locks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Nanos, Places, Roles, Row, Site, ThreadId, Time, Wait};

    fn frame(module: &str, function: &str, line: Option<u32>) -> Frame {
        Frame {
            module: Some(module.to_owned()),
            function: Some(function.to_owned()),
            file: line.map(|_| "main.c".to_owned()),
            line,
            ..Frame::default()
        }
    }

    /// The object of a thread's only segment, in which it spins at a site.
    fn object_of_spin_at(process: &Process, site: SiteId) -> Option<ObjectId> {
        let spin = Segment {
            start: Time::from_nanos(0),
            end: Time::from_nanos(100),
            state: State::Spinning,
            object: None,
            site: Some(site),
            by: None,
            cpu: Some(Nanos::new(100)),
        };
        let mut timeline = Timeline {
            start: Time::from_nanos(0),
            end: Time::from_nanos(100),
            threads: vec![Row {
                start: Time::from_nanos(0),
                end: Time::from_nanos(100),
                segments: vec![spin],
            }],
            edges: Vec::new(),
            places: Places::default(),
            roles: Roles::default(),
        };
        spinning_for_locks(process, &mut timeline);
        timeline.threads[0].segments[0].object
    }

    /// What becomes of spinning in a runtime's loop, called from line 9, with these waits at line 9.
    fn object_of_spin(waits: &[u32], innermost: &str) -> Option<ObjectId> {
        let line = frame("app", "add", Some(9));
        let mut process = Process { end: Time::from_nanos(100), ..Process::default() };
        for kind in [ObjectKind::OmpLock, ObjectKind::OmpLock, ObjectKind::Condition, ObjectKind::Semaphore] {
            process.add_object(kind, 0x1000);
        }
        process.add_site(Site { frames: vec![line.clone()], ..Site::default() });
        process.add_site(Site { frames: vec![frame(innermost, "std::spin", None), line], ..Site::default() });
        let thread = ThreadId::new(0);
        for &object in waits {
            let wait = Wait::granted(thread, ObjectId::new(object), Time::from_nanos(1), Time::from_nanos(2));
            process.waits.push(Wait { site: Some(SiteId::new(0)), ..wait });
        }
        object_of_spin_at(&process, SiteId::new(1))
    }

    #[test]
    fn who_fights_for_a_lock_of_malloc_waits_for_what_others_are_blocked_on() {
        let object = |locks: u64, called_by: &str, own: &str| {
            let mut process = Process { end: Time::from_nanos(100), ..Process::default() };
            for address in 0..locks {
                let lock = process.add_object(ObjectKind::Mutex, address);
                process.objects[lock.index()].name = Some("glibc's malloc arena lock".to_owned());
            }
            let stack = [("libc.so.6", own), ("libc.so.6", "malloc"), (called_by, "fill"), ("app", "main")];
            let frames = stack.map(|(module, function)| frame(module, function, None)).into();
            let site = process.add_site(Site { frames, ..Site::default() });
            object_of_spin_at(&process, site)
        };
        let (waits, frees) = ("__lll_lock_wait_private", "__lll_lock_wake_private");
        assert_eq!(object(1, "app", waits), Some(ObjectId::new(0)));
        assert_eq!(object(1, "app", frees), Some(ObjectId::new(0)));
        assert_eq!(object(2, "app", waits), None, "either of two");
        assert_eq!(object(1, "libgomp.so.1", waits), None, "what it costs to make a task");
        assert_eq!(object(1, "app", "_int_malloc"), None, "at work");
    }

    #[test]
    fn spinning_in_an_acquisition_is_for_its_lock() {
        assert_eq!(object_of_spin(&[0, 0], "libgomp.so.1"), Some(ObjectId::new(0)));
        assert_eq!(object_of_spin(&[], "libgomp.so.1"), None, "nothing is known to be acquired there");
        assert_eq!(object_of_spin(&[0, 1], "libgomp.so.1"), None, "either of two");
        assert_eq!(object_of_spin(&[2], "libgomp.so.1"), None, "no lock");
        assert_eq!(object_of_spin(&[3], "app"), Some(ObjectId::new(3)), "compiled into the program");
    }
}
