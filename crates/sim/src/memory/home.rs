//! What is behind the last caches: the directory of all of them, sockets and their links, memory controllers and pages.

use holdup_model::cycles::Resource;

use super::coherence::Holders;
use super::layout::Fan;
use super::resource::{Shared, Sharing};
use super::table::Table;
use crate::change::Changes;
use crate::machine::{Arbitration, LinkFacts, Machine};

/// log2 of the bytes of a page: all of one lies at one socket.
const PAGE_BITS: u32 = 12;
/// Bytes of a message without data.
pub(crate) const MESSAGE: u32 = 8;

/// Everything behind the last caches.
pub(crate) struct Home {
    /// Who of the last caches has which lines. Empty if there is only one.
    directory: Table<Known>,
    /// The last caches.
    pub below: Fan,
    /// By socket, the interconnect between its caches.
    on_chip: Vec<Shared>,
    /// Cycles besides the caches'.
    on_chip_latency: u64,
    /// By socket, its link to the others.
    off_socket: Vec<Shared>,
    /// Cycles besides the caches', there and back.
    off_socket_latency: u64,
    /// By socket, or one for all.
    controllers: Vec<Shared>,
    /// Cycles besides the caches'.
    latency: u64,
    /// The socket that touched a page first.
    pages: Table<u32>,
    /// log2 of the bytes of a line.
    line_bits: u32,
    cores_per_socket: u32,
    /// Nothing is booked for what moves now.
    pub(crate) is_free: bool,
    /// What moves now takes no time and is not counted.
    pub(crate) is_quiet: bool,
    /// Cycles for which who caused a write to memory has to wait, because the queue of writes is full.
    overdue: u64,
}

/// Lines in the queue of writes of a memory controller (assumption: real ones have some tens of entries).
const WRITE_QUEUE: u32 = 32;

/// [`Holders`] without padding, as there are many.
#[derive(Clone, Copy, Default)]
#[repr(C, packed)]
struct Known {
    mask: u64,
    owned: bool,
}

/// A request on its way: when and how long, and what queueing there was.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delay {
    /// When the access began.
    pub began: u64,
    /// Cycles since then.
    pub cycles: u64,
    /// Of these, in queues of interconnects.
    pub interconnect: u64,
    /// Of these, in queues of memory.
    pub memory: u64,
}

impl Delay {
    fn now(&self) -> u64 {
        self.began + self.cycles
    }
}

impl Home {
    pub(crate) fn new(machine: &Machine, cores: u32, last_caches: u32, changes: &Changes) -> Home {
        let sockets = cores.div_ceil(machine.cores_per_socket.max(1)).max(1);
        let rate = |rate: f64| {
            if changes.unlimited_bandwidth { 0.0 } else { rate * changes.bandwidth.unwrap_or(1.0) }
        };
        let line = machine.l1d.line;
        let link = |name: &str, facts: &LinkFacts| -> Vec<Shared> {
            let how = Sharing {
                channels: 1,
                rate: rate(facts.bandwidth),
                arbitration: facts.arbitration,
                private: changes.private_links,
                cores,
                line,
            };
            (0..sockets).map(|socket| Shared::new(format!("{name} of socket {socket}"), how)).collect()
        };
        let how = Sharing {
            channels: machine.memory.channels,
            rate: rate(machine.memory.bandwidth / machine.frequency),
            arbitration: Arbitration::Fair,
            private: changes.private_memory,
            cores,
            line,
        };
        let controllers = match machine.memory.per_socket {
            true => {
                (0..sockets).map(|socket| Shared::new(format!("memory of socket {socket}"), how)).collect()
            }
            false => vec![Shared::new("memory".into(), how)],
        };
        Home {
            directory: Table::new(),
            below: Fan::new(last_caches),
            on_chip: link("interconnect", &machine.on_chip),
            on_chip_latency: u64::from(machine.on_chip.latency),
            off_socket: link("off-socket link", &machine.off_socket),
            off_socket_latency: u64::from(machine.off_socket.latency),
            controllers,
            latency: (machine.memory.latency_ns * machine.frequency).round() as u64,
            pages: Table::new(),
            line_bits: line.trailing_zeros(),
            is_free: false,
            is_quiet: false,
            overdue: 0,
            cores_per_socket: machine.cores_per_socket.max(1),
        }
    }

    /// The socket of a core.
    pub(crate) fn socket(&self, core: u32) -> u32 {
        core / self.cores_per_socket
    }

    /// Who of the last caches has a line.
    pub(crate) fn holders(&self, line: u64) -> Holders {
        let Known { mask, owned } = self.directory.get(line).unwrap_or_default();
        Holders { mask, owned }
    }

    /// Changes it.
    pub(crate) fn set_holders(&mut self, line: u64, Holders { mask, owned }: Holders) {
        match mask {
            0 => self.directory.remove(line),
            _ => self.directory.insert(line, Known { mask, owned }),
        }
    }

    /// True if there is more than one.
    pub(crate) fn has_sockets(&self) -> bool {
        self.off_socket.len() > 1
    }

    /// Over the interconnect of the core's socket, with a line or without.
    pub(crate) fn cross(&mut self, core: u32, with_line: bool, delay: &mut Delay) {
        if self.is_quiet {
            return;
        }
        let socket = self.socket(core) as usize;
        let bytes = self.bytes(with_line);
        delay.cycles += self.on_chip_latency;
        let wait = self.on_chip[socket].request(core, delay.now(), bytes, 0);
        delay.cycles += wait;
        delay.interconnect += wait;
    }

    /// From the core's socket to another and back.
    pub(crate) fn travel(&mut self, core: u32, other: u32, with_line: bool, delay: &mut Delay) {
        if self.is_quiet {
            return;
        }
        let bytes = self.bytes(with_line);
        delay.cycles += self.off_socket_latency;
        for socket in [other, self.socket(core)] {
            let wait = self.off_socket[socket as usize].request(core, delay.now(), bytes, 0);
            delay.cycles += wait;
            delay.interconnect += wait;
        }
    }

    /// The socket whose memory has a line: that of the first core that asks.
    pub(crate) fn socket_of_line(&mut self, core: u32, line: u64) -> u32 {
        if self.off_socket.len() == 1 {
            return 0;
        }
        let page = if self.line_bits < PAGE_BITS { line >> (PAGE_BITS - self.line_bits) } else { line };
        self.pages.get(page).unwrap_or_else(|| {
            let socket = self.socket(core);
            self.pages.insert(page, socket);
            socket
        })
    }

    /// A line from memory, for a core, or to it: then the time is no one's.
    pub(crate) fn memory(&mut self, core: u32, line: u64, delay: &mut Delay) {
        let mut controller = 0;
        if self.controllers.len() > 1 {
            controller = self.socket_of_line(core, line);
            if controller != self.socket(core) {
                self.travel(core, controller, true, delay);
            }
        }
        if self.is_quiet {
            return;
        }
        delay.cycles += self.latency;
        let bytes = self.bytes(true);
        let wait = self.controllers[controller as usize].request(core, delay.now(), bytes, line);
        delay.cycles += wait;
        delay.memory += wait;
    }

    /// A line goes back to memory. Nobody waits for that as long as there is room in the queue of writes.
    pub(crate) fn write_back(&mut self, core: u32, line: u64, began: u64) {
        let mut delay = Delay { began, ..Delay::default() };
        self.memory(core, line, &mut delay);
        let bytes = self.bytes(true);
        let room = self.controllers.first().map_or(0, |one| one.service(WRITE_QUEUE * bytes));
        self.overdue = self.overdue.max(delay.memory.saturating_sub(room));
    }

    /// Adds to a request what it has to wait for writes that it caused.
    pub(crate) fn wait_for_writes(&mut self, delay: &mut Delay) {
        let overdue = std::mem::take(&mut self.overdue);
        delay.cycles += overdue;
        delay.memory += overdue;
    }

    fn bytes(&self, with_line: bool) -> u32 {
        match with_line {
            _ if self.is_free => 0,
            true => 1 << self.line_bits,
            false => MESSAGE,
        }
    }

    /// What all did in a run of so many cycles.
    pub(crate) fn resources(&self, cycles: u64) -> Vec<Resource> {
        let links: &[Shared] = if self.has_sockets() { &self.off_socket } else { &[] };
        let all = self.on_chip.iter().chain(links).chain(&self.controllers);
        all.map(|resource| resource.did(cycles)).collect()
    }
}
