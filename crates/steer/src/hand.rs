//! What is read and changed of threads, so that tests need no machine that has it.

use std::fs;
use std::io;
use std::path::Path;

#[cfg(doc)]
use holdup_pirate::FULLY_UTILIZED;
use rustix::process::{Pid, getpriority_process, setpriority_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The kernel, or what stands for it.
pub trait Hand {
    /// The CPUs that a thread may use, ascending.
    ///
    /// # Errors
    /// Those of the system.
    fn cpus(&self, thread: u32) -> io::Result<Vec<u32>>;

    /// Lets it use these.
    ///
    /// # Errors
    /// Those of the system.
    fn set_cpus(&self, thread: u32, cpus: &[u32]) -> io::Result<()>;

    /// Its nice value, from -20 (favoured) to 19.
    ///
    /// # Errors
    /// Those of the system.
    fn nice(&self, thread: u32) -> io::Result<i32>;

    /// Sets it.
    ///
    /// # Errors
    /// Those of the system.
    fn set_nice(&self, thread: u32, nice: i32) -> io::Result<()>;

    /// How busy the kernel takes it to be at least when it chooses a frequency, from 0 to [`FULLY_UTILIZED`].
    ///
    /// # Errors
    /// Those of the system.
    fn least_utilization(&self, thread: u32) -> io::Result<u32>;

    /// Sets it.
    ///
    /// # Errors
    /// Those of the system.
    fn set_least_utilization(&self, thread: u32, least: u32) -> io::Result<()>;

    /// The CPU that a thread runs on, or ran on last.
    fn last_cpu(&self, process: u32, thread: u32) -> Option<u32>;

    /// CPU time that a process has used, in ns.
    fn cpu_ns(&self, process: u32) -> Option<u64>;

    /// Writes to a file of the kernel.
    ///
    /// # Errors
    /// Those of the system.
    fn write(&self, path: &Path, content: &str) -> io::Result<()>;
}

/// The kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Linux;

fn id(thread: u32) -> io::Result<Option<Pid>> {
    // No thread means the calling one to the kernel.
    let id = i32::try_from(thread).ok().and_then(Pid::from_raw);
    id.map(Some).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
}

impl Hand for Linux {
    fn cpus(&self, thread: u32) -> io::Result<Vec<u32>> {
        let set = sched_getaffinity(id(thread)?)?;
        Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).map(|cpu| cpu as u32).collect())
    }

    fn set_cpus(&self, thread: u32, cpus: &[u32]) -> io::Result<()> {
        let mut set = CpuSet::new();
        cpus.iter().filter(|cpu| (**cpu as usize) < CpuSet::MAX_CPU).for_each(|cpu| set.set(*cpu as usize));
        Ok(sched_setaffinity(id(thread)?, &set)?)
    }

    fn nice(&self, thread: u32) -> io::Result<i32> {
        // The call is about a process by its name, and about one thread in Linux.
        Ok(getpriority_process(id(thread)?)?)
    }

    fn set_nice(&self, thread: u32, nice: i32) -> io::Result<()> {
        Ok(setpriority_process(id(thread)?, nice)?)
    }

    fn least_utilization(&self, thread: u32) -> io::Result<u32> {
        id(thread)?;
        holdup_pirate::least_utilization(thread)
    }

    fn set_least_utilization(&self, thread: u32, least: u32) -> io::Result<()> {
        id(thread)?;
        holdup_pirate::set_least_utilization(thread, least)
    }

    fn last_cpu(&self, process: u32, thread: u32) -> Option<u32> {
        const PROCESSOR: usize = 36;
        let stat = fs::read_to_string(format!("/proc/{process}/task/{thread}/stat")).ok()?;
        // Field 39, the 37th after the name, which may have anything in it.
        stat.rsplit_once(')')?.1.split_whitespace().nth(PROCESSOR)?.parse().ok()
    }

    fn cpu_ns(&self, process: u32) -> Option<u64> {
        crate::linux::cpu_ns(process)
    }

    fn write(&self, path: &Path, content: &str) -> io::Result<()> {
        let mut file = fs::OpenOptions::new().write(true).open(path)?;
        io::Write::write_all(&mut file, content.as_bytes())
    }
}
