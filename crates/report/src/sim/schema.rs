//! The shape of `holdup sim --json`, of which `docs/json-schema/sim.schema.json` is made.

#[cfg(test)]
mod allowed;

use std::collections::BTreeMap;

use holdup_model::counts::SectionKind;
use serde::Serialize;

use crate::schema::{Amount, Place};
use crate::why::schema::SectionWord;

/// The version of the JSON that [`sim_json`](crate::sim_json) gives. It grows only where a member changes
/// its meaning; members may be added at any time.
pub const SIM_SCHEMA: u32 = 1;

/// Where the cycles of a recorded program go on simulated machines. Schema 1: members may be added, none is taken away and
/// none changes its meaning. Members named cycles or ending in _cycles are whole cycles of the simulated cores' clock, those
/// ending in _ns whole nanoseconds; shares are numbers from 0 to 1. Numbers that could not be computed are null. Names of
/// functions, files, threads, variables and resources, and the command, are as the program gave them: escape them where they
/// are shown. Names of groups are escaped.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(title = "holdup sim --json"))]
pub(crate) struct Sim<'a> {
    /// The version of this schema.
    #[cfg_attr(test, schemars(extend("const" = SIM_SCHEMA)))]
    pub(crate) schema: u32,
    /// The version of holdup that wrote this.
    pub(crate) holdup: &'static str,
    /// The machine of the first simulation. This and cores, cycles, instructions, threads, aggregate and speed repeat
    /// those of simulations[0].
    pub(crate) machine: &'a str,
    /// The cores of that machine.
    pub(crate) cores: u32,
    /// From the first thread's beginning to the last one's end.
    pub(crate) cycles: u64,
    /// Instructions of all threads.
    pub(crate) instructions: u64,
    /// The threads of the first simulation in the order in which they were recorded.
    pub(crate) threads: &'a [Thread<'a>],
    /// Groups of its threads, the one with most cycles first.
    pub(crate) aggregate: &'a [Group],
    pub(crate) speed: &'a Speed,
    pub(crate) run: RunFacts<'a>,
    /// What cycles are booked to, from the bottom of a stack to its top.
    pub(crate) components: Vec<Meaning>,
    /// All simulations in the order in which they were asked for.
    pub(crate) simulations: &'a [Simulation<'a>],
    /// What grew from the fewest cores to the most ones, of unchanged simulations of the first input and machine; null
    /// without two such.
    pub(crate) growth: Option<Growth>,
    /// Speedup stacks; empty where they were not asked for.
    pub(crate) speedup_stacks: Vec<SpeedupStack<'a>>,
}

/// The recording.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RunFacts<'a> {
    /// The command that was recorded; empty where it is not known.
    pub(crate) command: &'a [String],
    /// What a reader must know to trust the numbers, as sentences; each simulation has its own besides.
    pub(crate) warnings: &'a [String],
}

/// What cycles are booked to, as stacks have it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("enum" = allowed::components())))]
pub(crate) struct Component(pub(crate) &'static str);

/// A component, and its meaning.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Meaning {
    /// The component.
    pub(crate) name: Component,
    /// What its cycles are spent on.
    pub(crate) meaning: &'static str,
}

/// Cycles by component; those that are 0 are left out. The others add up to the cycles beside it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("properties" = allowed::cycles_of_components())))]
pub(crate) struct Stack(pub(crate) BTreeMap<&'static str, u64>);

/// Accesses by who gave the data; those that are 0 are left out.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("properties" = allowed::accesses_of_levels())))]
pub(crate) struct Served(pub(crate) BTreeMap<&'static str, u64>);

/// How fast the simulator was.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Speed {
    /// Million simulated instructions for each second of the host; null where it is not told.
    pub(crate) mips: Option<Amount>,
}

/// One simulation.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Simulation<'a> {
    /// Which recording, where there are several; else empty.
    pub(crate) input: &'a str,
    /// The machine.
    pub(crate) machine: &'a str,
    /// The cores of the machine.
    pub(crate) cores: u32,
    /// The clock of the cores.
    pub(crate) frequency_ghz: Amount,
    /// What is different from the machine and the program as they are, in words; empty for nothing.
    pub(crate) changes: &'a [String],
    /// From the first thread's beginning to the last one's end.
    pub(crate) cycles: u64,
    /// cycles as time.
    pub(crate) time_ns: u64,
    /// Instructions of all threads.
    pub(crate) instructions: u64,
    /// Cycles of all threads for each instruction.
    pub(crate) cpi: Option<Amount>,
    /// Where only a sample was simulated; else null.
    pub(crate) sampled: Option<Sampled>,
    /// Null where there is nothing to compare with.
    pub(crate) speedup: Option<Speedup>,
    /// In the order in which they were recorded.
    pub(crate) threads: Vec<Thread<'a>>,
    /// Groups of threads, the one with most cycles first.
    pub(crate) aggregate: Vec<Group>,
    /// True if all threads spend more than half their time in synchronization: then none is left out of the groups' stacks.
    pub(crate) all_wait: bool,
    /// Source lines, most cycles first. Together they have all cycles but those of waiting, of calls and of imbalance.
    pub(crate) lines: Vec<CodePlace>,
    /// Functions, most cycles first, in the same way.
    pub(crate) functions: Vec<CodePlace>,
    /// Parallel sections, where these are known.
    pub(crate) sections: Vec<Section<'a>>,
    /// Cache lines that several threads use and at least one writes, those that cost most first.
    pub(crate) shared_lines: Vec<SharedLine>,
    /// What is shared: interconnects and memory.
    pub(crate) resources: Vec<Resource<'a>>,
    /// What a policy did that made threads fast; null where there was none.
    pub(crate) policy: Option<Policy<'a>>,
    /// Where the answer may be wrong, as sentences.
    pub(crate) warnings: Vec<&'a str>,
    /// Those of them that make all figures doubtful.
    pub(crate) doubts: &'a [String],
    pub(crate) speed: Speed,
}

/// How sure the result of a sample is.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Sampled {
    /// Half the width of the 95 % interval of cycles, as a share of them.
    pub(crate) error: Amount,
    /// Instructions that were simulated, of all.
    pub(crate) simulated_instructions: u64,
}

/// A simulation against another.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Speedup {
    /// The simulation that this one is compared with, by its index.
    pub(crate) of: Option<usize>,
    /// How many times as fast this one is, by time.
    pub(crate) factor: Amount,
}

/// A thread of a simulation.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Thread<'a> {
    /// The thread's number, as in holdup report --json.
    pub(crate) thread: u32,
    /// Its name.
    pub(crate) name: Option<&'a str>,
    /// Its start function.
    pub(crate) start: Option<Place>,
    /// When it began.
    pub(crate) begin_cycle: u64,
    /// When it ended.
    pub(crate) end_cycle: u64,
    /// The cycles of the run: imbalance is those before its begin and behind its end.
    pub(crate) cycles: u64,
    /// Instructions that it executed.
    pub(crate) instructions: u64,
    /// True if it is in the stack of its group.
    pub(crate) aggregated: bool,
    pub(crate) stack: Stack,
}

/// Threads that do the same.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Group {
    /// What it is called: its top-level function.
    pub(crate) group: String,
    /// The first thread, a team of OpenMP, a start function, or nothing known.
    #[cfg_attr(test, schemars(extend("enum" = allowed::group_kinds())))]
    pub(crate) kind: &'static str,
    /// The start function.
    pub(crate) start: Option<Place>,
    /// Numbers of the threads in the stack.
    pub(crate) threads: Vec<u32>,
    /// Numbers of its threads that are not in the stack: more than half their time is synchronization, or they do nothing.
    pub(crate) left_out: Vec<u32>,
    /// Cycles of the threads in the stack.
    pub(crate) cycles: u64,
    /// Instructions of the threads in the stack.
    pub(crate) instructions: u64,
    /// Cycles for each instruction.
    pub(crate) cpi: Option<Amount>,
    pub(crate) stack: Stack,
}

/// Cycles of a place in the code.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CodePlace {
    /// The function and line that a person wrote.
    #[serde(rename = "where")]
    pub(crate) place: Place,
    /// All frames of the instruction that costs most, innermost first.
    pub(crate) inlined: Vec<Place>,
    /// Instructions that it has, of those that were executed.
    pub(crate) instructions: u32,
    /// How often its instructions were executed.
    pub(crate) executions: u64,
    /// Cycles of its instructions, of all threads.
    pub(crate) cycles: u64,
    pub(crate) stack: Stack,
    pub(crate) served: Served,
}

/// Cycles of a parallel section.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Section<'a> {
    /// What ends it.
    #[serde(with = "SectionWord")]
    pub(crate) kind: SectionKind,
    /// Where it ends.
    pub(crate) end: Meeting<'a>,
    /// Where it begins.
    pub(crate) begin: Meeting<'a>,
    /// How often it was executed.
    pub(crate) instances: u32,
    /// Instructions of all threads in it.
    pub(crate) instructions: u64,
    /// Cycles of all threads in it.
    pub(crate) cycles: u64,
    pub(crate) stack: Stack,
}

/// Where a section begins or ends.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Meeting<'a> {
    /// Its name, where it has one.
    pub(crate) name: Option<&'a str>,
    #[serde(rename = "where")]
    pub(crate) place: Place,
}

/// A cache line that several threads use and at least one writes.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SharedLine {
    /// The cache line's first address in the recorded process.
    pub(crate) address: u64,
    /// How often it had to come from another core's cache because of a write.
    pub(crate) transfers: u64,
    /// The cycles that its transfers took, without overlap.
    pub(crate) cycles: u64,
    /// Cycles of transfers after which the core used no byte that another had written.
    pub(crate) false_cycles: u64,
    /// false_cycles as a share of the cycles of all threads.
    pub(crate) false_share: Amount,
    /// True if false_cycles are most of its cost and enough to be told.
    pub(crate) false_sharing: bool,
    /// Cycles of the run if what different cores use in it had lines of its own, where that was simulated.
    pub(crate) padded_cycles: Option<u64>,
    /// How many lines that the same code uses were padded for padded_cycles, this one included.
    pub(crate) padded_lines: Option<usize>,
    /// What threads use in it.
    pub(crate) bytes: Vec<Bytes>,
}

/// Bytes of a line that are used together.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Bytes {
    /// The first byte in the line.
    pub(crate) from: u32,
    /// The byte behind the last one.
    pub(crate) to: u32,
    /// The variable; null where no name is known, as on the heap.
    pub(crate) variable: Option<Variable>,
    /// Numbers of threads that read it.
    pub(crate) readers: Vec<u32>,
    /// Numbers of threads that write it.
    pub(crate) writers: Vec<u32>,
    /// Some of the lines that use it.
    pub(crate) at: Vec<Place>,
}

/// A variable.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Variable {
    /// Its name.
    pub(crate) name: String,
    /// The part of it; empty for its beginning.
    pub(crate) part: String,
    /// Bytes; 0 where it is not known.
    pub(crate) size: u64,
    /// The program or library that has it.
    pub(crate) module: String,
    /// The source file of its declaration.
    pub(crate) file: Option<String>,
    /// The line of its declaration.
    pub(crate) line: Option<u32>,
}

/// Something that cores share.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Resource<'a> {
    /// Which: memory of socket 0.
    pub(crate) name: &'a str,
    /// Requests that it served.
    pub(crate) requests: u64,
    /// Bytes that it moved.
    pub(crate) bytes: u64,
    /// Cycles in which it was busy.
    pub(crate) busy_cycles: u64,
    /// Cycles for which requests waited for it, summed up.
    pub(crate) queueing_cycles: u64,
    /// Busy cycles as a share of those of the run.
    pub(crate) utilisation: Amount,
}

/// What a policy did.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Policy<'a> {
    /// none, all, offline, single, tcp, bis or dynamic.
    pub(crate) name: &'a str,
    /// The frequency of a fast core.
    pub(crate) fast_ghz: Amount,
    /// Cycles from one decision to the next.
    pub(crate) slice_cycles: u64,
    /// How many slices there were.
    pub(crate) slices: u64,
    /// Changes of the frequency of a core that had a thread.
    pub(crate) transitions: u64,
    /// Cycles of each thread, computed while the program ran. With nobody_cycles they are those of the run.
    pub(crate) criticality: Vec<Amount>,
    /// Cycles in which no thread was active.
    pub(crate) nobody_cycles: u64,
    /// How often criticality was updated.
    pub(crate) updates: u64,
    /// What the updates took, in nanojoules.
    pub(crate) update_energy_nj: Amount,
    /// Cycles for which threads were fast, of all threads.
    pub(crate) fast_cycles: u64,
    /// When which threads were fast while they ran; the first 10,000.
    pub(crate) fast: Vec<Fast>,
    /// In joules; null where the machine has no constants.
    pub(crate) energy: Option<Energy>,
}

/// A time in which a thread was fast.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Fast {
    /// The thread's number.
    pub(crate) thread: u32,
    /// When it began.
    pub(crate) begin_cycle: u64,
    /// When it ended.
    pub(crate) end_cycle: u64,
}

/// What a run took, in joules.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Energy {
    /// All of it.
    pub(crate) joules: Amount,
    /// What cores switched.
    pub(crate) dynamic: Amount,
    /// What leaked through cores.
    pub(crate) leaked: Amount,
    /// What is shared on the chip.
    pub(crate) uncore: Amount,
    /// Memory.
    pub(crate) memory: Amount,
    /// Against the run with the policy none.
    pub(crate) relative: Option<Amount>,
    /// Energy times delay against the run with the policy none.
    pub(crate) delay_relative: Option<Amount>,
}

/// What grew with the number of cores.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Growth {
    /// Cores of the smaller run that threads could use.
    pub(crate) from_cores: u32,
    /// Cores of the larger run that threads could use.
    pub(crate) to_cores: u32,
    /// How many times as fast the larger run is.
    pub(crate) speedup: Amount,
    /// How many times as fast it would be if no component grew.
    pub(crate) ideal: Amount,
    /// Core cycles (cores times cycles) of the larger run beyond those of the smaller one; the components add up to it.
    pub(crate) lost_core_cycles: Amount,
    /// Most first.
    pub(crate) components: Vec<Grown>,
}

/// A component that grew.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Grown {
    pub(crate) component: Component,
    /// By how much it grew; negative where it shrank.
    pub(crate) core_cycles: Amount,
}

/// What a simulated machine's bottlenecks cost of the perfect speedup.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SpeedupStack<'a> {
    /// The machine.
    pub(crate) machine: &'a str,
    /// The perfect speedup: cores that threads could use.
    pub(crate) cores: u32,
    /// Cycles on one core.
    pub(crate) single_core_cycles: u64,
    /// Cycles without any of the bottlenecks; then with shared caches, interconnect, memory, coherence and locks brought
    /// back one after the other.
    pub(crate) variant_cycles: [u64; 6],
    /// The speedup of the machine as it is.
    pub(crate) speedup: Amount,
    /// From the top of the stack down.
    pub(crate) losses: Vec<Loss>,
}

/// What takes speedup.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Loss {
    /// What takes speedup: a component for idle cores, extra work, or a bottleneck.
    pub(crate) component: &'static str,
    /// How much of the perfect speedup; negative where it adds. These and the speedup of the machine add up to cores.
    pub(crate) speedup: Amount,
}
