//! Slices of a program that are left out, and what was before all: what they did to caches, directories and translation buffers is made up for.
//!
//! No time passes, nothing moves over links, and nothing is counted.

use super::Memory;
use super::cache::TRACKED;
use super::coherence::{State, Wish};
use super::hierarchy::Trip;
use crate::program::Skipped;
use crate::touched::{LINE_BITS, Touch};

impl Memory {
    /// Replays what slices that are left out used last; `core_of` says where threads are.
    pub(crate) fn replay(&mut self, skipped: &Skipped, core_of: impl Fn(u32) -> Option<u32>, now: u64) {
        if self.perfect == 0 {
            return;
        }
        self.home.is_quiet = true;
        for (thread, pages) in &skipped.pages {
            let Some(core) = core_of(*thread) else { continue };
            for touch in pages.iter() {
                let line = self.line(touch.line << LINE_BITS);
                self.home.socket_of_line(core, line);
            }
        }
        for (thread, lines) in &skipped.lines {
            let Some(core) = core_of(*thread) else { continue };
            lines.iter().for_each(|touch| self.replay_one(core, touch, now));
        }
        self.home.is_quiet = false;
    }

    fn replay_one(&mut self, core: u32, touch: Touch, now: u64) {
        let address = touch.line << LINE_BITS;
        self.translations[core as usize].data(address);
        let line = self.line(address);
        let first = &mut self.levels[0].caches[core as usize];
        if first.hits(line, touch.writes).is_some() {
            return;
        }
        let wish = if touch.writes { Wish::Write } else { Wish::Read };
        let mut trip = Trip::new(core, line, now, true);
        match first.used(line) {
            Some(_) if !touch.writes => {}
            Some(slot) if first.state(slot) != State::Shared => first.set_state(slot, State::Modified),
            Some(_) => {
                let granted = self.ask(0, core, wish, true, &mut trip);
                if let Some(slot) = self.levels[0].caches[core as usize].find(line) {
                    self.levels[0].caches[core as usize].set_state(slot, granted);
                }
            }
            None if !touch.is_recent && self.is_for_second(core, &touch, line) => {
                let index = core / self.levels[1].shared_by;
                let (slot, _) = self.ensure(1, index, wish, &mut trip);
                if touch.writes {
                    self.levels[1].caches[index as usize].set_state(slot, State::Modified);
                }
            }
            None => {
                let granted = self.ask(0, core, wish, false, &mut trip);
                let tracked = if self.sharing.follows(line) { TRACKED } else { 0 };
                self.fill(0, core, granted, tracked, &trip);
            }
        }
    }

    /// A line that the first level has lost meanwhile goes to the second one only, unless another first level below that
    /// must hear of it.
    fn is_for_second(&self, core: u32, touch: &Touch, line: u64) -> bool {
        let Some(level) = self.levels.get(1).filter(|_| self.perfect > 1) else { return false };
        let cache = &level.caches[(core / level.shared_by) as usize];
        cache.find(line).is_none_or(|slot| {
            let holders = cache.holders(slot);
            // Of an only cache below, which does not have it, this may be out of date.
            level.below.caches == 1 || holders.mask == 0 || !(touch.writes || holders.owned)
        })
    }
}
