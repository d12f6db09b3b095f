//! The cores of the machine, each with its branch predictor and its clock, before one memory system.

use std::rc::Rc;

use holdup_model::cycles::{CycleComponent, CycleStack, Level, Resource, SharedLine};

use crate::branch::Predictor;
use crate::core::{CompiledCode, Core};
use crate::machine::Machine;
use crate::memory::Memory;
use crate::program::{Block, Code, Exit};
use crate::{Changes, Program, Served};

/// Bytes of a line of code: the same on all machines that are simulated.
const CODE_LINE: u64 = 64;
/// How often in a row a block is executed to know how fast it is.
const PACED_ROUNDS: u64 = 8;

/// A core's own clock against that of the simulation, which differ while a thread or core is made faster.
#[derive(Clone, Copy, Debug)]
struct Clock {
    /// A moment in the core's cycles, and the same in the simulation's.
    own: u64,
    global: u64,
    speed: f64,
    /// The speed is 1: asked for each block, for which a division takes too long.
    is_usual: bool,
}

impl Clock {
    fn new(own: u64, global: u64, speed: f64) -> Self {
        Self { own, global, speed, is_usual: speed == 1.0 }
    }

    #[cold]
    #[inline(never)]
    fn at_speed(&self, cycles: u64) -> u64 {
        (cycles as f64 / self.speed) as u64
    }
}

/// What of an access is the core's own.
#[derive(Clone, Copy, Debug)]
struct Private {
    /// Cycles until a miss of all its own caches is known.
    misses: u32,
    /// Whether the second level is its own.
    second: bool,
}

impl Private {
    fn of(machine: &Machine) -> Self {
        let second = machine.l2.as_ref().filter(|level| level.shared_by == 1);
        Self { misses: machine.l1d.tags + second.map_or(0, |level| level.tags), second: second.is_some() }
    }
}

pub(super) struct OneCore {
    pub core: Core,
    pub predictor: Predictor,
    /// The line that the last instructions came from.
    pub last_line: u64,
    /// The first and the last line that were asked for last.
    pub fetched: (u64, u64),
    pub view: View,
    /// What was booked already: the core's stack, its instructions and the time then.
    booked: CycleStack,
    booked_instructions: u64,
    booked_at: u64,
    /// What of a cycle [`Cores::pass`] has not let pass yet.
    paced: f32,
    /// Room for what becomes of the accesses of a block.
    pub served: Vec<Served>,
}

/// How a core sees time.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    clock: Clock,
    /// Its frequency against that of the simulation.
    ratio: f64,
    private: Private,
}

impl View {
    /// A cycle of the core in those of the simulation.
    #[inline]
    pub(super) fn global(&self, own: u64) -> u64 {
        let own = own - self.clock.own;
        self.clock.global + if self.clock.is_usual { own } else { self.clock.at_speed(own) }
    }

    /// What memory said, in the core's own cycles: what is beyond its own caches takes the same time at every frequency.
    #[inline]
    pub(super) fn seen(&self, served: Served) -> Served {
        if self.ratio == 1.0 { served } else { self.stretched(served) }
    }

    fn stretched(&self, served: Served) -> Served {
        if served.by == Level::L1 || (served.by == Level::L2 && self.private.second) {
            return served;
        }
        let own = self.private.misses.min(served.latency);
        let times = |cycles: u32| (f64::from(cycles) * self.ratio).round() as u32;
        Served {
            latency: own + times(served.latency - own),
            interconnect_queueing: times(served.interconnect_queueing),
            memory_queueing: times(served.memory_queueing),
            ..served
        }
    }
}

impl OneCore {
    /// The time of the simulation.
    #[inline]
    pub(super) fn now(&self) -> u64 {
        self.view.global(self.core.now())
    }
}

/// What is asked of a block whenever a thread comes to it or leaves it, in one place.
pub(super) struct Way {
    pub address: u64,
    /// The address behind it.
    pub behind: u64,
    /// The address of its last instruction.
    pub branch: u64,
    /// Its first and its last line.
    pub lines: (u64, u64),
    pub length: u32,
    pub exit: Exit,
}

impl Way {
    fn new(code: &Code, block: &Block) -> Self {
        let last =
            code.instructions[block.instructions.start as usize..block.instructions.end as usize].last();
        let final_byte = block.end().saturating_sub(1).max(block.address);
        Self {
            address: block.address,
            behind: block.end(),
            branch: last.map_or(block.address, |last| last.address),
            lines: (block.address / CODE_LINE, final_byte / CODE_LINE),
            length: block.length,
            exit: block.exit,
        }
    }
}

pub(super) struct Cores {
    pub all: Vec<OneCore>,
    pub memory: Memory,
    /// By block.
    pub ways: Vec<Way>,
    /// Cycles of an instruction, by block ([`Cores::find_paces`]).
    paces: Vec<f32>,
}

impl Cores {
    pub(super) fn new(program: &Program, machine: &Machine, cores: u32, changes: &Changes) -> Self {
        let code = Rc::new(CompiledCode::new(&program.code, machine));
        let mut predictor = machine.predictor.clone();
        predictor.perfect |= changes.perfect_branches;
        let one = |_| OneCore {
            core: Core::new(&machine.core, Rc::clone(&code)),
            predictor: Predictor::new(&predictor),
            last_line: u64::MAX,
            fetched: (u64::MAX, 0),
            view: View { clock: Clock::new(0, 0, 1.0), ratio: 1.0, private: Private::of(machine) },
            booked: CycleStack::default(),
            booked_instructions: 0,
            booked_at: 0,
            paced: 0.0,
            served: Vec::new(),
        };
        Self {
            all: (0..cores).map(one).collect(),
            memory: Memory::new(machine, cores, changes),
            ways: program.code.blocks.iter().map(|block| Way::new(&program.code, block)).collect(),
            paces: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn now(&self, core: u32) -> u64 {
        self.all[core as usize].now()
    }

    /// A thread begins to run at this time, which is not before the core's: so many times as fast as others, on a core whose
    /// frequency is so many times that of the simulation.
    pub(super) fn begin(&mut self, core: u32, time: u64, speed: f64, ratio: f64) {
        let one = &mut self.all[core as usize];
        one.core.settle();
        let own = one.core.now();
        one.core.idle_until(own + time.saturating_sub(one.now()), CycleComponent::Imbalance);
        one.view.clock = Clock::new(one.core.now(), time, speed * ratio);
        one.view.ratio = ratio;
        one.booked = one.core.stack();
        one.booked_instructions = one.core.instructions();
        one.booked_at = time;
    }

    /// The core's frequency changes. What it did before is booked.
    pub(super) fn set_ratio(&mut self, core: u32, ratio: f64) {
        let one = &mut self.all[core as usize];
        let speed = one.view.clock.speed / one.view.ratio * ratio;
        one.view.clock = Clock::new(one.core.now(), one.now(), speed);
        one.view.ratio = ratio;
    }

    /// Finds out what each block takes where all accesses hit, for [`Cores::pass`].
    pub(super) fn find_paces(&mut self, program: &Program, machine: &Machine) {
        let code = Rc::new(CompiledCode::new(&program.code, machine));
        let mut core = Core::new(&machine.core, code);
        let hit = self.memory.hit();
        let pace = |(number, block): (u32, &Block)| {
            let begin = core.now();
            (0..PACED_ROUNDS).for_each(|_| core.execute_hits(number, hit, &[]));
            core.settle();
            let instructions = u64::from(block.instructions.end - block.instructions.start);
            (core.now() - begin) as f32 / (PACED_ROUNDS * instructions.max(1)) as f32
        };
        self.paces = (0..).zip(&program.code.blocks).map(pace).collect();
    }

    /// The core executes so many instructions of a block, as fast as it can if all accesses hit.
    #[inline]
    pub(super) fn pass(&mut self, core: u32, block: u32, instructions: u64) {
        let pace = self.paces.get(block as usize).copied().unwrap_or(1.0);
        let one = &mut self.all[core as usize];
        one.paced += pace * instructions as f32;
        let cycles = one.paced as u64;
        one.core.idle_until(one.core.now() + cycles, CycleComponent::DispatchWidth);
        one.paced -= cycles as f32;
    }

    /// The thread on the core spends cycles of the simulation on something.
    pub(super) fn spend(&mut self, core: u32, cycles: u64, component: CycleComponent) {
        let one = &mut self.all[core as usize];
        one.core.settle();
        let own = (cycles as f64 * one.view.clock.speed).round() as u64;
        let until = one.core.now() + own;
        one.core.idle_until(until, component);
    }

    /// What the core did since this was asked last or its thread began: its cycles in those of the simulation, and
    /// instructions.
    pub(super) fn since_last(&mut self, core: u32) -> (CycleStack, u64) {
        let one = &mut self.all[core as usize];
        let (stack, instructions, now) = (one.core.stack(), one.core.instructions(), one.now());
        let mut difference = CycleStack::default();
        for (component, cycles) in stack.parts() {
            difference.book(component, cycles - one.booked.get(component));
        }
        let difference = difference.scaled(now - one.booked_at);
        let executed = instructions - one.booked_instructions;
        (one.booked, one.booked_instructions, one.booked_at) = (stack, instructions, now);
        (difference, executed)
    }

    pub(super) fn shared_lines(&self, addresses: &[u64]) -> Vec<SharedLine> {
        self.memory.shared_lines(addresses)
    }

    pub(super) fn resources(&self, cycles: u64) -> Vec<Resource> {
        self.memory.resources(cycles)
    }
}
