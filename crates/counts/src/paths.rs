//! One section that is reached along several paths.
//!
//! The first turn of a loop begins where its thread does, a macro that is expanded twice has two places, and so one section has
//! several begins. Sections that end at the same place are one if what is executed between is the same code.

use std::collections::BTreeMap;
use std::ops::Range;

use holdup_model::counts::Section;

use crate::places::line_of;

/// What a row is: the thread, by index, and numbers of pieces of its stream.
pub(crate) type RowPieces = (usize, Range<usize>);

/// Two sections are one if this share of the instructions of each is of code that the other executes too.
const SAME: f64 = 0.9;

/// A section with what is known of it while sections are found.
pub(crate) struct Reached {
    pub section: Section,
    /// For each instance what its rows are.
    pub rows: Vec<Vec<RowPieces>>,
    /// For each instance its number among all.
    pub order: Vec<usize>,
}

/// Joins sections that are one. `code` gives what a section executes: for a line, or a block without one, its instructions.
pub(crate) fn joined<L: Ord>(
    sections: Vec<Reached>,
    code: impl Fn(&Section) -> BTreeMap<L, u64>,
) -> Vec<Reached> {
    let mut joined: Vec<Reached> = Vec::with_capacity(sections.len());
    let mut codes: Vec<Option<BTreeMap<L, u64>>> = Vec::new();
    for reached in sections {
        let ends_alike = |other: &Reached| {
            other.section.kind == reached.section.kind
                && line_of(&other.section.end) == line_of(&reached.section.end)
        };
        let alike: Vec<usize> = (0..joined.len()).filter(|at| ends_alike(&joined[*at])).collect();
        let own = if alike.is_empty() { BTreeMap::new() } else { code(&reached.section) };
        let same = alike.into_iter().find(|at| {
            let other = codes[*at].get_or_insert_with(|| code(&joined[*at].section));
            share_in(&own, other) >= SAME && share_in(other, &own) >= SAME
        });
        match same {
            Some(at) => {
                join(&mut joined[at], reached);
                codes[at] = None;
            }
            None => {
                joined.push(reached);
                codes.push(None);
            }
        }
    }
    joined
}

/// The share of the instructions of one that is of code that the other executes; 0 if there are none.
fn share_in<L: Ord>(one: &BTreeMap<L, u64>, other: &BTreeMap<L, u64>) -> f64 {
    let all: u64 = one.values().sum();
    let both: u64 = one.iter().filter(|(line, _)| other.contains_key(*line)).map(|(_, count)| count).sum();
    if all == 0 { 0.0 } else { both as f64 / all as f64 }
}

/// The section begins where most of its instances do; the others say where they begin.
fn join(into: &mut Reached, mut other: Reached) {
    if other.section.instances.len() > into.section.instances.len() {
        std::mem::swap(into, &mut other);
    }
    let begin = other.section.begin;
    let depends = other.section.depends_on_schedule;
    into.section.depends_on_schedule = into.section.depends_on_schedule.take().or(depends);
    let added = other.section.instances.into_iter().map(|mut instance| {
        instance.begin.get_or_insert_with(|| begin.clone());
        instance
    });
    let mut all: Vec<_> = std::mem::take(&mut into.order)
        .into_iter()
        .zip(std::mem::take(&mut into.section.instances))
        .zip(std::mem::take(&mut into.rows))
        .chain(other.order.into_iter().zip(added).zip(other.rows))
        .collect();
    all.sort_by_key(|((number, _), _)| *number);
    for ((number, instance), rows) in all {
        into.order.push(number);
        into.section.instances.push(instance);
        into.rows.push(rows);
    }
}

#[cfg(test)]
mod tests {
    use holdup_model::Frame;
    use holdup_model::counts::{Instance, SectionPlace};

    use super::*;

    fn place(line: u32) -> SectionPlace {
        let frame = Frame { function: Some("body".to_owned()), line: Some(line), ..Frame::default() };
        SectionPlace { frames: vec![frame], name: None }
    }

    /// A section from one line to another, with instances of these numbers, told apart by their times.
    fn reached(begin: u32, end: u32, numbers: &[usize]) -> Reached {
        let instances =
            numbers.iter().map(|number| Instance { time: vec![*number as u64], ..Instance::default() });
        let section = Section {
            begin: place(begin),
            end: place(end),
            instances: instances.collect(),
            ..Section::default()
        };
        let rows = numbers.iter().map(|number| vec![(0, *number..number + 1)]).collect();
        Reached { section, rows, order: numbers.to_vec() }
    }

    /// Code by where a section begins: (begin, line, instructions).
    fn of(code: &'static [(u32, u32, u64)]) -> impl Fn(&Section) -> BTreeMap<u32, u64> {
        |section| {
            let begin = section.begin.frames[0].line;
            code.iter()
                .filter(|(at, _, _)| Some(*at) == begin)
                .map(|(_, line, count)| (*line, *count))
                .collect()
        }
    }

    #[test]
    fn the_first_turn_of_a_loop_is_of_the_same_section() {
        let code = of(&[(1, 5, 100), (1, 2, 8), (10, 5, 300), (10, 4, 20)]);
        let found = joined(vec![reached(1, 10, &[0]), reached(10, 10, &[3, 5])], code);
        assert_eq!(found.len(), 1);
        let section = &found[0].section;
        assert_eq!(section.begin, place(10), "where most begin");
        assert_eq!(section.instances.iter().map(|instance| instance.time[0]).collect::<Vec<_>>(), [0, 3, 5]);
        assert_eq!(found[0].rows, [vec![(0, 0..1)], vec![(0, 3..4)], vec![(0, 5..6)]]);
        let begins: Vec<_> = section.instances.iter().map(|instance| instance.begin.clone()).collect();
        assert_eq!(begins, [Some(place(1)), None, None]);
    }

    #[test]
    fn other_code_or_another_end_is_another_section() {
        // Of the first one's instructions 85 % are in the second; all of the second's in the first.
        let code = of(&[(1, 5, 85), (1, 2, 15), (10, 5, 300)]);
        assert_eq!(joined(vec![reached(1, 10, &[0]), reached(10, 10, &[1])], &code).len(), 2);
        assert_eq!(joined(vec![reached(10, 10, &[1]), reached(1, 10, &[0])], &code).len(), 2);
        let code = of(&[(1, 5, 100), (10, 5, 100)]);
        assert_eq!(joined(vec![reached(1, 10, &[0]), reached(10, 11, &[1])], &code).len(), 2);
        assert_eq!(joined(vec![reached(1, 10, &[0]), reached(10, 10, &[1])], &code).len(), 1);
        assert_eq!(
            joined(vec![reached(2, 10, &[0]), reached(3, 10, &[1])], &code).len(),
            2,
            "nothing executed"
        );
    }
}
