//! Laws of scaling: known parameters are found again, agree with another implementation, and intervals hold the truth as
//! often as they say.

use holdup_scaling::laws::{Sample, fit};
use holdup_scaling::{FittedLaw, LawKind, LawPrediction};
use proptest::collection::vec;
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

/// One run's time at each number of threads.
fn once(times: &[(u32, f64)]) -> Vec<Sample> {
    times.iter().map(|&(threads, time)| Sample { threads, times: vec![time] }).collect()
}

/// What a law says for these numbers of threads, with noise of relative standard deviation `noise`.
fn measured(
    law: impl Fn(f64) -> f64,
    threads: &[u32],
    runs: usize,
    noise: f64,
    random: &mut ChaCha8Rng,
) -> Vec<Sample> {
    let sample = |&threads: &u32| {
        let time = law(f64::from(threads));
        let times = (0..runs).map(|_| noisy(time, noise, random)).collect();
        Sample { threads, times }
    };
    threads.iter().map(sample).collect()
}

fn noisy(time: f64, noise: f64, random: &mut ChaCha8Rng) -> f64 {
    let deviate: f64 = StandardNormal.sample(random);
    time * (1.0 + noise * deviate)
}

fn value(law: &FittedLaw, name: &str) -> (f64, f64, f64) {
    let parameter = law.parameters.iter().find(|parameter| parameter.name == name);
    let parameter = parameter.unwrap_or_else(|| panic!("no {name} in {law:?}"));
    (parameter.value, parameter.low, parameter.high)
}

fn at(law: &FittedLaw, threads: u32) -> LawPrediction {
    *law.predictions.iter().find(|prediction| prediction.threads == threads).expect("it is predicted")
}

fn near(value: f64, expected: f64, tolerance: f64) -> bool {
    (value - expected).abs() <= tolerance * expected.abs()
}

fn amdahl(serial: f64) -> impl Fn(f64) -> f64 + Copy {
    move |threads| 1e10 * (serial + (1.0 - serial) / threads)
}

fn usl(contention: f64, crosstalk: f64) -> impl Fn(f64) -> f64 + Copy {
    move |n| 1e10 * (1.0 + contention * (n - 1.0) + crosstalk * n * (n - 1.0)) / n
}

#[test]
fn exact_times_give_their_law_back() {
    let threads = [1, 2, 4, 8, 16];
    let exact = |law: &dyn Fn(f64) -> f64| {
        let times: Vec<_> = threads.iter().map(|&threads| (threads, law(f64::from(threads)))).collect();
        fit(&once(&times), 64).expect("five points")
    };
    let law = exact(&amdahl(0.05));
    assert_eq!(law.kind, LawKind::Amdahl);
    assert!(near(value(&law, "s").0, 0.05, 1e-6) && near(value(&law, "T(1)").0, 1e10, 1e-6), "{law:?}");
    assert_eq!(law.formula, "T(n) = 10.0 s · (0.0500 + 0.950 / n)");

    let law = exact(&usl(0.03, 0.002));
    assert_eq!(law.kind, LawKind::Usl);
    assert!(near(value(&law, "σ").0, 0.03, 1e-6) && near(value(&law, "κ").0, 0.002, 1e-6), "{law:?}");

    let law = exact(&|n: f64| 8e9 / n + 4e8 * n.log2());
    assert_eq!(law.kind, LawKind::NormalForm);
    assert_eq!(law.formula, "T(n) = 8.00 s / n + 400 ms · log2(n)");
    assert!(near(at(&law, 64).time.get() as f64, 8e9 / 64.0 + 4e8 * 6.0, 1e-6), "{law:?}");
}

/// `scipy.optimize.curve_fit` (SciPy 1.17.1) of T1·(s + (1 − s)/n) with sigma = T, absolute_sigma: (T1, s) =
/// (10046725305.2, 0.102064927335) with standard errors (7144638390, 0.20921)·√v; v is the noise of our definition, (rest + 3·0.02²)
/// / (5 − 2 + 3) = 2.5699e-4, and the intervals ± `t.ppf(0.975, 6)` = 2.44691 of it.
#[test]
fn amdahl_agrees_with_scipy() {
    let times = [(1, 10.1e9), (2, 5.55e9), (4, 3.23e9), (8, 2.17e9), (16, 1.59e9)];
    let law = fit(&once(&times), 16).expect("five points");
    assert_eq!(law.kind, LawKind::Amdahl);
    let (time, low, high) = value(&law, "T(1)");
    assert!(near(time, 10_046_725_305.2, 1e-8), "{time}");
    assert!(near(low, 9_766_467_726.4, 1e-8) && near(high, 10_326_982_884.0, 1e-8), "{low} {high}");
    let (serial, low, high) = value(&law, "s");
    assert!(near(serial, 0.102_064_927_335, 1e-8), "{serial}");
    assert!(near(low, 0.093_858_107_732, 1e-7) && near(high, 0.110_271_746_939, 1e-7), "{low} {high}");
}

/// In the same way: `curve_fit` of T1·(1 + σ(n − 1) + κn(n − 1))/n.
#[test]
fn the_universal_law_agrees_with_scipy() {
    let times = [(1, 8.02e9), (2, 4.31e9), (4, 2.42e9), (8, 1.79e9), (16, 1.73e9), (32, 2.68e9)];
    let law = fit(&once(&times), 32).expect("six points");
    assert_eq!(law.kind, LawKind::Usl);
    let expected = [
        ("T(1)", 8_105_113_215.68, 7_715_471_842.29, 8_494_754_589.06),
        ("σ", 0.034_966_884_059, 0.012_588_484_149, 0.057_345_283_970),
        ("κ", 0.008_381_529_358_6, 0.007_405_170_798_3, 0.009_357_887_918_8),
    ];
    for (name, expected, expected_low, expected_high) in expected {
        let (value, low, high) = value(&law, name);
        assert!(near(value, expected, 1e-6), "{name} {value}");
        assert!(near(low, expected_low, 1e-5) && near(high, expected_high, 1e-5), "{name} {low} {high}");
    }
}

/// In the same way: `curve_fit` of c·n^(−3/4), whose squares are 3.2398e-4 against 5.4e-2 and 2.4e-2 of the exponents next
/// to it.
#[test]
fn a_power_agrees_with_scipy() {
    let times = [(1, 6.0e9), (2, 3.62e9), (4, 2.13e9), (8, 1.29e9), (16, 0.76e9), (32, 0.452e9)];
    let law = fit(&once(&times), 32).expect("six points");
    assert_eq!((law.kind, law.parameters.len()), (LawKind::NormalForm, 1), "{law:?}");
    let (value, low, high) = value(&law, "c of 1 / n^(3/4)");
    assert!(near(value, 6_067_730_282.83, 1e-8), "{value}");
    assert!(near(low, 5_988_886_556.4, 1e-7) && near(high, 6_146_574_009.3, 1e-7), "{low} {high}");
}

#[test]
fn parameters_are_recovered_from_noise() {
    let threads = [1, 2, 3, 4, 6, 8, 12, 16];
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let (mut serial_inside, mut right_kind) = (0, 0);
    for _ in 0..60 {
        let samples = measured(amdahl(0.08), &threads, 3, 0.02, &mut random);
        let law = fit(&samples, 16).expect("eight points");
        if law.kind == LawKind::Amdahl {
            right_kind += 1;
            let (serial, low, high) = value(&law, "s");
            assert!((serial - 0.08).abs() < 0.02, "{serial}");
            serial_inside += u32::from(low <= 0.08 && 0.08 <= high);
        }
    }
    assert!(right_kind >= 50, "Amdahl's law was chosen {right_kind} times of 60");
    assert!(f64::from(serial_inside) >= 0.9 * f64::from(right_kind), "{serial_inside} of {right_kind}");

    let (mut both_inside, mut right_kind) = (0, 0);
    for _ in 0..60 {
        let samples = measured(usl(0.02, 0.006), &threads, 3, 0.01, &mut random);
        let law = fit(&samples, 16).expect("eight points");
        if law.kind == LawKind::Usl {
            right_kind += 1;
            let (contention, crosstalk) = (value(&law, "σ"), value(&law, "κ"));
            assert!((contention.0 - 0.02).abs() < 0.02 && (crosstalk.0 - 0.006).abs() < 0.002, "{law:?}");
            let inside = |(_, low, high): (f64, f64, f64), truth: f64| low <= truth && truth <= high;
            both_inside += u32::from(inside(contention, 0.02) && inside(crosstalk, 0.006));
        }
    }
    assert!(right_kind >= 48, "the universal law was chosen {right_kind} times of 60");
    assert!(f64::from(both_inside) >= 0.88 * f64::from(right_kind), "{both_inside} of {right_kind}");
}

/// A true law, which of the family need not be the simplest.
type Truth = (&'static str, fn(f64) -> f64);

const TRUTHS: [Truth; 12] = [
    ("Amdahl 2 %", |n| 0.02 + 0.98 / n),
    ("Amdahl 10 %", |n| 0.1 + 0.9 / n),
    ("Amdahl 30 %", |n| 0.3 + 0.7 / n),
    ("USL 0.03, 0.001", |n| (1.0 + 0.03 * (n - 1.0) + 0.001 * n * (n - 1.0)) / n),
    ("USL 0.1, 0.0001", |n| (1.0 + 0.1 * (n - 1.0) + 0.0001 * n * (n - 1.0)) / n),
    ("USL 0, 0.005", |n| (1.0 + 0.005 * n * (n - 1.0)) / n),
    ("1/n and a logarithm", |n| 1.0 / n + 0.02 * n.log2()),
    ("1/n and a root", |n| 1.0 / n + 0.02 * n.sqrt()),
    ("a constant and n^(-2/3)", |n| 0.05 + n.powf(-2.0 / 3.0)),
    ("n^(-3/4)", |n| n.powf(-0.75)),
    ("1/n and log/n", |n| 1.0 / n + 0.1 * n.log2() / n),
    ("1/n and n^(3/2)", |n| 1.0 / n + 0.003 * n.powf(1.5)),
];

/// Predictions for twice and four times the most measured threads: how often does what is measured there, and the true
/// time, lie in the 95 % interval? The bounds leave room for the error of so many cases. (Of 17,280 cases with 1, 3 and 5 runs
/// and 0.3 to 5 % noise, intervals held 91 to 99.9 % of what was measured: fewest with single runs and 5 % noise, most with single
/// runs and 0.3 %, where nothing tells how little noise there is; 95 to 97 % with 3 or 5 runs.)
#[test]
fn intervals_of_extrapolation_hold_what_is_measured_there() {
    let designs: [&[u32]; 5] = [
        &[1, 2, 4, 8],
        &[1, 2, 4, 8, 16],
        &[1, 2, 3, 4, 6, 8],
        &[1, 2, 4, 8, 16, 32],
        &[1, 2, 3, 4, 6, 8, 12, 16],
    ];
    let conditions = [(1, 0.01), (1, 0.04), (3, 0.02), (3, 0.05)];
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let mut by_condition = [Held::default(); 4];
    for (name, truth) in TRUTHS {
        let mut of_law = Held::default();
        for threads in designs {
            for ((runs, noise), of_condition) in conditions.into_iter().zip(&mut by_condition) {
                let samples = measured(|n| 1e10 * truth(n), threads, runs, noise, &mut random);
                let law = fit(&samples, 1024).expect("four points or more");
                for factor in [2, 4] {
                    let prediction = at(&law, threads[threads.len() - 1] * factor);
                    let true_time = 1e10 * truth(f64::from(prediction.threads));
                    let mut times: Vec<f64> =
                        (0..runs).map(|_| noisy(true_time, noise, &mut random)).collect();
                    times.sort_by(f64::total_cmp);
                    of_law.add(&prediction, times[runs / 2], true_time);
                    of_condition.add(&prediction, times[runs / 2], true_time);
                }
            }
        }
        assert!(of_law.measured() > 0.77 && of_law.truth() > 0.77, "{name}: {of_law:?}");
    }
    for held in by_condition {
        assert!((0.87..=0.998).contains(&held.measured()), "{by_condition:?}");
    }
    let all = by_condition.into_iter().fold(Held::default(), |all, held| Held {
        cases: all.cases + held.cases,
        measured: all.measured + held.measured,
        truth: all.truth + held.truth,
    });
    assert!((0.92..=0.98).contains(&all.measured()) && (0.92..=0.99).contains(&all.truth()), "{all:?}");
}

/// How often something lay in its interval.
#[derive(Clone, Copy, Default, Debug)]
struct Held {
    cases: u32,
    measured: u32,
    truth: u32,
}

impl Held {
    fn add(&mut self, prediction: &LawPrediction, measured: f64, truth: f64) {
        let inside = |time: f64| prediction.low.get() as f64 <= time && time <= prediction.high.get() as f64;
        self.cases += 1;
        self.measured += u32::from(inside(measured));
        self.truth += u32::from(inside(truth));
    }

    fn measured(&self) -> f64 {
        f64::from(self.measured) / f64::from(self.cases)
    }

    fn truth(&self) -> f64 {
        f64::from(self.truth) / f64::from(self.cases)
    }
}

/// Repeated runs tell the noise, so that a quiet machine's intervals are narrow.
#[test]
fn repeated_runs_narrow_the_interval() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut width = |runs: usize| {
        let samples = measured(amdahl(0.1), &[1, 2, 4, 8, 16], runs, 0.003, &mut random);
        let prediction = at(&fit(&samples, 16).expect("five points"), 64);
        prediction.high.get() as f64 / prediction.low.get() as f64
    };
    let (once, often) = (width(1), width(5));
    assert!(often < once, "{often} {once}");
}

#[test]
fn points_beyond_the_cores_do_not_count() {
    let law = amdahl(0.1);
    let mut times: Vec<_> = [1, 2, 4, 8].map(|threads: u32| (threads, law(f64::from(threads)))).to_vec();
    let without = fit(&once(&times), 8).expect("four points");
    times.push((16, 9e10));
    let with = fit(&once(&times), 8).expect("four points within the cores");
    assert_eq!(with.formula, without.formula);
    assert_eq!(with.predictions.len(), without.predictions.len());
    assert_ne!(fit(&once(&times), 16).expect("five points").formula, without.formula);
    assert_eq!(fit(&once(&times), 0).map(|law| law.formula), fit(&once(&times), 16).map(|law| law.formula));
}

#[test]
fn fewer_than_three_numbers_of_threads_give_no_law() {
    assert!(fit(&[], 8).is_none());
    assert!(fit(&once(&[(1, 1e9), (2, 6e8)]), 8).is_none());
    assert!(fit(&once(&[(1, 1e9), (2, 6e8), (2, 5e8), (1, 9e8)]), 8).is_none());
    assert!(fit(&once(&[(1, 1e9), (2, 6e8), (16, 5e8)]), 8).is_none());
    assert!(fit(&once(&[(1, 1e9), (2, 6e8), (4, f64::NAN)]), 8).is_none());
    let three = fit(&once(&[(1, 1e9), (2, 6e8), (4, 4e8)]), 8).expect("three");
    assert!(three.parameters.len() <= 2);
}

#[test]
fn the_base_need_not_be_one_thread() {
    let law = amdahl(0.1);
    let times: Vec<_> = [4, 8, 16, 32].map(|threads: u32| (threads, law(f64::from(threads)))).to_vec();
    let fitted = fit(&once(&times), 64).expect("four points");
    let prediction = at(&fitted, 64);
    assert!(near(prediction.efficiency, law(4.0) * 4.0 / (64.0 * law(64.0)), 1e-3), "{prediction:?}");
    assert_eq!(fitted.predictions.first().map(|prediction| prediction.threads), Some(4));
    assert_eq!(fitted.predictions.last().map(|prediction| prediction.threads), Some(256));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever was measured: no panic, the same answer twice, intervals that hold what is told, and numbers.
    #[test]
    fn any_times_give_sound_numbers(
        samples in vec((0..70u32, vec(prop_oneof![0.0..2e10f64, Just(f64::NAN), Just(-1.0), Just(f64::MAX), Just(1.0)], 0..4)), 0..9),
        cores in 0..70u32,
    ) {
        let samples: Vec<Sample> =
            samples.into_iter().map(|(threads, times)| Sample { threads, times }).collect();
        let Some(law) = fit(&samples, cores) else { return Ok(()) };
        let again = fit(&samples, cores).map(|law| format!("{law:?}"));
        prop_assert_eq!(Some(format!("{law:?}")), again);
        prop_assert!(law.cross_validation_error.is_finite() && law.cross_validation_error >= 0.0);
        for parameter in &law.parameters {
            prop_assert!(0.0 <= parameter.low && parameter.low <= parameter.value, "{:?}", parameter);
            prop_assert!(parameter.value <= parameter.high, "{:?}", parameter);
        }
        for pair in law.predictions.windows(2) {
            prop_assert!(pair[0].threads < pair[1].threads);
        }
        for prediction in &law.predictions {
            prop_assert!(prediction.low <= prediction.time && prediction.time <= prediction.high);
            let (low, high) = (prediction.efficiency_low, prediction.efficiency_high);
            prop_assert!(low <= prediction.efficiency && prediction.efficiency <= high, "{:?}", prediction);
            prop_assert!(low >= 0.0 && high.is_finite(), "{:?}", prediction);
        }
    }

    /// The unit of time does not matter.
    #[test]
    fn the_law_does_not_depend_on_the_unit(serial in 0.0..0.5f64, scale in 1e3..1e6f64) {
        let law = amdahl(serial);
        let times: Vec<_> = [1, 2, 3, 5, 9].map(|threads: u32| (threads, law(f64::from(threads)))).to_vec();
        let scaled: Vec<_> = times.iter().map(|&(threads, time)| (threads, time * scale / 1e3)).collect();
        let (one, other) = (fit(&once(&times), 16).expect("five"), fit(&once(&scaled), 16).expect("five"));
        prop_assert_eq!(one.kind, other.kind);
        for (one, other) in one.predictions.iter().zip(&other.predictions) {
            prop_assert!(near(other.efficiency_low, one.efficiency_low, 1e-6));
            prop_assert!(near(other.efficiency_high, one.efficiency_high, 1e-6));
        }
    }
}
