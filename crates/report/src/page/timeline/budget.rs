//! How much of a run goes into its page: every limit of the timeline, each with its reason.
//!
//! The aim is a page of at most 20 MB for ten million events, whose first picture is there within a second.
//! docs/page.md has what was measured.

/// Cells (threads × bins) of the level of detail that the page carries. A cell is up to 13 bytes before compression and
/// some 3 after it where all of its states change: 4 MB of the page in the worst case.
pub(super) const CELLS: usize = 1 << 20;

/// A row has at least so many bins: about one for each three pixels of a wide screen.
pub(super) const FEWEST_BINS: usize = 256;

/// A row has at most so many: more than four times the pixels of any screen, so that zooming in a little needs no
/// exact spans.
pub(super) const MOST_BINS: usize = 1 << 14;

/// Spans that are told exactly, in all threads together. One takes 3 to 6 bytes of the page: 7 MB at the most.
pub(super) const SPANS: u64 = 1_200_000;

/// Where exact spans are told is decided for tiles of this part of the run. It must be a multiple of [`BLOCK`].
pub(super) const TILES: usize = 1 << 16;

/// What is left of the budget when findings and long waits have theirs goes to blocks of so many tiles.
pub(super) const BLOCK: usize = 64;

/// So many tiles on both sides of where a finding happens most are told exactly too, where there is room: for those who
/// look around.
pub(super) const MARGIN: usize = 8;

/// How many of the longest waits get the surroundings of their ends told exactly.
pub(super) const LONG_WAITS: usize = 32;

/// A finding is shown where it happens most, in a part of the run with about so many occurrences: enough to see a
/// pattern, few enough to see each.
pub(super) const OCCURRENCES: u64 = 40;

/// How many findings one can jump to: those that a person reads.
pub(super) const FINDINGS: usize = 12;

/// Of how many objects it is told who waits for them and who holds them when: what a list can show.
pub(super) const LANES: usize = 24;

/// Threads with a row; of more, the most critical ones. What is drawn are some tens at a time, and each takes
/// [`FEWEST_BINS`] cells at the least.
pub(super) const THREADS: usize = CELLS / FEWEST_BINS;

/// From more threads than this on they are put into groups: more rows than fit two screens.
pub(super) const UNGROUPED: usize = 64;

/// Groups of threads; those of the least criticality beyond this are one.
pub(super) const GROUPS: usize = 24;

/// Names of objects, and of places, each: 64 characters or less, 1/4 MB together.
pub(super) const NAMES: usize = 4096;

/// Regions, phases and units of work that the program told of, each: the longest ones.
pub(super) const MARKS: usize = 2000;
