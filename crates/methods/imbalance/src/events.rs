//! The events of a section as columns: constants dropped, proportional ones once.
//!
//! Each column is centred within each instance and scaled to length 1. Such columns are Z-scores but for a factor that is
//! the same for all, so Pearson's correlation of two is their dot product, and proportional events have the same column:
//! they become one, with their number as its weight. Most events of a program are proportional to others.

use std::collections::BTreeMap;

use holdup_model::counts::{BlockId, EventId, HardwareKind};

use super::deal::{Column, Dealt};
use super::gram_schmidt::own_part;
use super::program::Program;
use super::rows::{Rows, dot, to_unit};

/// In the place of a distinct column.
const CONSTANT: u32 = u32::MAX;

/// The events that vary.
#[derive(Clone, Debug)]
pub(super) struct Events {
    /// The rows of all columns.
    pub(super) rows: Rows,
    /// Time, centred and of length 1; `None` if it does not vary.
    pub(super) time: Option<Vec<f64>>,
    /// Distinct columns, one after the other.
    vectors: Vec<f64>,
    /// Which events each distinct column stands for, in order.
    pub(super) members: Vec<Vec<Column>>,
    /// The correlation of each distinct column with time; 0 where time does not vary.
    with_time: Vec<f64>,
    /// The distinct column of each event; [`CONSTANT`] if it does not vary.
    places: Vec<u32>,
}

impl Events {
    /// The events of instances, stacked.
    pub(super) fn new(program: &Program<'_>, instances: &[&Dealt<'_>]) -> Events {
        let rows = Rows::new(instances.iter().map(|instance| instance.time.len()));
        let sorted = by_column(program, instances, &rows);
        let mut builder =
            Builder { rows: &rows, vectors: Vec::new(), members: Vec::new(), same: BTreeMap::new() };
        let mut integers = Vec::new();
        for (column, entries) in sorted.columns() {
            if skipped(program, column) {
                continue;
            }
            let superiors: Vec<Vec<f64>> = superiors(program, column)
                .into_iter()
                .map(|superior| match superior {
                    Superior::Event(event) => centred(&rows, sorted.of(event)),
                    Superior::Executions(block) => executions(program, &rows, &sorted, block),
                })
                .filter(|superior| superior.iter().any(|value| *value != 0.0))
                .collect();
            if superiors.is_empty() {
                if differences(&rows, entries, &mut integers) {
                    builder.add_integers(column, &integers);
                }
            } else {
                let largest = entries.iter().map(|(_, count)| *count as f64).fold(0.0, f64::max);
                let mut own = own_part(&centred(&rows, entries), &superiors);
                if to_unit(&mut own, largest).is_some() {
                    builder.add(column, own);
                }
            }
        }
        let Builder { vectors, members, .. } = builder;
        let time = time(&rows, instances);
        let with_time = match &time {
            Some(time) => vectors.chunks_exact(rows.len()).map(|vector| dot(vector, time)).collect(),
            None => vec![0.0; members.len()],
        };
        let places = places(&members);
        Events { rows, time, vectors, members, with_time, places }
    }

    /// Events of which nothing but their correlations with time is known.
    #[cfg(test)]
    pub(super) fn with_correlations(events: impl Iterator<Item = (Column, f64)>) -> Events {
        let (columns, with_time): (Vec<Column>, Vec<f64>) = events.unzip();
        let members: Vec<Vec<Column>> = columns.into_iter().map(|column| vec![column]).collect();
        let places = places(&members);
        Events {
            rows: Rows::new([0].into_iter()),
            time: None,
            vectors: Vec::new(),
            members,
            with_time,
            places,
        }
    }

    /// All distinct columns, one after the other.
    pub(super) fn vectors(&self) -> &[f64] {
        &self.vectors
    }

    /// A distinct column.
    pub(super) fn vector(&self, distinct: usize) -> &[f64] {
        &self.vectors[distinct * self.rows.len()..][..self.rows.len()]
    }

    /// The distinct column of an event; `None` if it does not vary.
    pub(super) fn of(&self, column: Column) -> Option<usize> {
        self.places.get(column as usize).filter(|place| **place != CONSTANT).map(|place| *place as usize)
    }

    /// Pearson's correlation of an event with time; 0 if either does not vary.
    pub(super) fn correlation(&self, column: Column) -> f64 {
        self.of(column).map_or(0.0, |at| self.with_time[at])
    }

    /// The Z-scores of several distinct columns, averaged by how many events each stands for, and standardised again
    /// (section 3.5); `None` if they cancel.
    pub(super) fn average(&self, distinct: &[usize]) -> Option<Vec<f64>> {
        let mut sum = vec![0.0; self.rows.len()];
        for at in distinct {
            let weight = self.members[*at].len() as f64;
            for (sum, value) in sum.iter_mut().zip(self.vector(*at)) {
                *sum += weight * value;
            }
        }
        to_unit(&mut sum, 1.0).map(|_| sum)
    }
}

/// For each event its distinct column.
fn places(members: &[Vec<Column>]) -> Vec<u32> {
    let last = members.iter().flatten().max();
    let mut places = vec![CONSTANT; last.map_or(0, |last| *last as usize + 1)];
    for (at, members) in members.iter().enumerate() {
        for member in members {
            places[*member as usize] = at as u32;
        }
    }
    places
}

/// Time of all rows, as a column.
fn time(rows: &Rows, instances: &[&Dealt<'_>]) -> Option<Vec<f64>> {
    let mut time: Vec<f64> =
        instances.iter().flat_map(|instance| instance.time.iter().map(|time| *time as f64)).collect();
    let longest = time.iter().copied().fold(0.0, f64::max);
    rows.centre(&mut time);
    to_unit(&mut time, longest).map(|_| time)
}

/// Accesses are superior to misses, and no cause; edges into code that only waits are no work.
fn skipped(program: &Program<'_>, column: Column) -> bool {
    if let Some((_, to)) = program.edge(column) {
        return program.counts.blocks[to.index()].waits;
    }
    let hardware = program.counts.hardware_event(EventId(column));
    hardware.is_some_and(|event| event.kind == HardwareKind::Access)
}

/// What is superior to an event.
enum Superior {
    Event(Column),
    Executions(BlockId),
}

/// What is superior to an event, the highest first; nothing for edges.
fn superiors(program: &Program<'_>, column: Column) -> Vec<Superior> {
    let counts = program.counts;
    if (column as usize) < counts.edges.len() {
        return Vec::new();
    }
    let Some(first) = counts.hardware_event(EventId(column)) else {
        return vec![Superior::Executions(BlockId(column - counts.events() as u32))];
    };
    let mut chain = Vec::new();
    let mut event = first;
    // Superiors of superiors could be made to form a ring.
    for _ in 0..HardwareKind::Queueing as usize + 1 {
        let Some(superior) = event.superior else {
            chain.extend(event.block.map(Superior::Executions));
            break;
        };
        chain.push(Superior::Event(superior.0));
        match counts.hardware_event(superior) {
            Some(next) => event = next,
            None => break,
        }
    }
    chain.reverse();
    chain
}

/// How often a block was executed, by row, centred: what led into it or, where more led out of it, that.
fn executions(program: &Program<'_>, rows: &Rows, sorted: &Sorted<'_>, block: BlockId) -> Vec<f64> {
    let sum = |edges: &[u32]| {
        let mut sum = vec![0.0; rows.len()];
        for edge in edges {
            for (row, count) in sorted.of(*edge) {
                sum[*row as usize] += *count as f64;
            }
        }
        sum
    };
    let into = sum(program.into(block));
    let out = match program.return_edge(block) {
        Some(edge) => sum(&[edge]),
        None => sum(program.out(block)),
    };
    let mut more = if out.iter().sum::<f64>() > into.iter().sum::<f64>() { out } else { into };
    rows.centre(&mut more);
    more
}

/// A column as numbers, centred.
fn centred(rows: &Rows, entries: &[(u32, u64)]) -> Vec<f64> {
    let mut column = vec![0.0; rows.len()];
    for (row, count) in entries {
        column[*row as usize] = *count as f64;
    }
    rows.centre(&mut column);
    column
}

/// n · count − Σ counts of the instance, for each row, divided by what all have in common: the same for two events if and
/// only if their centred columns are proportional. False if all are 0, or numbers are beyond all measure.
fn differences(rows: &Rows, entries: &[(u32, u64)], out: &mut Vec<i64>) -> bool {
    out.clear();
    out.resize(rows.len(), 0);
    let mut entries = entries.iter().peekable();
    let mut divisor: u64 = 0;
    for span in rows.spans() {
        let threads = span.len() as i64;
        let mut sum: i64 = 0;
        while let Some((row, count)) = entries.next_if(|(row, _)| (*row as usize) < span.end) {
            let Some(scaled) = i64::try_from(*count).ok().and_then(|count| count.checked_mul(threads)) else {
                return false;
            };
            out[*row as usize] = scaled;
            let Some(more) = sum.checked_add(scaled / threads) else { return false };
            sum = more;
        }
        if sum == 0 {
            continue;
        }
        for value in &mut out[span] {
            *value -= sum;
            if divisor != 1 {
                divisor = greatest_common_divisor(divisor, value.unsigned_abs());
            }
        }
    }
    if divisor == 0 {
        return false;
    }
    if let Ok(divisor @ 2..) = i64::try_from(divisor) {
        out.iter_mut().for_each(|value| *value /= divisor);
    }
    true
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Distinct columns as they are found.
struct Builder<'a> {
    rows: &'a Rows,
    vectors: Vec<f64>,
    members: Vec<Vec<Column>>,
    /// Columns by the hash of their numbers.
    same: BTreeMap<u64, Vec<usize>>,
}

impl Builder<'_> {
    /// A column as [`differences`] gives it. The unit vector is a function of these, so equal ones become equal bit by bit.
    fn add_integers(&mut self, column: Column, differences: &[i64]) {
        let mut vector: Vec<f64> = differences.iter().map(|value| *value as f64).collect();
        for span in self.rows.spans() {
            let threads = span.len() as f64;
            vector[span].iter_mut().for_each(|value| *value /= threads);
        }
        if to_unit(&mut vector, 0.0).is_some() {
            self.add(column, vector);
        }
    }

    fn add(&mut self, column: Column, vector: Vec<f64>) {
        let length = self.rows.len();
        let hash = vector.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, value| {
            (hash ^ value.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        });
        let candidates = self.same.entry(hash).or_default();
        match candidates.iter().find(|at| self.vectors[**at * length..][..length] == vector[..]) {
            Some(at) => self.members[*at].push(column),
            None => {
                candidates.push(self.members.len());
                self.members.push(vec![column]);
                self.vectors.extend(vector);
            }
        }
    }
}

/// Entries of all instances: by column, and by row of the stack.
struct Sorted<'a> {
    entries: Vec<(u32, u64)>,
    /// (column, where its entries begin), by column; last one that is behind all.
    starts: Vec<(Column, usize)>,
    nothing: &'a [(u32, u64)],
}

impl Sorted<'_> {
    fn columns(&self) -> impl Iterator<Item = (Column, &[(u32, u64)])> {
        self.starts.windows(2).map(|pair| (pair[0].0, &self.entries[pair[0].1..pair[1].1]))
    }

    fn of(&self, column: Column) -> &[(u32, u64)] {
        let last = self.starts.len() - 1;
        match self.starts[..last].binary_search_by_key(&column, |start| start.0) {
            Ok(at) => &self.entries[self.starts[at].1..self.starts[at + 1].1],
            Err(_) => self.nothing,
        }
    }
}

/// Sorts the entries of all instances by column (counting sort: they are sorted within each instance).
fn by_column(program: &Program<'_>, instances: &[&Dealt<'_>], rows: &Rows) -> Sorted<'static> {
    let columns = program.counts.events() + program.counts.blocks.len();
    let mut ends = vec![0_usize; columns + 1];
    for (column, _, _) in instances.iter().flat_map(|instance| &instance.entries) {
        ends[*column as usize + 1] += 1;
    }
    for column in 0..columns {
        ends[column + 1] += ends[column];
    }
    let starts = (0..columns).filter(|column| ends[column + 1] > ends[*column]);
    let starts: Vec<(Column, usize)> = starts.map(|column| (column as u32, ends[column])).collect();
    let mut entries = vec![(0, 0); ends[columns]];
    let mut next = ends;
    for (instance, span) in instances.iter().zip(rows.spans()) {
        for (column, row, count) in &instance.entries {
            let at = &mut next[*column as usize];
            entries[*at] = (span.start as u32 + row, *count);
            *at += 1;
        }
    }
    let end = entries.len();
    Sorted { entries, starts: starts.into_iter().chain([(u32::MAX, end)]).collect(), nothing: &[] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &[usize], counts: &[u64]) -> Option<Vec<i64>> {
        let rows = Rows::new(rows.iter().copied());
        let entries: Vec<(u32, u64)> = counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(row, count)| (row as u32, *count))
            .collect();
        let mut out = Vec::new();
        differences(&rows, &entries, &mut out).then_some(out)
    }

    #[test]
    fn constants_have_no_differences() {
        assert_eq!(of(&[4], &[7, 7, 7, 7]), None);
        assert_eq!(of(&[2, 2], &[7, 7, 0, 0]), None);
    }

    #[test]
    fn proportional_and_shifted_counts_differ_alike() {
        let once = of(&[4], &[0, 1, 2, 5]);
        assert_eq!(once, Some(vec![-2, -1, 0, 3]));
        assert_eq!(of(&[4], &[100, 103, 106, 115]), once);
        assert_ne!(of(&[4], &[5, 4, 3, 0]), once);
    }

    #[test]
    fn instances_are_told_apart() {
        assert_eq!(of(&[2, 2], &[0, 2, 1, 1]), Some(vec![-1, 1, 0, 0]));
        assert_ne!(of(&[2, 2], &[0, 2, 0, 2]), of(&[2, 2], &[0, 2, 0, 4]));
        // Instances with different numbers of threads: (0, 2 | 0, 0, 3) and its double.
        assert_eq!(of(&[2, 3], &[0, 2, 0, 0, 3]), of(&[2, 3], &[0, 4, 0, 0, 6]));
    }

    #[test]
    fn counts_beyond_all_measure_are_left_out() {
        assert_eq!(of(&[2], &[u64::MAX, 1]), None);
    }
}
