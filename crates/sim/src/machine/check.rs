//! What of a machine cannot be.

use holdup_code::OpClass;

use super::nearest::nearest;
use super::{CacheFacts, LinkFacts, Machine, MachineError, Replacement, TlbFacts, class_by_name};

/// More cores are not simulated: sets of cores are kept as bits.
const MOST_CORES: u32 = 1024;

/// More entries of all caches, translation buffers and predictors together are not simulated: their state takes some 8 bytes each.
/// A thousand cores with 2 MiB of second and 4 MiB of third level each have a hundred million.
const MOST_ENTRIES: u64 = 160 << 20;

/// More cycles than any latency has: ten times what the slowest memory takes.
const LONGEST: u32 = 100_000;

type Checked = Result<(), MachineError>;

impl Machine {
    /// Says what of it cannot be simulated.
    ///
    /// # Errors
    /// The first thing that is impossible, by its key, with what would be possible.
    pub fn check(&self) -> Checked {
        demand(!self.name.trim().is_empty(), "name", || "is empty; give the machine a name".into())?;
        whole("sockets", self.sockets, 1, MOST_CORES)?;
        whole("cores-per-socket", self.cores_per_socket, 1, MOST_CORES)?;
        demand(self.cores() <= MOST_CORES, "sockets", || {
            format!("{} cores in all; at most {MOST_CORES} are simulated", self.cores())
        })?;
        decimal("frequency", self.frequency, 0.01, 100.0)?;
        self.check_core()?;
        self.check_predictor()?;
        self.check_caches()?;
        self.check_translation()?;
        self.check_state()?;
        link("on-chip", &self.on_chip)?;
        link("off-socket", &self.off_socket)?;
        decimal("memory.latency-ns", self.memory.latency_ns, 0.0, 1e6)?;
        whole("memory.channels", self.memory.channels, 1, 1024)?;
        decimal("memory.bandwidth", self.memory.bandwidth, 0.0, 1e6)?;
        if let Some(prefetch) = &self.prefetch {
            whole("prefetch.streams", prefetch.streams, 1, 4096)?;
            whole("prefetch.depth", prefetch.depth, 1, 64)?;
        }
        if let Some(problem) = self.energy.as_ref().and_then(|energy| energy.problem()) {
            demand(false, "energy", || problem.into())?;
        }
        self.check_system()
    }

    fn check_core(&self) -> Checked {
        whole("core.width", self.core.width, 1, 64)?;
        whole("core.window", self.core.window, self.core.width, 65_536)?;
        whole("core.front-end", self.core.front_end, 0, 1_000)?;
        whole("core.outstanding-misses", self.core.outstanding_misses, 0, 65_536)?;
        whole("core.store-buffer", self.core.store_buffer, 0, 65_536)?;
        whole("core.forward", self.core.forward.unwrap_or(0), 0, 1_000)?;
        let tables = [("latency", &self.core.latency), ("busy", &self.core.busy)];
        for (table, name, cycles) in
            tables.iter().flat_map(|(table, of)| of.iter().map(move |(name, cycles)| (table, name, cycles)))
        {
            let what = format!("core.{table}.{name}");
            demand(class_by_name(name).is_some(), &what, || {
                let names = || OpClass::ALL.iter().map(|class| class.name());
                match nearest(name, names()) {
                    Some(meant) => format!("there is no such class of micro-ops; did you mean `{meant}`?"),
                    None => {
                        format!(
                            "there is no such class of micro-ops; there are {}",
                            names().collect::<Vec<_>>().join(", ")
                        )
                    }
                }
            })?;
            whole(&what, *cycles, 0, LONGEST)?;
        }
        Ok(())
    }

    fn check_predictor(&self) -> Checked {
        let facts = &self.predictor;
        power_of_two("predictor.bimodal", facts.bimodal)?;
        power_of_two("predictor.indirect", facts.indirect)?;
        whole("predictor.returns", facts.returns, 1, 65_536)?;
        if let Some(tage) = &facts.tage {
            demand(facts.global == 0, "predictor.global", || {
                format!("{}; a predictor with tagged tables has none: leave it out", facts.global)
            })?;
            whole("predictor.tage.tables", tage.tables, 1, 16)?;
            power_of_two("predictor.tage.entries", tage.entries)?;
            whole("predictor.tage.entries", tage.entries, 2, 1 << 24)?;
            whole("predictor.tage.tag-bits", tage.tag_bits, 1, 16)?;
            whole("predictor.tage.shortest", tage.shortest, 1, 65_536)?;
            whole("predictor.tage.longest", tage.longest, tage.shortest, 65_536)?;
        }
        let tables = [
            ("global", facts.global, facts.global_ways, facts.tage.is_none()),
            ("loops", facts.loops, facts.loop_ways, facts.loops > 0),
        ];
        for (table, entries, ways, _) in tables.into_iter().filter(|(_, _, _, is_there)| *is_there) {
            let what = format!("predictor.{table}");
            ways_divide(&what, entries, ways)?;
            power_of_two(&format!("{what} / its ways"), entries / ways)?;
        }
        Ok(())
    }

    fn check_caches(&self) -> Checked {
        let levels = [
            ("l1i", Some(&self.l1i)),
            ("l1d", Some(&self.l1d)),
            ("l2", self.l2.as_ref()),
            ("l3", self.l3.as_ref()),
        ];
        for (name, facts) in levels {
            let Some(facts) = facts else { continue };
            geometry(name, facts)?;
            demand(facts.line == self.l1d.line, &format!("{name}.line"), || {
                format!(
                    "{} bytes, and {} in l1d; a machine's caches have lines of one size",
                    facts.line, self.l1d.line
                )
            })?;
        }
        for (name, facts) in [("l1i", &self.l1i), ("l1d", &self.l1d)] {
            demand(facts.shared_by == 1, &format!("{name}.shared-by"), || {
                format!("{}; each core has a first level of its own, so 1", facts.shared_by)
            })?;
        }
        demand(self.l3.is_none() || self.l2.is_some(), "l3", || {
            "there is no l2; call the level that follows the first l2".into()
        })?;
        let mut inner = 1;
        for (name, facts) in [("l2", &self.l2), ("l3", &self.l3)] {
            let Some(facts) = facts else { continue };
            let what = format!("{name}.shared-by");
            demand(self.cores_per_socket.is_multiple_of(facts.shared_by), &what, || {
                let divisors: Vec<String> = (1..=self.cores_per_socket)
                    .filter(|cores| {
                        self.cores_per_socket.is_multiple_of(*cores) && cores.is_multiple_of(inner)
                    })
                    .map(|cores| cores.to_string())
                    .collect();
                format!(
                    "{} does not divide the {} cores of a socket; possible are {}",
                    facts.shared_by,
                    self.cores_per_socket,
                    divisors.join(", ")
                )
            })?;
            demand(facts.shared_by.is_multiple_of(inner), &what, || {
                format!(
                    "{} is no multiple of l2.shared-by ({inner}): cores that share an l2 share its l3",
                    facts.shared_by
                )
            })?;
            inner = facts.shared_by;
        }
        Ok(())
    }

    fn check_translation(&self) -> Checked {
        let buffers = [("itlb", &self.itlb), ("dtlb", &self.dtlb), ("stlb", &self.stlb)];
        for (name, facts) in buffers {
            let Some(TlbFacts { entries, ways, latency }) = facts else { continue };
            ways_divide(&format!("{name}.entries"), *entries, *ways)?;
            whole(&format!("{name}.latency"), *latency, 0, LONGEST)?;
        }
        demand(self.stlb.is_none() || self.itlb.is_some() || self.dtlb.is_some(), "stlb", || {
            "there is no itlb and no dtlb in front of it; add one, or leave it out".into()
        })?;
        whole("page-walk", self.page_walk, 0, LONGEST)
    }

    /// After the parts: what all of it would take of memory.
    fn check_state(&self) -> Checked {
        let of_cache = |facts: &CacheFacts| facts.size / u64::from(facts.line) / u64::from(facts.shared_by);
        let caches = [Some(&self.l1i), Some(&self.l1d), self.l2.as_ref(), self.l3.as_ref()];
        let buffers = [&self.itlb, &self.dtlb, &self.stlb];
        let predictor = &self.predictor;
        let tagged =
            predictor.tage.as_ref().map_or(0, |tage| u64::from(tage.tables) * u64::from(tage.entries));
        let of_a_core = caches.into_iter().flatten().map(of_cache).sum::<u64>()
            + buffers.into_iter().flatten().map(|facts| u64::from(facts.entries)).sum::<u64>()
            + [predictor.bimodal, predictor.global, predictor.loops, predictor.indirect, predictor.returns]
                .map(u64::from)
                .iter()
                .sum::<u64>()
            + tagged;
        let all = of_a_core.saturating_mul(u64::from(self.cores()));
        demand(all <= MOST_ENTRIES, "sockets", || {
            format!(
                "caches, translation buffers and predictors of all {} cores have {all} entries; at most {MOST_ENTRIES} are \
                 simulated: make them smaller, or the cores fewer",
                self.cores()
            )
        })
    }

    fn check_system(&self) -> Checked {
        let system = &self.system;
        let costs = [
            ("wake-up-ns", system.wake_up_ns),
            ("waking-ns", system.waking_ns),
            ("sleep-ns", system.sleep_ns),
            ("create-ns", system.create_ns),
            ("start-ns", system.start_ns),
            ("switch-ns", system.switch_ns),
            ("barrier-ns", system.barrier_ns),
            ("lock-ns", system.lock_ns),
        ];
        for (name, nanos) in costs {
            decimal(&format!("system.{name}"), nanos, 0.0, 1e9)?;
        }
        decimal("system.slice-ns", system.slice_ns, 1.0, 1e12)
    }
}

fn demand(holds: bool, what: &str, problem: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(MachineError::Impossible { what: what.to_string(), problem: problem() }) }
}

fn whole(what: &str, number: u32, least: u32, most: u32) -> Checked {
    demand((least..=most).contains(&number), what, || {
        format!(
            "{number} is too {}; possible are {least} to {most}",
            if number < least { "small" } else { "large" }
        )
    })
}

fn decimal(what: &str, number: f64, least: f64, most: f64) -> Checked {
    demand((least..=most).contains(&number), what, || {
        format!("{number} cannot be; possible are {least} to {most}")
    })
}

fn power_of_two(what: &str, entries: u32) -> Checked {
    demand(entries.is_power_of_two(), what, || {
        let below = 1u32 << entries.checked_ilog2().unwrap_or(0);
        match below.checked_mul(2) {
            Some(above) if entries > 0 => {
                format!("{entries} is no power of two; the nearest are {below} and {above}")
            }
            _ => format!("{entries} is no power of two"),
        }
    })
}

fn ways_divide(what: &str, entries: u32, ways: u32) -> Checked {
    demand(ways > 0, what, || "0 ways; 1 is direct-mapped".into())?;
    demand(entries > 0 && entries.is_multiple_of(ways), what, || {
        let most = (entries / ways).max(1) * ways;
        format!("{entries} entries cannot be dealt to {ways} ways; {most} could")
    })?;
    whole(what, entries, 1, 1 << 24)
}

fn geometry(name: &str, facts: &CacheFacts) -> Checked {
    let key = |field: &str| format!("{name}.{field}");
    demand(facts.line.is_power_of_two() && (16..=4096).contains(&facts.line), &key("line"), || {
        format!("{} bytes; lines are powers of two from 16 to 4096", facts.line)
    })?;
    whole(&key("ways"), facts.ways, 1, 64)?;
    demand(facts.size <= 1 << 36, &key("size"), || {
        format!("{} bytes are too many; at most 64 GiB", facts.size)
    })?;
    let set = u64::from(facts.ways) * u64::from(facts.line);
    demand(facts.size > 0 && facts.size.is_multiple_of(set), &key("size"), || {
        let below = facts.size / set * set;
        let above = below + set;
        let nearest = if below > 0 { format!("{below} or {above}") } else { above.to_string() };
        format!(
            "{} bytes cannot be dealt to sets of {} ways of {} bytes; {nearest} could",
            facts.size, facts.ways, facts.line
        )
    })?;
    whole(&key("shared-by"), facts.shared_by, 1, MOST_CORES)?;
    whole(&key("latency"), facts.latency, 1, LONGEST)?;
    whole(&key("tags"), facts.tags, 0, facts.latency)?;
    demand(
        facts.replacement != Replacement::TreePlru || facts.ways.is_power_of_two(),
        &key("replacement"),
        || format!("tree-plru needs a power of two of ways, not {}; take lru or nru", facts.ways),
    )
}

fn link(name: &str, facts: &LinkFacts) -> Checked {
    whole(&format!("{name}.latency"), facts.latency, 0, LONGEST)?;
    decimal(&format!("{name}.bandwidth"), facts.bandwidth, 0.0, 1e6)
}
