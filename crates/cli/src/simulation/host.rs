//! The machine that holdup runs on, as one to simulate: measured once, then kept in the user's cache directory.

#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use holdup_collect::{CacheKind, Figure, HostCache, HostFacts, measure_host};
use holdup_sim::Machine;
use holdup_sim::machine::{
    CacheFacts, CoreFacts, LinkFacts, MemoryFacts, PredictorFacts, PrefetchFacts, SystemFacts, TageFacts,
    TlbFacts,
};

use crate::failure::Failure;
use crate::kept_measurements::kept_as;
use crate::progress::Progress;

/// Changes with what is measured and how it is turned into a machine: what older versions kept is measured again.
const VERSION: u32 = 3;

/// In front of sentences in the kept file.
const NOTE: &str = "# note: ";

/// Bytes of a line.
const LINE: f64 = 64.0;

/// Where what is between atomic operations takes more than this share of both alone, they wait for it.
const WAITS: f64 = 0.7;

/// If the median of the measurements of the core, of memory or of transfers is so much slower than the best, something else
/// ran.
const NOISY: f64 = 0.2;

/// This machine, and what is to be known of its numbers, a sentence each. What cannot be measured is as on the `usual` one.
pub(super) fn machine(usual: Machine) -> Result<(Machine, Vec<String>), Failure> {
    let kept = kept_at(Path::new("/"));
    if let Some((machine, notes)) = kept.as_deref().and_then(read) {
        return Ok((machine, notes));
    }
    let next = Arc::new(Mutex::new(String::new()));
    let shown = Arc::clone(&next);
    let progress = Progress::telling(move || {
        let next = shown.lock().map(|next| next.clone()).unwrap_or_default();
        format!("holdup: measuring this machine: {next}")
    });
    let facts = measure_host(Path::new("/"), &mut |what| {
        if let Ok(mut next) = next.lock() {
            what.clone_into(&mut next);
        }
    });
    drop(progress);
    let (machine, mut notes) = machine_of(&facts, usual);
    machine.check().map_err(|error| {
        Failure::machine(format!("--machine host: this machine was measured as one that cannot be ({error})"))
    })?;
    if let Some(path) = kept {
        match keep(&path, &machine, &notes) {
            Ok(()) => notes.push(format!(
                "This machine was measured now and kept as {}; delete that to measure it again.",
                path.display()
            )),
            Err(error) => {
                notes.push(format!("{}: what was measured could not be kept ({error}).", path.display()))
            }
        }
    }
    Ok((machine, notes))
}

/// Where this processor's machine is kept.
fn kept_at(root: &Path) -> Option<PathBuf> {
    kept_as(&format!("host-{VERSION}"), root)
}

fn read(path: &Path) -> Option<(Machine, Vec<String>)> {
    let text = fs::read_to_string(path).ok()?;
    let machine = Machine::parse(&text).ok()?;
    Some((machine, text.lines().filter_map(|line| line.strip_prefix(NOTE)).map(str::to_owned).collect()))
}

/// Under another name first: somebody may be reading.
fn keep(path: &Path, machine: &Machine, notes: &[String]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let notes: String = notes.iter().map(|note| format!("{NOTE}{note}\n")).collect();
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    std::io::Write::write_all(&mut file, format!("{notes}{}", machine.to_toml()).as_bytes())?;
    file.persist(path)?;
    Ok(())
}

/// What was measured as a machine, and what is to be known of it. Whatever is not measured is that of the `usual` one.
fn machine_of(facts: &HostFacts, usual: Machine) -> (Machine, Vec<String>) {
    let mut notes = facts.warnings.clone();
    let frequency = facts.frequency.best.clamp(0.1, 10.0);
    let cycles = |nanos: f64| (nanos * frequency).round().clamp(0.0, 99_000.0) as u32;
    let found = Loads::of(facts);
    let spread =
        [Some(facts.frequency), Some(facts.memory), facts.transfer].map(|of| of.map_or(0.0, Figure::spread));
    if spread.iter().any(|spread| *spread > NOISY) {
        notes.push(
            "Other programs ran while this machine was measured: its caches and memory may seem slower than they are.".to_owned(),
        );
    }
    let cache = |level, kind| facts.topology.cache(level, kind);
    let level = |level, latency| cache(level, CacheKind::Data).map(|cache| cache_facts(cache, latency));
    let l1 = cycles(found.first).max(1);
    let l1d = level(1, l1).unwrap_or_else(|| usual.l1d.clone());
    let l1i =
        cache(1, CacheKind::Instructions).map_or_else(|| usual.l1i.clone(), |cache| cache_facts(cache, l1));
    let (to_second, to_third) = (cycles(found.second).max(l1 + 1), cycles(found.third));
    // What a line needs from one core to another is a load that finds it in the other's cache, past the level that they
    // share, and the right to write it: both cross the interconnect.
    let transfer = facts.transfer.map_or(0, |transfer| cycles(transfer.best));
    let shared = if to_third > 0 { to_third } else { to_second };
    let crossing = transfer.saturating_sub(shared + l1).min(shared.saturating_sub(1) * 3 / 4);
    // That a line is elsewhere is known when it would be there: what follows comes on top.
    let outer = |mut facts: CacheFacts| {
        facts.tags = facts.latency;
        facts
    };
    let l3 = level(3, to_third.saturating_sub(crossing).max(1)).filter(|_| to_third > 0).map(outer).map(|mut facts| {
        if let Some(size) = found.effective.filter(|size| *size < facts.size) {
            notes.push(format!(
                "The last cache is said to have {} MiB, but loads within more than {} MiB take as long as those of memory: others \
                 use it too. {} MiB are simulated.",
                facts.size >> 20,
                size >> 20,
                size >> 20
            ));
            let set = u64::from(facts.ways) * u64::from(facts.line);
            facts.size = (size / set).max(1) * set;
        }
        facts
    });
    let second = if l3.is_some() { to_second } else { to_second.saturating_sub(crossing).max(1) };
    let l2 = level(2, second).map(|facts| if l3.is_none() { outer(facts) } else { facts });
    let tlb = |(entries, ways): (u32, u32), latency| Some(TlbFacts { entries, ways, latency });
    let family = &facts.family;
    let mut latency: std::collections::BTreeMap<String, u32> =
        family.latencies.iter().map(|(class, cycles)| ((*class).to_owned(), *cycles)).collect();
    latency.extend(whole(&facts.latencies));
    // That of atomic operations was measured with the load.
    latency.entry("atomic".to_owned()).and_modify(|cycles| *cycles = cycles.saturating_sub(l1).max(1));
    let median = |figure: Option<Figure>, usual: f64| figure.map_or(usual, |figure| figure.median.max(0.0));
    let machine = Machine {
        name: "host".to_owned(),
        description: format!(
            "{}, {} cores that may be used, as holdup measured it",
            facts.name,
            facts.topology.cores_per_socket * facts.topology.sockets
        ),
        source: format!(
            "measured; width, window, translation buffers and reach of the branch predictor: {} ({})",
            family.name, family.source
        ),
        sockets: facts.topology.sockets,
        cores_per_socket: facts.topology.cores_per_socket,
        frequency: (frequency * 1000.0).round() / 1000.0,
        core: CoreFacts {
            width: family.width.max(facts.additions.best.round().clamp(1.0, 16.0) as u32),
            window: family.window,
            outstanding_misses: family.misses,
            store_buffer: family.stores,
            // Without the addition, and the store until it can be forwarded: a cycle each.
            forward: Some((facts.addition_in_memory.best.round() as u32).saturating_sub(2).min(l1)),
            atomics_wait: facts.beside_atomics > WAITS,
            // The branch waits for a shift, a mask and a comparison, three cycles.
            front_end: (facts.misprediction.best.round() as u32).saturating_sub(3).clamp(5, 60),
            latency,
            busy: whole(&facts.busy).collect(),
            ..usual.core
        },
        predictor: predictor(family.history, facts.known_outcomes).unwrap_or_else(|| usual.predictor.clone()),
        l1i,
        l1d,
        l2,
        l3,
        itlb: tlb(family.itlb, 0),
        dtlb: tlb(family.dtlb, 0),
        stlb: tlb(family.stlb, cycles(found.translation)),
        page_walk: cycles(found.walk),
        on_chip: LinkFacts { latency: crossing, bandwidth: 0.0, ..usual.on_chip },
        memory: MemoryFacts {
            latency_ns: (facts.memory.best - f64::from(shared) / frequency).clamp(1.0, 10_000.0).round(),
            per_socket: facts.topology.sockets > 1,
            channels: facts.topology.sockets,
            bandwidth: (facts.bandwidth.best.max(facts.bandwidth_alone.best) * 10.0).round() / 10.0,
        },
        prefetch: Some(PrefetchFacts { streams: 32, depth: ahead(facts, f64::from(family.misses)) }),
        system: SystemFacts {
            wake_up_ns: median(facts.wake_up, usual.system.wake_up_ns).round(),
            waking_ns: median(facts.waking, usual.system.waking_ns).round(),
            sleep_ns: (facts.switch.median / 2.0).round(),
            create_ns: facts.create.median.round(),
            start_ns: facts.start.median.round(),
            switch_ns: facts.switch.median.round(),
            ..usual.system
        },
        energy: None,
        ..usual
    };
    (machine, notes)
}

/// A predictor with tagged tables whose histories reach so far; without, that of the machine `nehalem`.
///
/// A geometric series of histories from four branches on and tags of 12 bits are usual (Seznec and Michaud 2006). Six tables are an
/// assumption: of the two forms that were tried, three tables from 34 branches on missed more than the processor in programs. With
/// these, rows of 8,192 random outcomes that come again and again are learned and rows of 16,384 are not, as on a Golden Cove. Ends
/// of constant loops are known further than there: a Golden Cove misses those of bare loops from about 40 iterations on.
///
/// The tables have as many entries as it takes for the rows that the processor was found to know.
fn predictor(history: u32, known: u64) -> Option<PredictorFacts> {
    if history == 0 {
        return Machine::named("nehalem").map(|machine| machine.predictor);
    }
    let entries = if known == 0 { 2048 } else { (known / 4).clamp(512, 16384) as u32 };
    let tables = TageFacts { tables: 6, entries, tag_bits: 12, shortest: 4, longest: history };
    Some(PredictorFacts {
        bimodal: 8192,
        global: 0,
        global_ways: 0,
        loops: 0,
        loop_ways: 0,
        indirect: 2048,
        returns: 32,
        perfect: false,
        tage: Some(tables),
    })
}

/// Lines that the prefetcher is ahead: those that have to be under way for the bandwidth that one core was measured to have, by
/// Little's law, less those that the core's own loads ask for.
fn ahead(facts: &HostFacts, own: f64) -> u32 {
    let under_way = facts.bandwidth_alone.best * facts.memory.best / LINE;
    (under_way - own).round().clamp(4.0, 64.0) as u32
}

fn cache_facts(cache: &HostCache, latency: u32) -> CacheFacts {
    CacheFacts {
        size: cache.size,
        ways: cache.ways,
        line: cache.line,
        latency,
        tags: 0,
        shared_by: cache.shared_by,
        replacement: holdup_sim::machine::Replacement::Lru,
        source: "the kernel's topology; latency measured".to_owned(),
    }
}

/// Whole cycles.
fn whole<'a>(
    figures: &'a std::collections::BTreeMap<&'static str, Figure>,
) -> impl Iterator<Item = (String, u32)> + 'a {
    // Copies of registers may be free.
    let least = |class: &str| if class == "move" { 0.0 } else { 1.0 };
    figures.iter().map(move |(class, figure)| {
        ((*class).to_owned(), figure.best.round().clamp(least(class), 9_999.0) as u32)
    })
}

/// What the times of loads by footprint say, in nanoseconds.
struct Loads {
    first: f64,
    second: f64,
    /// 0 if there is no third level.
    third: f64,
    /// What a hit in the second translation buffer adds, and a walk through the page tables.
    translation: f64,
    walk: f64,
    /// Bytes of the last level that are of use.
    effective: Option<u64>,
}

impl Loads {
    fn of(facts: &HostFacts) -> Loads {
        const PAGE: f64 = 4096.0;
        let size = |level| facts.topology.cache(level, CacheKind::Data).map_or(0, |cache| cache.size);
        let first = facts.loads.first().map_or(1.0, |(_, figure)| figure.best);
        let pages = |at: usize| facts.pages.get(at).map_or(first, |(_, figure)| figure.best);
        let translation = (pages(1) - first).max(0.0);
        // Without what translation adds: pages beyond the first buffer's reach cost that of the second.
        let reach = |entries: u32, bytes: u64| (1.0 - f64::from(entries) * PAGE / bytes as f64).max(0.0);
        let bare = |bytes: u64, nanos: f64| nanos - translation * reach(facts.family.dtlb.0, bytes);
        let within = |least: u64, most: u64| {
            let level = facts.loads.iter().filter(|(bytes, _)| (least + 1..most).contains(bytes));
            level.map(|(bytes, figure)| bare(*bytes, figure.best)).fold(f64::MAX, f64::min)
        };
        let second = within(size(1), size(2).max(1));
        let third = within(size(2), size(3).max(1));
        let second = if second == f64::MAX { first } else { second };
        let third = if third == f64::MAX { 0.0 } else { third.max(second) };
        // Beyond the second buffer, data are in the second level of caches.
        let walk = (pages(2) - second - translation).max(0.0);
        let limit = (third + facts.memory.best) / 2.0;
        let mut fits = None;
        for (bytes, figure) in facts.loads.iter().filter(|(bytes, _)| *bytes > size(2)) {
            let nanos = bare(*bytes, figure.best) - walk * reach(facts.family.stlb.0, *bytes);
            if nanos > limit {
                // Half way to the one that does not fit.
                let most = bytes.saturating_sub(bytes / 4);
                return Loads { first, second, third, translation, walk, effective: fits.map(|_| most) };
            }
            fits = Some(*bytes);
        }
        Loads { first, second, third, translation, walk, effective: None }
    }
}
