//! Which programs behave alike, and how does each move with cores and input?
//!
//! The method is that of paper 3 (Heirman and others, “Using Cycle Stacks to Understand Scaling Bottlenecks in Multi-Threaded
//! Workloads”, IISWC 2011, sections 2.4, 2.5 and 4.2 to 4.4), for any table of numbers:
//!
//! - A [`Table`] has a row for each run (a program with an input on so many threads of a machine) and a column for each
//!   component of its stack.
//! - [`Pca`] turns the columns into fewer ones that do not correlate. Those that together have 90 % of the variance are kept.
//! - [`Tree`] merges the rows that lie closest in the space of these components, again and again, by average linkage: the
//!   dendrogram. [`Clusters`] cuts it where a few rows stand for all.
//! - [`Suite`]s, [`Move`]s and [`Gap`]s say where collections of programs lie, how a program moves with threads and with its
//!   input, and where no program lies.
//!
//! [`characterize`] does all of it.
//!
//! ```
//! use holdup_characterize::{Labels, Options, TableBuilder, characterize};
//!
//! let mut table = TableBuilder::new(["depend-fp", "mem-dram"]).unwrap();
//! for (program, shares) in [("fft", [0.1, 0.8]), ("lu", [0.7, 0.1]), ("radix", [0.2, 0.7])] {
//!     table.push(Labels::of(program), &shares).unwrap();
//! }
//! let told = characterize(table.build().unwrap(), &Options::default()).unwrap();
//! assert_eq!(told.pca.components(), 2);
//! assert_eq!(told.tree.merges[0].rows, 2); // fft and radix
//! ```
//!
//! Nothing here reads a file or a clock, and the same table gives the same bytes.

#![forbid(unsafe_code)]

mod characterization;
mod clusters;
mod columns;
mod gaps;
mod moves;
mod pca;
mod suites;
mod table;
mod tree;

pub use characterization::{Characterization, Options, characterize};
pub use clusters::{Choice, Cluster, Clusters, MOST_CLUSTERS};
pub use gaps::Gap;
pub use moves::{Move, MoveKind};
pub use pca::{Keep, Pca, PcaOptions};
pub use suites::{Extremes, Suite, extremes};
pub use table::{CharacterizeError, Labels, LeftOut, Table, TableBuilder};
pub use tree::{MOST_LEAVES, Merge, Reduced, Tree};
