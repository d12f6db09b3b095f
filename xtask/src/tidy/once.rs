//! What is defined once: a definition that stands in another file too is a breach.

use crate::workspace::TextFile;

/// What it is, what its definition contains, and the one file that has it.
const ONCE: &[(&str, &str, &str)] = &[
    ("the timeline of a process", "fn build(process: &Process) -> Timeline", "crates/model/src/build.rs"),
    ("spinning without a core", "fn spinning_goes_on(", "crates/model/src/interrupted.rs"),
    ("what objects are for", "pub struct Roles {", "crates/model/src/roles.rs"),
    (
        "barriers of condition variables",
        "fn find_condition_barriers(",
        "crates/model/src/condition_barriers.rs",
    ),
    ("what a thread's time is lost to", "pub enum LossClass {", "crates/model/src/loss_class.rs"),
    ("sums over a thread's time", "struct PrefixSums {", "crates/model/src/loss_class.rs"),
    ("names of threads, objects and places", "pub struct Names<", "crates/model/src/names.rs"),
    ("threads that do the same", "fn sort_of_thread(", "crates/model/src/sorts.rs"),
    ("a mark and its encoding", "pub enum Mark {", "crates/trace/src/instructions/marks.rs"),
    ("where a stream is cut", "pub enum Cut {", "crates/sections/src/cut.rs"),
    ("time divided among the active", "pub struct Course {", "crates/model/src/course.rs"),
    ("a share of criticality", "1u128 << FRACTION_BITS", "crates/model/src/course.rs"),
    ("which threads do the work", "pub struct Working {", "crates/sections/src/working.rs"),
    ("threads from their creation to their join", "pub struct ForkJoin<", "crates/sections/src/fork_join.rs"),
    ("which regions are in which", "pub struct Regions<", "crates/sections/src/regions.rs"),
    ("a bar whose parts add up", "pub struct Stack {", "crates/model/src/stack.rs"),
    ("what a command found out", "pub struct Answer {", "crates/answer/src/lib.rs"),
    ("what all pages have in common", "fn page(mut self) -> String", "crates/report/src/page/frame.rs"),
    ("a table in the terminal", "fn table(mut columns: Vec<Column>", "crates/report/src/tabular.rs"),
    ("a bar on the page", "struct StackBar {", "crates/report/src/page/stack_bar.rs"),
    ("a bar in the terminal", "fn bar(mut line: Line", "crates/report/src/bars.rs"),
    ("what colours are in a terminal", "-> AnsiColor {", "crates/report/src/palette.rs"),
    ("a length of time for people", "impl fmt::Display for Nanos", "crates/model/src/time.rs"),
    ("names in expressions", "pub struct Pattern {", "crates/model/src/selector.rs"),
    ("a share for people", "pub fn percent(", "crates/model/src/figures.rs"),
    ("a size for people", "pub fn bytes(bytes: u64)", "crates/model/src/figures.rs"),
];

pub(super) fn complaints(files: &[TextFile]) -> Vec<String> {
    ONCE.iter().flat_map(|once| complaints_of(once, files)).collect()
}

fn complaints_of((what, needle, home): &(&str, &str, &str), files: &[TextFile]) -> Vec<String> {
    let is_source = |file: &&TextFile| file.path.ends_with(".rs") && !file.path.starts_with("xtask/");
    let found = files.iter().filter(is_source).filter(|file| file.text.contains(needle));
    let found: Vec<&str> = found.map(|file| file.path.as_str()).collect();
    if !found.contains(home) {
        return vec![format!(
            "{home}: {what} is not defined here any more (table in xtask/src/tidy/once.rs)"
        )];
    }
    let others = found.into_iter().filter(|path| path != home);
    others.map(|path| format!("{path} defines {what} again: see {home}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::file;

    #[test]
    fn a_second_definition_is_named() {
        let once = ("things", "enum Thing {", "a.rs");
        let here = file("a.rs", "pub enum Thing {}");
        assert!(complaints_of(&once, &[file("a.rs", "pub enum Thing {}")]).is_empty());
        let lines =
            complaints_of(&once, &[here, file("b.rs", "enum Thing {}"), file("c.md", "enum Thing {}")]);
        assert_eq!(lines, ["b.rs defines things again: see a.rs"]);
        assert_eq!(complaints_of(&once, &[]).len(), 1);
    }
}
