//! Does the knee of a pointer chase move by what a pirate takes? Measures that here, as `docs/stack.md` tells it:
//! `cargo run --release -p holdup-pirate --example knee` (some twenty seconds; nothing else should run).

use std::path::Path;
use std::thread;

use holdup_pirate::{
    Calibration, Confined, Pages, Place, Refusal, Survey, Switch, Thief, Victim, allowed_cpus, calibrate,
    steady, survey,
};

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
    let before = calibrate(root, &place)?;
    tell(&before);
    let _confined = Confined::to(place.program)?;
    match survey(root, &place, &before) {
        Ok(survey) => tell_survey(&survey),
        Err(refusal) => println!("{refusal}"),
    }
    thefts(root, &place, &before)?;
    let after = calibrate(root, &place)?;
    tell(&after);
    match steady(&[&before, &after]) {
        Ok(_) => println!("before and after agree"),
        Err(refusal) => println!("{refusal}"),
    }
    Ok(())
}

fn tell(calibration: &Calibration) {
    let Calibration { limit, available, knee, .. } = calibration;
    println!(
        "\nhit {:.0} ns, miss {:.0} ns, limit {:.0} ns ({:.2} % and {:.2} % on the wrong side); huge pages {:.0} %",
        limit.hit_ns,
        limit.miss_ns,
        limit.limit_ns,
        limit.false_misses * 100.0,
        limit.false_hits * 100.0,
        calibration.huge_share.unwrap_or(0.0) * 100.0
    );
    let range = |range: &holdup_pirate::Range| {
        format!("{:.1} MiB ({:.1} to {:.1})", mib(range.middle), mib(range.low), mib(range.high))
    };
    println!(
        "can be had: {}; can be held: {:.1} MiB; knee of a swept chase: {}; {:.1} s",
        range(available),
        mib(calibration.holdable),
        knee.as_ref().map_or_else(|| "none".to_owned(), range),
        calibration.took_ns as f64 / 1e9
    );
    let life = calibration.lifetime_ns;
    let life =
        life.map_or_else(|| "longer than was waited".to_owned(), |ns| format!("{} ms", ns / 1_000_000));
    println!("half of what nobody touches is gone after: {life}");
    for (at, point) in calibration.rounds[0].iter().enumerate() {
        let each = calibration
            .rounds
            .iter()
            .map(|round| format!("{:5.1} % missed {:4.0} ns", round[at].missed * 100.0, round[at].chase_ns));
        println!("  {:6.1} MiB {}", mib(point.bytes), each.collect::<Vec<_>>().join(" | "));
    }
}

fn tell_survey(survey: &Survey) {
    println!(
        "\nns per access of a chase (least of the rounds) by its size in MiB, beside pirates; {} stretches discarded; {:.1} s",
        survey.discarded,
        survey.took_ns as f64 / 1e9
    );
    for row in &survey.rows {
        let longest = row.curves.iter().max_by_key(|curve| curve.len()).map_or(&[][..], Vec::as_slice);
        let times = longest.iter().map(|(bytes, _)| {
            let at_size = row.curves.iter().flatten().filter(|(size, _)| size == bytes).map(|(_, ns)| *ns);
            format!("{:.1}: {:.0}", mib(*bytes), at_size.fold(f64::INFINITY, f64::min))
        });
        println!(
            "pirate {:5.1}: leaves {:5.1} ({:5.1} to {:5.1}); missed {:.2} %, CPU from {:.1} %; {}",
            mib(row.pirate),
            mib(row.left.middle),
            mib(row.left.low),
            mib(row.left.high),
            row.missed * 100.0,
            row.cpu_share * 100.0,
            times.collect::<Vec<_>>().join(", ")
        );
    }
    for threads in [2, 4, 8] {
        match survey.pirate_for(survey.whole() / threads) {
            Ok(bytes) => println!("1/{threads} of the whole is left by {:.1} MiB", mib(bytes)),
            Err(refusal) => println!("1/{threads}: {refusal}"),
        }
    }
}

/// A chase in the cache and a stream through memory, beside thieves of growing strength.
fn thefts(root: &Path, place: &Place, calibration: &Calibration) -> Result<(), Refusal> {
    let available = calibration.available.middle;
    let thief = Thief::new(root, place)?;
    let strongest = thief.strongest(50_000_000)?;
    println!(
        "\nbandwidth thief: at most {:.1} GB/s; {:.1} % of its lines are in no cache when it comes back",
        strongest / 1e9,
        thief.absent(&calibration.limit)? * 100.0
    );
    let (small, large) = (Victim::new(root, place, available / 8)?, Victim::new(root, place, 4 * available)?);
    for part in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let asked = (strongest * part) as u64;
        let gate = Switch::default();
        let (chased, streamed, thefts) = thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let thefts = thief.run(&gate, asked);
                gate.end();
                thefts
            });
            gate.turn_on();
            let chased = small.chase(available / 8).ns_per_step;
            gate.turn_off();
            gate.turn_on();
            let streamed = large.stream();
            gate.end();
            Ok::<_, Refusal>((chased, streamed, worker.join().expect("a thief does not panic")?))
        })?;
        let rates: Vec<String> = thefts.iter().map(|theft| format!("{:.1}", theft.rate() / 1e9)).collect();
        println!(
            "  {:4.1} GB/s asked, {} stolen: a chase in {:.1} MiB {chased:.0} ns, a stream {:.1} GB/s",
            asked as f64 / 1e9,
            rates.join(" and "),
            mib(available / 8),
            streamed / 1e9
        );
    }
    Ok(())
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
