//! What `holdup stack` needs: a cache that cores share, and a core from which it can be stolen.

use holdup_model::CpuSet;
use holdup_model::figures::bytes;
use holdup_pirate::{LEAST_CPU, Mounted, Pages, Place, Resctrl};

use super::{Check, Setting};

/// Where the kernel's cache allocation is mounted.
const RESCTRL: &str = "sys/fs/resctrl";

fn place(setting: &Setting<'_>) -> Result<Place, String> {
    let allowed = setting.files.field("proc/self/status", "Cpus_allowed_list");
    let allowed = allowed.and_then(|list| CpuSet::parse(&list)).unwrap_or_default();
    // The list may have CPUs that this machine could have one day.
    let online = setting.files.list("sys/devices/system/cpu/online").unwrap_or_else(|| allowed.clone());
    let allowed: Vec<u32> = allowed.intersection(&online).iter().collect();
    Place::choose(setting.machine.root, &allowed).map_err(|refusal| refusal.to_string())
}

/// A last level of cache that two cores share.
pub(super) fn shared_cache(setting: &Setting<'_>) -> Check {
    const NAME: &str = "shared cache";
    match place(setting) {
        Ok(place) => {
            let cpus: Vec<String> = place.level.cpus.iter().map(u32::to_string).collect();
            let found = format!(
                "L{} of {}, of the CPUs {}",
                place.level.number,
                bytes(place.level.bytes),
                cpus.join(",")
            );
            Check::available(NAME, found)
        }
        Err(why) => Check::missing(
            NAME,
            why,
            "holdup stack tells cache and memory together: nothing can take cache from a thread (--simulate tells them \
             apart on a simulated machine)",
        ),
    }
}

/// Ways of the cache that the processor keeps for some threads.
pub(super) fn cache_allocation(setting: &Setting<'_>) -> Check {
    const NAME: &str = "cache allocation";
    match Resctrl::open(Mounted::at(&setting.machine.root.join(RESCTRL))) {
        Ok(resctrl) => Check::available(NAME, format!("{} ways can be allotted", resctrl.ways())),
        Err(_) => {
            let knows = setting.files.text("proc/filesystems").is_some_and(|text| text.contains("resctrl"));
            let lost = "nothing but time: holdup stack takes cache by a pirate, which it measures first for some seconds";
            match knows {
                true => Check::limited(
                    NAME,
                    "resctrl is not mounted, or does not allot the last level",
                    lost,
                )
                .remedy(
                    "sudo mount -t resctrl resctrl /sys/fs/resctrl",
                    "until the next boot; whoever may write there can give threads parts of the cache",
                ),
                // Most machines have none, and a pirate does.
                false => Check::available(NAME, "none; holdup stack takes cache by a pirate"),
            }
        }
    }
}

/// Pages for the pirate.
pub(super) fn huge_pages(setting: &Setting<'_>) -> Check {
    const NAME: &str = "huge pages";
    match Pages::of(setting.machine.root).huge {
        Some(huge) => Check::available(NAME, format!("of {} for programs that ask", bytes(huge))),
        None => Check::limited(
            NAME,
            "switched off",
            "holdup stack: what a pirate can hold, since its accesses miss translations too",
        )
        .remedy(
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
            "until the next boot; programs that ask for huge pages get them",
        ),
    }
}

/// Whether both cores can be had; `None` where none is needed.
pub(super) fn quiet(setting: &Setting<'_>) -> Option<Check> {
    const NAME: &str = "cores for a pirate";
    let place = place(setting).ok()?;
    let got = |cpu: u32| Some((cpu, (setting.machine.try_core)(cpu)?));
    let shares: Vec<(u32, f64)> = [place.program, place.pirate].into_iter().filter_map(got).collect();
    let (cpu, least) = shares.into_iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let found = format!("a thread on CPU {cpu} had {:.0} % of it", 100.0 * least);
    Some(if least >= LEAST_CPU {
        Check::available(NAME, found)
    } else {
        Check::limited(
            NAME,
            found,
            format!(
                "holdup stack: measurements in which a pirate has less than {:.0} % of its core are discarded and repeated, \
                 or are missing",
                100.0 * LEAST_CPU
            ),
        )
        .remedy("top", "shows who uses the CPUs")
    })
}
