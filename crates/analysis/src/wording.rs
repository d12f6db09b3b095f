//! What things are called in findings. Names come from the program and are hostile; they are passed on as they
//! are, and escaped where they are shown.

use holdup_model::{Frame, Nanos, ObjectId, ObjectKind, Process, SiteId, ThreadId};

/// The function of a site, with its source line: `cache_put (cache.c:212)`.
pub(crate) fn site(process: &Process, site: SiteId) -> String {
    process.site(site).place().map_or_else(|| "an unknown place".to_owned(), frame)
}

/// The function of a frame with its source line, as findings and phases name places. Hostile.
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
pub(crate) fn function(process: &Process, of: SiteId) -> String {
    let function = process.site(of).place().and_then(|frame| frame.function.clone());
    function.unwrap_or_else(|| site(process, of))
}

/// `mutex cache_lock`; without a name, by where it was made: `mutex made in queue_create (queue.c:12)`.
pub(crate) fn object(process: &Process, role: ObjectKind, id: ObjectId) -> String {
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
pub(crate) fn thread(process: &Process, id: ThreadId) -> String {
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
pub(crate) fn threads(process: &Process, ids: &[ThreadId]) -> String {
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

/// `71 %`.
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        value if value > 0.0 && value < 0.95 => "under 1 %".to_owned(),
        value => format!("{value:.0} %"),
    }
}

/// `1 CPU`, `1.5 CPUs`.
pub(crate) fn cpus(count: f64) -> String {
    let digits = if (count - count.round()).abs() < 0.005 {
        0
    } else if (count * 10.0 - (count * 10.0).round()).abs() < 0.05 {
        1
    } else {
        2
    };
    let noun = if (count - 1.0).abs() < 0.005 { "CPU" } else { "CPUs" };
    format!("{count:.digits$} {noun}")
}

/// `one time`, `12 times`.
pub(crate) fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

/// Which states the ones that were waited for were in, other than at work, as a sentence; `None` where they
/// were at work nearly all the time.
pub(crate) fn meanwhile(charge: &crate::blame::Charge) -> Option<String> {
    let total = charge.total();
    let parts: Vec<String> = [
        (charge.descheduled, "without a core"),
        (charge.io, "waiting for I/O"),
        (charge.outside, "waiting for something outside of the program"),
        (charge.asleep, "asleep"),
        (charge.waking, "woken but not yet running"),
    ]
    .into_iter()
    .filter(|(time, _)| time.share_of(total) >= 0.05)
    .map(|(time, word)| format!("{word} {} of the time", percent(time.share_of(total))))
    .collect();
    (!parts.is_empty()).then(|| format!("Meanwhile the one that was waited for was {}.", parts.join(", ")))
}

/// The mean of `count` parts of `time`.
pub(crate) fn mean(time: Nanos, count: u64) -> Nanos {
    Nanos::new(time.get() / count.max(1))
}
