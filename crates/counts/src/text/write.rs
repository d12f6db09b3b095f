//! Writing the text.

use std::fmt::Write;

use holdup_model::Frame;
use holdup_model::counts::{BasicBlock, CountSource, Counts, EventId, Instance, Section, TimeUnit};

use super::words::Worded;
use super::{HEAD, VERSION};

/// The text of counts; [`parse`](super::parse) gives the same counts again. Ids are positions in the tables.
pub fn write(counts: &Counts) -> String {
    let mut out = Out { text: format!("{HEAD}{VERSION}\n"), counts };
    out.head();
    for (id, block) in counts.blocks.iter().enumerate() {
        out.block(id, block);
    }
    for (from, to) in &counts.edges {
        out.line(format_args!("edge {} {}", from.0, to.0));
    }
    out.hardware();
    for section in &counts.sections {
        out.section(section);
    }
    out.text
}

struct Out<'a> {
    text: String,
    counts: &'a Counts,
}

impl Out<'_> {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "{line}");
    }

    fn head(&mut self) {
        let counts = self.counts;
        if counts.source != CountSource::Text {
            self.line(format_args!("source {}", counts.source.word()));
        }
        if counts.time_unit != TimeUnit::Instructions {
            self.line(format_args!("time-unit {}", counts.time_unit.word()));
        }
        for warning in &counts.warnings {
            self.line(format_args!("warning {}", quoted(warning)));
        }
        for (id, thread) in counts.threads.iter().enumerate() {
            let mut line = format!("thread {id}");
            if thread.number as usize != id {
                line += &format!(" number={}", thread.number);
            }
            push_text(&mut line, "name", thread.name.as_ref());
            self.line(format_args!("{line}"));
        }
    }

    fn block(&mut self, id: usize, block: &BasicBlock) {
        let mut line = format!("block {id} address={:#x} instructions={}", block.address, block.instructions);
        if block.exit != Default::default() {
            line += &format!(" exit={}", block.exit.word());
        }
        for (flag, word) in
            [(block.waits, " waits"), (block.atomic, " atomic"), (block.generated, " generated")]
        {
            line += if flag { word } else { "" };
        }
        self.line(format_args!("{line}"));
        for (word, frames) in [("begin", &block.begin), ("end", &block.end)] {
            for frame in frames {
                self.line(format_args!("{word} {id}{}", frame_text(frame)));
            }
        }
        for (address, instruction) in &block.listing {
            self.line(format_args!("code {id} {address:#x} {}", quoted(instruction)));
        }
    }

    fn hardware(&mut self) {
        let counts = self.counts;
        for (id, event) in counts.hardware.iter().enumerate() {
            let mut line = format!("hardware {id} {}", event.kind.word());
            if event.address != 0 {
                line += &format!(" address={:#x}", event.address);
            }
            if let Some(block) = event.block {
                line += &format!(" block={}", block.0);
            }
            if let Some(superior) = event.superior.and_then(|superior| self.hardware_id(superior)) {
                line += &format!(" superior={superior}");
            }
            self.line(format_args!("{line}"));
            for frame in &event.at {
                self.line(format_args!("at {id}{}", frame_text(frame)));
            }
        }
    }

    fn hardware_id(&self, event: EventId) -> Option<usize> {
        event.index().checked_sub(self.counts.edges.len())
    }

    fn section(&mut self, section: &Section) {
        self.line(format_args!("section {}", section.kind.word()));
        for (word, place) in [("ends", &section.end), ("begins", &section.begin)] {
            if place.name.is_some() {
                let mut name = String::new();
                push_text(&mut name, "name", place.name.as_ref());
                self.line(format_args!("{word}{name}"));
            }
            for frame in &place.frames {
                self.line(format_args!("{word}{}", frame_text(frame)));
            }
        }
        if let Some(reason) = &section.depends_on_schedule {
            self.line(format_args!("depends {}", quoted(reason)));
        }
        for instance in &section.instances {
            self.instance(instance);
        }
    }

    fn instance(&mut self, instance: &Instance) {
        self.line(format_args!("instance"));
        let thread = |row: u32| instance.threads[row as usize].0;
        for (row, time) in (0..).zip(&instance.time) {
            self.line(format_args!("time {} {time}", thread(row)));
        }
        for (row, nanos) in (0..).zip(instance.native.iter().flatten()) {
            self.line(format_args!("native {} {}", thread(row), nanos.get()));
        }
        for (event, row, count) in &instance.executed.entries {
            let event = self.event(*event);
            self.line(format_args!("{event} {} {count}", thread(*row)));
        }
        for (block, row, count) in &instance.library {
            self.line(format_args!("library {} {} {count}", block.0, thread(*row)));
        }
        for unit in &instance.units {
            let thread = thread(unit.row);
            self.line(format_args!("work {thread} construct={} time={}", unit.construct, unit.time));
            for (event, count) in &unit.executed {
                let event = self.event(*event);
                self.line(format_args!("work-{event} {count}"));
            }
            for (block, count) in &unit.library {
                self.line(format_args!("work-library {} {count}", block.0));
            }
        }
    }

    fn event(&self, event: EventId) -> String {
        match self.counts.edge(event) {
            Some((from, to)) => format!("edge {} {}", from.0, to.0),
            None => format!("count {}", event.index() - self.counts.edges.len()),
        }
    }
}

fn frame_text(frame: &Frame) -> String {
    let mut text = String::new();
    push_text(&mut text, "file", frame.file.as_ref());
    if let Some(line) = frame.line {
        text += &format!(" line={line}");
    }
    push_text(&mut text, "function", frame.function.as_ref());
    push_text(&mut text, "module", frame.module.as_ref());
    if frame.address != 0 {
        text += &format!(" offset={:#x}", frame.address);
    }
    text + if frame.inlined { " inlined" } else { "" }
}

fn push_text(to: &mut String, name: &str, value: Option<&String>) {
    if let Some(value) = value {
        to.push(' ');
        to.push_str(name);
        to.push('=');
        to.push_str(&word(value));
    }
}

/// A value as it is, if it can stand so, else in quotes.
fn word(value: &str) -> String {
    let is_plain = |char: char| !char.is_whitespace() && !char.is_control() && char != '"';
    if !value.is_empty() && value.chars().all(is_plain) { value.to_owned() } else { quoted(value) }
}

fn quoted(value: &str) -> String {
    let mut text = String::from('"');
    for char in value.chars() {
        match char {
            '"' | '\\' => text.extend(['\\', char]),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '\r' => text.push_str("\\r"),
            // Also what editors and terminals take for the end of a line.
            char if char.is_control() || (char.is_whitespace() && char != ' ') => {
                text += &format!("\\u{{{:x}}}", char as u32);
            }
            char => text.push(char),
        }
    }
    text.push('"');
    text
}
