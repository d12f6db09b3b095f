//! What things are called in every run of a program: ids and addresses are different each time, names and places are
//! not.

use std::fmt;

use holdup_model::{Frame, ObjectId, ObjectKind, Process, SiteId, ThreadId};

/// A place in the code, without its address, which is another one in every run. Hostile: escape it where it is shown.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Place {
    /// The function's name.
    pub function: Option<String>,
    /// The source file as the compiler recorded it.
    pub file: Option<String>,
    /// The line in `file`, from 1.
    pub line: Option<u32>,
    /// The file name of the program or library.
    pub module: Option<String>,
    /// The address within `module` (bytes), where the function has no name: the same in all runs of one build.
    pub offset: Option<u64>,
}

impl Place {
    /// The place of a site; `None` where nothing but an address is known of it.
    pub(crate) fn of(process: &Process, site: Option<SiteId>) -> Option<Place> {
        let place = Place::of_frame(process.site(site?).place()?);
        (place.function.is_some() || place.file.is_some() || place.offset.is_some()).then_some(place)
    }

    fn of_frame(frame: &Frame) -> Place {
        let is_nameless = frame.function.is_none() && frame.module.is_some();
        Place {
            function: frame.function.clone(),
            file: frame.file.clone(),
            line: frame.line,
            module: frame.module.clone(),
            offset: is_nameless.then_some(frame.address),
        }
    }

    /// The name of the source file without its folder: builds have different ones.
    fn file_name(&self) -> Option<&str> {
        self.file.as_deref().map(|file| file.rsplit('/').next().unwrap_or(file))
    }
}

impl fmt::Display for Place {
    /// As findings name places: `cache_put (cache.c:212)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frame = Frame {
            function: self.function.clone(),
            file: self.file.clone(),
            line: self.line,
            module: self.module.clone(),
            address: self.offset.unwrap_or(0),
            ..Frame::default()
        };
        f.write_str(&frame.name())
    }
}

/// What is the same of a thing in all runs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Name {
    /// Which sort of thing: `mutex`, `imbalance`, `thread`.
    pub(crate) sort: &'static str,
    /// What the program calls it: a variable, a label, threads of a start function. Hostile.
    pub(crate) symbol: Option<String>,
    /// Which threads it is about. Hostile.
    pub(crate) who: Option<String>,
    /// Where it is.
    pub(crate) place: Option<Place>,
}

/// A part of a name by which things are paired, and which two things of one run may share.
pub(crate) type Key<'a> = (&'static str, [Option<&'a str>; 5], Option<u32>, Option<u64>);

impl Name {
    /// How many [`Name::key`]s there are, from the strictest to the loosest.
    pub(crate) const KEYS: usize = 4;

    /// What must be equal in this round: all of it; all but the line; function but not file; the symbol alone, or
    /// without one the function alone.
    pub(crate) fn key(&self, round: usize) -> Option<Key<'_>> {
        let (symbol, who) = (self.symbol.as_deref(), self.who.as_deref());
        let place = self.place.as_ref();
        let function = place.and_then(|place| place.function.as_deref());
        let file = place.and_then(Place::file_name);
        let module = place.and_then(|place| place.module.as_deref()).filter(|_| function.is_none());
        let offset = place.and_then(|place| place.offset);
        let is_named = symbol.is_some() || function.is_some();
        match round {
            0 => Some((self.sort, [symbol, who, function, file, module], self.line(), offset)),
            1 => is_named.then_some((self.sort, [symbol, who, function, file, None], None, None)),
            2 => is_named.then_some((self.sort, [symbol, who, function, None, None], None, None)),
            _ => is_named.then(|| {
                let place = function.filter(|_| symbol.is_none());
                (self.sort, [symbol, None, place, None, None], None, None)
            }),
        }
    }

    /// The symbol, or without one the place in words: what tells an object from others.
    pub(crate) fn told(&self) -> Option<String> {
        self.symbol.clone().or_else(|| self.place.as_ref().map(Place::to_string))
    }

    pub(crate) fn line(&self) -> Option<u32> {
        self.place.as_ref().and_then(|place| place.line)
    }
}

/// Threads of one sort. The main thread, and threads of which nothing is known, are sorts of their own.
pub(crate) fn sort_of(process: &Process, thread: ThreadId) -> String {
    match holdup_model::sort_of_thread(process, thread) {
        Some(sort) => sort,
        None if thread.index() == 0 => "main".to_owned(),
        None => "nameless thread".to_owned(),
    }
}

/// The name of an object that is used as `role`: its symbol, else where it was made, else `fallback`, a place where it
/// is used.
pub(crate) fn object(process: &Process, role: ObjectKind, id: ObjectId, fallback: Option<SiteId>) -> Name {
    let object = process.object(id);
    let made = Place::of(process, object.created_at);
    let place = match (&object.name, object.thread) {
        (Some(_), _) => made,
        (None, None) => made.or_else(|| Place::of(process, fallback)),
        // The end of a thread has no place; whose it is tells it from others.
        (None, Some(_)) => None,
    };
    let who = object.thread.map(|thread| sort_of(process, thread));
    Name { sort: role.word(), symbol: object.name.clone(), who, place }
}
