//! The bandwidth thief: a thread that reads memory at a stated rate, and leaves the cache alone as far as that goes.
//!
//! After the Bandwidth Bandit (Eklov, Nikoleris, Black-Schaffer and Hagersten, CGO 2013). That keeps to a few sets of the
//! shared cache, which needs physical addresses; here each line is taken out of all caches again right after it was read.
//! So it never finds a line there either, and what it read is what memory gave.

use std::hint::black_box;
use std::path::Path;

use crate::clock;
use crate::cores::{Confined, Place};
use crate::gate::Gate;
use crate::instructions::{KNOWN, drop_line};
use crate::memory::Memory;
use crate::pace::Pace;
use crate::refusal::Refusal;
use crate::walk::LINE;

/// Bytes that are read between two looks at the gate.
const BURST: usize = 16 << 10;
/// Bytes that are gone through in turn: more than a memory channel's open pages, and few enough to be had everywhere.
const BYTES: u64 = 64 << 20;

/// What was stolen while the profiled thread ran.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Theft {
    /// Begin, in ns of `CLOCK_MONOTONIC`.
    pub begin_ns: u64,
    /// End, in ns of `CLOCK_MONOTONIC`.
    pub end_ns: u64,
    /// The thief's CPU time in between.
    pub cpu_ns: u64,
    /// Bytes that it read from memory.
    pub bytes: u64,
}

impl Theft {
    /// Bytes per second.
    pub fn rate(&self) -> f64 {
        self.bytes as f64 * 1e9 / self.end_ns.saturating_sub(self.begin_ns).max(1) as f64
    }
}

/// A thief with its memory.
#[derive(Debug)]
pub struct Thief {
    cpu: u32,
    memory: Memory,
}

impl Thief {
    /// Gets the memory, near the core of `place` that steals. `root` is `/` outside of tests.
    ///
    /// # Errors
    /// Those of the system; [`Refusal::UnknownProcessor`] where lines cannot be taken out of the caches.
    pub fn new(root: &Path, place: &Place) -> Result<Thief, Refusal> {
        if !KNOWN {
            return Err(Refusal::UnknownProcessor);
        }
        let _confined = Confined::to(place.pirate)?;
        Ok(Thief { cpu: place.pirate, memory: Memory::new(root, BYTES)? })
    }

    /// The most that it can read in a second, measured for `ns` now, with what else uses the memory.
    ///
    /// # Errors
    /// Where the thread may not run on its core.
    pub fn strongest(&self, ns: u64) -> Result<f64, Refusal> {
        let _confined = Confined::to(self.cpu)?;
        let begin_ns = clock::now_ns();
        let (mut at, mut bytes) = (0, 0);
        while clock::now_ns() - begin_ns < ns {
            bytes += self.burst(&mut at);
        }
        Ok(Theft { begin_ns, end_ns: clock::now_ns(), cpu_ns: 0, bytes }.rate())
    }

    /// Reads `bytes_per_second` on the calling thread until the run is over: one [`Theft`] for each time that the profiled
    /// thread ran, with what it was really.
    ///
    /// # Errors
    /// Where the thread may not run on its core.
    pub fn run(&self, gate: &impl Gate, bytes_per_second: u64) -> Result<Vec<Theft>, Refusal> {
        let _confined = Confined::to(self.cpu)?;
        let mut thefts = Vec::new();
        let mut at = 0;
        while gate.wait_wanted() {
            let (begin_ns, cpu_begin) = (clock::now_ns(), clock::thread_cpu_ns());
            let mut pace = Pace::new(bytes_per_second, begin_ns);
            let mut bytes = 0;
            gate.ready();
            while gate.still() {
                let now = clock::now_ns();
                if pace.is_due(now) {
                    pace.went(BURST as u64, now);
                    bytes += self.burst(&mut at);
                } else {
                    std::hint::spin_loop();
                }
            }
            let (end_ns, cpu_ns) = (clock::now_ns(), clock::thread_cpu_ns() - cpu_begin);
            thefts.push(Theft { begin_ns, end_ns, cpu_ns, bytes });
        }
        Ok(thefts)
    }

    /// Reads the next lines and drops those of the burst before: loads and drops of one line would wait for each other.
    fn burst(&self, at: &mut usize) -> u64 {
        let all = self.memory.bytes();
        let lines = &all[*at..*at + BURST];
        let sum: u64 = lines.iter().step_by(LINE).map(|byte| u64::from(*byte)).sum();
        black_box(sum);
        lines.iter().step_by(LINE).for_each(drop_line);
        *at = (*at + BURST) % all.len();
        BURST as u64
    }
}


pub fn explore(root: &Path, place: &Place) {
    let _c = Confined::to(place.pirate);
    let set = Memory::new(root, 60<<20).unwrap();
    let mem = Memory::new(root, 512<<20).unwrap();
    let timer = crate::timer::Timer::new().unwrap();
    let mut walk = crate::Walk::new(3);
    let limit = crate::Limit{hit_ns:35.0,miss_ns:132.0,limit_ns:86.0,false_misses:0.0,false_hits:0.0};
    for variant in 0..8 {
      for bytes in [64usize<<20, 512<<20] {
        let m = &mem.bytes()[..bytes];
        // pass through all once
        let mut at=0;
        let mut step = |at: &mut usize| {
            let l = &m[*at..*at+BURST];
            match variant {
              0 => { let s: u64 = l.iter().step_by(LINE).map(|b| u64::from(*b)).sum(); black_box(s); }
              1 => { let s: u64 = l.iter().step_by(LINE).map(|b| u64::from(*b)).sum(); black_box(s); l.iter().step_by(LINE).for_each(drop_line); }
              2 => { let s: u64 = l.iter().step_by(LINE).map(|b| u64::from(*b)).sum(); black_box(s); l.iter().step_by(LINE).for_each(crate::instructions::opt); }
              3 => { for i in (0..BURST).step_by(LINE) { crate::instructions::nta(m[(*at+i+BURST)%m.len()..].as_ptr()); black_box(l[i]); } }
              4 => { for i in (0..BURST).step_by(LINE) { crate::instructions::nta(m[(*at+i+2048)%m.len()..].as_ptr()); black_box(l[i]); } }
              5 => { let s: u64 = l.iter().step_by(LINE).map(|b| u64::from(*b)).sum(); black_box(s); let p=(*at+m.len()-4*BURST)%m.len(); m[p..p+BURST].iter().step_by(LINE).for_each(crate::instructions::opt); }
              6 => { for i in (0..BURST).step_by(LINE) { crate::instructions::nta(m[(*at+i+2048)%m.len()..].as_ptr()); black_box(l[i]); crate::instructions::opt(&m[(*at+i+m.len()-8192)%m.len()]); } }
              _ => { for i in (0..BURST).step_by(LINE) { black_box(l[i]); crate::instructions::opt(&m[(*at+i+m.len()-8192)%m.len()]); } }
            }
            *at=(*at+BURST)%m.len();
        };
        let begin=clock::now_ns(); let mut b=0u64;
        while clock::now_ns()-begin < 60_000_000 { step(&mut at); b+=BURST as u64; }
        let rate = b as f64/(clock::now_ns()-begin) as f64;
        for _ in 0..4 { crate::sweep::Sweep::whole(set.bytes()); }
        let before = limit.missed(&timer, set.bytes(), 480, &mut walk);
        let mut b=0; while b < 64<<20 { step(&mut at); b+=BURST; }
        let after = limit.missed(&timer, set.bytes(), 480, &mut walk);
        let ahead: usize = { let mut c=0; for k in 0..200 { let p=(at+BURST*16+k*4096*3+64*17)%m.len(); black_box(m[p^1024]); if timer.load_ns(&m[p])>86.0 {c+=1} } c };
        println!("variant {variant} over {} MB: {rate:.2} GB/s; of 60 MB missed {before} then {after} of 480 after 64 MB; ahead missing {ahead}/200", bytes>>20);
      }
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_bytes_over_time() {
        let theft = Theft { begin_ns: 500, end_ns: 1_000_500, cpu_ns: 0, bytes: 2_000_000 };
        assert_eq!(theft.rate(), 2e9);
    }
}
