//! The report beside what shows the same run otherwise: its page, and the formats of other viewers.

use std::collections::BTreeMap;

use holdup_report::PageOptions;
use serde_json::Value;

use super::{Kept, STATES, field};

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().expect("a list")
}

fn threads(kept: &Kept) -> &Vec<Value> {
    list(&kept.report["criticality"]["threads"])
}

/// Time by state, for one thread.
type Times = BTreeMap<String, u64>;

fn hold(kept: &Kept, thread: &Value, shown: &Times) {
    for (state, member) in STATES {
        let shown = shown.get(state).copied().unwrap_or(0);
        assert_eq!(field(thread, member), Some(shown), "{}: {state} of {thread}", kept.name);
    }
}

/// The profiles of speedscope have the times of each thread's states.
pub(super) fn report_and_speedscope(kept: &Kept) {
    let mut text = Vec::new();
    holdup_export::speedscope(&kept.run, &mut text).expect("profiles");
    let file: Value = serde_json::from_slice(&text).expect("JSON");
    let (frames, profiles) = (list(&file["shared"]["frames"]), list(&file["profiles"]));
    // Behind those of all threads there is one for each, in their order.
    let of_threads = &profiles[profiles.len() - kept.run.processes[0].threads.len()..];
    for thread in threads(kept) {
        let profile = &of_threads[field(thread, "thread").expect("a thread") as usize];
        let mut times = Times::new();
        for (stack, weight) in list(&profile["samples"]).iter().zip(list(&profile["weights"])) {
            let leaf =
                list(stack).last().and_then(Value::as_u64).map(|index| &frames[index as usize]["name"]);
            let leaf = leaf.and_then(Value::as_str).unwrap_or("");
            let word = leaf.strip_prefix('[').and_then(|rest| rest.split([':', ']']).next());
            let others = ["blocked", "not recorded"].into_iter();
            let mut states = STATES.iter().map(|(word, _)| *word).chain(others);
            // A thread is at work in everything that is no state, and where it was not looked at.
            let state = word.filter(|word| states.any(|state| state == *word)).unwrap_or("active");
            *times.entry(state.to_owned()).or_default() += weight.as_u64().expect("nanoseconds");
        }
        hold(kept, thread, &times);
    }
}

/// The samples of the Firefox Profiler have the times of each thread's states as weights.
pub(super) fn report_and_firefox(kept: &Kept) {
    let mut text = Vec::new();
    holdup_export::firefox(&kept.run, &mut text).expect("a profile");
    let file: Value = serde_json::from_slice(&text).expect("JSON");
    let categories = list(&file["meta"]["categories"]);
    for thread in threads(kept) {
        let profile = &file["threads"][field(thread, "thread").expect("a thread") as usize];
        let index = |table: &str, column: &str, row: &Value| {
            profile[table][column][row.as_u64().expect("a row") as usize].clone()
        };
        let mut times = Times::new();
        let samples = &profile["samples"];
        for (stack, weight) in list(&samples["stack"]).iter().zip(list(&samples["weight"])) {
            let category = index("frameTable", "category", &index("stackTable", "frame", stack));
            let state = &categories[category.as_u64().expect("a category") as usize]["name"];
            // In milliseconds.
            let length = (weight.as_f64().expect("a number") * 1e6).round() as u64;
            *times.entry(state.as_str().expect("a word").to_owned()).or_default() += length;
        }
        hold(kept, thread, &times);
    }
}

/// A field of a message of Perfetto's format, as far as the fields' types say.
enum Part<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().expect("a byte more");
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    number
}

fn message(mut bytes: &[u8]) -> Vec<(u64, Part<'_>)> {
    let mut parts = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let part = match key & 7 {
            0 => Part::Number(varint(&mut bytes)),
            kind => {
                let length = match kind {
                    1 => 8,
                    2 => varint(&mut bytes) as usize,
                    5 => 4,
                    kind => panic!("no such kind of field: {kind}"),
                };
                let (part, rest) = bytes.split_at(length);
                bytes = rest;
                Part::Bytes(part)
            }
        };
        parts.push((key >> 3, part));
    }
    parts
}

fn number(message: &[(u64, Part<'_>)], wanted: u64) -> Option<u64> {
    message.iter().find_map(|(field, part)| match part {
        Part::Number(number) if *field == wanted => Some(*number),
        _ => None,
    })
}

fn inner<'a>(message: &[(u64, Part<'a>)], wanted: u64) -> Option<&'a [u8]> {
    message.iter().find_map(|(field, part)| match part {
        Part::Bytes(bytes) if *field == wanted => Some(*bytes),
        _ => None,
    })
}

/// The slices of Perfetto's tracks that belong to threads have the times of their states.
pub(super) fn report_and_perfetto(kept: &Kept) {
    let mut trace = Vec::new();
    holdup_export::perfetto(&kept.run, &mut trace).expect("a trace");
    // Threads by the number of their track, words by their number, and which slice is open on which track.
    let (mut tracks, mut words, mut open) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut times: BTreeMap<u64, Times> = BTreeMap::new();
    for (_, packet) in message(&trace) {
        let Part::Bytes(packet) = packet else { panic!("a trace is packets") };
        let packet = message(packet);
        if let Some(track) = inner(&packet, 60).map(message) {
            // Of its siblings, threads come after the counters.
            let thread = number(&track, 12).and_then(|rank| rank.checked_sub(1_000));
            let is_top = number(&track, 5) == Some(1);
            tracks.extend(thread.filter(|_| is_top).map(|thread| (number(&track, 1), thread)));
        }
        for (_, category) in inner(&packet, 12).map(message).into_iter().flatten().filter(|part| part.0 == 1)
        {
            let Part::Bytes(category) = category else { panic!("a word is a message") };
            let category = message(category);
            let word = inner(&category, 2).expect("a word");
            words.insert(number(&category, 1), String::from_utf8_lossy(word).into_owned());
        }
        let Some(event) = inner(&packet, 11).map(message) else { continue };
        let (time, track) = (number(&packet, 8).expect("a time"), number(&event, 11));
        let Some(&thread) = tracks.get(&track) else { continue };
        match number(&event, 9) {
            Some(1) => {
                let word = words[&number(&event, 3)].clone();
                assert!(open.insert(thread, (word, time)).is_none(), "{}: states abut", kept.name);
            }
            Some(2) => {
                let (word, begin) = open.remove(&thread).expect("a slice that has begun");
                *times.entry(thread).or_default().entry(word).or_default() += time - begin;
            }
            _ => {}
        }
    }
    for thread in threads(kept) {
        let shown = times.remove(&field(thread, "thread").expect("a thread")).unwrap_or_default();
        hold(kept, thread, &shown);
    }
}

/// The numbers by which a table of the page is sorted, of each row whose beginning is given.
fn keys(page: &str, row: &str) -> Vec<Vec<u64>> {
    let rows = page.split(row).skip(1).map(|rest| rest.split("</tr>").next().expect("a row"));
    let keys = rows.map(|row| {
        let keys = row.split("data-key=\"").skip(1).filter_map(|rest| rest.split('"').next());
        keys.filter_map(|key| key.parse().ok()).collect()
    });
    keys.collect()
}

/// The page's tables of threads and objects are sorted by the report's nanoseconds.
pub(super) fn report_and_page(kept: &Kept) -> usize {
    let mut compared = 0;
    let page = holdup_report::page(&kept.run, &kept.diagnoses, &PageOptions::default());
    for thread in threads(kept) {
        let row = format!("<tr id=\"thread-{}\">", thread["thread"]);
        let Some(shown) = keys(&page, &row).pop() else { continue };
        let sum =
            |members: &[&str]| -> u64 { members.iter().filter_map(|member| field(thread, member)).sum() };
        let by_runnable = kept.report["criticality"]["is_by_runnable"] == true;
        let criticality = if by_runnable { "runnable_criticality_ns" } else { "criticality_ns" };
        let expected = [
            sum(&[criticality]),
            sum(&["active_ns"]),
            sum(&["waiting_ns", "spinning_ns"]),
            sum(&["waking_ns", "descheduled_ns"]),
            sum(&["io_ns", "asleep_ns"]),
        ];
        // A thread's name may be a number.
        let first = shown.len().checked_sub(expected.len() + 1);
        assert!(
            (0..=first.expect("a column for each")).any(|first| shown[first..].starts_with(&expected)),
            "{}: {thread}: {shown:?}",
            kept.name
        );
        compared += 1;
    }
    compared
}
