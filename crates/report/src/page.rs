//! The long answer: one HTML file that needs nothing else, not even a network.
//!
//! Each section is a template and the values that it shows. Text, tables and charts are in the file as they are read;
//! scripts only sort tables, show what a mark stands for, and draw the timeline.

mod chains;
mod characterize;
mod chart;
mod findings;
mod header;
mod lines;
mod locks;
mod path;
mod policies;
mod policy;
mod processes;
mod scaling;
mod shade;
mod sim;
mod stack;
mod stack_bar;
mod surroundings;
mod text;
mod threads;
mod timeline;
mod tree;
mod what_if;
mod when;
mod why;

use std::collections::BTreeMap;

use askama::Template;
use holdup_criticality::Diagnosis;
use holdup_model::Run;

pub use characterize::characterize_page;
pub use header::command as shell_words;
pub use lines::source_files;
pub use policies::policies_page;
pub use scaling::scale_page;
pub use sim::sim_page;
pub use stack::stack_page;
pub use why::why_page;

use crate::page::text::Told;
use crate::{SourceFile, names};

const STYLE: &[&str] = &[
    include_str!("../page/palette.css"),
    include_str!("../page/page.css"),
    include_str!("../page/sections.css"),
    timeline::STYLE,
    include_str!("../page/narrow.css"),
];

const SCRIPT: &[&str] = &[
    "'use strict';",
    include_str!("../page/marks.js"),
    include_str!("../page/tables.js"),
    timeline::SCRIPT,
    include_str!("../page/start.js"),
];

/// The scripts of a page without a timeline.
const SCRIPT_OF_TABLES: &[&str] = &[
    "'use strict';",
    include_str!("../page/marks.js"),
    include_str!("../page/tables.js"),
    include_str!("../page/start.js"),
];

/// What a page is made of besides the answer. The default shows no source.
#[derive(Clone, Debug, Default)]
pub struct PageOptions {
    /// Whether lines of the program's source are shown.
    pub with_sources: bool,
    /// Source files by the names that [`source_files`] gives.
    pub sources: BTreeMap<String, SourceFile>,
}

#[derive(Template)]
#[template(path = "page.html")]
struct Page {
    policy: String,
    title: String,
    style: String,
    script: String,
    header: header::Header,
    /// The head of what is said of one process, where the run is about no single one.
    one: Option<header::Header>,
    together: Option<tree::Together>,
    processes: Option<processes::Processes>,
    told: Option<Sections>,
    version: &'static str,
}

struct Sections {
    findings: findings::Findings,
    threads: threads::Threads,
    when: when::When,
    path: path::Path,
    chains: chains::Chains,
    locks: locks::Locks,
    lines: lines::Lines,
    what_if: what_if::WhatIf,
    environment: surroundings::Environment,
    recorded: surroundings::Recorded,
    timeline_json: String,
    timeline_data: String,
}

/// The whole answer as one HTML page: no network, no script but its own. The first diagnosis is told, the others are
/// listed. The same input gives the same bytes.
///
/// # Panics
/// If a diagnosis is not of this run.
pub fn page(run: &Run, diagnoses: &[Diagnosis], options: &PageOptions) -> String {
    let (style, script) = (STYLE.concat(), SCRIPT.join("\n"));
    let told = diagnoses.first().filter(|diagnosis| !run.processes[diagnosis.process].threads.is_empty());
    let of_run = told.and_then(|diagnosis| diagnosis.tree.as_ref());
    let page = Page {
        policy: policy::policy(&script, &style),
        title: match told {
            Some(diagnosis) => {
                let all = of_run.filter(|of| of.is_the_subject(run)).and(run.processes.first());
                names::program(all.unwrap_or(&run.processes[diagnosis.process]), text::LOOK)
            }
            None => "nothing recorded".to_owned(),
        },
        style,
        script,
        header: header::Header::nothing_recorded(run),
        one: None,
        together: of_run.map(|of| tree::Together::new(run, of)),
        processes: processes::Processes::new(run, diagnoses),
        told: None,
        version: env!("CARGO_PKG_VERSION"),
    };
    let page = match told {
        Some(diagnosis) => {
            let told = Told::new(run, diagnosis);
            let (header, one) = match of_run.filter(|of| of.is_the_subject(run)) {
                Some(of) => {
                    let [all, one] = header::Header::of_all(&told, of);
                    (all, Some(one))
                }
                None => (header::Header::new(&told), None),
            };
            Page { header, one, told: Some(sections(&told, options)), ..page }
        }
        None => page,
    };
    page.render().expect("a String takes all that is written to it")
}

fn sections(told: &Told<'_>, options: &PageOptions) -> Sections {
    let payload = timeline::payload(told.process, told.timeline, told.diagnosis);
    Sections {
        findings: findings::Findings::new(told),
        threads: threads::Threads::new(told),
        when: when::When::new(told),
        path: path::Path::new(told),
        chains: chains::Chains::new(told),
        locks: locks::Locks::new(told),
        lines: lines::Lines::new(told, options),
        what_if: what_if::WhatIf::new(told),
        environment: surroundings::Environment::new(told),
        recorded: surroundings::Recorded::new(told),
        timeline_json: policy::for_script(&payload.json),
        timeline_data: payload.base64,
    }
}
