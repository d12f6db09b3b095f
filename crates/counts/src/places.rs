//! Where in the source a boundary is.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use holdup_model::counts::SectionPlace;
use holdup_model::{Frame, ObjectKind, Process};
use holdup_recording::facts::{NamedFrame, Names};

use holdup_sections::Boundary;

use crate::course::{Course, Row};

/// A place without addresses where it has a line: compilers make copies of code, and so several calls of one barrier.
pub(crate) fn line_of(place: &SectionPlace) -> SectionPlace {
    let mut place = place.clone();
    for frame in place.frames.iter_mut().filter(|frame| frame.line.is_some()) {
        frame.address = 0;
    }
    place
}

/// Names of places, and times of arrivals, from the ordinary part of the recording.
pub(crate) struct Places<'a> {
    names: Option<&'a Names>,
    /// The functions that threads start with, by name and module.
    starts: BTreeSet<(&'a str, Option<&'a str>)>,
    /// For a kernel id and the address of a barrier the times of arrival (ns), in order.
    arrivals: BTreeMap<(u32, u64), Vec<u64>>,
    /// The function of each region, by its instance.
    regions: BTreeMap<u64, u64>,
    /// The frames of an instruction.
    called: &'a dyn Fn(u64) -> Vec<Frame>,
    found: RefCell<Found>,
}

/// Places that were asked for. Equal ones are the same.
#[derive(Default)]
struct Found {
    all: BTreeSet<Rc<SectionPlace>>,
    stacks: BTreeMap<u64, Rc<SectionPlace>>,
    code: BTreeMap<u64, Rc<SectionPlace>>,
    named: BTreeMap<(*const SectionPlace, u64), Rc<SectionPlace>>,
}

impl Found {
    fn one(&mut self, place: SectionPlace) -> Rc<SectionPlace> {
        if let Some(known) = self.all.get(&place) {
            return Rc::clone(known);
        }
        let place = Rc::new(place);
        self.all.insert(Rc::clone(&place));
        place
    }
}

impl<'a> Places<'a> {
    /// `called` has the frames of instructions.
    pub(crate) fn new(
        courses: &[Course],
        names: Option<&'a Names>,
        process: Option<&Process>,
        called: &'a dyn Fn(u64) -> Vec<Frame>,
    ) -> Places<'a> {
        let mut arrivals: BTreeMap<(u32, u64), Vec<u64>> = BTreeMap::new();
        if let Some(process) = process {
            for wait in &process.waits {
                let object = &process.objects[wait.object.index()];
                if object.kind == ObjectKind::Barrier {
                    let tid = process.threads[wait.thread.index()].tid;
                    arrivals.entry((tid, object.address)).or_default().push(wait.begin.nanos());
                }
            }
        }
        arrivals.values_mut().for_each(|times| times.sort_unstable());
        let entries = courses.iter().filter_map(|course| names?.code.get(&course.entry)?.frames.last());
        let starts = entries.filter_map(function).collect();
        let boundaries = courses.iter().flat_map(|course| course.pieces.iter().map(|piece| piece.closes));
        let mut regions = BTreeMap::new();
        for boundary in boundaries {
            if let Boundary::RegionBegin { instance, function } = boundary {
                regions.entry(instance).or_insert(function);
            }
        }
        Places { names, starts, arrivals, regions, called, found: RefCell::default() }
    }

    /// When a thread arrived at the barrier `object`, at which it was so many times before; `None` where that was not recorded.
    pub(crate) fn arrival(&self, course: &Course, object: u64, before: usize) -> Option<u64> {
        self.arrivals.get(&(course.tid, object))?.get(before).copied()
    }

    /// The place with the name of an object, if the place has none.
    pub(crate) fn named(&self, place: &Rc<SectionPlace>, object: u64) -> Rc<SectionPlace> {
        let name = self.names.and_then(|names| names.data.get(&object));
        let Some(name) = name.filter(|_| place.name.is_none()) else { return Rc::clone(place) };
        let key = (Rc::as_ptr(place), object);
        let found = &mut *self.found.borrow_mut();
        if let Some(known) = found.named.get(&key) {
            return Rc::clone(known);
        }
        let made = found.one(SectionPlace { frames: place.frames.clone(), name: Some(name.clone()) });
        found.named.insert(key, Rc::clone(&made));
        made
    }

    /// The start function of these threads.
    pub(crate) fn entry(&self, courses: &[Course], rows: &[Row]) -> Rc<SectionPlace> {
        self.code(rows.last().map_or(0, |row| courses[row.course].entry))
    }

    /// No place.
    pub(crate) fn nowhere(&self) -> Rc<SectionPlace> {
        self.found.borrow_mut().one(SectionPlace::default())
    }

    /// The place of a boundary; `begins` if a section begins there.
    pub(crate) fn of(
        &self,
        courses: &[Course],
        row: Row,
        boundary: Boundary,
        begins: bool,
    ) -> Rc<SectionPlace> {
        let entry = courses[row.course].entry;
        let region = |instance| self.code(self.regions.get(&instance).copied().unwrap_or(0));
        match boundary {
            Boundary::Barrier { stack, .. }
            | Boundary::Condition { stack, .. }
            | Boundary::Join { stack, .. } => self.stack(stack),
            Boundary::Met { function, inside: 0, caller } => self.met(function, caller),
            Boundary::Met { inside, caller, .. } => self.met_inside(inside, caller),
            Boundary::Begin if begins => self.code(entry),
            Boundary::Team { instance, code, .. } => {
                let place = self.code(code);
                // A region that ends with a call of the runtime is left before the call.
                let is_known = place.frames.iter().any(Frame::is_program);
                if is_known { place } else { region(instance) }
            }
            Boundary::ShareBegin { instance } | Boundary::ShareEnd { instance } => region(instance),
            _ => self.nowhere(),
        }
    }

    /// A stack from the program's innermost frame to a thread's start function: who called that does not make a place
    /// another one, since main often calls it, too.
    fn stack(&self, id: u64) -> Rc<SectionPlace> {
        let found = &mut *self.found.borrow_mut();
        if let Some(known) = found.stacks.get(&id) {
            return Rc::clone(known);
        }
        let stack = self.names.and_then(|names| names.stacks.get(&id));
        let frames = stack.map_or(&[][..], |stack| &stack.frames);
        let starts = |named| function(named).is_some_and(|function| self.starts.contains(&function));
        let outermost = frames.iter().rposition(starts).map_or(frames.len(), |at| at + 1);
        let frames = of_program(frames[..outermost].iter().cloned().map(Frame::from).collect());
        let made = found.one(SectionPlace { frames, name: None });
        found.stacks.insert(id, Rc::clone(&made));
        made
    }

    /// A piece of a function that is a barrier is where threads come to it; or, if it is a function that was inlined, where that was, and has its
    /// name: then what is behind it is not that function's.
    fn met_inside(&self, inside: u64, behind: u64) -> Rc<SectionPlace> {
        let mut frames = of_program((self.called)(inside));
        let outer = of_program((self.called)(behind));
        let inlined = frames.len().saturating_sub(outer.len());
        let name = inlined.checked_sub(1).and_then(|last| frames[last].function.clone());
        frames.drain(..inlined);
        self.found.borrow_mut().one(SectionPlace { frames, name })
    }

    /// A function that is a barrier is where it is called, and has its name, or that of what a library inlined there.
    fn met(&self, function: u64, caller: u64) -> Rc<SectionPlace> {
        let frames = (self.called)(caller);
        let library = frames.iter().take_while(|frame| !frame.is_program()).last();
        let inlined = library.and_then(|frame| frame.function.clone());
        let name =
            inlined.or_else(|| (self.called)(function).into_iter().rev().find_map(|frame| frame.function));
        self.found.borrow_mut().one(SectionPlace { frames: of_program(frames), name })
    }

    fn code(&self, address: u64) -> Rc<SectionPlace> {
        let found = &mut *self.found.borrow_mut();
        if let Some(known) = found.code.get(&address) {
            return Rc::clone(known);
        }
        let named = self.names.and_then(|names| names.code.get(&address));
        let frames = match named.filter(|stack| !stack.frames.is_empty()) {
            _ if address == 0 => Vec::new(),
            Some(stack) => of_program(stack.frames.iter().cloned().map(Frame::from).collect()),
            None => vec![Frame { address, ..Frame::default() }],
        };
        let made = found.one(SectionPlace { frames, name: None });
        found.code.insert(address, Rc::clone(&made));
        made
    }
}

fn function(named: &NamedFrame) -> Option<(&str, Option<&str>)> {
    Some((named.function.as_deref()?, named.module.as_deref()))
}

/// From the innermost frame of the program on.
fn of_program(frames: Vec<Frame>) -> Vec<Frame> {
    let first = frames.iter().position(Frame::is_program).unwrap_or(0);
    frames.into_iter().skip(first).collect()
}
