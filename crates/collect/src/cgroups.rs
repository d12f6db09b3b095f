//! The control groups of a process, version 1 and 2, from the innermost to the outermost that can be seen, and
//! what they limit.

use std::path::Path;

use crate::files::{Files, count};

/// Version 1 writes "no limit" as the largest multiple of a page in an i64.
const NO_LIMIT: u64 = 1 << 60;

/// Where the limits of a process are.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Cgroups {
    pub(crate) cpu: Option<Hierarchy>,
    pub(crate) memory: Option<Hierarchy>,
    pub(crate) cpuset: Option<Hierarchy>,
}

/// Folders, relative to the root, innermost first.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Hierarchy {
    pub(crate) version: Version,
    pub(crate) folders: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    One,
    Two,
}

/// A CPU quota that a group has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuQuota {
    pub(crate) micros: u64,
    pub(crate) period_micros: u64,
}

/// What a group may use at most, in bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MemoryLimit {
    /// What may still be allocated. File pages that have not been used for a while are given back for it, and so count as free.
    pub(crate) left: u64,
    pub(crate) limit: u64,
    /// The file that says it.
    pub(crate) file: String,
}

/// How many bytes the control groups of this process let it and what it starts still allocate; `None` where there is no limit.
/// `root` is `/` outside of tests.
pub(crate) fn memory_left(root: &Path) -> Option<u64> {
    let files = Files::below(root);
    Some(Cgroups::of_this_process(&files).memory?.memory_limit(&files)?.left)
}

impl Cgroups {
    pub(crate) fn of_this_process(files: &Files<'_>) -> Cgroups {
        let groups = files.text("proc/self/cgroup").unwrap_or_default();
        Cgroups::told_by(&groups, &files.text("proc/self/mountinfo").unwrap_or_default())
    }

    /// Those that `/proc/PID/cgroup` lists, where this process's `/proc/self/mountinfo` says that they can be seen.
    pub(crate) fn told_by(groups: &str, mounts: &str) -> Cgroups {
        let hierarchy = |controller| hierarchy(groups, mounts, controller);
        Cgroups { cpu: hierarchy("cpu"), memory: hierarchy("memory"), cpuset: hierarchy("cpuset") }
    }
}

impl Hierarchy {
    /// The quota of one of the folders.
    pub(crate) fn quota(&self, files: &Files<'_>, folder: &str) -> Option<CpuQuota> {
        let number = |text: &str| text.trim().parse::<u64>().ok().filter(|&number| number > 0);
        match self.version {
            Version::One => {
                let file = |name| number(&files.text(&format!("{folder}/{name}"))?);
                // No quota is -1.
                Some(CpuQuota {
                    micros: file("cpu.cfs_quota_us")?,
                    period_micros: file("cpu.cfs_period_us")?,
                })
            }
            Version::Two => {
                let text = files.text(&format!("{folder}/cpu.max"))?;
                // No quota is "max".
                let (quota, period) = text.split_once(' ')?;
                Some(CpuQuota { micros: number(quota)?, period_micros: number(period)? })
            }
        }
    }

    /// The memory limit that leaves least.
    pub(crate) fn memory_limit(&self, files: &Files<'_>) -> Option<MemoryLimit> {
        let (limit_file, use_file, idle) = match self.version {
            Version::One => ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
            Version::Two => ("memory.max", "memory.current", "inactive_file"),
        };
        let limits = self.folders.iter().filter_map(|folder| {
            let file = format!("{folder}/{limit_file}");
            let number = |path: &str| files.text(path)?.parse().ok();
            let limit: u64 = number(&file).filter(|&limit| limit < NO_LIMIT)?;
            let used: u64 = number(&format!("{folder}/{use_file}")).unwrap_or(0);
            let idle =
                files.text(&format!("{folder}/memory.stat")).and_then(|text| count(&text, idle)).unwrap_or(0);
            Some(MemoryLimit { left: limit.saturating_sub(used.saturating_sub(idle)), limit, file })
        });
        limits.min_by_key(|limit| limit.left)
    }
}

impl CpuQuota {
    /// How many CPUs' time it is.
    pub(crate) fn cpus(self) -> f64 {
        self.micros as f64 / self.period_micros as f64
    }
}

/// Version 1 has the controller if `/proc/self/cgroup` names it; else it is version 2's.
fn hierarchy(groups: &str, mounts: &str, controller: &str) -> Option<Hierarchy> {
    let names = |list: &str| list.split(',').any(|name| name == controller);
    let lines = || groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let (version, group) = match lines().find(|(controllers, _)| names(controllers)) {
        Some((_, group)) => (Version::One, group),
        None => (Version::Two, lines().find(|(controllers, _)| controllers.is_empty())?.1),
    };
    let ours = |mount: &Mount<'_>| match version {
        Version::One => mount.kind == "cgroup" && names(mount.options),
        Version::Two => mount.kind == "cgroup2",
    };
    let mounts: Vec<Mount<'_>> = mounts.lines().filter_map(mount_of_cgroup).filter(ours).collect();
    // A group outside of this process's cgroup namespace is shown with a path of "..": it cannot be seen.
    if group.split('/').any(|part| part == "..") {
        return None;
    }
    // In a container the mount may start below the host's root of groups, and the group may lie outside of it.
    let inside = |mount: &Mount<'_>| below(group, &mount.root).map(|below| (mount.point.clone(), below));
    let (mount, below) =
        mounts.iter().find_map(inside).or_else(|| mounts.first().map(|mount| (mount.point.clone(), "")))?;
    let mut folders = Vec::new();
    let mut below = below;
    loop {
        folders.push(format!("{mount}/{below}").trim_end_matches('/').to_owned());
        if below.is_empty() {
            return Some(Hierarchy { version, folders });
        }
        below = below.rsplit_once('/').map_or("", |(outer, _)| outer);
    }
}

/// The part of a path below `root`, without slashes around it; `None` where it is elsewhere.
fn below<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(root.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_matches('/'))
}

struct Mount<'a> {
    root: String,
    point: String,
    kind: &'a str,
    options: &'a str,
}

/// A line of mountinfo (proc(5)): id, parent, device, root, mount point, options, optional fields, `-`, type,
/// source, super options.
fn mount_of_cgroup(line: &str) -> Option<Mount<'_>> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let mut kind = kind.split(' ');
    let mount = Mount {
        root: unescaped(place.next()?),
        point: unescaped(place.next()?),
        kind: kind.next()?,
        options: kind.nth(1).unwrap_or_default(),
    };
    mount.kind.starts_with("cgroup").then_some(mount)
}

/// Blanks and backslashes in mountinfo are `\` and three octal digits.
fn unescaped(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .into_iter()
        .fold(text.to_owned(), |text, (escape, letter)| text.replace(escape, letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
25 24 0:23 / /dev/shm rw,relatime - tmpfs tmpfs rw,size=24684092k
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";
    const UNIFIED: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

    fn check(groups: &str, mounts: &str, controller: &str, expected: Option<(Version, &[&str])>) {
        let found = hierarchy(groups, mounts, controller);
        let expected = expected.map(|(version, folders)| Hierarchy {
            version,
            folders: folders.iter().map(|&folder| folder.to_owned()).collect(),
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn version_two_lists_every_level() {
        let folders =
            ["/sys/fs/cgroup/user.slice/job.scope", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"].as_slice();
        check("0::/user.slice/job.scope\n", UNIFIED, "cpu", Some((Version::Two, folders)));
    }

    #[test]
    fn version_one_wins_where_it_has_the_controller() {
        let groups = "4:memory:/a\n1:cpuacct,cpu:/\n0::/b\n";
        check(groups, HYBRID, "cpu", Some((Version::One, &["/sys/fs/cgroup/cpu,cpuacct"])));
        check(
            groups,
            HYBRID,
            "memory",
            Some((Version::One, &["/sys/fs/cgroup/memory/a", "/sys/fs/cgroup/memory"])),
        );
    }

    #[test]
    fn a_container_sees_its_own_group_as_the_mount() {
        let mount = "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        check("0::/docker/abc\n", mount, "cpu", Some((Version::Two, &["/sys/fs/cgroup"])));
        check("0::/\n", mount, "cpu", Some((Version::Two, &["/sys/fs/cgroup"])));
    }

    #[test]
    fn the_mount_that_has_the_group_is_taken_and_a_name_that_begins_alike_is_another() {
        let mounts = "30 23 0:26 /docker/ab /sys/fs/cgroup ro - cgroup2 cgroup rw\n\
                      31 23 0:26 / /host/cgroup ro - cgroup2 cgroup rw\n";
        let folders = ["/host/cgroup/docker/abc", "/host/cgroup/docker", "/host/cgroup"].as_slice();
        check("0::/docker/abc\n", mounts, "cpu", Some((Version::Two, folders)));
    }

    #[test]
    fn a_group_outside_of_the_namespace_cannot_be_seen() {
        check("0::/../other\n", UNIFIED, "cpu", None);
    }

    #[test]
    fn no_mount_no_hierarchy() {
        check("0::/x\n", "", "cpu", None);
        check("", UNIFIED, "cpu", None);
    }

    /// What is left of memory after files below a root say so.
    fn left_of(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        memory_left(root.path())
    }

    #[test]
    fn the_tightest_of_the_nested_groups_says_what_memory_is_left() {
        let nested = [("proc/self/cgroup", "0::/outer/inner\n"), ("proc/self/mountinfo", UNIFIED)];
        assert_eq!(left_of(&nested), None);
        let limits = [
            ("sys/fs/cgroup/outer/memory.max", "1000\n"),
            ("sys/fs/cgroup/outer/memory.current", "900\n"),
            ("sys/fs/cgroup/outer/inner/memory.max", "max\n"),
            ("sys/fs/cgroup/outer/inner/memory.current", "10\n"),
        ];
        assert_eq!(left_of(&[&nested[..], &limits].concat()), Some(100));
    }

    #[test]
    fn a_group_of_version_one_limits_memory_too() {
        let nested = [("proc/self/cgroup", "4:memory:/a\n0::/\n"), ("proc/self/mountinfo", HYBRID)];
        let limits = [
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "5000\n"),
            ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1000\n"),
            ("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "900\n"),
        ];
        assert_eq!(left_of(&[&nested[..], &limits].concat()), Some(100));
        let unlimited = &limits[..2];
        assert_eq!(left_of(&[&nested[..], unlimited].concat()), None);
    }

    #[test]
    fn pages_of_files_that_nobody_uses_count_as_free() {
        let of = |version: &'static str, mounts, files: &[(&'static str, &'static str)]| {
            left_of(&[&[("proc/self/cgroup", version), ("proc/self/mountinfo", mounts)][..], files].concat())
        };
        let two = [
            ("sys/fs/cgroup/a/memory.max", "1000"),
            ("sys/fs/cgroup/a/memory.current", "990"),
            ("sys/fs/cgroup/a/memory.stat", "file 800\ninactive_file 700\nactive_file 100\n"),
        ];
        assert_eq!(of("0::/a\n", UNIFIED, &two), Some(710));
        let one = [
            ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1000"),
            ("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "990"),
            ("sys/fs/cgroup/memory/a/memory.stat", "inactive_file 5\ntotal_inactive_file 300\n"),
        ];
        assert_eq!(of("4:memory:/a\n", HYBRID, &one), Some(310));
    }
}
