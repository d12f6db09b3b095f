//! A pirate and a thief really run, on this machine, for a moment. What they take depends on what else runs here: nothing
//! is said of that.

use std::path::Path;
use std::thread;
use std::time::Duration;

use holdup_pirate::{
    Calibration, Limit, Pirate, Place, Plan, Range, Refusal, Stretch, Switch, Thief, allowed_cpus,
};

/// Two cores, or a reason to skip.
fn place() -> Option<Place> {
    Place::choose(Path::new("/"), &allowed_cpus()).inspect_err(|refusal| eprintln!("skipped: {refusal}")).ok()
}

/// A limit that no machine is measured for.
fn calibration() -> Calibration {
    let cache = 64 << 20;
    Calibration {
        limit: Limit { hit_ns: 30.0, miss_ns: 130.0, limit_ns: 90.0, false_misses: 0.0, false_hits: 0.0 },
        available: Range { low: cache, middle: cache, high: cache },
        holdable: cache,
        knee: None,
        lifetime_ns: None,
        rounds: Vec::new(),
        huge_share: None,
        took_ns: 0,
    }
}

fn stretches(plan: Plan, turns: usize) -> Result<Vec<Stretch>, Refusal> {
    let pirate = Pirate::new(Path::new("/"), plan)?;
    let gate = Switch::default();
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let stretches = pirate.run(&gate);
            gate.end();
            stretches
        });
        for _ in 0..turns {
            if gate.turn_on() {
                thread::sleep(Duration::from_millis(5));
                gate.turn_off();
            }
        }
        gate.end();
        worker.join().unwrap()
    })
}

#[test]
fn a_pirate_begins_and_ends_with_its_gate() {
    let Some(place) = place() else { return };
    let allowed = allowed_cpus();
    let plan = Plan::steal(&place, &calibration(), 8 << 20).unwrap();
    assert_eq!(plan.bytes(), 8 << 20);
    let own = match stretches(plan, 3) {
        Ok(own) => own,
        Err(refusal) => return eprintln!("skipped: {refusal}"),
    };
    assert_eq!(own.len(), 3);
    for stretch in &own {
        assert!(stretch.probes >= 48 && stretch.missed <= stretch.probes, "{stretch:?}");
        assert!(stretch.begin_ns < stretch.end_ns && stretch.cpu_share() <= 1.0, "{stretch:?}");
        assert_eq!(stretch.probes, 48 * (stretch.sweeps + 1), "{stretch:?}");
    }
    assert!(own.windows(2).all(|pair| pair[0].end_ns <= pair[1].begin_ns));
    assert_eq!(allowed_cpus(), allowed, "the caller's CPUs are what they were");
}

#[test]
fn a_control_pirate_stays_in_its_own_cache() {
    let Some(place) = place() else { return };
    let plan = Plan::control(&place, &calibration());
    assert!(plan.bytes() <= (place.private_bytes / 2).max(16 << 10));
    match stretches(plan, 1) {
        Ok(own) => assert_eq!(own.len(), 1),
        Err(refusal) => eprintln!("skipped: {refusal}"),
    }
}

#[test]
fn more_than_can_be_held_is_refused() {
    let Some(place) = place() else { return };
    let refusal = Plan::steal(&place, &calibration(), 65 << 20).unwrap_err();
    assert!(matches!(refusal, Refusal::TooMuch { asked_mib: 65.0, holdable_mib: 64.0 }), "{refusal}");
}

#[test]
fn a_thief_takes_no_more_than_it_was_asked_for() {
    let Some(place) = place() else { return };
    let thief = match Thief::new(Path::new("/"), &place) {
        Ok(thief) => thief,
        Err(refusal) => return eprintln!("skipped: {refusal}"),
    };
    let asked = 100_000_000;
    let gate = Switch::default();
    let thefts = thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let thefts = thief.run(&gate, asked);
            gate.end();
            thefts
        });
        if gate.turn_on() {
            thread::sleep(Duration::from_millis(10));
            gate.turn_off();
        }
        gate.end();
        worker.join().unwrap().unwrap()
    });
    assert_eq!(thefts.len(), 1);
    let seconds = (thefts[0].end_ns - thefts[0].begin_ns) as f64 / 1e9;
    // Two bursts of 16 KiB more than the rate times the time at most: one begun, one to catch up.
    assert!(thefts[0].bytes as f64 <= asked as f64 * seconds + 32768.0, "{thefts:?}");
    assert!(thefts[0].bytes > 0);
}
