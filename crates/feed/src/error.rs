/// Why there is nothing to simulate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FeedError {
    /// No instructions were recorded.
    #[error("the recording has no instruction streams: record with holdup record --instructions=stream")]
    NoStreams,
    /// They were counted only.
    #[error("the recording counts instructions only: record with holdup record --instructions=stream")]
    CountsOnly,
    /// No thread executed anything.
    #[error(
        "no instruction of the program was recorded: if it has one thread, or marks no part of it, record it with --roi=all"
    )]
    NothingExecuted,
    /// The tables of blocks, or all streams, cannot be understood.
    #[error("the instruction streams of the recording are damaged: nothing of them can be simulated")]
    Damaged,
}
