//! What threads are for that start with a function of a library or a runtime, which starts all of them.
//!
//! Of C++ the stacks say which function of the program's that calls. Of others, such as those of a Java virtual machine, the
//! threads' names tell more than what all of them have in common.

use std::collections::BTreeMap;

use holdup_model::{Arrange, Frame, Process, Site, SiteId, Thread, ThreadId, name_without_number};

/// Functions in which a library calls what a thread is for: GNU's and LLVM's.
const CALLERS: [&str; 2] = ["std::thread::_State_impl<", "std::__1::__thread_proxy"];

/// Says for what threads are that start with a function of a library or a runtime.
pub(crate) fn name(process: &mut Process) {
    of_cpp(process);
    take_from_named(process);
}

/// Takes the start function from threads that share it, if it is a library's, each of them was given a name, and the names tell
/// them apart.
fn take_from_named(process: &mut Process) {
    let inherited = process.threads.first().and_then(|thread| thread.name.clone());
    let is_of_library = |entry: &SiteId| {
        let module = process.site(*entry).place().and_then(|place| place.module.as_deref());
        module.is_some_and(|module| module.contains(".so"))
    };
    let own = |thread: &Thread| {
        let own = thread.name.as_deref().filter(|name| inherited.as_deref() != Some(name));
        own.map(name_without_number).unwrap_or_default().to_owned()
    };
    let started = process.threads.iter().skip(1);
    let mut names: Vec<(SiteId, String)> =
        started.filter_map(|thread| Some((thread.entry.filter(is_of_library)?, own(thread)))).collect();
    names.arrange_by(|one, other| one.cmp(other));
    // Without a name of its own, which comes first, a thread's start is all that is known of it.
    let says_nothing = |of_one: &&[(SiteId, String)]| match of_one {
        [first, .., last] => !first.1.is_empty() && first.1 != last.1,
        _ => false,
    };
    let shared = names.chunk_by(|one, other| one.0 == other.0).filter(says_nothing);
    let taken: Vec<SiteId> = shared.filter_map(|of_one| Some(of_one.first()?.0)).collect();
    for thread in process.threads.iter_mut().skip(1) {
        thread.entry = thread.entry.filter(|entry| !taken.contains(entry));
    }
}

/// Gives threads that start with a function of the C++ library's the program's own as their start.
fn of_cpp(process: &mut Process) {
    let is_of_library = |process: &Process, thread: ThreadId| {
        let entry = process.thread(thread).entry.and_then(|entry| process.site(entry).place());
        entry.is_some_and(|place| {
            let of_library =
                |module: &String| module.starts_with("libstdc++") || module.starts_with("libc++");
            place.module.as_ref().is_some_and(of_library)
                || place
                    .function
                    .as_deref()
                    .is_some_and(|function| CALLERS.iter().any(|one| function.contains(one)))
        })
    };
    let threads = (1..process.threads.len() as u32).map(ThreadId::new);
    let mut open: BTreeMap<ThreadId, Option<String>> =
        threads.filter(|&thread| is_of_library(process, thread)).map(|thread| (thread, None)).collect();
    if open.is_empty() {
        return;
    }
    let mut known: BTreeMap<SiteId, Option<String>> = BTreeMap::new();
    let sampled = process.samples.iter().filter_map(|sample| Some((sample.thread, sample.site?)));
    let waited = process.waits.iter().filter_map(|wait| Some((wait.thread, wait.site?)));
    for (thread, site) in sampled.chain(waited) {
        if let Some(start) = open.get_mut(&thread).filter(|start| start.is_none()) {
            *start = known.entry(site).or_insert_with(|| called(process.site(site))).clone();
        }
    }
    let mut sites: BTreeMap<String, SiteId> = BTreeMap::new();
    for (thread, start) in open {
        let Some(start) = start else { continue };
        let module =
            process.thread(thread).created_at.and_then(|site| process.site(site).place()?.module.clone());
        let frame = Frame { function: Some(start.clone()), module, ..Frame::default() };
        let site = Site { frames: vec![frame], ..Site::default() };
        let site = *sites.entry(start).or_insert_with(|| process.add_site(site));
        process.threads[thread.index()].entry = Some(site);
    }
}

/// What the library calls on this stack.
fn called(site: &Site) -> Option<String> {
    let is_caller = |frame: &Frame| {
        frame
            .function
            .as_deref()
            .is_some_and(|function| CALLERS.iter().any(|caller| function.contains(caller)))
    };
    let caller = site.frames.iter().rposition(is_caller)?;
    // Of a lambda the type says which it is; its function is called operator() like that of any other.
    let lambda = site.frames[caller].function.as_deref().and_then(first_of_tuple);
    let lambda =
        lambda.filter(|name| name.contains("{lambda") || name.contains("::$_")).map(without_parameters);
    let outermost = || site.frames[..caller].iter().rev().find(|frame| frame.is_program());
    lambda.or_else(|| outermost()?.function.clone())
}

/// `A<B, C>` of `…tuple<A<B, C>, D>…`.
fn first_of_tuple(function: &str) -> Option<&str> {
    let (_, rest) = function.split_once("tuple<")?;
    let mut depth = 0;
    let end = rest.char_indices().find(|(_, c)| {
        match c {
            '<' | '(' | '{' => depth += 1,
            '>' | ',' if depth == 0 => return true,
            '>' | ')' | '}' => depth -= 1,
            _ => {}
        }
        false
    });
    Some(rest[..end?.0].trim())
}

/// `f::{lambda#2}` of `f(int)::{lambda(long)#2}`.
fn without_parameters(name: &str) -> String {
    const ANONYMOUS: &str = "(anonymous namespace)";
    let mut out = String::with_capacity(name.len());
    let mut depth = 0;
    for (at, c) in name.char_indices() {
        let is_anonymous = depth == 0 && name[at..].starts_with(ANONYMOUS);
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            c if depth == 0 => out.push(c),
            _ => {}
        }
        if is_anonymous {
            out.push_str("anonymous");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use holdup_model::Time;

    use super::*;

    fn frame(function: &str) -> Frame {
        Frame { function: Some(function.to_owned()), module: Some("app".to_owned()), ..Frame::default() }
    }

    #[test]
    fn names_that_differ_tell_more_than_a_common_start() {
        let started_in = |module: &str, names: &[Option<&str>]| {
            let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(10));
            let site = process.add_site(Site {
                frames: vec![Frame { module: Some(module.to_owned()), ..frame("start") }],
                ..Site::default()
            });
            process.add_thread("app", Time::from_nanos(0), None);
            for name in names {
                let thread = process.add_thread(name.unwrap_or_default(), Time::from_nanos(0), None);
                process.threads[thread.index()].entry = Some(site);
                process.threads[thread.index()].name = name.map(str::to_owned);
            }
            take_from_named(&mut process);
            process.threads.iter().filter(|thread| thread.entry.is_some()).count()
        };
        let started = |names: &[Option<&str>]| started_in("libruntime.so.2", names);
        assert_eq!(started(&[Some("parser-1"), Some("parser-2"), Some("writer")]), 0);
        // The program's own function says what they do, whatever they are called.
        assert_eq!(started_in("app", &[Some("first"), Some("second")]), 2);
        assert_eq!(started(&[Some("parser-1"), Some("parser-2")]), 2);
        // A name that is the program's was not given to the thread.
        assert_eq!(started(&[Some("app"), Some("parser"), Some("writer")]), 3);
        assert_eq!(started(&[None, Some("parser"), Some("writer")]), 3);
        assert_eq!(started(&[Some("12"), Some("parser"), Some("writer")]), 3);
    }

    #[test]
    fn lambdas_are_told_apart_by_their_type() {
        let run =
            |of: &str| format!("std::thread::_State_impl<std::thread::_Invoker<std::tuple<{of}> > >::_M_run");
        for (of, innermost, expected) in [
            ("pipe(int)::{lambda()#2}", "operator()", "pipe::{lambda#2}"),
            ("pipe()::{lambda(long, std::map<int, int>)#1}, int", "operator()", "pipe::{lambda#1}"),
            ("(anonymous namespace)::go()::{lambda()#1}", "operator()", "anonymous::go::{lambda#1}"),
            ("void (*)(int), int", "worker", "worker"),
            ("void (Pool::*)(), Pool*", "Pool::run", "Pool::run"),
        ] {
            let frames =
                [frame("compute"), frame(innermost), frame("std::__invoke"), frame(&run(of)), frame("")];
            assert_eq!(
                called(&Site { frames: frames.into(), ..Site::default() }).as_deref(),
                Some(expected),
                "{of}"
            );
        }
        assert_eq!(called(&Site { frames: vec![frame("compute"), frame("main")], ..Site::default() }), None);
    }
}
