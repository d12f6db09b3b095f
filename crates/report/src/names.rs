//! What to call processes and threads, escaped for the terminal.

use std::collections::BTreeMap;

use holdup_model::{Process, Site, SiteId, ThreadId};

use crate::{Look, escape};

/// The file name of the program, without its directory.
pub(crate) fn program(process: &Process, look: Look) -> String {
    match process.command.first().map(|path| path.rsplit('/').next().unwrap_or(path)) {
        Some(file) if !file.is_empty() => escape::name(file, look),
        _ => "the program".to_owned(),
    }
}

/// A label for each thread, by id, all of them different. Threads often inherit the name of the one that made
/// them; then the first one is `main`, and the others go by their start functions. Where that does not tell them
/// apart either, the thread's number follows: `compress_thread #3`.
pub(crate) fn threads(process: &Process, look: Look) -> Vec<String> {
    let ids = || (0..process.threads.len()).map(|index| ThreadId::new(index as u32));
    let names = ids().map(|id| process.thread_name(id)).collect::<Vec<_>>();
    let shared = counts(&names);
    let told: Vec<String> = ids()
        .zip(names)
        .map(|(id, name)| match start_function(process, id) {
            _ if shared[&name] == 1 => name,
            Some(function) if id.index() > 0 => function.to_owned(),
            _ if id.index() == 0 => "main".to_owned(),
            _ => name,
        })
        .map(|name| escape::short_name(&name, look))
        .collect();
    let shared = counts(&told);
    ids()
        .zip(&told)
        .map(|(id, name)| if shared[name] > 1 { format!("{name} #{}", id.index()) } else { name.clone() })
        .collect()
}

/// A place with its source line, or with the `lines` from the first to the last instead: `cache_put (cache.c:212)`,
/// `cache_put (cache.c:208-212)`; with its module where the line is not known.
pub(crate) fn place(process: &Process, site: SiteId, lines: Option<(u32, u32)>, look: Look) -> String {
    place_of(process.site(site), lines, look)
}

/// The same of a site that stands alone.
pub(crate) fn place_of(site: &Site, lines: Option<(u32, u32)>, look: Look) -> String {
    let Some(frame) = site.place() else { return "an unknown place".to_owned() };
    let file = frame.file.as_deref().map(|file| file.rsplit('/').next().unwrap_or(file));
    let line = match lines.filter(|(first, last)| first < last) {
        Some((first, last)) => Some(format!("{first}-{last}")),
        None => frame.line.map(|line| line.to_string()),
    };
    let within = match (file.map(|file| escape::name(file, look)), line, frame.module.as_deref()) {
        (Some(file), Some(line), _) => Some(format!("{file}:{line}")),
        (Some(file), None, _) => Some(file),
        (None, _, Some(module)) => Some(escape::name(module, look)),
        (None, _, None) => None,
    };
    match (frame.function.as_deref().map(|function| escape::name(function, look)), within) {
        (Some(function), Some(within)) => format!("{function} ({within})"),
        (Some(function), None) => function,
        (None, Some(within)) if file.is_some() => within,
        (None, Some(module)) => format!("{module}+{:#x}", frame.address),
        (None, None) => format!("{:#x}", frame.address),
    }
}

fn counts(names: &[String]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for name in names {
        *counts.entry(name.clone()).or_default() += 1;
    }
    counts
}

/// The start function, where it is the program's own: a runtime's is the same for every thread.
fn start_function(process: &Process, thread: ThreadId) -> Option<&str> {
    let place = process.site(process.thread(thread).entry?).place()?;
    place.function.as_deref().filter(|_| place.is_program())
}

#[cfg(test)]
mod tests {
    use holdup_model::{Frame, Site, Time};

    use super::*;

    const LOOK: Look = Look { width: 80, color: false, unicode: true };

    fn pigz(starts: &[Option<&str>]) -> Process {
        let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(9));
        for start in starts {
            let id = process.add_thread("pigz", Time::from_nanos(0), None);
            process.threads[id.index()].entry = start.map(|function| {
                let frame = Frame { function: Some(function.to_owned()), ..Frame::default() };
                process.add_site(Site { frames: vec![frame], ..Site::default() })
            });
        }
        process
    }

    #[test]
    fn inherited_names_give_way_to_start_functions() {
        let process = pigz(&[None, Some("write_thread"), Some("compress"), Some("compress")]);
        assert_eq!(threads(&process, LOOK), ["main", "write_thread", "compress #2", "compress #3"]);
    }

    #[test]
    fn without_start_functions_there_are_numbers() {
        let process = pigz(&[None, None, Some("std::thread::start")]);
        assert_eq!(threads(&process, LOOK), ["main", "pigz #1", "pigz #2"]);
        let mut named = pigz(&[Some("main"), Some("main")]);
        named.threads[1].name = Some("writer".to_owned());
        assert_eq!(threads(&named, LOOK), ["pigz", "writer"]);
    }

    #[test]
    fn the_program_goes_without_its_directory() {
        let mut process = pigz(&[None]);
        assert_eq!(program(&process, LOOK), "the program");
        process.command = vec!["/usr/bin/pigz".to_owned()];
        assert_eq!(program(&process, LOOK), "pigz");
    }
}
