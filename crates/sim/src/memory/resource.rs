//! Shared resources: interconnects and memory controllers, with latency, bandwidth and arbitration.

use holdup_model::cycles::Resource;

use super::ledger::Ledger;
use crate::machine::Arbitration;

/// A resource with channels, over which its requests are spread.
pub(crate) struct Shared {
    name: String,
    bandwidth: Bandwidth,
    channels: usize,
    /// Bytes each cycle of a channel; 0 for no limit.
    rate: f64,
    requests: u64,
    bytes: u64,
    queueing: u64,
}

/// Who waits for whom.
enum Bandwidth {
    /// There is enough.
    Unlimited,
    /// By channel: all cores wait for each other.
    Fair(Vec<Ledger>),
    /// By core and channel: each has the resource to itself.
    Private(Vec<Ledger>),
    /// By core and channel: each waits for the cores with lower numbers and itself only, as on a resource that no others
    /// use; so its requests are booked with all higher ones.
    LowestFirst(Vec<Ledger>),
}

/// How a resource is made.
#[derive(Clone, Copy)]
pub(crate) struct Sharing {
    pub channels: u32,
    /// Bytes each cycle of a channel; 0 for no limit.
    pub rate: f64,
    pub arbitration: Arbitration,
    pub private: bool,
    pub cores: u32,
    /// Bytes of a usual request.
    pub line: u32,
}

impl Shared {
    /// An idle one.
    pub(crate) fn new(name: String, how: Sharing) -> Shared {
        let channels = how.channels.max(1) as usize;
        let ledgers =
            |copies: usize| (0..copies * channels).map(|_| Ledger::new(how.rate, how.line)).collect();
        let bandwidth = match (how.private, how.arbitration) {
            _ if how.rate <= 0.0 || !how.rate.is_finite() => Bandwidth::Unlimited,
            (true, _) => Bandwidth::Private(ledgers(how.cores as usize)),
            (false, Arbitration::LowestFirst) => Bandwidth::LowestFirst(ledgers(how.cores as usize)),
            (false, Arbitration::Fair) => Bandwidth::Fair(ledgers(1)),
        };
        Shared { name, bandwidth, channels, rate: how.rate, requests: 0, bytes: 0, queueing: 0 }
    }

    /// A core moves bytes over it at a cycle; the cycles for which it has to wait. `spread` chooses the channel.
    pub(crate) fn request(&mut self, core: u32, cycle: u64, bytes: u32, spread: u64) -> u64 {
        self.requests += 1;
        self.bytes += u64::from(bytes);
        let channel = (spread % self.channels as u64) as usize;
        let own = core as usize * self.channels + channel;
        let delay = match &mut self.bandwidth {
            Bandwidth::Unlimited => 0,
            Bandwidth::Fair(ledgers) => ledgers[channel].book(cycle, bytes),
            Bandwidth::Private(ledgers) => ledgers[own].book(cycle, bytes),
            Bandwidth::LowestFirst(ledgers) => {
                let delay = ledgers[own].book(cycle, bytes);
                for higher in ledgers.iter_mut().skip(own + self.channels).step_by(self.channels) {
                    higher.book(cycle, bytes);
                }
                delay
            }
        };
        self.queueing += delay;
        delay
    }

    /// Cycles for which so many bytes keep a channel busy; 0 without a limit.
    pub(crate) fn service(&self, bytes: u32) -> u64 {
        if self.rate > 0.0 && self.rate.is_finite() { (f64::from(bytes) / self.rate) as u64 } else { 0 }
    }

    /// What it did in a run of so many cycles.
    pub(crate) fn did(&self, cycles: u64) -> Resource {
        let copies = match &self.bandwidth {
            Bandwidth::Private(ledgers) => ledgers.len(),
            _ => self.channels,
        };
        let busy = if self.rate > 0.0 { self.bytes as f64 / self.rate / copies as f64 } else { 0.0 };
        Resource {
            name: self.name.clone(),
            requests: self.requests,
            bytes: self.bytes,
            busy: (busy.round() as u64).min(cycles),
            queueing: self.queueing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Shared, Sharing};
    use crate::machine::Arbitration;

    fn shared(arbitration: Arbitration, private: bool) -> Shared {
        let how = Sharing { channels: 1, rate: 1.0, arbitration, private, cores: 2, line: 64 };
        Shared::new("link".into(), how)
    }

    /// Two cores that ask for a line again as soon as they have the last, in turns: how many each got in 64,000 cycles.
    fn served(mut shared: Shared) -> [u64; 2] {
        let (mut now, mut lines) = ([0_u64; 2], [0_u64; 2]);
        while now.iter().any(|now| *now < 64_000) {
            // The one that is behind goes next.
            let core = usize::from(now[1] < now[0]);
            now[core] += 64 + shared.request(core as u32, now[core], 64, 0);
            lines[core] += u64::from(now[core] <= 64_000);
        }
        lines
    }

    #[test]
    fn a_fair_resource_serves_both_alike() {
        let [first, second] = served(shared(Arbitration::Fair, false));
        assert!(first.abs_diff(second) <= 2 && (990..=1001).contains(&(first + second)), "{first} {second}");
    }

    #[test]
    fn the_lowest_core_starves_the_higher_one() {
        let [first, second] = served(shared(Arbitration::LowestFirst, false));
        assert!(first >= 999 && second < 60, "{first} {second}");
    }

    #[test]
    fn private_ones_do_not_wait_for_each_other() {
        assert_eq!(served(shared(Arbitration::Fair, true)), [1000, 1000]);
    }

    #[test]
    fn channels_share_the_load() {
        let how = Sharing {
            channels: 4,
            rate: 1.0,
            arbitration: Arbitration::Fair,
            private: false,
            cores: 1,
            line: 64,
        };
        let mut shared = Shared::new("memory".into(), how);
        let waits: u64 = (0..4).map(|line| shared.request(0, 0, 64, line)).sum();
        assert_eq!(waits, 0);
        assert!(shared.request(0, 0, 64, 4) > 32);
        let did = shared.did(1000);
        assert_eq!((did.requests, did.bytes, did.busy), (5, 320, 80));
    }
}
