//! Reading the text.

use std::collections::BTreeMap;

use holdup_model::counts::{
    BasicBlock, BlockId, CountSource, CountedThread, Counts, EventId, HardwareEvent, HardwareKind, Section,
    SectionKind, SectionPlace, ThreadLabel, TimeUnit,
};

use super::draft::{Draft, DraftUnit, Event, Numbers, add};
use super::error::TextError;
use super::fields::Fields;
use super::{HEAD, VERSION};

/// The counts that a text gives.
///
/// # Errors
/// [`TextError`], which names the line.
pub fn parse(text: &str) -> Result<Counts, TextError> {
    let mut lines = (1..).zip(text.lines());
    let head = lines.next().and_then(|(_, line)| line.strip_prefix(HEAD)).ok_or(TextError::NoHead)?;
    let version = head.trim();
    if version.parse() != Ok(VERSION) {
        return Err(TextError::Version(version.to_owned()));
    }
    let mut reader =
        Reader { counts: Counts { source: CountSource::Text, ..Counts::default() }, ..Reader::default() };
    for (line, text) in lines {
        if let Some(mut fields) = Fields::of(line, text)? {
            reader.line(&mut fields)?;
            fields.done()?;
        }
    }
    reader.finish()
}

/// The counts that the bytes of a file give.
///
/// # Errors
/// [`TextError`], which names the line.
pub fn read(bytes: &[u8]) -> Result<Counts, TextError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => parse(text),
        Err(error) => {
            let before = &bytes[..error.valid_up_to()];
            let line = before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
            Err(TextError::NotText { line })
        }
    }
}

#[derive(Default)]
struct Reader {
    counts: Counts,
    /// Ids of the text, by index.
    thread_ids: Vec<u64>,
    threads: BTreeMap<u64, u32>,
    blocks: BTreeMap<u64, u32>,
    hardware: BTreeMap<u64, u32>,
    /// Hardware events that name another: the line, which, and its id.
    superiors: Vec<(u64, usize, u64)>,
    edges: BTreeMap<(BlockId, BlockId), u32>,
    /// Instances with the index of their section.
    instances: Vec<(usize, Draft)>,
    /// The section's instance lines may follow.
    in_instance: bool,
}

impl Reader {
    fn line(&mut self, fields: &mut Fields) -> Result<(), TextError> {
        let word = fields.word.clone();
        match word.as_str() {
            "source" => {
                let word = fields.next().unwrap_or_default();
                self.counts.source = fields.word_of::<CountSource>(&word)?;
            }
            "time-unit" => {
                let word = fields.next().unwrap_or_default();
                self.counts.time_unit = fields.word_of::<TimeUnit>(&word)?;
            }
            "warning" => {
                let text =
                    fields.next().ok_or_else(|| fields.problem("`warning` lacks its text, in quotes"))?;
                self.counts.warnings.push(text);
            }
            "thread" => self.thread(fields)?,
            "block" => self.block(fields)?,
            "begin" | "end" => self.block_frame(fields)?,
            "code" => self.code(fields)?,
            "hardware" => self.hardware(fields)?,
            "at" => {
                let event = self.known_hardware(fields)?;
                let frame = fields.frame()?.unwrap_or_default();
                self.counts.hardware[event as usize].at.push(frame);
            }
            "section" => self.section(fields)?,
            "ends" | "begins" | "depends" => self.section_fact(fields)?,
            "instance" => {
                let section = self.counts.sections.len().checked_sub(1);
                let section = section.ok_or_else(|| misplaced(fields, "section"))?;
                self.instances.push((section, Draft::new(fields.line)));
                self.in_instance = true;
            }
            // An edge alone is there; with a thread and a count behind it, it is counted.
            "edge" if fields.positions() <= 2 => {
                let edge = self.known_edge(fields)?;
                self.edges.insert(edge, 0);
            }
            "edge" | "count" | "library" | "time" | "native" | "work" => self.counted(fields)?,
            "work-edge" | "work-count" | "work-library" => self.counted_in_unit(fields)?,
            other => return Err(fields.problem(format!("a line that begins with `{other}` is not known"))),
        }
        Ok(())
    }

    fn thread(&mut self, fields: &mut Fields) -> Result<(), TextError> {
        let id = fields.number("id")?;
        let number = fields.named_number("number", u32::MAX.into())?;
        let number = match number.map_or_else(|| u32::try_from(id).ok(), |number| Some(number as u32)) {
            Some(number) => number,
            None => return Err(fields.problem(format!("thread {id} needs a `number=` below 2^32"))),
        };
        declare(&mut self.threads, fields, "thread", id)?;
        self.thread_ids.push(id);
        self.counts.threads.push(ThreadLabel { number, name: fields.named("name") });
        Ok(())
    }

    fn block(&mut self, fields: &mut Fields) -> Result<(), TextError> {
        let id = fields.number("id")?;
        declare(&mut self.blocks, fields, "block", id)?;
        let frame = fields.frame()?;
        let block = BasicBlock {
            address: fields.named_number("address", u64::MAX)?.unwrap_or(id),
            begin: frame.iter().cloned().collect(),
            end: frame.into_iter().collect(),
            instructions: fields.named_number("instructions", u32::MAX.into())?.unwrap_or(1) as u32,
            exit: fields.named_word("exit")?.unwrap_or_default(),
            waits: fields.flag("waits"),
            atomic: fields.flag("atomic"),
            generated: fields.flag("generated"),
            listing: Vec::new(),
        };
        self.counts.blocks.push(block);
        Ok(())
    }

    fn block_frame(&mut self, fields: &mut Fields) -> Result<(), TextError> {
        let block = self.known_block(fields)?;
        let frame = fields.frame()?.unwrap_or_default();
        let block = &mut self.counts.blocks[block.index()];
        if fields.word == "begin" {
            block.begin.push(frame)
        } else {
            block.end.push(frame)
        }
        Ok(())
    }

    fn code(&mut self, fields: &mut Fields) -> Result<(), TextError> {
        let block = self.known_block(fields)?;
        let address = fields.number("address")?;
        let text = fields.next().ok_or_else(|| fields.problem("`code` lacks the instruction, in quotes"))?;
        self.counts.blocks[block.index()].listing.push((address, text));
        Ok(())
    }

    fn hardware(&mut self, fields: &mut Fields) -> Result<(), TextError> {
        let id = fields.number("id")?;
        let kind = fields.next().unwrap_or_default();
        let kind: HardwareKind = fields.word_of(&kind)?;
        declare(&mut self.hardware, fields, "hardware", id)?;
        if let Some(superior) = fields.named_number("superior", u64::MAX)? {
            self.superiors.push((fields.line, self.counts.hardware.len(), superior));
        }
        let block = match fields.named_number("block", u64::MAX)? {
            Some(block) => Some(BlockId(known(&self.blocks, fields, "block", block)?)),
            None => None,
        };
        let address = fields.named_number("address", u64::MAX)?.unwrap_or(0);
        let at = fields.frame()?.into_iter().collect();
        self.counts.hardware.push(HardwareEvent { kind, at, address, block, superior: None });
        Ok(())
    }

    fn section(&mut self, fields: &mut Fields) -> Result<(), TextError> {
        let word = fields.next().unwrap_or_default();
        let kind: SectionKind = fields.word_of(&word)?;
        let name = fields.named("name");
        let frames = fields.frame()?.into_iter().collect();
        let end = SectionPlace { frames, name };
        self.counts.sections.push(Section { kind, end, ..Section::default() });
        self.in_instance = false;
        Ok(())
    }

    fn section_fact(&mut self, fields: &mut Fields) -> Result<(), TextError> {
        let text = if fields.word == "depends" { fields.next() } else { None };
        let name = fields.named("name");
        let frame = fields.frame()?;
        let Some(section) = self.counts.sections.last_mut().filter(|_| !self.in_instance) else {
            return Err(misplaced(fields, "section"));
        };
        let place = match fields.word.as_str() {
            "ends" => &mut section.end,
            "begins" => &mut section.begin,
            _ => {
                let text = text.ok_or_else(|| fields.problem("`depends` lacks its reason, in quotes"))?;
                section.depends_on_schedule = Some(text);
                return Ok(());
            }
        };
        if name.is_none() || frame.is_some() {
            place.frames.push(frame.unwrap_or_default());
        }
        place.name = name.or(place.name.take());
        Ok(())
    }

    fn counted(&mut self, fields: &mut Fields) -> Result<(), TextError> {
        let event = self.counted_event(fields)?;
        let thread = fields.number("thread")?;
        let thread = CountedThread(known(&self.threads, fields, "thread", thread)?);
        let Some((_, draft)) = self.instances.last_mut().filter(|_| self.in_instance) else {
            return Err(misplaced(fields, "instance"));
        };
        if fields.word == "work" {
            let row = draft.row(thread);
            let construct = fields.named_number("construct", u64::MAX)?.unwrap_or(0);
            let time = fields.named_number("time", u64::MAX)?;
            draft.units.push(DraftUnit { row, construct, time, ..DraftUnit::default() });
            return Ok(());
        }
        let count = fields.number("count")?;
        match (fields.word.as_str(), event) {
            ("time", _) => draft.add_time(thread, count),
            ("native", _) => draft.add_native(thread, count),
            (_, Some(Counted::Event(event))) => {
                let row = draft.row(thread);
                add(&mut draft.executed, (event, row), count);
            }
            (_, Some(Counted::Library(block))) => {
                let row = draft.row(thread);
                add(&mut draft.library, (block, row), count);
            }
            _ => {}
        }
        Ok(())
    }

    fn counted_in_unit(&mut self, fields: &mut Fields) -> Result<(), TextError> {
        let event = self.counted_event(fields)?;
        let count = fields.number("count")?;
        let draft = self.instances.last_mut().filter(|_| self.in_instance);
        let Some(unit) = draft.and_then(|(_, draft)| draft.units.last_mut()) else {
            return Err(misplaced(fields, "work"));
        };
        match event {
            Some(Counted::Event(event)) => add(&mut unit.executed, event, count),
            Some(Counted::Library(block)) => add(&mut unit.library, block, count),
            None => {}
        }
        Ok(())
    }

    fn counted_event(&mut self, fields: &mut Fields) -> Result<Option<Counted>, TextError> {
        Ok(match fields.word.trim_start_matches("work-") {
            "edge" => {
                let (from, to) = self.known_edge(fields)?;
                self.edges.insert((from, to), 0);
                Some(Counted::Event(Event::Edge(from, to)))
            }
            "count" => Some(Counted::Event(Event::Hardware(self.known_hardware(fields)?))),
            "library" => Some(Counted::Library(self.known_block(fields)?)),
            _ => None,
        })
    }

    fn known_block(&self, fields: &mut Fields) -> Result<BlockId, TextError> {
        let id = fields.number("block")?;
        known(&self.blocks, fields, "block", id).map(BlockId)
    }

    fn known_edge(&self, fields: &mut Fields) -> Result<(BlockId, BlockId), TextError> {
        Ok((self.known_block(fields)?, self.known_block(fields)?))
    }

    fn known_hardware(&self, fields: &mut Fields) -> Result<u32, TextError> {
        let id = fields.number("hardware event")?;
        known(&self.hardware, fields, "hardware", id)
    }

    fn finish(mut self) -> Result<Counts, TextError> {
        for (number, edge) in (0..).zip(self.edges.values_mut()) {
            *edge = number;
        }
        for (line, event, superior) in self.superiors {
            let found = self.hardware.get(&superior).copied();
            let found = found.ok_or(TextError::Unknown { line, what: "hardware", id: superior })?;
            self.counts.hardware[event].superior = Some(EventId(self.edges.len() as u32 + found));
        }
        let numbers = Numbers {
            edges: &self.edges,
            blocks: &self.counts.blocks,
            unit: self.counts.time_unit,
            threads: &self.thread_ids,
        };
        for (section, draft) in self.instances {
            let instance = draft.finish(&numbers)?;
            self.counts.sections[section].instances.push(instance);
        }
        self.counts.edges = self.edges.into_keys().collect();
        Ok(self.counts)
    }
}

/// What a line counts.
enum Counted {
    Event(Event),
    Library(BlockId),
}

fn misplaced(fields: &Fields, needs: &'static str) -> TextError {
    TextError::Misplaced { line: fields.line, word: fields.word.clone(), needs }
}

fn declare(
    ids: &mut BTreeMap<u64, u32>,
    fields: &Fields,
    what: &'static str,
    id: u64,
) -> Result<(), TextError> {
    let number = ids.len() as u32;
    match ids.insert(id, number) {
        Some(_) => Err(TextError::Twice { line: fields.line, what, id }),
        None => Ok(()),
    }
}

fn known(ids: &BTreeMap<u64, u32>, fields: &Fields, what: &'static str, id: u64) -> Result<u32, TextError> {
    ids.get(&id).copied().ok_or(TextError::Unknown { line: fields.line, what, id })
}
