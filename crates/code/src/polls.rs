//! Loops that look for work and find none.
//!
//! A thread that has nothing to do may go on looking: at the queues of others, at whether all have ended. Such a loop also has ways on
//! which it works, or takes a lock since there was something, and may call a function that looks. A turn that comes back to where it
//! began without having done anything is a wait ([`waiting_loop`](crate::waiting_loop) says why), however long the loop is.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register};

use crate::calls::{Arguments, Helper};
use crate::code::Code;
use crate::effect::{Shape, clears, shape};
use crate::graph::{Body, Graph, predecessors, reachable_by, successors};
use crate::place::{Places, of_flags, of_register};
use crate::waiting::looks_in_vain;

/// How far from an instruction the turns of such a loop may reach, in bytes, to each side.
pub const POLL_WINDOW_BYTES: u64 = 1024;
/// Longer ones, and longer functions, are not looked at.
const MOST_INSTRUCTIONS: usize = 200;

/// A way through a function on which it does nothing that anybody else could see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// The addresses of the instructions on such ways, sorted.
    pub instructions: Vec<u64>,
    /// The functions that are called there.
    pub calls: Vec<u64>,
    arguments: Arguments,
    reads: bool,
    gives_zero: bool,
}

/// What there is around an instruction of ways round in loops on which a thread does nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Polls {
    /// The ways, also those that the instruction is not on.
    pub ways: Vec<Poll>,
    /// The addresses of instructions that are on no others.
    pub settled: Vec<u64>,
}

/// A way round in a loop on which a thread does nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Poll {
    /// The addresses of its instructions, sorted.
    pub instructions: Vec<u64>,
    /// The functions that are called there.
    pub calls: Vec<u64>,
}

impl Look {
    /// What the function is to a loop that calls it.
    pub fn as_helper(&self) -> Helper {
        Helper::Looks { arguments: self.arguments, reads: self.reads, gives_zero: self.gives_zero }
    }
}

/// How a function whose code this is, from the first byte on, comes back without having done anything; `None` if it never does,
/// or is too long. `helper` is as for [`waiting_loop`](crate::waiting_loop).
pub fn look(code: &Code<'_>, helper: &dyn Fn(u64) -> Option<Helper>) -> Option<Look> {
    let mut facts = InstructionInfoFactory::new();
    let end = code.start.saturating_add(code.bytes.len() as u64);
    let mut shapes: BTreeMap<u64, Shape> = BTreeMap::new();
    let graph = reachable_by(code, code.start, code.start..=end, MOST_INSTRUCTIONS, &mut |instruction| {
        let shape = shape(instruction, &mut facts, helper);
        let is_quiet = shape.is_some() || instruction.flow_control() == FlowControl::Return;
        shapes.extend(shape.map(|shape| (instruction.ip(), shape)));
        is_quiet
    })?;
    let returns = graph.values().filter(|one| one.flow_control() == FlowControl::Return);
    let before = predecessors(&graph);
    let mut instructions = BTreeSet::new();
    let mut open: Vec<u64> = returns.map(Instruction::ip).collect();
    while let Some(address) = open.pop() {
        if graph.contains_key(&address) && instructions.insert(address) {
            open.extend(before.get(&address).into_iter().flatten());
        }
    }
    if !instructions.contains(&code.start) {
        return None;
    }
    let reads = instructions.iter().filter_map(|address| shapes.get(address)).any(|shape| shape.asks);
    let arguments = Arguments::among(needed(&graph, &instructions, &shapes, code.start));
    let gives_zero = gives_zero(&graph, &instructions, &shapes, code.start);
    let calls = called(instructions.iter().map(|address| &graph[address]));
    Some(Look { instructions: instructions.into_iter().collect(), calls, arguments, reads, gives_zero })
}

/// Whether RAX is zero at each return.
fn gives_zero(graph: &Graph, among: &BTreeSet<u64>, shapes: &BTreeMap<u64, Shape>, first: u64) -> bool {
    // General registers that are zero before an instruction, a bit for each, on all ways to it that are known so far.
    let mut zeros = BTreeMap::from([(first, 0)]);
    let mut open = vec![first];
    while let Some(address) = open.pop() {
        let instruction = &graph[&address];
        let changed = shapes.get(&address).map_or(0, |shape| shape.changed);
        let after = zero_after(instruction, zeros[&address], changed);
        for next in successors(instruction).filter(|next| among.contains(next)) {
            let known = zeros.get(&next).copied();
            let joined = after & known.unwrap_or(u32::MAX);
            if known != Some(joined) {
                zeros.insert(next, joined);
                open.push(next);
            }
        }
    }
    let mut returns = among.iter().filter(|address| graph[address].flow_control() == FlowControl::Return);
    returns.all(|address| zeros.get(address).is_some_and(|zeros| zeros & bit(Register::RAX) != 0))
}

/// General registers that are zero after an instruction that changes these places.
fn zero_after(instruction: &Instruction, before: u32, changed: Places) -> u32 {
    let general = Register::values().filter(|register| register.is_gpr64());
    let is_changed = |register: &Register| of_register(*register).is_some_and(|places| places & changed != 0);
    let kept = general.filter(|register| !is_changed(register)).fold(0, |all, register| all | bit(register))
        & before;
    let is_register = |operand| instruction.op_kind(operand) == OpKind::Register;
    if instruction.op_count() != 2 || !is_register(0) || instruction.op0_register().size() < 4 {
        return kept;
    }
    let is_zero = clears(instruction)
        || instruction.mnemonic() == Mnemonic::Mov
            && if is_register(1) {
                before & bit(instruction.op1_register()) != 0
            } else {
                instruction.try_immediate(1).is_ok_and(|value| value == 0)
            };
    if is_zero { kept | bit(instruction.op0_register()) } else { kept }
}

fn bit(register: Register) -> u32 {
    let register = register.full_register();
    if register.is_gpr64() { 1 << register.number() } else { 0 }
}

fn called<'a>(instructions: impl Iterator<Item = &'a Instruction>) -> Vec<u64> {
    instructions.filter(|one| one.is_call_near()).map(Instruction::near_branch_target).collect()
}

/// What must have been there before the first instruction (live variables; Aho, Lam, Sethi and Ullman, *Compilers*, section 9.2.5).
fn needed(graph: &Graph, among: &BTreeSet<u64>, shapes: &BTreeMap<u64, Shape>, first: u64) -> Places {
    let mut live: BTreeMap<u64, Places> = BTreeMap::new();
    let mut is_complete = false;
    while !is_complete {
        is_complete = true;
        for address in among.iter().rev() {
            let after =
                successors(&graph[address]).filter_map(|next| live.get(&next)).fold(0, |all, one| all | one);
            let (read, written) = shapes.get(address).map_or((0, 0), |shape| (shape.read, shape.written));
            let before = read | (after & !written);
            is_complete &= live.insert(*address, before) == Some(before);
        }
    }
    live.get(&first).copied().unwrap_or(0)
}

/// The ways around the instruction at `ip` by which a thread goes round in a loop and does nothing: where it does, it waits for another
/// thread. What else the loop has, and does where there is something to do, is no part of it.
///
/// `helper` is as for [`waiting_loop`](crate::waiting_loop), with what [`look`] says of functions that it does not know by name.
/// No ways if there are none, or if the code does not reach far enough around it ([`POLL_WINDOW_BYTES`]).
pub fn polls(code: &Code<'_>, ip: u64, helper: &dyn Fn(u64) -> Option<Helper>) -> Polls {
    let mut facts = InstructionInfoFactory::new();
    let window = ip.saturating_sub(POLL_WINDOW_BYTES)..=ip.saturating_add(POLL_WINDOW_BYTES);
    let near = ip.saturating_sub(POLL_WINDOW_BYTES / 2)..=ip.saturating_add(POLL_WINDOW_BYTES / 2);
    // Who is called is looked up only in loops: those that there are if all that are called do nothing.
    let graph = reachable_by(code, ip, window.clone(), usize::MAX, &mut |instruction| {
        shape(instruction, &mut facts, &|_| Some(Helper::Orders)).is_some()
    });
    let Some(graph) = graph else { return Polls::default() };
    let loops = Body::in_graph(&graph).into_iter().map(Body::cyclic);
    let in_loops: BTreeSet<u64> = loops.flat_map(|body| body.instructions.into_keys()).collect();
    let mut settled: BTreeSet<u64> =
        graph.into_keys().filter(|address| !in_loops.contains(address)).collect();
    let mut shapes: BTreeMap<u64, Shape> = BTreeMap::new();
    let graph = reachable_by(code, ip, window, MOST_INSTRUCTIONS, &mut |instruction| {
        let is_in_loop = in_loops.contains(&instruction.ip());
        let shape = is_in_loop.then(|| shape(instruction, &mut facts, helper)).flatten();
        let is_quiet = shape.is_some();
        shapes.extend(shape.map(|shape| (instruction.ip(), shape)));
        is_quiet
    });
    let graph = graph.unwrap_or_default();
    let goes_on = |body: &Body| body.instructions.values().all(|one| goes_on_after(one, body, helper));
    let is_one = |body: &Body| {
        !body.is_part && !gets_on(body, &shapes) && looks_in_vain(code, body, helper) && goes_on(body)
    };
    let loops = Body::in_graph(&graph).into_iter().map(Body::cyclic).filter(is_one);
    let ways = loops.map(|body| Poll {
        calls: called(body.instructions.values()),
        instructions: body.instructions.into_keys().collect(),
    });
    let ways = ways.collect();
    settled.extend(graph.into_keys());
    Polls { ways, settled: settled.into_iter().filter(|address| near.contains(address)).collect() }
}

/// True for a loop that surely gets somewhere, which is soon known: it makes a register anew from what that had, and from nothing else.
fn gets_on(body: &Body, shapes: &BTreeMap<u64, Shape>) -> bool {
    let (mut once, mut again, mut from_itself) = (0, 0, 0);
    let general_and_vectors = !of_flags(u32::MAX);
    for shape in body.instructions.keys().filter_map(|address| shapes.get(address)) {
        again |= once & shape.changed;
        once |= shape.changed;
        from_itself |= shape.read & shape.changed & general_and_vectors;
    }
    // Who says that it waits may count.
    !body.pauses() && from_itself & once & !again != 0
}

/// False for a call of a function that gives zero where it did nothing, if the loop is left then: the function did something each time
/// that the loop goes on (`while (next(list, &at))`).
fn goes_on_after(call: &Instruction, body: &Body, helper: &dyn Fn(u64) -> Option<Helper>) -> bool {
    if !call.is_call_near() {
        return true;
    }
    let Some(Helper::Looks { gives_zero: true, .. }) = helper(call.near_branch_target()) else { return true };
    let mut results = vec![Register::RAX];
    let mut is_decided = false;
    let mut at = call.next_ip();
    for _ in 0..MOST_TO_BRANCH {
        let Some(one) = body.instructions.get(&at) else { return true };
        match one.mnemonic() {
            Mnemonic::Nop => {}
            Mnemonic::Mov if one.op0_kind() == OpKind::Register && one.op1_kind() == OpKind::Register => {
                if results.contains(&one.op1_register().full_register()) {
                    results.push(one.op0_register().full_register());
                }
            }
            Mnemonic::Test => {
                let tests = |operand: Register| results.contains(&operand.full_register());
                is_decided = one.op0_kind() == OpKind::Register
                    && one.op1_kind() == OpKind::Register
                    && one.op0_register() == one.op1_register()
                    && tests(one.op0_register());
            }
            Mnemonic::Je if is_decided => return body.instructions.contains_key(&one.near_branch_target()),
            Mnemonic::Jne if is_decided => return body.instructions.contains_key(&one.next_ip()),
            _ => return true,
        }
        at = one.next_ip();
    }
    true
}

/// Instructions from a call to the branch that its result decides.
const MOST_TO_BRANCH: usize = 5;
