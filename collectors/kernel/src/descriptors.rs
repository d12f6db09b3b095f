//! Room for many open files.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::KernelError;

/// Left for whatever else the recorder opens.
const SPARE: u64 = 256;

/// Lets this process open so many more files than it has now. The former soft limit, if it had to be raised.
pub(crate) fn allow(more: usize) -> Result<Option<u64>, KernelError> {
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let needed = (open + more) as u64 + SPARE;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // `None` is no limit.
    let Some(former) = current.filter(|current| *current < needed) else { return Ok(None) };
    if let Some(limit) = maximum.filter(|maximum| *maximum < needed) {
        return Err(KernelError::Descriptors { needed, limit });
    }
    let raised = Rlimit { current: Some(needed), maximum };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => Ok(Some(former)),
        Err(_) => Err(KernelError::Descriptors { needed, limit: former }),
    }
}
