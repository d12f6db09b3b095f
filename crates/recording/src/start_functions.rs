//! What threads are for that start with a function of a library or a runtime, which starts all of them.
//!
//! Of C++ and Rust the stacks say which function of the program's that calls, else the place says it where such threads are made. Of
//! others, such as those of a Java virtual machine, the threads' names tell more than what all of them have in common.

use std::collections::BTreeMap;

use holdup_model::{Arrange, Frame, Process, Site, SiteId, Thread, ThreadId, name_without_number};

/// Functions in which a library calls what a thread is for: GNU's and LLVM's.
const CALLERS: [&str; 2] = ["std::thread::_State_impl<", "std::__1::__thread_proxy"];

/// With what GNU's library starts a thread.
const STARTER: &str = "execute_native_thread_routine";

/// Libraries whose threads do whatever the program gives them.
const POOLS: [&str; 4] = ["rayon_core::", "rayon::", "tokio::", "async_std::"];
/// So do OpenMP's runtimes.
const OPENMP: [&str; 3] = ["libgomp", "libomp", "libiomp"];

/// Says for what threads are that start with a function of a library or a runtime.
pub(crate) fn name(process: &mut Process) {
    by_stacks(process);
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

/// Gives threads that start with a function of a library's that starts threads, and threads of which no start
/// was recorded, the program's own as their start.
fn by_stacks(process: &mut Process) {
    let inherited = process.threads.first().and_then(|thread| thread.name.clone());
    let starts_in_library = |process: &Process, thread: ThreadId| {
        let thread = process.thread(thread);
        let entry = thread.entry.and_then(|entry| process.site(entry).place());
        // Who gives threads names says more by them.
        let has_name = thread.name.is_some() && thread.name != inherited;
        // The kernel does not say with what a thread starts.
        let Some(place) = entry else { return thread.entry.is_none() && !has_name };
        is_of_library(place) || is_caller(place) || is_of_rust(place) && !has_name
    };
    let threads = (1..process.threads.len() as u32).map(ThreadId::new);
    let mut open: BTreeMap<ThreadId, Option<String>> =
        threads.filter(|&thread| starts_in_library(process, thread)).map(|thread| (thread, None)).collect();
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
    as_those_made_at_one_place(process, &mut open);
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

/// Of threads that ended before a stack of theirs was seen: what all others do that were made at the same place; where nothing is
/// known of any, that place.
fn as_those_made_at_one_place(process: &Process, starts: &mut BTreeMap<ThreadId, Option<String>>) {
    let made_at = |thread: ThreadId| process.site(process.thread(thread).created_at?).place();
    let mut known: BTreeMap<&Frame, Option<&String>> = BTreeMap::new();
    for (&thread, start) in starts.iter() {
        let (Some(place), Some(start)) = (made_at(thread), start) else { continue };
        let of_all = known.entry(place).or_insert(Some(start));
        *of_all = of_all.filter(|other| *other == start);
    }
    let found = |thread: ThreadId| {
        let place = made_at(thread)?;
        match known.get(place) {
            Some(of_all) => of_all.cloned(),
            None => Some(place_of(place)),
        }
    };
    let unknown = starts.iter().filter(|(_, start)| start.is_none());
    let found: Vec<(ThreadId, Option<String>)> =
        unknown.map(|(&thread, _)| (thread, found(thread))).collect();
    starts.extend(found);
}

/// `app.cpp:10`, or the function where no line is known.
fn place_of(frame: &Frame) -> String {
    let file = frame.file.as_deref().and_then(|file| file.rsplit('/').next());
    match (file, frame.line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        _ => frame.told_function(&str::to_owned),
    }
}

/// True for a function in which the library calls what a thread is for.
fn is_caller(frame: &Frame) -> bool {
    let function = frame.function.as_deref();
    function.is_some_and(|function| CALLERS.iter().any(|caller| function.contains(caller)))
}

/// Libraries in which threads begin that run a function of the program's.
const STARTERS: [&str; 7] =
    ["libstdc++", "libc++", "libboost_thread", "libQt5Core", "libQt6Core", "libapr-1", "libSDL2"];

/// True for libraries that start threads for the program, and for the C++ library also where it is a part of the program.
fn is_of_library(frame: &Frame) -> bool {
    let of_library = |module: &String| STARTERS.iter().any(|starter| module.starts_with(starter));
    frame.module.as_ref().is_some_and(of_library) || frame.function.as_deref() == Some(STARTER)
}

/// True for the function with which Rust's library starts a thread.
fn is_of_rust(frame: &Frame) -> bool {
    let function = frame.function.as_deref();
    function
        .is_some_and(|function| function.starts_with("std::sys::") && function.ends_with("::thread_start"))
}

/// True for the function with which the C library starts a thread.
fn is_of_c(frame: &Frame) -> bool {
    frame.function.as_deref() == Some("start_thread")
}

/// True for what gives a thread jobs of any kind: which one it had when it was looked at does not say what the thread is for.
fn is_of_pool(frame: &Frame) -> bool {
    let function = frame.function.as_deref().unwrap_or_default();
    let module = frame.module.as_deref().unwrap_or_default();
    POOLS.iter().any(|pool| function.trim_start_matches('<').starts_with(pool))
        || OPENMP.iter().any(|runtime| module.starts_with(runtime))
}

/// What the library calls on this stack.
fn called(site: &Site) -> Option<String> {
    let outermost = |caller: usize| {
        let outermost =
            site.frames[..caller].iter().rev().find(|frame| frame.is_program() || is_of_pool(frame));
        outermost.filter(|frame| !is_of_pool(frame)).and_then(|frame| frame.function.clone())
    };
    let Some(caller) = site.frames.iter().rposition(is_caller) else {
        // What calls it is not on the stack where that jumps to it, as the last thing that it does.
        let started_by = |is_starter: &dyn Fn(&Frame) -> bool| {
            let starter = site.frames.iter().rposition(is_starter)?;
            // Else it is no starter, but called by the program.
            let is_outermost = !site.frames[starter + 1..].iter().any(Frame::is_program);
            is_outermost.then_some(starter)
        };
        let of_language = started_by(&|frame| is_of_library(frame) || is_of_rust(frame));
        return outermost(of_language.or_else(|| started_by(&is_of_c))?);
    };
    // Of a lambda the type says which it is; its function is called operator() like that of any other.
    let lambda = site.frames[caller].function.as_deref().and_then(first_of_tuple);
    let is_of_program =
        |name: &&str| !name.starts_with("std::") && (name.contains("{lambda") || name.contains("::$_"));
    lambda.filter(is_of_program).map(without_parameters).or_else(|| outermost(caller))
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
    use holdup_model::{ObjectId, Time, Wait};

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
            ("std::__future_base::_Async_state_impl<int>::_Async_state_impl()::{lambda()#1}", "work", "work"),
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

    #[test]
    fn what_calls_a_start_may_have_jumped_to_it() {
        let of = |module: &str, function: Option<&str>| Frame {
            function: function.map(str::to_owned),
            module: Some(module.to_owned()),
            ..Frame::default()
        };
        let outer = [of("libc.so.6", Some("start_thread")), of("libc.so.6", Some("clone3"))];
        let called_by = |starter: Frame, further: &[Frame]| {
            let inner = [of("libm.so.6", Some("sin")), frame("compute"), frame("work"), starter];
            let frames = inner.into_iter().chain(further.iter().cloned()).collect();
            called(&Site { frames, ..Site::default() })
        };
        let expected = Some("work".to_owned());
        assert_eq!(called_by(of("libstdc++.so.6.0.30", None), &outer), expected);
        assert_eq!(called_by(of("app", Some(STARTER)), &outer), expected);
        assert_eq!(called_by(of("libboost_thread.so.1.74.0", None), &outer), expected);
        // The library has been called by the program, to sort, say.
        assert_eq!(called_by(of("libstdc++.so.6.0.30", None), &[frame("main")]), None);
        // What the C library starts.
        assert_eq!(called_by(frame("worker"), &outer).as_deref(), Some("worker"));
        assert_eq!(called_by(frame("worker"), &outer[1..]), None);
        assert_eq!(called_by(of("libgomp.so.1", None), &outer), None);
    }

    #[test]
    fn whose_stacks_nobody_saw_goes_by_the_others_or_by_where_it_was_made() {
        let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(10));
        let mut add = |frames: &[Frame]| process.add_site(Site { frames: frames.into(), ..Site::default() });
        let library = |function: &str| Frame { module: Some("libstdc++.so.6".to_owned()), ..frame(function) };
        let line =
            |line: u32| Frame { file: Some("/src/app.cpp".to_owned()), line: Some(line), ..frame("main") };
        let entry = add(&[library("start")]);
        let [first, second, third] = [10, 20, 30].map(|at| add(&[library("thread"), line(at)]));
        let [load, store] = ["load", "store"].map(|function| add(&[frame(function), library("start")]));
        process.add_thread("app", Time::from_nanos(0), None);
        for (made_at, seen) in [
            (first, Some(load)),
            (first, None),
            // Made at one place, for several things.
            (second, Some(load)),
            (second, Some(store)),
            (second, None),
            (third, None),
        ] {
            let thread = process.add_thread("app", Time::from_nanos(0), None);
            let made = &mut process.threads[thread.index()];
            (made.entry, made.created_at) = (Some(entry), Some(made_at));
            if let Some(site) = seen {
                process.waits.push(Wait {
                    site: Some(site),
                    ..Wait::granted(thread, ObjectId::new(0), Time::from_nanos(1), Time::from_nanos(2))
                });
            }
        }
        name(&mut process);
        let start = |thread: &Thread| process.site(thread.entry?).place()?.function.clone();
        let starts: Vec<Option<String>> = process.threads[1..].iter().map(start).collect();
        let starts: Vec<&str> = starts.iter().map(|start| start.as_deref().unwrap_or_default()).collect();
        assert_eq!(starts, ["load", "load", "load", "store", "start", "app.cpp:30"]);
    }

    #[test]
    fn rust_threads_are_for_what_their_closure_does_unless_it_is_a_pool() {
        let start = frame("std::sys::thread::unix::Thread::new::thread_start");
        let of = |inner: &[&str]| {
            let frames = inner.iter().map(|function| frame(function)).chain([start.clone()]).collect();
            called(&Site { frames, ..Site::default() })
        };
        let started = of(&["app::work", "app::main::{{closure}}", "std::thread::lifecycle::spawn_unchecked"]);
        assert_eq!(started.as_deref(), Some("app::main::{{closure}}"));
        let closure = "app::main::{{closure}}";
        assert_eq!(
            of(&[closure, "<rayon_core::job::StackJob<L, F, R> as rayon_core::job::Job>::execute"]),
            None
        );
        assert_eq!(of(&["rayon_core::sleep::Sleep::sleep", "std::thread::lifecycle::spawn_unchecked"]), None);
    }
}
