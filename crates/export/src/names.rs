//! What to call threads, objects and places. All of it is safe to show.

use std::collections::BTreeMap;

use holdup_model::{Frame, ObjectId, ObjectKind, Outcome, Process, SiteId, State, ThreadId};

use crate::text::plain;

/// The leaf of a stack for active time that no sample stands for.
pub(crate) const NOT_SAMPLED: &str = "[not sampled]";

/// The root of a stack that could not be followed to the start of its thread.
pub(crate) const BROKEN: &str = "[start of the stack is unknown]";

/// The names of one process.
pub(crate) struct Names {
    /// Of the process: the file name of its program.
    pub(crate) program: String,
    /// By thread, all different.
    pub(crate) threads: Vec<String>,
    /// By object; objects made in one place share a name.
    pub(crate) objects: Vec<String>,
}

impl Names {
    pub(crate) fn of(process: &Process) -> Names {
        let program = process.command.first().map(|path| path.rsplit('/').next().unwrap_or(path));
        let threads = threads(process);
        let objects = (0..process.objects.len())
            .map(|index| object(process, &threads, ObjectId::new(index as u32)))
            .collect();
        let program = match program {
            Some(name) if !name.is_empty() => plain(name).into_owned(),
            _ => format!("process {}", process.pid),
        };
        Names { program, threads, objects }
    }

    pub(crate) fn thread(&self, id: ThreadId) -> &str {
        &self.threads[id.index()]
    }

    pub(crate) fn object(&self, id: ObjectId) -> &str {
        &self.objects[id.index()]
    }
}

/// The field's word for a state.
pub(crate) fn state(state: State) -> &'static str {
    match state {
        State::Active => "active",
        State::Blocked => "blocked",
        State::Io => "I/O",
        State::Asleep => "asleep",
        State::Spinning => "spinning",
        State::Waking => "waking",
        State::Descheduled => "descheduled",
        State::NotRecorded => "not recorded",
    }
}

/// How a wait ended, in a word.
pub(crate) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Granted => "granted",
        Outcome::TimedOut => "timed out",
        Outcome::Failed => "failed",
        Outcome::Open => "open",
    }
}

/// A label for each thread. Where several have the same name, the first of the process is `main`, and others go by their
/// start function if that is the program's own; where that does not tell them apart, the thread's number follows.
fn threads(process: &Process) -> Vec<String> {
    let ids = || (0..process.threads.len()).map(|index| ThreadId::new(index as u32));
    let names: Vec<String> = ids().map(|id| process.thread_name(id)).collect();
    let shared = counts(&names);
    let told: Vec<String> = ids()
        .zip(&names)
        .map(|(id, name)| match start_function(process, id) {
            _ if shared[name.as_str()] == 1 => plain(name).into_owned(),
            _ if id.index() == 0 => "main".to_owned(),
            Some(function) => plain(function).into_owned(),
            None => plain(name).into_owned(),
        })
        .collect();
    let shared = counts(&told);
    let numbered = |(id, name): (ThreadId, &String)| match shared[name.as_str()] {
        1 => name.clone(),
        _ => format!("{name} #{}", id.index()),
    };
    ids().zip(&told).map(numbered).collect()
}

fn counts(names: &[String]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for name in names {
        *counts.entry(name.as_str()).or_default() += 1;
    }
    counts
}

/// The start function, where it is the program's own: a runtime's is the same for every thread.
fn start_function(process: &Process, thread: ThreadId) -> Option<&str> {
    let place = process.site(process.thread(thread).entry?).place()?;
    place.function.as_deref().filter(|_| place.is_program())
}

/// `mutex cache_lock`; without a name by where it was made, else by its address.
fn object(process: &Process, threads: &[String], id: ObjectId) -> String {
    let object = process.object(id);
    let word = object.kind.word();
    if let (Some(construct), Some(site)) = (object.construct, object.created_at) {
        return format!("{} {}", construct.words(), place(process, site));
    }
    match (&object.name, object.created_at, object.thread) {
        (Some(name), _, _) => format!("{word} {}", plain(name)),
        (None, _, Some(thread)) if object.kind == ObjectKind::ThreadEnd => {
            format!("end of {}", threads.get(thread.index()).map_or("a thread", String::as_str))
        }
        (None, Some(site), _) => format!("{word} made in {}", place(process, site)),
        (None, None, _) => format!("{word} at {:#x}", object.address),
    }
}

/// A place for people: `cache_put (cache.c:212)`.
pub(crate) fn place(process: &Process, site: SiteId) -> String {
    let Some(frame) = process.site(site).place() else { return "an unknown place".to_owned() };
    let file = frame.file.as_deref().map(|file| file.rsplit('/').next().unwrap_or(file));
    let within = match (file, frame.line) {
        (Some(file), Some(line)) => format!("{}:{line}", plain(file)),
        (Some(file), None) => plain(file).into_owned(),
        (None, _) if frame.function.is_none() => return function(frame),
        (None, _) => match &frame.module {
            Some(module) => plain(module).into_owned(),
            None => return function(frame),
        },
    };
    format!("{} ({within})", function(frame))
}

/// The function of a frame, by its address where it has no name: `libz.so.1+0x4f2c`.
pub(crate) fn function(frame: &Frame) -> String {
    match (&frame.function, &frame.module) {
        (Some(function), _) => plain(function).into_owned(),
        (None, Some(module)) => format!("{}+{:#x}", plain(module), frame.address),
        (None, None) => format!("{:#x}", frame.address),
    }
}

#[cfg(test)]
mod tests {
    use holdup_model::{Site, Time};

    use super::*;

    fn site(process: &mut Process, function: &str, line: Option<u32>) -> SiteId {
        let frame = Frame {
            function: Some(function.to_owned()),
            file: line.map(|_| "/src/cache.c".to_owned()),
            line,
            module: Some("app".to_owned()),
            ..Frame::default()
        };
        process.add_site(Site { frames: vec![frame], ..Site::default() })
    }

    #[test]
    fn threads_are_told_apart() {
        let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(9));
        let start = site(&mut process, "compress", None);
        for name in ["pigz", "pigz", "pigz", "other"] {
            process.add_thread(name, Time::from_nanos(0), None);
        }
        process.threads[1].entry = Some(start);
        process.threads[2].entry = Some(start);
        let names = Names::of(&process);
        assert_eq!(names.threads, ["main", "compress #1", "compress #2", "other"]);
    }

    #[test]
    fn objects_go_by_name_then_by_where_they_were_made() {
        let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(9));
        process.add_thread("main", Time::from_nanos(0), None);
        let made = site(&mut process, "cache_new", Some(7));
        let named = process.add_object(ObjectKind::Mutex, 1);
        let unnamed = process.add_object(ObjectKind::RwLock, 2);
        let unknown = process.add_object(ObjectKind::Futex, 0x30);
        let end = process.add_object(ObjectKind::ThreadEnd, 0);
        process.objects[named.index()].name = Some("cache\nlock".to_owned());
        process.objects[unnamed.index()].created_at = Some(made);
        process.objects[end.index()].thread = Some(ThreadId::new(0));
        let names = Names::of(&process);
        assert_eq!(names.object(named), "mutex cache\\nlock");
        assert_eq!(names.object(unnamed), "read-write lock made in cache_new (cache.c:7)");
        assert_eq!(names.object(unknown), "futex at 0x30");
        assert_eq!(names.object(end), "end of main");
    }
}
