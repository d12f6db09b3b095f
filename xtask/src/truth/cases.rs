//! All that is measured.

mod alone;
mod environment;
mod planted;
mod policies;
mod scale;
mod stack;
mod strangers;
mod top;
mod why;

use std::path::Path;

use anyhow::Result;
use holdup_stage::Stage;

use super::case::Case;

/// All cases of which a row's name contains one of `parts`, built. What cannot be built here is left out, which is said.
pub(super) fn all(stage: &Stage, parts: &[String]) -> Vec<Box<dyn Case>> {
    let is_wanted = |name: &str| parts.is_empty() || parts.iter().any(|part| name.contains(part.as_str()));
    let mut cases: Vec<Box<dyn Case>> = Vec::new();
    cases.extend(planted::all(stage, &is_wanted));
    cases.extend(scale::all(stage, &is_wanted));
    cases.extend(why::all(stage, &is_wanted));
    cases.extend(environment::all(stage, &is_wanted));
    cases.extend(top::all(stage, &is_wanted));
    cases.extend(stack::all(stage, &is_wanted));
    cases.extend(policies::all(stage, &is_wanted));
    cases.extend(alone::all(stage, &is_wanted));
    cases
}

/// The programs that others made, of the sources in a directory.
///
/// # Errors
/// Those of [`strangers::all`].
pub(super) fn strangers(directory: &Path, parts: &[String]) -> Result<Vec<Box<dyn Case>>> {
    strangers::all(directory, &|name| {
        parts.is_empty() || parts.iter().any(|part| name.contains(part.as_str()))
    })
}

/// Chooses by a name.
type Filter<'a> = &'a dyn Fn(&str) -> bool;

/// Cases of one kind, as those of all kinds.
fn boxed<T: Case + 'static>(cases: impl IntoIterator<Item = T>) -> Vec<Box<dyn Case>> {
    cases.into_iter().map(|case| Box::new(case) as Box<dyn Case>).collect()
}
