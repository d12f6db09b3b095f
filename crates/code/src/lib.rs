//! What machine code says: which blocks it has, how control flows through them, and which of it only waits.
//!
//! **What ran, as a graph.** An emulator tells which of the blocks that it translated were executed, and in which order.
//! [`BlockTable`] makes basic blocks of these ([`Block`]), and edges of a control-flow graph of the steps between them;
//! [`FlowGraph`] knows of such a graph who dominates whom, what goes back, and what is cyclic. [`listing`](fn@listing) is
//! code to read, and
//! [`counted_block`] finds the blocks of programs that their compiler made count. [`micro_ops`](fn@micro_ops) is what a
//! simulated core has to do for a block, and [`atomics`](fn@atomics) which of its instructions change a word in one step.
//!
//! **Is the thread that was sampled at this instruction at work, or does it wait for another one?** A thread that spins looks busy to everybody but the reader of its code. Du Bois et al. (criticality stacks, ISCA 2013,
//! section 3.1) name what tells a waiting loop: an iteration leaves no change behind, and a location is read again and
//! again until another core writes it. [`waiting_loop`] decides that from the bytes of the program alone, which costs the
//! program nothing and needs no list of known locks:
//!
//! - [`Code`] is a piece of x86-64 machine code and the address at which it runs.
//! - The innermost loop around the instruction is found by following control flow from there, so that no instruction
//!   boundary has to be guessed.
//! - Each instruction of the loop is a function from registers, flags, the thread's own stack and memory to the same. What
//!   a register has at the end of an iteration is followed back to what there was at its beginning. If some of it changes
//!   from one iteration to the next (a counter, a pointer, a sum), the loop gets somewhere, and is at work.
//!
//! A loop that changes nothing and stores nothing ends only when memory or the clock does. Loops that say themselves that
//! they wait, by PAUSE or a call like `sched_yield` ([`Helper`] knows more by name), may also count and may also try to
//! swap a word.
//!
//! ```
//! use holdup_code::{Code, Loop, waiting_loop};
//!
//! // while (!done) ;
//! let bytes = [0x8b, 0x05, 0, 1, 0, 0, 0x85, 0xc0, 0x74, 0xf6]; // mov eax, [rip + 256]; test eax, eax; je
//! let code = Code { start: 0x1000, bytes: &bytes };
//! let found = waiting_loop(&code, 0x1006, &|_| None, &|_| 0);
//! assert_eq!(found, Some(Loop { start: 0x1000, end: 0x100a }));
//! ```

mod accessed;

mod atomic;

mod blocks;

mod counted;

mod flow_graph;

mod listing;

mod meeting;

mod micro_ops;

mod outline;

mod code;

mod graph;

mod place;
mod quiet;

mod effect;

mod flow;

mod polls;
mod waiting;

mod calls;

pub use accessed::{Accessed, accessed_before};
pub use atomic::{AtomicUse, atomics};
pub use blocks::{Block, BlockTable, RawBlock};
pub use calls::{Arguments, Helper};
pub use code::Code;
pub use counted::counted_block;
pub use flow_graph::FlowGraph;
pub use graph::{Loop, WINDOW_BYTES, loads_again, looks_before};
pub use listing::{last_instruction, listing};
pub use meeting::{MeetingPlace, meeting_places};
pub use micro_ops::{MicroOp, MicroRegister, OpClass, micro_ops};
pub use outline::{Outline, outline};
pub use polls::{Look, POLL_WINDOW_BYTES, Poll, Polls, look, polls};
pub use quiet::{QuietLoop, Waits, may_wait};
pub use waiting::{waiting_loop, waiting_way};
