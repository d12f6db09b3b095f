//! What things are called in the timeline. Names leave here with their control characters spelled out; the script puts
//! them into the page as text, never as markup.

use holdup_model::{ObjectId, ObjectKind, Process, SiteId};
use serde_json::{Value, json};

use super::shade::Shade;
use crate::{Look, escape, names};

/// A page shows all characters, and its lines are broken by the browser.
pub(super) const LOOK: Look = Look { width: Look::WIDEST, color: false, unicode: true };

/// The word for an object in its role: `lock` rather than `mutex`.
fn word(role: ObjectKind) -> &'static str {
    match role {
        ObjectKind::Mutex => "lock",
        role => role.word(),
    }
}

/// The name of an object, what it is, and how waits for it are drawn. One without a name goes by where it was made, or by its address.
pub(super) fn object(process: &Process, roles: &[ObjectKind], threads: &[String], id: ObjectId) -> Value {
    let object = process.object(id);
    let role = roles.get(id.index()).copied().unwrap_or(object.kind);
    if let (Some(construct), Some(site)) = (object.construct, object.created_at) {
        let name = format!("{} {}", construct.words(), place(process, site));
        return json!({"kind": "", "name": name, "color": Shade::of_wait(Some(role)).color()});
    }
    let name = match (&object.name, object.thread, object.created_at) {
        (Some(name), ..) => escape::name(name, LOOK),
        (None, Some(thread), _) if object.kind == ObjectKind::ThreadEnd => {
            let thread = threads.get(thread.index()).map_or("a thread", String::as_str);
            return json!({"kind": "", "name": format!("the end of {thread}"), "color": Shade::Barrier.color()});
        }
        (None, _, Some(site)) => format!("made in {}", place(process, site)),
        (None, ..) => format!("at {:#x}", object.address),
    };
    json!({"kind": word(role), "name": name, "color": Shade::of_wait(Some(role)).color()})
}

/// `cache_put (cache.c:212)`.
pub(super) fn place(process: &Process, site: SiteId) -> String {
    names::place(process, site, None, LOOK)
}

/// The shades by their numbers.
pub(super) fn shades() -> Vec<Value> {
    Shade::ALL.iter().map(|shade| json!({"words": shade.words(), "color": shade.color()})).collect()
}
