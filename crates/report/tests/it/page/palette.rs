//! Colours that mean different things are told apart, also by those who do not see all of them, and text can be read.

use std::collections::BTreeMap;

/// The style sheet that has the palette.
const PALETTE: &str = include_str!("../../../page/palette.css");

/// What threads do, and what time was lost to: colours that stand side by side.
const STATES: &[&str] =
    &["act", "hold", "lock", "bar", "sig", "spin", "wake", "des", "io", "sleep", "idle", "serial"];

/// What time is lost to where a program scales badly.
const LOSSES: &[&str] =
    &["act", "hold", "lock", "bar", "sig", "wake", "spin", "serial", "idle", "cache", "des"];

/// What a measured speedup stack consists of: any two can stand side by side.
const SPEEDUPS: &[&str] = &["act", "lock", "idle", "wake", "des", "mem", "cache", "spin", "serial"];

/// Two colours closer than this are one to somebody (Oklab). Twice the distance at which neighbouring areas are
/// told apart with certainty (about 0.02 to 0.03).
const APART: f64 = 0.06;

/// The least contrast of text (WCAG 2.2, success criterion 1.4.3).
const READABLE: f64 = 4.5;

type Rgb = [f64; 3];
type Matrix = [[f64; 3]; 3];

/// How colours are seen: Machado, Oliveira, Fernandes (IEEE TVCG 15(6), 2009), severity 1, for linear RGB.
const SIGHT: &[(&str, Matrix)] = &[
    ("ordinary", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    (
        "protanopia",
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    ),
    (
        "deuteranopia",
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    ),
    (
        "tritanopia",
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    ),
];

fn apply(matrix: &Matrix, [x, y, z]: Rgb) -> Rgb {
    matrix.map(|row| row[0] * x + row[1] * y + row[2] * z)
}

/// Oklab from linear sRGB (Björn Ottosson, 2020).
fn oklab(rgb: Rgb) -> Rgb {
    let cones = apply(
        &[
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ],
        rgb.map(|part| part.clamp(0.0, 1.0)),
    );
    apply(
        &[
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ],
        cones.map(f64::cbrt),
    )
}

fn distance(a: Rgb, b: Rgb) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// Linear sRGB from `#rrggbb`.
fn linear(hex: &str) -> Rgb {
    [1, 3, 5].map(|at| {
        let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).expect("two digits")) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    })
}

fn contrast(a: Rgb, b: Rgb) -> f64 {
    let luminance = |[r, g, b]: Rgb| 0.2126 * r + 0.7152 * g + 0.0722 * b;
    let [a, b] = [luminance(a), luminance(b)];
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// The colours of both modes by their names.
fn modes() -> [(&'static str, BTreeMap<String, Rgb>); 2] {
    modes_of(PALETTE)
}

fn modes_of(sheet: &'static str) -> [(&'static str, BTreeMap<String, Rgb>); 2] {
    let (light, dark) = sheet.split_once("@media (prefers-color-scheme: dark)").expect("both modes");
    [("light", light), ("dark", dark)].map(|(mode, css)| {
        let colors = css.split("--").skip(1).filter_map(|declaration| {
            let (name, value) = declaration.split_once(": #")?;
            let digits = value.get(..6).filter(|digits| digits.chars().all(|c| c.is_ascii_hexdigit()))?;
            Some((name.to_owned(), linear(&format!("#{digits}"))))
        });
        (mode, colors.collect())
    })
}

#[test]
fn states_are_told_apart_by_everybody() {
    for (mode, colors) in modes() {
        for (sight, matrix) in SIGHT {
            for side_by_side in [STATES, LOSSES, SPEEDUPS] {
                for (index, a) in side_by_side.iter().enumerate() {
                    for b in &side_by_side[index + 1..] {
                        let [seen_a, seen_b] = [a, b].map(|name| oklab(apply(matrix, colors[*name])));
                        let apart = distance(seen_a, seen_b);
                        assert!(apart >= APART, "{mode}, {sight}: {a} and {b} are {apart:.3} apart");
                    }
                }
            }
        }
    }
}

#[test]
fn neighbours_in_a_stack_of_cycles_are_told_apart_by_everybody() {
    const SHEET: &str = include_str!("../../../page/sim.css");
    /// From the bottom of a stack to its top.
    const STACK: &[&str] = &[
        "kw", "ki", "kf", "kb", "kF", "kt", "k1", "kn", "k2", "kN", "k3", "ko", "km", "kL", "kB", "kC", "kJ",
        "kT", "kI", "kR", "kE",
    ];
    for (mode, colors) in modes_of(SHEET) {
        for (sight, matrix) in SIGHT {
            // A component that is not there has its neighbours side by side.
            for pair in STACK.windows(2).chain(STACK.windows(3)) {
                let (a, b) = (pair[0], pair[pair.len() - 1]);
                let [seen_a, seen_b] = [a, b].map(|name| oklab(apply(matrix, colors[name])));
                let apart = distance(seen_a, seen_b);
                assert!(apart >= APART, "{mode}, {sight}: {a} and {b} are {apart:.3} apart");
            }
        }
    }
}

#[test]
fn text_can_be_read() {
    for (mode, colors) in modes() {
        for ink in ["ink", "ink2", "ink3"] {
            for ground in ["bg", "bg2", "hl"] {
                let contrast = contrast(colors[ink], colors[ground]);
                assert!(contrast >= READABLE, "{mode}: {ink} on {ground} has a contrast of {contrast:.2}");
            }
        }
    }
}

#[test]
fn the_focus_is_seen() {
    // WCAG 2.2, success criterion 1.4.11: 3 to 1 for what is no text.
    for (mode, colors) in modes() {
        for ground in ["bg", "bg2"] {
            assert!(contrast(colors["focus"], colors[ground]) >= 3.0, "{mode}");
        }
    }
}

#[test]
fn the_measures_are_those_of_their_sources() {
    // White and black are 21 to 1 (WCAG 2.2); Oklab's white is (1, 0, 0).
    assert!((contrast(linear("#ffffff"), linear("#000000")) - 21.0).abs() < 1e-9);
    assert!(distance(oklab(linear("#ffffff")), [1.0, 0.0, 0.0]) < 1e-3);
    // Ottosson's table of examples: the pure colour X = 1 aside, sRGB red is (0.628, 0.225, 0.126).
    assert!(distance(oklab(linear("#ff0000")), [0.628, 0.225, 0.126]) < 1e-3);
}
