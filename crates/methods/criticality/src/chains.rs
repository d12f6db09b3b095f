//! The most costly wait chains.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use holdup_model::{Arrange, ObjectId, SiteId};

use crate::blame::{Blame, Link};
use crate::{Chain, ChainLink, ObjectCost};

/// How many chains a diagnosis keeps.
pub const MOST_CHAINS: usize = 20;

/// The chains with the most waiting, most first.
pub(crate) fn chains(blame: &Blame, objects: &[ObjectCost]) -> Vec<Chain> {
    let mostly_waited_at: BTreeMap<ObjectId, Option<SiteId>> = objects
        .iter()
        .map(|cost| (cost.object, cost.waiters.first().and_then(|waiter| waiter.site)))
        .collect();
    let all = &blame.chains;
    let mut chains: Vec<Chain> = (0..all.links.len())
        .filter(|&first| all.totals[first].time.get() > 0)
        .map(|first| {
            let mut next = Some(first as u32);
            let mut links = Vec::new();
            while let Some(index) = next {
                let link: &Link = &all.links[index as usize];
                let wait_site = if links.is_empty() {
                    mostly_waited_at.get(&link.object).copied().flatten()
                } else {
                    link.wait_site
                };
                links.push(ChainLink {
                    object: link.object,
                    wait_site,
                    holder: link.holder,
                    holder_state: link.state,
                    holder_site: link.site,
                });
                next = link.next;
            }
            let total = &all.totals[first];
            Chain { waiters: total.waiters().collect(), links, time: total.time }
        })
        .collect();
    chains.arrange_by(|a, b| (Reverse(a.time), &a.links).cmp(&(Reverse(b.time), &b.links)));
    chains.truncate(MOST_CHAINS);
    chains
}
