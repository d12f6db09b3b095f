//! All processes of the run together.

use askama::Template;
use holdup_criticality::ProcessTree;
use holdup_model::Run;

use super::text::LOOK;
use crate::numbers::figure;
use crate::tree::{self, MOST_PROGRAMS, Row};

/// The section.
#[derive(Template)]
#[template(path = "tree.html")]
pub(super) struct Together {
    /// What ran, where the page's head does not say it.
    headline: Option<String>,
    verdict: String,
    jobs: Option<String>,
    rows: Vec<Row>,
    longest: Vec<String>,
    bars: Vec<Bar>,
    course: String,
}

/// How many threads were active in one part of the run.
struct Bar {
    x: usize,
    y: String,
    height: String,
    title: String,
}

/// How high the chart is, in its own unit.
const HEIGHT: f64 = 100.0;

impl Together {
    pub(super) fn new(run: &Run, of: &ProcessTree) -> Self {
        let most = of.over_time.iter().copied().fold(f64::from(of.cores.max(1)), f64::max);
        let bar = |(x, active): (usize, &f64)| {
            let height = active / most * HEIGHT;
            Bar {
                x,
                y: format!("{:.1}", HEIGHT - height),
                height: format!("{height:.1}"),
                title: format!("{} active", figure(*active)),
            }
        };
        Self {
            headline: (!of.is_the_subject(run)).then(|| tree::headline(run, of, LOOK).join(" ")),
            verdict: tree::verdict(of, LOOK),
            jobs: of.jobs.as_ref().map(|jobs| tree::jobs(of, jobs, LOOK)),
            rows: tree::rows(of, 4 * MOST_PROGRAMS, LOOK),
            longest: tree::longest(run, of, LOOK),
            bars: of.over_time.iter().enumerate().map(bar).collect(),
            course: format!(
                "Threads that were active in the course of the run; full height is {}",
                figure(most)
            ),
        }
    }
}
