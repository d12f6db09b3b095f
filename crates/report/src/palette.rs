//! The colours by their names, which the page's style sheet has too: what they are in a terminal, and with what a piece of a
//! bar is filled there.

use anstyle::AnsiColor;

use crate::Look;

/// The nearest of the terminal's sixteen: the core is grey and blue, memory green and the further the more yellow,
/// synchronization red.
pub(crate) fn terminal(color: &str) -> AnsiColor {
    match color {
        "act" | "act2" | "ki" => AnsiColor::Blue,
        "kf" => AnsiColor::BrightBlue,
        "kb" => AnsiColor::Cyan,
        "kF" => AnsiColor::BrightCyan,
        "cache" | "k1" | "k2" | "k3" => AnsiColor::Green,
        "kt" | "kn" | "kN" => AnsiColor::BrightGreen,
        "ko" | "kT" => AnsiColor::BrightYellow,
        "mem" | "km" | "bar" => AnsiColor::Yellow,
        "lock" | "hold" | "sig" | "kL" => AnsiColor::Red,
        "kB" => AnsiColor::BrightRed,
        "spin" | "kC" => AnsiColor::Magenta,
        "des" | "wake" | "kJ" => AnsiColor::BrightMagenta,
        "kw" | "kR" | "kI" => AnsiColor::White,
        _ => AnsiColor::BrightBlack,
    }
}

/// What a piece of a bar is filled with: the densest is work, then memory, what is lost, and what is not there.
pub(crate) fn fill(color: &str, look: Look) -> char {
    let density = match color {
        "act" | "act2" | "kw" | "ki" | "kf" | "kb" | "kF" => 0,
        "kt" | "k1" | "kn" | "k2" | "kN" | "k3" | "ko" | "km" => 1,
        "hatch" | "kI" | "kR" | "kE" => 3,
        _ => 2,
    };
    let [unicode, ascii] = [['█', '▓', '▒', '░'], ['#', '=', '~', '.']].map(|fills| fills[density]);
    if look.unicode { unicode } else { ascii }
}
