//! Lines that change hands because a core writes them, and whether the cores use the same bytes (true sharing) or not
//! (false sharing).
//!
//! A line is followed byte by byte from the second time on that it changes hands, as long as a small table of candidates
//! remembers the first: data that is handed over once, such as the blocks of a transposed matrix, costs nothing. From
//! then on all its uses come here, of any core. A transfer is true sharing if, before the core's copy is taken or made
//! a shared one again, it reads a byte that another core wrote since its last copy, or writes one that another core
//! used; otherwise the transfer only happened because both are in one line (Torrellas, Lam and Hennessy, "False sharing and
//! spatial locality in multiprocessor caches", IEEE Transactions on Computers 1994, has it by word). Transfers from before
//! are counted, but not as false.

use holdup_model::cycles::{LineUser, SharedLine};

use super::table::Table;

/// Entries of the table of candidates.
const CANDIDATES: usize = 1 << 14;
/// Lines that are followed at most; if there are more, the half that changed hands least is forgotten.
const MOST_LINES: usize = 1 << 16;
/// Lines that are reported, those that cost most.
const MOST_REPORTED: usize = 1000;
/// Instructions that are kept of each user.
const MOST_PLACES: usize = 8;
/// Bits of a mask.
const BITS: u32 = 64;

/// All lines that are followed.
pub(crate) struct SharedLines {
    /// log2 of the bytes of a line.
    line_bits: u32,
    candidates: Vec<Candidate>,
    /// The index of each line that is followed.
    known: Table<u32>,
    followed: Vec<Followed>,
    /// The line that was used last, and its index.
    last: Option<(u64, u32)>,
}

#[derive(Clone, Copy, Default)]
struct Candidate {
    line: u64,
    transfers: u32,
    cycles: u64,
}

struct Followed {
    line: u64,
    transfers: u64,
    cycles: u64,
    false_cycles: u64,
    users: Vec<User>,
    /// By user: its core; and bytes that others read, and that they wrote, since it lost or had to share its last copy. Where many
    /// cores take turns, all of these are gone through at each.
    cores: Vec<u32>,
    others_read: Vec<u64>,
    others_wrote: Vec<u64>,
    /// The user that used it last.
    recent: usize,
    /// Bytes that this one read and wrote, of which the others do not know yet: they are told when another one comes.
    untold: [u64; 2],
}

#[derive(Default)]
struct User {
    reads: u64,
    writes: u64,
    places: [u32; MOST_PLACES],
    place_count: usize,
    /// Cycles of the transfers of which it is not known yet whether they are false sharing.
    open: u64,
    /// It used a byte that makes them true sharing.
    is_true: bool,
}

impl SharedLines {
    /// None yet, for lines of so many bytes.
    pub(crate) fn new(line: u32) -> Self {
        Self {
            line_bits: line.trailing_zeros(),
            candidates: Vec::new(),
            known: Table::new(),
            followed: Vec::new(),
            last: None,
        }
    }

    /// True if any line is followed.
    pub(crate) fn follows_any(&self) -> bool {
        !self.followed.is_empty()
    }

    /// True if this line is.
    pub(crate) fn follows(&self, line: u64) -> bool {
        self.follows_any() && self.known.get(line).is_some()
    }

    /// The core got the line from another, or took others their copies, and that took so many cycles. True if the line is
    /// followed from now on, and was not before.
    pub(crate) fn transferred(&mut self, line: u64, core: u32, cycles: u64) -> bool {
        if let Some(index) = self.known.get(line) {
            let followed = &mut self.followed[index as usize];
            followed.transfers += 1;
            followed.cycles += cycles;
            let user = followed.user(core);
            followed.false_cycles += followed.users[user].begin(cycles);
            return false;
        }
        if self.candidates.is_empty() {
            self.candidates = vec![Candidate::default(); CANDIDATES];
        }
        let hash = line.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - CANDIDATES.trailing_zeros());
        let candidate = &mut self.candidates[hash as usize];
        if candidate.line != line || candidate.transfers == 0 {
            *candidate = Candidate { line, transfers: 1, cycles };
            return false;
        }
        let before = std::mem::take(candidate);
        if self.followed.len() == MOST_LINES {
            self.forget_half();
        }
        self.known.insert(line, self.followed.len() as u32);
        self.followed.push(Followed {
            line,
            transfers: u64::from(before.transfers) + 1,
            cycles: before.cycles + cycles,
            false_cycles: 0,
            users: Vec::new(),
            cores: Vec::new(),
            others_read: Vec::new(),
            others_wrote: Vec::new(),
            recent: 0,
            untold: [0; 2],
        });
        true
    }

    /// A core uses bytes of a line that is followed: so many from this one on. False if the line is not.
    pub(crate) fn used(&mut self, line: u64, core: u32, bytes: (u32, u32), writes: bool, place: u32) -> bool {
        let index = match self.last {
            Some((last, index)) if last == line => index,
            _ => {
                let Some(index) = self.known.get(line) else { return false };
                self.last = Some((line, index));
                index
            }
        };
        let mask = mask(self.line_bits, bytes);
        let followed = &mut self.followed[index as usize];
        followed.uses(core, mask, writes, place);
        true
    }

    /// A core lost its copy of a line that is followed, or may not write it any more.
    pub(crate) fn lost(&mut self, line: u64, core: u32) {
        let Some(index) = self.known.get(line) else { return };
        let followed = &mut self.followed[index as usize];
        followed.tell();
        if let Some(index) = followed.cores.iter().position(|user| *user == core) {
            let user = &mut followed.users[index];
            followed.false_cycles += user.false_cycles();
            (user.open, user.is_true) = (0, false);
            (followed.others_read[index], followed.others_wrote[index]) = (0, 0);
        }
    }

    fn forget_half(&mut self) {
        let mut transfers: Vec<u64> = self.followed.iter().map(|followed| followed.transfers).collect();
        let middle = transfers.len() / 2;
        let median = *transfers.select_nth_unstable(middle).1;
        let mut kept = 0;
        self.followed.retain(|followed| {
            // Of those with just as many, only as many stay as there is room.
            let stays = followed.transfers >= median && kept < middle;
            kept += usize::from(stays);
            stays
        });
        self.known = Table::new();
        self.last = None;
        for (index, followed) in self.followed.iter().enumerate() {
            self.known.insert(followed.line, index as u32);
        }
    }

    /// What is known, the lines that cost most first; `places` has the address of each instruction.
    pub(crate) fn report(&self, places: &[u64]) -> Vec<SharedLine> {
        let mut lines: Vec<SharedLine> =
            self.followed.iter().map(|followed| followed.report(self.line_bits, places)).collect();
        lines.sort_by_key(|line| (std::cmp::Reverse(line.cycles), line.address));
        lines.truncate(MOST_REPORTED);
        lines
    }
}

/// The bits of so many bytes from this one on. Lines that are longer than there are bits have several bytes a bit.
pub(crate) fn mask(line_bits: u32, (first, bytes): (u32, u32)) -> u64 {
    let shift = line_bits.saturating_sub(BITS.trailing_zeros());
    let last = (first + bytes.max(1) - 1) >> shift;
    let first = (first >> shift).min(BITS - 1);
    (u64::MAX >> (BITS - 1 - last.min(BITS - 1))) & (u64::MAX << first)
}

impl Followed {
    #[inline]
    fn user(&mut self, core: u32) -> usize {
        if self.cores.get(self.recent) != Some(&core) {
            self.tell();
            self.recent = self.cores.iter().position(|user| *user == core).unwrap_or_else(|| {
                self.cores.push(core);
                // Nothing is known of it: its first transfers are not said to be false sharing.
                self.others_read.push(u64::MAX);
                self.others_wrote.push(u64::MAX);
                self.users.push(User::default());
                self.users.len() - 1
            });
        }
        self.recent
    }

    #[inline]
    fn uses(&mut self, core: u32, mask: u64, writes: bool, place: u32) {
        let index = self.user(core);
        let wrote = self.others_wrote[index];
        let others = if writes { self.others_read[index] | wrote } else { wrote };
        self.users[index].uses(others & mask != 0, mask, writes, place);
        self.untold[usize::from(writes)] |= mask;
    }

    /// Tells the others what the last user did.
    fn tell(&mut self) {
        let [read, wrote] = std::mem::take(&mut self.untold);
        if read | wrote == 0 {
            return;
        }
        for (others, told) in [(&mut self.others_read, read), (&mut self.others_wrote, wrote)] {
            let own = others[self.recent];
            others.iter_mut().for_each(|known| *known |= told);
            others[self.recent] = own;
        }
    }

    fn report(&self, line_bits: u32, places: &[u64]) -> SharedLine {
        let open: u64 = self.users.iter().map(User::false_cycles).sum();
        let mut users: Vec<LineUser> = self
            .users
            .iter()
            .zip(&self.cores)
            .map(|(user, &thread)| {
                let address = |place: &u32| places.get(*place as usize).copied();
                let mut instructions: Vec<u64> = user.places().iter().filter_map(address).collect();
                instructions.sort_unstable();
                LineUser { thread, reads: user.reads, writes: user.writes, instructions }
            })
            .collect();
        users.sort_by_key(|user| user.thread);
        SharedLine {
            address: self.line << line_bits,
            transfers: self.transfers,
            cycles: self.cycles,
            false_cycles: self.false_cycles + open,
            users,
        }
    }
}

impl User {
    fn places(&self) -> &[u32] {
        &self.places[..self.place_count]
    }

    /// A transfer begins; the cycles of those before that were false sharing.
    fn begin(&mut self, cycles: u64) -> u64 {
        let before = self.false_cycles();
        (self.open, self.is_true) = (cycles, false);
        before
    }

    #[inline]
    fn uses(&mut self, is_true: bool, mask: u64, writes: bool, place: u32) {
        self.is_true |= is_true;
        if writes {
            self.writes |= mask;
        } else {
            self.reads |= mask;
        }
        if self.place_count < MOST_PLACES && !self.places().contains(&place) {
            self.places[self.place_count] = place;
            self.place_count += 1;
        }
    }

    fn false_cycles(&self) -> u64 {
        if self.is_true { 0 } else { self.open }
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_LINES, SharedLines, mask};

    fn followed() -> SharedLines {
        let mut lines = SharedLines::new(64);
        assert!(!lines.transferred(7, 0, 10));
        assert!(lines.transferred(7, 1, 10));
        lines
    }

    #[test]
    fn a_line_that_is_handed_over_once_is_not_followed() {
        let mut lines = SharedLines::new(64);
        (0..100_000).for_each(|line| assert!(!lines.transferred(line, 1, 10)));
        assert!(lines.report(&[]).is_empty());
    }

    #[test]
    fn different_bytes_are_false_sharing() {
        let mut lines = followed();
        for turn in 0..10 {
            let core = turn % 2;
            lines.lost(7, 1 - core);
            lines.transferred(7, core, 100);
            lines.used(7, core, (core * 8, 8), true, core);
        }
        let line = &lines.report(&[0x400, 0x500])[0];
        assert_eq!((line.address, line.transfers, line.cycles), (7 * 64, 12, 1020));
        // Of each core the first transfer is unknown.
        assert_eq!(line.false_cycles, 800);
        assert_eq!(line.users[0].writes, 0xFF);
        assert_eq!(line.users[1].writes, 0xFF00);
        assert_eq!(line.users[1].instructions, [0x500]);
    }

    #[test]
    fn the_same_bytes_are_true_sharing() {
        let mut lines = followed();
        for turn in 0..10 {
            let core = turn % 2;
            lines.lost(7, 1 - core);
            lines.transferred(7, core, 100);
            lines.used(7, core, (core * 8, 8), true, 0);
            lines.used(7, core, (32, 4), true, 0);
        }
        assert_eq!(lines.report(&[])[0].false_cycles, 0);
    }

    #[test]
    fn a_writer_whose_bytes_are_read_shares_truly_and_one_whose_are_not_does_not() {
        for (read, expected) in [((0, 8), 0), ((8, 8), 1800)] {
            let mut lines = followed();
            for _ in 0..10 {
                lines.lost(7, 1);
                lines.transferred(7, 0, 100);
                lines.used(7, 0, (0, 8), true, 0);
                // The reader makes the writer's copy a shared one.
                lines.lost(7, 0);
                lines.transferred(7, 1, 100);
                lines.used(7, 1, read, false, 1);
            }
            let found = lines.report(&[])[0].false_cycles;
            assert_eq!(found, expected, "{read:?}");
        }
    }

    #[test]
    fn memory_is_bounded_and_what_changes_hands_often_is_kept() {
        let mut lines = SharedLines::new(64);
        for line in 0..2 * MOST_LINES as u64 {
            lines.transferred(line, 0, 1);
            lines.transferred(line, 1, 1);
            lines.transferred(3, 1, 1);
            assert!(lines.followed.len() <= MOST_LINES);
        }
        let first = &lines.report(&[])[0];
        assert_eq!((first.address, first.transfers), (3 * 64, 2 * MOST_LINES as u64 + 2));
    }

    #[test]
    fn long_lines_have_several_bytes_a_bit() {
        assert_eq!(mask(7, (0, 8)), 0b1111);
        assert_eq!(mask(7, (120, 8)), 0b1111 << 60);
        assert_eq!(mask(6, (0, 64)), u64::MAX);
        assert_eq!(mask(5, (31, 1)), 1 << 31);
    }
}
