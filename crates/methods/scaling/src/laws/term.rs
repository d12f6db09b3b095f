//! What laws are sums of: c · n^i · log2(n)^j, with c ≥ 0.

use std::fmt;

/// One function of the number of threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Term {
    /// n^(top / bottom) · log2(n)^log.
    Power {
        /// The exponent's numerator.
        top: i8,
        /// Its denominator.
        bottom: i8,
        /// The logarithm's exponent.
        log: u8,
    },
    /// n − 1: what the crosstalk of pairs adds in the universal scalability law.
    Others,
}

impl Term {
    /// Perfectly parallel work: 1 / n.
    pub(super) const SHARED: Term = Term::power(-1, 1, 0);

    /// What takes the same time with any number of threads.
    pub(super) const CONSTANT: Term = Term::power(0, 1, 0);

    /// n^(top / bottom) · log2(n)^log.
    pub(super) const fn power(top: i8, bottom: i8, log: u8) -> Term {
        Term::Power { top, bottom, log }
    }

    /// Its value at `threads` threads, from 1.
    pub(super) fn at(self, threads: f64) -> f64 {
        match self {
            Term::Power { top, bottom, log } => {
                threads.powf(f64::from(top) / f64::from(bottom)) * threads.log2().powi(i32::from(log))
            }
            Term::Others => threads - 1.0,
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Term::Power { top, bottom, log } = self else { return f.write_str("(n − 1)") };
        let logarithm = match log {
            0 => String::new(),
            1 => "log2(n)".to_owned(),
            _ => format!("log2(n)^{log}"),
        };
        let power = match (top.unsigned_abs(), bottom) {
            (0, _) => String::new(),
            (1, 1) => "n".to_owned(),
            (top, 1) => format!("n^{top}"),
            (top, bottom) => format!("n^({top}/{bottom})"),
        };
        match (logarithm.is_empty(), power.is_empty(), top < 0) {
            (true, true, _) => f.write_str("1"),
            (true, false, true) => write!(f, "1 / {power}"),
            (false, false, true) => write!(f, "{logarithm} / {power}"),
            (false, false, false) => write!(f, "{power} · {logarithm}"),
            (true, false, false) => f.write_str(&power),
            (false, true, _) => f.write_str(&logarithm),
        }
    }
}
