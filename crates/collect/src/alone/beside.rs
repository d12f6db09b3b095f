//! What works beside the thread that runs by itself, and how it follows the turn.

use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use holdup_pirate::{Gate, Pirate, Thief};
use holdup_recording::facts::{PirateFacts, PirateStretch};
use holdup_trace::alone::{Phase, Turn};
use rustix::thread::futex;

use super::{Shared, locked, wake};
use crate::session::SharedMemory;

type Work = Box<dyn FnOnce(&AloneGate) -> PirateFacts + Send>;

/// What works beside a thread that runs by itself. It works in one run only.
#[derive(Clone)]
pub struct Beside(Arc<Mutex<Option<Work>>>);

impl fmt::Debug for Beside {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Beside")
    }
}

impl Beside {
    /// Whatever `work` does when the gate says so.
    pub fn new(work: impl FnOnce(&AloneGate) -> PirateFacts + Send + 'static) -> Beside {
        Beside(Arc::new(Mutex::new(Some(Box::new(work)))))
    }

    /// A pirate that takes `bytes` of the shared cache, or one that only works like it (`control`).
    pub fn pirate(pirate: Pirate, bytes: u64, control: bool) -> Beside {
        let kind = if control { PirateFacts::CONTROL } else { PirateFacts::CACHE };
        Beside::new(move |gate| {
            let stretches = pirate.run(gate).unwrap_or_default();
            let stretches = stretches.iter().map(|stretch| PirateStretch {
                begin_ns: stretch.begin_ns,
                end_ns: stretch.end_ns,
                cpu_ns: stretch.cpu_ns,
                probes: stretch.probes,
                missed: stretch.missed,
                warmed: stretch.warmed,
                bytes: 0,
                fetch_ratio: stretch.fetch_ratio,
            });
            PirateFacts { kind: kind.to_owned(), asked: bytes, stretches: stretches.collect() }
        })
    }

    /// A thief that reads so many bytes per second from memory.
    pub fn thief(thief: Thief, bytes_per_second: u64) -> Beside {
        Beside::new(move |gate| {
            let thefts = thief.run(gate, bytes_per_second).unwrap_or_default();
            let stretches = thefts.iter().map(|theft| PirateStretch {
                begin_ns: theft.begin_ns,
                end_ns: theft.end_ns,
                cpu_ns: theft.cpu_ns,
                warmed: true,
                bytes: theft.bytes,
                ..PirateStretch::default()
            });
            let kind = PirateFacts::BANDWIDTH.to_owned();
            PirateFacts { kind, asked: bytes_per_second, stretches: stretches.collect() }
        })
    }

    /// Lets it work in a thread of its own; `None` where it has worked before.
    pub(super) fn start(&self, gate: AloneGate) -> Option<JoinHandle<PirateFacts>> {
        let work = locked(&self.0).take()?;
        let thread = std::thread::Builder::new().name("holdup pirate".into());
        thread
            .spawn(move || {
                let facts = work(&gate);
                // Nobody is to wait for it any more.
                gate.shared.beside_is_over();
                facts
            })
            .ok()
    }
}

/// The gate through which the turn of the profiled thread is seen.
pub struct AloneGate {
    shared: Arc<Shared>,
    /// The process, and the turn for which work was last wanted.
    current: RefCell<Option<(SharedMemory, Turn)>>,
}

impl fmt::Debug for AloneGate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AloneGate")
    }
}

impl AloneGate {
    pub(super) fn of(shared: &Arc<Shared>) -> AloneGate {
        AloneGate { shared: Arc::clone(shared), current: RefCell::new(None) }
    }
}

impl Gate for AloneGate {
    fn wait_wanted(&self) -> bool {
        const LOOK: Duration = Duration::from_millis(20);
        while !self.shared.stop.load(Ordering::Acquire) {
            let active = locked(&self.shared.active).clone();
            let Some(memory) = active else {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            };
            let block = &memory.parts().header().alone;
            let bell = block.pirate_bell.load(Ordering::SeqCst);
            let turn = block.turn();
            if turn.phase() == Phase::Wanted && !block.is_given_up() {
                *self.current.borrow_mut() = Some((memory, turn));
                return true;
            }
            let timeout = rustix::time::Timespec { tv_sec: 0, tv_nsec: LOOK.as_nanos() as _ };
            let _ = futex::wait(&block.pirate_bell, futex::Flags::empty(), bell, Some(&timeout));
        }
        false
    }

    fn ready(&self) {
        if let Some((memory, turn)) = &*self.current.borrow() {
            let parts = memory.parts();
            let block = &parts.header().alone;
            block.pirate_ready.store(turn.generation().wrapping_add(1), Ordering::SeqCst);
            if parts.lets_go() {
                wake(&block.go);
            }
        }
    }

    fn still(&self) -> bool {
        self.current.borrow().as_ref().is_some_and(|(memory, turn)| {
            let now = memory.parts().header().alone.turn();
            now.generation() == turn.generation() && matches!(now.phase(), Phase::Wanted | Phase::Alone)
        })
    }
}
