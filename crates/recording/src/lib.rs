//! What a recording looks like on disk, how it is written, and how it is read back.
//!
//! A recording is a header and then [`format`] frames, each with its own checksum, appended as the program runs: so
//! it can be read after a `kill -9` of the program or of the recorder, up to the last whole frame. [`Writer`]
//! appends frames, [`Recording`] reads them all, skips what is damaged and says so, and gives a
//! [`holdup_model::Run`]. Only what was observed is stored; names of functions are stored too, since the files
//! that they come from may be gone when the recording is read.

mod addresses;
mod alone;
mod children;
mod clock;
mod environment;
mod error;
pub mod facts;
mod filler;
pub mod format;
mod frames;
mod instructions;
mod join;
mod kernel;
mod merge;
mod messages;
mod objects;
mod openmp;
mod outline;
mod own_frames;
mod reader;
mod run;
mod sites;
mod start_functions;
mod threads;
mod ticks;
mod timeouts;
mod unread;
mod writer;

pub use addresses::{Addresses, RawImage, RawMapping, RawModule, RawStack};
pub use clock::Clock;
pub use error::{ReadError, Warning};
pub use frames::{StoredFrame, frames, recording_of};
pub use instructions::{
    BlockAccess, CodeModule, Cursor, Instructions, Step, StreamCounts, StreamEvent, Touched, TranslatedBlock,
    is_of_runtime,
};
pub use outline::Outline;
pub use own_frames::is_own_frame;
pub use reader::{RawProcess, Recording, Sources};
pub use writer::{StreamPiece, Writer};
