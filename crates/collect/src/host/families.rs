//! What is known of kinds of processors that a program cannot learn by measuring briefly.
//!
//! A kind is told by what its instruction set can do, not by family and model: hypervisors make those up.

use std::path::Path;

use crate::files::Files;

/// What is known of a kind of processor. Buffers are (entries, ways).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Family {
    /// What to call it.
    pub name: &'static str,
    /// Micro-ops that it dispatches each cycle.
    pub width: u32,
    /// Entries of the reorder buffer.
    pub window: u32,
    /// Lines that can be on their way to the first level of data caches at once.
    pub misses: u32,
    /// Entries of the store buffer.
    pub stores: u32,
    /// The translation buffer of instructions.
    pub itlb: (u32, u32),
    /// The first translation buffer of data.
    pub dtlb: (u32, u32),
    /// The second translation buffer.
    pub stlb: (u32, u32),
    /// Taken branches that the longest history of its branch predictor has; 0 for one of the older kind, without tagged tables.
    pub history: u32,
    /// Cycles by the name of a class of micro-ops, of classes that are not measured.
    pub latencies: &'static [(&'static str, u32)],
    /// Where this is from.
    pub source: &'static str,
}

const INTEL: &str = "Intel 64 and IA-32 Architectures Optimization Reference Manual";
const AMD: &str = "AMD Software Optimization Guides of the family";

/// From uops.info: LEA with three parts, PMULLW and the like, MOVD from and to vectors, CVTSI2SD, FMA, MFENCE, PAUSE, RDTSC.
/// Entering the kernel and leaving it: a guess from 70 ns for the shortest of calls.
const SINCE_SKYLAKE: &[(&str, u32)] = &[
    ("slow-lea", 2),
    ("vector-multiply", 5),
    ("to-general", 3),
    ("from-general", 3),
    ("convert", 5),
    ("float-multiply-add", 4),
    ("fence", 33),
    ("pause", 140),
    ("clock", 25),
    ("crypto", 3),
    ("system", 250),
];

/// The same for Zen.
const ZEN: &[(&str, u32)] = &[
    ("slow-lea", 2),
    ("vector-multiply", 3),
    ("to-general", 3),
    ("from-general", 3),
    ("convert", 4),
    ("float-multiply-add", 4),
    ("fence", 40),
    ("pause", 65),
    ("clock", 38),
    ("crypto", 4),
    ("system", 250),
];

/// Histories of branches: Yavarzadeh et al. (IEEE S&P 2023) found 194 taken branches in Golden Cove and 93 in Skylake. That Haswell
/// predicts like a TAGE is from Rohou, Swamy and Seznec (CGO 2015); its reach, and that of Sunny Cove, are assumed to be Skylake's.
/// AMD says TAGE since Zen 2 (Suggs, Subramony and Bouvier, IEEE Micro 2020) without numbers: as Golden Cove.
///
/// Vendor, a flag of `/proc/cpuinfo` that the kind has and those below do not, least family, and the kind: the first that
/// fits.
const KINDS: &[(&str, &str, u32, Family)] = &[
    (
        "GenuineIntel",
        "amx_tile",
        6,
        kind("Golden Cove", (6, 512), ((16, 112), 194), (256, 8), (96, 6), (2048, 16), INTEL),
    ),
    (
        "GenuineIntel",
        "avx512_vbmi2",
        6,
        kind("Sunny Cove", (5, 352), ((12, 72), 93), (128, 8), (64, 4), (2048, 16), INTEL),
    ),
    (
        "GenuineIntel",
        "avx_vnni",
        6,
        kind("Golden Cove", (6, 512), ((16, 112), 194), (256, 8), (96, 6), (2048, 16), INTEL),
    ),
    (
        "GenuineIntel",
        "clflushopt",
        6,
        kind("Skylake", (4, 224), ((12, 56), 93), (128, 8), (64, 4), (1536, 12), INTEL),
    ),
    (
        "GenuineIntel",
        "avx2",
        6,
        kind("Haswell", (4, 192), ((10, 42), 93), (128, 4), (64, 4), (1024, 8), INTEL),
    ),
    (
        "GenuineIntel",
        "avx",
        6,
        kind("Sandy Bridge", (4, 168), ((10, 36), 0), (128, 4), (64, 4), (512, 4), INTEL),
    ),
    ("GenuineIntel", "", 6, kind("Nehalem", (4, 128), ((10, 32), 0), (128, 4), (64, 4), (512, 4), INTEL)),
    ("AuthenticAMD", "", 26, kind("Zen 5", (8, 448), ((24, 104), 194), (64, 64), (96, 96), (4096, 16), AMD)),
    (
        "AuthenticAMD",
        "avx512f",
        25,
        kind("Zen 4", (6, 320), ((24, 64), 194), (64, 64), (72, 72), (3072, 24), AMD),
    ),
    ("AuthenticAMD", "", 25, kind("Zen 3", (6, 256), ((24, 64), 194), (64, 64), (64, 64), (2048, 16), AMD)),
    (
        "AuthenticAMD",
        "clwb",
        23,
        kind("Zen 2", (6, 224), ((22, 48), 194), (64, 64), (64, 64), (2048, 16), AMD),
    ),
    ("AuthenticAMD", "", 23, kind("Zen", (6, 192), ((22, 44), 0), (64, 64), (64, 64), (1536, 12), AMD)),
];

/// What is taken for any other.
const OTHER: Family =
    kind("unknown", (4, 192), ((10, 42), 93), (64, 4), (64, 4), (1024, 8), "assumption: as Haswell");

const fn kind(
    name: &'static str,
    (width, window): (u32, u32),
    ((misses, stores), history): ((u32, u32), u32),
    itlb: (u32, u32),
    dtlb: (u32, u32),
    stlb: (u32, u32),
    source: &'static str,
) -> Family {
    let latencies = if width == 4 && window < 224 {
        &[]
    } else if itlb.0 == itlb.1 {
        ZEN
    } else {
        SINCE_SKYLAKE
    };
    Family { name, width, window, misses, stores, itlb, dtlb, stlb, history, latencies, source }
}

pub(super) fn of(root: &Path, warnings: &mut Vec<String>) -> Family {
    let text = Files::below(root).beginning("proc/cpuinfo", 16 << 10).unwrap_or_default();
    let field = |name| crate::files::field(&text, name).unwrap_or_default();
    let (vendor, flags) = (field("vendor_id"), field("flags"));
    let family: u32 = field("cpu family").parse().unwrap_or(0);
    let has = |flag: &str| flag.is_empty() || flags.split_whitespace().any(|found| found == flag);
    let found = KINDS.iter().find(|(of, flag, least, _)| *of == vendor && family >= *least && has(flag));
    match found {
        Some((_, _, _, family)) => *family,
        None => {
            warnings.push(
                "This kind of processor is not known: its window, its width and its translation buffers are taken to be those of \
                 a Haswell."
                    .to_owned(),
            );
            OTHER
        }
    }
}
