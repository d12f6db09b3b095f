//! What the threads, objects and code locations of a process are called: the same in every answer, and in expressions.
//!
//! Names come from the program and are hostile. [`Names::shown`] takes what makes them safe for where they go; [`Names::of`]
//! passes them on as they are.

use std::collections::BTreeMap;
use std::sync::OnceLock;

pub use crate::run::program_of;
use crate::sorts::{by_sort, start_of};
use crate::{Frame, ObjectId, ObjectKind, Process, Roles, Routine, SiteId, ThreadId};

/// Makes a name of the program safe for where it is shown.
type Show<'a> = Box<dyn Fn(&str) -> String + Send + Sync + 'a>;

/// What things of one process are called.
pub struct Names<'a> {
    process: &'a Process,
    roles: Option<&'a Roles>,
    show: Show<'a>,
    /// By thread, all different.
    threads: OnceLock<Vec<String>>,
    /// By object.
    objects: OnceLock<Vec<String>>,
}

impl<'a> Names<'a> {
    /// Names as the program gave them. With `roles` (those of the timeline) objects are called by what they are for.
    pub fn of(process: &'a Process, roles: Option<&'a Roles>) -> Names<'a> {
        Names::shown(process, roles, str::to_owned)
    }

    /// Names as `show` gives them; `roles` as in [`Names::of`].
    pub fn shown(
        process: &'a Process,
        roles: Option<&'a Roles>,
        show: impl Fn(&str) -> String + Send + Sync + 'a,
    ) -> Names<'a> {
        Names { process, roles, show: Box::new(show), threads: OnceLock::new(), objects: OnceLock::new() }
    }

    /// The process: the file name of its program, else its number.
    pub fn program(&self) -> String {
        (self.show)(&program_of(self.process))
    }

    /// By thread: what it is called, all of them differently. Threads often inherit the name of the one that made them; then
    /// the first one is `main`, and the others go by their start functions. Where that does not tell them apart either, the
    /// thread's number follows: `compress_thread #3`.
    pub fn threads(&self) -> &[String] {
        self.threads.get_or_init(|| labels(self.process, &*self.show))
    }

    /// What a thread is called.
    pub fn thread(&self, id: ThreadId) -> &str {
        self.threads().get(id.index()).map_or("an unknown thread", String::as_str)
    }

    /// The same, with its start function where its name does not tell that: `thread 3 (crunch)`.
    pub fn thread_in_full(&self, id: ThreadId) -> String {
        let name = self.thread(id);
        match start_of(self.process, id).map(|start| (self.show)(&start)) {
            Some(start) if !name.contains(&start) => format!("{name} ({start})"),
            _ => name.to_owned(),
        }
    }

    /// Threads in a row: `main and saver`, `4 threads of crunch and main`.
    pub fn threads_in_a_row(&self, ids: &[ThreadId]) -> String {
        let of_group = |(sort, members): &(Option<String>, Vec<ThreadId>)| match (sort, members.as_slice()) {
            (_, [only]) => self.thread_in_full(*only),
            (Some(sort), members) => {
                let are_processes = members.iter().all(|&member| self.process.is_another(member));
                let what = if are_processes { "processes" } else { "threads" };
                format!("{} {what} of {}", members.len(), (self.show)(sort))
            }
            (None, members) => format!("{} threads", members.len()),
        };
        let names: Vec<String> = by_sort(self.process, ids).iter().map(of_group).collect();
        match names.as_slice() {
            [] => "an unknown thread".to_owned(),
            [only] => only.clone(),
            [first, second] => format!("{first} and {second}"),
            [first, second, third] => format!("{first}, {second} and {third}"),
            [first, second, rest @ ..] => format!("{first}, {second} and {} others", rest.len()),
        }
    }

    /// What an object is for.
    pub fn role(&self, id: ObjectId) -> ObjectKind {
        let role = self.roles.and_then(|roles| roles.kinds.get(id.index()).copied());
        role.unwrap_or(self.process.object(id).kind)
    }

    /// What waits there may be for the end of others, the object is none.
    fn word(&self, id: ObjectId) -> &'static str {
        match self.role(id) {
            ObjectKind::ThreadEnd => self.process.object(id).kind.word(),
            role => role.word(),
        }
    }

    /// `mutex cache_lock`; without a name, by where it was made, else by its number: `mutex made in queue_create
    /// (queue.c:12)`, `futex #3`.
    pub fn object(&self, id: ObjectId) -> &str {
        let in_full = |index: usize| match self.object_in_parts(ObjectId::new(index as u32)) {
            ("", name) => name,
            (word, name) => format!("{word} {name}"),
        };
        let all = || (0..self.process.objects.len()).map(in_full).collect();
        self.objects.get_or_init(all).get(id.index()).map_or("an unknown object", String::as_str)
    }

    /// The same, but all objects of a sort that nothing is known of are one, as are the ends of threads: by its number it could
    /// not be found again in another run.
    pub fn object_or_word(&self, id: ObjectId) -> &str {
        let object = self.process.object(id);
        match (self.hidden(id), &object.name, object.created_at) {
            (None, None, None) => self.word(id),
            _ => self.object(id),
        }
    }

    /// The runtime's lock that an object is a part of.
    fn hidden(&self, id: ObjectId) -> Option<&'static Routine> {
        self.roles.and_then(|roles| roles.hidden.get(id.index()).copied().flatten())
    }

    /// What sort of thing an object is, and which; the first is empty where the second says both.
    pub fn object_in_parts(&self, id: ObjectId) -> (&'static str, String) {
        let object = self.process.object(id);
        if let Some(routine) = self.hidden(id) {
            return ("", routine.name.to_owned());
        }
        if let (Some(construct), Some(place)) = (object.construct, object.created_at) {
            return ("", format!("{} {}", construct.words(), self.place(place)));
        }
        let word = self.word(id);
        match (&object.name, object.thread, object.created_at) {
            (Some(name), ..) => (word, (self.show)(name)),
            (None, Some(thread), _) if object.kind == ObjectKind::ThreadEnd => {
                ("", format!("end of {}", self.thread(thread)))
            }
            (None, _, Some(site)) => (word, format!("made in {}", self.place(site))),
            (None, ..) => (word, format!("#{}", id.index())),
        }
    }

    /// A name of the program as it is shown.
    pub fn shown_as(&self, name: &str) -> String {
        (self.show)(name)
    }

    /// The function of a call stack to look at first, with its source line: `cache_put (cache.c:212)`.
    pub fn place(&self, site: SiteId) -> String {
        self.process.site(site).told(None, &*self.show)
    }

    /// The function alone, as [`Frame::by_function`] has it where it has no name.
    pub fn function(&self, site: SiteId) -> String {
        self.process.site(site).place().map_or_else(|| self.place(site), |frame| self.function_of(frame))
    }

    /// That of a frame.
    pub fn function_of(&self, frame: &Frame) -> String {
        let nameless = || frame.by_function(None, &*self.show);
        frame.function.as_deref().map_or_else(nameless, &*self.show)
    }

    /// All of a frame's function, with the file or the module that it is in.
    pub fn all_of(&self, frame: &Frame) -> String {
        Frame { line: None, ..frame.clone() }.by_function(None, &*self.show)
    }
}

/// What a process's program works on, as far as its command says: the file that it makes or reads, a script, a crate. Hostile.
pub fn works_on(process: &Process) -> Option<String> {
    let arguments = process.command.get(1..)?;
    let after = |flag: &str| {
        let at = arguments.iter().position(|argument| argument == flag)?;
        arguments.get(at + 1).map(String::as_str)
    };
    let is_file = |argument: &&str| !argument.starts_with('-') && argument.contains('.');
    let file_name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let made = after("-o").filter(|path| !path.starts_with("/tmp/") && *path != "-");
    let told = after("--crate-name").or_else(|| after("-c")).or_else(|| after("-dumpbase"));
    let script = told.filter(|text| text.contains(' ')).map(|text| text.trim().to_owned());
    let first = || arguments.iter().map(String::as_str).find(is_file);
    let named = after("--crate-name").or_else(|| after("-dumpbase")).or(made).or_else(first);
    script.or_else(|| named.map(file_name)).filter(|text| !text.is_empty())
}

/// The name of the start function, where it is the program's own: a runtime's is the same for every thread.
fn start_function(process: &Process, id: ThreadId) -> Option<&str> {
    let place = process.site(process.thread(id).entry?).place()?;
    place.function.as_deref().filter(|_| place.is_program())
}

/// See [`Names::threads`].
fn labels(process: &Process, show: &dyn Fn(&str) -> String) -> Vec<String> {
    let ids = || (0..process.threads.len()).map(|index| ThreadId::new(index as u32));
    let names: Vec<String> = ids().map(|id| process.thread_name(id)).collect();
    let shared = counts(&names);
    let told: Vec<String> = ids()
        .zip(&names)
        .map(|(id, name)| match start_function(process, id) {
            _ if shared[name.as_str()] == 1 => show(name),
            _ if id.index() == 0 => "main".to_owned(),
            Some(function) => show(function),
            None => show(name),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Site, Time};

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

    fn threads(starts: &[(&str, Option<&str>)]) -> Process {
        let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(9));
        for (name, start) in starts {
            let id = process.add_thread(name, Time::from_nanos(0), None);
            process.threads[id.index()].entry = start.map(|start| site(&mut process, start, None));
        }
        process
    }

    #[test]
    fn a_program_is_called_by_its_file_or_by_its_number() {
        let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(9));
        process.pid = 42;
        for (command, name) in [
            (&["/usr/bin/make", "-j2"][..], "make"),
            (&["a"], "a"),
            (&["/tmp/"], "process 42"),
            (&[], "process 42"),
        ] {
            process.command = command.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(program_of(&process), name);
        }
    }

    #[test]
    fn inherited_names_give_way_to_start_functions() {
        let process =
            threads(&[("pigz", None), ("pigz", Some("collect")), ("pigz", Some("go")), ("pigz", Some("go"))]);
        let names = Names::of(&process, None);
        assert_eq!(names.threads(), ["main", "collect", "go #2", "go #3"]);
        let all: Vec<ThreadId> = (0..4).map(ThreadId::new).collect();
        assert_eq!(names.threads_in_a_row(&all), "main, collect and 2 threads of go");
        assert_eq!(names.threads_in_a_row(&all[3..]), "go #3");
        let process = threads(&[("a", None), ("b", Some("go")), ("pool-7", Some("std::thread::start"))]);
        assert_eq!(Names::of(&process, None).thread_in_full(ThreadId::new(1)), "b (go)");
        assert_eq!(crate::sort_of_thread(&process, ThreadId::new(0)), None);
    }

    #[test]
    fn without_start_functions_there_are_numbers() {
        let process = threads(&[("pigz", None), ("pigz", None), ("pigz", None), ("other", None)]);
        assert_eq!(Names::of(&process, None).threads(), ["main", "pigz #1", "pigz #2", "other"]);
    }

    #[test]
    fn objects_go_by_name_then_by_where_they_were_made() {
        let mut process = threads(&[("main", None)]);
        let made = site(&mut process, "cache_new", Some(7));
        let named = process.add_object(ObjectKind::Mutex, 1);
        let unnamed = process.add_object(ObjectKind::RwLock, 2);
        let unknown = process.add_object(ObjectKind::Futex, 0x30);
        let end = process.add_object(ObjectKind::ThreadEnd, 0);
        process.objects[named.index()].name = Some("cache\nlock".to_owned());
        process.objects[unnamed.index()].created_at = Some(made);
        process.objects[end.index()].thread = Some(ThreadId::new(0));
        let names = Names::shown(&process, None, |name| name.replace('\n', "\\n"));
        assert_eq!(names.object(named), "mutex cache\\nlock");
        assert_eq!(names.object(unnamed), "read-write lock made in cache_new (cache.c:7)");
        assert_eq!(names.object(unknown), "futex #2");
        assert_eq!(names.object(end), "end of main");
    }

    #[test]
    fn places_have_a_line_a_module_or_an_address() {
        let frame = |function: Option<&str>, line, module: Option<&str>| Frame {
            function: function.map(str::to_owned),
            file: line,
            line: Some(212),
            module: module.map(str::to_owned),
            address: 0x4f2c,
            ..Frame::default()
        };
        let file = || Some("/src/cache.c".to_owned());
        let shown = |frame: &Frame, lines| frame.told(lines, &str::to_owned);
        assert_eq!(shown(&frame(Some("put"), file(), Some("app")), None), "put (cache.c:212)");
        assert_eq!(shown(&frame(Some("put"), file(), None), Some((208, 212))), "put (cache.c:208-212)");
        assert_eq!(shown(&frame(Some("put"), None, Some("app")), None), "put (app)");
        assert_eq!(shown(&frame(None, file(), Some("app")), None), "cache.c:212");
        assert_eq!(shown(&frame(None, None, Some("app")), None), "app+0x4f2c");
        let whole = |frame: &Frame| frame.by_function(None, &str::to_owned);
        assert_eq!(whole(&frame(Some("put"), file(), Some("app"))), "put (cache.c:212)");
        let nameless = |begin| Frame { begin, ..frame(None, None, Some("app")) };
        assert_eq!(whole(&nameless(None)), "app+0x4f2c");
        assert_eq!(whole(&nameless(Some(0x4f00))), "function at app+0x4f00");
        assert_eq!(whole(&nameless(Some(Frame::OUTSIDE))), "app (code without names)");
        assert_eq!(frame(None, file(), Some("app")).told_function(&str::to_owned), "app+0x4f2c");
    }
}
