//! The events of one processor, and the records that they write.

use std::os::fd::{BorrowedFd, OwnedFd};

use crate::attributes::{Attributes, Kind, Start, Target};
use crate::cpus;
use crate::error::KernelError;
use crate::ids::Cpu;
use crate::parse::time_ns;
use crate::records::{Cut, Records};
use crate::ring::Ring;
use crate::sources::Sources;
use crate::system::System;

/// The events of one processor.
#[derive(Debug)]
pub(crate) struct CpuRing {
    pub(crate) cpu: Cpu,
    ring: Ring,
    pub(crate) events: Vec<(Kind, OwnedFd)>,
    /// The event that samples the processor itself.
    pub(crate) sampler: Option<(Kind, OwnedFd)>,
    /// The first event whose threads have not all ended.
    pub(crate) alive: usize,
    /// How far the kernel was when the current drain began.
    head: u64,
    /// How many bytes have been handed out, but not given back.
    passed: usize,
    /// The same, with the record that was cut last.
    next: usize,
}

/// Less room than this is of no use, in bytes.
const LEAST_RING_BYTES: usize = 32 << 10;

/// Room is given back to the kernel whenever so many bytes have been read.
const GIVE_BACK_BYTES: usize = 32 << 10;

impl CpuRing {
    /// The event that others are to write into the ring of.
    pub(crate) fn event(&self) -> BorrowedFd<'_> {
        self.ring.event()
    }

    /// The room for records, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.ring.bytes()
    }

    /// Takes notice of what has been written up to now.
    pub(crate) fn look(&mut self) {
        self.head = self.ring.head();
    }

    /// What follows what has been passed, up to the head.
    pub(crate) fn cut<'r>(&'r mut self, joined: &'r mut Vec<u8>) -> Option<Cut<'r>> {
        let passed = self.passed;
        let (first, second) = self.ring.readable(self.head);
        let mut records = Records::new(first, second, passed);
        let cut = records.next(joined);
        self.next = records.consumed();
        cut
    }

    /// When the next record was written; `None` if there is none, 0 for one that cannot be read.
    pub(crate) fn time_of_next(&mut self, sources: &Sources, joined: &mut Vec<u8>) -> Option<u64> {
        match self.cut(joined)? {
            Cut::Record(record) => Some(time_ns(record, sources).unwrap_or(0)),
            Cut::Rubbish(_) => Some(0),
        }
    }

    /// The record that was cut last has been dealt with.
    pub(crate) fn pass(&mut self) {
        self.passed = self.next;
        if self.passed >= GIVE_BACK_BYTES {
            self.give_back();
        }
    }

    /// Lets the kernel write over what has been passed.
    pub(crate) fn give_back(&mut self) {
        self.ring.give_back(std::mem::take(&mut self.passed));
        self.next = 0;
    }
}

/// A ring for each processor, all of one size: the largest up to `bytes` that the kernel gives.
pub(crate) fn rings(system: &impl System, bytes: usize) -> Result<Vec<CpuRing>, KernelError> {
    let cpus = cpus::online(system).map_err(|error| KernelError::Processors { error })?;
    let mut bytes = bytes.next_power_of_two().max(LEAST_RING_BYTES);
    loop {
        let made: Result<Vec<CpuRing>, KernelError> =
            cpus.iter().filter_map(|cpu| ring(system, *cpu, bytes).transpose()).collect();
        match made {
            Err(KernelError::Ring { error, .. })
                if bytes > LEAST_RING_BYTES
                    && matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOMEM)) =>
            {
                bytes /= 2;
            }
            made => return made,
        }
    }
}

/// A ring of this size; `None` if the processor was taken off.
fn ring(system: &impl System, cpu: Cpu, bytes: usize) -> Result<Option<CpuRing>, KernelError> {
    let attributes = Attributes {
        wake_at_bytes: u32::try_from(bytes / 4).unwrap_or(u32::MAX),
        ..Attributes::new(Kind::Ring, Start::WhenEnabled)
    };
    let event = match system.open(&attributes, Target::CallingThread, cpu) {
        Ok(event) => event,
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Ok(None),
        Err(error) => return Err(KernelError::Event { action: "open", error }),
    };
    let ring = Ring::new(event, bytes).map_err(|error| KernelError::Ring { cpu, bytes, error })?;
    Ok(Some(CpuRing { cpu, ring, events: Vec::new(), sampler: None, alive: 0, head: 0, passed: 0, next: 0 }))
}
