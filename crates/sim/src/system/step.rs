//! What a core does with the next item of its thread.

use super::cores::{Cores, OneCore, Way};
use super::slices::Slicer;
use super::tally::Tally;
use super::{State, System};
use crate::Served;
use crate::memory::Memory;
use crate::program::{Access, Act, Code, Exit, Feed, Item};

impl<F: Feed> System<'_, F> {
    /// Simulates a core up to `limit`, or until its thread leaves it or has to wait for other cores.
    pub(super) fn run_core<const PACED: bool>(&mut self, core: u32, limit: u64) {
        while let Some(index) = self.on[core as usize] {
            if self.cores.now(core) >= limit {
                return;
            }
            let thread = &mut self.threads[index as usize];
            if let Some(act) = thread.pending {
                if !self.is_first(core) {
                    return;
                }
                self.threads[index as usize].pending = None;
                let now = self.cores.now(core);
                self.act(index, core, act);
                self.note_act(index, act, now);
                if self.notes.is_some() {
                    self.threads[index as usize].awaits = Some(act);
                }
                continue;
            }
            let item = self.feed.next(index as usize);
            if PACED && let Some(Slicer::Surveys(surveys)) = &mut self.slicer {
                let executed = surveys.collector.note(index as usize, &item);
                self.tally.instructions += executed;
                match item {
                    Item::Block(block, _) | Item::Partial(block, ..) => {
                        self.cores.pass(core, block, executed);
                        continue;
                    }
                    Item::Skipped(_) => continue,
                    _ => {}
                }
            }
            match item {
                Item::Block(block, addresses) => {
                    let last = thread.last_block.replace(block);
                    let code = &self.program.code;
                    self.cores.enter(core, code, last, block, &mut self.tally, index);
                    self.cores.execute(core, code, block, addresses, &mut self.tally, index);
                }
                Item::Partial(block, count, accesses) => {
                    let code = &self.program.code;
                    if count > 0 {
                        let last = thread.last_block.replace(block);
                        self.cores.enter(core, code, last, block, &mut self.tally, index);
                    }
                    self.cores.execute_partly(core, code, block, count, accesses, &mut self.tally, index);
                }
                Item::Act(act) => {
                    // Others see it when all before it is done; a piece of the course ends when it does.
                    self.cores.all[core as usize].core.settle();
                    match act {
                        // Where there are slices, only these are pieces.
                        Act::Cut if self.slicer.is_some() => {}
                        Act::Cut => self.cut(index),
                        act => thread.pending = Some(act),
                    }
                }
                Item::UnitEnd => {
                    if let Some(construct) = thread.deals {
                        thread.pending = Some(Act::Deal(construct));
                    }
                }
                Item::Skipped(skipped) => {
                    let threads = &self.threads;
                    let core_of = |thread: u32| threads[thread as usize].core;
                    let now = self.cores.now(core);
                    self.cores.memory.replay(skipped, core_of, now);
                }
                Item::End => self.end(index),
            }
        }
    }

    /// True if no other core is behind this one, so that nothing can come in before what it does now.
    fn is_first(&self, core: u32) -> bool {
        let now = self.cores.now(core);
        let is_behind = |(other, on): (u32, &Option<u32>)| {
            let time = self.cores.now(other);
            on.is_some() && (time < now || (time == now && other < core))
        };
        !(0..).zip(&self.on).any(is_behind)
            && self.timed.peek().is_none_or(|std::cmp::Reverse((at, _))| *at >= now)
    }

    /// A piece of the thread's course ends.
    pub(super) fn cut(&mut self, index: u32) {
        self.account(index);
        let now = match self.threads[index as usize].state {
            State::Running(core) => self.cores.now(core),
            _ => self.threads[index as usize].since,
        };
        let misses = self.tally.take_misses(self.program, index);
        let thread = &mut self.threads[index as usize];
        thread.piece.misses = misses;
        let next = holdup_model::cycles::CyclePiece { begin: now, ..Default::default() };
        thread.pieces.push(std::mem::replace(&mut thread.piece, next));
    }

    /// The thread has ended.
    fn end(&mut self, index: u32) {
        if self.slicer.is_none() {
            self.cut(index);
        }
        let now = self.detach(index);
        let thread = &mut self.threads[index as usize];
        thread.state = State::Ended;
        thread.end = now;
        self.ended += 1;
        if let Some(steer) = &mut self.steer {
            steer.ended(index, now);
        }
        let mut released = Vec::new();
        self.ends[index as usize].open(&mut released);
        self.wake(&released, now);
    }
}

impl Cores {
    /// The thread comes to a block: whether that was predicted, and where its code comes from.
    #[inline]
    fn enter(
        &mut self,
        core: u32,
        code: &Code,
        last: Option<u32>,
        block: u32,
        tally: &mut Tally,
        thread: u32,
    ) {
        let one = &mut self.all[core as usize];
        let to = &self.ways[block as usize];
        if let Some(last) = last {
            let from = &self.ways[last as usize];
            if !predicted(one, from, to.address) {
                one.core.mispredicted(last);
                tally.branch_miss(code, last, thread);
            }
        }
        // What was asked for last is at hand, and asking again would change nothing.
        if to.lines != (one.last_line, one.last_line) && to.lines != one.fetched {
            one.last_line = to.lines.1;
            one.fetched = to.lines;
            let now = one.now();
            if let Some(served) = self.memory.fetch(core, to.address, to.length, now) {
                let one = &mut self.all[core as usize];
                let served = one.view.seen(served);
                one.core.fetch_stall(block, served.latency + served.tlb);
            }
        }
    }

    #[inline]
    fn execute(
        &mut self,
        core: u32,
        code: &Code,
        block: u32,
        addresses: &[u64],
        tally: &mut Tally,
        thread: u32,
    ) {
        let facts = &code.blocks[block as usize];
        let range = facts.accesses.start as usize..facts.accesses.end as usize;
        let accesses = &code.accesses[range.clone()];
        let count = facts.instructions.end - facts.instructions.start;
        let one = &mut self.all[core as usize];
        let mut done = match tally.erases() {
            true => 0,
            false => self.memory.plain_hits(core, accesses, addresses, tally.access_places(range.clone())),
        };
        if done == addresses.len() && done == accesses.len() {
            one.core.execute_hits(block, self.memory.hit(), addresses);
        } else {
            let mut served = std::mem::take(&mut one.served);
            served.clear();
            let hit = self.memory.hit();
            let all = accesses.len().min(addresses.len());
            served.resize(done, hit);
            let view = one.view;
            let memory = &mut self.memory;
            // Each is asked for when the core begins it, which is when its address is known.
            let mut asked = |until: usize, begin: u64, served: &mut Vec<Served>| {
                while done < until {
                    let index = range.start + done;
                    let place = tally.access_places(index..index + 1)[0];
                    let found = access(
                        memory,
                        core,
                        &accesses[done],
                        addresses[done],
                        place,
                        view.global(begin),
                        tally,
                    );
                    tally.access(index, thread, &found);
                    served.push(view.seen(found));
                    done += 1;
                    if !tally.erases() {
                        let places = tally.access_places(index + 1..range.start + all);
                        done += memory.plain_hits(core, &accesses[done..], &addresses[done..], places);
                        served.resize(done, hit);
                    }
                }
            };
            one.core.execute_asking(block, count, addresses, |slot, begin| {
                let slot = usize::from(slot);
                if slot < all {
                    asked(slot + 1, begin, &mut served);
                }
                served.get(slot).copied()
            });
            // Those of no micro-op.
            asked(all, one.core.now(), &mut served);
            one.served = served;
        }
        tally.block(block, thread, count);
    }

    /// The first instructions of a block, or all with other accesses: those of its table are matched in their order, the
    /// others are rounds of string instructions.
    #[allow(clippy::too_many_arguments)]
    fn execute_partly(
        &mut self,
        core: u32,
        code: &Code,
        block: u32,
        count: u32,
        accesses: &[(Access, u64)],
        tally: &mut Tally,
        thread: u32,
    ) {
        let facts = &code.blocks[block as usize];
        let table = facts.accesses.start as usize..facts.accesses.end as usize;
        let hit = self.memory.hit();
        let mut served = vec![hit; table.len()];
        let mut addresses = vec![0; table.len()];
        let mut extra: Vec<(Access, Served)> = Vec::new();
        let mut next = 0;
        let now = self.now(core);
        for &(access, address) in accesses {
            let place = tally.place_of(code, block, access.instruction);
            let found = self::access(&mut self.memory, core, &access, address, place, now, tally);
            let seen = self.all[core as usize].view.seen(found);
            let matching = code.accesses[table.clone()][next..].iter().position(|known| *known == access);
            match matching.filter(|_| count > 0) {
                Some(ahead) => {
                    next += ahead;
                    tally.access(table.start + next, thread, &found);
                    (served[next], addresses[next]) = (seen, address);
                    next += 1;
                }
                None => {
                    tally.extra_access(place, thread, &found);
                    extra.push((access, seen));
                }
            }
        }
        let one = &mut self.all[core as usize];
        if count > 0 {
            one.core.execute(block, count, &served, &addresses);
            tally.partial(code, block, thread, count);
        }
        for (access, found) in extra {
            one.core.extra_access(block, access, found);
        }
    }
}

#[inline]
fn access(
    memory: &mut Memory,
    core: u32,
    access: &Access,
    address: u64,
    place: u32,
    now: u64,
    tally: &Tally,
) -> Served {
    if tally.is_erased(place) {
        return memory.erased(core, (address, access.size), place, now, access.stores);
    }
    match access.stores {
        true => memory.store(core, address, access.size, place, now),
        false => memory.load(core, address, access.size, place, now),
    }
}

/// Whether the branch at the end of a block was predicted to lead there.
#[inline]
fn predicted(one: &mut OneCore, from: &Way, target: u64) -> bool {
    let Way { branch, behind, .. } = *from;
    match from.exit {
        Exit::Falls => {
            if target != behind {
                one.predictor.jump(behind);
            }
            true
        }
        Exit::Branch => one.predictor.conditional(branch, target != behind),
        // What is called is left out of recordings where it belongs to a runtime: then the next block is that behind the call.
        Exit::Call | Exit::IndirectCall if target == behind => true,
        Exit::Call => {
            one.predictor.call(behind);
            true
        }
        Exit::IndirectCall => {
            let right = one.predictor.indirect(branch, target);
            one.predictor.call(behind);
            right
        }
        // The same through a linkage stub, whose jump then seems to return.
        Exit::IndirectJump if one.predictor.top() == target => one.predictor.returns(target),
        Exit::IndirectJump => one.predictor.indirect(branch, target),
        Exit::Return => one.predictor.returns(target),
    }
}
