//! What a mark means for the piece of execution that its thread is in.

use holdup_trace::instructions::Mark;
use holdup_trace::openmp::{SyncCode, WorkCode};
use holdup_trace::wire::ObjectCode;

/// A moment in a thread at which a section can begin or end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Boundary {
    /// The thread begins.
    Begin,
    /// The thread ends.
    End,
    /// It has created a thread.
    Created {
        /// Its number.
        child: u32,
    },
    /// It waits for the end of a thread.
    Join {
        /// That thread's handle.
        handle: u64,
        /// Where: the id of a call stack.
        stack: u64,
    },
    /// A barrier.
    Barrier {
        /// Its address.
        object: u64,
        /// Where: the id of a call stack.
        stack: u64,
    },
    /// A condition variable: a wait, or a broadcast.
    Condition {
        /// Its address.
        object: u64,
        /// Where: the id of a call stack, 0 of a broadcast.
        stack: u64,
        /// It is a broadcast.
        broadcasts: bool,
    },
    /// It has entered a parallel region.
    RegionBegin {
        /// Which execution.
        instance: u64,
        /// The region's function, or code pointer.
        function: u64,
    },
    /// The region has ended.
    RegionEnd {
        /// Which execution.
        instance: u64,
    },
    /// Its share of a region begins.
    ShareBegin {
        /// Which execution.
        instance: u64,
    },
    /// It ends.
    ShareEnd {
        /// Which execution.
        instance: u64,
    },
    /// A barrier of a team.
    Team {
        /// Which execution of the region.
        instance: u64,
        /// The number of the meeting in it.
        sequence: u32,
        /// Code pointer.
        code: u64,
    },
    /// A function, or a piece of one, that may be a barrier: the thread comes to it, or leaves it.
    Meet {
        /// Its address; the number of a piece.
        function: u64,
        /// The address of an instruction with which a thread comes to a piece; 0 for a function, and where it is left.
        inside: u64,
        /// The address of the instruction that calls it, or of one behind a piece; 0 where it is left.
        caller: u64,
        /// The number of this among those of all threads.
        ticket: u64,
        /// It comes.
        begins: bool,
    },
    /// A function, or a piece of one, that is a barrier.
    Met {
        /// Its address; the number of a piece.
        function: u64,
        /// The address of an instruction with which a thread comes to a piece; 0 for a function.
        inside: u64,
        /// The address of the instruction that calls it, or of one behind a piece.
        caller: u64,
    },
    /// The part of interest begins or ends.
    Interest {
        /// It begins.
        begins: bool,
    },
}

/// What becomes of the piece that a thread is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    /// It ends here, and the thread waits.
    Stop(Boundary),
    /// It ends here, and the next begins.
    Pass(Boundary),
    /// The next begins, if none has.
    GoOn,
    /// The last boundary was none: the piece before it goes on.
    Retract,
}

impl Cut {
    /// What this mark means for the piece; `None` where it goes on.
    pub fn at(mark: &Mark) -> Option<Cut> {
        use Boundary as At;
        Some(match *mark {
            Mark::ThreadEnd => Cut::Stop(At::End),
            Mark::Created { number } => Cut::Pass(At::Created { child: number }),
            Mark::WaitBegin { object, kind, stack, .. } => Cut::Stop(match kind {
                ObjectCode::Barrier => At::Barrier { object, stack },
                ObjectCode::ThreadEnd => At::Join { handle: object, stack },
                ObjectCode::Condition => At::Condition { object, stack, broadcasts: false },
                _ => return None,
            }),
            Mark::Woke { object, kind: ObjectCode::Condition, count: u32::MAX } => {
                Cut::Pass(At::Condition { object, stack: 0, broadcasts: true })
            }
            Mark::RegionBegin { instance, key } => Cut::Pass(At::RegionBegin { instance, function: key }),
            Mark::RegionEnd { instance } => Cut::Pass(At::RegionEnd { instance }),
            Mark::ShareBegin { instance, .. } => Cut::Pass(At::ShareBegin { instance }),
            Mark::ShareEnd { instance } => Cut::Pass(At::ShareEnd { instance }),
            Mark::SyncBegin { instance, sequence, kind, code } if is_barrier(kind) => {
                Cut::Stop(At::Team { instance, sequence, code })
            }
            Mark::SyncEnd { is_none: true, .. } => Cut::Retract,
            Mark::MeetBegin { function, inside, caller, ticket } => {
                Cut::Pass(At::Meet { function, inside, caller, ticket, begins: true })
            }
            Mark::MeetEnd { function, ticket } => {
                Cut::Pass(At::Meet { function, inside: 0, caller: 0, ticket, begins: false })
            }
            Mark::InterestBegin => Cut::Pass(At::Interest { begins: true }),
            Mark::InterestEnd => Cut::Pass(At::Interest { begins: false }),
            Mark::WaitEnd { .. } | Mark::SyncEnd { .. } | Mark::TaskBegin { .. } | Mark::UnitBegin { .. } => {
                Cut::GoOn
            }
            _ => return None,
        })
    }
}

/// True for meetings of the whole team.
pub fn is_barrier(kind: SyncCode) -> bool {
    (kind as u8) < SyncCode::Taskwait as u8
}

/// True for worksharing constructs whose chunks are dealt out at run time.
pub fn is_dealt(kind: WorkCode) -> bool {
    use WorkCode::{DynamicLoop, GuidedLoop, OtherLoop, Sections};
    matches!(kind, DynamicLoop | GuidedLoop | OtherLoop | Sections)
}
