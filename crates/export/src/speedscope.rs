//! speedscope's own file format: <https://www.speedscope.app/file-format-schema.json>.
//!
//! A file has a list of profiles, of which the viewer shows one at a time. First come the questions that are asked of all
//! threads together (active, critical, blocked and waiting time by stack, the thread as root frame), then each thread
//! as it went: its life in order of time, so that the viewer's first view is its timeline.
//!
//! The viewer takes a frame's line for a part of its identity, so that one function would be many; frames go without.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;

use holdup_model::{Frame, Run, SiteId, ThreadId};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

use crate::names::BROKEN;
use crate::subject::Subject;
use crate::weights::{self, Weight};
use crate::{ExportError, text};

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

#[derive(Serialize)]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: &'static str,
    name: String,
    #[serde(rename = "activeProfileIndex")]
    active_profile: usize,
    // The frames are known when the profiles have been written: in this order.
    profiles: Profiles<'a>,
    shared: Shared<'a>,
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: &'a Frames,
}

/// A profile of the schema's type *sampled*: stacks, each with its share.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Profile {
    r#type: &'static str,
    name: String,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    samples: Vec<Vec<usize>>,
    weights: Vec<u64>,
}

impl Profile {
    fn new(name: String, start_value: u64) -> Profile {
        let (samples, weights) = (Vec::new(), Vec::new());
        Profile {
            r#type: "sampled",
            name,
            unit: "nanoseconds",
            start_value,
            end_value: start_value,
            samples,
            weights,
        }
    }

    fn add(&mut self, stack: Vec<usize>, amount: u64) {
        self.samples.push(stack);
        self.weights.push(amount);
        self.end_value = self.end_value.saturating_add(amount);
    }
}

/// Writes the profiles.
///
/// # Errors
/// If `out` takes no more.
pub fn speedscope(run: &Run, out: &mut dyn Write) -> Result<(), ExportError> {
    let frames = Frames::default();
    let name =
        run.processes.first().map_or_else(String::new, |first| crate::subject::names_of(first).program());
    let file = File {
        schema: SCHEMA,
        exporter: concat!("holdup ", env!("CARGO_PKG_VERSION")),
        name,
        active_profile: 0,
        profiles: Profiles { run, frames: &frames },
        shared: Shared { frames: &frames },
    };
    serde_json::to_writer(&mut *out, &file)?;
    out.write_all(b"\n")?;
    Ok(())
}

/// The profiles of a run, made one at a time while they are written.
struct Profiles<'a> {
    run: &'a Run,
    frames: &'a Frames,
}

impl Serialize for Profiles<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for subject in Subject::all(self.run) {
            let prefix = match self.run.processes.len() {
                1 => String::new(),
                _ => format!("{} {}: ", subject.names.program(), subject.process.pid),
            };
            for weight in Weight::ALL {
                list.serialize_element(&self.of_all_threads(&subject, &prefix, weight))?;
            }
            for thread in subject.threads() {
                let mut profile = Profile::new(
                    format!("{prefix}{}, in order of time", subject.names.thread(thread)),
                    subject.time(subject.timeline.row(thread).start),
                );
                for piece in subject.pieces(thread) {
                    let leaf = subject.leaf(piece.state, piece.object, piece.stack.is_some());
                    let stack = self.frames.stack(&subject, None, piece.stack, leaf);
                    profile.add(stack, piece.length().get());
                }
                list.serialize_element(&profile)?;
            }
        }
        list.end()
    }
}

impl Profiles<'_> {
    fn of_all_threads(&self, subject: &Subject<'_>, prefix: &str, weight: Weight) -> Profile {
        let what = match weight {
            Weight::Active => "active time",
            Weight::Critical => "critical time",
            Weight::Blocked => "blocked time",
            Weight::Wait => "waits for sync objects",
        };
        let mut profile = Profile::new(format!("{prefix}{what}, all threads"), 0);
        let mut stacks: BTreeMap<(ThreadId, Vec<usize>), u64> = BTreeMap::new();
        for (stack, amount) in weights::by_stack(subject, weight) {
            let leaf = subject.leaf(stack.state, stack.object, stack.site.is_some());
            let thread = subject.names.thread(stack.thread);
            let frames = self.frames.stack(subject, Some(thread), stack.site, leaf);
            *stacks.entry((stack.thread, frames)).or_default() += amount;
        }
        stacks.into_iter().for_each(|((_, frames), amount)| profile.add(frames, amount));
        profile
    }
}

/// A frame of the schema. What is not known is left out.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct ShownFrame {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
}

impl ShownFrame {
    fn label(name: &str) -> ShownFrame {
        ShownFrame { name: name.to_owned(), file: None }
    }

    fn of(frame: &Frame) -> ShownFrame {
        let file = frame.file.as_deref().or(frame.module.as_deref());
        ShownFrame {
            name: crate::subject::function(frame),
            file: file.map(|file| text::plain(file).into_owned()),
        }
    }
}

/// The frames that stacks refer to by index. It grows while profiles are written.
#[derive(Default)]
struct Frames(RefCell<BTreeMap<ShownFrame, usize>>);

impl Frames {
    fn index(&self, frame: ShownFrame) -> usize {
        let mut known = self.0.borrow_mut();
        let next = known.len();
        *known.entry(frame).or_insert(next)
    }

    /// The indices of a stack from the outermost frame on.
    fn stack(
        &self,
        subject: &Subject<'_>,
        root: Option<&str>,
        site: Option<SiteId>,
        leaf: Option<String>,
    ) -> Vec<usize> {
        let broken = site.filter(|&site| subject.process.site(site).broken).map(|_| BROKEN);
        let root = root.into_iter().chain(broken).map(ShownFrame::label);
        let frames = site.into_iter().flat_map(|site| subject.frames(site)).map(ShownFrame::of);
        let leaf = leaf.as_deref().map(ShownFrame::label);
        root.chain(frames).chain(leaf).map(|frame| self.index(frame)).collect()
    }
}

impl Serialize for Frames {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let known = self.0.borrow();
        let mut frames: Vec<(&ShownFrame, usize)> =
            known.iter().map(|(frame, &index)| (frame, index)).collect();
        frames.sort_unstable_by_key(|(_, index)| *index);
        serializer.collect_seq(frames.into_iter().map(|(frame, _)| frame))
    }
}
