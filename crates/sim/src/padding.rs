//! Padding as a what-if: parts of cache lines that different cores use get lines of their own.
//!
//! What padding would gain cannot be read off the transfers of a line: they overlap with other work, and whom they delay may not
//! be whom the others wait for. So the program is simulated again with other addresses. Bytes of a line that the same
//! cores read and the same cores write stay together, as they would in a structure that is aligned for each thread; each other
//! set of bytes gets the next line of a region that no program has. An access that spans two sets goes where its first byte is.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::cycles::{LineUser, SharedLine};

use crate::program::{Access, Bookmark, Feed, Item};

/// Where parts go that are moved: beyond the addresses of user programs, which end at 2^47 on x86-64.
const ELSEWHERE: u64 = 1 << 47;
/// Bits of the masks of a [`LineUser`].
const BITS: u64 = 64;
/// Bits of the filter that tells most addresses apart without a search.
const FILTER: u64 = 4096;

/// Cache lines whose parts have lines of their own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Padding {
    /// Bytes of a line.
    line: u64,
    /// By the lines' first addresses, in their order.
    padded: Vec<Padded>,
    /// Which lines may be among them, by their low bits.
    filter: Vec<u64>,
}

#[derive(Clone, Debug, PartialEq)]
struct Padded {
    address: u64,
    /// For each bit of a mask the line that it is moved to, from 1 on; 0 stays.
    parts: Vec<u8>,
    /// The address of line 1.
    elsewhere: u64,
}

impl Padding {
    /// The padding of these lines of so many bytes; those of which all bytes have the same users stay as they are.
    pub fn of<'a>(lines: impl IntoIterator<Item = &'a SharedLine>, line: u32) -> Padding {
        let lines: BTreeMap<u64, &SharedLine> = lines.into_iter().map(|line| (line.address, line)).collect();
        let mut padding = Padding { line: u64::from(line.max(1)), ..Padding::default() };
        let mut next = ELSEWHERE;
        for (address, shared) in lines {
            let (parts, moved) = parts(&shared.users);
            if moved == 0 {
                continue;
            }
            let number = address / padding.line % FILTER;
            padding.filter.resize((FILTER / BITS) as usize, 0);
            padding.filter[(number / BITS) as usize] |= 1 << (number % BITS);
            padding.padded.push(Padded { address, parts, elsewhere: next });
            next += u64::from(moved) * padding.line;
        }
        padding
    }

    /// True if nothing is moved.
    pub fn is_empty(&self) -> bool {
        self.padded.is_empty()
    }

    /// Where the byte at an address is.
    #[inline]
    pub(crate) fn moved(&self, address: u64) -> u64 {
        if self.padded.is_empty() {
            return address;
        }
        let number = address / self.line % FILTER;
        match self.filter[(number / BITS) as usize] >> (number % BITS) & 1 {
            0 => address,
            _ => self.search(address),
        }
    }

    #[inline(never)]
    fn search(&self, address: u64) -> u64 {
        let offset = address % self.line;
        let found = self.padded.binary_search_by_key(&(address - offset), |padded| padded.address);
        let Some(padded) = found.ok().map(|index| &self.padded[index]) else { return address };
        match padded.parts[(offset / self.bytes_a_bit()) as usize] {
            0 => address,
            part => padded.elsewhere + u64::from(part - 1) * self.line + offset,
        }
    }

    /// Lines that are longer than a mask have several bytes for a bit.
    fn bytes_a_bit(&self) -> u64 {
        self.line.div_ceil(BITS)
    }

    /// Lines of which some are elsewhere, as lines of the program: parts of one are together again.
    pub(crate) fn restored(&self, lines: Vec<SharedLine>) -> Vec<SharedLine> {
        let mut all: BTreeMap<u64, SharedLine> = BTreeMap::new();
        for mut line in lines {
            line.address = self.origin(line.address);
            match all.get_mut(&line.address) {
                Some(whole) => add(whole, line),
                None => _ = all.insert(line.address, line),
            }
        }
        let mut lines: Vec<SharedLine> = all.into_values().collect();
        lines.sort_by_key(|line| (std::cmp::Reverse(line.cycles), line.address));
        lines
    }

    fn origin(&self, address: u64) -> u64 {
        let behind = self.padded.partition_point(|padded| padded.elsewhere <= address);
        let padded = behind.checked_sub(1).and_then(|index| self.padded.get(index));
        padded.filter(|_| address >= ELSEWHERE).map_or(address, |padded| padded.address)
    }
}

/// Which part each bit belongs to, and how many parts are moved. Bytes that nobody uses stay with the first part.
fn parts(users: &[LineUser]) -> (Vec<u8>, u8) {
    let mut known: BTreeMap<Vec<(u32, bool)>, u8> = BTreeMap::new();
    let part = |bit: u64| {
        let uses = |mask: u64| mask >> bit & 1 == 1;
        let of = |user: &LineUser| {
            let read = uses(user.reads).then_some((user.thread, false));
            read.into_iter().chain(uses(user.writes).then_some((user.thread, true))).collect::<Vec<_>>()
        };
        let mut by: Vec<(u32, bool)> = users.iter().flat_map(of).collect();
        if by.is_empty() {
            return 0;
        }
        by.sort_unstable();
        let next = known.len() as u8;
        *known.entry(by).or_insert(next)
    };
    let parts: Vec<u8> = (0..BITS).map(part).collect();
    let moved = parts.iter().copied().max().unwrap_or(0);
    (parts, moved)
}

fn add(whole: &mut SharedLine, part: SharedLine) {
    whole.transfers += part.transfers;
    whole.cycles += part.cycles;
    whole.false_cycles += part.false_cycles;
    for user in part.users {
        match whole.users.iter_mut().find(|known| known.thread == user.thread) {
            Some(known) => {
                known.reads |= user.reads;
                known.writes |= user.writes;
                let all = known.instructions.iter().copied().chain(user.instructions);
                known.instructions = all.collect::<BTreeSet<u64>>().into_iter().collect();
            }
            None => whole.users.push(user),
        }
    }
    whole.users.sort_by_key(|user| user.thread);
}

/// What threads do, with accesses where the padding moved them.
pub(crate) struct PaddedFeed<'a> {
    inner: &'a mut dyn Feed,
    padding: &'a Padding,
    addresses: Vec<u64>,
    accesses: Vec<(Access, u64)>,
}

impl<'a> PaddedFeed<'a> {
    pub(crate) fn new(inner: &'a mut dyn Feed, padding: &'a Padding) -> Self {
        Self { inner, padding, addresses: Vec::new(), accesses: Vec::new() }
    }
}

impl Feed for PaddedFeed<'_> {
    fn next(&mut self, thread: usize) -> Item<'_> {
        match self.inner.next(thread) {
            Item::Block(block, addresses) => {
                self.addresses.clear();
                self.addresses.extend(addresses.iter().map(|address| self.padding.moved(*address)));
                Item::Block(block, &self.addresses)
            }
            Item::Partial(block, count, accesses) => {
                let moved = |(access, address): &(Access, u64)| (*access, self.padding.moved(*address));
                self.accesses.clear();
                self.accesses.extend(accesses.iter().map(moved));
                Item::Partial(block, count, &self.accesses)
            }
            Item::Act(act) => Item::Act(act),
            Item::UnitEnd => Item::UnitEnd,
            Item::Skipped(skipped) => Item::Skipped(skipped),
            Item::End => Item::End,
        }
    }

    fn take_unit(&mut self, thread: usize, unit: u32) {
        self.inner.take_unit(thread, unit);
    }

    fn bookmark(&mut self, thread: usize) -> Bookmark {
        self.inner.bookmark(thread)
    }

    fn go_to(&mut self, thread: usize, bookmark: &Bookmark) {
        self.inner.go_to(thread, bookmark);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn user(thread: u32, reads: u64, writes: u64) -> LineUser {
        LineUser { thread, reads, writes, instructions: vec![u64::from(thread)] }
    }

    fn line(address: u64, users: Vec<LineUser>) -> SharedLine {
        SharedLine { address, transfers: 1, cycles: 10, false_cycles: 5, users }
    }

    #[test]
    fn what_different_cores_use_gets_lines_of_its_own_and_the_first_part_stays() {
        let lines =
            [line(0x1040, vec![user(0, 0xff, 0xff), user(1, 0, 0xff00), user(2, 0xff_0000, 0xff_0000)])];
        let padding = Padding::of(&lines, 64);
        let moved = |offset: u64| padding.moved(0x1040 + offset);
        assert_eq!(
            [moved(0), moved(7), moved(40)],
            [0x1040, 0x1047, 0x1068],
            "the first, and what nobody uses"
        );
        assert_eq!([moved(8), moved(15)], [ELSEWHERE + 8, ELSEWHERE + 15]);
        assert_eq!(moved(16), ELSEWHERE + 64 + 16);
        assert_eq!([padding.moved(0x103f), padding.moved(0x1080)], [0x103f, 0x1080], "other lines");
        assert_eq!(
            padding.moved(0x1040 + 64 * FILTER + 8),
            0x1048 + 64 * FILTER,
            "another with the same low bits"
        );
    }

    #[test]
    fn what_is_truly_shared_stays_together() {
        let users = vec![user(0, 0xffff, 0xffff), user(1, 0xffff, 0xffff)];
        assert!(Padding::of(&[line(0, users)], 64).is_empty());
        assert_eq!(Padding::default().moved(77), 77);
    }

    #[test]
    fn long_lines_are_moved_by_what_a_bit_stands_for() {
        let padding = Padding::of(&[line(0, vec![user(0, 0, 1), user(1, 0, 2)])], 128);
        assert_eq!(
            [0, 1, 2, 3, 4].map(|at| padding.moved(at) >= ELSEWHERE),
            [false, false, true, true, false]
        );
    }

    #[test]
    fn lines_are_told_as_those_of_the_program() {
        let lines =
            [line(0x40, vec![user(0, 1, 0), user(1, 0, 2)]), line(0x80, vec![user(0, 1, 0), user(1, 0, 2)])];
        let padding = Padding::of(&lines, 64);
        let told = padding.restored(vec![
            line(ELSEWHERE, vec![user(1, 0, 2), user(2, 0, 2)]),
            line(ELSEWHERE + 64, vec![user(1, 0, 2)]),
            line(0x40, vec![user(1, 1, 0)]),
        ]);
        let found: Vec<_> = told.iter().map(|line| (line.address, line.cycles, line.users.len())).collect();
        assert_eq!(found, [(0x40, 20, 2), (0x80, 10, 1)]);
        assert_eq!(told[0].users[0], user(1, 1, 2));
    }

    fn lines() -> impl Strategy<Value = Vec<SharedLine>> {
        let users = prop::collection::vec((0u32..4, any::<u64>(), any::<u64>()), 1..5);
        let users = users.prop_map(|users| {
            let by_thread: BTreeMap<u32, LineUser> = users
                .into_iter()
                .map(|(thread, reads, writes)| (thread, user(thread, reads, writes)))
                .collect();
            by_thread.into_values().collect::<Vec<_>>()
        });
        prop::collection::btree_map(0u64..200, users, 0..20)
            .prop_map(|lines| lines.into_iter().map(|(number, users)| line(number * 64, users)).collect())
    }

    proptest! {
        #[test]
        fn different_bytes_stay_different_and_no_line_has_bytes_of_different_users(lines in lines()) {
            let padding = Padding::of(&lines, 64);
            let mut seen = BTreeSet::new();
            let mut by_line: BTreeMap<u64, Vec<(u32, bool)>> = BTreeMap::new();
            for address in 0..200 * 64u64 {
                let at = padding.moved(address);
                prop_assert!(seen.insert(at));
                prop_assert_eq!(at % 64, address % 64);
                prop_assert_eq!(padding.origin(at / 64 * 64), address / 64 * 64);
                let Some(line) = lines.iter().find(|line| line.address == address / 64 * 64) else {
                    prop_assert_eq!(at, address);
                    continue;
                };
                let uses = |user: &LineUser| [(user.reads, false), (user.writes, true)]
                    .into_iter()
                    .filter(|(mask, _)| mask >> (address % 64) & 1 == 1)
                    .map(|(_, writes)| (user.thread, writes))
                    .collect::<Vec<_>>();
                let by: Vec<(u32, bool)> = line.users.iter().flat_map(uses).collect();
                if !by.is_empty() {
                    prop_assert_eq!(&by, by_line.entry(at / 64).or_insert_with(|| by.clone()));
                }
            }
        }
    }
}
