//! Whose turn it is to run by itself ([`crate::alone`]), as far as that takes looking at all threads.

use super::{ProcessFile, Slot};
use crate::alone::{Conduct, Phase, Turn};
use crate::atomic::Ordering::SeqCst;

impl Slot {
    /// What its thread does.
    pub fn conduct(&self) -> Conduct {
        Conduct::from_code(self.alone_state.load(SeqCst) as u8).unwrap_or(Conduct::Runs)
    }
}

impl ProcessFile {
    /// The slots that threads use, or have used.
    pub fn used_slots<'a>(self) -> impl Iterator<Item = (u32, &'a Slot)> {
        let used = self.header().alone.slots.load(SeqCst).min(self.slots());
        (0..used).filter_map(move |index| Some((index, self.slot(index)?)))
    }

    /// The slot of the profiled thread, while it lives.
    pub fn profiled_slot<'a>(self) -> Option<&'a Slot> {
        let profiled = self.header().alone.profiled()?;
        let slot = self.slot(profiled.slot)?;
        let lives = slot.live.load(SeqCst) != 0 && slot.thread.load(SeqCst) == profiled.number;
        lives.then_some(slot)
    }

    /// True if all threads but the profiled one are quiet.
    pub fn others_are_quiet(self) -> bool {
        let profiled = self.header().alone.profiled().map(|profiled| profiled.slot);
        self.used_slots().all(|(index, slot)| {
            Some(index) == profiled || slot.live.load(SeqCst) == 0 || slot.conduct() != Conduct::Runs
        })
    }

    /// Lets the profiled thread go if it wants to, all others are quiet and the pirate is ready; then true: whoever
    /// waits for [`crate::alone::Block::go`] must be woken.
    pub fn lets_go(self) -> bool {
        let block = &self.header().alone;
        let turn = block.turn();
        let may = turn.phase() == Phase::Wanted
            && self.profiled_slot().is_some_and(|slot| slot.conduct() == Conduct::Runs)
            && self.pirate_is_ready(turn)
            && self.others_are_quiet()
            && block.change(turn, turn.with(Phase::Alone));
        if may {
            block.go.fetch_add(1, SeqCst);
        }
        may
    }

    /// True if there is no pirate, or it is ready for this generation.
    pub fn pirate_is_ready(self, turn: Turn) -> bool {
        let block = &self.header().alone;
        block.pirated.load(SeqCst) == 0
            || block.pirate_ready.load(SeqCst) == turn.generation().wrapping_add(1)
    }
}
