//! What cores share: cache lines, interconnects, memory.

use askama::Template;
use holdup_cycles::shared_bytes;

use super::super::chart::across;
use super::super::text::{LOOK, grouped, percent};
use crate::escape;
use crate::sim::told;
use crate::sim::view::View;
use crate::why::words::count;

/// At most so many lines and findings.
const MOST: usize = 40;
const MOST_FOUND: usize = 8;

/// At most so many uses of a line are named.
const MOST_USES: usize = 4;

/// The section of the page.
#[derive(Template)]
#[template(path = "sim_shared.html")]
pub(super) struct Shared {
    found: Vec<String>,
    lines: Vec<LineRow>,
    more: usize,
    resources: Vec<ResourceRow>,
}

struct LineRow {
    address: String,
    key: u64,
    users: String,
    transfers: String,
    transfers_key: u64,
    cycles: String,
    cycles_key: u64,
    false_share: String,
    false_key: u64,
}

struct ResourceRow {
    name: String,
    width: String,
    busy: String,
    busy_key: u64,
    requests: String,
    requests_key: u64,
    bytes: String,
    bytes_key: u64,
    queue: String,
}

impl Shared {
    /// `None` where nothing was shared.
    pub(super) fn new(view: &View) -> Option<Self> {
        let run = view.main()?;
        let simulated = &run.simulated;
        let found: Vec<String> = view
            .false_sharing()
            .iter()
            .take(MOST_FOUND)
            .map(|line| told::false_sharing(line, view, LOOK))
            .chain(told::all_padded(view))
            .chain(told::full_resources(run, LOOK).into_iter().map(|text| format!("{text}.")))
            .collect();
        let lines: Vec<LineRow> = simulated
            .shared_lines
            .iter()
            .take(MOST)
            .map(|line| {
                let bytes = shared_bytes(line, &view.told.names);
                let mut users: Vec<String> =
                    bytes.iter().take(MOST_USES).map(|bytes| told::used(bytes, run, LOOK)).collect();
                if bytes.len() > MOST_USES {
                    users.push(format!("{} more", bytes.len() - MOST_USES));
                }
                LineRow {
                    address: format!("{:#x}", line.address),
                    key: line.address,
                    users: users.join(", "),
                    transfers: grouped(line.transfers),
                    transfers_key: line.transfers,
                    cycles: count(line.cycles),
                    cycles_key: line.cycles,
                    false_share: percent(line.false_cycles as f64 / line.cycles.max(1) as f64),
                    false_key: line.false_cycles,
                }
            })
            .collect();
        let cycles = simulated.cycles.max(1) as f64;
        let resources: Vec<ResourceRow> = simulated
            .resources
            .iter()
            .map(|resource| ResourceRow {
                name: escape::name(&resource.name, LOOK),
                width: across(resource.busy as f64, cycles),
                busy: percent(resource.busy as f64 / cycles),
                busy_key: resource.busy,
                requests: grouped(resource.requests),
                requests_key: resource.requests,
                bytes: count(resource.bytes),
                bytes_key: resource.bytes,
                queue: told::cycles_told(resource.queueing as f64 / resource.requests.max(1) as f64),
            })
            .collect();
        let more = simulated.shared_lines.len().saturating_sub(MOST);
        (!lines.is_empty() || !resources.is_empty()).then_some(Self { found, lines, more, resources })
    }
}
