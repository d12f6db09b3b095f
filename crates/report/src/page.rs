//! The long answer: one HTML file that needs nothing else, not even a network.
//!
//! Each section is a template and the values that it shows. Text, tables and charts are in the file as they are read;
//! scripts only sort tables, show what a mark stands for, and draw the timeline.

mod answer;
mod chains;
mod characterize;
mod chart;
mod findings;
mod frame;
mod header;
mod lines;
mod locks;
mod path;
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

use holdup_criticality::Diagnosis;
use holdup_model::Run;

pub use answer::answer_page;
pub use characterize::characterize_page;
pub use header::command as shell_words;
pub use lines::source_files;
pub use scaling::scale_page;
pub use sim::sim_page;
pub use stack::stack_page;
pub use why::why_page;

use crate::page::frame::Frame;
use crate::page::header::Header;
use crate::page::text::Told;
use crate::{SourceFile, names};

/// What a page is made of besides the answer. The default shows no source.
#[derive(Clone, Debug, Default)]
pub struct PageOptions {
    /// Whether lines of the program's source are shown.
    pub with_sources: bool,
    /// Source files by the names that [`source_files`] gives.
    pub sources: BTreeMap<String, SourceFile>,
}

/// The whole answer as one HTML page: no network, no script but its own. The first diagnosis is told, the others are
/// listed. The same input gives the same bytes.
///
/// # Panics
/// If a diagnosis is not of this run.
pub fn page(run: &Run, diagnoses: &[Diagnosis], options: &PageOptions) -> String {
    let told = diagnoses.first().filter(|diagnosis| !run.processes[diagnosis.process].threads.is_empty());
    let of_run = told.and_then(|diagnosis| diagnosis.tree.as_ref());
    let all = of_run.filter(|of| of.is_the_subject(run));
    let title = told.map_or_else(
        || "nothing recorded".to_owned(),
        |diagnosis| {
            let first = all.and(run.processes.first());
            names::program(first.unwrap_or(&run.processes[diagnosis.process]), text::LOOK)
        },
    );
    let told = told.map(|diagnosis| Told::new(run, diagnosis));
    let (header, one) = match (&told, all) {
        (Some(told), Some(of)) => {
            let [all, one] = Header::of_all(told, of);
            (all, Some(one))
        }
        (Some(told), None) => (Header::new(told), None),
        (None, _) => (Header::nothing_recorded(run), None),
    };
    let mut frame = Frame::new("holdup report", title, header);
    frame.styles.push(timeline::STYLE);
    frame.scripts.push(timeline::SCRIPT);
    let mut together = of_run.map(|of| tree::Together::new(run, of));
    if let Some(one) = one {
        if let Some(together) = together.take() {
            frame.add("together", "All processes", together);
        }
        frame.insert(one);
    }
    if let Some(told) = &told {
        sections(&mut frame, told, options);
    }
    if let Some(together) = together {
        frame.add("together", "All processes", together);
    }
    if let Some(processes) = processes::Processes::new(run, diagnoses) {
        frame.add("processes", "Processes", processes);
    }
    frame.page()
}

fn sections(frame: &mut Frame, told: &Told<'_>, options: &PageOptions) {
    frame.add("answer", "Answer", findings::Findings::new(told));
    frame.add("threads", "Threads", threads::Threads::new(told));
    frame.add("when", "When", when::When::new(told));
    frame.add("path", "Path", path::Path::new(told));
    frame.add("waits", "Waits", chains::Chains::new(told));
    frame.add("locks", "Locks", locks::Locks::new(told));
    frame.add("lines", "Lines", lines::Lines::new(told, options));
    frame.add("what-if", "What if", what_if::WhatIf::new(told));
    frame.add("environment", "Environment", surroundings::Environment::new(told));
    frame.add("recorded", "Recording", surroundings::Recorded::new(told));
    let payload = timeline::payload(told.process, told.timeline, told.diagnosis);
    frame.data = format!(
        "<script type=\"application/json\" id=\"timeline-json\">{}</script>\n\
         <script type=\"text/plain\" id=\"timeline-data\">{}</script>",
        policy::for_script(&payload.json),
        payload.base64
    );
}
