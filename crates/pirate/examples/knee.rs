//! Does the knee of a pointer chase move by what the pirate takes? Measures that here, as `docs/pirate.md` tells it:
//! `cargo run --release -p holdup-pirate --example knee` (about half a minute; nothing else should run).

use std::path::Path;
use std::thread;

use holdup_pirate::{
    Calibration, Chased, Confined, LEAST_CPU, Pages, Pirate, Place, Plan, Refusal, Stretch, Switch, Thief,
    Verdict, Victim, allowed_cpus, calibrate, knee, steady, survey,
};

/// Sizes of the victim, and of the pirate, in sixteenths of the cache that can be had.
const VICTIMS: [u64; 8] = [2, 4, 6, 8, 10, 12, 16, 32];
const PIRATES: [u64; 5] = [0, 2, 4, 8, 12];
const ROUNDS: usize = 3;

fn main() -> Result<(), Refusal> {
    let root = Path::new("/");
    let place = Place::choose(root, &allowed_cpus())?;
    let Place { program, pirate, level, private_bytes } = &place;
    println!(
        "victim on CPU {program}, pirate on CPU {pirate}; they share {:.0} MiB (level {}), each has {:.1} MiB of its own; {:?}",
        mib(level.bytes),
        level.number,
        mib(*private_bytes),
        Pages::of(root)
    );
    let calibration = calibrate(root, &place)?;
    tell(&calibration);
    let available = match steady(&[&calibration]) {
        Ok(range) => range.middle,
        Err(refusal) => {
            println!("{refusal}");
            calibration.available.middle
        }
    };
    let _confined = Confined::to(place.program)?;
    match survey(root, &place, &calibration) {
        Ok(survey) => {
            println!("\nwhat pirates leave to a chase:");
            for row in &survey.rows {
                println!(
                    "  {:6.1} MiB leave {:5.1} ({:5.1} to {:5.1}) MiB; missed {:.2} %, CPU {:.1} %",
                    mib(row.pirate),
                    mib(row.left.middle),
                    mib(row.left.low),
                    mib(row.left.high),
                    row.missed * 100.0,
                    row.cpu_share * 100.0
                );
            }
            for threads in [2, 4, 8] {
                match survey.pirate_for(survey.whole() / threads) {
                    Ok(bytes) => println!("  1/{threads} is left by {:.1} MiB", mib(bytes)),
                    Err(refusal) => println!("  1/{threads}: {refusal}"),
                }
            }
        }
        Err(refusal) => println!("{refusal}"),
    }
    chases(root, &place, &calibration, available)?;
    thefts(root, &place, available)?;
    let after = calibrate(root, &place)?;
    tell(&after);
    match steady(&[&calibration, &after]) {
        Ok(_) => println!("before and after agree"),
        Err(refusal) => println!("{refusal}"),
    }
    Ok(())
}

fn tell(calibration: &Calibration) {
    let Calibration { limit, available, knee, .. } = calibration;
    println!(
        "hit {:.0} ns, miss {:.0} ns, limit {:.0} ns ({:.2} % and {:.2} % on the wrong side)",
        limit.hit_ns,
        limit.miss_ns,
        limit.limit_ns,
        limit.false_misses * 100.0,
        limit.false_hits * 100.0
    );
    println!(
        "can be had: {:.1} MiB ({:.1} to {:.1}); can be held: {:.1} MiB; knee of a chase: {}; half of what is not touched is gone after {}; {:.2} s",
        mib(available.middle),
        mib(available.low),
        mib(available.high),
        mib(calibration.holdable),
        knee.map_or_else(
            || "none".to_owned(),
            |knee| format!("{:.1} MiB ({:.1} to {:.1})", mib(knee.middle), mib(knee.low), mib(knee.high))
        ),
        calibration
            .lifetime_ns
            .map_or_else(|| "more than 0.3 s".to_owned(), |ns| format!("{} ms", ns / 1_000_000)),
        calibration.took_ns as f64 / 1e9
    );
    for (at, point) in calibration.rounds[0].iter().enumerate() {
        let each = calibration
            .rounds
            .iter()
            .map(|round| format!("{:5.1} % missed {:4.0} ns", round[at].missed * 100.0, round[at].chase_ns));
        println!("  {:6.1} MiB {}", mib(point.bytes), each.collect::<Vec<_>>().join(" | "));
    }
}

/// Chases of growing size beside growing pirates.
fn chases(root: &Path, place: &Place, calibration: &Calibration, available: u64) -> Result<(), Refusal> {
    let victims = VICTIMS.map(|part| part * available / 16);
    println!(
        "\nns per access of a chase, least..most of {ROUNDS} in which the pirate held, by both sizes in MiB"
    );
    print!("{:>8}", "pirate");
    victims.iter().for_each(|bytes| print!("{:>10.1}", mib(*bytes)));
    println!("    knee  + pirate   missed  discarded");
    let (mut made, mut discarded) = (0, 0);
    for part in PIRATES {
        let bytes = part * available / 16;
        let plan = if part == 0 {
            Plan::control(place, calibration)
        } else {
            Plan::steal(place, calibration, bytes)?
        };
        let pirate = Pirate::new(root, plan)?;
        let (mut curve, mut probes, mut missed, mut of_row) = (Vec::new(), 0, 0, 0);
        print!("{:>8}", if part == 0 { "control".to_owned() } else { format!("{:.1}", mib(bytes)) });
        for size in victims {
            let pairs = beside(&pirate, &Victim::new(root, place, size)?, size)?;
            made += pairs.len();
            let held: Vec<&(Chased, Stretch)> = pairs
                .iter()
                .filter(|(chased, stretch)| {
                    stretch.verdict() == Verdict::Held && chased.cpu_share >= LEAST_CPU
                })
                .collect();
            of_row += pairs.len() - held.len();
            probes += held.iter().map(|(_, stretch)| stretch.probes).sum::<u32>();
            missed += held.iter().map(|(_, stretch)| stretch.missed).sum::<u32>();
            let times = || held.iter().map(|(chased, _)| chased.ns_per_step);
            let (least, most) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
            if held.is_empty() {
                print!("{:>10}", "-");
            } else {
                print!("{:>10}", format!("{least:.0}..{most:.0}"));
                curve.push((size, least));
            }
        }
        discarded += of_row;
        let knee = knee(&curve, calibration.limit.hit_ns, calibration.limit.miss_ns);
        let told = |more: u64| knee.map_or_else(|| "-".to_owned(), |knee| format!("{:.1}", mib(knee + more)));
        let share = f64::from(missed) / f64::from(probes.max(1)) * 100.0;
        println!("{:>8} {:>9} {share:>6.1} % {of_row:>10}", told(0), told(bytes));
    }
    println!("{discarded} of {made} stretches were discarded");
    Ok(())
}

/// Chases, each in a stretch of the pirate's own, until enough of them count.
fn beside(pirate: &Pirate, victim: &Victim, size: u64) -> Result<Vec<(Chased, Stretch)>, Refusal> {
    let mut pairs = Vec::new();
    for _ in 0..3 * ROUNDS {
        let gate = Switch::default();
        pairs.push(thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let stretches = pirate.run(&gate);
                gate.end();
                stretches
            });
            gate.turn_on();
            let chased = victim.chase(size);
            gate.end();
            let stretches = worker.join().expect("a pirate does not panic")?;
            Ok::<_, Refusal>((chased, stretches[0]))
        })?);
        let count = |(chased, stretch): &&(Chased, Stretch)| {
            stretch.verdict() == Verdict::Held && chased.cpu_share >= LEAST_CPU
        };
        if pairs.iter().filter(count).count() == ROUNDS {
            break;
        }
    }
    Ok(pairs)
}

/// A chase in the cache and one in memory, beside thieves of growing strength.
fn thefts(root: &Path, place: &Place, available: u64) -> Result<(), Refusal> {
    let thief = Thief::new(root, place)?;
    let strongest = thief.strongest(50_000_000)?;
    println!("\nbandwidth thief: at most {:.1} GB/s", strongest / 1e9);
    for size in [available / 8, 4 * available] {
        let victim = Victim::new(root, place, size)?;
        for part in [0.0, 0.25, 0.5, 0.75] {
            let gate = Switch::default();
            let asked = (strongest * part) as u64;
            let (chased, thefts) = thread::scope(|scope| {
                let worker = scope.spawn(|| {
                    let thefts = thief.run(&gate, asked);
                    gate.end();
                    thefts
                });
                let mut chased = Vec::new();
                for _ in 0..ROUNDS {
                    if gate.turn_on() {
                        chased.push(victim.chase(size));
                        gate.turn_off();
                    }
                }
                gate.end();
                Ok::<_, Refusal>((chased, worker.join().expect("a thief does not panic")?))
            })?;
            let least = chased.iter().map(|chased| chased.ns_per_step).fold(f64::INFINITY, f64::min);
            let rate = thefts.iter().map(|theft| theft.rate()).fold(0.0, f64::max);
            println!(
                "  chase in {:6.1} MiB beside {:4.1} GB/s ({:4.1} asked): {least:.0} ns",
                mib(size),
                rate / 1e9,
                asked as f64 / 1e9
            );
        }
    }
    Ok(())
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
