//! What things are called in findings. Names come from the program and are hostile; they are passed on as they
//! are, and escaped where they are shown.

use holdup_model::{Nanos, ObjectId, ObjectKind, Process, SiteId, ThreadId};

/// The function of a site, with its source line: `cache_put (cache.c:212)`.
pub(crate) fn site(process: &Process, site: SiteId) -> String {
    let Some(frame) = process.site(site).place() else { return "an unknown place".to_owned() };
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
    match (&object.name, object.created_at) {
        (Some(name), _) => format!("{word} {name}"),
        (None, Some(created_at)) => format!("{word} made in {}", site(process, created_at)),
        (None, None) => word.to_owned(),
    }
}

/// `worker 2`, or with its start function where its name does not tell: `thread 3 (crunch)`.
pub(crate) fn thread(process: &Process, id: ThreadId) -> String {
    let name = process.thread_name(id);
    match process.thread(id).entry {
        Some(entry) if id.index() > 0 => {
            let start = function(process, entry);
            if start == name { name } else { format!("{name} ({start})") }
        }
        _ => name,
    }
}

/// Threads in a row; those of the same name and start function together, more than three counted.
pub(crate) fn threads(process: &Process, ids: &[ThreadId]) -> String {
    let mut names: Vec<(String, u32)> = Vec::new();
    for &id in ids {
        let name = thread(process, id);
        match names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => names.push((name, 1)),
        }
    }
    let shown: Vec<String> = names
        .iter()
        .take(3)
        .map(|(name, count)| if *count == 1 { name.clone() } else { format!("{count} threads {name}") })
        .collect();
    match (names.len(), shown.as_slice()) {
        (_, []) => "an unknown thread".to_owned(),
        (1, [only]) => only.clone(),
        (2, [first, second]) => format!("{first} and {second}"),
        (3, [first, second, third]) => format!("{first}, {second} and {third}"),
        (all, shown) => format!("{} and {} others", shown.join(", "), all - shown.len()),
    }
}

/// `71 %`.
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        value if value > 0.0 && value < 0.95 => "under 1 %".to_owned(),
        value => format!("{value:.0} %"),
    }
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
        (charge.io, "waiting for I/O"),
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
