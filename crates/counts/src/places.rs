//! Where in the source a boundary is.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::counts::SectionPlace;
use holdup_model::openmp::source_function;
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
}

impl<'a> Places<'a> {
    pub(crate) fn new(courses: &[Course], names: Option<&'a Names>, process: Option<&Process>) -> Places<'a> {
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
        Places { names, starts, arrivals }
    }

    /// When the thread of this row arrived at the barrier `object`; `None` where that was not recorded.
    pub(crate) fn arrival(&self, courses: &[Course], object: u64, row: Row) -> Option<u64> {
        let course = &courses[row.course];
        let at_barrier =
            |boundary: &Boundary| matches!(boundary, Boundary::Barrier { object: at, .. } if *at == object);
        let before = course.pieces[..row.piece].iter().filter(|piece| at_barrier(&piece.closes)).count();
        self.arrivals.get(&(course.tid, object))?.get(before).copied()
    }

    /// The name of an object.
    pub(crate) fn object(&self, address: u64) -> Option<String> {
        self.names?.data.get(&address).cloned()
    }

    /// The start function of these threads.
    pub(crate) fn entry(&self, courses: &[Course], rows: &[Row]) -> SectionPlace {
        let entry = rows.last().map_or(0, |row| courses[row.course].entry);
        SectionPlace { frames: self.code(entry), name: None }
    }

    /// The place of a boundary; `begins` if a section begins there.
    pub(crate) fn of(&self, courses: &[Course], row: Row, boundary: Boundary, begins: bool) -> SectionPlace {
        let entry = courses[row.course].entry;
        let frames = match boundary {
            Boundary::Barrier { stack, .. }
            | Boundary::Condition { stack, .. }
            | Boundary::Join { stack, .. } => self.stack(stack),
            Boundary::Begin if begins => self.code(entry),
            Boundary::Team { instance, code, .. } => {
                let frames = self.code(code);
                // A region that ends with a call of the runtime is left before the call.
                let is_known = frames.iter().any(Frame::is_program);
                if is_known { frames } else { self.code(region(courses, instance)) }
            }
            Boundary::ShareBegin { instance } | Boundary::ShareEnd { instance } => {
                self.code(region(courses, instance))
            }
            _ => Vec::new(),
        };
        SectionPlace { frames, name: None }
    }

    /// A stack from the program's innermost frame to a thread's start function: who called that does not make a place
    /// another one, since main often calls it, too.
    fn stack(&self, id: u64) -> Vec<Frame> {
        let Some(stack) = self.names.and_then(|names| names.stacks.get(&id)) else { return Vec::new() };
        let starts = |named| function(named).is_some_and(|function| self.starts.contains(&function));
        let outermost = stack.frames.iter().rposition(starts).map_or(stack.frames.len(), |at| at + 1);
        of_program(stack.frames[..outermost].iter().map(frame).collect())
    }

    fn code(&self, address: u64) -> Vec<Frame> {
        if address == 0 {
            return Vec::new();
        }
        let found = self.names.and_then(|names| names.code.get(&address));
        match found.filter(|stack| !stack.frames.is_empty()) {
            Some(stack) => of_program(stack.frames.iter().map(frame).collect()),
            None => vec![Frame { address, ..Frame::default() }],
        }
    }
}

/// The function of a region.
fn region(courses: &[Course], instance: u64) -> u64 {
    let boundaries = courses.iter().flat_map(|course| course.pieces.iter().map(|piece| piece.closes));
    let functions = boundaries.filter_map(|boundary| match boundary {
        Boundary::RegionBegin { instance: found, function } if found == instance => Some(function),
        _ => None,
    });
    functions.into_iter().next().unwrap_or(0)
}

fn function(named: &NamedFrame) -> Option<(&str, Option<&str>)> {
    Some((named.function.as_deref()?, named.module.as_deref()))
}

/// From the innermost frame of the program on.
fn of_program(frames: Vec<Frame>) -> Vec<Frame> {
    let first = frames.iter().position(Frame::is_program).unwrap_or(0);
    frames.into_iter().skip(first).collect()
}

fn frame(named: &NamedFrame) -> Frame {
    let function = named.function.as_deref();
    let source = function.and_then(source_function).filter(|_| named.line.is_some());
    Frame {
        function: source.or(function).map(str::to_owned),
        file: named.file.clone(),
        line: named.line,
        module: named.module.clone(),
        address: named.address,
        inlined: named.inlined,
    }
}
