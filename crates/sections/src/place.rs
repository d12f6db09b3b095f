//! Where a section is, told so that it is found again in other runs.

use holdup_model::{Frame, Process, Site, SiteId};

/// A place in the source, the same in all runs of a program.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    function: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    module: Option<String>,
    address: u64,
}

impl Place {
    /// By names where there are any: addresses differ where a library was loaded in another version, say.
    pub fn of(site: &Site) -> Option<Place> {
        let Frame { function, file, line, module, address, .. } = site.place()?.clone();
        let address = if function.is_some() && (line.is_some() || module.is_some()) { 0 } else { address };
        Some(Place { function, file, line, module, address })
    }

    /// That of a site of the process; `None` where it has none.
    pub fn at(process: &Process, site: Option<SiteId>) -> Option<Place> {
        Place::of(process.sites.get(site?.index())?)
    }
}
