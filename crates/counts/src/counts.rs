//! From a recording to counts.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use holdup_model::counts::{
    CountSource, CountedThread, Counts, EventTable, Instance, NativeMatch, Section, ThreadLabel, TimeUnit,
    Unit,
};
use holdup_model::{Arrange, Run};
use holdup_recording::facts::Session;
use holdup_recording::{Instructions, Recording};
use holdup_trace::instructions::{CodeClass, Loss};

use holdup_sections::Boundary;

use crate::course::{Course, Piece, course};
use crate::error::CountsError;
use crate::events::{Events, Executed, Modules};
use crate::paths::{Reached, RowPieces};
use crate::places::{Places, line_of};
use crate::sections::{Meeting, meetings};
use crate::{conditions, meets, paths, schedule};

/// The counts of a recording that was made with the instruction front-end; `run` is what the same recording gives.
///
/// # Errors
/// [`CountsError`] where it was made without, or nothing was counted.
pub fn counts(recording: &Recording, run: &Run) -> Result<Counts, CountsError> {
    gathered(recording, run).map(|gathered| gathered.counts)
}

/// Counts, and what each row of them is made of.
pub(crate) struct Gathered {
    pub counts: Counts,
    /// For each section and instance what its rows are.
    pub rows: Vec<Vec<Vec<RowPieces>>>,
}

/// See [`counts`].
pub(crate) fn gathered(recording: &Recording, run: &Run) -> Result<Gathered, CountsError> {
    let instructions = Instructions::of(recording).ok_or(CountsError::NoStreams)?;
    let mut events = Events::new(&instructions, recording.block_names.as_ref());
    let returns = events.return_addresses();
    let mut courses: Vec<Course> =
        instructions.streams().map(|stream| course(&instructions, stream, &returns)).collect();
    courses.arrange_by_key(|course| course.number.unwrap_or(u32::MAX));
    if courses.iter().all(|course| course.pieces.iter().all(|piece| piece.instructions() == 0)) {
        return Err(CountsError::NothingCounted);
    }
    let lost_own_code = !instructions.blocks.iter().any(|block| block.class == CodeClass::Own);
    let process = run.processes.first();
    let objects = process.map_or(&[][..], |process| &process.objects);
    let barriers = objects.iter().filter(|object| object.is_condition_barrier).map(|object| object.address);
    meets::settle(&mut courses, &|tally| events.own_instructions(tally));
    conditions::keep_barriers(&mut courses, &barriers.collect());
    note_starts(&mut courses, &instructions);
    let names = recording.processes.first().and_then(|raw| raw.names.as_ref());
    let modules = Modules::of(&instructions);
    let block_names = recording.block_names.as_ref();
    let called = |address| modules.frames(block_names, address);
    let places = Places::new(&courses, names, process, &called);
    let mut reached: Vec<Reached> = Vec::new();
    // By places, and by their lines.
    let (mut seen, mut known) = (BTreeMap::new(), BTreeMap::new());
    for (number, meeting) in meetings(&courses, &places).into_iter().enumerate() {
        let instance = instance(&meeting, &courses, &mut events);
        if instance.time.iter().all(|time| *time == 0) && instance.units.is_empty() {
            continue;
        }
        let schedule = schedule::dependence(&meeting, &courses, &instance, &events);
        let pieces = meeting.rows.iter();
        let pieces = pieces.map(|row| (row.course, courses[row.course].pieces[row.piece].recorded.clone()));
        let pieces: Vec<_> = pieces.collect();
        let places = (meeting.kind, Rc::as_ptr(&meeting.end), Rc::as_ptr(&meeting.begin));
        let index = *seen.entry(places).or_insert_with(|| {
            let key = (meeting.kind, line_of(&meeting.end), line_of(&meeting.begin));
            *known.entry(key).or_insert_with(|| {
                let (end, begin) = ((*meeting.end).clone(), (*meeting.begin).clone());
                let section = Section { kind: meeting.kind, end, begin, ..Section::default() };
                reached.push(Reached { section, rows: Vec::new(), order: Vec::new() });
                reached.len() - 1
            })
        });
        let Reached { section, rows, order } = &mut reached[index];
        order.push(number);
        rows.push(pieces);
        section.instances.push(instance);
        section.depends_on_schedule = section.depends_on_schedule.take().or(schedule);
    }
    let reached = paths::joined(reached, |section| events.lines(section, block_names, &modules));
    let (mut sections, rows): (Vec<Section>, Vec<_>) =
        reached.into_iter().map(|reached| (reached.section, reached.rows)).unzip();
    let (edges, numbers) = events.sorted();
    for instance in sections.iter_mut().flat_map(|section| &mut section.instances) {
        for entry in &mut instance.executed.entries {
            entry.0 = numbers[entry.0.index()];
        }
        instance.executed.entries.sort_unstable();
        for unit in &mut instance.units {
            unit.executed.iter_mut().for_each(|entry| entry.0 = numbers[entry.0.index()]);
            unit.executed.sort_unstable();
        }
    }
    let threads = courses.iter().zip(0..).map(|(course, order)| {
        let of_run =
            process.and_then(|process| process.threads.iter().find(|thread| thread.tid == course.tid));
        ThreadLabel {
            number: course.number.unwrap_or(order),
            name: of_run.and_then(|thread| thread.name.clone()),
        }
    });
    let source = match recording.session.instructions.as_deref() {
        Some(Session::INSTRUMENTED) => CountSource::Instrumented,
        _ => CountSource::Emulated,
    };
    let counts = Counts {
        source,
        time_unit: TimeUnit::Instructions,
        threads: threads.collect(),
        blocks: events.blocks(block_names, &modules),
        edges,
        hardware: Vec::new(),
        sections,
        native_match: NativeMatch::default(),
        warnings: warnings(&courses, &instructions, lost_own_code),
    };
    Ok(Gathered { counts, rows })
}

/// Notes which pieces execute the start functions of threads.
fn note_starts(courses: &mut [Course], instructions: &Instructions<'_>) {
    let entries: BTreeSet<u64> = courses.iter().map(|course| course.entry).collect();
    let starts: Vec<(u32, u64)> = (0..)
        .zip(&instructions.blocks)
        .filter(|(_, block)| entries.contains(&block.address))
        .map(|(number, block)| (number, block.address))
        .collect();
    for piece in courses.iter_mut().flat_map(|course| &mut course.pieces) {
        let executed = starts.iter().filter(|(number, _)| piece.tally.executed.contains_key(number));
        piece.starts = executed.map(|(_, address)| *address).collect();
    }
}

impl Piece {
    /// Instructions of the piece and its units.
    pub(crate) fn instructions(&self) -> u64 {
        self.tally.instructions + self.units.iter().map(|unit| unit.tally.instructions).sum::<u64>()
    }
}

fn instance(meeting: &Meeting, courses: &[Course], events: &mut Events) -> Instance {
    let mut entries = Vec::new();
    let mut library = Vec::new();
    let mut units = Vec::new();
    let (mut time, mut waited) = (Vec::new(), 0);
    for (row, number) in meeting.rows.iter().zip(0..) {
        let piece = &courses[row.course].pieces[row.piece];
        let executed = events.of(&piece.tally);
        time.push(executed.time);
        waited += executed.waited + piece.waited;
        entries.extend(executed.events.iter().map(|(event, count)| (*event, number, *count)));
        library.extend(executed.library.iter().map(|(block, count)| (*block, number, *count)));
        for dealt in &piece.units {
            let Executed { time, waited: in_unit, events, library } = events.of(&dealt.tally);
            waited += in_unit;
            let unit = Unit { row: number, construct: dealt.construct, time, executed: events, library };
            units.push((unit, dealt.first));
        }
    }
    library.sort_unstable();
    Instance {
        threads: meeting.rows.iter().map(|row| CountedThread(row.course as u32)).collect(),
        begin: None,
        time,
        waited,
        native: None,
        executed: EventTable { entries },
        library,
        units: as_dealt_out(units),
    }
}

/// Units in the order in which they are dealt out: chunks of a loop by its iterations, whichever way it counts.
fn as_dealt_out(mut units: Vec<(Unit, Option<i64>)>) -> Vec<Unit> {
    // For each loop where its first unit is, and how many chunks of a thread come behind, less those before, the last one.
    let mut loops: BTreeMap<u64, (usize, i64)> = BTreeMap::new();
    for (at, (unit, first)) in units.iter().enumerate() {
        let (_, rising) = loops.entry(unit.construct).or_insert((at, 0));
        let before = at.checked_sub(1).map(|before| &units[before]);
        let before =
            before.filter(|(before, _)| (before.row, before.construct) == (unit.row, unit.construct));
        if let Some((first, before)) = first.zip(before.and_then(|(_, first)| *first)) {
            *rising += first.cmp(&before) as i64;
        }
    }
    units.sort_by_key(|(unit, first)| {
        let (at, rising) = loops[&unit.construct];
        (at, first.map(|first| if rising < 0 { first.saturating_neg() } else { first }))
    });
    units.into_iter().map(|(unit, _)| unit).collect()
}

fn warnings(courses: &[Course], instructions: &Instructions<'_>, no_own_code: bool) -> Vec<String> {
    let mut told = Vec::new();
    if no_own_code {
        told.push("no code of the program itself was executed, only that of libraries".to_owned());
    }
    let lost: Vec<Option<Loss>> = courses.iter().filter_map(|course| course.lost).collect();
    if let Some(why) = lost.first() {
        told.push(
            match why {
                Some(Loss::Instructions) => "counting ended at the limit on instructions: what came later is not in the answer",
                Some(Loss::Bytes) => "counting ended at the limit on the recording's size: what came later is not in the answer",
                Some(Loss::RecorderLeft) => "counting ended when holdup did: what came later is not in the answer",
                Some(Loss::Room) => "there were more threads or blocks of code than can be counted: some are missing",
                None => "a part of the instructions was not counted",
            }
            .to_owned(),
        );
    }
    if instructions.damaged_pieces > 0 {
        told.push("parts of the instruction streams are damaged or missing: counts are too low".to_owned());
    }
    let cut = |course: &&Course| {
        course.is_cut
            && course
                .pieces
                .last()
                .is_some_and(|piece| piece.instructions() > 0 && piece.opens != Boundary::Begin)
    };
    let cut = courses.iter().skip(1).filter(cut).count();
    if cut > 0 {
        told.push(match cut {
            1 => {
                "a thread still ran when the program ended: its last section is not in the answer".to_owned()
            }
            _ => format!(
                "{cut} threads still ran when the program ended: their last sections are not in the answer"
            ),
        });
    }
    if courses.iter().any(|course| course.leaves) {
        told.push("the program started other programs: only its own process is in the answer".to_owned());
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_dealt_out_in_the_order_of_their_loop() {
        let unit = |row, construct, time, first| (Unit { row, construct, time, ..Unit::default() }, first);
        // By threads: a loop that counts up, one that counts down, and tasks, whose order is that of the threads.
        let units = vec![
            unit(0, 7, 10, Some(0)),
            unit(0, 7, 12, Some(20)),
            unit(0, 5, 30, Some(9)),
            unit(0, 5, 33, Some(-6)),
            unit(0, 1, 50, None),
            unit(1, 7, 11, Some(10)),
            unit(1, 5, 31, Some(4)),
            unit(1, 5, 32, Some(-1)),
            unit(1, 1, 51, None),
        ];
        let times: Vec<u64> = as_dealt_out(units).iter().map(|unit| unit.time).collect();
        assert_eq!(times, [10, 11, 12, 30, 31, 32, 33, 50, 51]);
    }
}
