//! The decision.

use std::collections::BTreeMap;

use iced_x86::{FlowControl, Register};

use crate::calls::Helper;
use crate::code::Code;
use crate::effect::{Effect, Effects};
use crate::flow::{Flow, State, Value};
use crate::graph::{Body, Loop};
use crate::place::{COUNT, Places, each, of_flags, of_register};

/// Instructions of a loop that waits without saying so: unoptimised code takes 15 to compare two words behind pointers. In
/// longer loops that change nothing there is mostly a way that does, and that is not taken for a part of the loop.
const MAX_SILENT: usize = 20;

/// The innermost loop around the instruction at `ip` that waits for another thread, or for time to pass.
///
/// A loop waits if an iteration stores nothing but into the thread's own stack frame, has nothing that changes from
/// iteration to iteration, and reads memory, at addresses that therefore do not change, or the clock. So only another
/// thread or the clock can end it (Du Bois et al., ISCA 2013, section 3.1: "no architectural state changes since the last
/// branch"). Into this rule goes an attempt to exchange a word for one that is the same in each iteration: a
/// test-and-set lock. A loop inside such a loop is a part of the wait, whatever it counts: it begins anew each time.
///
/// One of several ways to go on with a loop is a wait by itself, if what decides on it is nothing that an iteration leaves to
/// the next, and if samples say so: `seen` is how often a thread was found at an instruction. Where the other ways are gone as
/// often, their instructions are found as often as this one's.
///
/// A loop that only counts up to a limit beside that waits, too, for so long at most: memory alone, of what others can change, ends it, or
/// the count alone. What counts until others say that it is enough is at work.
///
/// Such a loop is short: at most 20 instructions. A loop inside a working one can be a wait, or just a way through it on
/// which nothing happens that is taken now and then; code alone does not tell, samples do (of a wait, all are inside).
///
/// A loop that says that it waits, by PAUSE, TPAUSE, UMWAIT or a call of a [`Helper::Waits`], may also count, and may
/// attempt to exchange a word for any other. `helper` is given the address that is called; for a call through a pointer
/// at a fixed address (`call [rip + x]`, or `call r` where the code before has loaded it), the address of the pointer. Loops
/// with a call that is none do not wait: nobody knows what it does.
///
/// `ip` must be the address of an instruction. Nothing if the code does not reach far enough around it
/// ([`WINDOW_BYTES`](crate::WINDOW_BYTES) to each side are looked at), or is no code.
pub fn waiting_loop(
    code: &Code<'_>,
    ip: u64,
    helper: &dyn Fn(u64) -> Option<Helper>,
    seen: &dyn Fn(u64) -> u64,
) -> Option<Loop> {
    innermost_wait(code, ip, helper, &|body| !body.is_part || is_mostly_in(code, body, seen))
}

/// As [`waiting_loop`], where it is to be known not what a thread is doing at an instruction, but what the instruction is for: one
/// of several ways to go on with a loop is a wait also if it is hardly ever gone, if it has a PAUSE.
pub fn waiting_way(
    code: &Code<'_>,
    ip: u64,
    helper: &dyn Fn(u64) -> Option<Helper>,
    seen: &dyn Fn(u64) -> u64,
) -> Option<Loop> {
    innermost_wait(code, ip, helper, &|body| !body.is_part || body.pauses() || is_mostly_in(code, body, seen))
}

fn innermost_wait(
    code: &Code<'_>,
    ip: u64,
    helper: &dyn Fn(u64) -> Option<Helper>,
    counts: &dyn Fn(&Body) -> bool,
) -> Option<Loop> {
    let bodies = Body::around(code, ip);
    let is_wait = |body: &&Body| {
        waits(code, body, helper, MAX_SILENT).is_some_and(|wait| wait.is_limited || counts(body))
    };
    bodies.iter().find(is_wait).map(Body::extent)
}

/// So often a thread must have been found in one of the ways.
const FEWEST_SEEN: u64 = 10;
/// An instruction of it must have been found so many times as often as one of the others. Where both ways are gone as often,
/// instructions are found up to some times as often as each other, since samples gather behind slow ones.
const TIMES_AS_OFTEN: f64 = 8.0;

/// True if threads were found in this way of a loop so much more often than in the loop's other instructions that these were hardly
/// ever reached. Inner loops do not count: nobody knows how often they go around.
fn is_mostly_in(code: &Code<'_>, way: &Body, seen: &dyn Fn(u64) -> u64) -> bool {
    let all = Body::around(code, way.header);
    let Some(whole) = all.iter().find(|body| body.header == way.header && !body.is_part) else {
        return false;
    };
    let others = whole.instructions.keys().filter(|address| !way.instructions.contains_key(address));
    let others: Vec<u64> = others.copied().filter(|&address| !is_in_inner(code, whole, address)).collect();
    let sum = |addresses: &mut dyn Iterator<Item = u64>| addresses.map(seen).sum::<u64>();
    let here = sum(&mut way.instructions.keys().copied());
    let there = sum(&mut others.iter().copied());
    let density = |count: f64, instructions: usize| count / instructions.max(1) as f64;
    here >= FEWEST_SEEN
        && density(here as f64, way.instructions.len())
            >= TIMES_AS_OFTEN * density(there as f64 + 0.5, others.len())
}

/// True for an instruction of a loop within this one.
fn is_in_inner(code: &Code<'_>, whole: &Body, address: u64) -> bool {
    Body::around(code, address).iter().any(|body| {
        body.header != whole.header
            && body.instructions.len() < whole.instructions.len()
            && body.instructions.keys().all(|inner| whole.instructions.contains_key(inner))
    })
}

/// A loop that waits.
struct Wait {
    /// It counts, and is left when so much was counted or when others say so.
    is_limited: bool,
    /// Each branch that can leave it goes by memory or the clock. One that goes by what an iteration itself left there decides that an
    /// iteration that does nothing is the last (`do { changed = 0; … } while (changed)`).
    goes_by_others: bool,
}

/// True for a loop of which all ways are known, and that gets nowhere on any, however long it is.
pub(crate) fn looks_in_vain(code: &Code<'_>, body: &Body, helper: &dyn Fn(u64) -> Option<Helper>) -> bool {
    waits(code, body, helper, usize::MAX).is_some_and(|wait| !wait.is_limited && wait.goes_by_others)
}

/// How a loop waits; nothing if it does not, or if it does not say so and has more than so many instructions.
fn waits(
    code: &Code<'_>,
    body: &Body,
    helper: &dyn Fn(u64) -> Option<Helper>,
    most_silent: usize,
) -> Option<Wait> {
    let mut decoded = Effects::new(code, body, helper)?;
    let mut effects = BTreeMap::new();
    for (address, instruction) in &body.instructions {
        effects.insert(*address, decoded.of(instruction)?);
    }
    let has_hint = effects.values().any(|effect| effect.is_hint);
    let asks = effects.values().any(|effect| effect.asks);
    if !has_hint && (!asks || effects.len() > most_silent) {
        return None;
    }
    // What looks at the clock now and then says nothing of the ways that it goes on.
    if has_hint && body.is_part && !body.pauses() {
        return None;
    }
    let flow = Flow::of(body, &effects);
    let changes = Changes::of(flow.end.as_ref()?);
    let is_limited = changes.only_count
        && (!body.is_part || body.is_entered_behind)
        && ends_by_others_or_a_count(body, &flow, &changes);
    let gets_nowhere = changes.progressing == 0 || (has_hint && changes.only_count) || is_limited;
    let is_in_place = |(address, state): (&u64, &State)| {
        let effect = &effects[address];
        state.value(effect.addresses).sources() & changes.following == 0
            && (has_hint || changes.exchange_is_constant(effect, state))
    };
    // What decides on the way must not be what an iteration before left: else it is a step of something, taken now and then. What it
    // read for the next one, where that always is, others can change as what is read at once.
    let is_steady = |(address, state): (&u64, &State)| {
        let instruction = &body.instructions[address];
        let decides = instruction.flow_control() == FlowControl::ConditionalBranch;
        let left = changes.changed & !changes.anew;
        !decides || state.value(of_flags(instruction.rflags_read())).sources() & left == 0
    };
    let is_wait = gets_nowhere && flow.before.iter().all(is_in_place);
    let is_whole = !body.is_part || is_limited || flow.before.iter().all(is_steady);
    let goes_by_others = exits(body, &flow).all(|value| value.is_fresh);
    (is_wait && is_whole).then_some(Wait { is_limited, goes_by_others })
}

/// What the branches go by that can leave a loop.
fn exits<'a>(body: &'a Body, flow: &'a Flow) -> impl Iterator<Item = Value> + 'a {
    flow.before.iter().filter_map(|(address, state)| {
        let instruction = &body.instructions[address];
        let leaves = instruction.flow_control() == FlowControl::ConditionalBranch && body.leaves(instruction);
        leaves.then(|| state.value(of_flags(instruction.rflags_read())))
    })
}

/// True for a loop that is left when memory (or the clock) says so, whatever was counted, and when so much was counted, whatever memory
/// says.
fn ends_by_others_or_a_count(body: &Body, flow: &Flow, changes: &Changes) -> bool {
    let (mut by_others, mut by_count) = (false, false);
    for value in exits(body, flow) {
        let is_counted = value.sources() & changes.progressing != 0;
        by_others |= value.is_fresh && !is_counted;
        by_count |= is_counted && !value.is_fresh;
    }
    by_others && by_count
}

/// What is different at the end of an iteration from its beginning.
struct Changes {
    /// Places that have something else at the end.
    changed: Places,
    /// Places that have what was read from memory at an address that does not change.
    anew: Places,
    /// Places that have something new, though perhaps the same in each iteration.
    varying: Places,
    /// Places whose contents depend on what they had an iteration before: counters, pointers that move on, sums.
    progressing: Places,
    /// These, and what is made from them.
    following: Places,
    /// Whether each of the progressing places depends on itself alone.
    only_count: bool,
}

impl Changes {
    fn of(end: &State) -> Self {
        let all = || (0..COUNT).map(|index| (index, 1 << index));
        let changed: Places =
            all().filter(|(_, place)| !end.value(*place).is_unchanged(*place)).map(|(_, place)| place).sum();
        // From each place to those that its new contents are made of. What keeps its own contents is no change.
        let direct: Vec<Places> = all()
            .map(|(_, place)| {
                let value = end.value(place);
                if changed & place == 0 { 0 } else { (value.from | (value.same & !place)) & changed }
            })
            .collect();
        let anew: Places = all()
            .filter(|(index, place)| changed & place != 0 && direct[*index] == 0)
            .filter(|(_, place)| end.value(*place).is_fresh)
            .map(|(_, place)| place)
            .sum();
        let mut sources = direct.clone();
        let mut is_complete = false;
        while !is_complete {
            is_complete = true;
            for index in 0..COUNT {
                let further =
                    each(sources[index]).fold(0, |all, place| all | sources[place.trailing_zeros() as usize]);
                if further & !sources[index] != 0 {
                    sources[index] |= further;
                    is_complete = false;
                }
            }
        }
        let progressing: Places =
            all().filter(|(index, place)| sources[*index] & place != 0).map(|(_, place)| place).sum();
        let following: Places = all()
            .filter(|(index, place)| (sources[*index] | place) & progressing != 0)
            .map(|(_, place)| place)
            .sum();
        let only_count = all().filter(|(_, place)| progressing & place != 0).all(|(index, place)| {
            direct[index] & progressing & !whole(place) == 0 && !end.value(place).is_fresh
        });
        let varying = all()
            .filter(|(_, place)| changed & place != 0)
            .filter(|(_, place)| end.value(*place).sources() != 0 || end.value(*place).is_fresh)
            .map(|(_, place)| place)
            .sum();
        Self { changed, anew, varying, progressing, following, only_count }
    }

    /// Whether an exchange, if this is one, stores and expects the same in each iteration.
    fn exchange_is_constant(&self, effect: &Effect, state: &State) -> bool {
        effect.exchange.is_none_or(|places| {
            let value = state.value(places);
            !value.is_fresh && value.sources() & self.varying == 0
        })
    }
}

/// All parts of the general register that a place is a part of; other places are whole.
fn whole(place: Places) -> Places {
    Register::values()
        .filter(|register| register.is_gpr64())
        .filter_map(of_register)
        .find(|parts| parts & place != 0)
        .unwrap_or(place)
}
