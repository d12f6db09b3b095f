//! Folded stacks: one line a stack, `root;…;leaf nanoseconds`, as flame graph programs read it.

use std::io::Write;

use holdup_model::Run;

use crate::names::BROKEN;
use crate::subject::Subject;
use crate::weights::{self, Weight};
use crate::{ExportError, text};

/// Writes the time of every thread by call stack. The root frame is the thread, below the process where there are several;
/// the leaf of a wait says for what. Lines come by process, thread and stack; equal stacks are one line.
///
/// # Errors
/// If `out` takes no more.
pub fn folded(run: &Run, weight: Weight, out: &mut dyn Write) -> Result<(), ExportError> {
    let several = run.processes.len() > 1;
    for subject in Subject::all(run) {
        let mut lines = std::collections::BTreeMap::<(u32, String), u64>::new();
        for (stack, amount) in weights::by_stack(&subject, weight) {
            let mut line = String::new();
            if several {
                push(&mut line, &format!("{} {}", subject.names.program(), subject.process.pid));
            }
            push(&mut line, subject.names.thread(stack.thread));
            if let Some(site) = stack.site {
                if subject.process.site(site).broken {
                    push(&mut line, BROKEN);
                }
                subject.frames(site).for_each(|frame| push(&mut line, &crate::subject::function(frame)));
            }
            if let Some(leaf) = subject.leaf(stack.state, stack.object, stack.site.is_some()) {
                push(&mut line, &leaf);
            }
            *lines.entry((stack.thread.index() as u32, line)).or_default() += amount;
        }
        for ((_, line), amount) in lines {
            writeln!(out, "{line} {amount}")?;
        }
    }
    Ok(())
}

/// Adds a frame. A semicolon ends a frame in this format, and has no escape: it becomes a colon.
fn push(line: &mut String, frame: &str) {
    if !line.is_empty() {
        line.push(';');
    }
    let frame = text::plain(frame);
    line.extend(frame.chars().map(|c| if c == ';' { ':' } else { c }));
}
