use super::*;
use std::time::Instant;
fn time(name: &str, n: u64, mut f: impl FnMut(u64)) {
    let t = Instant::now();
    for i in 0..n {
        f(i)
    }
    println!("{name}: {:.2} ns", t.elapsed().as_nanos() as f64 / n as f64);
}
#[test]
#[ignore]
fn speed() {
    let m = Machine::named("dunnington").unwrap();
    let t = Instant::now();
    let mut mem = Memory::new(&m.with_cores(64), 64, &Changes::default());
    println!("new 64: {:?}", t.elapsed());
    let rss = || {
        std::fs::read_to_string("/proc/self/status")
            .unwrap()
            .lines()
            .find(|l| l.starts_with("VmRSS"))
            .unwrap()
            .to_string()
    };
    println!("{}", rss());
    time("same line load", 50_000_000, |i| {
        std::hint::black_box(mem.load(0, 64, 8, 1, i));
    });
    time("two lines", 50_000_000, |i| {
        std::hint::black_box(mem.load(0, 64 + (i & 1) * 4096, 8, 1, i));
    });
    time("two stores", 50_000_000, |i| {
        std::hint::black_box(mem.store(0, 64 + (i & 1) * 64, 8, 1, i));
    });
    time("seq 16K L1 8B", 50_000_000, |i| {
        std::hint::black_box(mem.load(0, (i * 8) & 0x3fff, 8, 1, i));
    });
    time("chase 16K L1 line", 20_000_000, |i| {
        std::hint::black_box(mem.load(0, (i * 64) & 0x3fff, 8, 1, i));
    });
    time("random 16K", 20_000_000, |i| {
        std::hint::black_box(mem.load(0, (i.wrapping_mul(0x9E3779B97F4A7C15) >> 40) & 0x3fff, 8, 1, i));
    });
    time("16 cores random 16K", 50_000_000, |i| {
        let c = (i >> 6 & 15) as u32;
        std::hint::black_box(mem.load(
            c,
            (i.wrapping_mul(0x9E3779B97F4A7C15) >> 40) & 0x3fff | (c as u64) << 30,
            8,
            1,
            i,
        ));
    });
    time("L2 seq 1M 16 cores", 10_000_000, |i| {
        let c = (i >> 6 & 15) as u32;
        std::hint::black_box(mem.load(
            c,
            (i / 1024 * 64 + i % 64) * 64 & 0xfffff | (c as u64) << 30,
            8,
            1,
            i * 10,
        ));
    });
    time("L3 random 4M 16 cores", 5_000_000, |i| {
        let c = (i >> 6 & 15) as u32;
        std::hint::black_box(mem.load(
            c,
            (i.wrapping_mul(0x9E3779B97F4A7C15) >> 40) & 0x3fffff | (c as u64) << 30,
            8,
            1,
            i * 10,
        ));
    });
    time("DRAM stream 16 cores", 5_000_000, |i| {
        let c = (i >> 6 & 15) as u32;
        std::hint::black_box(mem.load(c, (i / 1024 * 64 + i % 64) * 64 | (c as u64) << 40, 8, 1, i * 100));
    });
    time("DRAM stream sat", 5_000_000, |i| {
        let c = (i >> 6 & 15) as u32;
        std::hint::black_box(mem.load(c, (i / 1024 * 64 + i % 64) * 64 | (c as u64) << 41, 8, 1, i * 10));
    });
    time("ping pong 16", 5_000_000, |i| {
        let c = (i & 15) as u32;
        std::hint::black_box(mem.store(c, 0x7000 + (c as u64) * 4, 4, 1, i * 100));
    });
    println!("{}", rss());
    let mut mem = Memory::new(&m.with_cores(64), 64, &Changes { private_caches: true, ..Default::default() });
    time("64 cores private L3 fill", 20_000_000, |i| {
        let c = (i & 63) as u32;
        std::hint::black_box(mem.store(c, (i >> 6) * 64 | (c as u64) << 40, 4, 1, i * 100));
    });
    println!("{}", rss());
}
