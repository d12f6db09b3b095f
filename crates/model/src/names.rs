//! What things are called. Names come from the program and are hostile; they are passed on as they are, and escaped
//! where they are shown.

use crate::{Frame, ObjectId, ObjectKind, Process, SiteId, ThreadId};

/// The function of a site, with its source line: `cache_put (cache.c:212)`.
pub fn site(process: &Process, site: SiteId) -> String {
    process.site(site).place().map_or_else(|| "an unknown place".to_owned(), frame)
}

/// The function of a frame with its source line.
pub fn frame(frame: &Frame) -> String {
    let file = frame.file.as_deref().map(|file| file.rsplit('/').next().unwrap_or(file));
    let line = match (file, frame.line) {
        (Some(file), Some(line)) => Some(format!("{file}:{line}")),
        (Some(file), None) => Some(file.to_owned()),
        _ => None,
    };
    match (&frame.function, line, &frame.module) {
        (Some(function), Some(line), _) => format!("{function} ({line})"),
        (Some(function), None, Some(module)) => format!("{function} ({module})"),
        (Some(function), None, None) => function.clone(),
        (None, Some(line), _) => line,
        (None, None, Some(module)) => format!("{module}+{:#x}", frame.address),
        (None, None, None) => format!("{:#x}", frame.address),
    }
}

/// The function of a site alone.
pub fn function(process: &Process, of: SiteId) -> String {
    let function = process.site(of).place().and_then(|frame| frame.function.clone());
    function.unwrap_or_else(|| site(process, of))
}

/// `mutex cache_lock`; without a name, by where it was made: `mutex made in queue_create (queue.c:12)`.
pub fn object(process: &Process, role: ObjectKind, id: ObjectId) -> String {
    let object = process.object(id);
    let word = match role {
        ObjectKind::Mutex => "lock",
        role => role.word(),
    };
    if let (Some(construct), Some(place)) = (object.construct, object.created_at) {
        return format!("{} {}", construct.words(), site(process, place));
    }
    match (&object.name, object.created_at) {
        (Some(name), _) => format!("{word} {name}"),
        (None, Some(created_at)) => format!("{word} made in {}", site(process, created_at)),
        (None, None) => word.to_owned(),
    }
}

/// `worker 2`, or with its start function where its name does not tell: `thread 3 (crunch)`.
pub fn thread(process: &Process, id: ThreadId) -> String {
    let name = process.thread_name(id);
    match start(process, id) {
        Some(start) if !name.contains(&start) => format!("{name} ({start})"),
        _ => name,
    }
}

/// The thread's start function, if that is the program's own: those of language runtimes start any thread.
fn start(process: &Process, id: ThreadId) -> Option<String> {
    let entry = process.thread(id).entry.filter(|_| id.index() > 0)?;
    let is_own = process.site(entry).place().is_some_and(Frame::is_program);
    is_own.then(|| function(process, entry))
}

/// What threads that do the same have in common: the start function, else the name without its number
/// (`indexer` of `indexer-3`). `None` for the main thread and for threads that have neither.
pub fn sort_of_thread(process: &Process, id: ThreadId) -> Option<String> {
    if id.index() == 0 {
        return None;
    }
    start(process, id).or_else(|| {
        let name = process.thread(id).name.as_deref()?;
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let stem = stem.trim_end_matches(|c: char| !c.is_alphanumeric());
        (!stem.is_empty()).then(|| stem.to_owned())
    })
}

/// Threads in a row: `main and saver`, `4 threads of crunch and main`.
pub fn threads(process: &Process, ids: &[ThreadId]) -> String {
    let mut groups: Vec<(Option<String>, Vec<ThreadId>)> = Vec::new();
    for &id in ids {
        let sort = sort_of_thread(process, id);
        match groups.iter_mut().find(|(known, _)| sort.is_some() && *known == sort) {
            Some((_, members)) => members.push(id),
            None => groups.push((sort, vec![id])),
        }
    }
    let names: Vec<String> = groups
        .iter()
        .map(|(sort, members)| match (sort, members.as_slice()) {
            (_, [only]) => thread(process, *only),
            (Some(sort), members) => format!("{} threads of {sort}", members.len()),
            (None, members) => format!("{} threads", members.len()),
        })
        .collect();
    match names.as_slice() {
        [] => "an unknown thread".to_owned(),
        [only] => only.clone(),
        [first, second] => format!("{first} and {second}"),
        [first, second, third] => format!("{first}, {second} and {third}"),
        [first, second, rest @ ..] => format!("{first}, {second} and {} others", rest.len()),
    }
}
