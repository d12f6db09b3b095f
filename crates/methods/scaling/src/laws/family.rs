//! Which laws are tried, and what each is worth before anything was measured.
//!
//! All are sums of at most three terms with coefficients that are not negative, so that all are fitted in one way:
//!
//! - Amdahl's law (AFIPS 1967): T(n) = T(1)·(s + (1 − s)/n) is a/n + b.
//! - The universal scalability law (Gunther, *Guerrilla Capacity Planning*, 2007): T(n) = T(1)·(1 + σ(n − 1) + κn(n − 1))/n
//!   is a/n + b + c·(n − 1), with T(1) = a + b, σ = b/T(1), κ = c/T(1).
//! - The performance-model normal form (Calotoiu, Hoefler, Poke, Wolf: *Using automated performance modeling to find
//!   scalability bugs in complex codes*, SC 2013), Σ c·n^i·log2(n)^j, here with one or two terms. Its exponents are those
//!   that Extra-P tries up to n², and negative ones, because the time of the same work falls as threads are added: where
//!   there are two terms, one is 1/n (perfectly parallel) or constant.

use super::super::LawKind;
use super::term::Term;

/// The most terms of a law.
pub(super) const MOST_TERMS: usize = 3;

/// A law that is tried.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Law {
    pub(super) kind: LawKind,
    /// Its terms, at most [`MOST_TERMS`].
    pub(super) terms: Vec<Term>,
    /// How much it is believed before any measurement; over all laws that can be fitted these are brought to a sum of 1.
    pub(super) prior: f64,
}

impl Law {
    /// The values of its terms at `threads`; 0 for those that it does not have.
    pub(super) fn row(&self, threads: f64) -> [f64; MOST_TERMS] {
        let mut row = [0.0; MOST_TERMS];
        for (value, term) in row.iter_mut().zip(&self.terms) {
            *value = term.at(threads);
        }
        row
    }
}

/// Exponents of n, as numerator and denominator, with those of the logarithm, for terms that do not fall.
const GROWING: [(i8, i8, u8); 27] = [
    (0, 1, 1),
    (0, 1, 2),
    (1, 4, 0),
    (1, 4, 1),
    (1, 4, 2),
    (1, 3, 0),
    (1, 3, 1),
    (1, 3, 2),
    (1, 2, 0),
    (1, 2, 1),
    (1, 2, 2),
    (2, 3, 0),
    (2, 3, 1),
    (2, 3, 2),
    (3, 4, 0),
    (3, 4, 1),
    (3, 4, 2),
    (4, 5, 0),
    (1, 1, 0),
    (1, 1, 1),
    (1, 1, 2),
    (5, 4, 0),
    (4, 3, 0),
    (3, 2, 0),
    (5, 3, 0),
    (7, 4, 0),
    (2, 1, 0),
];

/// The same for terms that fall, slower than 1/n.
const FALLING: [(i8, i8, u8); 14] = [
    (-1, 4, 0),
    (-1, 4, 1),
    (-1, 3, 0),
    (-1, 3, 1),
    (-1, 2, 0),
    (-1, 2, 1),
    (-1, 2, 2),
    (-2, 3, 0),
    (-2, 3, 1),
    (-3, 4, 0),
    (-3, 4, 1),
    (-4, 5, 0),
    (-1, 1, 1),
    (-1, 1, 2),
];

/// Laws of one sort, and how much they are believed together before any measurement. Amdahl's and the universal law
/// have as much as the many normal forms have: they have stood the test of many programs, and a law that is one of a
/// hundred meets a few points by chance. Of the normal forms, those that grow from a constant are rare, since then no part
/// of the work is shared.
fn sorts() -> [(LawKind, f64, Vec<Vec<Term>>); 7] {
    let term = |&(top, bottom, log): &(i8, i8, u8)| Term::power(top, bottom, log);
    let plain = |exponents: &[(i8, i8, u8)]| -> Vec<Term> {
        exponents.iter().filter(|(_, _, log)| *log == 0).map(term).collect()
    };
    let mut powers = plain(&FALLING);
    powers.extend([Term::SHARED, Term::CONSTANT]);
    powers.extend(plain(&GROWING));
    let with = |first: Term, exponents: &[(i8, i8, u8)]| -> Vec<Vec<Term>> {
        exponents.iter().map(|exponents| vec![first, term(exponents)]).collect()
    };
    [
        (LawKind::Amdahl, 0.2, vec![vec![Term::SHARED, Term::CONSTANT]]),
        (LawKind::Usl, 0.25, vec![vec![Term::SHARED, Term::CONSTANT, Term::Others]]),
        (LawKind::NormalForm, 0.1, powers.into_iter().map(|power| vec![power]).collect()),
        (LawKind::NormalForm, 0.12, with(Term::CONSTANT, &FALLING)),
        (LawKind::NormalForm, 0.13, with(Term::SHARED, &FALLING)),
        (LawKind::NormalForm, 0.15, with(Term::SHARED, &GROWING)),
        (LawKind::NormalForm, 0.05, with(Term::CONSTANT, &GROWING)),
    ]
}

/// The laws that as many points can tell apart: at least one point more than terms.
pub(super) fn laws(points: usize) -> Vec<Law> {
    let mut laws = Vec::new();
    for (kind, prior, sums) in sorts() {
        let prior = prior / sums.len() as f64;
        let fitted = sums.into_iter().filter(|terms| terms.len() < points);
        laws.extend(fitted.map(|terms| Law { kind, terms, prior }));
    }
    laws
}
