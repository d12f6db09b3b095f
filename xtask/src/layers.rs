//! Which of our crates may use which: the table of docs and design as data, held against Cargo's view.

use std::collections::BTreeMap;

use crate::workspace::{Package, Workspace};

/// A folder and the folders of ours that it may depend on.
type Row = (&'static str, &'static [&'static str]);

/// From the bottom to the top. No crate may depend on the injected libraries: a linked `no_std` rlib breaks
/// `cargo test` and could make holdup interpose itself.
const TABLE: &[Row] = &[
    ("crates/model", &[]),
    ("crates/trace", &[]),
    ("crates/program", &[]),
    ("crates/annotate", &[]),
    ("crates/recording", &["crates/model", "crates/trace"]),
    ("crates/symbols", &[]),
    ("crates/code", &["crates/model"]),
    ("crates/sections", &["crates/model", "crates/trace"]),
    ("crates/sync", &["crates/model"]),
    ("crates/answer", &["crates/model"]),
    ("crates/replay", &["crates/model", "crates/sync"]),
    ("crates/policy", &["crates/model"]),
    ("crates/sim", &["crates/model", "crates/code", "crates/sync", "crates/policy"]),
    ("crates/methods/imbalance", &["crates/model", "crates/code"]),
    ("crates/methods/cycles", &["crates/model"]),
    ("crates/methods/whatif", &["crates/model", "crates/answer", "crates/replay"]),
    ("crates/methods/policies", &["crates/model", "crates/answer"]),
    ("crates/methods/criticality", &["crates/model", "crates/sections", "crates/replay"]),
    ("crates/methods/scaling", &["crates/model", "crates/sections", "crates/replay"]),
    ("crates/methods/speedup", &["crates/model", "crates/sections"]),
    // No method uses another; this one holds their answers against each other.
    ("crates/methods/compare", &["crates/model", "crates/answer", "crates/methods/criticality"]),
    ("crates/characterize", &[]),
    (
        "crates/report",
        &[
            "crates/model",
            "crates/answer",
            "crates/replay",
            "crates/methods/criticality",
            "crates/methods/scaling",
            "crates/methods/speedup",
            "crates/methods/compare",
            "crates/methods/imbalance",
            "crates/methods/cycles",
            "crates/methods/policies",
            "crates/methods/whatif",
            "crates/characterize",
        ],
    ),
    ("crates/export", &["crates/model", "crates/methods/criticality"]),
    ("crates/sweep", &["crates/export"]),
    ("collectors/agent", &["crates/trace", "crates/program"]),
    ("collectors/preload", &["collectors/agent", "crates/trace", "crates/program"]),
    ("collectors/kernel", &[]),
    ("crates/pirate", &["crates/model", "collectors/kernel"]),
    ("crates/live", &["crates/trace", "crates/model", "crates/policy", "collectors/kernel"]),
    ("crates/steer", &["crates/live", "crates/pirate", "crates/policy"]),
    ("collectors/qemu", &["crates/trace"]),
    (
        "crates/counts",
        &["crates/model", "crates/trace", "crates/recording", "crates/sections", "crates/code"],
    ),
    (
        "crates/feed",
        &["crates/model", "crates/trace", "crates/recording", "crates/sections", "crates/code", "crates/sim"],
    ),
    (
        "crates/collect",
        &[
            "crates/model",
            "crates/trace",
            "crates/recording",
            "crates/symbols",
            "crates/program",
            "crates/code",
            "crates/pirate",
            "collectors/kernel",
        ],
    ),
    (
        "crates/cli",
        &[
            "crates/model",
            "crates/answer",
            "crates/trace",
            "crates/program",
            "crates/recording",
            "crates/symbols",
            "crates/code",
            "crates/counts",
            "crates/sections",
            "crates/feed",
            "crates/replay",
            "crates/policy",
            "crates/live",
            "crates/sim",
            "crates/methods/criticality",
            "crates/methods/scaling",
            "crates/methods/speedup",
            "crates/methods/compare",
            "crates/methods/imbalance",
            "crates/methods/cycles",
            "crates/methods/policies",
            "crates/methods/whatif",
            "crates/characterize",
            "crates/report",
            "crates/export",
            "crates/sweep",
            "crates/pirate",
            "crates/steer",
            "crates/collect",
        ],
    ),
    ("crates/testkit", &["crates/model", "crates/recording", "crates/trace", "crates/counts"]),
    ("crates/stage", &["crates/recording"]),
    ("xtask", &["crates/stage"]),
];

/// What tests may use besides.
const FOR_TESTS: &[&str] = &["crates/testkit", "crates/stage"];

/// Linked into measured programs: nothing from outside may come with them.
const WITHOUT_DEPENDENCIES: &[&str] = &["crates/trace", "crates/program", "crates/annotate"];

/// One line for each dependency that the table does not allow, and each crate that it does not know.
pub(crate) fn complaints(workspace: &Workspace, packages: &[Package]) -> Vec<String> {
    let folders: BTreeMap<&str, String> =
        packages.iter().map(|package| (package.name.as_str(), workspace.folder_of(package))).collect();
    packages.iter().flat_map(|package| of_package(package, &folders)).collect()
}

fn of_package(package: &Package, folders: &BTreeMap<&str, String>) -> Vec<String> {
    let folder = folders[package.name.as_str()].as_str();
    let Some((_, allowed)) = TABLE.iter().find(|(name, _)| *name == folder) else {
        return vec![format!("{folder} is not in the dependency table; add it to xtask/src/layers.rs")];
    };
    let mut lines = Vec::new();
    for dependency in &package.dependencies {
        let dev = dependency.kind.as_deref() == Some("dev");
        match folders.get(dependency.name.as_str()).map(String::as_str) {
            Some(ours)
                if allowed.contains(&ours) || (dev && (FOR_TESTS.contains(&ours) || ours == folder)) => {}
            Some(ours) => {
                lines.push(format!("{folder} may not depend on {ours} (table in xtask/src/layers.rs)"));
            }
            // Not in any program: instead of the processor's atomics where all orders are tried.
            None if dependency.target.as_deref() == Some("cfg(loom)") => {}
            None if !dev && WITHOUT_DEPENDENCIES.contains(&folder) => {
                let name = &dependency.name;
                lines.push(format!("{folder} is linked into measured programs and may not depend on {name}"));
            }
            None => {}
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Dependency;

    fn lines(package: &str, dependency: &str, kind: Option<&str>) -> Vec<String> {
        let folders: BTreeMap<&str, String> = [
            ("holdup-model", "crates/model"),
            ("holdup-trace", "crates/trace"),
            ("holdup-criticality", "crates/methods/criticality"),
            ("holdup-testkit", "crates/testkit"),
            ("holdup-preload", "collectors/preload"),
            ("holdup-new", "crates/new"),
            ("holdup", "crates/cli"),
        ]
        .map(|(name, folder)| (name, folder.to_owned()))
        .into();
        let dependency =
            Dependency { name: dependency.to_owned(), kind: kind.map(str::to_owned), target: None };
        let package = Package {
            name: package.to_owned(),
            manifest_path: "unused".into(),
            dependencies: vec![dependency],
        };
        of_package(&package, &folders)
    }

    #[test]
    fn the_table_is_enforced() {
        assert_eq!(lines("holdup-criticality", "holdup-model", None), Vec::<String>::new());
        assert_eq!(lines("holdup-criticality", "serde", None), Vec::<String>::new());
        assert_eq!(lines("holdup-criticality", "holdup-trace", None).len(), 1);
        assert_eq!(lines("holdup-model", "holdup-criticality", None).len(), 1);
        assert_eq!(lines("holdup", "holdup-preload", Some("build")).len(), 1);
        assert_eq!(lines("holdup-new", "serde", None).len(), 1);
    }

    #[test]
    fn tests_may_use_the_testkit_only() {
        assert_eq!(lines("holdup-model", "holdup-testkit", Some("dev")), Vec::<String>::new());
        assert_eq!(lines("holdup-model", "holdup-testkit", None).len(), 1);
        assert_eq!(lines("holdup-model", "holdup-criticality", Some("dev")).len(), 1);
    }

    #[test]
    fn what_is_injected_brings_nothing_along() {
        assert_eq!(lines("holdup-trace", "libc", None).len(), 1);
        assert_eq!(lines("holdup-trace", "proptest", Some("dev")), Vec::<String>::new());
    }

    #[test]
    fn the_table_has_no_way_back() {
        for (index, (folder, allowed)) in TABLE.iter().enumerate() {
            for below in *allowed {
                let position = TABLE.iter().position(|(name, _)| name == below);
                assert!(position.is_some_and(|position| position < index), "{folder} uses {below}");
            }
        }
    }
}
