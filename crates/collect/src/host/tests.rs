use std::fs;
use std::path::Path;

use super::*;

/// Writes files below a root.
fn root(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

fn cache(root: &Path, cpu: u32, index: u32, facts: [&str; 5]) {
    let folder = root.join(format!("sys/devices/system/cpu/cpu{cpu}/cache/index{index}"));
    fs::create_dir_all(&folder).unwrap();
    let names = ["level", "type", "size", "ways_of_associativity", "shared_cpu_list"];
    for (name, text) in names.iter().zip(facts) {
        fs::write(folder.join(name), text).unwrap();
    }
    fs::write(folder.join("coherency_line_size"), "64").unwrap();
}

#[test]
fn two_sockets_of_two_cores_with_two_threads_each() {
    let root = root(&[("sys/devices/system/cpu/online", "0-7")]);
    for cpu in 0..8u32 {
        // As Linux numbers them: second threads come after all first ones.
        let folder = root.path().join(format!("sys/devices/system/cpu/cpu{cpu}/topology"));
        fs::create_dir_all(&folder).unwrap();
        let first = cpu % 4;
        fs::write(folder.join("physical_package_id"), (first / 2).to_string()).unwrap();
        fs::write(folder.join("thread_siblings_list"), format!("{first},{}", first + 4)).unwrap();
    }
    cache(root.path(), 0, 0, ["1", "Data", "48K", "12", "0,4"]);
    cache(root.path(), 0, 1, ["1", "Instruction", "32K", "8", "0,4"]);
    cache(root.path(), 0, 2, ["2", "Unified", "2048K", "16", "0,4"]);
    cache(root.path(), 0, 3, ["3", "Unified", "30M", "12", "0-1,4-5"]);
    let mut warnings = Vec::new();
    let topology = topology::read(root.path(), &mut warnings);
    assert_eq!((topology.sockets, topology.cores_per_socket), (2, 2));
    let last = topology.cache(3, CacheKind::Data).unwrap();
    assert_eq!((last.size, last.ways, last.shared_by), (30 << 20, 12, 2));
    assert_eq!(topology.cache(1, CacheKind::Instructions).unwrap().size, 32 << 10);
    assert_eq!(topology.cache(2, CacheKind::Data).unwrap().shared_by, 1);
    assert_eq!(topology.last_cache(), 30 << 20);
    assert!(topology.share_core(0, 4) && !topology.share_core(0, 1));
    assert_eq!(threads::pair(&[0, 4, 1], &topology), Some((0, 1)));
    assert_eq!(threads::pair(&[0, 4], &topology), None);
    assert_eq!(warnings, Vec::<String>::new());
}

#[test]
fn a_machine_that_tells_nothing_gets_usual_caches_and_sentences() {
    let root = root(&[]);
    let mut warnings = Vec::new();
    let topology = topology::read(root.path(), &mut warnings);
    assert_eq!((topology.sockets, topology.cores_per_socket, topology.caches.len()), (1, 1, 2));
    assert_eq!(warnings.len(), 2);
    assert!(
        warnings[0].starts_with("The kernel does not tell of a cache of data of level 1"),
        "{}",
        warnings[0]
    );
    assert_eq!(families::of(root.path(), &mut warnings).name, "unknown");
    assert_eq!(warnings.len(), 3);
}

#[test]
fn what_a_hypervisor_makes_up_becomes_possible() {
    let root = root(&[("sys/devices/system/cpu/online", "0-2")]);
    for cpu in 0..3 {
        let folder = root.path().join(format!("sys/devices/system/cpu/cpu{cpu}/topology"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("physical_package_id"), "-1").unwrap();
    }
    cache(root.path(), 0, 0, ["1", "Data", "32K", "8", "0-2"]);
    cache(root.path(), 0, 1, ["1", "Instruction", "33K", "7", "0"]);
    cache(root.path(), 0, 2, ["2", "Unified", "1000K", "0", "0-1"]);
    cache(root.path(), 0, 3, ["3", "Unified", "nonsense", "16", "0-2"]);
    let topology = topology::read(root.path(), &mut Vec::new());
    assert_eq!((topology.sockets, topology.cores_per_socket), (1, 3));
    for cache in &topology.caches {
        assert_eq!(cache.size % (u64::from(cache.ways) * u64::from(cache.line)), 0, "{cache:?}");
        assert_eq!(topology.cores_per_socket % cache.shared_by, 0, "{cache:?}");
    }
    assert_eq!(topology.cache(1, CacheKind::Data).unwrap().shared_by, 1);
    assert_eq!(topology.cache(2, CacheKind::Data).unwrap().shared_by, 1);
    assert_eq!(topology.cache(3, CacheKind::Data), None);
}

#[test]
fn kinds_of_processors_are_told_by_what_they_can_do() {
    let cases = [
        ("GenuineIntel", 6, "fpu avx2 avx512f avx512_vbmi2 amx_tile", "Golden Cove"),
        ("GenuineIntel", 6, "fpu avx2 clflushopt avx512f avx512_vbmi2", "Sunny Cove"),
        ("GenuineIntel", 6, "fpu avx2 clflushopt", "Skylake"),
        ("GenuineIntel", 6, "fpu avx avx2", "Haswell"),
        ("GenuineIntel", 6, "fpu sse4_2", "Nehalem"),
        ("AuthenticAMD", 26, "fpu avx512f", "Zen 5"),
        ("AuthenticAMD", 25, "fpu avx512f", "Zen 4"),
        ("AuthenticAMD", 25, "fpu avx2", "Zen 3"),
        ("AuthenticAMD", 23, "fpu avx2 clwb", "Zen 2"),
        ("AuthenticAMD", 23, "fpu avx2", "Zen"),
        ("AuthenticAMD", 21, "fpu avx", "unknown"),
    ];
    for (vendor, family, flags, name) in cases {
        let text = format!(
            "vendor_id\t: {vendor}\ncpu family\t: {family}\nmodel name\t: A  processor\nflags\t\t: {flags}\n"
        );
        let root = root(&[("proc/cpuinfo", &text)]);
        assert_eq!(families::of(root.path(), &mut Vec::new()).name, name, "{flags}");
        assert_eq!(topology::processor(root.path()).as_deref(), Some("A processor"));
    }
}

#[test]
fn footprints_lie_within_the_levels() {
    let level = |level, size, shared_by| HostCache {
        level,
        kind: CacheKind::Data,
        size,
        ways: 8,
        line: 64,
        shared_by,
    };
    let mut topology = topology::read(root(&[]).path(), &mut Vec::new());
    topology.caches = vec![level(1, 48 << 10, 1), level(2, 2 << 20, 1), level(3, 30 << 20, 2)];
    let expected: Vec<u64> = vec![24 << 10, 96 << 10, 192 << 10, 384 << 10, 768 << 10, 4 << 20, 8 << 20];
    assert_eq!(chase::footprints(&topology), expected);
    topology.caches.truncate(1);
    assert_eq!(chase::footprints(&topology), [24 << 10]);
}

#[test]
fn the_best_of_times_is_the_least_and_of_rates_the_greatest() {
    let figure = Figure::of_times(vec![3.0, 1.0, f64::NAN, 2.0]);
    assert_eq!((figure.best, figure.median, figure.spread()), (1.0, 2.0, 1.0));
    assert_eq!(Figure::of_rates(vec![3.0, 1.0, 2.0]).best, 3.0);
    assert_eq!(Figure::of_times(Vec::new()), Figure::default());
    assert_eq!(Figure::default().spread(), 0.0);
}

#[test]
fn chains_take_time_and_further_caches_no_less() {
    // Only what holds on any machine, however busy, and without optimization.
    let frequency = code::frequency();
    assert!(frequency.best > 0.0 && frequency.median > 0.0);
    assert!(code::latencies(1.0).values().all(|figure| figure.median.is_finite()));
    let (near, far) = (chase::loads(8 << 10), chase::loads(8 << 20));
    assert!(near.best > 0.0 && far.best >= near.best, "{near:?} {far:?}");
    let (create, start) = threads::creation();
    assert!(create.best > 0.0 && start.median >= 0.0);
    let cpus = threads::cpus();
    assert!(!cpus.is_empty());
    if let [one, other, ..] = cpus[..] {
        assert!(threads::transfer((one, other)).best > 0.0);
        let (woken, call) = threads::wake_up((one, other));
        assert!(woken.median >= call.best);
    }
    assert!(threads::switch(cpus.first().copied()).best > 0.0);
}

#[test]
fn a_thread_is_confined_only_for_a_while() {
    let before = threads::cpus();
    {
        let _confined = threads::Confined::to(before.first().copied());
        assert_eq!(threads::cpus(), before[..1]);
    }
    assert_eq!(threads::cpus(), before);
}
