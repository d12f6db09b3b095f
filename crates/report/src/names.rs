//! The names of a process, escaped for where they are shown.

use holdup_model::names::Names;
use holdup_model::{Process, Roles, Site, SiteId};

use crate::{Look, escape};

/// The names of a process; `roles` say what objects are for.
pub(crate) fn of<'a>(process: &'a Process, roles: Option<&'a Roles>, look: Look) -> Names<'a> {
    Names::shown(process, roles, move |name| escape::name(name, look))
}

/// The file name of the program, without its directory.
pub(crate) fn program(process: &Process, look: Look) -> String {
    of(process, None, look).program()
}

/// A label for each thread, by id, all of them different: shorter than other names.
pub(crate) fn threads(process: &Process, look: Look) -> Vec<String> {
    Names::shown(process, None, |name| escape::short_name(name, look)).threads().to_vec()
}

/// A place with its source line, or with the `lines` from the first to the last instead.
pub(crate) fn place(process: &Process, site: SiteId, lines: Option<(u32, u32)>, look: Look) -> String {
    place_of(process.site(site), lines, look)
}

/// The same of all of the function that a site is in, as [`holdup_model::Frame::by_function`] has it.
pub(crate) fn by_function(process: &Process, site: SiteId, lines: Option<(u32, u32)>, look: Look) -> String {
    let show = |name: &str| escape::name(name, look);
    let frame = process.site(site).place();
    frame.map_or_else(|| place(process, site, lines, look), |frame| frame.by_function(lines, &show))
}

/// The same of a site that stands alone.
pub(crate) fn place_of(site: &Site, lines: Option<(u32, u32)>, look: Look) -> String {
    site.told(lines, &|name| escape::name(name, look))
}
