//! Which pieces of which threads belong to one dynamic instance of a parallel section, and which instances to one section.
//!
//! A section ends where its threads meet: at a barrier (the k-th arrival of each thread is the k-th round), at a condition
//! variable that is used as one, at a barrier of a team or the join of its region, and at the end of threads that another
//! thread joins one after another. Instances that end *and* begin at the same places are one section: two barriers can
//! stand on a line, and code cloning gives one barrier several addresses.

use std::collections::BTreeMap;
use std::rc::Rc;

use holdup_model::counts::{SectionKind, SectionPlace};

use holdup_sections::Boundary;

use crate::course::{Course, Row};
use crate::places::Places;

/// The pieces of one dynamic instance, at most one for each thread, in the order of threads.
#[derive(Clone, Debug)]
pub(crate) struct Meeting {
    pub kind: SectionKind,
    pub end: Rc<SectionPlace>,
    pub begin: Rc<SectionPlace>,
    pub rows: Vec<Row>,
}

/// What an instance is known by: the kind of meeting, its object, and which round of it.
type Key = (SectionKind, u64, u64);

/// A thread that creates others and joins them takes part in their section if it executes their start function too or, where
/// that was inlined, does at least this share of what they do (the median of them).
const TAKES_PART: f64 = 0.5;

/// All instances, in an order that is that of time for those of one section.
pub(crate) fn meetings(courses: &[Course], places: &Places<'_>) -> Vec<Meeting> {
    let mut found: BTreeMap<Key, Vec<Row>> = BTreeMap::new();
    let parties: BTreeMap<u64, u32> =
        courses.iter().flat_map(|course| course.barriers.iter().copied()).collect();
    let mut arrivals: BTreeMap<(SectionKind, u64), Vec<Vec<Row>>> = BTreeMap::new();
    for (index, course) in courses.iter().enumerate() {
        for (number, piece) in course.pieces.iter().enumerate() {
            let row = Row { course: index, piece: number };
            match piece.closes {
                Boundary::Barrier { object, .. } => arrive(&mut arrivals, SectionKind::Barrier, object, row),
                Boundary::Condition { object, .. } => {
                    arrive(&mut arrivals, SectionKind::ConditionBarrier, object, row)
                }
                Boundary::Met { function, .. } => {
                    arrive(&mut arrivals, SectionKind::Barrier, function, row);
                }
                Boundary::Team { instance, sequence, .. } => {
                    found.entry((SectionKind::TeamBarrier, instance, sequence.into())).or_default().push(row);
                }
                Boundary::ShareEnd { instance } => {
                    found.entry((SectionKind::Region, instance, 0)).or_default().push(row);
                }
                _ => {}
            }
        }
    }
    for ((kind, object), threads) in arrivals {
        let parties = parties.get(&object).map_or(threads.len(), |parties| *parties as usize).max(1);
        for (row, round) in
            rounds(&threads, parties, |row, before| places.arrival(&courses[row.course], object, before))
        {
            found.entry((kind, object, round)).or_default().push(row);
        }
    }
    let mut joins = BTreeMap::new();
    for (number, ends) in (0..).zip(ends(courses)) {
        found.insert((SectionKind::Join, number, 0), ends.rows);
        joins.insert(number, ends.at);
    }
    let whole = found.into_iter().filter(|(_, rows)| rows.len() >= 2);
    whole
        .map(|((kind, object, _), rows)| {
            let joined = joins.get(&object).copied().flatten().filter(|_| kind == SectionKind::Join);
            meeting(kind, object, rows, joined, courses, places)
        })
        .collect()
}

/// Takes up an arrival; rows of one thread follow each other.
fn arrive(
    arrivals: &mut BTreeMap<(SectionKind, u64), Vec<Vec<Row>>>,
    kind: SectionKind,
    object: u64,
    row: Row,
) {
    let threads = arrivals.entry((kind, object)).or_default();
    match threads.last_mut() {
        Some(rows) if rows.first().is_some_and(|first| first.course == row.course) => rows.push(row),
        _ => threads.push(vec![row]),
    }
}

/// Each row with its round. With as many threads as parties a thread's k-th arrival is in round k. Where threads come and
/// go, the times of arrival decide, if they are known: rounds are runs of `parties` arrivals.
fn rounds(threads: &[Vec<Row>], parties: usize, time: impl Fn(Row, usize) -> Option<u64>) -> Vec<(Row, u64)> {
    if threads.len() > parties {
        let each = threads.iter().flat_map(|rows| rows.iter().enumerate());
        let timed: Option<Vec<(u64, Row)>> =
            each.map(|(before, row)| time(*row, before).map(|time| (time, *row))).collect();
        if let Some(mut timed) = timed {
            timed.sort_unstable();
            return timed.iter().enumerate().map(|(at, (_, row))| (*row, (at / parties) as u64)).collect();
        }
    }
    threads.iter().flat_map(|rows| rows.iter().copied().zip(0..)).collect()
}

/// The threads that are joined one after another, or at least were created so: their last pieces.
fn ends(courses: &[Course]) -> Vec<Ends> {
    let mut claimed = vec![false; courses.len()];
    let by_number: BTreeMap<u32, usize> =
        courses.iter().enumerate().filter_map(|(index, course)| Some((course.number?, index))).collect();
    let mut groups: Vec<Ends> = Vec::new();
    for (parent, course) in courses.iter().enumerate() {
        let mut created: Vec<usize> = Vec::new();
        let mut open = Ends::default();
        for (number, piece) in course.pieces.iter().enumerate() {
            match piece.closes {
                Boundary::Created { child } => {
                    created.extend(by_number.get(&child));
                    close(&mut open, &mut groups);
                }
                Boundary::Join { handle, .. } => {
                    let is_it = |child: &usize| !claimed[*child] && courses[*child].handle == handle;
                    let own = created.iter().copied().find(is_it);
                    let Some(child) = own.or_else(|| (0..courses.len()).find(is_it)) else { continue };
                    claimed[child] = true;
                    if open.rows.is_empty() && matches!(piece.opens, Boundary::Created { .. }) {
                        open.parent = Some(Row { course: parent, piece: number });
                    }
                    open.at = open.at.or(Some((Row { course: parent, piece: number }, piece.closes)));
                    open.rows.extend(last_piece(courses, child));
                }
                _ => close(&mut open, &mut groups),
            }
        }
        close(&mut open, &mut groups);
        let unjoined: Vec<usize> = created.into_iter().filter(|child| !claimed[*child]).collect();
        let mut rows: Vec<Row> = unjoined.iter().filter_map(|child| last_piece(courses, *child)).collect();
        rows.retain(|row| !courses[row.course].is_cut);
        close(&mut Ends { rows, ..Ends::default() }, &mut groups);
    }
    groups.into_iter().flat_map(|ends| ends.by_function(courses)).collect()
}

/// Threads that end together.
#[derive(Clone, Debug, Default)]
struct Ends {
    rows: Vec<Row>,
    /// What the thread that created them does meanwhile.
    parent: Option<Row>,
    /// Where they are joined.
    at: Option<(Row, Boundary)>,
}

impl Ends {
    /// Threads with different start functions do different things, and are no section together.
    fn by_function(self, courses: &[Course]) -> Vec<Ends> {
        let mut groups: BTreeMap<u64, Vec<Row>> = BTreeMap::new();
        for row in self.rows {
            groups.entry(courses[row.course].entry).or_default().push(row);
        }
        let ends = groups.into_iter().map(|(entry, mut rows)| {
            rows.extend(self.parent.filter(|parent| takes_part(*parent, entry, &rows, courses)));
            Ends { rows, parent: None, at: self.at }
        });
        ends.collect()
    }
}

fn takes_part(parent: Row, entry: u64, others: &[Row], courses: &[Course]) -> bool {
    let piece = |row: &Row| &courses[row.course].pieces[row.piece];
    if entry != 0 && piece(&parent).starts.contains(&entry) {
        return true;
    }
    let mut amounts: Vec<u64> = others.iter().map(|row| piece(row).instructions()).collect();
    amounts.sort_unstable();
    let median = amounts.get(amounts.len() / 2).copied().unwrap_or(0);
    piece(&parent).instructions() as f64 >= TAKES_PART * median as f64
}

fn close(open: &mut Ends, groups: &mut Vec<Ends>) {
    if !open.rows.is_empty() {
        groups.push(std::mem::take(open));
    }
}

fn last_piece(courses: &[Course], course: usize) -> Option<Row> {
    let last = courses[course].pieces.len().checked_sub(1)?;
    (courses[course].pieces[last].closes == Boundary::End).then_some(Row { course, piece: last })
}

fn meeting(
    kind: SectionKind,
    object: u64,
    mut rows: Vec<Row>,
    joined: Option<(Row, Boundary)>,
    courses: &[Course],
    places: &Places<'_>,
) -> Meeting {
    rows.sort_unstable();
    rows.dedup_by_key(|row| row.course);
    let piece = |row: &Row| &courses[row.course].pieces[row.piece];
    // A broadcast has no stack of its own: a row that waited tells the place.
    let boundaries = rows.iter().map(|row| (*row, piece(row).closes)).chain(joined);
    let ends = boundaries.map(|(row, boundary)| places.of(courses, row, boundary, false));
    let end = ends.reduce(|a, b| if a.frames.is_empty() { b } else { a }).unwrap_or_else(|| places.nowhere());
    let mut begins: Vec<(Rc<SectionPlace>, usize)> = Vec::new();
    for row in &rows {
        let place = places.of(courses, *row, piece(row).opens, true);
        match begins.iter_mut().find(|(known, _)| Rc::ptr_eq(known, &place)) {
            Some((_, count)) => *count += 1,
            None => begins.push((place, 1)),
        }
    }
    // Who broadcast last has no place to begin at either: where the others do.
    if begins.len() > 1 {
        begins.retain(|(place, _)| **place != SectionPlace::default());
    }
    let most = begins.into_iter().max_by(|(a, times), (b, others)| times.cmp(others).then_with(|| b.cmp(a)));
    let begin = most.map_or_else(|| places.nowhere(), |(place, _)| place);
    let end = match kind {
        SectionKind::Join if end.frames.is_empty() => places.entry(courses, &rows),
        SectionKind::Join => end,
        _ => places.named(&end, object),
    };
    Meeting { kind, end, begin, rows }
}

#[cfg(test)]
mod tests;
