//! What things are called in the timeline. Names leave here with their control characters spelled out; the script puts
//! them into the page as text, never as markup.

use holdup_model::names::Names;
use holdup_model::{ObjectId, ObjectKind, Process, SiteId};
use serde_json::{Value, json};

use crate::page::shade::Shade;
use crate::{Look, names};

/// A page shows all characters, and its lines are broken by the browser.
pub(super) const LOOK: Look = Look::plain(Look::WIDEST);

/// The name of an object, what it is, and how waits for it are drawn.
pub(super) fn object(process: &Process, names: &Names<'_>, id: ObjectId) -> Value {
    let (kind, name) = names.object_in_parts(id);
    let color = match process.object(id).kind {
        ObjectKind::ThreadEnd => Shade::Barrier.color(),
        _ => Shade::of_wait(Some(names.role(id))).color(),
    };
    json!({"kind": kind, "name": name, "color": color})
}

/// `cache_put (cache.c:212)`.
pub(super) fn place(process: &Process, site: SiteId) -> String {
    names::place(process, site, None, LOOK)
}

/// The shades by their numbers.
pub(super) fn shades() -> Vec<Value> {
    Shade::ALL.iter().map(|shade| json!({"words": shade.words(), "color": shade.color()})).collect()
}
